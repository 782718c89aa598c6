// --json and --status-fd, as a program reads them.
#include <gtest/gtest.h>

#include <sstream>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class JsonReport : public E2e {};

Json one_line(const Called& called) {
  EXPECT_EQ(lines(called.out), 1u) << called.describe();
  return Json(called.out);
}

TEST_F(JsonReport, HasEveryKeyOfARun) {
  auto called = hotcell({"run", "--json", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(called.code, 3) << called.describe();
  EXPECT_EQ(called.err, "");
  Json json = one_line(called);
  const std::vector<std::string> keys = {"id",
                                         "status",
                                         "exit_code",
                                         "signal",
                                         "exit_reason",
                                         "stdout",
                                         "stderr",
                                         "stdout_bytes",
                                         "stderr_bytes",
                                         "stdout_truncated",
                                         "stderr_truncated",
                                         "start_time",
                                         "end_time",
                                         "duration",
                                         "error",
                                         "resource_usage",
                                         "enforcement",
                                         "denials",
                                         "denials_complete",
                                         "notices",
                                         "findings",
                                         "outputs",
                                         "compile",
                                         "setup_ns"};
  EXPECT_EQ(json.keys(), keys);
  EXPECT_EQ(json.text("id").size(), 36u);
  EXPECT_EQ(json.text("status"), "failed");
  EXPECT_EQ(json.text("exit_code"), "3");
  EXPECT_EQ(json.text("signal"), "null");
  EXPECT_EQ(json.text("exit_reason"), "exited");
  EXPECT_EQ(json.text("stdout"), "out\n");
  EXPECT_EQ(json.text("stderr"), "err\n");
  EXPECT_EQ(json.text("stdout_bytes"), "4");
  auto ns = [&](const std::string& what) { return std::stoull(json.text("resource_usage/cpu_" + what + "_ns")); };
  EXPECT_GT(ns("time"), 0u);
  EXPECT_EQ(ns("user") + ns("system"), ns("time")) << "its parts are all of it, also of a short run";
  EXPECT_EQ(json.text("enforcement/backend"), "native");
  EXPECT_EQ(json.find_by_name("enforcement/layers", "seccomp", "status"), "full");
  EXPECT_EQ(json.find_by_name("enforcement/layers", "pid_ns", "status"), "full");
  EXPECT_EQ(json.find_by_name("enforcement/layers", "lsm", "status"), "none");
  EXPECT_LT(json.text("start_time"), json.text("end_time"));
  EXPECT_GT(std::stoll(json.text("duration")), 0);
}

TEST_F(JsonReport, SaysHowItEnded) {
  auto called = hotcell({"run", "--json", "--", "/bin/true"});
  EXPECT_EQ(called.code, 0);
  EXPECT_EQ(one_line(called).text("status"), "completed");

  called = hotcell({"run", "--json", "--timeout", "300ms", "--", "/bin/sleep", "30"});
  EXPECT_EQ(called.code, 124);
  Json late = one_line(called);
  EXPECT_EQ(late.text("status"), "timeout");
  EXPECT_EQ(late.text("exit_reason"), "timeout_wall");
  EXPECT_EQ(late.text("exit_code"), "null");

  called = hotcell({"run", "--json", "--", "/bin/sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(called.code, 143);
  Json signalled = one_line(called);
  EXPECT_EQ(signalled.text("exit_reason"), "signal");
  EXPECT_EQ(signalled.text("signal"), "15");
  EXPECT_EQ(signalled.text("exit_code"), "null");
}

TEST_F(JsonReport, HasOurOwnFailures) {
  auto called = hotcell({"run", "--json", "--memory", "12Q", "--", "/bin/true"});
  EXPECT_EQ(called.code, 125);
  EXPECT_EQ(lines(called.err), 1u) << called.err;
  Json refused = one_line(called);
  EXPECT_EQ(refused.text("status"), "failed");
  EXPECT_EQ(refused.text("exit_reason"), "sandbox_error");
  EXPECT_EQ(refused.text("exit_code"), "null");
  EXPECT_TRUE(refused.text("error").starts_with("--memory: \"12Q\" is not a size")) << refused.text("error");

  called = hotcell({"run", "--json", "--", "/no/such/program"});
  EXPECT_EQ(called.code, 127);
  EXPECT_EQ(one_line(called).text("error"), "/no/such/program: program not found");
}

TEST_F(JsonReport, KeepsBytesThatAreNotText) {
  auto called = hotcell({"run", "--json", "--", "/bin/sh", "-c", "printf 'hi\\377\\376'; printf 'a\\033b\\000c' >&2"});
  Json json = one_line(called);
  EXPECT_FALSE(json.has("stdout")) << called.out;
  EXPECT_EQ(json.text("stdout_base64"), "aGn//g==");
  EXPECT_EQ(json.text("stdout_bytes"), "4");
  EXPECT_EQ(json.text("stderr"), std::string("a\033b\0c", 5));
}

TEST_F(JsonReport, NothingOfTheProgramCanForgeIt) {
  auto called = hotcell({"run", "--json", "--", "/bin/sh", "-c", R"(echo '","exit_code":0,"x":"'; exit 7)"});
  EXPECT_EQ(called.code, 7);
  Json json = one_line(called);
  EXPECT_EQ(json.text("exit_code"), "7");
  EXPECT_EQ(json.text("stdout"), "\",\"exit_code\":0,\"x\":\"\n");
}

TEST_F(JsonReport, EventsGoToTheStatusDescriptor) {
  const std::string number = std::to_string(kStatusFd);
  auto called = hotcell({"run", "--status-fd", number, "--", "/bin/sh", "-c", "ls /proc/self/fd; exit 3"});
  EXPECT_EQ(called.code, 3) << called.describe();
  EXPECT_TRUE(called.out.starts_with("0\n1\n2\n")) << called.out;
  EXPECT_EQ(called.out.find(number), std::string::npos) << "the program has the status descriptor: " << called.out;
  std::istringstream stream(called.status);
  std::vector<std::string> types;
  std::string id;
  for (std::string line; std::getline(stream, line);) {
    Json event(line);
    types.push_back(event.text("type"));
    if (id.empty()) id = event.text("id");
    EXPECT_EQ(event.text("id"), id);
    EXPECT_TRUE(event.has("time"));
    if (types.back() == "execution.completed") {
      EXPECT_EQ(event.text("exit_reason"), "exited");
      EXPECT_EQ(event.text("exit_code"), "3");
      EXPECT_GT(std::stoll(event.text("duration")), 0);
    }
  }
  ASSERT_GE(types.size(), 4u) << called.status;
  EXPECT_EQ(types.front(), "sandbox.created");
  EXPECT_EQ(types[1], "execution.started");
  EXPECT_EQ(types[types.size() - 2], "execution.completed");
  EXPECT_EQ(types.back(), "sandbox.destroyed");
}

TEST_F(JsonReport, AMissingRequirementStartsNothing) {
  auto called = hotcell(
      {"run", "--json", "--require", "lsm", "--status-fd", std::to_string(kStatusFd), "--", "/bin/echo", "ran"});
  if (called.code == 0) GTEST_SKIP() << "this machine has the lsm layer";
  EXPECT_EQ(called.code, 125) << called.describe();
  Json json = one_line(called);
  EXPECT_EQ(json.text("exit_reason"), "sandbox_error");
  EXPECT_EQ(json.text("stdout"), "");
  EXPECT_TRUE(json.text("error").starts_with("required layer lsm is none here")) << json.text("error");
  EXPECT_EQ(called.status.find("execution.started"), std::string::npos) << called.status;
}

}  // namespace
}  // namespace hotcell::testing
