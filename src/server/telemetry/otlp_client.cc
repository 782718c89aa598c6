#include "server/telemetry/otlp_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell::server {

namespace asio = boost::asio;
using asio::ip::tcp;
using Code = boost::system::error_code;

Result<OtlpTarget> parse_otlp_endpoint(const std::string& url) {
  auto refuse = [&](std::string_view why) {
    return make_error(ErrorCode::kInvalid, cat("OTEL_EXPORTER_OTLP_ENDPOINT ", quoted(url), " ", why));
  };
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return refuse("must begin with http://");
  std::string_view rest = std::string_view(url).substr(kScheme.size());
  if (rest.find_first_of(" \r\n\t@") != std::string_view::npos) return refuse("has a character that does not belong there");
  std::string_view place = rest.substr(0, rest.find('/'));
  std::string path(rest.substr(place.size()));
  while (path.ends_with('/')) path.pop_back();
  OtlpTarget target{std::string(place), "4318", path + "/v1/traces"};
  auto colon = place.rfind(':');
  if (colon != std::string_view::npos && !place.ends_with(']')) {
    target.host = std::string(place.substr(0, colon));
    target.port = std::string(place.substr(colon + 1));
  }
  if (target.host.starts_with('[') && target.host.ends_with(']')) target.host = target.host.substr(1, target.host.size() - 2);
  auto port = parse_u64(target.port);
  if (target.host.empty() || !port || *port == 0 || *port > 65535) return refuse("has no host and port");
  return target;
}

struct OtlpClient::Impl {
  asio::io_context& loop;
  OtlpTarget target;
  tcp::resolver::results_type places;
  std::uint64_t delivered = 0, dropped = 0;
  std::size_t under_way = 0;
};

namespace {

constexpr std::chrono::seconds kPatience(10);
constexpr std::size_t kMostAtOnce = 4;

}  // namespace

Result<std::unique_ptr<OtlpClient>> OtlpClient::create(asio::io_context& loop, const OtlpTarget& target) {
  Code code;
  tcp::resolver resolver(loop);
  auto places = resolver.resolve(target.host, target.port, code);
  if (code) return make_error(ErrorCode::kIo, cat("OTEL_EXPORTER_OTLP_ENDPOINT: ", target.host, ": ", code.message()));
  auto impl = std::make_shared<Impl>(Impl{loop, target, std::move(places)});
  return std::unique_ptr<OtlpClient>(new OtlpClient(std::move(impl)));
}

OtlpClient::OtlpClient(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
OtlpClient::~OtlpClient() = default;
std::uint64_t OtlpClient::delivered() const { return impl_->delivered; }
std::uint64_t OtlpClient::dropped() const { return impl_->dropped; }

void OtlpClient::post(std::string body) {
  if (impl_->under_way >= kMostAtOnce) {
    ++impl_->dropped;
    return;
  }
  ++impl_->under_way;
  struct Post {
    std::shared_ptr<Impl> impl;
    tcp::socket socket;
    asio::steady_timer timer;
    std::string out, in;
    bool over = false;
    void end(bool delivered) {
      if (over) return;
      over = true;
      --impl->under_way;
      ++(delivered ? impl->delivered : impl->dropped);
      timer.cancel();
      Code ignored;
      socket.close(ignored);
    }
  };
  auto post = std::make_shared<Post>(Post{impl_, tcp::socket(impl_->loop), asio::steady_timer(impl_->loop), {}, {}});
  const OtlpTarget& to = impl_->target;
  const bool v6 = to.host.find(':') != std::string::npos;
  post->out = cat("POST ", to.path, " HTTP/1.1\r\nHost: ", v6 ? "[" : "", to.host, v6 ? "]" : "", ":", to.port,
                  "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  post->timer.expires_after(kPatience);
  post->timer.async_wait([post](Code code) {
    if (!code) post->end(false);
  });
  asio::async_connect(post->socket, impl_->places, [post](Code code, const tcp::endpoint&) {
    if (code || post->over) return post->end(false);
    asio::async_write(post->socket, asio::buffer(post->out), [post](Code failed, std::size_t) {
      if (failed || post->over) return post->end(false);
      // The status line is all that matters: "HTTP/1.1 200".
      constexpr std::size_t kStatus = 12;
      auto into = asio::dynamic_buffer(post->in, kStatus);
      asio::async_read(post->socket, into, asio::transfer_exactly(kStatus), [post](Code, std::size_t) {
        post->end(post->in.size() == kStatus && post->in.starts_with("HTTP/1.") && post->in[9] == '2');
      });
    });
  });
}

}  // namespace hotcell::server
