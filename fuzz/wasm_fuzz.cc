// Whatever the bytes, a module is read or refused in words; and what is accepted has no name that could end a comment of C.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "languages/wasm/module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto module = hotcell::read_wasm_module({reinterpret_cast<const char*>(data), size});
  if (!module.ok()) {
    if (module.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& name : module.value().imports)
    if (name.find_first_of("*/\\\n\"'") != std::string::npos) std::abort();
  return 0;
}
