#include "core/remote/remote_launcher.h"

#include <poll.h>
#include <sys/epoll.h>

#include <atomic>
#include <cerrno>
#include <map>

#include "base/strings.h"
#include "sys/epoll.h"

namespace hotcell {
namespace {

using remote::Head;
using remote::Kind;
using remote::Packet;

constexpr auto kAnswerWithin = std::chrono::seconds(30);

Error gone() { return make_error(ErrorCode::kInternal, "the launcher process has stopped"); }

class RemoteLauncherImpl final : public RemoteLauncher {
 public:
  RemoteLauncherImpl(sys::Fd socket, std::shared_ptr<std::atomic<bool>> process_gone)
      : connection_(std::move(socket)), process_gone_(std::move(process_gone)) {}

  Result<void> prepare() {
    TRY_SET(epoll_, sys::epoll_with(connection_.fd(), EPOLLIN));
    return {};
  }

  Result<RunId> start(const Policy& policy, Request request, Done done) override {
    if (!connected()) return gone();
    if (std::holds_alternative<StdinFd>(request.stdin_source))
      return make_error(ErrorCode::kUnsupported, "a remote launcher takes stdin as bytes");
    for (const auto& f : request.files)
      if (!std::holds_alternative<std::string>(f.content))
        return make_error(ErrorCode::kUnsupported, "a remote launcher takes files as bytes");
    remote::StartOrder order;
    order.policy = policy;
    order.wants_output = request.on_output != nullptr;
    order.wants_usage = request.on_usage != nullptr;
    order.wants_events = request.on_event != nullptr;
    order.wants_timeout = request.on_timeout != nullptr;
    order.wants_network = request.on_network != nullptr;
    Run run{std::move(request.on_output), std::move(request.on_event), std::move(request.on_usage),
            std::move(request.on_timeout), std::move(request.on_network), std::move(done)};
    order.request = std::move(request);
    std::string packed = remote::pack(order);
    if (packed.size() > remote::kLongest) return make_error(ErrorCode::kLimit, "the request is larger than 256 MiB");
    RunId id = ++last_;
    runs_.emplace(id, std::move(run));
    tell({Kind::kStart, id}, std::move(packed));
    return id;
  }

  Result<void> step(std::chrono::milliseconds at_most) override {
    // Looked at before what it said last is taken: with its end seen elsewhere, all of that is here by now, and no more will come. This
    // connection's own end may be a moment away still, and whoever lets go of us before it must not take its runs along untold.
    const bool over = *process_gone_;
    if (connection_.open()) {
      watch();
      epoll_event event;
      // Who does not want to wait has been told already that there is something, or finds out below.
      int n = over || at_most.count() == 0 ? 0 : ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(at_most.count()));
      if (n < 0 && errno != EINTR) return errno_error("epoll_wait", errno);
      connection_.flush();
      while (auto packet = connection_.receive()) take(*std::move(packet));
      watch();
    }
    if (over) connection_.close();
    if (!connection_.open()) fail_all();
    return {};
  }
  void give_up() override {
    *process_gone_ = true;
    step(std::chrono::milliseconds(0)).ignore("it closes whatever happens");
  }

  void cancel(RunId id) override { tell({Kind::kCancel, id}, {}); }
  void cancel_id(std::string_view id) override { tell({Kind::kCancelId, 0}, std::string(id)); }
  Result<void> freeze(RunId id, bool frozen) override {
    if (!runs_.contains(id)) return make_error(ErrorCode::kNotFound, "that run is over");
    TRY_SET(Packet answer, ask(Kind::kFreeze, remote::pack(remote::Answer{{}, id << 1 | (frozen ? 1 : 0)})));
    return {};
  }
  std::size_t running() const override { return runs_.size(); }
  int poll_fd() const override { return epoll_.get(); }

  Result<void> park(const Policy& policy, std::size_t count) override { return park(policy, nullptr, count); }
  Result<void> park(const Policy& policy, std::shared_ptr<const Runtime> runtime, std::size_t count) override {
    TRY_SET(Packet answer, ask(Kind::kPark, remote::pack(remote::ParkOrder{policy, std::move(runtime), count})));
    return {};
  }
  std::size_t parked(const Policy& policy) const override { return count_parked({policy, nullptr, 0}); }
  std::size_t parked(const Policy& policy, const Runtime& runtime) const override {
    return count_parked({policy, std::make_shared<const Runtime>(runtime), 0});
  }
  void trim() override { tell({Kind::kTrim, 0}, {}); }

  Result<std::unique_ptr<RemoteLauncher>> connect() override {
    TRY_SET(remote::Ends ends, remote::make_ends());
    if (!connected()) return gone();
    std::vector<sys::Fd> with;
    with.push_back(std::move(ends.launcher));
    connection_.send({Kind::kConnect, 0}, {}, std::move(with));
    auto out = std::make_unique<RemoteLauncherImpl>(std::move(ends.front), process_gone_);
    TRY(out->prepare());
    return std::unique_ptr<RemoteLauncher>(std::move(out));
  }
  // A dying process closes its descriptors one by one: what one connection has seen holds for all of them.
  bool connected() const override { return connection_.open() && !*process_gone_; }

  Result<RemoteReader> spawn_reader(remote::ReaderKind kind, Bytes memory) override {
    TRY_SET(Packet answer, ask(Kind::kSpawn, remote::pack(remote::ReaderOrder{kind, memory})));
    if (answer.fds.size() != 1) return make_error(ErrorCode::kInternal, "the launcher sent no socket of a reader");
    return RemoteReader{std::move(answer.fds[0]), number_of(answer)};
  }
  Result<int> end_reader(std::uint64_t number, bool may_be_ending) override {
    TRY_SET(Packet answer, ask(Kind::kEnd, remote::pack(remote::Answer{{}, number << 1 | (may_be_ending ? 1 : 0)})));
    return static_cast<int>(number_of(answer));
  }

  void ask_if_alive(std::function<void()> answered) override {
    if (!connection_.open()) return;
    alive_ = ++last_;
    answered_ = std::move(answered);
    tell({Kind::kParked, alive_}, remote::pack(remote::ParkOrder{}));   // whatever it says
  }

  bool last_from_stock() const override { return from_stock_; }
  void watch_stock() override { tell({Kind::kStock, 0}, {}); }
  remote::StockNews stock() const override { return stock_; }

 private:
  struct Run {
    std::function<void(Stream, std::string_view)> on_output;
    std::function<void(const Event&)> on_event;
    std::function<void(const LiveUsage&)> on_usage;
    std::function<void()> on_timeout;
    std::function<void(int, int)> on_network;
    Done done;
  };

  void tell(Head head, std::string body) {
    connection_.send(head, std::move(body));
    watch();
  }

  // Only what waits for room is worth being woken for.
  void watch() {
    if (!connection_.open() || watching_out_ == connection_.waiting()) return;
    watching_out_ = connection_.waiting();
    epoll_event event{};
    event.events = EPOLLIN | (watching_out_ ? EPOLLOUT : 0u);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection_.fd(), &event);
  }

  static std::uint64_t number_of(const Packet& packet) {
    remote::Answer answer;
    return remote::unpack(packet.body, answer) ? answer.number : 0;
  }

  // Waits for the answer; news of runs that come before it are told as ever.
  Result<Packet> ask(Kind kind, std::string body) const {
    auto& self = const_cast<RemoteLauncherImpl&>(*this);
    if (!connection_.open()) return gone();
    std::uint64_t number = ++self.last_;
    self.tell({kind, number}, std::move(body));
    auto until = std::chrono::steady_clock::now() + kAnswerWithin;
    while (connection_.open() && std::chrono::steady_clock::now() < until) {
      pollfd p{connection_.fd(), static_cast<short>(POLLIN | (connection_.waiting() ? POLLOUT : 0)), 0};
      if (::poll(&p, 1, 100) < 0 && errno != EINTR) return errno_error("poll", errno);
      self.connection_.flush();
      while (auto packet = self.connection_.receive()) {
        if (packet->head.kind != Kind::kAnswer || packet->head.number == alive_) self.take(*std::move(packet));
        else if (packet->head.number == number) {
          remote::Answer answer;
          if (!remote::unpack(packet->body, answer)) return make_error(ErrorCode::kInternal, "the launcher's answer makes no sense");
          if (answer.error) return *std::move(answer.error);
          return *std::move(packet);
        }
      }
    }
    if (connection_.open()) return make_error(ErrorCode::kIo, "the launcher process does not answer");
    *process_gone_ = true;
    return gone();
  }

  std::size_t count_parked(const remote::ParkOrder& order) const {
    auto answer = ask(Kind::kParked, remote::pack(order));
    return answer.ok() ? static_cast<std::size_t>(number_of(answer.value())) : 0;
  }

  static void tell_output(const Run& run, bool err, std::string_view bytes) {
    if (run.on_output) run.on_output(err ? Stream::kStderr : Stream::kStdout, bytes);
  }
  static void tell_event(const Run& run, std::string_view packed) {
    Event event;
    if (run.on_event && remote::unpack(packed, event)) run.on_event(event);
  }

  void take(Packet packet) {
    if (packet.head.kind == Kind::kStock) {
      remote::StockNews news;
      if (remote::unpack(packet.body, news)) stock_ = news;
      return;
    }
    if (packet.head.kind == Kind::kAnswer && packet.head.number == alive_) {
      alive_ = 0;
      if (auto call = std::exchange(answered_, nullptr)) call();
      return;
    }
    auto it = runs_.find(packet.head.number);
    if (it == runs_.end()) return;
    Run& run = it->second;
    switch (packet.head.kind) {
      case Kind::kOutput: {
        remote::OutputNews news;
        if (remote::unpack(packet.body, news)) tell_output(run, news.err, news.bytes);
        break;
      }
      case Kind::kEvent: tell_event(run, packet.body); break;
      case Kind::kUsage: {
        LiveUsage usage;
        if (run.on_usage && remote::unpack(packet.body, usage)) run.on_usage(usage);
        break;
      }
      case Kind::kDoor:
        if (run.on_network && packet.fds.size() == 2) run.on_network(packet.fds[0].release(), packet.fds[1].release());
        break;
      case Kind::kTimeout:
        if (run.on_timeout) run.on_timeout();
        break;
      case Kind::kDone: {
        Run ended = std::move(run);
        RunId id = it->first;
        runs_.erase(it);
        remote::DoneNews news;
        if (!remote::unpack(packet.body, news))
          return ended.done(id, make_error(ErrorCode::kInternal, "the launcher's report makes no sense"));
        for (const auto& n : news.before) {
          if (n.kind == Kind::kOutput) tell_output(ended, n.err, n.bytes);
          else tell_event(ended, n.bytes);
        }
        from_stock_ = news.from_stock;
        if (news.error) ended.done(id, *std::move(news.error));
        else ended.done(id, std::move(news.report));
        break;
      }
      default: break;
    }
  }

  void fail_all() {
    *process_gone_ = true;
    for (auto& [id, run] : std::exchange(runs_, {})) run.done(id, gone());
  }

  remote::Connection connection_;
  std::shared_ptr<std::atomic<bool>> process_gone_;   // of all connections to one process
  sys::Fd epoll_;
  bool watching_out_ = false;
  std::map<RunId, Run> runs_;
  std::uint64_t last_ = 0, alive_ = 0;
  std::function<void()> answered_;
  bool from_stock_ = false;
  remote::StockNews stock_;
};

}  // namespace

Result<std::unique_ptr<RemoteLauncher>> RemoteLauncher::open(sys::Fd socket) {
  auto out = std::make_unique<RemoteLauncherImpl>(std::move(socket), std::make_shared<std::atomic<bool>>(false));
  TRY(out->prepare());
  return std::unique_ptr<RemoteLauncher>(std::move(out));
}

}  // namespace hotcell
