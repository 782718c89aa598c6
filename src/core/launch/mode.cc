#include "hotcell/mode.h"

#include <algorithm>
#include <atomic>

#include "base/strings.h"

namespace hotcell {

namespace {

std::atomic<Mode> g_mode = Mode::kStrict;

}  // namespace

Mode parse_mode(std::string_view word) {
  if (word == "workspace") return Mode::kWorkspace;
  if (word == "off") return Mode::kOff;
  return Mode::kStrict;
}

std::string_view to_string(Mode mode) { return mode == Mode::kOff ? "off" : mode == Mode::kWorkspace ? "workspace" : "strict"; }

void set_process_mode(Mode mode) { g_mode = mode; }
Mode process_mode() { return g_mode; }

Context Context::with_mode(Mode mode) const {
  Context out = *this;
  out.mode_ = mode;
  return out;
}

Context Context::delegated(Mode wanted) const { return with_mode(std::min(wanted, mode())); }  // the stricter one is the smaller

Result<Policy> policy_in(const Context& context, Policy policy) {
  if (context.mode() != Mode::kStrict) return policy;
  for (const auto& g : policy.filesystem.grants)
    if (g.access == Access::kWrite)
      return make_error(ErrorCode::kInvalid, cat("mode strict: ", printable(g.path), " cannot be granted for writing"));
  policy.filesystem.writable_scratch = false;
  return policy;
}

Result<Report> run_in(const Context& context, Launcher& launcher, const Policy& policy, Request request) {
  TRY_SET(Policy allowed, policy_in(context, policy));
  return launcher.run(allowed, std::move(request));
}

std::string_view backend_in(const Context& context) { return context.mode() == Mode::kOff ? "none" : "native"; }

}  // namespace hotcell
