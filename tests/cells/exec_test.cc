// Programs in a lasting cell: streams, ends, limits, and that they live together.
#include <filesystem>
#include <thread>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(Cells, StreamsAndExitCodesAreTheProgramsOwn) {
  create("work");
  Called both = exec("work", {"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(both.code, 7);
  EXPECT_EQ(both.out, "out\n");
  EXPECT_EQ(both.err, "err\n");
  EXPECT_EQ(exec("work", {"cat"}, "through\0bytes").out, std::string("through\0bytes"));
  EXPECT_EQ(exec("work", {"sh", "-c", "kill -TERM $$"}).code, 128 + 15);
  Called none = exec("work", {"no-such-program"});
  EXPECT_EQ(none.code, 127) << none.describe();
  EXPECT_NE(none.err.find("no-such-program: not found in the cell"), std::string::npos);
  sh("work", "echo text > file");
  EXPECT_EQ(exec("work", {"/work/file"}).code, 126);
  Called folder = cell({"exec", "work", "--workdir", "/nowhere", "--", "true"});
  EXPECT_EQ(folder.code, 125);
  EXPECT_NE(folder.err.find("working directory"), std::string::npos) << folder.describe();
}

TEST_F(Cells, OptionsOfAnExecutionAreItsOwn) {
  create("work", {"--env", "A=cell", "--env", "B=cell"});
  EXPECT_EQ(good({"exec", "work", "--env", "A=mine", "--", "sh", "-c", "echo $A $B $HOME $HOTCELL_ID"}),
            "mine cell /work " + inspect("work").text("id") + "\n");
  EXPECT_EQ(sh("work", "echo $A; mkdir sub"), "cell\n");
  EXPECT_EQ(good({"exec", "work", "--workdir", "sub", "--", "pwd"}), "/work/sub\n");
  EXPECT_EQ(good({"exec", "work", "--workdir", "/tmp", "--", "pwd"}), "/tmp\n");
  Called environment = exec("work", {"env"});
  EXPECT_EQ(environment.out.find("zmxncbv"), std::string::npos) << "nothing of the caller's environment is there";
  Json j = json({"exec", "work", "--", "sh", "-c", "echo hi"});
  EXPECT_EQ(j.text("stdout"), "hi\n");
  EXPECT_EQ(j.text("status"), "completed");
  EXPECT_EQ(j.find_by_name("enforcement/layers", "seccomp", "status"), "full");
}

// Few open files, one process, nothing that can be written, ten seconds: and yet programs run.
TEST_F(Cells, StrictOnesRunProgramsToo) {
  create("work", {"--profile", "strict"});
  EXPECT_EQ(sh("work", "echo hi; echo x 2>/dev/null >/work/file || echo read-only"), "hi\nread-only\n");
  EXPECT_EQ(json({"exec", "work", "--", "true"}).text("status"), "completed");
  EXPECT_EQ(inspect("work").text("limits/wall_ns"), "10000000000");
}

TEST_F(Cells, LongArgumentsAndEnvironmentsArrive) {
  create("work");
  std::string longest(100'000, 'x');
  EXPECT_EQ(good({"exec", "work", "--", "sh", "-c", "echo ${#1} ${#2}", "sh", longest, longest}), "100000 100000\n");
}

TEST_F(Cells, ADeadlineEndsTheWholeTreeAndNothingElse) {
  create("work");
  good({"exec", "work", "--detach", "--", "sleep", "86402"});
  Called late = cell({"exec", "work", "--timeout", "1s", "--", "sh", "-c", "(setsid sleep 86403 &) ; sleep 86404 & echo begun; sleep 86405"});
  EXPECT_EQ(late.code, 124) << late.describe();
  EXPECT_EQ(late.out, "begun\n");
  for (const char* token : {"86403", "86404", "86405"}) EXPECT_TRUE(gone_within(token, seconds(5))) << token;
  EXPECT_EQ(processes_with("86402").size(), 1u) << "another execution lives on";
  EXPECT_EQ(sh("work", "echo alive"), "alive\n");
}

TEST_F(Cells, TooMuchOutputEndsTheProgramAndNotTheCell) {
  create("work");
  Called flood = cell({"exec", "work", "--output", "64K", "--", "yes"});
  EXPECT_EQ(flood.code, 137) << flood.err;
  EXPECT_LE(flood.out.size(), 64u << 10);
  Called cut = cell({"exec", "work", "--output", "64K", "--on-output", "truncate", "--", "sh", "-c", "yes | head -c 1000000; exit 3"});
  EXPECT_EQ(cut.code, 3) << cut.err;
  EXPECT_EQ(cut.out.size(), 64u << 10);
  EXPECT_EQ(sh("work", "echo alive"), "alive\n");
}

TEST_F(Cells, ASignalToTheClientEndsItsProgram) {
  create("work");
  Call call(cell_words({"exec", "work", "--", "sh", "-c", "echo begun; sleep 86406"}));
  ASSERT_TRUE(call.wait_for_output("begun"));
  call.send(SIGTERM);
  EXPECT_EQ(call.finish().code, 128 + 15);
  EXPECT_TRUE(gone_within("86406", seconds(5)));
  // Killed, it cannot say anything; the keeper sees it go.
  Call killed(cell_words({"exec", "work", "--", "sh", "-c", "echo begun; sleep 86407"}));
  ASSERT_TRUE(killed.wait_for_output("begun"));
  killed.send(SIGKILL);
  killed.finish();
  EXPECT_TRUE(gone_within("86407", seconds(5)));
}

TEST_F(Cells, ADevServerAndItsTestsTalkAndSignal) {
  create("work", {"--processes", "30"});
  put("unused", "");
  // The server is one execution and stays; the test is another that reaches it by socket, by file and by signal.
  sh("work", "cat > server.py <<'END'\n"
             "import http.server, signal, os\n"
             "open('pid','w').write(str(os.getpid()))\n"
             "signal.signal(signal.SIGHUP, lambda *a: open('reloaded','w').write('yes'))\n"
             "http.server.ThreadingHTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()\n"
             "END\n");
  good({"exec", "work", "--detach", "--", "python3", "server.py"});
  std::string test =
      "import urllib.request, time, os, signal, sys\n"
      "for i in range(200):\n"
      "  try:\n"
      "    body = urllib.request.urlopen('http://127.0.0.1:8000/pid').read().decode(); break\n"
      "  except OSError: time.sleep(0.1)\n"
      "os.kill(int(body), signal.SIGHUP)\n"
      "for i in range(200):\n"
      "  if os.path.exists('reloaded') and open('reloaded').read() == 'yes': sys.exit(0)\n"
      "  time.sleep(0.1)\n"
      "sys.exit(1)\n";
  Called tested = exec("work", {"python3", "-c", test});
  EXPECT_EQ(tested.code, 0) << tested.describe();
  // Whether the test has left something behind is known a moment after its end.
  for (int i = 0; i < 200 && inspect("work").size("executions") != 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  Json j = inspect("work");
  EXPECT_EQ(j.text("process_state"), "running");
  ASSERT_EQ(j.size("executions"), 1u);
  EXPECT_EQ(j.text("executions/0/program"), "python3");
  // A program left in the background by one that ended lives on, and is seen.
  sh("work", "sleep 86408 > /dev/null 2>&1 & echo started");
  EXPECT_EQ(processes_with("86408").size(), 1u);
  EXPECT_EQ(inspect("work").size("executions"), 2u);
  EXPECT_EQ(sh("work", "pkill -f '[8]6408'; pkill -f '[s]erver.py'; while pgrep python3 >/dev/null; do sleep 0.1; done; pgrep -c python3 || true"), "0\n");
}

TEST_F(Cells, ManyExecutionsAtOnceGiveEachItsOwnOutput) {
  create("work", {"--processes", "200"});
  std::vector<std::thread> threads;
  std::vector<Called> called(12);
  for (std::size_t i = 0; i < called.size(); ++i)
    threads.emplace_back([&, i] { called[i] = exec("work", {"sh", "-c", "for k in 1 2 3 4 5; do echo " + std::to_string(i) + "; done"}); });
  for (auto& t : threads) t.join();
  for (std::size_t i = 0; i < called.size(); ++i) {
    std::string mine = std::to_string(i) + "\n";
    EXPECT_EQ(called[i].code, 0) << called[i].describe();
    EXPECT_EQ(called[i].out, mine + mine + mine + mine + mine);
  }
}

TEST_F(Cells, LimitsHoldForTheCellAsAWhole) {
  create("work", {"--processes", "12", "--cpu-time", "1s"});
  EXPECT_EQ(cell({"exec", "work", "--", "sh", "-c", "while :; do :; done"}).code, 124) << "CPU time of one execution";
  EXPECT_EQ(sh("work", "echo alive"), "alive\n");
  // What a program leaves running counts for the next one, which is told so.
  Called forks = exec("work", {"sh", "-c", "for i in $(seq 60); do sleep 86431 & done; wait"});
  EXPECT_NE(forks.code, 0);
  EXPECT_LT(processes_with("86431").size(), 30u);
  Called next = exec("work", {"sh", "-c", "true"});
  EXPECT_EQ(next.code, 125) << next.describe();
  EXPECT_NE(next.err.find("no further process may be started in the cell"), std::string::npos) << next.describe();
  good({"stop", "work"});
  good({"start", "work"});
  EXPECT_EQ(sh("work", "echo alive"), "alive\n");
}

}  // namespace
}  // namespace hotcell::testing
