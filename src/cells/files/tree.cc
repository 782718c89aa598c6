#include "cells/files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "cells/files/xattrs.h"
#include "sys/file.h"

namespace hotcell::cells {

Time base_time_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return time_of(now);
}

Time time_of(const timespec& t) { return Time(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec)); }

timespec timespec_of(Time t) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(t);
  return {static_cast<time_t>(seconds.time_since_epoch().count()), static_cast<long>((t - seconds).count())};
}

FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileType::kFile;
    case S_IFDIR: return FileType::kFolder;
    case S_IFLNK: return FileType::kSymlink;
    case S_IFIFO: return FileType::kFifo;
    case S_IFSOCK: return FileType::kSocket;
    case S_IFCHR: return FileType::kCharDevice;
    case S_IFBLK: return FileType::kBlockDevice;
    default: return FileType::kNone;
  }
}

std::string_view parent_of(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string below(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : cat(folder, "/", name);
}

bool is_below(std::string_view path, std::string_view folder) {
  return folder.empty() || (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

bool is_clean_path(std::string_view path) {
  if (path.empty() || path.size() >= PATH_MAX || path.find('\0') != std::string_view::npos) return false;
  for (auto part : split(path, '/'))
    if (part.empty() || part == "." || part == ".." || part.size() > NAME_MAX) return false;
  return true;
}

Result<std::string> clean_path(std::string_view path) {
  std::string out;
  if (path.starts_with('/')) return make_error(ErrorCode::kInvalid, cat(printable(path), ": a path in the workspace has no leading slash"));
  for (auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return make_error(ErrorCode::kInvalid, cat(printable(path), ": .. is not allowed"));
    out = below(out, part);
  }
  if (!out.empty() && !is_clean_path(out)) return make_error(ErrorCode::kInvalid, cat(printable(path), ": no path can be like this"));
  return out;
}

bool is_selected(std::string_view path, const std::vector<std::string>& paths) {
  return paths.empty() || std::any_of(paths.begin(), paths.end(), [&](const auto& p) { return is_below(path, p); });
}

Result<sys::Fd> open_root(const std::string& path) { return sys::open(path.c_str(), O_RDONLY | O_DIRECTORY); }

Result<sys::Fd> open_project(const std::string& path) {
  TRY_SET(sys::Fd top, sys::open("/", O_PATH | O_DIRECTORY));
  auto opened = sys::open_beneath(top.get(), path.size() > 1 ? path.c_str() + 1 : ".", O_RDONLY | O_DIRECTORY, 0, false);
  if (!opened.ok() && opened.error().err == ELOOP)
    return Error{ErrorCode::kDenied, ELOOP, cat(printable(path), " leads through a link now, which it did not when the cell was made: nothing is read or written there")};
  return opened;
}

Result<sys::Fd> open_folder(int root, const std::string& path) {
  return sys::open_beneath(root, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY, 0, false);
}

Result<Place> open_parent(int root, const std::string& path) {
  std::string parent(parent_of(path));
  TRY_SET(sys::Fd folder, sys::open_beneath(root, parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY, 0, false));
  return Place{std::move(folder), path.substr(parent.empty() ? 0 : parent.size() + 1)};
}

Result<std::optional<struct stat>> stat_below(int root, const std::string& path) {
  auto place = open_parent(root, path);
  if (!place.ok()) {
    int e = place.error().err;
    if (e == ENOENT || e == ENOTDIR || e == ELOOP) return std::optional<struct stat>();
    return std::move(place).error();
  }
  struct stat st {};
  if (::fstatat(place.value().folder.get(), place.value().name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return std::optional(st);
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<struct stat>();
  return errno_error(cat("stat ", printable(path)), errno);
}

Result<std::string> read_link_at(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  ssize_t n = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (n < 0) return errno_error(cat("readlink ", printable(name)), errno);
  target.resize(static_cast<std::size_t>(n));
  return target;
}

namespace {

Result<std::vector<std::string>> names_in(sys::Fd folder, const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
  if (!stream) return errno_error(cat("read ", printable(path)), errno);
  folder.release();
  std::vector<std::string> names;
  errno = 0;
  while (dirent* e = ::readdir(stream.get())) {
    std::string_view name = e->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return errno_error(cat("read ", printable(path)), errno);
  std::sort(names.begin(), names.end());
  return names;
}

class Walker {
 public:
  Walker(int root, Layer layer, const Visitor& visit, Unlocked* unlocked)
      : root_(root), layer_(layer), visit_(visit), unlocked_(unlocked) {}

  Result<void> run(std::string start) {
    if (unlocked_ != nullptr) TRY(unlocked_->folder(root_, start));
    folders_.push_back({std::move(start), 0});
    while (!folders_.empty()) {
      Folder folder = std::move(folders_.back());
      folders_.pop_back();
      TRY(folder_at(folder));
    }
    return {};
  }

 private:
  struct Folder {
    std::string path;
    char mark;  // of overlay: 'x' when deletions in it may be files with an attribute
  };

  // Opened anew from the root each time: however deep, no descriptors pile up.
  Result<void> folder_at(const Folder& at) {
    if (at.path.size() >= PATH_MAX) return make_error(ErrorCode::kLimit, cat(printable(at.path.substr(0, 80)), "…: the path is too long"));
    TRY_SET(sys::Fd folder, open_folder(root_, at.path));
    TRY_SET(sys::Fd again, sys::duplicate(folder.get()));
    TRY_SET(auto names, names_in(std::move(again), at.path));
    std::vector<Folder> enter;
    for (const auto& name : names) {
      Entry entry;
      entry.path = below(at.path, name);
      if (::fstatat(folder.get(), name.c_str(), &entry.st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) continue;
        return errno_error(cat("stat ", printable(entry.path)), errno);
      }
      entry.type = type_of(entry.st.st_mode);
      char mark = 0;
      if (layer_ == Layer::kUpper) {
        TRY_SET(mark, marks(folder.get(), name, at.mark, entry));
      }
      TRY_SET(Walk next, visit_(entry, folder.get(), name));
      if (next != Walk::kEnter || entry.type != FileType::kFolder) continue;
      // Not before it was visited: of one with an access list, an attribute changes with the mode.
      if (unlocked_ != nullptr && lacks(entry.st, Unlocked::kRead)) TRY(unlocked_->folder(root_, entry.path));
      enter.push_back({std::move(entry.path), mark});
    }
    for (auto it = enter.rbegin(); it != enter.rend(); ++it) folders_.push_back(std::move(*it));
    return {};
  }

  static Result<char> marks(int folder, const std::string& name, char parent, Entry& entry) {
    if (entry.type == FileType::kCharDevice && entry.st.st_rdev == 0) entry.whiteout = true;
    if (entry.type == FileType::kFile && entry.st.st_size == 0 && parent == 'x') {
      TRY_SET(entry.whiteout, has_overlay_mark(folder, name, "whiteout"));
    }
    if (entry.type != FileType::kFolder) return '\0';
    TRY_SET(char mark, opaque_mark(folder, name));
    entry.opaque = mark == 'y';
    return mark;
  }

  int root_;
  Layer layer_;
  const Visitor& visit_;
  Unlocked* unlocked_;
  std::vector<Folder> folders_;
};

}  // namespace

Result<void> walk(int root, const std::string& start, Layer layer, const Visitor& visit, Unlocked* unlocked) {
  return Walker(root, layer, visit, unlocked).run(start);
}

}  // namespace hotcell::cells
