// What a compiled program asks of the loader, read from its ELF headers: the symbols it takes from elsewhere, and what it
// says about how it wants to be loaded. Macros and token pasting hide a name from whoever reads the source; here it is.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

struct ElfFacts {
  std::vector<std::string> undefined;  // dynamic symbols, sorted, each once
  std::vector<std::string> needed;     // shared libraries
  std::string interpreter, rpath;      // RUNPATH counts as RPATH
  bool executable_stack = false;
  bool writable_code = false;          // a segment that is both writable and executable
  bool dynamic = false;
};

// Nothing: no 64-bit little-endian ELF, or one whose tables do not fit into it. Every offset is checked: a program made
// by somebody else's build script is hostile bytes.
std::optional<ElfFacts> read_elf(std::string_view bytes);

}  // namespace hotcell
