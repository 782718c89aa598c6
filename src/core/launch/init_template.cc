// A template: init's other role. Theory of operation:
//   Most of what a cell is made of is the same for every cell of a policy. A template lives in a user and a mount
//   namespace of its own, has carried out that common part of the plan once, and clones itself for each cell into
//   fresh pid, mount, ipc and uts namespaces; the clone ends its set-up by entering a user namespace below ours. It holds no privilege outside its user namespace and
//   no descriptor but the plan, its socket, the host's /proc and net namespaces; all that its clones can find in its memory is the plan.
//   The clones are children of the launcher (CLONE_PARENT), which signals, reaps and outlives them as it does a cell
//   that it made in one go. When the launcher is gone, so are we.
//   A net namespace costs more than everything else together, so one in which nothing has ever happened waits for
//   another cell; one that shows the least trace of use is thrown away.
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/launch/init.h"

namespace hotcell {
namespace {

constexpr unsigned kTraceFiles = 5;
struct alignas(64) Net {
  int ns;
  bool there, busy, open;  // open: `traces` are
  int traces[kTraceFiles];
  uint64_t looks;
};
constexpr unsigned kMaxNets = 256, kMostSpare = 16;  // each costs some 150 KiB
// Whole pages, all zero at first: a clone gives them back.
alignas(4096) Net g_nets[kMaxNets];
uint64_t g_seed;

// Everything that a program without capabilities could leave behind in a net namespace shows in one of these: packets
// and refused ones in the counters, connections that linger and learnt metrics by the packets they took, flow labels
// by themselves, and sockets, whatever their family, by their number. Not netstat, whose counters move only with these, nor tcp and
// unix, which walk whole tables.
constexpr const char* kTraces[kTraceFiles] = {"self/net/dev", "self/net/snmp", "self/net/snmp6",
                                              "self/net/sockstat", "self/net/ip6_flowlabel"};
constexpr unsigned kSockets = 3;  // of these: its first line is this namespace's, what follows is the machine's as well

// In the net namespace that is meant: what is opened there shows it for good. -1: this kernel has no such file.
void open_traces(int* fds) {
  for (unsigned i = 0; i < kTraceFiles; ++i) fds[i] = openat(g_ctx.proc, kTraces[i], O_RDONLY | O_CLOEXEC);
}

void close_traces(const int* fds) {
  for (unsigned i = 0; i < kTraceFiles; ++i)
    if (fds[i] >= 0) close(fds[i]);
}

uint64_t looks_by(const int* fds) {
  uint64_t h = g_seed;  // a secret start: nobody can choose traces that add up to none
  for (unsigned i = 0; i < kTraceFiles; ++i) {
    int fd = fds[i];
    h = (h ^ (fd >= 0 ? 1u : 2u)) * 0x9e3779b97f4a7c15u;
    if (fd < 0) continue;
    alignas(8) char buffer[8192];
    ssize_t n;
    bool more = true;
    for (off_t at = 0; more && (n = pread(fd, buffer, sizeof buffer, at)) > 0;) {
      at += n;
      // The kernel hands these out by the page, and no line is as long as half of one: there is no more, and to be told so
      // takes as long as the first look.
      more = n >= 2048;
      if (i == kSockets) {
        const void* end = memchr(buffer, '\n', static_cast<size_t>(n));
        if (end == nullptr) return 0;
        n = static_cast<const char*>(end) - buffer;
      }
      while (n % 8) buffer[n++] = 0;
      for (ssize_t k = 0; k < n; k += 8) {
        uint64_t word;
        memcpy(&word, buffer + k, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
      }
    }
    if (n < 0) return 0;  // not comparable: never equal to a stored one
  }
  return h | 1;
}

uint64_t looks_of_this_net() {
  int fds[kTraceFiles];
  open_traces(fds);
  uint64_t looks = looks_by(fds);
  close_traces(fds);
  return looks;
}

// Leaves us in the new net namespace.
int make_net(Net& net) {
  if (unshare(CLONE_NEWNET) < 0) return -errno;
  Op lo = {};
  if (int err = apply_loopback_up(g_ctx, lo); err < 0) return err;
  int fd = openat(g_ctx.proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  net = {fd, true, false, false, {}, looks_of_this_net()};
  return 0;
}

unsigned spare_nets() {
  unsigned count = 0;
  for (const auto& n : g_nets) count += n.there && !n.busy ? 1 : 0;
  return count;
}

// Enters a net namespace that no cell has touched. Its number, or negative errno.
int enter_net() {
  Net* empty = nullptr;
  for (auto& n : g_nets) {
    if (!n.there) empty = &n;
    if (!n.there || n.busy) continue;
    if (setns(n.ns, CLONE_NEWNET) < 0) return -errno;
    n.busy = true;
    return static_cast<int>(&n - g_nets);
  }
  // With all numbers given out the next ones are not counted and not kept.
  Net uncounted = {};
  Net& net = empty != nullptr ? *empty : uncounted;
  if (int err = make_net(net); err < 0) return err;
  net.busy = true;
  if (empty != nullptr) return static_cast<int>(empty - g_nets);
  close(uncounted.ns);
  return static_cast<int>(kMaxNets);
}

void take_back_net(int number) {
  if (number < 0 || number >= static_cast<int>(kMaxNets)) return;
  Net& net = g_nets[number];
  if (!net.there || !net.busy) return;
  net.busy = false;
  // The filter is part of the proof: without it a program could leave timers behind that send later.
  bool wanted = g_plan->reuse_nets && spare_nets() <= kMostSpare && net.looks != 0;
  // One that comes back once does so often, and to open the files takes longer than to read them. One that never does
  // (a parked cell's) shall not have the memory that an open file takes.
  if (wanted && !net.open && setns(net.ns, CLONE_NEWNET) == 0) {
    open_traces(net.traces);
    net.open = true;
  }
  if (wanted && net.open && looks_by(net.traces) == net.looks) return;
  if (net.open) close_traces(net.traces);
  close(net.ns);
  net = {};
}

void stock_net() {
  for (auto& n : g_nets)
    if (!n.there) {
      make_net(n);  // without it the next cell makes its own, and meets the error
      return;
    }
}

// A cell has its descriptors at the numbers init expects, and the host's /proc behind them.
int first_free_fd() { return static_cast<int>(kFirstInheritedFd + g_plan->inherited) + 1; }

// In the template: nothing that comes with a request shall land on one of these numbers, and /proc has its own already.
void reserve_fds() {
  int proc = first_free_fd() - 1;
  // Something of ours that is in the way (only what was opened after we began can be) moves up.
  if (g_ctx.proc != proc && dup2(g_ctx.proc, proc) < 0) _exit(76);
  if (g_ctx.proc > proc) close(g_ctx.proc);
  g_ctx.proc = proc;
  for (int fd = 0; fd < proc; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && dup2(kPlanFd, fd) < 0) _exit(76);
}

// In the clone: the descriptors that came with the request, at their numbers, and nothing else.
void arrange(const int* received, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    int number = static_cast<int>(i < static_cast<unsigned>(kPlanFd) ? i : i + 1);
    if (received[i] < first_free_fd() || dup2(received[i], number) < 0) _exit(76);
  }
  if (syscall(SYS_close_range, first_free_fd(), ~0u, 0) < 0) _exit(76);
}

constexpr unsigned kMostFds = 32;

int make_cell(const TemplateRequest& request, const int* fds, unsigned count, unsigned from, int& net) {
  if (g_plan->clone_flags & CLONE_NEWNET) {
    net = enter_net();
    if (net < 0) return net;
  }
  clone_args args;
  memset(&args, 0, sizeof args);
  // Not CLONE_NEWUSER: mounts that a new user namespace brings along are locked, and no root can be made of them.
  args.flags = (g_plan->clone_flags & ~static_cast<uint64_t>(CLONE_NEWNET | CLONE_NEWUSER)) | CLONE_PARENT;
  long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return -errno;
  if (pid > 0) return static_cast<int>(pid);
  arrange(fds, count);
  start_afresh(Role::kStamped);
  g_ctx.cell_id = request.id;
  g_ctx.will_wait = request.will_wait;
  be_cell(Role::kStamped, from);
}

void serve(const TemplateRequest& request, int* fds, unsigned count, unsigned from) {
  TemplateReply reply = {0, 0, -1, 0};
  auto take_back = [&] {
    for (unsigned i = 0; i < request.backs && i < kMostBacks; ++i) take_back_net(request.back[i]);
  };
  // To look at a net namespace takes as long as to clone: the cell first, if there is one to put it into.
  bool later = request.ask == TemplateAsk::kMakeCell && spare_nets() > 0;
  if (!later) take_back();
  switch (request.ask) {
    case TemplateAsk::kTakeBack: break;
    case TemplateAsk::kStockNet: stock_net(); break;
    case TemplateAsk::kMakeCell: {
      int made = count == kPlanFd + 1 + g_plan->inherited ? make_cell(request, fds, count, from, reply.net) : -EINVAL;
      if (made < 0) {
        reply.err = -made;
        if (reply.net >= 0 && reply.net < static_cast<int>(kMaxNets)) g_nets[reply.net].busy = false;
      } else {
        reply.pid = made;
      }
      reply.spare = spare_nets();
      if (send(kCtlFd, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) _exit(0);
      break;
    }
  }
  // They came together and sit together, mostly.
  for (unsigned i = 0; i < count;) {
    unsigned end = i + 1;
    while (end < count && fds[end] == fds[end - 1] + 1) ++end;
    if (syscall(SYS_close_range, fds[i], fds[end - 1], 0) < 0) _exit(76);
    i = end;
  }
  if (later) take_back();
}

// Clones inherit our memory, and what they write to becomes theirs: so they get little of it. The stack we were started
// with, its page tables and the vdso are let go of; what is left lies within the two megabytes that one page table
// covers.
void leave_far_mappings() {
#if defined(__x86_64__)
  constexpr unsigned long kFar = 1ul << 30, kEnd = (1ul << 47) - 4096;
  if (g_plan_is_low) munmap(reinterpret_cast<void*>(kFar), kEnd - kFar);
#endif
}

}  // namespace

alignas(4096) char g_template_stack[32 << 10];

namespace {

[[noreturn]] void template_main() {
  leave_far_mappings();
  unsigned from = run_ops(kCtlFd, Role::kTemplate, 0, OpKind::kTemplateEnd) + 1;
  clean_signals();
  if (setsid() < 0) fail(kCtlFd, static_cast<int>(from - 1), errno);  // no terminal, for our clones neither
  // A terminal's Ctrl-C goes to everybody in front of it; the launcher decides what ends.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (getrandom(&g_seed, sizeof g_seed, 0) != sizeof g_seed) fail(kCtlFd, static_cast<int>(from - 1), errno);
  reserve_fds();
  g_record.type = RecordType::kReady;
  if (send(kCtlFd, &g_record, offsetof(Record, op_ns), MSG_NOSIGNAL) < 0) _exit(72);
  for (;;) {
    TemplateRequest request;
    int fds[kMostFds];
    unsigned count;
    // Anything else: the launcher is gone or wants no more cells of this policy.
    if (receive_with_fds(kCtlFd, &request, sizeof request, fds, kMostFds, count) != static_cast<ssize_t>(sizeof request)) _exit(0);
    serve(request, fds, count, from);
  }
}

}  // namespace

void forget_template() {
  static_assert(sizeof g_nets % 4096 == 0);
  give_back_pages(g_nets, sizeof g_nets);
}

[[noreturn]] void be_template() {
  char* top = g_template_stack + sizeof g_template_stack;
#if defined(__x86_64__)
  __asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tcall *%1" : : "r"(top), "r"(&template_main) : "memory");
#else
  __asm__ volatile("mov sp, %0\n\tmov x29, xzr\n\tblr %1" : : "r"(top), "r"(&template_main) : "memory");
#endif
  __builtin_unreachable();
}

}  // namespace hotcell
