#include "core/launch/collect.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

class Collect : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* tmp = ::getenv("TMPDIR");
    std::string name = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-collect-XXXXXX");
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    auto opened = sys::open(name.c_str(), O_PATH | O_DIRECTORY);
    ASSERT_TRUE(opened.ok());
    fd_ = std::move(opened).value();
  }
  void TearDown() override { fs::remove_all(dir_); }
  void file(const std::string& name, std::string_view text) {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  std::string why(const std::string& name) {
    auto got = collect_outputs(fd_.get(), std::vector{name}, 1_MiB);
    return got.ok() ? "collected" : got.error().message;
  }

  fs::path dir_;
  sys::Fd fd_;
};

TEST_F(Collect, FilesAndFoldersWithTheirNames) {
  file("main", "program");
  ::chmod((dir_ / "main").c_str(), 0755);
  file("classes/a/B.class", "b");
  file("classes/A.class", "a");
  auto got = collect_outputs(fd_.get(), std::vector<std::string>{"main", "classes"}, 1_MiB);
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ(got.value().size(), 3u);
  EXPECT_EQ(got.value()[0].name, "main");
  EXPECT_EQ(got.value()[0].bytes, "program");
  EXPECT_TRUE(got.value()[0].executable);
  EXPECT_EQ(got.value()[1].name, "classes/A.class");
  EXPECT_EQ(got.value()[2].name, "classes/a/B.class");
  EXPECT_FALSE(got.value()[2].executable);
}

TEST_F(Collect, LinksAreNotFollowed) {
  fs::create_symlink("/etc/passwd", dir_ / "link");
  EXPECT_EQ(why("link"), "link is a symbolic link");
  fs::create_directory_symlink("/etc", dir_ / "etc");
  EXPECT_NE(why("etc/passwd"), "collected");
  EXPECT_NE(why("../" + dir_.filename().string() + "/x"), "collected");
}

TEST_F(Collect, WhatMayBeThereIsPassedOverWhenItIsNotAsItShouldBe) {
  file("notes", "fine");
  file("large", std::string(2 << 20, 'x'));
  fs::create_symlink("/etc/passwd", dir_ / "link");
  auto got = collect_present(fd_.get(), std::vector<std::string>{"absent", "link", "large", "notes"}, 1_MiB);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, "fine");
}

TEST_F(Collect, AFifoDoesNotHoldUsAndIsRefused) {
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0644), 0);
  EXPECT_EQ(why("fifo"), "fifo is not a regular file");
}

TEST_F(Collect, AFileWithoutContentDoesNotFillOurMemory) {
  file("huge", "");
  ASSERT_EQ(::truncate((dir_ / "huge").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(why("huge"), "huge is larger than the disk limit");
  std::string deep = "d";
  for (int i = 0; i < 40; ++i) deep += "/d";
  fs::create_directories(dir_ / deep);
  EXPECT_NE(why("d").find("nested too deep"), std::string::npos);
  EXPECT_NE(why("missing"), "collected");
}

}  // namespace
}  // namespace hotcell
