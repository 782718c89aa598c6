#include "manager/record_json.h"

#include "manager/report_json.h"

namespace hotcell {

void write_optional(JsonWriter& w, std::string_view name, const std::optional<int>& number) {
  w.key(name);
  if (number) w.value(*number);
  else w.null();
}

void write_optional(JsonWriter& w, std::string_view name, std::string_view text) {
  w.key(name);
  if (text.empty()) w.null();
  else w.value(text);
}

void write_time(JsonWriter& w, std::string_view name, std::chrono::system_clock::time_point time) {
  w.key(name);
  if (time.time_since_epoch().count() == 0) w.null();
  else w.value(rfc3339(time));
}

void write_record_fields(JsonWriter& w, const ExecutionRecord& r) {
  w.field("number", r.number);
  w.field("id", r.id);
  w.field("status", to_string(r.status));
  write_optional(w, "exit_reason", r.exit_reason);
  write_optional(w, "exit_code", r.exit_code);
  write_optional(w, "signal", r.signal);
  w.field("door", r.door);
  w.field("client", r.client);
  w.field("language", r.language);
  w.field("profile", r.profile);
  w.field("tier", r.tier);
  w.field("command", r.command);
  w.field("error", r.error);
  write_time(w, "created", r.created);
  write_time(w, "start_time", r.started);
  write_time(w, "end_time", r.ended);
  w.field("duration", r.duration.count());
  w.field("cpu_time_ns", r.cpu.count());
  w.field("memory_peak_bytes", r.memory_peak.n);
  w.key("findings");
  w.begin_object();
  w.field("error", r.findings_error);
  w.field("warning", r.findings_warning);
  w.end_object();
  w.field("denials", r.denials);
}

std::string record_json(const ExecutionRecord& record) {
  JsonWriter w;
  w.begin_object();
  write_record_fields(w, record);
  w.end_object();
  return w.take();
}

}  // namespace hotcell
