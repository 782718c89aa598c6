#include "cells/contexts/context.h"

#include <gtest/gtest.h>

#include "cells/contexts/contexts_testing.h"

namespace hotcell::cells::testing {
namespace {

TEST(ContextPython, WhatACallDefinesTheNextOneSees) {
  Interpreter python("python");
  ASSERT_TRUE(python.ready.ok()) << python.ready.error().message;
  auto first = python.call("x = 20\ndef f(n):\n  return n * 2\nimport math\n");
  EXPECT_EQ(first.state, State::kOk) << describe(first);
  EXPECT_EQ(first.value, "");
  auto second = python.call("print('said')\nf(x) + math.floor(2.5)");
  EXPECT_EQ(second.value, "42") << describe(second);
  EXPECT_EQ(second.output, "said\n");
  EXPECT_EQ(python.call("None").value, "");
  EXPECT_EQ(python.call("__name__").value, "'__main__'");
  EXPECT_EQ(python.call("class A: pass\nimport pickle\npickle.loads(pickle.dumps(A())).__class__ is A").value, "True");
}

TEST(ContextPython, StreamsAreApartAndStdinIsEmpty) {
  Interpreter python("python");
  auto r = python.call("import sys, os\nprint('out'); print('err', file=sys.stderr)\nos.system('echo child; echo child-err >&2; cat')\nsys.stdin.read()");
  EXPECT_EQ(r.output, "out\nchild\n") << describe(r);
  EXPECT_EQ(r.errors, "err\nchild-err\n");
  EXPECT_EQ(r.value, "''");
  auto eof = python.call("input()");
  EXPECT_EQ(eof.state, State::kError);
  EXPECT_EQ(eof.error, "EOFError: EOF when reading a line");
}

TEST(ContextPython, ATracebackHasTheLinesOfTheCode) {
  Interpreter python("python");
  python.call("def f():\n\n  return 1 / 0\n");
  auto r = python.call("x = 1\n\nf()\n");
  EXPECT_EQ(r.state, State::kError);
  EXPECT_EQ(r.error, "ZeroDivisionError: division by zero");
  EXPECT_EQ(r.traceback,
            "Traceback (most recent call last):\n"
            "  File \"<call-2>\", line 3, in <module>\n    f()\n"
            "  File \"<call-1>\", line 3, in f\n    return 1 / 0\n           ~~^~~\n"
            "ZeroDivisionError: division by zero\n");
  auto syntax = python.call("a = 1\nb = (\n");
  EXPECT_EQ(syntax.error, "SyntaxError: '(' was never closed") << describe(syntax);
  EXPECT_NE(syntax.traceback.find("File \"<call-3>\", line 2"), std::string::npos) << syntax.traceback;
  EXPECT_EQ(python.call("a").error, "NameError: name 'a' is not defined");
  auto exit = python.call("import sys; sys.exit(3)");
  EXPECT_EQ(exit.state, State::kError);
  EXPECT_EQ(exit.error, "SystemExit: 3");
  EXPECT_EQ(python.call("x").value, "1");
}

TEST(ContextPython, AnInterruptEndsTheCallAndKeepsTheRest) {
  Interpreter python("python");
  python.call("kept = 5");
  auto r = python.call_interrupted("while True: pass");
  EXPECT_EQ(r.state, State::kInterrupted) << describe(r);
  EXPECT_EQ(r.error, "KeyboardInterrupt");
  EXPECT_NE(r.traceback.find("<call-2>"), std::string::npos);
  EXPECT_EQ(python.call("kept").value, "5");
  r = python.call_interrupted("import time; time.sleep(100)");
  EXPECT_EQ(r.state, State::kInterrupted) << describe(r);
  // At once: it waits until the code has begun.
  r = python.call_interrupted("import time; time.sleep(100)", milliseconds(0));
  if (r.state == State::kOk) ADD_FAILURE() << describe(r);
  // Handled by the code: it has come to its end.
  r = python.call_interrupted("try:\n  time.sleep(100)\nexcept KeyboardInterrupt: print('handled')\n7");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.output, "handled\n");
  EXPECT_EQ(r.value, "7");
  // When nothing runs, it interrupts nothing.
  python.context->interrupt();
  EXPECT_EQ(python.call("kept").value, "5");
  // One that was announced is interrupted even before its thread has come to it, and only that one.
  python.context->announce();
  python.context->interrupt();
  r = python.call("kept = 6; import time; time.sleep(100)");
  EXPECT_EQ(r.state, State::kInterrupted) << describe(r);
  EXPECT_EQ(r.error, "interrupted before it began");
  python.context->announce();
  EXPECT_EQ(python.call("kept").value, "5");
}

TEST(ContextPython, ATimeoutKeepsTheInterpreter) {
  Interpreter python("python");
  auto r = python.call("y = 1\nprint('begun')\nimport time; time.sleep(100)", milliseconds(500));
  EXPECT_EQ(r.state, State::kTimeout) << describe(r);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.output, "begun\n");
  EXPECT_EQ(python.call("y").value, "1");
  // A user's own handler of one call is not that of the next.
  python.call("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)");
  EXPECT_EQ(python.call("time.sleep(100)", milliseconds(300)).state, State::kTimeout);
}

TEST(ContextPython, OneThatIgnoresTheInterruptIsGivenUp) {
  ContextLimits limits;
  limits.patience = milliseconds(500);
  Interpreter python("python", limits);
  auto r = python.call("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\nwhile True: time.sleep(1)", milliseconds(500));
  EXPECT_EQ(r.state, State::kGone);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.output, "deaf\n");
  EXPECT_EQ(r.error, "its time was over and it did not come back within 500 ms after it was interrupted");
  EXPECT_FALSE(python.context->usable());
  EXPECT_EQ(python.call("1").state, State::kGone);
}

TEST(ContextPython, ModulesAreImportedFromTheFolderItIsIn) {
  char folder[] = "/tmp/hotcell-context-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  Interpreter python("python");
  // A module of the library that the driver needs, and one of the user's own.
  auto r = python.call(cat("import os\nos.chdir('", std::string_view(folder), "')\nopen('mine.py', 'w').write('value = 6')\nopen('traceback.py', 'w').write('1/0')\nimport mine\nmine.value"));
  EXPECT_EQ(r.value, "6") << describe(r);
  EXPECT_EQ(python.call("1/0").error, "ZeroDivisionError: division by zero");
  python.call("import shutil; shutil.rmtree(os.getcwd())");
}

TEST(ContextPython, FiguresAndTablesComeOut) {
  Interpreter python("python");
  auto r = python.call("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.figure()\nplt.plot([2, 1])\nlen(plt.get_fignums())");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.value, "1");
  ASSERT_EQ(r.rich.size(), 2u);
  EXPECT_EQ(r.rich[0].kind, "png");
  EXPECT_EQ(r.rich[0].name, "figure-1.png");
  EXPECT_TRUE(r.rich[1].bytes.starts_with("\x89PNG"));
  // Those that were shown are not shown again.
  r = python.call("len(plt.get_fignums())");
  EXPECT_EQ(r.value, "0");
  EXPECT_EQ(r.rich.size(), 0u);
  r = python.call("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['<x>', 'y']})");
  EXPECT_TRUE(rich_of(r, "value.html").starts_with("<table")) << describe(r);
  EXPECT_EQ(rich_of(r, "value.json"), R"({"columns": ["a", "b"], "index": [0, 1], "data": [[1, "<x>"], [2, "y"]], "rows": 2})");
  EXPECT_NE(r.value.find("<x>"), std::string::npos);
  r = python.call("class C:\n  def _repr_html_(self): return 'x' * (9 << 20)\n  def _repr_png_(self): return b'no'\nC()");
  EXPECT_EQ(rich_of(r, "value.html"), "value.html is left out: it has 9437184 bytes; one may have 8 MiB");
  EXPECT_EQ(rich_of(r, "value.png"), "value.png is left out: it is not a PNG image");
}

TEST(ContextPython, OutputOfAThreadBelongsToTheCallThatRunsThen) {
  Interpreter python("python");
  auto r = python.call("import threading, time\ngo = threading.Event()\ndef later():\n  go.wait()\n  print('later', flush=True)\nt = threading.Thread(target=later); t.start()\nprint('first')");
  EXPECT_EQ(r.output, "first\n");
  r = python.call("go.set(); t.join(); print('second')");
  EXPECT_EQ(r.output, "later\nsecond\n");
}

TEST(ContextJavascript, DeclarationsStayAndMayBeMadeAgain) {
  Interpreter node("javascript");
  ASSERT_TRUE(node.ready.ok()) << node.ready.error().message;
  EXPECT_EQ(node.call("let x = 1; const y = 2; var z = 3; function f(n) { return n * 2 } class A {}").state, State::kOk);
  EXPECT_EQ(node.call("f(x + y + z)").value, "12");
  EXPECT_EQ(node.call("let x = 5; const y = 6; x + y").value, "11");
  EXPECT_EQ(node.call("new A()").value, "A {}");
  EXPECT_EQ(node.call("({a: [1, 'b'], n: 10n})").value, "{ a: [ 1, 'b' ], n: 10n }");
  EXPECT_EQ(node.call("undefined").value, "");
  EXPECT_EQ(node.call("-0").value, "-0");
  EXPECT_EQ(node.call("2n ** 64n").value, "18446744073709551616n");
  EXPECT_EQ(node.call("'text'").value, "'text'");
}

TEST(ContextJavascript, AwaitAndModules) {
  Interpreter node("javascript");
  EXPECT_EQ(node.call("await 5").value, "5");
  EXPECT_EQ(node.call("const slow = await new Promise(r => setTimeout(() => r(7), 30)); slow").value, "7");
  EXPECT_EQ(node.call("require('path').basename('/a/b')").value, "'b'");
  EXPECT_EQ(node.call("(await import('node:path')).basename('/a/c')").value, "'c'");
  auto r = node.call("import fs, { existsSync as there } from 'fs'\nimport * as os from 'os';\n[typeof fs.readFileSync, there('/'), typeof os.cpus]");
  EXPECT_EQ(r.value, "[ 'function', true, 'function' ]") << describe(r);
  // The word elsewhere is left alone.
  EXPECT_EQ(node.call("const s = 'import(1)', t = `import(${1 + 1}) import x from 'y'`; // import(2)\n[s, t, /import(1)/.source, ({import: 3}).import]").value,
            "[ 'import(1)', \"import(2) import x from 'y'\", 'import(1)', 3 ]");
}

TEST(ContextJavascript, ErrorsHaveTheLinesOfTheCode) {
  Interpreter node("javascript");
  node.call("function f() {\n  throw new TypeError('bad')\n}");
  auto r = node.call("\nf()");
  EXPECT_EQ(r.state, State::kError);
  EXPECT_EQ(r.error, "TypeError: bad");
  EXPECT_EQ(r.traceback, "TypeError: bad\n    at f (<call-1>:2:9)\n    at <call-2>:2:1\n");
  auto syntax = node.call("let ok = 1\nlet = = 2\n");
  EXPECT_TRUE(syntax.error.starts_with("SyntaxError: ")) << describe(syntax);
  EXPECT_TRUE(syntax.traceback.starts_with("<call-3>:2\nlet = = 2\n")) << syntax.traceback;
  EXPECT_EQ(node.call("throw 5").error, "Uncaught 5");
  EXPECT_EQ(node.call("await Promise.reject(new Error('late'))").error, "Error: late");
  // What fails between calls is told of and ends nothing.
  r = node.call("setTimeout(() => { throw new Error('alone') }, 1); Promise.reject(new Error('nobody')); await new Promise(r => setTimeout(r, 100))");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_NE(r.errors.find("Uncaught Error: alone"), std::string::npos) << r.errors;
  EXPECT_NE(r.errors.find("Uncaught (in promise) Error: nobody"), std::string::npos) << r.errors;
  EXPECT_EQ(node.call("1 + 1").value, "2");
}

TEST(ContextJavascript, AnInterruptReachesLoopsAndWaits) {
  Interpreter node("javascript");
  node.call("let kept = 5");
  auto r = node.call_interrupted("while (true) {}");
  EXPECT_EQ(r.state, State::kInterrupted) << describe(r);
  EXPECT_EQ(node.call("kept").value, "5");
  EXPECT_EQ(node.call_interrupted("await new Promise(() => {})").state, State::kInterrupted);
  EXPECT_EQ(node.call_interrupted("await 0; while (true) {}").state, State::kInterrupted);
  EXPECT_EQ(node.call("await new Promise(() => {})", milliseconds(300)).state, State::kTimeout);
  EXPECT_EQ(node.call("kept = 6; while (true) {}", milliseconds(300)).state, State::kTimeout);
  EXPECT_EQ(node.call("kept").value, "6");
}

TEST(ContextJavascript, TheEventLoopGoesOnBetweenCalls) {
  Interpreter node("javascript");
  node.call("let count = 0; const timer = setInterval(() => ++count, 5)");
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(node.call("count > 1").value, "true");
  auto r = node.call("clearInterval(timer); console.log('out'); console.error('err'); require('fs').readFileSync(0, 'utf8')");
  EXPECT_EQ(r.output, "out\n");
  EXPECT_EQ(r.errors, "err\n");
  EXPECT_EQ(r.value, "''");
  auto rich = node.call("({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<b>x</b>', 'application/json': { a: 1 } }) })");
  EXPECT_EQ(rich_of(rich, "value.html"), "<b>x</b>") << describe(rich);
  EXPECT_EQ(rich_of(rich, "value.json"), "{\"a\":1}");
}

TEST(ContextBash, StateStaysAndTheExitCodeIsTold) {
  Interpreter bash("bash");
  ASSERT_TRUE(bash.ready.ok()) << bash.ready.error().message;
  auto r = bash.call("x=5; f() { echo \"f $1\"; }; cd /tmp; export Y=6");
  EXPECT_EQ(r.state, State::kOk) << describe(r);
  EXPECT_EQ(r.errors, "");
  r = bash.call("f $x; pwd; bash -c 'echo $Y'; echo no >&2; cat; (exit 3)");
  EXPECT_EQ(r.output, "f 5\n/tmp\n6\n") << describe(r);
  EXPECT_EQ(r.errors, "no\n");
  EXPECT_EQ(r.state, State::kError);
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.error, "exit code 3");
  EXPECT_EQ(bash.call("echo $?").output, "3\n");
  r = bash.call("cat <<E\nhere $x\nE\nfor i in 1 2; do\n  echo $i\ndone");
  EXPECT_EQ(r.output, "here 5\n1\n2\n");
  r = bash.call("if true; then\n  echo (\n");
  EXPECT_EQ(r.state, State::kError) << describe(r);
  EXPECT_NE(r.errors.find("syntax error"), std::string::npos);
  r = bash.call(": ${nothing:?is missing}; echo not reached");
  EXPECT_EQ(r.state, State::kError) << describe(r);
  EXPECT_EQ(r.output, "");
  EXPECT_EQ(bash.call("echo \xc3\xa4 \xff | od -An -tx1").output, " c3 a4 20 ff 0a\n");
}

TEST(ContextBash, AnInterruptEndsAllOfTheCall) {
  Interpreter bash("bash");
  bash.call("kept=5");
  auto r = bash.call_interrupted("sleep 100; echo not reached");
  EXPECT_EQ(r.state, State::kInterrupted) << describe(r);
  EXPECT_EQ(r.output, "");
  EXPECT_EQ(r.exit_code, 130);
  EXPECT_EQ(bash.call_interrupted("while :; do :; done").state, State::kInterrupted);
  EXPECT_EQ(bash.call_interrupted("f() { while :; do sleep 0.01; done; }; f").state, State::kInterrupted);
  EXPECT_EQ(bash.call("sleep 100", milliseconds(300)).state, State::kTimeout);
  EXPECT_EQ(bash.call("echo $kept").output, "5\n");
}

TEST(ContextJson, HoldsAllOfIt) {
  CallResult r;
  r.state = State::kError;
  r.value = "1";
  r.output = "out\xff";
  r.error = "E: x";
  r.rich = {{"png", "figure-1.png", "\x89PNG"}, {"html", "value.html", "<b>"}};
  r.duration = std::chrono::nanoseconds(7);
  EXPECT_EQ(call_json(r),
            R"({"state":"error","value":"1","value_truncated":false,"output_base64":"b3V0/w==","errors":"","output_truncated":false,"error":"E: x","traceback":"","exit_code":0,)"
            R"("timed_out":false,"rich":[{"type":"png","name":"figure-1.png","bytes":"iVBORw=="},{"type":"html","name":"value.html","text":"<b>"}],"duration":7})");
}

TEST(ContextLanguages, AreThree) {
  EXPECT_EQ(context_language("js"), "javascript");
  auto none = driver_argv("cobol", 3, 4, 5);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "no context for cobol; there are python, javascript and bash");
}

}  // namespace
}  // namespace hotcell::cells::testing
