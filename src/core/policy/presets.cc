// The built-in profiles as plain values, so that a run without a profile file loads no YAML. profiles/*.yaml say the
// same with a reason on every line; presets_test compares the two.
#include <array>

#include "hotcell/policy.h"

namespace hotcell {

using std::chrono::minutes;
using std::chrono::seconds;

Policy default_policy() {
  Policy p;
  p.name = "default";
  p.description = "Any program, with no view of the host and no network.";
  // Verification is advice here: the kernel's walls hold the program, and a false alarm must not stop it.
  p.audit = {{"verification", AuditMode::kObserve}};
  return p;
}

Policy strict_policy() {
  Policy p;
  p.name = "strict";
  p.description =
      "One process that computes and prints: it writes nowhere, maps nothing writable and executable, and has no "
      "sockets but local ones. Source with an error finding is refused.";
  p.limits.memory = 64_MiB;
  p.limits.disk = 10_MiB;
  p.limits.output = 64_KiB;
  p.limits.cpu_time = seconds(5);
  p.limits.wall = seconds(10);
  p.limits.processes = 1;
  p.limits.open_files = 20;
  p.filesystem.writable_scratch = false;
  p.syscalls.base = "strict";
  p.uid = p.gid = 65534;
  p.audit = {{"verification", AuditMode::kEnforce}};
  p.rules.level = VerifyLevel::kStrict;
  return p;
}

namespace {

// What compilers, package managers and test runners need beyond `default`: many tasks, many files, long logs.
Policy toolchain(const char* name, const char* description, Bytes memory, minutes wall) {
  Policy p = default_policy();
  p.name = name;
  p.description = description;
  p.limits.memory = memory;
  p.limits.disk = memory;
  p.limits.output = 16_MiB;
  p.limits.wall = wall;
  // Two cores' worth for the whole time: parallel builds burn CPU time faster than the wall clock runs.
  p.limits.cpu_time = 2 * wall;
  p.limits.processes = 256;
  p.limits.open_files = 1024;
  p.on_output = OnOutput::kTruncate;
  return p;
}

Policy dev_policy() {
  return toolchain("dev",
                   "Trying things out: five minutes and 1 GiB. The network is off: egress is the proxy's, see "
                   "--network.",
                   1_GiB, minutes(5));
}
Policy build_policy() {
  return toolchain("build", "Compiling what is already there: five minutes and 2 GiB, no network.", 2_GiB, minutes(5));
}
Policy test_policy() {
  return toolchain("test", "Running a test suite: ten minutes and 1 GiB, no network but the cell's own loopback.",
                   1_GiB, minutes(10));
}
Policy ci_policy() {
  return toolchain("ci",
                   "A whole pipeline: ten minutes and 2 GiB. The network is off: egress is the proxy's, see "
                   "--network.",
                   2_GiB, minutes(10));
}

Policy minimal_policy() {
  Policy p = default_policy();
  p.name = "minimal";
  p.description =
      "Python snippets with half a CPU, 30 s and 512 MiB of address space. Source that imports a module that is not "
      "on its list, or has another error finding, is refused.";
  p.language = "python";
  p.limits.cpus = 0.5;
  p.limits.wall = seconds(30);
  // Python then sees MemoryError instead of being killed; 200 MiB were too few for Python 3.12.
  p.limits.address_space = 512_MiB;
  p.audit = {{"verification", AuditMode::kEnforce}};
  p.rules.level = VerifyLevel::kStrict;
  p.imports_allowed = {"math",        "statistics", "itertools", "functools", "re",       "datetime",
                       "collections", "json",       "csv",       "string",    "textwrap", "decimal",
                       "fractions",   "random",     "operator",  "typing"};
  p.stages_pre = {"ast_scan"};
  return p;
}

struct Entry {
  std::string_view name;
  Policy (*make)();
};
constexpr std::array<Entry, 7> kPresets = {{{"default", default_policy},
                                            {"strict", strict_policy},
                                            {"dev", dev_policy},
                                            {"build", build_policy},
                                            {"test", test_policy},
                                            {"ci", ci_policy},
                                            {"minimal", minimal_policy}}};

}  // namespace

std::optional<Policy> preset(std::string_view name) {
  for (const auto& entry : kPresets)
    if (entry.name == name) return entry.make();
  return std::nullopt;
}

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const auto& entry : kPresets) names.push_back(entry.name);
  return names;
}

std::string_view to_string(NetworkMode mode) {
  switch (mode) {
    case NetworkMode::kNone:
      return "none";
    case NetworkMode::kProxy:
      return "proxy";
    case NetworkMode::kHost:
      return "host";
  }
  return "none";
}

std::string_view to_string(RuleMode mode) {
  switch (mode) {
    case RuleMode::kAllowlist:
      return "allowlist";
    case RuleMode::kBlocklist:
      return "blocklist";
    case RuleMode::kOpen:
      return "open";
    case RuleMode::kClosed:
      return "closed";
  }
  return "closed";
}

}  // namespace hotcell
