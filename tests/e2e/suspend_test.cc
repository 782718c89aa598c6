// `hotcell run --suspend-to` and `--resume`: what ran goes on where it was, in another process of ours.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "e2e/cli.h"
#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell::testing {
namespace {

class SuspendCli : public LeakCheck {
 protected:
  std::string folder() const { return dir_.path() + "/kept"; }
  static std::vector<std::string> program(std::vector<std::string> words) {
    for (const char* word : {"--", "/usr/bin/python3", "-I", "-c",
                             "import time\nx = 41\nopen('/work/f', 'w').write('kept')\nprint('ready', flush=True)\n"
                             "for i in range(40): time.sleep(0.1)\nprint(x + 1, open('/work/f').read(), flush=True)\nraise SystemExit(7)\n"})
      words.emplace_back(word);
    return words;
  }
  TempDir dir_;
};

TEST_F(SuspendCli, CtrlZKeepsItAndResumeGoesOn) {
  if (!is_root()) {
    // An ordinary user has no gVisor here, and is told so.
    EXPECT_NE(hotcell({"run", "--backend", "runsc", "--suspend-to", folder(), "--", "/bin/true"}).err.find("needs root"), std::string::npos);
    return;
  }
  Call running(program({"run", "--backend", "runsc", "--memory", "200M", "--suspend-to", folder()}));
  ASSERT_TRUE(running.wait_for_output("ready\n"));
  running.send(SIGTSTP);
  Called kept = running.finish();
  EXPECT_EQ(kept.code, 128 + SIGTSTP) << kept.describe();
  EXPECT_EQ(kept.out, "ready\n") << "it had not come further";
  EXPECT_NE(kept.err.find(cat("suspended: kept in ", folder(), "; hotcell run --resume ", folder(), " goes on")), std::string::npos) << kept.err;
  // Its policy goes with it; another one cannot be given.
  Called other = hotcell({"run", "--resume", folder(), "--memory", "1G"});
  EXPECT_EQ(other.code, 125);
  EXPECT_NE(other.err.find("nothing of them can be given"), std::string::npos) << other.err;
  Called on = hotcell({"run", "--resume", folder()});
  EXPECT_EQ(on.code, 7) << on.describe();
  EXPECT_EQ(on.out, "42 kept\n") << on.describe();
  // Once more, and kept once more on its way.
  const std::string second = dir_.path() + "/second";
  Call again({"run", "--resume", folder(), "--suspend-to", second});
  ::usleep(1'500'000);  // it says nothing before its end: wherever it is by then, it goes on from there or has come to its end
  again.send(SIGTSTP);
  Called twice = again.finish();
  EXPECT_TRUE(twice.code == 128 + SIGTSTP || twice.code == 7) << twice.describe();
  if (twice.code != 7) {
    EXPECT_EQ(hotcell({"run", "--resume", second}).out, "42 kept\n");
  }
}

TEST_F(SuspendCli, WhatCannotBeIsRefusedBeforeAnythingRuns) {
  for (const char* backend : {"native", "bwrap"}) {
    Called r = hotcell({"run", "--backend", backend, "--suspend-to", folder(), "--", "/bin/echo", "ran"});
    EXPECT_EQ(r.code, 125) << r.describe();
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find("cannot keep a program that runs; --backend runsc can"), std::string::npos) << r.err;
  }
  struct Wrong {
    std::vector<std::string> words;
    std::string says;
  };
  ASSERT_EQ(::mkdir(folder().c_str(), 0700), 0);
  if (is_root()) {
    // What would not be there when it goes on, places that others can exchange, or the program itself.
    const std::string theirs = dir_.path() + "/theirs";
    ASSERT_EQ(::mkdir(theirs.c_str(), 0700), 0);
    ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
    ASSERT_EQ(::mkdir((theirs + "/kept").c_str(), 0700), 0);
    EXPECT_NE(hotcell({"run", "--resume", theirs + "/kept"}).err.find("others can exchange it"), std::string::npos);
    Called waived = hotcell({"run", "--backend", "runsc", "--waive", "syscalls", "--suspend-to", dir_.path() + "/new", "--", "/bin/true"});
    EXPECT_EQ(waived.code, 125);
    EXPECT_NE(waived.err.find("not with --waive"), std::string::npos) << waived.err;
  }
  ASSERT_EQ(::mkdir((dir_.path() + "/open").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir_.path() + "/open").c_str(), 0755), 0);
  std::vector<Wrong> all = {{{"run", "--resume", folder()}, "nothing whole was kept there"},
                            {{"run", "--resume", dir_.path() + "/open"}, "only we can read and write"},
                            {{"run", "--resume", dir_.path() + "/nowhere"}, "No such file"},
                            {{"run", "--resume", folder(), "--", "/bin/true"}, "no program can be given"},
                            {{"run", "--resume", folder(), "--backend", "crun"}, "of backend runsc"},
                            {{"run", "--daemon", "--resume", folder()}, "--resume"}};
  if (is_root()) all.push_back({{"run", "--backend", "runsc", "--suspend-to", folder(), "--", "/bin/true"}, "is there already"});
  for (const auto& [words, says] : all) {
    Called r = hotcell(words);
    EXPECT_EQ(r.code, 125) << r.describe();
    EXPECT_NE(r.err.find(says), std::string::npos) << says << " in " << r.describe();
  }
}

}  // namespace
}  // namespace hotcell::testing
