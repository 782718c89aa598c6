#include "manager/strong_tier.h"

namespace hotcell {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // for a process to be started
constexpr auto kRest = std::chrono::seconds(60);      // before an idle one is let go

}  // namespace

StrongTier::StrongTier(Loop& loop, std::size_t most, std::function<void()> want) : loop_(loop), want_(std::move(want)), workers_(most) {}

StrongTier::~StrongTier() { *alive_ = false; }

void StrongTier::attach(std::unique_ptr<RemoteLauncher> launcher) {
  patience_.reset();
  workers_.use(nullptr);
  launcher_ = std::move(launcher);
  workers_.use(launcher_.get());
  for (auto& task : std::exchange(waiting_, {})) begin(std::move(task));
  if (busy_ == 0) ended();
}

void StrongTier::refuse(const Error& why) {
  patience_.reset();
  for (auto& task : std::exchange(waiting_, {})) task(why);
}

void StrongTier::run(Workers::Task task) {
  if (is_there()) return begin(std::move(task));
  waiting_.push_back(std::move(task));
  if (waiting_.size() > 1) return;  // asked for already
  patience_ = loop_.after(kPatience, [this] { refuse(make_error(ErrorCode::kInternal, "the launcher of the strong tier does not start")); });
  if (want_) want_();
}

// One that has died meanwhile is known by its closed connection.
bool StrongTier::is_there() {
  if (!launcher_) return false;
  launcher_->step(std::chrono::milliseconds(0)).ignore("a lost connection is seen below");
  if (launcher_->connected()) return true;
  workers_.use(nullptr);
  launcher_.reset();
  return false;
}

void StrongTier::begin(Workers::Task task) {
  rest_.reset();
  ++busy_;
  workers_.run([this, alive = alive_, task = std::move(task)](Result<Workers::Tools*> tools) {
    task(std::move(tools));
    loop_.post([this, alive] {
      if (!*alive) return;
      --busy_;
      ended();
    });
  });
}

void StrongTier::ended() {
  if (busy_ > 0) return;
  rest_ = loop_.after(kRest, [this] {
    workers_.use(nullptr);
    launcher_.reset();
  });
}

}  // namespace hotcell
