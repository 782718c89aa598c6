#include "cli/doctor_control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/strings.h"

namespace hotcell {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Ceilings in case an attack turns out to be stronger than it was meant to be.
void limit_self() {
  auto set = [](auto what, rlim_t n) {
    rlimit r{n, n};
    setrlimit(what, &r);
  };
  set(RLIMIT_AS, rlim_t{512} << 20);
  set(RLIMIT_CPU, 10);
  set(RLIMIT_FSIZE, rlim_t{64} << 20);
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& words, const char* dir, int out) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_self();
  int null = open("/dev/null", O_RDONLY);
  if (chdir(dir) != 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0) _exit(125);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(125);
}

// The last few KiB are enough: the result line is the last thing written.
void drain(int fd, std::string& tail) {
  char buf[1 << 16];
  for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;) {
    tail.append(buf, static_cast<std::size_t>(n));
    if (tail.size() > sizeof buf) tail.erase(0, tail.size() - 4096);
  }
}

}  // namespace

AttackOutcome attack_outside(const AttackRow& row, const std::string& program_path, Scene& scene) {
  AttackOutcome out;
  out.name = row.name;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    out.detail = "no pipe";
    return out;
  }
  const auto words = scene.words(row.control);
  const auto began = Clock::now();
  pid_t pid = fork();
  if (pid == 0) {
    fcntl(ends[1], F_SETFL, 0);
    become(program_path, words, scene.dir().c_str(), ends[1]);
  }
  close(ends[1]);
  // A program that waits for a deadline to come is given one second, which it must survive.
  const bool waits =
      row.judge == AttackJudge::kLimit && !row.command.empty() && row.control.find("{token}") != row.control.npos;
  const auto end = began + (waits ? milliseconds(1000) : milliseconds(10000));
  std::string output;
  std::optional<int> status;
  while (pid > 0 && !status && Clock::now() < end) {
    pollfd p{ends[0], POLLIN, 0};
    poll(&p, 1, 10);
    drain(ends[0], output);
    int s = 0;
    if (waitpid(pid, &s, WNOHANG) == pid) status = s;
  }
  drain(ends[0], output);
  if (pid > 0 && !status) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  // A process in the middle of exec has no command line to be known by for a moment.
  bool left = !scene.survivors().empty();
  for (int i = 0; waits && !left && i < 50; ++i) {
    usleep(10'000);
    left = !scene.survivors().empty();
  }
  if (pid > 0) kill(-pid, SIGKILL);
  close(ends[0]);

  const AttackLine line = parse_attack_line(output);
  out.milliseconds = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
  out.detail = line.detail;
  const bool through = waits || line.word == "started" ? left : line.word == "open";
  if (through) {
    out.held = Held::kNotHeld;
    out.stopped_by = "nothing";
  } else {
    out.held = line.word == "blocked" ? Held::kHeld : Held::kPartial;
    out.stopped_by = "this host";
  }
  if (through && left) out.detail = "a process was left running";
  return out;
}

}  // namespace hotcell
