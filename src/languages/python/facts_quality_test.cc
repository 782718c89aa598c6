// Weaknesses in what a program decides: errors under strict, none under default.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

void expect_strict_only(std::initializer_list<const char*> sources) {
  for (const char* source : sources) {
    EXPECT_TRUE(has_error(source, VerifyLevel::kStrict)) << source;
    EXPECT_FALSE(has_error(source, VerifyLevel::kDefault)) << source;
  }
}
void expect_clean(std::initializer_list<const char*> sources) {
  for (const char* source : sources)
    EXPECT_FALSE(has_error(source, VerifyLevel::kStrict)) << source << describe(source);
}

TEST(PythonQuality, PeopleAreNotJudgedByWhatTheyAre) {
  expect_strict_only({"def hire(c):\n    return 0 if c['gender'] == 'female' else 1\n",
                      "def f(p):\n    if p.religion != 'x':\n        return 1\n",
                      "rates = {'a': 1}\nprint(rates[p['ethnicity']])\n",
                      "def g(race):\n    return race.lower() in ('a', 'b')\n"});
  expect_clean({"def f(p):\n    return p['colour'] == 'red'\n", "gender = 'x'\nprint(gender)\n",
                "def f(race):\n    return race.finished == 3\n"});
}

TEST(PythonQuality, SecretsInComparisonsAndTables) {
  expect_strict_only({"def f(password):\n    return password == 'Mew!9'\n",
                      "c = {'user': 'a', 'password': 'admin123'}\n", "db_password = 'admin123'\n",
                      "password = input()\nprint(password)\n", "import logging\nlogging.info('%s', user['ssn'])\n"});
  expect_clean(
      {"def f(password):\n    return password == ''\n", "print('password')\n", "def f(a):\n    return len(a) == 3\n"});
}

TEST(PythonQuality, AMatchWithoutADefault) {
  expect_strict_only({"match c:\n    case 'a':\n        print(1)\n    case 'b':\n        print(2)\n"});
  expect_clean({"match c:\n    case 'a':\n        print(1)\n    case _:\n        print(2)\n",
                "match c:\n    case 1:\n        print(1)\n    case other:\n        print(other)\n"});
}

TEST(PythonQuality, PatternsThatTakeForeverOrForgetTheEnd) {
  expect_strict_only({"import re\nre.match(r'^(a+)+$', s)\n", "import re\nre.compile(r'([a-z0-9]+)*@x')\n",
                      "import re\nre.search(r'(?:x+x+)+y', s)\n",
                      "import re\ndef is_valid_ip(s):\n    return re.match(r'\\d+\\.\\d+', s)\n"});
  expect_clean({"import re\nre.match(r'(\\w+\\s)+', s)\n", "import re\nre.match(r'\\d+(?:\\.\\d+)*', s)\n",
                "import re\ndef is_valid(s):\n    return re.match(r'\\d+$', s)\n",
                "import re\nre.findall(r'[a-z]+', s)\n", "import re\nre.match(r'(', s)\n",
                "import re\nre.match(r'[', s)\n"});
}

TEST(PythonQuality, ChecksMarkupAndXml) {
  expect_strict_only({"def f(n):\n    return n not in blacklist\n", "def f(s):\n    return s.replace('<script>', '')\n",
                      "def f(c):\n    return f'<div>{c}</div>'\n",
                      "import xml.etree.ElementTree as ET\nET.fromstring(s)\n",
                      "x = '<!DOCTYPE a [<!ENTITY b SYSTEM \"c\">]>'\n", "def f():\n    raisePrivileges()\n"});
  expect_clean({"def f(n):\n    return n in allowed\n", "def f(s):\n    return s.replace('a', 'b')\n",
                "x = '<div>fixed text</div>'\n", "def f(a, b):\n    return a < b\n"});
}

TEST(PythonQuality, WhatIsTooLargeOrNeverEnds) {
  expect_strict_only({"import numpy as np\na = np.zeros((100000, 100000, 100))\n", "import time\ntime.sleep(10**9)\n",
                      "n = 1\nwhile n != 0:\n    n += 1\n"});
  expect_clean({"import grid\na = grid.zeros((100, 100))\n", "import time\ntime.sleep(1)\n", "b = bytearray(1024)\n"});
}

TEST(PythonQuality, ALongChainIsNotFollowedToItsEnd) {
  std::string chain = "x[a";
  for (int i = 0; i < 50000; ++i) chain += ".lower()";
  EXPECT_FALSE(has_fact(facts_of(chain + "]\n"), FactKind::kConstruct, "judged-by"));
}

// Half-written sources have calls without arguments and comparisons without a side.
TEST(PythonQuality, BrokenSourcesAreNoCrash) {
  for (const char* source : {"if os.f() != 0: pass", "x[", "print(", "a ==", "match x:\n    case", "f() in",
                             "{'password': }", "d.get() == 'x'", "re.match()"})
    facts_of(source);
}

}  // namespace
}  // namespace hotcell::python
