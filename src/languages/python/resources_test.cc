// What takes everything or never ends, what changes the surroundings, and what looks like it but does not.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

struct Case {
  const char* name;
  const char* code;
};

const Case kRisky[] = {
    {"a condition nothing changes", "i = 0\nwhile i < 10:\n    print(i)\n"},
    {"a condition that moves away", "i = 1\nwhile i > 0:\n    i += 1\n"},
    {"recursion without a condition", "def f(n):\n    return f(n + 1)\nf(0)\n"},
    {"count", "import itertools\nfor i in itertools.count():\n    print(i)\n"},
    {"a list of a million million", "x = [0] * (10 ** 12)\n"},
    {"a text of a hundred thousand million", "x = 10**11 * 'a'\n"},
    {"turns without number", "for i in range(10**10):\n    open(f'{i}', 'w')\n"},
    {"two locks in two orders",
     "import threading\na = threading.Lock()\nb = threading.Lock()\ndef f():\n    with a:\n        with b: pass\n"
     "def g():\n    with b:\n        with a: pass\n"},
    {"PATH changed", "import os\nos.environ['PATH'] = '/tmp/x:' + os.environ['PATH']\n"},
    {"HOME taken away", "import os\ndel os.environ['HOME']\n"},
    {"variables put in", "import os\nos.environ.update({'A': 'b'})\n"},
    {"every variable", "import os\nfor k, v in os.environ.items(): print(k, v)\n"},
    {"a secret of the environment", "import os\nprint(os.getenv('AWS_SECRET_ACCESS_KEY'))\n"},
    {"a short RSA key", "from Crypto.PublicKey import RSA\nRSA.generate(512)\n"},
    {"a short RSA key by keyword",
     "from cryptography.hazmat.primitives.asymmetric import rsa\n"
     "rsa.generate_private_key(public_exponent=3, key_size=1024)\n"},
    {"hmac with md5", "import hmac\nhmac.new(b'k', b'm', 'md5')\n"},
    {"a token by random",
     "import random\ntoken = ''.join(random.choice('0123456789abcdef') for _ in range(32))\nprint(token)\n"},
    {"a secret in the source", "api_key = 'q9w8e7r6t5y4u3i2o1'\nprint(api_key)\n"},
    {"modules from elsewhere", "import sys\nsys.path.insert(0, '/tmp/x')\nimport x\n"},
    {"cookies of the browser", "import browser_cookie3\nbrowser_cookie3.chrome()\n"},
};

const Case kHostile[] = {
    {"members of a module", "import os, inspect\ndict(inspect.getmembers(os))['system']('id')\n"},
    {"shell by two stars", "import subprocess\nkw = {'shell': True}\nsubprocess.call('id', **kw)\n"},
    {"setup of timeit", "from timeit import repeat\nrepeat(setup=\"import os; os.system('id')\", number=1)\n"},
    {"dunders for pandas", "import pandas as pd\npd.eval(\"@__import__('os').system('id')\", engine='python')\n"},
    {"a template that walks", "from jinja2 import Template\nTemplate(\"{{ ''.__class__.__mro__ }}\").render()\n"},
    {"the engine's socket", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/var/run/docker.sock')\n"},
    {"pip", "import pip\npip.main(['install', 'x'])\n"},
    {"the browser is a shell", "import os\nos.environ['BROWSER'] = '/bin/sh -c id #%s'\nimport antigravity\n"},
};

const Case kQuiet[] = {
    {"loops that end",
     "i = 0\nwhile i < 9:\n    i += 1\nj = 9\nwhile j > 0:\n    j -= 1\nlo, hi = 0, 9\nwhile lo < hi:\n"
     "    mid = (lo + hi) // 2\n    if mid < 5:\n        lo = mid + 1\n    else:\n        hi = mid\n"},
    {"a loop another function ends",
     "running = 1\ndef stop():\n    global running\n    running = 0\nwhile running == 1:\n    stop()\n"},
    {"recursion that ends",
     "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\ndef walk(t):\n    if t is None: return\n    "
     "walk(t[0])\n"
     "def both(n):\n    return n and both(n - 1)\n"},
    {"count with an end",
     "import itertools\nfor n in itertools.count(1):\n    if n > 3: break\ndef primes():\n"
     "    for n in itertools.count(3, 2):\n        yield n\n"},
    {"lists of a size",
     "INF = 10**18\ndp = [0] * 1000001\ngrid = [[0] * 1000 for _ in range(1000)]\nline = '-' * 80\n"},
    {"two locks in one order",
     "import threading\na = threading.Lock()\nb = threading.Lock()\ndef f():\n    with a:\n        with b: pass\n"
     "def g():\n    with a, b: pass\ndef h():\n    with b: pass\n"},
    {"words that are no secrets",
     "token = None\npassword_field = 'password'\nnext_token = tokens = ['a']\ntoken_pattern = r'\\s*(\\d+)|[a-z]+x'\n"},
    {"asking for a type",
     "import types\nfrom types import FunctionType\nf = len\nprint(isinstance(f, types.FunctionType), "
     "isinstance(f, (int, FunctionType)), type(f) is types.LambdaType)\n"},
};

TEST(PythonResources, StrictRefusesWhatTakesEverythingOrChangesTheSurroundings) {
  for (const Case& c : kRisky) {
    EXPECT_TRUE(has_error(c.code, VerifyLevel::kStrict)) << c.name << "\n" << describe(c.code);
    EXPECT_FALSE(has_error(c.code, VerifyLevel::kDefault)) << c.name << "\n" << describe(c.code);
  }
}

TEST(PythonResources, HostileUnderBothLevels) {
  for (const Case& c : kHostile)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_TRUE(has_error(c.code, level)) << c.name << "\n" << describe(c.code);
}

TEST(PythonResources, OrdinaryLoopsLocksAndNamesAreQuietEvenUnderStrict) {
  for (const Case& c : kQuiet)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_FALSE(has_error(c.code, level)) << c.name << "\n" << describe(c.code);
}

TEST(PythonResources, BackticksAreNoStrings) { EXPECT_TRUE(has_error("x = `1`\n", VerifyLevel::kDefault)); }

}  // namespace
}  // namespace hotcell::python
