// g++ 12 sees a null pointer in the scheduler of Asio 1.81 (scheduler.ipp) that is none.
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include "server/mcp/stdio.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <deque>
#include <string>

#include "base/strings.h"

namespace hotcell::server::mcp {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
// With the loop's own executor: Asio's default asks a type-erased one at each step.
using Descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;

constexpr std::string_view kPeer = "stdio";

// A descriptor the loop can wait for; files and /dev/null are none, and never make anybody wait.
class Pipe {
 public:
  Pipe(asio::io_context& loop, int fd)
      : descriptor_(loop), fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), flags_(::fcntl(fd, F_GETFL)) {
    error_code error;
    if (fd_ >= 0) descriptor_.assign(fd_, error);
    waits_ = fd_ >= 0 && !error;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    // The terminal or pipe is shared with whoever started us, and so is its O_NONBLOCK.
    if (fd_ >= 0 && flags_ >= 0) ::fcntl(fd_, F_SETFL, flags_);
    error_code ignored;
    if (waits_) descriptor_.close(ignored);
    else if (fd_ >= 0) ::close(fd_);
  }
  bool ok() const { return fd_ >= 0; }
  bool waits() const { return waits_; }
  int fd() const { return fd_; }
  Descriptor& descriptor() { return descriptor_; }

 private:
  Descriptor descriptor_;
  int fd_, flags_;
  bool waits_ = false;
};

class Door : public StdioDoor, public std::enable_shared_from_this<Door> {
 public:
  Door(asio::io_context& loop, McpServer& server, StdioOptions options, std::function<void()> ended)
      : loop_(loop),
        server_(server),
        options_(options),
        ended_(std::move(ended)),
        in_(loop, options.in),
        out_(loop, options.out) {}

  bool ok() const { return in_.ok() && out_.ok(); }
  void read();
  bool send(std::string_view json);
  void close();  // from outside: nothing is called any more

 private:
  void took(std::size_t n, bool end);
  void line(std::string_view text);
  void write();
  void wrote(bool failed);
  void finish();

  asio::io_context& loop_;
  McpServer& server_;
  StdioOptions options_;
  std::function<void()> ended_;
  Pipe in_, out_;
  std::array<char, 64 << 10> chunk_;
  std::string partial_;
  bool skipping_ = false;                  // inside a line that was too long
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool writing_ = false, input_ended_ = false, broken_ = false;
};

class StdioReply : public Reply {
 public:
  explicit StdioReply(std::weak_ptr<Door> door) : door_(std::move(door)) {}
  bool notify(std::string_view json) override {
    auto door = door_.lock();
    return door && door->send(json);
  }
  void answer(int, std::string json) override {
    auto door = door_.lock();
    if (door && !json.empty()) door->send(json);
  }
  void on_closed(std::function<void()>) override {}  // cancel_all when the input ends

 private:
  std::weak_ptr<Door> door_;
};

void Door::read() {
  auto self = shared_from_this();
  if (in_.waits()) {
    auto buffer = asio::buffer(chunk_);
    in_.descriptor().async_read_some(buffer, [self](error_code error, std::size_t n) { self->took(n, bool(error)); });
    return;
  }
  asio::post(loop_, [self] {
    ssize_t n;
    do n = ::read(self->in_.fd(), self->chunk_.data(), self->chunk_.size());
    while (n < 0 && errno == EINTR);
    self->took(static_cast<std::size_t>(n < 0 ? 0 : n), n <= 0);
  });
}

void Door::took(std::size_t n, bool end) {
  if (broken_ || !ended_) return;
  std::string_view data(chunk_.data(), n);
  while (!data.empty()) {
    std::size_t at = data.find('\n');
    std::string_view piece = data.substr(0, at);
    if (!skipping_ && partial_.size() + piece.size() > options_.max_message) {
      skipping_ = true;
      std::string().swap(partial_);
      send(error_text("null", {kInvalidRequest, cat("a message has at most ", options_.max_message, " bytes"), {}}));
    }
    if (!skipping_) partial_ += piece;
    if (at == std::string_view::npos) break;
    data.remove_prefix(at + 1);
    if (!std::exchange(skipping_, false)) line(std::exchange(partial_, {}));
  }
  if (!end) return read();
  if (!partial_.empty()) line(std::exchange(partial_, {}));  // the last line may lack its end
  input_ended_ = true;
  server_.cancel_all(kPeer);
  if (!writing_) finish();
}

void Door::line(std::string_view text) {
  if (trim(text).empty()) return;
  Caller caller;
  server_.handle(text, nullptr, caller, kPeer, std::make_shared<StdioReply>(weak_from_this()));
}

bool Door::send(std::string_view json) {
  if (broken_) return false;
  if (waiting_bytes_ + json.size() > options_.max_waiting) {
    broken_ = true;
    auto self = shared_from_this();
    asio::post(loop_, [self] {  // not from here: whoever sends is in the middle of something
      self->server_.cancel_all(kPeer);
      self->finish();
    });
    return false;
  }
  waiting_.push_back(cat(json, "\n"));
  waiting_bytes_ += waiting_.back().size();
  if (!writing_) write();
  return true;
}

void Door::write() {
  writing_ = true;
  auto self = shared_from_this();
  if (out_.waits()) {
    auto buffer = asio::buffer(waiting_.front());
    asio::async_write(out_.descriptor(), buffer, [self](error_code error, std::size_t) { self->wrote(bool(error)); });
    return;
  }
  asio::post(loop_, [self] {
    std::string_view rest = self->waiting_.front();
    while (!rest.empty()) {
      ssize_t n = ::write(self->out_.fd(), rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    self->wrote(!rest.empty());
  });
}

void Door::wrote(bool failed) {
  waiting_bytes_ -= waiting_.front().size();
  waiting_.pop_front();
  if (!ended_) return;
  if (failed || broken_) {
    broken_ = true;
    server_.cancel_all(kPeer);
    return finish();
  }
  if (!waiting_.empty()) return write();
  writing_ = false;
  if (input_ended_) finish();
}

void Door::finish() {
  error_code ignored;
  if (in_.waits()) in_.descriptor().cancel(ignored);
  if (auto ended = std::exchange(ended_, nullptr)) ended();
}

void Door::close() {
  ended_ = nullptr;
  broken_ = true;
  error_code ignored;
  if (in_.waits()) in_.descriptor().cancel(ignored);
  if (out_.waits()) out_.descriptor().cancel(ignored);
}

// What the caller holds: operations under way keep the door itself alive a little longer.
class Handle : public StdioDoor {
 public:
  explicit Handle(std::shared_ptr<Door> door) : door_(std::move(door)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override { door_->close(); }

 private:
  std::shared_ptr<Door> door_;
};

}  // namespace

Result<std::unique_ptr<StdioDoor>> StdioDoor::open(asio::io_context& loop, McpServer& server, StdioOptions options,
                                                   std::function<void()> ended) {
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of write()
  auto door = std::make_shared<Door>(loop, server, options, std::move(ended));
  if (!door->ok()) return errno_error("standard input and output", EBADF);
  door->read();
  return std::unique_ptr<StdioDoor>(std::make_unique<Handle>(door));
}

}  // namespace hotcell::server::mcp
