// What the keeper before this one has left: cells that ran or were paused, cells that nobody was told of yet, an apply that was
// cut off. Nobody else is there: we hold the lock. When it is over each is as it was before, or as it was to become.
#include <stdio.h>

#include "base/strings.h"
#include "cells/files/apply.h"
#include "cells/files/copy.h"
#include "cells/files/snapshot.h"
#include "cells/keeper/cell_layers.h"
#include "cells/keeper/keeper.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

std::string why_unfinished(const Result<ApplyReport>& report) {
  if (!report.ok()) return report.error().message;
  const auto& conflicts = report.value().conflicts;
  const auto& notes = conflicts.empty() ? report.value().refused : conflicts;
  if (notes.empty()) return "it was refused";
  return cat(printable(notes[0].path), ": ", notes[0].why, notes.size() > 1 ? cat(" (and ", notes.size() - 1, " more)") : "");
}

}  // namespace

Result<void> Keeper::recover() {
  std::vector<std::string> broken;
  TRY_SET(auto stored, list_cells(cells_, &broken));
  for (auto& s : stored) {
    // Whoever wanted it was told that it failed, or has gone: it is none.
    if (!s.record.being_made.empty()) {
      if (auto removed = remove_cell(cells_, s.record.id); !removed.ok()) ::dprintf(2, "%s: %s\n", s.record.id.c_str(), removed.error().message.c_str());
      continue;
    }
    auto cell = std::make_unique<Kept>();
    cell->record = std::move(s.record);
    cell->folder = std::move(s.folder);
    auto policy = load_policy(cell->folder);
    if (!policy.ok()) {
      cell->record.state = CellState::kTerminated;
      cell->record.reason = cat("its policy cannot be read: ", policy.error().message);
    } else {
      cell->policy = std::move(policy).value();
    }
    if (cell->record.state == CellState::kRunning || cell->record.state == CellState::kPaused) {
      // Nobody told: the keeper before us was killed, or the host went down. Its cells went with it.
      cell->record.was_paused = cell->record.state == CellState::kPaused;
      cell->record.state = CellState::kStopped;
      cell->record.reason = "the keeper was killed or the host restarted: its processes are gone, its files are here";
      cell->record.stopped = now();
      save(*cell);
    }
    if (cell->record.own_disk) {
      auto disk = LayersDisk::open(cell->folder, cell->policy.limits.disk);
      if (disk.ok()) cell->disk = std::move(disk).value();
      else ::dprintf(2, "%s: %s\n", cell->record.id.c_str(), disk.error().message.c_str());  // start() tries again, and says so
    }
    recover_files(*cell);
    Kept& kept = *kept_.emplace(cell->record.id, std::move(cell)).first->second;
    if (!kept.unfinished.empty() && !kept.record.project.empty()) finish_pending(kept);
  }
  return {};
}

void Keeper::recover_files(Kept& cell) {
  clean_leftovers(cat(cell.folder, "/upper")).ignore("it is tried again at the next start");
  remove_old_snapshots(cat(cell.folder, "/snapshots"), {}, now()).ignore("the same");
  if (auto names = sys::list_dir(cell.folder.c_str()); names.ok())
    for (const auto& name : names.value())
      if (name.starts_with("cell.json.") || name.starts_with("policy.yaml.") || name.find(".hotcell-new-") != name.npos || name.starts_with(".gone-"))
        remove_tree(cat(cell.folder, "/", name)).ignore("it is tried again at the next start");
  note_pending(cell, {});
}

void Keeper::note_pending(Kept& cell, const std::string& why) {
  auto pending = pending_apply(cell.folder);
  cell.unfinished.clear();
  if (!pending.ok()) cell.unfinished = pending.error().message;
  else if (pending.value())
    cell.unfinished = cat("an apply of ", pending.value()->paths.size(), " paths was cut off (begun ", rfc3339(pending.value()->started), ")",
                          why.empty() ? "" : cat(" and cannot be finished: ", why), "; the next hotcell cell apply ", cell.record.name,
                          why.empty() ? " finishes it" : " tries again, with --force it is given up");
}

// A project that is half old and half new is what nobody asked for. What had been begun had been allowed; a file that somebody
// has changed since is left alone, and then all the rest is, too.
void Keeper::finish_pending(Kept& cell) {
  struct Work {
    CellLayers files;
    Result<ApplyReport> report = ApplyReport{};
  };
  auto w = std::make_shared<Work>(Work{CellLayers(cell)});
  cell.finishing = true;
  still(cell, "an apply that was cut off is being finished", [w] {
    auto run = [&]() -> Result<ApplyReport> {
      TRY_SET(Layers layers, w->files.open());
      return finish_apply(layers, w->files.folder());
    };
    w->report = run();
    w->files.close();
  }, [this, w, id = cell.record.id] {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    Kept& c = *it->second;
    c.finishing = false;
    const bool done = w->report.ok() && w->report.value().applied;
    note_pending(c, done ? std::string() : why_unfinished(w->report));
    for (auto& ask : std::exchange(c.held, {})) ask();
  });
}

bool Keeper::hold(const Asker& asker, const Ask& ask, std::vector<sys::Fd>& fds) {
  Kept* busy = nullptr;
  if (ask.verb == "list") {
    // It tells about all of them; when this one is finished, the next is waited for.
    for (const auto& [id, cell] : kept_)
      if (cell->finishing) busy = cell.get();
  } else if (!ask.cell.empty()) {
    if (auto cell = find(ask.cell); cell.ok() && cell.value()->finishing) busy = cell.value();
  }
  if (busy == nullptr) return false;
  auto with = std::make_shared<std::vector<sys::Fd>>(std::move(fds));
  hold_back(asker);
  busy->held.push_back([this, asker, ask, with] {
    // Who has gone asks for nothing, and the bounds of a connection went with it.
    if (!told_to_end_ && clients_.contains(asker.client) && goes_on(asker)) dispatch(asker, ask, std::move(*with));
  });
  return true;
}

Result<void> Keeper::filled(const Asker& asker, Kept& cell) {
  if (cell.record.being_made != "filling") return not_now(cat(cell.record.name, " has its files already"));
  CellRecord whole = cell.record;
  whole.being_made.clear();
  TRY(save_record(cell.folder, whole));
  cell.record = std::move(whole);
  answer_text(asker, inspect_json(cell));
  return {};
}

void Keeper::forget_unfilled(std::uint64_t client) {
  for (auto& [id, cell] : kept_)
    if (cell->maker == client && cell->record.being_made == "filling" && cell->busy.empty())
      remove(*cell, [](const Result<void>&) {});  // where that fails the next keeper does it
}

}  // namespace hotcell::cells
