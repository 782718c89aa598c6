// What a lasting cell uses: told while it runs, warned about once for each crossing, held to its limits, and the cell's end
// for one told truthfully.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

// Holds `mib` of memory for `seconds`, then lets go of it.
std::string hold(int mib, const std::string& seconds) {
  return "import time\nx = bytearray(" + std::to_string(mib) + " << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(" + seconds + ")\n";
}

std::uint64_t number(const Json& json, std::string_view path) { return std::strtoull(json.text(path).c_str(), nullptr, 10); }

std::size_t loops_in_use() { return matches("/sys/block/loop*/loop/backing_file").size(); }

class CellUsage : public Cells {
 protected:
  // Runs `body` while somebody listens; the events as lines of JSON.
  template <typename Body>
  std::string events_of(const std::string& name, Body body, const std::string& last) {
    Call listener(cell_words({"events", name, "--json"}));
    // It hears what begins after it is there: something is run until it has heard of one.
    std::atomic<bool> heard = false;
    std::thread noise([&] {
      while (!heard) exec(name, {"true"});
    });
    EXPECT_TRUE(listener.wait_for_output("execution.completed"));
    heard = true;
    noise.join();
    body();
    EXPECT_TRUE(listener.wait_for_output(last)) << last;
    listener.send(SIGINT);
    return listener.finish().out;
  }
};

TEST_F(CellUsage, IsSampledFromTheSystemAndNotFromWhatAProgramSays) {
  create("work", {"--memory", "200M"});
  Json before = json({"usage", "work"});
  EXPECT_EQ(before.text("status"), "running");
  EXPECT_EQ(number(before, "limits/memory_bytes"), 200u << 20);
  EXPECT_EQ(number(before, "current/processes"), 0u) << "the spawner is nobody's program";
  Call busy(cell_words({"exec", "work", "--", "python3", "-c", hold(60, "20") + "print('done')"}));
  // SEEDS §4.2: usage was never sampled from the system, so no limit was ever reached.
  bool seen = false;
  for (int i = 0; i < 200 && !seen; ++i) {
    Json now = json({"usage", "work"});
    seen = number(now, "current/memory_bytes") > (60u << 20) && number(now, "current/cpu_time_ns") > 0 && number(now, "current/processes") >= 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(seen) << good({"usage", "work"});
  busy.send(SIGTERM);
  busy.finish();
  EXPECT_EQ(sh("work", "head -c 3000000 /dev/zero > big; ls big"), "big\n");
  Json after = json({"usage", "work"});
  EXPECT_GE(number(after, "current/disk_bytes"), 3000000u);
  EXPECT_GE(after.size("series/time_ms"), 1u);
  for (auto key : {"cpu_permille", "memory_bytes", "disk_bytes", "processes", "read_bytes_per_second", "written_bytes_per_second"})
    EXPECT_EQ(after.size(std::string("series/") + key), after.size("series/time_ms")) << key;
  std::string words = good({"usage", "work"});
  EXPECT_NE(words.find("work (running)"), std::string::npos) << words;
  EXPECT_NE(words.find(" of 200M ("), std::string::npos) << words;
}

TEST_F(CellUsage, EachCrossingOfFourFifthsIsToldOnce) {
  create("work", {"--memory", "100M"});
  std::string told = events_of("work", [&] {
    // SEEDS §4.2: a warning was given at every poll. Here it stays above for many.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(exec("work", {"python3", "-c", hold(84, "1.5")}).code, 0);
    EXPECT_EQ(exec("work", {"true"}).code, 0);
    EXPECT_EQ(exec("work", {"false"}).code, 1);
  }, R"("exit_code":1)");
  EXPECT_EQ(count(told, R"("type":"limit.warning")"), 2u) << told;
  EXPECT_NE(told.find(R"("limit_type":"memory","max":104857600)"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("type":"execution.started")"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("type":"execution.completed")"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("exit_code":1)"), std::string::npos) << told;
}

TEST_F(CellUsage, ARefusedCallIsToldAtOnce) {
  create("work");
  std::string told = events_of("work", [&] {
    EXPECT_EQ(exec("work", {"python3", "-c", "import ctypes\nprint(ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None))"}).out, "-1\n");
    EXPECT_EQ(exec("work", {"false"}).code, 1);
  }, R"("exit_code":1)");
  EXPECT_EQ(count(told, R"("type":"security.violation")"), 1u) << told;
  EXPECT_NE(told.find("mount"), std::string::npos) << told;
}

TEST_F(CellUsage, PastItsMemoryTheCellEndsAsAWholeSaysSoAndStartsAgain) {
  put("a.txt", "first\n");
  create("work", {"--memory", "100M"});
  EXPECT_EQ(sh("work", "echo kept > b.txt; cat a.txt"), "first\n");
  // The control: within the limit the same program ends by itself.
  EXPECT_EQ(exec("work", {"python3", "-c", hold(40, "0.1")}).code, 0);
  Call other(cell_words({"exec", "work", "--", "sleep", "1000"}));
  // Several, each of which would be within it.
  write_text(project() + "/hold.py", hold(60, "60"));
  Called called = exec("work", {"sh", "-c", "for i in 1 2 3; do python3 hold.py & done; wait"});
  EXPECT_EQ(called.code, 137) << called.describe();
  EXPECT_EQ(other.finish().code, 137);
  Json now = inspect("work");
  EXPECT_EQ(now.text("status"), "stopped");
  EXPECT_EQ(now.text("reason"), "memory limit: its programs together used more than 100M");
  EXPECT_EQ(now.text("process_state"), "none");
  refused({"exec", "work", "--", "true"}, "memory limit");
  good({"start", "work"});
  EXPECT_EQ(sh("work", "cat b.txt"), "kept\n");
  EXPECT_EQ(inspect("work").text("reason"), "");
}

TEST_F(CellUsage, ADiskOfItsOwnIsFullAtItsLimitOrSampledAndSaidToBe) {
  put("a.txt", "first\n");
  const std::size_t loops = loops_in_use();
  create("work", {"--disk", "20M"});
  Json now = inspect("work");
  std::string status = now.find_by_name("enforcement/layers", "disk", "status");
  EXPECT_EQ(sh("work", "head -c 5000000 /dev/zero > small; cat a.txt"), "first\n");  // the control
  if (is_root()) {
    EXPECT_EQ(status, "full") << now.find_by_name("enforcement/layers", "disk", "detail");
    Called called = exec("work", {"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/zero > f$i || exit 7; done"});
    EXPECT_EQ(called.code, 7) << called.describe();
    EXPECT_NE(called.err.find("No space left on device"), std::string::npos) << called.describe();
    EXPECT_EQ(inspect("work").text("status"), "running");
    EXPECT_EQ(sh("work", "rm f*; echo ok > g; cat g a.txt"), "ok\nfirst\n");
    Json used = json({"usage", "work"});
    EXPECT_EQ(used.text("disk_held_by"), "a file system of that size");
    EXPECT_GE(number(used, "current/disk_bytes"), 5000000u);
    EXPECT_LE(number(used, "current/disk_bytes"), 20u << 20);
    // It survives its keeper, however that ends.
    kill_keeper();
    good({"start", "work"});
    EXPECT_EQ(sh("work", "cat g; wc -c < small"), "ok\n5000000\n");
    EXPECT_EQ(Json(good({"diff", "work", "--json"})).has("added"), true);
    good({"rm", "work"});
    end_keeper();
    EXPECT_EQ(loops_in_use(), loops) << "a loop device is left";
  } else {
    EXPECT_EQ(status, "partial");
    EXPECT_NE(now.find_by_name("enforcement/layers", "disk", "detail").find("sampled"), std::string::npos);
    // Small files: the limit on each single one is another wall.
    Called called = exec("work", {"sh", "-c", "i=0; while [ $i -lt 3000 ]; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); sleep 0.01; done"});
    EXPECT_EQ(called.code, 137) << called.describe();
    EXPECT_NE(called.err.find("disk"), std::string::npos) << called.describe();
    EXPECT_EQ(json({"usage", "work"}).text("disk_held_by"), "samples");
    EXPECT_EQ(inspect("work").text("status"), "running") << "the cell goes on";
    // What makes room is not stopped, and then there is room again.
    EXPECT_EQ(sh("work", "rm -f f*; sleep 1; echo ok > g; cat g a.txt"), "ok\nfirst\n");
    EXPECT_EQ(sh("work", "sleep 1; cat g"), "ok\n");
  }
}

TEST_F(CellUsage, WithoutASizeOfItsOwnTheDiskIsSampledForEverybody) {
  create("work");
  Json now = inspect("work");
  EXPECT_EQ(now.find_by_name("enforcement/layers", "disk", "status"), "partial");
  EXPECT_EQ(json({"usage", "work"}).text("disk_held_by"), "samples");
  EXPECT_FALSE(std::filesystem::exists(now.text("folder") + "/disk.img"));
}

// Without any CPU time to speak of: a sample that asks for some does not look.
TEST_F(CellUsage, WhatIsWrittenInAMomentIsSeenBeforeTheEndIsTold) {
  create("work");
  EXPECT_EQ(sh("work", "fallocate -l 40000000 f1; echo small"), "small\n");   // the control: of 100M
  Called called = exec("work", {"sh", "-c", "for i in 1 2 3; do fallocate -l 40000000 f$i; done"});
  EXPECT_EQ(called.code, 137) << called.describe();
  EXPECT_NE(called.err.find("disk"), std::string::npos) << called.describe();
  EXPECT_EQ(inspect("work").text("status"), "running") << "the cell goes on";
  EXPECT_EQ(sh("work", "rm -f f3; echo room"), "room\n") << "what makes room is not stopped";
  EXPECT_EQ(sh("work", "echo ok"), "ok\n");
}

// One folder that was too deep for a path, and nothing of the workspace was counted any more. 1200 of the longest names are deeper
// than we go: then there is no count, and what has none is not within the limit.
TEST_F(CellUsage, WhatLiesDeeperThanAPathCanSayIsHeldToTheDiskToo) {
  for (const char* deep : {"300, 20", "1200, 255"}) {
    create("work");
    exec("work", {"python3", "-c", std::string("import os\ndef deep(levels, name):\n  for i in range(levels): os.mkdir('d' * name); os.chdir('d' * name)\ndeep(") + deep + ")"});
    Called called = exec("work", {"sh", "-c", "for i in 1 2 3; do fallocate -l 80000000 f$i; sleep 1; done; sleep 20; echo never"});
    EXPECT_EQ(called.code, 137) << deep << called.describe();
    EXPECT_NE(called.err.find("disk"), std::string::npos) << called.describe();
    good({"rm", "work"});
  }
}

// A burst that takes less than a tick of CPU time, then nothing for a long time: nobody waits for the program's end.
TEST_F(CellUsage, AProgramThatGoesOnAfterABurstIsToldAndStoppedMeanwhile) {
  create("work");
  auto begun = std::chrono::steady_clock::now();
  std::string told = events_of("work", [&] {
    begun = std::chrono::steady_clock::now();
    Called called = exec("work", {"sh", "-c", "sleep 3; for i in 1 2 3; do fallocate -l 40000000 f$i; done; exec sleep 55"});
    EXPECT_EQ(called.code, 137) << called.describe();
    EXPECT_NE(called.err.find("disk"), std::string::npos) << called.describe();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(40));
  }, R"("exit_reason":"disk")");
  EXPECT_EQ(count(told, R"("type":"limit.warning")"), 1u) << told;
  EXPECT_NE(told.find(R"("limit_type":"disk","max":104857600)"), std::string::npos) << told;
  EXPECT_EQ(count(told, R"("type":"execution.killed")"), 1u) << told;
  EXPECT_GE(number(json({"usage", "work"}), "current/disk_bytes"), 120'000'000u);
  EXPECT_EQ(inspect("work").text("status"), "running") << "the cell goes on";
}

// Its program has ended well and was told so; what it left in the background is held to the limit all the same.
TEST_F(CellUsage, WhatIsLeftRunningIsStoppedPastTheDiskToo) {
  create("work");
  std::string told = events_of("work", [&] {
    Called called = exec("work", {"sh", "-c", "(for i in $(seq 50); do sleep 0.5; fallocate -l 20000000 f$i; done; sleep 86405) > /dev/null 2>&1 & exit 0"});
    EXPECT_EQ(called.code, 0) << called.describe();
  }, R"("exit_reason":"disk")");
  EXPECT_EQ(count(told, R"("type":"execution.killed")"), 1u) << told;
  for (int i = 0; i < 100 && exec("work", {"pgrep", "sleep"}).code == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NE(exec("work", {"pgrep", "sleep"}).code, 0);
  EXPECT_LT(number(json({"usage", "work"}), "current/disk_bytes"), 400'000'000u);
  EXPECT_EQ(inspect("work").text("status"), "running") << "the cell goes on";
  sh("work", "rm f*; echo room");
}

// What takes the host's room without a byte in any file that can be listed: empty files, links, and files that are open and deleted.
TEST_F(CellUsage, NamesAndFilesWithoutANameAreHeldToTheDiskToo) {
  write_text(project() + "/small.yaml", "name: small\nextends: default\nlimits: {disk: 8M, timeout: 60s}\n");
  create("work", {"--profile", project() + "/small.yaml"});
  ASSERT_EQ(json({"usage", "work"}).text("disk_held_by"), "samples");
  auto python = [&](const std::string& code) { return exec("work", {"python3", "-c", "import os, time\n" + code}); };
  const std::string open_and_delete = "def nameless(i):\n f = os.open(f'd{i}', os.O_CREAT | os.O_RDWR)\n os.posix_fallocate(f, 0, 3 << 20)\n os.unlink(f'd{i}')\n return f\n";
  struct {
    const char* what;
    std::string within, past;
  } const cases[] = {
      {"empty files", "for i in range(4000): open(f'e{i}', 'w').close()", "for i in range(6000): open(f'e{i}', 'w').close()\ntime.sleep(50)"},
      {"links", "for i in range(4000): os.symlink('x', f'l{i}')", "for i in range(6000): os.symlink('x', f'l{i}')\ntime.sleep(50)"},
      {"deleted and open", open_and_delete + "all = [nameless(i) for i in range(2)]\ntime.sleep(5)", open_and_delete + "all = [nameless(i) for i in range(4)]\ntime.sleep(50)"},
      // The control: one after the other they take no more than one.
      {"deleted, one after the other", open_and_delete + "for i in range(40): os.close(nameless(i)); time.sleep(0.05)", ""}};
  for (const auto& c : cases) {
    Called called = python(c.within);
    EXPECT_EQ(called.code, 0) << c.what << ": " << called.describe();
    sh("work", "find . -name '[el][0-9]*' -delete");
    if (c.past.empty()) continue;
    called = python(c.past);
    EXPECT_EQ(called.code, 137) << c.what << ": " << called.describe();
    EXPECT_NE(called.err.find("disk"), std::string::npos) << c.what << ": " << called.describe();
    EXPECT_EQ(sh("work", "find . -name '[el][0-9]*' -delete; echo room"), "room\n") << c.what;
  }
  EXPECT_EQ(inspect("work").text("status"), "running") << "the cell goes on";
}

// Without a control group nothing tells that a process has gone which held them, and it cost no tick of CPU time.
TEST_F(CellUsage, FilesWithoutANameAreForgottenWithTheirLastHolder) {
  create("work");
  ASSERT_EQ(json({"usage", "work"}).text("disk_held_by"), "samples");
  auto disk = [&] { return number(json({"usage", "work"}), "current/disk_bytes"); };
  Call holds(cell_words({"exec", "work", "--", "python3", "-c",
                         "import os, time\nf = os.open('d', os.O_CREAT | os.O_RDWR)\nos.posix_fallocate(f, 0, 30 << 20)\nos.unlink('d')\ntime.sleep(8)"}));
  bool seen = false;
  for (int i = 0; i < 140 && !seen; ++i) {
    seen = disk() >= 30u << 20;
    if (!seen) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(seen) << "the control: they count while they are held";
  EXPECT_EQ(holds.finish().code, 0);
  // Longer than two samples are apart.
  std::uint64_t left = 0;
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    left = disk();
  }
  EXPECT_LT(left, 30u << 20);
}

TEST_F(CellUsage, TheSentencesNameTheCellsOwnLimits) {
  create("work", {"--memory", "64M"});
  Called called = exec("work", {"python3", "-c", "x = b'x' * 200_000_000; print(len(x))"});
  EXPECT_NE(called.code, 0);
  if (is_root()) {
    EXPECT_NE(called.err.find("more than 64M of memory"), std::string::npos) << called.describe();
    EXPECT_EQ(called.err.find("raise with --memory"), std::string::npos) << called.describe();
  }
}

TEST_F(CellUsage, OutputIsCutByBytesNotByCharacters) {
  // SEEDS §4.2: output was sliced by characters with a count of bytes.
  create("work");
  Called called = cell({"exec", "work", "--output", "1K", "--on-output", "truncate", "--", "python3", "-c", "print('\\u00e4' * 5000, end='')"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out.size(), 1024u);
}

TEST_F(CellUsage, WhatACommandNeedsIsGuessed) {
  EXPECT_EQ(good({"estimate", "--", "env", "A=1", "cargo", "build"}), "--memory 1G --cpu-time 60s --timeout 120s  (cargo, build)\n");
  Json json_of(good({"estimate", "--json", "--", "npm test"}));
  EXPECT_EQ(json_of.text("memory_bytes"), "268435456");
  EXPECT_EQ(json_of.text("cpu_time_ns"), "30000000000");
  EXPECT_EQ(json_of.text("timeout_ns"), "60000000000");
  refused({"estimate"}, "expected hotcell cell estimate -- COMMAND...");
}

TEST_F(CellUsage, WhoListensToACellThatIsRemovedHearsItsEndAndLeaves) {
  create("work");
  Call listener(cell_words({"events", "work", "--json"}));
  std::atomic<bool> heard = false;
  std::thread noise([&] {
    while (!heard) exec("work", {"true"});
  });
  EXPECT_TRUE(listener.wait_for_output("execution.completed"));
  heard = true;
  noise.join();
  good({"rm", "work"});
  Called left = listener.finish();
  EXPECT_EQ(left.code, 0) << left.describe();
  EXPECT_NE(left.out.find("sandbox.destroyed"), std::string::npos) << left.describe();
}

TEST_F(CellUsage, QuestionsAboutNoCellAreRefused) {
  for (auto verb : {"usage", "events", "network", "seal"}) {
    refused({verb, "nobody"}, "there is no cell nobody");
    refused({verb}, "which cell?");
  }
}

}  // namespace
}  // namespace hotcell::testing
