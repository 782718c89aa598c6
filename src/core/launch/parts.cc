#include "core/launch/parts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/policy/same_cell.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostKept = 16;
// Under load the kernel takes some milliseconds to give back what was charged to one; when all is quiet, fewer do.
constexpr std::size_t kMostSpareCgroups = 32, kQuietSpareCgroups = 8;
constexpr unsigned kSpareNets = 2;
constexpr auto kFreshFor = std::chrono::milliseconds(10);  // a dozen lstat: not for each of a thousand requests a second

bool fresh(const Plan& plan) {
  for (const auto& source : plan.builder.sources()) {
    struct stat st;
    if (::lstat(source.path.c_str(), &st) < 0 || st.st_dev != source.dev || st.st_ino != source.ino) return false;
  }
  return true;
}

}  // namespace

void Parts::open(const Host* host, int init_fd, BackendKind backend) {
  host_ = host;
  init_fd_ = init_fd;
  backend_ = backend;
  mount_table_ = sys::Fd(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
}

bool Parts::up_to_date(Kept& kept) {
  auto now = std::chrono::steady_clock::now();
  if (now - kept.looked <= kFreshFor) return true;
  // A template has copies of the mounts below /usr: it would go on showing what the host has unmounted.
  pollfd table{mount_table_.get(), POLLPRI, 0};
  if (::poll(&table, 1, 0) > 0 && (table.revents & (POLLPRI | POLLERR))) ++mounts_;
  if (kept.mounts == 0) kept.mounts = mounts_;
  if (kept.mounts != mounts_ || !fresh(*kept.plan)) return false;
  kept.looked = now;
  return true;
}

Result<std::shared_ptr<Kept>> Parts::plan_for(const Policy& policy) {
  // A plan with grants looks at paths that may have changed since, and holds them open; a flat one names one cell's folder; a device's
  // node is one cell's own.
  bool native = backend_ == BackendKind::kNative;
  bool keep = native && policy.filesystem.grants.empty() && policy.filesystem.deny.empty() && policy.syscalls.oci_file.empty() && !policy.lasting && !host_->kvm_device;
  for (std::size_t i = kept_.size(); keep && i-- > 0;) {
    if (!same_cell(kept_[i]->plan->policy, policy)) continue;
    if (!up_to_date(*kept_[i])) {
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    std::rotate(kept_.begin() + static_cast<std::ptrdiff_t>(i), kept_.begin() + static_cast<std::ptrdiff_t>(i) + 1, kept_.end());
    return kept_.back();
  }
  auto kept = std::make_shared<Kept>();
  TRY_SET(kept->plan, make_plan(policy, *host_, backend_, native ? PlanPurpose::kRun : PlanPurpose::kExplain));
  kept->no_template = !keep || !Template::suits(*kept->plan, *host_);
  if (!keep) return kept;
  up_to_date(*kept);
  if (kept_.size() >= kMostKept) kept_.erase(kept_.begin());
  kept_.push_back(kept);
  return kept;
}

void Parts::make_template(Kept& kept) {
  if (kept.from && kept.from->dead()) kept.from.reset();
  if (kept.from || kept.no_template) return;
  if (auto made = Template::create(*kept.plan, *host_, init_fd_)) kept.from = std::move(made).value();
  else kept.no_template = true;
}

CellParts Parts::for_cell(Kept& kept, bool soon_more) {
  if (++kept.uses > 1 || soon_more) make_template(kept);
  CellParts parts;
  parts.from = kept.from;
  parts.will_wait = soon_more;
  for (auto it = spare_.begin(); it != spare_.end(); ++it)
    if ((*it)->limits() == group_limits(kept.plan->policy.limits, kept.plan->backend) && (*it)->at_rest()) {
      parts.cgroup = std::move(*it);
      spare_.erase(it);
      break;
    }
  return parts;
}

void Parts::clear_away() {
  std::erase_if(leaving_, [this](CellLeavings& l) {
    // One launcher that runs one program does it itself, and has nobody to keep waiting.
    if (l.mounts.valid() && l.from) l.unmounted = undertaker_.bury(std::move(l.mounts));
    l.mounts.reset();
    if (l.from && l.net >= 0) l.from->give_back(std::exchange(l.net, -1));
    if (l.unmounted && !l.unmounted->load()) return false;
    if (!l.cgroup) return true;
    if (l.cgroup->spoilt()) return l.cgroup->remove();
    spare_.push_back(std::exchange(l.cgroup, nullptr));
    if (spare_.size() <= kMostSpareCgroups) return true;
    l.cgroup = std::move(spare_.front());  // it has waited longest, and if it is still not at rest never will be
    spare_.erase(spare_.begin());
    return l.cgroup->remove();
  });
}

bool Parts::wants_idle_work() const {
  return spare_.size() > kQuietSpareCgroups || std::any_of(kept_.begin(), kept_.end(), [](const auto& k) { return k->from && (k->from->has_news() || k->from->wants_net(kSpareNets)); });
}

void Parts::idle_work() {
  if (spare_.size() > kQuietSpareCgroups) return drop_spare();
  for (const auto& k : kept_) {
    if (k->from && k->from->has_news()) return k->from->flush();
    if (k->from && k->from->wants_net(kSpareNets)) return k->from->stock_net();
  }
}

void Parts::drop_spare() {
  std::unique_ptr<Cgroup> oldest = std::move(spare_.front());
  spare_.erase(spare_.begin());
  if (!oldest->remove()) leaving_.push_back({{}, std::move(oldest), {}});
}

void Parts::trim() {
  clear_away();
  kept_.clear();
  while (!spare_.empty()) drop_spare();
}

void Parts::close() {
  trim();
  for (int i = 0; i < 100 && !leaving_.empty(); ++i) {
    trim();
    if (!leaving_.empty()) ::usleep(1000);
  }
}

}  // namespace hotcell
