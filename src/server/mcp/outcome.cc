#include "server/mcp/outcome.h"

#include <algorithm>
#include <utility>

#include "base/json_write.h"
#include "base/strings.h"
#include "manager/record_json.h"
#include "server/json/base64_decode.h"

namespace hotcell::server::mcp {

const std::string_view kRunOutputSchema = R"({"type":"object","properties":{
"id":{"type":"string","description":"For get_execution and explain_denial."},
"status":{"type":"string","enum":["pending","running","completed","failed","timeout","killed"]},
"exit_reason":{"anyOf":[{"type":"string","enum":["exited","signal","timeout_wall","timeout_cpu","memory","output",
"processes","disk","policy","cancelled","sandbox_error","compile_error","verification"]},{"type":"null"}]},
"exit_code":{"anyOf":[{"type":"integer"},{"type":"null"}]},"signal":{"anyOf":[{"type":"integer"},{"type":"null"}]},
"stdout":{"type":"string"},"stderr":{"type":"string"},
"stdout_bytes_total":{"type":"integer","description":"How much the program wrote."},"stderr_bytes_total":{"type":"integer"},
"stdout_truncated":{"type":"boolean"},"stderr_truncated":{"type":"boolean"},
"truncated":{"type":"boolean","description":"Either stream is not shown whole."},
"binary":{"type":"boolean","description":"Output is not UTF-8: bytes that are none are shown as U+FFFD."},
"error":{"type":"string"},"duration_ms":{"type":"number"},"cpu_time_ms":{"type":"number"},
"memory_peak_bytes":{"type":"integer"},
"denials":{"type":"array","items":{"type":"object"}},"denials_complete":{"type":"boolean"},
"notices":{"type":"array","items":{"type":"string"},"description":"Nothing was refused, and somebody should look at it."},
"findings":{"type":"array","items":{"type":"object"}},
"compile":{"anyOf":[{"type":"object"},{"type":"null"}]},
"outputs":{"type":"array","items":{"type":"object"}},
"inspection":{"type":"object","description":"What was found in the output, and whether it is withheld."},
"language":{"type":"string"},"command":{"type":"string"},"created":{"type":"string"}
},"required":["id","status","exit_reason","truncated"]})";

namespace {

constexpr std::size_t kMostEntries = 50, kMostRichText = 16u << 10;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// A list of the result object, its first entries only.
void append_list(std::string& out, const JsonValue& result, std::string_view name) {
  out += cat(",\"", name, "\":[");
  std::size_t n = 0;
  for (const JsonValue& entry : result.items(name)) {
    if (n == kMostEntries) break;
    if (n++ > 0) out += ',';
    append_json(out, entry);
  }
  out += ']';
}

void append_member(std::string& out, const JsonValue& result, std::string_view name) {
  const JsonValue* value = result.find(name);
  out += cat(",\"", name, "\":");
  if (value == nullptr) out += "null";
  else append_json(out, *value);
}

// Its first findings only, as of other lists.
void append_inspection(std::string& out, const JsonValue& result) {
  const JsonValue* inspection = result.find("inspection");
  if (inspection == nullptr || inspection->object() == nullptr) return;
  out += ",\"inspection\":{\"mode\":";
  out += json_string(inspection->text("mode"));
  for (auto name : {"safe", "level", "withheld", "message"}) append_member(out, *inspection, name);
  for (auto name : {"failure", "mark", "cut"})
    if (inspection->find(name) != nullptr) append_member(out, *inspection, name);
  append_list(out, *inspection, "findings");
  out += '}';
}

std::string milliseconds(std::int64_t ns) {
  JsonValue ms(static_cast<double>(ns) / 1e6);
  return json_text(ms);
}

struct Stream {
  std::string bytes;
  std::string_view shown;
  std::uint64_t total = 0;
  bool truncated = false;
};

Stream read_stream(const JsonValue& result, std::string_view name, bool wanted, const OutputWindow& window) {
  Stream s;
  s.bytes = stream_bytes(result, name);
  auto total = result.integer_or(cat(name, "_bytes"), static_cast<std::int64_t>(s.bytes.size()));
  s.total = static_cast<std::uint64_t>(std::max<std::int64_t>(total, 0));
  s.shown = wanted ? window_of(s.bytes, window) : std::string_view();
  s.truncated = s.shown.size() < s.bytes.size() || result.boolean_or(cat(name, "_truncated"), false);
  return s;
}

// Pictures become images, the rest is named and, where it is short text, shown.
void append_outputs(std::string& out, const JsonValue& result, ToolResult& to) {
  out += ",\"outputs\":[";
  std::size_t images = 0;
  bool first = true;
  for (const JsonValue& o : result.items("outputs")) {
    std::string_view type = o.text("type"), bytes = o.text("bytes"), text = o.text("text");
    out += cat(std::exchange(first, false) ? "" : ",", "{\"type\":", json_string(type), ",\"name\":",
               json_string(o.text("name")));
    if (type == "png" && images + bytes.size() <= kMostImages) {
      images += bytes.size();
      to.images.push_back({"image/png", std::string(bytes)});
    } else if (type != "png" && text.size() <= kMostRichText) {
      out += cat(",\"text\":", json_string(text));
    } else {
      out += ",\"left_out\":true";
    }
    out += '}';
  }
  out += ']';
}

std::string cut_note(std::string_view name, const Stream& s) {
  return s.truncated ? cat("; ", name, " cut: ", s.shown.size(), " of ", s.total, " bytes") : std::string();
}

std::string text_of(const JsonValue& result, const Stream& out, const Stream& err) {
  std::string text(out.shown);
  if (!err.shown.empty()) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += cat("[stderr]\n", err.shown);
  }
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += cat("[", result.text("status"));
  const JsonValue* code = result.find("exit_code");
  if (code != nullptr && code->integer()) text += cat(", exit code ", *code->integer());
  if (result.text("exit_reason") != "exited") text += cat(", ", result.text("exit_reason"));
  text += cut_note("stdout", out) + cut_note("stderr", err);
  if (out.truncated || err.truncated) text += cat("; more by get_execution ", result.text("id"));
  text += "]";
  if (!result.text("error").empty()) text += cat("\n", result.text("error"));
  if (const JsonValue* inspection = result.find("inspection"); inspection != nullptr && !inspection->text("message").empty())
    text += cat("\n", inspection->text("message"));
  return text;
}

// What a reader of the text alone must know: why it was refused, and what would allow it.
std::string notes_of(const JsonValue& result) {
  std::string notes;
  auto list = [&](std::string_view name, auto line) {
    std::size_t n = 0;
    for (const JsonValue& e : result.items(name))
      if (n++ < 10) notes += line(e);
  };
  list("denials", [](const JsonValue& d) {
    auto fix = d.text("fix");
    return cat("\ndenied by ", d.text("layer"), ": ", d.text("what"),
               fix.empty() ? "" : cat(" (would allow it: ", fix, ")"));
  });
  list("notices", [](const JsonValue& n) { return n.string() == nullptr ? std::string() : cat("\nnoticed: ", *n.string()); });
  list("findings", [](const JsonValue& f) {
    return f.text("severity") != "error" ? std::string()
                                         : cat("\nfinding at line ", f.integer_or("line", 0), ": ", f.text("message"));
  });
  if (const JsonValue* compile = result.find("compile"); compile != nullptr && result.text("exit_reason") == "compile_error")
    notes += cat("\n", compile->text("stderr").substr(0, kMostRichText));
  return notes;
}

}  // namespace

std::string stream_bytes(const JsonValue& result, std::string_view stream) {
  if (const JsonValue* text = result.find(stream); text != nullptr && text->string() != nullptr) return *text->string();
  return base64_decode(result.text(cat(stream, "_base64"))).value_or("");
}

std::string_view window_of(std::string_view bytes, const OutputWindow& window) {
  auto size = static_cast<std::int64_t>(bytes.size());
  std::int64_t from =
      window.offset < 0 ? std::max<std::int64_t>(size + window.offset, 0) : std::min(window.offset, size);
  auto begin = static_cast<std::size_t>(from);
  std::size_t end = std::min(bytes.size(), begin + window.bytes);
  // Only at most three bytes belong to a character that begins elsewhere; more are no UTF-8.
  for (int i = 0; window.offset < 0 && i < 3 && begin < end && begin > 0 && is_continuation(bytes[begin]); ++i) ++begin;
  for (int i = 0; i < 3 && end > begin + 1 && end < bytes.size() && is_continuation(bytes[end]); ++i) --end;
  return bytes.substr(begin, end - begin);
}

ToolResult run_outcome(const JsonValue& result, const OutputWindow& window) {
  ToolResult to;
  Stream out = read_stream(result, "stdout", window.out, window),
         err = read_stream(result, "stderr", window.err, window);
  std::string s = cat("{\"id\":", json_string(result.text("id")), ",\"status\":", json_string(result.text("status")));
  for (auto name : {"exit_reason", "exit_code", "signal"}) append_member(s, result, name);
  s += cat(",\"stdout\":", json_string(out.shown), ",\"stderr\":", json_string(err.shown),
           ",\"stdout_bytes_total\":", out.total, ",\"stderr_bytes_total\":", err.total,
           ",\"stdout_truncated\":", out.truncated ? "true" : "false",
           ",\"stderr_truncated\":", err.truncated ? "true" : "false",
           ",\"truncated\":", out.truncated || err.truncated ? "true" : "false",
           ",\"binary\":", is_valid_utf8(out.shown) && is_valid_utf8(err.shown) ? "false" : "true",
           ",\"error\":", json_string(result.text("error")),
           ",\"duration_ms\":", milliseconds(result.integer_or("duration", 0)));
  if (const JsonValue* usage = result.find("resource_usage"); usage != nullptr) {
    s += cat(",\"cpu_time_ms\":", milliseconds(usage->integer_or("cpu_time_ns", 0)),
             ",\"memory_peak_bytes\":", usage->integer_or("memory_peak_bytes", 0));
  }
  append_list(s, result, "denials");
  s += cat(",\"denials_complete\":", result.boolean_or("denials_complete", false) ? "true" : "false");
  append_list(s, result, "notices");
  append_list(s, result, "findings");
  append_member(s, result, "compile");
  append_inspection(s, result);
  append_outputs(s, result, to);
  to.structured = s + "}";
  to.texts.push_back(text_of(result, out, err) + notes_of(result));
  to.is_error = result.text("status") != "completed";
  return to;
}

std::string record_object(const ExecutionRecord& record) {
  JsonWriter w;
  w.begin_object();
  w.field("id", record.id);
  w.field("status", to_string(record.status));
  write_optional(w, "exit_reason", record.exit_reason);
  write_optional(w, "exit_code", record.exit_code);
  write_optional(w, "signal", record.signal);
  w.field("truncated", false);
  w.field("error", record.error);
  w.field("duration_ms", static_cast<double>(record.duration.count()) / 1e6);
  w.field("cpu_time_ms", static_cast<double>(record.cpu.count()) / 1e6);
  w.field("memory_peak_bytes", record.memory_peak.n);
  w.field("language", record.language);
  w.field("profile", record.profile);
  w.field("door", record.door);
  w.field("command", record.command);
  write_time(w, "created", record.created);
  write_time(w, "start_time", record.started);
  write_time(w, "end_time", record.ended);
  w.end_object();
  return w.take();
}

ToolResult record_outcome(const ExecutionRecord& record) {
  ToolResult to;
  to.structured = record_object(record);
  to.texts.push_back(cat("execution ", record.id, " is ", to_string(record.status),
                         record.ended_already() ? "" : "; get_execution tells more"));
  to.is_error = record.ended_already() && record.status != RunStatus::kCompleted;
  return to;
}

}  // namespace hotcell::server::mcp
