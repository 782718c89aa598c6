// `hotcell sandbox` as users call it, against real engines: what one process starts another one uses.
#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backends/engine/json.h"
#include "backends/engine/sandbox.h"
#include "backends/engines.h"
#include "base/strings.h"
#include "support/leak_check.h"
#include "sys/file.h"

namespace hotcell {
namespace {

struct Said {
  int code = -1;
  std::string out;  // both streams
};

std::string hotcell_program() {
  auto self = sys::read_link("/proc/self/exe");
  return cat(self.value().substr(0, self.value().rfind('/')), "/hotcell");
}

Said call(const std::string& words) {
  Said r;
  FILE* pipe = ::popen(cat(hotcell_program(), " sandbox ", words, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return r;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) r.out.append(buffer, n);
  int status = ::pclose(pipe);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return r;
}

class SandboxCli : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    socket_ = GetParam() == "docker" ? testing::docker_socket() : testing::podman_socket();
    char path[] = "/tmp/hotcell-project.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    project_ = path;
    ASSERT_EQ(::chown(path, 1000, 1000), 0);
    backends::EngineClient client(GetParam(), socket_);
    auto there = backends::has_image(client, "hotcell-busybox:1");
    ASSERT_TRUE(there.ok()) << there.error().message;
    if (!there.value()) {
      ASSERT_EQ(std::system(cat("cd ", project_, " && mkdir -p r/bin r/etc r/tmp r/proc r/sys r/dev && cp /usr/bin/busybox r/bin && "
                                "for a in sh sleep echo cat id kill touch env; do ln -s busybox r/bin/$a; done && tar -C r -cf root.tar . && rm -r r").c_str()), 0);
      std::ifstream in(project_ + "/root.tar", std::ios::binary);
      std::string archive((std::istreambuf_iterator<char>(in)), {});
      std::filesystem::remove(project_ + "/root.tar");
      auto made = client.demand("POST", "/images/create?fromSrc=-&repo=hotcell-busybox&tag=1", archive, "application/x-tar");
      ASSERT_TRUE(made.ok()) << made.error().message;
      auto at = made.value().rfind("sha256:");
      ASSERT_NE(at, std::string::npos);
      ASSERT_TRUE(client.demand("POST", cat("/images/", made.value().substr(at, 71), "/tag?repo=hotcell-busybox&tag=1")).ok());
    }
    LeakCheck::SetUp();
    set_up_ = true;
  }
  void TearDown() override {
    if (set_up_) {
      call(with("stop"));
      LeakCheck::TearDown();
    }
    std::filesystem::remove_all(project_);
  }
  std::string with(std::string_view words, std::string_view after = "") const {
    auto blank = words.find(' ');
    return cat(words.substr(0, blank), " --backend ", GetParam(), " --backend-option ", GetParam(), ".socket=", socket_,
               words.starts_with("build") || words.starts_with("images") ? "" : cat(" --project ", project_), blank == words.npos ? "" : words.substr(blank), after.empty() ? "" : cat(" -- ", after));
  }
  std::string project_, socket_;
  bool set_up_ = false;
};

TEST_P(SandboxCli, OutlivesTheProcessThatStartedItAndIsUsedByOthers) {
  auto before = call(with("exec", "echo x"));
  EXPECT_EQ(before.code, 125) << before.out;
  EXPECT_NE(before.out.find("nothing runs for"), std::string::npos) << before.out;
  auto started = call(with("start --image hotcell-busybox:1 --memory 64M --json"));
  ASSERT_EQ(started.code, 0) << started.out;
  EXPECT_EQ(backends::json_truth(started.out, {"running"}), true);
  EXPECT_EQ(backends::json_number(started.out, {"uid"}), 1000);
  auto ran = call(with("exec", "sh -c 'id -u; echo \"a  b\" > made; cat made; exit 7'"));
  EXPECT_EQ(ran.code, 7);
  EXPECT_EQ(ran.out, "1000\na  b\n");
  EXPECT_TRUE(std::filesystem::exists(project_ + "/made")) << "the project's folder itself";
  auto json = call(with("exec --json", "echo 'quo\"te'"));
  EXPECT_EQ(backends::json_text(json.out, {"output"}), "quo\"te\n") << json.out;
  // Hardened, whoever asks.
  EXPECT_NE(call(with("exec", "touch /etc/x")).code, 0);
  auto late = call(with("exec --timeout 1s", "sleep 60"));
  EXPECT_EQ(late.code, 124) << late.out;
  EXPECT_NE(late.out.find("its time was over"), std::string::npos) << late.out;
  auto shown = call(with("inspect --json"));
  EXPECT_EQ(backends::json_text(shown.out, {"id"}), backends::json_text(started.out, {"id"})) << "the same container";
  auto stopped = call(with("stop"));
  EXPECT_EQ(stopped.out, "stopped\n");
  EXPECT_EQ(call(with("inspect")).out, "not running\n");
  EXPECT_EQ(call(with("stop")).out, "not running\n");
}

TEST_P(SandboxCli, SwapsTheImageAndKeepsWhatItWasStartedWith) {
  std::ofstream(project_ + "/Dockerfile") << "FROM hotcell-busybox:1\nENV COLOUR=blue\n";
  auto built = call(with(cat("build --json --dockerfile ", project_, "/Dockerfile")));
  ASSERT_EQ(built.code, 0) << built.out;
  auto last = built.out.substr(built.out.rfind('{'));
  auto tag = backends::json_text(last, {"tag"});
  ASSERT_TRUE(tag) << built.out;
  auto listed = call(with("images --json"));
  EXPECT_NE(listed.out.find(*tag), std::string::npos) << listed.out;
  ASSERT_EQ(call(with("start --image hotcell-busybox:1 --memory 48M --processes 33")).code, 0);
  EXPECT_EQ(call(with("exec", "sh -c 'echo \"[$COLOUR]\"; touch kept'")).out, "[]\n");
  EXPECT_EQ(call(with("swap --image hotcell-nowhere:1")).code, 125);
  EXPECT_EQ(call(with("exec", "echo still")).out, "still\n") << "nothing was stopped for an image that is not there";
  auto swapped = call(with(cat("swap --image ", *tag)));
  ASSERT_EQ(swapped.code, 0) << swapped.out;
  EXPECT_EQ(call(with("exec", "sh -c 'echo \"[$COLOUR]\"; cat kept && echo there'")).out, "[blue]\nthere\n");
  auto text = backends::EngineClient(GetParam(), socket_).demand("GET", cat("/containers/", *backends::json_text(call(with("inspect --json")).out, {"id"}), "/json"));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(backends::json_number(text.value(), {"HostConfig", "Memory"}), 48 << 20) << "the ceilings of the first start";
  EXPECT_EQ(backends::json_number(text.value(), {"HostConfig", "PidsLimit"}), 33);
  call(with("stop"));
  backends::EngineClient(GetParam(), socket_).ask("DELETE", cat("/images/", backends::url_escape(*tag), "?force=1")).ignore("the engine goes at the end anyway");
}

// An ordinary user may start no engine.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SandboxCli);
INSTANTIATE_TEST_SUITE_P(Engines, SandboxCli, ::testing::ValuesIn(testing::engines_here()), [](const auto& p) { return p.param; });

TEST(SandboxCliErrors, SayWhatToDo) {
  auto nowhere = call("inspect --backend docker --backend-option docker.socket=/nowhere/docker.sock");
  EXPECT_EQ(nowhere.code, 125);
  EXPECT_NE(nowhere.out.find("/nowhere/docker.sock"), std::string::npos) << nowhere.out;
  EXPECT_NE(call("strat").out.find("did you mean \"start\""), std::string::npos) << call("strat").out;
  EXPECT_NE(call("inspect --backend bwrap").out.find("docker or podman"), std::string::npos);
  EXPECT_NE(call("inspect /tmp").out.find("--project"), std::string::npos);
  EXPECT_NE(call("--help").out.find("--dockerfile"), std::string::npos);
}

}  // namespace
}  // namespace hotcell
