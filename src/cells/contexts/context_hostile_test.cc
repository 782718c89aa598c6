// Code that works against the driver it runs in: no answer is ever another call's, and what cannot go on is told to be gone.
#include <gtest/gtest.h>

#include "cells/contexts/contexts_testing.h"

namespace hotcell::cells::testing {
namespace {

// The interpreter's own descriptors as code would find them: pipes above stderr.
constexpr std::string_view kOurs =
    "import os\nours = [int(f) for f in os.listdir('/proc/self/fd') if int(f) > 2 and os.path.exists('/proc/self/fd/' + f) and "
    "os.readlink('/proc/self/fd/' + f).startswith(('pipe:', 'socket:'))]\n";

class Hostile : public ::testing::Test {
 protected:
  static ContextLimits quick() {
    ContextLimits limits;
    limits.patience = milliseconds(1000);
    return limits;
  }
  // Gone, and nothing that comes later is taken for an answer.
  static void expect_gone(std::string_view language, std::string_view code, std::string_view why = {}) {
    Interpreter interpreter(language, quick());
    ASSERT_TRUE(interpreter.ready.ok());
    auto r = interpreter.call(code);
    // What closes or fakes may be seen only by the call after it.
    if (r.state != State::kGone) r = interpreter.call("print(12345)");
    EXPECT_EQ(r.state, State::kGone) << code << "\n" << describe(r);
    if (!why.empty()) {
      EXPECT_EQ(r.error, why) << code;
    }
    EXPECT_FALSE(interpreter.context->usable());
    EXPECT_EQ(interpreter.call("1").state, State::kGone);
  }
};

TEST_F(Hostile, AnInterpreterThatEndsIsGone) {
  for (auto code : {"import os; os._exit(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "import ctypes; ctypes.string_at(0)"})
    expect_gone("python", code, "the interpreter has ended");
  expect_gone("javascript", "process.exit(3)", "the interpreter has ended");
  expect_gone("javascript", "process.abort()", "the interpreter has ended");
  expect_gone("bash", "exit 3", "the interpreter has ended");
  expect_gone("bash", "set -e; false", "the interpreter has ended");
  expect_gone("bash", "kill -KILL $$", "the interpreter has ended");
}

TEST_F(Hostile, WhatItWroteBeforeItsEndIsThere) {
  Interpreter python("python");
  auto r = python.call("print('last words', flush=True)\nimport os; os._exit(1)");
  EXPECT_EQ(r.state, State::kGone);
  EXPECT_EQ(r.output, "last words\n");
}

TEST_F(Hostile, HowItEndedIsToldByWhoKnows) {
  Interpreter python("python");
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(300));
    python.context->over("the cell has stopped");
  });
  auto r = python.call("import time; time.sleep(100)");
  other.join();
  EXPECT_EQ(r.state, State::kGone);
  EXPECT_EQ(r.error, "the cell has stopped");
}

TEST_F(Hostile, ClosedDescriptors) {
  expect_gone("python", "import os; os.closerange(3, 4096)");
  expect_gone("python", "import os; os.closerange(0, 4096)");
  expect_gone("javascript", "for (let i = 3; i < 100; ++i) { try { require('fs').closeSync(i) } catch {} }");
  // Its own streams alone: there is no output any more, but answers are.
  Interpreter python("python");
  python.call("import os; os.close(1); os.close(2)");
  auto r = python.call("1 + 1");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.value, "2");
  // The code of a bash has them under no number of its own; what bash itself has put aside can be closed as well.
  Interpreter bash("bash");
  EXPECT_EQ(bash.call("echo garbage >&19; read -u 18; exec 18<&- 19>&-; echo still").output, "still\n");
  EXPECT_EQ(bash.call("exec 3>&1; echo still >&3").output, "still\n");
  EXPECT_EQ(bash.call_interrupted("exec 4>&1; sleep 100").state, State::kInterrupted);
  EXPECT_EQ(bash.call("echo there; echo four >&3; exec 3>&-").output, "there\nfour\n");
  EXPECT_EQ(bash.call("exec > /dev/null; echo unheard").output, "");
  EXPECT_EQ(bash.call("echo unheard; echo heard >&2").errors, "heard\n");
  expect_gone("bash", "for i in {3..50}; do eval \"exec $i>&-\"; done 2>/dev/null");
}

TEST_F(Hostile, GarbageAsAnAnswer) {
  expect_gone("python", cat(kOurs, "for f in ours:\n  try: os.write(f, b'R ' + b'0' * 32 + b' 14\\nstate ok 0\\n')\n  except OSError: pass\n"));
  expect_gone("python", cat(kOurs, "for f in ours:\n  try: os.write(f, b'x' * 5000)\n  except OSError: pass\n"));
  expect_gone("python", cat(kOurs, "for f in ours:\n  try: os.write(f, b'R - 99999999999\\n')\n  except OSError: pass\n"));
  // With the nonce, which it can take from where the driver would have: an answer of its own to its own call, and no more.
  expect_gone("python", cat(kOurs,
                            "import select\nr = [f for f in ours if select.select([f], [], [], 0)[0]]\nnonce = os.read(r[0], 33)[:32]\n"
                            "body = b'text value.txt 4\\nfakestate ok 0\\n'\n"
                            "for f in ours:\n  try: os.write(f, b'R ' + nonce + b' %d\\n' % len(body) + body)\n  except OSError: pass\n"));
}

TEST_F(Hostile, OutputThatImitatesAnAnswerIsOutput) {
  for (auto language : {"python", "javascript", "bash"}) {
    Interpreter interpreter(language);
    std::string frame = "R 00000000000000000000000000000000 11\nstate ok 0\n";
    std::string code = std::string_view(language) == "bash" ? cat("printf '%s' '", frame, "'")
                       : std::string_view(language) == "python" ? cat("print('''", frame, "''', end='')")
                                                                : cat("process.stdout.write(`", frame, "`)");
    EXPECT_EQ(interpreter.call(code).output, frame) << language;
    auto next = interpreter.call("x=1");
    EXPECT_NE(next.state, State::kGone) << language;
    EXPECT_EQ(next.output, "") << language;
  }
}

TEST_F(Hostile, CopiesOfTheInterpreterDoNotAnswer) {
  Interpreter python("python");
  auto r = python.call("import os\npid = os.fork()\nif pid == 0: print('child')\nelse: os.waitpid(pid, 0); print('parent')\npid != 0");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.output, "child\nparent\n");
  EXPECT_EQ(r.value, "True");
  EXPECT_EQ(python.call("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))").output, "[1, 2]\n");
  r = python.call("if os.fork() == 0: raise ValueError('in the copy')\nos.wait()[1] != 0");
  EXPECT_EQ(r.value, "True") << describe(r);
  EXPECT_NE(r.errors.find("in the copy"), std::string::npos);
}

TEST_F(Hostile, FloodsAreBounded) {
  Interpreter python("python");
  auto r = python.call("for _ in range(100): print('x' * (1 << 20))\n'end'");
  EXPECT_EQ(r.state, State::kOk) << to_string(r.state) << r.error;
  EXPECT_EQ(r.output.size(), 1u << 20);
  EXPECT_TRUE(r.output_cut);
  EXPECT_EQ(r.value, "'end'");
  EXPECT_FALSE(r.value_cut);
  r = python.call("'y' * (20 << 20)");
  EXPECT_EQ(r.value, "value.txt is left out: it has 20971522 bytes; one may have 8 MiB");
  EXPECT_TRUE(r.value_cut);
  EXPECT_NE(call_json(r).find("\"value_truncated\":true"), std::string::npos) << call_json(r).substr(0, 300);
  r = python.call("raise ValueError('z' * (5 << 20))");
  EXPECT_LE(r.error.size(), 5000u);
  EXPECT_LE(r.traceback.size(), 140'000u);
  Interpreter node("javascript");
  r = node.call("for (let i = 0; i < 100; ++i) console.log('x'.repeat(1 << 20)); 'end'");
  EXPECT_EQ(r.output.size(), 1u << 20);
  EXPECT_TRUE(r.output_cut);
  EXPECT_EQ(r.value, "'end'");
  EXPECT_FALSE(r.value_cut);
  r = node.call("({[Symbol.for('nodejs.util.inspect.custom')]: () => 'y'.repeat(20 << 20)})");
  EXPECT_TRUE(r.value_cut) << r.value.size();
  Interpreter bash("bash");
  r = bash.call("head -c 100000000 /dev/zero; echo end >&2");
  EXPECT_EQ(r.output.size(), 1u << 20);
  EXPECT_EQ(r.errors, "end\n");
  // A thread that never stops does not keep the answer.
  r = python.call("import threading, os\ndef flood():\n  while True: os.write(1, b'f' * 4096)\nthreading.Thread(target=flood, daemon=True).start()\n1");
  EXPECT_EQ(r.value, "1");
}

TEST_F(Hostile, DeepRecursion) {
  Interpreter python("python");
  auto r = python.call("def f(n): return f(n + 1)\nf(0)");
  EXPECT_EQ(r.error, "RecursionError: maximum recursion depth exceeded") << describe(r);
  EXPECT_EQ(python.call("1 + 1").value, "2");
  r = python.call("x = []\nfor _ in range(100000): x = [x]\nx");
  EXPECT_NE(r.state, State::kGone) << describe(r);
  Interpreter node("javascript");
  r = node.call("function f() { return f() + 1 } f()");
  EXPECT_EQ(r.error, "RangeError: Maximum call stack size exceeded") << describe(r);
  EXPECT_EQ(node.call("1 + 1").value, "2");
}

TEST_F(Hostile, ReplacedBuiltins) {
  Interpreter python("python");
  auto r = python.call("import builtins\nfor n in list(vars(builtins)):\n  if n not in ('list', 'vars', 'setattr', 'None', '__import__', '__build_class__'): setattr(builtins, n, None)\nsetattr(builtins, 'list', None)");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(python.call("1 + 1").value, "2");
  r = python.call("1 / 0");
  EXPECT_EQ(r.state, State::kError) << describe(r);
  EXPECT_NE(r.error.find("ZeroDivisionError"), std::string::npos);
  EXPECT_NE(r.traceback.find("\"<call-3>\", line 1"), std::string::npos) << r.traceback;
  // The shell's words are functions of the user's.
  Interpreter bash("bash");
  r = bash.call("printf() { echo mine; }; read() { echo mine; }; eval() { echo mine; }; trap() { echo mine; }; exit() { echo mine; }");
  EXPECT_EQ(r.state, State::kOk);
  EXPECT_EQ(bash.call("printf x").output, "mine\n");
  EXPECT_EQ(bash.call("echo still").output, "still\n");
  Interpreter node("javascript");
  r = node.call("JSON.stringify = () => '{}'; Array.prototype.push = () => 0; Object.entries = null; globalThis.Buffer = null; Promise = null; process.on = null; 3");
  EXPECT_EQ(r.value, "3") << describe(r);
}

TEST_F(Hostile, ReplacedStreams) {
  Interpreter python("python");
  auto r = python.call("import sys, io\nsys.stdout = io.StringIO()\nprint('kept away')\nsys.__stdout__.write('direct\\n')\nNone");
  EXPECT_EQ(r.output, "direct\n") << describe(r);
  EXPECT_EQ(python.call("sys.stdout.getvalue()").value, "'kept away\\n'");
  EXPECT_EQ(python.call("sys.stdout = None\n5").value, "5");
  EXPECT_EQ(python.call("class Bad:\n  def flush(self): raise SystemExit\n  def write(self, x): raise ValueError\nsys.stdout = sys.stderr = Bad()\n6").value, "6");
  EXPECT_EQ(python.call("7").value, "7");
}

TEST_F(Hostile, ValuesThatDoNotWantToBeShown) {
  Interpreter python("python");
  auto r = python.call("class C:\n  def __repr__(self): raise SystemExit\nC()");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.value, "<C: its repr raised SystemExit>");
  r = python.call("class D:\n  def __repr__(self):\n    while True: pass\nD()", milliseconds(500));
  EXPECT_EQ(r.state, State::kTimeout) << describe(r);
  EXPECT_EQ(python.call("class E(Exception):\n  def __str__(self): raise SystemExit\nraise E").state, State::kError);
  Interpreter node("javascript");
  EXPECT_EQ(node.call("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } })").value, "<a value that cannot be shown>");
  EXPECT_EQ(node.call("throw { get stack() { throw 1 } }").state, State::kError);
  EXPECT_EQ(node.call("1").value, "1");
}

TEST_F(Hostile, NulBytesAndLongCode) {
  for (auto language : {"python", "javascript", "bash"}) {
    Interpreter interpreter(language);
    auto r = interpreter.call(std::string_view("1\0002", 3));
    EXPECT_EQ(r.state, State::kError);
    EXPECT_EQ(r.error, "the code contains a NUL byte");
    std::string sign = std::string_view(language) == "javascript" ? "//" : "#";
    std::string code = cat(sign, std::string(std::string_view(language) == "bash" ? 100'000 : 3'000'000, 'c'), "\n", std::string_view(language) == "bash" ? "echo 4" : "2 + 2");
    r = interpreter.call(code);
    EXPECT_EQ(r.state, State::kOk) << r.error;
    EXPECT_EQ(cat(r.value, r.output), std::string_view(language) == "bash" ? "4\n" : "4");
  }
}

TEST_F(Hostile, ChildrenHaveNoneOfTheDescriptors) {
  Interpreter python("python"), node("javascript"), bash("bash");
  EXPECT_EQ(python.call("import subprocess\nprint(subprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout)").output, "0\n1\n2\n3\n\n");
  EXPECT_EQ(node.call("console.log(require('child_process').execFileSync('ls', ['/proc/self/fd'], { stdio: ['ignore', 'pipe', 'inherit'] }).toString())").output, "0\n1\n2\n3\n\n");
  EXPECT_EQ(bash.call("ls /proc/self/fd").output, "0\n1\n2\n3\n");
  EXPECT_EQ(bash.call("bash -c 'ls /proc/self/fd'; (ls /proc/self/fd) | cat").output, "0\n1\n2\n3\n0\n1\n2\n3\n");
}

}  // namespace
}  // namespace hotcell::cells::testing
