// The rows of the history as the writer changes them. Not thread-safe: the writer's thread owns it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "store/database.h"
#include "store/history.h"

namespace hotcell {

class HistoryRows {
 public:
  // Rows that were begun and never ended are ended here: whoever began them is gone.
  static Result<HistoryRows> open(const std::string& file, Retention retention);
  // One that had ended and was noted, but not written: unless it was written after all.
  Result<void> add_ended(const ExecutionRecord& record, const ExecutionDetails& details);
  // Those that were only announced become rows of the same kind.
  Result<void> add_abandoned(const std::vector<ExecutionRecord>& announced);

  Result<Transaction> transaction();
  // Inside a transaction.
  Result<void> insert(const ExecutionRecord& record, const ExecutionDetails& details);
  Result<void> end(const ExecutionRecord& record, const ExecutionDetails& details);
  void committed();                        // what was counted since transaction() holds

  static constexpr std::size_t kStep = 64;  // rows removed in one transaction: about a millisecond
  Result<std::size_t> clean_step();        // removes some that are too old or too many; fewer than a step: no more
  bool over() const;                       // too many or too large
  void write_back(std::int64_t pages);     // the log into the file, when it has so many pages

  std::uint64_t last_number() const { return last_number_; }
  std::uint64_t abandoned() const { return abandoned_; }

 private:
  HistoryRows(Database database, Retention retention) : database_(std::move(database)), retention_(retention) {}
  Result<void> prepare();

  Database database_;
  Retention retention_;
  Statement insert_, update_, request_, outcome_, oldest_, remove_;
  std::int64_t rows_ = 0, bytes_total_ = 0;  // committed
  std::int64_t more_rows_ = 0, more_bytes_ = 0;
  std::uint64_t last_number_ = 0, abandoned_ = 0;
};

}  // namespace hotcell
