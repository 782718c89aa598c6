#include "e2e/cli.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "support/cells.h"

namespace hotcell::testing {
namespace {

constexpr auto kMost = std::chrono::seconds(90);  // more than the 60 s that a cell has by itself
// A quarter of the stack is what arguments may take, up to the kernel's 6 MiB.
constexpr rlim_t kStack = 64 << 20;

std::string beside_self(const std::string& name) { return self_path().substr(0, self_path().rfind('/') + 1) + name; }

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// false at the end of the stream
bool take(int& fd, std::string& into) {
  std::array<char, 65536> buffer;
  ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) return close_fd(fd), false;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) ::abort();
    read = fds[0];
    write = fds[1];
  }
};

struct Ends {
  int in, out, err, status;
};

[[noreturn]] void become(const std::vector<std::string>& argv, const Ends& ends) {
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = std::min(stack.rlim_max, kStack);
  ::setrlimit(RLIMIT_STACK, &stack);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  ::dup2(ends.in, STDIN_FILENO);
  ::dup2(ends.out, STDOUT_FILENO);
  ::dup2(ends.err, STDERR_FILENO);
  if (ends.status >= 0) ::dup2(ends.status, kStatusFd);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // A user's secrets are in the environment; none of them may be needed, and one is looked for.
  auto given = [](const char* name) {
    const char* value = ::getenv(name);
    return std::string(name) + "=" + (value != nullptr ? value : "");
  };
  std::vector<std::string> set = {"PATH=/usr/bin:/bin", "E2E_SECRET=zmxncbv", given("XDG_CACHE_HOME")};  // where a test says so
  // A test of secrets says which is one, and what its servers are checked against.
  if (::getenv("TOKEN") != nullptr) set.insert(set.end(), {given("TOKEN"), given("SSL_CERT_FILE")});
  std::vector<char*> env;
  for (auto& variable : set) env.push_back(variable.data());
  env.push_back(nullptr);
  ::execve(words[0], words.data(), env.data());
  ::_exit(99);
}

template <class Condition>
bool within(std::chrono::milliseconds time, Condition holds) {
  auto until = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

const std::string& hotcell_path() {
  static const std::string path = [] {
    const char* set = ::getenv("HOTCELL_BIN");
    return set && *set ? std::string(set) : beside_self("hotcell");
  }();
  return path;
}

std::string attack_path() { return hotcell_path().substr(0, hotcell_path().rfind('/') + 1) + "hotcell-attack"; }

std::string Called::describe() const {
  std::ostringstream text;
  text << "code " << code << ", signal " << signal << "\nstdout (" << out.size() << "): " << out.substr(0, 2000)
       << "\nstderr (" << err.size() << "): " << err.substr(0, 2000);
  return text.str();
}

Call::Call(std::vector<std::string> args, std::string input)
    : input_(std::move(input)), until_(std::chrono::steady_clock::now() + kMost) {
  args.insert(args.begin(), hotcell_path());
  Pipe in, out, err, status;
  pid_ = ::fork();
  if (pid_ == 0) become(args, {in.read, out.write, err.write, status.write});
  for (int fd : {in.read, out.write, err.write, status.write}) ::close(fd);
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
  status_ = status.read;
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
}

Call::~Call() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (int* fd : {&in_, &out_, &err_, &status_}) close_fd(*fd);
}

void Call::send(int signal) const { ASSERT_EQ(::kill(pid_, signal), 0); }

bool Call::pump() {
  if (written_ == input_.size()) close_fd(in_);
  std::array<pollfd, 4> fds = {{{in_, POLLOUT, 0}, {out_, POLLIN, 0}, {err_, POLLIN, 0}, {status_, POLLIN, 0}}};
  if (std::all_of(fds.begin() + 1, fds.end(), [](const pollfd& p) { return p.fd < 0; })) return false;
  if (std::chrono::steady_clock::now() > until_) return ADD_FAILURE() << "took too long: " << called_.describe(), false;
  if (::poll(fds.data(), fds.size(), 100) <= 0) return true;
  if (fds[0].revents != 0) {
    ssize_t n = ::write(in_, input_.data() + written_, std::min<std::size_t>(input_.size() - written_, 65536));
    if (n > 0) written_ += static_cast<std::size_t>(n);
    if (n < 0 && errno == EPIPE) written_ = input_.size();
  }
  if (fds[1].revents != 0) take(out_, called_.out);
  if (fds[2].revents != 0) take(err_, called_.err);
  if (fds[3].revents != 0) take(status_, called_.status);
  return true;
}

bool Call::wait_for_output(std::string_view text) {
  while (called_.out.find(text) == std::string::npos)
    if (!pump()) return false;
  return true;
}

Called Call::finish() {
  // Writing to a program that has ended is an answer to look at, not the end of the test.
  auto old = ::signal(SIGPIPE, SIG_IGN);
  while (pump()) {
  }
  ::signal(SIGPIPE, old);
  int status = 0;
  if (std::chrono::steady_clock::now() > until_) ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) called_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    called_.signal = WTERMSIG(status);
  } else {
    EXPECT_TRUE(cgroups_of(pid_).empty()) << "left behind: " << cgroups_of(pid_).front();
  }
  pid_ = -1;
  return called_;
}

Called hotcell(std::vector<std::string> args, std::string input) {
  return Call(std::move(args), std::move(input)).finish();
}

std::string shell_output(const std::vector<std::string>& argv, const std::string& input, int* code) {
  TempDir dir;
  write_text(dir.path() + "/input", input);
  Pipe out;
  int in = ::open((dir.path() + "/input").c_str(), O_RDONLY | O_CLOEXEC);
  pid_t pid = ::fork();
  if (pid == 0) become(argv, {in, out.write, out.write, -1});
  ::close(in);
  ::close(out.write);
  std::string text;
  while (take(out.read, text)) {
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return text;
}

std::vector<pid_t> processes_with(const std::string& token) {
  std::vector<pid_t> found;
  for (const auto& path : matches("/proc/[0-9]*/cmdline")) {
    pid_t pid = std::atoi(path.c_str() + sizeof "/proc/" - 1);
    if (pid != ::getpid() && read_text(path).find(token) != std::string::npos) found.push_back(pid);
  }
  return found;
}

// A process between two programs has no command line for a moment.
bool seen_within(const std::string& token, std::size_t count, std::chrono::milliseconds time) {
  return within(time, [&] { return processes_with(token).size() >= count; });
}

bool gone_within(const std::string& token, std::chrono::milliseconds time) {
  return within(time, [&] { return processes_with(token).empty(); });
}

std::vector<std::string> cgroups_of(pid_t pid) {
  std::string name = std::to_string(pid) + "-*";
  auto found = matches("/sys/fs/cgroup/*/hotcell/" + name);
  for (auto& path : matches("/sys/fs/cgroup/hotcell/" + name)) found.push_back(path);
  return found;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace hotcell::testing
