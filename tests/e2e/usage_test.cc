// What a run is said to use: while it runs on a terminal, and in its account.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class LiveLine : public E2e {};
class DiskTraffic : public E2e {};

constexpr std::string_view kErase = "\r\x1b[K";

// hotcell with a terminal for its stderr; what the terminal was sent.
std::string on_terminal(std::vector<std::string> args, int* code) {
  int terminal = -1, theirs = -1;
  winsize size{24, 100, 0, 0};
  EXPECT_EQ(::openpty(&terminal, &theirs, nullptr, nullptr, &size), 0);
  args.insert(args.begin(), hotcell_path());
  pid_t pid = ::fork();
  if (pid == 0) {
    int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, 0);
    ::dup2(null, 1);
    ::dup2(theirs, 2);
    ::close(terminal);
    ::close(theirs);
    std::vector<char*> words;
    for (auto& word : args) words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(99);
  }
  ::close(theirs);
  std::string sent;
  char buffer[4096];
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) sent.append(buffer, static_cast<std::size_t>(n));
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return sent;
}

HOTCELL_PROGRAM(hold_and_wait) {
  // 32 MiB that were really touched, and two processes.
  constexpr std::size_t kSize = 32 << 20;
  auto* memory = static_cast<volatile char*>(::malloc(kSize));
  for (std::size_t i = 0; i < kSize; i += 4096) memory[i] = 1;
  pid_t child = ::fork();
  ::usleep(2'200'000);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return 0;
}

TEST_F(LiveLine, ShowsWhatIsUsedNowAndGoesAtTheEnd) {
  int code = -1;
  std::string sent = on_terminal({"run", "--", self_path(), "--program=hold_and_wait"}, &code);
  EXPECT_EQ(code, 0) << sent;
  EXPECT_EQ(sent.find("running 0."), std::string::npos) << "shown within the first second";
  auto at = sent.find("running 1.");
  ASSERT_NE(at, std::string::npos) << sent;
  std::string line = sent.substr(at, sent.find('\r', at) - at);
  EXPECT_NE(line.find("s of 60s, memory "), std::string::npos) << line;
  double memory = std::atof(line.c_str() + line.find("memory ") + 7);
  EXPECT_GE(memory, 32) << line;
  EXPECT_LT(memory, 128) << line;
  EXPECT_NE(line.find(", cpu 0."), std::string::npos) << line;
  EXPECT_NE(line.find(", 2 tasks"), std::string::npos) << line;
  EXPECT_TRUE(sent.ends_with(kErase)) << sent.substr(sent.size() - std::min<std::size_t>(sent.size(), 40));
}

TEST_F(LiveLine, NothingForAShortRun) {
  int code = -1;
  EXPECT_EQ(on_terminal({"run", "--", "/bin/true"}, &code), "");
  EXPECT_EQ(code, 0);
}

TEST_F(LiveLine, NothingInAPipe) {
  auto called = hotcell({"run", "--", "/bin/sleep", "1.6"});
  EXPECT_EQ(called.code, 0);
  EXPECT_EQ(called.err, "");
}

// A folder on a disk: writes to memory count as none.
std::string disk_folder() {
  for (const char* place : {"/var/tmp", "/tmp"}) {
    struct statfs fs;
    std::string name = std::string(place) + "/hotcell-usage-XXXXXX";
    if (::statfs(place, &fs) == 0 && fs.f_type != TMPFS_MAGIC && ::mkdtemp(name.data()) != nullptr) return name;
  }
  return {};
}

TEST_F(DiskTraffic, WhatIsWrittenToADiskIsCounted) {
  std::string folder = disk_folder();
  if (folder.empty()) GTEST_SKIP() << "no temporary folder on a disk";
  const std::string file = folder + "/file";
  auto written = [&](const std::vector<std::string>& flags, const std::string& script) {
    std::vector<std::string> args = {"run", "--json"};
    args.insert(args.end(), flags.begin(), flags.end());
    args.insert(args.end(), {"--write", folder, "--", "/bin/sh", "-c", script});
    auto called = hotcell(args);
    ::unlink(file.c_str());
    return std::stoll(Json(called.out).text("resource_usage/io_write_bytes"));
  };
  constexpr long long kSize = 8 << 20;
  const std::string dd = "dd if=/dev/zero of=" + file + " bs=1M count=8 conv=fsync 2>/dev/null";
  EXPECT_GE(written({}, dd), kSize);
  EXPECT_LT(written({}, dd), 4 * kSize);
  EXPECT_GE(written({}, "(" + dd + ") & wait"), kSize) << "by a child";
  EXPECT_GE(written({"--timeout", "3s"}, dd + "; sleep 30"), kSize) << "of a run that was killed";
  EXPECT_GE(written({"--timeout", "3s"}, "(" + dd + "; sleep 30) & sleep 30"), kSize) << "by its child";
  // Without an idmapped mount root's cell has a stranger's rights in the folder.
  if (!is_root()) {
    EXPECT_GE(written({"--backend", "landlock"}, dd), kSize);
  }
  EXPECT_LT(written({}, "dd if=/dev/zero of=/work/file bs=1M count=8 2>/dev/null"), 1 << 20)
      << "a private folder is memory";
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace hotcell::testing
