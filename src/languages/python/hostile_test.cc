// One small program for each way out that is known: every one must be an error under both levels.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

struct Case {
  const char* name;
  const char* code;
};

const Case kHostile[] = {
    {"alias of a module", R"(import os as o
o.system('id'))"},
    {"alias of a function", R"(import os
run = os.system
run('id'))"},
    {"unpacked alias", R"(import os
f, g = os.system, 1
f('id'))"},
    {"walrus", R"(import os
(f := os.system)('id'))"},
    {"loop over functions", R"(import os
for f in [os.system]: f('id'))"},
    {"handed to map", R"(import os
list(map(os.system, ['id'])))"},
    {"default argument", R"(import os
def f(run=os.system): run('id')
f())"},
    {"star import", R"(from os import *
system('id'))"},
    {"re-exported sys", R"(from typing import sys
sys.modules['posix'].execv('/bin/sh', ['sh']))"},
    {"match class attribute capture", R"(import typing
match typing:
    case object(sys=s):
        s.modules['posix'].system('id'))"},
    {"codecs through json", R"(from json import codecs
print(codecs.open('/etc/hostname').read()))"},
    {"builtins through json.codecs", R"(import json
json.codecs.builtins.open('x'))"},
    {"builtins through re.enum", R"(import re
re.enum.bltns.eval('1'))"},
    {"os through random", R"(import random
random._os.system('id'))"},
    {"getattr with joined name", R"(import os
getattr(os, ''.join(['sys', 'tem']))('id'))"},
    {"getattr with reversed name", R"(import os
getattr(os, 'metsys'[::-1])('id'))"},
    {"getattr with formatted name", R"(import os
a = 'sys'
getattr(os, f'{a}tem')('id'))"},
    {"getattr with percent name", R"(import os
getattr(os, '%stem' % 'sys')('id'))"},
    {"getattr with computed name", R"(import os, sys
getattr(os, sys.argv[1])('id'))"},
    {"getattr through reduce", R"(import functools, random
functools.reduce(getattr, ['_os', 'system'], random)('id'))"},
    {"chr list", R"(__import__(''.join(chr(c) for c in [111, 115])).system('id'))"},
    {"chr by map", R"(__import__(''.join(map(chr, [111, 115]))).system('id'))"},
    {"xored letters", R"(__import__(''.join(chr(c ^ 1) for c in [110, 114])).system('id'))"},
    {"bytes list", R"(__import__(bytes([111, 115]).decode()).system('id'))"},
    {"base64 name", R"(import base64
__import__(base64.b64decode('b3M=').decode()).system('id'))"},
    {"rot13 name", R"(import codecs
__import__(codecs.decode('bf', 'rot13')).system('id'))"},
    {"replace and lower", R"(__import__('XOXSX'.replace('X', '').lower()).system('id'))"},
    {"importlib", R"(import importlib
importlib.import_module('sub' + 'process').run('id', shell=True))"},
    {"name from input", R"(import importlib
importlib.import_module(input()).system('id'))"},
    {"import by computed name", R"(name = open('x').read()
__import__(name))"},
    {"__import__ handed on", R"(list(map(__import__, open('names').read().split())))"},
    {"sys.modules", R"(import sys
sys.modules['os'].system('id'))"},
    {"sys.modules.get", R"(import sys
sys.modules.get('os').system('id'))"},
    {"dict of a module", R"(import os
os.__dict__['system']('id'))"},
    {"vars of a module", R"(import os
vars(os)['sys' + 'tem']('id'))"},
    {"bare __builtins__", R"(print(__builtins__))"},
    {"__builtins__ member", R"(__builtins__.open('/etc/shadow'))"},
    {"__builtins__ as dictionary", R"(__builtins__['ev' + 'al']('1'))"},
    {"globals to builtins", R"(globals()['__builtins__'])"},
    {"locals to builtins", R"(locals().get('__builtins__'))"},
    {"print.__self__", R"(print.__self__.eval('1+1'))"},
    {"eval of input", R"(eval(input()))"},
    {"exec of a file", R"(exec(open('payload.txt').read()))"},
    {"exec of a constant", R"(exec('import os\nos.system("id")'))"},
    {"eval in eval", R"(eval("eval('__import__(\"os\").system(\"id\")')"))"},
    {"compile and run", R"(exec(compile('import os; os.popen("id")', 'x', 'exec')))"},
    {"exec of decompressed", R"(import zlib, base64
exec(zlib.decompress(base64.b64decode('eJzLzC3ILypRyC8GABw9BIk='))))"},
    {"eval handed on", R"(f = [eval][0]
f('__import__("os").system("id")'))"},
    {"timeit runs text", R"(import timeit
timeit.timeit('__import__("os").system("id")', number=1))"},
    {"subclasses", R"(for c in object.__subclasses__(): print(c))"},
    {"class chain", R"([].__class__.__base__.__subclasses__())"},
    {"mro chain", R"(''.__class__.__mro__[1])"},
    {"function globals", R"(def f(): pass
print(f.__globals__))"},
    {"generator frame", R"(g = (x for x in [1])
print(g.gi_frame.f_back))"},
    {"traceback frame", R"(try: 1/0
except Exception as e: print(e.__traceback__.tb_frame.f_back.f_globals))"},
    {"attrgetter walk", R"(import operator
operator.attrgetter('__class__.__base__')(1))"},
    {"methodcaller walk", R"(import operator
operator.methodcaller('__subclasses__')(object))"},
    {"walk by computed names", R"(x = ()
for n in ['__class__', '__base__', '__subclasses__']:
    x = getattr(x, n))"},
    {"chr dunder", R"(d = chr(95) * 2
getattr((), d + 'globals' + d))"},
    {"bytes dunder", R"(getattr(len, b'__self__'.decode()))"},
    {"__getattribute__", R"(().__getattribute__('__cla' + 'ss__').__getattribute__(object, '__subclasses__'))"},
    {"metaclass walk", R"(type.__subclasses__(type)[0])"},
    {"format traversal", R"(print('{0.__class__.__init__.__globals__}'.format(x)))"},
    {"format traversal by key", R"(print('{x[__globals__]}'.format(x=x)))"},
    {"Formatter.get_field", R"(import string
string.Formatter().get_field('0.__class__', (1,), {}))"},
    {"get_type_hints", R"(import typing
class A: x: "__import__('os').system('id')"
typing.get_type_hints(A))"},
    {"get_type_hints through annotations", R"(from typing import get_type_hints
def f(): pass
f.__annotations__ = {'x': evil}
get_type_hints(f))"},
    {"ForwardRef", R"(from typing import ForwardRef
ForwardRef("__import__('os')")._evaluate({}, {}, frozenset()))"},
    {"__loader__", R"(print(__loader__.get_data('/etc/hostname')))"},
    {"__spec__.loader", R"(__spec__.loader.load_module('os').system('id'))"},
    {"decorator", R"(import os
@os.system
def f(): pass)"},
    {"class attribute", R"(import os
class A: run = os.popen
A.run('id'))"},
    {"kept in self", R"(import subprocess
class A:
    def __init__(self): self.m = subprocess
    def go(self): self.m.call('id', shell=True)
A().go())"},
    {"in a dictionary", R"(import os
{'a': os.system}['a']('id'))"},
    {"returned", R"(import os
def get(): return os
get().system('id'))"},
    {"through a parameter", R"(def load(name): return __import__(name)
load('os').system('id'))"},
    {"partial", R"(import functools, os
functools.partial(os.system, 'id')())"},
    {"fullwidth letters", "import os\nos.\xef\xbd\x93ystem('id')"},
    {"mathematical letters", "import os\nos.\xf0\x9d\x93\xbc\xf0\x9d\x94\x82stem('id')"},
    {"carriage return ends a comment", "# note\rimport os\nprint(1)"},
    {"encoding cookie", "# -*- coding: utf-7 -*-\nprint(1)\n"},
    {"encoding cookie in line two", "#!/usr/bin/python3\n# vim: set fileencoding=utf-16 :\nprint(1)\n"},
    {"ctypes", R"(import ctypes
ctypes.CDLL(None).system(b'id'))"},
    {"ctypes cdll", R"(from ctypes import cdll
cdll.LoadLibrary('libc.so.6').system(b'id'))"},
    {"posix", R"(from posix import fork, execv)"},
    {"pty", R"(import pty
pty.spawn('/bin/sh'))"},
    {"os.execv", R"(import os
os.execvp('sh', ['sh', '-c', 'id']))"},
    {"os.posix_spawn", R"(import os
os.posix_spawn('/bin/sh', ['sh'], {}))"},
    {"subprocess with a shell", R"(import subprocess
subprocess.run('id', shell=True))"},
    {"shell inside a list", R"(import subprocess
subprocess.run(['sh', '-c', 'id']))"},
    {"shell by asyncio", R"(import asyncio
asyncio.run(asyncio.create_subprocess_shell('id')))"},
    {"code.interact", R"(import code
code.interact())"},
    {"runpy", R"(import runpy
runpy.run_path('x.py'))"},
    {"loader", R"(from importlib.machinery import SourceFileLoader
SourceFileLoader('a', '/etc/passwd').load_module())"},
    {"FunctionType", R"(from types import FunctionType, CodeType
FunctionType(CodeType(0, 0), {})())"},
    {"pickle", R"(import pickle
pickle.loads(data))"},
    {"pickle by reduce", R"(import os, pickle
class P:
    def __reduce__(self): return os.system, ('id',)
pickle.dumps(P()))"},
    {"yaml.load", R"(import yaml
yaml.load(data, Loader=yaml.Loader))"},
    {"marshal", R"(import marshal
exec(marshal.loads(b'x')))"},
    {"gc", R"(import gc
[o for o in gc.get_objects() if 'os' in str(o)])"},
    {"settrace", R"(import sys
sys.settrace(lambda *a: None))"},
    {"fork bomb", R"(import os
while True: os.fork())"},
    {"reads shadow", R"(print(open('/etc//shadow').read()))"},
    {"reads shadow by pathlib", R"(from pathlib import Path
p = Path('/etc') / 'shadow'
print(p.read_text()))"},
    {"reads ssh keys", R"(import os
open(os.path.join(os.path.expanduser('~'), '.ssh', 'id_rsa')).read())"},
    {"reads environ of a process", R"(pid = 1
open(f'/proc/{pid}/environ').read())"},
    {"alias of open", R"(myopen = open
myopen('/etc/shadow'))"},
    {"open in a list", R"([open][0]('/etc/shadow'))"},
    {"writes etc", R"(with open('/etc/cron.d/x', 'a') as f: f.write('x'))"},
    {"removes the system", R"(import shutil
shutil.rmtree('/'))"},
    {"writes sitecustomize", R"(open('sitecustomize.py', 'w').write('x'))"},
    {"path from the environment", R"(import os
from pathlib import Path
Path(os.getenv('TARGET')).write_text('x'))"},
    {"low-level open by environment", R"(import os
fd = os.open(os.environ['TARGET'], os.O_RDONLY))"},
    {"archive by environment", R"(import os, zipfile
zipfile.ZipFile(os.environ['TARGET'], 'w').writestr('a', 'b'))"},
    {"setuid", R"(import os
os.setuid(0))"},
    {"raw socket", R"(import socket
socket.socket(socket.AF_PACKET, socket.SOCK_RAW))"},
    {"metadata service", R"(import urllib.request
urllib.request.urlopen('http://169.254.169.254/latest/'))"},
    {"logging configuration calls", R"(import logging.config
logging.config.dictConfig({'version': 1, 'handlers': {'h': {'()': 'os.system', 'command': 'id'}}}))"},
    {"pkgutil.resolve_name", R"(import pkgutil
pkgutil.resolve_name('os:system')('id'))"},
    {"del hook", R"(class A:
    def __del__(self): __import__('os').system('id')
A())"},
    {"string escapes", "exec('\\x69mport os; os.system(\"id\")')"},
    {"line continuation", "import os\nos \\\n . system('id')"},
};

TEST(PythonHostile, EveryTechniqueIsAnErrorUnderBothLevels) {
  for (const Case& c : kHostile) {
    EXPECT_TRUE(has_error(c.code, VerifyLevel::kDefault)) << c.name << "\n" << c.code << "\n" << describe(c.code);
    EXPECT_TRUE(has_error(c.code, VerifyLevel::kStrict)) << c.name << "\n" << c.code;
  }
}

// Process, network and deletion: a matter of the level.
const Case kRisky[] = {
    {"signals the parent", "import os\nos.kill(os.getppid(), 9)"},
    {"forks", "import os\nos.fork()"},
    {"aborts", "import os\nos.abort()"},
    {"subprocess list", "import subprocess\nsubprocess.run(['ls'])"},
    {"connects", "import socket\ns = socket.socket()\ns.connect(('10.0.0.1', 80))"},
    {"localhost probe", "import socket\nsocket.create_connection(('127.0.0.1', 22))"},
    {"fetches", "import requests\nrequests.get('http://example.com')"},
    {"sends mail", "import smtplib\nsmtplib.SMTP('mail.example.com').sendmail('a', 'b', 'c')"},
    {"removes a file", "import os\nos.remove('data.txt')"},
    {"removes by pathlib", "from pathlib import Path\nPath('x').unlink()"},
    {"reads outside", "open('/etc/hostname').read()"},
    {"lists outside", "import os\nos.listdir('/opt')"},
    {"reads the parent folder", "open('../secrets.txt').read()"},
    {"dumps the environment", "import os\nprint(dict(os.environ))"},
    {"chmod", "import os\nos.chmod('x', 0o777)"},
    {"process list", "import psutil\nfor p in psutil.process_iter(): print(p)"},
    {"weak hash", "import hashlib\nhashlib.md5(b'x')"},
    {"endless loop", "while True:\n    x = 1"},
    {"server", "from http.server import HTTPServer\nHTTPServer(('', 80), None)"},
    {"process pool", "from multiprocessing import Pool\nPool(4)"},
    {"statement of SQL", "def q(c, name): c.execute(f\"SELECT * FROM users WHERE name = '{name}'\")"},
};

TEST(PythonHostile, RiskyThingsAreErrorsUnderStrictOnly) {
  for (const Case& c : kRisky) {
    EXPECT_TRUE(has_error(c.code, VerifyLevel::kStrict)) << c.name << "\n" << c.code;
    EXPECT_FALSE(has_error(c.code, VerifyLevel::kDefault)) << c.name << "\n" << c.code << "\n" << describe(c.code);
  }
}

}  // namespace
}  // namespace hotcell::python
