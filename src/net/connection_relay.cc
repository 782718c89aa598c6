// What flows over a connection that stands.
#include <sys/socket.h>

#include <cerrno>

#include "base/strings.h"
#include "net/connection.h"
#include "net/tls_hello.h"

namespace hotcell::net {
namespace {

constexpr std::uint64_t kTurn = 1 << 20;      // then the others have theirs
constexpr std::size_t kBodyAhead = 256 << 10, kMostSniffed = 80 << 10;
constexpr int kHeadsInATurn = 1024;

// Why this hello is not for that host; empty when it is.
std::string other_server(const TlsHello& hello, const Host& host) {
  if (hello.server_name.empty()) return host.address ? "" : "its TLS names no server";
  auto named = parse_host(hello.server_name);
  return named && named.value() == host ? "" : cat("its TLS asks for ", printable(hello.server_name));
}

}  // namespace

void Connection::sniff() {
  if (sniff_ == Sniff::kHello) sniff_hello();
  if (sniff_ == Sniff::kAnswer && state_ == State::kTunnel) sniff_answer();
  if (sniff_ == Sniff::kSecond && state_ == State::kTunnel) sniff_second();
}

// The first bytes of a tunnel. A TLS client that asks for another name than it was let through for wants another
// server behind the same address.
void Connection::sniff_hello() {
  Fill got = fill(buffer_, client_, kMostSniffed);
  if (got == Fill::kBroken) return die();
  TlsHello hello = read_hello(buffer_);
  using Kind = TlsHello::Kind;
  if (hello.kind == Kind::kMore && got == Fill::kMore) return;
  if (hello.kind == Kind::kMore && (buffer_.empty() || buffer_[0] != kHandshake)) hello.kind = Kind::kNotTls;  // ended before it was any
  if (hello.kind == Kind::kNotTls) {
    sniff_ = Sniff::kDone;
    up_.pending = std::exchange(buffer_, {});
    return;
  }
  if (hello.kind != Kind::kHello) return refuse_tls("its first bytes are no proper TLS");
  if (auto why = other_server(hello, request_.target.host); !why.empty()) return refuse_tls(why);
  up_.pending.append(buffer_, 0, hello.size);
  buffer_.erase(0, hello.size);
  sniff_ = Sniff::kAnswer;
}

// A server may have the client say its hello again, and goes by the name in the second one. Until it has said whether it does,
// nothing more goes up: TLS servers answer a hello before they hear another word.
void Connection::sniff_answer() {
  Fill got = fill(response_, server_, kRetryHead);
  TlsAnswer answer = read_answer(response_);
  if (answer == TlsAnswer::kMore && got == Fill::kMore) {
    // Read, not passed on: a client that has nothing more to say need not be watched, and one that is gone is to be noticed.
    Fill said = fill(buffer_, client_, kMostSniffed);
    if (said == Fill::kBroken) return die();
    if (said == Fill::kEnd && buffer_.empty()) sniff_ = Sniff::kDone;
    return;
  }
  down_.pending += std::exchange(response_, {});
  sniff_ = answer == TlsAnswer::kRetry ? Sniff::kSecond : Sniff::kDone;
  if (sniff_ == Sniff::kDone) up_.pending += std::exchange(buffer_, {});
}

// Up to the second hello. Before it there may be data that was sent early and is thrown away, and records that say nothing.
void Connection::sniff_second() {
  if (up_.pending.size() >= kBodyAhead) return;
  Fill got = fill(buffer_, client_, kMostSniffed);
  if (got == Fill::kBroken) return die();
  while (!buffer_.empty() && buffer_[0] != kHandshake) {
    std::size_t size = record_size(buffer_);
    if (size == 0 || buffer_.size() < size) break;
    up_.pending.append(buffer_, 0, size);
    buffer_.erase(0, size);
  }
  if (buffer_.empty()) {
    if (got == Fill::kEnd) sniff_ = Sniff::kDone;  // it has given up
    return;
  }
  TlsHello hello;
  if (buffer_[0] == kHandshake) hello = read_hello(buffer_);
  else if (buffer_.size() >= kRecordHead && record_size(buffer_) == 0) hello.kind = TlsHello::Kind::kBroken;
  if (hello.kind == TlsHello::Kind::kMore && got == Fill::kMore) return;
  if (hello.kind != TlsHello::Kind::kHello) return refuse_tls("what follows its first hello is no proper TLS");
  if (auto why = other_server(hello, request_.target.host); !why.empty()) return refuse_tls(cat(why, ", the second time"));
  up_.pending += std::exchange(buffer_, {});
  sniff_ = Sniff::kDone;
}

void Connection::refuse_tls(std::string_view why) {
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

// As many heads as it takes to come to the answer, a few at a time: a server can send 100 Continue for ever, and the others
// want to be served, too.
bool Connection::read_response() {
  auto odd = [&] {
    fail(502, "answer", cat(request_.target.text(), " did not answer as an HTTP server"));
    return false;
  };
  std::size_t at = 0;
  for (int heads = 0; !response_begun_ && heads < kHeadsInATurn && down_.pending.size() < kBodyAhead; ++heads) {
    auto end = response_.find("\r\n\r\n", at);
    if (end == std::string::npos) {
      response_.erase(0, std::exchange(at, 0));
      Fill got = fill(response_, server_, kMostHead);
      end = response_.find("\r\n\r\n");
      if (end == std::string::npos) return got == Fill::kMore ? false : odd();
    }
    auto head = rewritten_response(std::string_view(response_).substr(at, end + 4 - at));
    if (!head || head.value().status == 101) return odd();
    down_.pending += head.value().text;
    at = end + 4;
    response_begun_ = head.value().status >= 200;  // before: 100 Continue and the like, another follows
  }
  response_.erase(0, at);
  if (response_begun_) down_.pending += std::exchange(response_, {});
  return !response_begun_;
}

Connection::After Connection::relay() {
  const auto spent = door_.spent();
  // The last bytes that could be paid for may still be on their way.
  if (spent == Spent::kTime || (spent == Spent::kBytes && !up_.holds() && !down_.holds())) {
    end(spent_decision(spent).reason);
    return After::kGone;
  }
  const std::uint64_t allowance = std::min(door_.allowance(), kTurn);
  if (allowance == 0 && spent == Spent::kNothing) return After::kThrottled;
  std::uint64_t budget = allowance;   // whatever goes on is taken from it, also what was read ahead
  auto up = Relay::Outcome::kWaiting, down = Relay::Outcome::kWaiting;
  bool broken = false, more_heads = false;
  if (state_ == State::kTunnel) {
    if (sniff_ != Sniff::kDone) {
      sniff();
      if (state_ != State::kTunnel) return After::kWait;
    }
    if (sniff_ == Sniff::kDone) up = up_.move(client_, server_, door_.pipes, budget);
    else if (server_.writable) up_.flush(server_, broken, budget);
  } else {
    pass_body();
    if (state_ != State::kPlain) return After::kWait;
    if (server_.writable && !up_.flush(server_, broken, budget) && broken && !response_begun_) broken = false;  // it may answer early
    if (!response_begun_) more_heads = read_response();
    if (state_ != State::kPlain) {
      door_.spend(allowance - budget);
      return After::kWait;
    }
  }
  // What the server says is not passed on as it is while we read it.
  const bool reading = state_ == State::kTunnel ? sniff_ == Sniff::kAnswer : !response_begun_;
  if (!reading) down = down_.move(server_, client_, door_.pipes, budget);
  else if (client_.writable) down_.flush(client_, broken, budget);
  door_.spend(allowance - budget);
  auto now = Clock::now();
  std::uint64_t went_up = up_.moved - counted_up_, went_down = down_.moved - counted_down_;
  counted_up_ = up_.moved, counted_down_ = down_.moved;
  if (went_up + went_down > 0) {
    last_moved_ = now;
    door_.log->count_bytes(went_up, went_down);
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
  if (more_heads && down_.pending.empty()) return After::kAgain;
  // No event will tell of what was left unread.
  if (sniff_ == Sniff::kSecond && client_.readable && up_.pending.empty()) return After::kAgain;
  // What is left of what was read ahead waits for the budget alone, where its end would take it.
  const bool left = (!up_.pending.empty() && server_.writable) || (!down_.pending.empty() && client_.writable);
  if (up == kMore || down == kMore || left) return budget == 0 && door_.allowance() == 0 ? After::kThrottled : After::kAgain;
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
