#include "cells/keeper/door_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "core/remote/launcher_process.h"
#include "sys/file.h"
#include "sys/framed_child.h"
#include "sys/socket.h"
#include "sys/spawn.h"

namespace hotcell::cells {
namespace {

constexpr auto kWithin = std::chrono::seconds(5);

}  // namespace

Result<std::shared_ptr<DoorProcess>> DoorProcess::start(const std::vector<std::string>& words) {
  TRY_SET(std::string program, remote::find_program_of_ours("hotcell-proxy"));
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return errno_error("socketpair", errno);
  sys::Fd ours(pair[0]), theirs(pair[1]);
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  sys::Spawn what;
  what.program = program;
  what.argv = {"hotcell-proxy"};
  what.argv.insert(what.argv.end(), words.begin(), words.end());
  what.fds = {theirs.get(), null.get(), null.get()};
  TRY_SET(sys::Child child, sys::spawn(what));
  auto door = std::make_shared<DoorProcess>();
  door->socket_ = std::move(ours);
  door->child_ = std::move(child);
  return door;
}

DoorProcess::Clock::time_point DoorProcess::due() const { return waiting_.empty() ? Clock::time_point::max() : waiting_.front().by; }

void DoorProcess::ask(std::string_view payload, Then then, std::span<const int> fds) {
  if (!living()) return then(make_error(ErrorCode::kIo, failed.empty() ? std::string("hotcell-proxy is gone") : failed));
  waiting_.push_back({std::move(then), Clock::now() + kWithin});
  // Orders are small and it reads them at once: what does not fit is a sign that it no longer does.
  std::string frame = sys::frame(payload);
  Result<void> sent;
  if (!fds.empty()) sent = sys::send(socket_.get(), frame, fds, MSG_DONTWAIT);
  else if (::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(frame.size())) sent = errno_error("send", errno);
  if (!sent.ok()) end(cat("hotcell-proxy takes no orders: ", sent.error().message));
}

void DoorProcess::answer(Result<std::string> what) {
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  next.then(std::move(what));
}

void DoorProcess::on_readable() {
  char bytes[64 << 10];
  for (int rounds = 0; rounds < 16 && living(); ++rounds) {
    ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n <= 0) return end("hotcell-proxy has ended");
    in_.append(bytes, static_cast<std::size_t>(n));
    while (in_.size() >= sys::kFrameHead) {
      auto length = sys::frame_length(in_, net::kLongestDoorAccount);
      if (!length || waiting_.empty()) return end("hotcell-proxy speaks out of turn");
      if (in_.size() < sys::kFrameHead + *length) break;
      std::string payload = in_.substr(sys::kFrameHead, *length);
      in_.erase(0, sys::kFrameHead + *length);
      answer(std::move(payload));
      if (!living()) return;
    }
  }
}

void DoorProcess::end(std::string why) {
  if (!living()) return;
  sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it may be gone already");
  sys::reap(child_.pid, true).ignore("how it ended tells nothing");
  child_ = {};
  socket_.reset();
  tls.reset();  // after who held the other copies of its socket: it ends by itself
  serving = false;
  failed = std::move(why);
  while (!waiting_.empty()) answer(make_error(ErrorCode::kIo, failed));
}

}  // namespace hotcell::cells
