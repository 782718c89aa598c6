#include "cells/files/apply_plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/strings.h"
#include "cells/files/xattrs.h"
#include "core/policy/glob.h"

namespace hotcell::cells {
namespace {

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
      add(std::move(f));
    }
    plan_.refused = !plan_.report.refused.empty() || (!plan_.report.conflicts.empty() && !options_.force);
    if (!options_.force && (!options_.paths.empty() || options_.approved || !plan_.report.skipped.empty())) changed_folders();
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
    // Not of a file that the cell has moved. What an unfinished apply of ours was free to write may have changed the folder.
    if (c.old_type == FileType::kNone) {
      if (came_from_project(c.path) && !begun_.contains(c.path) && folder_changed(c.path))
        plan_.report.conflicts.push_back({c.path, "removed from the project"});
      return;
    }
    // A folder's ctime says that names came or went, which is no matter of ours; those that came are judged themselves.
    if (c.old_type == FileType::kFolder) return;
    Time known = options_.base;
    if (auto it = applied_.find(c.path); it != applied_.end()) known = std::max(known, it->second);
    if (time_of(f.lower.st_ctim) > known) plan_.report.conflicts.push_back({c.path, "changed in the project"});
  }

  bool came_from_project(const std::string& path) const {
    auto place = open_parent(layers_.upper.get(), path);
    if (!place.ok()) return false;
    auto mark = is_copied_up(place.value().folder.get(), place.value().name);
    return mark.ok() && mark.value();
  }

  // From which file it came is not known. overlayfs notes its handle only where it is mounted outside of a user namespace,
  // which no cell's is, and keeps it when an apply has put the copy in that file's place. What was removed from the project
  // has changed the folder it was in; what the cell has moved there has not. A project in which other names came or went
  // there is asked about once too often.
  bool folder_changed(const std::string& path) const {
    for (std::string folder(parent_of(path));; folder = std::string(parent_of(folder)))
      if (auto changed = names_changed(folder)) return *changed;
  }

  // Nothing: there is no such folder.
  std::optional<bool> names_changed(const std::string& folder) const {
    struct stat st {};
    if (folder.empty()) {
      if (::fstat(layers_.lower.get(), &st) < 0) return true;
    } else {
      auto found = stat_below(layers_.lower.get(), folder);
      if (!found.ok()) return true;
      if (!found.value() || !S_ISDIR(found.value()->st_mode)) return std::nullopt;
      st = *found.value();
    }
    Time known = options_.base;
    if (auto it = applied_.find(below(folder, ".")); it != applied_.end()) known = std::max(known, it->second);
    // Of a folder that is closed to us the ctime is when one of us last opened it; the mtime tells of its names, unless
    // somebody has set it back.
    st.st_mode = unlocked_.mode_of(layers_.lower.get(), folder, st);
    return time_of(lacks(st, Unlocked::kWrite) ? st.st_mtim : st.st_ctim) > known;
  }

  // Something that is left for later may have lost its original there, and this apply changes the folder, too: then its time says
  // nothing any more. What an unfinished apply was free to write has done so already.
  void changed_folders() {
    std::set<std::string> ours;
    for (const auto& path : begun_) ours.emplace(parent_of(path));
    for (const auto& s : plan_.steps) {
      std::string folder(parent_of(s.found.change.path));
      if (!ours.contains(folder) && names_changed(folder).value_or(false)) plan_.changed_by_others.insert(std::move(folder));
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
