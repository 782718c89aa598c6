// Which backend serves a request: a pure function of what works here, with the reason in words. Never weaker than asked.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

// The last ones are those whose name is what they are: nothing else stands in for them.
enum class Level : std::uint8_t { kOff, kDefault, kEnhanced, kContainer, kMaximum, kWasm, kVm, kNative, kDocker, kSeatbelt };
std::string_view to_string(Level level);
// Also names that other tools have for them: none, process, auto; namespace and chroot mean native.
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
enum class System : std::uint8_t { kLinux, kMac };
// In which order they are tried; empty for kOff.
std::vector<std::string_view> order_of(Level level, System system = System::kLinux);
Result<Choice> select(Level level, const std::vector<Fact>& facts, System system = System::kLinux);

}  // namespace hotcell::backends
