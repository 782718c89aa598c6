#include "manager/report_json.h"

#include <utility>

#include "base/strings.h"
#include "verify/finding_json.h"

namespace hotcell {

namespace {

// A limit that cut the stream inside a character must not turn a whole text into base64.
std::string_view without_cut_character(std::string_view text) {
  for (std::size_t tail = 1; tail <= 3 && tail <= text.size(); ++tail) {
    auto c = static_cast<unsigned char>(text[text.size() - tail]);
    if (c < 0x80) return text;
    if (c < 0xC0) continue;
    std::size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    return tail < need ? text.substr(0, text.size() - tail) : text;
  }
  return text;
}

void write_stream(JsonWriter& w, std::string_view name, std::string_view bytes, bool truncated) {
  std::string_view text = truncated ? without_cut_character(bytes) : bytes;
  if (is_valid_utf8(text)) return w.field(name, text);
  w.field(cat(name, "_base64"), base64(bytes));
}

void write_usage(JsonWriter& w, const Usage& usage) {
  w.key("resource_usage");
  w.begin_object();
  w.field("cpu_time_ns", usage.cpu.count());
  w.field("cpu_user_ns", usage.cpu_user.count());
  w.field("cpu_system_ns", usage.cpu_system.count());
  w.field("memory_peak_bytes", usage.memory_peak.n);
  w.field("io_read_bytes", usage.io_read.n);
  w.field("io_write_bytes", usage.io_written.n);
  w.field("processes_peak", usage.processes_peak);
  w.end_object();
}

void write_enforcement(JsonWriter& w, const Enforcement& enforcement) {
  w.key("enforcement");
  w.begin_object();
  w.field("backend", enforcement.backend);
  w.key("layers");
  w.begin_array();
  for (const auto& l : enforcement.layers) {
    w.begin_object();
    w.field("name", to_string(l.layer));
    w.field("status", to_string(l.status));
    w.field("detail", l.detail);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

std::string_view subject_key(std::string_view layer) {
  if (layer == "seccomp") return "syscall";
  if (layer == "language") return "name";
  return layer == "proxy" ? "host" : "path";
}

void write_denials(JsonWriter& w, const Report& report) {
  w.key("denials");
  w.begin_array();
  for (const auto& d : report.denials) {
    w.begin_object();
    w.field("layer", d.layer);
    w.field("what", d.what);
    w.field(subject_key(d.layer), d.subject);
    w.field("fix", d.fix);
    w.field("count", d.count);
    w.end_object();
  }
  w.end_array();
  w.field("denials_complete", report.denials_complete);
  w.key("notices");
  w.begin_array();
  for (const auto& n : report.notices) w.value(std::string_view(n));
  w.end_array();
}

void write_findings(JsonWriter& w, const std::vector<Finding>& findings) {
  w.key("findings");
  w.begin_array();
  for (const auto& f : findings) write_finding(w, f);
  w.end_array();
}

void write_inspection(JsonWriter& w, const OutputInspection& i) {
  w.key("inspection");
  w.begin_object();
  w.field("mode", to_string(i.mode));
  w.field("safe", i.safe());
  w.field("level", i.level);
  w.field("withheld", i.withheld);
  w.field("message", i.message);
  if (!i.failure.empty()) w.field("failure", i.failure);
  if (!i.mark.empty()) w.field("mark", i.mark);
  if (i.cut) w.field("cut", true);
  w.key("findings");
  w.begin_array();
  for (const auto& f : i.findings) {
    w.begin_object();
    w.field("stream", f.stream);
    w.field("kind", f.kind);
    w.field("type", f.type);
    w.field("level", f.level);
    w.field("rule", f.rule);
    w.field("message", f.message);
    w.field("snippet", f.snippet);
    w.field("offset", f.offset);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_outputs(JsonWriter& w, const std::vector<RichOutput>& outputs) {
  w.key("outputs");
  w.begin_array();
  for (const auto& o : outputs) {
    w.begin_object();
    w.field("type", to_string(o.type));
    w.field("name", o.name);
    if (o.type == RichType::kPng) w.field("bytes", base64(o.bytes));
    else w.field("text", o.bytes);
    w.end_object();
  }
  w.end_array();
}

void write_optional(JsonWriter& w, std::string_view name, std::optional<int> number);

void write_compile(JsonWriter& w, const std::optional<CompileReport>& compile) {
  w.key("compile");
  if (!compile) return w.null();
  w.begin_object();
  w.key("command");
  w.begin_array();
  for (const auto& word : compile->command) w.value(word);
  w.end_array();
  write_optional(w, "exit_code", compile->exit_code);
  w.field("exit_reason", to_string(compile->reason));
  w.field("duration_ns", compile->duration.count());
  w.field("cached", compile->cached);
  w.key("diagnostics");
  w.begin_array();
  for (const auto& d : compile->diagnostics) {
    w.begin_object();
    w.field("file", d.file);
    w.field("line", d.line);
    w.field("column", d.column);
    w.field("severity", d.severity);
    w.field("message", d.message);
    w.end_object();
  }
  w.end_array();
  w.field("stderr", compile->err);
  w.end_object();
}

void write_optional(JsonWriter& w, std::string_view name, std::optional<int> number) {
  w.key(name);
  if (number) w.value(*number);
  else w.null();
}

bool is_number_field(std::string_view key) {
  for (std::string_view k : {"current", "max", "exit_code", "signal", "duration", "count", "pid", "processes"}) {
    if (key == k) return true;
  }
  return key.ends_with("_ns") || key.ends_with("_bytes");
}

}  // namespace

std::string report_json(const Report& report, JsonStyle style, const std::optional<OutputInspection>& inspection) {
  JsonWriter w(style);
  w.begin_object();
  w.field("id", report.id);
  w.field("status", to_string(report.verdict.status()));
  write_optional(w, "exit_code", report.verdict.exit_code);
  write_optional(w, "signal", report.verdict.signal);
  w.field("exit_reason", to_string(report.verdict.reason));
  write_stream(w, "stdout", report.out, report.out_truncated);
  write_stream(w, "stderr", report.err, report.err_truncated);
  w.field("stdout_bytes", report.out_bytes);
  w.field("stderr_bytes", report.err_bytes);
  w.field("stdout_truncated", report.out_truncated);
  w.field("stderr_truncated", report.err_truncated);
  w.field("start_time", rfc3339(report.start_time));
  w.field("end_time", rfc3339(report.end_time));
  w.field("duration", report.duration.count());
  w.field("error", result_error(report));
  write_usage(w, report.usage);
  write_enforcement(w, report.enforcement);
  write_denials(w, report);
  write_findings(w, report.findings);
  write_outputs(w, report.outputs);
  write_compile(w, report.compile);
  if (inspection) write_inspection(w, *inspection);
  w.key("setup_ns");
  w.begin_object();
  for (const auto& [step, time] : report.setup_ns) w.field(step, time.count());
  w.end_object();
  w.end_object();
  return w.take() + "\n";
}

std::string event_json(const Event& event) {
  JsonWriter w;
  w.begin_object();
  w.field("type", event.type);
  w.field("id", event.id);
  w.field("time", rfc3339(event.time));
  for (const auto& [key, text] : event.fields) {
    auto number = is_number_field(key) ? parse_u64(text) : std::nullopt;
    if (number) w.field(key, *number);
    else w.field(key, text);
  }
  w.end_object();
  return w.take();
}

std::string result_error(const Report& report) {
  switch (report.verdict.reason) {
    case ExitReason::kTimeoutWall:
    case ExitReason::kTimeoutCpu: return "execution timeout";
    case ExitReason::kCancelled: return report.error.starts_with("suspended: ") ? report.error : "execution killed";
    case ExitReason::kMemory:
    case ExitReason::kOutput:
    case ExitReason::kProcesses:
    case ExitReason::kDisk: return cat("resource limit exceeded: ", to_string(report.verdict.reason));
    case ExitReason::kPolicy: return cat("execution killed: ", report.error.empty() ? "it did what its policy forbids" : report.error);
    default: return report.error;
  }
}

Report failed_report(const Error& error) {
  Report report;
  report.verdict.reason = ExitReason::kSandboxError;
  // A program that is not there, or is none: the code every shell has for it.
  if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotExecutable)
    report.verdict.exit_code = exit_code_of(error.code);
  report.error = error.message;
  report.start_time = report.end_time = std::chrono::system_clock::now();
  return report;
}

}  // namespace hotcell
