// The text exposition format, version 0.0.4.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "base/strings.h"
#include "server/telemetry/metrics.h"
#include "sys/file.h"

namespace hotcell::server {

namespace {

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void one(std::string& out, std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
  head(out, name, type, help);
  out += cat(name, " ", value, "\n");
}

// Label values are ours or a word of the result; escaped all the same.
std::string label(std::string_view name, std::string_view value) {
  std::string out = cat(name, "=\"");
  for (char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out + "\"";
}

void by_label(std::string& out, std::string_view name, std::string_view help, std::string_view key,
              const std::map<std::string, std::uint64_t>& values) {
  head(out, name, "counter", help);
  for (const auto& [value, count] : values) out += cat(name, "{", label(key, value), "} ", count, "\n");
}

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count > 3 ? count - 3 : 0;   // without ".", ".." and the folder's own
}

void process_metrics(std::string& out, std::chrono::system_clock::time_point began) {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", cpu);
  head(out, "process_cpu_seconds_total", "counter", "CPU time of the front process.");
  out += cat("process_cpu_seconds_total ", std::string_view(text), "\n");
  if (auto statm = sys::read_file("/proc/self/statm"); statm.ok()) {
    auto words = split(trim(statm.value()), ' ');
    auto pages = words.size() > 1 ? parse_u64(words[1]).value_or(0) : 0;
    one(out, "process_resident_memory_bytes", "gauge", "Memory the front process holds.",
        pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  }
  if (auto fds = open_descriptors(); fds > 0) one(out, "process_open_fds", "gauge", "Open descriptors of the front process.", fds);
  one(out, "process_start_time_seconds", "gauge", "When the front process started, in Unix time.",
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(began.time_since_epoch()).count()));
}

}  // namespace

std::string Metrics::text(const ExecutionsStats& now) const {
  std::lock_guard lock(mutex_);
  std::string out;
  head(out, "hotcell_build_info", "gauge", "The version that runs, as a label.");
  out += cat("hotcell_build_info{", label("version", HOTCELL_VERSION), "} 1\n");
  head(out, "hotcell_start_seconds", "histogram", "Time from the queue to the running program, by the way it started.");
  for (auto path : {StartPath::kWarm, StartPath::kTemplate, StartPath::kCold})
    start_[static_cast<std::size_t>(path)].write(out, "hotcell_start_seconds", label("path", to_string(path)));
  head(out, "hotcell_execution_seconds", "histogram", "Time from the request to the end of the execution.");
  total_.write(out, "hotcell_execution_seconds", "");
  one(out, "hotcell_queue_length", "gauge", "Executions that wait for a cell.", now.queued);
  one(out, "hotcell_running", "gauge", "Executions that run.", now.running);
  one(out, "hotcell_submitted_total", "counter", "Executions that were accepted.", now.submitted);
  one(out, "hotcell_ended_total", "counter", "Executions that have ended.", now.ended);
  one(out, "hotcell_refused_total", "counter", "Executions that were refused because the queue was full.", now.refused);
  by_label(out, "hotcell_verdicts_total", "Ended executions by reason.", "reason", verdicts_);
  by_label(out, "hotcell_denials_total", "What programs were refused, by layer.", "layer", denials_);
  one(out, "hotcell_pool_hits_total", "counter", "Starts in a waiting cell or runtime.", now.warm_hits);
  one(out, "hotcell_pool_misses_total", "counter", "Starts that found nothing waiting.", now.warm_misses);
  head(out, "hotcell_parked", "gauge", "What waits for a program.");
  out += cat("hotcell_parked{kind=\"cell\"} ", now.parked, "\nhotcell_parked{kind=\"runtime\"} ", now.parked_runtimes, "\n");
  head(out, "hotcell_output_bytes_total", "counter", "Bytes that programs wrote.");
  out += cat("hotcell_output_bytes_total{stream=\"stdout\"} ", out_bytes_, "\n");
  out += cat("hotcell_output_bytes_total{stream=\"stderr\"} ", err_bytes_, "\n");
  head(out, "hotcell_http_requests_total", "counter", "Answered requests by route and status.");
  for (const auto& [key, route] : routes_) {
    for (const auto& [status, count] : route.by_status) {
      out += cat("hotcell_http_requests_total{", label("method", key.first), ",", label("route", key.second), ",code=\"",
                 status, "\"} ", count, "\n");
    }
  }
  head(out, "hotcell_http_request_seconds", "histogram", "Time until an answer began, by route.");
  for (const auto& [key, route] : routes_) {
    route.time.write(out, "hotcell_http_request_seconds", cat(label("method", key.first), ",", label("route", key.second)));
  }
  one(out, "hotcell_streams_dropped_total", "counter", "Streams given up because their reader was too slow.", readers_dropped_);
  one(out, "hotcell_launcher_up", "gauge", "1 while the launcher answers.", now.launcher_up ? 1 : 0);
  one(out, "hotcell_launcher_restarts_total", "counter", "How often the launcher had to be started again.", launcher_restarts_);
  one(out, "hotcell_audit_entries_total", "counter", "Lines added to the audit log.", audit_entries_);
  head(out, "hotcell_store_commit_seconds", "histogram", "Time of one commit of the store.");
  commits_.write(out, "hotcell_store_commit_seconds", "");
  process_metrics(out, began_);
  return out;
}

}  // namespace hotcell::server
