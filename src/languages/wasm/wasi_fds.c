// Descriptors of a module: a table of its own with rights of its own, so that no number of the host's is ever used by it.
#define _GNU_SOURCE
#include "wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define VECTORS_MOST 1024

static WasiFd fds[WASI_FD_MOST];

u8 wasi_type(const struct stat* s) {
  if (S_ISREG(s->st_mode)) return kTypeFile;
  if (S_ISDIR(s->st_mode)) return kTypeFolder;
  if (S_ISLNK(s->st_mode)) return kTypeLink;
  if (S_ISCHR(s->st_mode)) return kTypeChar;
  if (S_ISBLK(s->st_mode)) return kTypeBlock;
  return S_ISSOCK(s->st_mode) ? kTypeStream : kTypeUnknown;
}

static u64 time_of(const struct timespec* t) { return (u64)t->tv_sec * 1000000000u + (u64)t->tv_nsec; }

void wasi_filestat(u8* to, const struct stat* s) {
  memset(to, 0, 64);
  store64(to, s->st_dev);
  store64(to + 8, s->st_ino);
  to[16] = wasi_type(s);
  store64(to + 24, s->st_nlink);
  store64(to + 32, (u64)s->st_size);
  store64(to + 40, time_of(&s->st_atim));
  store64(to + 48, time_of(&s->st_mtim));
  store64(to + 56, time_of(&s->st_ctim));
}

void wasi_fds_init(int workspace) {
  for (int i = 0; i < WASI_FD_MOST; ++i) fds[i].host = -1;
  for (int i = 0; i < 3; ++i) {
    struct stat s;
    if (fstat(i, &s) != 0) continue;
    u64 rights = RIGHT(kFdPoll) | RIGHT(kFdStat) | RIGHT(kFdSetFlags) | RIGHT(i == 0 ? kFdRead : kFdWrite);
    if (S_ISREG(s.st_mode)) rights |= RIGHT(kFdSeek) | RIGHT(kFdTell);
    fds[i] = (WasiFd){i, wasi_type(&s), NULL, rights, 0, NULL, 0};
  }
  // The root of all names that a module can say is the workspace, which it may also call by the name it has in the cell.
  fds[3] = (WasiFd){workspace, kTypeFolder, "/", FOLDER_RIGHTS, FOLDER_RIGHTS | FILE_RIGHTS, NULL, 0};
  fds[4] = (WasiFd){fcntl(workspace, F_DUPFD_CLOEXEC, 5), kTypeFolder, "/work", FOLDER_RIGHTS, FOLDER_RIGHTS | FILE_RIGHTS, NULL, 0};
}

WasiFd* wasi_fd(u32 fd, u64 rights, u32* why) {
  if (fd >= WASI_FD_MOST || fds[fd].host < 0) {
    *why = kBadf;
    return NULL;
  }
  if ((fds[fd].rights & rights) != rights) {
    *why = kNotcapable;
    return NULL;
  }
  *why = kOk;
  return &fds[fd];
}

int wasi_fd_place(void) {
  for (int i = 0; i < WASI_FD_MOST; ++i)
    if (fds[i].host < 0) return i;
  return -1;
}
WasiFd* wasi_fd_slot(int place) { return &fds[place]; }

static void drop(WasiFd* fd) {
  if (fd->stream != NULL) closedir(fd->stream);
  if (fd->host > 2) close(fd->host);
  *fd = (WasiFd){-1, 0, NULL, 0, 0, NULL, 0};
}

#define NEED(name, number, rights)             \
  u32 why_##name;                              \
  WasiFd* name = wasi_fd(number, rights, &why_##name); \
  if (name == NULL) return why_##name

static u32 done(int result) { return result < 0 ? wasi_errno(errno) : kOk; }

WASI(fd_close, u32 number) {
  (void)self;
  NEED(fd, number, 0);
  drop(fd);
  return kOk;
}
WASI(fd_renumber, u32 from, u32 to) {
  (void)self;
  NEED(source, from, 0);
  NEED(target, to, 0);
  if (source == target) return kOk;
  if (source->preopened != NULL || target->preopened != NULL) return kNotsup;
  drop(target);
  *target = *source;
  *source = (WasiFd){-1, 0, NULL, 0, 0, NULL, 0};
  return kOk;
}

// ---- what it is
WASI(fd_prestat_get, u32 number, u32 to) {
  NEED(fd, number, 0);
  u8* out = at(self, to, 8);
  if (fd->preopened == NULL) return kBadf;
  if (out == NULL) return kFault;
  memset(out, 0, 8);
  store32(out + 4, (u32)strlen(fd->preopened));
  return kOk;
}
WASI(fd_prestat_dir_name, u32 number, u32 to, u32 size) {
  NEED(fd, number, 0);
  if (fd->preopened == NULL) return kBadf;
  size_t n = strlen(fd->preopened);
  void* out = at(self, to, size);
  if (out == NULL) return kFault;
  if (size < n) return kNametoolong;
  memcpy(out, fd->preopened, n);
  return kOk;
}
WASI(fd_fdstat_get, u32 number, u32 to) {
  NEED(fd, number, 0);
  u8* out = at(self, to, 24);
  if (out == NULL) return kFault;
  int flags = fcntl(fd->host, F_GETFL);
  memset(out, 0, 24);
  out[0] = fd->type;
  store16(out + 2, (u16)(((flags & O_APPEND) != 0 ? 1 : 0) | ((flags & O_NONBLOCK) != 0 && fd->type != kTypeFile ? 4 : 0)));
  store64(out + 8, fd->rights);
  store64(out + 16, fd->inherits);
  return kOk;
}
WASI(fd_fdstat_set_flags, u32 number, u32 wanted) {
  (void)self;
  NEED(fd, number, RIGHT(kFdSetFlags));
  if (wanted > 31 || (wanted & (2 | 8 | 16)) != 0) return kNotsup;
  return done(fcntl(fd->host, F_SETFL, ((wanted & 1) != 0 ? O_APPEND : 0) | ((wanted & 4) != 0 ? O_NONBLOCK : 0)));
}
// Rights are only ever given away.
WASI(fd_fdstat_set_rights, u32 number, u64 rights, u64 inherits) {
  (void)self;
  NEED(fd, number, 0);
  if ((rights & ~fd->rights) != 0 || (inherits & ~fd->inherits) != 0) return kNotcapable;
  fd->rights = rights;
  fd->inherits = inherits;
  return kOk;
}
WASI(fd_filestat_get, u32 number, u32 to) {
  NEED(fd, number, RIGHT(kFdStat));
  u8* out = at(self, to, 64);
  struct stat s;
  if (out == NULL) return kFault;
  if (fstat(fd->host, &s) != 0) return wasi_errno(errno);
  wasi_filestat(out, &s);
  return kOk;
}
WASI(fd_filestat_set_size, u32 number, u64 size) {
  (void)self;
  NEED(fd, number, RIGHT(kFdSetSize));
  return size > INT64_MAX ? kInval : done(ftruncate(fd->host, (off_t)size));
}
WASI(fd_filestat_set_times, u32 number, u64 atime, u64 mtime, u32 flags) {
  (void)self;
  NEED(fd, number, RIGHT(kFdSetTimes));
  if (flags > 15 || (flags & 3) == 3 || (flags & 12) == 12) return kInval;
  struct timespec t[2] = {{(time_t)(atime / 1000000000u), (long)(atime % 1000000000u)}, {(time_t)(mtime / 1000000000u), (long)(mtime % 1000000000u)}};
  if ((flags & 1) == 0) t[0].tv_nsec = (flags & 2) != 0 ? UTIME_NOW : UTIME_OMIT;
  if ((flags & 4) == 0) t[1].tv_nsec = (flags & 8) != 0 ? UTIME_NOW : UTIME_OMIT;
  return done(futimens(fd->host, t));
}
WASI(fd_advise, u32 number, u64 offset, u64 size, u32 advice) {
  (void)self, (void)offset, (void)size;
  NEED(fd, number, RIGHT(kFdAdvise));
  (void)fd;
  return advice > 5 ? kInval : kOk;
}
WASI(fd_allocate, u32 number, u64 offset, u64 size) {
  (void)self;
  NEED(fd, number, RIGHT(kFdAllocate));
  if (offset > INT64_MAX || size > INT64_MAX || size == 0) return kInval;
  return wasi_errno(posix_fallocate(fd->host, (off_t)offset, (off_t)size));
}
WASI(fd_sync, u32 number) {
  (void)self;
  NEED(fd, number, RIGHT(kFdSync));
  return done(fsync(fd->host));
}
WASI(fd_datasync, u32 number) {
  (void)self;
  NEED(fd, number, RIGHT(kFdDatasync));
  return done(fdatasync(fd->host));
}

// ---- reading and writing
static u32 vectors(const Wasi* self, u32 list, u32 n, struct iovec* out) {
  const u8* from = at(self, list, (u64)n * 8);
  if (n > VECTORS_MOST) return kInval;
  if (from == NULL) return kFault;
  for (u32 i = 0; i < n; ++i) {
    out[i].iov_len = load32(from + 8 * i + 4);
    out[i].iov_base = at(self, load32(from + 8 * i), out[i].iov_len);
    if (out[i].iov_base == NULL) return kFault;
  }
  return kOk;
}
enum { kReading, kWriting };
static u32 transfer(Wasi* self, WasiFd* fd, u32 list, u32 n, const u64* offset, u32 told, int way) {
  struct iovec v[VECTORS_MOST];
  u32 bad = vectors(self, list, n, v);
  void* count = at(self, told, 4);
  if (bad != kOk) return bad;
  if (count == NULL) return kFault;
  if (offset != NULL && *offset > INT64_MAX) return kInval;
  ssize_t got;
  do {
    if (offset != NULL) got = way == kReading ? preadv(fd->host, v, (int)n, (off_t)*offset) : pwritev(fd->host, v, (int)n, (off_t)*offset);
    else got = way == kReading ? readv(fd->host, v, (int)n) : writev(fd->host, v, (int)n);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return wasi_errno(errno);
  store32(count, (u32)got);
  return kOk;
}
WASI(fd_read, u32 number, u32 list, u32 n, u32 told) {
  NEED(fd, number, RIGHT(kFdRead));
  return transfer(self, fd, list, n, NULL, told, kReading);
}
WASI(fd_write, u32 number, u32 list, u32 n, u32 told) {
  NEED(fd, number, RIGHT(kFdWrite));
  return transfer(self, fd, list, n, NULL, told, kWriting);
}
WASI(fd_pread, u32 number, u32 list, u32 n, u64 offset, u32 told) {
  NEED(fd, number, RIGHT(kFdRead) | RIGHT(kFdSeek));
  return transfer(self, fd, list, n, &offset, told, kReading);
}
WASI(fd_pwrite, u32 number, u32 list, u32 n, u64 offset, u32 told) {
  NEED(fd, number, RIGHT(kFdWrite) | RIGHT(kFdSeek));
  return transfer(self, fd, list, n, &offset, told, kWriting);
}
WASI(fd_seek, u32 number, u64 offset, u32 whence, u32 told) {
  NEED(fd, number, RIGHT(kFdTell) | (offset == 0 && whence == 1 ? 0 : RIGHT(kFdSeek)));
  void* out = at(self, told, 8);
  if (out == NULL) return kFault;
  if (whence > 2) return kInval;
  off_t now = lseek(fd->host, (off_t)offset, whence == 0 ? SEEK_SET : whence == 1 ? SEEK_CUR : SEEK_END);
  if (now < 0) return wasi_errno(errno);
  store64(out, (u64)now);
  return kOk;
}
WASI(fd_tell, u32 number, u32 told) {
  NEED(fd, number, RIGHT(kFdTell));
  void* out = at(self, told, 8);
  off_t now = lseek(fd->host, 0, SEEK_CUR);
  if (out == NULL) return kFault;
  if (now < 0) return wasi_errno(errno);
  store64(out, (u64)now);
  return kOk;
}

// ---- folders: a place is the number of entries before it
static u8 entry_type(unsigned char type) {
  return type == DT_REG ? kTypeFile : type == DT_DIR ? kTypeFolder : type == DT_LNK ? kTypeLink : type == DT_CHR ? kTypeChar : kTypeUnknown;
}
WASI(fd_readdir, u32 number, u32 to, u32 size, u64 cookie, u32 told) {
  NEED(fd, number, RIGHT(kFdReaddir));
  u8* out = at(self, to, size);
  void* count = at(self, told, 4);
  if (out == NULL || count == NULL) return kFault;
  if (fd->stream == NULL) {
    int again = openat(fd->host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return wasi_errno(errno);
    fd->stream = fdopendir(again);
    if (fd->stream == NULL) {
      close(again);
      return kNomem;
    }
    fd->at = 0;
  }
  if (cookie != fd->at || cookie == 0) {
    rewinddir(fd->stream);
    for (fd->at = 0; fd->at < cookie; ++fd->at)
      if (readdir(fd->stream) == NULL) break;
  }
  u32 used = 0;
  while (used < size) {
    errno = 0;
    struct dirent* e = readdir(fd->stream);
    if (e == NULL && errno != 0) return wasi_errno(errno);
    if (e == NULL) break;
    u8 entry[24 + 256];
    u32 n = (u32)strlen(e->d_name);
    memset(entry, 0, 24);
    store64(entry, fd->at + 1);
    store64(entry + 8, e->d_ino);
    store32(entry + 16, n);
    entry[20] = entry_type(e->d_type);
    memcpy(entry + 24, e->d_name, n);
    u32 fits = size - used < 24 + n ? size - used : 24 + n;
    memcpy(out + used, entry, fits);
    used += fits;
    if (fits < 24 + n) {  // cut: it will be asked for again
      fd->at = UINT64_MAX;
      break;
    }
    ++fd->at;
  }
  store32(count, used);
  return kOk;
}
