// A front that somebody has taken over. Each attack is tried twice in a process of its own: as things are, where it
// must work (or the test would show nothing), and behind confine_front, where it must fail.
#include "server/confine_front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "server/http/net.h"
#include "sys/file.h"

namespace hotcell::server {
namespace {

namespace fs = std::filesystem;

class FrontConfinement : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hotcell-front-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(root_ / "state");
    fs::create_directory(root_ / "profiles");
    write(root_ / "profiles/a.yaml", "a");
    write(root_ / "secret", "secret");
    auto address = parse_listen("127.0.0.1:0");
    listener_ = std::move(listen_tcp(address.value()).value());
    port_ = bound_address(listener_.get()).value().port;
    other_ = std::move(listen_tcp(address.value()).value());
    other_port_ = bound_address(other_.get()).value().port;
    client_ = sys::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr to = loopback(port_);
    ASSERT_EQ(::connect(client_.get(), &to, sizeof to), 0);
    accepted_ = sys::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(accepted_.valid());
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, std::string_view text) {
    auto fd = sys::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(fd.ok());
    ASSERT_TRUE(sys::write_all(fd.value().get(), text).ok());
  }

  // 0: the attack worked; its errno otherwise; 255: could not be tried.
  int in_child(bool confined, const std::function<int()>& attack) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (confined) {
        FrontPlaces places;
        places.state_dir = root_ / "state";
        places.read_only = {(root_ / "profiles").string(), (root_ / "missing").string()};
        places.connect_ports = ports_;
        auto done = confine_front(places);
        if (!done.ok()) {
          fprintf(stderr, "%s\n", done.error().message.c_str());
          ::_exit(255);
        }
      }
      ::_exit(attack());
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void expect_stopped(const char* what, const std::function<int()>& attack, std::initializer_list<int> errors) {
    EXPECT_EQ(in_child(false, attack), 0) << what << ": the control";
    const int error = in_child(true, attack);
    EXPECT_TRUE(std::find(errors.begin(), errors.end(), error) != errors.end()) << what << ": " << error;
  }
  void expect_works(const char* what, const std::function<int()>& use) { EXPECT_EQ(in_child(true, use), 0) << what; }

  static int result(long r) { return r < 0 ? errno : 0; }
  static int connect_to(std::uint16_t port, int type = SOCK_STREAM) {
    const int fd = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    sockaddr to = loopback(port);
    return result(::connect(fd, &to, sizeof to));
  }
  static sockaddr loopback(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any;
    std::memcpy(&any, &to, sizeof any);
    return any;
  }

  fs::path root_;
  sys::Fd listener_, other_, client_, accepted_;
  std::uint16_t port_ = 0, other_port_ = 0;
  std::vector<std::uint16_t> ports_;
};

TEST_F(FrontConfinement, CannotReadOrChangeFilesOfOthers) {
  const std::string secret = root_ / "secret";
  auto open_it = [](const std::string& path, int flags) {
    return result(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  };
  if (::geteuid() == 0) expect_stopped("/etc/shadow", [&] { return open_it("/etc/shadow", O_RDONLY); }, {EACCES});
  expect_stopped("/etc/passwd", [&] { return open_it("/etc/passwd", O_RDONLY); }, {EACCES});
  expect_stopped("a file of the same user", [&] { return open_it(secret, O_RDONLY); }, {EACCES});
  expect_stopped("writing it", [&] { return open_it(secret, O_WRONLY); }, {EACCES});
  expect_stopped("around the corner", [&] { return open_it(root_ / "state/../secret", O_RDONLY); }, {EACCES});
  expect_stopped("by a link",
                 [&] {
                   const std::string link = root_ / "state/link";
                   ::unlink(link.c_str());
                   if (::symlink(secret.c_str(), link.c_str()) < 0) return errno;
                   return open_it(link, O_RDONLY);
                 },
                 {EACCES});
  expect_stopped("a hard link to it",
                 [&] {
                   const std::string link = root_ / "state/hard";
                   ::unlink(link.c_str());
                   return result(::link(secret.c_str(), link.c_str()));
                 },
                 {EACCES, EXDEV, EPERM});
  expect_stopped("its mode", [&] { return result(::chmod(secret.c_str(), 0666)); }, {EPERM});
  expect_stopped("its size", [&] { return result(::truncate(secret.c_str(), 6)); }, {EACCES, EPERM});
  expect_stopped("its owner", [&] { return result(::chown(secret.c_str(), ::geteuid(), ::getegid())); }, {EPERM});
  expect_stopped("its time", [&] { return result(::utimensat(AT_FDCWD, secret.c_str(), nullptr, 0)); }, {EPERM});
  expect_stopped("its folder", [&] { return result(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); },
                 {EACCES});
  expect_stopped("the parent's memory",
                 [&] { return open_it("/proc/" + std::to_string(::getppid()) + "/environ", O_RDONLY); }, {EACCES});
  expect_stopped("the profiles", [&] { return open_it(root_ / "profiles/a.yaml", O_WRONLY); }, {EACCES});
}

TEST_F(FrontConfinement, StartsNothing) {
  expect_stopped(
      "a shell",
      [] {
        char* const argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 0"), nullptr};
        ::execv("/bin/sh", argv);
        return errno;
      },
      {EPERM, EACCES});
  expect_stopped("a program in memory",
                 [] {
                   const int fd = ::memfd_create("x", MFD_CLOEXEC);
                   char* const argv[] = {const_cast<char*>("x"), nullptr};
                   if (fd < 0 || ::write(fd, "#!/bin/true\n", 12) != 12) return errno;
                   ::syscall(SYS_execveat, fd, "", argv, argv + 1, AT_EMPTY_PATH);
                   return errno == ENOENT ? 0 : errno;  // the control gets as far as looking for the script's own name
                 },
                 {EPERM, EACCES});
  expect_stopped("a second process",
                 [] {
                   const pid_t child = ::fork();
                   if (child == 0) ::_exit(0);
                   return result(child);
                 },
                 {EPERM});
  expect_stopped("a process by clone",
                 [] {
                   const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
                   if (child == 0) ::_exit(0);
                   return result(child);
                 },
                 {EPERM});
}

TEST_F(FrontConfinement, LeavesOtherProcessesAlone) {
  expect_stopped("a signal to the parent", [] { return result(::kill(::getppid(), 0)); }, {EPERM});
  expect_stopped("a signal by its descriptor",
                 [] {
                   const long fd = ::syscall(SYS_pidfd_open, ::getppid(), 0);
                   return fd < 0 ? errno : result(::syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0));
                 },
                 {EPERM});
  // Tracing the parent would stop the test itself; a relative that waits for it takes its place.
  const pid_t victim = ::fork();
  if (victim == 0) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    ::pause();
    ::_exit(0);
  }
  expect_stopped("tracing", [&] { return result(::ptrace(PTRACE_SEIZE, victim, nullptr, nullptr)); }, {EPERM});
  expect_stopped("reading memory",
                 [&] {
                   char buffer[8] = "";
                   iovec here{buffer, sizeof buffer}, there{&root_, sizeof buffer};
                   return result(::process_vm_readv(victim, &here, 1, &there, 1, 0));
                 },
                 {EPERM});
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
}

TEST_F(FrontConfinement, GainsNothing) {
  expect_stopped("a user namespace, and root's powers in it", [] { return result(::unshare(CLONE_NEWUSER)); }, {EPERM});
  if (::geteuid() != 0) return;  // the controls of the rest take root
  expect_stopped("another user", [] { return result(::setuid(12345)); }, {EPERM});
  expect_stopped("a new root", [] { return result(::chroot("/")); }, {EPERM});
  expect_stopped("a namespace", [] { return result(::unshare(CLONE_NEWNS)); }, {EPERM});
}

TEST_F(FrontConfinement, ConnectsToNobodyAndListensNowhereElse) {
  expect_stopped("a connection", [&] { return connect_to(other_port_); }, {EPERM, EAFNOSUPPORT});
  expect_stopped("a datagram", [&] { return connect_to(other_port_, SOCK_DGRAM); }, {EPERM, EAFNOSUPPORT});
  expect_stopped("an accepted socket sent elsewhere",
                 [&] {
                   // Made before: TCP connections can be taken back and made anew.
                   sockaddr none{};
                   none.sa_family = AF_UNSPEC;
                   if (::connect(accepted_.get(), &none, sizeof none) < 0) return errno;
                   sockaddr to = loopback(other_port_);
                   return result(::connect(accepted_.get(), &to, sizeof to));
                 },
                 {EPERM, EACCES});
  expect_stopped("listening anew", [&] { return result(::listen(listener_.get(), 1)); }, {EPERM});
  expect_stopped("a Unix socket", [] { return result(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); },
                 {EPERM, EAFNOSUPPORT});
}

TEST_F(FrontConfinement, ConnectsToTheCollectorAlone) {
  ports_ = {port_};
  expect_works("the collector", [&] { return connect_to(port_); });
  expect_stopped("another port", [&] { return connect_to(other_port_); }, {EACCES});
  expect_stopped("a datagram", [&] { return connect_to(port_, SOCK_DGRAM); }, {EPERM});
  expect_stopped("past connect()",
                 [&] {
                   const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                   sockaddr to = loopback(other_port_);
                   return result(::sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &to, sizeof to));
                 },
                 {EPERM, EACCES});
}

TEST_F(FrontConfinement, DoesItsWork) {
  expect_works("threads", [] {
    int seen = 0;
    std::thread([&] { seen = 1; }).join();
    return seen == 1 ? 0 : 1;
  });
  expect_works("files of its own", [&] {
    const std::string a = root_ / "state/a", b = root_ / "state/b";
    const int fd = ::open(a.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, 8192) < 0 || ::pwrite(fd, "x", 1, 4096) != 1 || ::fdatasync(fd) < 0) return 1;
    void* map = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    if (map == MAP_FAILED || ::fcntl(fd, F_SETLK, &lock) < 0 || ::fchmod(fd, 0600) < 0 || ::futimens(fd, nullptr) < 0)
      return 2;
    if (::rename(a.c_str(), b.c_str()) < 0 || ::mkdir((root_ / "state/d").c_str(), 0700) < 0) return 3;
    return result(::unlink(b.c_str()));
  });
  expect_works("the profiles",
               [&] { return result(::open((root_ / "profiles/a.yaml").c_str(), O_RDONLY | O_CLOEXEC)); });
  expect_works("its accounts", [] { return result(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC)); });
  // A real loop with a real connection, in a confined process.
  const pid_t front = ::fork();
  if (front == 0) {
    FrontPlaces places;
    places.state_dir = root_ / "state";
    if (!confine_front(places).ok()) ::_exit(255);
    Loop loop;
    std::unique_ptr<Acceptor> acceptor = std::make_unique<Acceptor>(loop, std::move(listener_), [&](sys::Fd c) {
      ::_exit(::send(c.get(), "hello", 5, MSG_NOSIGNAL) == 5 ? 0 : 1);
    });
    auto late = loop.after(std::chrono::seconds(20), [] { ::_exit(2); });
    loop.run();
  }
  EXPECT_EQ(connect_to(port_), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(front, &status, 0), front);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(FrontConfinement, AThreadThatWouldStayOutsideIsRefused) {
  EXPECT_EQ(in_child(false,
                     [&] {
                       bool stop = false;
                       std::thread other([&] {
                         while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) ::usleep(1000);
                       });
                       FrontPlaces places;
                       places.state_dir = root_ / "state";
                       const bool refused = !confine_front(places).ok();
                       __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
                       other.join();
                       return refused ? 0 : 1;
                     }),
            0);
}

// The keeper believes what it finds in the folder of cells.
TEST_F(FrontConfinement, CannotSeeOrChangeLastingCells) {
  const std::string cells = root_ / "state/cells", record = cells + "/c-1.json", elsewhere = root_ / "state/free";
  fs::create_directory(cells);
  write(record, "a policy");
  auto hidden = [&](const std::function<int()>& attack) {
    return in_child(false, [&] {
      auto done = hide_folder(cells);
      if (!done.ok()) return 254;
      FrontPlaces places;
      places.state_dir = root_ / "state";
      return confine_front(places).ok() ? attack() : 253;
    });
  };
  struct Attack {
    const char* what;
    std::function<int()> act;
    int error;
  };
  const Attack attacks[] = {
      {"read", [&] { return result(::open(record.c_str(), O_RDONLY)); }, EACCES},
      {"overwrite", [&] { return result(::open(record.c_str(), O_WRONLY)); }, EACCES},
      {"add", [&] { return result(::open((cells + "/new").c_str(), O_WRONLY | O_CREAT, 0600)); }, EACCES},
      {"replace", [&] { return result(::rename(cells.c_str(), elsewhere.c_str())); }, EBUSY},
  };
  for (const Attack& a : attacks) {
    const int error = hidden(a.act);
    EXPECT_TRUE(error == a.error || error == EROFS || error == ENOENT || error == EPERM) << a.what << ": " << error;
    EXPECT_EQ(in_child(true, a.act), 0) << a.what << ": the control, without hiding";
    if (fs::exists(elsewhere)) fs::rename(elsewhere, cells);
  }
  EXPECT_EQ(hidden([&] { return result(::open((root_ / "state/own").c_str(), O_WRONLY | O_CREAT, 0600)); }), 0);
  // And nobody but the front notices.
  EXPECT_TRUE(fs::exists(record));
}

}  // namespace
}  // namespace hotcell::server
