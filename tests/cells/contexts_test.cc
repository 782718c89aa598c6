// Interpreters in a lasting cell that keep what each call has left.
#include <unistd.h>

#include <thread>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Contexts : public Cells {
 protected:
  void SetUp() override {
    Cells::SetUp();
    create("work", {"--processes", "80", "--memory", "1G"});
  }
  std::string open(const std::string& language, std::vector<std::string> more = {}, const std::string& cell_name = "work") const {
    std::vector<std::string> words = {"context", cell_name, "create", language};
    words.insert(words.end(), more.begin(), more.end());
    std::string out = good(std::move(words));
    return out.substr(0, out.find('\n'));
  }
  Called call(const std::string& context, const std::string& code, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"context", "work", "run", context, code};
    words.insert(words.end(), more.begin(), more.end());
    return cell(std::move(words));
  }
  Json call_json(const std::string& context, const std::string& code, std::vector<std::string> more = {}) const {
    more.push_back("--json");
    return Json(call(context, code, std::move(more)).out);
  }
  Called control(const std::string& what, const std::string& context) const { return cell({"context", "work", what, context}); }
  std::string state_of(const std::string& context) const { return json({"context", "work", "list"}).find_by_name("", context, "state"); }
  bool is_within(const std::string& context, const std::string& state, milliseconds time = seconds(20)) const {
    for (auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(milliseconds(20)))
      if (state_of(context) == state) return true;
    return false;
  }
};

TEST_F(Contexts, WhatACallDefinesTheNextOneSees) {
  EXPECT_EQ(open("python"), "python");
  EXPECT_EQ(call("python", "x = 20\nimport math").code, 0);
  Called value = call("python", "print('said')\nx + math.floor(1.5)");
  EXPECT_EQ(value.code, 0) << value.describe();
  EXPECT_EQ(value.out, "said\n21\n");
  EXPECT_EQ(value.err, "");
  // By standard input, too.
  EXPECT_EQ(cell({"context", "work", "run", "python"}, "y = x * 2\ny").out, "40\n");
  EXPECT_EQ(open("javascript"), "javascript");
  EXPECT_EQ(call("javascript", "const a = await Promise.resolve(6); let b = 7").code, 0);
  EXPECT_EQ(call("javascript", "a * b").out, "42\n");
  EXPECT_EQ(open("bash"), "bash");
  EXPECT_EQ(call("bash", "cd /tmp; z=1; f() { echo \"f $1\"; }").code, 0);
  EXPECT_EQ(call("bash", "pwd; f $z").out, "/tmp\nf 1\n");
  // Only what was put into the background is a job.
  EXPECT_EQ(call("bash", "/bin/true; /bin/true | cat").code, 0);
  EXPECT_EQ(call("bash", "sleep 86431 & /bin/true").code, 0);
  EXPECT_EQ(call("bash", "jobs").out, "[1]+  Running                 sleep 86431 &\n");
  EXPECT_EQ(call("bash", "kill %1; ls /proc/self/fd | wc -l").out, "4\n");
  Called failed = call("bash", "(exit 3)");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.err, "hotcell: exit code 3\n");
}

TEST_F(Contexts, ErrorsAndStreamsAreTold) {
  open("python");
  Called error = call("python", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 / 0");
  EXPECT_EQ(error.code, 1);
  EXPECT_EQ(error.out, "out\n");
  EXPECT_EQ(error.err, "err\nTraceback (most recent call last):\n  File \"<call-1>\", line 4, in <module>\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n");
  Json json = call_json("python", "print('out')\nprint('err', file=sys.stderr)\nraise ValueError('x')");
  EXPECT_EQ(json.text("state"), "error");
  EXPECT_EQ(json.text("output"), "out\n");
  EXPECT_EQ(json.text("errors"), "err\n");
  EXPECT_EQ(json.text("error"), "ValueError: x");
  EXPECT_NE(json.text("traceback").find("line 3"), std::string::npos);
  EXPECT_EQ(call_json("python", "[1, 2]").text("value"), "[1, 2]");
  // What is written is bounded, and the call goes on.
  Json flood = call_json("python", "for _ in range(5): print('x' * (1 << 20))\n'end'");
  EXPECT_EQ(flood.text("output_truncated"), "true");
  EXPECT_EQ(flood.text("output").size(), 1u << 20);
  EXPECT_EQ(flood.text("value"), "'end'");
}

TEST_F(Contexts, SeveralAtOnceKnowNothingOfEachOther) {
  open("python", {"--session", "a"});
  open("python", {"--session", "b", "--env", "COLOUR=blue"});
  EXPECT_EQ(open("python"), "python");
  EXPECT_EQ(open("python"), "python-2");
  EXPECT_EQ(call("a", "x = 'of a'").code, 0);
  Called other = call("b", "x");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("NameError: name 'x' is not defined"), std::string::npos) << other.err;
  EXPECT_EQ(call("b", "import os; os.environ['COLOUR']").out, "'blue'\n");
  // They run at the same time: each waits for the other's file, which is in the workspace of both.
  std::vector<std::string> of_a = cell_words({"context", "work", "run", "a", "import os, time\nopen('a', 'w').close()\nwhile not os.path.exists('b'): time.sleep(0.01)\n'met'"});
  Call first(of_a);
  EXPECT_EQ(call("b", "import time\nopen('b', 'w').close()\nwhile not os.path.exists('a'): time.sleep(0.01)\n'met'").out, "'met'\n");
  EXPECT_EQ(first.finish().out, "'met'\n");
  refused({"context", "work", "create", "python", "--session", "a"}, "there is a context a already");
  Json list = json({"context", "work", "list"});
  EXPECT_EQ(list.size(""), 4u);
  EXPECT_EQ(list.find_by_name("", "a", "language"), "python");
  EXPECT_EQ(list.find_by_name("", "a", "state"), "idle");
  EXPECT_EQ(list.find_by_name("", "a", "calls"), "2");
  EXPECT_EQ(inspect("work").size("contexts"), 4u);
}

TEST_F(Contexts, OneCallAtATime) {
  open("python");
  EXPECT_EQ(call("python", "import time").code, 0);  // apart: an interrupt may come before the first statement
  Call running(cell_words({"context", "work", "run", "python", "time.sleep(600)"}));
  ASSERT_TRUE(is_within("python", "busy"));
  refused({"context", "work", "run", "python", "1"}, "context python is busy with a call");
  EXPECT_EQ(control("interrupt", "python").code, 0);
  Called ended = running.finish();
  EXPECT_EQ(ended.code, 130) << ended.describe();
  EXPECT_NE(ended.err.find("KeyboardInterrupt\nhotcell: the call was interrupted; the context is kept\n"), std::string::npos) << ended.err;
  EXPECT_EQ(call("python", "time.__name__").out, "'time'\n");
  refused({"context", "work", "interrupt", "python"}, "context python runs nothing that could be interrupted");
}

TEST_F(Contexts, ATimeoutKeepsTheInterpreter) {
  for (std::string language : {"python", "javascript", "bash"}) {
    open(language);
    std::string endless = language == "python" ? "kept = 5\nwhile True: pass" : language == "bash" ? "kept=5; sleep 600; echo never" : "let kept = 5; while (true) {}";
    Called late = call(language, endless, {"--timeout", "1s"});
    EXPECT_EQ(late.code, 124) << language << late.describe();
    EXPECT_EQ(late.out, "");
    EXPECT_NE(late.err.find("its time was over; the context is kept"), std::string::npos) << late.err;
    EXPECT_EQ(call(language, language == "bash" ? "echo $kept" : "kept").out, "5\n");
  }
}

TEST_F(Contexts, OneThatDoesNotComeBackIsEndedAndCanBeRestarted) {
  open("python");
  Called deaf = call("python", "import signal, subprocess, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nchild = subprocess.Popen(['sleep', '600.5'], start_new_session=True)\nopen('child', 'w').write(open(f'/proc/{child.pid}/stat').read())\nwhile True: time.sleep(1)", {"--timeout", "1s"});
  EXPECT_EQ(deaf.code, 124) << deaf.describe();
  EXPECT_NE(deaf.err.find("context python is gone: its time was over and it did not come back"), std::string::npos) << deaf.err;
  EXPECT_EQ(state_of("python"), "gone");
  refused({"context", "work", "run", "python", "1"}, "context python is gone: its time was over");
  // All that it had started went with it, and there was something.
  EXPECT_NE(sh("work", "cat child").find("("), std::string::npos);
  EXPECT_EQ(sh("work", "for i in 1 2 3 4 5 6 7 8 9; do cat /proc/[0-9]*/cmdline | grep -c 600[.]5 || break; sleep 0.2; done | tail -1"), "0\n");
  EXPECT_EQ(control("restart", "python").code, 0);
  EXPECT_EQ(call("python", "'signal' in globals()").out, "False\n");
}

TEST_F(Contexts, RestartAndClose) {
  open("python");
  EXPECT_EQ(call("python", "x = 1\nimport os\nos.getpid()").code, 0);
  EXPECT_EQ(control("restart", "python").code, 0);
  EXPECT_EQ(call("python", "'x' in globals()").out, "False\n");
  // A call that runs is told.
  Call running(cell_words({"context", "work", "run", "python", "import time; time.sleep(600)"}));
  ASSERT_TRUE(is_within("python", "busy"));
  EXPECT_EQ(control("restart", "python").code, 0);
  Called told = running.finish();
  EXPECT_EQ(told.code, 1) << told.describe();
  EXPECT_NE(told.err.find("it was restarted"), std::string::npos) << told.err;
  EXPECT_EQ(call("python", "1 + 1").out, "2\n");
  EXPECT_EQ(control("close", "python").code, 0);
  refused({"context", "work", "run", "python", "1"}, "the cell has no context python");
  EXPECT_EQ(json({"context", "work", "list"}).size(""), 0u);
  // The code ends it itself.
  open("python");
  Called exited = call("python", "print('last', flush=True)\nimport os; os._exit(7)");
  EXPECT_EQ(exited.code, 1);
  EXPECT_EQ(exited.out, "last\n");
  EXPECT_NE(exited.err.find("context python is gone: the interpreter has ended with exit code 7"), std::string::npos) << exited.err;
  open("bash");
  EXPECT_NE(call("bash", "set -e; false").err.find("has ended with exit code 1 (`exit`, or a failing command under `set -e`)"), std::string::npos);
}

TEST_F(Contexts, AClientThatGoesInterruptsItsCall) {
  open("python");
  call("python", "kept = 5");
  {
    Call running(cell_words({"context", "work", "run", "python", "import time; time.sleep(600)"}));
    ASSERT_TRUE(is_within("python", "busy"));
    running.send(SIGKILL);
    running.finish();
  }
  EXPECT_TRUE(is_within("python", "idle")) << good({"context", "work", "list"});
  Called after = call("python", "kept");
  EXPECT_EQ(after.out, "5\n") << after.describe();
}

TEST_F(Contexts, TheyAreGoneWhenTheCellStops) {
  open("python");
  EXPECT_EQ(call("python", "x = 1\nopen('/work/kept.txt', 'w').write('file')").code, 0);
  Call running(cell_words({"context", "work", "run", "python", "import time; time.sleep(600)"}));
  ASSERT_TRUE(is_within("python", "busy"));
  good({"stop", "work"});
  Called told = running.finish();
  EXPECT_EQ(told.code, 1) << told.describe();
  EXPECT_NE(told.err.find("context python is gone: the cell has stopped"), std::string::npos) << told.err;
  EXPECT_EQ(state_of("python"), "gone");
  refused({"context", "work", "run", "python", "x"}, "work is stopped");
  good({"start", "work"});
  refused({"context", "work", "run", "python", "x"}, "context python is gone: the cell has stopped");
  EXPECT_EQ(control("restart", "python").code, 0);
  EXPECT_EQ(call("python", "open('/work/kept.txt').read()").out, "'file'\n");
  EXPECT_EQ(call("python", "'x' in globals()").out, "False\n");
}

TEST_F(Contexts, PauseStopsTheirClocksToo) {
  open("python");
  Call running(cell_words({"context", "work", "run", "--timeout", "3s", "python", "import time\nfor _ in range(20): time.sleep(0.05)\n'done'"}));
  ASSERT_TRUE(is_within("python", "busy"));
  good({"pause", "work"});
  refused({"context", "work", "create", "bash"}, "work is paused");
  std::this_thread::sleep_for(seconds(4));
  EXPECT_EQ(state_of("python"), "busy");
  good({"resume", "work"});
  Called done = running.finish();
  EXPECT_EQ(done.out, "'done'\n") << done.describe();
}

TEST_F(Contexts, AnIdleCellWakesForACallAndStaysAwakeForIt) {
  create("sleepy", {"--idle-pause", "1s", "--processes", "40"});
  open("python", {}, "sleepy");
  EXPECT_EQ(good({"context", "sleepy", "run", "python", "import time\nx = 3\ntime.sleep(2.5)\nx"}), "3\n");
  EXPECT_EQ(inspect("sleepy").text("status"), "running");
  EXPECT_TRUE(status_within("sleepy", "paused"));
  EXPECT_EQ(good({"context", "sleepy", "run", "python", "x + 1"}), "4\n");
}

TEST_F(Contexts, RichOutputs) {
  open("python");
  Json figure = call_json("python", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n'shown'");
  EXPECT_EQ(figure.text("state"), "ok") << figure.text("error") << figure.text("errors");
  ASSERT_EQ(figure.size("rich"), 1u) << figure.text("errors");
  EXPECT_EQ(figure.text("errors"), "");
  EXPECT_EQ(figure.text("rich/0/type"), "png");
  EXPECT_TRUE(figure.text("rich/0/bytes").starts_with("iVBORw0KGgoAAAANSUhEUg"));
  Json table = call_json("python", "import pandas as pd\npd.DataFrame({'a': [1, 2]})");
  EXPECT_EQ(table.text("rich/0/type"), "html");
  EXPECT_TRUE(table.text("rich/0/text").starts_with("<table"));
  EXPECT_EQ(Json(table.text("rich/1/text")).text("data"), "[[1],[2]]");
  Called human = call("python", "pd.DataFrame({'a': [1, 2]})");
  EXPECT_EQ(human.out, "   a\n0  1\n1  2\n");
  EXPECT_EQ(human.err, "hotcell: to show: value.html, value.json (--json holds them)\n");
}

TEST_F(Contexts, TheWallsOfTheCellHold) {
  open("python");
  // Controls: outside, each of these is there.
  EXPECT_EQ(::access("/etc/hostname", F_OK), 0);
  EXPECT_EQ(::access("/proc/sys/kernel/core_pattern", F_OK), 0);
  std::string code =
      "import os, socket, ctypes\n"
      "def attempt(call):\n"
      "  try: return call() and 'allowed'\n"
      "  except OSError as e: return type(e).__name__\n"
      "s = socket.socket(); s.settimeout(5)\n"
      "[attempt(lambda: open('/etc/shadow')), attempt(lambda: open('" + state() + "/cells/keeper.lock')), attempt(lambda: open('/usr/x', 'w')),\n"
      " attempt(lambda: s.connect(('192.0.2.1', 80))), [l.split(':')[0].strip() for l in open('/proc/self/net/dev')][2:], os.getuid(),\n"
      " [l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'NoNewPrivs', 'Seccomp:'))]]";
  Called walls = call("python", code);
  EXPECT_EQ(walls.out, "['FileNotFoundError', 'FileNotFoundError', 'OSError', 'OSError', ['lo'], 1000, ['0000000000000000', '1', '2']]\n") << walls.describe();
  EXPECT_EQ(call("python", "ctypes.CDLL(None, use_errno=True).syscall(101, 0, 0, 0, 0), ctypes.get_errno() * 0").out, "(-1, 0)\n") << "ptrace";
  // It has the descriptors of any program and its own two, and what it starts has not even those.
  EXPECT_EQ(call("python", "import subprocess; subprocess.run(['ls', '/proc/self/fd'], close_fds=False).returncode").out, "0\n1\n2\n3\n0\n");
  // What it signals is in the cell, and the cell's spawner does not mind.
  open("bash");
  EXPECT_EQ(call("bash", "kill -INT -1; kill -TERM 1 2; echo alive").code, 0);
  EXPECT_EQ(sh("work", "echo still there"), "still there\n");
}

TEST_F(Contexts, WhatIsAskedWronglyIsRefused) {
  refused({"context", "work", "create", "cobol"}, "no context for cobol; there are python, javascript and bash");
  refused({"context", "work", "create"}, "which language? python, javascript or bash");
  refused({"context", "work", "create", "python", "--session", "a/b"}, "a/b is no name");
  refused({"context", "work", "run"}, "which context?");
  refused({"context", "work", "run", "nobody", "1"}, "the cell has no context nobody");
  refused({"context", "work", "rnu", "x"}, "unknown subcommand rnu; did you mean \"run\"?");
  refused({"context", "work"}, "create, run, interrupt, restart, close or list?");
  refused({"context", "nowhere", "list"}, "there is no cell nowhere");
  for (int i = 0; i < 16; ++i) open("bash", {"--session", "s" + std::to_string(i)});
  refused({"context", "work", "create", "bash"}, "the cell has 16 contexts already; close one");
}

}  // namespace
}  // namespace hotcell::testing
