// The strong tier: what is asked to run behind the strongest walls of this host does, and nothing takes its place.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "daemon/rest_client.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Tier : public DaemonFixture {
 protected:
  void SetUp() override {
    DaemonFixture::SetUp();
    // The backends are tried after the daemon is ready, which must not wait for them.
    for (int i = 0; i < 1200; ++i) {
      strong_ = part_of_info();
      if (strong_.find("still being tried") == std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    const std::string reason = field(strong_, "reason");
    backend_ = reason.substr(0, reason.find(':'));
  }

  // {"name":"strong",…}
  std::string part_of_info() {
    auto info = send("GET", "/api/v1/sandbox/info").body;
    auto at = info.find(R"("name":"strong")");
    return at == info.npos ? std::string() : info.substr(at, info.find('}', at) - at);
  }
  HttpAnswer execute(const std::string& body) { return send("POST", "/api/v1/sandbox/execute", body); }

  // The launcher of the strong tier, a child of the daemon's.
  std::vector<pid_t> launchers() const {
    std::vector<pid_t> out;
    for (const auto& path : matches("/proc/[0-9]*/cmdline")) {
      std::string words = read_text(path);
      pid_t pid = static_cast<pid_t>(std::stoi(path.substr(6)));
      if (words.find(std::string("backend\0launcher\0", 17)) == words.npos) continue;
      std::string stat = first_line(cat("/proc/", pid, "/stat"));
      auto fields = stat.substr(stat.rfind(") ") + 4);
      if (std::stoi(fields) == daemon_pid()) out.push_back(pid);
    }
    return out;
  }

  // Where no backend is strong enough, as for an ordinary user of this host, that is the answer, with the reason, to everything.
  bool refused_here() {
    if (strong_.find("\"supported\":true") != std::string::npos) return false;
    auto ran = execute(R"({"command":"true","tier":"strong"})");
    EXPECT_GE(ran.status, 400) << ran.body;
    EXPECT_NE(ran.body.find("strong sandbox tier unavailable"), std::string::npos) << ran.body;
    EXPECT_NE(ran.body.find(field(strong_, "reason")), std::string::npos) << ran.body << strong_;
    EXPECT_TRUE(launchers().empty());
    return true;
  }

  std::string strong_, backend_;
};

TEST_F(Tier, IsSaidWithItsReason) {
  // Root can have gVisor here.
  EXPECT_NE(strong_.find(is_root() ? "\"supported\":true" : "\"supported\":"), std::string::npos) << strong_;
  EXPECT_FALSE(backend_.empty()) << strong_;
  EXPECT_NE(backend_, "native");
}

TEST_F(Tier, AProgramRunsBehindItsWallsAndTheResultSaysWhich) {
  if (refused_here()) return;
  auto ran = execute(R"({"command":"sh","args":["-c","cat; echo $V; echo err >&2; exit 3"],"stdin":"in ","env":{"V":"v"},"tier":"strong"})");
  ASSERT_EQ(ran.status, 200) << ran.body;
  EXPECT_EQ(text_field(ran.body, "stdout"), "in v\n") << ran.body;
  EXPECT_EQ(text_field(ran.body, "stderr"), "err\n") << ran.body;
  EXPECT_NE(ran.body.find("\"exit_code\":3"), std::string::npos) << ran.body;
  EXPECT_EQ(field(ran.body, "backend"), backend_) << ran.body;
  auto light = execute(R"({"command":"true","tier":"light"})");
  EXPECT_EQ(field(light.body, "backend"), "native") << light.body;
  auto all = send("GET", "/api/v1/executions");
  EXPECT_NE(all.body.find(R"("tier":"strong")"), std::string::npos) << all.body;
}

TEST_F(Tier, CodeIsVerifiedAndRunsThereToo) {
  if (refused_here()) return;
  auto ran = execute(R"j({"language":"python","code":"print(6*7)","tier":"strong"})j");
  ASSERT_EQ(ran.status, 200) << ran.body;
  EXPECT_EQ(text_field(ran.body, "stdout"), "42\n") << ran.body;
  EXPECT_EQ(field(ran.body, "backend"), backend_) << ran.body;
  auto compiled = execute(R"j({"language":"c","code":"#include <stdio.h>\nint main(){puts(\"compiled\");}","tier":"strong"})j");
  EXPECT_EQ(text_field(compiled.body, "stdout"), "compiled\n") << compiled.body;
}

TEST_F(Tier, ADeadlineAndAKillEndIt) {
  if (refused_here()) return;
  auto late = execute(R"({"command":"sleep","args":["100"],"timeout_secs":2,"tier":"strong"})");
  EXPECT_EQ(text_field(late.body, "status"), "timeout") << late.body;
  auto begun = send("POST", "/api/v1/sandbox/execute?wait=false", R"({"command":"sleep","args":["100"],"tier":"strong"})");
  const std::string id = text_field(begun.body, "id");
  ASSERT_FALSE(id.empty()) << begun.body;
  std::string status;
  auto until = [&](const char* wanted) {
    for (int i = 0; i < 400 && status != wanted; ++i) {
      status = text_field(send("GET", "/api/v1/sandbox/status/" + id).body, "status");
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return status;
  };
  EXPECT_EQ(until("running"), "running");
  send("POST", "/api/v1/sandbox/kill/" + id);
  EXPECT_EQ(until("killed"), "killed");
}

// A killed launcher takes its runs along, which are told so; the next request has another one. Nothing runs natively instead.
TEST_F(Tier, ItsLauncherIsStartedAgain) {
  if (refused_here()) return;
  ASSERT_EQ(execute(R"({"command":"true","tier":"strong"})").status, 200);
  auto first = launchers();
  ASSERT_EQ(first.size(), 1u);
  std::thread running([&] {
    auto ran = execute(R"({"command":"sleep","args":["50"],"tier":"strong"})");
    EXPECT_EQ(text_field(ran.body, "status"), "failed") << ran.body;
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  record = false;
  ASSERT_EQ(::kill(first[0], SIGKILL), 0);
  running.join();
  record = true;
  auto again = execute(R"({"command":"echo","args":["again"],"tier":"strong"})");
  EXPECT_EQ(text_field(again.body, "stdout"), "again\n") << again.body;
  EXPECT_EQ(field(again.body, "backend"), backend_) << again.body;
  auto second = launchers();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0], first[0]);
}

TEST_F(Tier, WhatItCannotHoldIsRefusedNotWeakened) {
  if (refused_here()) return;
  auto ran = execute(R"({"command":"true","tier":"strong","network_enabled":true})");
  EXPECT_EQ(ran.body.find("\"status\":\"completed\""), std::string::npos) << ran.body;
  EXPECT_NE(ran.body.find("network"), std::string::npos) << ran.body;
}

}  // namespace
}  // namespace hotcell::testing
