#include "core/launch/file_watch.h"

#include <fcntl.h>

#include <algorithm>

#include "base/strings.h"
#include "core/launch/file_judge.h"

namespace hotcell {

FileWatch::FileWatch(int pid, BackendKind backend) {
  if (backend != BackendKind::kNative) {
    root_ = sys::Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return;
  }
  root_ = sys::Fd(::open(cat("/proc/", pid, "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // The root alone would not do: with its namespace the mounts below it go.
  mounts_ = sys::Fd(::open(cat("/proc/", pid, "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  if (!root_.valid() || !mounts_.valid()) complete_ = false;
}

void FileWatch::add(std::vector<NamedFile> files) {
  any_read_ = true;
  for (auto& f : files) {
    auto it = seen_.find(f.path);
    if (it == seen_.end()) {
      if (seen_.size() == kMostNames || bytes_ + f.path.size() > kMostBytes) {
        complete_ = false;
        continue;
      }
      bytes_ += f.path.size();
      it = seen_.emplace(std::move(f.path), Seen{0, f.follow, f.call, 0, seen_.size()}).first;
    }
    Seen& s = it->second;
    if (f.wishes > s.wishes) s.call = f.call;
    s.wishes |= f.wishes;
    s.follow = s.follow || f.follow;
    ++s.count;
  }
}

void FileWatch::miss() {
  // Until the program's own first instruction it is our init that calls, whose memory may be closed to us.
  if (any_read_) complete_ = false;
}

std::vector<Denial> FileWatch::judge(const Plan& plan) {
  struct Found {
    Denial denial;
    Wishes wishes;
    std::size_t order;
  };
  std::vector<Found> found;
  for (const auto& [path, s] : seen_) {
    auto denial = judge_file(plan, root_.get(), {path, s.wishes, s.follow, s.call});
    if (!denial) continue;
    denial->count = s.count;
    found.push_back({*std::move(denial), s.wishes, s.order});
  }
  seen_.clear();
  root_.reset();
  mounts_.reset();
  // A name that was only looked at may have been a mere question; those it wanted to open come first.
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    const bool a_looked = a.wishes == kWantsLook, b_looked = b.wishes == kWantsLook;
    return a_looked != b_looked ? b_looked : a.order < b.order;
  });
  if (found.size() > kMostDenials) {
    complete_ = false;
    found.resize(kMostDenials);
  }
  std::vector<Denial> out;
  for (auto& f : found) out.push_back(std::move(f.denial));
  return out;
}

}  // namespace hotcell
