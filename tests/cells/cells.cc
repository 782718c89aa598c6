#include "cells/cells.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "cells/keeper/protocol.h"

namespace hotcell::testing {
namespace {

constexpr auto kMost = std::chrono::seconds(60);

template <class Condition>
bool within(std::chrono::milliseconds time, Condition holds) {
  auto until = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

void Cells::SetUp() {
  E2e::SetUp();
  state_ = std::make_unique<TempDir>();
  project_ = std::make_unique<TempDir>();
}

void Cells::TearDown() {
  end_keeper();
  EXPECT_TRUE(gone_within(state(), std::chrono::seconds(10))) << "processes of this state folder are left";
  state_.reset();
  project_.reset();
  E2e::TearDown();
}

void Cells::put(const std::string& name, std::string_view text, unsigned mode) const {
  std::filesystem::create_directories(std::filesystem::path(project() + "/" + name).parent_path());
  write_text(project() + "/" + name, text, mode);
}

std::vector<std::string> Cells::cell_words(std::vector<std::string> words) const {
  std::vector<std::string> all = {"cell", words.at(0), "--state", state()};
  all.insert(all.end(), words.begin() + 1, words.end());
  return all;
}

Called Cells::cell(std::vector<std::string> words, std::string input) const { return hotcell(cell_words(std::move(words)), std::move(input)); }

std::string Cells::good(std::vector<std::string> words, std::string input) const {
  std::string first = words.at(0);
  Called called = cell(std::move(words), std::move(input));
  EXPECT_EQ(called.code, 0) << "cell " << first << ": " << called.describe();
  return called.out;
}

Json Cells::json(std::vector<std::string> words) const {
  words.insert(words.begin() + 1, "--json");
  return Json(good(std::move(words)));
}

void Cells::refused(std::vector<std::string> words, const std::string& sentence) const {
  std::string first = words.at(0);
  Called called = cell(std::move(words));
  EXPECT_EQ(called.code, 125) << "cell " << first << ": " << called.describe();
  EXPECT_EQ(called.out, "") << "cell " << first;
  EXPECT_NE(called.err.find(sentence), std::string::npos) << "cell " << first << ": " << called.describe();
  EXPECT_EQ(lines(called.err), 1u) << called.err;
}

std::string Cells::create(const std::string& name, std::vector<std::string> more) const {
  std::vector<std::string> words = {"create", "--name", name, "--from", project()};
  words.insert(words.end(), more.begin(), more.end());
  return json(std::move(words)).text("id");
}

Called Cells::exec(const std::string& name, std::vector<std::string> argv, std::string input) const {
  std::vector<std::string> words = {"exec", name, "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  return cell(std::move(words), std::move(input));
}

std::string Cells::sh(const std::string& name, const std::string& script) const {
  Called called = exec(name, {"sh", "-c", script});
  EXPECT_EQ(called.code, 0) << script << "\n" << called.describe();
  return called.out;
}

Called Cells::shell(const std::string& name, const std::string& command, std::vector<std::string> options) const {
  std::vector<std::string> words = {"shell", name, "--state", state()};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", command});
  return hotcell(std::move(words));
}

Json Cells::shell_json(const std::string& name, const std::string& command, std::vector<std::string> options) const {
  options.push_back("--json");
  return Json(shell(name, command, std::move(options)).out);
}

bool Cells::status_within(const std::string& name, const std::string& status, std::chrono::milliseconds time) const {
  return within(time, [&] { return inspect(name).text("status") == status; });
}

void Cells::settle() const { ::usleep(30'000); }

std::string Cells::everything(const std::string& name) const {
  return sh(name, "cd /work; find . -mindepth 1 -printf '%P|%y|%m|%n|%l|%s\\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum 2>&1 || true");
}

static cells::KeeperClient connected(Result<cells::KeeperClient> client) {
  if (!client.ok()) {
    ADD_FAILURE() << client.error().message;
    std::abort();
  }
  return std::move(client).value();
}

cells::KeeperClient Cells::client() const { return connected(cells::KeeperClient::connect(state(), {hotcell_path(), {"hotcell", "cell", "keeper"}})); }

cells::KeeperClient Cells::keeper_with(const std::string& variable) const {
  return connected(cells::KeeperClient::connect(state(), {"/usr/bin/env", {"env", variable, hotcell_path(), "cell", "keeper"}}));
}

std::optional<pid_t> Cells::keeper() const {
  auto socket = cells::connect_in(state() + "/cells", cells::kSocketName);
  if (!socket.ok()) return std::nullopt;
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket.value().get(), SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) return std::nullopt;
  return who.pid;
}

bool Cells::ended(pid_t pid) {
  // Whoever inherits orphans may be in no hurry to bury them.
  std::string stat = first_line("/proc/" + std::to_string(pid) + "/stat");
  auto name = stat.rfind(") ");
  return name == stat.npos || stat[name + 2] == 'Z' || stat[name + 2] == 'X';
}

void Cells::wait_for_end(pid_t pid) {
  EXPECT_TRUE(within(kMost, [&] { return ended(pid); })) << "the keeper " << pid << " does not end";
  // Of a killed one the cells die by themselves, and the next launcher removes its groups.
  EXPECT_TRUE(within(kMost, [&] {
    for (const auto& group : cgroups_of(pid))
      if (!read_text(group + "/cgroup.procs").empty()) return false;
    return true;
  })) << "processes are left in a control group of the keeper " << pid;
}

void Cells::end_keeper() {
  auto pid = keeper();
  if (!pid) return;
  EXPECT_EQ(::kill(*pid, SIGTERM), 0);
  wait_for_end(*pid);
  EXPECT_TRUE(within(std::chrono::seconds(10), [&] { return cgroups_of(*pid).empty(); })) << "left behind: " << cgroups_of(*pid).front();
}

void Cells::kill_keeper() {
  auto pid = keeper();
  ASSERT_TRUE(pid.has_value()) << "no keeper runs";
  ASSERT_EQ(::kill(*pid, SIGKILL), 0);
  EXPECT_TRUE(within(kMost, [&] { return ended(*pid); })) << "the keeper " << *pid << " does not end";
}

}  // namespace hotcell::testing
