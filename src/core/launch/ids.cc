#include "core/launch/ids.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>

#include "sys/file.h"

namespace hotcell {

Result<CellIds> take_ids() {
  // /run is root's; a folder that somebody else made first is not ours.
  constexpr const char* kFolder = "/run/hotcell";
  auto file = sys::open("/run/hotcell/ids", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) {
    if (::mkdir(kFolder, 0700) < 0 && errno != EEXIST) return errno_error("mkdir /run/hotcell", errno);
    file = sys::open("/run/hotcell/ids", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  }
  TRY_SET(sys::Fd lock, std::move(file));
  unsigned start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start) return errno_error("getrandom", errno);
  for (unsigned i = 0; i < kIdCount; ++i) {
    unsigned n = (start + i) % kIdCount;
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(n);
    range.l_len = 1;
    if (::fcntl(lock.get(), F_OFD_SETLK, &range) == 0) return CellIds{kFirstId + n, std::move(lock)};
    if (errno != EAGAIN && errno != EACCES) return errno_error("lock /run/hotcell/ids", errno);
  }
  return make_error(ErrorCode::kLimit, "all 65535 cell ids are in use");
}

}  // namespace hotcell
