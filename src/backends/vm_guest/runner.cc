// The runner: starts QEMU in the cell that is around both, hands the order over and stands for the program: its streams are
// the program's, and it ends as the program ended, by the same status or the same signal.
//   hotcell-vm boot STATE -- QEMU...     until the guest is ready; then its state is written to STATE
//   hotcell-vm run ORDER TOLD WORKSPACE STATE|- -- QEMU...
// QEMU finds the port at descriptor 3, its monitor at 4 (boot alone) and the state at 5.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/vm_guest/guest.h"
#include "backends/vm_guest/order.h"

namespace hotcell::vm {
namespace {

constexpr int kPort = 3, kMonitor = 4, kState = 5;
constexpr const char* kLog = "/tmp/machine.log";

int g_port = -1, g_monitor = -1, g_told = -1;
char g_bytes[64 << 10];
char g_order[kLongestOrder];

[[noreturn]] void failed(const char* what) {
  char log[2048] = "";
  read_text(kLog, log, sizeof log);
  for (char* c = log; *c != '\0'; ++c)
    if (*c == '\n') *c = ' ';
  dprintf(g_told >= 0 ? g_told : 2, "failed:%s%s%s\n", what, log[0] != '\0' ? ": " : "", log);
  _exit(125);
}

pid_t start_machine(char** argv, const char* state, bool monitor) {
  int port[2], qmp[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, port) < 0) failed("socketpair");
  if (monitor && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0) failed("socketpair");
  int from = strcmp(state, "-") == 0 ? -1 : open(state, O_RDONLY | O_CLOEXEC);
  if (from < 0 && strcmp(state, "-") != 0) failed("the saved state cannot be read");
  pid_t pid = fork();
  if (pid < 0) failed("fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    int log = open(kLog, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    // Out of the way of the numbers they are to have.
    int high[3] = {fcntl(port[1], F_DUPFD_CLOEXEC, 20), monitor ? fcntl(qmp[1], F_DUPFD_CLOEXEC, 20) : -1, from >= 0 ? fcntl(from, F_DUPFD_CLOEXEC, 20) : -1};
    dup2(null, 0), dup2(log, 1), dup2(log, 2), dup2(high[0], kPort);
    if (high[1] >= 0) dup2(high[1], kMonitor);
    if (high[2] >= 0) dup2(high[2], kState);
    execv(argv[0], argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
  close(port[1]);
  g_port = port[0];
  if (monitor) close(qmp[1]), g_monitor = qmp[0];
  if (from >= 0) close(from);
  return pid;
}

void put(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = write(fd, at, size);
    if (n > 0) at += n, size -= static_cast<size_t>(n);
    else if (errno == EAGAIN) {
      pollfd p = {fd, POLLOUT, 0};
      poll(&p, 1, -1);
    } else if (errno != EINTR) {
      if (fd == g_port) failed("the machine ended");
      return;  // nobody reads the program's output: the launcher has had enough of it
    }
  }
}

void get(void* bytes, size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    ssize_t n = read(g_port, at, size);
    if (n > 0) at += n, size -= static_cast<size_t>(n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN)) failed("the machine ended");
  }
}

void await_ready() {
  Frame head;
  get(&head, sizeof head);
  if (head.kind == kReady && head.size == 0) return;
  uint32_t n = head.kind == kFailed && head.size < sizeof g_bytes ? head.size : 0;
  get(g_bytes, n);
  g_bytes[n] = '\0';
  failed(n > 0 ? g_bytes : "the guest said nothing sensible");
}

// One command of the machine's monitor; its answer, with what else was said meanwhile, is looked through for a word.
bool ask(const char* command, const char* good, const char* bad) {
  if (command != nullptr) put(g_monitor, command, strlen(command));
  size_t held = 0;
  for (;;) {
    ssize_t n = read(g_monitor, g_bytes + held, sizeof g_bytes - held - 1);
    if (n <= 0) return false;
    held += static_cast<size_t>(n);
    g_bytes[held] = '\0';
    if (strstr(g_bytes, good) != nullptr) return true;
    if (strstr(g_bytes, bad) != nullptr || held > sizeof g_bytes / 2) return false;
  }
}

int boot(const char* state, char** argv) {
  pid_t machine = start_machine(argv, "-", true);
  await_ready();
  // Between its word and its sleep: the read that waits for the order is to be part of the state. It is not stopped before,
  // or it would come back stopped.
  usleep(100 * 1000);
  char command[512];
  snprintf(command, sizeof command, "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"exec:cat >%s\"}}\n", state);
  if (!ask(nullptr, "\"QMP\"", "\"error\"") || !ask("{\"execute\":\"qmp_capabilities\"}\n", "\"return\"", "\"error\"") ||
      !ask("{\"execute\":\"migrate-set-parameters\",\"arguments\":{\"max-bandwidth\":10000000000}}\n", "\"return\"", "\"error\"") ||
      !ask(command, "\"return\"", "\"error\""))
    failed("the monitor refused");
  for (;;) {
    if (ask("{\"execute\":\"query-migrate\"}\n", "\"completed\"", "\"return\"")) break;
    if (strstr(g_bytes, "\"failed\"") != nullptr || strstr(g_bytes, "\"error\"") != nullptr || strstr(g_bytes, "\"return\"") == nullptr) failed("the state could not be saved");
    usleep(5000);
  }
  kill(machine, SIGKILL);
  waitpid(machine, nullptr, 0);
  return 0;
}

void add_field(uint32_t& size, uint32_t tag, const void* bytes, uint32_t n) {
  Field field = {tag, n};
  if (size + sizeof field + n >= kLongestOrder) failed("the order is too long");
  memcpy(g_order + size, &field, sizeof field);
  memcpy(g_order + size + sizeof field, bytes, n);
  size += static_cast<uint32_t>(sizeof field) + n;
}

void send_order(const char* path) {
  long n = read_text(path, g_order, kLongestOrder - 1024);
  if (n <= 0 || n >= static_cast<long>(kLongestOrder) - 1025) failed("the order cannot be read");
  uint32_t size = static_cast<uint32_t>(n);
  char seed[64], now[32];
  if (getrandom(seed, sizeof seed, 0) != sizeof seed) failed("no randomness");
  add_field(size, kSeed, seed, sizeof seed);
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  int digits = snprintf(now, sizeof now, "%lld%09ld", static_cast<long long>(t.tv_sec), t.tv_nsec);
  add_field(size, kClock, now, static_cast<uint32_t>(digits));
  Frame head = {kOrder, size};
  put(g_port, &head, sizeof head);
  put(g_port, g_order, size);
}

[[noreturn]] void end_like(const End& end) {
  dprintf(g_told, "ended:%d\noom_kills:%u\npids_refused:%u\ntmp_full:%u\ncpu_us:%llu\nmemory_peak:%llu\n", end.status, end.oom_kills, end.pids_refused, end.tmp_full,
          static_cast<unsigned long long>(end.cpu_us), static_cast<unsigned long long>(end.memory_peak));
  if (WIFSIGNALED(end.status)) {
    rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(end.status), SIG_DFL);
    kill(getpid(), WTERMSIG(end.status));
    _exit(128 + WTERMSIG(end.status));
  }
  _exit(WEXITSTATUS(end.status));
}

// A frame of the guest's: whatever it says, it can only speak for the program in it.
void on_frame() {
  Frame head;
  get(&head, sizeof head);
  if (head.size > sizeof g_bytes - 1) failed("the guest said nothing sensible");
  get(g_bytes, head.size);
  g_bytes[head.size] = '\0';
  switch (head.kind) {
    case kReady: return;
    case kOut: put(1, g_bytes, head.size); return;
    case kErr: put(2, g_bytes, head.size); return;
    case kPosture: put(g_told, g_bytes, head.size); return;
    case kFailed: failed(g_bytes);
    case kEnd: {
      End end;
      if (head.size != sizeof end) failed("the guest said nothing sensible");
      memcpy(&end, g_bytes, sizeof end);
      end_like(end);
    }
    default: failed("the guest said nothing sensible");
  }
}

int run(const char* order, const char* told, const char* workspace, const char* state, char** argv) {
  g_told = open(told, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (g_told < 0) failed(told);
  // A program that fills the workspace is to be told of all the same.
  fallocate(g_told, FALLOC_FL_KEEP_SIZE, 0, 32 << 10);
  mkdir(workspace, 0755);
  start_machine(argv, state, false);
  if (strcmp(state, "-") == 0) await_ready();
  send_order(order);
  bool in = true;
  // The guest takes standard input as its program does: what does not fit stays here, unsent, and output flows on.
  static char piece[sizeof(Frame) + kLongestPiece];
  size_t held = 0, sent = 0;
  for (;;) {
    pollfd p[2] = {{g_port, static_cast<short>(POLLIN | (held > sent ? POLLOUT : 0)), 0}, {in && held == sent ? 0 : -1, POLLIN, 0}};
    if (poll(p, 2, -1) < 0) continue;
    if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) on_frame();
    if (p[1].revents) {
      ssize_t n = read(0, piece + sizeof(Frame), kLongestPiece);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) n = 0, in = false;
      Frame head = {kStdin, static_cast<uint32_t>(n)};
      memcpy(piece, &head, sizeof head);
      held = sizeof head + static_cast<size_t>(n);
      sent = 0;
    }
    if (held > sent) {
      ssize_t n = send(g_port, piece + sent, held - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<size_t>(n);
    }
  }
}

}  // namespace

int runner_main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc > 5 && strcmp(argv[1], "boot") == 0 && strcmp(argv[3], "--") == 0) return boot(argv[2], argv + 4);
  if (argc > 8 && strcmp(argv[1], "run") == 0 && strcmp(argv[6], "--") == 0) return run(argv[2], argv[3], argv[4], argv[5], argv + 7);
  dprintf(2, "hotcell-vm: not to be called by hand\n");
  return 125;
}

}  // namespace hotcell::vm

int main(int argc, char** argv) { return argc > 1 ? hotcell::vm::runner_main(argc, argv) : hotcell::vm::agent_main(); }
