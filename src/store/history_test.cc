#include "store/history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/history_reader.h"
#include "store/history_testing.h"

namespace hotcell {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;

TEST(History, ARowComesBackAsItWasWritten) {
  TestFolder folder;
  auto r = ended_record(7, 3);
  r.status = RunStatus::kTimeout;
  r.exit_reason = "timeout_wall";
  r.exit_code.reset();
  r.signal = 9;
  r.cpu = Nanoseconds(123);
  r.memory_peak.n = 1ULL << 40;
  r.findings_error = 1;
  r.findings_warning = 2;
  r.denials = 3;
  r.error = "took too long";
  r.idempotency_key = "k";
  {
    auto history = open_history(folder);
    auto begun = test_record(7);
    begun.idempotency_key = "k";
    history->begin(begun, R"({"argv":["x"]})", nullptr);
    history->flush();
    EXPECT_EQ(history->find("id-7").value()->status, RunStatus::kPending);
    EXPECT_EQ(history->details("id-7").value().request, R"({"argv":["x"]})");
    history->end(r, {"", "{\"out\":\"a\\u0000b\"}", "[[1]]", "[]"}, nullptr);
  }
  auto history = open_history(folder);
  auto found = history->find("id-7");
  ASSERT_TRUE(found.ok() && found.value());
  const auto& f = *found.value();
  EXPECT_EQ(f.number, 7u);
  EXPECT_EQ(f.status, RunStatus::kTimeout);
  EXPECT_EQ(f.exit_reason, "timeout_wall");
  EXPECT_EQ(f.exit_code, std::nullopt);
  EXPECT_EQ(f.signal, 9);
  EXPECT_EQ(f.client, "local");
  EXPECT_EQ(f.command, "print(7)");
  EXPECT_EQ(f.error, "took too long");
  EXPECT_EQ(to_micros(f.ended), to_micros(r.ended));
  EXPECT_EQ(f.duration, r.duration);
  EXPECT_EQ(f.cpu, r.cpu);
  EXPECT_EQ(f.memory_peak.n, r.memory_peak.n);
  EXPECT_EQ(f.findings_error + 10 * f.findings_warning + 100 * f.denials, 321u);
  EXPECT_EQ(history->find_key("local", "k").value()->id, "id-7");
  EXPECT_FALSE(history->find_key("other", "k").value());
  EXPECT_FALSE(history->find_key("local", "").value());
  auto details = history->details("id-7").value();
  EXPECT_EQ(details.request, R"({"argv":["x"]})");
  EXPECT_EQ(details.result, "{\"out\":\"a\\u0000b\"}");
  EXPECT_EQ(details.usage, "[[1]]");
  EXPECT_EQ(details.events, "[]");
  EXPECT_FALSE(history->find("id-8").value());
  EXPECT_EQ(history->details("id-8").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(history->last_number(), 7u);
  EXPECT_EQ(history->abandoned(), 0u);
}

// Its beginning found no room, so that its end was noted alone.
TEST(History, WhatHasEndedIsFoundByItsKeyAsEnded) {
  TestFolder folder;
  auto history = open_history(folder);
  auto announced = test_record(1), ended = ended_record(1);
  announced.idempotency_key = ended.idempotency_key = "k";
  ASSERT_TRUE(history->announce(announced));
  history->end(ended, {}, nullptr);
  auto found = history->find_key("local", "k");
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_TRUE(found.value()->ended_already());
  // It is a row by then: nothing is left that could be looked for in the wrong place.
  auto beside = std::move(HistoryReader::open(folder.file())).value();
  auto row = beside->find_key("local", "k");
  ASSERT_TRUE(row.ok() && row.value());
  EXPECT_TRUE(row.value()->ended_already());
}

TEST(History, WhatAStoppedDaemonLeftIsFailed) {
  TestFolder folder;
  {
    auto history = open_history(folder);
    history->begin(test_record(1), "{}", nullptr);
    put(*history, 2);
    auto running = test_record(3);
    running.status = RunStatus::kRunning;
    history->begin(running, "{}", nullptr);
  }
  auto history = open_history(folder);
  EXPECT_EQ(history->abandoned(), 2u);
  for (auto id : {"id-1", "id-3"}) {
    auto r = *history->find(id).value();
    EXPECT_EQ(r.status, RunStatus::kFailed);
    EXPECT_EQ(r.exit_reason, "sandbox_error");
    EXPECT_EQ(r.error, "daemon stopped");
    EXPECT_TRUE(r.ended_already());
    EXPECT_GT(to_micros(r.ended), 0);
  }
  EXPECT_EQ(history->find("id-2").value()->status, RunStatus::kCompleted);
  history.reset();
  EXPECT_EQ(open_history(folder)->abandoned(), 0u);
}

TEST(History, OneDaemonAtATimeAndReadersBesideIt) {
  TestFolder folder;
  auto history = open_history(folder);
  history->begin(test_record(1), "{}", nullptr);
  history->flush();
  auto second = History::open(folder.file(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kDenied);
  auto reader = HistoryReader::open(folder.file());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader.value()->find("id-1").value()->status, RunStatus::kPending);
}

TEST(History, CommittedIsToldInTheOrderOfCallsAndAfterTheCommit) {
  TestFolder folder;
  auto history = open_history(folder);
  auto reader = std::move(HistoryReader::open(folder.file())).value();
  Numbers told;
  bool seen = true;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    history->begin(test_record(n), "{}", [&, n](Result<void> done) {
      seen = seen && done.ok() && reader->find(cat("id-", n)).value();
      told.push_back(n);
    });
  }
  history->flush();
  EXPECT_TRUE(seen);
  Numbers expected(300);
  for (std::size_t i = 0; i < 300; ++i) expected[i] = i + 1;
  EXPECT_EQ(told, expected);
}

TEST(History, ABadRowFailsAloneAmongMany) {
  TestFolder folder;
  auto history = open_history(folder);
  auto with_key = [](std::uint64_t n, std::string key) {
    auto r = test_record(n);
    r.idempotency_key = std::move(key);
    return r;
  };
  std::vector<bool> ok(6);
  auto note = [&](std::size_t i) { return [&, i](Result<void> done) { ok[i] = done.ok(); }; };
  history->begin(with_key(1, "k"), "{}", note(1));
  history->begin(with_key(2, "k"), "{}", note(2));    // the key of this client is taken
  auto other = with_key(3, "k");
  other.client = "other";
  history->begin(other, "{}", note(3));
  auto same_id = test_record(4);
  same_id.id = "id-1";
  history->begin(same_id, "{}", note(4));
  history->begin(test_record(5), "{}", note(5));
  history->flush();
  EXPECT_EQ(ok, (std::vector<bool>{false, true, false, true, false, true}));
  EXPECT_EQ(numbers(*history), (Numbers{5, 3, 1}));
  auto stranger = ended_record(5);
  stranger.id = "somebody-else";
  history->end(stranger, {}, note(5));
  history->flush();
  EXPECT_FALSE(ok[5]);
  EXPECT_EQ(history->find("id-5").value()->status, RunStatus::kPending);
}

TEST(History, AnEndWithoutABeginningIsKept) {
  TestFolder folder;
  auto history = open_history(folder);
  history->end(ended_record(9), {"{}", "{\"a\":1}", "", ""}, nullptr);
  history->flush();
  EXPECT_EQ(history->find("id-9").value()->status, RunStatus::kCompleted);
  EXPECT_EQ(history->details("id-9").value().request, "{}");
}

TEST(History, ListsFilterAndPage) {
  TestFolder folder;
  auto history = open_history(folder);
  auto start = system_clock::now() - hours(10);
  for (std::uint64_t n = 1; n <= 10; ++n) {
    auto r = test_record(n);
    r.created = start + hours(n);
    r.client = n % 2 == 0 ? "a" : "b";
    r.language = n % 5 == 0 ? "bash" : "python";
    r.door = n == 3 ? "mcp" : "rest";
    r.command = n == 4 ? "100%_done" : "100 percent";
    history->begin(r, "{}", nullptr);
    if (n <= 8) {
      auto e = ended_record(n, n == 6 ? 1 : 0);
      e.language = r.language;
      e.command = r.command;
      e.exit_reason = n == 7 ? "signal" : "exited";
      history->end(e, {}, nullptr);
    }
  }
  history->flush();
  EXPECT_EQ(numbers(*history), (Numbers{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(numbers(*history, {.before = 5, .limit = 2}), (Numbers{4, 3}));
  EXPECT_EQ(numbers(*history, {.before = UINT64_MAX, .limit = 1}), (Numbers{10}));
  EXPECT_EQ(numbers(*history, {.status = "failed"}), (Numbers{6}));
  EXPECT_EQ(numbers(*history, {.status = "pending"}), (Numbers{10, 9}));
  EXPECT_EQ(numbers(*history, {.status = "completed", .client = "a", .before = 8}), (Numbers{4, 2}));
  EXPECT_EQ(numbers(*history, {.language = "bash"}), (Numbers{10, 5}));
  EXPECT_EQ(numbers(*history, {.door = "mcp"}), (Numbers{3}));
  EXPECT_EQ(numbers(*history, {.exit_reason = "signal"}), (Numbers{7}));
  EXPECT_EQ(numbers(*history, {.text = "%_D"}), (Numbers{4}));
  EXPECT_EQ(numbers(*history, {.status = "' OR 1=1 --"}), Numbers{});
  EXPECT_EQ(numbers(*history, {.since = start + hours(9)}), (Numbers{10, 9}));
  EXPECT_EQ(numbers(*history, {.until = start + hours(3)}), (Numbers{2, 1}));
  EXPECT_EQ(numbers(*history, {.since = start + hours(4), .until = start + hours(6)}), (Numbers{5, 4}));
  EXPECT_EQ(numbers(*history, {.since = start + hours(400)}), Numbers{});
}

TEST(History, RetentionByRowsBytesAndAge) {
  for (int kind = 0; kind < 3; ++kind) {
    TestFolder folder;
    Retention retention;
    if (kind == 0) retention.rows = 10;
    if (kind == 1) retention.bytes.n = 10'140;  // ten results of 1000 bytes and their requests of 14
    if (kind == 2) retention.age = hours(5);
    auto history = open_history(folder, retention);
    for (std::uint64_t n = 1; n <= 300; ++n) {
      auto r = test_record(n);
      if (n <= 290) r.created -= hours(6);
      history->begin(r, R"({"argv":["x"]})", nullptr);
      if (n != 2) history->end(ended_record(n), {"", std::string(1000, 'x'), "", ""}, nullptr);
    }
    history->flush();
    ASSERT_TRUE(history->clean_up().ok());
    auto left = numbers(*history, {.limit = 500});
    EXPECT_EQ(left.front(), 300u) << kind;
    EXPECT_EQ(left.back(), 2u) << "one that still runs stays: " << kind;
    EXPECT_GE(left.size(), 10u) << kind;
    EXPECT_LE(left.size(), 11u) << kind;
    EXPECT_EQ(history->details("id-3").error().code, ErrorCode::kNotFound);
    history.reset();
    auto database = open_store(folder.file());
    EXPECT_EQ(database.value().number("SELECT count(*) FROM execution_requests").value(), std::ssize(left));
    EXPECT_EQ(database.value().number("SELECT count(*) FROM execution_outcomes").value(), std::ssize(left) - 1);
  }
}

TEST(History, NumbersGoOnAfterEverythingWasRemoved) {
  TestFolder folder;
  {
    auto history = open_history(folder, {.rows = 0});
    for (std::uint64_t n = 1; n <= 5; ++n) put(*history, n);
    history->flush();
    ASSERT_TRUE(history->clean_up().ok());
    EXPECT_EQ(numbers(*history), (Numbers{5}));
  }
  EXPECT_EQ(open_history(folder)->last_number(), 5u);
}

TEST(History, TheWriterCleansUpByItself) {
  TestFolder folder;
  auto history = open_history(folder, {.rows = 100});
  for (std::uint64_t n = 1; n <= 3000; ++n) put(*history, n);
  history->flush();
  EXPECT_LE(numbers(*history, {.limit = 500}).size(), 100u + 64u);
}

TEST(History, ReadersSeeWholeRowsWhileOthersAreWritten) {
  TestFolder folder;
  auto history = open_history(folder);
  std::atomic<bool> stop = false;
  std::atomic<int> bad = 0, looked = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      auto own = i == 0 ? nullptr : std::move(HistoryReader::open(folder.file())).value();
      while (!stop) {
        auto rows = own ? own->list({.limit = 20}) : history->list({.limit = 20});
        if (!rows.ok()) { ++bad; continue; }
        for (const auto& r : rows.value()) {
          if (r.id != cat("id-", r.number) || r.ended_already() != (r.exit_reason == "exited")) ++bad;
        }
        ++looked;
      }
    });
  }
  for (std::uint64_t n = 1; n <= 2000 || looked < 30; ++n) {
    put(*history, n);
    if (n % 20 == 0) history->flush();
  }
  stop = true;
  for (auto& t : readers) t.join();
  EXPECT_EQ(bad, 0);
}

std::string plan_of(Database& database, const HistoryQuery& query) {
  auto explain = database.prepare("EXPLAIN QUERY PLAN " + list_sql(query));
  EXPECT_TRUE(explain.ok()) << explain.error().message;
  std::string plan;
  while (explain.value().step().value()) plan += explain.value().text(3) + "\n";
  return plan;
}

TEST(History, APageOfAHundredThousandRowsIsReadByIndex) {
  TestFolder folder;
  auto database = open_store(folder.file());
  ASSERT_TRUE(database.value().execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100000) INSERT INTO executions SELECT "
      "i,'id-'||i,iif(i%1000=0,'failed','completed'),'exited',0,NULL,'rest','client-'||(i%7),'python','default','light',"
      "'print(1)','',i*1000000,1,2,3,4,5,0,0,0,'',0 FROM n").ok());
  auto time = from_micros(99'000'000'000);
  const HistoryQuery queries[] = {
      {}, {.before = 500}, {.status = "failed"}, {.language = "bash"}, {.client = "client-3", .before = 50000},
      {.exit_reason = "memory"}, {.since = time}, {.until = time}, {.status = "completed", .client = "client-3"}};
  for (const auto& query : queries) {
    auto plan = plan_of(database.value(), query);
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << list_sql(query) << "\n" << plan;
    bool unusual = query.status == "failed";
    EXPECT_EQ(plan.find("USING INDEX executions_unusual") != std::string::npos, unusual) << plan;
    EXPECT_TRUE((query.before == 0 && !unusual) || plan.starts_with("SEARCH")) << plan;
  }
  auto history = open_history(folder);
  EXPECT_EQ(numbers(*history, {.limit = 3}), (Numbers{100000, 99999, 99998}));
  EXPECT_EQ(numbers(*history, {.status = "failed", .before = 2001}), (Numbers{2000, 1000}));
}

}  // namespace
}  // namespace hotcell
