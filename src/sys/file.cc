#include "sys/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "sys/fault.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace hotcell::sys {

Result<Fd> open(const char* path, int flags, unsigned mode) { return open_at(AT_FDCWD, path, flags, mode); }

Result<Fd> open_at(int dir, const char* path, int flags, unsigned mode) {
  if (int e = fault("open")) return errno_error(cat("open ", printable(path)), e);
  int fd = ::openat(dir, path, flags | O_CLOEXEC, mode);
  if (fd < 0) return errno_error(cat("open ", printable(path)), errno);
  return Fd(fd);
}

Result<Fd> open_beneath(int dir, const char* path, int flags, unsigned mode, bool follow_symlinks) {
  if (int e = fault("openat2")) return errno_error(cat("open ", printable(path)), e);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (follow_symlinks ? 0 : RESOLVE_NO_SYMLINKS);
  long fd = ::syscall(SYS_openat2, dir, path, &how, sizeof how);
  if (fd < 0) return errno_error(cat("open ", printable(path)), errno);
  return Fd(static_cast<int>(fd));
}

Result<std::string> read_fd(int fd, std::size_t at_most) {
  std::string out;
  char buf[16384];
  for (;;) {
    ssize_t n = ::read(fd, buf, sizeof buf);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read", errno);
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > at_most) return make_error(ErrorCode::kLimit, "read: file is too large");
    out.append(buf, static_cast<std::size_t>(n));
  }
}

Result<std::string> read_file(const char* path, std::size_t at_most) {
  TRY_SET(Fd fd, open(path, O_RDONLY));
  return read_fd(fd.get(), at_most).context(path);
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    if (int e = fault("write")) return errno_error("write", e);
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> write_file_at(int dir, const char* path, std::string_view bytes) {
  TRY_SET(Fd fd, open_at(dir, path, O_WRONLY));
  // procfs and cgroupfs take a value in one write or not at all.
  if (int e = fault("write")) return errno_error(cat("write ", path), e);
  ssize_t n;
  do n = ::write(fd.get(), bytes.data(), bytes.size());
  while (n < 0 && errno == EINTR);  // a memory limit is given up for a signal, such as that of a child that ended
  if (n < 0) return errno_error(cat("write ", path), errno);
  if (static_cast<std::size_t>(n) != bytes.size()) return make_error(ErrorCode::kIo, cat("write ", path, ": short write"));
  return {};
}

Result<void> write_file(const char* path, std::string_view bytes) { return write_file_at(AT_FDCWD, path, bytes); }

Result<Fd> memfd(const char* name, std::string_view bytes, bool executable, bool sealed) {
  if (int e = fault("memfd")) return errno_error("memfd_create", e);
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create(name, flags | (executable ? MFD_EXEC : MFD_NOEXEC_SEAL));
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name, flags);  // before 6.3 the exec flags do not exist
  if (fd < 0) return errno_error("memfd_create", errno);
  Fd out(fd);
  TRY(write_all(fd, bytes).context("memfd"));
  if (sealed && ::fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
    return errno_error("seal memfd", errno);
  return out;
}

Result<struct stat> stat_fd(int fd, std::string_view what) {
  struct stat st;
  if (::fstat(fd, &st) < 0) return errno_error(cat("stat ", what), errno);
  return st;
}

Result<std::vector<std::string>> list_dir(const char* path) {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path), ::closedir);
  if (!dir) return errno_error(cat("open ", printable(path)), errno);
  std::vector<std::string> names;
  while (dirent* e = ::readdir(dir.get())) {
    std::string_view name = e->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<std::string> read_link(const char* path) {
  char buf[4096];
  ssize_t n = ::readlink(path, buf, sizeof buf);
  if (n < 0) return errno_error(cat("readlink ", printable(path)), errno);
  return std::string(buf, static_cast<std::size_t>(n));
}

}  // namespace hotcell::sys
