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
print(opts['b'], {**opts, 'c': 3}['c'], opts.copy()))py"})
    EXPECT_FALSE(has_error(code, VerifyLevel::kDefault)) << code << "\n" << describe(code);
}

}  // namespace
}  // namespace hotcell::python
