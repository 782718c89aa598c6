#include "server/mcp/cell_tool.h"

#include "base/strings.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {

bool ready(const CallPtr& call, Arguments& a, std::string_view tool) {
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat(tool, ": ", done.error().message)), false;
  if (call->services().cells == nullptr) return call->finish_error(cat(tool, ": lasting cells cannot be had here")), false;
  return true;
}

void with_cell(const CallPtr& call, const std::string& name, Then then) {
  CellDoor& door = *call->services().cells;
  door.find(call->caller(), name, [call, &door, then = std::move(then)](Result<CellView> cell) {
    if (call->finished()) return;
    if (!cell.ok()) return call->finish_error(cell.error().message);
    then(door, std::move(cell).value());
  });
}

std::string named_cell(Arguments& a) {
  std::string cell = a.string("cell");
  if (cell.empty()) a.mistake("cell is missing");
  return cell;
}

std::vector<std::string> workspace_paths(Arguments& a) {
  std::vector<std::string> out;
  for (const auto& said : a.strings("paths")) {
    auto path = cell_path(said);
    if (!path.ok() || (path.value() != "/work" && !path.value().starts_with("/work/"))) a.mistake(cat("paths: ", printable(said), " is not in /work"));
    else out.push_back(path.value() == "/work" ? "." : path.value().substr(6));
  }
  return out;
}

void hold(const CallPtr& call, std::shared_ptr<void> what) {
  if (call->finished()) return;
  auto held = std::make_shared<std::shared_ptr<void>>(std::move(what));
  call->on_cancel = [held] { held->reset(); };
  call->subscription = Subscription([held] { held->reset(); });
}

void ask_cell(const CallPtr& call, CellDoor& door, const std::string& id, std::string verb, cells::Fields fields, std::vector<std::string> words,
              CellDoor::Done<cells::Told> done) {
  if (call->finished()) return;
  std::weak_ptr<Call> weak = call;
  const std::uint64_t asked = door.ask(id, std::move(verb), std::move(fields), std::move(words), std::move(done), [weak](const std::string& question, const std::string& reason) {
    if (auto waiter = weak.lock()) waiter->progress(cat("waiting for somebody to approve it (question ", question, "): ", reason));
  });
  call->on_cancel = [&door, asked] { door.withdraw(asked); };
}

void finish_with_cell(const CallPtr& call, const std::string& json) {
  auto cell = parse_json(json, kResultBounds);
  if (!cell.ok()) return call->fail({kInternalError, "the keeper's answer cannot be read", {}});
  ToolResult to;
  to.structured = json_text(cell.value());
  to.texts.push_back(cat(cell.value().text("name"), " is ", cell.value().text("status"), " (", cell.value().text("id"), ")"));
  call->finish(std::move(to));
}

void finish_json(const CallPtr& call, Result<cells::Told> told) {
  if (call->finished()) return;
  if (!told.ok()) return call->finish_error(told.error().message);
  auto json = parse_json(told.value().text, kResultBounds);
  if (!json.ok()) return call->fail({kInternalError, "the keeper's answer cannot be read", {}});
  ToolResult to;
  to.structured = json.value().object() != nullptr ? json_text(json.value()) : cat("{\"items\":", json_text(json.value()), "}");
  to.texts.push_back(to.structured.substr(0, kMostText));
  to.is_error = told.value().fields.contains("refused");
  call->finish(std::move(to));
}

}  // namespace hotcell::server::mcp
