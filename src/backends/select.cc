#include "backends/select.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::backends {

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kOff: return "off";
    case Level::kDefault: return "default";
    case Level::kEnhanced: return "enhanced";
    case Level::kContainer: return "container";
    case Level::kMaximum: return "maximum";
    case Level::kWasm: return "wasm";
    case Level::kVm: return "vm";
    case Level::kNative: return "native";
    case Level::kDocker: return "docker";
    case Level::kSeatbelt: return "seatbelt";
  }
  return "default";
}

std::optional<Level> parse_level(std::string_view word) {
  if (word == "off" || word == "none") return Level::kOff;
  if (word == "default" || word == "process" || word == "auto") return Level::kDefault;
  if (word == "namespace" || word == "chroot") return Level::kNative;
  if (word == "enhanced") return Level::kEnhanced;
  if (word == "container") return Level::kContainer;
  if (word == "maximum") return Level::kMaximum;
  if (word == "vm") return Level::kVm;
  if (word == "wasm") return Level::kWasm;
  if (word == "docker") return Level::kDocker;
  if (word == "seatbelt") return Level::kSeatbelt;
  return std::nullopt;
}

std::vector<std::string_view> order_of(Level level, System system) {
  // macOS has one wall of its own. A container there is one in an engine's machine; a hypervisor that was asked for is not replaced.
  if (system == System::kMac) switch (level) {
      case Level::kDefault:
      case Level::kEnhanced:
      case Level::kSeatbelt: return {"seatbelt"};
      case Level::kContainer: return {"docker", "podman"};
      case Level::kDocker: return {"docker"};
      case Level::kMaximum:
      case Level::kVm: return {"hypervisor"};
      default: return {};
    }
  switch (level) {
    case Level::kOff: return {};
    case Level::kDefault: return {"native", "landlock", "nsjail", "bwrap", "firejail", "docker"};
    case Level::kEnhanced: return {"native"};
    case Level::kContainer: return {"runsc", "docker", "podman", "crun", "runc", "lxc"};
    case Level::kMaximum: return {"vm", "runsc"};
    case Level::kWasm: return {"wasm"};
    case Level::kVm: return {"vm"};
    case Level::kNative: return {"native"};
    case Level::kDocker: return {"docker"};
    case Level::kSeatbelt: return {"seatbelt"};
  }
  return {};
}

Result<Choice> select(Level level, const std::vector<Fact>& facts, System system) {
  // Only by its own name: whoever wants no wall says so in as many words.
  if (level == Level::kOff) return Choice{"none", false, "no wall: asked for by --level off"};
  std::string passed;
  for (auto name : order_of(level, system)) {
    auto it = std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.name == name; });
    if (it != facts.end() && it->works)
      return Choice{std::string(name), level == Level::kEnhanced,
                    cat("level ", to_string(level), ": ", name, passed.empty() ? " is the first choice and works here" : cat(" works here; before it: ", passed))};
    passed += cat(passed.empty() ? "" : "; ", name, ": ", it != facts.end() ? it->why : name == "seatbelt" && system != System::kMac ? "only on macOS" : "not in this version");
  }
  return make_error(ErrorCode::kUnsupported, cat("level ", to_string(level), ": nothing that holds it works here (", passed.empty() ? "there is none on this system" : passed, ")"));
}

}  // namespace hotcell::backends
