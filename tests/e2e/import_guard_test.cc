// The layer inside Python: imports that a profile does not list are refused at run time, too, with the fix.
// Verification is off in these, since it would have refused most of them before.
#include <gtest/gtest.h>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class ImportGuard : public E2e {
 protected:
  Called run(const std::string& code, const std::string& profile = "minimal", bool json = true) {
    std::vector<std::string> args = {"run", "--no-verify", "--profile", profile, "--language", "python", "-c", code};
    if (json) args.insert(args.begin() + 1, "--json");
    return hotcell(std::move(args));
  }
  std::string profile(const std::string& text) {
    std::string path = dir_.path() + "/mine.yaml";
    write_text(path, text);
    return path;
  }
  static bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
  TempDir dir_;
};

TEST_F(ImportGuard, WhatIsNotListedIsRefusedWithTheFix) {
  auto called = run("import math\nimport ctypes\n");
  EXPECT_EQ(called.code, 1) << called.describe();
  Json json(called.out);
  EXPECT_TRUE(says(json.text("stderr"),
                   "ImportError: import of 'ctypes' is not allowed by profile minimal; add it to imports.additional"));
  ASSERT_EQ(json.size("denials"), 1u) << called.out;
  EXPECT_EQ(json.text("denials/0/layer"), "language");
  EXPECT_EQ(json.text("denials/0/name"), "ctypes");
  EXPECT_TRUE(says(json.text("denials/0/fix"), "additional: [ctypes]"));
  EXPECT_EQ(json.find_by_name("enforcement/layers", "language", "status"), "(missing)") << "it is no wall";
}

TEST_F(ImportGuard, HoweverItIsAskedFor) {
  for (std::string code :
       {"__import__('os')", "exec('import os')", "exec('import os', {})", "eval('__import__(\"os\")')",
        "from typing import sys", "from json import codecs", "f = lambda: __import__('so' + 'cket')\nf()",
        "g = {'__name__': 'json'}\nexec('import os', g)"})
    EXPECT_TRUE(says(Json(run(code).out).text("stderr"), "is not allowed by profile minimal")) << code;
  auto with_importlib = profile("extends: minimal\nname: mine\nimports: {additional: [importlib]}\n");
  for (std::string module : {"os", "ctypes"})
    EXPECT_TRUE(says(
        Json(run("import importlib\nimportlib.import_module('" + module + "')", with_importlib).out).text("stderr"),
        "import of '" + module + "' is not allowed by profile mine"))
        << module;
}

TEST_F(ImportGuard, LibrariesImportWhatTheyNeed) {
  auto called =
      run("import math, statistics, itertools, functools, re, datetime, collections, json, csv, string, textwrap, "
          "decimal, fractions, "
          "random, operator, typing\nprint(datetime.datetime.strptime('2020', '%Y').year, collections.namedtuple('A', "
          "'b')(1), "
          "json.dumps({'a': 1}), random.Random(1).randint(1, 1), typing.get_type_hints(object))\n");
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "2020 A(b=1) {\"a\": 1} 1 {}\n");
  EXPECT_EQ(json.size("denials"), 0u) << called.out;
}

TEST_F(ImportGuard, LinesAreTheProgramsOwnAndFutureImportsWork) {
  auto called = run("from __future__ import annotations\ndef f(x: NoSuch): return x\nf(1)\n1 / 0\n", "minimal", false);
  EXPECT_TRUE(says(called.err, "File \"/work/main.py\", line 4, in <module>\n    1 / 0\n")) << called.err;
  EXPECT_FALSE(says(called.err, "sitecustomize")) << called.err;
  auto seen = run("import json\nprint(__name__, __file__)\nraise SystemExit(42)");
  EXPECT_EQ(seen.code, 42);
  EXPECT_EQ(Json(seen.out).text("stdout"), "__main__ /work/main.py\n");
}

TEST_F(ImportGuard, NothingOfItIsLeftInTheFolder) {
  auto mine = profile("extends: minimal\nname: mine\nimports: {additional: [os, sys]}\n");
  auto called =
      run("import os, sys\nprint(os.listdir('/work'), 'PYTHONPATH' in os.environ, sys.path[0], any('.hotcell' in p for "
          "p in sys.path))",
          mine);
  EXPECT_EQ(Json(called.out).text("stdout"), "['main.py'] False /work False\n") << called.describe();
}

TEST_F(ImportGuard, ObserveOnlyReports) {
  auto mine = profile("extends: minimal\nname: mine\naudit: {mode: {imports: observe}}\n");
  auto called = run("import os\nprint(os.getpid() > 0)", mine);
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "True\n");
  ASSERT_EQ(json.size("denials"), 1u);
  EXPECT_TRUE(says(json.text("denials/0/what"), "only observed"));
}

TEST_F(ImportGuard, ABlocklistedNameIsGoneForTheProgramAlone) {
  auto mine = profile(
      "extends: minimal\nname: mine\nimports: {additional: [numpy]}\nblocklist: [[numpy, ctypeslib], [json, dumps]]\n");
  for (std::string code :
       {"import json as j\nj.dumps(1)", "from json import dumps", "import json\ngetattr(json, 'du' + 'mps')"})
    EXPECT_TRUE(says(Json(run(code, mine).out).text("stderr"),
                     "PermissionError: use of 'json.dumps' is not allowed by profile mine"))
        << code;
  for (std::string code : {"import numpy\nnumpy.ctypeslib", "import numpy\nfrom numpy.ctypeslib import load_library"})
    EXPECT_TRUE(
        says(Json(run(code, mine).out).text("stderr"), "use of 'numpy.ctypeslib' is not allowed by profile mine"))
        << code;
  auto called = run("import json\nprint(json.loads('[1]'))", mine);
  EXPECT_EQ(Json(called.out).text("stdout"), "[1]\n") << called.describe();
}

TEST_F(ImportGuard, ItIsNeverLeftOutInSilence) {
  auto called = hotcell({"run", "--no-verify", "--profile", "minimal", "--env", "PYTHONPATH=/tmp", "--language",
                         "python", "-c", "import os"});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_TRUE(says(called.err, "PYTHONPATH cannot be set under profile minimal")) << called.err;
  auto landlock = hotcell({"run", "--no-verify", "--backend", "landlock", "--profile", "minimal", "--language",
                           "python", "-c", "import os"});
  EXPECT_TRUE(says(landlock.err, "import of 'os' is not allowed")) << landlock.describe();
}

TEST_F(ImportGuard, GoesTogetherWithRichResults) {
  auto called = hotcell({"run", "--json", "--rich", "--no-verify", "--profile", "minimal", "--language", "python", "-c",
                         "import math\nmath.floor(2.5)"});
  EXPECT_EQ(Json(called.out).text("outputs/0/text"), "2") << called.describe();
  called = hotcell(
      {"run", "--json", "--rich", "--no-verify", "--profile", "minimal", "--language", "python", "-c", "import os\n1"});
  EXPECT_EQ(Json(called.out).text("denials/0/name"), "os") << called.describe();
}

}  // namespace
}  // namespace hotcell::testing
