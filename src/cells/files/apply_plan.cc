#include "cells/files/apply_plan.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "cells/files/xattrs.h"
#include "core/policy/glob.h"

namespace hotcell::cells {
namespace {

// The handle overlayfs keeps of what a file was copied from: version, magic, length, flags, type, uuid, then the handle.
std::string origin_handle(const OpenLayers& layers, const std::string& path) {
  auto place = open_parent(layers.upper.get(), path);
  if (!place.ok()) return {};
  char value[256];
  constexpr std::size_t kBefore = 5 + 16;
  ssize_t n = ::lgetxattr(cat("/proc/self/fd/", place.value().folder.get(), "/", place.value().name).c_str(),
                          cat(overlay_prefix(), "origin").c_str(), value, sizeof value);
  return n > static_cast<ssize_t>(kBefore) ? std::string(value + kBefore, static_cast<std::size_t>(n) - kBefore) : std::string();
}

std::string handle_of(int root, const std::string& path) {
  auto place = open_parent(root, path);
  if (!place.ok()) return {};
  alignas(file_handle) char buffer[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = reinterpret_cast<file_handle*>(buffer);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (::name_to_handle_at(place.value().folder.get(), place.value().name.c_str(), handle, &mount, 0) < 0) return {};
  return std::string(reinterpret_cast<const char*>(handle->f_handle), handle->handle_bytes);
}

class Planner {
 public:
  Planner(const OpenLayers& layers, const ApplyOptions& options, const Applied& applied, const std::vector<std::string>& begun, const Unlocked& unlocked)
      : layers_(layers), options_(options), applied_(applied), begun_(begun.begin(), begun.end()), unlocked_(unlocked) {}

  Result<ApplyPlan> run(std::vector<FoundChange> found) {
    for (auto& f : found) {
      // What was in a folder whose successor is left out stays.
      if (!left_.empty() && is_below(f.change.path, left_)) continue;
      if (!judge(f)) {
        if (f.change.kind == ChangeKind::kType) left_ = f.change.path;
        continue;
      }
      conflict(f);
      candidates_.push_back(std::move(f));
    }
    removed_originals();
    for (auto& f : candidates_) add(std::move(f));
    plan_.refused = !plan_.report.refused.empty() || (!plan_.report.conflicts.empty() && !options_.force);
    return std::move(plan_);
  }

 private:
  // False: it is left out.
  bool judge(const FoundChange& f) {
    const Change& c = f.change;
    ApplyReport& report = plan_.report;
    if (auto pattern = protected_by(c.path, options_.protected_paths); !pattern.empty() && !allowed(options_.on_protected, c.path, cat("protected by ", pattern)))
      return false;
    if (c.type != FileType::kNone && c.type != FileType::kFile && c.type != FileType::kFolder && c.type != FileType::kSymlink) {
      report.skipped.push_back({c.path, cat("is a ", to_string(c.type))});
      return false;
    }
    if (c.type == FileType::kSymlink && leads_out(c.path, c.target) &&
        !allowed(options_.on_outward_link, c.path, cat("is a link out of the project, to ", printable(c.target))))
      return false;
    if (c.type == FileType::kFile && (c.mode & 06000) != 0) report.stripped.push_back({c.path, "set-id bits"});
    return true;
  }

  bool allowed(OnRefusal rule, const std::string& path, std::string why) {
    if (rule == OnRefusal::kAllow) return true;
    auto& list = rule == OnRefusal::kSkip ? plan_.report.skipped : plan_.report.refused;
    list.push_back({path, std::move(why)});
    return false;
  }

  void conflict(const FoundChange& f) {
    const Change& c = f.change;
    if (c.old_type == FileType::kNone) return;
    // A folder's ctime says that names came or went, which is no matter of ours; those that came are judged themselves.
    if (c.old_type == FileType::kFolder) return;
    Time known = options_.base;
    if (auto it = applied_.find(c.path); it != applied_.end()) known = std::max(known, it->second);
    if (time_of(f.lower.st_ctim) > known) plan_.report.conflicts.push_back({c.path, "changed in the project"});
  }

  // A file that was copied from the project, whose original is no longer there. Not one that the cell has moved: then
  // the original is among what the cell has removed or replaced.
  void removed_originals() {
    std::vector<std::pair<std::string, std::string>> missing;  // path, handle
    for (const auto& f : candidates_) {
      if (f.change.kind != ChangeKind::kAdded || !came_from_project(f.change.path)) continue;
      missing.emplace_back(f.change.path, origin_handle(layers_, f.change.path));
    }
    if (missing.empty()) return;
    std::set<std::string> there;
    for (const auto& f : candidates_)
      if (f.change.old_type != FileType::kNone) there.insert(handle_of(layers_.lower.get(), f.change.path));
    for (auto& [path, handle] : missing)
      if (handle.empty() ? !begun_.contains(path) && folder_changed(path) : !there.contains(handle))
        plan_.report.conflicts.push_back({path, "removed from the project"});
  }

  bool came_from_project(const std::string& path) const {
    auto place = open_parent(layers_.upper.get(), path);
    if (!place.ok()) return false;
    auto mark = is_copied_up(place.value().folder.get(), place.value().name);
    return mark.ok() && mark.value();
  }

  // From where it came is not known: overlay's own note says so for ordinary users, ours in a fork or after a restore. What
  // was removed from the project has changed the folder it was in; what the cell has moved there has not. A project in
  // which other names came or went there is asked about once too often, never too seldom.
  bool folder_changed(const std::string& path) const {
    for (std::string folder(parent_of(path));; folder = std::string(parent_of(folder))) {
      struct stat st {};
      if (folder.empty()) {
        if (::fstat(layers_.lower.get(), &st) < 0) return true;
      } else {
        auto found = stat_below(layers_.lower.get(), folder);
        if (!found.ok()) return true;
        if (!found.value() || !S_ISDIR(found.value()->st_mode)) continue;
        st = *found.value();
      }
      Time known = options_.base;
      if (auto it = applied_.find(below(folder, ".")); it != applied_.end()) known = std::max(known, it->second);
      // Of a folder that is closed to us the ctime is when one of us last opened it; the mtime tells of its names, unless
      // somebody has set it back.
      st.st_mode = unlocked_.mode_of(layers_.lower.get(), folder, st);
      return time_of(lacks(st, Unlocked::kWrite) ? st.st_mtim : st.st_ctim) > known;
    }
  }

  void add(FoundChange f) {
    const Change& c = f.change;
    ApplyStep step;
    const bool folder = c.type == FileType::kFolder, was_folder = c.old_type == FileType::kFolder;
    step.exchange = c.old_type != FileType::kNone && c.type != FileType::kNone && folder != was_folder;
    if (c.kind == ChangeKind::kDeleted) {
      step.kind = ApplyStep::Kind::kRemove;
    } else if (folder) {
      step.kind = c.kind == ChangeKind::kMode ? ApplyStep::Kind::kMode : ApplyStep::Kind::kFolder;
    } else if (c.kind == ChangeKind::kMode && !c.owner_changed && !c.xattrs_changed) {
      step.kind = ApplyStep::Kind::kMode;
    }
    step.found = std::move(f);
    plan_.steps.push_back(std::move(step));
  }

  const OpenLayers& layers_;
  const ApplyOptions& options_;
  const Applied& applied_;
  std::set<std::string> begun_;
  const Unlocked& unlocked_;
  std::string left_;
  std::vector<FoundChange> candidates_;
  ApplyPlan plan_;
};

}  // namespace

const std::vector<std::string>& standard_protected_paths() {
  // What runs when somebody opens, builds or commits the project, and what holds secrets.
  static const std::vector<std::string> kPaths = {
      ".git", ".gitmodules", ".gitattributes", ".hg", ".svn", ".jj", ".husky", ".pre-commit-config.yaml",
      ".env", ".env.*", ".envrc", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc", ".npmrc", ".yarnrc*", ".pypirc",
      ".bashrc", ".bash_profile", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
      ".vscode", ".idea", ".devcontainer", ".github/workflows/**", ".gitlab-ci.yml", ".agents", ".mcp.json", ".hotcell"};
  return kPaths;
}

std::string protected_by(std::string_view path, const std::vector<std::string>& patterns) {
  // Some file systems take .GIT for .git.
  const std::string whole = ascii_lower(cat("/", path));
  for (const auto& pattern : patterns)
    if (glob_covers(ascii_lower(pattern), whole)) return pattern;
  return {};
}

bool leads_out(std::string_view link_path, std::string_view target) {
  if (target.starts_with('/')) return true;
  auto parts = split(link_path, '/');
  std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(parts.size()) - 1;
  bool down = false;
  for (auto part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      down = true;
      continue;
    }
    // After a name that may be a link itself nobody knows where ".." is.
    if (down || --depth < 0) return true;
  }
  return false;
}

Result<ApplyPlan> plan_apply(const OpenLayers& layers, std::vector<FoundChange> found, const ApplyOptions& options, const Applied& applied,
                             const std::vector<std::string>& begun, const Unlocked& unlocked) {
  return Planner(layers, options, applied, begun, unlocked).run(std::move(found));
}

}  // namespace hotcell::cells
