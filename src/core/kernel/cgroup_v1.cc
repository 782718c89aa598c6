// One folder per hierarchy. The child moves itself (cgroup_apply.cc); nothing here migrates a process.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/cgroup.h"
#include "core/kernel/cgroup_files.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell {
namespace {

struct Hierarchy {
  std::string controller, path;
  sys::Fd dir, tasks;
};

class CgroupV1 final : public Cgroup {
 public:
  ~CgroupV1() override { remove(); }

  Result<void> create(const CgroupHost& host, const std::string& name, const Limits& limits) {
    for (const auto& c : host.v1) {
      if (c.name == "freezer") continue;                   // made by freeze(), which one-shot cells never need
      if (c.name == "cpu" && limits.cpus <= 0) continue;
      Hierarchy h;
      h.controller = c.name;
      h.path = cat(c.folder, "/", name);
      TRY(make_cgroup_folder(c.folder, h.path));
      made_.push_back(h.path);
      TRY_SET(h.dir, sys::open(h.path.c_str(), O_RDONLY | O_DIRECTORY));
      TRY_SET(h.tasks, sys::open_at(h.dir.get(), "tasks", O_WRONLY));
      hierarchies_.push_back(std::move(h));
    }
    if (const Hierarchy* m = find("memory")) {
      std::string ceiling = cat(limits.memory.n + limits.disk.n);
      TRY(sys::write_file_at(m->dir.get(), "memory.limit_in_bytes", ceiling));
      // Swap would only turn a kill into a crawl. The file is missing where swap accounting is off: there is none then.
      if (auto swap = sys::write_file_at(m->dir.get(), "memory.memsw.limit_in_bytes", ceiling); !swap && swap.error().err != ENOENT)
        return std::move(swap).error();
      TRY(watch_memory(*m));
    }
    if (const Hierarchy* p = find("pids")) TRY(sys::write_file_at(p->dir.get(), "pids.max", cat(limits.processes + 1)));  // and init
    if (const Hierarchy* c = find("cpu")) {
      TRY(sys::write_file_at(c->dir.get(), "cpu.cfs_period_us", "100000"));
      TRY(sys::write_file_at(c->dir.get(), "cpu.cfs_quota_us", cat(static_cast<std::uint64_t>(limits.cpus * 100000))));
    }
    return {};
  }

  int clone_fd() const override { return -1; }
  std::vector<int> tasks_fds() const override {
    std::vector<int> out;
    for (const auto& h : hierarchies_) out.push_back(h.tasks.get());
    return out;
  }

  Result<void> start_counting() override {
    if (const Hierarchy* m = find("memory")) TRY(sys::write_file_at(m->dir.get(), "memory.max_usage_in_bytes", "0"));
    if (const Hierarchy* c = find("cpuacct")) {
      base_cpu_ = read_number(c->dir.get(), "cpuacct.usage");
      base_user_ = read_number(c->dir.get(), "cpuacct.usage_user");
      base_system_ = read_number(c->dir.get(), "cpuacct.usage_sys");
    }
    return {};
  }

  CgroupSample cheap_sample() override {
    CgroupSample s;
    if (const Hierarchy* c = find("cpuacct")) s.cpu = Nanoseconds(read_number(c->dir.get(), "cpuacct.usage") - base_cpu_);
    if (const Hierarchy* p = find("pids")) s.tasks = static_cast<std::uint32_t>(read_number(p->dir.get(), "pids.current"));
    if (const Hierarchy* m = find("memory")) {
      s.memory = {read_number(m->dir.get(), "memory.usage_in_bytes")};
      s.anonymous = {read_field(m->dir.get(), "memory.stat", "rss")};
    }
    return s;
  }

  CgroupSample full_sample() override {
    CgroupSample s;
    if (const Hierarchy* c = find("cpuacct")) {
      s.cpu = Nanoseconds(read_number(c->dir.get(), "cpuacct.usage") - base_cpu_);
      s.cpu_user = Nanoseconds(read_number(c->dir.get(), "cpuacct.usage_user") - base_user_);
      s.cpu_system = Nanoseconds(read_number(c->dir.get(), "cpuacct.usage_sys") - base_system_);
    }
    if (const Hierarchy* m = find("memory")) {
      s.memory_peak = {read_number(m->dir.get(), "memory.max_usage_in_bytes")};
      s.oom_kills = read_field(m->dir.get(), "memory.oom_control", "oom_kill");
    }
    if (const Hierarchy* p = find("pids")) {
      auto peak = read_number(p->dir.get(), "pids.peak");
      s.tasks_peak = peak > 1 ? static_cast<std::uint32_t>(peak - 1) : 0;
      s.pids_refused = read_field(p->dir.get(), "pids.events", "max");
    }
    return s;
  }

  int memory_event_fd() const override { return event_.get(); }

  void kill_all() override {
    for (const auto& h : hierarchies_) kill_members(h.dir.get());
  }

  Result<void> freeze(bool) override {
    return make_error(ErrorCode::kUnsupported, "one-shot cells are not frozen");
  }

  bool remove() override {
    bool all = true;
    for (auto& path : made_) {
      if (path.empty()) continue;
      if (::rmdir(path.c_str()) == 0 || errno == ENOENT) path.clear();
      else all = false;
    }
    return all;
  }

 private:
  const Hierarchy* find(std::string_view controller) const {
    for (const auto& h : hierarchies_)
      if (h.controller == controller) return &h;
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
  sys::Fd event_;
  std::uint64_t base_cpu_ = 0, base_user_ = 0, base_system_ = 0;
};

}  // namespace

Result<std::unique_ptr<Cgroup>> create_cgroup_v1(const CgroupHost& host, const std::string& name, const Limits& limits) {
  auto group = std::make_unique<CgroupV1>();
  TRY(group->create(host, name, limits).context("cgroup"));
  return std::unique_ptr<Cgroup>(std::move(group));
}

}  // namespace hotcell
