#include "languages/policy_options.h"

#include "base/strings.h"
#include "core/policy/stages.h"

namespace hotcell {
namespace {

Rule own_rule(std::string id, std::string type, FactKind on, std::vector<std::string> match, std::string reason) {
  Rule r;
  r.id = std::move(id);
  r.type = std::move(type);
  r.on = on;
  r.match = std::move(match);
  r.reason = std::move(reason);
  return r;
}

}  // namespace

VerifyOptions verify_options(const Policy& policy) {
  VerifyOptions o;
  if (stage_runs(policy, kBlocklistAudit)) o.blocklist = policy.blocklist;
  if (!stage_runs(policy, kAstScan)) {
    o.off = {"*"};
    return o;
  }
  o.level = policy.rules.level;
  o.off = policy.rules.off;
  o.imports_allowed = policy.imports_allowed;
  o.allowed_paths = policy.rules.allowed_paths;
  o.patterns = policy.rules.patterns;
  for (const auto& f : policy.rules.functions) {
    // `eval` is Python's builtins.eval, and `exec.Command` Go's os/exec.Command: people write the short name.
    o.rules.push_back(own_rule("profile-function", "blocked_function", FactKind::kUse,
                               {f, cat("builtins.", f), cat("**/", f)}, "this profile does not allow it"));
    o.rules.push_back(own_rule("profile-function", "blocked_function", FactKind::kCommand, {f, cat("**/", f)},
                               "this profile does not allow it"));
  }
  for (const auto& m : policy.rules.modules)
    o.rules.push_back(own_rule("profile-module", "blocked_module", FactKind::kImport,
                               {m, cat(m, ".**"), cat(m, "/**"), cat(m, "::**")},
                               "this profile does not allow the module"));
  return o;
}

}  // namespace hotcell
