#include "store/ended.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "store/history_reader.h"
#include "store/history_testing.h"
#include "store/schema.h"
#include "sys/file.h"

namespace hotcell {
namespace {

ExecutionDetails details_of(std::uint64_t n) { return {cat("{\"argv\":[", n, "]}"), cat("{\"stdout\":\"", n, "\"}"), "[[1]]", "[]"}; }

// The child does it and dies without a word; true when it got that far.
template <typename Do>
bool killed_after(Do what) {
  pid_t child = ::fork();
  if (child == 0) {
    if (what()) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(Ended, WhatIsTooLongOrTooManyIsRefusedAndOtherBytesAreNothing) {
  TestFolder folder;
  folder.write("ended", std::string(3 * Ended::kSlot + 5, '\x01'));
  auto fd = std::move(sys::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)).value();
  std::vector<WholeExecution> left;
  auto opened = Ended::open(fd.get(), left);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(left.empty());
  Ended& ended = opened.value();
  EXPECT_FALSE(ended.note(ended_record(1), {"", std::string(Ended::kSlot, 'x'), "", ""}));
  EXPECT_FALSE(ended.note(ended_record(1), {"", std::string(Ended::kSlot - 64, 'x'), "", ""}));   // with its record
  for (std::uint64_t n = 1; n <= Ended::kSlots; ++n) ASSERT_TRUE(ended.note(ended_record(n), details_of(n)));
  EXPECT_FALSE(ended.note(ended_record(999), {}));
  ended.forget(5);
  EXPECT_TRUE(ended.note(ended_record(999), {}));
  auto again = Ended::open(fd.get(), left);
  ASSERT_EQ(left.size(), Ended::kSlots);
  EXPECT_EQ(left.front().record.id, "id-1");
  EXPECT_EQ(left.front().details.result, details_of(1).result);
  EXPECT_EQ(left.back().record.number, 999u);
}

TEST(Ended, WhatIsForgottenIsNotLeftInTheFile) {
  TestFolder folder;
  auto fd = std::move(sys::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)).value();
  std::vector<WholeExecution> left;
  auto bytes = [&] { return sys::read_file((folder.path() + "/ended").c_str(), Ended::kSlots * Ended::kSlot).value_or(""); };
  {
    auto opened = Ended::open(fd.get(), left);
    ASSERT_TRUE(opened.ok());
    for (std::uint64_t n : {1, 2}) ASSERT_TRUE(opened.value().note(ended_record(n), {"", cat("a secret of ", n), "", ""}));
    EXPECT_NE(bytes().find("a secret of 1"), std::string::npos) << "otherwise this shows nothing";
    opened.value().forget(1);
    EXPECT_EQ(bytes().find("a secret of 1"), std::string::npos);
    EXPECT_NE(bytes().find("a secret of 2"), std::string::npos);
  }
  auto again = Ended::open(fd.get(), left);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(left.size(), 1u);
  again.value().forget_left();
  EXPECT_EQ(bytes().find("a secret"), std::string::npos);
}

// The end was told; whether it was committed nobody can know.
TEST(HistoryCrash, WhatWasToldToHaveEndedHasEnded) {
  for (int round = 0; round < 5; ++round) {
    TestFolder folder;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    ASSERT_TRUE(killed_after([&] {
      auto history = open_history(folder);
      for (std::uint64_t n = 1; n <= 200; ++n) {
        if (!history->announce(test_record(n))) return false;
        // One of some is a row already: it took its time.
        if (n % 7 == 0) history->begin(test_record(n), "{}", nullptr);
        history->end(ended_record(n), details_of(n), [&, n](Result<void> done) {
          if (done.ok() && ::write(pipe[1], &n, sizeof n) != sizeof n) ::_exit(1);
        });
        if (n % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(11 * round));   // commits of any of them
      }
      for (std::uint64_t n = 201; n <= 203; ++n) history->announce(test_record(n));
      return true;
    }));
    ::close(pipe[1]);
    auto history = open_history(folder);
    std::uint64_t n = 0, told = 0;
    while (::read(pipe[0], &n, sizeof n) == sizeof n) {
      ++told;
      auto row = history->find(cat("id-", n)).value();
      ASSERT_TRUE(row) << n;
      EXPECT_EQ(row->status, RunStatus::kCompleted) << n;
      EXPECT_EQ(row->command, test_record(n).command);
      EXPECT_EQ(history->details(row->id).value().result, details_of(n).result);
    }
    ::close(pipe[0]);
    EXPECT_GT(told, 150u);   // those with a row may not have been
    EXPECT_EQ(history->last_number(), 203u);
    EXPECT_EQ(history->list({.limit = 500}).value().size(), 203u);
    EXPECT_EQ(history->find("id-203").value()->error, "daemon stopped");
    EXPECT_EQ(history->abandoned(), 203u - history->list({.status = "completed", .limit = 500}).value().size());
    history.reset();
    EXPECT_EQ(open_history(folder)->abandoned(), 0u);
  }
}

TEST(History, WhoeverReadsFindsWhatItWasTold) {
  TestFolder folder;
  auto history = open_history(folder);
  for (std::uint64_t n = 1; n <= 100; ++n) {
    ASSERT_TRUE(history->announce(test_record(n)));
    bool told = false;
    history->end(ended_record(n), details_of(n), [&](Result<void> done) { told = done.ok(); });
    EXPECT_TRUE(told);
    if (n % 3 == 0) { EXPECT_EQ(history->find(cat("id-", n)).value()->status, RunStatus::kCompleted); }
    if (n % 3 == 1) { EXPECT_EQ(history->details(cat("id-", n)).value().result, details_of(n).result); }
    if (n % 3 == 2) { EXPECT_EQ(numbers(*history, {.limit = 1}), Numbers{n}); }
  }
}

// Nobody reads: it is written all the same, in a moment, and what is noted no more takes no room.
TEST(History, WhatIsNotedIsWrittenInAMoment) {
  TestFolder folder;
  auto history = open_history(folder);
  auto reader = std::move(HistoryReader::open(folder.file())).value();
  for (std::uint64_t n = 1; n <= 3 * Ended::kSlots; ++n) {
    ASSERT_TRUE(history->announce(test_record(n)));
    history->end(ended_record(n), details_of(n), nullptr);
  }
  auto last = [&] { return reader->find(cat("id-", 3 * Ended::kSlots)).value(); };
  for (int i = 0; i < 400 && !last(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(last());
  EXPECT_EQ(open_store(folder.file()).value().number("SELECT count(*) FROM execution_outcomes").value(), 3 * Ended::kSlots);
  auto fd = std::move(sys::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)).value();
  std::vector<WholeExecution> left;
  ASSERT_TRUE(Ended::open(fd.get(), left).ok());
  EXPECT_TRUE(left.empty());
}

// Beside a daemon, or after one that was killed: between the notes and the database nothing is missing.
TEST(Ended, WhoeverLooksBesideTheDaemonFindsWhatWasTold) {
  TestFolder folder;
  auto fd = std::move(sys::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)).value();
  EXPECT_TRUE(Ended::look(fd.get()).value().empty());   // nobody has been here
  auto history = open_history(folder);
  auto reader = std::move(HistoryReader::open(folder.file())).value();
  std::size_t notes = 0;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    ASSERT_TRUE(history->announce(test_record(n)));
    bool told = false;
    history->end(ended_record(n), details_of(n), [&](Result<void> done) { told = done.ok(); });
    ASSERT_TRUE(told);
    const std::string id = cat("id-", n);
    auto noted = Ended::look(fd.get()).value();
    auto row = reader->find(id).value();
    auto note = std::find_if(noted.begin(), noted.end(), [&](const auto& w) { return w.record.id == id; });
    ASSERT_TRUE(row || note != noted.end()) << n;
    if (note == noted.end()) continue;
    ++notes;
    EXPECT_EQ(note->record.status, RunStatus::kCompleted);
    EXPECT_EQ(note->record.number, n);
    EXPECT_EQ(note->details.result, details_of(n).result);
  }
  EXPECT_GT(notes, 0u) << "otherwise this shows nothing";
  history->flush();
  EXPECT_TRUE(Ended::look(fd.get()).value().empty());
  EXPECT_EQ(reader->list({.limit = 500}).value().size(), 300u);
}

// A file may grow no further in the child, which is what a full disk is to SQLite.
TEST(HistoryCrash, AFullDiskTakesNothingOfWhatWasTold) {
  for (bool comes_back : {true, false}) {
    TestFolder folder;
    ASSERT_TRUE(killed_after([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      auto history = open_history(folder);
      put(*history, 1);
      history->flush();
      struct rlimit limit {};
      ::getrlimit(RLIMIT_FSIZE, &limit);
      const auto before = limit.rlim_cur;
      limit.rlim_cur = 64 << 10;
      ::setrlimit(RLIMIT_FSIZE, &limit);
      int told = 0;
      for (std::uint64_t n = 2; n <= 40; ++n) {
        history->announce(test_record(n));
        history->end(ended_record(n), {"", std::string(8000, 'x'), "", ""}, [&](Result<void> done) { told += done.ok() ? 1 : 0; });
      }
      if (told != 39 || HistoryReader::open(folder.file()).value()->find("id-40").value()) return false;   // else the disk was not full
      auto keyed = ended_record(41);
      keyed.idempotency_key = "again";
      history->announce(keyed);
      history->end(keyed, {}, nullptr);
      if (!history->find_key(keyed.client, "again").value() || history->find_key("another", "again").value()) return false;
      // What was told is so: whoever asks by its id meanwhile finds it.
      auto meanwhile = history->find("id-40").value();
      if (!meanwhile || meanwhile->status != RunStatus::kCompleted || history->details("id-40").value().result.size() != 8000) return false;
      if (history->last_error().empty()) return false;
      if (!comes_back) return true;
      limit.rlim_cur = before;
      ::setrlimit(RLIMIT_FSIZE, &limit);
      return history->find("id-40").value() && history->find("id-2").value() && history->last_error().empty();
    })) << comes_back;
    auto history = open_history(folder);
    EXPECT_EQ(history->list({.status = "completed", .limit = 500}).value().size(), 41u) << comes_back;
    EXPECT_TRUE(history->find_key(ended_record(41).client, "again").value()) << comes_back;
    EXPECT_EQ(history->details("id-40").value().result, std::string(8000, 'x'));
  }
}

}  // namespace
}  // namespace hotcell
