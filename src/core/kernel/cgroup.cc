#include "core/kernel/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "core/kernel/cgroup_files.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "sys/thread.h"

namespace hotcell {

// Empty: no such process, or one that has ended and waits to be buried. A first thread that left the others behind looks the same
// but for their number. An error: it cannot be told, and whoever asks must take it for a living one.
static Result<std::string> start_time_of(int pid) {
  auto text = sys::read_file(cat("/proc/", pid, "/stat").c_str());
  if (!text) {
    if (text.error().err == ENOENT || text.error().err == ESRCH) return std::string();
    return std::move(text).error();
  }
  // The command name may hold spaces and parentheses; fields count from the last ')'. Start time is the 22nd.
  auto after = text.value().rfind(')');
  if (after == std::string::npos) return make_error(ErrorCode::kIo, cat("/proc/", pid, "/stat is not what it was"));
  auto words = split(std::string_view(text.value()).substr(after + 2), ' ');
  if (words.size() <= 19) return make_error(ErrorCode::kIo, cat("/proc/", pid, "/stat is not what it was"));
  if ((words[0] == "Z" || words[0] == "X") && parse_u64(words[17]).value_or(0) <= 1) return std::string();
  return std::string(words[19]);
}

// A pid means something in its own pid namespace only. Containers may share the folder of cgroups: what another's
// launcher made is not ours to judge.
static const std::string& own_pid_namespace() {
  static const std::string number = [] {
    struct stat st;
    return ::stat("/proc/self/ns/pid", &st) == 0 ? cat(st.st_ino) : std::string();
  }();
  return number;
}

const std::string& own_prefix() {
  // By pid, since a caller may fork and launch cells on both sides.
  static int pid = 0;
  static std::string prefix;
  if (pid != ::getpid()) {
    pid = ::getpid();
    prefix = cat(pid, "-", start_time_of(pid).value_or(""), ".", own_pid_namespace(), "-");
  }
  return prefix;
}

bool is_of_the_dead(std::string_view name) {
  auto parts = split(name, '-');
  if (parts.size() != 3) return false;
  auto pid = parse_u64(parts[0]);
  auto dot = parts[1].find('.');
  if (!pid || dot == parts[1].npos || parts[1].substr(dot + 1) != own_pid_namespace()) return false;
  // To be wrong in doubt would be the end of somebody's living cells: a launcher short of descriptors, say, sweeps nothing.
  auto since = start_time_of(static_cast<int>(*pid));
  if (!since.ok()) return false;
  return dot == 0 ? since.value().empty() : since.value() != parts[1].substr(0, dot);  // 0: one that could not read its own
}

namespace {

bool remove_group(const std::string& path) {
  sys::Fd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return errno == ENOENT;
  // On v1 what is frozen does not even die.
  sys::write_file_at(dir.get(), "freezer.state", "THAWED").ignore("not a freezer");
  kill_members(dir.get());
  for (const auto& below : groups_below(path))
    if (sys::Fd group(::open(below.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); group.valid()) kill_members(group.get());
  return remove_empty_groups(path);
}

void sweep_folder(const std::string& folder) {
  auto names = sys::list_dir(folder.c_str());
  if (!names) return;  // nothing was ever made here
  for (const auto& name : names.value())
    if (is_of_the_dead(name)) remove_group(cat(folder, "/", name));
}

constexpr const char* kHierarchies = "/sys/fs/cgroup";

// Where a group called hotcell may be: on v2 there is one hierarchy, on v1 a folder for each.
std::vector<std::string> folders_everywhere() {
  std::vector<std::string> out = {cat(kHierarchies, "/hotcell")};
  if (auto names = sys::list_dir(kHierarchies); names.ok())
    for (const auto& name : names.value()) out.push_back(cat(kHierarchies, "/", name, "/hotcell"));
  return out;
}

}  // namespace

std::vector<std::string> groups_below(const std::string& path) {
  std::vector<std::string> out;
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    std::string_view name = entry->d_name;
    if (entry->d_type != DT_DIR || name == "." || name == "..") continue;
    std::string below = cat(path, "/", name);
    for (auto& deeper : groups_below(below)) out.push_back(std::move(deeper));
    out.push_back(std::move(below));
  }
  ::closedir(dir);
  return out;
}

bool remove_empty_groups(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  auto below = groups_below(path);
  if (below.empty()) return false;
  for (const auto& group : below) ::rmdir(group.c_str());
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

void reclaim_by(sys::Fd file, std::string bytes) {
  auto shared = std::make_shared<sys::Fd>(std::move(file));
  auto thread = sys::quiet_thread([shared, bytes = std::move(bytes)] { (void)!::write(shared->get(), bytes.data(), bytes.size()); });
  if (thread.ok()) thread.value().detach();   // otherwise it keeps its pages, which is what it did before
}

std::uint64_t read_number_fd(int fd) {
  char buf[64];
  ssize_t n = ::pread(fd, buf, sizeof buf, 0);
  if (n <= 0) return 0;
  return parse_u64(trim({buf, static_cast<std::size_t>(n)})).value_or(0);
}

bool has_line(int dir, const char* file, std::string_view line) {
  auto fd = sys::open_at(dir, file, O_RDONLY);
  if (!fd) return false;
  auto text = sys::read_fd(fd.value().get());
  if (!text) return false;
  const auto lines = split(text.value(), '\n');
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::uint64_t read_number(int dir, const char* file) {
  sys::Fd fd(::openat(dir, file, O_RDONLY | O_CLOEXEC));
  return fd.valid() ? read_number_fd(fd.get()) : 0;
}

std::uint64_t read_field(int dir, const char* file, const char* key) {
  sys::Fd fd(::openat(dir, file, O_RDONLY | O_CLOEXEC));
  return fd.valid() ? read_field_fd(fd.get(), key) : 0;
}

std::uint64_t read_field_fd(int fd, const char* key) { return read_fields_fd(fd, key, {}).first; }

std::pair<std::uint64_t, std::uint64_t> read_fields_fd(int fd, std::string_view first, std::string_view second) {
  char buf[4096];
  std::pair<std::uint64_t, std::uint64_t> out = {0, 0};
  ssize_t n = ::pread(fd, buf, sizeof buf, 0);
  if (n <= 0) return out;
  auto value = [](std::string_view line, std::string_view name, std::uint64_t& to) {
    if (name.empty() || !line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') return;
    to = parse_u64(line.substr(name.size() + 1)).value_or(0);
  };
  for (auto line : split({buf, static_cast<std::size_t>(n)}, '\n')) {
    value(line, first, out.first);
    value(line, second, out.second);
  }
  return out;
}

std::string most_tasks(const Limits& limits) {
  constexpr std::uint64_t kMost = 4 << 20;  // more than there can be is refused by the kernel
  return cat(std::min<std::uint64_t>(std::uint64_t{limits.processes} + 1, kMost));
}

Result<void> make_cgroup_folder(const std::string& parent, const std::string& path) {
  if (int e = sys::fault("cgroup_mkdir")) return errno_error(cat("mkdir ", path), e);
  if (::mkdir(path.c_str(), 0755) == 0) return {};
  if (errno == ENOENT && (::mkdir(parent.c_str(), 0755) == 0 || errno == EEXIST) && ::mkdir(path.c_str(), 0755) == 0) return {};
  return errno_error(cat("mkdir ", path), errno);
}

void kill_members(int dir) {
  // New children may appear between reading and killing; a bounded number of rounds outlasts any fork under pids.max.
  for (int round = 0; round < 100; ++round) {
    sys::Fd fd(::openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return;
    auto text = sys::read_fd(fd.get());
    if (!text || trim(text.value()).empty()) return;
    for (auto line : split(trim(text.value()), '\n'))
      if (auto pid = parse_u64(line); pid && *pid > 1) ::kill(static_cast<pid_t>(*pid), SIGKILL);
    ::usleep(1000);
  }
}

std::string new_group_name() {
  static std::atomic<unsigned> counter = 0;
  return cat(own_prefix(), counter++);
}

Result<std::unique_ptr<Cgroup>> create_cgroup(const CgroupHost& host, const Limits& limits) {
  std::string name = new_group_name();
  switch (host.version) {
    case CgroupVersion::kV1: return create_cgroup_v1(host, name, limits);
    case CgroupVersion::kV2: return create_cgroup_v2(host, name, limits);
    case CgroupVersion::kNone: break;
  }
  return std::unique_ptr<Cgroup>();
}

void sweep_cgroups(const CgroupHost& host) {
  for (const auto& c : host.v1) sweep_folder(c.folder);
  if (host.version == CgroupVersion::kV2) sweep_folder(host.v2_folder);
}

bool remove_group_everywhere(const std::string& name) {
  bool gone = true;
  for (const auto& folder : folders_everywhere()) gone &= remove_group(cat(folder, "/", name));
  return gone;
}

void sweep_groups_everywhere() {
  for (const auto& folder : folders_everywhere()) sweep_folder(folder);
}

}  // namespace hotcell
