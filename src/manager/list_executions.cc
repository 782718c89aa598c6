#include <algorithm>

#include "manager/executions.h"

namespace hotcell {
namespace {

bool fits(const ExecutionRecord& r, const HistoryQuery& q) {
  auto same = [](const std::string& wanted, std::string_view is) { return wanted.empty() || wanted == is; };
  return same(q.status, to_string(r.status)) && same(q.language, r.language) && same(q.client, r.client) &&
         same(q.door, r.door) && same(q.exit_reason, r.exit_reason) && (q.before == 0 || r.number < q.before) &&
         (!q.since || r.created >= *q.since) && (!q.until || r.created < *q.until) &&
         (q.text.empty() || r.command.find(q.text) != std::string::npos);
}

}  // namespace

Result<std::vector<ExecutionRecord>> list_executions(const Executions& executions, History& history, const HistoryQuery& query) {
  auto live = executions.live();
  if (query.status == "running" || query.status == "pending") {
    std::erase_if(live, [&](const auto& r) { return !fits(r, query); });
    if (live.size() > query.limit) live.resize(query.limit);
    return live;
  }
  TRY_SET(auto rows, history.list(query));
  // What is alive is newer than its row, and may have none yet.
  for (auto& one : live) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.id == one.id; });
    if (row != rows.end()) *row = std::move(one);
    else if (fits(one, query)) rows.push_back(std::move(one));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  if (rows.size() > query.limit) rows.resize(query.limit);
  return rows;
}

}  // namespace hotcell
