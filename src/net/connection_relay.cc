// What flows over a connection that stands.
#include <sys/socket.h>

#include <cerrno>

#include "base/strings.h"
#include "net/connection.h"
#include "net/tls_hello.h"

namespace hotcell::net {
namespace {

constexpr std::uint64_t kTurn = 1 << 20;      // then the others have theirs
constexpr std::size_t kBodyAhead = 256 << 10;

}  // namespace

// The first bytes of a tunnel. A TLS client that asks for another name than it was let through for wants another
// server behind the same address.
void Connection::sniff() {
  constexpr std::size_t kMostSniffed = 80 << 10;
  Fill got = fill(buffer_, client_, kMostSniffed);
  if (got == Fill::kBroken) return die();
  TlsHello hello = read_hello(buffer_);
  using Kind = TlsHello::Kind;
  if (hello.kind == Kind::kMore && got == Fill::kMore) return;
  if (hello.kind == Kind::kMore && buffer_.empty()) hello.kind = Kind::kNotTls;  // ended without a word
  std::string why;
  if (hello.kind == Kind::kMore || hello.kind == Kind::kBroken) {
    why = "its first bytes are no proper TLS";
  } else if (hello.kind == Kind::kHello) {
    const Host& host = request_.target.host;
    auto named = parse_host(hello.server_name);
    if (hello.server_name.empty() && !host.address) why = "its TLS names no server";
    else if (!hello.server_name.empty() && (!named || named.value() != host)) why = cat("its TLS asks for ", printable(hello.server_name));
  }
  if (why.empty()) {
    sniffing_ = false;
    up_.pending = std::exchange(buffer_, {});
    return;
  }
  decision_ = {false, "sni", cat(request_.target.text(), " is refused: ", why), {}};
  write_log();
  server_.fd.reset();
  // What was promised is sent; then a fatal alert, unrecognized_name.
  down_.drop(door_.pipes);
  down_.pending.append("\x15\x03\x03\x00\x02\x02\x70", 7);
  state_ = State::kLast;
  deadline_ = Clock::now() + std::chrono::seconds(5);
}

// Exactly the body goes on: what comes behind it would be a request that nobody has checked.
void Connection::pass_body() {
  if (body_->done()) return;
  Fill got = up_.pending.size() < kBodyAhead ? fill(buffer_, client_, kBodyAhead) : Fill::kMore;
  if (got == Fill::kBroken) return die();
  auto taken = body_->take(buffer_);
  if (!taken) {
    if (response_begun_) return die();
    return refuse(400, malformed(taken.error()));
  }
  up_.pending.append(buffer_, 0, taken.value());
  buffer_.erase(0, taken.value());
  if (got == Fill::kEnd && !body_->done()) die();
}

void Connection::read_response() {
  while (!response_begun_) {
    Fill got = fill(response_, server_, kMostHead);
    auto end = response_.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (got == Fill::kMore) return;
      return refuse(502, {false, "answer", cat(request_.target.text(), " did not answer as an HTTP server"), {}});
    }
    auto head = rewritten_response(std::string_view(response_).substr(0, end + 4));
    if (!head || head.value().status == 101)
      return refuse(502, {false, "answer", cat(request_.target.text(), " did not answer as an HTTP server"), {}});
    down_.pending += head.value().text;
    response_.erase(0, end + 4);
    response_begun_ = head.value().status >= 200;  // before: 100 Continue and the like, another follows
  }
  down_.pending += std::exchange(response_, {});
}

Connection::After Connection::relay() {
  if (auto spent = door_.spent(); spent != Spent::kNothing) {
    end(spent_decision(spent).reason);
    return After::kGone;
  }
  std::uint64_t allowance = door_.allowance();
  if (allowance == 0) return After::kThrottled;
  std::uint64_t budget = std::min(allowance, kTurn);
  auto up = Relay::Outcome::kWaiting, down = Relay::Outcome::kWaiting;
  bool broken = false;
  if (state_ == State::kTunnel) {
    if (sniffing_) {
      sniff();
      if (state_ != State::kTunnel) return After::kWait;
    }
    if (!sniffing_) up = up_.move(client_, server_, door_.pipes, budget);
  } else {
    pass_body();
    if (state_ != State::kPlain) return After::kWait;
    if (server_.writable && !up_.flush(server_, broken) && broken && !response_begun_) broken = false;  // it may answer early
    if (!response_begun_) read_response();
    if (state_ != State::kPlain) return After::kWait;
  }
  if (!down_.pending.empty() || state_ == State::kTunnel || response_begun_) down = down_.move(server_, client_, door_.pipes, budget);
  auto now = Clock::now();
  std::uint64_t went_up = up_.moved - counted_up_, went_down = down_.moved - counted_down_;
  counted_up_ = up_.moved, counted_down_ = down_.moved;
  if (went_up + went_down > 0) {
    last_moved_ = now;
    door_.spend(went_up, went_down);
    if (went_up > 0) door_.watcher->upload(request_.target.text(), went_up, now);
  }
  using enum Relay::Outcome;
  if (up == kBroken || down == kBroken || broken) {
    die();
    return After::kGone;
  }
  bool plain_over = state_ == State::kPlain && down == kFinished;
  if (plain_over || (up == kFinished && down == kFinished)) {
    die();
    return After::kGone;
  }
  if (up == kMore || down == kMore) return budget == 0 && door_.allowance() == 0 ? After::kThrottled : After::kAgain;
  return After::kWait;
}

// The last bytes go out before the connection is closed, and what the client still sends is read: a reset would take
// them away from it.
void Connection::last_words() {
  bool broken = false;
  if (!lingering_) {
    if (!client_.writable) return;
    if (!down_.flush(client_, broken)) {
      if (broken) die();
      return;
    }
    ::shutdown(client_.fd.get(), SHUT_WR);
    lingering_ = true;
  }
  std::string ignored;
  for (int rounds = 0; rounds < 16; ++rounds) {
    ignored.clear();
    Fill got = fill(ignored, client_, 64 << 10);
    if (got == Fill::kEnd || got == Fill::kBroken) return die();
    if (got == Fill::kMore) return;
  }
  die();
}

}  // namespace hotcell::net
