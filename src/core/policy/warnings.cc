#include <algorithm>
#include <array>

#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/glob.h"
#include "core/policy/stages.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

// Calls with which past escapes began, or which look into other processes; our own lists deny them.
constexpr std::array<std::string_view, 29> kRiskyCalls = {"ptrace",
                                                          "bpf",
                                                          "io_uring_setup",
                                                          "io_uring_enter",
                                                          "io_uring_register",
                                                          "userfaultfd",
                                                          "perf_event_open",
                                                          "keyctl",
                                                          "add_key",
                                                          "request_key",
                                                          "process_vm_readv",
                                                          "process_vm_writev",
                                                          "pidfd_getfd",
                                                          "mount",
                                                          "umount2",
                                                          "move_mount",
                                                          "open_tree",
                                                          "fsopen",
                                                          "fsmount",
                                                          "mount_setattr",
                                                          "pivot_root",
                                                          "chroot",
                                                          "unshare",
                                                          "setns",
                                                          "clone3",
                                                          "open_by_handle_at",
                                                          "name_to_handle_at",
                                                          "init_module",
                                                          "finit_module"};
// Under base strict these carry the filter on writable and executable memory; allowed by name they are unfiltered.
constexpr std::array<std::string_view, 4> kMemoryCalls = {"mmap", "mprotect", "pkey_mprotect", "shmat"};

class Warnings {
 public:
  Warnings(const Policy& policy, const Origins& origins) : p_(policy), origins_(origins) {}

  std::vector<std::string> run() {
    for (const auto& grant : p_.filesystem.grants) look_at(grant);
    limits();
    network();
    syscalls();
    for (const auto& [name, mode] : p_.audit)
      if (mode == AuditMode::kObserve && layer_from(name))
        add(cat("audit.mode.", name), cat(name, " is only observed: that wall is off"));
    stages();
    for (const auto& name : p_.env.pass)
      if (is_dangerous_env(name))
        add(cat("env.pass.", name), cat(printable(name), " of the caller decides which code the program loads"));
    for (const auto& [name, value] : p_.env.set)
      if (is_dangerous_env(name))
        add(cat("env.set.", name), cat(printable(name), " decides which code the program loads"));
    return std::move(out_);
  }

 private:
  void put(std::string_view origin, std::string_view field, std::string_view message) {
    out_.push_back(origin.empty() ? cat(field, ": ", message) : cat(printable(origin), ": ", field, ": ", message));
  }
  void add(std::string_view field, std::string_view message) {
    auto origin = origin_of(origins_, field);
    if (origin.empty()) origin = origin_of(origins_, "extends");  // it came along with the parent
    put(origin, printable(field), message);
  }

  static std::string_view broad(std::string_view path) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kBroad = {{
        {"/", "the whole host"},
        {"/root", "a home folder, with its keys and tokens"},
        {"/home", "every home folder, with their keys and tokens"},
        {"/etc", "the host's configuration, with its secrets"},
        {"/run", "the sockets of the host's services"},
        {"/var/run", "the sockets of the host's services"},
        {"/var", "logs, mail and databases of the host"},
        {"/proc", "the host's processes"},
        {"/sys", "the host's devices and kernel settings"},
        {"/dev", "the host's devices"},
    }};
    for (const auto& [name, what] : kBroad)
      if (path == name) return what;
    if (path.starts_with("/home/") && path.find('/', 6) == path.npos) return "a home folder, with its keys and tokens";
    // A socket is a door to whoever listens: the daemon behind it is not in the cell.
    if (path.ends_with(".sock") || path.ends_with(".socket") || path_contains("/run", path) ||
        path_contains("/var/run", path))
      return "a socket, or a folder of them: a way to a service outside the cell";
    if (path_contains("/proc", path) || path_contains("/sys", path) || path_contains("/dev", path))
      return "a part of the host's kernel interface";
    return "";
  }

  void look_at(const FsGrant& grant) {
    auto field = grant.access == Access::kWrite ? "filesystem.write" : "filesystem.read";
    if (auto what = broad(grant.path); !what.empty())
      put(grant.origin, field, cat(printable(grant.path), " is broad: ", what));
    for (const auto& deny : p_.filesystem.deny)
      if (deny.pattern != grant.path && glob_covers(deny.pattern, grant.path))
        put(grant.origin, field, cat(printable(grant.path), " has no effect: ", quoted(deny.pattern), " denies it"));
  }

  void stages() {
    if (!p_.blocklist.empty() && !stage_runs(p_, kBlocklistAudit))
      add("stages.pre", "does not name blocklist_audit: verification does not look at the blocklist");
    if (!stage_runs(p_, kAstScan)) add("stages.pre", "does not name ast_scan: no rule and no list of imports counts");
  }

  template <typename T>
  void raised(std::string_view field, const T& ours, const T& normal, std::string (*text)(T)) {
    if (ours > normal) add(field, cat(text(ours), " is above the default of ", text(normal)));
  }

  void limits() {
    const Limits l = p_.limits, d = default_policy().limits;
    auto number = +[](std::uint32_t n) { return cat(n); };
    raised("limits.memory", l.memory, d.memory, exact_bytes);
    raised("limits.disk", l.disk, d.disk, exact_bytes);
    raised("limits.output", l.output, d.output, exact_bytes);
    raised("limits.cpu_time", l.cpu_time, d.cpu_time, exact_duration);
    raised("limits.wall", l.wall, d.wall, exact_duration);
    raised("limits.processes", l.processes, d.processes, number);
    raised("limits.open_files", l.open_files, d.open_files, number);
    raised("limits.stack", l.stack, d.stack, exact_bytes);
  }

  void network() {
    if (p_.network.mode == NetworkMode::kHost)
      add("network.mode", "host shares the host's network: its loopback services and its neighbours are within reach");
    if (p_.network.mode == NetworkMode::kProxy && p_.network.rules == RuleMode::kOpen)
      add("network.rules", "open lets every host through");
    if (p_.network.mode == NetworkMode::kProxy && p_.network.rules == RuleMode::kBlocklist)
      add("network.rules", "blocklist lets every host through that nobody thought of");
    for (const auto& host : p_.network.allow)
      if (host == "*" || host == "*.*") add(cat("network.allow.", host), "lets every host through");
  }

  void syscalls() {
    const auto& s = p_.syscalls;
    for (const auto& name : s.allow) {
      if (std::find(s.deny.begin(), s.deny.end(), name) != s.deny.end()) continue;
      if (std::find(kRiskyCalls.begin(), kRiskyCalls.end(), name) != kRiskyCalls.end())
        add(cat("syscalls.allow.", name), "opens a part of the kernel that escapes begin with");
      if (s.base == "strict" && std::find(kMemoryCalls.begin(), kMemoryCalls.end(), name) != kMemoryCalls.end())
        add(cat("syscalls.allow.", name), "allows memory that is writable and executable, which strict forbids");
    }
    // `default` lets JIT compilers work; a policy that otherwise says strict has no use for that.
    if (s.base == "default" && !p_.filesystem.writable_scratch)
      add("syscalls.base",
          "default allows memory that is writable and executable, though nothing may be written; strict would not");
  }

  const Policy& p_;
  const Origins& origins_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> warnings(const Policy& policy, const Origins& origins) {
  return Warnings(policy, origins).run();
}

}  // namespace hotcell
