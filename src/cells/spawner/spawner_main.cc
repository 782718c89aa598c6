// The program that waits in a lasting cell. Theory of operation:
//   It is started like any program in a cell, so it and all it starts are under every layer. Its descriptor 0 is a socket
//   to the keeper: orders come in, news goes out. Without arguments it is the spawner, with arguments the file agent
//   (agent.cc), which is started like any other execution.
//   Each execution has a *minder*: a copy of the spawner that is a subreaper, starts the program and waits. Whatever the
//   program forks, sets a session for and orphans becomes the minder's child and nobody else's, so an execution's tree can
//   be told and killed as a whole; and when the program ends, what it left running lives on (a dev server and its tests).
//   The minder sends the program's status itself; nobody stands between.
//   Not dumpable, and signals that can be ignored are: a program that signals everybody reaches it with SIGKILL only, and
//   then the cell is stopped.
// Freestanding: static, no C++ library, no malloc.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cells/spawner/agent.h"
#include "cells/spawner/orders.h"
#include "cells/spawner/tree.h"
#include "core/launch/init_exec.h"
#include "sys/uapi/mount.h"

namespace hotcell::cells {
namespace {

constexpr int kControl = 0;

// In memory that minders share: what they know and the spawner must.
struct Slot {
  uint64_t id;
  pid_t minder, program;
  int master;  // of its terminal; the spawner's own copy
};
Slot* g_slots;

alignas(16) char g_bytes[sizeof(Order) + kOrderInline];
alignas(16) char g_stack[64 << 10];
char* g_pointers[1024];

void tell(const News& news, int fd = -1) {
  News out = news;
  out.magic = kOrderMagic;
  iovec iov = {&out, sizeof out};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr msg;
  memset(&msg, 0, sizeof msg);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  if (fd >= 0) {
    memset(control, 0, sizeof control);
    msg.msg_control = control;
    msg.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  while (sendmsg(kControl, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

void tell_failed(uint64_t id, Step step, int err) {
  News n{};
  n.kind = NewsKind::kFailed;
  n.id = id;
  n.step = step;
  n.err = err;
  tell(n);
}

Slot* slot_of(uint64_t id) {
  for (unsigned i = 0; i < kMostExecutions; ++i)
    if (g_slots[i].minder != 0 && g_slots[i].id == id) return &g_slots[i];
  return nullptr;
}

struct Program {
  char** argv;
  char** envp;
  const char* directory;
  int fds[8];
  unsigned count;
  uint64_t cpu_seconds;
  bool terminal;
  Step failed_at;
  int err;
};

[[noreturn]] void give_up(Program& p, Step step, int err) {
  p.failed_at = step;
  p.err = err;
  _exit(127);
}

// On the minder's memory until it execs.
int become_program(void* raw) {
  auto& p = *static_cast<Program*>(raw);
  setsid();
  // In two steps: one of them may sit on a number that another is to have.
  int away[8];
  for (unsigned i = 0; i < p.count; ++i) {
    away[i] = fcntl(p.fds[i], F_DUPFD_CLOEXEC, p.count);  // no higher: a cell may have few numbers
    if (away[i] < 0) give_up(p, Step::kOrder, errno);
  }
  for (unsigned i = 0; i < p.count; ++i)
    if (dup2(away[i], static_cast<int>(i)) < 0) give_up(p, Step::kOrder, errno);
  if (syscall(SYS_close_range, p.count, ~0u, 0) < 0) give_up(p, Step::kOrder, errno);
  if (p.terminal && ioctl(0, TIOCSCTTY, 0) < 0) give_up(p, Step::kTerminal, errno);
  struct sigaction standard;
  memset(&standard, 0, sizeof standard);
  for (int s = 1; s < _NSIG; ++s)
    if (s != SIGKILL && s != SIGSTOP) sigaction(s, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (p.cpu_seconds != 0) {
    rlimit most;
    if (getrlimit(RLIMIT_CPU, &most) == 0 && (most.rlim_max == RLIM_INFINITY || most.rlim_max > p.cpu_seconds)) {
      most.rlim_cur = p.cpu_seconds;
      setrlimit(RLIMIT_CPU, &most);
    }
  }
  if (chdir(p.directory) < 0) give_up(p, Step::kDirectory, errno);
  give_up(p, Step::kExec, exec_program(p.argv, p.envp));
}

[[noreturn]] void mind(Slot& slot, Program& program) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  program.failed_at = Step::kNone;
  int pid = clone(become_program, g_stack + sizeof g_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &program);
  if (pid < 0) {
    tell_failed(slot.id, Step::kFork, errno);
    _exit(0);
  }
  slot.program = pid;
  // The control socket alone: a pipe held here would keep its reader waiting for the end.
  syscall(SYS_close_range, 1, ~0u, 0);
  if (program.failed_at != Step::kNone) {
    tell_failed(slot.id, program.failed_at, program.err);
    _exit(0);
  }
  for (;;) {
    int status;
    rusage usage;
    pid_t ended = wait4(-1, &status, __WALL, &usage);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) _exit(0);
    if (ended != pid) continue;
    News n{};
    n.kind = NewsKind::kExited;
    n.id = slot.id;
    n.pid = pid;
    n.status = status;
    n.user_us = static_cast<uint64_t>(usage.ru_utime.tv_sec) * 1000000u + static_cast<uint64_t>(usage.ru_utime.tv_usec);
    n.system_us = static_cast<uint64_t>(usage.ru_stime.tv_sec) * 1000000u + static_cast<uint64_t>(usage.ru_stime.tv_usec);
    n.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
    n.blocks_in = static_cast<uint64_t>(usage.ru_inblock);
    n.blocks_out = static_cast<uint64_t>(usage.ru_oublock);
    tell(n);
  }
}

// A terminal of the cell's own devpts. Its master goes to the keeper, the slave is the program's 0, 1 and 2.
bool open_terminal(const Order& order, int& master, int& slave) {
  master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  int zero = 0;
  if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0) return false;
  slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) {
    unsigned number = 0;
    char name[32];
    if (ioctl(master, TIOCGPTN, &number) < 0) return false;
    snprintf(name, sizeof name, "/dev/pts/%u", number);
    slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  winsize size{};
  size.ws_row = order.rows ? order.rows : 24;
  size.ws_col = order.columns ? order.columns : 80;
  if (slave >= 0) ioctl(slave, TIOCSWINSZ, &size);
  termios modes;
  // Before the shell is there: it sets the terminal back to what it found whenever a command is killed.
  if (slave >= 0 && (order.flags & kOrderPlain) && tcgetattr(slave, &modes) == 0) {
    modes.c_oflag &= ~static_cast<tcflag_t>(ONLCR);
    tcsetattr(slave, TCSANOW, &modes);
  }
  return slave >= 0;
}

void start(const Order& order, const char* strings, const int* fds, unsigned count) {
  Slot* slot = nullptr;
  for (unsigned i = 0; i < kMostExecutions && slot == nullptr; ++i)
    if (g_slots[i].minder == 0) slot = &g_slots[i];
  if (slot == nullptr) return tell_failed(order.id, Step::kFork, EAGAIN);
  Program program{};
  char** pointers = g_pointers;
  size_t needed = static_cast<size_t>(order.argc) + order.envc + 2;
  size_t mapped = 0;
  if (needed > sizeof g_pointers / sizeof g_pointers[0]) {
    mapped = needed * sizeof(char*);
    void* map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return tell_failed(order.id, Step::kOrder, errno);
    pointers = static_cast<char**>(map);
  }
  const char* at = strings;
  size_t out = 0;
  for (unsigned list = 0; list < 2; ++list) {
    unsigned n = list == 0 ? order.argc : order.envc;
    for (unsigned i = 0; i < n; ++i, at += strlen(at) + 1) pointers[out++] = const_cast<char*>(at);
    pointers[out++] = nullptr;
  }
  program.argv = pointers;
  program.envp = pointers + order.argc + 1;
  program.directory = at;
  program.cpu_seconds = order.cpu_seconds;
  int master = -1, slave = -1;
  unsigned given = 0;
  if (order.flags & kOrderPty) {
    if (!open_terminal(order, master, slave)) {
      int err = errno;
      if (master >= 0) close(master);
      return tell_failed(order.id, Step::kTerminal, err);
    }
    program.terminal = true;
    for (int i = 0; i < 3; ++i) program.fds[program.count++] = slave;
  }
  while (given < count && program.count < 7) program.fds[program.count++] = fds[given++];
  slot->id = order.id;
  slot->program = 0;
  slot->master = master;
  pid_t minder = fork();
  if (minder == 0) {
    slot->minder = getpid();
    mind(*slot, program);
  }
  int err = errno;
  if (slave >= 0) close(slave);
  if (mapped != 0) munmap(pointers, mapped);
  if (minder < 0) {
    if (master >= 0) close(master);
    slot->minder = 0;
    return tell_failed(order.id, Step::kFork, err);
  }
  slot->minder = minder;
  if (master < 0) return;
  News n{};
  n.kind = NewsKind::kTerminal;
  n.id = order.id;
  tell(n, master);
}

void tell_tty(const Order& order) {
  News n{};
  n.kind = NewsKind::kTty;
  n.id = order.id;
  Slot* slot = slot_of(order.id);
  pid_t foreground = 0;
  termios modes;
  if (slot != nullptr && slot->master >= 0 && ioctl(slot->master, TIOCGPGRP, &foreground) == 0 && foreground > 0) {
    bool known = tcgetattr(slot->master, &modes) == 0;
    n.waiting = reads_terminal(foreground, known && !(modes.c_lflag & ICANON)) ? 1 : 0;
    n.pid = foreground;
    n.echo = known && (modes.c_lflag & ECHO) ? 1 : 0;
  }
  tell(n);
}

void signal_group(const Slot& slot, const Order& order) {
  pid_t group = slot.program;
  if (order.flags & kOrderForeground) {
    if (slot.master < 0 || ioctl(slot.master, TIOCGPGRP, &group) < 0) return;
    // The shell itself is spared: it is to live on.
    if (group == slot.program && order.signal == SIGKILL) return;
  }
  if (group > 1) kill(-group, static_cast<int>(order.signal));
}

void obey(const Order& order, const char* strings, const int* fds, unsigned count) {
  News done{};
  done.kind = NewsKind::kDone;
  done.id = order.id;
  switch (order.kind) {
    case OrderKind::kExec: return start(order, strings, fds, count);
    case OrderKind::kKill:
      if (Slot* slot = slot_of(order.id)) kill_tree(slot->minder);
      return;
    case OrderKind::kSignal:
      if (Slot* slot = slot_of(order.id)) signal_group(*slot, order);
      return;
    case OrderKind::kStopAll:
      if (kill(-1, SIGSTOP) < 0 && errno != ESRCH) done.err = errno;
      return tell(done);
    case OrderKind::kGoOn:
      if (kill(-1, SIGCONT) < 0 && errno != ESRCH) done.err = errno;
      return tell(done);
    case OrderKind::kTty: return tell_tty(order);
  }
}

// One order. False: the keeper is gone.
bool serve() {
  iovec iov = {g_bytes, sizeof g_bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)];
  msghdr msg;
  memset(&msg, 0, sizeof msg);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  ssize_t n = recvmsg(kControl, &msg, MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  int fds[8];
  unsigned count = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    count = static_cast<unsigned>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(c), count * sizeof(int));
  }
  Order order;
  memcpy(&order, g_bytes, sizeof order);
  const char* strings = g_bytes + sizeof order;
  void* map = nullptr;
  unsigned usable = count;
  bool good = n >= static_cast<ssize_t>(sizeof order) && order.magic == kOrderMagic;
  if (good && (order.flags & kOrderMemfd)) {
    good = count > 0;
    if (good) map = mmap(nullptr, order.bytes, PROT_READ, MAP_PRIVATE, fds[--usable], 0);
    if (map == MAP_FAILED) map = nullptr, good = false;
    strings = static_cast<const char*>(map);
  } else if (good) {
    good = order.bytes + sizeof order == static_cast<size_t>(n);
  }
  if (good) obey(order, strings, fds, usable);
  else if (n >= static_cast<ssize_t>(sizeof order)) tell_failed(order.id, Step::kOrder, EINVAL);
  if (map != nullptr) munmap(map, order.bytes);
  for (unsigned i = 0; i < count; ++i) close(fds[i]);
  return true;
}

void reap() {
  for (pid_t pid; (pid = waitpid(-1, nullptr, WNOHANG | __WALL)) > 0;)
    for (unsigned i = 0; i < kMostExecutions; ++i) {
      Slot& slot = g_slots[i];
      if (slot.minder != pid) continue;
      if (slot.master >= 0) close(slot.master);
      slot.minder = 0;
      News n{};
      n.kind = NewsKind::kGone;
      n.id = slot.id;
      tell(n);
    }
}

[[noreturn]] void spawner() {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  fcntl(kControl, F_SETFD, FD_CLOEXEC);
  for (int s = 1; s < _NSIG; ++s)
    if (s != SIGKILL && s != SIGSTOP && s != SIGCHLD) signal(s, SIG_IGN);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  void* shared = mmap(nullptr, sizeof(Slot) * kMostExecutions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (signals < 0 || shared == MAP_FAILED) _exit(1);
  g_slots = static_cast<Slot*>(shared);
  News ready{};
  ready.kind = NewsKind::kReady;
  tell(ready);
  pollfd fds[2] = {{kControl, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents & POLLIN) {
      signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {}
      reap();
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) && !serve()) _exit(0);
  }
}

}  // namespace
}  // namespace hotcell::cells

int main(int argc, char** argv) {
  // Nobody in the cell looks into our memory or borrows our descriptors through /proc.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (argc > 1) return hotcell::cells::agent(argc, argv);
  hotcell::cells::spawner();
}
