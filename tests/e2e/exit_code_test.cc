// One exit code per way to end, and one sentence on stderr that says why.
#include <gtest/gtest.h>

#include "e2e/cli.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class ExitCode : public E2e {};

void expect_end(const std::vector<std::string>& args, int code, const std::string& sentence) {
  auto called = hotcell(args);
  EXPECT_EQ(called.code, code) << called.describe();
  EXPECT_NE(called.err.find("hotcell: " + sentence), std::string::npos) << called.describe();
  EXPECT_EQ(called.out.find("hotcell:"), std::string::npos) << called.describe();
}

TEST_F(ExitCode, OfTheProgramItself) {
  auto called = hotcell({"run", "--", "/bin/true"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out + called.err, "");
  called = hotcell({"run", "--", "/bin/sh", "-c", "exit 3"});
  EXPECT_EQ(called.code, 3) << called.describe();
  EXPECT_EQ(called.out + called.err, "");
}

TEST_F(ExitCode, OfTheClocks) {
  expect_end({"run", "--timeout", "300ms", "--", "/bin/sleep", "30"}, 124, "stopped: ran longer than 300ms");
  expect_end({"run", "--cpu-time", "1s", "--", "/bin/sh", "-c", "while :; do :; done"}, 124,
             "stopped: used more than 1s of CPU time");
}

TEST_F(ExitCode, OfOurOwnRefusals) {
  TempDir dir;
  write_text(dir.path() + "/plain", "words\n");
  expect_end({"run", "--memory", "lots", "--", "/bin/true"}, 125, "--memory:");
  expect_end({"run", "--read", dir.path(), "--", dir.path() + "/plain"}, 126, dir.path() + "/plain: not executable");
  expect_end({"run", "--", "/no/such/program"}, 127, "/no/such/program: program not found");
  expect_end({"run", "--", "no-such-program"}, 127, "no-such-program: program not found");
}

TEST_F(ExitCode, OfSignals) {
  expect_end({"run", "--", "/bin/sh", "-c", "kill -ABRT $$"}, 134, "ended by signal 6 (SIGABRT)");
  expect_end({"run", "--", "/bin/sh", "-c", "kill -TERM $$"}, 143, "ended by signal 15 (SIGTERM)");
}

TEST_F(ExitCode, OfMemory) {
  if (has_cgroups()) {
    expect_end({"run", "--memory", "64M", "--file", attack_path(), "--", "/work/hotcell-attack", "memory", "512"}, 137,
               "killed: used more than 64M of memory");
  } else {
    // Without a cgroup a single allocation fails instead, and the program says so itself.
    auto called =
        hotcell({"run", "--memory", "64M", "--language", "python", "-c", "b = bytearray(512 << 20); print('had it')"});
    EXPECT_EQ(called.code, 1) << called.describe();
    EXPECT_EQ(called.out, "");
    EXPECT_NE(called.err.find("MemoryError"), std::string::npos) << called.describe();
  }
}

TEST_F(ExitCode, OfOutput) {
  auto called = hotcell({"run", "--output", "64K", "--", "/bin/sh", "-c", "head -c 1000000 /dev/zero; sleep 30"});
  EXPECT_EQ(called.code, 137);
  EXPECT_EQ(called.out.size(), 65536u);
  EXPECT_NE(called.err.find("hotcell: killed: wrote more than 64K to stdout"), std::string::npos) << called.err;
}

TEST_F(ExitCode, OfDisk) {
  expect_end({"run", "--disk", "1M", "--", "/bin/sh", "-c",
              "for i in 1 2 3 4; do head -c 500000 /dev/zero >/work/$i || exit 9; done"},
             137, "failed after filling 1M of disk");
}

TEST_F(ExitCode, OfProcesses) {
  // A while at the limit: without a cgroup, hotcell counts processes from time to time.
  const char* code =
      "import os, time\n"
      "for i in range(4):\n"
      "  if os.fork() == 0: time.sleep(30)\n"
      "time.sleep(0.7)\n"
      "os.fork()\n"
      "print('a sixth')\n";
  expect_end({"run", "--processes", "5", "--language", "python", "-c", code}, 137,
             "failed after reaching 5 processes and threads");
}

TEST_F(ExitCode, OfAForbiddenSystemCall) {
  // getpid by int 0x80: another table of numbers, past the filter of this architecture.
  const char* code =
      "import ctypes, mmap\n"
      "page = mmap.mmap(-1, 4096, prot=7)\n"
      "page.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\n"
      "print('before', flush=True)\n"
      "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n"
      "print('after')\n";
  auto called = hotcell({"run", "--language", "python", "-c", code});
  EXPECT_EQ(called.code, 159) << called.describe();
  EXPECT_EQ(called.out, "before\n");
  EXPECT_NE(called.err.find("hotcell: killed by policy"), std::string::npos) << called.describe();
}

}  // namespace
}  // namespace hotcell::testing
