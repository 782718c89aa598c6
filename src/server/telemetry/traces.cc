#include "server/telemetry/traces.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::server {

namespace {

std::string random_hex(std::size_t bytes) {
  std::array<unsigned char, 16> raw{};
  // Blocks only before the machine has any entropy at all, long before there is a daemon.
  if (::getrandom(raw.data(), bytes, 0) < 0) raw.fill(1);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) {
    out += kDigits[raw[i] >> 4];
    out += kDigits[raw[i] & 15];
  }
  return out;
}

struct Parent {
  std::string trace, span;
};

// "00-<32 hex>-<16 hex>-<2 hex>"
std::optional<Parent> parse_parent(std::string_view text) {
  auto parts = split(text, '-');
  auto is_hex = [](std::string_view s, std::size_t n) {
    return s.size() == n && s.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           s.find_first_not_of('0') != std::string_view::npos;
  };
  if (parts.size() != 4 || parts[0] != "00" || !is_hex(parts[1], 32) || !is_hex(parts[2], 16)) return std::nullopt;
  return Parent{std::string(parts[1]), std::string(parts[2])};
}

std::string unix_nanos(TraceTime time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

void attribute(JsonWriter& w, std::string_view key, std::string_view value) {
  w.begin_object();
  w.field("key", key);
  w.key("value");
  w.begin_object();
  w.field("stringValue", value);
  w.end_object();
  w.end_object();
}

std::string span_json(const TraceSpan& span, const std::string& trace, const std::string& id, const std::string& parent) {
  JsonWriter w;
  w.begin_object();
  w.field("traceId", trace);
  w.field("spanId", id);
  if (!parent.empty()) w.field("parentSpanId", parent);
  w.field("name", span.name);
  w.field("kind", 1);   // internal
  w.field("startTimeUnixNano", unix_nanos(span.start));
  w.field("endTimeUnixNano", unix_nanos(std::max(span.start, span.end)));
  w.key("attributes");
  w.begin_array();
  for (const auto& [key, value] : span.attributes) attribute(w, key, value);
  w.end_array();
  w.key("status");
  w.begin_object();
  w.field("code", span.failed ? 2 : 1);
  if (!span.message.empty()) w.field("message", span.message);
  w.end_object();
  w.end_object();
  return w.take();
}

}  // namespace

TraceTree trace_of(const ExecutionRecord& record, const Report& report, bool warm) {
  using std::chrono::duration_cast;
  using Step = TraceTime::duration;
  TraceTree tree;
  tree.parent = record.trace_parent;
  const std::optional<Nanoseconds>& verify = record.verified_in;
  tree.root = {"execution", record.created, record.ended, {}, record.status == RunStatus::kFailed && record.exit_reason == "sandbox_error", record.error};
  tree.root.attributes = {{"hotcell.id", record.id},           {"hotcell.status", std::string(to_string(record.status))},
                          {"hotcell.exit_reason", record.exit_reason}, {"hotcell.client", record.client},
                          {"hotcell.door", record.door},       {"hotcell.profile", record.profile}};
  if (!record.language.empty()) tree.root.attributes["hotcell.language"] = record.language;
  // The report has durations; laid out one after the other, they end where the program begins.
  Nanoseconds setup{0};
  for (const auto& [step, time] : report.setup_ns)
    if (!warm || step == "hand_over") setup += time;
  const Nanoseconds compile = report.compile && !report.compile->cached ? report.compile->duration : Nanoseconds(0);
  // What was not compiled has nothing after that; there the report's times are those of compiling.
  TraceTime begin = (report.verdict.reason == ExitReason::kCompileError ? report.end_time : report.start_time) - duration_cast<Step>(setup + compile + verify.value_or(Nanoseconds(0)));
  begin = std::max(begin, record.created);
  tree.children.push_back({"queue", record.created, begin, {}, false, ""});
  auto add = [&](const char* name, Nanoseconds time) {
    TraceTime end = begin + duration_cast<Step>(time);
    tree.children.push_back({name, begin, end, {}, false, ""});
    begin = end;
  };
  if (verify) add("verify", *verify);
  if (report.compile) {
    add("compile", compile);
    tree.children.back().attributes["hotcell.cached"] = report.compile->cached ? "true" : "false";
    tree.children.back().failed = report.verdict.reason == ExitReason::kCompileError;
  }
  if (report.verdict.reason == ExitReason::kCompileError || report.verdict.reason == ExitReason::kVerification) return tree;
  add("setup", setup);
  tree.children.push_back({"run", report.start_time, report.end_time, {}, false, ""});
  return tree;
}

Traces::Traces(Sender sender) : sender_(std::move(sender)) {}

void Traces::add(const TraceTree& tree) {
  auto parent = parse_parent(tree.parent);
  const std::string trace = parent ? parent->trace : random_hex(16);
  const std::string root = random_hex(8);
  spans_ += cat(spans_.empty() ? "" : ",", span_json(tree.root, trace, root, parent ? parent->span : ""));
  for (const auto& child : tree.children) spans_ += cat(",", span_json(child, trace, random_hex(8), root));
  count_ += 1 + tree.children.size();
  if (count_ >= kBatch) flush();
}

void Traces::flush() {
  if (count_ == 0) return;
  JsonWriter resource;
  resource.begin_array();
  attribute(resource, "service.name", "hotcell");
  attribute(resource, "service.version", HOTCELL_VERSION);
  resource.end_array();
  std::string body = cat("{\"resourceSpans\":[{\"resource\":{\"attributes\":", resource.text(),
                         "},\"scopeSpans\":[{\"scope\":{\"name\":\"hotcell\"},\"spans\":[", spans_, "]}]}]}");
  sent_ += count_;
  count_ = 0;
  spans_.clear();
  sender_(std::move(body));
}

}  // namespace hotcell::server
