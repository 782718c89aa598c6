// What is around the program in the guest. The guest's kernel is the wall; what is in it is what a native cell has as
// well: a root of its own, read-only, namespaces, a cgroup v2, an ordinary user without capabilities, our filter.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/vm_guest/guest.h"

namespace hotcell::vm {
namespace {

constexpr const char* kRoot = "/r";
constexpr const char* kGroup = "/cg/program";
// One that is not there is part of the kernel.
constexpr const char* kModules[] = {"netfs", "fscache", "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_console",
                                    "9pnet", "9pnet_virtio", "9p"};
// Of a machine with a disk: its driver, its file system and what that needs, the layer above it.
constexpr const char* kDiskModules[] = {"virtio_blk", "crc32c_generic", "libcrc32c", "lz4_decompress", "erofs", "overlay"};
constexpr const char* kSuffixes[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
constexpr const char* kFixed[] = {"/r/proc/sys", "/r/proc/irq", "/r/proc/bus", "/r/proc/fs", "/r/proc/sysrq-trigger"};
constexpr const char* kMasked[] = {"/r/proc/kcore", "/r/proc/kallsyms", "/r/proc/kmsg", "/r/proc/keys", "/r/proc/modules", "/r/proc/iomem", "/r/proc/interrupts", "/r/proc/timer_list"};
constexpr const char* kOwnFolders[] = {"/proc", "/sys", "/dev", "/r", "/cg", "/image", "/over"};
constexpr const char* kOwnMounts[] = {"/r/proc", "/r/dev", "/r/tmp"};
constexpr const char* kScratches[] = {"/r/tmp", "/r/dev/shm"};
constexpr const char* kSpaces[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};

bool fail(Failure& f, const char* step) {
  f.step = step;
  f.error = errno;
  return false;
}

bool load_module(const char* name) {
  constexpr int kCompressed = 4;  // MODULE_INIT_COMPRESSED_FILE: the kernel knows how
  char path[128];
  for (const char* suffix : kSuffixes) {
    snprintf(path, sizeof path, "/modules/%s%s", name, suffix);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    bool done = syscall(SYS_finit_module, fd, "", suffix[3] == '\0' ? 0 : kCompressed) == 0 || errno == EEXIST;
    close(fd);
    if (done) unlink(path);
    return done;
  }
  return false;
}

// Which needs which differs between kernels, and one that comes too early is refused: rounds, until one loads nothing more.
template <size_t N>
void load_modules(const char* const (&names)[N]) {
  for (bool more = true; more;) {
    more = false;
    for (const char* name : names) more = load_module(name) || more;
  }
}

// Its only disk, if it was made with one: known by its kind before there is a driver for it.
bool has_disk() {
  char path[64], kind[16];
  for (int i = 0; i < 64; ++i) {
    snprintf(path, sizeof path, "/sys/bus/virtio/devices/virtio%d/device", i);
    if (read_text(path, kind, sizeof kind) > 0 && strtoul(kind, nullptr, 16) == 2) return true;
  }
  return false;
}

// An image says what its names are, and a link would lead out of it, to what is ours: none on the way to what we mount.
bool is_plain(const char* path, Failure& f) {
  static char at[2 * 4096];
  snprintf(at, sizeof at, "%s", path);
  for (char* slash = at + strlen(kRoot);; ) {
    slash = strchr(slash + 1, '/');
    if (slash != nullptr) *slash = '\0';
    struct stat st;
    if (lstat(at, &st) == 0 && !S_ISDIR(st.st_mode)) {
      errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
      memmove(at + 11, at + strlen(kRoot), strlen(at) - strlen(kRoot) + 1);
      memcpy(at, "the image: ", 11);
      return fail(f, at);
    }
    if (slash == nullptr) return true;
    *slash = '/';
  }
}

// Read-only twice: by the file system, and by what is mounted over it once the mount points are there.
bool mount_image(Failure& f) {
  if (mount("/dev/vda", "/image", "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) < 0) return fail(f, "the image");
  if (mount("over", "/over", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0 || mkdir("/over/upper", 0755) < 0 || mkdir("/over/work", 0755) < 0) return fail(f, "overlay");
  if (mount("root", kRoot, "overlay", MS_NOSUID | MS_NODEV, "lowerdir=/image,upperdir=/over/upper,workdir=/over/work") < 0) return fail(f, "overlay");
  return true;
}

bool mount_share(int number, const char* at, bool writable, const char* cache) {
  char tag[16], options[160];
  snprintf(tag, sizeof tag, "s%d", number);
  snprintf(options, sizeof options, "trans=virtio,version=9p2000.L,access=any,msize=262144,cache=%s", cache);
  return mount(tag, at, "9p", MS_NOSUID | MS_NODEV | (writable ? 0u : MS_RDONLY), options) == 0;
}

void make_folders(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash != nullptr; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0755);
    *slash = '/';
  }
  mkdir(path, 0755);
}
void make_folders(const char* path) {
  char copy[64];
  snprintf(copy, sizeof copy, "%s", path);
  make_folders(copy);
}

bool make_node(const char* name, unsigned major_, unsigned minor_) {
  char path[64];
  snprintf(path, sizeof path, "%s/dev/%s", kRoot, name);
  return mknod(path, S_IFCHR | 0666, makedev(major_, minor_)) == 0 && chmod(path, 0666) == 0;
}

// The kernel's own nodes and nothing of the machine: no disk, no port, no memory.
bool make_dev(const char* options) {
  if (mount("dev", "/r/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k") < 0) return false;
  if (!make_node("null", 1, 3) || !make_node("zero", 1, 5) || !make_node("full", 1, 7) || !make_node("random", 1, 8) || !make_node("urandom", 1, 9) || !make_node("tty", 5, 0))
    return false;
  mkdir("/r/dev/pts", 0755);
  mkdir("/r/dev/shm", 01777);
  if (symlink("/proc/self/fd", "/r/dev/fd") < 0 || symlink("/proc/self/fd/0", "/r/dev/stdin") < 0 || symlink("/proc/self/fd/1", "/r/dev/stdout") < 0 ||
      symlink("/proc/self/fd/2", "/r/dev/stderr") < 0 || symlink("pts/ptmx", "/r/dev/ptmx") < 0)
    return false;
  if (mount("devpts", "/r/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") < 0) return false;
  if (mount("shm", "/r/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0) return false;
  return mount(nullptr, "/r/dev", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr) == 0;
}

void limit(int what, uint64_t n) {
  rlimit l = {n, n};
  setrlimit(what, &l);
}

void bring_up_loopback() {
  int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq r;
  memset(&r, 0, sizeof r);
  strcpy(r.ifr_name, "lo");
  r.ifr_flags = IFF_UP | IFF_RUNNING;
  ioctl(s, SIOCSIFFLAGS, &r);
  close(s);
}

[[noreturn]] void die(int fd, const char* step) {
  char text[128];
  int n = snprintf(text, sizeof text, "!%s: %s", step, strerror(errno));
  if (write(fd, text, static_cast<size_t>(n)) < 0) _exit(98);
  _exit(99);
}

// As execvp, by the program's own PATH.
int exec_by_path(const Spec& spec) {
  const char* name = spec.argv[0];
  if (strchr(name, '/') != nullptr) {
    execve(name, spec.argv, spec.envp);
    return errno;
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (int i = 0; i < spec.envc; ++i)
    if (strncmp(spec.envp[i], "PATH=", 5) == 0) path = spec.envp[i] + 5;
  int worst = ENOENT;
  char full[4096];
  while (*path != '\0') {
    size_t n = strcspn(path, ":");
    snprintf(full, sizeof full, "%.*s/%s", static_cast<int>(n), path, name);
    execve(full, spec.argv, spec.envp);
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    path += n + (path[n] == ':');
  }
  return worst;
}

[[noreturn]] void become_program(const Spec& spec, int status, int go) {
  setsid();
  limit(RLIMIT_NOFILE, spec.open_files);
  limit(RLIMIT_FSIZE, spec.file_size);
  limit(RLIMIT_STACK, spec.stack);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_MEMLOCK, 64 << 10);
  if (chdir(spec.folder) < 0) die(status, spec.folder);
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) die(status, "bounding set");
  if (syscall(SYS_setgroups, 0, nullptr) < 0 || syscall(SYS_setresgid, spec.gid, spec.gid, spec.gid) < 0 || syscall(SYS_setresuid, spec.uid, spec.uid, spec.uid) < 0)
    die(status, "identity");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die(status, "no_new_privs");
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  signal(SIGPIPE, SIG_DFL);
  if (spec.filter_size > 0) {
    sock_fprog program;
    program.len = static_cast<unsigned short>(spec.filter_size / sizeof(sock_filter));
    program.filter = reinterpret_cast<sock_filter*>(const_cast<char*>(spec.filter));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) die(status, "seccomp");
  }
  // Here it is read back: a byte says that it can be, another that it was.
  char byte = 'R';
  if (write(status, &byte, 1) != 1 || read(go, &byte, 1) != 1) _exit(97);
  int error = exec_by_path(spec);
  dprintf(2, "hotcell: %s: %s\n", spec.argv[0], strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

// First of the pid namespace: when it exits the kernel ends everything in it, however it was forked.
[[noreturn]] void be_init(const Spec& spec, int status, int go) {
  if (!write_text("/cg/program/cgroup.procs", "0")) die(status, "cgroup");
  if (unshare(CLONE_NEWCGROUP) < 0) die(status, "cgroup namespace");
  sethostname("cell", 4);
  bring_up_loopback();
  if (mount("proc", "/r/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0) die(status, "/proc");
  for (const char* path : kFixed)
    if (mount(path, path, nullptr, MS_BIND, nullptr) == 0) mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  for (const char* path : kMasked)
    mount("/r/dev/null", path, nullptr, MS_BIND, nullptr);
  // The initramfs cannot be pivoted away from; what is moved over it cannot be looked under.
  if (chdir(kRoot) < 0 || mount(".", "/", nullptr, MS_MOVE, nullptr) < 0 || chroot(".") < 0) die(status, "root");
  pid_t program = fork();
  if (program < 0) die(status, "fork");
  if (program == 0) become_program(spec, status, go);
  close(go);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  for (;;) {
    int how = 0;
    pid_t pid = waitpid(-1, &how, __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid != program && pid >= 0) continue;
    if (write(status, &how, sizeof how) != sizeof how) _exit(98);
    _exit(0);
  }
}

}  // namespace

bool write_text(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool ok = write(fd, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  int error = errno;
  close(fd);
  errno = error;
  return ok;
}

long read_text(const char* path, char* text, long room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  long n = 0;
  for (ssize_t got = 0; n < room - 1 && (got = read(fd, text + n, static_cast<size_t>(room - 1 - n))) > 0;) n += got;
  close(fd);
  text[n] = '\0';
  return n;
}

uint64_t cgroup_number(const char* file, const char* word) {
  char path[96], text[4096];
  snprintf(path, sizeof path, "%s/%s", kGroup, file);
  if (read_text(path, text, sizeof text) <= 0) return 0;
  if (word == nullptr) return strtoull(text, nullptr, 10);
  size_t n = strlen(word);
  for (const char* line = text; line != nullptr && *line != '\0'; line = strchr(line, '\n') == nullptr ? nullptr : strchr(line, '\n') + 1)
    if (strncmp(line, word, n) == 0 && line[n] == ' ') return strtoull(line + n + 1, nullptr, 10);
  return 0;
}

bool boot_guest(Failure& f) {
  for (const char* folder : kOwnFolders) mkdir(folder, 0755);
  if (mount("proc", "/proc", "proc", 0, nullptr) < 0) return fail(f, "mount /proc");
  if (mount("sysfs", "/sys", "sysfs", 0, nullptr) < 0) return fail(f, "mount /sys");
  if (mount("dev", "/dev", "devtmpfs", 0, nullptr) < 0 && errno != EBUSY) return fail(f, "mount /dev");
  load_modules(kModules);
  if (has_disk()) load_modules(kDiskModules);
  if (mount("cgroup2", "/cg", "cgroup2", 0, nullptr) < 0) return fail(f, "mount cgroup2");
  if (!write_text("/cg/cgroup.subtree_control", "+memory +pids +cpu")) return fail(f, "cgroup controllers");
  if (mkdir(kGroup, 0755) < 0) return fail(f, "cgroup");
  return true;
}

bool build_root(const Spec& spec, Failure& f) {
  const char* own = spec.image ? nullptr : "mode=755,size=1m";
  if (spec.image && !mount_image(f)) return false;
  if (!spec.image && mount("root", kRoot, "tmpfs", MS_NOSUID | MS_NODEV, own) < 0) return fail(f, "root");
  for (const char* folder : kOwnMounts) {
    if (spec.image && !is_plain(folder, f)) return false;
    make_folders(folder);
  }
  char options[64];
  snprintf(options, sizeof options, "mode=1777,size=%llu", static_cast<unsigned long long>(spec.scratch));
  if (mount("tmp", "/r/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0) return fail(f, "/tmp");
  if (!make_dev(options)) return fail(f, "/dev");
  char at[2 * 4096];
  // Parents come first; a place that lies in a share is there already.
  for (int i = 0; i < spec.share_count; ++i) {
    const char* share = spec.shares[i];
    snprintf(at, sizeof at, "%s%s", kRoot, share + 1);
    if (spec.image && !is_plain(at, f)) return false;
    make_folders(at);
    bool writable = share[0] == 'w';
    if (!mount_share(i, at, writable, writable ? "mmap" : "loose")) return fail(f, share + 1);
  }
  for (int i = 0; i < spec.link_count; ++i) {
    const char* link = spec.links[i];
    snprintf(at, sizeof at, "%s%s", kRoot, link);
    if (char* slash = strrchr(at, '/'); slash > at + 2) *slash = '\0', make_folders(at), *slash = '/';
    if (symlink(link + strlen(link) + 1, at) < 0 && errno != EEXIST && errno != EROFS) return fail(f, link);
  }
  for (int i = 0; i < spec.hidden_count; ++i) {
    snprintf(at, sizeof at, "%s%s", kRoot, spec.hidden[i]);
    if (mount("none", at, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=000,size=4k") < 0) return fail(f, spec.hidden[i]);
  }
  if (spec.read_only)
    for (const char* scratch : kScratches)
      if (mount(nullptr, scratch, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) < 0) return fail(f, scratch);
  if (mount(nullptr, kRoot, nullptr, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, own) < 0) return fail(f, "read-only root");
  return true;
}

bool start_program(const Spec& spec, Started& s, Failure& f) {
  char number[64];
  auto set = [&](const char* file, uint64_t n) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", kGroup, file);
    snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(n));
    return write_text(path, number);
  };
  // One more: the first process of the pid namespace is ours.
  if (!set("memory.max", spec.memory) || !set("pids.max", spec.processes + 1)) return fail(f, "cgroup limits");
  set("memory.oom.group", 1);
  int in[2], out[2], err[2], status[2], go[2];
  if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0) return fail(f, "pipes");
  unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | SIGCHLD;
  pid_t pid = static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0));
  if (pid < 0) return fail(f, "clone");
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    // It does not exec, so nothing closes them for it; with one of ours open it would keep its own input from ending.
    const int ours[] = {in[0], in[1], out[0], out[1], err[0], err[1], status[0], go[1]};
    for (int fd : ours) close(fd);
    be_init(spec, status[1], go[0]);
  }
  close(in[0]), close(out[1]), close(err[1]), close(status[1]), close(go[0]);
  s = {pid, in[1], out[0], err[0], go[1], status[0]};
  return true;
}

uint32_t read_back(const Spec& spec, const Started& s, char* text, uint32_t room) {
  char path[128], children[256] = "";
  // The one child of its init, waiting: what it is now is what the program will be.
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", s.init, s.init);
  if (read_text(path, children, sizeof children) <= 0) return 0;
  int program = atoi(children);
  snprintf(path, sizeof path, "/proc/%d/status", program);
  if (read_text(path, text, room) <= 0) return 0;
  uint32_t n = static_cast<uint32_t>(strlen(text));
  auto add = [&](const char* name, const char* value) {
    int more = snprintf(text + n, room - n, "%s:%s\n", name, value);
    if (more > 0 && n + static_cast<uint32_t>(more) < room) n += static_cast<uint32_t>(more);
  };
  char value[4096], name[32];
  for (const char* space : kSpaces) {
    snprintf(path, sizeof path, "/proc/%d/ns/%s", program, space);
    ssize_t got = readlink(path, value, 63);
    value[got < 0 ? 0 : got] = '\0';
    snprintf(name, sizeof name, "ns_%s", space);
    add(name, value);
  }
  snprintf(path, sizeof path, "/proc/%d/mounts", program);
  if (read_text(path, value, sizeof value) > 0) {
    // The last line of "/" counts, as for the kernel.
    const char* how = "";
    for (const char* line = value; line != nullptr && *line != '\0'; line = strchr(line, '\n') == nullptr ? nullptr : strchr(line, '\n') + 1)
      if (const char* at = strstr(line, " / "); at != nullptr && at < strchrnul(line, '\n'))
        if (const char* options = strchr(at + 3, ' ')) how = options + 1;
    char options[64];
    snprintf(options, sizeof options, "%.*s", static_cast<int>(strcspn(how, " \n")), how);
    add("root", options);
  }
  struct stat st;
  snprintf(path, sizeof path, "/proc/%d/root/root", program);
  // An image has a /root and a shadow file of its own; the host's come by a share, if they were granted.
  auto is_hosts = [&] {
    struct statfs fs;
    return !spec.image || (statfs(path, &fs) == 0 && fs.f_type == 0x01021997);  // V9FS_MAGIC
  };
  add("home", is_hosts() && stat(path, &st) == 0 && (st.st_mode & 0007) != 0 ? "there" : "hidden");
  snprintf(path, sizeof path, "/proc/%d/root/etc/shadow", program);
  add("shadow", is_hosts() && stat(path, &st) == 0 && (st.st_mode & 0004) != 0 ? "readable" : "hidden");
  snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(cgroup_number("memory.max", nullptr)));
  add("memory_max", value);
  snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(cgroup_number("pids.max", nullptr)));
  add("pids_max", value);
  return n;
}

}  // namespace hotcell::vm
