// A statement about a policy: what a profile file or the command line says, field by field.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

// Field ("limits.memory", "syscalls.allow.ptrace") → where it was said ("team.yaml:7", "--memory").
using Origins = std::map<std::string, std::string, std::less<>>;
std::string origin_of(const Origins& origins, std::string_view field);  // empty when nobody said it

struct LimitsPatch {
  std::optional<Bytes> memory, disk, output, stack;
  std::optional<Nanoseconds> cpu_time, wall;
  std::optional<double> cpus;  // 0: no quota
  std::optional<std::uint32_t> processes, open_files;
  std::optional<std::optional<Bytes>> address_space;  // an empty inner value takes the parent's away
};

// Absent (or, for lists, empty) says nothing. Lists add to what is there; where a field replaces, it says so.
struct PolicyPatch {
  std::optional<std::string> name, description, language;
  LimitsPatch limits;
  std::optional<OnOutput> on_output;
  std::vector<FsGrant> grants;
  std::vector<FsDeny> deny;
  std::optional<bool> writable_scratch;
  std::optional<NetworkMode> network_mode;
  std::optional<RuleMode> network_rules;
  std::vector<std::string> network_allow, network_block;
  std::optional<std::string> syscalls_base, oci_file;
  std::vector<std::string> syscalls_allow, syscalls_deny;
  std::vector<std::string> env_pass;
  std::map<std::string, std::string> env_set;
  std::optional<std::uint32_t> uid, gid;
  std::optional<bool> time_ns, warm, fast;
  std::set<Layer> required;
  std::optional<std::map<std::string, AuditMode>> audit;    // replaces
  std::optional<VerifyLevel> rules_level;
  std::vector<std::string> rules_off, rules_functions, rules_modules, rules_patterns, rules_allowed_paths;
  std::optional<std::vector<std::string>> imports_allowed;  // replaces
  std::vector<std::string> imports_additional;
  std::vector<std::pair<std::string, std::string>> blocklist;
  std::optional<std::vector<std::string>> stages_pre, stages_post, preimport;  // replace
  Origins origins;
};

void apply(const PolicyPatch& patch, Policy& policy);
void apply(const PolicyPatch& patch, Policy& policy, Origins& origins);

// `project` is what an untrusted project's file yields; `ceiling` what the user or the system allows at most. The first
// wider field is the error, with its origin. tighten() first takes over what only ever adds restriction (denied paths,
// hosts and calls, required layers, blocklist, stages), so that a project need not repeat them.
Result<void> check_tightens(const Policy& ceiling, const Policy& project, const Origins& origins);
Result<void> tighten(const Policy& ceiling, Policy& project, const Origins& origins);

// `inner` is `outer` or lies below it; both absolute and normalised.
bool path_contains(std::string_view outer, std::string_view inner);

}  // namespace hotcell
