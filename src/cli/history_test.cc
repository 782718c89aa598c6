#include "store/history.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cli/commands.h"
#include "store/history_testing.h"
#include "sys/uuid.h"

namespace hotcell {
namespace {

std::string printed(int (*command)(Args), const std::vector<std::string>& words, int* code) {
  std::vector<std::string_view> args(words.begin(), words.end());
  ::testing::internal::CaptureStdout();
  *code = command(args);
  return ::testing::internal::GetCapturedStdout();
}

// Its last ten characters were missing, and `show` took what was printed for an unknown one.
TEST(CliHistory, AnIdOfTheListIsOneThatShowTakes) {
  TestFolder folder;
  auto record = ended_record(1);
  record.id = sys::random_uuid();
  {
    auto history = std::move(History::open(folder.file(), {})).value();
    history->begin(record, R"({"argv":["x"]})", nullptr);
    history->end(record, {}, nullptr);
    history->flush();
  }
  int code = -1;
  auto list = printed(cmd_history, {"list", "--state", folder.path()}, &code);
  EXPECT_EQ(code, 0);
  auto words = split(list, ' ');
  std::erase(words, std::string_view());
  ASSERT_GT(words.size(), 2u) << list;
  EXPECT_EQ(words[1], record.id) << list;
  auto shown = printed(cmd_history, {"show", std::string(words[1]), "--state", folder.path()}, &code);
  EXPECT_EQ(code, 0);
  EXPECT_NE(shown.find(record.id), std::string::npos) << shown;
}

}  // namespace
}  // namespace hotcell
