#include "backends/probe_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"

namespace hotcell::backends {
namespace {

using Clock = std::chrono::system_clock;

class ProbeCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hotcell-probes-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static Probed found() {
    Probed p;
    p.name = "bwrap";
    p.works = true;
    p.start = std::chrono::microseconds(8100);
    p.layers = {{Layer::kSeccomp, LayerStatus::kFull, "a filter\nread \\back"}, {Layer::kLandlock, LayerStatus::kNone, ""}};
    return p;
  }
  std::string folder_;
};

TEST_F(ProbeCacheTest, GivesBackWhatWasFound) {
  ProbeCache cache(cat(folder_, "/deep/probes"));
  auto now = Clock::now();
  EXPECT_FALSE(cache.get("bwrap", "k", now));
  cache.put(found(), "k", now);
  auto got = cache.get("bwrap", "k", now + std::chrono::minutes(59));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->works);
  EXPECT_EQ(got->start.count(), 8100);
  ASSERT_EQ(got->layers.size(), 2u);
  EXPECT_EQ(got->layers[0].detail, "a filter\nread \\back");
  EXPECT_EQ(got->layers[1].status, LayerStatus::kNone);
}

TEST_F(ProbeCacheTest, NotForLongAndNotForAnother) {
  ProbeCache cache(folder_);
  ::chmod(folder_.c_str(), 0700);
  auto now = Clock::now();
  cache.put(found(), "k", now);
  EXPECT_FALSE(cache.get("bwrap", "other key", now));
  EXPECT_FALSE(cache.get("runc", "k", now));
  EXPECT_FALSE(cache.get("bwrap", "k", now + std::chrono::minutes(61)));
  EXPECT_FALSE(cache.get("bwrap", "k", now - std::chrono::minutes(5))) << "of the future";
  Probed failed = found();
  failed.works = false;
  failed.why = "it gave no answer";
  failed.layers.clear();
  cache.put(failed, "k", now);
  EXPECT_EQ(cache.get("bwrap", "k", now + std::chrono::seconds(50))->why, "it gave no answer");
  EXPECT_FALSE(cache.get("bwrap", "k", now + std::chrono::seconds(70))) << "what fails is tried again soon";
}

TEST_F(ProbeCacheTest, WhatIsDamagedOrSomebodyElsesIsNoEntry) {
  ProbeCache cache(folder_);
  auto now = Clock::now();
  cache.put(found(), "k", now);
  std::string path = cat(folder_, "/bwrap"), text;
  {
    std::ifstream in(path);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t n = 0; n < text.size(); n += 3) {
    std::ofstream(path, std::ios::trunc) << text.substr(0, n);
    EXPECT_FALSE(cache.get("bwrap", "k", now)) << n;
  }
  std::ofstream(path, std::ios::trunc) << text;
  EXPECT_TRUE(cache.get("bwrap", "k", now));
  ::chmod(folder_.c_str(), 0777);
  EXPECT_FALSE(cache.get("bwrap", "k", now)) << "others may write there";
  ::chmod(folder_.c_str(), 0700);
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_FALSE(cache.get("bwrap", "k", now));
}

TEST_F(ProbeCacheTest, TheKeyIsTheBinaryTheKernelAndTheUser) {
  std::string tool = cat(folder_, "/tool");
  std::ofstream(tool) << "one";
  std::string key = probe_key("x", tool, "c");
  EXPECT_EQ(probe_key("x", tool, "c"), key);
  EXPECT_NE(probe_key("y", tool, "c"), key);
  EXPECT_NE(probe_key("x", tool, "d"), key);
  EXPECT_NE(probe_key("x", "", "c"), key);
  std::ofstream(tool, std::ios::trunc) << "other";
  EXPECT_NE(probe_key("x", tool, "c"), key) << "another size";
  key = probe_key("x", tool, "c");
  ::rename(tool.c_str(), cat(folder_, "/renamed").c_str());
  EXPECT_NE(probe_key("x", tool, "c"), key) << "gone";
}

// "… set HOTCELL_VM_KERNEL to the folder": whoever does is not answered with what was found without it.
TEST_F(ProbeCacheTest, TheKeyIsWhatATrialLeansOn) {
  auto set = [](const std::string& words) { return Settings::parse({words}).value(); };
  ::unsetenv("HOTCELL_VM_KERNEL");
  std::string key = probe_key_here("vm");
  EXPECT_EQ(probe_key_here("vm"), key);
  ::setenv("HOTCELL_VM_KERNEL", folder_.c_str(), 1);
  std::string with = probe_key_here("vm");
  EXPECT_NE(with, key);
  std::filesystem::create_directories(cat(folder_, "/boot"));
  EXPECT_NE(probe_key_here("vm"), with) << "a kernel was put there";
  ::unsetenv("HOTCELL_VM_KERNEL");
  EXPECT_EQ(probe_key_here("vm"), key);

  std::string image = cat(folder_, "/image.tar");
  auto settings = set(cat("vm.image=", image));
  std::string missing = probe_key_here("vm", settings);
  EXPECT_NE(missing, key);
  std::ofstream(image) << "x";
  EXPECT_NE(probe_key_here("vm", settings), missing) << "it is there now";
  auto layout = set(cat("oci.image=", folder_, "/layout:latest"));
  std::string without = probe_key_here("crun", layout);
  std::filesystem::create_directories(cat(folder_, "/layout"));
  EXPECT_NE(probe_key_here("crun", layout), without);

  std::string socket = cat(folder_, "/engine.sock");
  auto engine = set(cat("docker.socket=", socket));
  std::string stopped = probe_key_here("docker", engine);
  std::ofstream(socket) << "";
  EXPECT_NE(probe_key_here("docker", engine), stopped) << "the engine was started";
}

}  // namespace
}  // namespace hotcell::backends
