// Code by REST and by `hotcell run --daemon`: what lies beside it, its variables, and runtimes that wait for it or must not.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/rest_client.h"
#include "e2e/cli.h"

namespace hotcell::testing {
namespace {

class Languages : public DaemonFixture {
 protected:
  void SetUp() override {
    // Profiles of the user that the daemon belongs to.
    std::string folder = (std::filesystem::temp_directory_path() / "hotcell-home-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    home_ = folder;
    if (const char* before = ::getenv("HOME")) home_before_ = before;
    std::filesystem::create_directories(home_ + "/.config/hotcell/profiles");
    std::ofstream(home_ + "/.config/hotcell/profiles/mine.yaml") << "extends: default\nlanguage: python\npreimport: [colorsys]\n";
    std::ofstream(home_ + "/.config/hotcell/profiles/cold.yaml") << "extends: default\nlanguage: python\nwarm: false\n";
    ::setenv("HOME", home_.c_str(), 1);
    config = "park:\n  cells: 0\n  python: 1\n  profiles: [mine, data-science, cold]\n";
    DaemonFixture::SetUp();
  }
  void TearDown() override {
    DaemonFixture::TearDown();
    ::setenv("HOME", home_before_.c_str(), 1);
    std::filesystem::remove_all(home_);
  }
  HttpAnswer execute(const std::string& body) { return send("POST", "/api/v1/sandbox/execute", body); }
  long hits() {
    auto stats = send("GET", "/api/v1/stats").body;
    auto at = stats.find("\"warm_hits\":");
    EXPECT_NE(at, std::string::npos) << stats;
    return at == std::string::npos ? -1 : std::atol(stats.c_str() + at + 12);
  }
  // The last of these was served by a runtime that waited. They are started in idle time, so not always the first.
  bool becomes_warm(const std::string& body, std::string* said = nullptr) {
    for (int i = 0; i < 60; ++i) {
      const long before = hits();
      auto answer = execute(body);
      EXPECT_EQ(field(answer.body, "status"), "completed") << answer.body;
      if (said != nullptr) *said = field(answer.body, "stdout");
      if (hits() > before) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }
  std::string home_, home_before_;
};

TEST_F(Languages, AHostileFileBesideTheCodeIsRefused) {
  constexpr const char* kMain = R"j("language":"python","profile":"strict","code":"import helper\nprint(helper.word())")j";
  auto good = execute(cat("{", kMain, R"(,"files":{"helper.py":"def word():\n    return 'fine'\n"}})"));
  EXPECT_EQ(field(good.body, "stdout"), "fine\\n") << good.body;
  auto bad = execute(cat("{", kMain, R"j(,"files":{"helper.py":"import os\ndef word():\n    os.system('id')\n"}})j"));
  EXPECT_EQ(field(bad.body, "exit_reason"), "verification") << bad.body;
  EXPECT_NE(bad.body.find("\"file\":\"helper.py\""), std::string::npos) << bad.body;
}

TEST_F(Languages, DenoSeesTheVariablesOfItsRequestAndNoOthers) {
  auto seen = execute(R"j({"language":"deno","code":"console.log(Deno.env.get('V'))","env":{"V":"var"}})j");
  EXPECT_EQ(field(seen.body, "stdout"), "var\\n") << seen.body;
  auto other = execute(R"j({"language":"deno","code":"console.log(Deno.env.get('PATH'))","env":{"V":"var"}})j");
  EXPECT_NE(other.body.find("NotCapable"), std::string::npos) << other.body;
}

TEST_F(Languages, RuntimesWaitForTheProfilesThatTheConfigurationNames) {
  std::string said;
  constexpr const char* kCode = R"j("language":"python","code":"import sys\nprint('colorsys' in sys.modules)")j";
  EXPECT_TRUE(becomes_warm(cat("{", kCode, R"(,"profile":"mine"})"), &said));
  EXPECT_EQ(said, "True\\n") << "what the profile imports in advance is there";
  auto cold = execute(cat("{", kCode, R"(,"profile":"mine","warm":false})"));
  EXPECT_EQ(field(cold.body, "stdout"), "False\\n") << cold.body;
  EXPECT_TRUE(becomes_warm(R"j({"language":"python","profile":"data-science","code":"import numpy\nprint(numpy.arange(4).sum())"})j", &said));
  EXPECT_EQ(said, "6\\n");
  EXPECT_TRUE(becomes_warm(R"j({"language":"python","rich":true,"code":"print(1)\n6 * 7"})j", &said)) << "what shows more than text is served, too";
  EXPECT_EQ(said, "1\\n");
}

TEST_F(Languages, WhoWantsNoWaitingRuntimeHasNone) {
  constexpr const char* kCode = R"j("language":"python","code":"print(1)")j";
  ASSERT_TRUE(becomes_warm(cat("{", kCode, "}"))) << "or there would be nothing to refuse";
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the next one waits by now
  long before = hits();
  EXPECT_EQ(field(execute(cat("{", kCode, R"(,"warm":false})")).body, "status"), "completed");
  EXPECT_EQ(hits(), before) << "by the request";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(field(execute(cat("{", kCode, R"(,"profile":"cold"})")).body, "status"), "completed");
  EXPECT_EQ(hits(), before) << "by the profile";
  int code = -1;
  auto by_daemon = [&](std::vector<std::string> more, std::string program = "print(1)") {
    std::vector<std::string> argv = {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1", "/usr/bin/env", cat("HOTCELL_LISTEN=127.0.0.1:", port),
                                     cat("HOME=", home_), hotcell_path(), "run", "--daemon", "--language", "python", "-c", program};
    argv.insert(argv.begin() + 9, more.begin(), more.end());
    return shell_output(argv, "", &code);
  };
  EXPECT_EQ(by_daemon({"--no-warm"}), "1\n");
  EXPECT_EQ(hits(), before) << "by the option";
  EXPECT_EQ(by_daemon({}), "1\n");
  EXPECT_GT(hits(), before) << "it has waited all the time";
  // Those that wait were started with the daemon's own way with long output, which is to cut it; the request's counts.
  for (auto [mode, exit] : {std::pair("kill", 137), {"truncate", 3}}) {
    before = hits();
    for (int i = 0; i < 60 && hits() == before; ++i) {
      by_daemon({"--on-output", mode}, "import time\nprint('x' * 3000000, flush=True)\ntime.sleep(0.5)\nexit(3)");
      EXPECT_EQ(code, exit) << mode;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_GT(hits(), before) << mode;
  }
  auto refused = by_daemon({"--explain-denials"});
  EXPECT_EQ(code, 125) << refused;
  EXPECT_NE(refused.find("--explain-denials with --daemon needs --json"), std::string::npos) << refused;
}

}  // namespace
}  // namespace hotcell::testing
