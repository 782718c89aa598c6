#include "languages/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "languages/line_patterns.h"
#include "languages/policy_options.h"
#include "verify/embedded_rules.h"

namespace hotcell {
namespace {

Verification verify(std::string language, std::string source, VerifyOptions options = {}, std::string file = "f") {
  return verify_source({std::move(language), std::move(file), std::move(source), std::move(options)});
}

const Finding* find(const Verification& v, std::string_view rule) {
  auto it = std::find_if(v.findings.begin(), v.findings.end(), [&](const Finding& f) { return f.rule == rule; });
  return it == v.findings.end() ? nullptr : &*it;
}

TEST(Engine, EmptyIsCleanAndBrokenIsNever) {
  for (auto language : analysed_languages()) {
    Verification v = verify(std::string(language), "");
    EXPECT_TRUE(v.safe && v.findings.empty()) << language;
    v = verify(std::string(language), std::string("a\0b", 3));
    EXPECT_FALSE(v.safe) << language;
    EXPECT_TRUE(v.unverifiable) << language;
    if (language == "bash") continue;  // its own parser's tests say what is broken
    v = verify(std::string(language), "\n  ((((\n");
    EXPECT_TRUE(v.unverifiable) << language;
    ASSERT_NE(find(v, "unverifiable"), nullptr) << language;
    EXPECT_EQ(find(v, "unverifiable")->severity, "error");
    EXPECT_NE(find(v, "unverifiable")->message.find(language), std::string::npos) << find(v, "unverifiable")->message;
  }
}

TEST(Engine, AByteOrderMarkIsNoText) {
  EXPECT_EQ(verify("python", "\xEF\xBB\xBFx = 1\n").findings.size(), verify("python", "x = 1\n").findings.size());
}

TEST(Engine, AnUnknownLanguageGetsHintsAndIsNeverSafe) {
  for (const char* source : {"", "print 1\n", "os.execute('rm -rf /')\n"}) {
    Verification v = verify("lua", source);
    EXPECT_TRUE(v.unverifiable && !v.safe) << source;
    ASSERT_NE(find(v, "unverifiable"), nullptr);
  }
  Verification v = verify("lua", "x = 1\nos.execute('cat /etc/shadow')\n");
  ASSERT_NE(find(v, "generic-start-program"), nullptr);
  EXPECT_EQ(find(v, "generic-start-program")->line, 2);
  ASSERT_NE(find(v, "generic-secrets"), nullptr);
}

TEST(Engine, TheFirstErrorHasItsPlace) {
  Verification v = verify("python", "x = 1\ny = = 2\n");
  const Finding* f = find(v, "unverifiable");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->line, 2);
  EXPECT_EQ(f->snippet, "y = = 2");
}

TEST(Engine, AGoFileWithoutItsPackageIsNeverClean) {
  EXPECT_TRUE(verify("go", "// A comment first.\npackage main\n\nfunc main() {}\n").safe);
  Verification v = verify("go", "// A comment first.\nfunc main() {}\n");
  EXPECT_TRUE(v.unverifiable && !v.safe);
  const Finding* f = find(v, "unverifiable");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, "error");
  EXPECT_EQ(f->line, 2);
  v = verify("go", "import \"os/exec\"\n\nfunc main() {\n\texec.Command(\"sh\").Run()\n}\n");
  EXPECT_TRUE(v.unverifiable);
  EXPECT_GT(v.findings.size(), 1u) << "what it imports and calls is judged all the same";
}

bool is_read(const Verification& v) {
  return std::none_of(v.findings.begin(), v.findings.end(), [](const Finding& f) {
    return f.message.find("cannot be read as") != f.message.npos || f.message.find("is not whole") != f.message.npos;
  });
}

// The parser of TSX runs for ever on this text, which has no element in it.
TEST(Engine, WhatHasNoElementIsNotReadAsTsx) {
  Verification v = verify("typescript", "0x''.joi[n([ch) forin [112,r(c - 1) forin [112, 116]])");
  EXPECT_TRUE(v.unverifiable && !v.safe);
}

TEST(Engine, TsxAndHeadersOfCppAreRead) {
  EXPECT_TRUE(is_read(verify("typescript", "const a = <b>{x}</b>;\nconst f = (x: number) => x;\n")));
  EXPECT_TRUE(is_read(verify("typescript", "const a = <number>x;\n")));
  EXPECT_TRUE(is_read(verify("c", "template<class T> struct A { T x; };\n", {}, "b.h")));
  EXPECT_FALSE(is_read(verify("c", "template<class T> struct A { T x; };\n", {}, "b.c")));
  std::string contest =
      "#include <bits/stdc++.h>\nusing namespace std;\n#define rep(i, a, b) for (int i = (a); i < (b); ++i)\n"
      "#define each(x, v) for (auto& x : v)\n#define all(x) begin(x), end(x)\nint main(){ int n; cin >> n; vector<int> v(n);\n"
      "  rep(i, 0, n) cin >> v[i];\n  rep (i, 0, n) { rep(j, 0, i) v[j] += i; }\n  each(x, v) cout << \"rep(\" << x;\n}\n";
  EXPECT_TRUE(is_read(verify("cpp", contest)));
  EXPECT_TRUE(is_read(verify("c", "#define loop(i, n) for (i = 0; i < n; i++)\nint main(){ int i; loop(i, 3) f(i); }\n")));
  EXPECT_FALSE(is_read(verify("c", "#define loop(i, n) { for (i = 0; i < n; i++)\nint main(){ int i; loop(i, 3) f(i); }\n")))
      << "not a head of a statement alone";
  std::string pasted = "#define G(a, b) a##b\n#define rep(a, b) for (; G(a, b)(\"id\");)\nint main(){ rep(sys, tem) f(); }\n";
  EXPECT_FALSE(verify("cpp", pasted).safe);
  EXPECT_TRUE(is_read(verify("cpp", "bool f() { return typeid(int) == typeid(x) && g(typeid(x).name()); }\n")));
}

TEST(Patterns, CommentsAndStringsAreNotCodeButInterpolationsAre) {
  auto tree = parse_source(Grammar::kPython, "bad = 1 # bad\nx = 'bad'\ny = f'bad {bad} bad'\n");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(code_only(tree.value()), "bad = 1      \nx =      \ny =       {bad}     \n");
  tree = parse_source(Grammar::kJavascript, "/* bad */ f(`bad ${bad + 'bad'}`)\n");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(code_only(tree.value()), "          f(     ${bad +      } )\n");
  tree = parse_source(Grammar::kC, "#include <bad.h>\nint bad; // bad\nchar *s = \"bad\"; char c = 'b';\n");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(code_only(tree.value()), "#include        \nint bad;       \nchar *s =      ; char c =    ;\n");
}

TEST(Patterns, OfAProfileAreFoundOnTheirLine) {
  VerifyOptions o;
  o.patterns = {"\\bbad\\b"};
  Verification v = verify("python", "# bad\nx = 'bad'\nif bad:\n  pass\n", o);
  std::size_t count = 0;
  for (const auto& f : v.findings) count += f.rule == "profile-pattern";
  EXPECT_EQ(count, 1u);
  const Finding* f = find(v, "profile-pattern");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->line, 3);
  EXPECT_EQ(f->column, 4);
  EXPECT_FALSE(v.safe);
}

TEST(Rules, EveryOneOfEveryLanguageHasAReasonAndAFix) {
  for (const char* language : {"python", "bash", "c", "cpp", "rust", "go", "java", "javascript", "typescript", "generic"}) {
    ASSERT_FALSE(embedded_rules(language).empty()) << language;
    for (const Rule& r : embedded_rules(language)) {
      EXPECT_FALSE(r.reason.empty()) << r.id;
      EXPECT_FALSE(r.fix.empty()) << r.id;
      EXPECT_LE(r.at_default, r.at_strict) << r.id << ": strict is never milder";
    }
  }
}

TEST(Rules, OfEveryLanguageAreThereOnce) {
  EXPECT_FALSE(embedded_rules("generic").empty());
  EXPECT_TRUE(embedded_rules("nosuch").empty());
  EXPECT_GE(embedded_rules("cpp").size(), embedded_rules("c").size());
  EXPECT_GE(embedded_rules("typescript").size(), embedded_rules("javascript").size());
}

TEST(PolicyOptions, AFunctionOfTheProfileIsFoundByItsPlainName) {
  Policy policy = default_policy();
  policy.rules.functions = {"baz"};
  for (auto [language, source] : {std::pair{"python", "baz()\n"}, std::pair{"python", "from lib import baz\nbaz()\n"},
                                  std::pair{"python", "from lib import baz as q\nq(1)\n"},
                                  std::pair{"rust", "fn baz() {}\nfn main() { baz(); }\n"},
                                  std::pair{"rust", "use lib::baz as q;\nfn main() { q(); }\n"},
                                  std::pair{"go", "package main\n\nfunc baz() {}\n\nfunc main() { baz() }\n"},
                                  std::pair{"java", "class A { static void baz() {} public static void main(String[] a) { baz(); } }\n"},
                                  std::pair{"java", "class A { void baz() {} void f() { this.baz(); } }\n"},
                                  std::pair{"javascript", "function baz() {}\nbaz();\n"},
                                  std::pair{"javascript", "import { baz } from './lib.mjs';\nbaz(1);\n"},
                                  std::pair{"typescript", "function baz(): void {}\nbaz();\n"},
                                  std::pair{"c", "void baz(void) {}\nint main(void) { baz(); }\n"},
                                  std::pair{"cpp", "void baz() {}\nint main() { baz(); }\n"},
                                  std::pair{"bash", "baz() { :; }\nbaz\n"}}) {
    Verification v = verify(language, source, verify_options(policy));
    const Finding* f = find(v, "profile-function");
    ASSERT_NE(f, nullptr) << source;
    EXPECT_EQ(f->severity, "error");
    EXPECT_EQ(f->message, "baz: this profile does not allow it") << source;
  }
  EXPECT_EQ(find(verify("python", "bazaar()\n", verify_options(policy)), "profile-function"), nullptr);
  EXPECT_EQ(find(verify("javascript", "bazaar()\n", verify_options(policy)), "profile-function"), nullptr);
  EXPECT_EQ(find(verify("go", "package main\n\nfunc main() { bazaar() }\n", verify_options(policy)), "profile-function"), nullptr);
}

TEST(PolicyOptions, OfBashTheListIsOneOfCommands) {
  Policy policy = default_policy();
  policy.language = "bash";
  policy.imports_allowed = {"echo", "seq", "wc", "cat", "test"};
  auto refused = [&](const char* source) {
    std::string out;
    for (const Finding& f : verify_source({"bash", "a", source, verify_options(policy)}).findings)
      if (f.rule == "command-not-allowed" && f.severity == "error") out += f.message.substr(0, f.message.find(':')) + " ";
    return out;
  };
  EXPECT_EQ(refused("nc -l 1; gcc x; foo; echo ran\n"), "nc gcc foo ");
  EXPECT_EQ(refused("cat x | /bin/ls\nexec seq 3\n. ./lib\ncd x\n"), "ls exec . cd ");
  EXPECT_NE(refused("$1 x\n"), "");
  EXPECT_EQ(refused("f() { local a=$1; echo \"$a\"; }\nfor i in $(seq 3); do [ $i = 2 ] && f $i | wc -c; done\n"
                    "while read -r line; do printf '%s' \"$line\"; done\nif [[ -n $x ]]; then return; fi\n"), "");
  policy.language = "";
  EXPECT_EQ(refused("nc -l 1\n"), "") << "the list is one of modules";
}

// Under the profile strict nothing can be written and there is one process: what needs more is said before it fails.
TEST(PolicyOptions, WhatAProfileHasNoRoomForIsSaid) {
  auto rules_of = [](const char* language, const char* source, const Policy& policy) {
    std::string out;
    for (const Finding& f : verify_source({language, "a", source, verify_options(policy)}).findings)
      if (f.rule.starts_with("profile-")) out += f.rule + " ";
    return out;
  };
  Policy strict = strict_policy(), level = default_policy(), granted = strict_policy();
  level.rules.level = VerifyLevel::kStrict;
  granted.filesystem.grants.push_back({"/srv/out", Access::kWrite, ""});
  granted.limits.processes = 4;
  EXPECT_EQ(rules_of("python", "open('a.txt', 'w')\n", strict), "profile-writes-nowhere ");
  EXPECT_EQ(rules_of("bash", "echo x > a.txt\n", strict), "profile-writes-nowhere ");
  EXPECT_EQ(rules_of("bash", "awk '{print $1}' data.csv\n", strict), "profile-one-process ");
  for (const Policy& p : {level, granted, default_policy()}) {
    EXPECT_EQ(rules_of("python", "open('a.txt', 'w')\n", p), "");
    EXPECT_EQ(rules_of("bash", "awk '{print $1}' data.csv\n", p), "");
  }
  EXPECT_EQ(rules_of("bash", "for i in 1 2; do echo $i; done\n", strict), "");
  EXPECT_EQ(rules_of("python", "print(open('a.txt').read())\n", strict), "");
}

TEST(PolicyOptions, FunctionsAndModulesBecomeRules) {
  Policy p = strict_policy();
  p.rules.functions = {"eval"};
  p.rules.modules = {"socket"};
  VerifyOptions o = verify_options(p);
  EXPECT_EQ(o.level, VerifyLevel::kStrict);
  std::vector<Rule> none;
  auto rule_of = [&](FactKind kind, const char* name) {
    std::vector<Fact> facts = {{kind, name, "", 0, 1}};
    auto found = judge(SourceText("x"), "f", facts, none, o);
    return found.empty() ? std::string() : found[0].rule + " " + found[0].type;
  };
  EXPECT_EQ(rule_of(FactKind::kUse, "builtins.eval"), "profile-function blocked_function");
  EXPECT_EQ(rule_of(FactKind::kCommand, "eval"), "profile-function blocked_function");
  EXPECT_EQ(rule_of(FactKind::kUse, "evaluate"), "");
  EXPECT_EQ(rule_of(FactKind::kImport, "socket"), "profile-module blocked_module");
  EXPECT_EQ(rule_of(FactKind::kImport, "socket.sub"), "profile-module blocked_module");
  EXPECT_EQ(rule_of(FactKind::kImport, "socketserver"), "");
}

}  // namespace
}  // namespace hotcell
