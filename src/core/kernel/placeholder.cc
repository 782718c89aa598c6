// A lock on one byte far behind the end of the file says "a living cell needs this name", and tells a placeholder from
// an empty file of the user's own. Locks of open file descriptions: they count per cell, not per process, and end with
// a launcher that is killed. Every holder has it, shared; who leaves and finds no other removes the file. Joining and
// leaving exclude each other by a second byte, so a file that has its name has a holder.
#include "core/kernel/placeholder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr off_t kHeld = 0x686f7463656c6c, kDoor = kHeld + 2;  // any numbers, as long as nobody else comes upon them

struct flock lock_of(short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}
bool take(int fd, short type, off_t byte) {
  struct flock lock = lock_of(type, byte);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}
// By this very byte: a program's own lock on its lock file covers it whole, and makes it no placeholder.
bool held_by_others(int fd) {
  struct flock lock = lock_of(F_WRLCK, kHeld);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_start == kHeld && lock.l_len == 1;
}

bool is_at(int file, int parent, const std::string& name) {
  struct stat here, there;
  return ::fstat(file, &here) == 0 && ::fstatat(parent, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

}  // namespace

Placeholder::Placeholder(sys::Fd parent, std::string name, sys::Fd file)
    : parent_(std::move(parent)), name_(std::move(name)), file_(std::move(file)) {}

Placeholder::~Placeholder() {
  if (!file_.valid()) return;
  // Others are at the door for microseconds. Should one be stopped there, the file stays: an empty one, no harm.
  for (int i = 0; !take(file_.get(), F_WRLCK, kDoor); ++i) {
    if (i == 1000) return;
    ::usleep(1000);
  }
  struct stat st;
  bool empty = ::fstat(file_.get(), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
  if (empty && !held_by_others(file_.get()) && is_at(file_.get(), parent_.get(), name_)) ::unlinkat(parent_.get(), name_.c_str(), 0);
}

Result<Placeholder> Placeholder::make(int parent, const std::string& name) {
  TRY_SET(sys::Fd folder, sys::duplicate(parent));
  // Locked before it has its name: whoever sees the name sees the lock.
  std::string hidden;
  sys::Fd file(::openat(parent, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file.valid()) {
    unsigned random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return errno_error("getrandom", errno);
    hidden = cat(".hotcell-", random);
    file = sys::Fd(::openat(parent, hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return errno_error(cat("make ", printable(name)), errno);
  }
  int err = take(file.get(), F_RDLCK, kHeld) ? 0 : errno;
  if (err == 0) {
    int linked = hidden.empty() ? ::linkat(AT_FDCWD, cat("/proc/self/fd/", file.get()).c_str(), parent, name.c_str(), AT_SYMLINK_FOLLOW)
                                : ::linkat(parent, hidden.c_str(), parent, name.c_str(), 0);
    err = linked == 0 ? 0 : errno;
  }
  if (!hidden.empty()) ::unlinkat(parent, hidden.c_str(), 0);
  if (err != 0) return errno_error(cat("make ", printable(name)), err);
  return Placeholder(std::move(folder), name, std::move(file));
}

Result<std::optional<Placeholder>> Placeholder::share(int parent, const std::string& name) {
  sys::Fd file(::openat(parent, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  auto look_again = [&] { return errno_error(cat("share ", printable(name)), EEXIST); };
  if (!file.valid() && errno == ENOENT) return look_again();
  // What we may not open is another user's; a mask covers it like any file that is there.
  if (!file.valid()) return std::optional<Placeholder>();
  if (!held_by_others(file.get())) {
    if (!is_at(file.get(), parent, name)) return look_again();
    return std::optional<Placeholder>();
  }
  if (!take(file.get(), F_WRLCK, kDoor) || !is_at(file.get(), parent, name)) return look_again();
  bool joined = take(file.get(), F_RDLCK, kHeld);
  take(file.get(), F_UNLCK, kDoor);
  if (!joined) return look_again();
  TRY_SET(sys::Fd folder, sys::duplicate(parent));
  return std::optional<Placeholder>(Placeholder(std::move(folder), name, std::move(file)));
}

}  // namespace hotcell
