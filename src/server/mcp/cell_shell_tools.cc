// Shells and interpreters of lasting cells, which remember what earlier calls left.
#include "base/json_write.h"
#include "base/strings.h"
#include "server/mcp/cell_tool.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {
namespace {

constexpr std::string_view kShellInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"command":{"type":"string","description":"A command for bash. The folder, variables and functions of earlier ones are still there."},
"input":{"type":"string","description":"Instead of a command: a line for the one that waits for input (state awaiting_input)."},
"interrupt":{"type":"boolean","description":"Instead of a command: interrupt the one that runs."},
"shell":{"type":"string","description":"Which shell of the cell; agent by default. One that is not there is opened."},
"timeout_ms":{"type":"integer","minimum":1,"maximum":86400000,"description":"Then the command is interrupted; the shell goes on. 30 seconds by default."}
},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kShellOutput = R"({"type":"object","properties":{
"state":{"type":"string","enum":["done","interrupted","timeout","awaiting_input","ended"],"description":"awaiting_input: the command asks for a line; give it with input."},
"exit_code":{"anyOf":[{"type":"integer"},{"type":"null"}]},"output":{"type":"string"},"truncated":{"type":"boolean"},
"echo":{"type":"boolean","description":"awaiting_input: false when it is likely a password."}},"required":["state","exit_code","output","truncated"]})";
constexpr std::string_view kCodeInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"language":{"type":"string","enum":["python","javascript","bash"],"description":"python by default."},
"code":{"type":"string","description":"What earlier calls defined is still there. The value of the last expression comes back."},
"context":{"type":"string","description":"Which interpreter; the one of the language by default. One that is not there is started."},
"restart":{"type":"boolean","description":"Begin with a fresh interpreter."},
"timeout_ms":{"type":"integer","minimum":1,"maximum":86400000,"description":"Then the call is interrupted; the interpreter and its variables are kept."}
},"required":["cell","code"],"additionalProperties":false})";
constexpr std::string_view kCodeOutput = R"({"type":"object","properties":{
"state":{"type":"string","enum":["ok","error","interrupted","timeout","gone"]},"value":{"type":"string"},"output":{"type":"string"},"errors":{"type":"string"},
"error":{"type":"string"},"traceback":{"type":"string"},"output_truncated":{"type":"boolean"},"value_truncated":{"type":"boolean"}},"required":["state"]})";

std::string field(const cells::Told& told, const char* name) {
  auto it = told.fields.find(name);
  return it == told.fields.end() ? std::string() : it->second;
}

void finish_shell(const CallPtr& call, Result<cells::Told> told) {
  if (call->finished()) return;
  if (!told.ok()) return call->finish_error(told.error().message);
  const std::string state = field(told.value(), "state");
  const std::string& output = told.value().text;
  OutputWindow last;
  last.offset = output.size() > kMostText ? -static_cast<std::int64_t>(kMostText) : 0;   // the end of it is what matters
  std::string_view shown = window_of(output, last);
  auto code = parse_u64(field(told.value(), "exit_code"));
  JsonWriter w;
  w.begin_object();
  w.field("state", std::string_view(state));
  w.key("exit_code");
  if (code) w.value(*code);
  else w.null();
  w.field("output", shown);
  w.field("truncated", shown.size() < output.size() || field(told.value(), "truncated") == "1");
  if (state == "awaiting_input") w.field("echo", field(told.value(), "echo") == "1");
  w.end_object();
  ToolResult to;
  to.structured = w.take();
  std::string text(shown);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += cat("[", state.empty() ? "done" : state, code ? cat(", exit code ", *code) : "", "]");
  if (state == "awaiting_input") text += "\nThe command waits for a line of input: call cell_shell again with input.";
  to.texts.push_back(std::move(text));
  to.is_error = code && *code != 0;
  call->finish(std::move(to));
}

void shell(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  const std::string command = a.string("command"), input = a.string("input");
  const bool interrupt = a.boolean("interrupt").value_or(false);
  std::string name = a.string("shell");
  if (name.empty()) name = "agent";
  auto ms = a.integer("timeout_ms", 1, 86'400'000);
  if ((command.empty() ? 0 : 1) + (a.has("input") ? 1 : 0) + (interrupt ? 1 : 0) != 1) a.mistake("give one of command, input and interrupt");
  if (!ready(call, a, "cell_shell")) return;
  with_cell(call, cell, [call, command, input, interrupt, name, ms](CellDoor& door, CellView view) {
    cells::Fields session = {{"session", name}}, waiting = {{"session", name}, {"stop_on_input", "1"}};
    const std::string id = view.id;
    auto wait = [&door, call, id, waiting](Result<cells::Told> told) {
      if (!told.ok()) return finish_shell(call, std::move(told));
      door.ask(id, "shell.wait", waiting, {}, [call](Result<cells::Told> t) { finish_shell(call, std::move(t)); });
    };
    if (interrupt) {
      door.ask(id, "shell.interrupt", session, {}, [call](Result<cells::Told> told) {
        if (!told.ok()) return finish_shell(call, std::move(told));
        cells::Told done = std::move(told).value();
        done.fields = {{"state", "interrupted"}};
        finish_shell(call, std::move(done));
      });
      return;
    }
    if (command.empty()) return ask_cell(call, door, id, "shell.input", session, {cat(input, "\n")}, wait);
    cells::Fields open = session;
    open["reuse"] = "1";
    if (ms) waiting["timeout_ns"] = cat(static_cast<std::uint64_t>(*ms) * 1'000'000);
    ask_cell(call, door, id, "shell.open", open, {}, [&door, call, id, waiting, command](Result<cells::Told> opened) {
      if (!opened.ok()) return finish_shell(call, std::move(opened));
      ask_cell(call, door, id, "shell.run", waiting, {command}, [call](Result<cells::Told> t) { finish_shell(call, std::move(t)); });
    });
  });
}

void finish_code(const CallPtr& call, Result<cells::Told> told) {
  if (call->finished()) return;
  if (!told.ok()) return call->finish_error(told.error().message);
  auto json = parse_json(told.value().text, kResultBounds);
  if (!json.ok() || json.value().object() == nullptr) return call->fail({kInternalError, "the keeper's answer cannot be read", {}});
  ToolResult to;
  JsonValue shown = json.value();
  auto& members = std::get<JsonValue::Object>(shown.v);
  std::erase_if(members, [](const JsonMember& m) { return m.name == "rich"; });
  for (auto& m : members)
    if (auto* text = std::get_if<std::string>(&m.value.v)) {
      std::string_view part = window_of(*text, {});
      if (part.size() < text->size()) *text = cat(part, "\n[cut]");
    }
  to.structured = json_text(shown);
  std::string text(shown.text("output"));
  for (std::string_view part : {shown.text("errors"), shown.text("value"), shown.text("traceback")})
    if (!part.empty()) text += cat(text.empty() || text.ends_with('\n') ? "" : "\n", part);
  if (shown.text("state") != "ok") text += cat(text.empty() || text.ends_with('\n') ? "" : "\n", "[", shown.text("state"), "] ", shown.text("error"));
  to.texts.push_back(std::move(text));
  std::size_t images = 0;
  for (const auto& r : json.value().items("rich")) {
    auto bytes = r.text("bytes");
    if (r.text("type") == "png" && images + bytes.size() <= kMostImages) {
      images += bytes.size();
      to.images.push_back({"image/png", std::string(bytes)});
    } else if (r.text("type") != "png") {
      to.texts.push_back(std::string(window_of(r.text("text"), {})));
    }
  }
  to.is_error = shown.text("state") != "ok";
  call->finish(std::move(to));
}

void run_code(const CallPtr& call) {
  constexpr int kExists = 17;
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), code = a.string("code");
  std::string language = a.string("language"), context = a.string("context");
  const bool restart = a.boolean("restart").value_or(false);
  auto ms = a.integer("timeout_ms", 1, 86'400'000);
  if (!a.has("code")) a.mistake("code is missing");
  if (language.empty()) language = "python";
  if (context.empty()) context = language;
  if (!ready(call, a, "cell_run_code")) return;
  with_cell(call, cell, [call, code, language, context, restart, ms](CellDoor& door, CellView view) {
    const std::string id = view.id;
    cells::Fields fields = {{"context", context}, {"json", "1"}, {"timeout_ns", cat(static_cast<std::uint64_t>(view.wall.count()))}};
    if (ms) fields["timeout_ns"] = cat(static_cast<std::uint64_t>(*ms) * 1'000'000);
    auto run = [&door, call, id, fields, code](Result<cells::Told> there) {
      if (call->finished()) return;
      if (!there.ok() && there.error().err != kExists) return call->finish_error(there.error().message);   // one that is there will do
      // Whoever asked for it may not want it any more: a call that runs is interrupted, the interpreter kept.
      ask_cell(call, door, id, "context.run", fields, {code}, [call](Result<cells::Told> told) { finish_code(call, std::move(told)); });
    };
    if (restart) {
      door.ask(id, "context.close", {{"context", context}}, {}, [&door, call, id, context, language, run](Result<cells::Told>) {
        ask_cell(call, door, id, "context.create", {{"context", context}, {"language", language}}, {}, run);
      });
      return;
    }
    ask_cell(call, door, id, "context.create", {{"context", context}, {"language", language}}, {}, run);
  });
}

}  // namespace

std::span<const Tool> cell_shell_tools() {
  static const Tool kTools[] = {
      {"cell_shell", "Run a command in a shell that remembers",
       "Run a command in a bash of the cell that keeps its folder, variables and functions between calls. When the command asks for input the answer says so.",
       kShellInput, kShellOutput, kChanges, ToolNeeds::kRun, shell, kHeader},
      {"cell_run_code", "Run code in an interpreter that remembers",
       "Run code in a Python, JavaScript or bash interpreter of the cell that keeps its variables between calls; returns what it printed, the value of the last expression and figures.",
       kCodeInput, kCodeOutput, kChanges, ToolNeeds::kRun, run_code, kHeader},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
