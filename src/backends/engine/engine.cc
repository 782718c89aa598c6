#include "backends/engine/engine.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "backends/engine/json.h"
#include "backends/engine/run.h"
#include "backends/walls.h"
#include "base/strings.h"
#include "core/kernel/cgroup_files.h"
#include "core/launch/workspace.h"
#include "core/policy/validate.h"
#include "sys/uuid.h"

namespace hotcell::backends {
namespace {

class EngineLauncher final : public Launcher {
 public:
  EngineLauncher(const Backend& backend, ToolOptions options, EngineClient client)
      : backend_(backend), options_(std::move(options)), client_(std::move(client)),
        kind_(backend.name() == "podman" ? EngineKind::kPodman : EngineKind::kDocker) {}

  Result<void> open() {
    auto text = options_.settings.get(cat(backend_.name(), ".probe_timeout"));
    int patience = 0;
    if (auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), patience); error != std::errc{} || *end != '\0' || patience < 1 || patience > 600'000)
      return make_error(ErrorCode::kInvalid, cat(backend_.name(), ".probe_timeout: ", printable(text), ": expected milliseconds"));
    TRY(client_.ping(std::chrono::milliseconds(patience)));
    TRY(choose_runtime());
    sweep();
    // Somebody else's loop waits for this: it ticks as long as containers are to be looked at.
    poll_ = sys::Fd(::epoll_create1(EPOLL_CLOEXEC));
    tick_ = sys::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    epoll_event e{EPOLLIN, {}};
    if (!poll_.valid() || !tick_.valid() || ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, tick_.get(), &e) < 0) return errno_error("epoll", errno);
    return {};
  }

  Result<RunId> start(const Policy& policy, Request request, Done done) override {
    TRY(validate(policy));
    if (request.argv.empty() || request.argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
    TRY(refuse_unheld(backend_, policy, options_.waived));
    if (request.id.empty()) request.id = sys::random_id();
    std::vector<LayerReport> walls;
    if (options_.posture) {
      TRY_SET(Posture found, posture_of(policy));
      if (own_kernel_ && !found.own_kernel)
        return make_error(ErrorCode::kUnsupported, cat("backend ", backend_.name(), ": its runtime ", runtime_, " should have a kernel of its own, and the host's answers inside; nothing was run"));
      TRY(check_promises(backend_, policy, options_.waived, found));
      TRY(check_required(policy, found));
      walls = std::move(found.walls);
      for (auto& l : walls)
        if (l.layer == Layer::kSeccomp && !runtime_.empty()) l.detail += cat(", runtime ", runtime_);
    }
    auto run = std::make_unique<EngineRun>(client_, policy, std::move(request), std::move(done));
    TRY(run->start(backend_, kind_, options_.settings, own_kernel_, options_.waived).context(cat("backend ", backend_.name())));
    RunId id = ++last_;
    epoll_event e{EPOLLIN, {}};
    ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, run->stream_fd(), &e);
    runs_.emplace(id, Entry{std::move(run), std::move(walls), told_waivers(backend_, policy, options_.waived)});
    itimerspec every{{0, 20'000'000}, {0, 20'000'000}};
    ::timerfd_settime(tick_.get(), 0, &every, nullptr);
    return id;
  }

  Result<void> step(std::chrono::milliseconds at_most) override {
    wait(at_most);
    std::uint64_t ticks = 0;
    (void)!::read(tick_.get(), &ticks, sizeof ticks);
    std::vector<RunId> over;
    for (auto& [id, entry] : runs_) {
      auto advanced = entry.run->advance();
      if (!advanced.ok()) entry.failed = std::move(advanced).error();
      if (entry.failed || advanced.value()) over.push_back(id);
    }
    for (RunId id : over) {
      auto node = runs_.extract(id);
      Entry& entry = node.mapped();
      Result<Report> report = entry.failed ? Result<Report>(std::move(*entry.failed)) : entry.run->finish(backend_.name(), entry.walls, std::move(entry.waivers));
      if (runs_.empty()) {
        itimerspec none{};
        ::timerfd_settime(tick_.get(), 0, &none, nullptr);
      }
      entry.run->done(id, std::move(report));
    }
    return {};
  }

  void cancel(RunId id) override {
    if (auto it = runs_.find(id); it != runs_.end()) it->second.run->cancel();
  }
  Result<void> freeze(RunId id, bool frozen) override {
    auto it = runs_.find(id);
    if (it == runs_.end()) return make_error(ErrorCode::kNotFound, "no such run");
    return it->second.run->freeze(frozen);
  }
  std::size_t running() const override { return runs_.size(); }
  int poll_fd() const override { return poll_.get(); }
  Result<void> park(const Policy&, std::size_t) override { return make_error(ErrorCode::kUnsupported, "only native cells can be parked"); }
  Result<void> park(const Policy&, std::shared_ptr<const Runtime>, std::size_t) override { return make_error(ErrorCode::kUnsupported, "only native cells can be parked"); }
  std::size_t parked(const Policy&) const override { return 0; }
  std::size_t parked(const Policy&, const Runtime&) const override { return 0; }
  void trim() override {}

 private:
  struct Entry {
    std::unique_ptr<EngineRun> run;
    std::vector<LayerReport> walls;
    std::vector<Denial> waivers;
    std::optional<Error> failed = {};
  };

  void wait(std::chrono::milliseconds at_most) const {
    std::vector<pollfd> fds;
    auto until = EngineRun::Clock::now() + at_most;
    for (const auto& [id, entry] : runs_) {
      if (entry.run->stream_fd() >= 0 && !entry.run->streams_over())
        fds.push_back({entry.run->stream_fd(), static_cast<short>(entry.run->wants_write() ? POLLIN | POLLOUT : POLLIN), 0});
      if (entry.run->input_fd() >= 0) fds.push_back({entry.run->input_fd(), POLLIN, 0});
      until = std::min(until, entry.run->due());
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - EngineRun::Clock::now()).count();
    ::poll(fds.data(), fds.size(), static_cast<int>(std::max<long long>(left, 0)));
  }

  // Containers of launchers that were killed: nobody else knows of them.
  void sweep() const {
    auto list = client_.ask("GET", cat("/containers/json?all=1&filters=", url_escape(R"({"label":["hotcell.owner"]})")));
    if (!list.ok()) return;
    for (const auto& [id, owner] : json_labelled(list.value().body, "hotcell.owner"))
      if (is_of_the_dead(owner)) client_.ask("DELETE", cat("/containers/", url_escape(id), "?force=1&v=1")).ignore("the next one tries again");
  }

  // Asked once, and not again by who only reads the walls back and was told which.
  Result<void> choose_runtime() {
    const std::string setting = cat(backend_.name(), ".runtime"), said = options_.settings.get(setting);
    if (said.empty() && (kind_ != EngineKind::kDocker || !options_.posture)) return {};
    TRY_SET(std::string info, client_.demand("GET", "/info"));
    EngineRuntime found = engine_runtime(info, kind_, said);
    if (!found.known) return make_error(ErrorCode::kUnsupported, cat(backend_.name(), ": the engine knows no runtime ", printable(said)));
    runtime_ = found.name;
    own_kernel_ = found.own_kernel;
    if (!runtime_.empty()) options_.settings = options_.settings.with(setting, runtime_);
    return {};
  }

  Result<Posture> posture_of(const Policy& policy) {
    return postures_.of(backend_, policy, "", options_.patience,
                        [this] { return open_engine(backend_, {options_.waived, false, options_.settings, options_.patience}); });
  }

  const Backend& backend_;
  ToolOptions options_;
  EngineClient client_;
  EngineKind kind_;
  std::string runtime_;
  bool own_kernel_ = false;
  sys::Fd poll_, tick_;
  std::map<RunId, Entry> runs_;
  RunId last_ = 0;
  Postures postures_;
};

}  // namespace

Result<std::unique_ptr<Launcher>> open_engine(const Backend& backend, ToolOptions options) {
  EngineClient client(std::string(backend.name()), options.settings.get(cat(backend.name(), ".socket")));
  sweep_flat_folders();
  auto launcher = std::make_unique<EngineLauncher>(backend, std::move(options), std::move(client));
  TRY(launcher->open());
  return std::unique_ptr<Launcher>(std::move(launcher));
}

}  // namespace hotcell::backends
