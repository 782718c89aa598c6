// hotcell-tls: puts secrets into what a cell sends to the hosts they are for (net/inserter.h says why it is apart).
// Descriptor 0 is its only tie to the proxy: secrets come by it once, then connections, two descriptors each. It ends when
// the other side does.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "base/strings.h"
#include "net/inserter.h"
#include "net/tls/confine_tls.h"
#include "net/tls/tls.h"
#include "sys/socket.h"
#include "sys/thread.h"

namespace hotcell::net {
namespace {

constexpr int kMostAtOnce = 512;
constexpr std::size_t kPiece = 16384;  // of a long answer

struct World {
  std::vector<Secret> secrets;
  std::unique_ptr<CellTls> tls;
  std::atomic<int> serving = 0;
};

void say_no(ByteStream& client, const Error& error) {
  std::string body = cat("hotcell: ", printable(error.message), "\n");
  client.write(cat("HTTP/1.1 502 Bad Gateway\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body));
  client.finish();
}

void serve(World& world, const Target& target, sys::Fd client, sys::Fd server) {
  std::vector<Secret> secrets;
  for (const auto& s : world.secrets)
    if (s.where.matches(target.host, target.port)) secrets.push_back(s);
  char first = 0;
  if (::recv(client.get(), &first, 1, MSG_PEEK) != 1) return;
  if (first != 0x16) {  // not TLS
    auto from = plain_stream(std::move(client)), to = plain_stream(std::move(server));
    return exchange(*from, *to, target, 80, secrets);
  }
  auto from = world.tls->accept(std::move(client), target.host);
  if (!from.ok()) return;
  auto to = world.tls->connect(std::move(server), target.host);
  if (!to.ok()) return say_no(*from.value(), to.error());
  exchange(*from.value(), *to.value(), target, 443, secrets);
}

void block(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

Result<void> take(World& world, std::string_view text, std::vector<sys::Fd> fds, const std::string& authorities) {
  auto fields = split(text, '\0');
  // Once it is ready, threads read what it knows.
  if ((fields[0] == kTlsSecret || fields[0] == kTlsReady) && world.tls) return make_error(ErrorCode::kInvalid, "secrets come first, and once");
  if (fields[0] == kTlsSecret && fields.size() == 5) {
    TRY_SET(Secret secret, known_secret(fields[1], fields[2], fields[3], fields[4]));
    world.secrets.push_back(std::move(secret));
    return {};
  }
  if (fields[0] == kTlsReady) {
    std::vector<std::string> names;
    for (const auto& s : world.secrets) {
      auto where = std::string_view(s.where.text());
      where = where.substr(where.starts_with("*.") ? 2 : 0);
      auto host = parse_authority(where, 443);
      if (!host.ok() || host.value().host.address) return make_error(ErrorCode::kInvalid, cat(where, ": secrets are for hosts with a name"));
      names.push_back(cat("DNS:", host.value().host.name));
    }
    TRY_SET(world.tls, CellTls::create(names, authorities));
    return sys::send(STDIN_FILENO, world.tls->certificate(), {}, MSG_NOSIGNAL);
  }
  if (fields[0] == kTlsTrusted && world.tls) {
    auto all = trusted_with(world.tls->certificate(), authorities);
    if (!all.ok()) return sys::send(STDIN_FILENO, all.error().message, {}, MSG_NOSIGNAL);
    std::string_view rest = all.value();
    TRY(sys::send(STDIN_FILENO, cat(rest.size()), {}, MSG_NOSIGNAL));
    for (; !rest.empty(); rest.remove_prefix(std::min(kPiece, rest.size()))) TRY(sys::send(STDIN_FILENO, rest.substr(0, kPiece), {}, MSG_NOSIGNAL));
    return {};
  }
  if (fields[0] != kTlsServe || fields.size() != 3 || fds.size() != 2 || !world.tls) return make_error(ErrorCode::kInvalid, "a message that makes no sense");
  TRY_SET(Target target, parse_authority(cat(fields[1], ":", fields[2]), 0));
  if (world.serving >= kMostAtOnce) return {};  // closed: the cell may try again
  for (auto& fd : fds) block(fd.get());
  ++world.serving;
  auto both = std::make_shared<std::vector<sys::Fd>>(std::move(fds));
  auto thread = sys::quiet_thread([&world, target, both] {
    serve(world, target, std::move((*both)[0]), std::move((*both)[1]));
    --world.serving;
  });
  if (thread.ok()) thread.value().detach();
  else --world.serving;  // closed, too
  return {};
}

int run(const std::string& authorities) {
  static World world;  // threads may outlive the loop
  std::array<char, 16384> buffer;
  for (;;) {
    auto message = sys::receive(STDIN_FILENO, buffer, 0);
    if (!message.ok() || message.value().size == 0) ::_exit(0);
    auto done = take(world, {buffer.data(), message.value().size}, std::move(message.value().fds), authorities);
    if (!done.ok() && !world.tls) {
      sys::send(STDIN_FILENO, done.error().message, {}, MSG_NOSIGNAL).ignore("nobody is left to be told");
      return 1;
    }
  }
}

}  // namespace
}  // namespace hotcell::net

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string_view word = argc > 1 ? argv[1] : "";
  constexpr std::string_view kAuthorities = "authorities=";
  if (!word.starts_with(kAuthorities)) return 2;
  std::string authorities(word.substr(kAuthorities.size()));
  std::vector<std::string> readable = hotcell::net::prepare_tls();
  if (!authorities.empty()) readable = {authorities};
  auto confined = hotcell::net::confine_tls(readable);
  if (!confined.ok()) {
    hotcell::sys::send(STDIN_FILENO, hotcell::cat("hotcell-tls cannot confine itself: ", confined.error().message), {}, MSG_NOSIGNAL)
        .ignore("nobody is left to be told");
    return 1;
  }
  return hotcell::net::run(authorities);
}
