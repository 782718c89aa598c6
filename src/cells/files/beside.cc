#include "cells/files/beside.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/files/copy.h"
#include "cells/files/snapshot.h"
#include "cells/files/steps.h"
#include "cells/files/tree.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

constexpr std::string_view kMark = ".hotcell-";

std::string folder_of_path(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string temporary_name(const std::string& name, std::string_view purpose) {
  return cat(name, kMark, purpose, "-", sys::random_uuid());
}

bool is_temporary_of(std::string_view candidate, std::string_view name) {
  return candidate.starts_with(name) && candidate.substr(name.size()).starts_with(kMark);
}

Result<Beside> Beside::make(const std::string& final_path, std::string_view purpose) {
  Beside out;
  out.final_ = final_path;
  const std::string path = temporary_name(final_path, purpose);
  if (::mkdir(path.c_str(), 0700) < 0) return errno_error(cat("mkdir ", printable(path)), errno);
  out.path_ = path;
  TRY_SET(out.folder_, sys::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return out;
}

Beside::Beside(Beside&& other) noexcept
    : final_(std::move(other.final_)), path_(std::exchange(other.path_, {})), folder_(std::move(other.folder_)) {}

Beside::~Beside() {
  if (!path_.empty()) remove_tree(path_).ignore("clean_leftovers() finds it by its name");
}

Result<void> Beside::take_place(Sync sync) {
  // One call for the whole tree: the files are small and many, and an fsync for each would cost more than all of them.
  if (int e = sys::fault("syncfs")) return errno_error("sync", e);
  if (sync == Sync::kOnDisk && ::syncfs(folder_.get()) < 0) return errno_error("sync", errno);
  if (int e = sys::fault("rename")) return errno_error(cat("rename to ", printable(final_)), e);
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) == 0) {
    about_to_change();
    remove_tree(path_).ignore("clean_leftovers() finds it by its name");
  } else if (errno != ENOENT) {
    return errno_error(cat("rename to ", printable(final_)), errno);
  } else if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), RENAME_NOREPLACE) < 0) {
    return errno_error(cat("rename to ", printable(final_)), errno);
  }
  path_.clear();
  if (sync == Sync::kNo) return {};
  TRY_SET(sys::Fd parent, sys::open(folder_of_path(final_).c_str(), O_RDONLY | O_DIRECTORY));
  if (::fsync(parent.get()) < 0) return errno_error("sync", errno);
  return {};
}

Result<void> clean_leftovers(const std::string& upper) {
  const std::string parent = folder_of_path(upper), name = last_name(upper);
  TRY_SET(auto names, sys::list_dir(parent.c_str()));
  for (const auto& found : names)
    if (is_temporary_of(found, name)) TRY(remove_tree(cat(parent, "/", found)));
  return {};
}

}  // namespace hotcell::cells
