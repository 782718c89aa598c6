#include "net/inserter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "sys/spawn.h"

namespace hotcell::net {
namespace {

constexpr int kReadyWithinMs = 10'000;

constexpr std::size_t kPiece = 16384, kMostTrusted = 16 << 20;

Result<sys::Fd> hand_over(int socket, const Target& target, const sys::Fd& server) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) return errno_error("socketpair", errno);
  sys::Fd ours(pair[0]), theirs(pair[1]);
  std::array<int, 2> fds = {theirs.get(), server.get()};
  TRY(sys::send(socket, tls_message({kTlsServe, target.host.bracketed(), cat(target.port)}), fds, MSG_DONTWAIT | MSG_NOSIGNAL));
  return ours;
}

// What it says within the time it has; it has read nothing of a cell's yet.
Result<std::string> answer_of(int socket) {
  pollfd p{socket, POLLIN, 0};
  if (::poll(&p, 1, kReadyWithinMs) <= 0) return make_error(ErrorCode::kIo, "hotcell-tls does not answer");
  std::array<char, kPiece> buffer;
  TRY_SET(sys::Message answer, sys::receive(socket, buffer, 0));
  if (answer.size == 0) return make_error(ErrorCode::kIo, "hotcell-tls has ended");
  return std::string(buffer.data(), answer.size);
}

class TlsInserterImpl final : public TlsInserter {
 public:
  ~TlsInserterImpl() override {
    socket_.reset();  // it ends when nobody is there any more
    if (child_.pid <= 0) return;
    pollfd p{child_.pidfd.get(), POLLIN, 0};
    if (child_.pidfd.valid() && ::poll(&p, 1, 500) <= 0) sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it may have gone");
    sys::reap(child_.pid, true).ignore("somebody else may have");
  }

  Result<void> open(const std::string& program, std::vector<Secret> secrets, const std::string& authorities) {
    TRY_SET(sys::SocketPair pair, sys::seqpacket_pair());
    TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
    sys::Spawn what;
    what.program = program;
    what.argv = {"hotcell-tls", cat("authorities=", authorities)};
    what.fds = {pair.theirs.get(), null.get(), null.get()};
    what.die_with_us = false;
    TRY_SET(child_, sys::spawn(what));
    pair.theirs.reset();
    return introduce(std::move(pair.ours), std::move(secrets));
  }

  Result<void> introduce(sys::Fd socket, std::vector<Secret> secrets) {
    socket_ = std::move(socket);
    secrets_ = std::move(secrets);
    for (const auto& s : secrets_) TRY(sys::send(socket_.get(), tls_message({kTlsSecret, s.name, s.where.text(), s.placeholder, s.value}), {}, MSG_NOSIGNAL));
    TRY(sys::send(socket_.get(), tls_message({kTlsReady}), {}, MSG_NOSIGNAL));
    TRY_SET(certificate_, answer_of(socket_.get()));
    if (!certificate_.starts_with("-----BEGIN CERTIFICATE-----")) return make_error(ErrorCode::kIo, cat("hotcell-tls: ", printable(certificate_)));
    return {};
  }

  Result<std::string> trusted() override {
    TRY(sys::send(socket_.get(), tls_message({kTlsTrusted}), {}, MSG_NOSIGNAL));
    TRY_SET(std::string length, answer_of(socket_.get()));
    auto size = parse_u64(length);
    if (!size) return make_error(ErrorCode::kIo, cat("hotcell-tls: ", printable(length)));
    std::string out;
    while (out.size() < *size && out.size() < kMostTrusted) {
      TRY_SET(std::string piece, answer_of(socket_.get()));
      out += piece;
    }
    if (out.size() != *size) return make_error(ErrorCode::kIo, "hotcell-tls: the certificates are cut off");
    return out;
  }

  bool covers(const Target& target) const override {
    return std::any_of(secrets_.begin(), secrets_.end(), [&](const Secret& s) { return s.where.matches(target.host, target.port); });
  }
  Result<sys::Fd> insert(const Target& target, sys::Fd server) override { return hand_over(socket_.get(), target, server); }
  const std::string& certificate() const override { return certificate_; }
  const std::vector<Secret>& secrets() const override { return secrets_; }
  int socket() const override { return socket_.get(); }

 private:
  std::vector<Secret> secrets_;
  sys::Child child_;
  sys::Fd socket_;
  std::string certificate_;
};

class InserterOver final : public Inserter {
 public:
  InserterOver(sys::Fd socket, std::vector<HostPattern> hosts) : socket_(std::move(socket)), hosts_(std::move(hosts)) {}
  bool covers(const Target& target) const override {
    return std::any_of(hosts_.begin(), hosts_.end(), [&](const HostPattern& h) { return h.matches(target.host, target.port); });
  }
  Result<sys::Fd> insert(const Target& target, sys::Fd server) override { return hand_over(socket_.get(), target, server); }

 private:
  sys::Fd socket_;
  std::vector<HostPattern> hosts_;
};

}  // namespace

std::string tls_message(std::initializer_list<std::string_view> fields) {
  std::string out;
  for (auto f : fields) out += cat(out.empty() ? std::string_view() : std::string_view("\0", 1), f);
  return out;
}

Result<std::shared_ptr<TlsInserter>> TlsInserter::start(const std::string& program, std::vector<Secret> secrets, const std::string& authorities) {
  auto out = std::make_shared<TlsInserterImpl>();
  TRY(out->open(program, std::move(secrets), authorities));
  return std::shared_ptr<TlsInserter>(std::move(out));
}

Result<std::shared_ptr<TlsInserter>> TlsInserter::begin(sys::Fd socket, std::vector<Secret> secrets) {
  auto out = std::make_shared<TlsInserterImpl>();
  TRY(out->introduce(std::move(socket), std::move(secrets)));
  return std::shared_ptr<TlsInserter>(std::move(out));
}

Result<std::shared_ptr<Inserter>> inserter_over(sys::Fd socket, const std::vector<std::string>& hosts) {
  std::vector<HostPattern> patterns;
  for (const auto& host : hosts) {
    TRY_SET(HostPattern pattern, HostPattern::parse(host));
    patterns.push_back(std::move(pattern));
  }
  return std::shared_ptr<Inserter>(std::make_shared<InserterOver>(std::move(socket), std::move(patterns)));
}

Result<std::string> trusted_with(std::string_view certificate, const std::string& authorities) {
  std::vector<std::string> places = {authorities};
  if (authorities.empty()) places = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
  for (const auto& place : places) {
    auto text = sys::read_file(place.c_str(), 16 << 20);
    if (text.ok()) return cat(text.value(), text.value().ends_with('\n') ? "" : "\n", certificate);
    if (!authorities.empty()) return std::move(text).error();
  }
  return std::string(certificate);  // a host without any: nothing but the cell's own is trusted
}

}  // namespace hotcell::net
