#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "cells/files/copy.h"
#include "cells/files/tree.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

// A descriptor is held for each level. Below this depth a folder is moved up to the top and removed from there: then no
// depth that a program can make is too much for us.
constexpr int kDeepest = 48;

class Remover {
 public:
  Remover(int top, dev_t device) : top_(top), device_(device) {}

  Result<void> empty(int folder, int depth) {
    for (bool again = true; again;) {
      again = false;
      TRY_SET(sys::Fd list, sys::open_at(folder, ".", O_RDONLY | O_DIRECTORY));
      std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(list.get()), ::closedir);
      if (!stream) return errno_error("read a folder", errno);
      list.release();
      while (dirent* e = ::readdir(stream.get())) {
        std::string name = e->d_name;
        if (name == "." || name == "..") continue;
        again = true;  // reading while removing may miss names: until a whole pass has found none
        TRY(remove(folder, name, depth).context(printable(name)));
      }
    }
    return {};
  }

 private:
  Result<void> remove(int folder, const std::string& name, int depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    int why = errno;
    if (why != EISDIR && why != EPERM) return errno_error("remove", why);
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return {};
    if (errno == ENOTDIR) return errno_error("remove", why);
    TRY_SET(sys::Fd held, sys::open_at(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    TRY_SET(struct stat st, sys::stat_fd(held.get(), name));
    if (st.st_dev != device_) return make_error(ErrorCode::kDenied, "something is mounted there");
    if ((st.st_mode & 0700) != 0700 && ::chmod(cat("/proc/self/fd/", held.get()).c_str(), 0700) < 0) return errno_error("chmod", errno);
    if (depth == kDeepest) {
      const std::string up = sys::random_uuid();  // not a name that can be there already
      if (::renameat(folder, name.c_str(), top_, up.c_str()) < 0) return errno_error("move up", errno);
      return {};  // the top's own pass finds it
    }
    TRY_SET(sys::Fd inner, sys::open_at(held.get(), ".", O_RDONLY | O_DIRECTORY));
    TRY(empty(inner.get(), depth + 1));
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT) return errno_error("remove", errno);
    return {};
  }

  int top_;
  dev_t device_;
};

}  // namespace

Result<void> remove_tree(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) < 0) {
    if (errno == ENOENT) return {};
    return errno_error(cat("remove ", printable(path)), errno);
  }
  if (S_ISDIR(st.st_mode)) {
    if ((st.st_mode & 0700) != 0700 && ::chmod(path.c_str(), 0700) < 0) return errno_error(cat("chmod ", printable(path)), errno);
    TRY_SET(sys::Fd top, sys::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    TRY(Remover(top.get(), st.st_dev).empty(top.get(), 0).context(cat("remove ", printable(path))));
  }
  if (::unlinkat(AT_FDCWD, path.c_str(), S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
    return errno_error(cat("remove ", printable(path)), errno);
  return {};
}

}  // namespace hotcell::cells
