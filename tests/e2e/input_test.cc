// What is wrong on the command line is said in one sentence, before anything runs.
#include <gtest/gtest.h>

#include "e2e/cli.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Input : public E2e {};

void refused(const std::vector<std::string>& options, const std::string& sentence, int code = 125) {
  std::vector<std::string> args = {"run"};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(), {"--", "/bin/echo", "ran"});
  auto called = hotcell(args);
  EXPECT_EQ(called.code, code) << called.describe();
  EXPECT_EQ(called.out, "");
  EXPECT_EQ(lines(called.err), 1u) << called.describe();
  EXPECT_TRUE(called.err.starts_with("hotcell: " + sentence)) << called.describe();
}

TEST_F(Input, Sizes) {
  refused({"--memory", "12Q"}, "--memory: \"12Q\" is not a size; accepted: ");
  refused({"--memory", "0"}, "--memory: \"0\" is no size to run with; accepted: ");
  refused({"--memory", "-1"}, "--memory: \"-1\" is not a size; accepted: ");
  refused({"--memory", ""}, "--memory: the value is empty; expected SIZE");
  refused({"--memory", "99999999999999999999999G"},
          "--memory: \"99999999999999999999999G\" is too large a size; accepted: ");
  refused({"--memory", "17179869184G"}, "--memory: \"17179869184G\" is too large a size; accepted: ");  // 2^64
}

TEST_F(Input, TimesAndCounts) {
  refused({"--timeout", "5x"}, "--timeout: \"5x\" is not a duration; accepted: ");
  refused({"--processes", "many"}, "--processes: \"many\" is not a count; accepted: ");
  refused({"--processes", "4294967296"}, "--processes: ");
  refused({"--env", "FOO"}, "--env: \"FOO\" is not NAME=VALUE");
}

TEST_F(Input, Names) {
  refused({"--profile", "nosuch"}, "--profile: there is no profile \"nosuch\"");
  refused({"--memroy", "1G"}, "unknown option --memroy; did you mean \"--memory\"?");
  refused({"--require", "magic"}, "--require: unknown layer \"magic\"; one of: ");
  refused({"--status-fd", "77"}, "--status-fd: 77 is not an open descriptor");
  auto called = hotcell({"frob"});
  EXPECT_EQ(called.code, 125);
  EXPECT_EQ(called.err, "hotcell: unknown command frob; see hotcell help\n");
  called = hotcell({"run"});
  EXPECT_EQ(called.code, 125);
  EXPECT_TRUE(called.err.starts_with("hotcell: nothing to run")) << called.err;
}

TEST_F(Input, Paths) {
  TempDir dir;
  refused({"--read", dir.path() + "/missing"}, "--read: " + dir.path() + "/missing: No such file or directory");
  refused({"--file", dir.path() + "/missing"}, "--file: ");
  refused({"--stdin", dir.path() + "/missing"}, "--stdin: ");
  refused({"--workdir", "/sys"}, "--workdir: the cell does not see /sys; add --read /sys or --write /sys");
  auto called = hotcell({"run", "--read", dir.path(), "--workdir", dir.path(), "--", "/bin/pwd"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, dir.path() + "\n");
}

TEST_F(Input, StrangeNamesAreEscaped) {
  refused({"--read", "/no\npe\xff\033[2J"}, "--read: /no\\npe\\xff\\x1b[2J: No such file or directory");
  auto called = hotcell({"run", "--", "/no\npe\xff"});
  EXPECT_EQ(called.code, 127);
  EXPECT_EQ(called.err, "hotcell: /no\\npe\\xff: program not found\n");

  // Bytes that are no text are no hindrance where the file exists; a line break is, as policies are lines.
  TempDir dir;
  refused({"--read", dir.path() + "/a\nb"}, "--read: " + dir.path() + "/a\\nb");
  std::string path = dir.path() + "/a b\xff";
  write_text(path, "inside\n");
  called = hotcell({"run", "--read", path, "--", "/bin/cat", path});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "inside\n");
}

// Called by somebody who is limited himself: it runs within that, or says what is in the way.
TEST_F(Input, LimitsOfTheCallersOwn) {
  auto limited = [](const std::string& limit, const std::string& options, int* code) {
    return shell_output({"/bin/sh", "-c", "ulimit " + limit + "; exec " + hotcell_path() + " run " + options + " -- /bin/sh -c 'ulimit -n' 2>&1"}, "", code);
  };
  int code = -1;
  EXPECT_EQ(limited("-n 400", "--open-files 1000", &code), "400\n");
  EXPECT_EQ(code, 0);
  std::string said = limited("-n 60", "", &code);
  EXPECT_NE(said.find("descriptors, and this process may have 60: raise it (ulimit -n "), std::string::npos) << said;
  EXPECT_EQ(code, 125);
  said = limited("-f 0", "", &code);
  EXPECT_NE(said.find("File too large"), std::string::npos) << said;
  EXPECT_EQ(code, 125) << "and not ended by SIGXFSZ without a word";
}

TEST_F(Input, ArgumentsOfMebibytes) {
  std::vector<std::string> args = {"run", "--", "/bin/sh", "-c", "echo $#; printf %s \"$*\" | wc -c", "sh"};
  args.insert(args.end(), 15, std::string(100000, 'a'));
  auto called = hotcell(args);
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "15\n1500014\n");

  // More than the cell's stack has room for: either it runs or it is told.
  args.insert(args.end(), 25, std::string(100000, 'a'));
  called = hotcell(args);
  if (called.code == 0) {
    EXPECT_EQ(called.out, "40\n4000039\n");
  } else {
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.err, "hotcell: the arguments and environment are larger than this kernel takes\n");
  }
}

}  // namespace
}  // namespace hotcell::testing
