// The `landlock` backend: no namespaces, so Landlock, seccomp and rlimits stand alone, and say so.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/strings.h"
#include "escape/escape.h"

namespace hotcell::testing {
namespace {

int tried(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags, 0644);
  int err = errno;
  if (fd >= 0) ::close(fd);
  return fd >= 0 ? 0 : err;
}

HOTCELL_PROGRAM(flat_attacks) {
  auto say = [](const char* what, int err) { ::dprintf(1, "%s %d\n", what, err); };
  say("read", tried(scene_path("secret"), O_RDONLY));
  say("write", tried(scene_path("ro/file"), O_WRONLY));
  say("make", tried(scene_path("private/x"), O_WRONLY | O_CREAT));
  say("granted", tried(scene_path("rw/file"), O_RDWR));
  say("work", tried("own", O_WRONLY | O_CREAT));
  say("truncate", result_of(::truncate(scene_path("ro/file").c_str(), 0)));
  say("signal", result_of(::kill(scene_number("S_PID"), 0)));
  say("inet", result_of(::socket(AF_INET, SOCK_STREAM, 0)));
  say("userns", result_of(::unshare(CLONE_NEWUSER)));
  say("suid", result_of(::chmod("own", 04755)));
  return 0;
}
HOTCELL_PROGRAM(flat_daemon) {
  for (int i = 0; i < 3; ++i)
    if (::fork() == 0) {
      ::setsid();
      if (::fork() != 0) ::_exit(0);
      for (;;) ::pause();
    }
  ::usleep(50000);
  return 0;
}

// What the caller's other processes and files must be safe from where no namespace hides them. Each line is a name and
// an errno; the control is the same program outside.
int flat_neighbours() {
  auto say = [](const char* what, int err) { ::dprintf(1, "%s %d\n", what, err); };
  pid_t other = scene_number("S_PID");
  rlimit64 limit{64, 64};
  say("prlimit", result_of(::syscall(SYS_prlimit64, other, RLIMIT_NOFILE, &limit, nullptr)));
  say("setpriority", result_of(::setpriority(PRIO_PROCESS, static_cast<id_t>(other), 19)));
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  say("affinity", result_of(::sched_setaffinity(other, sizeof cpus, &cpus)));
  sched_param idle{};
  say("scheduler", result_of(::sched_setscheduler(other, SCHED_IDLE, &idle)));
  say("ioprio", result_of(::syscall(SYS_ioprio_set, 1, other, 3 << 13)));
  int inotify = ::inotify_init1(IN_CLOEXEC);
  say("inotify", result_of(::inotify_add_watch(inotify, scene_path("private").c_str(), IN_CREATE)));
  ::close(inotify);
  say("chown", result_of(::chown(scene_path("secret").c_str(), ::getuid(), ::getgid())));
  say("shm", result_of(::shmget(static_cast<key_t>(scene_number("S_KEY")), 0, 0)));
  // By path, by a datagram pair that is turned round, and by a stream pair, which stays connected.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = scene_path("dgram");
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  auto* to = reinterpret_cast<sockaddr*>(&address);
  int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  say("unix", fd < 0 ? errno : result_of(::sendto(fd, "x", 1, 0, to, sizeof address)));
  ::close(fd);
  int pair[2] = {-1, -1};
  say("unix-pair", ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ? errno : result_of(::sendto(pair[0], "x", 1, 0, to, sizeof address)));
  ::close(pair[0]), ::close(pair[1]);
  path = scene_path("sock");
  std::memset(address.sun_path, 0, sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  say("stream-pair", ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? errno : result_of(::connect(pair[0], to, sizeof address)));
  // What programs do to themselves goes on working.
  rlimit64 own{};
  say("own-limit", result_of(::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &own)));
  say("own-priority", result_of(::setpriority(PRIO_PROCESS, 0, 19)));
  say("own-affinity", result_of(::sched_setaffinity(0, sizeof cpus, &cpus)));
  return 0;
}
HOTCELL_PROGRAM(flat_neighbours) { return flat_neighbours(); }

// Modes and times, to which Landlock says nothing: by every call, by name, by descriptor and by what looks like a file of its own.
int flat_marks() {
  auto say = [](const char* what, int err) { ::dprintf(1, "%s %d\n", what, err); };
  const std::string secret = scene_path("secret"), ro = scene_path("ro/file"), rw = scene_path("rw/file");
  std::string folder = scene_path("rw");
  (void)!::chdir(folder.c_str());
  const timespec old[2] = {{1000, 0}, {2000, 0}};
  int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), held = ::open(secret.c_str(), O_PATH | O_CLOEXEC);
  int readable = ::open(ro.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string through = "/proc/self/fd/" + std::to_string(held);
  (void)!::symlink(secret.c_str(), "link");
  say("chmod", result_of(::chmod(secret.c_str(), 0646)));
  say("fchmodat", result_of(::fchmodat(dir, "../secret", 0646, 0)));
  say("fchmodat2", result_of(::syscall(452, held, "", 0646, AT_EMPTY_PATH)) == ENOSYS ? -1 : result_of(::syscall(452, held, "", 0646, AT_EMPTY_PATH)));
  say("by-descriptor", result_of(::chmod(through.c_str(), 0646)));
  say("by-link", result_of(::chmod("link", 0646)));
  say("by-dots", result_of(::chmod((folder + "/../secret").c_str(), 0646)));
  say("utimensat", result_of(::utimensat(AT_FDCWD, secret.c_str(), old, 0)));
  say("utimensat-held", result_of(::utimensat(held, "", old, AT_EMPTY_PATH)));
  timeval times[2] = {{1000, 0}, {2000, 0}};
  say("utimes", result_of(::utimes(secret.c_str(), times)));
  say("read-only", result_of(::chmod(ro.c_str(), 0646)));
  say("read-only-open", result_of(::fchmod(readable, 0646)));
  say("read-only-times", result_of(::futimens(readable, old)));
  // The name is another while somebody looks at it.
  std::string name = rw;
  name.resize(std::max(rw.size(), secret.size()), '\0');
  std::string one = name, other = secret;
  other.resize(name.size(), '\0');
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) std::memcpy(name.data(), other.data(), name.size()), std::memcpy(name.data(), one.data(), name.size());
  });
  for (int i = 0; i < 300; ++i) ::chmod(name.c_str(), 0666);
  stop = true;
  swapper.join();
  // What programs do to their own files goes on working.
  ::unlink("link");
  int own = ::open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  auto mode = [] { struct stat st{}; return ::stat("own", &st) == 0 ? st.st_mode & 07777 : 0; };
  struct stat st{};
  say("own", ::chmod("own", 0640) == 0 && mode() == 0640 ? 0 : errno);
  say("own-open", ::fchmod(own, 0600) == 0 && mode() == 0600 ? 0 : errno);
  say("own-at", ::fchmodat(dir, "own", 0644, 0) == 0 && mode() == 0644 ? 0 : errno);
  say("own-through", ::chmod(("/proc/self/fd/" + std::to_string(own)).c_str(), 0604) == 0 && mode() == 0604 ? 0 : errno);
  say("own-times", ::utimensat(dir, "own", old, 0) == 0 && ::stat("own", &st) == 0 && st.st_mtime == 2000 ? 0 : errno);
  say("own-now", ::futimens(own, nullptr) == 0 && ::stat("own", &st) == 0 && st.st_mtime > 2000 ? 0 : errno);
  ::symlink("own", "to-own");
  say("link-times", ::utimensat(AT_FDCWD, "to-own", old, AT_SYMLINK_NOFOLLOW) == 0 && ::lstat("to-own", &st) == 0 && st.st_mtime == 2000 ? 0 : errno);
  say("own-long", ::chmod((folder + "//./own").c_str(), 0606) == 0 && mode() == 0606 ? 0 : errno);
  say("own-through-long", ::chmod(("/proc//self/./fd/" + std::to_string(own)).c_str(), 0604) == 0 && mode() == 0604 ? 0 : errno);
  say("not-there", result_of(::chmod("nobody", 0600)));
  say("asks", result_of(::chmod("closed/nobody", 0600)));
  say("bad-address", result_of(::syscall(SYS_fchmodat, AT_FDCWD, 8, 0600)));
  say("set-id", result_of(::chmod("own", 04755)));
  return 0;
}
HOTCELL_PROGRAM(flat_marks) { return flat_marks(); }

// The control: what the same prints without a cell, in a process that ends with what it did to itself.
std::string outside(int (*attack)(), const std::map<std::string, std::string>& env) {
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return "no pipe";
  pid_t child = ::fork();
  if (child == 0) {
    for (const auto& [k, v] : env) ::setenv(k.c_str(), v.c_str(), 1);
    ::dup2(out[1], 1);
    ::_exit(attack());
  }
  ::close(out[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = ::read(out[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  ::close(out[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

class LandlockBackend : public SceneTest {
 protected:
  void SetUp() override {
    SceneTest::SetUp();
    LauncherOptions options;
    options.backend = "landlock";
    auto made = Launcher::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
    policy_ = scene_->policy();
    policy_.filesystem.deny.clear();  // Landlock cannot take away below what it grants; see below
    // As root the program has an id of its own and no mount maps the caller's files to it.
    ::chmod(scene_->path("rw/file").c_str(), 0666);
    policy_.limits.processes = 200;  // here they are counted with everything else of this user
  }
  void TearDown() override {
    launcher_.reset();
    SceneTest::TearDown();
  }
  Report flat(const std::string& name) {
    auto r = launcher_->run(policy_, program(name, scene_->env("")));
    if (r.ok()) return std::move(r).value();
    ADD_FAILURE() << r.error().message;
    return {};
  }
  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_F(LandlockBackend, FilesSignalsAndSocketsAreRefused) {
  Report r = flat("flat_attacks");
  EXPECT_EQ(r.out, "read 13\nwrite 13\nmake 13\ngranted 0\nwork 0\ntruncate 13\nsignal 1\ninet 1\nuserns 1\nsuid 1\n")
      << describe(r);
  EXPECT_EQ(read_text(scene_->path("ro/file")), "host secret\n");
}

TEST_F(LandlockBackend, TheCallersOtherProcessesAndSocketsAreOutOfReach) {
  auto env = scene_->env("");
  int dgram = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = scene_->path("dgram");
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  ASSERT_EQ(::bind(dgram, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::chmod(path.c_str(), 0777);  // as root the program is another user: the filter alone shall hold it
  ::chmod(scene_->path("sock").c_str(), 0777);
  key_t key = 0x68630000 + ::getpid() % 0x10000;
  int segment = ::shmget(key, 4096, IPC_CREAT | 0666);
  ASSERT_GE(segment, 0);
  env["S_KEY"] = std::to_string(key);

  auto report = launcher_->run(policy_, program("flat_neighbours", env));
  char byte;
  EXPECT_EQ(::recv(dgram, &byte, 1, 0), -1) << "a datagram came through";
  const std::string control = outside(flat_neighbours, env);
  ::shmctl(segment, IPC_RMID, nullptr);
  ::close(dgram);
  EXPECT_EQ(control,
            "prlimit 0\nsetpriority 0\naffinity 0\nscheduler 0\nioprio 0\ninotify 0\nchown 0\nshm 0\n"
            "unix 0\nunix-pair 0\nstream-pair 106\nown-limit 0\nown-priority 0\nown-affinity 0\n");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().out,
            "prlimit 1\nsetpriority 1\naffinity 1\nscheduler 1\nioprio 1\ninotify 1\nchown 1\nshm 1\n"
            "unix 97\nunix-pair 1\nstream-pair 106\nown-limit 0\nown-priority 0\nown-affinity 0\n")
      << describe(report.value());
  for (const char* call : {"prlimit64", "setpriority", "sched_setaffinity", "sched_setscheduler", "ioprio_set"})
    EXPECT_TRUE(has_denial(report.value(), call)) << call;
}

TEST_F(LandlockBackend, ModesAndTimesOfTheCallersFilesStayAsTheyAre) {
  auto state = [&](const char* name) {
    struct stat st{};
    EXPECT_EQ(::stat(scene_->path(name).c_str(), &st), 0);
    return cat(st.st_mode & 07777, " ", st.st_mtim.tv_sec, " ", st.st_mtim.tv_nsec);
  };
  auto env = scene_->env("");
  ::chmod(scene_->path("rw").c_str(), 0777);  // as root the program is another user
  std::string secret = state("secret"), ro = state("ro/file");
  // As root the cell may not search it, and shall not learn what is in there by the launcher's rights either.
  ASSERT_EQ(::mkdir(scene_->path("rw/closed").c_str(), 0700), 0);
  auto report = launcher_->run(policy_, program("flat_marks", env));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().out,
            "chmod 1\nfchmodat 1\nfchmodat2 1\nby-descriptor 1\nby-link 1\nby-dots 1\nutimensat 1\nutimensat-held 1\nutimes 1\n"
            "read-only 1\nread-only-open 1\nread-only-times 1\n"
            "own 0\nown-open 0\nown-at 0\nown-through 0\nown-times 0\nown-now 0\nlink-times 0\n"
            "own-long 0\nown-through-long 0\nnot-there 2\nasks " + std::to_string(::geteuid() == 0 ? EACCES : ENOENT) + "\nbad-address 14\nset-id 1\n")
      << describe(report.value());
  EXPECT_EQ(state("secret"), secret);
  EXPECT_EQ(state("ro/file"), ro);
  EXPECT_TRUE(has_denial(report.value(), "chmod"));
  // The control: outside every one of them goes through.
  for (const char* left : {"rw/own", "rw/to-own", "rw/link"}) ::unlink(scene_->path(left).c_str());
  const std::string control = outside(flat_marks, env);
  for (const char* what : {"chmod", "fchmodat", "by-descriptor", "by-link", "by-dots", "utimensat", "utimensat-held", "utimes", "read-only", "read-only-open", "read-only-times", "own", "own-open", "set-id"})
    EXPECT_NE(("\n" + control).find(cat("\n", what, " 0\n")), std::string::npos) << what << "\n" << control;
  EXPECT_NE(state("secret"), secret);
}

TEST_F(LandlockBackend, ProgramsPeopleRunStillRun) {
  policy_.limits.open_files = 200;
  policy_.limits.memory = 1024_MiB;
  for (const auto& [script, want] : std::vector<std::pair<std::string, std::string>>{
           {"echo $((6 * 7)) | cat; id -u >/dev/null && touch x && chmod 644 x && nice -n 5 echo ok", "42\nok\n"},
           {"mkdir d && echo x >d/f && tar -cf a.tar d && rm -r d && tar -xpf a.tar && touch -d @99 d/f && cp -p d/f g && "
            "install -m 640 g h && stat -c '%Y %a' d/f g h | head -n 2; stat -c %a h",
            "99 644\n99 644\n640\n"},
           {"python3 -c 'import os,subprocess,socket,tempfile,multiprocessing; a,b=socket.socketpair(); a.send(b\"hi\"); "
            "print(b.recv(2).decode(), subprocess.check_output([\"echo\",\"sub\"]).decode().strip())'",
            "hi sub\n"},
           {"printf '#include <stdio.h>\nint main(){puts(\"built\");}' >a.c && gcc a.c -o a && ./a", "built\n"},
           {"node -e 'require(\"child_process\").exec(\"echo child\",(e,o)=>console.log(e||o.trim()))'", "child\n"}}) {
    auto r = launcher_->run(policy_, shell(script));
    ASSERT_TRUE(r.ok()) << r.error().message;
    EXPECT_EQ(r.value().out, want) << script << "\n" << describe(r.value());
  }
}

TEST_F(LandlockBackend, WhatIsMissingIsSaid) {
  Report r = flat("flat_attacks");
  EXPECT_EQ(r.enforcement.backend, "landlock");
  for (Layer layer : {Layer::kUserNs, Layer::kPidNs, Layer::kMountNs, Layer::kRootfs})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::kNone) << to_string(layer);
  for (Layer layer : {Layer::kLandlock, Layer::kSeccomp, Layer::kNoNewPrivs, Layer::kRlimits})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::kFull) << to_string(layer);
  EXPECT_EQ(layer_status(r, Layer::kNetNs), LayerStatus::kPartial);
}

TEST_F(LandlockBackend, FewOpenFilesDoNotKeepACellFromBeingMade) {
  for (std::uint32_t files : {5u, 12u, 20u, 24u, 30u}) {
    policy_.limits.open_files = files;
    EXPECT_EQ(flat("many_descriptors").out, std::to_string(files) + " " + std::to_string(EMFILE) + "\n");
  }
}

TEST_F(LandlockBackend, DaemonsDieWithTheProgramWithoutAPidNamespace) {
  Report r = flat("flat_daemon");
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_EQ(alive("flat_daemon"), 0u);
}

TEST_F(LandlockBackend, WhatItCannotEnforceIsRefused) {
  policy_.filesystem.deny.push_back({scene_->path("rw/sub/denied"), "--deny"});
  auto denied = launcher_->run(policy_, program("flat_attacks"));
  ASSERT_FALSE(denied.ok());
  EXPECT_NE(denied.error().message.find("rw/sub/denied"), std::string::npos) << denied.error().message;
  policy_.filesystem.deny.clear();
  policy_.filesystem.grants.push_back({scene_->path("rw/sub"), Access::kRead, "--read"});
  auto inside = launcher_->run(policy_, program("flat_attacks"));
  ASSERT_FALSE(inside.ok());
  EXPECT_NE(inside.error().message.find("rw/sub"), std::string::npos) << inside.error().message;
}

}  // namespace
}  // namespace hotcell::testing
