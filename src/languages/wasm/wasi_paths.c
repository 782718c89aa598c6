// Names of a module. None leaves the folder it is looked up from: names are taken apart here, one part at a time, with every
// folder on the way held open, so that `..` goes back to where we came from and never further than where we began, and a
// link is read and followed by the same rules. (The kernel could do it by openat2, which a cell does not let through: its
// filter cannot look into the call.)
#define _GNU_SOURCE
#include "wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEEPEST 64
#define LINKS_MOST 40

typedef struct {
  int folder;                // held; the caller closes it
  char last[NAME_MAX + 1];   // the name in it; ".": the folder itself
  int must_be_folder;        // it was written with a slash at the end
} Place;

typedef struct {
  int held[DEEPEST];
  int depth;
  char rest[PATH_MAX];
  int links;
} Walk;

static void let_go(Walk* w, int keep) {
  for (int i = 0; i < w->depth; ++i)
    if (w->held[i] != keep) close(w->held[i]);
}

// One part of what is left to go; 1: that was the last.
static int next_part(char* rest, char* part, int* last, int* slash) {
  size_t skip = strspn(rest, "/");
  size_t n = strcspn(rest + skip, "/");
  if (n > NAME_MAX) return -1;
  memcpy(part, rest + skip, n);
  part[n] = '\0';
  size_t after = skip + n;
  *slash = rest[after] == '/';
  size_t more = after + strspn(rest + after, "/");
  *last = rest[more] == '\0';
  memmove(rest, rest + more, strlen(rest + more) + 1);
  return 0;
}

static u32 follow(Walk* w, const char* part) {
  char target[PATH_MAX];
  ssize_t n = readlinkat(w->held[w->depth - 1], part, target, sizeof target - 1);
  if (n < 0) return errno == EINVAL ? kOk : wasi_errno(errno);
  if (++w->links > LINKS_MOST) return kLoop;
  target[n] = '\0';
  if (target[0] == '/') return kNotcapable;
  if ((size_t)n + strlen(w->rest) + 2 > sizeof w->rest) return kNametoolong;
  char joined[PATH_MAX * 2];
  snprintf(joined, sizeof joined, "%s%s%s", target, w->rest[0] == '\0' ? "" : "/", w->rest);
  memcpy(w->rest, joined, strlen(joined) + 1);
  return kAgain;  // a link: go on with what it says
}

static u32 walk(Walk* w, int follow_last, Place* out) {
  for (;;) {
    char part[NAME_MAX + 1];
    int last, slash;
    if (next_part(w->rest, part, &last, &slash) != 0) return kNametoolong;
    if (strcmp(part, "..") == 0) {
      if (w->depth == 1) return kNotcapable;
      close(w->held[--w->depth]);
    }
    if (part[0] == '\0' || strcmp(part, ".") == 0 || strcmp(part, "..") == 0) {
      if (!last) continue;
      strcpy(out->last, ".");
      out->must_be_folder = 1;
      return kOk;
    }
    if (!last || follow_last || slash) {
      u32 link = follow(w, part);
      if (link == kAgain) {
        if (slash && last && strlen(w->rest) + 2 < sizeof w->rest) strcat(w->rest, "/");
        continue;
      }
      if (link != kOk && !(last && link == kNoent)) return link;
    }
    if (last) {
      strcpy(out->last, part);
      out->must_be_folder = slash;
      return kOk;
    }
    if (w->depth == DEEPEST) return kNametoolong;
    int next = openat(w->held[w->depth - 1], part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return wasi_errno(errno);
    w->held[w->depth++] = next;
  }
}

static u32 text_of(const Wasi* self, u32 path, u32 size, char* out) {
  const char* from = at(self, path, size);
  if (from == NULL) return kFault;
  if (size == 0) return kNoent;
  if (size >= PATH_MAX) return kNametoolong;
  if (memchr(from, '\0', size) != NULL) return kInval;
  memcpy(out, from, size);
  out[size] = '\0';
  return kOk;
}

static u32 find(const Wasi* self, u32 number, u64 rights, u32 path, u32 size, int follow_last, Place* out) {
  u32 why;
  WasiFd* fd = wasi_fd(number, rights, &why);
  if (fd == NULL) return why;
  if (fd->type != kTypeFolder) return kNotdir;
  Walk w;
  why = text_of(self, path, size, w.rest);
  if (why != kOk) return why;
  if (w.rest[0] == '/') return kNotcapable;
  w.held[0] = fcntl(fd->host, F_DUPFD_CLOEXEC, 3);
  if (w.held[0] < 0) return wasi_errno(errno);
  w.depth = 1;
  w.links = 0;
  why = walk(&w, follow_last, out);
  out->folder = why == kOk ? w.held[w.depth - 1] : -1;
  let_go(&w, out->folder);
  return why;
}

static u32 leave(const Place* p, int result) {
  u32 why = result < 0 ? wasi_errno(errno) : kOk;
  close(p->folder);
  return why;
}

#define FIND(place, number, rights, path, size, follow_last)                    \
  Place place;                                                                  \
  do {                                                                          \
    u32 why_found = find(self, number, rights, path, size, follow_last, &place); \
    if (why_found != kOk) return why_found;                                     \
  } while (0)

WASI(path_open, u32 number, u32 follow_last, u32 path, u32 size, u32 how, u64 rights, u64 inherits, u32 flags, u32 to) {
  enum { kCreate = 1, kFolder = 2, kExclusive = 4, kTruncate = 8 };
  void* out = at(self, to, 4);
  u32 why;
  WasiFd* from = wasi_fd(number, RIGHT(kPathOpen), &why);
  if (from == NULL) return why;
  if (out == NULL) return kFault;
  if (how > 15 || flags > 31) return kInval;
  u64 needed = ((how & kCreate) != 0 ? RIGHT(kPathMakeFile) : 0) | ((how & kTruncate) != 0 ? RIGHT(kPathSetSize) : 0);
  if ((from->rights & needed) != needed) return kNotcapable;
  rights &= from->inherits;
  inherits &= from->inherits;
  FIND(p, number, RIGHT(kPathOpen), path, size, (follow_last & 1) != 0 && (how & kExclusive) == 0);
  int writes = (rights & (RIGHT(kFdWrite) | RIGHT(kFdAllocate) | RIGHT(kFdSetSize))) != 0 && (how & kFolder) == 0;
  int reads = (rights & (RIGHT(kFdRead) | RIGHT(kFdReaddir))) != 0;
  int common = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int mode = (writes ? (reads ? O_RDWR : O_WRONLY) : O_RDONLY) | ((how & kCreate) != 0 ? O_CREAT : 0) |
             ((how & kExclusive) != 0 ? O_EXCL : 0) | ((how & kTruncate) != 0 ? O_TRUNC : 0) | ((flags & 1) != 0 ? O_APPEND : 0) |
             ((flags & 2) != 0 ? O_DSYNC : 0) | ((flags & (8 | 16)) != 0 ? O_SYNC : 0);
  if ((how & kFolder) != 0 || p.must_be_folder) mode = O_RDONLY | O_DIRECTORY;
  int place = wasi_fd_place();
  int host = place < 0 ? -1 : openat(p.folder, p.last, mode | common, 0644);
  if (place >= 0 && host < 0 && errno == EISDIR && (how & (kCreate | kTruncate)) == 0)
    host = openat(p.folder, p.last, O_RDONLY | O_DIRECTORY | common);
  if (place < 0) errno = EMFILE;
  why = leave(&p, host);
  if (why != kOk) return why;
  struct stat s;
  // Files and folders only: a FIFO, socket or device in the workspace leads out of it.
  if (fstat(host, &s) != 0 || !(S_ISREG(s.st_mode) || S_ISDIR(s.st_mode))) {
    close(host);
    return kNotcapable;
  }
  int folder = S_ISDIR(s.st_mode);
  *wasi_fd_slot(place) = (WasiFd){host, wasi_type(&s), NULL, rights & (folder ? FOLDER_RIGHTS : FILE_RIGHTS), folder ? inherits : 0, NULL, 0};
  store32(out, (u32)place);
  return kOk;
}

WASI(path_create_directory, u32 number, u32 path, u32 size) {
  FIND(p, number, RIGHT(kPathMakeFolder), path, size, 0);
  return leave(&p, mkdirat(p.folder, p.last, 0755));
}
WASI(path_remove_directory, u32 number, u32 path, u32 size) {
  FIND(p, number, RIGHT(kPathRemoveFolder), path, size, 0);
  return leave(&p, unlinkat(p.folder, p.last, AT_REMOVEDIR));
}
WASI(path_unlink_file, u32 number, u32 path, u32 size) {
  FIND(p, number, RIGHT(kPathUnlink), path, size, 0);
  return leave(&p, unlinkat(p.folder, p.last, 0));
}
WASI(path_filestat_get, u32 number, u32 follow_last, u32 path, u32 size, u32 to) {
  u8* out = at(self, to, 64);
  struct stat s;
  if (out == NULL) return kFault;
  FIND(p, number, RIGHT(kPathStat), path, size, (follow_last & 1) != 0);
  int got = fstatat(p.folder, p.last, &s, AT_SYMLINK_NOFOLLOW);
  if (got == 0 && p.must_be_folder && !S_ISDIR(s.st_mode)) {
    errno = ENOTDIR;
    got = -1;
  }
  if (got == 0) wasi_filestat(out, &s);
  return leave(&p, got);
}
WASI(path_filestat_set_times, u32 number, u32 follow_last, u32 path, u32 size, u64 atime, u64 mtime, u32 flags) {
  if (flags > 15 || (flags & 3) == 3 || (flags & 12) == 12) return kInval;
  FIND(p, number, RIGHT(kPathSetTimes), path, size, (follow_last & 1) != 0);
  struct timespec t[2] = {{(time_t)(atime / 1000000000u), (long)(atime % 1000000000u)}, {(time_t)(mtime / 1000000000u), (long)(mtime % 1000000000u)}};
  if ((flags & 1) == 0) t[0].tv_nsec = (flags & 2) != 0 ? UTIME_NOW : UTIME_OMIT;
  if ((flags & 4) == 0) t[1].tv_nsec = (flags & 8) != 0 ? UTIME_NOW : UTIME_OMIT;
  return leave(&p, utimensat(p.folder, p.last, t, AT_SYMLINK_NOFOLLOW));
}
// The link itself is what gets another name, not what it says.
WASI(path_link, u32 old_number, u32 follow_last, u32 old_path, u32 old_size, u32 number, u32 path, u32 size) {
  if ((follow_last & 1) != 0) return kInval;
  FIND(from, old_number, RIGHT(kPathLinkSource), old_path, old_size, 0);
  Place to;
  u32 why = find(self, number, RIGHT(kPathLinkTarget), path, size, 0, &to);
  if (why != kOk) {
    close(from.folder);
    return why;
  }
  why = leave(&to, linkat(from.folder, from.last, to.folder, to.last, 0));
  close(from.folder);
  return why;
}
WASI(path_rename, u32 old_number, u32 old_path, u32 old_size, u32 number, u32 path, u32 size) {
  FIND(from, old_number, RIGHT(kPathRenameSource), old_path, old_size, 0);
  Place to;
  u32 why = find(self, number, RIGHT(kPathRenameTarget), path, size, 0, &to);
  if (why != kOk) {
    close(from.folder);
    return why;
  }
  why = leave(&to, renameat(from.folder, from.last, to.folder, to.last));
  close(from.folder);
  return why;
}
// One that says an absolute name is not made at all: somebody else might follow it.
WASI(path_symlink, u32 says, u32 says_size, u32 number, u32 path, u32 size) {
  char target[PATH_MAX];
  u32 why = text_of(self, says, says_size, target);
  if (why != kOk) return why;
  if (target[0] == '/') return kNotcapable;
  FIND(p, number, RIGHT(kPathSymlink), path, size, 0);
  return leave(&p, symlinkat(target, p.folder, p.last));
}
WASI(path_readlink, u32 number, u32 path, u32 size, u32 to, u32 most, u32 told) {
  char* out = at(self, to, most);
  void* count = at(self, told, 4);
  if (out == NULL || count == NULL) return kFault;
  FIND(p, number, RIGHT(kPathReadlink), path, size, 0);
  char target[PATH_MAX];
  ssize_t n = readlinkat(p.folder, p.last, target, sizeof target);
  u32 why = leave(&p, n < 0 ? -1 : 0);
  if (why != kOk) return why;
  u32 fits = (u32)n < most ? (u32)n : most;
  memcpy(out, target, fits);
  store32(count, fits);
  return kOk;
}
