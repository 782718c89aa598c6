// Single mechanisms of the analyser: what a name means, what a constant is.
#include <gtest/gtest.h>

#include <algorithm>

#include "languages/analysers.h"
#include "languages/javascript/facts_model.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

std::vector<Fact> facts_of(const std::string& source, Grammar grammar = Grammar::kJavascript) {
  auto tree = parse_source(grammar, source);
  EXPECT_TRUE(tree.ok());
  EXPECT_FALSE(tree.value().has_error()) << source;
  return javascript_facts(tree.value());
}

#define EXPECT_FACT(source, kind, name)                              \
  do {                                                               \
    auto facts_ = facts_of(source);                                  \
    EXPECT_TRUE(has_fact(facts_, FactKind::kind, name)) << source << "\n" \
                                                   << words_of(facts_); \
  } while (false)

TEST(JavascriptNames, ModulesAreKnownByEveryWayToLoadThem) {
  EXPECT_FACT("require('node:fs')", kImport, "fs");
  EXPECT_FACT("import fs from 'fs'; fs.readFileSync('/x')", kUse, "fs.readFileSync");
  EXPECT_FACT("import * as f from 'fs'; f.readFileSync('/x')", kUse, "fs.readFileSync");
  EXPECT_FACT("import {exec as e} from 'child_process'; e('x')", kUse, "child_process.exec");
  EXPECT_FACT("export * from 'net'", kImport, "net");
  EXPECT_FACT("export {x} from 'net'", kImport, "net");
  EXPECT_FACT("import('x').then(m => m.y())", kUse, "x.y");
  EXPECT_FACT("async function f() { const {exec} = await import('child_process'); exec('a') }", kUse,
              "child_process.exec");
  EXPECT_FACT("module.constructor._load('a')", kImport, "a");
  EXPECT_FACT("process.mainModule.require('a')", kImport, "a");
  EXPECT_FACT("module.require('a')", kImport, "a");
  EXPECT_FACT("require('module').createRequire('/')('a')", kImport, "a");
  EXPECT_FACT("import {createRequire} from 'node:module'; const r = createRequire(import.meta.url); r('a')", kImport,
              "a");
  EXPECT_FACT("process.getBuiltinModule('a')", kImport, "a");
  EXPECT_FACT("require.call(null, 'a')", kImport, "a");
  EXPECT_FACT("require.apply(null, ['a'])", kImport, "a");
  EXPECT_FACT("Reflect.apply(require, null, ['a'])", kImport, "a");
  EXPECT_FACT("(r => r('a'))(require)", kImport, "a");
  EXPECT_FACT("(() => require)()('a')", kImport, "a");
  EXPECT_FACT("const {require: r} = module; r('a')", kImport, "a");
  EXPECT_FACT("x = require; x('a')", kImport, "a");
}

TEST(JavascriptNames, ConstantsAreFolded) {
  for (const char* name : {
           "'child_' + 'process'",
           "`child_${'process'}`",
           "['child', 'process'].join('_')",
           "'ssecorp_dlihc'.split('').reverse().join('')",
           "[...'ssecorp_dlihc'].reverse().join('')",
           "String.fromCharCode(99,104,105,108,100) + '_process'",
           "atob('Y2hpbGRfcHJvY2Vzcw==')",
           "Buffer.from('Y2hpbGRfcHJvY2Vzcw==', 'base64').toString()",
           "Buffer.from('6368696c645f70726f63657373','hex').toString('utf8')",
           "Buffer.from([99,104,105,108,100,95,112,114,111,99,101,115,115]).toString()",
           "['x','child_process'][1]",
           "'\\x63hild_process'",
           "'\\u0063hild_proces\\u{73}'",
           "'node:child_process'",
           "'CHILD_PROCESS'.toLowerCase()",
           "'child-process'.replace('-', '_')",
           "'cxhxixlxd_process'.replace(/x/g, '')",
           "'child_processXX'.slice(0, 13)",
           "decodeURIComponent('child%5fprocess')",
           "({a: 'child_process'}).a",
           "'child'.concat('_process')",
           "[99,104,105,108,100].map(c => String.fromCharCode(c)).join('') + '_process'",
           "JSON.parse('\"child_process\"')",
           "new TextDecoder().decode(new Uint8Array([99,104,105,108,100,95,112,114,111,99,101,115,115]))",
       })
    EXPECT_FACT(std::string("require(") + name + ")", kImport, "child_process");
  EXPECT_FACT("const a = 'child', b = '_process'; const c = a + b; require(c)", kImport, "child_process");
  EXPECT_FACT("const cp = require('child_process'); cp['ex' + 'ec']('x')", kUse, "child_process.exec");
}

TEST(JavascriptNames, WhatIsDeclaredHereIsNotTheGlobal) {
  for (const char* source :
       {"function process(x) { return x } process.exit = 1; process(2)",
        "const eval2 = 1; function f(require) { require('child_process') }", "function f(eval_) {} class Function2 {}",
        "for (const process of list) process.kill()", "try {} catch (process) { process.kill(1) }",
        "const fetch = x => x; fetch('http://a.b')", "import {exec} from './mine'; exec('ls')",
        "class A { process() { this.process() } eval() {} }"}) {
    auto facts = facts_of(source);
    for (const Fact& f : facts)
      EXPECT_FALSE(f.name.starts_with("process.") || f.name == "child_process" || f.name == "fetch" || f.name == "eval")
          << source << "\n" << words_of(facts);
  }
}

TEST(JavascriptNames, AGlobalHasManyNames) {
  EXPECT_FACT("globalThis['ev' + 'al']('1')", kUse, "eval");
  EXPECT_FACT("global.process.kill(1)", kUse, "process.kill");
  EXPECT_FACT("(0, eval)('1')", kUse, "eval");
  EXPECT_FACT("\\u0065val('1')", kUse, "eval");
  EXPECT_FACT("(function () { return this })().process.kill(1)", kUse, "process.kill");
  EXPECT_FACT("Reflect.get(globalThis, 'process').kill(1)", kUse, "process.kill");
  EXPECT_FACT("Object.getOwnPropertyDescriptor(globalThis, 'process').value.kill(1)", kUse, "process.kill");
  EXPECT_FACT("Function('return process')().kill(1)", kUse, "process.kill");
  EXPECT_FACT("[].constructor.constructor('return this')().process.kill(1)", kUse, "process.kill");
}

TEST(JavascriptNames, TheConstructorOfAFunctionMakesFunctions) {
  for (const char* source :
       {"new Function('return 1')", "Function('return 1')()", "[].constructor.constructor('return 1')()",
        "(function(){}).constructor('return 1')()", "(async () => {}).constructor('return 1')",
        "''.sub.constructor('return 1')()", "({}).toString.constructor('return 1')()",
        "Object.getPrototypeOf(async function(){}).constructor('return 1')()",
        "Reflect.construct(Function, ['return 1'])", "const F = Function; new F('return 1')",
        "this.constructor.constructor('return 1')()", "(1).constructor.constructor('return 1')()",
        "Function.call(null, 'return 1')", "Function`return 1`", "x.constructor.constructor('a')",
        "console.log.constructor('return 1')()", "[]['constructor']['constructor']('return 1')()"})
    EXPECT_FACT(source, kConstruct, "function-constructor");
}

TEST(JavascriptCode, ConstantsThatAreRunAreReadToo) {
  for (const char* source :
       {"eval(\"require('child_process')\")", "eval(\"eval(\\\"require('child_process')\\\")\")",
        "setTimeout(\"require('child_process')\", 1)", "require('vm').runInThisContext(\"require('child_process')\")",
        "new Function(\"require('child_process')\")",
        "const {Worker} = require('worker_threads'); new Worker(\"require('child_process')\", {eval: true})",
        "import('data:text/javascript,import \"child_process\"')",
        "module._compile(\"require('child_process')\", 'x')"})
    EXPECT_FACT(source, kImport, "child_process");
  EXPECT_FACT("eval(x)", kConstruct, "dynamic-code");
  EXPECT_FACT("eval('(((')", kConstruct, "unparsable-code");
  auto facts = facts_of("setTimeout(() => 1, 5); setInterval(f, 1); eval(`1`)");
  EXPECT_FALSE(has_fact(facts, FactKind::kConstruct, "dynamic-code")) << words_of(facts);
}

TEST(JavascriptFacts, PathsAreNormalised) {
  EXPECT_FACT("require('fs').readFileSync('/etc//x/../passwd')", kReadPath, "/etc/passwd");
  EXPECT_FACT("require('fs').readFileSync(process.env.HOME + '/.ssh/id_rsa')", kReadPath, "~/.ssh/id_rsa");
  EXPECT_FACT("const os = require('os'), p = require('path'); require('fs').readFileSync(p.join(os.homedir(), '.x'))",
              kReadPath, "~/.x");
  EXPECT_FACT("const p = require('path'); require('fs').writeFileSync(p.join(__dirname, '..', '..', 'x'), '')",
              kWritePath, "../../x");
  EXPECT_FACT("require('fs').openSync('/x/y', 'w')", kWritePath, "/x/y");
  EXPECT_FACT("require('fs').openSync('/x/y')", kReadPath, "/x/y");
  EXPECT_FACT("require('fs/promises').rm('/x')", kWritePath, "/x");
  EXPECT_FACT("require('fs').promises.copyFile('/a', '/b')", kWritePath, "/b");
  EXPECT_FACT("require('fs').writeFileSync(process.env.OUT, '')", kWritePath, "$OUT");
  EXPECT_FACT("Deno.readTextFile('/x')", kReadPath, "/x");
  EXPECT_FACT("Bun.write('/x', '')", kWritePath, "/x");
}

TEST(JavascriptFacts, CommandsAndHosts) {
  auto facts = facts_of("require('child_process').spawn('sh', ['-c', 'id']); fetch('http://a.example/'); "
                        "require('https').get({hostname: 'b.example', path: '/'}); new WebSocket('ws://c.example')");
  EXPECT_TRUE(has_fact(facts, FactKind::kCommand, "sh", "sh -c id")) << words_of(facts);
  EXPECT_TRUE(has_fact(facts, FactKind::kHost, "http://a.example/"));
  EXPECT_TRUE(has_fact(facts, FactKind::kHost, "b.example"));
  EXPECT_TRUE(has_fact(facts, FactKind::kHost, "ws://c.example"));
}

TEST(Typescript, TypesAreNotCode) {
  auto facts = facts_of(
      "import type {ChildProcess} from 'child_process'; import {type Y} from 'vm'; export type {Q} from 'net';\n"
      "let x: typeof import('dgram'); interface I { eval(s: string): Function } type T = {process: string};\n"
      "declare const D: any; function f(a: Function, b?: typeof eval): void {}\n",
      Grammar::kTypescript);
  for (const Fact& f : facts) EXPECT_TRUE(f.kind != FactKind::kImport && f.name != "eval") << words_of(facts);
}

TEST(Typescript, CastsHideNothing) {
  EXPECT_TRUE(has_fact(facts_of("(require as any)('child_' + 'process')", Grammar::kTypescript), FactKind::kImport,
                  "child_process"));
  EXPECT_TRUE(has_fact(facts_of("import cp = require('child_process'); cp!.exec('x')", Grammar::kTypescript), FactKind::kUse,
                  "child_process.exec"));
  EXPECT_TRUE(has_fact(facts_of("(<any>globalThis)['eval']('x')", Grammar::kTypescript), FactKind::kUse, "eval"));
  EXPECT_TRUE(
      has_fact(facts_of("declare var process: any; process.kill(1)", Grammar::kTypescript), FactKind::kUse, "process.kill"));
  EXPECT_TRUE(has_fact(facts_of("const a = <b onClick={() => eval(x)}/>", Grammar::kTsx), FactKind::kUse, "eval"));
}

TEST(JavascriptLimits, HostileShapesEnd) {
  std::string sum = "x = 'a'";
  for (int i = 0; i < 20000; ++i) sum += "+'a'";
  std::string chain = "a", names = "let v0 = require;\n", scopes, call = "f";
  for (int i = 0; i < 20000; ++i) chain += ".b";
  for (int i = 1; i < 3000; ++i) names += "let v" + std::to_string(i) + " = v" + std::to_string(i - 1) + ";\n";
  for (int i = 0; i < 2000; ++i) scopes += "{ let x = 1; x;";
  scopes += std::string(2000, '}');
  for (int i = 0; i < 3000; ++i) call += "(f";
  call += std::string(3000, ')');
  std::string twice = "let a0 = 'xxxxxxxxxxxxxxxx';\n";
  for (int i = 1; i < 60; ++i)
    twice += "let a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + a" + std::to_string(i - 1) + ";\n";
  for (const std::string& s :
       {sum, chain, names, scopes, call, twice + "require(a59)", std::string("let a = b; let b = a; a()"),
        std::string("(((("), std::string("x = {get a() {"), std::string(3000, '['),
        std::string("var \\u0061;"), std::string("var \\u202e \\u2066")}) {
    auto tree = parse_source(Grammar::kJavascript, s);
    ASSERT_TRUE(tree.ok());
    EXPECT_LT(javascript_facts(tree.value()).size(), 100000u);
  }
}

TEST(Javascript, ADeclarationWithoutAValueMayBeSpelledWithEscapes) {
  EXPECT_TRUE(has_fact(facts_of("var \\u0061; a = 'child_' + 'process'; require(a)"), FactKind::kImport, "child_process"));
}

TEST(JavascriptLimits, WhatStandsBeforeALotOfCodeIsStillSeen) {
  std::string s = "globalThis['ev' + 'al'](x); require('child_' + 'process');\n";
  for (int i = 0; i < 60000; ++i) s += "console.log.a.b('some text', x.y.z);\n";
  auto facts = facts_of(s);
  EXPECT_TRUE(has_fact(facts, FactKind::kUse, "eval"));
  EXPECT_TRUE(has_fact(facts, FactKind::kImport, "child_process"));
  EXPECT_FALSE(has_fact(facts, FactKind::kUnreadable, "its constants are more than can be put together"));
}

TEST(JavascriptText, NestedRepetition) {
  using javascript::has_nested_repetition;
  EXPECT_TRUE(has_nested_repetition("(a+)+$"));
  EXPECT_TRUE(has_nested_repetition("(x(a*))*"));
  EXPECT_FALSE(has_nested_repetition("^[a+]+\\(a+\\)+b*$"));
  EXPECT_FALSE(has_nested_repetition("(ab)+c+(d|e)"));
}

}  // namespace
