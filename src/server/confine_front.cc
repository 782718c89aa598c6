#include "server/confine_front.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/thread.h"

namespace hotcell::server {
namespace {

Result<void> write_file(const char* path, const std::string& text) {
  TRY_SET(sys::Fd fd, sys::open(path, O_WRONLY));
  return sys::write_all(fd.get(), text);
}

}  // namespace

Result<bool> hide_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST) return errno_error(folder, errno);
  bool user_namespace = false;
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  sys::end_sanitizer_thread();
  if (::unshare(CLONE_NEWNS) < 0) {
    if (errno != EPERM || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return errno_error("unshare", errno);
    user_namespace = true;
    // The files of a process that is not dumpable are root's. For a moment, in which it holds nothing of anybody's yet.
    const int dumpable = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    auto mapped = [&]() -> Result<void> {
      TRY(write_file("/proc/self/setgroups", "deny"));
      TRY(write_file("/proc/self/uid_map", cat(uid, " ", uid, " 1")));
      return write_file("/proc/self/gid_map", cat(gid, " ", gid, " 1"));
    };
    auto done = mapped();
    ::prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0, 0, 0, 0);
    if (!done.ok()) return std::move(done).error();
  }
  // What the host unmounts is unmounted here, too; what we mount is ours alone.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) return errno_error("mount /", errno);
  if (::mount("hidden", folder.c_str(), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=000") < 0)
    return errno_error(cat("mount ", folder), errno);
  return user_namespace;
}


Result<Enforcement> confine_front(const FrontPlaces& places) {
  ConfineOptions options;
  options.alone = true;
  options.connect_ports = places.connect_ports;
  options.read_write.push_back(places.state_dir);
  struct stat st {};
  for (const std::string& folder : places.read_only)
    if (::stat(folder.c_str(), &st) == 0) options.read_only.push_back(folder);
  // Its own accounts, for the metrics; /usr/share/zoneinfo is not among these, since all times are UTC.
  for (const char* file : {"/proc/self/stat", "/proc/self/statm", "/proc/self/fd", "/sys/devices/system/cpu/online"})
    if (::stat(file, &st) == 0) options.read_only.emplace_back(file);
  // Keys and sources of all callers are in its memory: no core files, and no other process of the same user looks in.
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) < 0) return errno_error("confine_front: RLIMIT_CORE", errno);
  TRY_SET(Enforcement out, confine_self(options));
  // After the rules on /proc/self were made: from here on its files belong to root.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return errno_error("confine_front: PR_SET_DUMPABLE", errno);
  return out;
}

}  // namespace hotcell::server
