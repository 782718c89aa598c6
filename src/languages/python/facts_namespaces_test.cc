// Namespaces of modules as dictionaries: copied, merged, handed on; and what programs do with those of their own.
#include <gtest/gtest.h>

#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

TEST(PythonNamespaces, EveryWayToAMemberIsFound) {
  for (const char* code : {
           R"py(import os
{**os.__dict__}['system']('x'))py",
           R"py(import os
dict(os.__dict__)['system']('x'))py",
           R"py(import os
vars(os).copy()['system']('x'))py",
           R"py(import os
(os.__dict__ | {})['system']('x'))py",
           R"py(import os
({} | vars(os))['system']('x'))py",
           R"py(import os
dict(vars(os).items())['system']('x'))py",
           R"py(import os
{k: v for k, v in vars(os).items()}['system']('x'))py",
           R"py(import os
[v for k, v in vars(os).items() if k == 'system'][0]('x'))py",
           R"py(import os
next(v for k, v in os.__dict__.items() if k.startswith('sys'))('x'))py",
           R"py(import types, os
types.SimpleNamespace(**vars(os)).system('x'))py",
           R"py(import operator, os
operator.itemgetter('system')(vars(os))('x'))py",
           R"py(import operator, os
operator.attrgetter('system')(os)('x'))py",
           R"py(import functools, os
functools.reduce(getattr, ['system'], os)('x'))py",
           R"py(import functools, os
functools.reduce(lambda a, b: getattr(a, b), ['system'], os)('x'))py",
           R"py(import os
globals().update(vars(os))
system('x'))py",
           R"py(import os
globals().update(os.__dict__)
system('x'))py",
           R"py(import os
g = {}
g.update(vars(os))
g['system']('x'))py",
           R"py(import os
d = dict(**vars(os))
d['system']('x'))py",
           R"py(import os, copy
copy.copy(vars(os))['system']('x'))py",
           R"py(import os, copy
copy.deepcopy(vars(os))['system']('x'))py",
           R"py(import os, collections
collections.ChainMap({}, vars(os))['system']('x'))py",
           R"py(import os, collections
collections.OrderedDict(vars(os))['system']('x'))py",
           R"py(import os, types
types.MappingProxyType(vars(os))['system']('x'))py",
           R"py(import os
for k, v in vars(os).items():
    if k == 'system': v('x'))py",
           R"py(import os
list(vars(os).values())[3]('x'))py",
           R"py(import os
class A: pass
A.__dict__.update
a = A()
a.__dict__.update(vars(os))
a.system('x'))py",
           R"py(import os
class A: pass
a = A()
vars(a).update(vars(os))
a.system('x'))py",
           R"py(import os
def f(**k): k['system']('x')
f(**vars(os)))py",
           R"py(import os
def f(system, **k): system('x')
f(**os.__dict__))py",
           R"py(import os
type('A', (), dict(vars(os))).system('x'))py",
           R"py(import os
type('A', (), vars(os).copy()).system('x'))py",
           R"py(import os
locals().update(vars(os))
system('x'))py",
           R"py(import os
d = vars(os)
d |= {}
d['system']('x'))py",
           R"py(import os
d = {}
d |= vars(os)
d['system']('x'))py",
           R"py(import os
vars(os).__getitem__('system')('x'))py",
           R"py(import os
dict.get(vars(os), 'system')('x'))py",
           R"py(import os
dict.__getitem__(os.__dict__, 'system')('x'))py",
           R"py(import os
'{}'.format(1); o = object.__getattribute__(os, 'system'); o('x'))py",
           R"py(import os
eval('system("x")', vars(os)))py",
           R"py(import os
exec('system("x")', dict(os.__dict__)))py",
           R"py(import os, builtins
m = {**vars(builtins)}
m['ev' + 'al']('1'))py",
           R"py(import functools, os
functools.partial(getattr, os)('system')('x'))py",
           R"py(import os
list(map(getattr, [os], ['system']))[0]('x'))py",
           R"py(import itertools, os
next(itertools.starmap(getattr, [(os, 'system')]))('x'))py",
           R"py(import operator, os
operator.getitem(vars(os), 'system')('x'))py",
           R"py(import operator, os
operator.call(getattr, os, 'system')('x'))py",
           R"py(import os
a, b = vars(os), 1
a['system']('x'))py",
           R"py(import os
def ns(): return vars(os)
ns()['system']('x'))py",
           R"py(import os
class A:
    def __init__(self): self.n = vars(os)
    def go(self): self.n['system']('x')
A().go())py",
           R"py(import sys
{**sys.modules['os'].__dict__}['system']('x'))py",
           R"py(import sys
vars(sys.modules['posix']).copy()['system']('x'))py",
           R"py(({**vars(__import__('os'))})['sys' + 'tem']('x'))py",
           R"py(import os
d = {**vars(os)}
e = {**d}
e['system']('x'))py",
           R"py(import os
from collections import OrderedDict
OrderedDict(vars(os).copy()).copy()['system']('x'))py",
           R"py(import pickle
pickle.dumps = lambda x: b'cos\nsystem\n'
pickle.loads(pickle.dumps(1)))py",
           R"py(import pickle
pickle.loads(pickle.dumps(1).replace(b'a', b'b')))py",
           R"py(import os, pickle
class P:
    def __reduce__(self): return (os.system, ('id',))
pickle.loads(pickle.dumps(P())))py"})
    EXPECT_TRUE(has_error(code, VerifyLevel::kDefault)) << code << "\n" << describe(code);
}

TEST(PythonNamespaces, TheTableOfModulesAndOtherWaysRound) {
  for (const char* code : {
           R"py(import os
(lambda d: d['system']('x'))(vars(os)))py",
           R"py(import os
[*vars(os).values()])py",
           R"py(import os
d = vars(os)
f = d.get
f('system')('x'))py",
           R"py(import os
ns = vars
ns(os)['system']('x'))py",
           R"py(from builtins import vars as v
import os
v(os).copy()['system']('x'))py",
           R"py(import os
os.__dict__.copy().get('system')('x'))py",
           R"py(import os
dict.copy(os.__dict__)['system']('x'))py",
           R"py(import os
d = dict.fromkeys([1], vars(os))
d[1]['system']('x'))py",
           R"py(import os
x = {'a': {**vars(os)}}
x['a']['system']('x'))py",
           R"py(import os
d = {}
for k in vars(os): d[k] = vars(os)[k]
d['system']('x'))py",
           R"py(import os
m = map(vars, [os])
next(m)['system']('x'))py",
           R"py(import os
match {**vars(os)}:
    case {'system': s}: s('x'))py",
           R"py(import os
match vars(os):
    case {'system': s}: s('x'))py",
           R"py(import os
match os.__dict__:
    case {**rest}: rest['system']('x'))py",
           R"py(import os
class N(dict): pass
N(vars(os))['system']('x'))py",
           R"py(import os, string
string.Template('$x').substitute(vars(os)))py",
           R"py(import os
'{system}'.format(**vars(os)))py",
           R"py(import os
def f():
    yield vars(os)
next(f())['system']('x'))py",
           R"py(import os
a, *b = [vars(os)]
a['system']('x'))py",
           R"py(import os
g = globals()
g |= vars(os)
system('x'))py",
           R"py(import os
globals().__setitem__('z', os.system)
z('x'))py",
           R"py(import inspect, os
dict(inspect.getmembers(os))['system']('x'))py",
           R"py(import inspect, os
[f for n, f in inspect.getmembers(os) if n == 'system'][0]('x'))py",
           R"py(import sys
sys.modules['os'].__dict__['system']('x'))py",
           R"py(import sys
{**sys.modules}['os'].system('x'))py",
           R"py(import sys
dict(sys.modules)['os'].system('x'))py",
           R"py(import sys
sys.modules.copy()['os'].system('x'))py",
           R"py(import sys
m = sys.modules | {}
m['os'].system('x'))py",
           R"py(import sys
for n, m in sys.modules.items():
    if n == 'os': m.system('x'))py",
           R"py(import sys
[m for m in sys.modules.values()][0].system('x'))py",
           R"py(import operator, sys
operator.itemgetter('os')(sys.modules).system('x'))py",
           R"py(import builtins
{**builtins.__dict__}['eval']('1'))py",
           R"py({**__builtins__.__dict__}['eval']('1'))py",
           R"py({**vars(__builtins__)}['eval']('1'))py",
           R"py({**globals()}['__builtins__'].eval('1'))py",
           R"py(globals().copy()['__builtins__']['eval']('1'))py",
           R"py(dict(globals())['__builtins__'].eval('x'))py",
           R"py(import os
os.__dict__.__class__(os.__dict__)['system']('x'))py",
           R"py(import os
type(os).__getattribute__(os, 'system')('x'))py",
           R"py(import os, operator
list(map(operator.attrgetter('system'), [os]))[0]('x'))py",
           R"py(import os, operator
f = operator.attrgetter
f('system')(os)('x'))py",
           R"py(import os
from operator import attrgetter as a
a('sys' + 'tem')(os)('x'))py",
           R"py(import os, operator
operator.attrgetter(input())(os)('x'))py",
           R"py(import os, functools
functools.partial(os.system, 'x')())py",
           R"py(import os, functools
functools.partialmethod(os.system, 'x'))py",
           R"py(import os, functools
functools.reduce(getattr, 'os.system'.split('.')[1:], os)('x'))py",
           R"py(import os, functools
functools.reduce(getattr, input().split('.'), os)('x'))py",
           R"py(import os, functools
functools.reduce(lambda o, n: o.__getattribute__(n), ['system'], os)('x'))py",
           R"py(import os, functools
functools.reduce(lambda o, n: vars(o)[n], ['system'], os)('x'))py",
           R"py(import os
next(filter(callable, vars(os).values())))py",
           R"py(import os
exec(compile('system("x")', 'a', 'exec'), vars(os)))py",
           R"py(import os
eval('system("x")', {**vars(os)}))py",
           R"py(import os, code
code.InteractiveInterpreter(vars(os)).runsource('system("x")'))py"})
    EXPECT_TRUE(has_error(code, VerifyLevel::kDefault)) << code << "\n" << describe(code);
}

// The grammar takes the star for a part of what is called.
TEST(PythonNamespaces, CallsBehindAStarAreCalls) {
  for (const char* code : {
           R"py(import os
[*os.popen('id')])py",
           R"py(import os
print(*os.popen('id')))py",
           R"py(import os
x = *os.popen('id'),)py",
           R"py(import os
a, *b = *os.popen('id'), 1)py",
           R"py(print(*open('/etc/shadow')))py",
           R"py([*open('/etc/shadow')])py",
           R"py(import subprocess
print(*subprocess.run('id', shell=True).stdout))py",
           R"py(import os
{**os.popen('id')})py",
           R"py(print(*eval(input())))py",
           R"py(print(*__import__('os').popen('id')))py",
           R"py(import os
print(*map(os.system, ['id'])))py",
           R"py(def g(): yield from os.popen('id')
import os)py",
           R"py(import os
async def f(): await os.popen('x'))py",
           R"py(import os
{*os.popen('id')})py",
           R"py(import os
(*os.popen('id'),))py",
           R"py(import os
print(*[os.system('id')]))py",
           R"py(import os
for x in *os.popen('id'), 1: pass)py"})
    EXPECT_TRUE(has_error(code, VerifyLevel::kDefault)) << code << "\n" << describe(code);
  EXPECT_TRUE(has_fact(facts_of("[*open('/etc/shadow')]"), FactKind::kReadPath, "/etc/shadow"));
}

TEST(PythonNamespaces, OwnNamespacesAndCopiesAreLeftAlone) {
  for (const char* code : {
           R"py(import copy
class A:
    def __init__(self, **kw): self.__dict__.update(kw)
    def copy(self): return A(**vars(self))
    def as_dict(self): return {k: v for k, v in vars(self).items() if not k.startswith('_')}
    def merged(self): return {**self.__dict__, **{'a': 1}}
print(A(a=1).copy().as_dict(), A(b=2).merged()))py",
           R"py(import math, types, operator
ns = types.SimpleNamespace(**{'a': 1})
print(ns.a, operator.itemgetter(1)([1, 2]), {k: v for k, v in vars(math).items() if not k.startswith('_')}['pi']))py",
           R"py(import argparse
p = argparse.ArgumentParser()
args = p.parse_args([])
config = {**vars(args), 'x': 1}
print(dict(vars(args)), config))py",
           R"py(import os
print(len(vars(os)), 'system' in vars(os), sorted(vars(os)), os.__dict__.keys())
for k in vars(os): print(k))py",
           R"py(import functools
class A: b = None
print(functools.reduce(getattr, ['b'], A), getattr(A, 'b', None)))py",
           R"py(import os, logging
level = getattr(logging, os.environ.get('LEVEL', 'INFO'))
print(level, os.path.join('a', getattr(os, 'sep'))))py",
           R"py(import pickle
dumps = pickle.dumps
pickle.loads(dumps(1)))py",
           R"py(import pickle as p
x = p.loads(p.dumps({'a': 1}, protocol=2)))py",
           R"py(import pickle
x = [1]
y = pickle.loads(pickle.dumps(x)))py",
           R"py(import os
print(', '.join(sorted(vars(os))), ' '.join(vars(os)))
opts = {'a': 1} | {'b': 2}
print(opts['b'], {**opts, 'c': 3}['c'], opts.copy()))py",
           R"py(import os, sys
parts = [*os.listdir('.'), *'a b'.split()]
print(*sorted(parts), *map(str, [1]), ''.join([*'abc']))
for name, module in sys.modules.items(): print(name, module.__name__)
print('os' in sys.modules, len(sys.modules), sys.modules.get('x'))
def run(app): app.run(); return vars(app)
print([v for k, v in vars(run).items()]))py"})
    EXPECT_FALSE(has_error(code, VerifyLevel::kDefault)) << code << "\n" << describe(code);
}

}  // namespace
}  // namespace hotcell::python
