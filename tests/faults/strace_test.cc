// The kernel itself says no: strace makes one system call of set-up fail, in the launcher, in init or in the program's
// process. Whatever it was, the program must not start, the error must name the step, and nothing may be left behind.
// The first run counts how often each process makes each call; then the first, the second, one in the middle and the
// last of them fail.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell::testing {
namespace {

struct Ended {
  int code = -1;
  std::string out, err, trace;
};

class Injected : public LeakCheck {
 protected:
  void SetUp() override {
    // What a failed set-up leaves without a parent comes to us, and the fixture finds it.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    LeakCheck::SetUp();
  }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    LeakCheck::TearDown();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  std::string file(const char* name) const { return dir_.path() + "/" + name; }

  Ended traced(std::vector<std::string> options, std::vector<std::string> run_options = {}) {
    const char* set = ::getenv("HOTCELL_BIN");
    std::string hotcell = set ? set : self_path().substr(0, self_path().rfind('/')) + "/hotcell";
    std::vector<std::string> words = {"strace", "-f", "-qq", "-o", file("trace")};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {hotcell, "run"});
    words.insert(words.end(), run_options.begin(), run_options.end());
    words.insert(words.end(), {"--", "/bin/echo", "started"});
    pid_t pid = ::fork();
    if (pid == 0) {
      const char* names[] = {"out", "err"};
      for (int i = 0; i < 2; ++i) ::dup2(::open(file(names[i]).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 1 + i);
      ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
      std::vector<char*> argv;
      for (auto& w : words) argv.push_back(w.data());
      argv.push_back(nullptr);
      ::execvp("strace", argv.data());
      ::_exit(99);
    }
    int status = 0;
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, &status, 0);
        ADD_FAILURE() << "it did not end";
        break;
      }
      ::usleep(2000);
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(file("out")), read_text(file("err")), read_text(file("trace"))};
  }

  // How often the process that makes it most often makes each call: strace counts by process, too.
  std::map<std::string, int> count_calls() {
    Ended e = traced({});
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.out, "started\n") << "the control: nothing fails";
    std::map<std::pair<std::string, std::string>, int> by_process;
    std::istringstream lines(e.trace);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string pid, call;
      words >> pid >> call;
      auto bracket = call.find('(');
      if (bracket != std::string::npos) ++by_process[{pid, call.substr(0, bracket)}];
    }
    std::map<std::string, int> most;
    for (const auto& [key, n] : by_process) most[key.second] = std::max(most[key.second], n);
    return most;
  }

  // The launcher's pid stands on the first line of the trace; its cgroups are called after it.
  static std::size_t groups_of(const Ended& e) {
    std::string pid = e.trace.substr(0, e.trace.find(' '));
    std::size_t v1 = matches("/sys/fs/cgroup/*/hotcell/" + pid + "-*").size();
    return pid.empty() ? 0 : v1 + matches("/sys/fs/cgroup/hotcell/" + pid + "-*").size();
  }

  TempDir dir_;
};

// In the order of a run. Each is a wall, or what a wall stands on.
constexpr const char* kSetUp[] = {"memfd_create", "socketpair", "pipe2", "clone3", "dup3", "close_range", "execveat", "capset", "prctl",
                                  "unshare", "setgroups", "setresgid", "setresuid", "sethostname", "socket", "mount", "open_tree",
                                  "mount_setattr", "move_mount", "mkdir", "symlink", "chdir", "pivot_root", "umount2", "prlimit64",
                                  "landlock_add_rule", "landlock_restrict_self", "fork", "setsid", "seccomp", "write"};

TEST_F(Injected, EveryRefusalOfTheKernelStopsTheProgramAndIsNamed) {
  auto most = count_calls();
  ASSERT_FALSE(HasFailure());
  int runs = 0;
  for (std::string call : kSetUp) {
    // libc has more than one way to fork; as an ordinary user there are no groups to set.
    if (call == "fork" && most["fork"] == 0) call = most["clone"] > 0 ? "clone" : "vfork";
    if (call == "setgroups" && !is_root()) continue;
    ASSERT_GT(most[call], 0) << call << " is not made any more: take it off the list";
    for (int nth : std::set<int>{1, std::min(2, most[call]), (most[call] + 1) / 2, most[call]}) {
      SCOPED_TRACE(call + " " + std::to_string(nth) + " of " + std::to_string(most[call]));
      Ended e = traced({"-e", "trace=" + call, "-e", "inject=" + call + ":error=EPERM:when=" + std::to_string(nth)});
      ++runs;
      EXPECT_EQ(e.code, 125) << e.out << e.err;
      EXPECT_EQ(e.out.find("started"), std::string::npos) << "the program ran";
      EXPECT_TRUE(e.err.starts_with("hotcell: ")) << e.err;
      EXPECT_NE(e.err.find(": Operation not permitted"), std::string::npos) << e.err;
      EXPECT_GE(std::count(e.err.begin(), e.err.end(), ':'), 2) << "no step is named: " << e.err;
      EXPECT_EQ(groups_of(e), 0u) << "a cgroup is left";
    }
  }
  EXPECT_GT(runs, 60);
}

// Init must not be readable by the program even for a moment: without this it would be another uid's business alone.
TEST_F(Injected, AnInitThatStaysDumpableIsNoInit) {
  auto most = count_calls();
  for (int nth = 1; nth <= std::min(most["prctl"], 12); ++nth) {
    SCOPED_TRACE(nth);
    Ended e = traced({"-e", "trace=prctl", "-e", "inject=prctl:error=EPERM:when=" + std::to_string(nth)});
    EXPECT_EQ(e.code, 125) << e.out << e.err;
    EXPECT_EQ(e.out, "");
  }
}

// A kernel that does not know Landlock is no failure; then the report must say what is missing, and --require refuse.
TEST_F(Injected, ALayerThatIsNotThereIsSaidToBeMissing) {
  std::vector<std::string> none = {"-e", "trace=landlock_create_ruleset", "-e", "inject=landlock_create_ruleset:error=ENOSYS:when=1"};
  Ended e = traced(none, {"--json"});
  EXPECT_EQ(e.code, 0) << e.err;
  for (const char* layer : {"landlock_broad", "landlock"})
    EXPECT_NE(e.out.find(std::string("{\"name\":\"") + layer + "\",\"status\":\"none\""), std::string::npos) << e.out;
  e = traced(none, {"--require", "landlock"});
  EXPECT_EQ(e.code, 125) << e.err;
  EXPECT_EQ(e.out, "");
  EXPECT_NE(e.err.find("landlock"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace hotcell::testing
