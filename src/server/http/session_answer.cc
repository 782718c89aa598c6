// The other half of a session: answers, and the bytes that go out.
#include <algorithm>

#include "server/http/session.h"
#include "server/http/session_exchange.h"

namespace hotcell::server {

HeadOptions Session::head_options(Framing framing) {
  HeadOptions options;
  options.http11 = parser_.http11();
  options.keep_alive = !close_after_;
  options.framing = framing;
  options.request_id = request_id_;
  options.allowed_origin = origin_;
  return options;
}

void Session::respond(HttpResponse response) {
  if (state_ != State::kBusy || answered_) return;
  answered_ = true;
  if (body_open_) close_after_ = linger_ = true;   // what is still coming would be taken for the next request
  close_after_ = close_after_ || core_.draining;
  record_.status = response.status;
  append_head(out_, response, head_options(Framing::kLength), core_);
  if (!head_request_ && !has_no_body(response.status)) out_ += response.body;
  complete();
}

void Session::start(HttpResponse head) {
  if (state_ != State::kBusy || answered_) return;
  answered_ = streaming_ = true;
  if (body_open_) close_after_ = linger_ = true;
  // HTTP/1.0 knows no chunks: there the end of the connection is the end of the body.
  framing_ = parser_.http11() ? Framing::kChunked : Framing::kUntilClose;
  close_after_ = close_after_ || core_.draining || framing_ == Framing::kUntilClose;
  record_.status = head.status;
  append_head(out_, head, head_options(framing_), core_);
  if (!head.body.empty()) (void)write(head.body);
  flush();
}

bool Session::upgrade(HttpResponse head, std::function<void(std::string_view)> data) {
  if (state_ != State::kBusy || answered_ || !parser_.http11() || core_.draining) return false;
  answered_ = streaming_ = close_after_ = true;   // the connection is never one for requests again
  framing_ = Framing::kUpgraded;
  record_.status = head.status = 101;
  append_head(out_, head, head_options(framing_), core_);
  data_ = std::move(data);
  flush();
  // What came with the request is the new protocol's already.
  if (!processing_) pass_on();
  return true;
}

void Session::pass_on() {
  auto self = shared_from_this();
  while (state_ == State::kBusy && data_ && input_.size() > 0) {
    const std::string piece(input_.view());
    input_.consume(piece.size());
    auto data = data_;  // it may end itself
    data(piece);
  }
  read_more();
}

bool Session::write(std::string_view piece) {
  if (!streaming_ || state_ != State::kBusy || read_ended_) return false;
  if (framing_ != Framing::kUpgraded && (head_request_ || has_no_body(record_.status))) return true;
  if (waiting() > core_.limits.waiting_bytes) {
    // What it has not read is cut off in the middle of a chunk, so the peer sees that it is not all.
    ++core_.stats.slow_readers;
    closed_ = nullptr;
    close();
    return false;
  }
  if (framing_ == Framing::kChunked)
    append_chunk(out_, piece);
  else
    out_ += piece;
  // The caller learns of a broken connection from the return value, not from a call in the middle of this one.
  auto closed = std::exchange(closed_, nullptr);
  flush();
  if (state_ != State::kBusy) return false;
  closed_ = std::move(closed);
  return true;
}

void Session::finish() {
  if (!streaming_ || state_ != State::kBusy) return;
  if (framing_ == Framing::kChunked && !head_request_ && !has_no_body(record_.status)) out_ += "0\r\n\r\n";
  complete();
}

void Session::abandoned() {
  if (state_ != State::kBusy) return;
  if (!answered_)
    respond(error_response(500, "The request was dropped without an answer.", "internal"));
  else
    close();
}

void Session::log() {
  ++core_.stats.answers[std::clamp(record_.status / 100, 0, 5)];
  if (core_.access_log) {
    record_.method = method_;
    record_.path = path_;
    record_.request_id = request_id_;
    record_.caller = caller_;
    record_.peer = peer_.address;
    record_.bytes = total_out_ + out_.size() - answer_from_;
    record_.micros = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count());
    core_.access_log(record_);
  }
}

void Session::complete() {
  if (exchange_ != nullptr) exchange_->done_ = true;
  exchange_ = nullptr;
  closed_ = nullptr;
  drained_ = nullptr;
  data_ = nullptr;
  take_ = nullptr;
  body_open_ = body_still_ = false;
  body_passed_ = 0;
  lease_.reset();
  core_.body_bytes_held -= std::exchange(body_held_, 0);
  log();
  streaming_ = false;
  if (close_after_) return end(linger_);
  parser_.reset();
  set_state(State::kIdle);
  process();
}

void Session::flush() {
  auto self = shared_from_this();
  while (!writing_ && state_ != State::kClosed) {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sent_ = 0;
      write_deadline_ = Clock::time_point::max();
      if (out_.empty()) break;
      sending_.swap(out_);
    }
    std::size_t written = 0;
    const auto result = stream_->write(std::string_view(sending_).substr(sent_), written, self);
    if (result == Stream::Write::kFailed) return close();
    if (result == Stream::Write::kWait) {
      writing_ = true;
      if (write_deadline_ == Clock::time_point::max())
        write_deadline_ =
            Clock::now() + core_.limits.idle_timeout + std::chrono::seconds(sending_.size() / core_.limits.slowest);
      return;
    }
    sent_ += written;
    total_out_ += written;
    core_.stats.bytes_out += written;
  }
  if (!writing_ && state_ != State::kClosed) flushed();
}

void Session::on_written(std::size_t size, bool failed) {
  writing_ = false;
  if (state_ == State::kClosed) return;
  if (failed) return close();
  sent_ += size;
  total_out_ += size;
  core_.stats.bytes_out += size;
  process();
  if (state_ == State::kBusy && drained_ && waiting() == 0) {
    auto drained = drained_;  // it may take itself out
    drained();
  }
}

// Everything has been taken by the kernel.
void Session::flushed() {
  if (sending_.capacity() > kReadBody) sending_ = {};
  if (state_ != State::kFlushing) return;
  stream_->shutdown_write(shared_from_this());
  if (!linger_ || read_ended_) return close();
  set_state(State::kLingering);
  deadline_ = Clock::now() + core_.limits.linger;
  read_more();
}

void Session::end(bool linger) {
  if (state_ == State::kClosed || state_ == State::kFlushing || state_ == State::kLingering) return;
  linger_ = linger;
  set_state(State::kFlushing);
  deadline_ = Clock::now() + core_.limits.idle_timeout + std::chrono::seconds(waiting() / core_.limits.slowest);
  flush();
}

}  // namespace hotcell::server
