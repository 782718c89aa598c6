#include "core/kernel/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/cgroup_files.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell {
namespace {

std::string start_time_of(int pid) {
  auto text = sys::read_file(cat("/proc/", pid, "/stat").c_str());
  if (!text) return {};
  // The command name may hold spaces and parentheses; fields count from the last ')'. Start time is the 22nd.
  auto after = text.value().rfind(')');
  if (after == std::string::npos) return {};
  auto words = split(std::string_view(text.value()).substr(after + 2), ' ');
  return words.size() > 19 ? std::string(words[19]) : std::string();
}

// A pid means something in its own pid namespace only. Containers may share the folder of cgroups: what another's
// launcher made is not ours to judge.
const std::string& own_pid_namespace() {
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
    prefix = cat(pid, "-", start_time_of(pid), ".", own_pid_namespace(), "-");
  }
  return prefix;
}

void sweep_folder(const std::string& folder) {
  auto names = sys::list_dir(folder.c_str());
  if (!names) return;  // nothing was ever made here
  for (const auto& name : names.value()) {
    auto parts = split(name, '-');
    if (parts.size() != 3) continue;
    auto pid = parse_u64(parts[0]);
    auto dot = parts[1].find('.');
    if (!pid || dot == parts[1].npos || parts[1].substr(dot + 1) != own_pid_namespace()) continue;
    if (start_time_of(static_cast<int>(*pid)) == parts[1].substr(0, dot)) continue;
    std::string path = cat(folder, "/", name);
    sys::Fd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (dir.valid()) {
      // On v1 what is frozen does not even die.
      sys::write_file_at(dir.get(), "freezer.state", "THAWED").ignore("not a freezer");
      kill_members(dir.get());
    }
    ::rmdir(path.c_str());
  }
}

}  // namespace

std::uint64_t read_number_fd(int fd) {
  char buf[64];
  ssize_t n = ::pread(fd, buf, sizeof buf, 0);
  if (n <= 0) return 0;
  return parse_u64(trim({buf, static_cast<std::size_t>(n)})).value_or(0);
}

std::uint64_t read_number(int dir, const char* file) {
  sys::Fd fd(::openat(dir, file, O_RDONLY | O_CLOEXEC));
  return fd.valid() ? read_number_fd(fd.get()) : 0;
}

std::uint64_t read_field(int dir, const char* file, const char* key) {
  sys::Fd fd(::openat(dir, file, O_RDONLY | O_CLOEXEC));
  return fd.valid() ? read_field_fd(fd.get(), key) : 0;
}

std::uint64_t read_field_fd(int fd, const char* key) {
  char buf[4096];
  ssize_t n = ::pread(fd, buf, sizeof buf, 0);
  if (n <= 0) return 0;
  std::string_view name = key;
  for (auto line : split({buf, static_cast<std::size_t>(n)}, '\n'))
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return parse_u64(line.substr(name.size() + 1)).value_or(0);
  return 0;
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

Result<std::unique_ptr<Cgroup>> create_cgroup(const CgroupHost& host, const Limits& limits) {
  static unsigned counter = 0;
  std::string name = cat(own_prefix(), counter++);
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

}  // namespace hotcell
