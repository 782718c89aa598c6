// Code that is made while the program runs: by Function under other names, by files that it writes, by URLs that are code.
#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged look(const std::string& source, VerifyLevel level) {
  static const std::vector<Rule> rules = rules_of("javascript");
  return judge_source(Grammar::kJavascript, javascript_facts, rules, source, level);
}

const char* const kFunctions[] = {
    R"js((async()=>{}).constructor('return process')())js",
    R"js(Object.getPrototypeOf(function*(){}).constructor('x')())js",
    R"js(Object.getPrototypeOf(async function(){}).constructor('x'))js",
    R"js(const F = Function; new F('x')())js",
    R"js(const F = Function; F('x')())js",
    R"js(globalThis['Fun'+'ction']('x')())js",
    R"js(Reflect.construct(Function, ['x'])())js",
    R"js(Reflect.apply(Function, null, ['x'])())js",
    R"js(Reflect.construct(globalThis.Function, ['x'])())js",
    R"js(Function.prototype.constructor('x')())js",
    R"js(Function.call(null, 'x')())js",
    R"js(Function.apply(null, ['x'])())js",
    R"js(Function.bind(null, 'x')()())js",
    R"js([].map.constructor('x')())js",
    R"js(''.sub.constructor('x')())js",
    R"js((()=>{})['constructor']('x')())js",
    R"js(const {constructor} = ()=>{}; constructor('x')())js",
    R"js(const {constructor: C} = function(){}; C('x')())js",
    R"js(Object.getOwnPropertyDescriptor(Function.prototype, 'constructor').value('x')())js",
    R"js(new Function('a', 'return a')(1))js",
    R"js(const g = (function(){return this})(); g.Function('x')())js",
    R"js(new (Object.getPrototypeOf(async()=>{}).constructor)('x'))js",
    R"js(const AsyncFunction = Object.getPrototypeOf(async function(){}).constructor; await new AsyncFunction('x')())js",
    R"js(const AsyncFunction = (async () => {}).constructor; new AsyncFunction('x')())js",
    R"js(Reflect.get(globalThis, 'Function')('x')())js",
    R"js(Reflect.getPrototypeOf(()=>{}).constructor('x')())js",
    R"js((function*(){}).__proto__.constructor('x'))js",
    R"js(const fn = () => {}; fn.constructor('x')())js",
    R"js(function fn() {} fn.constructor('x')())js",
    R"js(class A {} A.constructor('x')())js",
};
const char* const kOthers[] = {
    R"js(import('data:text/javascript,console.log(1)'))js",
    R"js(import x from 'data:text/javascript,console.log(1)')js",
    R"js(import('data:text/javascript;base64,' + b))js",
    R"js(require('vm').runInNewContext('x'))js",
    R"js(const vm = require('vm'); new vm.Script('x').runInThisContext())js",
    R"js(vm = require('node:vm'); vm.compileFunction('x'))js",
    R"js(const { Worker } = require('worker_threads'); new Worker(new URL('data:text/javascript,x')))js",
    R"js(module.constructor._load('child_process').exec('id'))js",
    R"js(module.constructor._load('fs'))js",
    R"js(process.mainModule.require('child_process').exec('id'))js",
    R"js(require('module')._load('child_process').exec('id'))js",
    R"js(require('module').createRequire(__filename)('child_process').exec('id'))js",
};
const char* const kWritten[] = {
    R"js(const fs = require('fs'); fs.writeFileSync('./x.js', code); require('./x.js'))js",
    R"js(const fs = require('fs'); fs.writeFileSync('x.js', 'module.exports = 1'); require('./x'))js",
    R"js(const fs = require('fs'); fs.writeFileSync('/tmp/x.js', "require('child_process').exec('id')"); require('/tmp/x.js'))js",
    R"js(import fs from 'fs'; fs.writeFileSync('x.mjs', c); await import('./x.mjs'))js",
    R"js(const fs = require('fs'); const p = './gen.js'; fs.writeFileSync(p, c); require(p))js",
    R"js(const fs = require('fs').promises; await fs.writeFile('m.js', c); require('./m.js'))js",
    R"js(const fs = require('fs'); fs.appendFileSync('m.cjs', c); require('./m'))js",
    R"js(const fs = require('fs'); fs.createWriteStream('m.js').end(c); require('./m'))js",
    R"js(const fs = require('fs'); fs.writeFileSync('a.txt', c); fs.renameSync('a.txt', 'b.js'); require('./b.js'))js",
    R"js(const fs = require('fs'), path = require('path'); fs.writeFileSync(path.join(__dirname, 'z.js'), c); require(path.join(__dirname, 'z.js')))js",
    R"js(const fs = require('fs'), os = require('os'), path = require('path'); const f = path.join(os.tmpdir(), 'z.js'); fs.writeFileSync(f, c); require(f))js",
    R"js(const { Worker } = require('worker_threads'), fs = require('fs'); fs.writeFileSync('./w.js', c); new Worker('./w.js'))js",
    R"js(const fs = require('fs'); fs.mkdirSync('node_modules/x'); fs.writeFileSync('node_modules/x/index.js', c); require('x'))js",
    R"js(const fs = require('fs'); fs.writeFileSync('/tmp/x.mjs', c); import('file:///tmp/x.mjs'))js",
    R"js(const { writeFileSync: w } = require('node:fs'); w('./g.js', c); module.require('./g'))js",
    R"js(import { writeFile } from 'node:fs/promises'; await writeFile('./g.mjs', c); const m = await import('./g.mjs');)js",
    R"js(const fs = require('fs'); const fd = fs.openSync('./g.js', 'w'); fs.writeSync(fd, c); require('./g'))js",
    R"js(const fs = require('fs'); fs.writeFileSync(`${__dirname}/g.js`, c); require(`${__dirname}/g.js`))js",
    R"js(const fs = require('fs'); fs['write' + 'FileSync']('g.js', c); require('./g.js'))js",
    R"js(const fs = require('fs'); fs.writeFileSync('g.js', c); process.mainModule.require('./g.js'))js",
};
const char* const kOrdinary[] = {
    R"js(const { Worker } = require('worker_threads'); new Worker('./w.js'))js",
    R"js(class A { m() { return this.constructor.name } } new A().constructor.name)js",
    R"js(const a = [1]; console.log(a.constructor === Array, (5).constructor.name); class B { clone() { return new this.constructor(); } })js",
    R"js(const fs = require('fs'); fs.writeFileSync('out.json', '{}'); const d = require('./data.json'); const l = require('./lib');)js",
    R"js(const fs = require('fs'); fs.writeFileSync('dist/bundle.js', 'x'); const l = require('./lib.js');)js",
    R"js(const { Worker, isMainThread } = require('worker_threads'); if (isMainThread) new Worker(__filename);)js",
    R"js(setTimeout(() => {}, 0); const F = x => x; new Map(); Reflect.construct(Map, []); Reflect.apply(Math.max, null, [1]);)js",
    R"js(const fs = require('fs'); fs.writeFileSync('cfg.json', '{}'); const cfg = require('./cfg.json'); fs.mkdirSync('./lib'); const l = require('./lib'); fs.readFileSync('./a.js'); const a = require('./a.js'); fs.unlinkSync('./b.js');)js",
};

TEST(JavascriptMadeCode, FunctionUnderEveryName) {
  for (const char* source : kFunctions) {
    auto found = look(source, VerifyLevel::kDefault);
    EXPECT_TRUE(found.has("js-function-constructor", "error")) << source << "\n" << found.words();
  }
}

TEST(JavascriptMadeCode, OtherWaysToCode) {
  for (const char* source : kOthers)
    for (VerifyLevel level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(look(source, level).count("error"), 0) << source;
  EXPECT_TRUE(look("const { Worker } = require('worker_threads'); new Worker('x', {['ev' + 'al']: true})", VerifyLevel::kStrict)
                  .has("js-eval-constant", "error"));
}

TEST(JavascriptMadeCode, AFileThatItWritesAndLoads) {
  for (const char* source : kWritten) {
    auto found = look(source, VerifyLevel::kDefault);
    EXPECT_TRUE(found.has("js-writes-module", "error")) << source << "\n" << found.words();
  }
}

TEST(JavascriptMadeCode, OrdinaryProgramsHaveNoErrors) {
  for (const char* source : kOrdinary) {
    auto found = look(source, VerifyLevel::kDefault);
    EXPECT_EQ(found.count("error"), 0) << source << "\n" << found.words();
  }
}

}  // namespace
