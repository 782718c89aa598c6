#include "core/launch/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/launch/file_ids.h"
#include "core/launch/ids.h"
#include "core/kernel/cgroup_files.h"
#include "sys/file.h"

namespace hotcell {
namespace {

Result<void> copy_from(int source, int target) {
  char buffer[64 << 10];
  for (off_t at = 0;;) {
    ssize_t n = ::pread(source, buffer, sizeof buffer, at);
    if (n < 0 && errno == ESPIPE) n = ::read(source, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read", errno);
    if (n == 0) return {};
    at += n;
    TRY(sys::write_all(target, {buffer, static_cast<std::size_t>(n)}));
  }
}

// Empties a folder and removes it. Folders are one descriptor each on the way down, so what lies deeper than kDeep is
// first moved up beside `top`'s own entries: a program may nest further than we have descriptors.
class Remover {
 public:
  // A prefix that the program could not guess, so that its own names are not in the way.
  explicit Remover(int top) : top_(top) { (void)!::getrandom(&prefix_, sizeof prefix_, 0); }

  void remove(int dir, const char* name, int depth) {
    if (::unlinkat(dir, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
    // By descriptor, since chmod by name follows a symlink: the program may have left one that points to a host file.
    sys::Fd held(::openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!held.valid()) return;
    // Modes may have been taken away to keep us out; the folder is ours, or we are root.
    (void)!::chmod(cat("/proc/self/fd/", held.get()).c_str(), 0700);
    if (depth >= kDeep && ::renameat(dir, name, top_, cat(".", prefix_, "-", moved_).c_str()) == 0) {
      ++moved_;
      return;
    }
    empty(sys::Fd(::openat(held.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), depth);
    ::unlinkat(dir, name, AT_REMOVEDIR);
  }

  void empty(sys::Fd folder, int depth) {
    if (!folder.valid()) return;
    int fd = folder.release();
    DIR* stream = ::fdopendir(fd);
    if (stream == nullptr) {
      ::close(fd);
      return;
    }
    while (dirent* e = ::readdir(stream)) {
      std::string_view n = e->d_name;
      if (n != "." && n != "..") remove(fd, e->d_name, depth + 1);
    }
    ::closedir(stream);
  }

  std::uint64_t moved() const { return moved_; }

 private:
  static constexpr int kDeep = 64;
  int top_;
  std::uint64_t prefix_ = 0, moved_ = 0;
};

}  // namespace

Result<void> write_input_file(int workspace, const InputFile& file, unsigned id) {
  const std::string& name = file.name;
  bool bad = name.empty() || name[0] == '/' || name.find('\0') != std::string::npos;
  for (auto part : split(name, '/')) bad = bad || part.empty() || part == "." || part == "..";
  if (bad) return make_error(ErrorCode::kInvalid, cat("not a name inside the workspace: ", printable(name)));
  FileIds as(id);
  for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    std::string folder = name.substr(0, at);
    auto parent_end = folder.rfind('/');
    sys::Fd parent;
    if (parent_end != std::string::npos) {
      TRY_SET(parent, sys::open_beneath(workspace, folder.substr(0, parent_end).c_str(), O_PATH | O_DIRECTORY, 0, false));
    }
    const char* last = folder.c_str() + (parent_end == std::string::npos ? 0 : parent_end + 1);
    if (::mkdirat(parent.valid() ? parent.get() : workspace, last, 0755) < 0 && errno != EEXIST)
      return errno_error(cat("mkdir ", printable(folder)), errno);
  }
  TRY_SET(sys::Fd out, sys::open_beneath(workspace, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file.mode & 0777, false));
  if (const auto* bytes = std::get_if<std::string>(&file.content)) {
    TRY(sys::write_all(out.get(), *bytes).context(printable(name)));
  } else {
    TRY(copy_from(std::get<int>(file.content), out.get()).context(printable(name)));
  }
  if (::fchmod(out.get(), file.mode & 0777) < 0) return errno_error(cat("chmod ", printable(name)), errno);
  return {};
}

Result<void> remove_input_files(int workspace, const std::vector<InputFile>& files, unsigned id) {
  FileIds as(id);
  for (const auto& f : files) {
    if (::unlinkat(workspace, f.name.c_str(), 0) < 0 && errno != ENOENT) return errno_error(cat("remove ", printable(f.name)), errno);
    for (auto at = f.name.rfind('/'); at != std::string::npos; at = at == 0 ? std::string::npos : f.name.rfind('/', at - 1))
      ::unlinkat(workspace, f.name.substr(0, at).c_str(), AT_REMOVEDIR);  // not empty: a later one removes it
  }
  return {};
}

namespace {
constexpr std::string_view kFlatPlace = "/tmp", kFlatName = "hotcell-";
}

Result<std::string> make_flat_folder() {
  std::string path = cat(kFlatPlace, "/", kFlatName, own_prefix(), "XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return errno_error("mkdtemp", errno);
  return path;
}

bool sweep_flat_folders() {
  auto names = sys::list_dir(std::string(kFlatPlace).c_str());
  if (!names) return true;
  bool clean = true;
  for (const auto& name : names.value()) {
    if (!name.starts_with(kFlatName) || !is_of_the_dead(std::string_view(name).substr(kFlatName.size()))) continue;
    std::string path = cat(kFlatPlace, "/", name);
    struct stat st {};
    // Anybody may make a name in /tmp: only what is ours, or one of our cells'.
    bool ours = ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
                (st.st_uid == ::geteuid() || (::geteuid() == 0 && st.st_uid >= kFirstId && st.st_uid < kFirstId + kIdCount));
    if (!ours) continue;
    remove_flat_workspace(path);
    clean = clean && ::lstat(path.c_str(), &st) < 0;
  }
  return clean;
}

Result<std::string> make_flat_workspace(unsigned id) {
  TRY_SET(std::string path, make_flat_folder());
  if (id != 0 && ::chown(path.c_str(), id, id) < 0) {
    int err = errno;
    ::rmdir(path.c_str());
    return errno_error("chown workspace", err);
  }
  return path;
}

void remove_flat_workspace(const std::string& path) {
  sys::Fd top(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.valid()) return;
  (void)!::chmod(cat("/proc/self/fd/", top.get()).c_str(), 0700);
  Remover remover(top.get());
  // Again for what was moved up meanwhile; each round takes off kDeep levels.
  for (std::uint64_t before = ~0ull; before != remover.moved();) {
    before = remover.moved();
    remover.empty(sys::Fd(::openat(top.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0);
  }
  ::rmdir(path.c_str());
}

}  // namespace hotcell
