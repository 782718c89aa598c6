#include "backends/leavings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/sha256.h"
#include "core/kernel/cgroup.h"
#include "sys/thread.h"

namespace hotcell::backends {
namespace {

constexpr std::size_t kMostBases = 8;

std::string key_of(const std::vector<Piece>& pieces) {
  Sha256 hash;
  for (const auto& p : pieces) {
    hash.add_field(p.name);
    hash.add_field(p.bytes);
    hash.add_number(static_cast<std::uint64_t>(p.kind));
    hash.add_number(p.mode);
  }
  return hash.finish_hex();
}

// What is busy for longer stays for the next launcher's sweep: it would not be by anything that was told to die.
void remove_busy_group(const std::string& name) {
  if (name.empty()) return;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!remove_group_everywhere(name) && std::chrono::steady_clock::now() < until) ::usleep(2000);
}

void clear_away(Leavings& leavings) {
  leavings.scratch.remove();
  remove_busy_group(leavings.group);
}

}  // namespace

Folders::~Folders() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<Scratch> Folders::take(unsigned id) {
  std::optional<Scratch> ahead;
  {
    std::lock_guard lock(mutex_);
    ++taken_;
    ahead.swap(next_);
  }
  if (!ahead) return Scratch::make(id);
  TRY(ahead->give(id));
  return *std::move(ahead);
}

void Folders::leave(Leavings leavings) {
  if (!thread_.joinable()) {
    auto thread = sys::quiet_thread([this] { work(); });
    if (!thread.ok()) return clear_away(leavings);   // whoever comes next waits for it
    thread_ = std::move(thread).value();
  }
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(leavings));
  }
  wake_.notify_one();
}

void Folders::work() {
  for (;;) {
    std::vector<Leavings> now;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      now.swap(jobs_);
    }
    for (auto& job : now) clear_away(job);
    {
      std::lock_guard lock(mutex_);
      if (stop_ || next_ || taken_ < 2) continue;
    }
    auto made = Scratch::make(0);
    std::lock_guard lock(mutex_);
    if (made.ok()) next_ = std::move(made).value();
  }
}

Result<std::shared_ptr<const Scratch>> Bases::of(const std::vector<Piece>& pieces) {
  std::string key = key_of(pieces);
  auto it = std::find_if(known_.begin(), known_.end(), [&](const auto& k) { return k.first == key; });
  if (it != known_.end()) {
    std::rotate(it, it + 1, known_.end());
    return known_.back().second;
  }
  TRY_SET(Scratch made, Scratch::make(0));
  // Others pass through; nobody but us can list or write it.
  if (::chmod(made.path().c_str(), 0711) < 0) return errno_error(made.path(), errno);
  TRY(made.write(pieces));
  if (known_.size() >= kMostBases) known_.erase(known_.begin());
  known_.emplace_back(std::move(key), std::make_shared<const Scratch>(std::move(made)));
  return known_.back().second;
}

}  // namespace hotcell::backends
