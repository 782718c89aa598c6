// What compilers and shellcheck say, made into findings.
#include <gtest/gtest.h>

#include <iostream>

#include "manager/compiler_findings.h"
#include "manager/shell_findings.h"

namespace hotcell {
namespace {

Sources one_file() {
  Sources sources;
  sources.files = {{"main.c", "int main() {\n  int x;\n  gets(0);\n}\n"}};
  sources.main = "main.c";
  return sources;
}

TEST(CompilerFindings, WarningsInformOnceWhereNothingElseWasSaid) {
  std::vector<Diagnostic> said = {{"main.c", 2, 7, "warning", "unused variable"},
                                  {"main.c", 2, 7, "warning", "unused variable"},
                                  {"main.c", 2, 7, "note", "declared here"},
                                  {"main.c", 3, 3, "warning", "implicit declaration"},
                                  {"main.c", 4, 1, "error", "no"}};
  Finding known;
  known.rule = "c-unsafe-function";
  known.file = "main.c";
  known.line = 3;
  auto found = compiler_findings(said, one_file(), {&known, 1}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "compiler-warning");
  EXPECT_EQ(found[0].severity, "info");
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[0].message, "unused variable");
  EXPECT_EQ(found[0].snippet, "int x;");
  std::vector<std::string> off = {"compiler-*"};
  EXPECT_TRUE(compiler_findings(said, one_file(), {}, off).empty());
}

TEST(ShellFindings, ErrorsAreWarningsAndTheRestInforms) {
  auto found = read_shellcheck(
      "-:1:10: error: Iterating over it is fragile. [SC2045]\n"
      "-:2:2: warning: x appears unused. [SC2034]\n"
      "-:2:2: note: quote this [SC2086]\n",
      "for f in $(ls); do :; done\n\tx=1\n", "a.sh");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rule, "shellcheck-SC2045");
  EXPECT_EQ(found[0].severity, "warning");
  EXPECT_EQ(found[0].message, "Iterating over it is fragile.");
  EXPECT_EQ(found[1].rule, "shellcheck-SC2034");
  EXPECT_EQ(found[1].severity, "info");
  EXPECT_EQ(found[1].snippet, "x=1");
  EXPECT_EQ(found[1].file, "a.sh");
}

TEST(ShellFindings, WhatALyingShellcheckSaysIsNotBelieved) {
  for (const char* report :
       {"-:9:1: error: beyond the end [SC1000]\n", "-:0:1: error: before the start [SC1000]\n",
        "-:1:1: error: no code\n", "-:1:1: error: no number [SCx]\n", "/etc/passwd:1:1: error: x [SC1000]\n",
        "-:1:1: error:  [SC1000]\n", "-:1", "\n\n", "-:99999999999:1: error: x [SC1]\n"})
    EXPECT_TRUE(read_shellcheck(report, "x\n", "a.sh").empty()) << report;
  std::string many;
  for (int i = 0; i < 500; ++i) many += "-:1:1: error: again \033[31m [SC1000]\n";
  auto found = read_shellcheck(many, "x\n", "a.sh");
  ASSERT_EQ(found.size(), 100u);
  EXPECT_EQ(found[0].message.find('\033'), std::string::npos);
}

TEST(ShellFindings, ShellcheckRunsInACell) {
  if (!shellcheck_is_there()) {
    std::cout << "skipped: shellcheck is not there\n";
    return;
  }
  auto launcher = Launcher::create();
  ASSERT_TRUE(launcher.ok());
  auto found =
      shellcheck_findings(*launcher.value(), "for f in $(ls); do echo \"$f\"; done\n", "a.sh", default_policy());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "shellcheck-SC2045");
  EXPECT_EQ(found[0].column, 10);
  EXPECT_TRUE(shellcheck_findings(*launcher.value(), "echo ok\n", "a.sh", default_policy()).empty());
}

}  // namespace
}  // namespace hotcell
