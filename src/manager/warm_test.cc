// Every visible thing about a program is the same whether its runtime was waiting for it or was started for it.
#include "manager/warm.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace hotcell;

namespace {

class Warm : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Launcher::create();
    ASSERT_TRUE(made.ok());
    launcher_ = std::move(made).value();
    pipeline_ = std::make_unique<Pipeline>(
        *launcher_,
        PipelineOptions{.verify = false, .cache = false, .cache_folder = {}, .cancelled = {}, .on_event = {}});
  }

  void keep(std::string_view name, Policy policy = default_policy()) {
    const Language* language = find_language(name);
    ASSERT_NE(language, nullptr);
    auto kept = warm_.keep(*launcher_, *pipeline_, *language, policy, {true, true}, 1);
    ASSERT_TRUE(kept.ok()) << kept.error().message;
  }

  struct Both {
    Report warm, cold;
  };

  // The same program twice: where a runtime waits, and where none does.
  Both run(std::string_view name, std::string text, std::vector<std::string> args = {}, std::string input = {},
           Policy policy = default_policy(), bool rich = false) {
    Both both;
    const Language* language = find_language(name);
    ProgramSource source;
    source.language = language;
    source.sources.main = std::string(language->main_file);
    source.sources.files = {{source.sources.main, std::move(text)}};
    for (bool waiting : {true, false}) {
      Policy theirs = policy;
      Request request;
      if (language->warm.arguments) request.id = "an-id";
      request.argv = args;
      request.rich = rich;
      if (!input.empty()) request.stdin_source = StdinBytes{input};
      auto planned = plan_run(source, theirs, {true, true}, request);
      EXPECT_TRUE(planned.ok());
      auto prepared = pipeline_->prepare(source, theirs, request);
      EXPECT_TRUE(prepared.ok()) << (prepared.ok() ? "" : prepared.error().message);
      if (waiting) {
        warm_.offer(source, theirs, request);
        EXPECT_NE(request.runtime, nullptr);
        for (int i = 0; request.runtime && i < 1000 && launcher_->parked(theirs, *request.runtime) == 0; ++i)
          EXPECT_TRUE(launcher_->step(std::chrono::milliseconds(20)).ok());
        EXPECT_TRUE(request.runtime && launcher_->parked(theirs, *request.runtime) == 1) << "no runtime waits";
      }
      auto report = launcher_->run(theirs, std::move(request));
      EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
      if (report.ok()) (waiting ? both.warm : both.cold) = std::move(report).value();
    }
    EXPECT_EQ(both.warm.out, both.cold.out);
    EXPECT_EQ(both.warm.err, both.cold.err);
    EXPECT_EQ(both.warm.verdict.exit_code, both.cold.verdict.exit_code);
    EXPECT_EQ(both.warm.verdict.signal, both.cold.verdict.signal);
    return both;
  }

  // The same of programs that show more than text: also what they have shown.
  Both run_rich(std::string text, Policy policy = default_policy()) {
    auto both = run("python", std::move(text), {"one", "two words"}, "from stdin", std::move(policy), true);
    EXPECT_EQ(shown(both.warm), shown(both.cold));
    return both;
  }
  static std::string shown(const Report& report) { return report.files.empty() ? "(nothing)" : report.files[0].bytes; }

  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Pipeline> pipeline_;
  WarmRuntimes warm_;
};

TEST_F(Warm, PythonLooksTheSame) {
  keep("python");
  auto both = run("python", R"(from __future__ import annotations
import os, sys
print(__name__, __file__, sys.argv, sys.path[0], os.getcwd(), sorted(os.environ.items()))
print(sys._getframe().f_back, sorted(os.listdir(".")), sys.stdin.read())
class Last:
    def __del__(self): print("deleted")
last = Last()
import atexit
atexit.register(lambda: print("at exit"))
def f(x): return x / 0
f(1)
)", {"one", "two words"}, "from stdin");
  EXPECT_NE(both.warm.out.find("__main__ /work/main.py ['/work/main.py', 'one', 'two words'] /work /work"),
            std::string::npos)
      << both.warm.out;
  EXPECT_NE(both.warm.err.find("line 11, in <module>"), std::string::npos) << both.warm.err;
  EXPECT_EQ(both.warm.verdict.exit_code, 1);
}

TEST_F(Warm, PythonEndsTheSame) {
  keep("python");
  EXPECT_EQ(run("python", "raise SystemExit(42)").warm.verdict.exit_code, 42);
  EXPECT_EQ(run("python", "import sys; sys.exit('words')").warm.verdict.exit_code, 1);
  EXPECT_EQ(run("python", "import os; os.abort()").warm.verdict.signal, 6);
  EXPECT_NE(run("python", "x = (").warm.err.find("SyntaxError"), std::string::npos);
  run("python", "import sys; print(sorted(m for m in sys.modules if m != 'sitecustomize'))");
}

// What was imported in advance is left as it is at the end; what the program has made, and put there, ends as ever.
TEST_F(Warm, PythonWithImportsInAdvanceEndsTheSame) {
  Policy policy = default_policy();
  policy.preimport = {"json", "random", "numpy"};
  keep("python", policy);
  auto both = run("python", R"(import atexit, json, random, sys
class Last:
    def __init__(self, name): self.name = name
    def __del__(self, print=print, dumps=json.dumps, random=random.random): print("deleted", self.name, dumps([1]), random() < 1, flush=True)
own, random.theirs, kept = Last("own"), Last("in a module"), [Last("in a list")]
atexit.register(lambda: print("at exit", "numpy" in sys.modules, "random" in sys.modules))
import numpy
print(numpy.arange(3).sum())
)", {}, {}, policy);
  EXPECT_NE(both.warm.out.find("at exit True True\n"), std::string::npos) << both.warm.out << both.warm.err;
  EXPECT_NE(both.warm.out.find("deleted in a module [1] True\n"), std::string::npos) << both.warm.out << both.warm.err;
  auto left = run("python", "import numpy, os, sys\nif os.fork() == 0: sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]), numpy.ones(2).sum())", {}, {}, policy);
  EXPECT_EQ(left.warm.out, "3 2.0\n") << left.warm.err;
  EXPECT_EQ(run("python", "import numpy\nraise SystemExit(42)", {}, {}, policy).warm.verdict.exit_code, 42);
}

TEST_F(Warm, AListOfImportsIsHeldTheSame) {
  Policy policy = default_policy();
  policy.name = "listed";
  policy.imports_allowed = {"math", "json", "sys"};
  policy.preimport = {"json", "random"};
  keep("python", policy);
  auto both =
      run("python", "import math, json, sys\nprint(sys.argv, sys.path[0])\nimport random\n", {"one"}, {}, policy);
  EXPECT_EQ(both.warm.out, "['/work/main.py', 'one'] /work\n");
  EXPECT_NE(both.warm.err.find("line 3, in <module>"), std::string::npos) << both.warm.err;
  EXPECT_NE(both.warm.err.find("import of 'random' is not allowed by profile listed"), std::string::npos)
      << both.warm.err;
}

TEST_F(Warm, RichPythonLooksTheSame) {
  keep("python");
  auto both = run_rich(R"(from __future__ import annotations
"no docstring"
import os, sys
print(__name__, __file__, __doc__, sys.argv, sys.orig_argv, sys.path, os.getcwd(), sorted(os.environ.items()))
print(sorted(globals()), sorted(os.listdir(".")), sorted(m for m in sys.modules if m != "sitecustomize"))
print(sorted(sys.path_importer_cache), len(sys.meta_path), sys.stdin.read(), sys.modules["__main__"].__dict__ is globals())
frame = sys._getframe()
while frame is not None:
    print(frame.f_code.co_filename, frame.f_code.co_name)
    frame = frame.f_back
class Last:
    def __del__(self): print("deleted")
last = Last()
import atexit, runpy
print(runpy.__file__)
atexit.register(lambda: print("at exit"))
def f(x): return x / 0
try:
    f(1)
except ZeroDivisionError as error:
    print(error)
class Shown:
    def _repr_html_(self): return "<b>"
    def __repr__(self): return "shown"
Shown()
)");
  EXPECT_EQ(shown(both.warm), "html value.html 3\n<b>text value.txt 5\nshown") << both.warm.err;
  EXPECT_NE(both.warm.out.find("['/work/main.py', 'one', 'two words']"), std::string::npos) << both.warm.out;
  EXPECT_EQ(both.warm.verdict.exit_code, 0);
}

TEST_F(Warm, RichPythonEndsTheSame) {
  keep("python");
  EXPECT_EQ(run_rich("raise SystemExit(42)").warm.verdict.exit_code, 42);
  EXPECT_EQ(run_rich("import sys; sys.exit('words')").warm.err, "words\n");
  EXPECT_EQ(run_rich("import os; os.abort()").warm.verdict.signal, 6);
  EXPECT_EQ(run_rich("raise KeyboardInterrupt").warm.verdict.signal, 2);
  EXPECT_NE(run_rich("x = (").warm.err.find("SyntaxError"), std::string::npos);
  EXPECT_NE(run_rich("def f(): return 1 / 0\n\nf()").warm.err.find("line 3, in <module>"), std::string::npos);
  EXPECT_EQ(run_rich("import sys\nsys.excepthook = lambda *a: print('mine', a[0])\n1 / 0").warm.err, "");
  EXPECT_EQ(run_rich("import threading, time\ndef f():\n  time.sleep(0.1)\n  print('thread')\nthreading.Thread(target=f).start()").warm.out,
            "thread\n");
  EXPECT_EQ(run_rich("import os\nif os.fork() == 0: os._exit(0)\nos.wait()[1]").warm.verdict.exit_code, 0);
  EXPECT_EQ(shown(run_rich("").warm), "(nothing)");
}

TEST_F(Warm, RichPythonUnderAListOfImportsIsTheSame) {
  Policy policy = default_policy();
  policy.name = "listed";
  policy.imports_allowed = {"math", "sys"};
  keep("python", policy);
  auto both = run_rich("import math\n40 + len([math.pi]) + 1", policy);
  EXPECT_EQ(shown(both.warm), "text value.txt 2\n42") << both.warm.err;
  both = run_rich("import runpy\n", policy);
  EXPECT_NE(both.warm.err.find("import of 'runpy' is not allowed by profile listed"), std::string::npos) << both.warm.err;
  EXPECT_EQ(both.warm.verdict.exit_code, 1);
}

// Pyplot that was there before anybody wanted its figures. Those known to bring it serve none that want them, since they
// have missed fonts on stderr by then; here it comes with something else, and nobody looks for fonts.
TEST_F(Warm, FiguresOfWhatWasImportedInAdvance) {
  const Language* python = find_language("python");
  Policy policy = default_policy();
  for (const char* name : {"matplotlib", "matplotlib.pyplot", "seaborn"}) {
    policy.preimport = {"json", name};
    EXPECT_FALSE(python->warm.rich(policy)) << name;
  }
  policy.preimport = {"contourpy.util.mpl_renderer"};
  policy.env.set["FONTCONFIG_FILE"] = "/nosuch";
  EXPECT_TRUE(python->warm.rich(policy));
  keep("python", policy);
  auto both = run("python",
                  "import sys\nbefore = 'matplotlib.pyplot' in sys.modules\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
                  "plt.show()\nprint(plt.get_fignums())\nplt.figure()\nbefore",
                  {}, {}, policy, true);
  for (const auto* report : {&both.warm, &both.cold}) {
    EXPECT_EQ(report->out, "[]\n") << report->err;
    EXPECT_NE(shown(*report).find("png figure-1.png"), std::string::npos);
    EXPECT_NE(shown(*report).find("png figure-2.png"), std::string::npos);
  }
  EXPECT_NE(shown(both.warm).find("value.txt 4\nTrue"), std::string::npos) << "or it was not there in advance";
}

TEST_F(Warm, EachPythonHasItsOwnRandomness) {
  Policy policy = default_policy();
  policy.preimport = {"random"};
  keep("python", policy);
  std::vector<std::string> seen;
  const Language* language = find_language("python");
  for (int i = 0; i < 2; ++i) {
    ProgramSource source;
    source.language = language;
    source.sources.main = "main.py";
    source.sources.files = {
        {"main.py", "import random, sys; print(random.random(), hash('x'), 'random' in sys.modules)"}};
    Policy theirs = policy;
    Request request;
    ASSERT_TRUE(plan_run(source, theirs, {true, true}, request).ok());
    warm_.offer(source, theirs, request);
    ASSERT_NE(request.runtime, nullptr);
    for (int n = 0; n < 1000 && launcher_->parked(theirs, *request.runtime) == 0; ++n)
      ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(20)).ok());
    auto report = launcher_->run(theirs, std::move(request));
    ASSERT_TRUE(report.ok());
    seen.push_back(report.value().out);
  }
  EXPECT_NE(seen[0], seen[1]);
}

TEST_F(Warm, NodeLooksTheSame) {
  keep("javascript");
  auto both = run("javascript", R"(
console.log(__filename, process.argv, process.execArgv, process.cwd(), require.main === module);
console.log(JSON.stringify(Object.entries(process.env).sort()), require('fs').readdirSync('.'));
process.stdin.on('data', (d) => { console.log('<' + d + '>'); process.exitCode = 3; throw new Error('late'); });
)", {"one", "two words"}, "from stdin");
  EXPECT_NE(both.warm.out.find("<from stdin>"), std::string::npos) << both.warm.out << both.warm.err;
  EXPECT_EQ(both.warm.verdict.exit_code, 1);
}

TEST_F(Warm, JavaLooksTheSame) {
  keep("java");
  auto both = run("java", R"(import java.util.*;
public class Main {
  public static void main(String[] a) throws Exception {
    System.out.println(a.length + " " + new TreeSet<>(System.getenv().keySet()) + " "
                       + System.getenv("HOTCELL_ID").length() + " " + System.getProperty("user.dir"));
    System.out.println(new Scanner(System.in).nextLine());
    throw new IllegalStateException("late");
  }
}
)",
                  {}, "from stdin\n");
  EXPECT_NE(both.warm.out.find("from stdin"), std::string::npos) << both.warm.out << both.warm.err;
  EXPECT_EQ(both.warm.verdict.exit_code, 1);
}

// The daemon keeps those that cut long output waiting; `hotcell run --daemon` wants the other way.
TEST_F(Warm, LongOutputIsTheRequestsOwnBusiness) {
  Policy cut = default_policy(), kill = default_policy();
  cut.on_output = OnOutput::kTruncate;
  kill.on_output = OnOutput::kKill;
  keep("python", cut);
  const std::string flood = "import time\nprint('x' * 3000000, flush=True)\ntime.sleep(0.3)\nraise SystemExit(3)";
  auto both = run("python", flood, {}, {}, kill);
  EXPECT_EQ(both.warm.verdict.reason, ExitReason::kOutput);
  EXPECT_EQ(both.cold.verdict.reason, ExitReason::kOutput);
  both = run("python", flood, {}, {}, cut);
  EXPECT_EQ(both.warm.verdict.exit_code, 3);
  EXPECT_EQ(both.warm.out.size(), cut.limits.output.n);
}

TEST_F(Warm, WhatItCannotServeIsStartedCold) {
  keep("java");
  const Language* java = find_language("java");
  ProgramSource source;
  source.language = java;
  source.sources.main = "Main.java";
  source.sources.files = {{"Main.java", "public class Main { public static void main(String[] a) {} }"}};
  Policy policy = default_policy();
  Request with_argument;
  with_argument.argv = {"one"};
  ASSERT_TRUE(plan_run(source, policy, {true, true}, with_argument).ok());
  warm_.offer(source, policy, with_argument);
  EXPECT_EQ(with_argument.runtime, nullptr);
  keep("python");
  source.language = find_language("python");
  source.sources.main = "other.py";
  source.sources.files = {{"other.py", "print(1)"}};
  Policy theirs = default_policy();
  Request other;
  ASSERT_TRUE(plan_run(source, theirs, {true, true}, other).ok());
  warm_.offer(source, theirs, other);
  EXPECT_EQ(other.runtime, nullptr);
  source.sources.main = "main.py";
  source.sources.files = {{"main.py", "print(1)"}};
  theirs = default_policy();
  Request hash;
  hash.env = {{"PYTHONHASHSEED", "0"}};
  ASSERT_TRUE(plan_run(source, theirs, {true, true}, hash).ok());
  warm_.offer(source, theirs, hash);
  EXPECT_EQ(hash.runtime, nullptr);
  theirs = default_policy();
  theirs.limits.open_files = 64;
  Request limited;
  ASSERT_TRUE(plan_run(source, theirs, {true, true}, limited).ok());
  warm_.offer(source, theirs, limited);
  EXPECT_EQ(limited.runtime, nullptr);
}

}  // namespace
