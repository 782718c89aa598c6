#include "cells/tar/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace hotcell::cells {
namespace {

constexpr size_t kBlock = 512, kLongest = 4096;
constexpr int kDeepest = 256;

struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[8], user[32], group[32], major[8], minor[8],
      prefix[155], pad[12];
};
static_assert(sizeof(Header) == kBlock);

bool fail(TarFault& f, int err, const char* what, const char* name) {
  f.err = err == 0 ? EIO : err;
  f.what = what;
  size_t n = strnlen(name, sizeof f.name - 1);
  memcpy(f.name, name, n);
  f.name[n] = 0;
  return false;
}

bool write_all(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* bytes, size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = EPIPE;
      return false;
    }
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

void put_octal(char* field, size_t size, uint64_t value) {
  field[--size] = 0;
  while (size-- > 0) {
    field[size] = static_cast<char>('0' + (value & 7));
    value >>= 3;
  }
}
void put_size(char* field, uint64_t value) {
  if (value < (uint64_t{1} << 33)) return put_octal(field, 12, value);
  memset(field, 0, 12);
  field[0] = static_cast<char>(0x80);
  for (int i = 11; i > 3; --i, value >>= 8) field[i] = static_cast<char>(value);
}
uint64_t get_number(const char* field, size_t size) {
  uint64_t value = 0;
  if (static_cast<unsigned char>(field[0]) & 0x80) {
    for (size_t i = 4; i < size; ++i) value = value << 8 | static_cast<unsigned char>(field[i]);
    return value;
  }
  for (size_t i = 0; i < size && field[i] != 0; ++i)
    if (field[i] >= '0' && field[i] <= '7') value = value << 3 | static_cast<uint64_t>(field[i] - '0');
  return value;
}
unsigned sum_of(const Header& h) {
  Header copy = h;
  memset(copy.sum, ' ', sizeof copy.sum);
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += reinterpret_cast<unsigned char*>(&copy)[i];
  return sum;
}

bool put_header(int out, const char* name, const char* link, char type, uint64_t size, const struct stat& st);

bool put_long(int out, const char* text, char type, const struct stat& st) {
  size_t size = strlen(text) + 1;
  char zeros[kBlock] = {};
  return put_header(out, "././@LongLink", "", type, size, st) && write_all(out, text, size) &&
         write_all(out, zeros, (kBlock - size % kBlock) % kBlock);
}

bool put_header(int out, const char* name, const char* link, char type, uint64_t size, const struct stat& st) {
  if (strlen(name) >= sizeof Header::name && !put_long(out, name, 'L', st)) return false;
  if (strlen(link) >= sizeof Header::link && !put_long(out, link, 'K', st)) return false;
  Header h{};
  memcpy(h.name, name, strnlen(name, sizeof h.name - 1));
  memcpy(h.link, link, strnlen(link, sizeof h.link - 1));
  put_octal(h.mode, sizeof h.mode, st.st_mode & 0777);
  put_octal(h.uid, sizeof h.uid, 0);
  put_octal(h.gid, sizeof h.gid, 0);
  put_size(h.size, size);
  put_octal(h.mtime, sizeof h.mtime, st.st_mtime > 0 ? static_cast<uint64_t>(st.st_mtime) : 0);
  h.type = type;
  memcpy(h.magic, "ustar  ", 8);
  put_octal(h.sum, 7, sum_of(h));
  h.sum[7] = ' ';
  return write_all(out, &h, sizeof h);
}

bool put_content(int from, int out, uint64_t size) {
  static char buffer[64 << 10];
  uint64_t left = size;
  while (left > 0) {
    ssize_t n = read(from, buffer, left < sizeof buffer ? static_cast<size_t>(left) : sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    // A file that became shorter meanwhile: what its header promised must come.
    if (n == 0) memset(buffer, 0, sizeof buffer), n = static_cast<ssize_t>(left < sizeof buffer ? left : sizeof buffer);
    if (!write_all(out, buffer, static_cast<size_t>(n))) return false;
    left -= static_cast<uint64_t>(n);
  }
  char zeros[kBlock] = {};
  return write_all(out, zeros, (kBlock - size % kBlock) % kBlock);
}

bool write_entry(int folder, const char* path, char* name, size_t length, int depth, int out, TarFault& fault);

bool write_folder(int folder, const char* path, char* name, size_t length, int depth, const struct stat& st, int out, TarFault& fault) {
  name[length] = '/';
  name[length + 1] = 0;
  if (!put_header(out, name, "", '5', 0, st)) return fail(fault, errno, "write", name);
  int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* list = fd < 0 ? nullptr : fdopendir(fd);
  if (list == nullptr) return fail(fault, errno, "read", name);
  bool good = true;
  while (good) {
    dirent* entry = readdir(list);
    if (entry == nullptr) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    size_t more = strlen(entry->d_name);
    if (length + 1 + more + 2 > kLongest) {
      good = fail(fault, ENAMETOOLONG, "read", entry->d_name);
      break;
    }
    memcpy(name + length + 1, entry->d_name, more + 1);
    good = write_entry(fd, entry->d_name, name, length + 1 + more, depth + 1, out, fault);
  }
  closedir(list);
  name[length] = 0;
  return good;
}

bool write_entry(int folder, const char* path, char* name, size_t length, int depth, int out, TarFault& fault) {
  struct stat st;
  if (depth > kDeepest) return fail(fault, ELOOP, "read", name);
  if (fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT && depth > 0 ? true : fail(fault, errno, "read", name);
  if (S_ISDIR(st.st_mode)) return write_folder(folder, path, name, length, depth, st, out, fault);
  if (S_ISLNK(st.st_mode)) {
    char target[kLongest];
    ssize_t n = readlinkat(folder, path, target, sizeof target - 1);
    if (n < 0) return fail(fault, errno, "read", name);
    target[n] = 0;
    return put_header(out, name, target, '2', 0, st) || fail(fault, errno, "write", name);
  }
  if (!S_ISREG(st.st_mode)) return true;
  int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
    int err = errno;
    if (fd >= 0) close(fd);
    return fail(fault, err, "read", name);
  }
  bool good = put_header(out, name, "", '0', static_cast<uint64_t>(st.st_size), st) && put_content(fd, out, static_cast<uint64_t>(st.st_size));
  int err = errno;
  close(fd);
  return good || fail(fault, err, "write", name);
}

// The folder that `name`'s last part lies in, made where it is missing; never through a link. -1 and errno.
int open_parent(int top, char* name, const char** last) {
  int at = fcntl(top, F_DUPFD_CLOEXEC, 3);
  char* part = name;
  for (;;) {
    char* slash = strchr(part, '/');
    if (slash == nullptr) break;
    *slash = 0;
    if (at >= 0 && *part != 0 && strcmp(part, ".") != 0) {
      int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (next < 0 && errno == ENOENT && mkdirat(at, part, 0755) == 0) next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      int err = errno == ELOOP || errno == ENOTDIR ? ENOTDIR : errno;
      close(at);
      at = next;
      errno = err;
    }
    *slash = '/';
    part = slash + 1;
  }
  *last = part;
  return at;
}

bool is_plain(const char* name) {
  if (*name == 0) return false;
  for (const char* part = name; part != nullptr;) {
    const char* slash = strchr(part, '/');
    size_t n = slash == nullptr ? strlen(part) : static_cast<size_t>(slash - part);
    if (n == 2 && part[0] == '.' && part[1] == '.') return false;
    part = slash == nullptr ? nullptr : slash + 1;
  }
  return true;
}

// The next part of a path that names something: neither empty nor `.`. 0: none.
size_t next_part(const char*& at) {
  for (;; at += *at == '.') {
    while (*at == '/') ++at;
    size_t n = strcspn(at, "/");
    if (n != 1 || *at != '.') return n;
  }
}

// A link at `name` that stays below the first part of that name: what lies beside it in the folder was there before. (Of a name that
// begins with `.` it is the folder itself.) `..` counts only at the beginning, where it climbs real folders (nothing is written
// through a link); further on it might climb from wherever another link leads.
bool stays_inside(const char* name, const char* target) {
  if (*target == '/' || *target == 0) return false;
  const bool whole = name[0] == '.' && name[1] == '/';
  int depth = -1;
  const char* top = name;
  const size_t top_size = next_part(top);
  for (const char* at = top; size_t n = next_part(at); at += n) ++depth;
  bool down = false;
  for (const char* at = target; size_t n = next_part(at); at += n) {
    if (n == 2 && at[0] == '.' && at[1] == '.') {
      if (down || --depth < 0) return false;
    } else if (!down) {
      if (depth == 0 && !whole && !(n == top_size && strncmp(at, top, n) == 0)) return false;
      down = true;
    }
  }
  return down || depth > 0 || whole;
}

// `name` is `asked` or below it, as tar_write writes that.
bool is_asked(const char* name, const char* asked) {
  size_t n = strlen(asked);
  return strncmp(name, asked, n) == 0 && (name[n] == 0 || name[n] == '/');
}

void leave_out(TarLeftOut* left_out, const char* name) {
  if (left_out == nullptr) return;
  if (left_out->count < TarLeftOut::kNamed) {
    char* to = left_out->names[left_out->count];
    size_t n = strnlen(name, sizeof left_out->names[0] - 1);
    memcpy(to, name, n);
    to[n] = 0;
  }
  ++left_out->count;
}

bool copy_content(int in, int to, uint64_t size) {
  static char buffer[64 << 10];
  uint64_t left = size + (kBlock - size % kBlock) % kBlock;
  uint64_t content = size;
  while (left > 0) {
    size_t want = left < sizeof buffer ? static_cast<size_t>(left) : sizeof buffer;
    if (!read_all(in, buffer, want)) return false;
    size_t kept = content < want ? static_cast<size_t>(content) : want;
    if (to >= 0 && kept > 0 && !write_all(to, buffer, kept)) return false;
    content -= kept;
    left -= want;
  }
  return true;
}

// A further name of a file that is in `folder` already, as most archives have them. Never of a link: it was judged by where it lies.
bool add_name(int folder, char* of, int parent, const char* last) {
  while (*of == '/') ++of;
  if (!is_plain(of)) return errno = EPERM, false;
  const char* source;
  int holder = open_parent(folder, of, &source);
  if (holder < 0) return false;
  struct stat st, there;
  bool good = fstatat(holder, source, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (good && !S_ISREG(st.st_mode)) good = false, errno = EPERM;
  // The same file under this name is not taken away before it is linked to.
  const bool same = good && fstatat(parent, last, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == st.st_ino && there.st_dev == st.st_dev;
  if (good && !same) good = (unlinkat(parent, last, 0) == 0 || errno == ENOENT) && linkat(holder, source, parent, last, 0) == 0;
  int err = errno;
  close(holder);
  errno = err;
  return good;
}

bool read_entry(int in, int folder, char* name, char* link, const Header& h, uint64_t size, TarLinks links, TarFault& fault, TarLeftOut* left_out) {
  while (*name == '/') ++name;
  size_t length = strlen(name);
  while (length > 0 && name[length - 1] == '/') name[--length] = 0;
  bool top = length == 0 || strcmp(name, ".") == 0;
  if (!top && !is_plain(name)) return fail(fault, EPERM, "a name that leads elsewhere", name);
  mode_t mode = static_cast<mode_t>(get_number(h.mode, sizeof h.mode)) & 0777;
  if (top) return h.type == '5' || fail(fault, EINVAL, "an entry without a name", name);
  if (h.type == '2' && links == TarLinks::kInside && !stays_inside(name, link)) return leave_out(left_out, name), true;
  const char* last;
  int parent = open_parent(folder, name, &last);
  if (parent < 0) return fail(fault, errno, errno == ENOTDIR ? "a name that leads through a link or a file" : "write", name);
  bool good = true;
  int err = 0;
  const char* what = "write";
  if (h.type == '5') {
    good = mkdirat(parent, last, mode | 0700) == 0;
    if (!good && errno == EEXIST) {
      struct stat st;
      good = fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
      errno = EEXIST;
    }
    err = errno;
  } else if (h.type == '2') {
    good = (unlinkat(parent, last, 0) == 0 || errno == ENOENT) && symlinkat(link, parent, last) == 0;
    err = errno;
  } else if (h.type == '1' && links == TarLinks::kAny) {
    good = add_name(folder, link, parent, last);
    err = errno;
    what = "a further name of a file that is not there";
  } else if (h.type == '0' || h.type == 0) {
    // A new file beside it, then its name: whoever reads sees the old or the new one.
    char temporary[64];
    snprintf(temporary, sizeof temporary, ".hotcell-%ld", static_cast<long>(getpid()));
    int fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    good = fd >= 0 && copy_content(in, fd, size) && fchmod(fd, mode) == 0 && renameat(parent, temporary, parent, last) == 0;
    err = errno;
    if (fd >= 0) close(fd);
    if (fd >= 0 && !good) unlinkat(parent, temporary, 0);
  } else {
    good = false;
    err = EPERM;
    what = "neither file, folder nor symlink";
  }
  close(parent);
  return good || fail(fault, err, what, name);
}

}  // namespace

bool tar_write(int folder, const char* path, const char* name, int out, TarFault& fault) {
  static char full[kLongest];
  size_t length = strlen(name);
  if (length + 2 > sizeof full) return fail(fault, ENAMETOOLONG, "read", name);
  memcpy(full, name, length + 1);
  if (!write_entry(folder, path, full, length, 0, out, fault)) return false;
  char zeros[2 * kBlock] = {};
  return write_all(out, zeros, sizeof zeros) || fail(fault, errno, "write", name);
}

bool tar_read(int in, int folder, uint64_t most_bytes, uint64_t most_entries, TarLinks links, TarFault& fault, TarLeftOut* left_out, const char* asked) {
  static char name[kLongest + kBlock], link[kLongest + kBlock];
  bool long_name = false, long_link = false;
  for (;;) {
    Header h;
    if (!read_all(in, &h, sizeof h)) return fail(fault, errno, "the archive ends too soon", "");
    bool zero = true;
    for (size_t i = 0; i < kBlock && zero; ++i) zero = reinterpret_cast<char*>(&h)[i] == 0;
    if (zero) return true;
    if (get_number(h.sum, sizeof h.sum) != sum_of(h)) return fail(fault, EBADMSG, "not a tar archive", "");
    uint64_t size = get_number(h.size, sizeof h.size);
    if (h.type == 'L' || h.type == 'K') {
      if (size == 0 || size > kLongest) return fail(fault, ENAMETOOLONG, "read", "");
      char* into = h.type == 'L' ? name : link;
      if (!read_all(in, into, static_cast<size_t>((size + kBlock - 1) / kBlock * kBlock))) return fail(fault, errno, "the archive ends too soon", "");
      into[size - 1] = 0;
      (h.type == 'L' ? long_name : long_link) = true;
      continue;
    }
    if (h.type == 'x' || h.type == 'g') {
      if (size > 1 << 20 || !copy_content(in, -1, size)) return fail(fault, errno, "the archive ends too soon", "");
      continue;
    }
    if (!long_name) {
      size_t prefix = strnlen(h.prefix, sizeof h.prefix);
      bool ustar = memcmp(h.magic, "ustar\0", 6) == 0 && prefix > 0;
      char* at = name;
      if (ustar) {
        memcpy(at, h.prefix, prefix);
        at += prefix;
        *at++ = '/';
      }
      size_t n = strnlen(h.name, sizeof h.name);
      memcpy(at, h.name, n);
      at[n] = 0;
    }
    if (!long_link) {
      size_t n = strnlen(h.link, sizeof h.link);
      memcpy(link, h.link, n);
      link[n] = 0;
    }
    long_name = long_link = false;
    bool file = h.type == '0' || h.type == 0;
    if (!file) size = 0;
    if (most_entries-- == 0 || size > most_bytes) return fail(fault, EFBIG, "more than is allowed", name);
    most_bytes -= size;
    if (asked != nullptr && !is_asked(name, asked)) return fail(fault, EPERM, "a name that was not asked for", name);
    if (!read_entry(in, folder, name, link, h, size, links, fault, left_out)) return false;
  }
}

}  // namespace hotcell::cells
