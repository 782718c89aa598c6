// What this kernel lets this user do, found by trying: versions and sysctls lie (distributions backport, LSMs veto).
// Every trial runs in a child of its own with a time limit, so that nothing hangs and nothing changes the caller.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::sys {

enum class Have : std::uint8_t { kYes, kPartial, kNo };
std::string_view to_string(Have have);

struct Fact {
  std::string group;  // kernel namespaces landlock seccomp cgroups limits backends
  std::string name;   // stable, for scripts: "user_ns", "landlock_abi"
  Have have = Have::kNo;
  std::string value;   // what was found, short
  std::string reason;  // why it is not all there
  std::string advice;  // what to do about it; empty when nothing can or need be done
};

struct Facts {
  std::vector<Fact> all;
  const Fact* find(std::string_view name) const;
  bool has(std::string_view name) const;  // kYes or kPartial
};

Facts probe();

struct KernelVersion {
  unsigned major = 0, minor = 0, patch = 0;
  auto operator<=>(const KernelVersion&) const = default;
};
KernelVersion parse_release(std::string_view release);  // "6.1.0-18-amd64" → 6.1.0; what is not a number is 0

// What a trial answers with. Plain bytes: it crosses a pipe from a child that may be in other namespaces by then.
struct Trial {
  enum class End : std::uint8_t { kAnswered, kTimedOut, kDied };
  int err = 0;  // errno of the step that failed, 0: all of it worked
  std::int64_t value = 0;
  char step[48] = {};  // which step failed
  End end = End::kDied;
  int signal = 0;  // when it died

  bool ok() const { return end == End::kAnswered && err == 0; }
  bool fail(const char* what, int error);  // for `return t.fail("mount", errno)`; always false
  std::string why() const;                 // "mount: Operation not permitted", "no answer in 2000 ms", …
};
Trial try_in_child(const std::function<void(Trial&)>& body,
                   std::chrono::milliseconds limit = std::chrono::milliseconds(2000));

// For trials only: what an ordinary user must do first. Combines CLONE_NEWUSER with `flags` and maps the caller.
bool enter_user_ns(Trial& t, std::uint64_t flags);

std::string read_line(const char* path);  // first line, trimmed; empty when unreadable

// One file per subject; each appends its facts in the order they should be read.
void probe_host(std::vector<Fact>& out);
void probe_namespaces(std::vector<Fact>& out);
void probe_mounts(std::vector<Fact>& out);
void probe_landlock(std::vector<Fact>& out);
void probe_seccomp(std::vector<Fact>& out);
void probe_cgroups(std::vector<Fact>& out);
void probe_limits(std::vector<Fact>& out);
void probe_backends(const Facts& found, std::vector<Fact>& out);

// Split from the trials so that hosts other than this one can be tested from text.
struct CgroupMount {
  int version = 0;
  std::string point;                     // where it is mounted
  std::string own;                       // our own group's folder below it
  std::vector<std::string> controllers;  // v1 only: which hierarchy this is
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo, std::string_view self_cgroup);

}  // namespace hotcell::sys
