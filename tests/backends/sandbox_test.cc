// Containers that last, their images and their recipes, against real engines.
#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backends/engine/devenv.h"
#include "backends/engine/dockerfile.h"
#include "backends/engine/json.h"
#include "backends/engines.h"
#include "base/strings.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;
using namespace backends;

// A few programs of this host and what they are linked with: a root to stand on.
std::string small_root() {
  static const std::string archive = [] {
    const char* script =
        "set -e; cd /; for p in /bin/sh /bin/sleep /bin/cat /usr/bin/id /bin/echo /usr/bin/setsid /bin/ls /usr/bin/yes; do readlink -f $p; ldd $p | grep -o '/[^ ]*'; echo $p; done | sort -u > $1/list; "
        "mkdir $1/root; tar -chf - -T $1/list 2>/dev/null | tar -xf - -C $1/root; mkdir -p $1/root/etc $1/root/tmp $1/root/proc $1/root/dev $1/root/sys; "
        "echo root:x:0:0::/:/bin/sh > $1/root/etc/passwd; echo root:x:0: > $1/root/etc/group; tar -cf $1/root.tar -C $1/root .";
    char folder[] = "/tmp/hotcell-root-test.XXXXXX";
    if (::mkdtemp(folder) == nullptr) return std::string();
    int status = std::system(cat("sh -c '", std::string(script).replace(std::string(script).find("'/[^ ]*'"), 8, "\"/[^ ]*\""), "' sh ", folder).c_str());
    EXPECT_EQ(status, 0);
    std::ifstream in(cat(folder, "/root.tar"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::filesystem::remove_all(folder);
    return bytes;
  }();
  return archive;
}

class Sandbox : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    client_ = std::make_unique<EngineClient>(GetParam(), GetParam() == "docker" ? testing::docker_socket() : testing::podman_socket());
    auto there = has_image(*client_, "hotcell-base:1");
    ASSERT_TRUE(there.ok()) << there.error().message;
    if (!there.value()) {
      auto made = client_->demand("POST", "/images/create?fromSrc=-&repo=hotcell-base&tag=1", small_root(), "application/x-tar");
      ASSERT_TRUE(made.ok()) << made.error().message;
      auto at = made.value().rfind("sha256:");
      ASSERT_NE(at, std::string::npos);
      ASSERT_TRUE(client_->demand("POST", cat("/images/", made.value().substr(at, 71), "/tag?repo=hotcell-base&tag=1")).ok());
    }
    LeakCheck::SetUp();
    char path[] = "/tmp/hotcell-project.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    project_ = path;
    ASSERT_EQ(::chown(path, 1000, 1000), 0);
    set_up_ = true;
  }
  void TearDown() override {
    if (!set_up_) return;
    std::filesystem::remove_all(project_);
    LeakCheck::TearDown();
  }
  SandboxSpec spec() const {
    SandboxSpec s;
    s.project = project_;
    s.image = "hotcell-base:1";
    return s;
  }
  std::string recipe(std::string_view text) const {
    std::filesystem::create_directory(project_ + "/My Env");
    std::string path = project_ + "/My Env/Dockerfile";
    std::ofstream(path, std::ios::trunc) << text;
    return path;
  }
  ExecResult exec(ContainerSandbox& box, const std::string& command, std::chrono::milliseconds timeout = 60s) {
    auto r = box.exec(command, timeout);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().message);
    return r.ok() ? r.value() : ExecResult{};
  }
  std::unique_ptr<EngineClient> client_;
  std::string project_;
  bool set_up_ = false;
};

TEST_P(Sandbox, AContainerOfSomebodyElsesIsNotReplaced) {
  ContainerSandbox box(*client_, spec());
  auto other = client_->demand("POST", cat("/containers/create?name=", box.name()), R"({"Image":"hotcell-base:1","Cmd":["true"]})", "application/json");
  ASSERT_TRUE(other.ok()) << other.error().message;
  auto refused = box.start();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is not of this project"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(client_->demand("GET", cat("/containers/", box.name(), "/json")).ok()) << "it is still there";
  EXPECT_TRUE(client_->demand("DELETE", cat("/containers/", box.name(), "?force=1&v=1")).ok());
  EXPECT_TRUE(box.start().ok()) << "the control";
  EXPECT_TRUE(box.stop().ok());
}

TEST_P(Sandbox, CommandsRunWhereTheProjectIs) {
  ContainerSandbox box(*client_, spec());
  EXPECT_FALSE(box.exec("true").ok()) << "it is not running";
  auto started = box.start();
  ASSERT_TRUE(started.ok()) << started.error().message;
  auto r = exec(box, "id -u; echo kept > file; cat file; echo oops >&2; exit 7");
  EXPECT_EQ(r.exit_code, 7) << r.output;
  // The engine carries two streams, each in its order; which of them is ahead it does not say.
  constexpr std::string_view kError = "oops\n";
  auto at = r.output.find(kError);
  ASSERT_NE(at, std::string::npos) << r.output;
  EXPECT_EQ(r.output.erase(at, kError.size()), "1000\nkept\n");
  EXPECT_TRUE(std::filesystem::exists(project_ + "/file"));
  EXPECT_NE(exec(box, "echo x > /file").exit_code, 0) << "its root is read-only";
  auto status = exec(box, "cat /proc/self/status /proc/net/dev");
  for (auto line : {"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"}) EXPECT_NE(status.output.find(line), std::string::npos) << line;
  EXPECT_EQ(status.output.find("eth0"), std::string::npos);
  auto state = box.inspect();
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(state.value().running);
  EXPECT_EQ(state.value().image, "hotcell-base:1");
  ASSERT_TRUE(box.stop().ok());
  EXPECT_FALSE(box.inspect().value().running);
  EXPECT_EQ(client_->ask("GET", cat("/containers/", box.name(), "/json")).value().status, 404) << "nothing is left";
}

TEST_P(Sandbox, ATimeoutKillsInside) {
  ContainerSandbox box(*client_, spec());
  ASSERT_TRUE(box.start().ok());
  auto r = exec(box, "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; while :; do echo x >> late; sleep 0.1; done' &); sleep 300", 2s);
  EXPECT_TRUE(r.timed_out);
  auto size = [&] { std::error_code e; return std::filesystem::file_size(project_ + "/late", e); };
  auto before = size();
  EXPECT_GT(before, 0u) << "the control: it did run";
  ::usleep(500'000);
  EXPECT_EQ(size(), before) << "a grandchild lives on";
  auto next = exec(box, "echo still here");
  EXPECT_EQ(next.output, "still here\n");
}

TEST_P(Sandbox, OutputIsBounded) {
  ContainerSandbox box(*client_, spec());
  ASSERT_TRUE(box.start().ok());
  auto r = box.exec("yes", 2s, 64_KiB);
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_TRUE(r.value().truncated);
  EXPECT_TRUE(r.value().timed_out);
  EXPECT_EQ(r.value().output.size(), 64u << 10);
}

TEST_P(Sandbox, RecipesAreBuiltOnceAndSwappedUnderTheProject) {
  DevEnvManager manager(*client_);
  std::vector<SwapEvent> swaps;
  manager.on_swap([&](const SwapEvent& e) { swaps.push_back(e); });
  auto path = recipe(dockerfile_for({"hotcell-base:1", {}}).value() + "RUN echo building one > /dev/stdout\n");
  std::string said;
  auto listen = [&](std::string_view text) { said += text; };
  EXPECT_TRUE(manager.is_stale(path).value());
  auto first = manager.get_or_build(path, listen);
  ASSERT_TRUE(first.ok()) << first.error().message << "\n" << said;
  EXPECT_TRUE(first.value().starts_with(cat("hotcell-devenv-", DevEnvManager::key_of(path), ":"))) << first.value();
  EXPECT_NE(said.find("FROM hotcell-base:1"), std::string::npos) << said;
  EXPECT_FALSE(manager.is_stale(path).value());
  said.clear();
  EXPECT_EQ(manager.get_or_build(path, listen).value(), first.value());
  EXPECT_EQ(said, "") << "not built again";

  ContainerSandbox box(*client_, spec());
  ASSERT_TRUE(box.start().ok());
  exec(box, "echo mine > kept");
  recipe(dockerfile_for({"hotcell-base:1", {}}).value() + "USER 0\nRUN echo two > /version\nUSER 1000\n");
  EXPECT_TRUE(manager.is_stale(path).value());
  auto second = manager.rebuild_and_force_swap(path, box, listen);
  ASSERT_TRUE(second.ok()) << second.error().message << "\n" << said;
  EXPECT_NE(second.value(), first.value());
  EXPECT_EQ(exec(box, "cat /version kept").output, "two\nmine\n");
  ASSERT_EQ(swaps.size(), 1u);
  EXPECT_EQ(swaps[0].key, DevEnvManager::key_of(path));
  EXPECT_EQ(swaps[0].old_image, "hotcell-base:1");
  EXPECT_EQ(swaps[0].new_image, second.value());

  auto images = cached_images(*client_);
  ASSERT_TRUE(images.ok());
  bool listed = false;
  for (const auto& image : images.value()) listed |= image.tag == second.value() && second.value().ends_with(image.hash) && image.age < 1h;
  EXPECT_TRUE(listed);

  // An image that is not there is refused before anything is stopped.
  EXPECT_FALSE(box.hot_swap("hotcell-devenv-none:1").ok());
  EXPECT_TRUE(box.inspect().value().running);
  EXPECT_EQ(exec(box, "cat /version").output, "two\n");
  box.set_image(first.value());
  ASSERT_TRUE(box.stop().ok());
  ASSERT_TRUE(box.start().ok());
  EXPECT_NE(exec(box, "cat /version").exit_code, 0) << "the other image since the next start";
  ASSERT_TRUE(box.stop().ok());
  ASSERT_TRUE(manager.invalidate(path).ok());
  EXPECT_TRUE(manager.is_stale(path).value());
  EXPECT_FALSE(has_image(*client_, second.value()).value());
}

TEST_P(Sandbox, AFailedBuildSaysWhyAndLeavesNoImage) {
  std::string said;
  auto path = recipe("FROM hotcell-base:1\nRUN echo before; exit 3\n");
  auto built = build_from_dockerfile(*client_, path, [&](std::string_view text) { said += text; });
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().message.find("3"), std::string::npos) << built.error().message;
  std::ifstream in(path);
  EXPECT_FALSE(has_image(*client_, image_tag("hotcell-sandbox", std::string((std::istreambuf_iterator<char>(in)), {}))).value());
}

TEST_P(Sandbox, WhatTheEngineSaysOfARecipeThatItRefusesIsPassedOn) {
  auto built = build_from_dockerfile(*client_, recipe("FROM hotcell-base:1\nFLY away\n"), {});
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().message.find("FLY"), std::string::npos) << built.error().message;
  auto copies = build_from_dockerfile(*client_, recipe("FROM hotcell-base:1\nCOPY a b\n"), {});
  ASSERT_FALSE(copies.ok());
  EXPECT_NE(copies.error().message.find("line 2 of the recipe: COPY has nothing to take from"), std::string::npos) << copies.error().message;
  // The control: from another stage there is something to take.
  auto stages = build_from_dockerfile(*client_, recipe("FROM hotcell-base:1 AS one\nRUN echo x > /made\nFROM hotcell-base:1\nCOPY --from=one /made /made\n"), {});
  ASSERT_TRUE(stages.ok()) << stages.error().message;
  EXPECT_TRUE(client_->ask("DELETE", cat("/images/", url_escape(stages.value()), "?force=1")).ok());
}

TEST_P(Sandbox, EveryPlaceInMemoryHasASize) {
  ContainerSandbox box(*client_, spec());
  ASSERT_TRUE(box.start().ok());
  auto mounts = exec(box, "cat /proc/mounts");
  int seen = 0;
  for (auto line : split(mounts.output, '\n')) {
    auto words = split(line, ' ');
    if (words.size() < 4 || words[2] != "tmpfs" || words[3].starts_with("ro")) continue;
    if (words[1] != "/tmp" && words[1] != "/run" && words[1] != "/var/tmp") continue;
    ++seen;
    EXPECT_NE(words[3].find("size="), std::string_view::npos) << line;
  }
  EXPECT_GE(seen, 1) << "/tmp, the control: " << mounts.output;
}

TEST_P(Sandbox, APathThatTheEngineWouldMisreadIsRefused) {
  auto s = spec();
  for (std::string name : {"a\"b", "a,b"}) {
    s.project = cat(project_, "/", name);
    std::filesystem::create_directory(s.project);
    ASSERT_EQ(::chown(s.project.c_str(), 1000, 1000), 0);
    ContainerSandbox box(*client_, s);
    auto started = box.start();
    if (GetParam() == "docker") {
      ASSERT_TRUE(started.ok()) << started.error().message;
      EXPECT_EQ(exec(box, "echo x > f; ls").output, "f\n");
      continue;
    }
    ASSERT_FALSE(started.ok());
    EXPECT_NE(started.error().message.find("podman cannot show a path with a comma or a quote"), std::string::npos) << started.error().message;
  }
}

TEST_P(Sandbox, WhatWouldUndoTheRootIsNoProject) {
  std::filesystem::create_symlink("/proc", cat(project_, "/link"));
  for (std::string path : {std::string("/"), std::string("/proc"), std::string("/dev"), std::string("/usr/../proc"), cat(project_, "/link")}) {
    auto s = spec();
    s.project = path;
    ContainerSandbox box(*client_, s);
    auto started = box.start();
    ASSERT_FALSE(started.ok()) << path;
    EXPECT_NE(started.error().message.find("project: "), std::string::npos) << started.error().message;
    EXPECT_NE(started.error().message.find("cannot be granted"), std::string::npos) << started.error().message;
  }
  auto s = spec();
  s.cache = cat(project_, "/link");
  ContainerSandbox box(*client_, s);
  auto started = box.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("cannot be granted"), std::string::npos) << started.error().message;
}

TEST(DevEnv, FoldersOfTheSameNameAreNotTheSame) {
  auto a = DevEnvManager::key_of("/a/My Env/Dockerfile"), b = DevEnvManager::key_of("/b/My Env/Dockerfile");
  EXPECT_TRUE(a.starts_with("my-env-")) << a;
  EXPECT_NE(a, b);
  EXPECT_NE(a, DevEnvManager::key_of("/a/My Env/Dockerfile.other"));
  EXPECT_EQ(a, DevEnvManager::key_of("/a/x/../My Env/Dockerfile"));
}

TEST(Dockerfile, WhatItWouldTakeFromItsFolderIsRefused) {
  for (auto fine : {"FROM a\nRUN cp x y\n", "FROM a\n# COPY a b\n", "FROM a AS b\nCOPY --chown=1:1 --from=b /x /y\n", "FROM a\nADD https://h/x /x\n", "FROM a\nONBUILD COPY a b\n",
                    "FROM a\nRUN echo \\\n  COPY a b\n", "FROM a\nRUN <<EOF\nCOPY a b\nEOF\n", "FROM a\nCOPY <<EOF /f\ntext\nEOF\n"})
    EXPECT_TRUE(check_recipe(fine).ok()) << fine;
  for (auto bad : {"FROM a\nCOPY a b\n", "FROM a\ncopy --chown=1:1 . /\n", "FROM a\nADD\tx.tar /\n", "FROM a\nCOPY \\\n# why\n a b", "FROM a\nADD https://h/x y /\n", "FROM a\nRUN <<EOF\nx\nEOF\nCOPY a b\n"}) {
    auto said = check_recipe(bad);
    ASSERT_FALSE(said.ok()) << bad;
    EXPECT_NE(said.error().message.find("has nothing to take from"), std::string::npos) << said.error().message;
  }
}

// An ordinary user may start no engine.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Sandbox);
INSTANTIATE_TEST_SUITE_P(Engines, Sandbox, ::testing::ValuesIn(testing::engines_here()), [](const auto& p) { return p.param; });

TEST(Dockerfile, IsMadeFromNamesAlone) {
  auto text = dockerfile_for({"debian:12", {"git", "g++", "git"}});
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text.value().find("--no-install-recommends g++ git &&"), std::string::npos) << text.value();
  EXPECT_NE(text.value().find("\nUSER 1000:1000\n"), std::string::npos);
  EXPECT_EQ(dockerfile_for({"debian:12", {"git", "g++"}}).value(), text.value()) << "the same list is the same recipe";
  for (auto bad : {"git; rm -rf /", "-o=x", "a\nUSER root", "", "Git"}) EXPECT_FALSE(dockerfile_for({"debian:12", {bad}}).ok()) << bad;
  EXPECT_FALSE(dockerfile_for({"debian\nUSER root", {}}).ok());
  EXPECT_FALSE(dockerfile_for({"debian:12", {}, "root"}).ok());
  EXPECT_FALSE(dockerfile_for({"debian:12", {}, "cell", 0}).ok());
}

}  // namespace
}  // namespace hotcell
