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
    {"a module out of an exception", R"py(try: raise Exception(__import__('os'))
except Exception as e: e.args[0].system('id'))py"},
    {"a module out of a context", R"py(import os
from contextlib import nullcontext
with nullcontext(os) as z: z.system('id'))py"},
    {"a module that is yielded", R"py(import os
def f(): yield os
next(f()).system('id'))py"},
    {"files found below a system folder", R"py(import os
for r, d, f in os.walk('/etc'):
    for n in f: os.unlink(r + '/' + n))py"},
    {"files that a pattern finds", R"py(import glob, os
for f in glob.glob('/etc/*.conf'): os.remove(f))py"},
    {"entries of a system folder", R"py(import os
with os.scandir('/usr') as it:
    for e in it: os.remove(e.path))py"},
    {"a shell of an event loop", R"py(import asyncio
loop = asyncio.new_event_loop()
loop.run_until_complete(loop.subprocess_shell(asyncio.SubprocessProtocol, 'id')))py"},
    {"a module among all arguments", R"py(import os
def f(*a): a[0].popen('id')
f(os))py"},
    {"a module given to a lambda", R"py(import subprocess
list(map(lambda m: m.check_output(['id']), [subprocess])))py"},
    {"a module in a namespace", R"py(import os, types
types.SimpleNamespace(m=os).m.execv('/bin/sh', ['sh']))py"},
    {"a module by __enter__", R"py(import os
class C:
    def __enter__(self): return os
    def __exit__(self, *a): pass
with C() as z: z.system('id'))py"},
    {"a module among the globals", R"py(import os
globals()['z'] = os
z.system('id'))py"},
    {"examples that doctest runs", R"py("""
>>> import os
>>> os.system("id")
"""
import doctest
doctest.testmod())py"},
    {"what breakpoint() calls", R"py(import os
os.environ['PYTHONBREAKPOINT'] = 'os.system'
breakpoint('id'))py"},
    {"the environment by update", R"py(import os
os.environ.update({'LD_PRELOAD': './x.so'}))py"},
    {"a command as a browser", R"py(import webbrowser
webbrowser.get('sh -c id %s').open('x'))py"},
    {"a temporary file where the environment says", R"py(import os, tempfile
tempfile.NamedTemporaryFile(dir=os.path.dirname(os.environ['OUT']), delete=False))py"},
    {"a calculator that is given code", R"py(def do(op, n):
    e = str(n[0])
    for o, x in zip(op, n[1:]): e += o + str(x)
    return eval(e)
do(['.system'], ["__import__('os')", "('id')"]))py"},
    {"a module it writes itself", R"py(open('helper.py', 'w').write('x')
import helper)py"},
    {"code in a query", R"py(import pandas as pd
pd.DataFrame({'a': [1]}).query("@pd.compat.os.system('id')"))py"},
    {"alias of a module", R"py(import os as o
o.system('id'))py"},
    {"alias of a function", R"py(import os
run = os.system
run('id'))py"},
    {"unpacked alias", R"py(import os
f, g = os.system, 1
f('id'))py"},
    {"walrus", R"py(import os
(f := os.system)('id'))py"},
    {"loop over functions", R"py(import os
for f in [os.system]: f('id'))py"},
    {"handed to map", R"py(import os
list(map(os.system, ['id'])))py"},
    {"default argument", R"py(import os
def f(run=os.system): run('id')
f())py"},
    {"star import", R"py(from os import *
system('id'))py"},
    {"re-exported sys", R"py(from typing import sys
sys.modules['posix'].execv('/bin/sh', ['sh']))py"},
    {"match class attribute capture", R"py(import typing
match typing:
    case object(sys=s):
        s.modules['posix'].system('id'))py"},
    {"codecs through json", R"py(from json import codecs
print(codecs.open('/etc/hostname').read()))py"},
    {"builtins through json.codecs", R"py(import json
json.codecs.builtins.open('x'))py"},
    {"builtins through re.enum", R"py(import re
re.enum.bltns.eval('1'))py"},
    {"os through random", R"py(import random
random._os.system('id'))py"},
    {"getattr with joined name", R"py(import os
getattr(os, ''.join(['sys', 'tem']))('id'))py"},
    {"getattr with reversed name", R"py(import os
getattr(os, 'metsys'[::-1])('id'))py"},
    {"getattr with formatted name", R"py(import os
a = 'sys'
getattr(os, f'{a}tem')('id'))py"},
    {"getattr with percent name", R"py(import os
getattr(os, '%stem' % 'sys')('id'))py"},
    {"getattr with computed name", R"py(import os, sys
getattr(os, sys.argv[1])('id'))py"},
    {"getattr through reduce", R"py(import functools, random
functools.reduce(getattr, ['_os', 'system'], random)('id'))py"},
    {"chr list", R"py(__import__(''.join(chr(c) for c in [111, 115])).system('id'))py"},
    {"chr by map", R"py(__import__(''.join(map(chr, [111, 115]))).system('id'))py"},
    {"xored letters", R"py(__import__(''.join(chr(c ^ 1) for c in [110, 114])).system('id'))py"},
    {"bytes list", R"py(__import__(bytes([111, 115]).decode()).system('id'))py"},
    {"base64 name", R"py(import base64
__import__(base64.b64decode('b3M=').decode()).system('id'))py"},
    {"rot13 name", R"py(import codecs
__import__(codecs.decode('bf', 'rot13')).system('id'))py"},
    {"replace and lower", R"py(__import__('XOXSX'.replace('X', '').lower()).system('id'))py"},
    {"importlib", R"py(import importlib
importlib.import_module('sub' + 'process').run('id', shell=True))py"},
    {"name from input", R"py(import importlib
importlib.import_module(input()).system('id'))py"},
    {"import by computed name", R"py(name = open('x').read()
__import__(name))py"},
    {"__import__ handed on", R"py(list(map(__import__, open('names').read().split())))py"},
    {"sys.modules", R"py(import sys
sys.modules['os'].system('id'))py"},
    {"sys.modules.get", R"py(import sys
sys.modules.get('os').system('id'))py"},
    {"dict of a module", R"py(import os
os.__dict__['system']('id'))py"},
    {"vars of a module", R"py(import os
vars(os)['sys' + 'tem']('id'))py"},
    {"bare __builtins__", R"py(print(__builtins__))py"},
    {"__builtins__ member", R"py(__builtins__.open('/etc/shadow'))py"},
    {"__builtins__ as dictionary", R"py(__builtins__['ev' + 'al']('1'))py"},
    {"globals to builtins", R"py(globals()['__builtins__'])py"},
    {"locals to builtins", R"py(locals().get('__builtins__'))py"},
    {"print.__self__", R"py(print.__self__.eval('1+1'))py"},
    {"eval of input", R"py(eval(input()))py"},
    {"exec of a file", R"py(exec(open('payload.txt').read()))py"},
    {"exec of a constant", R"py(exec('import os\nos.system("id")'))py"},
    {"eval in eval", R"py(eval("eval('__import__(\"os\").system(\"id\")')"))py"},
    {"compile and run", R"py(exec(compile('import os; os.popen("id")', 'x', 'exec')))py"},
    {"exec of decompressed", R"py(import zlib, base64
exec(zlib.decompress(base64.b64decode('eJzLzC3ILypRyC8GABw9BIk='))))py"},
    {"eval handed on", R"py(f = [eval][0]
f('__import__("os").system("id")'))py"},
    {"timeit runs text", R"py(import timeit
timeit.timeit('__import__("os").system("id")', number=1))py"},
    {"subclasses", R"py(for c in object.__subclasses__(): print(c))py"},
    {"class chain", R"py([].__class__.__base__.__subclasses__())py"},
    {"mro chain", R"py(''.__class__.__mro__[1])py"},
    {"function globals", R"py(def f(): pass
print(f.__globals__))py"},
    {"generator frame", R"py(g = (x for x in [1])
print(g.gi_frame.f_back))py"},
    {"traceback frame", R"py(try: 1/0
except Exception as e: print(e.__traceback__.tb_frame.f_back.f_globals))py"},
    {"attrgetter walk", R"py(import operator
operator.attrgetter('__class__.__base__')(1))py"},
    {"methodcaller walk", R"py(import operator
operator.methodcaller('__subclasses__')(object))py"},
    {"walk by computed names", R"py(x = ()
for n in ['__class__', '__base__', '__subclasses__']:
    x = getattr(x, n))py"},
    {"chr dunder", R"py(d = chr(95) * 2
getattr((), d + 'globals' + d))py"},
    {"bytes dunder", R"py(getattr(len, b'__self__'.decode()))py"},
    {"__getattribute__", R"py(().__getattribute__('__cla' + 'ss__').__getattribute__(object, '__subclasses__'))py"},
    {"metaclass walk", R"py(type.__subclasses__(type)[0])py"},
    {"format traversal", R"py(print('{0.__class__.__init__.__globals__}'.format(x)))py"},
    {"format traversal by key", R"py(print('{x[__globals__]}'.format(x=x)))py"},
    {"Formatter.get_field", R"py(import string
string.Formatter().get_field('0.__class__', (1,), {}))py"},
    {"get_type_hints", R"py(import typing
class A: x: "__import__('os').system('id')"
typing.get_type_hints(A))py"},
    {"get_type_hints through annotations", R"py(from typing import get_type_hints
def f(): pass
f.__annotations__ = {'x': evil}
get_type_hints(f))py"},
    {"ForwardRef", R"py(from typing import ForwardRef
ForwardRef("__import__('os')")._evaluate({}, {}, frozenset()))py"},
    {"__loader__", R"py(print(__loader__.get_data('/etc/hostname')))py"},
    {"__spec__.loader", R"py(__spec__.loader.load_module('os').system('id'))py"},
    {"decorator", R"py(import os
@os.system
def f(): pass)py"},
    {"class attribute", R"py(import os
class A: run = os.popen
A.run('id'))py"},
    {"kept in self", R"py(import subprocess
class A:
    def __init__(self): self.m = subprocess
    def go(self): self.m.call('id', shell=True)
A().go())py"},
    {"in a dictionary", R"py(import os
{'a': os.system}['a']('id'))py"},
    {"returned", R"py(import os
def get(): return os
get().system('id'))py"},
    {"through a parameter", R"py(def load(name): return __import__(name)
load('os').system('id'))py"},
    {"partial", R"py(import functools, os
functools.partial(os.system, 'id')())py"},
    {"fullwidth letters", "import os\nos.\xef\xbd\x93ystem('id')"},
    {"mathematical letters", "import os\nos.\xf0\x9d\x93\xbc\xf0\x9d\x94\x82stem('id')"},
    {"carriage return ends a comment", "# note\rimport os\nprint(1)"},
    {"encoding cookie", "# -*- coding: utf-7 -*-\nprint(1)\n"},
    {"encoding cookie in line two", "#!/usr/bin/python3\n# vim: set fileencoding=utf-16 :\nprint(1)\n"},
    {"ctypes", R"py(import ctypes
ctypes.CDLL(None).system(b'id'))py"},
    {"ctypes cdll", R"py(from ctypes import cdll
cdll.LoadLibrary('libc.so.6').system(b'id'))py"},
    {"posix", R"py(from posix import fork, execv)py"},
    {"pty", R"py(import pty
pty.spawn('/bin/sh'))py"},
    {"os.execv", R"py(import os
os.execvp('sh', ['sh', '-c', 'id']))py"},
    {"os.posix_spawn", R"py(import os
os.posix_spawn('/bin/sh', ['sh'], {}))py"},
    {"subprocess with a shell", R"py(import subprocess
subprocess.run('id', shell=True))py"},
    {"shell inside a list", R"py(import subprocess
subprocess.run(['sh', '-c', 'id']))py"},
    {"shell by asyncio", R"py(import asyncio
asyncio.run(asyncio.create_subprocess_shell('id')))py"},
    {"code in a text, the module outside", "import os\nexec('os.system(\"id\")')"},
    {"module from a text", "exec('import os')\nos.system('id')"},
    {"alias outside", "import subprocess as s\neval('s.run([1], shell=True)')"},
    {"code.interact", R"py(import code
code.interact())py"},
    {"runpy", R"py(import runpy
runpy.run_path('x.py'))py"},
    {"loader", R"py(from importlib.machinery import SourceFileLoader
SourceFileLoader('a', '/etc/passwd').load_module())py"},
    {"FunctionType", R"py(from types import FunctionType, CodeType
FunctionType(CodeType(0, 0), {})())py"},
    {"pickle", R"py(import pickle
pickle.loads(data))py"},
    {"pickle by reduce", R"py(import os, pickle
class P:
    def __reduce__(self): return os.system, ('id',)
pickle.dumps(P()))py"},
    {"yaml.load", R"py(import yaml
yaml.load(data, Loader=yaml.Loader))py"},
    {"marshal", R"py(import marshal
exec(marshal.loads(b'x')))py"},
    {"gc", R"py(import gc
[o for o in gc.get_objects() if 'os' in str(o)])py"},
    {"settrace", R"py(import sys
sys.settrace(lambda *a: None))py"},
    {"fork bomb", R"py(import os
while True: os.fork())py"},
    {"reads shadow", R"py(print(open('/etc//shadow').read()))py"},
    {"reads shadow by pathlib", R"py(from pathlib import Path
p = Path('/etc') / 'shadow'
print(p.read_text()))py"},
    {"reads ssh keys", R"py(import os
open(os.path.join(os.path.expanduser('~'), '.ssh', 'id_rsa')).read())py"},
    {"reads environ of a process", R"py(pid = 1
open(f'/proc/{pid}/environ').read())py"},
    {"alias of open", R"py(myopen = open
myopen('/etc/shadow'))py"},
    {"open in a list", R"py([open][0]('/etc/shadow'))py"},
    {"writes etc", R"py(with open('/etc/cron.d/x', 'a') as f: f.write('x'))py"},
    {"removes the system", R"py(import shutil
shutil.rmtree('/'))py"},
    {"writes sitecustomize", R"py(open('sitecustomize.py', 'w').write('x'))py"},
    {"path from the environment", R"py(import os
from pathlib import Path
Path(os.getenv('TARGET')).write_text('x'))py"},
    {"low-level open by environment", R"py(import os
fd = os.open(os.environ['TARGET'], os.O_RDONLY))py"},
    {"archive by environment", R"py(import os, zipfile
zipfile.ZipFile(os.environ['TARGET'], 'w').writestr('a', 'b'))py"},
    {"setuid", R"py(import os
os.setuid(0))py"},
    {"raw socket", R"py(import socket
socket.socket(socket.AF_PACKET, socket.SOCK_RAW))py"},
    {"metadata service", R"py(import urllib.request
urllib.request.urlopen('http://169.254.169.254/latest/'))py"},
    {"logging configuration calls", R"py(import logging.config
logging.config.dictConfig({'version': 1, 'handlers': {'h': {'()': 'os.system', 'command': 'id'}}}))py"},
    {"pkgutil.resolve_name", R"py(import pkgutil
pkgutil.resolve_name('os:system')('id'))py"},
    {"del hook", R"py(class A:
    def __del__(self): __import__('os').system('id')
A())py"},
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
    {"timeit.main", "import timeit\ntimeit.main(['-s', 'import os', 'os.system(1)'])"},
    {"mock's importer", "import unittest.mock\nunittest.mock._importer('os').system('id')"},
    {"Tcl", "import tkinter\ntkinter.Tcl().eval('exec id')"},
    {"completer", "import rlcompleter\nrlcompleter.Completer({}).complete('x(1).', 0)"},
    {"dataclasses", "import dataclasses\ndataclasses._create_fn('f', [], ['import x', 'x.y(1)'])()"},
    {"script_helper", "import test.support.script_helper\ntest.support.script_helper.assert_python_ok('-c', 'print(1)')"},
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
