#include "store/begun.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/history_testing.h"
#include "sys/file.h"

namespace hotcell {
namespace {

sys::Fd folder_fd(const TestFolder& folder) { return std::move(sys::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)).value(); }

TEST(Begun, WhatIsNotedAndNotForgottenIsThereForTheNextProcess) {
  TestFolder folder;
  auto fd = folder_fd(folder);
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::vector<ExecutionRecord> left;
    auto begun = Begun::open(fd.get(), left);
    bool noted = begun.ok() && left.empty();
    for (std::uint64_t n = 1; n <= 5; ++n) noted = noted && begun.value().note(test_record(n));
    begun.value().forget(2);
    begun.value().forget(4);
    ::_exit(noted && begun.value().size() == 3 ? 7 : 1);   // nothing is flushed, nothing is closed
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  std::vector<ExecutionRecord> left;
  auto begun = Begun::open(fd.get(), left);
  ASSERT_TRUE(begun.ok());
  ASSERT_EQ(left.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto wanted = test_record(2 * i + 1);
    EXPECT_EQ(left[i].number, wanted.number);
    EXPECT_EQ(left[i].id, wanted.id);
    EXPECT_EQ(left[i].command, wanted.command);
    EXPECT_EQ(left[i].client, wanted.client);
    EXPECT_LT(std::chrono::system_clock::now() - left[i].created, std::chrono::minutes(1));
  }
  begun.value().forget_left();
  left.clear();
  EXPECT_TRUE(Begun::open(fd.get(), left).ok());
  EXPECT_TRUE(left.empty());
}

TEST(Begun, LongTextsAreCutAndTooManyAreRefused) {
  TestFolder folder;
  auto fd = folder_fd(folder);
  std::vector<ExecutionRecord> left;
  auto begun = Begun::open(fd.get(), left);
  ASSERT_TRUE(begun.ok());
  auto record = test_record(1);
  record.client = "somebody";
  record.command.clear();
  for (int i = 0; i < 5000; ++i) record.command += "ü";
  ASSERT_TRUE(begun.value().note(record));
  for (std::uint64_t n = 2; n <= Begun::kSlots; ++n) ASSERT_TRUE(begun.value().note(test_record(n)));
  EXPECT_FALSE(begun.value().note(test_record(Begun::kSlots + 1)));
  begun.value().forget(77);
  EXPECT_TRUE(begun.value().note(test_record(Begun::kSlots + 1)));
  auto again = Begun::open(fd.get(), left);
  ASSERT_EQ(left.size(), Begun::kSlots);
  EXPECT_EQ(left[0].client, "somebody");
  EXPECT_GT(left[0].command.size(), 500u);
  EXPECT_TRUE(is_valid_utf8(left[0].command));
}

TEST(Begun, AFileOfOtherBytesIsNothing) {
  TestFolder folder;
  folder.write("begun", std::string(3 * Begun::kSlot + 5, '\x01'));
  auto fd = folder_fd(folder);
  std::vector<ExecutionRecord> left;
  auto begun = Begun::open(fd.get(), left);
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(begun.value().note(test_record(1)));
}

// Announced and killed: failed, "daemon stopped". Announced and ended: as it ended. Each once.
TEST(HistoryCrash, WhatWasOnlyAnnouncedIsARowOfADaemonThatStopped) {
  TestFolder folder;
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto history = open_history(folder);
    for (std::uint64_t n = 1; n <= 9; ++n)
      if (!history->announce(test_record(n))) ::_exit(1);
    for (std::uint64_t n = 1; n <= 3; ++n) history->end(ended_record(n), {}, nullptr);
    for (std::uint64_t n = 4; n <= 6; ++n) history->begin(test_record(n), "{}", nullptr);
    history->flush();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int round = 0; round < 2; ++round) {
    auto history = open_history(folder);
    EXPECT_EQ(history->abandoned(), round == 0 ? 6u : 0u);
    EXPECT_EQ(history->last_number(), 9u);
    EXPECT_EQ(numbers(*history), (Numbers{9, 8, 7, 6, 5, 4, 3, 2, 1}));
    for (std::uint64_t n = 1; n <= 9; ++n) {
      auto row = history->find(cat("id-", n)).value();
      ASSERT_TRUE(row) << n;
      EXPECT_EQ(row->status, n <= 3 ? RunStatus::kCompleted : RunStatus::kFailed) << n;
      EXPECT_EQ(row->error, n <= 3 ? "" : "daemon stopped") << n;
      EXPECT_EQ(row->command, cat("print(", n, ")"));
    }
  }
}

}  // namespace
}  // namespace hotcell
