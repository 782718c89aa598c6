#include "server/http/session.h"

#include <algorithm>

#include "base/strings.h"
#include "server/http/session_exchange.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kEnoughAhead = 64 << 10;     // of pipelined requests while one is being answered
constexpr std::size_t kEnoughWaiting = 256 << 10;  // of answers to pipelined requests, before the next is begun

bool is_request_id(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

// A body that somebody has packed is not what a handler would read; "identity" says that nobody has.
bool is_identity(std::string_view encoding) {
  for (auto part : split(encoding, ','))
    if (part = trim(part); !part.empty() && ascii_lower(part) != "identity") return false;
  return true;
}

}  // namespace

Session::Session(std::shared_ptr<ServerCore> core, std::unique_ptr<Stream> stream, Peer peer)
    : shared_(std::move(core)),
      core_(*shared_),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      parser_(core_.limits.parse),
      since_(Clock::now()),
      deadline_(since_ + core_.limits.header_timeout) {}

Session::~Session() { core_.body_bytes_held -= body_held_; }

void Session::open() { stream_->open(shared_from_this()); }

void Session::on_open(bool ok) {
  if (state_ != State::kOpening) return;
  if (!ok) return close();
  set_state(State::kIdle);
  read_more();
}

void Session::refuse(const HttpResponse& response) {
  close_after_ = true;
  request_id_ = core_.make_request_id();
  append_head(out_, response, head_options(Framing::kLength), core_);
  out_ += response.body;
  end(true);
  read_more();
}

void Session::set_state(State state) {
  if (state_ == state) return;
  const bool was_idle = state_ == State::kIdle;
  state_ = state;
  const bool is_idle = state == State::kIdle;
  since_ = Clock::now();
  if (is_idle) deadline_ = since_ + (spoken_ ? core_.limits.idle_timeout : core_.limits.header_timeout);
  if (state == State::kHead) deadline_ = since_ + core_.limits.header_timeout;
  if (state == State::kBusy) deadline_ = Clock::time_point::max();
  if (was_idle != is_idle) core_.idle_changed(*this, is_idle);
}

void Session::body_deadline() {
  // Not a fixed time, which large bodies on slow lines would miss; not one that each byte renews, either.
  deadline_ = since_ + core_.limits.header_timeout + std::chrono::seconds((body_held_ + body_passed_) / core_.limits.slowest);
}

void Session::tick(Clock::time_point now) {
  if (now >= write_deadline_) {
    ++core_.stats.timed_out;
    return close();
  }
  if (now < deadline_) return;
  // Whoever is still being answered says nothing because it reads. How long that may take is the other deadline.
  if (state_ == State::kIdle && waiting() > 0) {
    deadline_ = now + core_.limits.idle_timeout;
    return;
  }
  deadline_ = Clock::time_point::max();
  if (body_open_) {
    ++core_.stats.timed_out;
    if (answered_) return close();
    if (auto closed = std::exchange(closed_, nullptr)) closed();
    answer_early(408, "The request did not come in time.", "timeout");
    return flush();
  }
  const bool silent = state_ == State::kIdle && spoken_;
  if (state_ == State::kHead || state_ == State::kBody || (state_ == State::kIdle && !spoken_)) {
    ++core_.stats.timed_out;
    if (state_ != State::kBody) begin_nameless();
    answer_early(408, "The request did not come in time.", "timeout");
    flush();
  } else if (silent || state_ == State::kOpening || state_ == State::kLingering || state_ == State::kFlushing) {
    close();
  }
}

void Session::read_more() {
  if (reading_ || read_ended_ || state_ == State::kClosed || state_ == State::kOpening) return;
  if (state_ == State::kLingering || state_ == State::kFlushing) input_.consume(input_.size());
  if (input_.size() >= (state_ == State::kBusy && !body_open_ ? kEnoughAhead : kEnoughAhead + kReadBody)) return;
  const bool body = state_ == State::kBody || body_open_;
  const std::size_t room = body ? kReadBody : kReadHead;
  if (!body) input_.shrink(kReadHead);   // thousands may wait like this
  reading_ = true;
  char* into = input_.prepare(room);
  stream_->read(into, room, shared_from_this());
}

void Session::on_read(std::size_t size, bool failed) {
  reading_ = false;
  input_.commit(size);
  if (state_ == State::kClosed) return;
  if (failed) return close();
  if (size == 0) {
    read_ended_ = true;
    if (body_open_) {
      if (!body_still_) close();   // the rest of its request will not come
      return;
    }
    if (state_ != State::kBusy && state_ != State::kFlushing) return close();
    // A peer that has only finished sending still gets its answer; one that has gone is not told from it before that.
    if (state_ == State::kBusy)
      if (auto closed = std::exchange(closed_, nullptr)) closed();
    return;
  }
  core_.stats.bytes_in += size;
  if (data_) return pass_on();
  process();
}

void Session::process() {
  if (processing_) return;
  auto self = shared_from_this();
  processing_ = true;
  while (waiting() < kEnoughWaiting && step()) {
  }
  processing_ = false;
  flush();
  if (data_) return pass_on();
  if (body_open_ && !body_still_ && read_ended_) return close();
  const bool reading = state_ == State::kIdle || state_ == State::kHead || state_ == State::kBody;
  if (reading && read_ended_ && waiting() < kEnoughWaiting) end(false);  // what is left is no whole request
  read_more();
}

// One step of reading; false when there is nothing to do now.
bool Session::step() {
  if (body_open_) return step_body();
  if (state_ != State::kIdle && state_ != State::kHead && state_ != State::kBody) return false;
  if (input_.size() == 0) return false;
  if (state_ == State::kIdle) {
    spoken_ = true;
    set_state(State::kHead);
  }
  std::size_t consumed = 0;
  const auto result = parser_.feed(input_.view(), consumed);
  input_.consume(consumed);
  if (state_ == State::kBody) {
    body_held_ += consumed;
    core_.body_bytes_held += consumed;
    body_deadline();
  }
  switch (result) {
    case RequestParser::State::kMore:
      if (state_ == State::kBody && core_.body_bytes_held > core_.limits.all_bodies)
        answer_early(503, "The server holds too many large requests at once.", "busy");
      return false;
    case RequestParser::State::kFailed:
      ++core_.stats.malformed;
      if (state_ == State::kHead) begin_nameless();
      answer_early(parser_.failure().status, parser_.failure().message, parser_.failure().reason);
      return false;
    case RequestParser::State::kHead:
      request_ = parser_.take_head();
      begin_request();
      if (!admit()) return true;
      set_state(State::kBody);
      body_deadline();
      if (match_.body == BodyKind::kPieces) parser_.in_pieces();
      if (!parser_.has_body()) {
        dispatch();
      } else if (parser_.announced_too_much()) {
        answer_early(parser_.failure().status, parser_.failure().message, parser_.failure().reason);
      } else if (match_.body == BodyKind::kPieces) {
        body_open_ = body_still_ = true;
        dispatch();
      } else if (parser_.expects_continue() && input_.size() == 0) {
        out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        flush();
      }
      return true;
    case RequestParser::State::kDone:
      request_.body = parser_.take_body();
      dispatch();
      return true;
  }
  return false;
}

void Session::receive(Exchange::Take take) {
  take_ = std::move(take);
  since_ = still_since_ = Clock::now();
  if (parser_.expects_continue() && input_.size() == 0) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  hold_body(false);
}

void Session::hold_body(bool still) {
  if (!body_open_ || !take_ || body_still_ == still) return;
  body_still_ = still;
  const auto now = Clock::now();
  if (still) {
    still_since_ = now;
    deadline_ = Clock::time_point::max();
    return;
  }
  since_ += now - still_since_;   // the time that we took is not the sender's
  body_deadline();
  process();
}

// One step of reading a body that is passed on as it comes.
bool Session::step_body() {
  if (body_still_ || input_.size() == 0 || state_ != State::kBusy) return false;
  std::size_t consumed = 0;
  const auto result = parser_.feed(input_.view(), consumed);
  input_.consume(consumed);
  body_passed_ += consumed;
  body_deadline();
  if (result == RequestParser::State::kFailed) {
    ++core_.stats.malformed;
    body_open_ = false;
    if (auto closed = std::exchange(closed_, nullptr)) closed();
    if (answered_) {
      close();
    } else {
      answer_early(parser_.failure().status, parser_.failure().message, parser_.failure().reason);
    }
    return false;
  }
  const bool last = result == RequestParser::State::kDone;
  if (last) {
    body_open_ = false;
    deadline_ = Clock::time_point::max();
  }
  const std::string piece = parser_.take_body();
  auto take = take_;   // it may answer, and take itself out
  if (last || !piece.empty()) take(piece, last);
  return consumed > 0;
}

// From here on there is something to answer and to log.
void Session::begin_request() {
  ++core_.stats.requests;
  began_ = Clock::now();
  answered_ = streaming_ = false;
  origin_.clear();
  match_ = {};
  const auto given = request_.header("x-request-id");
  request_id_ = given && is_request_id(*given) ? std::string(*given) : core_.make_request_id();
  request_.request_id = request_id_;
  method_ = request_.method;
  path_ = request_.path;
  caller_.clear();
  head_request_ = method_ == "HEAD";
  close_after_ = close_after_ || !parser_.keep_alive() || core_.draining;
  answer_from_ = total_out_ + out_.size();
}

// For one that could not be read: nothing is known of it.
void Session::begin_nameless() {
  request_ = {};
  begin_request();
}

void Session::answer_early(int status, std::string_view message, std::string_view reason) {
  close_after_ = linger_ = true;
  set_state(State::kBusy);
  respond(error_response(status, message, reason));
}

// Everything that can be said before the body: an unwelcome caller must not make us read and keep it.
bool Session::admit() {
  auto answer = [&](HttpResponse response) {
    // The unread body would be taken for the next request; and what is not read resets the connection.
    if (parser_.has_body()) close_after_ = linger_ = true;
    set_state(State::kBusy);
    respond(std::move(response));
    return false;
  };
  auto refuse = [&](const Refusal& refusal) {
    HttpResponse response = error_response(refusal.status, refusal.message, refusal.reason);
    if (refusal.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    if (refusal.retry_after > 0) response.headers.emplace_back("Retry-After", cat(refusal.retry_after));
    return answer(std::move(response));
  };
  if (auto refusal = core_.gate.check_names(peer_, request_, parser_.authority())) return refuse(*refusal);
  if (const auto origin = request_.header("origin"); origin && core_.gate.is_allowed_origin(*origin)) origin_ = *origin;
  if (request_.path != "*") match_ = core_.router.match(request_.method, request_.path);
  if (match_.handler == nullptr) {
    if (request_.method == "OPTIONS" && (request_.path == "*" || !match_.allowed.empty())) {
      HttpResponse response;
      response.status = 204;
      const std::string allowed = join(match_.allowed, ", ");
      if (!allowed.empty()) response.headers.emplace_back("Allow", allowed + ", OPTIONS");
      if (!origin_.empty() && !allowed.empty()) {
        response.headers.emplace_back("Access-Control-Allow-Methods", allowed);
        response.headers.emplace_back("Access-Control-Allow-Headers",
                                      "Authorization, Content-Type, Accept, Idempotency-Key, Last-Event-ID, X-Api-Key, "
                                      "X-Request-Id, Mcp-Session-Id, Mcp-Protocol-Version");
      }
      return answer(std::move(response));
    }
    if (match_.allowed.empty()) return answer(error_response(404, "There is nothing at this path.", "not_found"));
    HttpResponse response =
        error_response(405, cat("This path does not have ", request_.method, "."), "method_not_allowed");
    response.headers.emplace_back("Allow", join(match_.allowed, ", "));
    return answer(std::move(response));
  }
  auto refusal = core_.gate.admit(peer_, request_, match_.scope, lease_);
  caller_ = request_.caller.name;
  if (refusal) return refuse(*refusal);
  if (parser_.has_body())
    for (const auto& [name, value] : request_.headers)
      if (name == "content-encoding" && !is_identity(value)) {
        HttpResponse response = error_response(
            415, cat("The body must come as it is: Content-Encoding ", printable(value.substr(0, 64)), " is not read here."), "content_encoding");
        response.headers.emplace_back("Accept-Encoding", "identity");
        return answer(std::move(response));
      }
  request_.params = std::move(match_.params);
  return true;
}

void Session::dispatch() {
  began_ = Clock::now();
  answer_from_ = total_out_ + out_.size();
  set_state(State::kBusy);
  auto exchange = std::make_shared<SessionExchange>(shared_from_this(), std::move(request_));
  request_ = {};
  exchange_ = exchange.get();
  try {
    (*match_.handler)(exchange);
  } catch (...) {
    // A handler that throws has a bug; the peer learns no more than that.
    if (exchange_ == exchange.get()) abandoned();
  }
}

void Session::drain() {
  if (idle())
    close();
  else
    close_after_ = true;
}

void Session::close() {
  if (state_ == State::kClosed) return;
  auto self = shared_from_this();
  if (exchange_ != nullptr) {
    if (!answered_) record_.status = 499;  // as others write it: the client went before it was answered
    log();
  }
  set_state(State::kClosed);
  stream_->close();
  lease_.reset();
  exchange_ = nullptr;
  data_ = nullptr;
  take_ = nullptr;
  body_open_ = false;
  drained_ = nullptr;
  if (auto closed = std::exchange(closed_, nullptr)) closed();
  core_.ended(*this);
}

}  // namespace hotcell::server
