// What the rules say of whole programs: hostile ones, ordinary ones, and the shared data.
#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged look(const std::string& source, VerifyLevel level = VerifyLevel::kDefault,
            Grammar grammar = Grammar::kJavascript) {
  static const std::vector<Rule> rules = rules_of("javascript");
  return judge_source(grammar, javascript_facts, rules, source, level);
}

const char* const kHostile[] = {
    "const f = (o, n) => { let e = n[0]; for (let i = 0; i < o.length; i++) e += o[i] + n[i + 1]; return eval(e) }\n"
    "f(['.execSync'], [\"require('child_process')\", \"('id')\"])",
    "const f = x => eval(x); f(atob(input))",
    "const f = x => eval(x); f((![]+[])[1])",
    "const f = n => eval(n.toString(36)); f(527986)",
    "require('child_process').exec('id')",
    "const {exec: e} = require('child_process'); e('id')",
    "import {spawn} from 'node:child_process'; spawn('sh')",
    "import cp from 'child_process'; cp.execFile('/bin/sh')",
    "export * from 'child_process'",
    "require('chi' + 'ld_process')",
    "const m = ['child', 'process'].join('_'); require(m).execSync('id')",
    "require(Buffer.from('Y2hpbGRfcHJvY2Vzcw==', 'base64').toString())",
    "require(process.argv[2])",
    "require(name)",
    "import(globalName)",
    "const r = require; r(x + 'process')",
    "(0, eval)(input)",
    "globalThis['ev' + 'al'](x)",
    "window.eval(userText)",
    "const e = eval; e(process.argv[2])",
    "['1'].map(eval)",
    "setTimeout('require(\"child_process\").exec(\"id\")', 1)",
    "setInterval('x' + y, 5)",
    "new Function('return process')().exit()",
    "Function('a', code)(1)",
    "(async function(){}).constructor('return 1')()",
    "[]['filter']['constructor']('return this')()",
    "[].constructor.constructor('return process')().mainModule.require('child_process')",
    "this.constructor.constructor('return process')()",
    "['return process'].map(Function)",
    "Reflect.construct(Function, ['return process'])()",
    "Reflect.apply(eval, null, [x])",
    "process.binding('spawn_sync')",
    "process._linkedBinding('fs')",
    "process.dlopen({exports: {}}, '/tmp/x.node')",
    "require('./build/Release/addon.node')",
    "process[name]('fs')",
    "globalThis[k](x)",
    "process['bind' + 'ing']('fs')",
    "module.constructor._load('child_process')",
    "process.mainModule.require('child_process')",
    "require('module')._load('fs')",
    "require('module')._extensions['.js'] = f",
    "require('vm').runInNewContext('1')",
    "const vm = require('vm'); new vm.Script(x).runInThisContext()",
    "const {Worker} = require('worker_threads'); new Worker(code, {eval: true})",
    "require('inspector')",
    "require('v8').setFlagsFromString('--allow-natives-syntax')",
    "require('fs').readFileSync('/etc/passwd')",
    "require('fs').readFileSync('/proc/self/environ', 'utf8')",
    "const os = require('os'); require('fs').readFileSync(os.homedir() + '/.ssh/id_rsa')",
    "require('fs').writeFileSync('/etc/cron.d/x', '* * * * * root id')",
    "require('fs').appendFileSync(process.env.HOME + '/.bashrc', 'x')",
    "require('fs').writeFileSync(process.env.PROBE_OUT, 'x')",
    "console.log(require('fs').readFileSync(process.env.PROBE_SECRET, 'utf8'))",
    "require('fs').rmSync('/', {recursive: true, force: true})",
    "require('fs/promises').unlink('/usr/bin/node')",
    "require('fs').writeFileSync('node_modules/x/index.js', 'x')",
    "require('fs').symlinkSync('/etc/shadow', '/var/x')",
    "process.kill(1, 'SIGKILL')",
    "process.setuid(0)",
    "a.__proto__.polluted = 1",
    "process.env.NODE_OPTIONS = '--require ./x.js'",
    "Error.prepareStackTrace = (e, frames) => frames[0].getThis()",
    "new Proxy(process, {})",
    "Reflect.get(globalThis, key)(x)",
    "fetch('http://169.254.169.254/latest/meta-data/')",
    "Deno.run({cmd: ['id']})",
    "new Deno.Command('id').outputSync()",
    "Bun.spawn(['id'])",
    "Deno.writeTextFileSync('/etc/passwd', '')",
    "import('data:text/javascript,import(\"child_process\")')",
    "module._compile(source, 'x.js')",
    "import {createRequire} from 'module'; createRequire(import.meta.url)('child_process')",
    "eval(atob('cmVxdWlyZSgiY2hpbGRfcHJvY2VzcyIp'))",
    "\\u0065val(x)",
    "require('\\x63hild_process')",
    "const {\u3164} = req.query; run(\u3164)",
    "let a = 1; /* \u202e } \u2066if (isAdmin)\u2069 \u2066 begin */ a = 2",
    "// hidden\u2028require('child_process').exec('id')",
    "x.then(m => m.execSync('id'))",
    "process.getBuiltinModule('child_process').execSync('id')",
    "class A { static { require('child_process').exec('id') } }",
    "const o = {get x() { return eval }}; o.x(y)",
    "`${require('child_process').execSync('id')}`",
    "function f(a = require('child_process')) {} f()",
    "label: { require('child_process') }",
    "execa.execa; require('execa')('id')",
    "new (class extends Function {})('return process')()",
    "var h = Function.call.bind(Function); h(null, 'return process')()",
    "var h = Function.prototype.call.bind(require('child_process').exec); h(null, 'id')",
    "require('cluster').setupPrimary({exec: '/bin/sh', args: ['-c', 'id']}); require('cluster').fork()",
};

TEST(JavascriptRules, HostileProgramsAreErrorsAtEveryLevel) {
  for (const char* source : kHostile) {
    auto d = look(source), s = look(source, VerifyLevel::kStrict);
    EXPECT_TRUE(!d.parsed || d.count("error") > 0) << "default: " << source << "\n" << d.words();
    EXPECT_TRUE(!s.parsed || s.count("error") > 0) << "strict: " << source << "\n" << s.words();
  }
}

const char* const kBenign[] = {
    "var has = Object.hasOwn || Function.call.bind(Object.prototype.hasOwnProperty); console.log(has({a: 1}, 'a'))",
    "var has = Function.call.bind(Object.prototype.hasOwnProperty); if (has({a: 1}, 'a')) console.log(1)",
    "var slice = Function.call.bind(Array.prototype.slice); console.log(slice([1, 2], 1))",
    "class A{constructor(){this.x=1}};console.log(new A().x, new A().constructor.name)",
    "// eval(x); require('child_process')\nconsole.log(1 + 1)",
    "const s = \"require('child_process').exec('rm -rf /')\"; console.log(s)",
    "const re = /eval\\(.*\\)/; console.log(re.exec('eval(1)'))",
    "const evaluate = x => x * 2; evaluate(3)",
    "function process(items) { return items.map(i => i + 1) } console.log(process([1]))",
    "const process = data => data; process(1)",
    "class Runner { exec(x) { return x } run() { return this.exec(1) } }",
    "db.exec('SELECT 1'); /a/.exec('a'); cursor.execute('x')",
    "const fs = require('fs'); fs.writeFileSync('out.txt', 'x'); console.log(fs.readFileSync('out.txt', 'utf8'))",
    "const fs = require('fs'); const text = fs.readFileSync(0, 'utf8'); console.log(text.length)",
    "const lines = require('fs').readFileSync('/dev/stdin', 'utf8').split('\\n')",
    "const path = require('path'); const p = path.join(__dirname, 'data', 'x.json'); require('fs').existsSync(p)",
    "import fs from 'node:fs/promises'; const d = await fs.readFile(new URL('./data.json', import.meta.url), 'utf8')",
    "const rl = require('readline').createInterface({input: process.stdin}); rl.on('line', l => console.log(l)); "
    "rl.on('close', () => process.exit(0))",
    "const {PORT = 3000, HOST} = process.env; console.log(PORT, HOST)",
    "const port = process.env.PORT || 3000; console.log(port)",
    "const {add} = require('./math'); console.log(add(1, 2))",
    "const x = require(`./locales/${lang}.json`)",
    "setTimeout(() => console.log('later'), 100); setInterval(tick, 1000); function tick() {}",
    "async function main() { for (let i = 0; i < 3; i++) await new Promise(r => setTimeout(r, 1)); } "
    "main().catch(console.error)",
    "function* ids() { let i = 0; while (true) yield i++; } const [a, b] = ids();",
    "const memo = new Map(); const fib = n => n < 2 ? n : memo.get(n) ?? (memo.set(n, fib(n - 1) + fib(n - 2)), "
    "memo.get(n));",
    "const o = JSON.parse('{\"a\": [1, 2, {\"b\": null}]}'); console.log(JSON.stringify(o, null, 2))",
    "class Stack extends Array { peek() { return this[this.length - 1] } } new Stack().push(1)",
    "const debounce = (fn, ms) => { let t; return (...args) => { clearTimeout(t); t = setTimeout(() => fn.apply(this, "
    "args), ms) } }",
    "Array.prototype.slice.call(arguments, 1); Object.prototype.hasOwnProperty.call(o, 'k')",
    "if (x instanceof Function || typeof x === 'function') x()",
    "const props = {type: Function, default: () => {}}; export default {props}",
    "const m = s.match(/^([a-z]+)-(\\d{1,3})$/i); if (m) console.log(m[1])",
    "const word = 'child_process is a module'; console.log(word.split(' ').reverse().join(' '))",
    "const key = 'a' + 'b'; obj[key] = 1; obj['x' + i] = 2",
    "const h = require('crypto').createHash('sha256').update('x').digest('hex'); console.log(h)",
    "const EventEmitter = require('events'); class E extends EventEmitter {} new E().emit('exec')",
    "const {performance} = require('perf_hooks'); performance.now()",
    "const util = require('util'); const sleep = util.promisify(setTimeout); sleep(1)",
    "const assert = require('assert'); assert.deepStrictEqual([1], [1])",
    "const {Readable} = require('stream'); Readable.from(['a']).pipe(process.stdout)",
    "const os = require('os'); console.log(os.cpus().length, os.platform())",
    "const zlib = require('zlib'); zlib.gzipSync('x')",
    "module.exports = {sum: (a, b) => a + b}; exports.x = 1",
    "if (require.main === module) main(); function main() {}",
    "const t = require('node:test'); t('adds', () => {})",
    "describe('exec', () => { it('evals', () => { expect(evaluate('1+1')).toBe(2) }) })",
    "const a = [5, 3, 1]; a.sort((x, y) => x - y); const [min, ...rest] = a; const {length} = rest",
    "const grid = Array.from({length: 3}, () => new Array(3).fill(0)); grid[1][2] = 4",
    "try { JSON.parse('{') } catch (e) { console.error(e.constructor.name, e.message) } finally { }",
    "const clone = Object.assign(Object.create(Object.getPrototypeOf(o)), o); Object.freeze(clone)",
    "const handler = {get: (t, k) => k in t ? t[k] : 0}; const p = new Proxy({}, handler); p.x",
    "Reflect.ownKeys({a: 1}).forEach(k => console.log(k)); Reflect.get(o, 'x')",
    "const b = Buffer.from('aGVsbG8=', 'base64').toString('utf8'); console.log(b, btoa('x'), atob('eA=='))",
    "const tpl = (s, ...v) => s.raw.join('|') + v; console.log(tpl`a${1}b`)",
    "outer: for (const x of xs) { for (const y of ys) { if (x === y) continue outer; } }",
    "const bin = (5).toString(2).padStart(8, '0'); parseInt(bin, 2); String.fromCharCode(65)",
    "const i = new Intl.DateTimeFormat('en').format(new Date()); new Date().toISOString()",
    "const uniq = [...new Set(list)]; const groups = list.reduce((m, x) => ({...m, [x]: (m[x] || 0) + 1}), {})",
    "const app = require('express')(); app.get('/', (req, res) => res.json({ok: true})); "
    "app.use(express.static('public'))",
    "const compiled = template.compile('x'); compiled({a: 1}); vm.run(); const kill = 1",
    "let n = null; const v = n?.a?.[0]?.() ?? 'none'; n ||= {}; n.count = (n.count ?? 0) + 1",
    "const f = function fact(n) { return n <= 1 ? 1 : n * fact(n - 1) }; f(5)",
    "const ws = require('fs').createWriteStream(process.env.OUTPUT_PATH); ws.write('1\\n'); ws.end()",
    "require('fs').mkdirSync('build/out', {recursive: true}); require('fs').rmSync('build', {recursive: true})",
    "const tmp = require('fs').mkdtempSync(require('path').join(require('os').tmpdir(), 'x-'))",
};

TEST(JavascriptRules, OrdinaryProgramsAreQuiet) {
  for (const char* source : kBenign) {
    auto d = look(source);
    EXPECT_TRUE(d.parsed) << source;
    EXPECT_EQ(d.count("error") + d.count("warning"), 0) << source << "\n" << d.words();
  }
}

TEST(JavascriptRules, TheNetworkIsAWarningAndUnderStrictAnError) {
  for (const char* source :
       {"fetch('https://api.example.com/x').then(r => r.json())",
        "const http = require('http'); http.createServer((q, s) => s.end('x')).listen(8080)",
        "const s = require('net').connect(80, 'a.example')", "new WebSocket('wss://a.example')",
        "const axios = require('axios'); axios.get(url)",
        "const x = new XMLHttpRequest(); x.open('GET', 'http://a.example/')", "require('dns').lookup('a.example', f)",
        "const app = require('express')(); app.listen(3000)",
        "require('dgram').createSocket('udp4').send(m, 53, 'a.example')"}) {
    EXPECT_EQ(look(source).count("error"), 0) << source << look(source).words();
    EXPECT_GT(look(source).count("warning"), 0) << source << look(source).words();
    EXPECT_GT(look(source, VerifyLevel::kStrict).count("error"), 0) << source;
  }
}

TEST(JavascriptRules, StrictWantsFilesInTheWorkFolder) {
  for (const char* source :
       {"require('fs').readFileSync('../../x')", "require('fs').readdirSync('/usr/bin')",
        "require('fs').unlinkSync(name)", "console.log(process.env)", "for (const k in process.env) send(k)",
        "eval('1+1')", "with (o) { x }", "require('cluster').fork()"})
    EXPECT_GT(look(source, VerifyLevel::kStrict).count("error"), 0)
        << source << look(source, VerifyLevel::kStrict).words();
  EXPECT_EQ(look("require('fs').writeFileSync('a/b.txt', '1')", VerifyLevel::kStrict).count("error"), 0);
}

TEST(JavascriptRules, Lint) {
  EXPECT_TRUE(look("debugger").has("js-debugger"));
  EXPECT_TRUE(look("/(a+)+$/.test(x)").has("js-unsafe-regex"));
  EXPECT_TRUE(look("new RegExp('(x*)*')").has("js-unsafe-regex"));
  EXPECT_TRUE(look("location.href = 'javascript:alert(1)'").has("js-script-url"));
  EXPECT_TRUE(look("buf.readUInt8(0, true)").has("js-buffer-noassert"));
  EXPECT_TRUE(look("require('crypto').pseudoRandomBytes(8)").has("js-weak-random"));
  EXPECT_TRUE(look("eval('2 * 2')").has("js-eval-constant", "warning"));
}

// The rest of what ESLint's security plugin looks for, each with a neighbour that is fine.
TEST(JavascriptRules, HabitsThatLetOthersIn) {
  EXPECT_TRUE(look("new RegExp(process.argv[2])").has("js-computed-regex"));
  EXPECT_FALSE(look("new RegExp('a+b')").has("js-computed-regex"));
  EXPECT_FALSE(look("new RegExp(/a+b/, 'g')").has("js-computed-regex"));
  EXPECT_TRUE(look("o[name] = value", VerifyLevel::kStrict).has("js-computed-property"));
  EXPECT_FALSE(look("o[name] = value").has("js-computed-property"));
  EXPECT_FALSE(look("o['a'] = value; o[0] = value", VerifyLevel::kStrict).has("js-computed-property"));
  EXPECT_TRUE(look("if (user.password === guess) f()").has("js-timing-comparison"));
  EXPECT_TRUE(look("if (given != api_key) f(); if (given != apiToken) g()").has("js-timing-comparison"));
  EXPECT_FALSE(look("if (token === null || token === undefined || token == 'x' || token.length === n) f()").has("js-timing-comparison"));
  EXPECT_TRUE(look("const b = new Buffer(8)").has("js-old-buffer"));
  EXPECT_TRUE(look("const b = Buffer('x')").has("js-old-buffer"));
  EXPECT_FALSE(look("const b = Buffer.from('x'), c = Buffer.alloc(8)").has("js-old-buffer"));
  EXPECT_TRUE(look("template.escapeMarkup = false").has("js-escape-off", "warning"));
  EXPECT_FALSE(look("template.escapeMarkup = true").has("js-escape-off"));
  const std::string both = "const express = require('express'), app = express();";
  EXPECT_TRUE(look((both + "app.use(express.csrf()); app.use(express.methodOverride())")).has("js-csrf-order"));
  EXPECT_FALSE(look((both + "app.use(express.methodOverride()); app.use(express.csrf())")).has("js-csrf-order"));
}

// SEEDS 2.1: the blocked patterns for JavaScript, each as a program.
TEST(JavascriptRules, ACalculatorIsAWarning) {
  const char* source =
      "const f = (o, n) => { let e = n[0].toString(); for (let i = 0; i < o.length; i++) e += o[i] + n[i + "
      "1].toString(); return eval(e) }\n"
      "console.assert(f(['**', '+'], [2, 3, 4]) === 12)";
  EXPECT_TRUE(look(source).has("js-computed-expression", "warning")) << look(source).words();
  EXPECT_EQ(look(source).count("error"), 0);
  EXPECT_GT(look(source, VerifyLevel::kStrict).count("error"), 0);
}

TEST(JavascriptRules, WhatTheFoundingVerifierBlocks) {
  for (const char* source : {"require('child_process')", "const c = child_process.exec('x')",
                             "require('vm').runInNewContext('x')", "new Function ('x')", "eval(x)", "eval (x)"})
    EXPECT_GT(look(source).count("error"), 0) << source;
  EXPECT_GT(look("require('fs').unlinkSync(x)", VerifyLevel::kStrict).count("error"), 0);
  EXPECT_GT(look("require('fs').rmSync(x)", VerifyLevel::kStrict).count("error"), 0);
  EXPECT_EQ(look("// eval(x)\n/* new Function('x') */ 'child_process'").findings.size(), 0u);
}

TEST(TypescriptRules, HostileAndOrdinary) {
  for (const char* source :
       {"import * as cp from 'child_process'; cp.exec('id')", "(require as any)('child_process')",
        "const x: any = (globalThis as any)['eval']; x(y)", "import cp = require('child_process');",
        "enum E { A = eval(x) }", "class A<T> { private p = new Function('x') as T }",
        "@dec(require('child_process')) class B {}", "namespace N { export const x = process.binding('fs') }"}) {
    auto j = look(source, VerifyLevel::kDefault, Grammar::kTypescript);
    EXPECT_TRUE(j.parsed) << source;
    EXPECT_GT(j.count("error"), 0) << source << j.words();
  }
  for (const char* source :
       {"import type {ChildProcess} from 'child_process'; let p: ChildProcess | undefined;",
        "interface Shape { area(): number; eval?: Function }",
        "export class Repo<T extends {id: string}> { private items = new Map<string, T>(); add(x: T): this { "
        "this.items.set(x.id, x); return this } }",
        "type Fn = (a: number) => Promise<void>; const f: Fn = async a => { await Promise.resolve(a) };",
        "enum Color { Red = 'red', Blue = 'blue' } const c = Color.Red as const;",
        "function assertIsString(v: unknown): asserts v is string { if (typeof v !== 'string') throw new Error('x') }",
        "abstract class A { constructor(private readonly process: string) {} abstract exec(): void; run() { return "
        "this.process } }",
        "const x = <T,>(v: T): T => v; let y = x<string>('a')!; const z = y satisfies string;",
        "declare module 'foo' { export function exec(x: string): void }"}) {
    auto j = look(source, VerifyLevel::kDefault, Grammar::kTypescript);
    EXPECT_TRUE(j.parsed) << source;
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << source << j.words();
  }
  EXPECT_EQ(look("export const C = ({items}: {items: string[]}) => <ul>{items.map(i => <li key={i}>{i}</li>)}</ul>",
                 VerifyLevel::kDefault, Grammar::kTsx)
                .findings.size(),
            0u);
}

TEST(JavascriptData, TheVerifierRowsAreJudgedAsExpected) {
  for_each_row("attacks/verifier.jsonl", [](const std::string& row) {
    if (json_text(row, "lang") != "javascript" && json_text(row, "lang") != "typescript") return;
    bool flag = json_text(row, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = look(json_text(row, "code"), level);
      EXPECT_EQ(j.count("error") > 0, flag) << json_text(row, "id") << "\n" << j.words();
    }
  });
}

TEST(JavascriptData, SolvedProblemsAreClean) {
  for_each_row("humaneval-x/js.jsonl", [](const std::string& row) {
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = look(json_text(row, "prompt") + json_text(row, "canonical_solution") + json_text(row, "test"), level);
      EXPECT_TRUE(j.parsed) << json_text(row, "task_id");
      EXPECT_EQ(j.count("error"), 0) << json_text(row, "task_id") << "\n" << j.words();
    }
  });
}

}  // namespace
