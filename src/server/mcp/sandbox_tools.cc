// Lasting cells under the names that other servers of this kind use (create_sandbox, read_file …), so that a client written
// for those finds them. Each is a cell_ tool: what it takes, does and answers is said there alone.
#include "server/mcp/sandbox_tools.h"

#include <algorithm>

#include "base/strings.h"
#include "server/cells/cell_door.h"
#include "server/mcp/arguments.h"
#include "server/mcp/outcome.h"
#include "server/mcp/tools.h"
#include "sys/uuid.h"

namespace hotcell::server::mcp {
namespace {

struct Row {
  std::string_view name, title, description;
  std::string_view of;      // the tool that does it
  std::string_view action = {};  // what it is told to do there
};

constexpr Row kRows[] = {
    {"create_sandbox", "Make a sandbox",
     "Make a sandbox that stays until it is killed or its time is over. Give its sandbox_id to run_code, run_command and the tools for files.", "cell_create"},
    {"list_sandboxes", "List sandboxes", "Your sandboxes, newest first, with their state.", "cell_list"},
    {"kill_sandbox", "Kill a sandbox", "End everything that runs in a sandbox and remove it with its files and snapshots.", "cell_control", "remove"},
    {"pause_sandbox", "Pause a sandbox", "Freeze everything that runs in a sandbox; it keeps its memory and uses no processor.", "cell_control", "pause"},
    {"resume_sandbox", "Resume a sandbox", "Let a paused sandbox go on where it was.", "cell_control", "resume"},
    {"snapshot", "Keep a sandbox's files, or bring them back",
     "Take a snapshot of a sandbox's files, list them, or restore one. create_sandbox makes another sandbox of it: template SANDBOX@LABEL.", "cell_snapshot"},
    {"diff", "Show what a sandbox has changed", "What was added, changed and removed in /work since the sandbox was made, as a patch.", "cell_diff"},
    {"read_file", "Read a file of a sandbox", "Read a file, or a part of it, inside a sandbox.", "cell_read_file"},
    {"write_file", "Write a file in a sandbox", "Write a whole file inside a sandbox; what was there is replaced.", "cell_write_file"},
    {"list_files", "List a folder of a sandbox", "The entries of a folder inside a sandbox.", "cell_list_files"},
};

constexpr std::string_view kTemplate =
    R"("template":{"type":"string","description":"Begin with the files of another sandbox (its name or id) or of a snapshot (SANDBOX@LABEL); it has that one's profile, network and time.")"
    R"(},)";
constexpr std::string_view kIdOnly =
    R"({"type":"object","properties":{)" HOTCELL_SANDBOX_ID("Which one.") R"(},"required":["sandbox_id"],"additionalProperties":false})";
constexpr std::string_view kListOutput =
    R"({"type":"object","properties":{"sandboxes":{"type":"array","items":{"type":"object","properties":{"sandbox_id":{"type":"string"},)"
    R"("name":{"type":"string"},"status":{"type":"string"}},"required":["sandbox_id","name","status"]}}},"required":["sandboxes"]})";

const Row* row_of(const CallPtr& call) {
  const std::string_view name = call->message().params.text("name");
  auto it = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == name; });
  return it == std::end(kRows) ? nullptr : &*it;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
}

std::string input_of(const Row& row, const Tool& of) {
  if (!row.action.empty()) return std::string(kIdOnly);
  std::string schema(of.input);
  replace(schema, "\"cell\":{", "\"sandbox_id\":{");
  replace(schema, "[\"cell\"", "[\"sandbox_id\"");
  replace(schema, "id of the cell", "id of the sandbox");
  if (constexpr std::string_view kFirst = "\"properties\":{"; of.name == "cell_create") schema.insert(schema.find(kFirst) + kFirst.size(), kTemplate);
  return schema;
}

// A cell is told with its sandbox_id, which is what every other tool here wants to hear.
void add_id(JsonValue& cell) {
  auto* members = std::get_if<JsonValue::Object>(&cell.v);
  if (members == nullptr || cell.text("id").empty()) return;
  members->insert(members->begin(), {"sandbox_id", JsonValue{std::string(cell.text("id"))}});
}

void shape(const Row& row, ToolResult& to) {
  say_as(to, row.of, row.name);
  const bool list = row.of == "cell_list";
  if (to.structured.empty() || (!list && row.of != "cell_create" && row.of != "cell_control")) return;
  auto parsed = parse_json(to.structured, kResultBounds);
  if (!parsed.ok()) return;  // whole JSON, as the tool has made it
  JsonValue value = std::move(parsed).value();
  if (!list) {
    add_id(value);
  } else {
    for (auto& member : std::get<JsonValue::Object>(value.v)) {
      if (member.name != "cells") continue;
      member.name = "sandboxes";
      for (auto& cell : std::get<JsonValue::Array>(member.value.v)) add_id(cell);
    }
  }
  to.structured = json_text(value);
}

// Files of another one: a fork, or a snapshot that becomes a sandbox of its own.
void create_from_template(const CallPtr& call) {
  Arguments a(call->arguments());
  std::string from = a.string("template"), name = a.string("name"), label;
  for (const auto& m : *call->arguments().object())
    if (m.name != "template" && m.name != "name" && !m.value.is_null())
      a.mistake(cat(printable(m.name.substr(0, 64)), " cannot be given together with template: it has what that one has"));
  if (auto at = from.find('@'); at != from.npos) {
    label = from.substr(at + 1);
    from.resize(at);
    if (label.empty()) a.mistake("template: which snapshot? say SANDBOX@LABEL");
  }
  if (from.empty()) a.mistake("template is empty");
  if (name.empty()) name = cat("sandbox-", sys::random_uuid().substr(0, 8));
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("create_sandbox: ", done.error().message));
  CellDoor* door = call->services().cells;
  if (door == nullptr) return call->finish_error("create_sandbox: lasting cells cannot be had here");
  door->find(call->caller(), from, [call, door, name, label](Result<CellView> view) {
    if (call->finished()) return;
    if (!view.ok()) return call->finish_error(view.error().message);
    cells::Fields fields = {{"name", name}};
    if (!label.empty()) fields["label"] = label;
    door->ask(view.value().id, label.empty() ? "fork" : "restore", fields, {}, [call](Result<cells::Told> told) {
      if (call->finished()) return;
      if (!told.ok()) return call->finish_error(told.error().message);
      auto made = parse_json(told.value().text, kResultBounds);
      if (!made.ok()) return call->fail({kInternalError, "the keeper's answer cannot be read", {}});
      ToolResult to;
      add_id(made.value());
      to.structured = json_text(made.value());
      auto note = told.value().fields.find("note");
      to.texts.push_back(cat(made.value().text("name"), " is ", made.value().text("status"), " (", made.value().text("id"), ")",
                             note == told.value().fields.end() ? "" : cat("; ", note->second)));
      call->finish(std::move(to));
    });
  });
}

void run(const CallPtr& call) {
  const Row* row = row_of(call);
  const Tool* of = row == nullptr ? nullptr : find_tool(row->of, false);
  if (of == nullptr) return call->fail({kInternalError, "no such tool", {}});
  const bool whose = of->input.find("\"cell\":{") != std::string_view::npos;
  JsonValue::Object arguments;
  for (const auto& m : *call->arguments().object()) {
    if (m.name == "template" && of->name == "cell_create" && !m.value.is_null()) return create_from_template(call);
    if (m.name == "template" && of->name == "cell_create") continue;
    const bool unknown = m.name == "cell" || (!row->action.empty() && m.name != "sandbox_id");
    if (unknown) return call->finish_error(cat(row->name, ": unknown argument '", printable(m.name.substr(0, 64)), "'", whose ? "; it takes sandbox_id" : ""));
    arguments.push_back({whose && m.name == "sandbox_id" ? "cell" : m.name, m.value});
  }
  if (whose && call->arguments().text("sandbox_id").empty())
    return call->finish_error(cat(row->name, ": sandbox_id is ", call->arguments().find("sandbox_id") == nullptr ? "missing" : "no string with something in it"));
  if (!row->action.empty()) arguments.push_back({"action", JsonValue{std::string(row->action)}});
  call->become(JsonValue{std::move(arguments)}, [row](ToolResult& to) { shape(*row, to); });
  of->run(call);
}

}  // namespace

void say_as(ToolResult& to, std::string_view of, std::string_view name) {
  const std::string begins = cat(of, ": ");
  if (to.is_error && to.structured.empty() && !to.texts.empty() && to.texts[0].starts_with(begins))
    to.texts[0] = cat(name, ": ", std::string_view(to.texts[0]).substr(begins.size()));
}

std::span<const Tool> sandbox_tools() {
  static const std::vector<std::string> kInputs = [] {
    std::vector<std::string> out;
    for (const Row& row : kRows) out.push_back(input_of(row, *find_tool(row.of, false)));
    return out;
  }();
  static const std::vector<Tool> kTools = [] {
    std::vector<Tool> out;
    for (const Row& row : kRows) {
      const Tool& of = *find_tool(row.of, false);
      Tool tool{row.name, row.title, row.description, kInputs[out.size()], row.of == "cell_list" ? kListOutput : of.output, of.annotations, of.needs, run};
      if (!of.header_params.empty()) tool.header_params = kSandboxHeader;
      out.push_back(tool);
    }
    return out;
  }();
  return kTools;
}

}  // namespace hotcell::server::mcp
