#include "net/account.h"

#include "base/strings.h"

namespace hotcell::net {
namespace {

std::string field(std::string_view text) {
  std::string out = printable(text);
  for (char& c : out)
    if (c == '\t' || c == '\n') c = ' ';
  return out;
}

}  // namespace

void tell_report(const std::vector<LogEntry>& entries, const std::vector<Refusal>& refusals, const Stats& stats, Report& report,
                 const std::function<void(const Event&)>& on_event) {
  for (const auto& r : refusals) report.denials.push_back({"proxy", r.first.reason, r.first.host, r.first.how, r.count});
  for (const auto& text : stats.notices) report.notices.push_back(text);
  // They may be in the log that is kept: that is written as it goes.
  if (stats.dropped_entries > 0) report.notices.push_back(cat(stats.dropped_entries, " requests are not among the events: there were more than are held"));
  if (!on_event) return;
  for (const auto& e : entries) {
    if (e.open) continue;  // its end is an event
    if (e.notice) {
      on_event({"network.notice", report.id, e.time, {{"reason", e.reason}}});
      continue;
    }
    on_event({"network.request", report.id, e.time,
              {{"method", e.method}, {"host", e.host}, {"port", cat(e.port)}, {"decision", e.failed ? "failed" : e.allowed ? "allowed" : "refused"}, {"rule", e.rule},
               {"reason", e.reason}, {"how", e.how}, {"up_bytes", cat(e.up)}, {"down_bytes", cat(e.down)}, {"duration_ns", cat(e.duration.count())}}});
  }
  if (stats.dropped_entries > 0) on_event({"network.notice", report.id, std::chrono::system_clock::now(), {{"reason", report.notices.back()}}});
}

std::string denial_lines(const std::vector<Refusal>& refusals, const std::vector<std::string>& notices) {
  std::string out;
  for (const auto& r : refusals)
    out += cat("refused\t", field(r.first.reason), "\t", field(r.first.host), "\t", field(r.first.how), "\t", r.count, "\n");
  for (const auto& text : notices) out += cat("noticed\t", field(text), "\n");
  return out;
}

void read_denial_lines(std::string_view text, Report& report) {
  for (auto line : split(text, '\n')) {
    auto parts = split(line, '\t');
    auto count = parts.size() == 5 && parts[0] == "refused" ? parse_u64(parts[4]) : std::nullopt;
    if (count) report.denials.push_back({"proxy", std::string(parts[1]), std::string(parts[2]), std::string(parts[3]), *count});
    if (parts.size() == 2 && parts[0] == "noticed") report.notices.emplace_back(parts[1]);
  }
}

}  // namespace hotcell::net
