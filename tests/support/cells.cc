#include "support/cells.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/kernel/host.h"

namespace hotcell::testing {
namespace {

std::map<std::string, Program, std::less<>>& programs() {
  static std::map<std::string, Program, std::less<>> all;
  return all;
}

}  // namespace

Launcher& launcher() {
  static std::unique_ptr<Launcher> one = [] {
    auto made = Launcher::create();
    if (!made.ok()) {
      ::fprintf(stderr, "no launcher: %s\n", made.error().message.c_str());
      ::abort();
    }
    return std::move(made).value();
  }();
  return *one;
}

bool is_root() { return ::geteuid() == 0; }

bool has_cgroups() {
  static const bool have = [] {
    auto host = Host::look();
    return host.ok() && host.value().cgroup.memory && host.value().cgroup.pids;
  }();
  return have;
}

const std::string& self_path() {
  static const std::string path = [] {
    char buffer[PATH_MAX];
    ssize_t n = ::readlink("/proc/self/exe", buffer, sizeof buffer);
    return std::string(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
  }();
  return path;
}

RegisterProgram::RegisterProgram(const char* name, Program program) { programs()[name] = program; }

Program find_program(std::string_view name) {
  auto it = programs().find(name);
  return it == programs().end() ? nullptr : it->second;
}

Policy test_policy() {
  Policy policy = default_policy();
  policy.filesystem.grants.push_back({self_path(), Access::kRead, "the test program"});
  return policy;
}

// The same suite may run beside this one, as another user.
static std::string of_this_test() { return "--of=" + std::to_string(::getpid()); }

std::size_t alive(const std::string& name) {
  const std::string words = std::string("--program=") + name + '\0' + of_this_test() + '\0';
  std::size_t n = 0;
  for (const auto& path : matches("/proc/[0-9]*/cmdline"))
    if (read_text(path).find(words) != std::string::npos) ++n;
  return n;
}

Request program(const std::string& name, std::map<std::string, std::string> env) {
  Request request;
  request.argv = {self_path(), "--program=" + name, of_this_test()};
  request.env = std::move(env);
  return request;
}

Request shell(std::string script) {
  Request request;
  request.argv = {"/bin/sh", "-c", std::move(script)};
  return request;
}

Report run(const Policy& policy, Request request) {
  auto report = launcher().run(policy, std::move(request));
  if (report.ok()) return std::move(report).value();
  ADD_FAILURE() << "the run failed: " << report.error().message;
  return {};
}
Report run(Request request) { return run(test_policy(), std::move(request)); }

namespace {

// Without its symbols it is a twentieth of the size, and it is copied into every such cell.
int stripped_self() {
  static const int fd = [] {
    std::string name = "/tmp/hotcell-self." + std::to_string(::getpid());
    std::string command = "strip -o " + name + " '" + self_path() + "'";
    bool made = ::system(command.c_str()) == 0;
    int opened = ::open(made ? name.c_str() : self_path().c_str(), O_RDONLY | O_CLOEXEC);
    ::unlink(name.c_str());
    return opened;
  }();
  return fd;
}

}  // namespace

Request carried_program(const std::string& name, std::map<std::string, std::string> env) {
  Request request;
  request.argv = {"/work/self", "--program=" + name, of_this_test()};
  request.env = std::move(env);
  request.files.push_back({"self", stripped_self(), 0755});
  return request;
}

Report run_stamped(const Policy& policy, Request request) {
  auto parked = launcher().park(policy, 1);
  EXPECT_TRUE(parked.ok());
  for (int i = 0; i < 1000 && launcher().parked(policy) == 0; ++i)
    launcher().step(std::chrono::milliseconds(10)).ignore("the count tells");
  EXPECT_EQ(launcher().parked(policy), 1u);
  Report report = run(policy, std::move(request));
  launcher().park(policy, 0).ignore("no more than this one");
  bool stamped = false;
  for (const auto& [step, took] : report.setup_ns) stamped = stamped || (step == "user_ns" && took.count() > 0);
  EXPECT_TRUE(stamped) << "it was made in one go";
  return report;
}

std::string exit_reason(const Report& report) { return std::string(to_string(report.verdict.reason)); }

std::string describe(const Report& r) {
  std::ostringstream out;
  out << "exit_reason " << exit_reason(r) << ", code " << r.verdict.exit_code.value_or(-1) << ", signal "
      << r.verdict.signal.value_or(0) << "\nstdout: " << r.out.substr(0, 2000) << "\nstderr: " << r.err.substr(0, 2000);
  for (const auto& d : r.denials) out << "\ndenied: " << d.layer << " " << d.subject << ": " << d.what;
  return out.str();
}

LayerStatus layer_status(const Report& report, Layer layer) {
  const LayerReport* found = report.enforcement.find(layer);
  return found ? found->status : LayerStatus::kNone;
}

bool has_denial(const Report& report, std::string_view syscall) {
  for (const auto& d : report.denials)
    if (d.layer == "seccomp" && d.subject == syscall && d.count > 0) return true;
  return false;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return out;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string first_line(const std::string& path) {
  std::string text = read_text(path);
  return text.substr(0, text.find('\n'));
}

void write_text(const std::string& path, std::string_view text, unsigned mode) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
  ::chmod(path.c_str(), mode);
}

TempDir::TempDir() {
  const char* base = ::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/hc-test-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    ::perror("mkdtemp");
    ::abort();
  }
  ::chmod(path_.c_str(), 0755);
}

TempDir::~TempDir() {
  // What a cell closed is opened first, or it stays where the tests are an ordinary user's. A folder that cannot be listed is
  // listed in the next round.
  static bool again;
  auto open = [](const char* path, const struct stat* st, int kind, FTW*) {
    if (kind == FTW_DNR || (kind == FTW_D && (st->st_mode & 0700) != 0700)) again = ::chmod(path, 0700) == 0 || again;
    return 0;
  };
  for (again = true; again;) {
    again = false;
    ::nftw(path_.c_str(), open, 16, FTW_PHYS | FTW_MOUNT);
  }
  // Never into a mount: whatever a test mounted there is not ours to empty.
  auto remove = [](const char* path, const struct stat*, int, FTW*) { return ::remove(path), 0; };
  ::nftw(path_.c_str(), remove, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int in_child(const std::map<std::string, std::string>& env, int (*body)()) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return -1;
  pid_t pid = ::fork();
  if (pid == 0) {
    ::close(fds[0]);
    for (const auto& [k, v] : env) ::setenv(k.c_str(), v.c_str(), 1);
    int answer = body();
    ::_exit(::write(fds[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
  }
  ::close(fds[1]);
  int answer = -1;
  ssize_t n = ::read(fds[0], &answer, sizeof answer);
  ::close(fds[0]);
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return n == sizeof answer ? answer : -1;
}

}  // namespace hotcell::testing
