#include "sys/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

namespace hotcell::sys {

std::string_view to_string(Have have) {
  switch (have) {
    case Have::kYes:
      return "yes";
    case Have::kPartial:
      return "partial";
    case Have::kNo:
      return "no";
  }
  return "no";
}

const Fact* Facts::find(std::string_view name) const {
  for (const auto& f : all)
    if (f.name == name) return &f;
  return nullptr;
}

bool Facts::has(std::string_view name) const {
  const Fact* f = find(name);
  return f != nullptr && f->have != Have::kNo;
}

KernelVersion parse_release(std::string_view release) {
  unsigned part[3] = {0, 0, 0};
  std::size_t at = 0;
  for (unsigned& p : part) {
    bool any = false;
    while (at < release.size() && release[at] >= '0' && release[at] <= '9' && p < 100000) {
      p = p * 10 + static_cast<unsigned>(release[at++] - '0');
      any = true;
    }
    if (!any || at >= release.size() || release[at] != '.') break;
    ++at;
  }
  return {part[0], part[1], part[2]};
}

bool Trial::fail(const char* what, int error) {
  strncpy(step, what, sizeof step - 1);
  err = error == 0 ? EIO : error;
  return false;
}

std::string Trial::why() const {
  if (end == End::kTimedOut) return "no answer in time";
  if (end == End::kDied) return cat("the trial died of signal ", signal);
  if (err == 0) return "";
  const char* name = strerrordesc_np(err);
  return cat(std::string_view(step), ": ", std::string_view(name != nullptr ? name : "unknown error"));
}

namespace {

int left_ms(std::chrono::steady_clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// The record is smaller than PIPE_BUF, so it arrives whole or not at all.
bool read_answer(int fd, Trial& t, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    int n = poll(&p, 1, left_ms(end));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) {
      t.end = Trial::End::kTimedOut;
      return false;
    }
    Trial got;
    ssize_t r = read(fd, &got, sizeof got);
    if (r < 0 && errno == EINTR) continue;
    if (r != static_cast<ssize_t>(sizeof got)) return false;
    t = got;
    t.step[sizeof t.step - 1] = 0;
    t.end = Trial::End::kAnswered;
    return true;
  }
}

bool write_text(const char* path, const std::string& text, Trial& t) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return t.fail(path, errno);
  ssize_t n = write(fd, text.data(), text.size());
  int err = errno;
  close(fd);
  if (n != static_cast<ssize_t>(text.size())) return t.fail(path, err);
  return true;
}

}  // namespace

Trial try_in_child(const std::function<void(Trial&)>& body, std::chrono::milliseconds limit) {
  Trial t;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    t.end = Trial::End::kAnswered;
    t.fail("pipe", errno);
    return t;
  }
  const pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    // Its own group, so that what a trial forks can be ended with it; and never longer than the caller lives.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    Trial answer;
    body(answer);
    answer.end = Trial::End::kAnswered;
    ssize_t n = write(ends[1], &answer, sizeof answer);
    _exit(n == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
  }
  const int fork_errno = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    t.end = Trial::End::kAnswered;
    t.fail("fork", fork_errno);
    return t;
  }
  setpgid(pid, pid);  // both sides do it, since either may be first; the loser's error is harmless
  bool answered = read_answer(ends[0], t, limit);
  close(ends[0]);
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answered && t.end == Trial::End::kDied && WIFSIGNALED(status)) t.signal = WTERMSIG(status);
  return t;
}

bool enter_user_ns(Trial& t, std::uint64_t flags) {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(static_cast<int>(flags | CLONE_NEWUSER)) != 0) return t.fail("unshare", errno);
  // Not to 0: mapping root needs CAP_SETFCAP of a caller that is root itself. Inside, the capabilities are all
  // there until exec whatever the number is.
  if (!write_text("/proc/self/setgroups", "deny", t)) return false;
  if (!write_text("/proc/self/uid_map", cat("1000 ", uid, " 1"), t)) return false;
  return write_text("/proc/self/gid_map", cat("1000 ", gid, " 1"), t);
}

std::string read_line(const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char buf[4096];
  ssize_t n = read(fd, buf, sizeof buf);
  close(fd);
  if (n <= 0) return "";
  std::string_view text(buf, static_cast<std::size_t>(n));
  return std::string(trim(text.substr(0, text.find('\n'))));
}

Facts probe() {
  Facts facts;
  probe_host(facts.all);
  probe_mounts(facts.all);
  probe_namespaces(facts.all);
  probe_landlock(facts.all);
  probe_seccomp(facts.all);
  probe_cgroups(facts.all);
  probe_limits(facts.all);
  std::vector<Fact> backends;
  probe_backends(facts, backends);
  for (auto& f : backends) facts.all.push_back(std::move(f));
  return facts;
}

}  // namespace hotcell::sys
