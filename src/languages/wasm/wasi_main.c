// Starts a translated module: `PROGRAM memory=BYTES ARGUMENT…`. Ceilings of its memory and tables, traps, arguments, variables,
// clocks, waiting. Its files are in wasi_fds.c and wasi_paths.c.
#define _GNU_SOURCE
#include "wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

extern jmp_buf wasm_rt_jmp_buf;
extern char** environ;

#define PAGE 65536u
#define TABLE_MOST (1u << 20)
#define POLL_MOST 256

static u32 pages_most = 256;

static void refuse(const char* what, unsigned long long wanted, unsigned long long most) {
  dprintf(2, "hotcell: the module wants %s of %llu at once; the limit is %llu\n", what, wanted, most);
  _exit(126);
}

// The linker puts these in front of the runtime's own. wasm2c reserves the addresses; what may be used of them is the policy's.
// 65535: with one more page the runtime's 32-bit size would be 0.
void __real_wasm_rt_allocate_memory(wasm_rt_memory_t* memory, uint32_t pages, uint32_t most);
void __wrap_wasm_rt_allocate_memory(wasm_rt_memory_t* memory, uint32_t pages, uint32_t most);
void __wrap_wasm_rt_allocate_memory(wasm_rt_memory_t* memory, uint32_t pages, uint32_t most) {
  if (pages > pages_most) refuse("a memory", (unsigned long long)pages * PAGE, (unsigned long long)pages_most * PAGE);
  __real_wasm_rt_allocate_memory(memory, pages, most < pages_most ? most : pages_most);
}
// The runtime does not look whether there was memory for a table: one that is too large would begin at address 0, and its
// entries would be wherever the module likes.
#define TABLE(kind)                                                                                                       \
  void __real_wasm_rt_allocate_##kind##_table(wasm_rt_##kind##_table_t*, uint32_t, uint32_t);                             \
  void __wrap_wasm_rt_allocate_##kind##_table(wasm_rt_##kind##_table_t*, uint32_t, uint32_t);                             \
  void __wrap_wasm_rt_allocate_##kind##_table(wasm_rt_##kind##_table_t* table, uint32_t elements, uint32_t most) {        \
    if (elements > TABLE_MOST) refuse("a table", elements, TABLE_MOST);                                                   \
    __real_wasm_rt_allocate_##kind##_table(table, elements, most < TABLE_MOST ? most : TABLE_MOST);                       \
    if (elements > 0 && table->data == NULL) refuse("a table", elements, 0);                                              \
  }
TABLE(funcref)
TABLE(externref)

u32 wasi_errno(int err) {
  switch (err) {
    case 0: return kOk;
    case EACCES: return kAcces;
    case EAGAIN: return kAgain;
    case EBADF: return kBadf;
    case EBUSY: return kBusy;
    case EEXIST: return kExist;
    case EFAULT: return kFault;
    case EFBIG: return kFbig;
    case EINTR: return kIntr;
    case EINVAL: return kInval;
    case EISDIR: return kIsdir;
    case ELOOP: return kLoop;
    case EMFILE: return kMfile;
    case EMLINK: return kMlink;
    case ENAMETOOLONG: return kNametoolong;
    case ENFILE: return kNfile;
    case ENOENT: return kNoent;
    case ENOMEM: return kNomem;
    case ENOSPC: return kNospc;
    case ENOSYS: return kNosys;
    case ENOTDIR: return kNotdir;
    case ENOTEMPTY: return kNotempty;
    case ENOTSUP: return kNotsup;
    case ENOTTY: return kNotty;
    case ENXIO: return kNxio;
    case EOVERFLOW: return kOverflow;
    case EPERM: return kPerm;
    case EPIPE: return kPipe;
    case ERANGE: return kRange;
    case EROFS: return kRofs;
    case ESPIPE: return kSpipe;
    case ETXTBSY: return kTxtbsy;
    case EXDEV: return kXdev;
    default: return kIo;
  }
}

// ---- arguments and variables
static u32 sizes(const Wasi* self, char** list, int n, u32 count_at, u32 bytes_at) {
  void *count = at(self, count_at, 4), *bytes = at(self, bytes_at, 4);
  if (count == NULL || bytes == NULL) return kFault;
  u64 all = 0;
  for (int i = 0; i < n; ++i) all += strlen(list[i]) + 1;
  if (all > UINT32_MAX) return kOverflow;
  store32(count, (u32)n);
  store32(bytes, (u32)all);
  return kOk;
}

static u32 copy_list(const Wasi* self, char** list, int n, u32 pointers, u32 text) {
  for (int i = 0; i < n; ++i) {
    size_t size = strlen(list[i]) + 1;
    void *pointer = at(self, pointers, 4), *to = at(self, text, size);
    if (pointer == NULL || to == NULL) return kFault;
    store32(pointer, text);
    memcpy(to, list[i], size);
    pointers += 4;
    text += (u32)size;
  }
  return kOk;
}

static int count_environment(void) {
  int n = 0;
  while (environ[n] != NULL) ++n;
  return n;
}

WASI(args_sizes_get, u32 count, u32 bytes) { return sizes(self, self->argv, self->argc, count, bytes); }
WASI(args_get, u32 pointers, u32 text) { return copy_list(self, self->argv, self->argc, pointers, text); }
WASI(environ_sizes_get, u32 count, u32 bytes) { return sizes(self, environ, count_environment(), count, bytes); }
WASI(environ_get, u32 pointers, u32 text) { return copy_list(self, environ, count_environment(), pointers, text); }

// ---- time and chance
static int host_clock(u32 id, clockid_t* out) {
  static const clockid_t known[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  if (id >= sizeof known / sizeof known[0]) return 0;
  *out = known[id];
  return 1;
}
static u64 nanoseconds(const struct timespec* t) { return (u64)t->tv_sec * 1000000000u + (u64)t->tv_nsec; }

WASI(clock_res_get, u32 id, u32 to) {
  clockid_t clock;
  struct timespec t;
  void* out = at(self, to, 8);
  if (!host_clock(id, &clock) || clock_getres(clock, &t) != 0) return kInval;
  if (out == NULL) return kFault;
  store64(out, nanoseconds(&t));
  return kOk;
}
WASI(clock_time_get, u32 id, u64 precision, u32 to) {
  clockid_t clock;
  struct timespec t;
  void* out = at(self, to, 8);
  (void)precision;
  if (!host_clock(id, &clock) || clock_gettime(clock, &t) != 0) return kInval;
  if (out == NULL) return kFault;
  store64(out, nanoseconds(&t));
  return kOk;
}
WASI(random_get, u32 to, u32 size) {
  u8* out = at(self, to, size);
  if (out == NULL) return kFault;
  while (size > 0) {
    ssize_t got = getrandom(out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wasi_errno(errno);
    out += got;
    size -= (u32)got;
  }
  return kOk;
}

// ---- waiting: for the first of some clocks and descriptors
static void event(u8* to, u64 user, u32 error, u8 type) {
  memset(to, 0, 32);
  store64(to, user);
  store16(to + 8, (u16)error);
  to[10] = type;
}

WASI(poll_oneoff, u32 in, u32 out, u32 n, u32 told) {
  const u8* asked = at(self, in, (u64)n * 48);
  u8* events = at(self, out, (u64)n * 32);
  void* count = at(self, told, 4);
  struct pollfd fds[POLL_MOST];
  u64 until[POLL_MOST];
  u32 wrong[POLL_MOST], made = 0;
  if (asked == NULL || events == NULL || count == NULL) return kFault;
  if (n == 0 || n > POLL_MOST) return kInval;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  u64 first = UINT64_MAX, start = nanoseconds(&now);
  int at_once = 0;
  for (u32 i = 0; i < n; ++i) {
    const u8* s = asked + (u64)i * 48;
    fds[i].fd = -1;
    fds[i].events = fds[i].revents = 0;
    until[i] = UINT64_MAX;
    wrong[i] = kOk;
    if (s[8] == 0) {
      clockid_t clock;
      u64 time = load64(s + 24);
      if (!host_clock(load32(s + 16), &clock)) wrong[i] = kInval;
      else if ((s[40] & 1) != 0) {  // a point in time
        clock_gettime(clock, &now);
        u64 then = nanoseconds(&now);
        time = time > then ? time - then : 0;
      }
      until[i] = time > UINT64_MAX - start ? UINT64_MAX - 1 : start + time;
      if (until[i] < first) first = until[i];
    } else if (s[8] <= 2) {
      WasiFd* fd = wasi_fd(load32(s + 16), RIGHT(kFdPoll), &wrong[i]);
      if (fd != NULL) fds[i].fd = fd->host;
      fds[i].events = s[8] == 1 ? POLLIN : POLLOUT;
    } else {
      wrong[i] = kInval;
    }
    at_once |= wrong[i] != kOk;
  }
  for (;;) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    u64 t = nanoseconds(&now), left = at_once || first <= t ? 0 : first - t;
    struct timespec wait = {(time_t)(left / 1000000000u > 1000000 ? 1000000 : left / 1000000000u), (long)(left % 1000000000u)};
    int ready = ppoll(fds, n, first == UINT64_MAX && !at_once ? NULL : &wait, NULL);
    if (ready < 0 && errno != EINTR) return wasi_errno(errno);
    clock_gettime(CLOCK_MONOTONIC, &now);
    t = nanoseconds(&now);
    for (u32 i = 0; i < n; ++i) {
      const u8* s = asked + (u64)i * 48;
      u64 user = load64(s);
      u8 type = s[8];
      if (wrong[i] == kOk && (type == 0 ? until[i] > t : fds[i].revents == 0)) continue;
      event(events + (u64)made++ * 32, user, wrong[i], type);
    }
    if (made > 0) break;
  }
  store32(count, made);
  return kOk;
}

u32 Z_wasi_snapshot_preview1Z_sched_yield(Wasi* self);
u32 Z_wasi_snapshot_preview1Z_sched_yield(Wasi* self) {
  (void)self;
  sched_yield();
  return kOk;
}

// ---- the end
void Z_wasi_snapshot_preview1Z_proc_exit(Wasi* self, u32 code);
void Z_wasi_snapshot_preview1Z_proc_exit(Wasi* self, u32 code) {
  (void)self;
  _exit(code > 255 ? 255 : (int)code);
}
WASI(proc_raise, u32 signal) {
  (void)self, (void)signal;
  return kNosys;
}

// ---- no network at all
WASI(sock_accept, u32 fd, u32 flags, u32 to) {
  (void)self, (void)fd, (void)flags, (void)to;
  return kNotsock;
}
WASI(sock_recv, u32 fd, u32 list, u32 n, u32 flags, u32 size, u32 out) {
  (void)self, (void)fd, (void)list, (void)n, (void)flags, (void)size, (void)out;
  return kNotsock;
}
WASI(sock_send, u32 fd, u32 list, u32 n, u32 flags, u32 size) {
  (void)self, (void)fd, (void)list, (void)n, (void)flags, (void)size;
  return kNotsock;
}
WASI(sock_shutdown, u32 fd, u32 how) {
  (void)self, (void)fd, (void)how;
  return kNotsock;
}

int main(int argc, char** argv) {
  static Z_prog_instance_t instance;
  static Wasi wasi;
  if (argc < 2 || strncmp(argv[1], "memory=", 7) != 0) {
    dprintf(2, "hotcell: a translated module is started with memory=BYTES\n");
    return 126;
  }
  unsigned long long pages = strtoull(argv[1] + 7, NULL, 10) / PAGE;
  pages_most = pages > 65535 ? 65535 : (u32)pages;
  // The folder the program is in is the workspace, whatever a backend calls it.
  char folder[PATH_MAX];
  const char* slash = strrchr(argv[0], '/');
  size_t n = slash == NULL ? 0 : (size_t)(slash - argv[0]);
  int workspace = -1;
  if (n > 0 && n < sizeof folder) {
    memcpy(folder, argv[0], n);
    folder[n] = '\0';
    workspace = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  if (workspace < 0) {
    dprintf(2, "hotcell: the module's workspace cannot be opened: %s\n", strerror(errno));
    return 126;
  }
  wasi_fds_init(workspace);
  argv[1] = argv[0];
  wasi.argc = argc - 1;
  wasi.argv = argv + 1;
#ifdef HOTCELL_MEMORY
  wasi.memory = Z_progZ_memory(&instance);  // before the module's own start function, which may call us
#else
  static wasm_rt_memory_t nothing;
  wasi.memory = &nothing;
#endif
  wasm_rt_init();
  Z_prog_init_module();
  wasm_rt_set_unwind_target(&wasm_rt_jmp_buf);
  int trap = WASM_RT_SETJMP(wasm_rt_jmp_buf);
  if (trap != 0) {
    dprintf(2, "hotcell: the module was stopped: %s\n", wasm_rt_strerror((wasm_rt_trap_t)trap));
    signal(SIGABRT, SIG_DFL);
    abort();
  }
#ifdef HOTCELL_IMPORTS
  Z_prog_instantiate(&instance, &wasi);
#else
  Z_prog_instantiate(&instance);
#endif
  Z_progZ__start(&instance);
  return 0;
}
