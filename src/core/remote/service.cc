#include "core/remote/service.h"

#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/strings.h"
#include "core/policy/same_cell.h"
#include "core/remote/connection.h"
#include "sys/epoll.h"
#include "sys/socket_child.h"

namespace hotcell::remote {
namespace {

constexpr std::size_t kMostReaders = 256, kMostConnections = 1024;   // or what as many runs as are allowed need
constexpr auto kGather = std::chrono::milliseconds(5);  // news that come in drops are told together
constexpr auto kUsageEvery = std::chrono::milliseconds(100);
constexpr auto kStockEvery = std::chrono::milliseconds(200);

using Clock = std::chrono::steady_clock;

struct Client;

struct Run {
  Client* client = nullptr;
  std::uint64_t number = 0;          // what the front calls it
  std::string id;
  std::vector<GatheredNews> news;    // not yet told
  std::size_t news_bytes = 0;
  Clock::time_point since{};         // the first of it came
  Clock::time_point next_usage{};
  bool from_stock = false;
};

struct Client {
  explicit Client(sys::Fd socket) : connection(std::move(socket)) {}
  Connection connection;
  std::uint64_t id = 0;
  bool watching_out = false;
  bool wants_stock = false;
  std::optional<StockNews> told;
  std::map<std::uint64_t, RunId> runs;                       // by the front's number
  std::map<std::uint64_t, sys::SocketChild> readers;
};

class ServiceImpl final : public Service {
 public:
  ServiceImpl(std::unique_ptr<Launcher> launcher, ServiceOptions options)
      : launcher_(std::move(launcher)), options_(std::move(options)) {}
  ~ServiceImpl() override {
    for (auto& [id, client] : clients_) end_readers(*client);
    for (auto& child : dying_) sys::end_socket_child(child, 0);
    launcher_.reset();  // while what its last events are told to still exists
  }

  Result<void> prepare() {
    TRY_SET(epoll_, sys::epoll_with(launcher_->poll_fd(), EPOLLIN));
    return {};
  }

  Result<void> add(sys::Fd socket) override {
    if (clients_.size() >= at_least(kMostConnections)) return make_error(ErrorCode::kLimit, "too many connections to the launcher");
    auto client = std::make_unique<Client>(std::move(socket));
    client->id = ++last_client_;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = client->id;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client->connection.fd(), &event) < 0) return errno_error("epoll_ctl", errno);
    clients_.emplace(client->id, std::move(client));
    return {};
  }

  Result<void> serve() override {
    const auto started = Clock::now();
    bool swept = false;
    while (!clients_.empty() || launcher_->running() > 0) {
      // A predecessor that was killed leaves cgroups that are busy for a moment.
      if (!swept && launcher_->running() == 0 && Clock::now() - started > std::chrono::seconds(2)) {
        swept = true;
        launcher_->trim();
      }
      epoll_event events[32];
      int n = ::epoll_wait(epoll_.get(), events, 32, wait_ms());
      if (n < 0 && errno != EINTR) return errno_error("epoll_wait", errno);
      for (int i = 0; i < n; ++i) {
        if (events[i].data.u64 == 0) continue;
        auto it = clients_.find(events[i].data.u64);
        if (it != clients_.end()) attend(*it->second);
      }
      // Also after orders alone: starting a cell arms its timers in the next step.
      TRY(launcher_->step(std::chrono::milliseconds(0)));
      const auto now = Clock::now();
      tell(now);
      tell_stock(now);
      sweep();
    }
    launcher_->trim();
    return {};
  }

 private:
  // A worker of the front's has three connections and a reader or two, and the ceiling is more than twice as many runs as there are
  // workers (cli/serve.cc). One connection too many would be closed, which is the end of all to whoever is at its other end.
  std::size_t at_least(std::size_t usual) const { return std::max<std::size_t>(usual, 2 * options_.ceiling.running); }

  int wait_ms() const {
    if (gathering_ == 0) return 1000;
    return static_cast<int>(kGather.count());
  }

  void attend(Client& client) {
    client.connection.flush();
    // Not all at once: others wait, too.
    for (int i = 0; i < 64; ++i) {
      auto packet = client.connection.receive();
      if (!packet) break;
      order(client, *std::move(packet));
    }
    watch(client);
  }

  void watch(Client& client) {
    auto& c = client.connection;
    if (!c.open() || client.watching_out == c.waiting()) return;
    client.watching_out = c.waiting();
    epoll_event event{};
    event.events = EPOLLIN | (client.watching_out ? EPOLLOUT : 0u);
    event.data.u64 = client.id;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c.fd(), &event);
  }

  void answer(Client& client, std::uint64_t number, Result<std::uint64_t> result, std::vector<sys::Fd> fds = {}) {
    Answer a;
    if (result.ok()) a.number = result.value();
    else a.error = std::move(result).error();
    client.connection.send({Kind::kAnswer, number}, pack(a), std::move(fds));
  }

  void order(Client& client, Packet packet) {
    const std::uint64_t number = packet.head.number;
    switch (packet.head.kind) {
      case Kind::kStart: return start(client, number, packet.body);
      case Kind::kCancel:
        if (auto it = client.runs.find(number); it != client.runs.end()) launcher_->cancel(it->second);
        return;
      case Kind::kCancelId:
        for (auto& [id, run] : runs_)
          if (!run->id.empty() && run->id == packet.body) launcher_->cancel(id);
        return;
      case Kind::kFreeze: {
        Answer what;
        auto it = unpack(packet.body, what) ? client.runs.find(what.number >> 1) : client.runs.end();
        if (it == client.runs.end()) return answer(client, number, make_error(ErrorCode::kNotFound, "that run is over"));
        auto done = launcher_->freeze(it->second, (what.number & 1) != 0);
        if (!done.ok()) return answer(client, number, std::move(done).error());
        return answer(client, number, 0);
      }
      case Kind::kPark:
      case Kind::kParked: return park(client, packet.head, packet.body);
      case Kind::kConnect:
        for (auto& fd : packet.fds) add(std::move(fd)).ignore("its other end sees it closed");
        return;
      case Kind::kSpawn: return spawn(client, number, packet.body);
      case Kind::kEnd: return end(client, number, packet.body);
      case Kind::kTrim: return launcher_->trim();
      case Kind::kStock:
        client.wants_stock = true;
        client.told.reset();
        return;
      default: return client.connection.close();  // nothing that a front would say
    }
  }

  void refuse(Client& client, std::uint64_t number, Error error) {
    DoneNews news;
    news.error = std::move(error);
    client.connection.send({Kind::kDone, number}, pack(news));
  }

  void start(Client& client, std::uint64_t number, std::string_view body) {
    StartOrder order;
    if (!unpack(body, order) || client.runs.contains(number)) return client.connection.close();
    if (auto allowed = check(options_.ceiling, order.policy); !allowed.ok())
      return refuse(client, number, std::move(allowed).error());
    if (runs_.size() >= options_.ceiling.running)
      return refuse(client, number, make_error(ErrorCode::kLimit, "more cells than this daemon's configuration allows"));
    auto run = std::make_unique<Run>();
    run->client = &client;
    run->number = number;
    run->id = order.request.id;
    Run* raw = run.get();
    Request& request = order.request;
    auto news = [raw](Kind kind, std::string bytes) {
      if (raw->client != nullptr) raw->client->connection.send({kind, raw->number}, std::move(bytes));
    };
    if (order.wants_output)
      request.on_output = [this, raw](Stream stream, std::string_view bytes) {
        gather(*raw, Kind::kOutput, stream == Stream::kStderr, bytes);
      };
    if (order.wants_events) request.on_event = [this, raw](const Event& e) { gather(*raw, Kind::kEvent, false, pack(e)); };
    if (order.wants_usage) {
      raw->next_usage = Clock::now() + kUsageEvery;
      request.on_usage = [raw, news](const LiveUsage& u) {
        if (Clock::now() < raw->next_usage) return;
        raw->next_usage = Clock::now() + kUsageEvery;
        news(Kind::kUsage, pack(u));
      };
    }
    if (order.wants_timeout) request.on_timeout = [news] { news(Kind::kTimeout, {}); };
    if (order.wants_network)
      request.on_network = [raw](int door, int dns) {
        std::vector<sys::Fd> both;
        both.emplace_back(door);
        both.emplace_back(dns);
        if (raw->client != nullptr) raw->client->connection.send({Kind::kDoor, raw->number}, {}, std::move(both));
      };
    const std::shared_ptr<const Runtime> runtime = request.runtime;
    const std::size_t before = waiting(order.policy, runtime.get());
    auto started = launcher_->start(order.policy, std::move(request),
                                    [this](RunId id, Result<Report> result) { done(id, result); });
    if (!started.ok()) return refuse(client, number, std::move(started).error());
    raw->from_stock = waiting(order.policy, runtime.get()) < before;
    client.runs.emplace(number, started.value());
    runs_.emplace(started.value(), std::move(run));
  }

  // How many are parked that this request could have been given.
  std::size_t waiting(const Policy& policy, const Runtime* runtime) const {
    return launcher_->parked(policy) + (runtime != nullptr ? launcher_->parked(policy, *runtime) : 0);
  }

  void gather(Run& run, Kind kind, bool err, std::string_view bytes) {
    if (run.client == nullptr) return;
    if (run.news.empty()) {
      run.since = Clock::now();
      ++gathering_;
    }
    const bool goes_on = !run.news.empty() && kind == Kind::kOutput && run.news.back().kind == kind && run.news.back().err == err;
    if (goes_on) run.news.back().bytes += bytes;
    else run.news.push_back({kind, err, std::string(bytes)});
    run.news_bytes += bytes.size();
    if (run.news_bytes > (48u << 10)) tell(run);
  }

  void tell(Run& run) {
    if (run.news.empty()) return;
    --gathering_;
    run.news_bytes = 0;
    for (auto& n : std::exchange(run.news, {})) {
      if (run.client == nullptr) continue;
      if (n.kind == Kind::kOutput) n.bytes = pack(OutputNews{n.err, std::move(n.bytes)});
      run.client->connection.send({n.kind, run.number}, std::move(n.bytes));
    }
  }

  void tell(Clock::time_point now) {
    if (gathering_ == 0) return;
    for (auto& [id, run] : runs_)
      if (!run->news.empty() && now - run->since >= kGather) tell(*run);
  }

  void done(RunId id, Result<Report>& result) {
    auto it = runs_.find(id);
    if (it == runs_.end()) return;
    std::unique_ptr<Run> run = std::move(it->second);
    runs_.erase(it);
    if (!run->news.empty()) --gathering_;
    if (run->client == nullptr) return;
    run->client->runs.erase(run->number);
    DoneNews news;
    news.from_stock = run->from_stock;
    news.before = std::move(run->news);
    if (result.ok()) news.report = std::move(result).value();
    else news.error = std::move(result).error();
    std::string packed = pack(news);
    if (packed.size() > kLongest) return refuse(*run->client, run->number, make_error(ErrorCode::kLimit, "its result is larger than 256 MiB"));
    run->client->connection.send({Kind::kDone, run->number}, std::move(packed));
  }

  // To whoever wants to know, when it has changed; not with every run.
  void tell_stock(Clock::time_point now) {
    if (now < next_stock_) return;
    next_stock_ = now + kStockEvery;
    StockNews news;
    for (const auto& p : parked_) {
      if (p.runtime) news.runtimes += launcher_->parked(p.policy, *p.runtime);
      else news.cells += launcher_->parked(p.policy);
    }
    for (auto& [id, client] : clients_) {
      if (!client->wants_stock || client->told == news) continue;
      client->told = news;
      client->connection.send({Kind::kStock, 0}, pack(news));
      watch(*client);
    }
  }

  void park(Client& client, Head head, std::string_view body) {
    ParkOrder order;
    if (!unpack(body, order)) return client.connection.close();
    if (auto allowed = check(options_.ceiling, order.policy); !allowed.ok())
      return answer(client, head.number, std::move(allowed).error());
    if (head.kind == Kind::kParked)
      return answer(client, head.number, order.runtime ? launcher_->parked(order.policy, *order.runtime) : launcher_->parked(order.policy));
    if (order.runtime && order.runtime->argv.empty()) return client.connection.close();
    std::uint64_t others = order.count;
    for (const auto& p : parked_) others += same_cell(p.policy, order.policy) && !p.runtime == !order.runtime ? 0 : p.count;
    if (others > options_.ceiling.parked)
      return answer(client, head.number, make_error(ErrorCode::kLimit, "more waiting cells than this daemon's configuration allows"));
    auto done = launcher_->park(order.policy, order.runtime, static_cast<std::size_t>(std::min<std::uint64_t>(order.count, 1024)));
    if (!done.ok()) return answer(client, head.number, std::move(done).error());
    std::erase_if(parked_, [&](const ParkOrder& p) {
      return same_cell(p.policy, order.policy) && (p.runtime ? order.runtime && *p.runtime == *order.runtime : !order.runtime);
    });
    if (order.count > 0) parked_.push_back(std::move(order));
    answer(client, head.number, 0);
  }

  std::pair<std::string, std::vector<std::string>> reader(const ReaderOrder& order) const {
    const ReaderPrograms& r = options_.readers;
    switch (order.kind) {
      case ReaderKind::kInspect: return {r.inspect, {"hotcell-inspect", "--serve", cat(order.memory.n)}};
      case ReaderKind::kProxy: {
        std::vector<std::string> argv = {"hotcell-proxy"};
        argv.insert(argv.end(), r.proxy_words.begin(), r.proxy_words.end());
        return {r.proxy, std::move(argv)};
      }
      case ReaderKind::kTls: return {r.tls, {"hotcell-tls", cat("authorities=", r.authorities)}};
      default: return {r.verify, {"hotcell-verify", cat(order.memory.n)}};
    }
  }

  void spawn(Client& client, std::uint64_t number, std::string_view body) {
    ReaderOrder order;
    if (!unpack(body, order)) return client.connection.close();
    std::size_t all = dying_.size();
    for (const auto& [id, other] : clients_) all += other->readers.size();
    if (order.memory.n == 0 || order.memory.n > options_.ceiling.reader.n)
      return answer(client, number, make_error(ErrorCode::kDenied, "more memory than a reader may have"));
    auto [program, argv] = reader(order);
    if (program.empty()) return answer(client, number, make_error(ErrorCode::kUnsupported, cat(argv[0], " is not installed")));
    if (all >= at_least(kMostReaders)) return answer(client, number, make_error(ErrorCode::kLimit, "the launcher starts no more readers"));
    // What hotcell-tls is told comes in messages, the others read frames.
    auto child = sys::start_socket_child(program, std::move(argv), order.kind == ReaderKind::kTls ? SOCK_SEQPACKET : SOCK_STREAM);
    if (!child.ok()) return answer(client, number, std::move(child).error());
    sys::Fd socket = std::move(child.value().socket);
    std::uint64_t id = ++last_reader_;
    client.readers.emplace(id, std::move(child).value());
    std::vector<sys::Fd> with;
    with.push_back(std::move(socket));
    answer(client, number, id, std::move(with));
  }

  void end(Client& client, std::uint64_t number, std::string_view body) {
    Answer what;
    auto it = unpack(body, what) ? client.readers.find(what.number >> 1) : client.readers.end();
    if (it == client.readers.end()) return answer(client, number, make_error(ErrorCode::kNotFound, "no such reader"));
    // One that has closed its socket is about to end; cells wait while we do.
    int status = 0;
    if ((what.number & 1) != 0) {
      status = sys::end_socket_child(it->second, 50);
    } else {
      // One that is merely done with: nobody asks how it ended, and to take a process of many pages apart takes a while.
      sys::signal_pidfd(it->second.child.pidfd.get(), SIGKILL).ignore("it may be gone already");
      dying_.push_back(std::move(it->second));
    }
    client.readers.erase(it);
    answer(client, number, static_cast<std::uint64_t>(static_cast<unsigned>(status)));
  }

  void end_readers(Client& client) {
    for (auto& [id, child] : client.readers) sys::end_socket_child(child, 0);
    client.readers.clear();
  }

  // Connections that have closed: whoever asked is gone, so what was asked for ends.
  void sweep() {
    std::erase_if(dying_, [](sys::SocketChild& child) {
      auto reaped = sys::reap(child.child.pid, false);
      return !reaped.ok() || reaped.value().has_value();
    });
    for (auto it = clients_.begin(); it != clients_.end();) {
      Client& client = *it->second;
      watch(client);
      if (client.connection.open()) {
        ++it;
        continue;
      }
      for (auto& [number, id] : client.runs) {
        if (auto run = runs_.find(id); run != runs_.end()) run->second->client = nullptr;
        launcher_->cancel(id);
      }
      end_readers(client);
      it = clients_.erase(it);
    }
  }

  std::unique_ptr<Launcher> launcher_;
  ServiceOptions options_;
  sys::Fd epoll_;
  std::map<std::uint64_t, std::unique_ptr<Client>> clients_;
  std::map<RunId, std::unique_ptr<Run>> runs_;
  std::vector<ParkOrder> parked_;
  std::vector<sys::SocketChild> dying_;   // killed, not yet reaped
  Clock::time_point next_stock_{};
  std::uint64_t last_client_ = 0, last_reader_ = 0;
  std::size_t gathering_ = 0;
};

}  // namespace

Result<std::unique_ptr<Service>> Service::create(std::unique_ptr<Launcher> launcher, ServiceOptions options) {
  auto out = std::make_unique<ServiceImpl>(std::move(launcher), std::move(options));
  TRY(out->prepare());
  return std::unique_ptr<Service>(std::move(out));
}

}  // namespace hotcell::remote
