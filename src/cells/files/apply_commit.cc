#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/strings.h"
#include "cells/files/apply_work.h"
#include "cells/files/steps.h"
#include "cells/files/xattrs.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

using Kind = ApplyStep::Kind;

class Committer {
 public:
  Committer(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options, Unlocked& unlocked)
      : upper_(layers.upper.get()), lower_(layers.lower.get()), plan_(plan), options_(options), unlocked_(unlocked) {}

  Result<void> run() {
    // By path: a folder is there before what goes into it.
    for (const auto& s : plan_.steps)
      if (s.kind == Kind::kFolder || s.kind == Kind::kPut) TRY(put(s).context(printable(s.found.change.path)));
    for (const auto& s : plan_.steps)
      if (s.kind == Kind::kMode && s.found.change.type != FileType::kFolder) TRY(mode(s).context(printable(s.found.change.path)));
    // Innermost first, and after all that is new: killed in between, there is more than there should be, not less.
    for (auto it = plan_.steps.rbegin(); it != plan_.steps.rend(); ++it)
      if (it->kind == Kind::kRemove) TRY(remove(*it).context(printable(it->found.change.path)));
    for (const auto& [path, temporary] : moved_) TRY(remove_moved(path, temporary));
    // A folder's own mode last: it may forbid to write into it.
    for (auto it = plan_.steps.rbegin(); it != plan_.steps.rend(); ++it)
      if (it->kind == Kind::kFolder || (it->kind == Kind::kMode && it->found.change.type == FileType::kFolder))
        TRY(folder_attributes(*it).context(printable(it->found.change.path)));
    return sync();
  }

 private:
  // Between the plan and now somebody may have written to it. Links of one file change each other's ctime when one of
  // them goes, so of those the rest must do.
  Result<void> unchanged(const ApplyStep& s, const Place& at) {
    if (options_.force) return {};
    struct stat now {};
    const struct stat& then = s.found.lower;
    const bool there = ::fstatat(at.folder.get(), at.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return errno_error("stat", errno);
    bool same = there == (s.found.change.old_type != FileType::kNone);
    if (same && there && !S_ISDIR(now.st_mode)) {
      same = now.st_ino == then.st_ino && now.st_mode == then.st_mode && now.st_size == then.st_size &&
             time_of(now.st_mtim) == time_of(then.st_mtim) &&
             (then.st_nlink > 1 || time_of(now.st_ctim) == time_of(then.st_ctim));
    }
    if (same) return {};
    return make_error(ErrorCode::kIo, "was changed in the project while the apply was under way");
  }

  Result<void> put(const ApplyStep& s) {
    TRY_SET(Place to, open_parent(lower_, s.found.change.path));
    touched_.insert(std::string(parent_of(s.found.change.path)));
    TRY(unchanged(s, to));
    about_to_change();
    if (int e = sys::fault("rename")) return errno_error("rename", e);
    if (s.kind == Kind::kFolder && !s.exchange) {
      if (::mkdirat(to.folder.get(), to.name.c_str(), 0700) < 0) return errno_error("mkdir", errno);
      plan_.report.written.push_back(s.found.change.path);
      return {};
    }
    TRY_SET(Place from, open_parent(lower_, s.temporary));
    touched_.insert(std::string(parent_of(s.temporary)));
    const unsigned flags = s.exchange ? RENAME_EXCHANGE : s.found.change.old_type == FileType::kNone && !options_.force ? RENAME_NOREPLACE : 0;
    if (::renameat2(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str(), flags) < 0) return errno_error("rename", errno);
    if (s.exchange && s.found.change.old_type == FileType::kFolder) {
      moved_[s.found.change.path] = s.temporary;
      unlocked_.moved(lower_, s.found.change.path, s.temporary);
    } else {
      // The old file that was exchanged; or one more name of what was renamed, which rename leaves when both are the same file.
      about_to_change();
      if (::unlinkat(from.folder.get(), from.name.c_str(), 0) < 0 && errno != ENOENT) return errno_error("remove the old one", errno);
    }
    plan_.report.written.push_back(s.found.change.path);
    return {};
  }

  Result<void> mode(const ApplyStep& s) {
    TRY_SET(Place at, open_parent(lower_, s.found.change.path));
    TRY(unchanged(s, at));
    about_to_change();
    TRY_SET(sys::Fd file, sys::open_at(at.folder.get(), at.name.c_str(), O_PATH | O_NOFOLLOW));
    if (::chmod(cat("/proc/self/fd/", file.get()).c_str(), s.found.change.mode & 01777) < 0) return errno_error("chmod", errno);
    plan_.report.written.push_back(s.found.change.path);
    return {};
  }

  // Where a folder made room, what was in it is elsewhere now.
  std::string now_at(const std::string& path) const {
    for (const auto& [old, temporary] : moved_)
      if (is_below(path, old) && path != old) return cat(temporary, path.substr(old.size()));
    return path;
  }

  Result<void> remove(const ApplyStep& s) {
    const std::string path = now_at(s.found.change.path);
    auto place = open_parent(lower_, path);
    if (!place.ok() && place.error().err == ENOENT) return {};
    if (!place.ok()) return std::move(place).error();
    const Place& at = place.value();
    touched_.insert(std::string(parent_of(path)));
    TRY(unchanged(s, at));
    about_to_change();
    const bool folder = s.found.change.old_type == FileType::kFolder;
    if (::unlinkat(at.folder.get(), at.name.c_str(), folder ? AT_REMOVEDIR : 0) < 0) {
      if (errno == ENOTEMPTY || errno == EEXIST) {
        plan_.report.skipped.push_back({s.found.change.path, "not removed: something in it stays"});
        return {};
      }
      if (errno != ENOENT) return errno_error("remove", errno);
    }
    touched_.erase(path);
    plan_.report.removed.push_back(s.found.change.path);
    return {};
  }

  Result<void> remove_moved(const std::string& path, const std::string& temporary) {
    TRY_SET(Place at, open_parent(lower_, temporary));
    about_to_change();
    if (::unlinkat(at.folder.get(), at.name.c_str(), AT_REMOVEDIR) == 0) return {};
    if (errno != ENOTEMPTY && errno != EEXIST) return errno_error(cat("remove ", printable(temporary)), errno);
    plan_.report.skipped.push_back({path, cat("the old folder has something that stays, and is now ", printable(temporary))});
    return {};
  }

  Result<void> folder_attributes(const ApplyStep& s) {
    const Change& c = s.found.change;
    TRY_SET(Place from, open_parent(upper_, c.path));
    TRY_SET(Place to, open_parent(lower_, c.path));
    about_to_change();
    uid_t uid = s.found.upper.st_uid;
    gid_t gid = s.found.upper.st_gid;
    struct stat have {};
    if (::fstatat(to.folder.get(), to.name.c_str(), &have, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("stat", errno);
    if (!S_ISDIR(have.st_mode)) return make_error(ErrorCode::kIo, "is no folder any more");
    if (options_.owners == Owners::kLikeProject) {
      TRY_SET(struct stat parent, sys::stat_fd(to.folder.get(), "."));
      uid = s.kind == Kind::kMode ? have.st_uid : parent.st_uid;
      gid = s.kind == Kind::kMode ? have.st_gid : parent.st_gid;
    }
    if ((have.st_uid != uid || have.st_gid != gid) && ::fchownat(to.folder.get(), to.name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != EPERM) return errno_error("chown", errno);
      plan_.report.stripped.push_back({c.path, cat("owner ", uid, ":", gid)});
    }
    std::vector<std::string> left_out;
    TRY_SET(auto xattrs, read_xattrs(from.folder.get(), from.name, &left_out));
    for (const auto& name : left_out) plan_.report.stripped.push_back({c.path, cat("attribute ", printable(name))});
    for (const auto& failed : write_xattrs(to.folder.get(), to.name, xattrs))
      plan_.report.stripped.push_back({c.path, cat("attribute ", printable(failed.name), ": ", ::strerror(failed.err))});
    TRY(folder_mode(c, to));
    if (s.kind == Kind::kMode) {
      plan_.report.written.push_back(c.path);
      return {};
    }
    const timespec times[2] = {s.found.upper.st_atim, s.found.upper.st_mtim};
    if (::utimensat(to.folder.get(), to.name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("set time", errno);
    return {};
  }

  Result<void> folder_mode(const Change& c, const Place& at) {
    const mode_t mode = c.mode & 03777;
    // What we have opened would be closed by its old mode at the end; and in what is to be closed there is more to do.
    if (unlocked_.holds(lower_, c.path) || (mode & Unlocked::kRead) != Unlocked::kRead) return unlocked_.leave_as(lower_, c.path, mode);
    TRY_SET(sys::Fd folder, sys::open_at(at.folder.get(), at.name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (::chmod(cat("/proc/self/fd/", folder.get()).c_str(), mode) < 0) return errno_error("chmod", errno);
    return {};
  }

  // Names are on disk when their folders are, and all of those are open still.
  Result<void> sync() {
    for (const auto& path : touched_) {
      auto folder = open_folder(lower_, path);
      if (!folder.ok() && (folder.error().err == ENOENT || folder.error().err == ENOTDIR)) continue;  // removed by a later step
      if (!folder.ok()) return std::move(folder).error();
      if (::fsync(folder.value().get()) < 0) return errno_error(cat("sync ", printable(path)), errno);
    }
    return {};
  }

  int upper_, lower_;
  ApplyPlan& plan_;
  const ApplyOptions& options_;
  Unlocked& unlocked_;
  std::map<std::string, std::string> moved_;
  std::set<std::string> touched_;
};

}  // namespace

Result<void> commit_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options, Unlocked& unlocked) {
  return Committer(layers, plan, options, unlocked).run();
}

}  // namespace hotcell::cells
