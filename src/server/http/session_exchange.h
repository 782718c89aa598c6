// The handler's side of a session. After the session has ended, everything here does nothing.
#pragma once
#include <memory>
#include <utility>

#include "server/http/session.h"

namespace hotcell::server {

class SessionExchange final : public Exchange {
 public:
  SessionExchange(std::shared_ptr<Session> session, HttpRequest request)
      : session_(std::move(session)), request_(std::move(request)) {}
  ~SessionExchange() override {
    if (current()) session_->abandoned();
  }

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    if (current()) session_->respond(std::move(response));
  }
  void receive(Take take) override {
    if (!current()) return;
    if (!session_->body_open_) return take(request_.body, true);
    session_->receive(std::move(take));
  }
  void hold_body(bool still) override {
    if (current()) session_->hold_body(still);
  }
  void start(HttpResponse head) override {
    if (current()) session_->start(std::move(head));
  }
  bool write(std::string_view piece) override { return current() && session_->write(piece); }
  void finish() override {
    if (current()) session_->finish();
  }
  void on_closed(std::function<void()> closed) override {
    if (done_) return;
    if (!current() || session_->read_ended_) {  // gone before it could be said
      if (closed) closed();                     // null takes back what was asked for
      return;
    }
    session_->closed_ = std::move(closed);
  }
  std::size_t waiting() const override { return current() ? session_->waiting() : 0; }
  void on_drained(std::function<void()> drained) override {
    if (current()) session_->drained_ = std::move(drained);
  }
  bool upgrade(HttpResponse head, std::function<void(std::string_view)> data) override {
    return current() && session_->upgrade(std::move(head), std::move(data));
  }

 private:
  friend class Session;
  bool current() const { return session_->exchange_ == this; }

  std::shared_ptr<Session> session_;
  HttpRequest request_;
  bool done_ = false;  // answered in full
};

}  // namespace hotcell::server
