// Programs as people and models write them: none may have an error under the default level.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

struct Case {
  const char* name;
  const char* code;
};

const Case kBenign[] = {
    {"folders that are walked", R"py(import glob, os
for r, d, f in os.walk('.'):
    for n in f: os.remove(os.path.join(r, n))
for f in glob.glob('/tmp/x-*'): os.remove(f)
for root, _, names in os.walk('/usr/share/dict'): print(root, len(names))
with os.scandir('out') as it:
    for e in it: os.remove(e.path))py"},
    {"dataclasses", R"py(from dataclasses import dataclass, field
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
print(sorted([Item(2, 'b'), Item(1, 'a')])))py"},
    {"argparse", R"py(import argparse
parser = argparse.ArgumentParser(description='x')
parser.add_argument('--input', default='in.csv')
args = parser.parse_args([])
print(getattr(args, 'input')))py"},
    {"csv", R"py(import csv
with open('out.csv', 'w', newline='') as f:
    csv.writer(f).writerows([[1, 2]])
with open('out.csv') as f: print(list(csv.DictReader(f))))py"},
    {"asyncio", R"py(import asyncio
async def work(n):
    await asyncio.sleep(0)
    return n
async def main(): print(await asyncio.gather(*(work(i) for i in range(3))))
asyncio.run(main()))py"},
    {"numpy", R"py(import numpy as np
a = np.arange(6).reshape(2, 3)
np.random.seed(0)
np.savetxt('a.txt', a)
print(np.linalg.norm(a), np.load('a.npy') if False else a.T))py"},
    {"pandas", R"py(import pandas as pd
df = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})
df.to_csv('x.csv', index=False)
print(pd.read_csv('x.csv').eval('a + b'), df.query('a > 1')))py"},
    {"unittest", R"py(import unittest
class T(unittest.TestCase):
    def setUp(self): self.x = 1
    def test_a(self): self.assertEqual(self.x, 1)
if __name__ == '__main__': unittest.main())py"},
    {"mock", R"py(from unittest import mock
with mock.patch('builtins.print') as p:
    print(1)
p.assert_called_once())py"},
    {"re.compile", R"py(import re
pattern = re.compile(r'(\w+)@(\w+)\.com')
print(pattern.findall('a@b.com'), re.sub('a', 'b', 'aa')))py"},
    {"logging", R"py(import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
level = getattr(logging, 'debug'.upper(), logging.INFO)
logger = logging.getLogger(__name__)
logger.info('x %s', level))py"},
    {"logging level by option", R"py(import logging, argparse
args = argparse.ArgumentParser().parse_args()
logging.basicConfig(level=getattr(logging, args.level.upper())))py"},
    {"contextlib", R"py(from contextlib import contextmanager, suppress
@contextmanager
def managed():
    yield 1
with managed() as m, suppress(KeyError): print(m))py"},
    {"tempfile", R"py(import tempfile, os
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, 'x.txt')
    with open(path, 'w') as f: f.write('x')
    print(os.path.getsize(path), os.listdir(d)))py"},
    {"tmp file", R"py(with open('/tmp/out.json', 'w') as f: f.write('{}'))py"},
    {"pathlib", R"py(from pathlib import Path
base = Path(__file__).resolve().parent
for p in sorted(base.glob('*.txt')): print(p.name, p.stat().st_size)
(base / 'out').mkdir(exist_ok=True))py"},
    {"json", R"py(import json
with open('config.json') as f: config = json.load(f)
print(json.dumps(config, indent=2, default=str)))py"},
    {"class name in repr", R"py(class A:
    def __repr__(self): return f'{self.__class__.__name__}({self.x})'
    def __eq__(self, o): return self.__dict__ == o.__dict__
    def __str__(self): return '{0.__class__.__name__}'.format(self))py"},
    {"super init", R"py(class A:
    def __init__(self, **kw): super().__init__(**kw); self.__dict__.update(kw)
class B(A):
    __slots__ = ('x',)
    def __getattr__(self, name): return super().__getattribute__(name))py"},
    {"registry of subclasses", R"py(class Base: pass
class X(Base): pass
print([c.__name__ for c in Base.__subclasses__()]))py"},
    {"decorators", R"py(import functools, time
def timed(f):
    @functools.wraps(f)
    def inner(*a, **k):
        t = time.perf_counter()
        try: return f(*a, **k)
        finally: print(f.__name__, time.perf_counter() - t)
    return inner)py"},
    {"dispatch by name on self", R"py(class H:
    def handle(self, kind): return getattr(self, 'on_' + kind, self.default)()
    def default(self): return None)py"},
    {"dunder text", R"py(print(hasattr([], '__iter__'), hasattr({}, '__len__')))py"},
    {"json encoder", R"py(import json
class E(json.JSONEncoder):
    def default(self, o): return o.__dict__
print(json.dumps({}, cls=E)))py"},
    {"collections", R"py(from collections import Counter, defaultdict, namedtuple, deque, OrderedDict
P = namedtuple('P', 'x y')
d = defaultdict(list)
d['a'].append(P(1, 2))
print(Counter('aab').most_common(1), d, deque([1], maxlen=2)))py"},
    {"itertools", R"py(import itertools, operator
print(list(itertools.accumulate([1, 2, 3], operator.mul)))
print(sorted([{'a': 2}, {'a': 1}], key=operator.itemgetter('a'))))py"},
    {"attrgetter", R"py(from operator import attrgetter, methodcaller
print(sorted(items, key=attrgetter('owner.name')), list(map(methodcaller('lower'), ['A']))))py"},
    {"heap and bisect", R"py(import heapq, bisect
h = [3, 1, 2]
heapq.heapify(h)
print(heapq.heappop(h), bisect.bisect_left([1, 2], 2)))py"},
    {"datetime", R"py(from datetime import datetime, timedelta, timezone, date, time
print(datetime.now(timezone.utc) - timedelta(days=1), date.today(), time(1, 2)))py"},
    {"typing", R"py(from typing import List, Dict, Optional, TypeVar, Generic, Callable, Protocol
T = TypeVar('T')
class Box(Generic[T]):
    def __init__(self, v: 'T') -> None: self.v = v
def f(x: "Optional[List[int]]" = None) -> 'Dict[str, int]': return {})py"},
    {"enum", R"py(from enum import Enum, auto
class C(Enum):
    RED = auto()
    @classmethod
    def names(cls): return [m.name for m in cls]
print(C['RED'], C.names(), C.__members__))py"},
    {"abc", R"py(from abc import ABC, abstractmethod
class S(ABC):
    @property
    @abstractmethod
    def area(self): ...
class Q(S):
    area = 3)py"},
    {"threads", R"py(import threading, queue
from concurrent.futures import ThreadPoolExecutor
q = queue.Queue()
t = threading.Thread(target=q.put, args=(1,), daemon=True)
t.start(); t.join()
with ThreadPoolExecutor(4) as ex: print(list(ex.map(str, range(3)))))py"},
    {"process pool", R"py(from multiprocessing import Pool, cpu_count
def sq(x): return x * x
if __name__ == '__main__':
    with Pool(2) as p: print(p.map(sq, range(4)), cpu_count()))py"},
    {"sqlite", R"py(import sqlite3
con = sqlite3.connect(':memory:')
con.execute('CREATE TABLE t (a INTEGER)')
con.execute('INSERT INTO t VALUES (?)', (1,))
print(con.execute('SELECT * FROM t WHERE a = ?', (1,)).fetchall()))py"},
    {"sqlite file", R"py(import sqlite3
with sqlite3.connect('app.db') as con:
    cur = con.cursor()
    cur.execute("SELECT name FROM users WHERE id = ?", (3,)))py"},
    {"random", R"py(import random, secrets, string
random.seed(1)
print(random.choice('abc'), ''.join(secrets.choice(string.ascii_letters + string.digits) for _ in range(8))))py"},
    {"hash", R"py(import hashlib, hmac
print(hashlib.sha256(b'x').hexdigest(), hmac.new(b'k', b'm', 'sha256').hexdigest()))py"},
    {"checksum", R"py(import hashlib
def md5sum(p):
    h = hashlib.md5()
    with open(p, 'rb') as f:
        for block in iter(lambda: f.read(4096), b''): h.update(block)
    return h.hexdigest())py"},
    {"string formatting", R"py(name = 'x'
print('{} {name} {0:>10} {d[key]} {o.attr}'.format(1, name=name, d={'key': 1}, o=name))
print('%s %05.2f' % (name, 3.14), f'{name!r:>10} {3.14:.2f}'))py"},
    {"template", R"py(from string import Template
print(Template('$who likes $what').substitute(who='a', what='b')))py"},
    {"literal_eval", R"py(import ast
print(ast.literal_eval('[1, 2]'), ast.dump(ast.parse('1+1'))))py"},
    {"calculator", R"py(def calc(op, a, b):
    ops = {'+': lambda: a + b, '-': lambda: a - b}
    return ops[op]()
print(calc('+', 1, 2)))py"},
    {"expression from parameters", R"py(def algebra(operator, operand):
    expression = str(operand[0])
    for o, n in zip(operator, operand[1:]):
        expression += o + str(n)
    return eval(expression))py"},
    {"prompt loop", R"py(while True:
    line = input('> ')
    if line == 'quit': break
    print(line))py"},
    {"game with cleared screen", R"py(import os
os.system('cls' if os.name == 'nt' else 'clear')
print('board'))py"},
    {"environment variable", R"py(import os
key = os.environ.get('API_KEY', '')
debug = os.getenv('DEBUG') == '1'
home = os.environ['HOME']
print(len(key), debug, 'PATH' in os.environ))py"},
    {"config path with default", R"py(import os
path = os.environ.get('APP_CONFIG', 'config.json')
with open(path) as f: print(f.read()))py"},
    {"retry", R"py(import time
def retry(f, n=3):
    for i in range(n):
        try: return f()
        except Exception as e:
            if i == n - 1: raise RuntimeError(str(e)) from e
            time.sleep(2 ** i))py"},
    {"traceback", R"py(import sys, traceback
try: 1 / 0
except ZeroDivisionError as e:
    traceback.print_exception(type(e), e, e.__traceback__)
    exc_type, exc_obj, tb = sys.exc_info()
    print(tb.tb_lineno, tb.tb_frame.f_code.co_filename)
    sys.exit(1))py"},
    {"inspect", R"py(import inspect
def f(a, b=1): pass
print(inspect.signature(f), f.__code__.co_varnames, inspect.getdoc(f)))py"},
    {"simple plot", R"py(import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig('plot.png'))py"},
    {"training", R"py(import torch
import torch.nn as nn
from torch.utils.data import DataLoader
model = nn.Sequential(nn.Linear(2, 1))
opt = getattr(torch.optim, 'Adam')(model.parameters())
model.eval()
torch.save(model.state_dict(), 'model.pt'))py"},
    {"sklearn", R"py(from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from scipy import stats, io, signal
m = LinearRegression().fit([[1], [2]], [1, 2])
print(m.predict([[3]]), stats.norm.cdf(0)))py"},
    {"requests", R"py(import requests
r = requests.get('https://api.example.com/v1', timeout=5)
r.raise_for_status()
print(r.json()))py"},
    {"flask", R"py(from flask import Flask, jsonify, request
app = Flask(__name__)
@app.route('/x')
def x(): return jsonify(a=request.args.get('a'))
if __name__ == '__main__': app.run())py"},
    {"subprocess with a list", R"py(import subprocess, sys
out = subprocess.run([sys.executable, '--version'], capture_output=True, text=True, check=True)
print(out.stdout))py"},
    {"file clean-up", R"py(import os, shutil
if os.path.exists('build'): shutil.rmtree('build')
os.makedirs('build/x', exist_ok=True)
shutil.copy('a.txt', 'build/a.txt')
os.remove('a.txt'))py"},
    {"word in a comment", R"py(# os.system('rm -rf /'); eval(input()); __import__('os')
"""exec(open('/etc/shadow').read())"""
print('call eval(x) or os.system(y) never'))py"},
    {"names that look like it", R"py(class Engine:
    def system(self): return 1
    def exec(self, q): return q
    def open(self): return self
e = Engine()
e.system(); e.exec('SELECT 1'); e.open()
system = 'linux'
print(system))py"},
    {"own open", R"py(def open(path): return path
print(open('/etc/shadow')))py"},
    {"base64", R"py(import base64
print(base64.b64decode('aGVsbG8=').decode(), base64.b64encode(b'x')))py"},
    {"struct and bytes", R"py(import struct, binascii
print(struct.unpack('<I', bytes([1, 0, 0, 0])), binascii.hexlify(b'x'), bytes.fromhex('00ff')))py"},
    {"global state", R"py(count = 0
def bump():
    global count
    count += 1
    return count
print(bump()))py"},
    {"match", R"py(from dataclasses import dataclass
@dataclass
class P: x: int; y: int
match P(1, 2):
    case P(x=0, y=y): print(y)
    case P(x=a) if a > 0: print(a)
    case {'k': [1, *rest]}: print(rest)
    case _: pass)py"},
    {"matrix of zeros", R"py(grid = [[0] * 100 for _ in range(100)]
memo = {}
def fib(n): return n if n < 2 else memo.setdefault(n, fib(n - 1) + fib(n - 2))
print(fib(30), '-' * 80))py"},
    {"recursion limit", R"py(import sys
sys.setrecursionlimit(10000)
sys.stdout.write('x\n')
for line in sys.stdin: print(line.strip()))py"},
    {"future annotations", R"py(from __future__ import annotations
class Node:
    def __init__(self, next: Node | None = None): self.next = next
    def __iter__(self):
        n = self
        while n: yield n; n = n.next)py"},
    {"generator send", R"py(def g():
    total = 0
    while True:
        x = yield total
        total += x
it = g(); next(it); print(it.send(3)))py"},
    {"weakref", R"py(import weakref, gc
class A: pass
a = A(); r = weakref.ref(a)
del a; gc.collect(); print(r()))py"},
    {"xml", R"py(import xml.etree.ElementTree as ET
root = ET.fromstring('<a><b x="1"/></a>')
print([b.attrib for b in root.iter('b')]))py"},
    {"yaml", R"py(import yaml
print(yaml.safe_load('a: 1'), yaml.load('a: 1', Loader=yaml.SafeLoader)))py"},
    {"optional import", R"py(try:
    import numpy as np
except ImportError:
    np = None
import importlib.util
print(importlib.util.find_spec('pandas') is not None))py"},
    {"plugins by constant name", R"py(import importlib
for name in ('json', 'math'):
    print(importlib.import_module(name).__name__))py"},
    {"fenced text", R"py(TEXT = '''
import os
os.system("x")
'''
print(TEXT.count('os'), "{'a': {'b': 1}}"))py"},
    {"unicode identifiers", "größe = 3\nπ = 3.14\nprint(größe * π, 'naïve')\n"},
    {"latin text", "# -*- coding: utf-8 -*-\nprint('ok')\n"},
    {"signal handler", R"py(import signal, sys
def stop(*_): sys.exit(0)
signal.signal(signal.SIGINT, stop))py"},
    {"timeit", R"py(import timeit
print(timeit.timeit('sum(range(100))', number=10), timeit.timeit(lambda: sum(range(10)), number=10)))py"},
    {"doctest", R"py(def add(a, b):
    """
    >>> add(1, 2)
    3
    """
    return a + b
if __name__ == '__main__':
    import doctest
    doctest.testmod())py"},
    {"system files that are harmless", R"py(import platform
print(platform.system(), platform.python_version())
with open('/dev/null', 'w') as n: n.write('x')
words = open('/usr/share/dict/words').read().split())py"},
    {"pickle of own data", R"py(import pickle
blob = pickle.dumps({'a': 1})
print(len(blob)))py"},
    {"module of itself", R"py(import sys
def handler(): return 1
print(getattr(sys.modules[__name__], 'handler')(), globals().get('handler')))py"},
    {"zip and gzip", R"py(import zipfile, gzip, io
buf = io.BytesIO()
with zipfile.ZipFile(buf, 'w') as z: z.writestr('a.txt', 'x')
with gzip.open('x.gz', 'wt') as f: f.write('x'))py"},
};

TEST(PythonBenign, NoErrorUnderDefault) {
  for (const Case& c : kBenign)
    EXPECT_FALSE(has_error(c.code, VerifyLevel::kDefault)) << c.name << "\n" << c.code << "\n" << describe(c.code);
}

}  // namespace
}  // namespace hotcell::python
