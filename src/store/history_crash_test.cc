// The history when its process dies, when the disk is full, and when it is older than the program.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "store/history_testing.h"

namespace hotcell {
namespace {

// The child writes and says each number that was committed; it is killed while it writes.
TEST(HistoryCrash, NothingCommittedIsLostAndNothingIsHalfWhenTheWriterIsKilled) {
  for (int round = 0; round < 5; ++round) {
    TestFolder folder;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      auto history = open_history(folder);
      for (std::uint64_t n = 1;; ++n) {
        auto say = [&pipe](std::uint64_t word) {
          return [fd = pipe[1], word](Result<void> done) {
            if (done.ok() && ::write(fd, &word, sizeof word) != sizeof word) ::_exit(1);
          };
        };
        history->begin(test_record(n), "{}", say(2 * n));
        history->end(ended_record(n), {"", std::string(20000, static_cast<char>('a' + n % 26)), "", ""}, say(2 * n + 1));
        if (n % 50 == 0) history->flush();
      }
    }
    ::close(pipe[1]);
    Numbers told;
    std::uint64_t word = 0;
    while (told.size() < 200U + 150U * static_cast<unsigned>(round) && ::read(pipe[0], &word, sizeof word) == sizeof word) {
      told.push_back(word);
    }
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &word, sizeof word) == sizeof word) told.push_back(word);
    ::close(pipe[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_GE(told.size(), 200u);

    auto history = open_history(folder);
    for (auto t : told) {
      auto n = t / 2;
      auto found = history->find(cat("id-", n));
      ASSERT_TRUE(found.ok() && found.value()) << n;
      EXPECT_TRUE(t % 2 == 0 || found.value()->status == RunStatus::kCompleted) << n;
    }
    auto database = open_store(folder.file());
    auto& db = database.value();
    EXPECT_EQ(db.number("SELECT count(*) FROM executions WHERE status IN('pending','running')").value(), 0);
    EXPECT_EQ(db.number("SELECT count(*) FROM executions").value(), db.number("SELECT count(*) FROM execution_requests").value());
    EXPECT_EQ(db.number("SELECT count(*) FROM executions LEFT JOIN execution_outcomes USING(number) WHERE "
                        "(status='completed') <> (coalesce(length(result),0)=20000)").value(), 0);
    auto check = db.prepare("PRAGMA integrity_check");
    ASSERT_TRUE(check.value().step().value());
    EXPECT_EQ(check.value().text(0), "ok");
  }
}

// A file may grow no further in the child, which is what a full disk is to SQLite.
TEST(HistoryCrash, AFullDiskIsToldAndGoesAwayAgain) {
  TestFolder folder;
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto history = open_history(folder);
    put(*history, 1);
    history->flush();
    struct rlimit limit {};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    auto before = limit.rlim_cur;
    limit.rlim_cur = 256 << 10;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::atomic<int> failed = 0, done = 0;
    for (std::uint64_t n = 2; n <= 20; ++n) {
      history->begin(test_record(n), std::string(50000, 'x'), [&](Result<void> r) { ++(r.ok() ? done : failed); });
    }
    history->flush();
    int step = failed > 0 && history->find("id-1").value() ? 0 : 1;
    auto rows = history->list({.limit = 500});
    if (!rows.ok() || rows.value().size() != static_cast<std::size_t>(done) + 1) step = 2;
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    bool again = false;
    history->end(ended_record(20), {"{}", "{}", "", ""}, [&](Result<void> r) { again = r.ok(); });
    history->flush();
    if (!again || history->find("id-20").value()->status != RunStatus::kCompleted) step = 3;
    history.reset();
    ::_exit(step);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(open_history(folder)->find("id-20").value());
}

// What version 1 wrote; never changed.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE executions(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, exit_reason TEXT NOT NULL,
  exit_code INTEGER, signal INTEGER, door TEXT NOT NULL, client TEXT NOT NULL, language TEXT NOT NULL, profile TEXT NOT NULL,
  tier TEXT NOT NULL, command TEXT NOT NULL, error TEXT NOT NULL, created INTEGER NOT NULL, started INTEGER NOT NULL,
  ended INTEGER NOT NULL, duration INTEGER NOT NULL, cpu INTEGER NOT NULL, memory_peak INTEGER NOT NULL,
  findings_error INTEGER NOT NULL, findings_warning INTEGER NOT NULL, denials INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL, details_bytes INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX executions_key ON executions(client, idempotency_key) WHERE idempotency_key <> '';
CREATE TABLE execution_requests(number INTEGER PRIMARY KEY REFERENCES executions(number) ON DELETE CASCADE,
  request TEXT NOT NULL) STRICT;
CREATE TABLE execution_outcomes(number INTEGER PRIMARY KEY REFERENCES executions(number) ON DELETE CASCADE,
  result TEXT NOT NULL, usage TEXT NOT NULL, events TEXT NOT NULL) STRICT;
INSERT INTO executions VALUES(41,'old','completed','exited',0,NULL,'rest','local','python','default','light','print(1)','',
  1700000000000000,1700000000000100,1700000000003000,2900000,1000000,4096,0,1,2,'k',17);
INSERT INTO execution_requests VALUES(41,'{"code":"x"}');
INSERT INTO execution_outcomes VALUES(41,'{}','[]','[]');
INSERT INTO executions VALUES(42,'cut','running','',NULL,NULL,'mcp','local','bash','default','light','sleep 9','',
  1700000001000000,1700000001000100,0,0,0,0,0,0,0,'',2);
INSERT INTO execution_requests VALUES(42,'{}');
PRAGMA user_version=1;
)sql";

TEST(HistoryCrash, AFileOfVersion1IsBroughtUpToDate) {
  TestFolder folder;
  ASSERT_TRUE(Database::open(folder.file()).value().execute(kVersion1).ok());
  auto history = open_history(folder, {.age = std::chrono::hours(24 * 365 * 100)});
  EXPECT_EQ(history->abandoned(), 1u);
  EXPECT_EQ(history->last_number(), 42u);
  auto old = *history->find_key("local", "k").value();
  EXPECT_EQ(old.id, "old");
  EXPECT_EQ(old.denials, 2u);
  EXPECT_EQ(history->details("old").value().request, R"({"code":"x"})");
  EXPECT_EQ(history->find("cut").value()->error, "daemon stopped");
  put(*history, 43);
  history->flush();
  EXPECT_EQ(numbers(*history, {.status = "completed"}), (Numbers{43, 41}));
  history.reset();

  // The same tables and indexes as a file that was made today.
  TestFolder fresh;
  auto shape = [](const std::string& file) {
    auto database = open_store(file);
    auto select = database.value().prepare("SELECT type||' '||name FROM sqlite_schema ORDER BY 1");
    std::string out;
    while (select.value().step().value()) out += select.value().text(0) + "\n";
    return out + std::to_string(database.value().number("PRAGMA user_version").value());
  };
  EXPECT_EQ(shape(folder.file()), shape(fresh.file()));
}

}  // namespace
}  // namespace hotcell
