// Lasting cells through the REST door of a real daemon: each route once well and once wrong, and what outlives what.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "server/cells/cell_door.h"
#include "server/json/json_value.h"

namespace hotcell::testing {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

TEST_F(CellsRest, AreMadeListedLookedAtAndRemoved) {
  EXPECT_EQ(send("GET", "/api/v1/cells").body, R"({"cells":[],"next":null})");
  auto made = send("POST", "/api/v1/cells", R"({"name":"first","labels":{"team":"a"},"env":{"K":"V"},"files":{"x.txt":"hello","deep/er/run.sh":"echo ran"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = text_field(made.body, "id");
  EXPECT_EQ(made.header("location"), cell(id));
  EXPECT_EQ(text_field(made.body, "status"), "running");
  EXPECT_EQ(sh(id, "cat x.txt; sh deep/er/run.sh; echo $K"), "helloran\nV\n");
  const std::string second = make(R"({"name":"second"})");
  auto page = send("GET", "/api/v1/cells?limit=1");
  EXPECT_TRUE(has(page.body, "\"name\":\"second\"") && !has(page.body, "\"name\":\"first\"")) << page.body;   // newest first
  auto next = send("GET", cat("/api/v1/cells?before=", text_field(page.body, "next")));
  EXPECT_TRUE(has(next.body, "\"name\":\"first\"") && has(next.body, "\"next\":null")) << next.body;
  EXPECT_TRUE(has(send("GET", "/api/v1/cells?label=team=a").body, "first"));
  EXPECT_FALSE(has(send("GET", "/api/v1/cells?label=team=a").body, "\"second\""));
  EXPECT_EQ(send("GET", "/api/v1/cells?label=team").status, 400);
  EXPECT_EQ(send("GET", "/api/v1/cells?status=asleep").status, 400);
  auto shown = send("GET", cell("first"));
  EXPECT_EQ(shown.status, 200);
  EXPECT_TRUE(has(shown.body, "\"env_vars\":{\"K\":\"V\"}")) << shown.body;
  EXPECT_EQ(send("GET", cell("nobody")).status, 404);
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"name":"first"})").status, 409);
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"name":"a b"})").status, 400);
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"nmae":"x"})").status, 400);
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"files":{"../x":"y"}})").status, 400);
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"labels":{"hotcell.client":"root"}})").status, 400);
  EXPECT_EQ(send("DELETE", cell(second)).status, 204);
  EXPECT_EQ(send("DELETE", cell(second)).status, 404);
  EXPECT_EQ(send("GET", cell(second)).status, 404);
  EXPECT_TRUE(has(send("GET", "/api/v1/audit").body, "cell.created"));
}

TEST_F(CellsRest, ATarIsAWorkspace) {
  const std::string tar = server::tar_of({{"one.txt", "1", false}, {"folder/two.sh", "echo two", true}});
  auto made = send("POST", "/api/v1/cells?name=packed&label=from=tar", tar, {{"Content-Type", "application/x-tar"}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(sh("packed", "cat one.txt; test -x folder/two.sh && sh folder/two.sh"), "1two\n");
  EXPECT_EQ(send("POST", "/api/v1/cells?name=other", "no tar at all, but long enough for one header or so", {{"Content-Type", "application/x-tar"}}).status / 100, 4);
  EXPECT_EQ(send("GET", cell("other")).status, 404) << "a cell without its files is none";
}

TEST_F(CellsRest, ArePausedResumedStoppedAndStarted) {
  const std::string id = make();
  EXPECT_EQ(send("POST", cell(id, "/resume")).status, 409);
  auto paused = send("POST", cell(id, "/pause"));
  EXPECT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(text_field(paused.body, "status"), "paused");
  EXPECT_EQ(send("POST", cell(id, "/pause")).status, 409);
  auto refused = send("POST", cell(id, "/exec"), R"({"command":"true"})");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(text_field(send("POST", cell(id, "/resume")).body, "status"), "running");
  sh(id, "echo kept > f");
  auto stopped = send("POST", cell(id, "/stop"));
  EXPECT_EQ(text_field(stopped.body, "status"), "stopped") << stopped.body;
  EXPECT_EQ(send("POST", cell(id, "/exec"), R"({"command":"true"})").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/exec?wait=false"), R"({"command":"true"})").status, 409);
  EXPECT_EQ(text_field(send("POST", cell(id, "/start")).body, "status"), "running");
  EXPECT_EQ(sh(id, "cat f"), "kept\n");
  EXPECT_EQ(send("POST", cell("nobody", "/pause")).status, 404);
}

TEST_F(CellsRest, ProgramsAreRunWaitedForStreamedAndLeft) {
  const std::string id = make();
  auto ran = send("POST", cell(id, "/exec"), R"({"command":"sh","args":["-c","cat; pwd; echo $A >&2; exit 3"],"stdin":"in ","env":{"A":"b"},"work_dir":"/tmp"})");
  EXPECT_EQ(ran.status, 200);
  EXPECT_EQ(text_field(ran.body, "stdout"), "in /tmp\n") << ran.body;
  EXPECT_EQ(text_field(ran.body, "stderr"), "b\n");
  EXPECT_TRUE(has(ran.body, "\"exit_code\":3") && has(ran.body, "\"status\":\"failed\"")) << ran.body;
  EXPECT_TRUE(has(ran.body, "\"name\":\"seccomp\"")) << "the cell's enforcement comes along";
  // What the standard input holds does not have to fit into a pipe.
  const std::string large(300'000, 'x');
  EXPECT_EQ(text_field(send("POST", cell(id, "/exec"), cat(R"({"command":"wc","args":["-c"],"stdin":")", large, "\"}")).body, "stdout"), "300000\n");
  auto slow = send("POST", cell(id, "/exec"), R"({"command":"sleep","args":["60"],"timeout_secs":0.3})");
  EXPECT_TRUE(has(slow.body, "timeout_wall")) << slow.body;
  EXPECT_EQ(send("POST", cell(id, "/exec"), R"({"command":"/nothing/there"})").status, 422);
  EXPECT_EQ(send("POST", cell(id, "/exec"), R"({"command":"a","shell":"b"})").status, 400);
  EXPECT_EQ(send("POST", cell(id, "/exec"), R"({"command":"true","work_dir":"/nowhere"})").status, 404);
  EXPECT_EQ(send("POST", cell("nobody", "/exec"), R"({"command":"true"})").status, 404);

  auto events = send("POST", cell(id, "/exec"), R"({"shell":"echo out; echo err >&2; exit 4"})", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(events.type, "text/event-stream");
  EXPECT_TRUE(has(events.body, "event: stdout\ndata: {\"text\":\"out\\n\"}") && has(events.body, "event: stderr")) << events.body;
  EXPECT_TRUE(has(events.body, "event: done\ndata: {") && has(events.body, "\"exit_code\":4")) << events.body;
  auto lines = send("POST", cell(id, "/exec"), R"({"shell":"printf '\\303\\244\\377'"})", {{"Accept", "application/x-ndjson"}});
  EXPECT_TRUE(has(lines.body, "\"text\":\"ä\"") && has(lines.body, "\"base64\":\"/w==\"")) << lines.body;

  auto left = send("POST", cell(id, "/exec?wait=false"), R"({"shell":"echo begun; sleep 60","timeout_secs":0})");
  ASSERT_EQ(left.status, 202) << left.body;
  const std::string run = text_field(left.body, "id");
  EXPECT_TRUE(has(send("GET", cell(id, "/executions")).body, cat("\"id\":\"", run, "\"")));
  EXPECT_EQ(text_field(send("GET", cell(id, "/executions/" + run)).body, "status"), "running");
  EXPECT_EQ(send("POST", cell(id, "/executions/" + run + "/kill")).status, 204);
  std::string ended;
  for (int i = 0; i < 400 && !has(ended, "\"killed\""); ++i) {
    ended = send("GET", cell(id, "/executions/" + run)).body;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_TRUE(has(ended, "\"status\":\"killed\"") && has(ended, "begun")) << ended;
  EXPECT_EQ(send("POST", cell(id, "/executions/" + run + "/kill")).status, 409);
  EXPECT_EQ(send("GET", cell(id, "/executions/r-999")).status, 404);
}

TEST_F(CellsRest, AProgramDiesWithWhoeverWaitsForIt) {
  const std::string id = make();
  int fd = send_only("POST", cell(id, "/exec"), R"({"shell":"touch begun; sleep 100"})");
  for (int i = 0; i < 400 && sh(id, "ls") != "begun\n"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_EQ(sh(id, "pgrep -c -x sleep"), "1\n");
  ::close(fd);
  std::string count;
  for (int i = 0; i < 400 && count != "0\n"; ++i) {
    count = sh(id, "pgrep -c -x sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_EQ(count, "0\n");
}

TEST_F(CellsRest, FilesComeAndGo) {
  const std::string id = make();
  auto at = [&](const char* more) { return cell(id, cat("/files", std::string_view(more))); };
  const std::string bytes("\0\xff binary", 9);
  EXPECT_EQ(send("PUT", at("?path=b.bin&mode=600"), bytes, {{"Content-Type", "application/octet-stream"}}).status, 204);
  auto read = send("GET", at("?path=/work/b.bin"));
  EXPECT_EQ(read.body, bytes);
  EXPECT_EQ(read.type, "application/octet-stream");
  EXPECT_EQ(sh(id, "stat -c %a b.bin"), "600\n");
  EXPECT_EQ(send("POST", at("/folder"), R"({"path":"deep/er"})").status, 204);
  EXPECT_EQ(send("POST", at("/move"), R"({"from":"b.bin","to":"deep/er/c.bin"})").status, 204);
  EXPECT_EQ(send("GET", at("?path=b.bin")).status, 404);
  EXPECT_EQ(send("POST", at("/move"), R"({"from":"b.bin","to":"x"})").status, 404);
  auto listed = send("GET", at("/list?path=deep/er"));
  EXPECT_TRUE(has(listed.body, R"("name":"c.bin","type":"file","mode":"600","size":9)")) << listed.body;
  EXPECT_EQ(send("GET", at("/list?path=nowhere")).status, 404);
  EXPECT_TRUE(has(send("GET", at("/stat?path=deep")).body, "\"type\":\"folder\""));
  EXPECT_EQ(send("GET", at("/stat?path=nothing")).status, 404);
  auto tar = send("GET", at("?path=deep&format=tar"));
  EXPECT_EQ(tar.type, "application/x-tar");
  EXPECT_EQ(send("POST", at("/folder"), R"({"path":"again"})").status, 204);
  EXPECT_EQ(send("PUT", at("?path=again"), tar.body, {{"Content-Type", "application/x-tar"}}).status, 204);
  EXPECT_EQ(sh(id, "cmp again/deep/er/c.bin deep/er/c.bin && echo same"), "same\n");
  EXPECT_EQ(send("DELETE", at("?path=again")).status, 409);
  EXPECT_EQ(send("DELETE", at("?path=again&recursive=true")).status, 204);
  EXPECT_EQ(send("DELETE", at("?path=again&recursive=true")).status, 404);
  EXPECT_EQ(send("GET", at("?path=../etc/passwd")).status, 400);
  EXPECT_EQ(send("GET", at("")).status, 400);
  EXPECT_EQ(send("PUT", at("?path=x&mode=999"), "x").status, 400);
  // What leads out of the cell leads nowhere: the state folder of the daemon is not there.
  sh(id, cat("ln -s ", state, "/config.yaml out"));
  EXPECT_EQ(send("GET", at("?path=out")).status / 100, 4);
  // More than fits into any buffer on the way.
  EXPECT_EQ(sh(id, "head -c 20000000 /dev/zero | tr '\\0' z > large; wc -c < large"), "20000000\n");
  record = false;
  auto large = send("GET", at("?path=large"));
  EXPECT_EQ(large.body.size(), 20'000'000u);
}

TEST_F(CellsRest, ASlowReaderOfAFileHoldsNobodyUp) {
  const std::string id = make(R"({"limits":{"disk":"100M"}})");
  sh(id, "head -c 50000000 /dev/zero > large");
  int slow = send_only("GET", cell(id, "/files?path=large"), "");
  char some[1000];
  ASSERT_GT(::read(slow, some, sizeof some), 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sh(id, "echo quick"), "quick\n");
  ::close(slow);
}

TEST_F(CellsRest, ChangesAreShownAppliedAndDiscarded) {
  const std::string id = make(cat(R"({"name":"work","from":")", project, "\"}"));
  EXPECT_EQ(sh(id, "cat a.txt sub/b.txt"), "one\ntwo\n");
  sh(id, "echo changed > a.txt; rm sub/b.txt; echo new > c.txt; mkdir .git; echo x > .git/config");
  EXPECT_EQ(read_all(project + "/a.txt"), "one\n") << "nothing reaches the project";
  auto diff = send("GET", cell(id, "/diff"));
  EXPECT_EQ(diff.status, 200) << diff.body;
  for (const char* path : {"a.txt", "sub/b.txt", "c.txt"}) EXPECT_TRUE(has(diff.body, cat("\"path\":\"", std::string_view(path), "\""))) << diff.body;
  auto patch = send("GET", cell(id, "/diff?format=patch&path=a.txt"));
  EXPECT_TRUE(patch.type.starts_with("text/x-patch")) << patch.type;
  EXPECT_TRUE(has(patch.body, "-one\n+changed\n") && !has(patch.body, "c.txt")) << patch.body;
  EXPECT_EQ(send("GET", cell(id, "/diff?format=odd")).status, 400);
  EXPECT_EQ(send("GET", cell(id, "/diff?path=/etc")).status, 400);
  auto refused = send("POST", cell(id, "/apply"), "{}");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_TRUE(has(refused.body, ".git")) << refused.body;
  EXPECT_EQ(read_all(project + "/a.txt"), "one\n") << "all of it or nothing";
  EXPECT_EQ(send("POST", cell(id, "/apply"), R"({"allow_protected":true})").status, 400) << "not by this door";
  auto dry = send("POST", cell(id, "/apply"), R"({"paths":["a.txt"],"dry_run":true})");
  EXPECT_EQ(dry.status, 200) << dry.body;
  EXPECT_EQ(read_all(project + "/a.txt"), "one\n");
  auto applied = send("POST", cell(id, "/apply"), R"({"paths":["a.txt","/work/c.txt"]})");
  EXPECT_EQ(applied.status, 200) << applied.body;
  EXPECT_EQ(read_all(project + "/a.txt"), "changed\n");
  EXPECT_EQ(read_all(project + "/c.txt"), "new\n");
  EXPECT_EQ(read_all(project + "/sub/b.txt"), "two\n");
  EXPECT_EQ(send("POST", cell(id, "/discard"), R"({"paths":["sub/b.txt"]})").status, 200);
  EXPECT_EQ(sh(id, "cat sub/b.txt"), "two\n");
  EXPECT_EQ(send("POST", cell(id, "/discard"), R"({"paths":["sub/b.txt"]})").status / 100, 4);
  // Changed underneath: said, and not overwritten.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::ofstream(project + "/sub/b.txt") << "mine\n";
  sh(id, "echo theirs > sub/b.txt");
  auto conflict = send("POST", cell(id, "/apply"), R"({"paths":["sub/b.txt"]})");
  EXPECT_EQ(conflict.status, 409) << conflict.body;
  EXPECT_TRUE(has(conflict.body, "\"conflicts\":[{")) << conflict.body;
  EXPECT_EQ(read_all(project + "/sub/b.txt"), "mine\n");
  EXPECT_EQ(send("POST", cell(make(), "/apply"), "{}").status, 400) << "a cell without a project";
}

TEST_F(CellsRest, FilesAreKeptInSnapshotsAndForked) {
  const std::string id = make(R"({"name":"base","files":{"f":"1"}})");
  auto taken = send("POST", cell(id, "/snapshots"), R"({"label":"before"})");
  EXPECT_EQ(taken.status, 201) << taken.body;
  EXPECT_EQ(send("POST", cell(id, "/snapshots"), R"({"label":"before"})").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/snapshots"), R"({"label":"../x"})").status, 400);
  EXPECT_TRUE(has(send("GET", cell(id, "/snapshots")).body, "before"));
  sh(id, "echo 2 > f");
  auto forked = send("POST", cell(id, "/fork"), R"({"name":"other"})");
  EXPECT_EQ(forked.status, 201) << forked.body;
  EXPECT_EQ(sh("other", "cat f; echo 3 > f"), "2\n");
  EXPECT_EQ(sh(id, "cat f"), "2\n");
  EXPECT_EQ(send("POST", cell(id, "/fork"), R"({"name":"other"})").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/fork"), "{}").status, 400);
  EXPECT_EQ(send("POST", cell(id, "/snapshots/before/restore"), "{}").status, 200);
  EXPECT_EQ(sh(id, "cat f"), "1");
  EXPECT_EQ(send("POST", cell(id, "/snapshots/nothing/restore"), "{}").status, 404);
  EXPECT_EQ(send("POST", cell(id, "/snapshots/before/restore"), R"({"name":"third"})").status, 201);
  EXPECT_EQ(sh("third", "cat f"), "1");
  EXPECT_EQ(send("DELETE", cell(id, "/snapshots/before")).status, 204);
  EXPECT_EQ(send("DELETE", cell(id, "/snapshots/before")).status, 404);
}

TEST_F(CellsRest, ShellsRememberAndTellWhenTheyWait) {
  const std::string id = make();
  EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"a"})").status, 201);
  EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"a"})").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"a","reuse":true})").status, 201);
  EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"b","rows":0})").status, 400);
  EXPECT_EQ(send("GET", cell(id, "/shells")).body, R"({"shells":["a"]})");
  auto run = [&](const std::string& command) { return send("POST", cell(id, "/shells/a/run"), cat("{\"command\":", server::json_string(command), "}")); };
  EXPECT_EQ(run("cd /tmp; X=5; f() { echo from f; }").status, 200);
  auto kept = run("pwd; echo $X; f; false");
  EXPECT_EQ(text_field(kept.body, "output"), "/tmp\n5\nfrom f\n") << kept.body;
  EXPECT_TRUE(has(kept.body, "\"exit_code\":1"));
  auto asks = run("read -s -p 'Password: ' p; echo got $p");
  EXPECT_EQ(text_field(asks.body, "state"), "awaiting_input") << asks.body;
  EXPECT_TRUE(has(asks.body, "\"echo\":false")) << asks.body;
  EXPECT_EQ(run("echo too early").status, 409);
  auto given = send("POST", cell(id, "/shells/a/input"), R"({"text":"secret\n","wait":true})");
  EXPECT_TRUE(has(given.body, "got secret")) << given.body;
  auto long_one = run(": " + std::string(70'000, 'x'));
  EXPECT_EQ(long_one.status, 413) << long_one.body;
  EXPECT_TRUE(has(long_one.body, "longer than 60 KiB")) << long_one.body;
  EXPECT_EQ(run(": " + std::string(50'000, 'x')).status, 200) << "the control";
  auto slow = send("POST", cell(id, "/shells/a/run"), R"({"command":"sleep 60","timeout_secs":0.5})");
  EXPECT_EQ(text_field(slow.body, "state"), "timeout") << slow.body;
  EXPECT_EQ(text_field(run("echo alive").body, "output"), "alive\n");
  EXPECT_EQ(send("POST", cell(id, "/shells/a/wait")).status, 409);
  EXPECT_EQ(send("POST", cell(id, "/shells/a/interrupt")).status, 204);
  EXPECT_EQ(send("POST", cell(id, "/shells/a/resize"), R"({"rows":10,"columns":20})").status, 204);
  EXPECT_EQ(send("POST", cell(id, "/shells/a/resize"), R"({"rows":10})").status, 400);
  EXPECT_TRUE(has(send("GET", cell(id, "/shells/a/history")).body, "echo alive"));
  EXPECT_EQ(send("POST", cell(id, "/shells/nobody/run"), R"({"command":"true"})").status, 404);
  EXPECT_EQ(send("GET", cell(id, "/shells/nobody/history")).status, 404);
  EXPECT_EQ(send("DELETE", cell(id, "/shells/a")).status, 204);
  for (int i = 0; i < 400 && has(send("GET", cell(id, "/shells")).body, "\"a\""); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_EQ(send("DELETE", cell(id, "/shells/a")).status, 404);
}

TEST_F(CellsRest, UsageEventsAndTheNetworkAreShown) {
  const std::string id = make();
  sh(id, "head -c 3000000 /dev/zero > f; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  auto usage = send("GET", cell(id, "/usage"));
  EXPECT_EQ(usage.status, 200) << usage.body;
  EXPECT_TRUE(has(usage.body, "\"series\":") && has(usage.body, "\"memory_bytes\"")) << usage.body;
  EXPECT_EQ(send("GET", cell("nobody", "/usage")).status, 404);
  EXPECT_EQ(send("GET", cell(id, "/network")).status, 200);
  EXPECT_EQ(send("PATCH", cell(id, "/network"), "{}").status, 400);
  EXPECT_EQ(send("POST", cell(id, "/seal")).status / 100, 4) << "there is no network to end";
  EXPECT_EQ(send("GET", cell("nobody", "/events")).status, 404);
  int fd = send_only("GET", cell(id, "/events"), "");
  std::string said;
  char buffer[4096];
  while (!has(said, ": listening")) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    ASSERT_GT(n, 0) << said;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  send("POST", cell(id, "/pause"));
  send("POST", cell(id, "/resume"));
  EXPECT_TRUE(has(said, "text/event-stream")) << said;
  ::close(fd);
}

TEST_F(CellsRest, MoreThanThereMayBeIsOneClearSentence) {
  std::string last;
  HttpAnswer refused;
  for (int i = 0; i < 70; ++i) {
    refused = send("POST", "/api/v1/cells", R"({"stopped":true})");
    if (refused.status != 201) break;
  }
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_TRUE(has(refused.body, "maximum cell limit (64) reached")) << refused.body;
}

TEST_F(CellsRest, OutliveTheDaemonAndTheirKeeper) {
  const std::string id = make(R"({"name":"lasting","files":{"f":"kept"}})");
  sh(id, "sleep 1000 >/dev/null 2>&1 & echo started");
  // The daemon is restarted: the keeper is another process, and goes on.
  end_daemon();
  ASSERT_NE(keeper_pid(), 0);
  start_daemon();
  EXPECT_EQ(text_field(send("GET", cell("lasting")).body, "status"), "running");
  EXPECT_EQ(sh("lasting", "cat f; pgrep -c -x sleep"), "kept1\n");
  // The keeper is killed: its cells with it, their files not; and that is what is said.
  int waiting = send_only("POST", cell(id, "/exec"), R"({"shell":"sleep 500"})");
  for (int i = 0; i < 400 && sh("lasting", "pgrep -c -x sleep") != "2\n"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  const int keeper = keeper_pid();
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = ::read(waiting, buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<std::size_t>(n));
  ::close(waiting);
  EXPECT_TRUE(has(answer, " 503 ") && has(answer, "keeper of cells is gone")) << answer;
  auto after = send("GET", cell("lasting"));
  EXPECT_EQ(after.status, 200) << after.body;
  EXPECT_EQ(text_field(after.body, "status"), "stopped") << after.body;
  EXPECT_TRUE(has(text_field(after.body, "reason"), "keeper was killed")) << after.body;
  EXPECT_NE(keeper_pid(), keeper);
  EXPECT_EQ(send("POST", cell("lasting", "/start")).status, 200);
  EXPECT_EQ(sh("lasting", "cat f; pgrep -c -x sleep"), "kept0\n");
}

TEST_F(CellsRest, AFrontThatDiesLeavesThemAsTheyAre) {
  const std::string id = make();
  sh(id, "sleep 1000 >/dev/null 2>&1 & echo started");
  // Of the daemon's children the one that is called hotcell-front.
  int front = 0;
  std::ifstream children(cat("/proc/", daemon_pid(), "/task/", daemon_pid(), "/children"));
  for (int pid; children >> pid;) {
    if (read_all(cat("/proc/", pid, "/comm")) == "hotcell-front\n") front = pid;
  }
  ASSERT_GT(front, 0);
  ASSERT_EQ(::kill(front, SIGKILL), 0);
  HttpAnswer again;
  for (int i = 0; i < 200 && again.status != 200; ++i) {
    again = send("GET", cell(id));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(text_field(again.body, "status"), "running") << again.body;
  EXPECT_EQ(sh(id, "pgrep -c -x sleep"), "1\n");
}

TEST_F(CellsRest, AKeyHasOnlyCellsOfItsOwn) {
  auto key = [&](const char* name, const char* scopes) {
    return text_field(send("POST", "/api/v1/keys", cat(R"({"name":")", std::string_view(name), R"(","scopes":[)", std::string_view(scopes), "]}")).body, "key");
  };
  const HttpHeaders anna = {{"Authorization", "Bearer " + key("anna", "\"run\",\"read\"")}}, bert = {{"Authorization", "Bearer " + key("bert", "\"run\",\"read\"")}},
                    reader = {{"Authorization", "Bearer " + key("reader", "\"read\"")}};
  auto made = send("POST", "/api/v1/cells", R"({"name":"annas"})", anna);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(send("GET", cell("annas"), "", anna).status, 200);
  for (const HttpHeaders& other : {bert, reader}) {
    EXPECT_EQ(send("GET", cell("annas"), "", other).status, 404);
    EXPECT_EQ(send("GET", "/api/v1/cells", "", other).body, R"({"cells":[],"next":null})");
  }
  EXPECT_EQ(send("POST", cell("annas", "/exec"), R"({"command":"true"})", bert).status, 404);
  EXPECT_EQ(send("DELETE", cell("annas"), "", bert).status, 404);
  EXPECT_EQ(send("POST", "/api/v1/cells", "{}", reader).status, 403);
  EXPECT_TRUE(has(send("GET", "/api/v1/cells").body, "annas")) << "who may do everything sees everything";
  auto forked = send("POST", cell("annas", "/fork"), R"({"name":"annas2"})", anna);
  EXPECT_EQ(forked.status, 201) << forked.body;
  EXPECT_EQ(send("GET", cell("annas2"), "", bert).status, 404);
}

TEST_F(CellsRest, TheCommandLineSeesTheSameCells) {
  make(R"({"name":"shared","files":{"f":"by rest"}})");
  auto line = [&](const std::string& words) {
    FILE* pipe = ::popen(cat(program_path(), " cell ", words, " --state ", state, " 2>&1").c_str(), "r");
    std::string said;
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
    ::pclose(pipe);
    return said;
  };
  EXPECT_TRUE(has(line("list"), "shared")) << line("list");
  EXPECT_EQ(line("cat shared f"), "by rest");
}

// What the document promises, with the answers of a life.
TEST_F(CellsRest, RealAnswersAreWhatTheDocumentPromises) {
  const std::string id = make(cat(R"({"name":"all","from":")", project, R"(","files":{"f":"1"}})"));
  send("GET", "/api/v1/cells");
  send("GET", cell(id));
  send("GET", cell("nobody"));
  send("POST", cell(id, "/exec"), R"({"command":"true"})");
  send("POST", cell(id, "/exec"), "{}");
  auto left = send("POST", cell(id, "/exec?wait=false"), R"({"command":"true"})");
  send("GET", cell(id, "/executions"));
  send("GET", cell(id, "/executions/" + text_field(left.body, "id")));
  send("GET", cell(id, "/files/list"));
  send("GET", cell(id, "/files/stat?path=f"));
  send("GET", cell(id, "/files/stat?path=g"));
  send("GET", cell(id, "/diff"));
  send("POST", cell(id, "/apply"), R"({"dry_run":true})");
  send("POST", cell(id, "/snapshots"), R"({"label":"s"})");
  send("GET", cell(id, "/snapshots"));
  send("POST", cell(id, "/snapshots/s/restore"), "{}");
  send("POST", cell(id, "/fork"), R"({"name":"all2"})");
  send("POST", cell(id, "/discard"), "{}");
  send("GET", cell(id, "/usage"));
  send("GET", cell(id, "/network"));
  send("POST", cell(id, "/shells"), R"({"name":"a"})");
  send("GET", cell(id, "/shells"));
  send("POST", cell(id, "/shells/a/run"), R"({"command":"echo hi"})");
  send("GET", cell(id, "/shells/a/history"));
  send("GET", cell(id, "/shells/a/attach"));
  send("POST", cell(id, "/pause"));
  send("POST", cell(id, "/pause"));
  send("POST", cell(id, "/resume"));
  send("POST", cell(id, "/stop"));
  send("POST", cell(id, "/start"));
  expect_as_promised();
}

}  // namespace
}  // namespace hotcell::testing
