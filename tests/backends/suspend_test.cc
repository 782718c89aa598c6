// A running program as files, and on from there: gVisor's checkpoints, with the workspace beside them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

class Suspend : public testing::LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    policy_ = default_policy();
    policy_.limits.wall = policy_.limits.cpu_time = 60s;
    policy_.limits.processes = 32;
    auto opened = backends::open_backend("runsc", {});
    if (opened.ok()) launcher_ = std::move(opened).value();
    else why_ = opened.error().message;
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }
  // An ordinary user has no gVisor here, and is told so.
  bool told_why() const {
    if (testing::is_root()) EXPECT_NE(launcher_, nullptr) << why_;
    else EXPECT_NE(why_.find("needs root"), std::string::npos) << why_;
    return launcher_ == nullptr;
  }
  Request program() {
    Request r;
    // Memory, an open file, a file in memory, a second process: none of it is anywhere but in the program.
    r.argv = {"/usr/bin/python3", "-I", "-c",
              "import os, subprocess, time\n"
              "x = {'n': 41}; open('/work/f', 'w').write('kept'); open('/tmp/t', 'w').write('too'); f = open('/work/f')\n"
              "child = subprocess.Popen(['/bin/sh', '-c', 'sleep 3; exit 5'])\n"
              "print('ready', flush=True)\n"
              "for i in range(30): time.sleep(0.1)\n"
              "print(x['n'] + 1, f.read(), open('/tmp/t').read(), child.wait(), os.listdir('/work'), flush=True)\n"
              "raise SystemExit(7)\n"};
    return r;
  }
  struct Run {
    std::string seen;
    std::optional<Result<Report>> report;
  };
  void attach(Request& r, Run& run) {
    r.on_output = [&run](Stream, std::string_view text) { run.seen += text; };
  }
  Launcher::Done into(Run& run) {
    return [&run](RunId, Result<Report> r) { run.report.emplace(std::move(r)); };
  }
  void go_until(const std::function<bool()>& there) {
    for (auto until = std::chrono::steady_clock::now() + 60s; !there() && std::chrono::steady_clock::now() < until;) ASSERT_TRUE(launcher_->step(10ms).ok());
    ASSERT_TRUE(there());
  }
  // Runs it to its first word and keeps it.
  void keep(const std::string& folder) {
    Run run;
    Request r = program();
    attach(r, run);
    auto id = launcher_->start(policy_, std::move(r), into(run));
    ASSERT_TRUE(id.ok()) << id.error().message;
    go_until([&] { return run.seen == "ready\n" || run.report; });
    auto kept = backends::suspends(*launcher_)->suspend(id.value(), folder);
    ASSERT_TRUE(kept.ok()) << kept.error().message;
    go_until([&] { return run.report.has_value(); });
    ASSERT_TRUE(run.report->ok()) << run.report->error().message;
    EXPECT_EQ(run.report->value().verdict.reason, ExitReason::kCancelled);
    EXPECT_EQ(run.report->value().error, cat("suspended: kept in ", folder));
    EXPECT_EQ(run.seen, "ready\n") << "it had not come further";
  }

  testing::TempDir dir_;
  Policy policy_;
  std::unique_ptr<Launcher> launcher_;
  std::string why_;
};

TEST_F(Suspend, AProgramGoesOnWhereItWas) {
  if (told_why()) return;
  const std::string folder = dir_.path() + "/kept";
  keep(folder);
  struct stat st {};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u) << "it holds the program's memory";
  // As often as one likes, and by a launcher that knows nothing of the first.
  for (int i = 0; i < 2; ++i) {
    launcher_ = backends::open_backend("runsc", {}).value();
    Run run;
    Request r;
    attach(r, run);
    auto id = backends::suspends(*launcher_)->resume(policy_, folder, std::move(r), into(run));
    ASSERT_TRUE(id.ok()) << id.error().message;
    // One at a time: its user is in its image.
    auto twice = backends::suspends(*launcher_)->resume(policy_, folder, {}, [](RunId, Result<Report>) {});
    ASSERT_FALSE(twice.ok());
    EXPECT_NE(twice.error().message.find("it runs already"), std::string::npos) << twice.error().message;
    go_until([&] { return run.report.has_value(); });
    ASSERT_TRUE(run.report->ok()) << run.report->error().message;
    EXPECT_EQ(run.seen, "42 kept too 5 ['f']\n") << run.report->value().err;
    EXPECT_EQ(run.report->value().verdict.exit_code, 7);
    EXPECT_EQ(run.report->value().enforcement.backend, "runsc");
    EXPECT_EQ(run.report->value().enforcement.find(Layer::kNetNs)->status, LayerStatus::kFull);
  }
}

TEST_F(Suspend, WhatItWasKeptUnderHoldsOrItStaysWhereItIs) {
  if (told_why()) return;
  const std::string folder = dir_.path() + "/kept";
  keep(folder);
  auto refused = [&](const Policy& policy) {
    auto id = backends::suspends(*launcher_)->resume(policy, folder, {}, [](RunId, Result<Report>) {});
    return id.ok() ? std::string("it ran") : id.error().message;
  };
  Policy wider = policy_;
  wider.limits.memory = 512_MiB;
  EXPECT_NE(refused(wider).find("was kept under another policy"), std::string::npos) << refused(wider);
  ::chmod(folder.c_str(), 0755);
  EXPECT_NE(refused(policy_).find("not a folder that only we can read and write"), std::string::npos) << refused(policy_);
  ::chmod(folder.c_str(), 0700);
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  EXPECT_NE(refused(policy_).find("not a folder that only we"), std::string::npos);
  ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
  // A note is what makes it whole.
  std::filesystem::rename(folder + "/note", folder + "/gone");
  EXPECT_NE(refused(policy_).find("nothing whole was kept there"), std::string::npos) << refused(policy_);
  Run run;
  Request r = program();
  attach(r, run);
  auto id = launcher_->start(policy_, std::move(r), into(run));
  ASSERT_TRUE(id.ok());
  go_until([&] { return !run.seen.empty() || run.report; });
  EXPECT_FALSE(backends::suspends(*launcher_)->suspend(id.value(), folder).ok()) << "nothing is written over what is there";
  EXPECT_FALSE(backends::suspends(*launcher_)->suspend(id.value(), "relative").ok());
  launcher_->cancel(id.value());
  go_until([&] { return run.report.has_value(); });
}

TEST_F(Suspend, WhereThereIsNoSuchKernelNothingIsKept) {
  auto native = Launcher::create({});
  ASSERT_TRUE(native.ok());
  EXPECT_EQ(backends::suspends(*native.value()), nullptr);
  auto bwrap = backends::open_backend("bwrap", {});
  ASSERT_TRUE(bwrap.ok()) << bwrap.error().message;
  EXPECT_EQ(backends::suspends(*bwrap.value()), nullptr);
  EXPECT_EQ(launcher_ != nullptr && backends::suspends(*launcher_) != nullptr, testing::is_root()) << why_;
}

}  // namespace
}  // namespace hotcell
