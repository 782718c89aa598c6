// `--rich`: figures, tables and the last value come back, and the program runs as it would without.
#include <gtest/gtest.h>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Rich : public E2e {
 protected:
  static Called run(const std::string& code, std::vector<std::string> more = {"--json"}) {
    std::vector<std::string> args = {"run", "--rich"};
    args.insert(args.end(), more.begin(), more.end());
    args.insert(args.end(), {"--language", "python", "-c", code});
    return hotcell(std::move(args));
  }
  static std::string output(const Json& json, std::string_view name) {
    for (std::size_t i = 0; i < json.size("outputs"); ++i) {
      std::string at = "outputs/" + std::to_string(i) + "/";
      if (json.text(at + "name") == name) return json.text(at + (json.has(at + "bytes") ? "bytes" : "text"));
    }
    return "(none)";
  }
  static bool is_png(const std::string& base64) {
    // Its first chunk and its last, which ends at any of three places of a group.
    const bool whole =
        base64.ends_with("SUVORK5CYII=") || base64.ends_with("JRU5ErkJggg==") || base64.ends_with("ElFTkSuQmCC");
    return base64.starts_with("iVBORw0KGgoAAAANSUhEUg") && base64.size() > 1000 && whole;
  }
};

TEST_F(Rich, FiguresThatWereShownOrAreOpenAtTheEnd) {
  auto called =
      run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(len(plt.get_fignums()))\n"
          "plt.figure()\nplt.plot([3, 1])\nraise SystemExit(5)\n");
  EXPECT_EQ(called.code, 5) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "0\n");
  EXPECT_EQ(json.text("stderr"), "");
  ASSERT_EQ(json.size("outputs"), 2u) << called.out.substr(0, 2000);
  EXPECT_EQ(json.text("outputs/0/type"), "png");
  EXPECT_TRUE(is_png(output(json, "figure-1.png")));
  EXPECT_TRUE(is_png(output(json, "figure-2.png")));
}

TEST_F(Rich, ATableAsHtmlAndJson) {
  auto called = run("import pandas as pd\npd.DataFrame({'a': range(5000), 'b': ['<x>'] * 5000})\n");
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  auto html = output(json, "value.html");
  EXPECT_TRUE(html.starts_with("<table")) << html.substr(0, 200);
  EXPECT_NE(html.find("&lt;x&gt;"), std::string::npos);
  Json table(output(json, "value.json"));
  EXPECT_EQ(table.text("columns"), R"(["a","b"])");
  EXPECT_EQ(table.text("rows"), "5000");
  EXPECT_EQ(table.size("data"), 1000u);
  EXPECT_NE(output(json, "value.txt").find("[5000 rows x 2 columns]"), std::string::npos);
  Json series(run("import pandas as pd\npd.Series([1, 2], name='s')").out);
  EXPECT_EQ(Json(output(series, "value.json")).text("data"), "[[1],[2]]");
}

TEST_F(Rich, TheLastValue) {
  Json json(run("x = 20\nprint('said')\nx + 1").out);
  EXPECT_EQ(json.text("stdout"), "said\n");
  ASSERT_EQ(json.size("outputs"), 1u);
  EXPECT_EQ(json.text("outputs/0/type"), "text");
  EXPECT_EQ(json.text("outputs/0/text"), "21");
  EXPECT_EQ(Json(run("None").out).size("outputs"), 0u);
  EXPECT_EQ(Json(run("x = 1").out).size("outputs"), 0u);
  EXPECT_EQ(Json(run("").out).size("outputs"), 0u);
  EXPECT_EQ(output(Json(run("'only'").out), "value.txt"), "'only'");
  auto human = run("[1, 2]", {});
  EXPECT_EQ(human.out, "[1, 2]\n") << human.describe();
  EXPECT_EQ(human.err, "");
}

TEST_F(Rich, WhatShowsItself) {
  Json json(run("class C:\n  def _repr_html_(self): return '<i>c</i>'\n  def _repr_svg_(self): return '<svg/>'\n"
                "  def _repr_json_(self): return {'k': 1}\n  def _repr_png_(self): return b'no image'\n"
                "  def __repr__(self): raise ValueError\nC()")
                .out);
  EXPECT_EQ(output(json, "value.html"), "<i>c</i>");
  EXPECT_EQ(output(json, "value.svg"), "<svg/>");
  EXPECT_EQ(output(json, "value.json"), R"({"k": 1})");
  EXPECT_EQ(output(json, "value.png"), "value.png is left out: it is not a PNG image");
  EXPECT_EQ(output(json, "value.txt"), "<C: its repr raised ValueError>");
  auto human =
      run("class C:\n  def _repr_html_(self): return '<i>c</i>'\n  def __repr__(self): return 'c\\x1b[5m'\nC()", {});
  EXPECT_EQ(human.err, "hotcell: to show: value.html (--json holds them)\n");
}

TEST_F(Rich, TheProgramIsAsItWouldBeWithout) {
  const std::string code =
      "from __future__ import annotations\nimport sys, os, atexit\n"
      "print(__name__, __file__, sys.argv, sys.orig_argv, sys.path[0], __doc__, sorted(globals()), "
      "sorted(os.listdir('.')), sorted(k for k in os.environ if k != 'HOTCELL_ID'), input())\n"
      "class Last:\n  def __del__(self): print('deleted')\nlast = Last()\natexit.register(print, 'at exit')\n"
      "def f(x: NoSuch): return x / 0\ntry:\n  f(1)\nexcept ZeroDivisionError:\n  f(2)\n";
  auto plain = hotcell({"run", "--language", "python", "-c", code, "one", "two words"}, "input\n");
  auto rich = hotcell({"run", "--rich", "--language", "python", "-c", code, "one", "two words"}, "input\n");
  EXPECT_EQ(plain.code, 1);
  EXPECT_EQ(rich.code, 1);
  EXPECT_EQ(plain.out, rich.out);
  EXPECT_EQ(plain.err, rich.err);
  EXPECT_NE(rich.err.find("line 12, in <module>"), std::string::npos) << rich.err;
  for (std::string bad :
       {"x = (\n", "def f():\n  pass\nreturn 1\n1", "import sys; sys.exit('words')", "import sys; sys.exit(3)",
        "1 + undefined", "raise KeyboardInterrupt", "import os; os.abort()",
        "import sys\nsys.excepthook = lambda *a: print('mine', a[0])\n1/0"}) {
    auto a = hotcell({"run", "--language", "python", "-c", bad}),
         b = hotcell({"run", "--rich", "--language", "python", "-c", bad});
    EXPECT_EQ(a.code, b.code) << bad;
    EXPECT_EQ(a.out, b.out) << bad;
    EXPECT_EQ(a.err, b.err) << bad;
  }
}

TEST_F(Rich, AFloodIsBounded) {
  Json many(run("class C:\n  def _repr_html_(self): return 'x' * (9 << 20)\n  def _repr_svg_(self): return 'y' * (5 << "
                "20)\nC()")
                .out);
  EXPECT_EQ(output(many, "value.html"), "value.html is left out: it has 9437184 bytes; one may have 8 MiB");
  EXPECT_EQ(output(many, "value.svg").size(), 5u << 20);
  // The program writes there itself: no more comes out than from us.
  Json forged(run("open('/work/.hotcell-notes', 'w').write('text a.txt 1\\nx' * 100000)\nNone").out);
  EXPECT_EQ(forged.size("outputs"), 32u);
  Json huge(run("with open('/work/.hotcell-notes', 'w') as f: f.truncate(60 << 20)\nNone").out);
  EXPECT_EQ(huge.text("exit_code"), "0");
  EXPECT_EQ(huge.size("outputs"), 0u);
  Json link(run("import os; os.symlink('/etc/passwd', '/work/.hotcell-notes')\n1").out);
  EXPECT_EQ(link.text("exit_code"), "0");
  EXPECT_EQ(link.size("outputs"), 0u);
}

TEST_F(Rich, ManyFiguresAreBounded) {
  Json json(run("import matplotlib.pyplot as plt, warnings\nwarnings.simplefilter('ignore')\nfor i in range(40): "
                "plt.figure(figsize=(1, 1))\n")
                .out);
  ASSERT_EQ(json.size("outputs"), 32u);
  EXPECT_EQ(output(json, "left-out.txt"), "more is left out: there may be 32 outputs");
  EXPECT_EQ(output(json, "figure-32.png"), "(none)");
}

TEST_F(Rich, IsForPythonAlone) {
  auto bash = hotcell({"run", "--rich", "--language", "bash", "-c", "echo 1"});
  EXPECT_EQ(bash.code, 125);
  EXPECT_EQ(bash.err, "hotcell: rich results: bash programs have text only; python has more\n");
  auto program = hotcell({"run", "--rich", "--", "true"});
  EXPECT_EQ(program.code, 125);
  EXPECT_EQ(program.err, "hotcell: --rich goes with a Python FILE or --language python -c CODE\n");
  EXPECT_EQ(hotcell({"run", "--rich", "--profile", "strict", "--language", "python", "-c", "1"}).code, 125);
}

TEST_F(Rich, WithoutNamespacesToo) {
  auto called = run("1 + 1", {"--backend", "landlock", "--json"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(output(Json(called.out), "value.txt"), "2");
}

}  // namespace
}  // namespace hotcell::testing
