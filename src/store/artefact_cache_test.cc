#include "store/artefact_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "store/pack.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* tmp = ::getenv("TMPDIR");
    std::string name = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-cache-XXXXXX");
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string folder() const { return (dir_ / "a" / "hotcell").string(); }
  ArtefactCache open(Bytes limit = ArtefactCache::kLimit) {
    auto cache = ArtefactCache::open(folder(), limit);
    EXPECT_TRUE(cache.ok()) << cache.error().message;
    return std::move(cache).value();
  }
  std::string entry(const std::string& key) const { return cat(folder(), "/", key, ".pack"); }

  fs::path dir_;
};

std::vector<OutputFile> one(std::string bytes) { return {{"main", std::move(bytes), true}}; }

TEST_F(Cache, GivesBackWhatWasPut) {
  auto cache = open();
  EXPECT_FALSE(cache.get("abc"));
  std::vector<OutputFile> files = {{"classes/Main.class", std::string("\0\1x", 3), false}, {"empty", "", true}};
  ASSERT_TRUE(cache.put("abc", files).ok());
  auto got = open().get("abc");
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 2u);
  EXPECT_EQ((*got)[0].name, "classes/Main.class");
  EXPECT_EQ((*got)[0].bytes, std::string("\0\1x", 3));
  EXPECT_FALSE((*got)[0].executable);
  EXPECT_TRUE((*got)[1].executable);
  struct stat s {};
  ASSERT_EQ(::stat(folder().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(entry("abc").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(Cache, EveryChangedByteIsNoticedAndTheEntryRemoved) {
  auto cache = open();
  ASSERT_TRUE(cache.put("abc", one("program")).ok());
  std::string bytes = pack_files(one("program"));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    std::ofstream(entry("abc"), std::ios::binary) << damaged;
    EXPECT_FALSE(cache.get("abc")) << i;
    EXPECT_FALSE(fs::exists(entry("abc"))) << i;
    ASSERT_TRUE(cache.put("abc", one("program")).ok());
  }
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(unpack_files(std::string_view(bytes).substr(0, cut))) << cut;
  EXPECT_TRUE(unpack_files(bytes));
}

TEST_F(Cache, WhatOthersCouldHaveWrittenIsNotUsed) {
  auto cache = open();
  ASSERT_TRUE(cache.put("abc", one("x")).ok());
  ::chmod(entry("abc").c_str(), 0644);
  EXPECT_FALSE(cache.get("abc"));
  EXPECT_FALSE(fs::exists(entry("abc")));
  ASSERT_TRUE(cache.put("real", one("x")).ok());
  fs::create_symlink(entry("real"), entry("link"));
  EXPECT_FALSE(cache.get("link"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(entry("link"))));
  fs::create_hard_link(entry("real"), entry("hard"));
  EXPECT_FALSE(cache.get("hard"));
  ASSERT_EQ(::mkfifo(entry("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(cache.get("fifo"));
}

TEST_F(Cache, AFolderOfSomebodyElseOrOpenToOthersIsRefused) {
  open();
  ::chmod(folder().c_str(), 0755);
  auto opened = ArtefactCache::open(folder());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("closed to everybody else"), std::string::npos);
  ::chmod(folder().c_str(), 0700);
  EXPECT_TRUE(ArtefactCache::open(folder()).ok());
  // Somebody else's: /usr is root's for everybody but root, and a folder given away is nobody's for root.
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder().c_str(), 65534, 65534), 0);
    EXPECT_FALSE(ArtefactCache::open(folder()).ok());
  } else {
    EXPECT_FALSE(ArtefactCache::open("/usr").ok());
  }
  fs::create_directory_symlink(folder(), dir_ / "link");
  EXPECT_FALSE(ArtefactCache::open((dir_ / "link").string()).ok());
}

TEST_F(Cache, NamesCannotLeaveTheFolder) {
  auto cache = open();
  for (std::string key : {"", "../x", "a/b", ".hidden", "A"}) {
    EXPECT_FALSE(cache.put(key, one("x")).ok()) << key;
    EXPECT_FALSE(cache.get(key)) << key;
  }
}

TEST_F(Cache, TheOldestGoFirstWhenItIsFull) {
  auto cache = open({1 << 20});
  std::string big(100 << 10, 'x');
  for (int i = 0; i < 9; ++i) {
    std::string key = cat("k", i);
    ASSERT_TRUE(cache.put(key, one(big)).ok());
    struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, entry(key).c_str(), times, 0);
  }
  ASSERT_TRUE(cache.get("k0"));  // used, so no longer the oldest
  for (int i = 9; i < 12; ++i) ASSERT_TRUE(cache.put(cat("k", i), one(big)).ok());
  EXPECT_LE(cache.stats().bytes.n, std::uint64_t{1 << 20});
  EXPECT_TRUE(cache.get("k0"));
  EXPECT_FALSE(cache.get("k1"));
  EXPECT_TRUE(cache.get("k11"));
  EXPECT_FALSE(cache.put("huge", one(std::string(400 << 10, 'x'))).ok());
}

TEST_F(Cache, ManyProcessesAtOnce) {
  open();
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      auto cache = ArtefactCache::open(folder(), {1 << 20});
      bool good = cache.ok();
      for (int round = 0; good && round < 60; ++round) {
        std::string key = cat("k", round % 7), text(static_cast<std::size_t>(20000 + round % 7), static_cast<char>('a' + round % 7));
        good = cache.value().put(key, one(text)).ok();
        auto got = cache.value().get(key);
        good = good && (!got || (*got)[0].bytes == text);  // removed by another is fine, wrong is not
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  for (const auto& e : fs::directory_iterator(folder())) EXPECT_FALSE(e.path().string().ends_with(".tmp")) << e.path();
}

TEST_F(Cache, ClearRemovesEverything) {
  auto cache = open();
  ASSERT_TRUE(cache.put("a", one("x")).ok());
  ASSERT_TRUE(cache.put("b", one("y")).ok());
  EXPECT_EQ(cache.stats().entries, 2u);
  auto removed = cache.clear();
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed.value().entries, 2u);
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_FALSE(cache.get("a"));
}

TEST_F(Cache, AFolderIsShownByItsNameAndCountsLikeTheRest) {
  ArtefactCache cache = open();
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  std::vector<OutputFile> files(2);
  files[0] = {"bits/all.gch", std::string(100000, 'x')};
  files[1] = {"b", "two"};
  auto put = cache.put_folder("k", files);
  ASSERT_TRUE(put.ok()) << put.error().message;
  EXPECT_EQ(cache.folder_of("k"), put.value());
  EXPECT_EQ(fs::file_size(put.value() + "/bits/all.gch"), 100000u);
  EXPECT_TRUE(cache.put_folder("k", files).ok()) << "somebody else was faster";
  EXPECT_EQ(cache.stats().entries, 1u);
  EXPECT_GE(cache.stats().bytes.n, 100000u);
  EXPECT_FALSE(cache.put_folder("../k", files).ok());
  ASSERT_TRUE(cache.clear().ok());
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_FALSE(fs::exists(put.value()));
}

TEST_F(Cache, AFolderThatIsNotWholeOrNotOursAloneIsRemoved) {
  ArtefactCache cache = open();
  const OutputFile file{"all.gch", std::string(100000, 'x')};
  auto at = [&] { return cache.put_folder("k", std::span(&file, 1)).value(); };
  fs::resize_file(at() + "/all.gch", 99999);
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  fs::remove(at() + "/all.gch");
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  fs::remove(at() + "/.sizes");
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  fs::permissions(at(), fs::perms(0755));
  EXPECT_EQ(cache.folder_of("k"), std::nullopt);
  EXPECT_EQ(cache.stats().entries, 0u);
}

TEST_F(Cache, OldFoldersMakeRoomToo) {
  ArtefactCache cache = open(Bytes{1 << 20});
  const OutputFile file{"a", std::string(200 << 10, 'x')};
  for (int i = 0; i < 8; ++i) {
    auto put = cache.put_folder(cat("k", i), std::span(&file, 1));
    ASSERT_TRUE(put.ok()) << put.error().message;
    timespec old[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, put.value().c_str(), old, 0);
  }
  EXPECT_LE(cache.stats().bytes.n, 1u << 20);
  EXPECT_EQ(cache.folder_of("k0"), std::nullopt);
  EXPECT_NE(cache.folder_of("k7"), std::nullopt);
}

}  // namespace
}  // namespace hotcell
