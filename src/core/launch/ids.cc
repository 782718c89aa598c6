#include "core/launch/ids.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>

#include "sys/file.h"

namespace hotcell {

namespace {

Result<sys::Fd> open_ids() {
  // /run is root's; a folder that somebody else made first is not ours.
  constexpr const char* kFolder = "/run/hotcell";
  auto file = sys::open("/run/hotcell/ids", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) {
    if (::mkdir(kFolder, 0700) < 0 && errno != EEXIST) return errno_error("mkdir /run/hotcell", errno);
    file = sys::open("/run/hotcell/ids", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  }
  return file;
}

// False: somebody has it.
Result<bool> lock_id(int fd, unsigned n) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(n);
  range.l_len = 1;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return true;
  if (errno != EAGAIN && errno != EACCES) return errno_error("lock /run/hotcell/ids", errno);
  return false;
}

}  // namespace

Result<CellIds> take_ids() {
  TRY_SET(sys::Fd lock, open_ids());
  unsigned start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start) return errno_error("getrandom", errno);
  for (unsigned i = 0; i < kIdCount; ++i) {
    unsigned n = (start + i) % kIdCount;
    TRY_SET(bool ours, lock_id(lock.get(), n));
    if (ours) return CellIds{kFirstId + n, std::move(lock)};
  }
  return make_error(ErrorCode::kLimit, "all 65535 cell ids are in use");
}

Result<CellIds> take_ids_again(unsigned id) {
  if (id < kFirstId || id - kFirstId >= kIdCount) return make_error(ErrorCode::kInvalid, "not an id of a cell's");
  TRY_SET(sys::Fd lock, open_ids());
  TRY_SET(bool ours, lock_id(lock.get(), id - kFirstId));
  if (!ours) return make_error(ErrorCode::kLimit, "its id is in use: it runs already, or by chance another cell has it");
  return CellIds{id, std::move(lock)};
}

}  // namespace hotcell
