// Whatever the bytes, the daemon's configuration is read or refused with a line; and what is accepted survives being
// written out and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "server/config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotcell::server;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = parse_config(text, "fuzz.yaml");
  if (!config.ok()) {
    if (!config.error().message.starts_with("fuzz.yaml:")) std::abort();
    return 0;
  }
  auto written = config_yaml(config.value(), false);
  auto again = parse_config(written, "again.yaml");
  if (!again.ok() || config_yaml(again.value(), false) != written) std::abort();
  return 0;
}
