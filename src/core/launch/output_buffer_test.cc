#include "hotcell/output_buffer.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

TEST(OutputBuffer, KeepsEverythingUpToTheLimit) {
  OutputBuffer b({5});
  EXPECT_EQ(b.append("abc"), "abc");
  EXPECT_EQ(b.append("de"), "de");
  EXPECT_EQ(b.text(), "abcde");
  EXPECT_EQ(b.total(), 5u);
  EXPECT_FALSE(b.truncated()) << "exactly the limit is within it";
}

TEST(OutputBuffer, KeepsThePrefixOfTheChunkThatPassesTheLimit) {
  OutputBuffer b({5});
  b.append("abc");
  EXPECT_EQ(b.append("defgh"), "de");
  EXPECT_TRUE(b.truncated());
  EXPECT_EQ(b.append("more"), "");
  EXPECT_EQ(b.text(), "abcde");
  EXPECT_EQ(b.total(), 12u) << "what is dropped is counted all the same";
}

TEST(OutputBuffer, MemoryDoesNotGrowWithTheFlood) {
  OutputBuffer b({64 << 10});
  const std::string chunk(64 << 10, 'x');
  for (int i = 0; i < 1024; ++i) b.append(chunk);
  EXPECT_EQ(b.total(), 64u << 20);
  EXPECT_EQ(b.text().size(), 64u << 10);
  EXPECT_LE(b.text().capacity(), 128u << 10);
}

TEST(OutputBuffer, CanCountWithoutKeeping) {
  OutputBuffer b({5}, false);
  EXPECT_EQ(b.append("abcdefg"), "abcde") << "the part within the limit is still told, for whoever passes it on";
  EXPECT_TRUE(b.text().empty());
  EXPECT_TRUE(b.truncated());
  EXPECT_EQ(b.total(), 7u);
}

TEST(OutputBuffer, WhatWasDroppedElsewhereCountsToo) {
  OutputBuffer b({5});
  b.append("abc");
  b.count_dropped(3);
  EXPECT_EQ(b.total(), 6u);
  EXPECT_TRUE(b.truncated());
  EXPECT_EQ(b.take(), "abc");
}

TEST(OutputBuffer, BytesAreBytes) {
  OutputBuffer b({4});
  b.append(std::string_view("\0\xff\n\0z", 5));
  EXPECT_EQ(b.text(), std::string("\0\xff\n\0", 4));
}

}  // namespace
}  // namespace hotcell
