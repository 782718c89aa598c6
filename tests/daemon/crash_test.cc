// What a daemon that is killed leaves behind: a row of everything it was asked for, and nothing else.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/strings.h"
#include "daemon/processes.h"
#include "daemon/rest_client.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Crash : public DaemonFixture {
 protected:
  void SetUp() override {
    record = false;
    around_ = (fs::temp_directory_path() / "hotcell-crash-XXXXXX").string();
    ASSERT_NE(::mkdtemp(around_.data()), nullptr);
    ::chmod(around_.c_str(), 0755);
    // Where programs leave a mark that outlives the daemon, and a profile that lets them.
    marks_ = around_ + "/marks";
    fs::create_directories(marks_);
    ::chmod(marks_.c_str(), 0777);
    fs::create_directories(around_ + "/home/.config/hotcell/profiles");
    std::ofstream(around_ + "/home/.config/hotcell/profiles/marks.yaml")
        << "extends: default\nname: marks\nfilesystem:\n  write: [" << marks_ << "]\n";
    variables = {{"HOME", around_ + "/home"}};
    config = cat("paths:\n  write: [", marks_, "]\nqueue:\n  running: 64\n");
    DaemonFixture::SetUp();
  }
  void TearDown() override {
    DaemonFixture::TearDown();
    std::error_code ignored;
    fs::remove_all(around_, ignored);
  }

  struct Row {
    std::string status, command, error;
  };
  // Every execution the daemon knows of, by pages, by id.
  std::map<std::string, Row> all_known() {
    std::map<std::string, Row> out;
    std::string before;
    for (;;) {
      auto page = send("GET", cat("/api/v1/executions?limit=500", before)).body;
      for (std::size_t at = page.find("{\"number\":"); at != std::string::npos;) {
        const auto next = page.find("{\"number\":", at + 1);
        const std::string row = page.substr(at, next == std::string::npos ? next : next - at);
        out[field(row, "id")] = {field(row, "status"), field(row, "command"), field(row, "error")};
        at = next;
      }
      auto next = page.rfind("\"next\":");
      if (next == std::string::npos || page.compare(next + 7, 4, "null") == 0) return out;
      before = cat("&before=", std::atoll(page.c_str() + next + 7));
    }
  }
  bool wait_until_served() {
    for (int i = 0; i < 400; ++i) {
      if (send("GET", "/ready").status == 200) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }

  std::string around_, marks_;
};

// No Idempotency-Key, so nobody could ask again: the mark of each program that ran must be in the command of some row.
TEST_F(Crash, AProgramThatRanIsKnownHoweverSoonTheFrontWasKilled) {
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> next{0}, answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i)
    clients.emplace_back([&] {
      while (!stop) {
        const std::size_t n = next++;
        auto answer = send("POST", "/api/v1/sandbox/execute",
                           cat(R"({"profile":"marks","command":"touch","args":[")", marks_, "/mark-", n, R"(."]})"));
        if (answer.status == 200) ++answered;
        else std::this_thread::sleep_for(20ms);
      }
    });
  int kills = 0;
  for (int round = 0; round < 8; ++round) {
    const std::size_t had = answered;
    for (int i = 0; i < 400 && answered < had + 10; ++i) std::this_thread::sleep_for(10ms);   // it serves again
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * round));
    if (pid_t front = child_named(daemon_pid(), "hotcell-front"); front != 0 && ::kill(front, SIGKILL) == 0) ++kills;
  }
  stop = true;
  for (auto& c : clients) c.join();
  EXPECT_EQ(kills, 8);
  ASSERT_TRUE(wait_until_served());
  std::set<std::string> commands;
  std::size_t stopped = 0;
  for (const auto& [id, row] : all_known()) {
    EXPECT_TRUE(row.status == "completed" || row.status == "failed" || row.status == "killed") << id << " " << row.status;
    if (row.error == "daemon stopped") ++stopped;
    if (auto at = row.command.rfind("/mark-"); at != std::string::npos) commands.insert(row.command.substr(at + 1));
  }
  std::size_t ran = 0;
  for (const auto& mark : fs::directory_iterator(marks_)) {
    ++ran;
    EXPECT_TRUE(commands.contains(mark.path().filename())) << mark.path().filename() << " ran and is not in the history";
  }
  EXPECT_GE(ran, answered.load());
  EXPECT_GT(stopped, 0u) << "nothing ran when the front was killed: this test has shown nothing";
}

TEST_F(Crash, ADaemonThatIsKilledLeavesNothingButRowsOfAllItWasAsked) {
  std::set<std::string> ids;
  for (int i = 0; i < 40; ++i) {
    auto taken = send("POST", "/api/v1/sandbox/execute?wait=false", R"({"command":"sleep","args":["300"]})");
    ASSERT_EQ(taken.status, 202) << taken.body;
    ids.insert(field(taken.body, "id"));
  }
  // Ten more that somebody waits for, and whose id nobody has been told.
  std::vector<int> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(send_only("POST", "/api/v1/sandbox/execute", R"({"command":"sleep","args":["301"]})"));
  auto running = [&] { return send("GET", "/api/v1/stats").body.find("\"running\":50") != std::string::npos; };
  for (int i = 0; i < 400 && !running(); ++i) std::this_thread::sleep_for(50ms);
  ASSERT_TRUE(running()) << send("GET", "/api/v1/stats").body;
  // They are begun; now there is an init and a program of each.
  std::map<pid_t, std::string> alive;
  for (int i = 0; i < 400 && alive.size() <= 100; ++i, std::this_thread::sleep_for(50ms)) {
    std::vector<pid_t> below;
    add_descendants(daemon_pid(), below);
    alive.clear();
    for (pid_t pid : below)
      if (auto who = process_identity(pid); !who.empty()) alive[pid] = who;
  }
  EXPECT_GT(alive.size(), 100u) << "front, launcher, and an init and a program of each cell";

  kill_daemon();
  for (int fd : waiting) ::close(fd);
  for (int i = 0; i < 400 && !alive.empty(); ++i) {
    std::erase_if(alive, [](const auto& p) { return process_identity(p.first) != p.second; });
    if (!alive.empty()) std::this_thread::sleep_for(50ms);
  }
  for (const auto& [pid, who] : alive) ADD_FAILURE() << process_name(pid) << " " << pid << " has outlived the daemon";

  start_daemon();
  auto known = all_known();
  EXPECT_EQ(known.size(), 50u);
  for (const auto& [id, row] : known) {
    ids.erase(id);
    EXPECT_EQ(row.status, "failed") << id;
    EXPECT_EQ(row.error, "daemon stopped") << id;
    EXPECT_EQ(field(send("GET", "/api/v1/sandbox/status/" + id).body, "status"), "failed");
  }
  EXPECT_TRUE(ids.empty()) << ids.size() << " are lost";
  auto next = send("POST", "/api/v1/sandbox/execute", R"({"command":"true"})");
  EXPECT_EQ(field(next.body, "status"), "completed") << next.body;
}

}  // namespace
}  // namespace hotcell::testing
