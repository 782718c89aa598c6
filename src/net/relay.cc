#include "net/relay.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hotcell::net {
namespace {

constexpr std::size_t kMostIdlePipes = 64;
constexpr int kPipeSize = 1 << 20;

}  // namespace

Result<sys::Pipe> PipePool::take() {
  if (!idle_.empty()) {
    sys::Pipe pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  TRY_SET(sys::Pipe pipe, sys::make_pipe(O_NONBLOCK));
  (void)::fcntl(pipe.write.get(), F_SETPIPE_SZ, kPipeSize);  // a smaller one is slower and does as well
  return pipe;
}

void PipePool::give_back(sys::Pipe pipe) {
  if (idle_.size() < kMostIdlePipes) idle_.push_back(std::move(pipe));
}

void Relay::drop(PipePool& pipes) {
  if (pipe_.read.valid() && in_pipe_ == 0) pipes.give_back(std::move(pipe_));
  pipe_ = {};
  in_pipe_ = 0;
}

bool Relay::flush(End& to, bool& broken) {
  std::uint64_t unlimited = ~std::uint64_t{0};
  return flush(to, broken, unlimited);
}

bool Relay::flush(End& to, bool& broken, std::uint64_t& budget) {
  while (!pending.empty()) {
    if (budget == 0) return false;
    ssize_t n = ::send(to.fd.get(), pending.data(), static_cast<std::size_t>(std::min<std::uint64_t>(pending.size(), budget)), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno == EAGAIN) to.writable = false;
      else broken = true;
      return false;
    }
    moved += static_cast<std::uint64_t>(n);
    budget -= static_cast<std::uint64_t>(n);
    pending.erase(0, static_cast<std::size_t>(n));
  }
  return true;
}

Relay::Outcome Relay::move_by_splice(End& from, End& to, PipePool& pipes, std::uint64_t& budget) {
  for (;;) {
    if (in_pipe_ > 0) {
      if (!to.writable) return Outcome::kWaiting;
      ssize_t n = ::splice(pipe_.read.get(), nullptr, to.fd.get(), nullptr, in_pipe_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        to.writable = false;
        return Outcome::kWaiting;
      }
      if (n <= 0) return Outcome::kBroken;
      moved += static_cast<std::uint64_t>(n);
      in_pipe_ -= static_cast<std::size_t>(n);
      continue;
    }
    if (from.read_done) {
      drop(pipes);
      return Outcome::kFinished;
    }
    if (!from.readable || budget == 0) {
      drop(pipes);
      return from.readable ? Outcome::kMore : Outcome::kWaiting;
    }
    if (!pipe_.read.valid()) {
      auto taken = pipes.take();
      if (!taken) return Outcome::kBroken;
      pipe_ = std::move(taken).value();
    }
    auto most = static_cast<std::size_t>(std::min<std::uint64_t>(budget, kStride));
    ssize_t n = ::splice(from.fd.get(), nullptr, pipe_.write.get(), nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      from.readable = false;  // the pipe is empty: it is the socket that has nothing
      continue;
    }
    if (n < 0) return Outcome::kBroken;
    if (n == 0) from.read_done = true;
    in_pipe_ = static_cast<std::size_t>(n);
    budget -= static_cast<std::uint64_t>(n);
  }
}

Relay::Outcome Relay::move(End& from, End& to, PipePool& pipes, std::uint64_t& budget) {
  bool broken = false;
  if (!pending.empty() && (!to.writable || !flush(to, broken, budget))) return broken ? Outcome::kBroken : to.writable ? Outcome::kMore : Outcome::kWaiting;
  Outcome outcome = move_by_splice(from, to, pipes, budget);
  if (outcome == Outcome::kFinished && !to.write_done) {
    to.write_done = true;
    ::shutdown(to.fd.get(), SHUT_WR);
  }
  return outcome;
}

}  // namespace hotcell::net
