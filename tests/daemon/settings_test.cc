// What the daemon was told, and whether that is so.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "daemon/processes.h"
#include "server/config/fields.h"
#include "server/json/json_value.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

// A login shell gives a thousand descriptors, of which a few dozen cells take all.
class FewFiles : public DaemonFixture {
 protected:
  void SetUp() override {
    record = false;
    config = "queue:\n  running: 32\n";
    struct rlimit own {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    struct rlimit few = own;
    few.rlim_cur = 256;
    hard = own.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    DaemonFixture::SetUp();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &own), 0);
  }
  rlim_t hard = 0;
};

TEST_F(FewFiles, TheDaemonTakesAsManyAsItMayAndRunsWhatItIsAskedFor) {
  struct rlimit theirs {};
  const pid_t launcher = child_named(daemon_pid(), "hotcell-launch");
  ASSERT_NE(launcher, 0);
  ASSERT_EQ(::prlimit(launcher, RLIMIT_NOFILE, nullptr, &theirs), 0);
  EXPECT_EQ(theirs.rlim_cur, std::min<rlim_t>(hard, 65536));
  std::vector<std::future<HttpAnswer>> all;
  for (int i = 0; i < 32; ++i)
    all.push_back(std::async(std::launch::async, [this] { return send("POST", "/api/v1/sandbox/execute", R"({"command":"sleep","args":["1"]})"); }));
  for (auto& one : all) {
    auto answer = one.get();
    EXPECT_EQ(field(answer.body, "status"), "completed") << answer.body;
  }
  // A cell has what its policy says, whatever the daemon has.
  EXPECT_EQ(field(send("POST", "/api/v1/sandbox/execute", R"({"command":"sh","args":["-c","ulimit -Sn; ulimit -Hn"]})").body, "stdout"), "100\\n100\\n");
}

class Settings : public DaemonFixture {
 protected:
  void SetUp() override {
    around_ = (std::filesystem::temp_directory_path() / "hotcell-settings-XXXXXX").string();
    ASSERT_NE(::mkdtemp(around_.data()), nullptr);
    std::ofstream(around_ + "/mine.yaml") << "name: mine\nextends: default\nlimits:\n  memory: 96M\n  processes: 7\n";
    serve_words = {"--profile", around_ + "/mine.yaml", "--max-running", "3"};
    variables = {{"SANDBOX_PROFILE", "data-science"}};
    config = "limits:\n  timeout: 20s\n  max_timeout: 90s\n  memory: 512M\nqueue:\n  waiting: 77\n";
    DaemonFixture::SetUp();
  }
  void TearDown() override {
    DaemonFixture::TearDown();
    std::error_code ignored;
    std::filesystem::remove_all(around_, ignored);
  }
  server::JsonValue info() {
    auto parsed = server::parse_json(send("GET", "/api/v1/sandbox/info").body, server::JsonBounds{16, 10'000});
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? std::move(parsed).value() : server::JsonValue{};
  }
  static const server::JsonValue& at(const server::JsonValue& value, std::string_view path) {
    static const server::JsonValue nothing;
    const server::JsonValue* here = &value;
    for (auto name : split(path, '.')) {
      here = here->find(name);
      if (here == nullptr) return ADD_FAILURE() << path << ": no " << name, nothing;
    }
    return *here;
  }

  std::string around_;
};

TEST_F(Settings, InfoHasTheConfigurationThatIsInForce) {
  auto all = info();
  for (const auto& field : server::fields()) at(all, cat("configuration.effective.", field.key));
  EXPECT_EQ(*at(all, "configuration.effective.limits.max_timeout").string(), "90s");
  EXPECT_EQ(at(all, "configuration.effective.queue.waiting").integer(), 77);
  EXPECT_EQ(at(all, "configuration.effective.queue.running").integer(), 3) << "an option wins over the file";
  EXPECT_EQ(*at(all, "configuration.effective.default_profile").string(), around_ + "/mine.yaml");
  EXPECT_EQ(*at(all, "configuration.effective.backend").string(), "native");
  EXPECT_EQ(at(all, "configuration.limits.wall_ns").integer(), 90'000'000'000);
  EXPECT_EQ(at(all, "configuration.limits.memory").integer(), 512 << 20);
  EXPECT_EQ(*at(all, "max_timeout").string(), "1m30s");
  // What is changed while it runs is in force, too.
  EXPECT_FALSE(std::get<bool>(at(all, "configuration.effective.network.enabled").v));
  auto changed = send("PATCH", "/api/v1/sandbox/config", R"({"network_enabled":true})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_TRUE(std::get<bool>(at(info(), "configuration.effective.network.enabled").v));
}

class Restarted : public DaemonFixture {
 protected:
  void SetUp() override {
    config = "network: {enabled: false}\n";
    DaemonFixture::SetUp();
  }
};

TEST_F(Restarted, ANetworkThatWasChangedWhileItRanOutlastsTheFileAndThatIsSaid) {
  EXPECT_EQ(send("PATCH", "/api/v1/sandbox/config", R"({"network_enabled":true})").status, 200);
  EXPECT_FALSE(has(read_text(state + ".said"), "network.enabled")) << "it has just been asked for";
  end_daemon();
  start_daemon();
  EXPECT_TRUE(has(send("GET", "/api/v1/sandbox/info").body, R"("network_enabled":true)"));
  EXPECT_TRUE(has(read_text(state + ".said"), "network.enabled is true, as PATCH /api/v1/sandbox/config has left it; the configuration says false")) << read_text(state + ".said");
}

TEST_F(Settings, AProfileFromAFileIsThatOfRequestsThatNameNone) {
  auto all = info();
  EXPECT_EQ(at(all, "memory_limit").integer(), 96 << 20);
  EXPECT_EQ(at(all, "process_limit").integer(), 7);
  auto ran = send("POST", "/api/v1/sandbox/execute", R"({"command":"echo","args":["x"]})");
  EXPECT_EQ(ran.status, 200) << ran.body;
  auto much = send("POST", "/api/v1/sandbox/execute", R"j({"language":"python","code":"import time; x = bytearray(120 << 20); time.sleep(3); print(len(x))"})j");
  // Killed by the next look at its cgroup, or refused by RLIMIT_DATA where there is none.
  EXPECT_EQ(much.status, 200) << much.body;
  EXPECT_FALSE(has(much.body, "125829120")) << much.body;
  auto other = send("POST", "/api/v1/sandbox/execute", R"j({"language":"python","profile":"default","code":"x = bytearray(120 << 20); print(len(x))"})j");
  EXPECT_TRUE(has(other.body, "125829120")) << "the control: " << other.body;
  EXPECT_EQ(field(send("GET", "/api/v1/executions/" + field(ran.body, "id")).body, "profile"), "mine");
  EXPECT_EQ(send("POST", "/api/v1/verify", R"({"language":"python","code":"1"})").status, 200);
  // A path of this machine is the configuration's to name, never a request's.
  EXPECT_EQ(send("POST", "/api/v1/sandbox/execute", cat(R"({"command":"true","profile":")", around_, "/mine.yaml\"}")).status, 400);
}

TEST_F(Settings, CodeSandboxHasTheProfileOfItsVariable) {
  EXPECT_EQ(field(send("GET", "/profile").body, "name"), "data-science");
  auto ran = send("POST", "/execute", R"j({"code":"print(2)"})j");
  EXPECT_EQ(ran.status, 200) << ran.body;
}

TEST_F(Settings, TheAuditBeginsWithTheWallsOfTheFront) {
  auto audit = send("GET", "/api/v1/audit").body;
  EXPECT_TRUE(has(audit, "landlock/applied") || has(audit, "landlock/degraded")) << audit;
  EXPECT_TRUE(has(audit, "seccomp")) << audit;
}

TEST(ServeProfile, OneThatCannotBeReadIsSaidAtTheStart) {
  TempDir around;
  std::ofstream(around.path() + "/bad.yaml") << "limits:\n  memory: lots\n";
  auto start = [&](const std::string& profile) {
    const std::string told = around.path() + "/told";
    int status = std::system(cat("timeout 20 '", program_path(), "' serve --listen 127.0.0.1:0 --state '", around.path(), "/state' --profile '", profile, "' 2>'", told, "'").c_str());
    return cat(WIFEXITED(status) ? WEXITSTATUS(status) : -1, " ", read_text(told));
  };
  EXPECT_TRUE(has(start(around.path() + "/bad.yaml"), "125 hotcell: default_profile: ")) << start(around.path() + "/bad.yaml");
  EXPECT_TRUE(has(start(around.path() + "/none.yaml"), "125 hotcell: default_profile: ")) << start(around.path() + "/none.yaml");
  EXPECT_TRUE(has(start("nosuchname"), "125 hotcell: default_profile: ")) << start("nosuchname");
}

TEST(ServeNetwork, OneThatTheBackendCannotHoldIsRefusedAtTheStart) {
  TempDir around;
  const std::string file = around.path() + "/config.yaml", told = around.path() + "/told";
  std::ofstream(file) << "backend: landlock\nnetwork: {enabled: true}\n";
  int status = std::system(cat("timeout 20 '", program_path(), "' serve --config '", file, "' --listen 127.0.0.1:0 --state '", around.path(), "/state' 2>'", told, "'").c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 125);
  EXPECT_TRUE(has(read_text(told), "config.yaml:2: network.enabled is not supported on this platform: the landlock backend has no network namespace")) << read_text(told);
}

// Several at once, so that the launcher, whom the front lets go of as it ends, is often the first to have gone.
TEST(ServeRefused, SaysWhyAndNothingElse) {
  TempDir around;
  const std::string folder = around.path();
  std::ofstream(folder + "/config.yaml") << "listen: [\"0.0.0.0:0\"]\ntls: {elsewhere: true}\n";
  const std::string line = cat("cd '", folder, "' && for n in $(seq 24); do timeout 20 '", program_path(),
                               "' serve --config config.yaml --state state$n 2>told$n & done; wait");
  ASSERT_EQ(std::system(line.c_str()), 0);
  for (int n = 1; n <= 24; ++n) {
    const std::string told = read_text(cat(folder, "/told", n));
    EXPECT_TRUE(has(told, "there is no key that a caller could show")) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  }
}

}  // namespace
}  // namespace hotcell::testing
