// What became of executions: get_execution, list_executions, kill_execution, explain_denial.
#include "base/json_write.h"
#include "base/strings.h"
#include "server/mcp/arguments.h"
#include "server/mcp/executions_view.h"
#include "server/mcp/outcome.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::string_view kReadOnly =
    R"({"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})";

constexpr std::string_view kGetInput = R"({"type":"object","properties":{
"id":{"type":"string"},
"wait":{"type":"boolean","description":"Answer when it has ended."},
"stream":{"type":"string","enum":["stdout","stderr","both"],"description":"Which output to return; both by default."},
"offset":{"type":"integer","description":"First byte of the output to return; negative counts from the end."},
"max_bytes":{"type":"integer","minimum":1,"maximum":65536}
},"required":["id"],"additionalProperties":false})";

constexpr std::string_view kListInput = R"({"type":"object","properties":{
"status":{"type":"string","enum":["pending","running","completed","failed","timeout","killed"]},
"language":{"type":"string"},
"exit_reason":{"type":"string"},
"text":{"type":"string","description":"Part of the command or of the first line of the code."},
"limit":{"type":"integer","minimum":1,"maximum":100},
"before":{"type":"integer","minimum":1,"description":"`next` of the page before."}
},"additionalProperties":false})";
constexpr std::string_view kListOutput = R"({"type":"object","properties":{
"executions":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"status":{"type":"string"}},
"required":["id","status"]}},
"next":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["executions","next"]})";

constexpr std::string_view kIdInput =
    R"({"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false})";
constexpr std::string_view kKillOutput =
    R"({"type":"object","properties":{"id":{"type":"string"},"killed":{"type":"boolean"}},"required":["id","killed"]})";
constexpr std::string_view kExplainOutput = R"({"type":"object","properties":{
"id":{"type":"string"},"exit_reason":{"anyOf":[{"type":"string"},{"type":"null"}]},"explanation":{"type":"string"},
"denials":{"type":"array","items":{"type":"object"}},"denials_complete":{"type":"boolean"}},
"required":["id","explanation","denials","denials_complete"]})";

// The id that was asked for, when the caller may see it. Otherwise the call is answered.
std::optional<ExecutionRecord> asked_for(const CallPtr& call, const std::string& id) {
  auto record = visible_execution(call->services(), call->caller(), id);
  if (!record) call->finish_error(cat("there is no execution '", printable(id.substr(0, 64)), "'"));
  return record;
}

void answer_execution(const CallPtr& call, const ExecutionRecord& record, const OutputWindow& window) {
  if (!record.ended_already()) return call->finish(record_outcome(record));
  auto result = execution_result(call->services(), record.id);
  if (!result.ok()) return call->finish(record_outcome(record));
  ToolResult to = run_outcome(result.value(), window);
  to.is_error = false;  // the question was answered, whatever became of the program
  call->finish(std::move(to));
}

void get_execution(const CallPtr& call) {
  Arguments a(call->arguments());
  std::string id = a.string("id");
  bool wait = a.boolean("wait").value_or(false);
  std::string stream = a.string("stream");
  OutputWindow window;
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  window.offset = a.integer("offset", -kFar, kFar).value_or(0);
  window.bytes = static_cast<std::size_t>(a.integer("max_bytes", 1, kMostText).value_or(kMostText));
  window.out = stream != "stderr";
  window.err = stream != "stdout";
  if (id.empty()) a.mistake("id is missing");
  if (!stream.empty() && stream != "stdout" && stream != "stderr" && stream != "both")
    a.mistake("stream must be stdout, stderr or both");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("get_execution: ", done.error().message));
  auto record = asked_for(call, id);
  if (!record) return;
  if (!wait || record->ended_already()) return answer_execution(call, *record, window);
  std::weak_ptr<Call> weak = call;
  auto waiting = call->services().executions.await(id, [weak, window](const ExecutionRecord& ended) {
    if (auto waiter = weak.lock(); waiter && !waiter->finished()) answer_execution(waiter, ended, window);
  });
  if (!waiting.ok()) return call->finish_error(waiting.error().message);
  if (!call->finished()) call->subscription = std::move(waiting).value();
}

void list_executions(const CallPtr& call) {
  Arguments a(call->arguments());
  HistoryQuery query;
  query.status = a.choice("status", {"pending", "running", "completed", "failed", "timeout", "killed"});
  query.language = a.string("language");
  query.exit_reason = a.choice("exit_reason", {"exited", "signal", "timeout_wall", "timeout_cpu", "memory", "output", "processes", "disk", "policy",
                                               "cancelled", "sandbox_error", "compile_error", "verification"});
  query.text = a.string("text");
  query.limit = static_cast<std::size_t>(a.integer("limit", 1, 100).value_or(20));
  query.before = static_cast<std::uint64_t>(a.integer("before", 1, INT64_MAX).value_or(0));
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("list_executions: ", done.error().message));
  auto page = visible_executions(call->services(), call->caller(), query);
  if (!page.ok()) return call->finish_error(page.error().message);
  ToolResult to;
  std::string text;
  to.structured = "{\"executions\":[";
  for (const auto& record : page.value().records) {
    if (!text.empty()) to.structured += ',';
    to.structured += record_object(record);
    text += cat(record.id, "  ", to_string(record.status), "  ", printable(record.command.substr(0, 100)), "\n");
  }
  to.structured += cat("],\"next\":", page.value().next == 0 ? "null" : cat(page.value().next), "}");
  to.texts.push_back(text.empty() ? "none" : std::move(text));
  call->finish(std::move(to));
}

void kill_execution(const CallPtr& call) {
  Arguments a(call->arguments());
  std::string id = a.string("id");
  if (id.empty()) a.mistake("id is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("kill_execution: ", done.error().message));
  auto record = asked_for(call, id);
  if (!record) return;
  auto killed = call->services().executions.kill(id);
  if (!killed.ok()) return call->finish_error(killed.error().message);
  ToolResult to;
  to.structured = cat("{\"id\":", json_string(id), ",\"killed\":true}");
  to.texts.push_back(cat("execution ", id, " is being killed"));
  call->finish(std::move(to));
}

// Why a program ended, for who wants to know what to change.
std::string_view explanation(std::string_view reason) {
  struct Row {
    std::string_view reason, sentence;
  };
  static constexpr Row kRows[] = {
      {"exited", "The program ended by itself; nothing killed it."},
      {"signal", "A signal ended the program, most often a crash of its own."},
      {"timeout_wall", "It took longer than its wall time: raise timeout_ms or limits.wall."},
      {"timeout_cpu", "It used more CPU time than allowed: raise limits.cpu_time."},
      {"memory", "It used more memory than allowed: raise limits.memory."},
      {"output", "It wrote more output than allowed: write less, or raise limits.output."},
      {"processes", "It started more processes or threads than allowed: raise limits.processes."},
      {"disk", "It wrote more to its private folders than allowed: raise limits.disk."},
      {"policy", "It made a system call that the policy kills for; the denials name it."},
      {"cancelled", "Somebody killed it, or whoever waited for it went away."},
      {"sandbox_error", "The sandbox itself failed: see error. The program is not to blame."},
      {"compile_error", "It does not compile: see compile."},
      {"verification", "The static check refused it before it ran: see findings."},
  };
  for (const auto& row : kRows)
    if (row.reason == reason) return row.sentence;
  return "It has not ended yet.";
}

void explain_denial(const CallPtr& call) {
  Arguments a(call->arguments());
  std::string id = a.string("id");
  if (id.empty()) a.mistake("id is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("explain_denial: ", done.error().message));
  auto record = asked_for(call, id);
  if (!record) return;
  if (!record->ended_already()) return call->finish_error("the execution has not ended yet");
  auto result = execution_result(call->services(), id);
  if (!result.ok()) return call->finish_error(result.error().message);
  const JsonValue& r = result.value();
  bool complete = r.boolean_or("denials_complete", false);
  ToolResult to;
  std::string text(explanation(r.text("exit_reason"))), denials;
  std::size_t n = 0;
  for (const JsonValue& d : r.items("denials")) {
    if (n == 100) break;
    if (n++ > 0) denials += ',';
    append_json(denials, d);
    text += cat("\n- ", d.text("layer"), ": ", d.text("what"));
    if (auto fix = d.text("fix"); !fix.empty()) text += cat("\n  this would allow it: ", fix);
    else text += "\n  nothing should allow this";
  }
  if (n == 0) text += "\nNo denial was recorded.";
  if (!complete) text += "\nRefused files are not all recorded; run it again with explain_denials for those.";
  const JsonValue* reason = r.find("exit_reason");
  to.structured = cat("{\"id\":", json_string(id), ",\"exit_reason\":", reason == nullptr ? "null" : json_text(*reason),
                      ",\"explanation\":", json_string(explanation(r.text("exit_reason"))), ",\"denials\":[", denials,
                      "],\"denials_complete\":", complete ? "true" : "false", "}");
  to.texts.push_back(std::move(text));
  call->finish(std::move(to));
}

}  // namespace

std::span<const Tool> execution_tools() {
  static const Tool kTools[] = {
      {"get_execution", "Look at an execution",
       "State and result of one execution. Pages through output that was cut: offset and max_bytes, a negative offset "
       "for "
       "the end of it.",
       kGetInput, kRunOutputSchema, kReadOnly, ToolNeeds::kRead, get_execution},
      {"list_executions", "List executions", "Executions, newest first.", kListInput, kListOutput, kReadOnly,
       ToolNeeds::kRead, list_executions},
      {"kill_execution", "Kill an execution", "Ends a running or waiting execution with everything it started.",
       kIdInput, kKillOutput,
       R"({"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false})", ToolNeeds::kRun,
       kill_execution},
      {"explain_denial", "Explain what was refused",
       "Why an execution was refused something or was killed, layer by layer, and which line of a profile would allow "
       "it.",
       kIdInput, kExplainOutput, kReadOnly, ToolNeeds::kRead, explain_denial},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
