// What a lasting cell has changed: shown, applied, discarded, kept in snapshots.
#include "base/json_write.h"
#include "base/strings.h"
#include "server/mcp/cell_tool.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {
namespace {

constexpr std::string_view kDiffInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"paths":{"type":"array","items":{"type":"string"},"description":"Only these and what is below them."}},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kDiffOutput = R"({"type":"object","properties":{"patch":{"type":"string","description":"As git writes it."},
"truncated":{"type":"boolean"}},"required":["patch","truncated"]})";
constexpr std::string_view kApplyInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"paths":{"type":"array","items":{"type":"string"},"description":"Only these and what is below them."},
"dry_run":{"type":"boolean","description":"Say what would be done, and do nothing."}},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kApplyOutput = R"({"type":"object","properties":{"applied":{"type":"boolean"},"conflicts":{"type":"array"},"refused":{"type":"array"}},"required":["applied"]})";
constexpr std::string_view kDiscardInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"paths":{"type":"array","items":{"type":"string"},"description":"Only these and what is below them; everything by default."}},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kSnapshotInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"action":{"type":"string","enum":["take","list","restore","remove"],"description":"take by default."},
"label":{"type":"string","description":"Its name; needed for restore and remove."},
"name":{"type":"string","description":"restore: into a new cell of this name; this one is left as it is."}},"required":["cell"],"additionalProperties":false})";

void diff(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  auto paths = workspace_paths(a);
  if (!ready(call, a, "cell_diff")) return;
  with_cell(call, cell, [call, paths](CellDoor& door, CellView view) {
    door.ask(view.id, "diff", {{"format", "patch"}}, paths, [call](Result<cells::Told> told) {
      if (call->finished()) return;
      if (!told.ok()) return call->finish_error(told.error().message);
      std::string_view shown = window_of(told.value().text, {});
      const bool cut = shown.size() < told.value().text.size();
      ToolResult to;
      JsonWriter w;
      w.begin_object();
      w.field("patch", shown);
      w.field("truncated", cut);
      w.end_object();
      to.structured = w.take();
      to.texts.push_back(shown.empty() ? "no changes" : cat(shown, cut ? "\n[cut; ask for single paths]" : ""));
      call->finish(std::move(to));
    });
  });
}

// It may wait for somebody's approval, as long as the caller does: whoever gives up has not asked.
void apply(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  auto paths = workspace_paths(a);
  cells::Fields fields = {{"format", "json"}};
  if (a.boolean("dry_run").value_or(false)) fields["dry_run"] = "1";
  if (!ready(call, a, "cell_apply")) return;
  with_cell(call, cell, [call, paths, fields](CellDoor& door, CellView view) {
    ask_cell(call, door, view.id, "apply", fields, paths, [call](Result<cells::Told> told) { finish_json(call, std::move(told)); });
  });
}

void discard(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  auto paths = workspace_paths(a);
  if (!ready(call, a, "cell_discard")) return;
  with_cell(call, cell, [call, paths](CellDoor& door, CellView view) {
    door.ask(view.id, "discard", {}, paths, [call](Result<cells::Told> told) { finish_json(call, std::move(told)); });
  });
}

void snapshot(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), label = a.string("label"), name = a.string("name");
  std::string action = a.string("action");
  if (action.empty()) action = "take";
  const bool restore = action == "restore", remove = action == "remove";
  if (action != "take" && action != "list" && !restore && !remove) a.mistake("action must be take, list, restore or remove");
  if ((restore || remove) && label.empty()) a.mistake("label is missing: which snapshot?");
  if (a.has("name") && !restore) a.mistake("name is for restore only");
  if (!ready(call, a, "cell_snapshot")) return;
  with_cell(call, cell, [call, label, name, action, restore, remove](CellDoor& door, CellView view) {
    cells::Fields fields;
    if (!label.empty() && (restore || action == "take")) fields["label"] = label;
    if (!name.empty()) fields["name"] = name;
    if (remove) {
      door.ask(view.id, "snapshot_rm", {}, {label}, [call, label](Result<cells::Told> told) {
        if (told.ok()) told.value().text = cat("{\"removed\":", json_string(label), "}");
        finish_json(call, std::move(told));
      });
      return;
    }
    door.ask(view.id, restore ? "restore" : action == "take" ? "snapshot" : "snapshots", fields, {}, [call](Result<cells::Told> told) { finish_json(call, std::move(told)); });
  });
}

}  // namespace

std::span<const Tool> cell_change_tools() {
  static const Tool kTools[] = {
      {"cell_diff", "Show what a cell has changed", "What was added, changed and removed in /work since the cell was made, as a patch.", kDiffInput, kDiffOutput, kReadOnly,
       ToolNeeds::kRead, diff, kHeader},
      {"cell_apply", "Bring a cell's changes into its project",
       "Write what the cell has changed into the project it was made from. A conflict or a protected path refuses all of it, and says so; where the cell's decisions ask for it, somebody has to approve it first.",
       kApplyInput, kApplyOutput, kDestroys, ToolNeeds::kRun, apply, kHeader},
      {"cell_discard", "Take a cell's changes back", "Make /work what the project is, or single paths of it; for that the cell is started anew.", kDiscardInput, kAny, kDestroys,
       ToolNeeds::kRun, discard, kHeader},
      {"cell_snapshot", "Keep a cell's files, or bring them back",
       "Take a snapshot of a cell's files, list them, remove one, or restore one: into the cell, which is started anew for that, or into a new one.", kSnapshotInput,
       kAny, kDestroys, ToolNeeds::kRun, snapshot, kHeader},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
