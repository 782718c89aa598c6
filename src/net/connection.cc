// From the first byte to a connection that stands. What flows over it is connection_relay.cc.
#include "net/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr auto kLong = std::chrono::seconds(5);

// In a header nothing but printable ASCII; what others wrote may be in it.
std::string header_text(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 300)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

std::string_view status_text(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 408: return "Request Timeout";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Bad Gateway";
  }
}

std::string refusal(int status, const Decision& d) {
  std::string body = cat("hotcell: ", printable(d.reason), "\nrule: ", printable(d.rule), "\n");
  if (!d.how.empty()) body += cat("to allow it: ", printable(d.how), "\n");
  std::string out = cat("HTTP/1.1 ", status, " ", status_text(status), "\r\nX-Hotcell-Reason: ", header_text(d.reason), "\r\nX-Hotcell-Rule: ",
                        header_text(d.rule), "\r\n");
  if (!d.how.empty()) out += cat("X-Hotcell-Allow: ", header_text(d.how), "\r\n");
  return out += cat("Content-Type: text/plain; charset=utf-8\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
}

SocksReply socks_code(int status) {
  if (status == 403 || status == 400) return SocksReply::kNotAllowed;
  return status == 502 ? SocksReply::kHostUnreachable : SocksReply::kFailure;
}

void no_delay(int fd) {
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Decision spent_decision(Spent what) {
  if (what == Spent::kTime) return {false, "limit", "the cell has had its network for as long as it may", "--network-time"};
  return {false, "limit", "the cell has used up the bytes it may move", "--network-bytes"};
}

Connection::Connection(Door& door, std::uint64_t id, sys::Fd client)
    : door_(door), id_(id), born_(Clock::now()), deadline_(born_ + door.limits.head), last_moved_(born_),
      born_wall_(std::chrono::system_clock::now()) {
  client_.fd = std::move(client);
  client_.readable = client_.writable = true;  // until it turns out otherwise
  no_delay(client_.fd.get());
  // The cell is always near, so that what waits for it need not be much.
  int stride = kStride;
  ::setsockopt(client_.fd.get(), SOL_SOCKET, SO_SNDBUF, &stride, sizeof stride);
}

Connection::~Connection() {
  up_.drop(door_.pipes);
  down_.drop(door_.pipes);
  write_log();
}

LogEntry Connection::entry() const {
  std::string method = socks_ ? "SOCKS5" : request_.method;
  LogEntry out{born_wall_, printable(method.substr(0, 32)), request_.target.host.name, request_.target.port, decision_.allowed, decision_.rule,
               decision_.reason, decision_.how, up_.moved, down_.moved, Clock::now() - born_};
  out.failed = failed_;
  return out;
}

void Connection::write_log() {
  if (logged_ || decision_.reason.empty()) return;
  logged_ = true;
  door_.log->add(entry());
}

void Connection::on_event(bool server, std::uint32_t events) {
  End& e = server ? server_ : client_;
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) e.readable = true;
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) e.writable = true;
}

Connection::Fill Connection::fill(std::string& buffer, End& from, std::size_t most) {
  while (from.readable && !from.read_done) {
    if (buffer.size() >= most) return Fill::kFull;
    char chunk[16 << 10];
    ssize_t n = ::recv(from.fd.get(), chunk, std::min(sizeof chunk, most - buffer.size()), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) from.readable = false;
    else if (n < 0) return Fill::kBroken;
    else if (n == 0) from.read_done = true;
    else buffer.append(chunk, static_cast<std::size_t>(n));
  }
  return from.read_done ? Fill::kEnd : Fill::kMore;
}

void Connection::refuse(int status, Decision decision, std::string socks_text) {
  decision.allowed = false;
  decision_ = std::move(decision);
  write_log();
  server_.fd.reset();
  if (socks_ && socks_text.empty()) socks_text = socks_answer(socks_code(status));
  down_.drop(door_.pipes);
  down_.pending += socks_ ? socks_text : refusal(status, decision_);  // behind what was said already
  state_ = State::kLast;
  deadline_ = Clock::now() + std::chrono::seconds(5);
}

// Nobody's rule: the host is not there, does not answer, or not as it should.
void Connection::fail(int status, std::string_view rule, std::string reason) {
  failed_ = true;
  refuse(status, {false, std::string(rule), std::move(reason), {}});
}

void Connection::read_head() {
  Fill got = fill(buffer_, client_, kMostHead);
  if (got == Fill::kBroken || (got == Fill::kEnd && buffer_.empty())) return die();
  if (!buffer_.empty() && buffer_[0] == kSocksVersion) {
    socks_ = true;
    state_ = State::kSocks;
    return;
  }
  auto size = head_size(buffer_);
  if (!size) return refuse(size.error().code == ErrorCode::kLimit ? 431 : 400, malformed(size.error()));
  if (size.value() == 0) {
    if (got == Fill::kEnd) die();
    return;
  }
  auto request = parse_request(std::string_view(buffer_).substr(0, size.value()));
  if (!request) return refuse(400, malformed(request.error()));
  buffer_.erase(0, size.value());
  request_ = std::move(request).value();
  decide();
}

void Connection::read_socks() {
  Fill got = fill(buffer_, client_, 1024);
  if (got == Fill::kBroken) return die();
  if (!greeted_) {
    auto size = socks_greeting(buffer_);
    if (!size) return refuse(400, malformed(size.error()), "\x05\xff");  // no method will do
    if (size.value() != 0) {
      buffer_.erase(0, size.value());
      greeted_ = true;
      down_.pending.assign("\x05\x00", 2);
    }
  }
  bool broken = false;
  if (!down_.pending.empty() && client_.writable) down_.flush(client_, broken);
  if (broken) return die();
  SocksRequest request = greeted_ ? socks_request(buffer_) : SocksRequest{};
  if (request.size == 0) {
    if (got == Fill::kEnd) die();
    return;
  }
  if (request.problem != SocksReply::kSucceeded)
    return refuse(400, malformed(make_error(ErrorCode::kInvalid, request.why)), socks_answer(request.problem));
  buffer_.erase(0, request.size);
  request_.connect = true;
  request_.target = std::move(request.target);
  decide();
}

void Connection::decide() {
  Decision decision = door_.rules()->check(request_.target);
  if (!request_.target.host.address) door_.watcher->name(request_.target.host.name, decision.allowed);
  if (!decision.allowed) return refuse(403, std::move(decision));
  if (auto spent = door_.spent(); spent != Spent::kNothing) return refuse(503, spent_decision(spent));
  decision_ = std::move(decision);
  deadline_ = Clock::now() + door_.limits.dial;
  state_ = State::kLooking;
  if (request_.target.host.address) return on_looked_up(std::vector<Address>{*request_.target.host.address});
  door_.look_up(id_, request_.target.host.name);
}

void Connection::on_looked_up(Result<std::vector<Address>> found) {
  if (state_ != State::kLooking) return;
  const std::string& name = request_.target.host.name;
  if (!found || found.value().empty())
    return fail(502, "dns", cat(name, " has no address", found ? "" : cat(": ", found.error().message)));
  // One that leads inward spoils them all: whoever answers for the name chooses which one is tried first.
  for (const auto& address : found.value())
    if (Decision d = check_address(address); !d.allowed) return refuse(403, std::move(d));
  addresses_ = std::move(found).value();
  dial_next();
}

Decision Connection::check_address(const Address& address) const {
  return door_.rules()->check_address(request_.target, address, door_.own(address));
}

void Connection::dial_next() {
  int last = 0;
  while (next_address_ < addresses_.size()) {
    const Address& address = addresses_[next_address_++];
    // Once more when it is not the first: the rules may have been changed while that one was tried.
    if (next_address_ > 1)
      if (Decision d = check_address(address); !d.allowed) return refuse(403, std::move(d));
    auto fd = door_.dial(id_, address, request_.target.port);
    if (!fd) {
      last = fd.error().err;
      continue;
    }
    server_ = {};
    server_.fd = std::move(fd).value();
    address_ = address;
    state_ = State::kDialling;
    return;
  }
  fail(502, "dial", cat(request_.target.text(), " cannot be reached", last != 0 ? cat(": ", ::strerror(last)) : ""));
}

void Connection::connected() {
  if (!server_.writable) return;
  int err = 0;
  socklen_t size = sizeof err;
  if (::getsockopt(server_.fd.get(), SOL_SOCKET, SO_ERROR, &err, &size) < 0) err = errno;
  if (err != 0) {
    server_.fd.reset();
    if (next_address_ < addresses_.size()) return dial_next();
    return fail(502, "dial", cat(request_.target.text(), " cannot be reached: ", ::strerror(err)));
  }
  no_delay(server_.fd.get());
  auto through = door_.through(id_, request_.target, std::move(server_.fd));
  if (!through) return fail(503, "secret", cat(request_.target.text(), ": the secrets for it cannot be added: ", through.error().message));
  server_.fd = std::move(through).value();
  last_moved_ = Clock::now();
  if (!request_.connect) {
    up_.pending = forwarded_head(request_);
    body_.emplace(request_);
    state_ = State::kPlain;
    return;
  }
  down_.pending += socks_ ? socks_answer(SocksReply::kSucceeded) : std::string("HTTP/1.1 200 Connection Established\r\n\r\n");
  state_ = State::kTunnel;
  if (door_.check_sni) sniff_ = Sniff::kHello;
  else up_.pending = std::exchange(buffer_, {});
}

bool Connection::on_tick(Clock::time_point now) {
  const auto& limits = door_.limits;
  switch (state_) {
    case State::kHead:
    case State::kSocks:
      if (now < deadline_) return false;
      if (buffer_.empty()) die();
      else refuse(408, {false, "time", "the request did not come in time", {}});
      return true;
    case State::kLooking:
    case State::kDialling:
      if (now < deadline_) return false;
      fail(504, "time", cat(request_.target.text(), " did not answer in time"));
      return true;
    case State::kTunnel:
    case State::kPlain: {
      // Clients keep connections for hours: whoever looks meanwhile, or after a kill, shall find that there was one.
      if (!told_open_ && now - born_ >= kLong) {
        told_open_ = true;
        door_.log->add_open(entry());
      }
      // When one side has ended, the other gets less time for what it still has to say.
      auto idle = client_.read_done || server_.read_done ? std::min<std::chrono::milliseconds>(limits.idle, std::chrono::seconds(60)) : limits.idle;
      if (now - last_moved_ >= idle) end("nothing was said for too long");
      else if (limits.life.count() > 0 && now - born_ >= limits.life) end("its time was up");
      else if (auto spent = door_.spent(); spent != Spent::kNothing) end(spent_decision(spent).reason);
      else return false;
      return true;
    }
    case State::kLast:
      if (now >= deadline_) die();
      return state_ == State::kDead;
    case State::kDead: return true;
  }
  return false;
}

bool Connection::still_allowed(const RuleSet& rules) const {
  if (state_ == State::kHead || state_ == State::kSocks || state_ == State::kLast || state_ == State::kDead) return true;
  return rules.check(request_.target).allowed && (!address_ || rules.check_address(request_.target, *address_, door_.own(*address_)).allowed);
}

void Connection::end(std::string_view why) {
  decision_.reason += cat("; ended: ", why);
  die();
}

Connection::After Connection::run() {
  State before;
  After after = After::kWait;
  do {
    before = state_;
    switch (state_) {
      case State::kHead: read_head(); break;
      case State::kSocks: read_socks(); break;
      case State::kDialling: connected(); break;
      case State::kTunnel:
      case State::kPlain: after = relay(); break;
      case State::kLast: last_words(); break;
      case State::kLooking:
      case State::kDead: break;
    }
  } while (state_ != before);
  return state_ == State::kDead ? After::kGone : after;
}

}  // namespace hotcell::net
