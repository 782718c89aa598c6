#include "cells/files/changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/strings.h"
#include "cells/files/file_copy.h"
#include "cells/files/xattrs.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

class Finder {
 public:
  Finder(const OpenLayers& layers, const std::vector<std::string>& selection, std::size_t at_most, Unlocked& unlocked, Above above)
      : upper_(layers.upper.get()), lower_(layers.lower.get()), selection_(selection), at_most_(at_most), unlocked_(unlocked),
        above_(above) {}

  Result<std::vector<FoundChange>> run() {
    TRY(walk(upper_, "", Layer::kUpper,
             [&](const Entry& e, int folder, const std::string& name) { return entry(e, folder, name); }, &unlocked_));
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.change.path < b.change.path; });
    // Parents of nothing that changed were found on the way only.
    std::erase_if(found_, [&](const auto& f) { return !is_selected(f.change.path, selection_) && !has_selected_below(f.change.path); });
    return std::move(found_);
  }

 private:
  bool has_selected_below(const std::string& path) const {
    return std::any_of(found_.begin(), found_.end(), [&](const auto& f) {
      return f.change.path != path && is_below(f.change.path, path) && is_selected(f.change.path, selection_);
    });
  }

  Result<Walk> entry(const Entry& e, int folder, const std::string& name) {
    if (!is_selected(e.path, selection_) && !leads_to_selected(e.path)) return Walk::kSkip;
    TRY(enter_parent(e.path));
    struct stat low {};
    bool has_low = parent_.valid() && ::fstatat(parent_.get(), name.c_str(), &low, AT_SYMLINK_NOFOLLOW) == 0;
    if (e.whiteout) {
      if (has_low) TRY(deleted(e.path, low));
      return Walk::kSkip;
    }
    const bool low_is_folder = has_low && S_ISDIR(low.st_mode);
    if (e.type == FileType::kFolder) {
      // What an opaque folder does not have is deleted, and so in all that is below it.
      const bool hides = e.opaque || hiding_.contains(std::string(parent_of(e.path)));
      if (hides) hiding_.insert(e.path);
      if (hides && low_is_folder) TRY(hidden_names(e.path));
    }
    FoundChange f;
    f.change.path = e.path;
    f.change.type = e.type;
    f.change.mode = e.st.st_mode & 07777;
    f.change.size = size_of(e.st);
    f.upper = e.st;
    if (e.type == FileType::kSymlink) {
      TRY_SET(f.change.target, read_link_at(folder, name));
    }
    if (!has_low) {
      f.change.kind = ChangeKind::kAdded;
      TRY(add(std::move(f)));
      return Walk::kEnter;
    }
    TRY(describe_old(f, low, name));
    if (f.change.old_type != f.change.type) {
      f.change.kind = ChangeKind::kType;
      if (low_is_folder) TRY(everything_below(e.path));
      TRY(add(std::move(f)));
      return Walk::kEnter;
    }
    TRY_SET(bool differs, compare(f, folder, name).context(printable(e.path)));
    if (differs) TRY(add(std::move(f)));
    return Walk::kEnter;
  }

  static std::uint64_t size_of(const struct stat& st) { return S_ISREG(st.st_mode) ? static_cast<std::uint64_t>(st.st_size) : 0; }

  bool leads_to_selected(const std::string& path) const {
    return std::any_of(selection_.begin(), selection_.end(), [&](const auto& s) { return is_below(s, path); });
  }

  // The walk goes folder by folder, so the project's folder of the same name is opened once for each.
  Result<void> enter_parent(const std::string& path) {
    std::string parent(parent_of(path));
    if (parent_known_ && parent == parent_path_) return {};
    parent_.reset();
    parent_path_ = parent;
    parent_known_ = true;
    if (lower_ < 0) return {};
    TRY(unlocked_.folder(lower_, parent));
    auto opened = open_folder(lower_, parent);
    if (opened.ok()) {
      parent_ = std::move(opened).value();
      return {};
    }
    int e = opened.error().err;
    if (e == ENOENT || e == ENOTDIR || e == ELOOP) return {};  // the project has no such folder
    return std::move(opened).error();
  }

  Result<void> describe_old(FoundChange& f, const struct stat& low, const std::string& name) {
    f.change.old_type = type_of(low.st_mode);
    f.change.old_mode = low.st_mode & 07777;
    f.change.old_size = size_of(low);
    f.lower = low;
    if (f.change.old_type == FileType::kSymlink) {
      TRY_SET(f.change.old_target, read_link_at(parent_.get(), name));
    }
    return {};
  }

  Result<bool> compare(FoundChange& f, int folder, const std::string& name) {
    Change& c = f.change;
    bool modified = c.size != c.old_size || c.target != c.old_target;
    if (c.type == FileType::kFile && !modified) {
      TRY_SET(sys::Fd now, Unlocked::file(folder, name));
      auto before = sys::open_at(parent_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
      // The cell could not read it either: what it has there is another file.
      if (!before.ok() && before.error().err == EACCES) {
        modified = true;
      } else {
        if (!before.ok()) return std::move(before).error();
        TRY_SET(bool same, same_bytes(now.get(), before.value().get(), c.size));
        modified = !same;
      }
    }
    c.owner_changed = f.upper.st_uid != f.lower.st_uid || f.upper.st_gid != f.lower.st_gid;
    TRY_SET(auto now, read_xattrs(folder, name));
    TRY_SET(auto before, read_xattrs(parent_.get(), name));
    c.xattrs_changed = now != before;
    c.kind = modified ? ChangeKind::kModified : ChangeKind::kMode;
    return modified || c.owner_changed || c.xattrs_changed || (c.mode != c.old_mode && c.type != FileType::kSymlink);
  }

  Result<void> deleted(const std::string& path, const struct stat& low) {
    TRY(gone(path, low));
    return S_ISDIR(low.st_mode) ? everything_below(path) : Result<void>();
  }

  Result<void> gone(const std::string& path, const struct stat& low) {
    FoundChange f;
    f.change.path = path;
    f.change.kind = ChangeKind::kDeleted;
    f.change.old_type = type_of(low.st_mode);
    f.change.old_mode = low.st_mode & 07777;
    f.change.old_size = size_of(low);
    f.lower = low;
    if (f.change.old_type == FileType::kSymlink) {
      TRY_SET(Place place, open_parent(lower_, path));
      TRY_SET(f.change.old_target, read_link_at(place.folder.get(), place.name));
    }
    return add(std::move(f));
  }

  Result<void> everything_below(const std::string& path) {
    return walk(lower_, path, Layer::kPlain, [&](const Entry& e, int, const std::string&) -> Result<Walk> {
      TRY(gone(e.path, e.st));
      return Walk::kEnter;
    }, &unlocked_);
  }

  // Names of the project in this folder that the cell's folder of the same name lacks.
  Result<void> hidden_names(const std::string& path) {
    TRY(unlocked_.folder(upper_, path));
    TRY_SET(sys::Fd mine, open_folder(upper_, path));
    std::vector<std::pair<std::string, struct stat>> missing;
    TRY(walk(lower_, path, Layer::kPlain, [&](const Entry& e, int, const std::string& name) -> Result<Walk> {
      struct stat st {};
      if (::fstatat(mine.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) missing.emplace_back(e.path, e.st);
      return Walk::kSkip;
    }, &unlocked_));
    for (const auto& [name, st] : missing) TRY(deleted(name, st));
    return {};
  }

  Result<void> add(FoundChange f) {
    const Change& c = f.change;
    const bool parent = above_ == Above::kParents && c.type == FileType::kFolder && c.kind != ChangeKind::kMode && leads_to_selected(c.path);
    if (!is_selected(c.path, selection_) && !parent) return {};
    if (found_.size() == at_most_) return make_error(ErrorCode::kLimit, cat("more than ", at_most_, " changes"));
    found_.push_back(std::move(f));
    return {};
  }

  int upper_, lower_;
  const std::vector<std::string>& selection_;
  std::size_t at_most_;
  Unlocked& unlocked_;
  Above above_;
  sys::Fd parent_;  // of the project
  std::string parent_path_;
  bool parent_known_ = false;
  std::unordered_set<std::string> hiding_;
  std::vector<FoundChange> found_;
};

}  // namespace

Result<OpenLayers> open_layers(const Layers& layers) {
  OpenLayers out;
  if (!layers.lower.empty()) {
    TRY_SET(out.lower, open_project(layers.lower).context("the project"));
  }
  TRY_SET(out.upper, open_root(layers.upper).context("the cell's files"));
  return out;
}

Result<std::vector<std::string>> clean_selection(const std::vector<std::string>& paths) {
  std::vector<std::string> clean;
  for (const auto& path : paths) {
    TRY_SET(std::string one, clean_path(path));
    if (one.empty()) return std::vector<std::string>();  // "." is all
    clean.push_back(std::move(one));
  }
  std::sort(clean.begin(), clean.end());
  std::vector<std::string> out;
  for (auto& path : clean)
    if (out.empty() || !is_selected(path, out)) out.push_back(std::move(path));
  return out;
}

Result<std::vector<FoundChange>> find_changes(const OpenLayers& layers, const std::vector<std::string>& selection,
                                              std::size_t at_most, Unlocked& unlocked, Above above) {
  return Finder(layers, selection, at_most, unlocked, above).run();
}

}  // namespace hotcell::cells
