// What is there before a request comes and after it has gone: plans that serve again, their templates, cgroups that can
// be taken once more, and what dead cells leave behind.
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "core/launch/cell.h"
#include "core/launch/plan.h"
#include "core/launch/undertaker.h"

namespace hotcell {

// A plan that serves more than one request.
struct Kept {
  std::shared_ptr<Plan> plan;
  std::shared_ptr<Template> from;
  unsigned uses = 0, mounts = 0;  // generation of the host's mount table
  std::chrono::steady_clock::time_point looked{};  // at the files it shows
  bool no_template = false;  // it cannot or could not be made: cells are made in one go, and meet the error if there is one
};

class Parts {
 public:
  void open(const Host* host, int init_fd, BackendKind backend);

  // One for the same cell (same_cell). Made anew when a file that it shows has been replaced on the host since, or
  // something was mounted there.
  Result<std::shared_ptr<Kept>> plan_for(const Policy& policy);
  bool up_to_date(Kept& kept);
  // A template is made for the second request: one alone would only wait longer for it.
  CellParts for_cell(Kept& kept, bool soon_more);
  void make_template(Kept& kept);

  void leave(CellLeavings leavings) { leaving_.push_back(std::move(leavings)); }
  bool nothing_leaving() const { return leaving_.empty(); }
  std::size_t leaving() const { return leaving_.size(); }
  void clear_away();   // a cgroup stays busy for a moment after its last process
  bool wants_idle_work() const;
  void idle_work();    // one piece
  void trim();
  void close();        // waits for what is leaving

 private:
  const Host* host_ = nullptr;
  int init_fd_ = -1;
  BackendKind backend_ = BackendKind::kNative;
  std::vector<std::shared_ptr<Kept>> kept_;  // the last used comes last
  void drop_spare();
  std::vector<std::unique_ptr<Cgroup>> spare_;  // the one that was used last comes last
  std::vector<CellLeavings> leaving_;
  Undertaker undertaker_;
  sys::Fd mount_table_;
  unsigned mounts_ = 1;
};

}  // namespace hotcell
