#include "server/http/server.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>

#include "server/http/session.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kRefusalsAtOnce = 128;         // connections that are being told to come later
constexpr auto kPatience = std::chrono::seconds(1);  // this long a connection may be silent when others want in
constexpr std::uint32_t kOtherDescriptors = 128;     // of the process, beside connections

// No more than there are descriptors for: accept() must not fail before we can say why.
std::uint32_t connections_possible(std::uint32_t wanted) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t room = files.rlim_cur > 2 * kOtherDescriptors ? files.rlim_cur - kOtherDescriptors : files.rlim_cur / 2;
  return static_cast<std::uint32_t>(std::min<rlim_t>(wanted, room));
}

}  // namespace

struct HttpServer::Impl {
  Impl(Loop& l, ServerLimits limits, const Router& router, Gate& gate)
      : loop(l), shared(std::make_shared<ServerCore>(limits, router, gate)), core(*shared) {
    core.limits.max_connections = connections_possible(limits.max_connections);
    core.idle_changed = [this](Session& session, bool is_idle) { idle_changed(session, is_idle); };
    core.ended = [this](Session& session) { ended(session); };
  }

  ~Impl() {
    acceptors.clear();
    close_all();
    // Handlers may still hold exchanges, and they the sessions, and those what is shared.
    core.idle_changed = [](Session&, bool) {};
    core.ended = [](Session&) {};
    core.access_log = nullptr;
  }

  void accepted(sys::Fd fd, const std::shared_ptr<TlsContext>& tls) {
    ++core.stats.accepted;
    if (core.draining) return refuse(std::move(fd), tls, "This server is shutting down.", "draining");
    if (sessions.size() - refusals >= core.limits.max_connections && !evict()) return refuse(std::move(fd), tls, "Too many connections.", "busy");
    add(std::move(fd), tls, [](Session& session) { session.open(); });
  }

  template <typename Begin>
  void add(sys::Fd fd, const std::shared_ptr<TlsContext>& tls, Begin begin) {
    Peer peer = peer_of(fd.get(), tls != nullptr);
    auto stream = make_stream(loop, std::move(fd), tls);
    if (!stream) return;
    auto session = std::make_shared<Session>(shared, std::move(stream), std::move(peer));
    session->place = sessions.insert(sessions.end(), session);
    if (!ticking) arm();
    begin(*session);
  }

  // Room by closing who has been silent longest: a flood of connections that say nothing must not keep others out.
  bool evict() {
    if (idle.empty()) return false;
    Session& oldest = *idle.front();
    if (Session::Clock::now() - oldest.idle_since() <
        std::min<std::chrono::nanoseconds>(kPatience, core.limits.idle_timeout))
      return false;
    ++core.stats.evicted;
    oldest.close();
    return true;
  }

  void refuse(sys::Fd fd, const std::shared_ptr<TlsContext>& tls, const char* message, const char* reason) {
    ++core.stats.refused;
    if (tls || refusals >= kRefusalsAtOnce) return;  // a handshake would cost more than the answer
    ++refusals;
    add(std::move(fd), tls, [message, reason](Session& session) {
      session.refused = true;
      HttpResponse response = error_response(503, message, reason);
      response.headers.emplace_back("Retry-After", "1");
      session.refuse(response);
    });
  }

  void idle_changed(Session& session, bool is_idle) {
    if (is_idle && !session.in_idle_list) {
      session.idle_place = idle.insert(idle.end(), &session);
    } else if (!is_idle && session.in_idle_list) {
      idle.erase(session.idle_place);
    }
    session.in_idle_list = is_idle;
  }

  void ended(Session& session) {
    if (session.refused) --refusals;
    sessions.erase(session.place);
    if (sessions.empty()) ticking.reset();
  }

  // One timer for all: deadlines are seconds, and a timer for each request would cost more than the request.
  void arm() {
    const auto shortest = std::min({core.limits.header_timeout, core.limits.idle_timeout, core.limits.linger});
    const auto period = std::clamp<std::chrono::nanoseconds>(shortest / 4, std::chrono::milliseconds(5),
                                                             std::chrono::milliseconds(250));
    ticking = loop.every(period, [this] { tick(); });
  }

  void tick() {
    const auto now = Session::Clock::now();
    for_each([now](Session& session) { session.tick(now); });
  }

  // Sessions may end meanwhile.
  template <typename F>
  void for_each(F f) {
    for (auto it = sessions.begin(); it != sessions.end();) {
      auto session = *it++;
      f(*session);
    }
  }

  void close_all() {
    for_each([](Session& session) { session.close(); });
  }

  Loop& loop;
  std::shared_ptr<ServerCore> shared;
  ServerCore& core;
  std::list<std::shared_ptr<Session>> sessions;
  std::list<Session*> idle;  // silent longest first
  std::size_t refusals = 0;
  Loop::Handle ticking;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
};

HttpServer::HttpServer(Loop& loop, ServerLimits limits, const Router& router, Gate& gate)
    : impl_(std::make_unique<Impl>(loop, limits, router, gate)) {}
HttpServer::~HttpServer() = default;

void HttpServer::set_access_log(std::function<void(const AccessRecord&)> log) {
  impl_->core.access_log = std::move(log);
}

Result<void> HttpServer::add_listener(sys::Fd fd, std::shared_ptr<TlsContext> tls) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0) return errno_error("listener", errno);
  if (listening == 0) return make_error(ErrorCode::kInvalid, "listener: the descriptor is not a listening socket");
  TRY(sys::set_nonblocking(fd.get()));
  Impl* impl = impl_.get();
  impl_->acceptors.push_back(std::make_unique<Acceptor>(
      impl_->loop, std::move(fd), [impl, tls = std::move(tls)](sys::Fd c) { impl->accepted(std::move(c), tls); }));
  return {};
}

void HttpServer::drain() {
  impl_->core.draining = true;
  impl_->for_each([](Session& session) { session.drain(); });
}

bool HttpServer::drained() const { return impl_->sessions.empty(); }

void HttpServer::close_idle() {
  impl_->for_each([](Session& session) {
    if (session.idle()) session.close();
  });
}

void HttpServer::close_all() { impl_->close_all(); }

ServerStats HttpServer::stats() const {
  ServerStats out = impl_->core.stats;
  out.open = static_cast<std::uint32_t>(impl_->sessions.size());
  return out;
}

}  // namespace hotcell::server
