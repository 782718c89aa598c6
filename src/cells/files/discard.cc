#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/files/apply.h"
#include "cells/files/beside.h"
#include "cells/files/changes.h"
#include "cells/files/copy.h"
#include "cells/files/xattrs.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

std::string by_fd(const Place& place) { return cat("/proc/self/fd/", place.folder.get(), "/", place.name); }

Result<std::vector<std::pair<std::string, struct stat>>> names_below(int root, const std::string& folder, Unlocked& unlocked) {
  std::vector<std::pair<std::string, struct stat>> out;
  auto listed = walk(root, folder, Layer::kPlain, [&](const Entry& e, int, const std::string& name) -> Result<Walk> {
    out.emplace_back(name, e.st);
    return Walk::kSkip;
  }, &unlocked);
  if (!listed.ok() && (listed.error().err == ENOENT || listed.error().err == ENOTDIR || listed.error().err == ELOOP))
    return std::vector<std::pair<std::string, struct stat>>();
  if (!listed.ok()) return std::move(listed).error();
  return out;
}

class Discarder {
 public:
  Discarder(const OpenLayers& layers, Unlocked& unlocked) : upper_(layers.upper.get()), lower_(layers.lower.get()), unlocked_(unlocked) {}

  // Down from the top: what hides the project on the way is made to hide everything but this path.
  Result<void> discard(const std::string& path) {
    for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
      const std::string at = path.substr(0, slash);
      const bool last = slash == std::string::npos;
      TRY(unlocked_.folder(upper_, std::string(parent_of(at)), Unlocked::kWrite));
      TRY_SET(Place place, open_parent(upper_, at));
      struct stat st {};
      if (::fstatat(place.folder.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) return {};  // not hidden any more
        return errno_error("stat", errno);
      }
      if (last) return remove_tree(by_fd(place));
      if (S_ISCHR(st.st_mode) && st.st_rdev == 0) {
        TRY(whiteout_to_folder(at, place));
      } else if (!S_ISDIR(st.st_mode)) {
        return make_error(ErrorCode::kInvalid, cat(printable(at), " is no folder in the cell; discard that"));
      } else {
        TRY_SET(char mark, opaque_mark(place.folder.get(), place.name));
        if (mark == 'y') TRY(make_transparent(at, place));
      }
    }
  }

 private:
  // A deleted folder becomes one in which every single name is deleted.
  Result<void> whiteout_to_folder(const std::string& at, const Place& place) {
    TRY_SET(auto original, lower_ < 0 ? Result<std::optional<struct stat>>(std::optional<struct stat>()) : stat_below(lower_, at));
    if (!original || !S_ISDIR(original->st_mode)) return make_error(ErrorCode::kInvalid, cat(printable(at), " is no folder in the project"));
    const std::string temporary = temporary_name(place.name.substr(0, 100), "discard");
    if (::mkdirat(place.folder.get(), temporary.c_str(), 0700) < 0) return errno_error("mkdir", errno);
    auto filled = fill(at, place.folder.get(), temporary, *original);
    if (filled.ok() && ::renameat2(place.folder.get(), temporary.c_str(), place.folder.get(), place.name.c_str(), RENAME_EXCHANGE) < 0)
      filled = errno_error("rename", errno);
    TRY(remove_tree(cat("/proc/self/fd/", place.folder.get(), "/", temporary)));
    return filled;
  }

  Result<void> fill(const std::string& at, int parent, const std::string& name, const struct stat& like) {
    TRY_SET(sys::Fd folder, sys::open_at(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    TRY_SET(auto names, names_below(lower_, at, unlocked_));
    for (const auto& [inner, st] : names) TRY(make_whiteout(folder.get(), inner));
    if (::fchown(folder.get(), like.st_uid, like.st_gid) < 0 && errno != EPERM) return errno_error("chown", errno);
    if (::fchmod(folder.get(), unlocked_.mode_of(lower_, at, like)) < 0) return errno_error("chmod", errno);
    return {};
  }

  // First everything it hid is hidden by name, then the mark goes: at no moment does too much show.
  Result<void> make_transparent(const std::string& at, const Place& place) {
    if (lower_ >= 0) {
      TRY(unlocked_.folder(upper_, at, Unlocked::kWrite));
      TRY_SET(sys::Fd folder, open_folder(upper_, at));
      TRY_SET(auto names, names_below(lower_, at, unlocked_));
      for (const auto& [name, st] : names) {
        struct stat own {};
        const bool there = ::fstatat(folder.get(), name.c_str(), &own, AT_SYMLINK_NOFOLLOW) == 0;
        if (!there && errno != ENOENT) return errno_error("stat", errno);
        if (!there) TRY(make_whiteout(folder.get(), name));
        if (there && S_ISDIR(own.st_mode) && S_ISDIR(st.st_mode)) TRY(set_opaque(folder.get(), name));
      }
    }
    return clear_opaque(place.folder.get(), place.name);
  }

  int upper_, lower_;
  Unlocked& unlocked_;
};

// An empty folder takes the place of the whole one: all or nothing.
Result<void> discard_all(const Layers& layers, const OpenLayers& open) {
  TRY_SET(struct stat like, sys::stat_fd(open.upper.get(), layers.upper));
  TRY_SET(Beside fresh, Beside::make(layers.upper, "discard"));
  if (::fchown(fresh.fd(), like.st_uid, like.st_gid) < 0 && errno != EPERM) return errno_error("chown", errno);
  if (::fchmod(fresh.fd(), like.st_mode & 07777) < 0) return errno_error("chmod", errno);
  return fresh.take_place(Beside::Sync::kNo);
}

}  // namespace

Result<void> discard(const Layers& layers, const std::vector<std::string>& paths) {
  TRY_SET(OpenLayers open, open_layers(layers));
  TRY_SET(auto selection, clean_selection(paths));
  if (selection.empty()) return discard_all(layers, open);
  Unlocked unlocked;
  TRY_SET(auto found, find_changes(open, selection, SIZE_MAX, unlocked));
  for (const auto& path : selection) {
    bool changed = false;
    for (const auto& f : found) changed = changed || is_below(f.change.path, path);
    if (!changed) return make_error(ErrorCode::kNotFound, cat(printable(path), " is not changed in the cell"));
  }
  Discarder discarder(open, unlocked);
  for (const auto& path : selection) TRY(discarder.discard(path).context(cat("discard ", printable(path))));
  return {};
}

}  // namespace hotcell::cells
