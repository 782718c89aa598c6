// Brings what a cell has changed into its project, or throws it away.
//
// An apply is planned whole before anything is written; a conflict, a protected path or a link that leads out of the
// project refuses all of it. Then new files are written completely under temporary names, and only when they are on disk
// does each take its place by a rename. A journal in the cell's folder says what is under way: after a kill -9 every
// file is the old one or the new one, pending_apply() tells that something is unfinished, finish_apply() ends it.
//
// Folders that their owner has closed are opened where we own them, and noted before: whatever comes next closes them (unlocked.h).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/files/diff.h"
#include "cells/files/layers.h"
#include "hotcell/result.h"

namespace hotcell::cells {

// What may run or leak on the host when a project is used: version control's own folders, credentials, start-up files.
// Globs as in core/policy/glob.h, matched without regard to case; what is below a match is protected, too.
const std::vector<std::string>& standard_protected_paths();

enum class OnRefusal : std::uint8_t {
  kRefuse,  // nothing at all is applied
  kSkip,    // that path is left out, and said
  kAllow,
};
enum class Owners : std::uint8_t {
  kKeep,         // as in the upper folder, as far as we may
  kLikeProject,  // a changed file keeps its owner, a new one gets that of the folder it is in
};

// What somebody has looked at: path → a digest of type, mode, link target, attributes and bytes that an apply would bring; empty where only the path was
// looked at, whatever it brings.
using SeenChanges = std::map<std::string, std::string>;

struct ApplyOptions {
  std::string state = {};            // the cell's folder: journal and what was applied before; must be given
  Time base{};                       // base_time_now() of the cell's creation
  std::vector<std::string> paths = {};  // only these and what is below; empty: all
  std::vector<std::string> protected_paths = standard_protected_paths();
  OnRefusal on_protected = OnRefusal::kRefuse;
  OnRefusal on_outward_link = OnRefusal::kRefuse;  // a symbolic link whose target is outside of the project
  bool force = false;                // conflicts are overwritten, and still listed
  bool dry_run = false;              // plan and report only
  Owners owners = Owners::kKeep;
  // Only these, and only as they were then: what differs refuses all of it, what came later is left out.
  std::optional<SeenChanges> approved = {};
};

struct ApplyNote {
  std::string path;
  std::string why;  // "changed in the project", "removed from the project", "protected by .git", "is a device", …
};

struct ApplyReport {
  bool applied = false;              // false with lists below: refused, and nothing was written
  std::vector<ApplyNote> conflicts;  // the project was changed underneath
  std::vector<ApplyNote> refused;    // protected, links that lead out
  std::vector<ApplyNote> skipped;    // devices, fifos, sockets; refusals with kSkip
  std::vector<ApplyNote> stripped;   // set-id bits, file capabilities, attributes, owners that could not be kept
  std::vector<std::string> written, removed;
};
std::string apply_json(const ApplyReport& report);
std::string apply_text(const ApplyReport& report);

Result<ApplyReport> apply(const Layers& layers, const ApplyOptions& options);

// What an apply of these paths would bring now, with new folders above them.
Result<SeenChanges> see_changes(const Layers& layers, const std::vector<std::string>& paths);

struct PendingApply {
  Time started{};
  std::vector<std::string> paths;    // what it was to write or remove
};
// An apply that was cut off; `state` is the cell's folder. apply() refuses to begin another one before it is finished.
Result<std::optional<PendingApply>> pending_apply(const std::string& state);
// Removes what is left of its temporary files and applies the rest under the options it was begun with. A project file
// changed since is a conflict as ever; then `applied` is false, and the journal stays.
Result<ApplyReport> finish_apply(const Layers& layers, const std::string& state);
// Removes temporary files and the journal; what was already put in place stays. The paths say what is and what is not.
Result<void> abandon_apply(const Layers& layers, const std::string& state);

// Takes changes back, in the upper folder: the project's files show again. Empty `paths`: all. A path that is not changed
// is an error, and then nothing is discarded. Not while the overlay is mounted.
Result<void> discard(const Layers& layers, const std::vector<std::string>& paths);

}  // namespace hotcell::cells
