#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cells/spawner/agent.h"
#include "cells/tar/tar.h"

namespace hotcell::cells {
namespace {

int bad(const char* path, const char* why) {
  dprintf(2, "%s: %s\n", path, why);
  return 1;
}
int failed(const char* path) { return bad(path, strerror(errno)); }

bool write_all(int fd, const char* at, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

char g_buffer[64 << 10];

int read_file(const char* path, unsigned long long from, unsigned long long most) {
  // Non-blocking only so that a FIFO cannot hold us here.
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) < 0) return failed(path);
  if (!S_ISREG(st.st_mode)) return bad(path, S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file");
  if (from > 0 && lseek(fd, static_cast<off_t>(from), SEEK_SET) < 0) return failed(path);
  while (most > 0) {
    ssize_t n = read(fd, g_buffer, most < sizeof g_buffer ? static_cast<size_t>(most) : sizeof g_buffer);
    if (n < 0) return failed(path);
    if (n == 0) return 0;
    if (!write_all(1, g_buffer, static_cast<size_t>(n))) return failed("standard output");
    most -= static_cast<unsigned long long>(n);
  }
  return 0;
}

// A file without a name, which is nobody's litter when we are killed; where the file system has none, one with.
int open_temporary(const char* real, const char* temporary, unsigned mode, bool* named) {
  char folder[PATH_MAX];
  strcpy(folder, real);
  char* slash = strrchr(folder, '/');
  if (slash != nullptr) slash[slash == folder] = 0;
  *named = false;
  int fd = open(slash == nullptr ? "." : folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  *named = true;
  return open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

bool give_name(int fd, const char* temporary) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0;
}

// Beside it and then renamed: whoever reads sees the old or the new content. `exactly`: how much it must be; an end before
// that is the sender's.
int write_file(const char* path, unsigned mode, unsigned long long most, unsigned long long exactly) {
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return bad(path, S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file");
  char real[PATH_MAX], temporary[PATH_MAX + 64];
  if (realpath(path, real) == nullptr) {
    if (errno != ENOENT || strlen(path) >= sizeof real) return failed(path);
    strcpy(real, path);
  }
  snprintf(temporary, sizeof temporary, "%s.hotcell-%ld", real, static_cast<long>(getpid()));
  bool named = false;
  int fd = open_temporary(real, temporary, mode & 0777, &named);
  if (fd < 0) return failed(path);
  unsigned long long total = 0;
  auto give_up = [&](const char* why) {
    if (named) unlink(temporary);
    return bad(path, why);
  };
  for (;;) {
    ssize_t n = read(0, g_buffer, sizeof g_buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    if (n > 0 && static_cast<unsigned long long>(n) > most) errno = EFBIG, n = -1;
    if (n < 0 || !write_all(fd, g_buffer, static_cast<size_t>(n))) return give_up(strerror(errno));
    most -= static_cast<unsigned long long>(n);
    total += static_cast<unsigned long long>(n);
  }
  if (exactly != ~0ull && total != exactly) return give_up("it was cut short");
  if (fchmod(fd, mode & 0777) < 0 || fsync(fd) < 0 || (!named && !give_name(fd, temporary))) return give_up(strerror(errno));
  named = true;
  if (close(fd) < 0 || rename(temporary, real) < 0) return give_up(strerror(errno));
  return 0;
}

// type mode size seconds.nanoseconds name NUL
void describe(const struct stat& st, const char* name, const char* target) {
  char type = S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : S_ISLNK(st.st_mode) ? 'l' : S_ISFIFO(st.st_mode) ? 'p' : S_ISSOCK(st.st_mode) ? 's' : 'o';
  dprintf(1, "%c %o %lld %lld.%09ld %s", type, st.st_mode & 07777u, static_cast<long long>(st.st_size), static_cast<long long>(st.st_mtim.tv_sec),
          st.st_mtim.tv_nsec, name);
  write_all(1, "", 1);
  if (type == 'l') write_all(1, target, strlen(target) + 1);
}
int describe_at(int folder, const char* path, const char* name) {
  struct stat st;
  if (fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) < 0) return failed(path);
  char target[PATH_MAX] = "";
  if (S_ISLNK(st.st_mode)) {
    ssize_t n = readlinkat(folder, path, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = 0;
  }
  describe(st, name, target);
  return 0;
}

int list(const char* path) {
  DIR* folder = opendir(path);
  if (folder == nullptr) return failed(path);
  while (dirent* entry = readdir(folder)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    describe_at(dirfd(folder), entry->d_name, entry->d_name);
  }
  closedir(folder);
  return 0;
}

bool remove_tree(int folder, const char* name, int depth) {
  if (unlinkat(folder, name, 0) == 0) return true;
  if ((errno != EISDIR && errno != EPERM) || depth > 256) return false;
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* inner = fd < 0 ? nullptr : fdopendir(fd);
  if (inner == nullptr) return false;
  bool good = true;
  while (dirent* entry = good ? readdir(inner) : nullptr) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    good = remove_tree(fd, entry->d_name, depth + 1);
  }
  int err = errno;
  closedir(inner);
  errno = err;
  return good && unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

// What is left of a tree when its own name cannot be removed (".", "x/..", the folder a file system is mounted on) would be nothing:
// refused before anything is removed, however it is spelt.
const char* not_removable(const char* path) {
  size_t length = strlen(path);
  while (length > 0 && path[length - 1] == '/') --length;
  size_t begin = length;
  while (begin > 0 && path[begin - 1] != '/') --begin;
  const size_t last = length - begin;
  if (last == 0 || (last == 1 && path[begin] == '.') || (last == 2 && path[begin] == '.' && path[begin + 1] == '.'))
    return "a folder is removed by its name, not by '.', '..' or '/'";
  struct stat st, own;
  if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) return nullptr;
  const char* const all[] = {"/work", "/"};
  for (const char* kept : all)
    if (stat(kept, &own) == 0 && own.st_ino == st.st_ino && own.st_dev == st.st_dev) return "the workspace itself is not removed";
  return nullptr;
}

int make_folders(const char* path, bool parents) {
  if (parents) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) return bad(path, strerror(ENAMETOOLONG));
    for (size_t i = 1; i < length; ++i) {
      if (path[i] != '/') continue;
      memcpy(part, path, i);
      part[i] = 0;
      if (mkdir(part, 0755) < 0 && errno != EEXIST) return failed(part);
    }
  }
  if (mkdir(path, 0755) == 0) return 0;
  struct stat st;
  if (errno == EEXIST && parents && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return 0;
  return failed(path);
}

int pack(const char* path) {
  TarFault fault;
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') --length;
  char clean[PATH_MAX];
  if (length >= sizeof clean) return bad(path, strerror(ENAMETOOLONG));
  memcpy(clean, path, length);
  clean[length] = 0;
  const char* slash = strrchr(clean, '/');
  const char* name = slash == nullptr ? clean : slash + 1;
  if (*name == 0) name = ".";
  if (tar_write(AT_FDCWD, clean, name, 1, fault)) return 0;
  dprintf(2, "%s: %s: %s\n", fault.name, fault.what, strerror(fault.err));
  return 1;
}
int unpack(const char* path, unsigned long long most) {
  TarFault fault;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failed(path);
  if (tar_read(0, folder, most, 1'000'000, TarLinks::kAny, fault)) return 0;
  // Of the archive itself, not of an entry in it.
  if (fault.name[0] == 0 && fault.err == EBADMSG) dprintf(2, "what is to be unpacked is no tar archive, or a damaged one\n");
  else if (fault.name[0] == 0 && fault.err == EPIPE) dprintf(2, "%s\n", fault.what);
  else dprintf(2, "%s: %s: %s\n", fault.name[0] == 0 ? "the archive" : fault.name, fault.what, strerror(fault.err));
  return 1;
}

// Watches one file or a folder with all below it; a line for each change: what, and the path, NUL at its end.
struct Watched {
  int wd;
  char path[PATH_MAX];
};
Watched* g_watched;
unsigned g_watched_count;
constexpr unsigned kMostWatched = 4096;
constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF;

bool add_watch(int notify, const char* path, int depth) {
  if (g_watched_count == kMostWatched || depth > 64 || strlen(path) >= PATH_MAX) return false;
  int wd = inotify_add_watch(notify, path, kChanges | IN_DONT_FOLLOW);
  if (wd < 0) return false;
  g_watched[g_watched_count].wd = wd;
  strcpy(g_watched[g_watched_count++].path, path);
  DIR* folder = opendir(path);
  if (folder == nullptr) return true;
  while (dirent* entry = readdir(folder)) {
    if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char inner[PATH_MAX];
    if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < static_cast<int>(sizeof inner)) add_watch(notify, inner, depth + 1);
  }
  closedir(folder);
  return true;
}

int watch(const char* path) {
  int notify = inotify_init1(IN_CLOEXEC);
  g_watched = static_cast<Watched*>(calloc(kMostWatched, sizeof(Watched)));
  if (notify < 0 || g_watched == nullptr || !add_watch(notify, path, 0)) return failed(path);
  dprintf(1, "ready %s", path);
  if (!write_all(1, "", 1)) return 1;
  for (;;) {
    pollfd fds[2] = {{notify, POLLIN, 0}, {1, 0, 0}};
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents & (POLLERR | POLLHUP)) return 0;  // nobody listens any more
    ssize_t n = read(notify, g_buffer, sizeof g_buffer);
    if (n <= 0) continue;
    for (char* at = g_buffer; at < g_buffer + n;) {
      inotify_event event;
      memcpy(&event, at, sizeof event);
      const char* name = at + sizeof event;
      at += sizeof event + event.len;
      const char* folder = path;
      for (unsigned i = 0; i < g_watched_count; ++i)
        if (g_watched[i].wd == event.wd) folder = g_watched[i].path;
      char full[PATH_MAX];
      if (event.len > 0) snprintf(full, sizeof full, "%s/%s", folder, name);
      else snprintf(full, sizeof full, "%s", folder);
      const char* what = (event.mask & IN_CREATE) ? "created"
                         : (event.mask & (IN_DELETE | IN_DELETE_SELF)) ? "removed"
                         : (event.mask & IN_CLOSE_WRITE) ? "written"
                         : (event.mask & IN_MOVED_FROM) ? "moved-from"
                         : (event.mask & IN_MOVED_TO) ? "moved-to"
                         : (event.mask & IN_ATTRIB) ? "attributes"
                         : (event.mask & IN_Q_OVERFLOW) ? "overflow" : nullptr;
      if (what == nullptr) continue;
      dprintf(1, "%s %s", what, full);
      if (!write_all(1, "", 1)) return 0;
      if ((event.mask & IN_ISDIR) && (event.mask & (IN_CREATE | IN_MOVED_TO))) add_watch(notify, full, 1);
    }
  }
}

}  // namespace

int agent(int argc, char** argv) {
  signal(SIGXFSZ, SIG_IGN);  // a write past the limit is an error, and what was begun is taken back
  const char* what = argv[1];
  const char* path = argc > 2 ? argv[2] : "";
  auto number = [&](int i, unsigned long long without) { return argc > i ? strtoull(argv[i], nullptr, 10) : without; };
  auto is = [&](const char* name) { return strcmp(what, name) == 0; };
  if (is("read")) return read_file(path, number(3, 0), number(4, ~0ull));
  if (is("write")) return write_file(path, argc > 3 ? static_cast<unsigned>(strtoul(argv[3], nullptr, 8)) : 0644, number(4, ~0ull), number(5, ~0ull));
  if (is("list")) return list(path);
  if (is("stat")) return describe_at(AT_FDCWD, path, path);
  if (is("mkdir")) return make_folders(path, argc > 3);
  if (is("remove")) {
    if (const char* why = not_removable(path)) return bad(path, why);
    bool gone = argc > 3 ? remove_tree(AT_FDCWD, path, 0) : unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0);
    return gone ? 0 : failed(path);
  }
  if (is("move")) return argc > 3 && rename(path, argv[3]) == 0 ? 0 : failed(path);
  if (is("pack")) return pack(path);
  if (is("unpack")) return unpack(path, number(3, ~0ull));
  if (is("watch")) return watch(path);
  return bad(what, "not an operation of the file agent");
}

}  // namespace hotcell::cells
