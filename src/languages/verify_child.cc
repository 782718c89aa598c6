#include "languages/verify_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "languages/verify_wire.h"
#include "sys/file.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef HOTCELL_LIBEXEC_DIR
#define HOTCELL_LIBEXEC_DIR "/usr/local/libexec/hotcell"
#endif

namespace hotcell {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kChunk = 256u << 10;

struct Exec {
  int socket, null;
  const char* path;
  char* const* argv;
  int error = 0;  // written by the child into memory it shares with us until it execs
};

void become_child(void* raw) noexcept {
  auto* e = static_cast<Exec*>(raw);
  // Copies first: one of the three may sit on the number of another.
  long socket = ::syscall(SYS_fcntl, e->socket, F_DUPFD, 10), null = ::syscall(SYS_fcntl, e->null, F_DUPFD, 10);
  char* const none[] = {nullptr};
  if (socket >= 0 && null >= 0 && ::syscall(SYS_dup3, socket, 0, 0) == 0 && ::syscall(SYS_dup3, null, 1, 0) == 1 &&
      ::syscall(SYS_dup3, null, 2, 0) == 2 && ::syscall(SYS_close_range, 3, ~0u, 0) == 0)
    ::syscall(SYS_execve, e->path, e->argv, none);
  e->error = errno;
  ::syscall(SYS_exit_group, 127);
}

// False when the time is over.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left < 0) return false;
    pollfd p{fd, events, 0};
    int n = ::poll(&p, 1, static_cast<int>(std::min<long long>(left + 1, 60'000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;  // the call that follows will say what is wrong
  }
}

// What moved, 0 when the peer is gone, -1 when the time is over.
template <typename Call>
ssize_t move_bytes(int fd, short events, Clock::time_point until, Call call) {
  for (;;) {
    ssize_t n = call();
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return 0;
    if (!wait_for(fd, events, until)) return -1;
  }
}

}  // namespace

Result<std::string> find_verify_program() {
  TRY_SET(std::string self, sys::read_link("/proc/self/exe"));
  std::string folder = self.substr(0, self.rfind('/'));
  std::string tried;
  for (const std::string& place : {folder, cat(folder, "/../libexec/hotcell"), std::string(HOTCELL_LIBEXEC_DIR)}) {
    std::string path = cat(place, "/hotcell-verify");
    if (::access(path.c_str(), X_OK) == 0) return path;
    tried += cat(tried.empty() ? "" : ", ", path);
  }
  return make_error(ErrorCode::kNotFound, cat("hotcell-verify is not there; looked for ", tried));
}

Result<void> VerifyChild::start(const std::string& program, Bytes memory) {
  stop();
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return errno_error("socketpair", errno);
  sys::Fd ours(pair[0]), theirs(pair[1]);
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  std::string name = "hotcell-verify", limit = cat(memory.n);
  char* argv[] = {name.data(), limit.data(), nullptr};
  Exec exec{theirs.get(), null.get(), program.c_str(), argv};
  TRY_SET(sys::Child child, sys::clone_vfork(0, -1, become_child, &exec));
  if (exec.error != 0) {
    sys::reap(child.pid, true).ignore("it has told us why it ended");
    return errno_error(program, exec.error);
  }
  socket_ = std::move(ours);
  child_ = std::move(child);
  return {};
}

VerifyChild::Answer VerifyChild::ask(std::string_view request, Nanoseconds wall) {
  auto until = Clock::now() + wall;
  int fd = socket_.get();
  Answer answer;
  auto over = [&](End end) {
    answer.end = end;
    // Its socket closes a moment before its status is there.
    answer.status = end_it(end == End::kDied ? 500 : 0);
    return answer;
  };
  while (!request.empty()) {
    ssize_t n = move_bytes(fd, POLLOUT, until, [&] {
      return ::send(fd, request.data(), std::min(request.size(), kChunk), MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (n < 0) return over(End::kTimeout);
    if (n == 0) break;  // gone, but it may have said why
    request.remove_prefix(static_cast<std::size_t>(n));
  }
  std::string in;
  std::size_t want = kFrameHead;
  bool head = true;
  while (in.size() < want) {
    std::size_t have = in.size();
    in.resize(std::max(want, have + 4096));
    ssize_t n = move_bytes(fd, POLLIN, until,
                           [&] { return ::recv(fd, in.data() + have, in.size() - have, MSG_DONTWAIT); });
    in.resize(have + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) return over(n < 0 ? End::kTimeout : End::kDied);
    if (!head || in.size() < kFrameHead) continue;
    auto length = frame_length(in, kMaxReply);
    if (!length) return over(End::kNonsense);
    want = kFrameHead + *length;
    head = false;
  }
  if (in.size() != want) return over(End::kNonsense);  // nobody asked for more
  answer.end = End::kAnswered;
  answer.payload = in.substr(kFrameHead);
  return answer;
}

int VerifyChild::end_it(int grace_ms) {
  pollfd p{child_.pidfd.get(), POLLIN, 0};
  if (::poll(&p, 1, grace_ms) <= 0) sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it may be gone already");
  // By its own pid, so that nobody else's children are touched. Whoever ignores SIGCHLD or waits for all children
  // may have taken it before: then there is no status, and nothing to do.
  auto reaped = sys::reap(child_.pid, true);
  int status = reaped.ok() && reaped.value() ? reaped.value()->status : 0;
  socket_.reset();
  child_ = {};
  return status;
}

void VerifyChild::stop() {
  if (running()) end_it();
}

}  // namespace hotcell
