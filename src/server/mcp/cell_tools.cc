// Lasting cells: a workspace that stays between calls. Made, listed, looked at, used, paused, sealed, forked, removed, cleaned up.
#include "base/strings.h"
#include "manager/report_json.h"
#include "server/cells/cleaning.h"
#include "server/mcp/cell_tool.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {
namespace {

constexpr std::string_view kCreateInput = R"({"type":"object","properties":{
"name":{"type":"string","description":"What to call it; chosen for you when absent."},
"from":{"type":"string","description":"A project folder of the server's host that /work shows; its files are never changed before cell_apply. Only folders that the server's configuration names."},
"files":{"description":"Files in /work at first: {\"name\":\"text\"}, or a list with encodings.",
"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},
{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"content":{"type":"string"},
"encoding":{"type":"string","enum":["utf8","base64"]},"executable":{"type":"boolean"}},"required":["name","content"],"additionalProperties":false}}]},
"profile":{"type":"string","description":"Name of a policy profile, such as default, dev or build."},
"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment of everything that runs in it."},
"network":{"type":"boolean","description":"A network within the server's configuration; none by default."},
"phases":{"type":"boolean","description":"With network: it has one until it is sealed (cell_control), to install what is needed, and none after that."},
"decisions":{"type":"string","description":"What somebody has to approve before it is done: standard, or rules in YAML. Where the server's configuration says it, it cannot be said here."},
"secrets":{"type":"object","additionalProperties":{"type":"string"},"description":"{\"NAME@host\":\"value\"}: with network, programs have a placeholder in NAME; the value is put in for it in requests to that host alone."},
"allow_domains":{"type":"array","items":{"type":"string"},"description":"With network: only these hosts, within the server's configuration (host, *.d, .d, with :PORT)."},
"block_domains":{"type":"array","items":{"type":"string"},"description":"With network: not these."},
"limits":{"type":"object","properties":{"memory":{"type":"string"},"disk":{"type":"string"},"output":{"type":"string"},
"cpu_time":{"type":"number"},"wall":{"type":"number"},"cpus":{"type":"number"},"processes":{"type":"integer"},"open_files":{"type":"integer"}},"additionalProperties":false},
"labels":{"type":"object","additionalProperties":{"type":"string"}},
"ttl_s":{"type":"integer","minimum":1,"description":"It ends by itself after so many seconds."},
"idle_pause_s":{"type":"integer","minimum":1,"description":"It is paused when nothing has run for so long, and wakes when it is used."}
},"additionalProperties":false})";
constexpr std::string_view kCellOutput = R"({"type":"object","properties":{
"id":{"type":"string"},"name":{"type":"string"},"status":{"type":"string","enum":["running","paused","stopped","terminated"]},
"reason":{"type":"string","description":"Why it is stopped or terminated."}},"required":["id","name","status"]})";
constexpr std::string_view kNothing = R"({"type":"object","properties":{},"additionalProperties":false})";
constexpr std::string_view kListOutput = R"({"type":"object","properties":{"cells":{"type":"array","items":{"type":"object","properties":{
"id":{"type":"string"},"name":{"type":"string"},"status":{"type":"string"}},"required":["id","name","status"]}}},"required":["cells"]})";
constexpr std::string_view kExecInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"command":{"type":"string","description":"A shell command, run by /bin/sh -c. Give this or argv."},
"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"A program and its arguments, without a shell."},
"cwd":{"type":"string","description":"Working folder inside the cell; /work by default."},
"env":{"type":"object","additionalProperties":{"type":"string"}},
"stdin":{"type":"string"},
"timeout_ms":{"type":"integer","minimum":1,"maximum":86400000,"description":"The cell's own limit still holds."},
"inspect":{"type":"string","enum":["report","mark","block"],"description":"What is done about prompt injection, exfiltration and secrets in the output."}
},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kForkInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"name":{"type":"string","description":"What the new cell is called."}},"required":["cell","name"],"additionalProperties":false})";
constexpr std::string_view kControlInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"action":{"type":"string","enum":["pause","resume","start","stop","seal","remove"]},
"secrets":{"type":"object","additionalProperties":{"type":"string"},"description":"start: values that must be given again, as in cell_create."}},"required":["cell","action"],"additionalProperties":false})";

constexpr std::string_view kCleanInput = R"({"type":"object","properties":{
"older_than_s":{"type":"integer","minimum":0,"description":"Those that were made so many seconds ago, or earlier."},
"keep":{"type":"integer","minimum":0,"description":"All but so many of the newest."}},"additionalProperties":false})";
constexpr std::string_view kCleanOutput = R"({"type":"object","properties":{
"removed":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"required":["id","name"]}},
"left":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},
"why":{"type":"string","description":"Why it could not be removed."}},"required":["id","name","why"]}}},"required":["removed","left"]})";

constexpr std::string_view kInspectInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"what":{"type":"string","enum":["cell","usage","network","questions"],"description":"cell: its state, limits and walls (the default); usage: CPU, memory, disk, processes and I/O now and in the last minutes; network: what it may reach and what it asked for; questions: what waits for somebody's approval."}
},"required":["cell"],"additionalProperties":false})";

void create(const CallPtr& call) {
  Arguments a(call->arguments());
  CellSpec spec;
  spec.name = a.string("name");
  spec.project = a.string("from");
  spec.job.files = a.files("files");
  spec.job.profile = a.string("profile");
  spec.job.env = a.string_map("env");
  spec.job.network = a.boolean("network");
  spec.phases = a.boolean("phases").value_or(false);
  spec.decisions = a.string("decisions");
  spec.job.secrets = a.string_map("secrets");
  if (auto allow = a.strings("allow_domains"); a.has("allow_domains")) spec.job.allow_domains = std::move(allow);
  spec.job.block_domains = a.strings("block_domains");
  spec.job.limits = a.limits("limits");
  spec.labels = a.string_map("labels");
  if (auto s = a.integer("ttl_s", 1, 1'000'000'000)) spec.ttl = std::chrono::seconds(*s);
  if (auto s = a.integer("idle_pause_s", 1, 1'000'000'000)) spec.idle_pause = std::chrono::seconds(*s);
  if (!spec.project.empty() && !spec.project.starts_with('/')) a.mistake("from must be an absolute path of the server's host");
  if (!ready(call, a, "cell_create")) return;
  call->services().cells->create(call->caller(), std::move(spec), [call](Result<std::string> made) {
    if (!made.ok()) return call->finish_error(made.error().message);
    finish_with_cell(call, made.value());
  });
}

void list(const CallPtr& call) {
  Arguments a(call->arguments());
  if (!ready(call, a, "cell_list")) return;
  call->services().cells->list(call->caller(), [call](Result<JsonValue> all) {
    if (!all.ok()) return call->finish_error(all.error().message);
    ToolResult to;
    to.structured = cat("{\"cells\":", json_text(all.value()), "}");
    std::string text;
    for (const auto& cell : *all.value().array()) text += cat(cell.text("name"), "  ", cell.text("status"), "  ", cell.text("id"), "\n");
    to.texts.push_back(text.empty() ? "none" : std::move(text));
    call->finish(std::move(to));
  });
}

void inspect(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  std::string what = a.string("what");
  if (what.empty() || what == "cell") what = "inspect";
  else if (what != "usage" && what != "network" && what != "questions") a.mistake("what must be cell, usage, network or questions");
  if (!ready(call, a, "cell_inspect")) return;
  with_cell(call, cell, [call, what](CellDoor& door, CellView view) {
    door.ask(view.id, what, {}, {}, [call](Result<cells::Told> told) { finish_json(call, std::move(told)); });
  });
}

void exec(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a);
  CellRunSpec spec;
  std::string command = a.string("command");
  spec.argv = a.strings("argv");
  std::string cwd = a.string("cwd");
  spec.env = a.string_map("env");
  spec.stdin_bytes = a.string("stdin");
  if (auto ms = a.integer("timeout_ms", 1, 86'400'000)) spec.timeout = std::chrono::milliseconds(*ms);
  spec.inspect.mode = a.inspect("inspect");
  spec.client = call->caller().name;
  if (command.empty() == spec.argv.empty()) a.mistake("give either command or argv");
  if (!command.empty()) spec.argv = {"/bin/sh", "-c", std::move(command)};
  if (!cwd.empty()) {
    auto path = cell_path(cwd);
    if (path.ok()) spec.workdir = std::move(path).value();
    else a.mistake(cat("cwd: ", path.error().message));
  }
  if (!ready(call, a, "cell_exec")) return;
  spec.truncate = true;
  with_cell(call, cell, [call, spec = std::move(spec)](CellDoor& door, CellView view) mutable {
    std::weak_ptr<Call> weak = call;
    spec.waiting = [weak](const std::string& question, const std::string& reason) {
      if (auto waiter = weak.lock()) waiter->progress(cat("waiting for somebody to approve it (question ", question, "): ", reason));
    };
    hold(call, door.exec(view, spec, {}, [weak](Result<Report> report, const std::optional<OutputInspection>& found) {
      auto waiter = weak.lock();
      if (!waiter || waiter->finished()) return;
      if (!report.ok()) return waiter->finish_error(report.error().message);
      auto result = parse_json(report_json(report.value(), JsonStyle::kOneLine, found), kResultBounds);
      if (!result.ok()) return waiter->fail({kInternalError, "the result cannot be read", {}});
      ToolResult to = run_outcome(result.value(), {});
      // There is no execution to ask again; a file has room for all of it.
      for (auto& text : to.texts)
        if (auto at = text.find("; more by get_execution "); at != text.npos) {
          auto end = text.find_first_of("];\n", at + 2);
          text.replace(at, (end == text.npos ? text.size() : end) - at, "; write it to a file and read that with cell_read_file");
        }
      waiter->finish(std::move(to));
    }));
  });
}

void fork_cell(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), name = a.string("name");
  if (name.empty()) a.mistake("name is missing");
  if (!ready(call, a, "cell_fork")) return;
  with_cell(call, cell, [call, name](CellDoor& door, CellView view) {
    door.ask(view.id, "fork", {{"name", name}}, {}, [call](Result<cells::Told> told) {
      if (!told.ok()) return call->finish_error(told.error().message);
      finish_with_cell(call, told.value().text);
    });
  });
}

void control(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), action = a.string("action");
  if (action != "pause" && action != "resume" && action != "start" && action != "stop" && action != "seal" && action != "remove")
    a.mistake("action must be pause, resume, start, stop, seal or remove");
  cells::Fields fields;
  for (auto& [where, value] : a.string_map("secrets")) fields[cat("secret.", where)] = value;
  if (!fields.empty() && action != "start") a.mistake("secrets go with start");
  if (!ready(call, a, "cell_control")) return;
  with_cell(call, cell, [call, action, fields = std::move(fields)](CellDoor& door, CellView view) {
    door.ask(view.id, action == "remove" ? "rm" : action, fields, {}, [call, action, &door, view](Result<cells::Told> told) {
      if (call->finished()) return;
      if (!told.ok()) return call->finish_error(told.error().message);
      if (action == "remove") {
        ToolResult to;
        to.structured = cat("{\"id\":", json_string(view.id), ",\"name\":", json_string(view.name), ",\"status\":\"terminated\",\"reason\":\"removed\"}");
        to.texts.push_back(cat(view.name, " is removed"));
        return call->finish(std::move(to));
      }
      door.find(call->caller(), view.id, [call](Result<CellView> now) {
        if (!now.ok()) return call->finish_error(now.error().message);
        finish_with_cell(call, now.value().json);
      });
    });
  });
}

void clean(const CallPtr& call) {
  Arguments a(call->arguments());
  CleanSpec spec;
  if (auto s = a.integer("older_than_s", 0, 1'000'000'000)) spec.older = static_cast<double>(*s);
  if (auto n = a.integer("keep", 0, 1'000'000'000)) spec.keep = static_cast<std::uint64_t>(*n);
  if (!ready(call, a, "cell_clean")) return;
  // Whoever has cancelled it keeps what is still there.
  clean_cells(*call->services().cells, call->caller(), spec, [call] { return !call->finished(); }, [call](Result<Cleaned> cleaned) {
    if (call->finished()) return;
    if (!cleaned.ok()) return call->finish_error(cleaned.error().message);
    ToolResult to;
    to.structured = cleaned_json(cleaned.value());
    std::string text;
    for (const auto& one : cleaned.value().removed) text += cat(one.name, " is removed\n");
    for (const auto& one : cleaned.value().left) text += cat(one.name, " is left: ", one.why, "\n");
    to.texts.push_back(text.empty() ? "none" : std::move(text));
    call->finish(std::move(to));
  });
}

}  // namespace

std::span<const Tool> cell_tools() {
  static const Tool kTools[] = {
      {"cell_create", "Make a lasting cell",
       "Make a sandbox that stays: its files in /work and its shells are there in the next call, until it is removed. With `from` it shows a project "
       "copy-on-write; nothing reaches the project before cell_apply.",
       kCreateInput, kCellOutput, kChanges, ToolNeeds::kRun, create},
      {"cell_list", "List lasting cells", "Your cells, newest first, with their state.", kNothing, kListOutput, kReadOnly, ToolNeeds::kRead, list},
      {"cell_inspect", "Look at a cell", "One cell: its state, limits and walls; what it uses; its network; or its questions that nobody has answered yet.", kInspectInput, kAny,
       kReadOnly, ToolNeeds::kRead, inspect, kHeader},
      {"cell_exec", "Run a program in a cell",
       "Run a command or a program in a lasting cell, beside whatever runs there already, and return its output and exit code. Long output is cut.", kExecInput,
       kRunOutputSchema, kChanges, ToolNeeds::kRun, exec, kHeader},
      {"cell_fork", "Fork a cell", "Make a new cell with a copy of this one's files, to try something else.", kForkInput, kCellOutput, kChanges, ToolNeeds::kRun, fork_cell, kHeader},
      {"cell_control", "Pause, resume, start, stop, seal or remove a cell",
       "Pausing keeps processes frozen; stopping ends them and keeps files; sealing ends the network of a cell made with phases, for good; removing keeps nothing.", kControlInput,
       kCellOutput, kDestroys, ToolNeeds::kRun, control, kHeader},
      {"cell_clean", "Remove old cells",
       "Remove those of your cells that are older than that, or more than so many, with their files; without a word those that are a day old. Never one that runs.",
       kCleanInput, kCleanOutput, kDestroys, ToolNeeds::kRun, clean},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
