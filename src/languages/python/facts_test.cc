// What the analyser resolves, and that hostile input costs no more than it should.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "languages/python/facts_tree.h"
#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

constexpr auto kUse = FactKind::kUse;
constexpr auto kImport = FactKind::kImport;
constexpr auto kConstruct = FactKind::kConstruct;

TEST(PythonFacts, AliasesMeanWhatTheyStandFor) {
  EXPECT_TRUE(has_fact(facts_of("import os as o\no.system('x')"), kUse, "os.system", "call"));
  EXPECT_TRUE(has_fact(facts_of("import os.path as p\np.join('a', 'b')"), kUse, "os.path.join", "call"));
  EXPECT_TRUE(has_fact(facts_of("from os import system as s\ns('x')"), kUse, "os.system", "call"));
  EXPECT_TRUE(has_fact(facts_of("import pandas as pd\npd.read_pickle('x')"), kUse, "pandas.read_pickle", "call"));
  EXPECT_TRUE(has_fact(facts_of("from os import *\nsystem('x')"), kUse, "os.system", "call"));
}

TEST(PythonFacts, TextsRunAsCodeSeeTheNamesAroundThem) {
  for (const char* code : {
           "import os\nexec(\"os.system('id')\")",
           "import os as o\nexec(\"o.system('id')\")",
           "from os import system as q\neval(\"q('id')\")",
           "import os\nx = os\nexec(\"x.system('id')\")",
           "import os\nexec('exec(\"os.system(1)\")')",
           "exec('import os')\nos.system('id')",
           "exec('import os as q')\ndef f():\n  q.system('id')",
           "import timeit\ntimeit.timeit('os.system(1)', 'import os', number=1)",
           "import timeit\ntimeit.timeit(stmt='os.system(1)', setup='import os')",
           "import timeit, os\ntimeit.timeit('os.system(1)', globals=globals(), number=1)",
           "import profile\nprofile.runctx('import os;os.system(1)', {}, {})",
           "import profile\nprofile.run('import os;os.system(1)')",
           "import cProfile, os\ncProfile.run('os.system(1)')",
           "import profile\nprofile.Profile().run('import os;os.system(1)')",
       }) {
    auto facts = facts_of(code);
    EXPECT_TRUE(has_fact(facts, kUse, "os.system", "call")) << code;
    for (const Fact& f : facts) EXPECT_LE(f.end, std::string_view(code).size()) << code;
  }
  // What is around is not run again.
  auto facts = facts_of("import subprocess\nimport os\nexec(\"print(os.getcwd())\")");
  int imports = 0;
  for (const Fact& f : facts) imports += f.kind == kImport ? 1 : 0;
  EXPECT_EQ(imports, 2);
}

TEST(PythonFacts, PlainCallsHaveTheirName) {
  for (const char* code : {"baz()", "from lib import baz\nbaz()", "from lib import *\nbaz()", "def baz(): pass\nbaz()",
                           "from lib import baz as q\nq(1)"})
    EXPECT_TRUE(has_fact(facts_of(code), kConstruct, "call:baz")) << code;
  EXPECT_FALSE(has_fact(facts_of("eval(x)"), kConstruct, "call:eval")) << "a use of builtins.eval";
}

bool unreadable(const std::string& code) {
  for (const Fact& f : facts_of(code))
    if (f.kind == FactKind::kUnreadable) return true;
  return false;
}

TEST(PythonWhole, WhatPythonDoesNotTakeIsUnreadable) {
  for (const char* code : {"  print(1)", "\n# x\n\tx = 1\n", "print \"hello\"\n", "x = 08\n", "x = 0777\n", "return 1\n",
                           "class A:\n  return 1\n", "exec 'x'\n",
                           // Lines that do not stand under each other, blocks with nothing in them.
                           "def f():\nprint(1)\n", "x = 1\n    y = 2\n", "if 1:\n    x = 1\n  y = 2\n", "class A:\n\nx = 1\n",
                           "if 1:\n    # nothing\nx = 1\n", "if 1:\n  x = 1\n   # so\n   y = 2\n", "if 1:\n\tx = 1\n        y = 2\n",
                           "for a in b:\n  x\nelse:\ny\n", "match x:\n  case 1:\n  y\n",
                           "if 1:\n    x\n  else:\n    y\n", "if 1:\n        if 2:\n\tx\n", "try:\n  x\n except A:\n  y\n", "try:\n  x\ny\n", "@a\n  def f():\n    x\n"})
    EXPECT_TRUE(unreadable(code)) << code;
  for (const char* code :
       {"print(1)", "\n  # x\nx = 1\n", "\f\nx = 1\n", "\fx = 1\n", "print >>f, x\n", "print -1\n", "print (1), 2\n",
        "x = 0\ny = 00\nz = 0_0\nj = 08j\nf = 08.5\ne = 09e1\nh = 0x08\n", "def f():\n  return 1\n", "print\n",
        "async def f():\n  return 1\n", "exec('x')\n", "print if x else y\n", "\"\"\"\n  x\n\"\"\"\n",
        "if 1:\n  x = 1; y = 2\n  z = 3\n", "if 1: x = 1; y = 2\nz = 3\n", "if 1:\n\tx\n\ty\n", "if 1:\n  x\n# c\n    # d\n  y\n",
        "if 1:\n \f  x\n  y\n", "x = 1\\\n    + 2\ny = (1,\n   2)\n", "if 1:\r\n  x\r\n  y\r\n", "match x:\n  case 1:\n    y\n  case _: z\n",
        "@a\n@b\ndef f():\n  x\n\n\n  y\n", "try:\n x\nexcept: y\nelse:\n   z\n   w\nfinally:\n v\n", "try:\n x\nfinally:\n y\n",
        "try:\n x\nexcept* A:\n y\n"})
    EXPECT_FALSE(unreadable(code)) << code;
}

// Each list is made of the one before it: found once, not once for every turn.
TEST(PythonWhole, ListsMadeOfListsAreNotTooEntangled) {
  std::string code = "x0 = [1, 2, 3]\n";
  for (int i = 1; i < 40; ++i)
    code += "x" + std::to_string(i) + " = [g(x" + std::to_string(i - 1) + ", y) for y in [1, 2, 3]]\n";
  EXPECT_FALSE(unreadable(code + "print(x39)\n"));
  // Values that names far away stand for are still found in each turn.
  EXPECT_TRUE(has_fact(facts_of("k = 1\neval(''.join([chr(c + k) for c in [110, 114]]) + '.system(1)')\nimport os\n"),
                       FactKind::kUse, "os.system"));
}

// Small files of the standard library stand for all: whatever CPython parses is readable.
TEST(PythonWhole, TheStandardLibraryIsReadable) {
  const std::filesystem::path folder = "/usr/lib/python3.11";
  if (!std::filesystem::exists(folder)) return;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".py" || entry.file_size() > 16'000) continue;
    ++count;
    EXPECT_FALSE(unreadable(read_text(entry.path()))) << entry.path();
  }
  EXPECT_GT(count, 30);
}

TEST(PythonFacts, ReferencesCount) {
  EXPECT_TRUE(has_fact(facts_of("import os\nlist(map(os.system, x))"), kUse, "os.system", "reference"));
  EXPECT_TRUE(has_fact(facts_of("import os\n@os.system\ndef f(): pass"), kUse, "os.system", "reference"));
  EXPECT_TRUE(has_fact(facts_of("import os\ndef f(x=os.system): pass"), kUse, "os.system", "reference"));
}

TEST(PythonFacts, ModulesThroughModules) {
  auto facts = facts_of("from typing import sys");
  EXPECT_TRUE(has_fact(facts, kImport, "sys"));
  EXPECT_TRUE(has_fact(facts, kConstruct, "module-through-module", "typing.sys"));
  EXPECT_TRUE(has_fact(facts_of("import random\nrandom._os.system('x')"), kUse, "os.system", "call"));
  EXPECT_TRUE(
      has_fact(facts_of("import typing\nmatch typing:\n  case object(sys=s): s.exit()"), kUse, "sys.exit", "call"));
  EXPECT_FALSE(has_fact(facts_of("from scipy import io, signal\nimport os.path"), kConstruct, "module-through-module"));
}

TEST(PythonFacts, TextsAreFolded) {
  for (const char* name : {"'o' + 's'",
                           "f'{\"o\"}s'",
                           "''.join(['o', 's'])",
                           "'%ss' % 'o'",
                           "'{}s'.format('o')",
                           "chr(111) + chr(115)",
                           "bytes([111, 115]).decode()",
                           "bytes.fromhex('6f73').decode()",
                           "'so'[::-1]",
                           "'xos'[1:]",
                           "'OS'.lower()",
                           "'o-s'.replace('-', '')",
                           "''.join(map(chr, [111, 115]))",
                           "''.join(chr(c) for c in (111, 115))",
                           "''.join([chr(c - 1) for c in [112, 116]])",
                           "'o' 's'",
                           "'\\x6fs'",
                           "('a', 'os')[1]",
                           "{'k': 'os'}['k']",
                           "str(b'os', 'utf-8')",
                           "''.join(reversed('so'))",
                           "'oxs'.split('x')[0] + 's'"})
    EXPECT_TRUE(has_fact(facts_of(cat("__import__(", name, ").system('x')")), kUse, "os.system", "call")) << name;
  EXPECT_TRUE(has_fact(facts_of("import base64 as b\n__import__(b.b64decode(b'b3M=').decode())"), kImport, "os"));
  EXPECT_TRUE(has_fact(facts_of("import codecs\n__import__(codecs.decode('bf', 'rot13'))"), kImport, "os"));
}

TEST(PythonFacts, WhatIsNotConstantIsSaidToBeDynamic) {
  EXPECT_TRUE(has_fact(facts_of("n = 'o'\nn += input()\n__import__(n)"), kConstruct, "dynamic-import"));
  EXPECT_TRUE(has_fact(facts_of("import os\ngetattr(os, x)"), kConstruct, "dynamic-attribute", "os"));
  EXPECT_TRUE(has_fact(facts_of("exec(x)"), kConstruct, "dynamic-code", "exec"));
  EXPECT_FALSE(has_fact(facts_of("class A: v = 1\ngetattr(A(), 'v')"), kConstruct, "dynamic-attribute"));
}

TEST(PythonFacts, CodeInTextsIsRead) {
  auto facts = facts_of("\n\nexec('import os\\nos.system(\"x\")')");
  ASSERT_TRUE(has_fact(facts, kUse, "os.system", "call"));
  for (const Fact& f : facts) EXPECT_EQ(f.begin, 2u) << f.name;
  EXPECT_TRUE(has_fact(facts_of("eval(\"eval('exec(\\\"import pty\\\")')\")"), kImport, "pty"));
}

TEST(PythonFacts, Paths) {
  EXPECT_TRUE(has_fact(facts_of("open('/etc//x/../shadow')"), FactKind::kReadPath, "/etc/shadow"));
  EXPECT_TRUE(has_fact(facts_of("open('/etc/x', 'a')"), FactKind::kWritePath, "/etc/x"));
  EXPECT_TRUE(has_fact(facts_of("open('/etc/x', mode='w')"), FactKind::kWritePath, "/etc/x"));
  EXPECT_TRUE(has_fact(facts_of("from pathlib import Path\n(Path('/etc') / 'x').write_text('')"), FactKind::kWritePath,
                       "/etc/x"));
  EXPECT_TRUE(has_fact(facts_of("import os\nopen(os.path.join('/srv', 'x'))"), FactKind::kReadPath, "/srv/x"));
  EXPECT_TRUE(has_fact(facts_of("import os\nopen(os.path.expanduser('~/.ssh/id'))"), FactKind::kReadPath, "~/.ssh/id"));
  EXPECT_TRUE(has_fact(facts_of("open(f'/proc/{p}/environ')"), FactKind::kReadPath, "/proc/"));
  EXPECT_TRUE(has_fact(facts_of("import shutil\nshutil.copy('/a/b', '/c/d')"), FactKind::kReadPath, "/a/b"));
  EXPECT_TRUE(has_fact(facts_of("import shutil\nshutil.copy('/a/b', '/c/d')"), FactKind::kWritePath, "/c/d"));
  EXPECT_TRUE(has_fact(facts_of("def f(p):\n  open(p)\nf('/a/b')"), FactKind::kReadPath, "/a/b"));
  EXPECT_FALSE(has_fact(facts_of("open('x.txt')"), FactKind::kReadPath, "x.txt"));
}

TEST(PythonFacts, HostsAndCommands) {
  EXPECT_TRUE(
      has_fact(facts_of("import requests\nu = 'http://a.b/c'\nrequests.get(u)"), FactKind::kHost, "http://a.b/c"));
  EXPECT_TRUE(has_fact(facts_of("import socket\ns = socket.socket()\ns.connect(('a.b', 1))"), FactKind::kHost, "a.b"));
  EXPECT_TRUE(
      has_fact(facts_of("import subprocess\nsubprocess.run(['rm', '-rf', x])"), FactKind::kCommand, "rm", "rm -rf ?"));
  EXPECT_TRUE(has_fact(facts_of("import os\nos.system('ls   -l')"), FactKind::kCommand, "ls", "ls -l"));
  EXPECT_TRUE(
      has_fact(facts_of("from subprocess import run\nrun('x', shell=True)"), kUse, "subprocess.run", "shell=True"));
}

TEST(PythonFacts, IdentifiersAreNormalised) {
  EXPECT_EQ(normalise_identifier("\xef\xbd\x93ystem"), "system");
  EXPECT_EQ(normalise_identifier("__\xef\xbd\x89\xef\xbd\x8d\xef\xbd\x90ort__"), "__import__");
  EXPECT_EQ(normalise_identifier("\xe2\x84\xaf\xf0\x9d\x93\x8b\xc2\xaa\xe2\x84\x93"), "eval");
  EXPECT_EQ(normalise_identifier("\xef\xac\x81le"), "file");
  EXPECT_EQ(normalise_identifier("gr\xc3\xb6\xc3\x9f"
                                 "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
}

TEST(PythonFacts, CommentsAndTextsAreNotCode) {
  EXPECT_TRUE(facts_of("# import os; eval(x)\n'''os.system(1)'''\nprint('eval(x)')").empty());
}

TEST(PythonFacts, OrdinaryDundersAreNotWalks) {
  for (const char* code :
       {"if __name__ == '__main__': pass", "class A:\n  def __init__(self): super().__init__()", "x.__class__.__name__",
        "print(__file__, __doc__)", "f.__name__", "len.__doc__", "a.__len__()"})
    EXPECT_FALSE(has_fact(facts_of(code), kConstruct, "dunder-walk")) << code;
}

// Each of these once was a way to make an analyser recurse, double its work or its memory.
TEST(PythonFacts, HostileInputIsBounded) {
#ifdef HOTCELL_SANITIZED
  constexpr auto kBound = std::chrono::seconds(120);  // unoptimised, every access checked
#else
  constexpr auto kBound = std::chrono::seconds(10);
#endif
  auto repeat = [](std::string_view s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  std::string chain, wide;
  for (int i = 0; i < 3000; ++i) chain += cat("a", i, " = a", i + 1, " + a", i + 1, "\n");
  for (int i = 0; i < 3000; ++i)
    wide += cat("f = f.g(f, f)\nx", i % 7, " = [x", (i + 1) % 7, ", x", (i + 3) % 7, "]\n");
  std::string doubling = "s = 'aaaaaaaaaaaaaaaa'\n";
  for (int i = 0; i < 60; ++i) doubling += cat("s", i, " = ", i == 0 ? "s" : cat("s", i - 1), " * 2\n");
  std::string sources[] = {
      cat("x = ", repeat("(", 3000), "1", repeat(")", 3000)),
      cat("x = ", repeat("f(", 3000), "1", repeat(")", 3000)),
      cat("x = a", repeat(".b()", 20000)),
      cat("x = 'a'", repeat(" + 'a'", 20000)),
      cat("x = ", repeat("[", 3000), repeat("]", 3000)),
      repeat("while True:\n", 1),
      chain + "__import__(a0)",
      wide + "__import__(x0)",
      doubling + "__import__(s59)",
      cat("match x:\n  case ", repeat("A(b=", 500), "c", repeat(")", 500), ": pass"),
      repeat("def f(): return f()\n", 2000) + "f()",
      cat("eval(", repeat("'\\\\x41'", 5000), ")"),
      "import\nfrom\nfrom . import\nclass\ndef (\n@\n",
      std::string("\xff\xfe\x00\x01", 4),
      cat("x = ''.join(", repeat("[y for y in ", 200), "'ab'", repeat("]", 200), ")"),
      "'a' * 10**18",
      "'%' % 1",
      "'{'.format(1)",
      "''[::0]",
      "`c}i><h){H)B.`%",  // a string without a quote of either kind
  };
  for (const std::string& source : sources) {
    auto tree = parse_source(Grammar::kPython, source);
    if (!tree.ok()) continue;
    auto begin = std::chrono::steady_clock::now();
    python_facts(tree.value());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kBound) << source.substr(0, 60);
  }
}

}  // namespace
}  // namespace hotcell::python
