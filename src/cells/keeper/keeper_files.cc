// What is done to a cell's files as a whole: diff, apply, discard, snapshot, restore, fork. All of it in threads, on the layers
// themselves, never through the mounted workspace. Whoever reads them keeps the cell still meanwhile; whoever writes them
// stops it, since overlayfs does not stand somebody else in its upper folder.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/apply.h"
#include "cells/files/apply_journal.h"
#include "cells/files/copy.h"
#include "cells/files/diff.h"
#include "cells/files/snapshot.h"
#include "cells/keeper/cell_layers.h"
#include "cells/keeper/file_answers.h"
#include "cells/keeper/keeper.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}
bool is_set(const Ask& ask, const std::string& name) { return word(ask, name) == "1"; }

std::string snapshots_folder(const Kept& cell) { return cat(cell.folder, "/snapshots"); }

Result<std::string> snapshot_file(const Kept& cell, const std::string& label) {
  if (!is_cell_name(label)) return make_error(ErrorCode::kInvalid, cat(printable(label), " is no label (letters, digits, dot, dash, underscore; at most 64)"));
  return cat(snapshots_folder(cell), "/", label, kSnapshotSuffix);
}

struct ApplyOutcome {
  Result<ApplyReport> report = ApplyReport{};
  std::string note;  // on one that was cut off before
};

ApplyOutcome apply_files(CellLayers& files, ApplyOptions options) {
  auto run = [&](std::string& note) -> Result<ApplyReport> {
    TRY_SET(Layers layers, files.open());
    TRY_SET(auto pending, pending_apply(options.state));
    if (pending) {
      std::string what = cat("an apply of ", pending->paths.size(), " paths, begun ", rfc3339(pending->started), " and cut off,");
      if (options.dry_run) return not_now(cat(what, " must be ended first; apply without --dry-run does that"));
      if (options.force) {
        TRY(abandon_apply(layers, options.state));
        note = cat(what, " was given up; what it had written stays");
      } else {
        TRY_SET(ApplyReport finished, finish_apply(layers, options.state));
        note = finished.applied ? cat(what, " was finished first") : cat(what, " cannot be finished: see below; --force gives it up");
        if (!finished.applied) return finished;
        // What it has just brought is no longer a change, and was approved then.
        if (options.approved)
          for (const auto& path : pending->paths) options.approved->erase(path);
      }
    }
    return apply(layers, options);
  };
  ApplyOutcome out;
  out.report = run(out.note);
  return out;
}

}  // namespace

void Keeper::still(Kept& cell, std::string what, std::function<void()> task, std::function<void()> then) {
  cell.busy = std::move(what);
  const std::string id = cell.record.id;
  auto kept = [this, id]() -> Kept* {
    auto it = kept_.find(id);
    return it == kept_.end() ? nullptr : it->second.get();
  };
  using Thaw = std::function<void(Kept&)>;
  auto begin = [this, kept, task = std::move(task), then = std::move(then)](const Thaw& thaw) {
    work(task, [kept, then, thaw] {
      if (Kept* c = kept()) {
        c->busy.clear();
        // Paused meanwhile it stays as it is, stopped there is nothing to thaw.
        if (thaw && c->run && !c->stopping && c->record.state == CellState::kRunning) thaw(*c);
      }
      then();
    });
  };
  auto freeze = [this, kept, begin] {
    Kept* c = kept();
    if (c == nullptr) return;
    if (!c->run || c->stopping || c->record.state != CellState::kRunning) return begin({});
    if (launcher_->freeze(*c->run, true).ok())
      return begin([this](Kept& k) { launcher_->freeze(*k.run, false).ignore("it has ended; what ends is told"); });
    // Without a freezer every process is told to stop. Should the cell end before it answers, that is still enough.
    auto stood = [begin](bool) {
      begin([](Kept& k) {
        if (k.spawned && k.spawned->tell(OrderKind::kGoOn, 0).ok()) k.on_done.push_back([](bool) {});
      });
    };
    if (!c->spawned || !c->spawned->tell(OrderKind::kStopAll, 0).ok()) return stood(false);
    c->on_done.push_back(stood);
  };
  if (cell.run && !cell.ready) cell.on_ready.push_back([freeze](const Result<void>&) { freeze(); });
  else freeze();
}

void Keeper::unmounted(Kept& cell, std::string what, std::function<void()> task, std::function<void(const Result<bool>&)> then) {
  const bool ran = cell.run && !cell.stopping && cell.record.state != CellState::kPaused;
  cell.busy = what;
  const std::string id = cell.record.id;
  stop(cell, cat("stopped for ", what), [this, id, ran, task = std::move(task), then = std::move(then)](const Result<void>&) {
    work(task, [this, id, ran, then] {
      auto it = kept_.find(id);
      if (it == kept_.end()) return;
      it->second->busy.clear();
      if (!ran) return then(false);
      auto started = start(*it->second, [then](const Result<void>& r) {
        if (r.ok()) then(true);
        else then(r.error());
      });
      if (!started.ok()) then(started.error());
    });
  });
}

bool Keeper::file_verb(const Asker& asker, const Ask& ask) {
  using Verb = Result<void> (Keeper::*)(const Asker&, Kept&, const Ask&);
  static const std::map<std::string, Verb> kVerbs = {
      {"diff", &Keeper::diff_files},           {"apply", &Keeper::apply_to_project}, {"discard", &Keeper::discard_files},
      {"snapshot", &Keeper::take_snapshot},    {"snapshots", &Keeper::tell_snapshots}, {"snapshot_rm", &Keeper::remove_snapshots},
      {"restore", &Keeper::restore_files},     {"fork", &Keeper::fork_cell}};
  auto verb = kVerbs.find(ask.verb);
  if (verb == kVerbs.end()) return false;
  auto cell = find(ask.cell);
  if (!cell.ok()) return answer(asker, std::move(cell).error()), true;
  if (!cell.value()->busy.empty()) return answer(asker, not_now(cat(cell.value()->record.name, " is busy: ", cell.value()->busy))), true;
  cell.value()->last_use = Clock::now();
  if (auto begun = (this->*verb->second)(asker, *cell.value(), ask); !begun.ok()) answer(asker, std::move(begun).error());
  return true;
}

Result<void> Keeper::diff_files(const Asker& asker, Kept& cell, const Ask& ask) {
  const std::string form = word(ask, "format");
  DiffOptions options;
  options.paths = ask.words;
  options.patches = form == "patch" || form == "text" || is_set(ask, "patches");
  auto text = std::make_shared<Result<std::string>>(std::string());
  still(cell, "diff", [files = std::make_shared<CellLayers>(cell), options, form, text] {
    auto run = [&]() -> Result<std::string> {
      TRY_SET(Layers layers, files->open());
      TRY_SET(Diff found, diff(layers, options));
      return form == "patch" ? diff_patch(found) : form == "text" ? diff_stat(found) : diff_json(found);
    };
    *text = run();
    files->close();
  }, [this, asker, text] {
    if (text->ok()) answer_text(asker, std::move(*text).value());
    else answer(asker, text->error());
  });
  return {};
}

Result<void> Keeper::apply_to_project(const Asker& asker, Kept& cell, const Ask& ask) {
  if (cell.record.project.empty()) return make_error(ErrorCode::kInvalid, cat(cell.record.name, " has no project to apply to; it was made without --from"));
  ApplyOptions options;
  options.state = cell.folder;
  options.base = cell.record.base;
  options.paths = ask.words;
  options.force = is_set(ask, "force");
  options.dry_run = is_set(ask, "dry_run");
  options.owners = Owners::kLikeProject;
  if (is_set(ask, "allow_protected")) options.on_protected = options.on_outward_link = OnRefusal::kAllow;
  guard_apply(cell, options);
  auto out = std::make_shared<ApplyOutcome>();
  still(cell, "apply", [files = std::make_shared<CellLayers>(cell), options, out] {
    *out = apply_files(*files, options);
    files->close();
  },
        [this, asker, out, options, id = cell.record.id, text = word(ask, "format") == "text"] {
          if (auto it = kept_.find(id); it != kept_.end()) note_pending(*it->second, {});
          if (!out->report.ok()) return answer(asker, out->report.error());
          const ApplyReport& report = out->report.value();
          Told told;
          const bool refused = !report.refused.empty() || (!report.conflicts.empty() && !options.force);
          if (refused) told.fields["refused"] = "1";
          if (!out->note.empty()) told.fields["note"] = out->note;
          told.text = text ? apply_words(report, options, refused) : apply_json(report);
          answer(asker, std::move(told));
        });
  return {};
}

Result<void> Keeper::discard_files(const Asker& asker, Kept& cell, const Ask& ask) {
  auto done = std::make_shared<Result<void>>();
  auto files = std::make_shared<CellLayers>(cell);
  unmounted(cell, "discard", [files, done, paths = ask.words] {
    auto layers = files->open();
    *done = layers.ok() ? discard(layers.value(), paths) : Result<void>(layers.error());
    files->close();
  }, [this, asker, done](const Result<bool>& restarted) {
    if (!done->ok()) return answer(asker, done->error());
    if (!restarted.ok()) return answer(asker, Error(restarted.error()).context("discarded, but the cell does not start again"));
    answer_text(asker, restarted_json(restarted.value()));
  });
  return {};
}

Result<void> Keeper::take_snapshot(const Asker& asker, Kept& cell, const Ask& ask) {
  std::string label = word(ask, "label");
  if (label.empty()) label = label_of_now();
  TRY_SET(std::string file, snapshot_file(cell, label));
  if (::access(file.c_str(), F_OK) == 0) return taken(cat(cell.record.name, " has a snapshot ", label, " already"));
  auto info = std::make_shared<Result<SnapshotInfo>>(SnapshotInfo{});
  still(cell, "snapshot", [files = std::make_shared<CellLayers>(cell), file, info, meta = snapshot_meta(cell.record, label)] {
    auto layers = files->open();
    *info = layers.ok() ? write_snapshot(layers.value().upper, file, meta) : Result<SnapshotInfo>(layers.error());
    files->close();
  }, [this, asker, info] {
    if (info->ok()) answer_text(asker, snapshot_json(info->value()));
    else answer(asker, info->error());
  });
  return {};
}

Result<void> Keeper::tell_snapshots(const Asker& asker, Kept& cell, const Ask&) {
  auto all = std::make_shared<Result<std::vector<SnapshotInfo>>>(std::vector<SnapshotInfo>());
  work([folder = snapshots_folder(cell), all] { *all = list_snapshots(folder); }, [this, asker, all] {
    if (all->ok()) answer_text(asker, snapshots_json(all->value()));
    else answer(asker, all->error());
  });
  return {};
}

Result<void> Keeper::remove_snapshots(const Asker& asker, Kept& cell, const Ask& ask) {
  if (ask.words.empty()) return make_error(ErrorCode::kInvalid, "which snapshot? give its label");
  std::vector<std::string> paths;
  for (const auto& label : ask.words) {
    TRY_SET(std::string file, snapshot_file(cell, label));
    if (::access(file.c_str(), F_OK) < 0) return not_there(cat(cell.record.name, " has no snapshot ", printable(label)));
    paths.push_back(std::move(file));
  }
  for (const auto& path : paths)
    if (::unlink(path.c_str()) < 0) return errno_error(cat("remove ", printable(path)), errno);
  answer_text(asker, "");
  return {};
}

}  // namespace hotcell::cells
