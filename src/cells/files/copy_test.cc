// What a quota counts, while a program does what it likes.
#include "cells/files/copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cells/files/cells_testing.h"
#include "sys/fd.h"

namespace hotcell::cells {
namespace {

constexpr std::uint64_t kMuch = 1 << 20;

// `levels` folders in one another, and a file in the last.
void make_deep(const std::string& top, int levels) {
  sys::Fd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
  const std::string name(20, 'd');
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at = sys::Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
  }
  sys::Fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT, 0644));
  const std::string bytes(kMuch, 'x');
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

TEST(Usage, WhatLiesDeeperThanAPathCanSayCounts) {
  Scratch scratch;
  const std::string top = scratch / "upper";
  make_deep(top, 600);
  auto used = usage(top);
  ASSERT_TRUE(used.ok()) << used.error().message;
  EXPECT_EQ(used.value().inodes, 601u);
  EXPECT_GE(used.value().bytes.n, kMuch);
}

TEST(Usage, FoldersThatComeAndGoKeepNothingFromBeingCounted) {
  Scratch scratch;
  const std::string top = scratch / "upper";
  make_deep(top, 1);
  std::atomic<bool> over = false;
  std::thread churns([&] {
    while (!over) {
      for (int i = 0; i < 50; ++i) ::mkdir((top + "/a" + std::to_string(i)).c_str(), 0755);
      for (int i = 0; i < 50; ++i) ::rmdir((top + "/a" + std::to_string(i)).c_str());
    }
  });
  for (int i = 0; i < 500; ++i) {
    auto used = usage(top);
    EXPECT_TRUE(used.ok()) << used.error().message;
    if (!used.ok()) break;
    EXPECT_GE(used.value().bytes.n, kMuch);
  }
  over = true;
  churns.join();
}

}  // namespace
}  // namespace hotcell::cells
