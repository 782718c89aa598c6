#include "cli/doctor_scene.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <utility>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr char kCanaryText[] = "untouched\n";
constexpr char kEnvName[] = "HOTCELL_DOCTOR_SECRET";
constexpr int kLeakedFrom = 200;  // above what anything here opens by itself

std::string random_word() {
  unsigned char bytes[12];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return cat("pid", getpid());
  std::string out;
  for (unsigned char b : bytes) {
    out += static_cast<char>('a' + b % 16);
    out += static_cast<char>('a' + b / 16);
  }
  return out;
}

// World-writable on purpose: file permissions must not be what stops the attack.
Result<void> put_file(const std::string& path, std::string_view text, mode_t mode) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_error(path, errno);
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fchmod(fd, mode) == 0;
  const int err = errno;
  close(fd);
  if (!ok) return errno_error(path, err);
  return {};
}

std::string content(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "(gone)";
  char buf[256];
  ssize_t n = read(fd, buf, sizeof buf);
  close(fd);
  return n < 0 ? "(unreadable)" : std::string(buf, static_cast<std::size_t>(n));
}

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

bool has_caller(int listener) {
  int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return false;
  close(fd);
  return true;
}

void remove_folder(const std::string& dir) {
  if (dir.empty()) return;
  int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (DIR* d = fd < 0 ? nullptr : fdopendir(fd)) {
    while (dirent* e = readdir(d)) {
      const std::string_view name = e->d_name;
      if (name == "." || name == "..") continue;
      if (unlinkat(dirfd(d), e->d_name, 0) != 0) unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    closedir(d);
  }
  rmdir(dir.c_str());
}

constexpr std::string_view kFolder = "hotcell-doctor-";

// Whoever reads the table may go away in the middle of it, and nobody cleans up after a signal. A folder is locked while its
// scene lives; one that was just made may not be yet.
void sweep(const std::string& place) {
  DIR* d = opendir(place.c_str());
  if (d == nullptr) return;
  while (dirent* e = readdir(d)) {
    if (!std::string_view(e->d_name).starts_with(kFolder)) continue;
    int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat st;
    const bool ours = fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mtime + 5 < time(nullptr);
    if (ours && flock(fd, LOCK_EX | LOCK_NB) == 0) remove_folder(cat(place, "/", e->d_name));
    close(fd);
  }
  closedir(d);
}

}  // namespace

Result<Scene> Scene::set() {
  Scene s;
  const char* tmp = getenv("TMPDIR");
  const std::string place = tmp != nullptr && *tmp == '/' ? tmp : "/tmp";
  sweep(place);
  std::string pattern = cat(place, "/", kFolder, "XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return errno_error("a folder for the attacks", errno);
  s.dir_ = pattern;
  s.lock_ = open(s.dir_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (s.lock_ < 0 || flock(s.lock_, LOCK_EX | LOCK_NB) != 0) return errno_error(s.dir_, errno);
  if (chmod(s.dir_.c_str(), 0777) != 0) return errno_error(s.dir_, errno);
  s.canary_ = s.dir_ + "/canary";
  s.secret_ = s.dir_ + "/secret";
  s.token_ = cat("hotcell-doctor-", random_word());
  s.abstract_ = s.token_;
  setenv(kEnvName, s.token_.c_str(), 1);
  TRY(put_file(s.secret_, "this was not for you\n", 0644));
  TRY(s.listen_on_loopback());
  TRY(s.leak_descriptors());
  TRY(s.mend());
  return s;
}

Scene::Scene(Scene&& o) noexcept
    : dir_(std::exchange(o.dir_, {})),
      canary_(std::move(o.canary_)),
      secret_(std::move(o.secret_)),
      token_(std::exchange(o.token_, {})),
      abstract_(std::move(o.abstract_)),
      victim_(std::exchange(o.victim_, -1)),
      tcp_(std::exchange(o.tcp_, -1)),
      unix_(std::exchange(o.unix_, -1)),
      leaked_file_(std::exchange(o.leaked_file_, -1)),
      leaked_dir_(std::exchange(o.leaked_dir_, -1)),
      lock_(std::exchange(o.lock_, -1)),
      port_(o.port_) {}

Scene::~Scene() {
  if (!token_.empty()) {
    end_survivors();
    unsetenv(kEnvName);
  }
  stop_victim();
  close_fd(tcp_);
  close_fd(unix_);
  close_fd(leaked_file_);
  close_fd(leaked_dir_);
  remove_folder(dir_);
  close_fd(lock_);
}

Result<void> Scene::listen_on_loopback() {
  tcp_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof in;
  if (tcp_ < 0 || bind(tcp_, reinterpret_cast<sockaddr*>(&in), size) != 0 || listen(tcp_, 8) != 0 ||
      getsockname(tcp_, reinterpret_cast<sockaddr*>(&in), &size) != 0)
    return errno_error("a listener on the loopback", errno);
  port_ = ntohs(in.sin_port);
  unix_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  abstract_.copy(un.sun_path + 1, sizeof un.sun_path - 1);
  const auto un_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract_.size());
  if (unix_ < 0 || bind(unix_, reinterpret_cast<sockaddr*>(&un), un_size) != 0 || listen(unix_, 8) != 0)
    return errno_error("an abstract listener", errno);
  return {};
}

// Without close-on-exec, as a careless caller of the library would have them.
Result<void> Scene::leak_descriptors() {
  int file = open(secret_.c_str(), O_RDONLY | O_CLOEXEC);
  int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  leaked_file_ = fcntl(file, F_DUPFD, kLeakedFrom);
  leaked_dir_ = fcntl(root, F_DUPFD, kLeakedFrom);
  const int err = errno;
  close_fd(file);
  close_fd(root);
  if (leaked_file_ < 0 || leaked_dir_ < 0) return errno_error("descriptors to leak", err);
  return {};
}

Result<void> Scene::start_victim() {
  const pid_t parent = getpid();
  victim_ = fork();
  if (victim_ < 0) return errno_error("a process to aim at", errno);
  if (victim_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    for (;;) pause();
  }
  return {};
}

void Scene::stop_victim() {
  if (victim_ <= 0) return;
  kill(victim_, SIGKILL);
  waitpid(victim_, nullptr, 0);
  victim_ = -1;
}

std::vector<std::string> Scene::damage() {
  std::vector<std::string> out;
  struct stat st{};
  if (content(canary_) != kCanaryText || stat(canary_.c_str(), &st) != 0 || (st.st_mode & 07777) != 0666)
    out.emplace_back("a file of the host was changed");
  if (waitpid(victim_, nullptr, WNOHANG) == victim_) {
    victim_ = -1;
    out.emplace_back("a process of the host was killed");
  }
  if (has_caller(tcp_)) out.emplace_back("a listener on the host's loopback was reached");
  if (has_caller(unix_)) out.emplace_back("an abstract socket of the host was reached");
  if (!survivors().empty()) out.emplace_back("processes of the cell are still running");
  return out;
}

Result<void> Scene::mend() {
  end_survivors();
  while (has_caller(tcp_) || has_caller(unix_)) {
  }
  if (content(canary_) != kCanaryText || chmod(canary_.c_str(), 0666) != 0) {
    unlink(canary_.c_str());
    TRY(put_file(canary_, kCanaryText, 0666));
  }
  if (victim_ > 0 && waitpid(victim_, nullptr, WNOHANG) == victim_) victim_ = -1;
  if (victim_ <= 0) TRY(start_victim());
  return {};
}

std::vector<pid_t> Scene::survivors() const {
  std::vector<pid_t> out;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return out;
  while (dirent* e = readdir(proc)) {
    auto pid = parse_u64(e->d_name);
    if (!pid) continue;
    int fd = open(cat("/proc/", std::string_view(e->d_name), "/cmdline").c_str(), O_RDONLY | O_CLOEXEC);
    char buf[4096];
    ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf);
    if (fd >= 0) close(fd);
    if (n > 0 && std::string_view(buf, static_cast<std::size_t>(n)).find(token_) != std::string_view::npos)
      out.push_back(static_cast<pid_t>(*pid));
  }
  closedir(proc);
  return out;
}

// By group: the runner changes its pid faster than it can be looked up, its group stays.
void Scene::end_survivors() const {
  for (int round = 0; round < 100; ++round) {
    auto left = survivors();
    if (left.empty()) return;
    for (pid_t pid : left) {
      const pid_t group = getpgid(pid);
      if (group > 1 && group != getpgrp()) kill(-group, SIGKILL);
      kill(pid, SIGKILL);
    }
    usleep(5000);
  }
}

std::vector<std::string> Scene::words(std::string_view pattern) const {
  std::vector<std::string> out;
  for (std::string_view word : split(pattern, ' ')) {
    if (word.empty()) continue;
    if (word == "{dir}") out.push_back(dir_);
    else if (word == "{canary}") out.push_back(canary_);
    else if (word == "{secret}") out.push_back(secret_);
    else if (word == "{victim}") out.push_back(cat(victim_));
    else if (word == "{port}") out.push_back(cat(port_));
    else if (word == "{abstract}") out.push_back(abstract_);
    else if (word == "{token}") out.push_back(token_);
    else out.emplace_back(word);
  }
  return out;
}

}  // namespace hotcell
