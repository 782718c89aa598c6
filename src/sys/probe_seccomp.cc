#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/probe.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace hotcell::sys {
namespace {

constexpr long kAnswer = 4242;  // what getppid must say when the listener answered for the kernel

// Answers `action` to getppid and lets everything else through.
struct Filter {
  sock_filter code[4];
  sock_fprog prog;
  explicit Filter(std::uint32_t action)
      : code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
        prog{4, code} {}
};

int seccomp(unsigned op, unsigned long flags, void* args) {
  return static_cast<int>(syscall(SYS_seccomp, op, flags, args));
}

void refuse_one(Trial& t) {
  Filter f(SECCOMP_RET_ERRNO | EXDEV);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) t.fail("no_new_privs", errno);
  else if (seccomp(SECCOMP_SET_MODE_FILTER, 0, &f.prog) != 0) t.fail("seccomp", errno);
  else if (syscall(SYS_getppid) != -1 || errno != EXDEV) t.fail("the filter did not answer", EIO);
}

// The watched process: sends its listener's number through the pipe. Its descriptor table is shared with the watcher,
// so that no socket is needed to hand it over.
[[noreturn]] void watched(int out, unsigned long flags) {
  Filter f(SECCOMP_RET_USER_NOTIF);
  int listener = -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) listener = seccomp(SECCOMP_SET_MODE_FILTER, flags, &f.prog);
  int word = listener < 0 ? -errno : listener;
  if (write(out, &word, sizeof word) != static_cast<ssize_t>(sizeof word) || word < 0) _exit(1);
  _exit(syscall(SYS_getppid) == kAnswer ? 0 : 2);
}

void notify(Trial& t, unsigned long flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    t.fail("pipe", errno);
    return;
  }
  long child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) watched(ends[1], flags);
  int word = 0;
  if (child < 0 || read(ends[0], &word, sizeof word) != static_cast<ssize_t>(sizeof word)) {
    t.fail("clone", errno);
    return;
  }
  if (word < 0) {
    t.fail("seccomp listener", -word);
    return;
  }
  struct seccomp_notif_sizes sizes{};
  if (seccomp(SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) {
    t.fail("notification sizes", errno);
    return;
  }
  // A newer kernel may write more than the struct we were compiled with.
  alignas(8) unsigned char request[512] = {}, answer[512] = {};
  if (sizes.seccomp_notif > sizeof request || sizes.seccomp_notif_resp > sizeof answer) {
    t.fail("notification sizes", E2BIG);
    return;
  }
  if (ioctl(word, SECCOMP_IOCTL_NOTIF_RECV, request) != 0) {
    t.fail("receive", errno);
    return;
  }
  const auto* req = reinterpret_cast<const seccomp_notif*>(request);
  seccomp_notif_addfd add{};
  add.id = req->id;
  add.srcfd = static_cast<std::uint32_t>(ends[0]);
  if (ioctl(word, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0) t.value |= 1;
  auto* resp = reinterpret_cast<seccomp_notif_resp*>(answer);
  resp->id = req->id;
  resp->val = kAnswer;
  if (ioctl(word, SECCOMP_IOCTL_NOTIF_SEND, resp) != 0) {
    t.fail("answer", errno);
    return;
  }
  int status = 0;
  if (waitpid(static_cast<pid_t>(child), &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    t.fail("the answer did not arrive", EIO);
}

}  // namespace

void probe_seccomp(std::vector<Fact>& out) {
  Trial filter = try_in_child(refuse_one);
  out.push_back({"seccomp", "seccomp_filter", filter.ok() ? Have::kYes : Have::kNo,
                 filter.ok() ? "a filtered call was refused" : "", filter.why(),
                 filter.ok() ? "" : "a kernel with CONFIG_SECCOMP_FILTER; without it no cell should run here"});

  Trial actions = try_in_child([](Trial& t) {
    for (std::uint32_t a : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_LOG})
      if (seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &a) != 0) t.fail("an action is missing", errno);
  });
  out.push_back({"seccomp", "seccomp_actions", actions.ok() ? Have::kYes : Have::kNo,
                 actions.ok() ? "kill_process errno user_notif log" : "", actions.why(),
                 actions.ok() ? "" : "a kernel of 5.0 or newer"});

  constexpr unsigned long kListener = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  Trial killable = try_in_child([](Trial& t) { notify(t, kListener | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV); });
  Trial plain = killable.ok() ? killable : try_in_child([](Trial& t) { notify(t, kListener); });
  Fact f{"seccomp", "seccomp_notify", Have::kYes, "", "", ""};
  if (!plain.ok()) {
    f.have = Have::kNo;
    f.reason = plain.why();
    f.advice = "a kernel of 5.5 or newer; without it denials hold but are not listed";
  } else {
    f.value = cat("answered", (plain.value & 1) != 0 ? ", addfd" : "", killable.ok() ? ", wait_killable" : "");
    if (!killable.ok()) {
      f.have = Have::kPartial;
      f.reason = "no wait_killable: a signal can interrupt a call that is being answered";
      f.advice = "a kernel of 5.19 or newer";
    }
  }
  out.push_back(std::move(f));
}

}  // namespace hotcell::sys
