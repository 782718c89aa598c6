// A history in a test's own folder.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "store/history.h"
#include "store/store_testing.h"

namespace hotcell {

using Numbers = std::vector<std::uint64_t>;

// What cannot be opened or read throws, which GoogleTest reports.
inline std::unique_ptr<History> open_history(const TestFolder& folder, Retention retention = {}) {
  return std::move(History::open(folder.file(), retention)).value();
}

inline void put(History& history, std::uint64_t number, const ExecutionDetails& details = {}) {
  history.begin(test_record(number), R"({"argv":["x"]})", nullptr);
  history.end(ended_record(number), details, nullptr);
}

inline Numbers numbers(History& history, const HistoryQuery& query = {}) {
  Numbers out;
  auto rows = history.list(query);
  for (const auto& r : rows.value()) out.push_back(r.number);
  return out;
}

}  // namespace hotcell
