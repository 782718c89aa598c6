#include "core/launch/file_marks.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>

#include "base/strings.h"
#include "core/kernel/seccomp_names.h"
#include "core/launch/file_calls.h"
#include "core/launch/file_ids.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr mode_t kSetIdBits = 06000;

// Which argument is what; -1: the call has none.
struct Shape {
  std::string_view name;
  int dir, path, mode, times, flags;
};
constexpr Shape kShapes[] = {
    {"chmod", -1, 0, 1, -1, -1},    {"fchmod", 0, -1, 1, -1, -1}, {"fchmodat", 0, 1, 2, -1, -1},  {"fchmodat2", 0, 1, 2, -1, 3},
    {"utime", -1, 0, -1, 1, -1},    {"utimes", -1, 0, -1, 1, -1}, {"futimesat", 0, 1, -1, 2, -1}, {"utimensat", 0, 1, -1, 2, 3},
};

// Both times as utimensat() has them. False: errno says what is wrong.
bool read_times(const Shape& shape, pid_t tid, std::uint64_t from, timespec (&out)[2]) {
  auto read = [&](auto& value) {
    auto bytes = read_memory(tid, from, sizeof value, false);
    if (bytes) std::memcpy(&value, bytes->data(), sizeof value);
    return bytes.has_value();
  };
  if (shape.name == "utimensat") return read(out);
  if (shape.name == "utime") {
    utimbuf both;
    if (!read(both)) return false;
    out[0] = {both.actime, 0};
    out[1] = {both.modtime, 0};
    return true;
  }
  timeval both[2];
  if (!read(both)) return false;
  for (int i = 0; i < 2; ++i) {
    if (both[i].tv_usec < 0 || both[i].tv_usec >= 1'000'000) return errno = EINVAL, false;
    out[i] = {both[i].tv_sec, both[i].tv_usec * 1000};
  }
  return true;
}

// "/proc/self/fd/7", which the C library uses where a call lacks a flag.
std::optional<int> names_descriptor(std::string_view path, pid_t tid) {
  for (const std::string& start : {std::string("/proc/self/fd/"), std::string("/proc/thread-self/fd/"), cat("/proc/", tid, "/fd/")}) {
    if (!path.starts_with(start)) continue;
    int fd = -1;
    auto digits = path.substr(start.size());
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (error == std::errc() && end == digits.data() + digits.size()) return fd;
  }
  return std::nullopt;
}

// "/a//b/./c" is "/a/b/c": places and our own names are compared as text. A ".." stays, it is the kernel's to walk.
std::string plain_name(const std::string& path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/')
      while (path.compare(i + 1, 1, "/") == 0 || path.compare(i + 1, 2, "./") == 0) i += path[i + 1] == '/' ? 1 : 2;
    out += path[i];
  }
  return out;
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/' || folder.ends_with('/'));
}

}  // namespace

FileMarks::FileMarks(const Plan& plan, int workspace, unsigned id) : id_(id) {
  places_.push_back({plan.workspace, workspace, plan.policy.filesystem.writable_scratch});
  if (auto canonical = sys::read_link(cat("/proc/self/fd/", workspace).c_str())) places_.push_back({canonical.value(), workspace, places_[0].writable});
  for (const auto& g : plan.grants.grants)
    for (const auto& name : {g.canonical, g.shown}) places_.push_back({name, g.fd.get(), g.access == Access::kWrite});
}

// The innermost counts: one that may be written can lie in one that may not.
const FileMarks::Place* FileMarks::place_of(const std::string& path) const {
  const Place* found = nullptr;
  for (const auto& p : places_)
    if (lies_in(path, p.name) && (found == nullptr || p.name.size() > found->name.size())) found = &p;
  return found != nullptr && found->writable ? found : nullptr;
}

int FileMarks::open_held(pid_t tid, int fd, sys::Fd& out, std::string& what) const {
  auto opened = sys::open(cat("/proc/", tid, "/fd/", fd).c_str(), O_PATH);
  if (!opened) return opened.error().err == ENOENT ? -EBADF : -EPERM;
  // An open file stays what it is, and nothing from outside can be moved or linked into a writable folder.
  auto name = sys::read_link(cat("/proc/self/fd/", opened.value().get()).c_str());
  if (!name) return -EPERM;
  what = std::move(name).value();
  if (place_of(what) == nullptr) return -EPERM;
  out = std::move(opened).value();
  return 0;
}

int FileMarks::open_named(pid_t tid, int dir, const std::string& path, bool follow, sys::Fd& out, std::string& what) const {
  what = path;
  if (path.empty()) return -ENOENT;
  if (!path.starts_with('/')) {
    auto folder = sys::read_link(dir == AT_FDCWD ? cat("/proc/", tid, "/cwd").c_str() : cat("/proc/", tid, "/fd/", dir).c_str());
    if (!folder) return -EBADF;
    what = cat(folder.value(), folder.value().ends_with('/') ? "" : "/", path);
  }
  what = plain_name(what);
  if (follow)
    if (auto fd = names_descriptor(what, tid)) return open_held(tid, *fd, out, what);
  const Place* place = place_of(what);
  if (place == nullptr) return -EPERM;
  std::string rest = what.substr(place->name.size());
  rest.erase(0, std::min(rest.find_first_not_of('/'), rest.size()));
  const int flags = O_PATH | (follow ? 0 : O_NOFOLLOW);
  auto opened = [&] {
    FileIds ids(id_);  // what may not be walked through is not told of either
    return rest.empty() ? sys::duplicate(place->fd) : sys::open_beneath(place->fd, rest.c_str(), flags, 0, true);
  }();
  // A link or a .. that leads out.
  if (!opened) return opened.error().err == EXDEV ? -EPERM : -opened.error().err;
  // By way of .. or a link to where it may only read.
  auto name = sys::read_link(cat("/proc/self/fd/", opened.value().get()).c_str());
  if (!name || place_of(name.value()) == nullptr) return -EPERM;
  out = std::move(opened).value();
  return 0;
}

int FileMarks::carry_out(const seccomp_notif& call, int listener, std::string& what) const {
  const std::string_view name = syscall_name(call.data.nr, call.data.arch);
  const auto* shape = std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& s) { return s.name == name; });
  if (shape == std::end(kShapes)) return -ENOSYS;
  const auto tid = static_cast<pid_t>(call.pid);
  const auto& a = call.data.args;
  const auto mode = shape->mode < 0 ? mode_t{} : static_cast<mode_t>(a[shape->mode]) & 07777;
  if (mode & kSetIdBits) return -EPERM;
  const auto flags = shape->flags < 0 ? 0 : static_cast<int>(a[shape->flags]);
  if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) return -EINVAL;
  const int dir = shape->dir < 0 ? AT_FDCWD : static_cast<int>(a[shape->dir]);
  timespec times[2];
  const bool timed = shape->times >= 0 && a[shape->times] != 0;
  auto unreadable = [] { return errno == EPERM || errno == EACCES ? -EPERM : errno == EINVAL ? -EINVAL : -EFAULT; };
  if (timed && !read_times(*shape, tid, a[shape->times], times)) return unreadable();

  sys::Fd target;
  int opened = 0;
  const bool by_fd = shape->path < 0 || (shape->mode < 0 && shape->dir == 0 && a[shape->path] == 0);
  if (by_fd) {
    opened = open_held(tid, dir, target, what);
  } else {
    auto path = read_memory(tid, a[shape->path], PATH_MAX, true);
    if (!path) return unreadable();
    const bool itself = path->empty() && (flags & AT_EMPTY_PATH) && dir != AT_FDCWD;
    opened = itself ? open_held(tid, dir, target, what) : open_named(tid, dir, *path, !(flags & AT_SYMLINK_NOFOLLOW), target, what);
  }
  if (opened < 0) return opened;
  what.clear();  // from here on it is the kernel that answers
  struct stat st;
  if (::fstat(target.get(), &st) < 0) return -errno;
  // A caller that was killed meanwhile may have left its number to another process.
  __u64 id = call.id;
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0) return -ESRCH;
  FileIds ids(id_);
  int done = 0;
  if (shape->mode < 0) done = ::utimensat(target.get(), "", timed ? times : nullptr, AT_EMPTY_PATH);
  else if (S_ISLNK(st.st_mode)) return -EOPNOTSUPP;
  else done = ::chmod(cat("/proc/self/fd/", target.get()).c_str(), mode);
  return done < 0 ? -errno : 0;
}

}  // namespace hotcell
