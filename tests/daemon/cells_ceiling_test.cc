// What a front that was taken over could order of the keeper: no more than the daemon's configuration allows. Each refusal is
// tried at the keeper's own socket, once bound as the front is and once as the cells' owner, for whom it must work.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "cells/keeper/bounds.h"
#include "cells/keeper/client.h"
#include "core/policy/profile.h"
#include "daemon/cells_fixture.h"
#include "hotcell/policy.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Ceiling : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    folder_ = (std::filesystem::temp_directory_path() / "hotcell-ceiling-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    ::chmod(folder_.c_str(), 0755);
    state_ = folder_ + "/state";
    ::mkdir(state_.c_str(), 0700);
    for (const char* name : {"/allowed", "/allowed/app", "/other"}) ::mkdir((folder_ + name).c_str(), 0755);
    std::filesystem::create_symlink(folder_ + "/other", folder_ + "/allowed/link");
    owner_.emplace(connect());
    bound_.emplace(connect());
    cells::Bounds bounds;
    bounds.ceiling.memory = 512_MiB;
    bounds.ceiling.processes = 64;
    bounds.projects = {folder_ + "/allowed"};
    auto answer = bound_->ask(cells::bind_ask(bounds));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
  }
  void TearDown() override {
    cells::Ask end;
    end.verb = "end";
    EXPECT_TRUE(owner_->ask(end).ok());
    // Its end is the end of the connection.
    char byte;
    while (::recv(owner_->fd(), &byte, 1, 0) > 0) {
    }
    owner_.reset();
    bound_.reset();
    for (const auto& path : matches(state_ + "/cells/*/work/work")) ::chmod(path.c_str(), 0700);
    std::filesystem::remove_all(folder_);
    LeakCheck::TearDown();
  }
  cells::KeeperClient connect() {
    auto client = cells::KeeperClient::connect(state_, {program_path(), {"hotcell", "cell", "keeper"}});
    EXPECT_TRUE(client.ok()) << client.error().message;
    return std::move(client).value();
  }
  static cells::Ask create(const std::string& name, const Policy& policy, const std::string& project = {}) {
    cells::Ask ask;
    ask.verb = "create";
    ask.fields = {{"name", name}, {"policy", to_yaml(policy)}, {"stopped", "1"}};
    if (!project.empty()) ask.fields["project"] = project;
    return ask;
  }
  static cells::Ask about(std::string verb, std::string cell, cells::Fields fields = {}) {
    cells::Ask ask;
    ask.verb = std::move(verb);
    ask.cell = std::move(cell);
    ask.fields = std::move(fields);
    return ask;
  }
  // Refused to the front, done for the owner.
  void expect_refused(const cells::Ask& ask, const std::string& why) {
    auto refused = bound_->ask(ask);
    ASSERT_FALSE(refused.ok()) << ask.verb << " " << why;
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied) << refused.error().message;
    EXPECT_TRUE(has(refused.error().message, why)) << refused.error().message;
    auto control = owner_->ask(ask);
    EXPECT_TRUE(control.ok()) << ask.verb << ": the control: " << control.error().message;
  }

  std::string folder_, state_;
  std::optional<cells::KeeperClient> owner_, bound_;
};

TEST_F(Ceiling, APolicyBeyondTheConfigurationIsRefused) {
  int n = 0;
  auto name = [&] { return cat("c", ++n); };
  Policy fine = default_policy();
  EXPECT_TRUE(bound_->ask(create(name(), fine)).ok());
  Policy memory = fine;
  memory.limits.memory = 1_GiB;
  expect_refused(create(name(), memory), "that much memory");
  Policy processes = fine;
  processes.limits.processes = 65;
  expect_refused(create(name(), processes), "that many processes");
  Policy network = fine;
  network.network.mode = NetworkMode::kHost;
  expect_refused(create(name(), network), "the host's network");
  Policy grant = fine;
  grant.filesystem.grants.push_back({folder_ + "/other", Access::kWrite, "test"});
  expect_refused(create(name(), grant), "writing to");
  Policy open = fine;
  open.audit["seccomp"] = AuditMode::kObserve;
  expect_refused(create(name(), open), "switching off seccomp");
}

TEST_F(Ceiling, AProjectIsBelowAFolderThatTheConfigurationNames) {
  EXPECT_TRUE(bound_->ask(create("good", default_policy(), folder_ + "/allowed/app")).ok());
  expect_refused(create("outside", default_policy(), folder_ + "/other"), "a cell over");
  expect_refused(create("link", default_policy(), folder_ + "/allowed/link"), "a cell over");
  expect_refused(create("dots", default_policy(), folder_ + "/allowed/../other"), "a cell over");
}

TEST_F(Ceiling, ACellThatItsOwnerGaveMoreIsNotToBeHad) {
  Policy wide = default_policy();
  wide.limits.memory = 1_GiB;
  ASSERT_TRUE(owner_->ask(create("owners", wide)).ok());
  ASSERT_TRUE(owner_->ask(create("project", default_policy(), folder_ + "/other")).ok());
  for (const char* cell : {"owners", "project"}) {
    for (const char* verb : {"inspect", "start", "diff", "snapshots", "usage"}) expect_refused(about(verb, cell), "more than this daemon's configuration allows");
    auto list = bound_->ask(about("list", ""));
    EXPECT_TRUE(list.ok() && has(list.value().text, cell));
  }
  expect_refused(about("apply", "project", {{"format", "json"}}), "more than this daemon's configuration allows");
  expect_refused(about("fork", "owners", {{"name", "copy"}, {"stopped", "1"}}), "more than this daemon's configuration allows");
  expect_refused(about("rm", "owners"), "more than this daemon's configuration allows");
}

TEST_F(Ceiling, OnlyListedVerbsAndFieldsAreItsToSay) {
  ASSERT_TRUE(bound_->ask(create("mine", default_policy(), folder_ + "/allowed/app")).ok());
  expect_refused(about("clean", "", {{"older_ns", "1000000000000000000"}}), "may not ask the keeper to clean");
  expect_refused(about("apply", "mine", {{"format", "json"}, {"allow_protected", "1"}}), "may not say allow_protected");
  // A snapshot file of anybody's, by its path on this host.
  ASSERT_TRUE(owner_->ask(about("snapshot", "mine", {{"label", "s"}})).ok());
  std::string file;
  for (const auto& path : matches(state_ + "/cells/*/snapshots/s.snap")) file = path;
  ASSERT_FALSE(file.empty());
  expect_refused(about("restore", "mine", {{"file", file}}), "may not say file");
  auto end = bound_->ask(about("end", ""));
  EXPECT_FALSE(end.ok());
  EXPECT_TRUE(owner_->ask(about("list", "")).ok()) << "the keeper is still there";
}

TEST_F(Ceiling, WhatIsBoundStaysBound) {
  cells::Bounds wide;
  wide.ceiling.memory = 64_GiB;
  EXPECT_FALSE(bound_->ask(cells::bind_ask(wide)).ok()) << "the connection is dropped";
  EXPECT_FALSE(bound_->ask(about("list", "")).ok());
  EXPECT_TRUE(owner_->ask(about("list", "")).ok());
}

TEST(Bounds, ACellsNetworkIsLimitedAtLeastAsTheConfigurationSays) {
  cells::Bounds bounds;
  remote::Ceiling& c = bounds.ceiling;
  c.memory = c.disk = c.output = 64_GiB;
  c.processes = 100'000;
  c.wall = std::chrono::hours(100);
  bounds.network_words = {"allow=a.test", "block=b.test", "bytes=100", "time=50"};
  Policy policy = default_policy();
  policy.network.mode = NetworkMode::kProxy;
  auto fits = [&](const std::string& words) { return cells::check_cell(bounds, policy, "", words).ok(); };
  EXPECT_TRUE(fits("allow=a.test\nblock=b.test\nbytes=100\ntime=50"));
  EXPECT_TRUE(fits("allow=a.test\nblock=b.test\nblock=c.test\nbytes=99\ntime=1\nrate=7")) << "less of everything";
  EXPECT_FALSE(fits("allow=a.test\nblock=b.test\ntime=50")) << "without a limit";
  EXPECT_FALSE(fits("allow=a.test\nblock=b.test\nbytes=101\ntime=50"));
  EXPECT_FALSE(fits("allow=a.test\nblock=b.test\nbytes=0\ntime=50")) << "0 is no limit";
  EXPECT_FALSE(fits("allow=a.test\nblock=b.test\nbytes=100\ntime=51"));
  EXPECT_FALSE(fits("allow=a.test\nbytes=100\ntime=50"));
  EXPECT_FALSE(fits("allow=a.test\nallow=c.test\nblock=b.test\nbytes=100\ntime=50"));
}

// Over the door, as a client of the daemon sees it.
TEST_F(CellsRest, WhatTheConfigurationDoesNotAllowIsRefusedWithItsReason) {
  auto memory = send("POST", "/api/v1/cells", R"({"limits":{"memory":"100G"}})");
  EXPECT_EQ(memory.status, 400) << memory.body;
  EXPECT_TRUE(has(memory.body, "limits.memory")) << memory.body;
  auto host = send("POST", "/api/v1/cells", R"({"network":"host"})");
  EXPECT_EQ(host.status, 422) << host.body;
  auto outside = send("POST", "/api/v1/cells", R"({"from":"/usr"})");
  EXPECT_EQ(outside.status, 403) << outside.body;
  EXPECT_TRUE(has(outside.body, "a cell over /usr")) << outside.body;
  EXPECT_EQ(send("POST", "/api/v1/cells", cat(R"({"from":")", project, "\"}")).status, 201) << "the control";
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"from":"relative"})").status, 400);
}

}  // namespace
}  // namespace hotcell::testing
