// For tests: classic BPF as the kernel runs it, the rules as a plain reading gives them, and a child under a filter.
#pragma once
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/kernel/seccomp_apply.h"
#include "core/kernel/seccomp_model.h"

namespace hotcell::testing_seccomp {

inline constexpr std::uint32_t kBroken = 0xdeadbeef;

inline std::uint32_t run_bpf(std::span<const std::uint64_t> program, const seccomp_data& data) {
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    sock_filter f;
    std::memcpy(&f, &program[pc], sizeof f);
    switch (f.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (f.k % 4 || f.k + 4 > sizeof data) return kBroken;
        std::memcpy(&a, reinterpret_cast<const char*>(&data) + f.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        a &= f.k;
        break;
      case BPF_JMP | BPF_JA:
        pc += f.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        pc += a == f.k ? f.jt : f.jf;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        pc += a > f.k ? f.jt : f.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        pc += a >= f.k ? f.jt : f.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        pc += (a & f.k) ? f.jt : f.jf;
        break;
      case BPF_RET | BPF_K:
        return f.k;
      default:
        return kBroken;
    }
  }
  return kBroken;
}

inline bool holds(const Condition& c, std::uint64_t x) {
  switch (c.op) {
    case Compare::kNone:
      return true;
    case Compare::kMaskedEqual:
      return (x & c.mask) == c.value;
    case Compare::kAnyBit:
      return (x & c.mask) != 0;
    case Compare::kNotEqual:
      return x != c.value;
    case Compare::kLess:
      return x < c.value;
    case Compare::kLessEqual:
      return x <= c.value;
    case Compare::kGreater:
      return x > c.value;
    case Compare::kGreaterEqual:
      return x >= c.value;
  }
  return false;
}

inline std::uint32_t action_of(Answer a) {
  switch (a.ruling) {
    case Ruling::kAllow:
      return SECCOMP_RET_ALLOW;
    case Ruling::kNotify:
      return SECCOMP_RET_USER_NOTIF;
    case Ruling::kErrno:
      return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(a.err);
    case Ruling::kKill:
      break;
  }
  return SECCOMP_RET_KILL_PROCESS;
}

// The model read clause by clause, without tree, sharing or jumps.
inline std::uint32_t run_model(const FilterModel& model, const seccomp_data& data) {
  if (data.arch != audit_arch(model.arch)) return SECCOMP_RET_KILL_PROCESS;
  const auto nr = static_cast<std::uint32_t>(data.nr);
  if (model.arch == Arch::kX86_64 && nr >= 0x40000000 && nr < 0x80000000) return SECCOMP_RET_KILL_PROCESS;
  for (const CallRule& rule : model.rules) {
    if (rule.number != nr) continue;
    for (const Clause& clause : rule.clauses) {
      bool all = true;
      for (const Condition& c : clause.all) all = all && holds(c, data.args[c.arg]);
      if (all) return action_of(clause.answer);
    }
    return action_of(rule.otherwise);
  }
  return SECCOMP_RET_ERRNO | ENOSYS;
}

struct Outcome {
  int status = -1;                    // as waitpid gave it
  std::map<std::string, int> denied;  // what the listener was told: sentence → times
  std::map<std::string, std::string> fixes;
  std::string output;  // stdout and stderr
  int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

inline int receive_fd(int socket) {
  char byte;
  iovec io{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))];
  msghdr m{};
  m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = space, m.msg_controllen = sizeof space;
  if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) <= 0) return -1;
  const cmsghdr* c = CMSG_FIRSTHDR(&m);
  int fd = -1;
  if (c) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return fd;
}

inline void send_fd(int socket, int fd) {
  char byte = 0;
  iovec io{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = space, m.msg_controllen = sizeof space;
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  if (sendmsg(socket, &m, 0) < 0) _exit(99);
}

inline void answer_one(int listener, Outcome& out) {
  seccomp_notif request{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
  std::uint64_t args[6];
  for (int i = 0; i < 6; ++i) args[i] = request.data.args[i];
  const DeniedCall call = describe_denial(request.data.nr, request.data.arch, args);
  ++out.denied[call.what];
  out.fixes[call.name] = call.fix;
  seccomp_notif_resp answer{};
  answer.id = request.id;
  answer.error = -EPERM;
  (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

// Forks; the child puts the filter on and runs `body`, whose result is its exit code. The parent plays the launcher.
inline Outcome run_under(std::span<const std::uint64_t> program, bool listen, const std::function<int()>& body) {
  Outcome out;
  int pair[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(pipes, O_CLOEXEC) != 0) return out;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(98);
    const int fd = apply_seccomp(program.data(), static_cast<unsigned>(program.size()), listen);
    if (fd < 0) _exit(97);
    if (listen) {
      send_fd(pair[1], fd);
      close(fd);
    }
    _exit(body());
  }
  close(pair[1]);
  close(pipes[1]);
  const int listener = listen ? receive_fd(pair[0]) : -1;
  close(pair[0]);
  pollfd fds[2] = {{pipes[0], POLLIN, 0}, {listener, POLLIN, 0}};
  // The pipe ends when the last process of the tree is gone: nobody is left then whose calls could be reported.
  for (bool open = true; open;) {
    if (poll(fds, 2, 60000) <= 0) {
      kill(pid, SIGKILL);
      break;
    }
    if (fds[1].revents & POLLIN) answer_one(listener, out);
    if (fds[1].revents & (POLLHUP | POLLERR)) fds[1].fd = -1;
    if (fds[0].revents) {
      char buffer[4096];
      const ssize_t n = read(pipes[0], buffer, sizeof buffer);
      if (n > 0)
        out.output.append(buffer, static_cast<std::size_t>(n));
      else
        open = false;
    }
  }
  waitpid(pid, &out.status, 0);
  close(pipes[0]);
  if (listener >= 0) close(listener);
  return out;
}

}  // namespace hotcell::testing_seccomp
