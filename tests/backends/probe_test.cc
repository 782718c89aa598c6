// Tools that hang, vanish or change: said clearly, and nothing weaker runs.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/probe.h"
#include "backends/probe_cache.h"
#include "backends/tool_launcher.h"
#include "backends/tools.h"
#include "base/strings.h"
#include "core/launch/ids.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

// bwrap, since it needs no root; what stands in for it is a program of the test's.
class ProbeOfTools : public testing::LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    char name[] = "/tmp/hotcell-tools-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    ::chmod(name, 0755);
    std::filesystem::create_directory(cat(folder_, "/bin"));
    backends::set_tool_folders({cat(folder_, "/bin")});
    backends::probe_settings() = {std::chrono::seconds(2), cat(folder_, "/cache")};
  }
  void TearDown() override {
    backends::set_tool_folders({});
    backends::probe_settings() = {};
    std::filesystem::remove_all(folder_);
    LeakCheck::TearDown();
  }
  void tool(std::string_view script, std::string_view name = "bwrap") {
    std::string path = cat(folder_, "/bin/", name);
    std::ofstream(path, std::ios::trunc) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
  }
  backends::Probed cached() { return backends::probe_cached("bwrap", backends::ProbeCache(cat(folder_, "/cache"))); }
  std::string folder_;
  // What stands behind bubblewrap's own words: the seal's, the last of them a dash, then the program's.
  static constexpr std::string_view kPretender = "while [ \"$1\" != -- ]; do shift; done; while [ \"$1\" != - ]; do shift; done; shift; exec \"$@\"";
};

TEST_F(ProbeOfTools, OneThatHangsIsEndedAndSaidToHang) {
  tool("trap '' TERM INT HUP; sleep 1000; sleep 1000");
  auto before = std::chrono::steady_clock::now();
  auto p = backends::probe("bwrap");
  EXPECT_FALSE(p.works);
  EXPECT_NE(p.why.find("gave no answer within 2s"), std::string::npos) << p.why;
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(15));
}

TEST_F(ProbeOfTools, OneThatIsNotThereIsSaidToBeMissing) {
  auto p = backends::probe("bwrap");
  EXPECT_FALSE(p.works);
  EXPECT_NE(p.why.find("bwrap is not installed (apt-get install bubblewrap)"), std::string::npos) << p.why;
  EXPECT_FALSE(backends::open_backend("bwrap", {}).ok());
}

TEST_F(ProbeOfTools, OneThatOnlyPretendsIsFoundOut) {
  // It runs the program, without a wall and without our seal: the layers are read back, not believed.
  tool(kPretender);
  auto p = backends::probe("bwrap");
  EXPECT_FALSE(p.works);
  EXPECT_NE(p.why.find("does not hold here what it should: files: "), std::string::npos) << p.why;
  std::string witness = cat(folder_, "/ran");
  ::chmod(folder_.c_str(), 0777);
  auto run = [&](std::vector<std::string> waived) {
    Request request;
    request.argv = {"/bin/sh", "-c", cat("echo x > ", witness)};
    auto launcher = backends::open_backend("bwrap", {}, {std::move(waived)});
    return launcher.ok() ? launcher.value()->run(default_policy(), std::move(request)) : Result<Report>(std::move(launcher).error());
  };
  auto refused = run({});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--waive files"), std::string::npos) << refused.error().message;
  EXPECT_NE(::access(witness.c_str(), F_OK), 0) << "nothing ran";
  // One statement that is waived does not open the next one.
  auto next = run({"files"});
  ASSERT_FALSE(next.ok());
  EXPECT_NE(next.error().message.find("network: net_ns is none as seen from inside (shared with the host)"), std::string::npos) << next.error().message;
  EXPECT_NE(::access(witness.c_str(), F_OK), 0);
  // The control: whoever waives everything by name gets it, and is told.
  auto waived = run({"files", "network", "syscalls", "processes", "identity"});
  ASSERT_TRUE(waived.ok()) << waived.error().message;
  EXPECT_EQ(::access(witness.c_str(), F_OK), 0);
  for (auto layer : {Layer::kNetNs, Layer::kPidNs, Layer::kRootfs, Layer::kSeccomp}) EXPECT_EQ(waived.value().enforcement.find(layer)->status, LayerStatus::kNone) << to_string(layer);
  EXPECT_GE(waived.value().denials.size(), 5u);
}

TEST_F(ProbeOfTools, OneThatIsReplacedWhileALauncherLivesIsFoundOut) {
  ASSERT_TRUE(std::filesystem::exists("/usr/bin/bwrap"));
  tool("exec /usr/bin/bwrap \"$@\"");
  auto launcher = backends::open_backend("bwrap", {});
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  auto run = [&] {
    Request request;
    request.argv = {"/bin/true"};
    return launcher.value()->run(default_policy(), std::move(request));
  };
  auto first = run();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first.value().enforcement.find(Layer::kNetNs)->status, LayerStatus::kFull);
  tool(kPretender);
  auto second = run();
  ASSERT_FALSE(second.ok()) << "the walls of the old one say nothing of the new one";
  EXPECT_NE(second.error().message.find("does not hold here what it should"), std::string::npos) << second.error().message;
  ::unlink(cat(folder_, "/bin/bwrap").c_str());
  auto third = run();
  ASSERT_FALSE(third.ok());
  EXPECT_NE(third.error().message.find("is gone"), std::string::npos) << third.error().message;
}

TEST_F(ProbeOfTools, WhatWasFoundIsNotTriedAgainUntilTheToolChanges) {
  tool(cat("echo tried >> ", folder_, "/log; echo 'no luck' >&2; exit 3"));
  auto tries = [&] {
    std::ifstream in(cat(folder_, "/log"));
    std::string line;
    int n = 0;
    while (std::getline(in, line)) ++n;
    return n;
  };
  ::close(::open(cat(folder_, "/log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  ::chmod(cat(folder_, "/log").c_str(), 0666);
  auto first = cached();
  EXPECT_FALSE(first.works);
  EXPECT_NE(first.why.find("no luck"), std::string::npos) << first.why;
  int after_first = tries();
  EXPECT_GE(after_first, 1);
  EXPECT_EQ(cached().why, first.why);
  EXPECT_EQ(tries(), after_first) << "from the cache";
  tool(cat("echo tried >> ", folder_, "/log; echo 'still no luck' >&2; exit 4"));
  EXPECT_NE(cached().why.find("still no luck"), std::string::npos);
  EXPECT_GT(tries(), after_first) << "another binary";
  ::unlink(cat(folder_, "/bin/bwrap").c_str());
  EXPECT_NE(cached().why.find("not installed"), std::string::npos) << "a removed one is noticed at once";
}

TEST_F(ProbeOfTools, NothingWeakerIsChosenInstead) {
  tool("exit 1");
  // Every container runtime is away: native works, and is not what was asked for.
  auto chosen = backends::select_here(backends::Level::kContainer);
  ASSERT_FALSE(chosen.ok());
  EXPECT_NE(chosen.error().message.find("runsc"), std::string::npos) << chosen.error().message;
}

// Every tool, pulled away in every way there is. What it would have run leaves a mark, and there never is one.
class PulledAway : public ProbeOfTools, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    ProbeOfTools::SetUp();
    ::chmod(folder_.c_str(), 0777);
    backend_ = backends::find(GetParam());
    ASSERT_NE(backend_, nullptr);
    std::vector<std::string> said;
    // Its own copy, beside our program, is not what is tried here.
    if (GetParam() == "codex") said = {"codex.executable=codex"};
    if (GetParam() == "oci") said = {"oci.runtime=runtime"};
    settings_ = backends::Settings::parse(said).value();
    binary_ = GetParam() == "oci" ? "runtime" : std::string(backend_->binary());
  }
  std::string words(std::string_view usual) const {
    if (backend_->needs_root() && ::geteuid() != 0) return "needs root";
    // The cell around a machine shows no program that is not the system's: what stands in for QEMU here never begins.
    return GetParam() == "vm" ? "the machine does not boot here" : std::string(usual);
  }
  // Why it does not run, by every way in: the probe, the level that has only this one, a run itself.
  std::string refused() {
    auto p = backends::probe(GetParam(), settings_);
    EXPECT_FALSE(p.works) << GetParam();
    auto launcher = backends::open_backend(GetParam(), {}, {{}, true, settings_, std::chrono::seconds(2)});
    if (launcher.ok()) {
      Request request;
      request.argv = {"/bin/sh", "-c", cat("echo x > ", folder_, "/mark")};
      auto ran = launcher.value()->run(default_policy(), std::move(request));
      EXPECT_FALSE(ran.ok() && ran.value().verdict.status() == RunStatus::kCompleted) << GetParam();
    }
    EXPECT_NE(::access(cat(folder_, "/mark").c_str(), F_OK), 0) << GetParam() << ": it ran, somehow";
    return p.why;
  }
  const backends::Backend* backend_ = nullptr;
  backends::Settings settings_;
  std::string binary_;
};

TEST_P(PulledAway, RenamedItIsSaidToBeMissing) {
  auto why = refused();
  EXPECT_TRUE(why.find(binary_) != why.npos && (why.find("not installed") != why.npos || why.find("is not there") != why.npos)) << why;
}

TEST_P(PulledAway, HungItIsEndedAndSaidToHang) {
  tool("trap '' TERM INT HUP; sleep 1000; sleep 1000", binary_);
  auto before = std::chrono::steady_clock::now();
  auto why = refused();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(60));
  EXPECT_NE(why.find(words("gave no answer within")), std::string::npos) << why;
}

TEST_P(PulledAway, BrokenItsLastWordsAreTold) {
  tool("echo 'it is broken' >&2; exit 3", binary_);
  auto why = refused();
  EXPECT_NE(why.find(words("it is broken")), std::string::npos) << why;
}

// It says yes to everything and does nothing.
TEST_P(PulledAway, IdleItIsFoundOut) {
  tool("exit 0", binary_);
  EXPECT_FALSE(refused().empty());
}

INSTANTIATE_TEST_SUITE_P(Tools, PulledAway, ::testing::Values("bwrap", "nsjail", "firejail", "nspawn", "crun", "runc", "runsc", "oci", "lxc", "codex", "vm"),
                         [](const auto& p) { return p.param; });

// The other half of it: a program with its name that is handed the same words and starts the program on the bare host.
TEST_F(ProbeOfTools, ARuntimeThatIsNotGvisorIsFoundOut) {
  tool("bundle=; for w; do case $w in --bundle=*) bundle=${w#--bundle=};; esac; done; [ -n \"$bundle\" ] || exit 0\n"
       "exec /usr/bin/python3 -I -c 'import json, os, sys; p = json.load(open(sys.argv[1] + \"/config.json\"))[\"process\"]; a = p[\"args\"][3:]; os.execvp(a[0], a)' \"$bundle\"",
       "runsc");
  auto p = backends::probe("runsc");
  EXPECT_FALSE(p.works);
  EXPECT_NE(p.why.find(::geteuid() == 0 ? "does not hold here what it should" : "needs root"), std::string::npos) << p.why;
}

// codex makes it for each user, and whoever is killed cannot take it away.
TEST(CodexFolder, OneThatWasLeftGoesWithTheNextStart) {
  const bool root = ::geteuid() == 0;
  auto ids = root ? take_ids() : Result<CellIds>(CellIds{::geteuid(), {}});
  ASSERT_TRUE(ids.ok());
  const std::string folder = cat("/tmp/codex-daemon-", ids.value().id), foreign = cat("/tmp/codex-daemon-1899999", root ? 998 : 999);
  for (const auto& path : {folder, foreign}) ASSERT_TRUE(::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
  if (root) {
    backends::codex()->sweep();
    EXPECT_EQ(::access(folder.c_str(), F_OK), 0) << "of a cell that lives";
    ids = make_error(ErrorCode::kNotFound, "it is gone");
  }
  backends::codex()->sweep();
  EXPECT_NE(::access(folder.c_str(), F_OK), 0);
  EXPECT_EQ(::rmdir(foreign.c_str()), 0) << "it is not of one of ours, and stays";
}

}  // namespace
}  // namespace hotcell
