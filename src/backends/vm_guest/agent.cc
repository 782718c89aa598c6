// The first process of the guest: boots what the kernel leaves to be done, says that it is ready and waits for its order.
// A snapshot is taken there, so everything before is the same for every program and knows of none. Then one program is
// run and told of, and the machine is of no more use: the host ends it.
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/vm_guest/guest.h"
#include "backends/vm_guest/order.h"

namespace hotcell::vm {
namespace {

int g_port = -1;
char g_order[kLongestOrder];
char g_piece[kLongestPiece];
char g_text[16 << 10];
Spec g_spec;

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

void wait_port(short what) {
  pollfd p = {g_port, what, 0};
  poll(&p, 1, 1000);
}

void put(const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = write(g_port, at, size);
    if (n > 0) at += n, size -= static_cast<size_t>(n);
    else if (n < 0 && errno == EAGAIN) wait_port(POLLOUT);
    else if (n < 0 && errno != EINTR) usleep(1000);  // nobody listens on the other side just now
  }
}

// False: no more bytes just now, and none of this one has come.
bool get(void* bytes, size_t size, bool wait) {
  char* at = static_cast<char*>(bytes);
  size_t done = 0;
  while (done < size) {
    ssize_t n = read(g_port, at + done, size - done);
    if (n > 0) done += static_cast<size_t>(n);
    else if (!wait && done == 0) return false;
    else if (n == 0) usleep(1000);  // the host's side is not open (yet)
    else wait_port(POLLIN);
  }
  return true;
}

void tell(uint32_t kind, const void* bytes, uint32_t size) {
  Frame head = {kind, size};
  put(&head, sizeof head);
  put(bytes, size);
}

[[noreturn]] void failed(const char* step, int error) {
  int n = snprintf(g_text, sizeof g_text, "guest: %s: %s", step, strerror(error));
  tell(kFailed, g_text, static_cast<uint32_t>(n));
  wait_for_the_end();
}

bool read_order(uint32_t size) {
  // Bytes of a field are followed by the next head or by the end: each text is ended in place, once its head is read.
  uint32_t at = 0;
  while (at + sizeof(Field) <= size) {
    Field field;
    memcpy(&field, g_order + at, sizeof field);
    memset(g_order + at, 0, sizeof field);  // ends the text before it
    at += sizeof field;
    if (field.size > size - at) return false;
    char* text = g_order + at;
    at += field.size;
    // Numbers come before anything that would end them, so they are copied.
    char number[32] = "";
    memcpy(number, text, field.size < 31 ? field.size : 31);
    uint64_t n = strtoull(number, nullptr, 10);
    switch (field.tag) {
      case kArgument:
        if (g_spec.argc == kMost) return false;
        g_spec.argv[g_spec.argc++] = text;
        break;
      case kVariable:
        if (g_spec.envc == kMost) return false;
        g_spec.envp[g_spec.envc++] = text;
        break;
      case kHidden:
        if (g_spec.hidden_count == 8) return false;
        g_spec.hidden[g_spec.hidden_count++] = text;
        break;
      case kShare:
        if (g_spec.share_count == 64) return false;
        g_spec.shares[g_spec.share_count++] = text;
        break;
      case kLink:
        if (g_spec.link_count == 256) return false;
        g_spec.links[g_spec.link_count++] = text;
        break;
      case kFolder: g_spec.folder = text; break;
      case kUid: g_spec.uid = static_cast<unsigned>(n); break;
      case kGid: g_spec.gid = static_cast<unsigned>(n); break;
      case kMemory: g_spec.memory = n; break;
      case kProcesses: g_spec.processes = n; break;
      case kOpenFiles: g_spec.open_files = n; break;
      case kFileSize: g_spec.file_size = n; break;
      case kStack: g_spec.stack = n; break;
      case kScratch: g_spec.scratch = n; break;
      case kReadOnly: g_spec.read_only = true; break;
      case kImage: g_spec.image = true; break;
      case kFilter:
        g_spec.filter = text;
        g_spec.filter_size = field.size;
        break;
      case kClock: {
        timespec now = {static_cast<time_t>(n / 1000000000), static_cast<long>(n % 1000000000)};
        clock_settime(CLOCK_REALTIME, &now);
        break;
      }
      case kSeed: {
        struct {
          int bits, size;
          char bytes[64];
        } pool;  // rand_pool_info
        uint32_t some = field.size < 64 ? field.size : 64;
        pool.bits = static_cast<int>(some * 8);
        pool.size = static_cast<int>(some);
        memcpy(pool.bytes, text, some);
        int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
        // Mixed in and used at once: two guests of one snapshot must not draw the same numbers.
        if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0) return false;
        close(fd);
        break;
      }
      default: return false;
    }
  }
  return at == size && g_spec.argc > 0 && g_spec.uid != 0 && g_spec.folder != nullptr;
}

// The order's last text is ended by the zero behind it; filters need their size alone.
void receive_order() {
  Frame head;
  get(&head, sizeof head, true);
  if (head.kind != kOrder || head.size >= kLongestOrder) failed("order", EPROTO);
  get(g_order, head.size, true);
  g_order[head.size] = '\0';
  if (!read_order(head.size)) failed("order", EINVAL);
}

struct Streams {
  Started* s;
  size_t held = 0, given = 0;   // of g_piece: standard input that the program has not taken yet
  bool in_open = true;

  void take_input() {
    Frame head;
    while (in_open && held == given && get(&head, sizeof head, false)) {
      if (head.kind != kStdin || head.size > kLongestPiece) failed("input", EPROTO);
      get(g_piece, head.size, true);
      held = head.size;
      given = 0;
      if (head.size == 0) close_input();
      else give_input();
    }
  }
  void give_input() {
    while (in_open && given < held) {
      ssize_t n = write(s->in, g_piece + given, held - given);
      if (n > 0) given += static_cast<size_t>(n);
      else if (errno == EAGAIN) return;
      else close_input();  // it does not read any more, and neither do we
    }
  }
  void close_input() {
    if (in_open) close(s->in);
    in_open = false;
    held = given = 0;
  }
};

// False: it is closed.
bool pass(int fd, uint32_t kind) {
  static char bytes[kLongestPiece];
  ssize_t n = read(fd, bytes, sizeof bytes);
  if (n > 0) tell(kind, bytes, static_cast<uint32_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

uint32_t full(const char* path) {
  struct statfs fs;
  return statfs(path, &fs) == 0 && fs.f_blocks > 0 && fs.f_bavail == 0;
}

void serve(Started& s) {
  Streams streams{&s};
  fcntl(s.in, F_SETFL, O_NONBLOCK);
  bool out = true, err = true, status = true;
  End end = {};
  end.status = SIGKILL;
  while (out || err || status) {
    pollfd p[5] = {{streams.in_open && streams.held == streams.given ? g_port : -1, POLLIN, 0},
                   {streams.in_open ? s.in : -1, static_cast<short>(streams.held > streams.given ? POLLOUT : 0), 0},
                   {out ? s.out : -1, POLLIN, 0},
                   {err ? s.err : -1, POLLIN, 0},
                   {status ? s.status : -1, POLLIN, 0}};
    poll(p, 5, -1);
    // A pollhup of the port means that the host is gone: nothing is left to do but to wait for the end.
    if (p[0].revents & POLLIN) streams.take_input();
    if (p[1].revents & POLLERR) streams.close_input();
    else if (p[1].revents) streams.give_input();
    if (p[2].revents) out = pass(s.out, kOut);
    if (p[3].revents) err = pass(s.err, kErr);
    if (p[4].revents) {
      char word[160];
      ssize_t n = read(s.status, word, sizeof word - 1);
      if (n == sizeof(int)) memcpy(&end.status, word, sizeof(int));
      status = false;
      // The rest of the namespace goes with its first process.
      while (waitpid(s.init, nullptr, __WALL) < 0 && errno == EINTR) {}
    }
  }
  sync();
  end.oom_kills = static_cast<uint32_t>(cgroup_number("memory.events", "oom_kill"));
  end.pids_refused = static_cast<uint32_t>(cgroup_number("pids.events", "max"));
  end.tmp_full = full("/r/tmp") | full("/r/dev/shm");
  end.cpu_us = cgroup_number("cpu.stat", "usage_usec");
  end.memory_peak = cgroup_number("memory.peak", nullptr);
  tell(kEnd, &end, sizeof end);
}

}  // namespace

int agent_main() {
  Failure f = {"", 0};
  bool booted = boot_guest(f);
  // The driver tells of its ports a moment after it was loaded.
  for (int i = 0; i < 1000 && g_port < 0; ++i) {
    g_port = open("/dev/vport0p1", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (g_port < 0) usleep(5000);
  }
  if (g_port < 0) {
    dprintf(2, "hotcell: no port to the host: %s\n", strerror(errno));
    _exit(1);  // the kernel panics, and the machine ends: nobody shall wait for one that cannot say anything
  }
  if (!booted) failed(f.step, f.error);
  signal(SIGPIPE, SIG_IGN);
  tell(kReady, "", 0);
  receive_order();
  if (!build_root(g_spec, f)) failed(f.step, f.error);
  Started s;
  if (!start_program(g_spec, s, f)) failed(f.step, f.error);
  char word[160];
  ssize_t said = read(s.status, word, sizeof word - 1);
  // With hardly any memory it is ended before it begins; that is the limit, and not us.
  if (said <= 0 && cgroup_number("memory.events", "oom_kill") == 0) failed("the program's process", ECHILD);
  if (said > 0 && word[0] != 'R') {
    tell(kFailed, word + 1, static_cast<uint32_t>(said - 1));
    wait_for_the_end();
  }
  uint32_t n = said > 0 ? read_back(g_spec, s, g_text, sizeof g_text) : 0;
  if (said > 0 && n == 0) failed("read back", errno);
  if (n > 0) tell(kPosture, g_text, n);
  if (write(s.go, "", 1) != 1) {}  // when it has died the status says so
  close(s.go);
  serve(s);
  wait_for_the_end();
}

}  // namespace hotcell::vm
