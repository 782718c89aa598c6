// Cells as the doors show them.
#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/keeper.h"

namespace hotcell::cells {
namespace {

constexpr auto kEligible = std::chrono::hours(24);  // what `clean` would take without a word on age

void nullable(JsonWriter& w, std::string_view key, const std::string& text) {
  if (!text.empty()) return w.field(key, std::string_view(text));
  w.key(key);
  w.null();
}

void put_map(JsonWriter& w, std::string_view key, const std::map<std::string, std::string>& map) {
  w.key(key);
  w.begin_object();
  for (const auto& [k, v] : map) w.field(k, std::string_view(v));
  w.end_object();
}

bool eligible(const CellRecord& r) { return r.state != CellState::kRunning && now() - r.created >= kEligible; }

void common(JsonWriter& w, const Kept& cell) {
  const CellRecord& r = cell.record;
  w.field("id", std::string_view(r.id));
  w.field("name", std::string_view(r.name));
  w.field("status", to_string(r.state));
  w.field("reason", std::string_view(r.reason));
  w.field("process_state", std::string_view(r.program_state(cell.living())));
  w.field("work_dir", std::string_view(r.project));
  w.field("created_at", std::string_view(rfc3339(r.created)));
  nullable(w, "paused_at", rfc3339(r.paused));
  nullable(w, "resumed_at", rfc3339(r.resumed));
  nullable(w, "stopped_at", rfc3339(r.stopped));
  nullable(w, "used_at", rfc3339(r.used));
  w.field("age_seconds", static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(now() - r.created).count()));
  if (r.state == CellState::kPaused)
    w.field("paused_seconds", static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(now() - r.paused).count()));
  w.field("cleanup_eligible", eligible(r));
  nullable(w, "unfinished_apply", cell.unfinished);
  put_map(w, "labels", r.labels);
}

}  // namespace

std::string Keeper::list_json(const Ask& ask) const {
  std::vector<const Kept*> all;
  for (const auto& [id, cell] : kept_) {
    const auto& labels = cell->record.labels;
    bool wanted = std::all_of(ask.fields.begin(), ask.fields.end(), [&](const auto& field) {
      if (!field.first.starts_with("label.")) return true;
      auto it = labels.find(field.first.substr(6));
      return it != labels.end() && it->second == field.second;
    });
    if (wanted) all.push_back(cell.get());
  }
  std::sort(all.begin(), all.end(), [](const Kept* a, const Kept* b) { return a->record.created > b->record.created; });
  JsonWriter w;
  w.begin_array();
  for (const Kept* cell : all) {
    w.begin_object();
    common(w, *cell);
    w.end_object();
  }
  w.end_array();
  return w.take();
}

std::string Keeper::inspect_json(const Kept& cell) const {
  const CellRecord& r = cell.record;
  const Limits& l = cell.policy.limits;
  JsonWriter w;
  w.begin_object();
  common(w, cell);
  put_map(w, "env_vars", r.env);
  w.field("mounted_at", "/work");
  w.field("folder", std::string_view(cell.folder));
  w.field("profile", std::string_view(cell.policy.name));
  w.field("network", hotcell::to_string(cell.policy.network.mode));
  nullable(w, "network_phase", r.network_phase);
  nullable(w, "forked_from", r.forked_from);
  nullable(w, "decisions", r.decisions);
  nullable(w, "paused_how", r.state == CellState::kPaused ? r.paused_how : std::string());
  w.field("paused_by_idleness", r.state == CellState::kPaused && r.paused_by_idleness);
  w.field("ttl_seconds", static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(r.ttl).count()));
  w.field("idle_pause_seconds", static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(r.idle_pause).count()));
  w.field("survives_restart", std::string_view(cat("files: yes; processes: no (", criu_, ")")));
  w.key("limits");
  w.begin_object();
  w.field("memory_bytes", l.memory.n);
  w.field("disk_bytes", l.disk.n);
  w.field("output_bytes", l.output.n);
  w.field("cpu_time_ns", static_cast<std::int64_t>(l.cpu_time.count()));
  w.field("wall_ns", static_cast<std::int64_t>(l.wall.count()));
  w.field("processes", l.processes);
  w.field("open_files", l.open_files);
  w.end_object();
  w.key("executions");
  w.begin_array();
  for (const auto& [number, e] : cell.executions) {
    if (e.ours) continue;
    w.begin_object();
    w.field("number", number);
    w.field("program", std::string_view(e.argv.empty() ? "" : e.argv[0]));
    w.field("started_at", std::string_view(rfc3339(e.started)));
    w.field("state", e.over ? "left processes behind" : "running");
    w.end_object();
  }
  w.end_array();
  w.key("shells");
  w.begin_array();
  for (const auto& [name, session] : cell.sessions) w.value(std::string_view(name));
  w.end_array();
  w.key("contexts");
  w.begin_array();
  for (const auto& [name, held] : cell.contexts) w.value(std::string_view(name));
  w.end_array();
  w.key("enforcement");
  w.begin_object();
  w.field("backend", "native");
  w.key("layers");
  w.begin_array();
  for (const auto& [name, what] : r.enforcement) {
    w.begin_object();
    w.field("name", std::string_view(name));
    w.field("status", std::string_view(what.first));
    w.field("detail", std::string_view(what.second));
    w.end_object();
  }
  // No wall, but the same question: what is promised of it, and does this host keep it?
  w.begin_object();
  w.field("name", "processes_kept");
  w.field("status", "none");
  w.field("detail", std::string_view(criu_));
  w.end_object();
  w.end_array();
  w.end_object();
  w.end_object();
  return w.take();
}

}  // namespace hotcell::cells
