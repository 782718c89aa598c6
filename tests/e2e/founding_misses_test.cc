// What the systems before this one did wrong with a program that runs (SEEDS §1.10), where no other test has it by name.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "e2e/cli.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;

class FoundingMisses : public E2e {
 protected:
  TempDir dir_;
};

// The parent kept all of the output before it cut it: 1.5 GB in two seconds.
TEST_F(FoundingMisses, SeedsAFloodIsNotKeptInMemory) {
  pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    int null = ::open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) ::dup2(null, fd);
    ::execl(hotcell_path().c_str(), "hotcell", "run", "--timeout", "2s", "--output", "1M", "--on-output", "truncate", "--", "/usr/bin/yes", nullptr);
    ::_exit(99);
  }
  int status = 0;
  rusage usage{};
  ASSERT_EQ(::wait4(pid, &status, 0, &usage), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 99 && WEXITSTATUS(status) != 125) << status;
  EXPECT_LT(usage.ru_maxrss, 96 << 10) << "KiB";
}

// 273 lines stood before the program's own, and nothing may stand before this import.
TEST_F(FoundingMisses, SeedsLinesAreTheProgramsOwn) {
  write_text(dir_.path() + "/a.py", "from __future__ import annotations\ndef f(x: nosuch): pass\nraise ValueError('boom')\n");
  auto called = hotcell({"run", dir_.path() + "/a.py"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.err.find("line 3"), std::string::npos) << called.describe();
  EXPECT_NE(called.err.find("boom"), std::string::npos) << called.describe();
}

// The rule on /proc/self was of the parent's own folder, so that the child could not read its own.
TEST_F(FoundingMisses, SeedsProcSelfIsTheProgramsOwn) {
  auto called = hotcell({"run", "--no-verify", "--language", "python", "-c",
                         "import os\nprint([l.split()[1] for l in open('/proc/self/status') if l.startswith('Pid:')][0] == str(os.getpid()))"});
  EXPECT_EQ(called.out, "True\n") << called.describe();
}

// One that was installed into a home folder could load nothing once the walls stood.
TEST_F(FoundingMisses, SeedsAnInterpreterOutsideUsrRuns) {
  const std::string place = dir_.path() + "/own";
  fs::create_directories(place + "/bin");
  fs::create_directories(place + "/lib");
  const fs::path real = fs::canonical("/usr/bin/python3");
  fs::copy(real, place + "/bin/python3");
  const std::string library = "lib/" + real.filename().string();
  fs::copy("/usr/" + library, place + "/" + library, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  auto ask = [&](std::vector<std::string> before) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), before.begin(), before.end());
    for (std::string word : {std::string("--"), place + "/bin/python3", std::string("-I"), std::string("-c"), std::string("import json; print(json.__file__)")})
      words.push_back(word);
    return hotcell(words);
  };
  auto called = ask({"--read", place});
  EXPECT_EQ(called.out, place + "/" + library + "/json/__init__.py\n") << called.describe();
  // Without the grant the program alone is brought along, and finds the system's library, not its own.
  EXPECT_EQ(ask({}).out, "/usr/" + library + "/json/__init__.py\n");
}

}  // namespace
}  // namespace hotcell::testing
