// What the history says, without the right to change it: for the daemon's own thread and for people at a terminal while
// a daemon runs.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/history.h"

namespace hotcell {

class HistoryReader {
 public:
  static constexpr std::size_t kMostRows = 500;  // of one page

  static Result<std::unique_ptr<HistoryReader>> open(const std::string& file);

  // From any thread, one after the other.
  Result<std::optional<ExecutionRecord>> find(std::string_view id);
  Result<std::optional<ExecutionRecord>> find_key(std::string_view client, std::string_view idempotency_key);
  Result<ExecutionDetails> details(std::string_view id);  // kNotFound
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query);

 private:
  explicit HistoryReader(Database database) : database_(std::move(database)) {}

  std::mutex mutex_;
  Database database_;
  Statement find_, find_key_, details_;
};

// The select of `list`; tests look at its plan.
std::string list_sql(const HistoryQuery& query);

// The words of the status column; kFailed for one that we do not know.
std::string_view status_word(RunStatus status);
RunStatus status_from(std::string_view word);
std::int64_t to_micros(std::chrono::system_clock::time_point time);
std::chrono::system_clock::time_point from_micros(std::int64_t micros);

}  // namespace hotcell
