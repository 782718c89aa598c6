// One folder per hierarchy. The child moves itself (cgroup_apply.cc); nothing here migrates a process.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/strings.h"
#include "core/kernel/cgroup.h"
#include "core/kernel/cgroup_files.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell {
namespace {

// A file of a group. One that has been read holds a page of the kernel's besides, until it is closed.
class File {
 public:
  Result<void> open(int dir, const char* name, int flags = O_RDONLY) {
    dir_ = dir;
    name_ = name;
    flags_ = flags;
    return open();
  }
  Result<void> open() {
    if (open_.valid() || dir_ < 0) return {};  // no directory: this host has no such controller
    open_ = sys::Fd(::openat(dir_, name_, flags_ | O_CLOEXEC));
    if (!open_.valid()) return errno_error(name_, errno);
    return {};
  }
  void close() { open_.reset(); }
  int fd() {
    used_ = true;
    return open_.get();
  }
  bool used() { return std::exchange(used_, false); }

 private:
  int dir_ = -1;
  const char* name_ = nullptr;
  int flags_ = 0;
  bool used_ = false;
  sys::Fd open_;
};

struct Hierarchy {
  std::vector<std::string> controllers;  // several where they are mounted together (cpu,cpuacct)
  std::string path;
  sys::Fd dir;
  File tasks;
};

// What the account reads, all open before a program starts: it waits for reads only, and none is missed for want of a descriptor.
struct Counters {
  File cpu, cpu_user, cpu_system, memory, memory_peak, memory_stat, oom, tasks, tasks_peak, refused;

  template <typename Do>
  void each(Do act) {
    for (File* f : {&cpu, &cpu_user, &cpu_system, &memory, &memory_peak, &memory_stat, &oom, &tasks, &tasks_peak, &refused}) act(*f);
  }
};

constexpr std::uint64_t kLeastTasks = 2;            // init and the program
constexpr std::uint64_t kLeftOver = 512 << 10;      // kernel memory that is freed a little later
constexpr std::uint64_t kPerCpu = 256 << 10;        // charged ahead by the kernel, and there for the next cell as well

class CgroupV1 final : public Cgroup {
 public:
  ~CgroupV1() override { remove(); }

  Result<void> create(const CgroupHost& host, const std::string& name, const Limits& limits) {
    limits_ = limits;
    name_ = name;
    for (const auto& c : host.v1)
      if (c.name == "freezer") freezer_folder_ = c.folder;
    for (const auto& j : host.joined(limits.cpus > 0)) {
      Hierarchy h;
      h.controllers = j.controllers;
      h.path = cat(j.folder, "/", name);
      TRY(make_cgroup_folder(j.folder, h.path));
      made_.push_back(h.path);
      TRY_SET(h.dir, sys::open(h.path.c_str(), O_RDONLY | O_DIRECTORY));
      TRY(h.tasks.open(h.dir.get(), "tasks", O_WRONLY));
      hierarchies_.push_back(std::move(h));
    }
    if (const Hierarchy* m = find("memory")) {
      std::string ceiling = cat(limits.memory.n + limits.disk.n);
      TRY(sys::write_file_at(m->dir.get(), "memory.limit_in_bytes", ceiling));
      // Swap would only turn a kill into a crawl. The file is missing where swap accounting is off: there is none then.
      if (auto swap = sys::write_file_at(m->dir.get(), "memory.memsw.limit_in_bytes", ceiling); !swap && swap.error().err != ENOENT)
        return std::move(swap).error();
      TRY(watch_memory(*m));
      TRY(counters_.memory.open(m->dir.get(), "memory.usage_in_bytes"));
      TRY(counters_.memory_peak.open(m->dir.get(), "memory.max_usage_in_bytes", O_RDWR));
      TRY(counters_.memory_stat.open(m->dir.get(), "memory.stat"));
      TRY(counters_.oom.open(m->dir.get(), "memory.oom_control"));
    }
    if (const Hierarchy* a = find("cpuacct")) {
      TRY(counters_.cpu.open(a->dir.get(), "cpuacct.usage"));
      TRY(counters_.cpu_user.open(a->dir.get(), "cpuacct.usage_user"));
      TRY(counters_.cpu_system.open(a->dir.get(), "cpuacct.usage_sys"));
    }
    if (const Hierarchy* p = find("pids")) {
      TRY(sys::write_file_at(p->dir.get(), "pids.max", most_tasks(limits)));  // and init
      TRY(counters_.tasks.open(p->dir.get(), "pids.current"));
      if (auto since_6_11 = counters_.tasks_peak.open(p->dir.get(), "pids.peak"); !since_6_11) {
        if (since_6_11.error().err != ENOENT) return since_6_11;
        counters_.tasks_peak = {};
      }
      TRY(counters_.refused.open(p->dir.get(), "pids.events"));
    }
    if (const Hierarchy* c = find("cpu")) {
      TRY(sys::write_file_at(c->dir.get(), "cpu.cfs_period_us", "100000"));
      TRY(sys::write_file_at(c->dir.get(), "cpu.cfs_quota_us", cat(static_cast<std::uint64_t>(limits.cpus * 100000))));
    }
    return {};
  }

  int clone_fd() const override { return -1; }
  std::vector<int> tasks_fds() override {
    std::vector<int> out;
    for (auto& h : hierarchies_) {
      h.tasks.open().ignore("whoever is to join says so");
      out.push_back(h.tasks.fd());
    }
    return out;
  }

  Result<void> start_counting() override {
    accounted_ = false;
    Result<void> there;
    counters_.each([&](File& f) { if (there.ok()) there = f.open(); });
    TRY(std::move(there));
    if (find("memory") != nullptr && ::pwrite(counters_.memory_peak.fd(), "0", 1, 0) != 1) return errno_error("reset memory peak", errno);
    base_cpu_ = read_number_fd(counters_.cpu.fd());
    base_user_ = read_number_fd(counters_.cpu_user.fd());
    base_system_ = read_number_fd(counters_.cpu_system.fd());
    return {};
  }

  void rest() override {
    for (auto& h : hierarchies_) h.tasks.close();
    counters_.each([](File& f) {
      if (!f.used()) return;
      f.close();
      f.open().ignore("start_counting() does it, or says why not");
    });
  }

  CgroupSample cheap_sample(Bytes unless_below) override {
    CgroupSample s;
    s.cpu = Nanoseconds(read_number_fd(counters_.cpu.fd()) - base_cpu_);
    if (find("pids") != nullptr) s.tasks = static_cast<std::uint32_t>(read_number_fd(counters_.tasks.fd()));
    if (find("memory") != nullptr) {
      s.memory = {read_number_fd(counters_.memory.fd())};
      if (s.memory >= unless_below) {
        auto [anonymous, shared] = read_fields_fd(counters_.memory_stat.fd(), "rss", "shmem");
        s.anonymous = {anonymous};
        s.shared = {shared};
      }
    }
    return s;
  }

  CgroupSample full_sample() override {
    CgroupSample s;
    s.cpu = Nanoseconds(read_number_fd(counters_.cpu.fd()) - base_cpu_);
    s.cpu_user = Nanoseconds(read_number_fd(counters_.cpu_user.fd()) - base_user_);
    s.cpu_system = Nanoseconds(read_number_fd(counters_.cpu_system.fd()) - base_system_);
    s.memory_peak = {read_number_fd(counters_.memory_peak.fd())};
    s.oom_kills = read_field_fd(counters_.oom.fd(), "oom_kill");
    auto peak = read_number_fd(counters_.tasks_peak.fd());
    s.tasks_peak = peak > 1 ? static_cast<std::uint32_t>(peak - 1) : 0;
    s.pids_refused = read_field_fd(counters_.refused.fd(), "max");
    accounted_ = true;
    grew_ = peak > kLeastTasks || s.pids_refused != 0 || s.oom_kills != 0;
    return s;
  }

  int memory_event_fd() const override { return event_.get(); }

  void kill_all() override {
    for (const auto& h : hierarchies_) kill_members(h.dir.get());
  }

  Result<void> freeze(bool frozen) override {
    if (freezer_folder_.empty()) return make_error(ErrorCode::kUnsupported, "no freezer hierarchy is writable here");
    if (!freezer_.valid() && !frozen) return {};
    if (!freezer_.valid()) {
      TRY(make_cgroup_folder(freezer_folder_, cat(freezer_folder_, "/", name_)).context("freezer"));
      made_.push_back(cat(freezer_folder_, "/", name_));
      TRY_SET(freezer_, sys::open(made_.back().c_str(), O_RDONLY | O_DIRECTORY));
    }
    TRY(sys::write_file_at(freezer_.get(), "freezer.state", frozen ? "FROZEN" : "THAWED"));
    if (!frozen) return {};
    auto moved = move_into_freezer();
    // Who is told that it cannot be frozen does without: nothing is left half frozen for ever.
    if (!moved.ok()) sys::write_file_at(freezer_.get(), "freezer.state", "THAWED").ignore("the failure is told");
    if (moved.ok()) wait_until_frozen([&] { return has_line(freezer_.get(), "freezer.state", "FROZEN"); });
    return moved;
  }

  void reclaim() override {
    const Hierarchy* m = find("memory");
    if (m == nullptr) return;
    if (auto file = sys::open_at(m->dir.get(), "memory.force_empty", O_WRONLY); file.ok()) reclaim_by(std::move(file).value(), "0");
  }

  bool spoilt() override {
    if (removing_ || freezer_.valid()) return true;  // part of it may be gone
    // Counters that cannot be set back must be where a cell that did nothing would have left them.
    if (counters_.tasks_peak.fd() < 0) return true;
    if (!accounted_) full_sample();  // the account of one whose processes are dead is its last
    accounted_ = false;
    return grew_;
  }

  bool at_rest() override {
    // What cannot be opened again is there no more.
    for (auto& h : hierarchies_)
      if (!h.tasks.open().ok()) return false;
    if (!counters_.tasks.open().ok() || !counters_.memory.open().ok()) return false;
    if (read_number_fd(counters_.tasks.fd()) != 0) return false;
    static const auto cpus = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    return find("memory") == nullptr || read_number_fd(counters_.memory.fd()) <= kLeftOver + std::min<std::uint64_t>(cpus, 8) * kPerCpu;
  }

  bool remove() override {
    removing_ = true;
    bool all = true;
    for (auto& path : made_) {
      if (path.empty()) continue;
      if (remove_empty_groups(path)) path.clear();
      else all = false;
    }
    return all;
  }

 private:
  // It is joined only when it is wanted: the processes are there by then and move in, each to be frozen as it arrives.
  // Who was forked meanwhile is found in the next round; those inside fork no more. Who is on its way out does not move and does nothing
  // more, but is listed until it is out, which may take longer than all rounds: nobody is waited for twice.
  Result<void> move_into_freezer() {
    std::set<std::string> tried;
    for (int round = 0; round < 100; ++round) {
      auto inside = members(freezer_.get()), all = members(hierarchies_.front().dir.get());
      bool moved = false;
      for (const auto& pid : all) {
        if (std::find(inside.begin(), inside.end(), pid) != inside.end() || !tried.insert(pid).second) continue;
        moved = true;
        if (auto r = sys::write_file_at(freezer_.get(), "cgroup.procs", pid); !r && r.error().err != ESRCH) return std::move(r).error();
      }
      if (!moved) return {};
    }
    return make_error(ErrorCode::kIo, "its processes multiply faster than they can be frozen");
  }

  static std::vector<std::string> members(int dir) {
    std::vector<std::string> out;
    auto fd = sys::open_at(dir, "cgroup.procs", O_RDONLY);
    if (!fd) return out;
    auto text = sys::read_fd(fd.value().get());
    if (!text) return out;
    for (auto line : split(text.value(), '\n'))
      if (!line.empty()) out.emplace_back(line);
    return out;
  }

  const Hierarchy* find(std::string_view controller) const {
    for (const auto& h : hierarchies_)
      if (std::find(h.controllers.begin(), h.controllers.end(), controller) != h.controllers.end()) return &h;
    return nullptr;
  }

  // The kernel's own out-of-memory only. A threshold on usage would tell of `memory` exactly, but registering one waits
  // for an RCU grace period (13 ms here), so the supervisor samples instead.
  Result<void> watch_memory(const Hierarchy& m) {
    event_ = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event_.valid()) return errno_error("eventfd", errno);
    TRY_SET(sys::Fd oom, sys::open_at(m.dir.get(), "memory.oom_control", O_RDONLY));
    return sys::write_file_at(m.dir.get(), "cgroup.event_control", cat(event_.get(), " ", oom.get()));
  }

  std::vector<Hierarchy> hierarchies_;
  std::vector<std::string> made_;
  Counters counters_;
  sys::Fd event_, freezer_;
  std::string freezer_folder_;
  bool removing_ = false;
  bool accounted_ = false, grew_ = false;  // since it last served: the last word on what cannot be set back, and that word
  std::uint64_t base_cpu_ = 0, base_user_ = 0, base_system_ = 0;
};

}  // namespace

Result<std::unique_ptr<Cgroup>> create_cgroup_v1(const CgroupHost& host, const std::string& name, const Limits& limits) {
  auto group = std::make_unique<CgroupV1>();
  TRY(group->create(host, name, limits).context("cgroup"));
  return std::unique_ptr<Cgroup>(std::move(group));
}

}  // namespace hotcell
