#include "backends/engine/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/engine/http.h"
#include "backends/engine/json.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

using Clock = std::chrono::steady_clock;

// False: the time is over.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd p{fd, events, 0};
    int n = ::poll(&p, 1, static_cast<int>(std::min<long long>(left + 1, 60'000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;  // the next call says what is wrong
  }
}

std::string head(std::string_view method, std::string_view path, std::string_view body, std::string_view type, bool upgrade) {
  std::string out = cat(method, " ", path, " HTTP/1.1\r\nHost: engine\r\nUser-Agent: hotcell\r\n");
  if (upgrade) out += "Connection: Upgrade\r\nUpgrade: tcp\r\n";
  else out += "Connection: close\r\n";
  if (!body.empty()) out += cat("Content-Type: ", type, "\r\n");
  return cat(out, "Content-Length: ", body.size(), "\r\n\r\n");
}

}  // namespace

Error EngineClient::cannot(std::string_view what) const { return make_error(ErrorCode::kUnsupported, cat(name_, ": ", socket_, ": ", what)); }

Result<sys::Fd> EngineClient::connect(Milliseconds patience) const {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof at.sun_path) return cannot("no name of a socket");
  std::memcpy(at.sun_path, socket_.c_str(), socket_.size());
  sys::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno_error("socket", errno);
  auto until = Clock::now() + patience;
  // A listener whose queue is full says EAGAIN at once: somebody is there who does not take calls.
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) < 0) {
    if (errno == ENOENT) return cannot("no engine is running here (there is no such socket)");
    if (errno == ECONNREFUSED) return cannot("a dead socket: nobody listens there");
    if (errno == EACCES || errno == EPERM) return cannot("this user may not talk to the engine");
    if (errno != EAGAIN && errno != EINTR) return cannot(std::strerror(errno));
    if (Clock::now() >= until) return cannot(cat("the engine took no call within ", patience.count(), " ms"));
    ::poll(nullptr, 0, 5);
  }
  return fd;
}

namespace {

// Sends, then reads until `stop` says so or the answer is complete. `forever`: the deadline moves with each piece.
Result<void> talk(int fd, std::string_view request, ResponseReader& reader, std::chrono::milliseconds patience, bool moving,
                  const std::function<Result<void>()>& on_progress) {
  auto until = Clock::now() + patience;
  auto late = [&] { return make_error(ErrorCode::kIo, cat("the engine did not answer within ", patience.count(), " ms")); };
  char buffer[64 << 10];
  bool sent = false;
  while (!reader.done() && !reader.upgraded()) {
    // It may answer, and close, before it has read everything.
    if (!wait_for(fd, static_cast<short>(sent ? POLLIN : POLLIN | POLLOUT), until)) return late();
    ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return reader.end();
    if (n < 0 && errno != EAGAIN && errno != EINTR) return errno_error("the engine's answer", errno);
    if (n > 0) {
      TRY(reader.add({buffer, static_cast<std::size_t>(n)}));
      TRY(on_progress());
      if (moving) until = Clock::now() + patience;
      continue;
    }
    if (sent) continue;
    ssize_t w = ::send(fd, request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (w < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE) return errno_error("a call of the engine", errno);
    if (w < 0 && errno == EPIPE) sent = true;
    if (w > 0) request.remove_prefix(static_cast<std::size_t>(w));
    if (request.empty()) sent = true;
  }
  return {};
}

}  // namespace

Result<EngineAnswer> EngineClient::ask(std::string_view method, std::string_view path, std::string_view body, std::string_view type,
                                       Milliseconds patience) const {
  TRY_SET(sys::Fd fd, connect(patience));
  ResponseReader reader;
  auto talked = talk(fd.get(), cat(head(method, path, body, type, false), body), reader, patience, false, [] { return Result<void>(); });
  if (!talked.ok()) return cannot(talked.error().message);
  return EngineAnswer{reader.status(), reader.take_body()};
}

Result<std::string> EngineClient::demand(std::string_view method, std::string_view path, std::string_view body, std::string_view type,
                                         Milliseconds patience) const {
  TRY_SET(EngineAnswer answer, ask(method, path, body, type, patience));
  if (answer.ok() || answer.status == 304) return std::move(answer.body);
  auto said = json_text(answer.body, {"message"});
  return make_error(ErrorCode::kUnsupported, cat(name_, ": ", method, " ", path.substr(0, path.find('?')), ": ", answer.status, ": ",
                                                 printable(said.value_or(answer.body.substr(0, 300)))));
}

Result<int> EngineClient::follow(std::string_view method, std::string_view path, std::string_view body, std::string_view type,
                                 const std::function<Result<void>(std::string_view)>& on_bytes, Milliseconds patience) const {
  TRY_SET(sys::Fd fd, connect(patience));
  ResponseReader reader;
  auto talked = talk(fd.get(), cat(head(method, path, body, type, false), body), reader, patience, true, [&]() -> Result<void> {
    auto part = reader.take_body();
    return part.empty() ? Result<void>() : on_bytes(part);
  });
  if (!talked.ok()) return cannot(talked.error().message);
  return reader.status();
}

Result<EngineStream> EngineClient::upgrade(std::string_view path, std::string_view body) const {
  constexpr auto kPatience = std::chrono::seconds(30);
  TRY_SET(sys::Fd fd, connect(kPatience));
  ResponseReader reader;
  auto talked = talk(fd.get(), cat(head("POST", path, body, "application/json", true), body), reader, kPatience, false, [] { return Result<void>(); });
  if (!talked.ok()) return cannot(talked.error().message);
  if (!reader.upgraded()) {
    std::string answer = reader.take_body();
    return cannot(cat(path.substr(0, path.find('?')), ": ", reader.status(), ": ", printable(json_text(answer, {"message"}).value_or(answer.substr(0, 300)))));
  }
  return EngineStream{std::move(fd), reader.take_body()};
}

Result<void> EngineClient::ping(Milliseconds patience) const {
  // Not /version: podman runs half a dozen programs to answer that.
  TRY_SET(EngineAnswer answer, ask("GET", "/_ping", {}, {}, patience));
  if (!answer.ok() || trim(answer.body) != "OK") return cannot("whoever answers there is no container engine");
  return {};
}

std::string url_escape(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) out += static_cast<char>(c);
    else out += {'%', kHex[c >> 4], kHex[c & 15]};
  }
  return out;
}

}  // namespace hotcell::backends
