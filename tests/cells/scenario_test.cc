// Two hours of an agent's work, as one test: edits, a build, tests, a dev server, a crash, a pause over night, the keeper's
// restart, resume, a fork to try two fixes, and one of them applied.
#include <signal.h>

#include <filesystem>
#include <thread>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kServer[] =
    "import http.server, calc\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "  def do_GET(self):\n"
    "    if self.path == '/crash': import os; os.abort()\n"
    "    body = str(calc.add(40, 2)).encode(); self.send_response(200); self.end_headers(); self.wfile.write(body)\n"
    "  def log_message(self, *a): pass\n"
    "http.server.ThreadingHTTPServer(('127.0.0.1', 8123), H).serve_forever()\n";

constexpr char kFetch[] =
    "import urllib.request, time, sys\n"
    "for i in range(300):\n"
    "  try: print(urllib.request.urlopen('http://127.0.0.1:8123' + sys.argv[1], timeout=10).read().decode()); sys.exit(0)\n"
    "  except OSError as e: time.sleep(0.1); last = e\n"
    "print('down')\n";

TEST_F(Cells, TwoHoursOfAnAgentsWork) {
  put("calc.py", "def add(a, b):\n  return a - b\n");
  put("test_calc.py", "import unittest, calc\nclass T(unittest.TestCase):\n  def test_add(self): self.assertEqual(calc.add(40, 2), 42)\n");
  put("src/main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  put(".env", "SECRET=1\n");
  std::string original = in_project("calc.py");
  create("agent", {"--processes", "80", "--memory", "512M", "--disk", "200M", "--env", "CI=1", "--label", "task=calc"});

  // Looking around and the first test run: it fails, as it should.
  EXPECT_EQ(shell("agent", "ls -1; echo $CI").out, "calc.py\nsrc\ntest_calc.py\n1\n");
  Called failing = exec("agent", {"python3", "-m", "unittest", "-q"});
  EXPECT_EQ(failing.code, 1) << failing.describe();

  // A build, in the shell, which remembers where it is.
  EXPECT_EQ(shell("agent", "cd src && gcc -o ../app main.c && cd .. && ./app", {"--timeout", "60s"}).out, "built\n");

  // A dev server that stays, and a test against it from another execution.
  good({"write", "agent", "server.py"}, kServer);
  good({"write", "agent", "fetch.py"}, kFetch);
  good({"exec", "agent", "--detach", "--", "python3", "server.py"});
  EXPECT_EQ(sh("agent", "python3 fetch.py /"), "38\n");

  // It crashes; the cell does not.
  exec("agent", {"python3", "-c", "import urllib.request\ntry: urllib.request.urlopen('http://127.0.0.1:8123/crash', timeout=20)\nexcept OSError: pass"});
  for (int i = 0; i < 200 && inspect("agent").size("executions") > 0; ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(inspect("agent").size("executions"), 0u);
  EXPECT_EQ(shell("agent", "pwd").out, "/work\n");
  good({"exec", "agent", "--detach", "--", "python3", "server.py"});
  EXPECT_EQ(sh("agent", "python3 fetch.py /"), "38\n");

  // Paused over lunch: nothing moves, and afterwards the server answers as if nothing had been.
  good({"pause", "agent"});
  EXPECT_EQ(inspect("agent").text("process_state"), "suspended");
  std::this_thread::sleep_for(seconds(2));
  good({"resume", "agent"});
  EXPECT_EQ(sh("agent", "python3 fetch.py /"), "38\n");
  EXPECT_EQ(shell("agent", "echo $OLDPWD").out, "/work/src\n") << "the shell slept, too";

  // Paused over night, and before the morning the keeper is killed. Files are there, processes are not; resume says so.
  Called night = cell({"pause", "agent"});
  EXPECT_EQ(night.code, 0);
  EXPECT_NE(night.err.find("are kept in memory alone, and gone when the keeper goes"), std::string::npos) << night.describe();
  kill_keeper();
  Json after = inspect("agent");
  EXPECT_EQ(after.text("status"), "stopped");
  EXPECT_NE(after.text("reason").find("its processes are gone, its files are here"), std::string::npos);
  Called morning = cell({"resume", "agent"});
  EXPECT_EQ(morning.code, 0) << morning.describe();
  EXPECT_NE(morning.err.find("agent: it was paused when its keeper ended: its processes are gone"), std::string::npos) << morning.describe();
  EXPECT_EQ(sh("agent", "pgrep -fc '[s]erver.py' || true"), "0\n");
  EXPECT_EQ(sh("agent", "./app; ls -I __pycache__"), "built\napp\ncalc.py\nfetch.py\nserver.py\nsrc\ntest_calc.py\n");
  sh("agent", "rm -rf app __pycache__ server.py fetch.py");

  // Two fixes, each tried in a fork of its own.
  good({"fork", "agent", "fix-a"});
  good({"fork", "agent", "fix-b"});
  for (const char* name : {"fix-a", "fix-b"})
    if (inspect(name).text("status") != "running") good({"start", name});
  good({"write", "fix-a", "calc.py"}, "def add(a, b):\n  return b - a\n");
  good({"write", "fix-b", "calc.py"}, "def add(a, b):\n  return a + b\n");
  EXPECT_EQ(exec("fix-a", {"python3", "-B", "-m", "unittest", "-q"}).code, 1);
  Called passes = exec("fix-b", {"python3", "-B", "-m", "unittest", "-q"});
  EXPECT_EQ(passes.code, 0) << passes.describe();
  EXPECT_EQ(in_project("calc.py"), original) << "nothing has touched the project so far";

  // One is applied, after a look at what it is.
  std::string diff = good({"diff", "fix-b", "--patch"});
  EXPECT_NE(diff.find("-  return a - b"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+  return a + b"), std::string::npos) << diff;
  good({"apply", "fix-b"});
  EXPECT_EQ(in_project("calc.py"), "def add(a, b):\n  return a + b\n");
  EXPECT_EQ(in_project(".env"), "SECRET=1\n");
  EXPECT_FALSE(fs::exists(project() + "/app"));
  good({"rm", "agent", "fix-a", "fix-b"});
  EXPECT_EQ(json({"list"}).size(""), 0u);
}

}  // namespace
}  // namespace hotcell::testing
