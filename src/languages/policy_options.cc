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

// Where nothing can be written, or no second process be started, a source that does is refused before it fails half
// way.
void add_room(const Policy& policy, VerifyOptions& o) {
  bool writable = policy.filesystem.writable_scratch;
  for (const FsGrant& g : policy.filesystem.grants) writable = writable || g.access != Access::kRead;
  if (!writable) {
    Rule r = own_rule("profile-writes-nowhere", "file_access", FactKind::kConstruct, {"writes-file"},
                      "under this profile nothing can be written");
    r.fix = "print the result, or choose a profile with a work folder";
    o.rules.push_back(std::move(r));
  }
  if (policy.limits.processes == 1) {  // where a language's own rules do not name it already
    Rule r = own_rule("profile-one-process", "system_call", FactKind::kConstruct, {"starts-program"},
                      "under this profile there is one process and one thread");
    r.fix = "do it in this process, or choose a profile with limits.processes";
    o.rules.push_back(std::move(r));
  }
}

// Of `language: bash` imports.allowed lists commands. What the script defines, and what the shell does itself, is not
// said to be a command by the analyser.
void add_commands(const Policy& policy, VerifyOptions& o) {
  Rule r = own_rule("command-not-allowed", "blocked_function", FactKind::kConstruct, {"command:**"},
                    "this profile does not allow the command");
  for (const auto& name : policy.imports_allowed) r.unless.push_back(cat("command:", name));
  r.fix = "use the commands of imports.allowed, or add it to imports.additional of the profile";
  o.rules.push_back(std::move(r));
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
  if (o.level == VerifyLevel::kStrict) add_room(policy, o);
  if (policy.language == "bash" && !policy.imports_allowed.empty()) add_commands(policy, o);
  for (const auto& f : policy.rules.functions) {
    // `eval` is Python's builtins.eval, and `exec.Command` Go's os/exec.Command: people write the short name.
    o.rules.push_back(own_rule("profile-function", "blocked_function", FactKind::kUse,
                               {f, cat("builtins.", f), cat("**/", f)}, "this profile does not allow it"));
    // Calls by a plain name, whoever defines it.
    o.rules.push_back(own_rule("profile-function", "blocked_function", FactKind::kConstruct, {cat("call:", f)},
                               "this profile does not allow it"));
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
