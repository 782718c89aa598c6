#include "net/exchange.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/strings.h"
#include "net/http_request.h"

namespace hotcell::net {
namespace {

constexpr int kIdleMs = 300'000;

bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != b[i]) return false;
  return true;
}

// In origin form on the wire, as an address for the reader that the proxy has: one reader, one framing.
Result<ProxyRequest> read_request(std::string_view head, const Target& target, std::uint16_t usual_port) {
  auto first = head.find(' ');
  if (first == head.npos || first + 1 >= head.size() || head[first + 1] != '/') return make_error(ErrorCode::kInvalid, "bad request: the address has no path");
  // The reader takes a Host without a port for port 80.
  Target as = target;
  if (target.port == usual_port) as.port = 80;
  return parse_request(cat(head.substr(0, first + 1), "http://", as.text(), head.substr(first + 1)));
}

void fill_in(ProxyRequest& request, const std::vector<Secret>& secrets) {
  request.path = path_with_secrets(request.path, secrets);
  for (auto& [name, value] : request.headers) {
    // What is packed could not be searched for the value.
    if (same(name, "accept-encoding")) value = "identity";
    else value = with_secrets(value, secrets);
  }
}

std::string answer(int status, std::string_view text, std::string_view why) {
  std::string body = cat("hotcell: ", printable(why), "\n");
  return cat("HTTP/1.1 ", status, " ", text, "\r\nX-Hotcell-Reason: ", printable(why), "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
}

class Exchange {
 public:
  Exchange(ByteStream& client, ByteStream& server, const std::vector<Secret>& secrets) : client_(client), server_(server), scrub_(secrets), secrets_(secrets) {}

  void run(const Target& target, std::uint16_t usual_port) {
    std::string buffer;
    auto size = read_head(client_, buffer);
    if (!size) return refuse(400, "Bad Request", size.error().message);
    if (size.value() == 0) return;
    auto request = read_request(std::string_view(buffer).substr(0, size.value()), target, usual_port);
    if (!request) return refuse(400, "Bad Request", request.error().message);
    buffer.erase(0, size.value());
    fill_in(request.value(), secrets_);
    if (!server_.write(forwarded_head(request.value()))) return refuse(502, "Bad Gateway", cat(target.text(), " did not take the request"));
    BodyReader body(request.value());
    if (!pass_body(body, buffer)) return;
    while (step(body)) {
    }
  }

 private:
  void refuse(int status, std::string_view text, std::string_view why) { client_.write(answer(status, text, why)); }

  static Result<std::size_t> read_head(ByteStream& from, std::string& buffer) {
    for (;;) {
      TRY_SET(std::size_t size, head_size(buffer));
      if (size != 0) return size;
      std::array<char, 16384> chunk;
      long n = from.read(chunk.data(), chunk.size());
      if (n == ByteStream::kNothing) continue;
      if (n <= 0) return std::size_t{0};
      buffer.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }

  bool pass_body(BodyReader& body, std::string& bytes) {
    auto taken = body.take(bytes);
    if (!taken) return false;
    bool sent = server_.write(std::string_view(bytes).substr(0, taken.value()));
    bytes.clear();
    return sent;
  }

  // Both ways, whoever has something: a server may answer before it has read everything.
  bool step(BodyReader& body) {
    bool from_client = !body.done();
    std::array<pollfd, 2> fds = {{{server_.fd(), POLLIN, 0}, {from_client ? client_.fd() : -1, POLLIN, 0}}};
    bool server_ready = server_.buffered(), client_ready = from_client && client_.buffered();
    if (!server_ready && !client_ready) {
      int n = ::poll(fds.data(), fds.size(), kIdleMs);
      if (n < 0 && errno == EINTR) return true;
      if (n <= 0) return false;
      server_ready = fds[0].revents != 0, client_ready = fds[1].revents != 0;
    }
    std::array<char, 65536> chunk;
    if (client_ready) {
      long n = client_.read(chunk.data(), chunk.size());
      if (n <= 0 && n != ByteStream::kNothing) return false;
      std::string bytes(chunk.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      if (!pass_body(body, bytes)) return false;
    }
    if (!server_ready) return true;
    long n = server_.read(chunk.data(), chunk.size());
    if (n == ByteStream::kNothing) return true;
    if (n <= 0) {
      pass_on(scrub_.finish());
      return false;
    }
    return pass_answer({chunk.data(), static_cast<std::size_t>(n)});
  }

  bool pass_answer(std::string_view bytes) {
    if (begun_) return pass_content(bytes);
    head_ += bytes;
    while (!begun_) {
      auto end = head_.find("\r\n\r\n");
      if (end == std::string::npos) return head_.size() < kMostHead;
      auto head = rewritten_response(std::string_view(head_).substr(0, end + 4));
      if (!head || head.value().status == 101) return false;
      const std::string& coding = head.value().coding;
      if (!coding.empty() && coding != "chunked") return false;  // what is packed could not be searched for the value
      if (!client_.write(scrub_.push(head.value().text))) return false;
      head_.erase(0, end + 4);
      begun_ = head.value().status >= 200;
      if (begun_ && !coding.empty()) chunks_ = BodyReader::chunked();
    }
    return pass_content(std::exchange(head_, {}));
  }

  // A value that is cut by the border of two chunks is one all the same, and a program can often choose where a server cuts what it
  // says back: so chunks are put together, cleaned, and made anew.
  bool pass_content(std::string_view bytes) {
    if (!chunks_) return pass_on(scrub_.push(bytes));
    std::string data;
    if (!chunks_->take(bytes, &data) || !pass_on(scrub_.push(data))) return false;
    if (!chunks_->done()) return true;
    if (pass_on(scrub_.finish())) client_.write("0\r\n\r\n");
    return false;
  }

  bool pass_on(std::string_view content) {
    if (!chunks_) return client_.write(content);
    if (content.empty()) return true;  // a chunk of nothing would be the last
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", content.size());
    return client_.write(cat(size, content, "\r\n"));
  }

  ByteStream &client_, &server_;
  Scrub scrub_;
  const std::vector<Secret>& secrets_;
  std::string head_;
  std::optional<BodyReader> chunks_;
  bool begun_ = false;
};

}  // namespace

Result<std::string> request_with_secrets(std::string_view head, const Target& target, std::uint16_t usual_port, const std::vector<Secret>& secrets) {
  TRY_SET(ProxyRequest request, read_request(head, target, usual_port));
  fill_in(request, secrets);
  return forwarded_head(request);
}

void exchange(ByteStream& client, ByteStream& server, const Target& target, std::uint16_t usual_port, const std::vector<Secret>& secrets) {
  Exchange(client, server, secrets).run(target, usual_port);
  client.finish();
}

}  // namespace hotcell::net
