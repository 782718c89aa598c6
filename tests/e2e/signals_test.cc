// Ending hotcell ends everything in its cell, however it is ended and whatever the program does about it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "e2e/cli.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong(10000);

class Signals : public E2e {
 protected:
  // Found again in command lines from outside: sleep takes it as a fraction of a second.
  const std::string token_ = ".000" + std::to_string(::getpid()) + "7";
  std::vector<std::string> stubborn() const {
    return {"run", "--", "/bin/sh", "-c",
            "trap '' INT TERM HUP; sleep 300" + token_ + " & setsid sleep 301" + token_ + " & echo ready; wait"};
  }
};

TEST_F(Signals, InterruptAndTerminate) {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    Call call(stubborn());
    ASSERT_TRUE(call.wait_for_output("ready\n"));
    EXPECT_TRUE(seen_within(token_, 4, kLong)) << "hotcell, the shell and its two children";
    auto start = std::chrono::steady_clock::now();
    call.send(number);
    auto called = call.finish();
    EXPECT_EQ(called.code, 128 + number) << called.describe();
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3000));
    EXPECT_TRUE(gone_within(token_, milliseconds(0))) << "a process outlived hotcell";
    EXPECT_EQ(called.out, "ready\n");
  }
}

TEST_F(Signals, WhoeverStartedItMayIgnoreItsChildren) {
  int code = 0;
  std::vector<std::string> ignoring = {"/usr/bin/timeout", "-s", "KILL", "20", "env", "--ignore-signal=CHLD", hotcell_path(), "run"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), ignoring.begin(), ignoring.end());
    return more;
  };
  EXPECT_EQ(shell_output(with({"--", "/bin/sh", "-c", "echo in; exit 7"}), "", &code), "in\n");
  EXPECT_EQ(code, 7);
  EXPECT_EQ(shell_output(with({"--language", "python", "-c", "print('checked')"}), "", &code), "checked\n");
  EXPECT_EQ(code, 0);
}

TEST_F(Signals, TheFolderOfOneThatWasKilledGoesWithTheNextStart) {
  Call call({"run", "--backend", "landlock", "--", "/bin/sh", "-c", "echo ready; sleep 300" + token_});
  ASSERT_TRUE(call.wait_for_output("ready\n"));
  auto folders = "/tmp/hotcell-" + std::to_string(call.pid()) + "-*";
  EXPECT_EQ(matches(folders).size(), 1u) << "the control: its workspace";
  call.send(SIGKILL);
  EXPECT_TRUE(gone_within(token_, kLong));
  call.finish();
  EXPECT_EQ(hotcell({"run", "--backend", "landlock", "--", "/bin/true"}).code, 0);
  EXPECT_EQ(matches(folders).size(), 0u);
}

TEST_F(Signals, AnInterruptedRunStillReports) {
  auto args = stubborn();
  args.insert(args.begin() + 1, "--json");
  Call call(args);
  EXPECT_TRUE(seen_within(token_, 4, kLong));
  call.send(SIGTERM);
  auto called = call.finish();
  EXPECT_EQ(called.code, 143) << called.describe();
  EXPECT_NE(called.out.find("\"exit_reason\":\"cancelled\""), std::string::npos) << called.describe();
}

TEST_F(Signals, KillingHotcellKillsTheCell) {
  Call call(stubborn());
  ASSERT_TRUE(call.wait_for_output("ready\n"));
  EXPECT_TRUE(seen_within(token_, 4, kLong));
  pid_t pid = call.pid();
  call.send(SIGKILL);
  EXPECT_TRUE(gone_within(token_, milliseconds(2000))) << "the cell outlived hotcell";
  auto called = call.finish();
  EXPECT_EQ(called.signal, SIGKILL);
  // Nobody was left to remove its groups: the next run does.
  EXPECT_EQ(hotcell({"run", "--", "/bin/true"}).code, 0);
  EXPECT_TRUE(cgroups_of(pid).empty()) << cgroups_of(pid).front();
}

TEST_F(Signals, WhatTheProgramLeavesBehindEndsWithIt) {
  auto called = hotcell({"run", "--", "/bin/sh", "-c", "trap '' HUP; setsid sleep 300" + token_ + " & echo started"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "started\n");
  EXPECT_TRUE(gone_within(token_, milliseconds(0)));
}

}  // namespace
}  // namespace hotcell::testing
