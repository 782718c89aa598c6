// What goes in and comes out: every byte, on its own stream, and nothing of ours among it.
#include <gtest/gtest.h>

#include <cstdint>

#include "e2e/cli.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Streams : public E2e {};

// Every byte value, and no period that a lost or doubled block could hide in.
std::string noise(std::size_t size) {
  std::string out(size, '\0');
  std::uint64_t state = 88172645463325252ULL;
  for (auto& c : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    c = static_cast<char>(state >> 24);
  }
  return out;
}

// EXPECT_EQ would print both.
bool same(const std::string& a, const std::string& b) { return a == b; }

TEST_F(Streams, EachOnItsOwn) {
  auto called = hotcell({"run", "--", "/bin/sh", "-c", "echo out; echo err >&2; kill -TERM $$"});
  EXPECT_EQ(called.out, "out\n");
  EXPECT_EQ(called.err, "err\nhotcell: ended by signal 15 (SIGTERM)\n");
}

TEST_F(Streams, TenMebibytesIn) {
  auto bytes = noise(10 << 20);
  auto called = hotcell({"run", "--output", "11M", "--", "/bin/cat"}, bytes);
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(called.out.size(), bytes.size());
  EXPECT_TRUE(same(called.out, bytes));
}

TEST_F(Streams, FromAFile) {
  TempDir dir;
  auto bytes = noise(300000);
  write_text(dir.path() + "/in", bytes);
  auto called = hotcell({"run", "--stdin", dir.path() + "/in", "--", "/bin/cat"}, "not this");
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_TRUE(same(called.out, bytes)) << called.out.size();
}

TEST_F(Streams, AProgramThatDoesNotReadItsInput) {
  auto called = hotcell({"run", "--", "/bin/sh", "-c", "exec <&-; echo done"}, noise(4 << 20));
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "done\n");
}

TEST_F(Streams, FiftyMebibytesOut) {
  TempDir dir;
  auto bytes = noise(50 << 20);
  write_text(dir.path() + "/big", bytes);
  std::string big = dir.path() + "/big";
  auto called = hotcell({"run", "--output", "100M", "--read", big, "--", "/bin/cat", big});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(called.out.size(), bytes.size());
  EXPECT_TRUE(same(called.out, bytes));
  EXPECT_EQ(called.err, "");
}

TEST_F(Streams, TruncatedOutputLetsTheProgramGoOn) {
  TempDir dir;
  auto bytes = noise(5000);
  write_text(dir.path() + "/file", bytes);
  auto called = hotcell({"run", "--output", "1K", "--on-output", "truncate", "--read", dir.path(), "--", "/bin/sh",
                         "-c", "cat " + dir.path() + "/file; echo end >&2; exit 4"});
  EXPECT_EQ(called.code, 4) << called.describe();
  EXPECT_TRUE(same(called.out, bytes.substr(0, 1024))) << called.out.size();
  EXPECT_EQ(called.err, "end\nhotcell: stdout was cut after 1K of 4.9K (raise with --output)\n");
}

TEST_F(Streams, NoVariableOfOursGoesIn) {
  auto called = hotcell({"run", "--env", "GIVEN=yes", "--", "/usr/bin/env"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_NE(called.out.find("GIVEN=yes\n"), std::string::npos) << called.out;
  EXPECT_EQ(called.out.find("E2E_SECRET"), std::string::npos) << called.out;
}

}  // namespace
}  // namespace hotcell::testing
