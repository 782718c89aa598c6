// Cells out of others: a fork, and a snapshot that is brought back, into its own cell or into a new one.
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/files/apply_journal.h"
#include "cells/files/copy.h"
#include "cells/files/snapshot.h"
#include "cells/keeper/cell_layers.h"
#include "cells/keeper/cell_secrets.h"
#include "cells/keeper/file_answers.h"
#include "cells/keeper/keeper.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}

}  // namespace

Result<void> Keeper::may_be_made(const std::string& name) const {
  if (kept_.size() >= most_cells_)
    return make_error(ErrorCode::kLimit, cat("maximum cell limit (", most_cells_, ") reached; remove one (hotcell cell rm, hotcell cell clean)"));
  if (!is_cell_name(name)) return make_error(ErrorCode::kInvalid, cat(printable(name), " is no name (letters, digits, dot, dash, underscore; at most 64)"));
  for (const auto& [id, cell] : kept_)
    if (cell->record.name == name || id == name) return taken(cat("there is a cell ", printable(name), " already"));
  return {};
}

// The same project, policy, environment and labels; a life of its own.
CellRecord Keeper::offspring(const Kept& cell, const std::string& name) {
  CellRecord r;
  r.id = new_cell_id();
  r.name = name;
  r.project = cell.record.project;
  r.env = cell.record.env;
  r.labels = cell.record.labels;
  r.ttl = cell.record.ttl;
  r.idle_pause = cell.record.idle_pause;
  r.network_phase = cell.record.network_phase;
  r.network = cell.record.network;
  r.own_disk = cell.record.own_disk;
  r.decisions = cell.record.decisions;
  r.created = r.used = now();
  // What it holds was copied from the project since its parent was made, not since now.
  r.base = cell.record.base;
  r.forked_from = cell.record.id;
  r.state = CellState::kStopped;
  r.reason = "not started yet";
  return r;
}

// `upper` is whole and beside; it becomes a cell by one rename, or goes.
void Keeper::adopt(const Asker& asker, CellRecord record, Policy policy, const std::string& upper, bool start_it, std::string applied, Fields fields) {
  auto give_up = [this, asker, upper](Error error) {
    work([upper] { remove_tree(upper).ignore("sweep() finds it by its name"); }, [] {});
    answer(asker, std::move(error));
  };
  if (auto may = may_be_made(record.name); !may.ok()) return give_up(may.error());
  auto folder = make_cell(cells_, record, policy, upper);
  if (!folder.ok()) return give_up(folder.error());
  // What the parent has put into the project is no conflict for its child. Lost, it is asked about once too often.
  if (!applied.empty()) write_state_file(folder.value(), kAppliedFile, applied).ignore("conflicts are asked about");
  auto cell = std::make_unique<Kept>();
  cell->record = record;
  cell->folder = folder.value();
  cell->policy = std::move(policy);
  // The same secrets, as long as this keeper has them; its own authority at its own start.
  if (auto parent = kept_.find(record.forked_from); parent != kept_.end() && parent->second->secrets && record.network.contains("secrets")) {
    cell->secrets = std::make_shared<CellSecrets>();
    cell->secrets->held = parent->second->secrets->held;
  }
  Kept* raw = cell.get();
  const std::string id = record.id;
  kept_.emplace(id, std::move(cell));
  auto tell = [this, asker, id, fields = std::move(fields)](const Result<void>& started) {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    Told told;
    told.fields = fields;
    told.fields["name"] = it->second->record.name;
    // Its files are here whether it runs or not.
    if (!started.ok()) told.fields["note"] = cat("it is there, but does not start: ", started.error().message);
    told.text = inspect_json(*it->second);
    answer(asker, std::move(told));
  };
  if (!start_it) return tell({});
  if (auto started = start(*raw, tell); !started.ok()) tell(started);
}

Result<void> Keeper::fork_cell(const Asker& asker, Kept& cell, const Ask& ask) {
  const std::string name = word(ask, "name");
  if (name.empty()) return make_error(ErrorCode::kInvalid, cat("fork ", cell.record.name, ": what is the new cell to be called?"));
  TRY(may_be_made(name));
  struct Work {
    CellLayers files;
    std::string to, applied = {};
    Result<CopyReport> copied = CopyReport{};
  };
  CellRecord record = offspring(cell, name);
  if (record.id.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
  auto w = std::make_shared<Work>(Work{CellLayers(cell), cat(cells_, "/.new-fork-", record.id)});
  still(cell, "fork", [w] {
    auto run = [&]() -> Result<CopyReport> {
      TRY_SET(Layers layers, w->files.open());
      if (auto text = sys::read_file(cat(w->files.folder(), "/", kAppliedFile).c_str(), 1 << 30); text.ok()) w->applied = std::move(text).value();
      return copy_upper(layers.upper, w->to);
    };
    w->copied = run();
    w->files.close();
  }, [this, asker, w, record, policy = cell.policy, start_it = word(ask, "stopped") != "1"] {
    if (!w->copied.ok()) return answer(asker, Error(w->copied.error()).context("fork"));
    const CopyReport& report = w->copied.value();
    adopt(asker, record, policy, w->to, start_it, w->applied,
          {{"entries", cat(report.entries)}, {"bytes", cat(report.bytes.n)}, {"owners_kept", report.owners_kept ? "1" : "0"}});
  });
  return {};
}

Result<void> Keeper::restore_files(const Asker& asker, Kept& cell, const Ask& ask) {
  std::string file = word(ask, "file");
  const std::string label = word(ask, "label"), name = word(ask, "name");
  SnapshotLimits limits;
  if (file.empty()) {
    if (!is_cell_name(label)) return make_error(ErrorCode::kInvalid, "restore: which snapshot? give its label, or a file");
    file = cat(cell.folder, "/snapshots/", label, kSnapshotSuffix);
    if (::access(file.c_str(), F_OK) < 0) return not_there(cat(cell.record.name, " has no snapshot ", label, "; see hotcell cell snapshots ", cell.record.name));
  } else {
    if (!file.starts_with('/')) return make_error(ErrorCode::kInvalid, "restore: the file's path must be absolute");
    // Whoever made it: no more than the cell may have anyway.
    if (cell.policy.limits.disk.n != 0) limits.bytes = std::min(limits.bytes, cell.policy.limits.disk);
  }
  auto info = std::make_shared<Result<SnapshotInfo>>(SnapshotInfo{});
  if (!name.empty()) {
    TRY(may_be_made(name));
    CellRecord record = offspring(cell, name);
    if (record.id.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
    const std::string to = cat(cells_, "/.new-restored-", record.id);
    work([file, to, limits, info] { *info = restore_snapshot(file, to, limits); },
         [this, asker, info, to, record, policy = cell.policy, start_it = word(ask, "stopped") != "1"]() mutable {
           if (!info->ok()) return answer(asker, info->error());
           if (auto base = base_of_meta(info->value().meta)) record.base = std::min(record.base, *base);
           adopt(asker, record, policy, to, start_it, {}, restored_fields(info->value()));
         });
    return {};
  }
  // Looked at as a whole before the cell is stopped for it; what is no snapshot costs nobody anything.
  const std::string id = cell.record.id;
  cell.busy = "restore";
  work([file, limits, info] { *info = verify_snapshot(file, limits); }, [this, asker, id, file, limits, info] {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    Kept& c = *it->second;
    c.busy.clear();
    if (!info->ok()) return answer(asker, info->error());
    unmounted(c, "restore", [files = std::make_shared<CellLayers>(c), file, limits, info] {
      auto layers = files->open();
      *info = layers.ok() ? restore_snapshot(file, layers.value().upper, limits) : Result<SnapshotInfo>(layers.error());
      files->close();
    }, [this, asker, info](const Result<bool>& restarted) {
      if (!info->ok()) return answer(asker, info->error());
      if (!restarted.ok()) return answer(asker, Error(restarted.error()).context("restored, but the cell does not start again"));
      Told told;
      told.fields = restored_fields(info->value());
      told.text = restored_json(info->value(), restarted.value());
      answer(asker, std::move(told));
    });
  });
  return {};
}

}  // namespace hotcell::cells
