// The shared rows: what must be flagged is, what must pass does; and the share of risky programs found under strict.
#include <gtest/gtest.h>

#include <chrono>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

using testing_rules::for_each_row;
using testing_rules::json_text;

TEST(BashData, EveryVerifierRowIsAnsweredAsExpected) {
  for_each_row("attacks/verifier.jsonl", [](const std::string& line) {
    if (json_text(line, "lang") != "bash") return;
    std::string code = json_text(line, "code");
    bool flag = json_text(line, "expect") == "flag";
    auto found = judged(code);
    if (flag) {
      EXPECT_GT(found.count("error"), 0) << code.substr(0, 300) << "\n" << found.words();
      EXPECT_GT(judged(code, VerifyLevel::kStrict).count("error"), 0) << code.substr(0, 300);
    } else {
      EXPECT_EQ(found.count("error") + found.count("warning"), 0) << code << "\n" << found.words();
    }
  });
}

TEST(BashData, RiskyProgramsAreFoundUnderStrict) {
  int all = 0, hit = 0;
  for_each_row("redcode-exec/bash.jsonl", [&](const std::string& line) {
    std::string code = json_text(line, "code");
    ++all;
    if (judged(code, VerifyLevel::kStrict).count("error") > 0)
      ++hit;
    else
      std::printf("missed: %s\n", code.c_str());
  });
  std::printf("%d of %d risky programs have an error under strict\n", hit, all);
  EXPECT_GE(hit * 100, all * 97);
}

TEST(BashSpeed, LongScriptsAreReadInBoundedTime) {
  std::string text;
  for (int i = 0; i < 12500; ++i)
    text += "if [ -f \"$x\" ]; then\n  y=$(cat file | grep \"$x\")\n  echo \"a $y\" > out.txt\nfi\n";
  auto begin = std::chrono::steady_clock::now();
  auto facts = bash_facts(text);
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  std::printf("50 000 lines: %ld ms, %zu facts\n", static_cast<long>(took), facts.size());
  EXPECT_GE(facts.size(), 40000U);
  EXPECT_LT(took, 20000);  // not a measurement: quadratic would take minutes
}

TEST(BashSpeed, HostileScriptsAreReadInBoundedTime) {
  auto repeat = [](std::string s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  const std::vector<std::string> texts = {
      repeat("a=$a$a; ", 20000),
      "a=xxxxxxxxxx; " + repeat("a=$a$a; $a\n", 5000),
      repeat("f() { f; }; f\n", 5000),
      repeat("eval ", 20000) + "x",
      "eval '" + repeat("eval \"", 5000) + "'",
      repeat("{a,b}", 5000),
      repeat("echo a | sh | ", 5000) + "sh",
      repeat("alias a=b; a\n", 2000),
      repeat("echo ${x:-", 100) + repeat("}", 100),
      repeat("bash -c 'bash -c x' ", 3000),
      repeat("x=$(echo ", 60) + repeat(")", 60),
      "f() { f2; f2; }; f2() { f3; f3; }; f3() { f4; f4; }; f4() { f5; f5; }; f5() { f6; f6; }; f6() { f; f; }; f",
      repeat("rm -rf x; ", 20000)};
  for (const std::string& text : texts) {
    auto begin = std::chrono::steady_clock::now();
    bash_facts(text);
    auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(took, 10000) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace hotcell::bash
