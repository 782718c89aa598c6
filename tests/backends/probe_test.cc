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
#include "base/strings.h"
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
  void tool(std::string_view script) {
    std::string path = cat(folder_, "/bin/bwrap");
    std::ofstream(path, std::ios::trunc) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
  }
  backends::Probed cached() { return backends::probe_cached("bwrap", backends::ProbeCache(cat(folder_, "/cache"))); }
  std::string folder_;
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
  // It runs the program, without a wall: the layers are read back, not believed.
  tool("while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"");
  auto p = backends::probe("bwrap");
  for (const auto& l : p.layers) {
    bool wall = l.layer == Layer::kNetNs || l.layer == Layer::kPidNs || l.layer == Layer::kRootfs || l.layer == Layer::kSeccomp;
    EXPECT_FALSE(wall && l.status != LayerStatus::kNone) << to_string(l.layer);
  }
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

}  // namespace
}  // namespace hotcell
