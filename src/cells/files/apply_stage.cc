#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <set>

#include "base/strings.h"
#include "cells/files/apply_work.h"
#include "cells/files/file_copy.h"
#include "cells/files/seen.h"
#include "cells/files/steps.h"
#include "cells/files/xattrs.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

// The nearest folder above that is one now and stays one.
std::string standing_folder(int root, std::string_view path, const std::vector<std::string>& going) {
  for (auto at = std::string(parent_of(path));; at = parent_of(at)) {
    if (at.empty()) return at;
    bool goes = false;
    for (const auto& g : going) goes = goes || is_below(at, g);
    if (!goes && open_folder(root, at).ok()) return at;
  }
}

class Stager {
 public:
  Stager(const OpenLayers& layers, ApplyReport& report, const ApplyOptions& options)
      : upper_(layers.upper.get()), lower_(layers.lower.get()), report_(report), options_(options) {}

  Result<void> stage(const ApplyStep& step) {
    if (step.temporary.empty()) return {};
    about_to_change();
    const Change& c = step.found.change;
    TRY_SET(Place from, open_parent(upper_, c.path));
    TRY_SET(Place to, open_parent(lower_, step.temporary));
    if (step.kind == ApplyStep::Kind::kFolder) {
      if (::mkdirat(to.folder.get(), to.name.c_str(), 0700) < 0) return errno_error("mkdir", errno);
      return {};
    }
    if (c.type == FileType::kFile && step.found.upper.st_nlink > 1) {
      auto [it, first] = names_.try_emplace({step.found.upper.st_dev, step.found.upper.st_ino}, step.temporary);
      if (!first) return link(it->second, to);
    }
    if (c.type == FileType::kSymlink) {
      if (::symlinkat(c.target.c_str(), to.folder.get(), to.name.c_str()) < 0) return errno_error("symlink", errno);
      TRY(owner(step, to));
    } else {
      TRY(file(step, from, to));
    }
    const timespec times[2] = {step.found.upper.st_atim, step.found.upper.st_mtim};
    if (::utimensat(to.folder.get(), to.name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("set time", errno);
    return {};
  }

 private:
  Result<void> link(const std::string& first, const Place& to) {
    TRY_SET(Place old, open_parent(lower_, first));
    if (::linkat(old.folder.get(), old.name.c_str(), to.folder.get(), to.name.c_str(), 0) < 0) return errno_error("link", errno);
    return {};
  }

  Result<void> file(const ApplyStep& step, const Place& from, const Place& to) {
    const Change& c = step.found.change;
    TRY_SET(sys::Fd in, Unlocked::file(from.folder.get(), from.name));
    TRY_SET(struct stat now, sys::stat_fd(in.get(), c.path));
    if (!S_ISREG(now.st_mode) || now.st_ino != step.found.upper.st_ino || now.st_size != step.found.upper.st_size)
      return make_error(ErrorCode::kIo, "changed while it was being applied");
    TRY_SET(sys::Fd out, sys::open_at(to.folder.get(), to.name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    TRY(copy_data(in.get(), out.get(), c.size));
    TRY(owner(step, to));
    std::vector<std::string> left_out;
    TRY_SET(auto xattrs, read_xattrs(from.folder.get(), from.name, &left_out));
    // Once more of what was really written: where nothing holds a cell's programs, they may write between look and copy.
    if (options_.approved) {
      auto seen = options_.approved->find(c.path);
      bool same = seen != options_.approved->end();
      if (same && !seen->second.empty()) {
        TRY_SET(std::string digest, change_digest(c, xattrs, out.get()));
        same = seen->second == digest;
      }
      if (!same) return make_error(ErrorCode::kDenied, std::string(kChangedSince));
    }
    for (const auto& name : left_out) report_.stripped.push_back({c.path, cat("attribute ", printable(name))});
    for (const auto& failed : write_xattrs(to.folder.get(), to.name, xattrs))
      report_.stripped.push_back({c.path, cat("attribute ", printable(failed.name), ": ", ::strerror(failed.err))});
    if (::fchmod(out.get(), c.mode & 01777) < 0) return errno_error("chmod", errno);
    if (int e = sys::fault("fsync")) return errno_error("sync", e);
    if (::fsync(out.get()) < 0) return errno_error("sync", errno);
    return {};
  }

  Result<void> owner(const ApplyStep& step, const Place& to) {
    uid_t uid = step.found.upper.st_uid;
    gid_t gid = step.found.upper.st_gid;
    if (options_.owners == Owners::kLikeProject) {
      struct stat like = step.found.lower;
      if (step.found.change.old_type == FileType::kNone) {
        TRY_SET(like, sys::stat_fd(to.folder.get(), "."));
      }
      uid = like.st_uid;
      gid = like.st_gid;
    }
    struct stat have {};
    if (::fstatat(to.folder.get(), to.name.c_str(), &have, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("stat", errno);
    if (have.st_uid == uid && have.st_gid == gid) return {};
    if (::fchownat(to.folder.get(), to.name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) == 0) return {};
    if (errno != EPERM) return errno_error("chown", errno);
    report_.stripped.push_back({step.found.change.path, cat("owner ", uid, ":", gid)});
    return {};
  }

  int upper_, lower_;
  ApplyReport& report_;
  const ApplyOptions& options_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;
};

}  // namespace

Result<void> name_temporaries(const OpenLayers& layers, ApplyPlan& plan, const std::string& nonce) {
  // Folders that make room for something else cannot hold anything.
  std::vector<std::string> going;
  for (const auto& s : plan.steps)
    if (s.exchange && s.found.change.old_type == FileType::kFolder) going.push_back(s.found.change.path);
  std::uint64_t n = 0;
  std::string last_parent, last_folder;
  bool known = false;
  for (auto& s : plan.steps) {
    if (s.kind != ApplyStep::Kind::kPut && !s.exchange) continue;
    std::string parent(parent_of(s.found.change.path));
    if (!known || parent != last_parent) {
      last_folder = standing_folder(layers.lower.get(), s.found.change.path, going);
      last_parent = parent;
      known = true;
    }
    s.temporary = below(last_folder, cat(".hotcell-apply-", nonce, "-", n++));
  }
  return {};
}

Result<void> stage_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options) {
  Stager stager(layers, plan.report, options);
  for (const auto& step : plan.steps) TRY(stager.stage(step).context(printable(step.found.change.path)));
  return {};
}

Result<void> remove_temporaries(const OpenLayers& layers, const Journal& journal, Unlocked& unlocked) {
  const int root = layers.lower.get();
  std::set<std::string> targets;
  for (const auto& step : journal.steps) targets.insert(step.target);
  for (const auto& step : journal.steps) {
    if (step.temporary.empty()) continue;
    TRY(unlocked.folder(root, std::string(parent_of(step.temporary)), Unlocked::kWrite));
    auto place = open_parent(root, step.temporary);
    if (!place.ok() && (place.error().err == ENOENT || place.error().err == ENOTDIR)) continue;
    if (!place.ok()) return std::move(place).error();
    const Place& at = place.value();
    if (::unlinkat(at.folder.get(), at.name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR) return errno_error(cat("remove ", printable(step.temporary)), errno);
    // A new folder that is still empty, or an old one that made room and was being emptied.
    TRY(unlocked.folder(root, step.temporary, Unlocked::kWrite));
    std::vector<std::string> inner;
    const Visitor visit = [&](const Entry& e, int, const std::string&) -> Result<Walk> {
      if (e.type == FileType::kFolder) TRY(unlocked.folder(root, e.path, Unlocked::kWrite));
      inner.push_back(e.path);
      return Walk::kEnter;
    };
    TRY(walk(root, step.temporary, Layer::kPlain, visit, &unlocked));
    for (auto it = inner.rbegin(); it != inner.rend(); ++it) {
      if (!targets.contains(cat(step.target, it->substr(step.temporary.size())))) continue;  // came later, and is nobody's to remove
      TRY_SET(Place in, open_parent(root, *it));
      if (::unlinkat(in.folder.get(), in.name.c_str(), 0) < 0 && ::unlinkat(in.folder.get(), in.name.c_str(), AT_REMOVEDIR) < 0)
        return errno_error(cat("remove ", printable(*it)), errno);
    }
    if (::unlinkat(at.folder.get(), at.name.c_str(), AT_REMOVEDIR) < 0)
      return errno_error(cat("remove ", printable(step.temporary), ", which was the folder ", printable(step.target)), errno);
  }
  return {};
}

}  // namespace hotcell::cells
