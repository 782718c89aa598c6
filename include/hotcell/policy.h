// What a program may do: a pure value, no file or kernel is touched by anything in here.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/layer.h"
#include "hotcell/units.h"

namespace hotcell {

struct Limits {
  Bytes memory = 256_MiB;
  Bytes disk = 100_MiB;                          // the private workspace, /tmp and /dev/shm together
  Bytes output = 1_MiB;                          // per stream
  Nanoseconds cpu_time = std::chrono::seconds(30);
  Nanoseconds wall = std::chrono::seconds(60);   // a one-shot cell always has one
  double cpus = 0;                               // CPUs' worth of time per second; 0: no quota
  std::uint32_t processes = 10;                  // tasks: threads count, init does not
  std::uint32_t open_files = 100;
  Bytes stack = 8_MiB;
  std::optional<Bytes> address_space;            // RLIMIT_AS; off, since runtimes reserve far more than they use

  bool operator==(const Limits&) const = default;
};

enum class Access : std::uint8_t { kRead, kWrite };
enum class OnOutput : std::uint8_t { kKill, kTruncate };
enum class NetworkMode : std::uint8_t { kNone, kProxy, kHost };
enum class RuleMode : std::uint8_t { kAllowlist, kBlocklist, kOpen, kClosed };
enum class AuditMode : std::uint8_t { kEnforce, kObserve };
enum class VerifyLevel : std::uint8_t { kDefault, kStrict };

// Where a statement was written, so that an error or `explain` can name it: "strict.yaml:12" or "--read".
struct FsGrant {
  std::string path;
  Access access = Access::kRead;
  std::string origin;
  bool operator==(const FsGrant& o) const { return path == o.path && access == o.access; }
};
struct FsDeny {
  std::string pattern;  // absolute path, or a glob: `*` and `?` never cross a slash, `**` does
  std::string origin;
  bool operator==(const FsDeny& o) const { return pattern == o.pattern; }
};

struct Filesystem {
  std::vector<FsGrant> grants;
  std::vector<FsDeny> deny;
  bool writable_scratch = true;  // /work, /tmp and /dev/shm; false under strict
  bool operator==(const Filesystem&) const = default;
};

struct Network {
  NetworkMode mode = NetworkMode::kNone;
  RuleMode rules = RuleMode::kAllowlist;
  std::vector<std::string> allow, block;
  bool operator==(const Network&) const = default;
};

struct Syscalls {
  std::string base = "default";            // "default" or "strict": which built-in allowlist
  std::vector<std::string> allow, deny;    // by name, on top of the base; deny wins
  std::string oci_file;                    // an OCI/Docker profile, intersected with ours, never widening it
  bool operator==(const Syscalls&) const = default;
};

struct Environment {
  std::vector<std::string> pass;                // taken from the caller, by exact name
  std::map<std::string, std::string> set;
  bool operator==(const Environment&) const = default;
};

// A workspace that outlives the cell: /work shows a project, and what is changed goes elsewhere.
struct LastingWorkspace {
  std::string project;                          // absolute; empty: nothing is below
  std::string folder;                           // ours: holds `upper`, `work` (overlayfs's own) and `empty`
  std::vector<std::pair<std::string, std::string>> files;  // name, bytes: read-only under /run/hotcell; programs are run, not read
  int mount = -1;                               // as root: a mount of its own, attached nowhere, that holds `upper` and `work` instead
  bool operator==(const LastingWorkspace&) const = default;
};

// What verification of a source minds. Its own rules are on unless `off` names them.
struct SourceRules {
  VerifyLevel level = VerifyLevel::kDefault;  // strict: also what is hostile only outside a cell, such as a process start
  std::vector<std::string> off;               // ids or globs of ids
  std::vector<std::string> functions, modules;
  std::vector<std::string> patterns;          // regular expressions (RE2) over each line of code
  std::vector<std::string> allowed_paths;     // with what is below them
  bool operator==(const SourceRules&) const = default;
};

struct Policy {
  std::string name = "default";
  std::string description;
  std::string language;                         // empty: any
  Limits limits;
  OnOutput on_output = OnOutput::kKill;
  Filesystem filesystem;
  Network network;
  Syscalls syscalls;
  Environment env;
  std::uint32_t uid = 1000, gid = 1000;         // inside; outside it is never 0
  bool time_ns = false;
  std::set<Layer> required;                     // `--require`: missing here is an error, not a report
  std::map<std::string, AuditMode> audit;       // layer or stage → mode; absent means enforce
  // Read by language plugins and the verifier.
  SourceRules rules;
  std::vector<std::string> imports_allowed;
  std::vector<std::pair<std::string, std::string>> blocklist;
  std::vector<std::string> stages_pre, stages_post, preimport;
  bool warm = true;
  bool fast = false;                            // compile as quickly as possible rather than as well
  // Report the files that were refused, too: every call that names one is shown to the launcher and goes on. Slower.
  bool explain_denials = false;
  std::optional<LastingWorkspace> lasting;      // never read from a profile or from a socket: only who keeps cells sets it

  bool operator==(const Policy&) const = default;
};

Policy default_policy();
Policy strict_policy();
std::optional<Policy> preset(std::string_view name);  // default strict dev build test ci minimal
std::vector<std::string_view> preset_names();

std::string_view to_string(NetworkMode mode);
std::string_view to_string(RuleMode mode);

}  // namespace hotcell
