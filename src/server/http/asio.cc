// Everything that knows Asio: the loop, and streams over TCP, Unix sockets and TLS.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "base/strings.h"
#include "server/http/loop.h"
#include "server/http/net.h"

namespace hotcell::server {
namespace asio = boost::asio;
using boost::system::error_code;
// With the loop's own executor: Asio's default asks a type-erased one at each step.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;
using User = std::shared_ptr<StreamUser>;

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;
void Loop::run() { impl_->context.run(); }
void Loop::stop() { impl_->context.stop(); }
void Loop::post(std::function<void()> work) { asio::post(impl_->context, std::move(work)); }
asio::io_context& Loop::context() { return impl_->context; }

namespace {

// The handle owns the object; what waits in the loop holds it weakly, so that a dropped handle means silence at once.
struct Timer : std::enable_shared_from_this<Timer> {
  Timer(asio::io_context& context, std::chrono::nanoseconds p, bool repeat, std::function<void()> w)
      : timer(context), period(p), again(repeat), work(std::move(w)) {}

  void arm() {
    timer.expires_after(period);
    timer.async_wait([weak = weak_from_this()](error_code ec) {
      auto self = weak.lock();
      if (!self || ec) return;
      self->work();
      if (self->again && self.use_count() > 1) self->arm();
    });
  }

  asio::steady_timer timer;
  std::chrono::nanoseconds period;
  bool again;
  std::function<void()> work;
};

// A copy of its own for each watch: somebody may be watching the same descriptor already, for the other direction, or with a
// watch that is about to go, inside of which we are called.
bool assign_copy(asio::posix::stream_descriptor& descriptor, int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  error_code failed;
  descriptor.assign(copy, failed);
  if (failed) ::close(copy);
  return !failed;
}

struct Watch : std::enable_shared_from_this<Watch> {
  Watch(asio::io_context& context, std::function<void()> w) : descriptor(context), work(std::move(w)) {}

  void arm() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](error_code ec) {
      auto self = weak.lock();
      if (!self || ec) return;
      self->work();
      if (self.use_count() > 1) self->arm();
    });
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> work;
};

struct Signals : std::enable_shared_from_this<Signals> {
  Signals(asio::io_context& context, std::function<void(int)> w) : set(context), work(std::move(w)) {}

  void arm() {
    set.async_wait([weak = weak_from_this()](error_code ec, int signal) {
      auto self = weak.lock();
      if (!self || ec) return;
      self->work(signal);
      if (self.use_count() > 1) self->arm();
    });
  }

  asio::signal_set set;
  std::function<void(int)> work;
};

}  // namespace

Loop::Handle Loop::after(std::chrono::nanoseconds delay, std::function<void()> work) {
  auto timer = std::make_shared<Timer>(impl_->context, delay, false, std::move(work));
  timer->arm();
  return Handle(timer);
}

Loop::Handle Loop::every(std::chrono::nanoseconds period, std::function<void()> work) {
  auto timer = std::make_shared<Timer>(impl_->context, period, true, std::move(work));
  timer->arm();
  return Handle(timer);
}

Loop::Handle Loop::when_readable(int fd, std::function<void()> work) {
  auto watch = std::make_shared<Watch>(impl_->context, std::move(work));
  if (!assign_copy(watch->descriptor, fd)) return {};  // a plain file, which is always readable
  watch->arm();
  return Handle(watch);
}

Loop::Handle Loop::when_writable(int fd, std::function<void()> work) {
  struct Once {
    Once(asio::io_context& context, std::function<void()> w) : descriptor(context), work(std::move(w)) {}
    asio::posix::stream_descriptor descriptor;
    std::function<void()> work;
  };
  auto once = std::make_shared<Once>(impl_->context, std::move(work));
  if (!assign_copy(once->descriptor, fd)) return {};
  once->descriptor.async_wait(asio::posix::stream_descriptor::wait_write, [weak = std::weak_ptr(once)](error_code ec) {
    if (auto self = weak.lock(); self && !ec) self->work();
  });
  return Handle(once);
}

Loop::Handle Loop::on_signals(const std::vector<int>& signals, std::function<void(int)> work) {
  auto set = std::make_shared<Signals>(impl_->context, std::move(work));
  error_code ignored;
  for (int signal : signals) set->set.add(signal, ignored);
  set->arm();
  return Handle(set);
}

namespace {

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void open(User user) override { user->on_open(true); }

  void read(char* into, std::size_t size, User user) override {
    socket_.async_read_some(asio::buffer(into, size), [user = std::move(user)](error_code ec, std::size_t n) {
      user->on_read(n, ec && ec != asio::error::eof);
    });
  }

  Write write(std::string_view bytes, std::size_t& written, const User& user) override {
    ssize_t n;
    do n = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0) {
      written = static_cast<std::size_t>(n);
      return Write::kDone;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) return Write::kFailed;
    socket_.async_wait(Socket::wait_write, [user](error_code ec) { user->on_written(0, bool(ec)); });
    return Write::kWait;
  }

  void shutdown_write(const User&) override { ::shutdown(socket_.native_handle(), SHUT_WR); }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

class TlsContextImpl final : public TlsContext {
 public:
  asio::ssl::context context{asio::ssl::context::tls_server};
};

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, std::shared_ptr<TlsContextImpl> context)
      : context_(std::move(context)), stream_(std::move(socket), context_->context) {}

  void open(User user) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [user = std::move(user)](error_code ec) { user->on_open(!ec); });
  }

  void read(char* into, std::size_t size, User user) override {
    stream_.async_read_some(asio::buffer(into, size), [user = std::move(user)](error_code ec, std::size_t n) {
      // A connection cut without close_notify is a failure: somebody may have cut off the end of a body.
      user->on_read(n, ec && ec != asio::error::eof);
    });
  }

  Write write(std::string_view bytes, std::size_t&, const User& user) override {
    stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                             [user](error_code ec, std::size_t n) { user->on_written(n, bool(ec)); });
    return Write::kWait;
  }

  void shutdown_write(const User& user) override {
    // close_notify goes out at once; the peer's own is waited for only as long as the session lingers.
    stream_.async_shutdown([user](error_code) {});
  }
  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  std::shared_ptr<TlsContextImpl> context_;
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::create(const std::string& cert_file, const std::string& key_file) {
  auto out = std::make_shared<TlsContextImpl>();
  SSL_CTX* native = out->context.native_handle();
  auto failed = [](std::string_view what, const std::string& file, const error_code& ec) {
    return make_error(ErrorCode::kInvalid, cat("TLS: ", what, " ", file, ": ", ec.message()));
  };
  error_code ec;
  out->context.use_certificate_chain_file(cert_file, ec);
  if (ec) return failed("the certificate", cert_file, ec);
  out->context.use_private_key_file(key_file, asio::ssl::context::pem, ec);
  if (ec) return failed("the key", key_file, ec);
  if (SSL_CTX_check_private_key(native) != 1)
    return make_error(ErrorCode::kInvalid, cat("TLS: the key ", key_file, " is not that of ", cert_file));
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                  SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
    return make_error(ErrorCode::kUnsupported, "TLS: this OpenSSL has none of the ciphers that are asked for");
  // A connection that waits keeps no buffers: thousands of them would be 34 KiB each.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  return std::shared_ptr<TlsContext>(std::move(out));
}

std::unique_ptr<Stream> make_stream(Loop& loop, sys::Fd socket, const std::shared_ptr<TlsContext>& tls) {
  sockaddr address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), &address, &size);
  Socket owned(loop.context());
  error_code ec;
  owned.assign(asio::generic::stream_protocol(address.sa_family, 0), socket.get(), ec);
  if (ec) return nullptr;
  socket.release();
  if (!tls) return std::make_unique<PlainStream>(std::move(owned));
  return std::make_unique<TlsStream>(std::move(owned), std::static_pointer_cast<TlsContextImpl>(tls));
}

}  // namespace hotcell::server
