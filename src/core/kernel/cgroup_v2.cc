// One folder, controllers enabled on the way down, the child born inside it (CLONE_INTO_CGROUP).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "core/kernel/cgroup.h"
#include "core/kernel/cgroup_files.h"
#include "sys/file.h"

namespace hotcell {
namespace {

class CgroupV2 final : public Cgroup {
 public:
  ~CgroupV2() override { remove(); }

  Result<void> create(const CgroupHost& host, const std::string& name, const Limits& limits) {
    name_ = name;
    path_ = cat(host.v2_folder, "/", name);
    TRY(make_cgroup_folder(host.v2_folder, path_));
    made_ = true;
    TRY_SET(dir_, sys::open(path_.c_str(), O_RDONLY | O_DIRECTORY));
    // Its files appear when the folders above hand their controllers down, which they do ever after.
    for (auto [wanted, file] : {std::pair{host.memory, "memory.max"}, std::pair{host.pids, "pids.max"}, std::pair{host.cpu, "cpu.max"}})
      if (wanted && ::faccessat(dir_.get(), file, F_OK, 0) < 0) {
        TRY(enable_controllers(host));
        break;
      }
    if (host.memory) {
      TRY(sys::write_file_at(dir_.get(), "memory.max", cat(limits.memory.n + limits.disk.n)));
      if (auto swap = sys::write_file_at(dir_.get(), "memory.swap.max", "0"); !swap && swap.error().err != ENOENT)
        return std::move(swap).error();
      TRY(sys::write_file_at(dir_.get(), "memory.oom.group", "1"));
    }
    if (host.pids) TRY(sys::write_file_at(dir_.get(), "pids.max", most_tasks(limits)));  // and init
    if (host.cpu && limits.cpus > 0)
      TRY(sys::write_file_at(dir_.get(), "cpu.max", cat(static_cast<std::uint64_t>(limits.cpus * 100000), " 100000")));
    return {};
  }

  int clone_fd() const override { return dir_.get(); }
  std::vector<int> tasks_fds() override { return {}; }
  void rest() override {}

  Result<void> start_counting() override {
    base_cpu_ = read_field(dir_.get(), "cpu.stat", "usage_usec");
    base_user_ = read_field(dir_.get(), "cpu.stat", "user_usec");
    base_system_ = read_field(dir_.get(), "cpu.stat", "system_usec");
    base_shared_ = memory_now().second;  // it was born in here, and its root was made of tmpfs
    // Since 6.12 a peak can be reset, seen through the descriptor that reset it; before, it includes set-up.
    if (auto fd = sys::open_at(dir_.get(), "memory.peak", O_RDWR); fd.ok() && ::write(fd.value().get(), "0", 1) == 1)
      peak_ = std::move(fd).value();
    return {};
  }

  CgroupSample cheap_sample(Bytes unless_below) override {
    CgroupSample s;
    s.cpu = std::chrono::microseconds(read_field(dir_.get(), "cpu.stat", "usage_usec") - base_cpu_);
    s.tasks = static_cast<std::uint32_t>(read_number(dir_.get(), "pids.current"));
    s.memory = {read_number(dir_.get(), "memory.current")};
    if (s.memory < unless_below) return s;
    auto [anonymous, shared] = memory_now();
    s.anonymous = {anonymous};
    s.shared = {shared > base_shared_ ? shared - base_shared_ : 0};
    return s;
  }

  CgroupSample full_sample() override {
    CgroupSample s;
    s.cpu = std::chrono::microseconds(read_field(dir_.get(), "cpu.stat", "usage_usec") - base_cpu_);
    s.cpu_user = std::chrono::microseconds(read_field(dir_.get(), "cpu.stat", "user_usec") - base_user_);
    s.cpu_system = std::chrono::microseconds(read_field(dir_.get(), "cpu.stat", "system_usec") - base_system_);
    s.memory_peak = {peak_.valid() ? read_number_fd(peak_.get()) : read_number(dir_.get(), "memory.peak")};
    s.oom_kills = read_field(dir_.get(), "memory.events", "oom_kill");
    auto peak = read_number(dir_.get(), "pids.peak");
    s.tasks_peak = peak > 1 ? static_cast<std::uint32_t>(peak - 1) : 0;
    s.pids_refused = read_field(dir_.get(), "pids.events", "max");
    return s;
  }

  int memory_event_fd() const override { return -1; }

  void kill_all() override {
    if (!sys::write_file_at(dir_.get(), "cgroup.kill", "1").ok()) kill_members(dir_.get());  // before 5.14
  }

  Result<void> freeze(bool frozen) override {
    TRY(sys::write_file_at(dir_.get(), "cgroup.freeze", frozen ? "1" : "0"));
    if (frozen) wait_until_frozen([&] { return has_line(dir_.get(), "cgroup.events", "frozen 1"); });
    return {};
  }

  void reclaim() override {
    if (auto file = sys::open_at(dir_.get(), "memory.reclaim", O_WRONLY); file.ok())
      reclaim_by(std::move(file).value(), cat(read_number(dir_.get(), "memory.current")));
  }

  bool spoilt() override { return true; }  // the peaks of most kernels cannot be set back; making one costs 56 us
  bool at_rest() override { return false; }

  bool remove() override {
    if (made_ && (::rmdir(path_.c_str()) == 0 || errno == ENOENT)) made_ = false;
    return !made_;
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> memory_now() const {
    sys::Fd fd(::openat(dir_.get(), "memory.stat", O_RDONLY | O_CLOEXEC));
    return fd.valid() ? read_fields_fd(fd.get(), "anon", "shmem") : std::pair<std::uint64_t, std::uint64_t>();
  }

  static Result<void> enable_controllers(const CgroupHost& host) {
    std::string parent = host.v2_folder.substr(0, host.v2_folder.rfind('/'));
    for (const std::string& folder : {parent, host.v2_folder})
      for (std::string_view want : {"+memory", "+pids", "+cpu"}) {
        bool there = (want == "+memory" && host.memory) || (want == "+pids" && host.pids) || (want == "+cpu" && host.cpu);
        if (there) TRY(sys::write_file(cat(folder, "/cgroup.subtree_control").c_str(), want));
      }
    return {};
  }

  std::string path_;
  sys::Fd dir_, peak_;
  bool made_ = false;
  std::uint64_t base_cpu_ = 0, base_user_ = 0, base_system_ = 0, base_shared_ = 0;
};

}  // namespace

Result<std::unique_ptr<Cgroup>> create_cgroup_v2(const CgroupHost& host, const std::string& name, const Limits& limits) {
  auto group = std::make_unique<CgroupV2>();
  TRY(group->create(host, name, limits).context("cgroup"));
  return std::unique_ptr<Cgroup>(std::move(group));
}

}  // namespace hotcell
