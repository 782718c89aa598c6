// One connection: reads requests one after the other, has them answered in that order, keeps the peer to its limits.
//
//   idle ─first byte─> head ─headers─> body ─complete─> busy ─answer complete─> idle … ─> flushing ─> lingering ─>
//   closed
//
// Reading goes on while a request is being answered, to notice that the peer has gone; what comes early waits.
#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/input_buffer.h"
#include "server/http/response_writer.h"
#include "server/http/server_core.h"
#include "server/http/stream.h"

namespace hotcell::server {

class SessionExchange;

class Session final : public StreamUser, public std::enable_shared_from_this<Session> {
 public:
  using Clock = ServerCore::Clock;

  Session(std::shared_ptr<ServerCore> core, std::unique_ptr<Stream> stream, Peer peer);
  ~Session() override;

  void open();
  void refuse(const HttpResponse& response);  // instead of open(): says so, and lingers
  void tick(Clock::time_point now);           // is anything overdue?
  void close();                               // at once; an open exchange is told
  void drain();                               // close when idle, else after the current answer
  bool idle() const { return state_ == State::kIdle && input_.size() == 0; }
  Clock::time_point idle_since() const { return since_; }

  void on_open(bool ok) override;
  void on_read(std::size_t size, bool failed) override;
  void on_written(std::size_t size, bool failed) override;

  std::list<std::shared_ptr<Session>>::iterator place;  // in the server's lists; the server's alone
  std::list<Session*>::iterator idle_place;
  bool in_idle_list = false, refused = false;

 private:
  friend class SessionExchange;
  static constexpr std::size_t kReadHead = 4 << 10, kReadBody = 64 << 10;
  enum class State { kOpening, kIdle, kHead, kBody, kBusy, kFlushing, kLingering, kClosed };

  // Reading
  void read_more();
  void process();
  bool step();
  void begin_request();
  void begin_nameless();
  bool admit();
  void dispatch();
  void answer_early(int status, std::string_view message, std::string_view reason);
  void set_state(State state);
  void body_deadline();
  void receive(Exchange::Take take);          // called by the exchange
  void hold_body(bool still);
  bool step_body();

  // Answering, called by the exchange
  void respond(HttpResponse response);
  void start(HttpResponse head);
  bool write(std::string_view piece);
  void finish();
  bool upgrade(HttpResponse head, std::function<void(std::string_view)> data);
  void pass_on();    // what came after an upgrade
  void abandoned();  // the exchange went without (the end of) an answer
  HeadOptions head_options(Framing framing);
  void complete();
  void log();

  // Writing
  std::size_t waiting() const { return out_.size() + sending_.size() - sent_; }
  void flush();
  void flushed();
  void end(bool linger);  // write what waits, then close

  std::shared_ptr<ServerCore> shared_;
  ServerCore& core_;
  std::unique_ptr<Stream> stream_;
  Peer peer_;
  RequestParser parser_;
  InputBuffer input_;
  State state_ = State::kOpening;
  Clock::time_point since_, deadline_, write_deadline_ = Clock::time_point::max();
  bool spoken_ = false;  // a request has begun on this connection
  bool processing_ = false, reading_ = false, writing_ = false;
  bool read_ended_ = false, close_after_ = false, linger_ = false;

  // The request being read or answered
  HttpRequest request_;
  Router::Match match_;
  std::shared_ptr<void> lease_;
  SessionExchange* exchange_ = nullptr;
  std::function<void()> closed_, drained_;
  std::function<void(std::string_view)> data_;  // set: the connection was upgraded
  Clock::time_point began_;
  Framing framing_ = Framing::kLength;
  bool head_request_ = false, answered_ = false, streaming_ = false;
  std::string origin_;  // that may read the answer
  AccessRecord record_;
  std::string method_, path_, request_id_, caller_;  // kept for the log; the exchange has the request itself
  std::uint64_t body_held_ = 0, body_passed_ = 0, answer_from_ = 0;
  bool body_open_ = false, body_still_ = false;      // in pieces: not all of it has come; nobody wants more now
  Exchange::Take take_;
  Clock::time_point still_since_;

  std::string out_;      // not yet handed to the stream
  std::string sending_;  // being written, from sent_ on
  std::size_t sent_ = 0;
  std::uint64_t total_out_ = 0;
};

}  // namespace hotcell::server
