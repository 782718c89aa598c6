// Which backend serves a request: a pure function of what works here, with the reason in words. Never weaker than asked.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

enum class Level : std::uint8_t { kOff, kDefault, kEnhanced, kContainer, kMaximum, kWasm };
std::string_view to_string(Level level);
// Also the older names: none, process, container, vm, wasm; namespace and chroot mean native.
std::optional<Level> parse_level(std::string_view word);

struct Fact {
  std::string name;
  bool works = false;
  std::string why;       // when it does not
};
struct Choice {
  std::string backend;
  bool every_layer = false;  // enhanced: no layer may be missing
  std::string reason;
};
// In which order they are tried; empty for kOff.
std::vector<std::string_view> order_of(Level level);
Result<Choice> select(Level level, const std::vector<Fact>& facts);

}  // namespace hotcell::backends
