// A cell's filter without namespaces, and less: what a cell needs to become a program, and what mounts of its own make
// harmless there, is an attacker's first move here.
#include "core/launch/confine_filter.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/strings.h"
#include "core/kernel/seccomp_compile.h"

namespace hotcell {
namespace {

constexpr std::uint64_t kLow = 0xffffffff;
constexpr std::uint32_t kCloneThread = 0x00010000, kFastOpen = 0x20000000;
constexpr std::uint32_t kInet = 2, kInet6 = 10, kStream = 1, kDatagram = 2, kTypeMask = 0xf;

Condition equal(std::uint8_t arg, std::uint32_t value) { return {arg, Compare::kMaskedEqual, kLow, value}; }
Condition any_of(std::uint8_t arg, std::uint32_t mask) { return {arg, Compare::kAnyBit, mask, 0}; }

void refuse_all(FilterModel& model, std::string_view names, std::string_view reason) {
  for (std::string_view name : split(names, ' ')) {
    CallRule* rule = model.find(name);
    if (rule == nullptr) continue;  // on no list: refused already
    rule->clauses.clear();
    rule->otherwise = refuse(EPERM);
    rule->reason = reason;
  }
}

void refuse_when(FilterModel& model, std::string_view names, const Condition& when, std::string_view reason) {
  for (std::string_view name : split(names, ' '))
    if (CallRule* rule = model.find(name)) rule->clauses.insert(rule->clauses.begin(), {{when}, refuse(EPERM), reason});
}

void allow_again(FilterModel& model, std::string_view name, std::uint8_t arg, std::uint32_t value) {
  CallRule* rule = model.find(name);
  if (rule == nullptr) return;
  std::erase_if(rule->clauses, [&](const Clause& c) { return c.all.size() == 1 && c.all[0] == equal(arg, value); });
}

void allow_only(FilterModel& model, std::string_view name, std::vector<std::vector<Condition>> cases,
                std::string_view reason) {
  CallRule* rule = model.find(name);
  if (rule == nullptr) return;
  // Refusals by argument stay, and come first: new namespaces are not made with a thread, either.
  std::erase_if(rule->clauses, [](const Clause& c) { return c.answer == kAllow; });
  for (auto& all : cases) rule->clauses.push_back({std::move(all), kAllow, reason});
  rule->otherwise = refuse(EPERM);
  rule->reason = reason;
}

}  // namespace

Result<SeccompProgram> plan_alone(const SeccompRequest& request, bool dial) {
  TRY_SET(FilterModel model, model_seccomp(request));
  constexpr std::uint32_t kSetPipeSize = 1031;
  allow_again(model, "fcntl", 1, kSetPipeSize);  // it is the caller's own program, and copies through pipes
  refuse_all(model, "execve execveat fork vfork", "starts nothing");
  allow_only(model, "clone", {{Condition{0, Compare::kMaskedEqual, kCloneThread, kCloneThread}}}, "threads");
  const auto own = static_cast<std::uint32_t>(::getpid());
  allow_only(model, "tgkill", {{equal(0, own)}}, "abort() and pthread_kill()");
  refuse_all(model,
             "kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal setpgid setsid wait4 waitid",
             "other processes are none of its business");
  // Landlock does not look at these, and a file of one's own user can be changed by name without having been opened.
  refuse_all(model,
             "chmod fchmodat fchmodat2 chown lchown fchownat fchown truncate utime utimes futimesat mknod mknodat "
             "chdir fchdir personality",
             "files by name, past Landlock");
  allow_only(model, "utimensat", {{Condition{1, Compare::kMaskedEqual, ~0ULL, 0}}}, "futimens() of an open file");
  // Others listen for it and hand the sockets over. An accepted one could be disconnected, bound anew or sent elsewhere.
  refuse_all(model, "bind listen", "listens on what it was given");
  refuse_when(model, "sendto sendmmsg", any_of(3, kFastOpen), "connects without connect()");
  refuse_when(model, "sendmsg", any_of(2, kFastOpen), "connects without connect()");
  if (request.network_on) {
    std::vector<std::vector<Condition>> cases;
    for (std::uint32_t family : {kInet, kInet6}) {
      auto add = [&](std::uint32_t type, std::uint32_t protocol) {
        cases.push_back({equal(0, family), Condition{1, Compare::kMaskedEqual, kTypeMask, type}, equal(2, protocol)});
      };
      for (std::uint32_t protocol : {0u, 6u}) add(kStream, protocol);
      for (std::uint32_t protocol : {0u, 17u})
        if (dial) add(kDatagram, protocol);
    }
    allow_only(model, "socket", std::move(cases), "TCP, to the ports that Landlock leaves open");
  } else {
    refuse_all(model, "connect socket", "connects to nobody");
  }
  refuse_all(model, "memfd_secret shmget shmat semget msgget mq_open ioprio_set", "not needed");
  SeccompProgram program{compile_filter(model, Listener::kNone), false, "compiled for a server that starts nothing"};
  return program;
}

}  // namespace hotcell
