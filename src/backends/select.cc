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
  }
  return "default";
}

std::optional<Level> parse_level(std::string_view word) {
  if (word == "off" || word == "none") return Level::kOff;
  if (word == "default" || word == "process" || word == "namespace" || word == "chroot") return Level::kDefault;
  if (word == "enhanced") return Level::kEnhanced;
  if (word == "container") return Level::kContainer;
  if (word == "maximum" || word == "vm") return Level::kMaximum;
  if (word == "wasm") return Level::kWasm;
  return std::nullopt;
}

std::vector<std::string_view> order_of(Level level) {
  switch (level) {
    case Level::kOff: return {};
    case Level::kDefault: return {"native", "landlock", "nsjail", "bwrap", "firejail", "docker"};
    case Level::kEnhanced: return {"native"};
    case Level::kContainer: return {"runsc", "docker", "podman", "crun", "runc", "lxc"};
    case Level::kMaximum: return {"vm", "runsc"};
    case Level::kWasm: return {"wasm"};
  }
  return {};
}

Result<Choice> select(Level level, const std::vector<Fact>& facts) {
  // Only by its own name: whoever wants no wall says so in as many words.
  if (level == Level::kOff) return Choice{"none", false, "no wall: asked for by --level off"};
  std::string passed;
  for (auto name : order_of(level)) {
    auto it = std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.name == name; });
    if (it != facts.end() && it->works)
      return Choice{std::string(name), level == Level::kEnhanced,
                    cat("level ", to_string(level), ": ", name, passed.empty() ? " is the first choice and works here" : cat(" works here; before it: ", passed))};
    passed += cat(passed.empty() ? "" : "; ", name, ": ", it == facts.end() ? "not in this version" : it->why);
  }
  return make_error(ErrorCode::kUnsupported, cat("level ", to_string(level), ": nothing that holds it works here (", passed, ")"));
}

}  // namespace hotcell::backends
