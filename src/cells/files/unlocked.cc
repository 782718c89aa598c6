#include "cells/files/unlocked.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/strings.h"
#include "cells/files/steps.h"
#include "cells/files/tree.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

std::string by_fd(const sys::Fd& fd) { return cat("/proc/self/fd/", fd.get()); }

// By descriptor: what is chmodded is what was looked at.
Result<sys::Fd> hold_own(int parent, const std::string& name, struct stat& st) {
  TRY_SET(sys::Fd held, sys::open_at(parent, name.c_str(), O_PATH | O_NOFOLLOW));
  TRY_SET(st, sys::stat_fd(held.get(), name));
  if (st.st_uid != ::geteuid() || S_ISLNK(st.st_mode)) return errno_error(cat("open ", printable(name)), EACCES);
  return held;
}

struct Held {
  sys::Fd fd;
  struct stat st {};
};

// Nothing: no folder is there, or it cannot be reached.
Result<std::optional<Held>> hold_folder(int root, const std::string& path, int flags = O_PATH) {
  auto fd = sys::open_beneath(root, path.empty() ? "." : path.c_str(), flags | O_DIRECTORY | O_NOFOLLOW, 0, false);
  if (!fd.ok()) {
    const int e = fd.error().err;
    if (e == ENOENT || e == ENOTDIR || e == ELOOP || e == EACCES) return std::optional<Held>();
    return std::move(fd).error();
  }
  Held out{std::move(fd).value(), {}};
  TRY_SET(out.st, sys::stat_fd(out.fd.get(), path));
  return std::optional(std::move(out));
}

Result<void> give_mode(const Held& held, const std::string& path, mode_t mode) {
  about_to_change();
  if (::chmod(by_fd(held.fd).c_str(), mode) < 0) return errno_error(cat("chmod ", printable(path)), errno);
  return {};
}

}  // namespace

bool lacks(const struct stat& folder, mode_t right) {
  return (folder.st_mode & right) != right && folder.st_uid == ::geteuid() && ::geteuid() != 0;
}

Unlocked::~Unlocked() {
  for (auto it = folders_.rbegin(); it != folders_.rend(); ++it)
    put_back(*it, Sync::kNo).ignore("it is left open to its owner, as after a kill");
}

Result<void> Unlocked::folder(int root, const std::string& path, mode_t right) {
  if (::geteuid() == 0) return {};
  TRY_SET(auto found, hold_folder(root, path));
  if (!found && !path.empty()) {
    TRY(folder(root, std::string(parent_of(path))));
    TRY_SET(found, hold_folder(root, path));
  }
  if (!found || !lacks(found->st, right)) return {};
  const mode_t mode = found->st.st_mode & 07777;
  if (note_) TRY(note_(root, {path, mode}));
  folders_.try_emplace({root, path}, Was{found->st.st_dev, found->st.st_ino, mode});
  return give_mode(*found, path, mode | kWrite);
}

Result<void> Unlocked::adopt(int root, const ClosedFolder& folder) {
  TRY_SET(auto found, hold_folder(root, folder.path));
  if (found && (found->st.st_mode & 07777) == (folder.mode | kWrite))
    folders_.try_emplace({root, folder.path}, Was{found->st.st_dev, found->st.st_ino, folder.mode});
  return {};
}

Result<void> Unlocked::leave_as(int root, const std::string& path, mode_t mode) {
  TRY_SET(auto found, hold_folder(root, path));
  if (!found) return errno_error(cat("chmod ", printable(path)), ENOENT);
  folders_.insert_or_assign({root, path}, Was{found->st.st_dev, found->st.st_ino, mode});
  return lacks(found->st, kRead) ? give_mode(*found, path, mode | kWrite) : Result<void>();
}

void Unlocked::moved(int root, const std::string& from, const std::string& to) {
  Folders there;
  for (auto it = folders_.lower_bound({root, from}); it != folders_.end() && it->first.first == root && it->first.second.starts_with(from);) {
    if (!is_below(it->first.second, from)) {
      ++it;
      continue;
    }
    there.insert({{root, cat(to, it->first.second.substr(from.size()))}, it->second});
    it = folders_.erase(it);
  }
  folders_.merge(there);
}

Result<void> Unlocked::close(int root) {
  for (auto end = folders_.lower_bound({root + 1, std::string()}); end != folders_.begin();) {
    auto it = std::prev(end);
    if (it->first.first != root) break;
    TRY(put_back(*it, Sync::kOnDisk));
    end = folders_.erase(it);
  }
  return {};
}

Result<void> Unlocked::put_back(const Folders::value_type& folder, Sync sync) {
  const auto& [at, was] = folder;
  // Open to us still, so that it can be synced. Otherwise it need not be readable: somebody has changed its mode.
  TRY_SET(auto found, hold_folder(at.first, at.second, sync == Sync::kOnDisk ? O_RDONLY : O_PATH));
  if (!found || found->st.st_dev != was.device || found->st.st_ino != was.inode) return {};
  if ((found->st.st_mode & 07777) != was.mode) TRY(give_mode(*found, at.second, was.mode));
  if (sync == Sync::kNo) return {};
  if (int e = sys::fault("fsync")) return errno_error(cat("sync ", printable(at.second)), e);
  if (::fsync(found->fd.get()) < 0) return errno_error(cat("sync ", printable(at.second)), errno);
  return {};
}

mode_t Unlocked::mode_of(int root, const std::string& path, const struct stat& now) const {
  auto it = folders_.find({root, path});
  return it == folders_.end() ? now.st_mode & 07777 : it->second.mode;
}

Result<sys::Fd> Unlocked::file(int parent, const std::string& name) {
  // Non-blocking: a file may have become a FIFO, and nobody writes to that.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  auto opened = sys::open_at(parent, name.c_str(), kFlags);
  if (opened.ok() || opened.error().err != EACCES) return opened;
  struct stat st {};
  TRY_SET(sys::Fd held, hold_own(parent, name, st));
  if (::chmod(by_fd(held).c_str(), (st.st_mode & 07777) | 0400) < 0) return opened;
  opened = sys::open(by_fd(held).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (::chmod(by_fd(held).c_str(), st.st_mode & 07777) < 0) return errno_error(cat("chmod ", printable(name)), errno);
  return opened;
}

Result<std::string> Unlocked::attribute(int parent, const std::string& name, const std::function<Result<std::string>()>& read) {
  auto value = read();
  if (value.ok() || value.error().err != EACCES) return value;
  struct stat st {};
  TRY_SET(sys::Fd held, hold_own(parent, name, st));
  if (::chmod(by_fd(held).c_str(), (st.st_mode & 07777) | 0400) < 0) return value;
  value = read();
  if (::chmod(by_fd(held).c_str(), st.st_mode & 07777) < 0) return errno_error(cat("chmod ", printable(name)), errno);
  return value;
}

}  // namespace hotcell::cells
