#include "cli/verdict_words.h"

#include <gtest/gtest.h>

#include "cli/progress.h"

namespace hotcell {
namespace {

using Words = std::vector<std::string>;

Report ended(ExitReason reason, std::optional<int> code = std::nullopt) {
  Report r;
  r.verdict.reason = reason;
  r.verdict.exit_code = code;
  return r;
}

TEST(VerdictWords, NothingIsSaidAboutAnOrdinaryEnd) {
  EXPECT_EQ(verdict_words(ended(ExitReason::kExited, 0), default_policy(), Talk::kBrief), Words{});
  EXPECT_EQ(verdict_words(ended(ExitReason::kExited, 3), default_policy(), Talk::kBrief), Words{});
}

TEST(VerdictWords, ALimitNamesItsFlagAndItsValue) {
  auto said = [](ExitReason reason) {
    auto words = verdict_words(ended(reason), default_policy(), Talk::kBrief);
    return words.size() == 1 ? words[0] : "";
  };
  EXPECT_EQ(said(ExitReason::kMemory), "killed: used more than 256M of memory (raise with --memory)");
  EXPECT_NE(said(ExitReason::kTimeoutWall).find("--timeout"), std::string::npos);
  EXPECT_NE(said(ExitReason::kTimeoutCpu).find("--cpu-time"), std::string::npos);
  EXPECT_NE(said(ExitReason::kOutput).find("--output"), std::string::npos);
  EXPECT_NE(said(ExitReason::kProcesses).find("10 processes"), std::string::npos);
  EXPECT_NE(said(ExitReason::kDisk).find("--disk"), std::string::npos);
}

TEST(VerdictWords, RefusalsAreToldWhenTheProgramFailedAndOtherwiseWhenAsked) {
  Report r = ended(ExitReason::kExited, 0);
  r.denials = {{"seccomp", "ptrace was refused", "ptrace", "syscalls: {allow: [ptrace]}", 2}};
  EXPECT_EQ(verdict_words(r, default_policy(), Talk::kBrief), Words{});
  Words expected = {"refused by seccomp: ptrace was refused (2 times); to allow it: syscalls: {allow: [ptrace]}"};
  EXPECT_EQ(verdict_words(r, default_policy(), Talk::kVerbose), expected);
  r.verdict.exit_code = 1;
  EXPECT_EQ(verdict_words(r, default_policy(), Talk::kBrief), expected);
}

TEST(VerdictWords, AHundredRefusalsAreNotAHundredLines) {
  Report r = ended(ExitReason::kExited, 1);
  r.denials.assign(100, {"seccomp", "x", "x", "", 1});
  auto words = verdict_words(r, default_policy(), Talk::kBrief);
  ASSERT_EQ(words.size(), 9U);
  EXPECT_EQ(words.back(), "and 92 more refusals (see --json)");
}

TEST(VerdictWords, PartialLayersAreToldOnlyWhenAsked) {
  Report r = ended(ExitReason::kExited, 0);
  r.enforcement.layers = {{Layer::kMemory, LayerStatus::kPartial, "no cgroup"},
                          {Layer::kSeccomp, LayerStatus::kFull, ""}};
  EXPECT_EQ(verdict_words(r, default_policy(), Talk::kBrief), Words{});
  EXPECT_EQ(verdict_words(r, default_policy(), Talk::kVerbose), Words{"layer memory: partial: no cgroup"});
}

TEST(Progress, TheLineSaysTheTimeAndALimitThatIsNear) {
  LiveUsage usage;
  usage.cpu = std::chrono::milliseconds(1950);
  usage.memory = {(48 << 20) + (600 << 10)};
  usage.tasks = 3;
  const auto line = [&](std::size_t columns) {
    return progress_line(std::chrono::milliseconds(3260), std::chrono::seconds(60), usage, ", memory at 81%", columns);
  };
  EXPECT_EQ(line(0), "hotcell: running 3.2s of 60s, memory 48.5M, cpu 1.9s, 3 tasks, memory at 81%");
  EXPECT_EQ(line(17), "hotcell: running") << "a line that wraps cannot be erased";
}

}  // namespace
}  // namespace hotcell
