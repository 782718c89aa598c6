// The loop: one thread, one epoll, every connection of one cell.
#include "net/proxy.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/strings.h"
#include "net/connection.h"
#include "net/dns_door.h"
#include "net/listen.h"
#include "sys/thread.h"

namespace hotcell::net {
namespace {

constexpr std::uint64_t kListener = 0, kDns = 1, kWake = 2, kFirst = 16;
constexpr auto kTick = std::chrono::milliseconds(250), kThrottleTick = std::chrono::milliseconds(10);
constexpr std::uint32_t kBothWays = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// How other threads reach the loop. It outlives the proxy: a resolver may answer late.
struct Mailbox {
  std::mutex mutex;
  std::vector<std::function<void()>> letters;
  sys::Fd wake;
  bool closed = false;

  void post(std::function<void()> letter) {
    std::lock_guard lock(mutex);
    if (closed) return;
    letters.push_back(std::move(letter));
    std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
};

Result<sys::Fd> plain_dial(const Address& address, std::uint16_t port) {
  sockaddr_storage to;
  socklen_t size = address.fill(to, port);
  sys::Fd fd(::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno_error("socket", errno);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size) < 0 && errno != EINPROGRESS) return errno_error("connect", errno);
  return fd;
}

class ProxyImpl final : public Proxy, private Door {
 public:
  ~ProxyImpl() override { close(); }

  void close() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mailbox_->mutex);
      mailbox_->letters.clear();
    }
    mailbox_->post([this] { stop_ = true; });
    thread_.join();
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->closed = true;
    mailbox_->letters.clear();
  }

  Result<void> open(ProxyOptions options) {
    if (!options.rules) return make_error(ErrorCode::kInvalid, "a proxy needs rules");
    rules_ = std::move(options.rules);
    limits = options.limits;
    check_sni = options.check_sni;
    log_ = std::make_unique<Log>(options.log_entries);
    log = log_.get();
    watcher_ = std::make_unique<Watcher>(*log_, limits.drip);
    watcher = watcher_.get();
    dial_ = options.dial ? std::move(options.dial) : plain_dial;
    own_ = options.own ? std::move(options.own) : leads_here;
    resolver_ = options.resolver ? std::move(options.resolver) : host_resolver();
    inserter_ = std::move(options.inserter);
    listener_ = std::move(options.listener);
    epoll_ = sys::Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.valid()) return errno_error("epoll_create1", errno);
    mailbox_ = std::make_shared<Mailbox>();
    mailbox_->wake = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!mailbox_->wake.valid()) return errno_error("eventfd", errno);
    TRY(watch(mailbox_->wake.get(), kWake, EPOLLIN));
    TRY(sys::set_nonblocking(listener_.get()));
    TRY(watch(listener_.get(), kListener, EPOLLIN));
    if (options.dns.valid()) {
      dns_ = std::make_unique<DnsDoor>(std::move(options.dns), *log_, *watcher_, [this](const std::string& name, auto done) {
        ask(name, std::move(done));
      }, own_);
      TRY(watch(dns_->fd(), kDns, EPOLLIN));
    }
    tokens_at_ = started_ = Clock::now();
    tokens_ = limits.bytes_per_second;
    // Not the caller's signals, and above all no SIGPIPE, which splice() cannot be told to leave out: a program that resets a
    // connection would end the process that serves it.
    TRY_SET(thread_, sys::quiet_thread([this] { loop(); }));
    return {};
  }

  void set_rules(std::shared_ptr<const RuleSet> rules) override {
    // The letter's own: one that is never opened, since the proxy is closed, lets us go on as well.
    auto changed = std::make_shared<std::promise<void>>();
    auto done = changed->get_future();
    mailbox_->post([this, rules = std::move(rules), changed = std::move(changed)]() mutable {
      rules_ = std::move(rules);
      std::vector<std::uint64_t> gone;
      for (auto& [id, c] : connections_)
        if (!c->still_allowed(*rules_)) {
          c->end("the rules were changed");
          gone.push_back(id);
        }
      for (auto id : gone) forget(id);
      changed->set_value();
    });
    done.wait();
  }
  const Log& journal() const override { return *log_; }

 private:
  // Door
  std::shared_ptr<const RuleSet> rules() const override { return rules_; }
  void look_up(std::uint64_t id, const std::string& name) override {
    ask(name, [this, id](Result<std::vector<Address>> found) {
      auto it = connections_.find(id);
      if (it == connections_.end()) return;
      it->second->on_looked_up(std::move(found));
      drive(id);
    });
  }
  bool own(const Address& address) const override { return own_(address); }
  Result<sys::Fd> dial(std::uint64_t id, const Address& address, std::uint16_t port) override {
    TRY_SET(sys::Fd fd, dial_(address, port));
    TRY(watch(fd.get(), id << 1 | 1, kBothWays));
    return fd;
  }
  Result<sys::Fd> through(std::uint64_t id, const Target& target, sys::Fd server) override {
    if (!inserter_ || !inserter_->covers(target)) return server;
    // Somebody else will hold it open: it would go on waking us.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, server.get(), nullptr);
    TRY_SET(sys::Fd fd, inserter_->insert(target, std::move(server)));
    TRY(watch(fd.get(), id << 1 | 1, kBothWays));
    return fd;
  }
  Spent spent() const override {
    if (limits.bytes != 0 && total_ >= limits.bytes) return Spent::kBytes;
    if (limits.time.count() != 0 && Clock::now() - started_ >= limits.time) return Spent::kTime;
    return Spent::kNothing;
  }
  std::uint64_t allowance() const override {
    std::uint64_t most = limits.bytes != 0 ? limits.bytes - std::min(limits.bytes, total_) : ~std::uint64_t{0};
    return limits.bytes_per_second != 0 ? std::min(most, tokens_) : most;
  }
  void spend(std::uint64_t taken) override {
    total_ += taken;
    tokens_ -= std::min(tokens_, taken);
  }

  // The answer comes back in this thread, whichever the resolver uses.
  void ask(const std::string& name, std::function<void(Result<std::vector<Address>>)> done) {
    resolver_->resolve(name, [box = mailbox_, done = std::move(done)](Result<std::vector<Address>> found) {
      box->post([done, found = std::move(found)] { done(found); });
    });
  }

  Result<void> watch(int fd, std::uint64_t key, std::uint32_t events) {
    epoll_event e{};
    e.events = events;
    e.data.u64 = key;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) < 0) return errno_error("epoll_ctl", errno);
    return {};
  }

  void forget(std::uint64_t id) {
    if (connections_.erase(id) > 0) log_->count_open(-1);
  }

  void drive(std::uint64_t id) {
    auto it = connections_.find(id);
    if (it == connections_.end()) return;
    switch (it->second->run()) {
      case Connection::After::kGone: return forget(id);
      case Connection::After::kAgain: again_.push_back(id); break;
      case Connection::After::kThrottled: throttled_.push_back(id); break;
      case Connection::After::kWait: break;
    }
  }

  void accept_some() {
    Door& door = *this;
    for (int rounds = 0; rounds < 64; ++rounds) {
      sys::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd.valid()) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause_accepting();
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return;
      }
      if (connections_.size() >= limits.connections) {
        static constexpr std::string_view kFull =
            "HTTP/1.1 503 Service Unavailable\r\nX-Hotcell-Reason: too many connections at once\r\nX-Hotcell-Rule: limit\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n";
        (void)!::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
        log_->add({std::chrono::system_clock::now(), "TCP", "", 0, false, "limit", cat("more than ", limits.connections, " connections at once"),
                   "--network-connections", 0, 0, {}});
        continue;
      }
      std::uint64_t id = next_id_++;
      if (!watch(fd.get(), id << 1, kBothWays)) continue;
      connections_.emplace(id, std::make_unique<Connection>(door, id, std::move(fd)));
      log_->count_open(1);
      drive(id);
    }
  }

  void serve_names() {
    auto shut = spent();
    Decision why = shut == Spent::kNothing ? Decision{} : spent_decision(shut);
    dns_->on_readable(rules_, shut == Spent::kNothing ? nullptr : &why);
  }

  // Out of descriptors: level-triggered, the listener would spin.
  void pause_accepting() {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    accepting_ = false;
  }

  void read_mail() {
    std::uint64_t count;
    (void)!::read(mailbox_->wake.get(), &count, sizeof count);
    std::vector<std::function<void()>> letters;
    {
      std::lock_guard lock(mailbox_->mutex);
      letters.swap(mailbox_->letters);
    }
    for (auto& letter : letters) letter();
  }

  void refill(Clock::time_point now) {
    if (limits.bytes_per_second == 0) return;
    auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - tokens_at_).count();
    auto more = static_cast<std::uint64_t>(static_cast<double>(limits.bytes_per_second) * static_cast<double>(ns) / 1e9);
    if (more == 0) return;
    tokens_at_ = now;
    tokens_ = std::min(tokens_ + more, std::max<std::uint64_t>(limits.bytes_per_second / 10, 16 << 10));
  }

  void tick(Clock::time_point now) {
    next_tick_ = now + kTick;
    if (!accepting_) accepting_ = watch(listener_.get(), kListener, EPOLLIN).ok();
    std::vector<std::uint64_t> due;
    for (auto& [id, c] : connections_)
      if (c->on_tick(now)) due.push_back(id);
    for (auto id : due) drive(id);
  }

  void loop() {
    epoll_event events[256];
    while (!stop_) {
      auto now = Clock::now();
      int wait = -1;
      if (!again_.empty()) wait = 0;
      else if (!throttled_.empty()) wait = static_cast<int>(kThrottleTick.count());
      else if (!connections_.empty() || !accepting_) wait = static_cast<int>(kTick.count());
      int n = ::epoll_wait(epoll_.get(), events, 256, wait);
      auto again = std::exchange(again_, {});
      for (int i = 0; i < n; ++i) {
        std::uint64_t key = events[i].data.u64;
        if (key == kListener) accept_some();
        else if (key == kDns) serve_names();
        else if (key == kWake) read_mail();
        else if (auto it = connections_.find(key >> 1); it != connections_.end()) {
          it->second->on_event((key & 1) != 0, events[i].events);
          drive(key >> 1);
        }
      }
      for (auto id : again) drive(id);
      now = Clock::now();
      refill(now);
      for (auto id : std::exchange(throttled_, {})) drive(id);
      if (now >= next_tick_) tick(now);
    }
    // Shut before anything is cut: who notices that must not find it open once more.
    listener_.reset();
    dns_.reset();
    connections_.clear();
  }

  sys::Fd epoll_, listener_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Watcher> watcher_;
  std::shared_ptr<const RuleSet> rules_;
  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<Resolver> resolver_;
  std::function<Result<sys::Fd>(const Address&, std::uint16_t)> dial_;
  std::function<bool(const Address&)> own_;
  std::shared_ptr<Inserter> inserter_;
  std::unique_ptr<DnsDoor> dns_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::uint64_t> again_, throttled_;
  std::uint64_t next_id_ = kFirst, total_ = 0, tokens_ = 0;
  Clock::time_point tokens_at_{}, next_tick_{}, started_{};
  bool stop_ = false, accepting_ = true;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Proxy>> Proxy::start(ProxyOptions options) {
  auto proxy = std::make_unique<ProxyImpl>();
  TRY(proxy->open(std::move(options)));
  return std::unique_ptr<Proxy>(std::move(proxy));
}

}  // namespace hotcell::net
