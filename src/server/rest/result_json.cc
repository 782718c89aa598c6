#include "server/rest/result_json.h"

#include "base/strings.h"
#include "manager/report_json.h"

namespace hotcell::server {

namespace {

void quantiles(JsonWriter& w, std::string_view name, const Recent::Quantiles& q) {
  w.key(name);
  w.begin_object();
  w.field("p50", q.p50);
  w.field("p90", q.p90);
  w.field("p99", q.p99);
  w.end_object();
}

}  // namespace

std::string result_text(Services& services, const ExecutionRecord& record) {
  if (auto known = services.executions.result(record.id)) return *std::move(known);
  if (record.ended_already()) {
    auto details = services.history.details(record.id);
    if (details.ok() && !details.value().result.empty()) return std::move(details).value().result;
  }
  JsonWriter w;
  w.begin_object();
  w.field("id", record.id);
  w.field("status", to_string(record.status));
  write_optional(w, "exit_code", record.exit_code);
  write_optional(w, "signal", record.signal);
  write_optional(w, "exit_reason", record.exit_reason);
  w.field("stdout", "");
  w.field("stderr", "");
  write_time(w, "start_time", record.started);
  write_time(w, "end_time", record.ended);
  w.field("duration", record.duration.count());
  w.field("error", record.error);
  w.end_object();
  return w.take();
}

std::string stats_json(Services& services) {
  const auto now = services.executions.stats();
  JsonWriter w;
  w.begin_object();
  w.field("queued", now.queued);
  w.field("running", now.running);
  w.field("parked", now.parked);
  w.field("parked_runtimes", now.parked_runtimes);
  w.field("submitted", now.submitted);
  w.field("ended", now.ended);
  w.field("refused", now.refused);
  w.field("warm_hits", now.warm_hits);
  w.field("warm_misses", now.warm_misses);
  w.field("launcher_up", now.launcher_up);
  w.field("draining", now.draining);
  w.key("latency");
  w.begin_object();
  quantiles(w, "start_us", services.metrics.start_latency());
  quantiles(w, "total_us", services.metrics.total_latency());
  w.end_object();
  auto up = std::chrono::steady_clock::now() - services.started;
  w.field("uptime_s", std::chrono::duration_cast<std::chrono::seconds>(up).count());
  w.end_object();
  return w.take();
}

}  // namespace hotcell::server
