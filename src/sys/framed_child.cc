#include "sys/framed_child.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/socket.h"

namespace hotcell::sys {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kMagic = 0x31514348;  // "HCQ1"
constexpr std::size_t kChunk = 256u << 10;

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

std::string frame(std::string_view payload) {
  std::string out(kFrameHead, '\0');
  const auto length = static_cast<std::uint32_t>(payload.size());
  for (unsigned i = 0; i < 4; ++i) {
    out[i] = static_cast<char>(kMagic >> (8 * i));
    out[4 + i] = static_cast<char>(length >> (8 * i));
  }
  out += payload;
  return out;
}

std::optional<std::size_t> frame_length(std::string_view head, std::size_t most) {
  if (head.size() < kFrameHead) return std::nullopt;
  std::uint32_t magic = 0, length = 0;
  for (unsigned i = 0; i < 4; ++i) {
    magic |= static_cast<std::uint32_t>(static_cast<unsigned char>(head[i])) << (8 * i);
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(head[4 + i])) << (8 * i);
  }
  if (magic != kMagic || length > most) return std::nullopt;
  return length;
}

bool send_frame(int socket, std::string_view payload) {
  const std::string all = frame(payload);
  std::string_view left = all;
  while (!left.empty()) {
    ssize_t n = ::send(socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool receive_frame(int socket, std::size_t most, std::string& payload) {
  char head[kFrameHead];
  auto receive = [&](char* to, std::size_t size) {
    while (size > 0) {
      ssize_t n = ::recv(socket, to, size, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to += n, size -= static_cast<std::size_t>(n);
    }
    return true;
  };
  if (!receive(head, sizeof head)) return false;
  auto length = frame_length({head, sizeof head}, most);
  if (!length) return false;
  payload.resize(*length);
  return receive(payload.data(), payload.size());
}

void FramedChild::start(Fd socket, End end) {
  stop();
  socket_ = std::move(socket);
  end_ = std::move(end);
}

FramedChild::Answer FramedChild::ask(std::string_view request, Nanoseconds wall, std::size_t most, std::span<const int> fds) {
  auto until = Clock::now() + wall;
  int fd = socket_.get();
  Answer answer;
  auto over = [&](How how) {
    answer.how = how;
    // Its socket closes a moment before its status is there.
    answer.status = end_it(how == How::kDied ? 500 : 0);
    return answer;
  };
  // A packet of its own: they must not wait for room that a long question takes.
  if (!fds.empty()) {
    if (!send(fd, request, fds).ok()) return over(How::kDied);
    request = {};
  }
  while (!request.empty()) {
    ssize_t n = move_bytes(fd, POLLOUT, until, [&] {
      return ::send(fd, request.data(), std::min(request.size(), kChunk), MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (n < 0) return over(How::kTimeout);
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
    if (n <= 0) return over(n < 0 ? How::kTimeout : How::kDied);
    if (!head || in.size() < kFrameHead) continue;
    auto length = frame_length(in, most);
    if (!length) return over(How::kNonsense);
    want = kFrameHead + *length;
    head = false;
  }
  if (in.size() != want) return over(How::kNonsense);  // nobody asked for more
  answer.how = How::kAnswered;
  answer.payload = in.substr(kFrameHead);
  return answer;
}

int FramedChild::end_it(int grace_ms) {
  socket_.reset();
  auto end = std::exchange(end_, nullptr);
  return end ? end(grace_ms) : 0;
}

void FramedChild::stop() {
  if (running()) end_it();
}

}  // namespace hotcell::sys
