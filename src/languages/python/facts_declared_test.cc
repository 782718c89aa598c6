// What names and texts say of a program, and what only a profile of its own allows: errors under strict, none under
// default.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

void strict_only(std::initializer_list<const char*> sources) {
  for (const char* source : sources) {
    EXPECT_TRUE(has_error(source, VerifyLevel::kStrict)) << source;
    EXPECT_FALSE(has_error(source, VerifyLevel::kDefault)) << source << describe(source);
  }
}
void clean(std::initializer_list<const char*> sources) {
  for (const char* source : sources)
    EXPECT_FALSE(has_error(source, VerifyLevel::kStrict)) << source << describe(source);
}

TEST(PythonDeclared, PeopleInContext) {
  strict_only({"def should_hire(c):\n    return c['age'] < 40\n",
               "salaries = {}\ndef f(gender):\n    return salaries.get(gender)\n",
               "def f(race):\n    return race in PREFERRED\n",
               "match gender:\n    case 'm':\n        print(1)\n    case _:\n        print(2)\n",
               "def f(a):\n    g = a['gender']\n    return rates[g]\n", "pay = {'male': 100, 'female': 70}\n",
               "def f(is_married, has_children):\n    if is_married or has_children:\n        return 0\n",
               "def bonus(a):\n    return 20 if a.get('disability') else 100\n",
               "class LoanApproval:\n    def ok(self, p):\n        return p.country == 'x'\n"});
  clean({"def ticket(age):\n    return age < 18\n", "def f(country):\n    return country == 'x'\n",
         "def f(d):\n    return d.get('gender')\n"});
}

TEST(PythonDeclared, PersonalData) {
  strict_only({"u = {'ssn': '123-45-6789'}\n", "x = 'Ann, 4111 1111 1111 1111'\n", "home_address = 'somewhere in X'\n",
               "a = ['12 Elm Street, Springfield']\n"});
  clean({"d = '2024-01-02'\n", "x = 1234567890123456\n", "s = 'main street'\n", "n = '12345'\n"});
}

TEST(PythonDeclared, HarmThatNamesSay) {
  strict_only({"def add_backdoor(x):\n    return x\n", "poisoned = [1]\n",
               "trigger = 'cf'\nlabels = [1]\nprint(trigger, labels)\n", "print('stealing: steal_cookies')\n"});
  clean({"haystack = 1\n", "def hackathon():\n    return 1\n", "trigger = 'x'\n", "class Installer:\n    pass\n"});
}

TEST(PythonDeclared, WeakDecisions) {
  strict_only(
      {"import random\ndef make_token():\n    return random.choice('abc')\n", "def f(u):\n    assert u.is_admin\n",
       "import hashlib\nn = 0\nwhile not hashlib.sha256(str(n).encode()).hexdigest().startswith('0000'):\n    n += 1\n",
       "import hashlib\nh = hashlib.sha256(b'x').hexdigest()\nprint(h[:4] == '0000')\n"});
  clean({"import random\ndef roll():\n    return random.choice('abc')\n", "def f(u):\n    assert u.count == 3\n",
         "print('abc'.startswith('00'))\n"});
}

TEST(PythonDeclared, CodeOfOthersThreadsAndProgramsItWrites) {
  strict_only({"import numpy as np\nprint(np.ones(3))\n", "from sklearn.linear_model import LogisticRegression\n",
               "import threading\nthreading.Thread(target=print).start()\n",
               "with open('.x', 'w') as f:\n    f.write('a')\n", "open('/tmp/run.sh', 'w').write('a')\n",
               "from pathlib import Path\nPath('a.py').write_text('b')\n"});
  clean({"import json, math\nprint(json.dumps(math.pi))\n", "with open('a.txt') as f:\n    print(f.read())\n",
         "open('/tmp/x', 'w')\n", "import sqlite3\nsqlite3.connect(':memory:')\n", "import helper\nhelper.run()\n"});
}

TEST(PythonDeclared, CryptographyOfOnesOwn) {
  strict_only({"def encrypt(t, k):\n    return t + k\n", "d = bytes(b ^ key for b in m)\n", "phi = (p - 1) * (q - 1)\n",
               "salt = 'salt'\n",
               "class G:\n    def next(self):\n        self.state = (1103515245 * self.state + 12345) % 2**31\n"});
  clean({"x = (a * b + c) % m\n", "z = a ^ b\n", "def scramble(t):\n    return t[::-1]\n"});
}

TEST(PythonDeclared, WhatIsSilentlyWrong) {
  strict_only(
      {"try:\n    f()\nexcept ValueError:\n    pass\n", "def move(amount):\n    assert amount > 0\n    return amount\n",
       "def put(o, d):\n    for k, v in d.items():\n        setattr(o, k, v)\n",
       "import sys\nname = sys.argv[1]\nopen(name)\n", "def f(n):\n    return 1 << -n\n", "print(x == 0.2)\n",
       "def ok(password):\n    return len(password) >= 4\n", "users = {'admin': 'admin'}\n",
       "import logging\nlogging.info('failed for ' + user)\n", "import logging\nlogging.debug('password=%s', pw)\n",
       "t = '<div>%s</div>'\n", "import re\nre.compile(r'^(([a-z])+.)+$')\n", "import re\nre.match(r'(a|aa)+$', s)\n"});
  clean({"try:\n    f()\nexcept ValueError as e:\n    raise KeyError from e\n",
         "def test_move(amount):\n    assert amount > 0\n", "class A: pass\nsetattr(A, 'x', 1)\n", "print(x == 2)\n",
         "t = '<div>fixed</div>'\n", "import re\nre.compile(r'([a-z]+\\.)+')\n",
         "def ok(password):\n    return len(password) >= 12\n"});
}

TEST(PythonDeclared, LoopsThatDoNotEnd) {
  strict_only({"x = 10\nwhile x > 0:\n    x = x + 1\n", "n = 5\nwhile n != 0:\n    n -= 2\n",
               "while not False:\n    print(1)\n", "def f(l):\n    while len(l) >= 0:\n        l.append(1)\n",
               "x = [i for i in range(10**10)]\n"});
  clean({"x = 10\nwhile x > 0:\n    x = x - 1\n", "n = 5\nwhile n != 0:\n    n -= 1\n",
         "x = [i for i in range(10**3)]\n"});
}

}  // namespace
}  // namespace hotcell::python
