// What a WebAssembly module asks for and offers, read from its own sections; nothing of its code. The translator is given a
// module only after this: wasm2c writes names of imports and exports into comments of the C it makes, as they are, and a
// name with the end of a comment in it would be code of ours.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

struct WasmModule {
  std::vector<std::string> imports;   // of WASI preview 1
  bool has_memory = false;            // exported as "memory", where the calls find their arguments
  std::uint64_t memory = 0;           // bytes it starts with
};

// A WASI command: exports _start, imports only functions of preview 1 that we have. Otherwise the reason in words.
Result<WasmModule> read_wasm_module(std::string_view bytes);

}  // namespace hotcell
