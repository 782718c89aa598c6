#include "cells/files/apply.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/apply_work.h"
#include "cells/files/seen.h"
#include "cells/files/steps.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kMostChanges = 2'000'000;

// One apply at a time for each cell.
Result<sys::Fd> lock(const std::string& state) {
  if (state.empty()) return make_error(ErrorCode::kInvalid, "apply: the cell's folder is not given");
  TRY_SET(sys::Fd file, sys::open(cat(state, "/apply.lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) < 0) return make_error(ErrorCode::kDenied, "another apply of this cell is under way");
  return file;
}

// What is now in the project because of us is not a change of somebody else's at the next apply.
Result<void> remember(const OpenLayers& layers, const ApplyPlan& plan, const std::vector<std::string>& paths, const std::string& state, Applied applied,
                      Unlocked& unlocked) {
  for (const auto& path : paths) {
    // Names that came and went by us; "FOLDER/." is no path of a change.
    const std::string folder(parent_of(path));
    TRY(unlocked.folder(layers.lower.get(), folder));
    struct stat parent {};
    if (plan.changed_by_others.contains(folder)) {
      // It stays known as it was before they changed it.
    } else if (folder.empty()) {
      TRY_SET(parent, sys::stat_fd(layers.lower.get(), "the project"));
      applied["."] = time_of(parent.st_ctim);
    } else {
      TRY_SET(auto found, stat_below(layers.lower.get(), folder));
      if (found && S_ISDIR(found->st_mode)) applied[below(folder, ".")] = time_of(found->st_ctim);
    }
    TRY_SET(auto st, stat_below(layers.lower.get(), path));
    const bool is_folder = st && S_ISDIR(st->st_mode);
    if (!is_folder) applied.erase(below(path, "."));
    if (st && !is_folder) applied[path] = time_of(st->st_ctim);
    else applied.erase(path);
  }
  return write_applied(state, applied);
}

// Folders that are closed to us are open while `work` needs them, and closed again however it ends.
template <typename Work>
auto with_folders_open(const OpenLayers& layers, const std::string& state, Work work) -> decltype(work(std::declval<Unlocked&>())) {
  TRY(close_noted(layers, state));
  Unlocked unlocked(note_opened(layers, state));
  auto done = work(unlocked);
  auto closed = close_all(layers, state, unlocked);
  if (done.ok() && !closed.ok()) return std::move(closed).error();
  closed.ignore("why it failed is said; what is open is noted, and closed by the next one");
  return done;
}

Result<ApplyReport> carry_out(const OpenLayers& layers, ApplyPlan plan, const ApplyOptions& options, const Applied& applied,
                              std::vector<std::string> also_remember, Unlocked& unlocked) {
  TRY(name_temporaries(layers, plan, sys::random_uuid()));
  TRY(open_for_writing(layers, plan, unlocked));
  Journal journal{base_time_now(), options, {}};
  for (const auto& s : plan.steps) journal.steps.push_back({s.found.change.path, s.temporary});
  about_to_change();
  TRY(write_journal(options.state, journal));
  auto staged = stage_apply(layers, plan, options);
  if (!staged.ok()) {
    // Nothing of the project has been touched: as if it had not been begun.
    TRY(remove_temporaries(layers, journal, unlocked));
    TRY(remove_journal(options.state));
    return std::move(staged).error();
  }
  TRY(commit_apply(layers, plan, options, unlocked).context("apply is unfinished"));
  for (const auto& s : journal.steps) also_remember.push_back(s.target);
  about_to_change();
  TRY(remember(layers, plan, also_remember, options.state, applied, unlocked));
  // Before the journal goes: an apply that was killed while it closed them is finished.
  TRY(unlocked.close(layers.lower.get()).context("apply is unfinished"));
  about_to_change();
  TRY(remove_journal(options.state));
  plan.report.applied = true;
  std::sort(plan.report.written.begin(), plan.report.written.end());
  std::sort(plan.report.removed.begin(), plan.report.removed.end());
  return std::move(plan.report);
}

Result<ApplyReport> plan_and_carry_out(const OpenLayers& layers, const ApplyOptions& options, std::vector<std::string> begun, Unlocked& unlocked) {
  TRY_SET(auto selection, clean_selection(options.paths));
  TRY_SET(auto found, find_changes(layers, selection, kMostChanges, unlocked, Above::kParents));
  ApplyReport held;
  if (options.approved) TRY(hold_to_approved(layers, found, *options.approved, begun, held));
  TRY_SET(Applied applied, read_applied(options.state));
  // What an unfinished apply was to write and is the same as in the cell now was written by it.
  std::vector<std::string> differing;
  for (const auto& f : found) differing.push_back(f.change.path);
  TRY_SET(ApplyPlan plan, plan_apply(layers, std::move(found), options, applied, begun, unlocked));
  plan.refused = plan.refused || !held.refused.empty();
  plan.report.refused.insert(plan.report.refused.end(), held.refused.begin(), held.refused.end());
  plan.report.skipped.insert(plan.report.skipped.end(), held.skipped.begin(), held.skipped.end());
  std::erase_if(begun, [&](const auto& path) { return std::binary_search(differing.begin(), differing.end(), path); });
  if (plan.refused || options.dry_run) return std::move(plan.report);
  return carry_out(layers, std::move(plan), options, applied, std::move(begun), unlocked);
}

Result<ApplyReport> run(const OpenLayers& layers, const ApplyOptions& options, std::vector<std::string> begun) {
  return with_folders_open(layers, options.state, [&](Unlocked& unlocked) { return plan_and_carry_out(layers, options, std::move(begun), unlocked); });
}

Result<OpenLayers> open_both(const Layers& layers) {
  if (layers.lower.empty()) return make_error(ErrorCode::kInvalid, "the cell has no project to apply to");
  return open_layers(layers);
}

void write_notes(JsonWriter& json, std::string_view key, const std::vector<ApplyNote>& notes) {
  json.key(key);
  json.begin_array();
  for (const auto& note : notes) {
    json.begin_object();
    json.field("path", note.path);
    json.field("why", note.why);
    json.end_object();
  }
  json.end_array();
}

void write_paths(JsonWriter& json, std::string_view key, const std::vector<std::string>& paths) {
  json.key(key);
  json.begin_array();
  for (const auto& path : paths) json.value(path);
  json.end_array();
}

}  // namespace

Result<ApplyReport> apply(const Layers& layers, const ApplyOptions& options) {
  TRY_SET(sys::Fd held, lock(options.state));
  TRY_SET(auto pending, read_journal(options.state));
  if (pending) return make_error(ErrorCode::kDenied, "an earlier apply of this cell is unfinished: finish or abandon it first");
  TRY_SET(OpenLayers open, open_both(layers));
  return run(open, options, {});
}

Result<SeenChanges> see_changes(const Layers& layers, const std::vector<std::string>& paths) {
  TRY_SET(OpenLayers open, open_both(layers));
  TRY_SET(auto selection, clean_selection(paths));
  Unlocked unlocked;
  TRY_SET(auto found, find_changes(open, selection, kMostChanges, unlocked, Above::kParents));
  return see_changes(open, found);
}

Result<std::optional<PendingApply>> pending_apply(const std::string& state) {
  TRY_SET(auto journal, read_journal(state));
  if (!journal) return std::optional<PendingApply>();
  PendingApply out{journal->started, {}};
  for (auto& s : journal->steps) out.paths.push_back(std::move(s.target));
  return std::optional(std::move(out));
}

Result<ApplyReport> finish_apply(const Layers& layers, const std::string& state) {
  TRY_SET(sys::Fd held, lock(state));
  TRY_SET(auto journal, read_journal(state));
  if (!journal) return make_error(ErrorCode::kNotFound, "no apply of this cell is unfinished");
  TRY_SET(OpenLayers open, open_both(layers));
  // By itself: what is found in the cell then is compared with the modes that the project's folders have when they are closed.
  TRY(with_folders_open(open, state, [&](Unlocked& unlocked) { return remove_temporaries(open, *journal, unlocked); }));
  journal->options.state = state;
  std::vector<std::string> begun;
  for (const auto& s : journal->steps) begun.push_back(s.target);
  return run(open, journal->options, std::move(begun));
}

Result<void> abandon_apply(const Layers& layers, const std::string& state) {
  TRY_SET(sys::Fd held, lock(state));
  TRY_SET(auto journal, read_journal(state));
  if (!journal) return make_error(ErrorCode::kNotFound, "no apply of this cell is unfinished");
  TRY_SET(OpenLayers open, open_both(layers));
  TRY(with_folders_open(open, state, [&](Unlocked& unlocked) { return remove_temporaries(open, *journal, unlocked); }));
  return remove_journal(state);
}

std::string apply_json(const ApplyReport& report) {
  JsonWriter json;
  json.begin_object();
  json.field("applied", report.applied);
  write_notes(json, "conflicts", report.conflicts);
  write_notes(json, "refused", report.refused);
  write_notes(json, "skipped", report.skipped);
  write_notes(json, "stripped", report.stripped);
  write_paths(json, "written", report.written);
  write_paths(json, "removed", report.removed);
  json.end_object();
  return json.take();
}

std::string apply_text(const ApplyReport& report) {
  std::string out;
  auto notes = [&](std::string_view word, const std::vector<ApplyNote>& list) {
    for (const auto& n : list) out += cat(word, "  ", printable(n.path), ": ", n.why, "\n");
  };
  notes("conflict", report.conflicts);
  notes("refused ", report.refused);
  notes("skipped ", report.skipped);
  notes("stripped", report.stripped);
  for (const auto& path : report.written) out += cat("written   ", printable(path), "\n");
  for (const auto& path : report.removed) out += cat("removed   ", printable(path), "\n");
  out += report.applied ? cat(report.written.size(), " written, ", report.removed.size(), " removed\n") : "nothing was applied\n";
  return out;
}

}  // namespace hotcell::cells
