#include <gtest/gtest.h>

#include "base/strings.h"
#include "verify/rule_index.h"
#include "verify/rules.h"

namespace hotcell {
namespace {

Rule rule(std::string id, FactKind on, std::vector<std::string> match) {
  Rule r;
  r.id = std::move(id);
  r.type = "system_call";
  r.on = on;
  r.match = std::move(match);
  r.reason = "no";
  return r;
}

std::vector<std::string> ids(const RuleIndex& index, FactKind kind, std::string name) {
  std::vector<const Rule*> found;
  index.find({kind, std::move(name), "", 0, 0}, found);
  std::vector<std::string> out;
  for (const Rule* r : found) out.push_back(r->id);
  return out;
}

using Ids = std::vector<std::string>;

TEST(Glob, StarsStopWhereTheyShould) {
  EXPECT_TRUE(glob_matches("os.exec*", "os.execv", '.'));
  EXPECT_FALSE(glob_matches("os.*", "os.path.join", '.'));
  EXPECT_TRUE(glob_matches("os.**", "os.path.join", '.'));
  EXPECT_TRUE(glob_matches("/proc/*/mem", "/proc/1/mem", '/'));
  EXPECT_FALSE(glob_matches("/proc/*/mem", "/proc/1/2/mem", '/'));
  EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbxx", 0));
  EXPECT_FALSE(glob_matches("a?c", "a.c", '.'));
}

TEST(RuleIndex, FindsEveryRuleThatTheGlobsWouldFind) {
  std::vector<Rule> rules = {
      rule("exact", FactKind::kUse, {"os.system"}),       rule("segment", FactKind::kUse, {"os.exec*"}),
      rule("letter", FactKind::kUse, {"ev*"}),            rule("rest", FactKind::kUse, {"**.system"}),
      rule("path", FactKind::kReadPath, {"/proc/*/mem"}), rule("root", FactKind::kReadPath, {"/root/**", "/root"}),
      rule("word", FactKind::kCommand, {"*/sh", "sh"}),   rule("import", FactKind::kImport, {"os", "os.**"}),
  };
  std::vector<Rule> copy = rules;
  RuleIndex index(std::move(copy));
  EXPECT_EQ(ids(index, FactKind::kUse, "os.system"), (Ids{"exact", "rest"}));
  EXPECT_EQ(ids(index, FactKind::kUse, "os.execv"), (Ids{"segment"}));
  EXPECT_EQ(ids(index, FactKind::kUse, "eval"), (Ids{"letter"}));
  EXPECT_EQ(ids(index, FactKind::kReadPath, "/proc/1/mem"), (Ids{"path"}));
  EXPECT_EQ(ids(index, FactKind::kReadPath, "/root"), (Ids{"root"}));
  EXPECT_EQ(ids(index, FactKind::kReadPath, "/root/.ssh/id"), (Ids{"root"}));
  EXPECT_EQ(ids(index, FactKind::kCommand, "/bin/sh"), (Ids{"word"}));
  EXPECT_EQ(ids(index, FactKind::kImport, "os.path"), (Ids{"import"}));
  EXPECT_EQ(ids(index, FactKind::kImport, "oslo"), Ids{});
  EXPECT_EQ(ids(index, FactKind::kUse, ""), Ids{});
  for (auto kind : {FactKind::kUse, FactKind::kReadPath, FactKind::kCommand, FactKind::kImport})
    for (const char* name : {"os", "os.system", "os.execv", "x.system", "evil", "/root", "/proc/7/mem", "sh",
                             "a/sh", "*", ""}) {
      Ids slow;
      for (const Rule& r : rules)
        for (const auto& pattern : r.match)
          if (r.on == kind && glob_matches(pattern, name, stop_of(kind))) {
            slow.push_back(r.id);
            break;
          }
      EXPECT_EQ(ids(index, kind, name), slow) << name;
    }
}

std::vector<Finding> judged(std::vector<Fact> facts, std::vector<Rule> rules, VerifyOptions options = {}) {
  return judge(SourceText("one\n  two(three)\n"), "f.x", facts, rules, options);
}

TEST(Judge, AFindingSaysWhereAndWhatAndWhy) {
  auto found = judged({{FactKind::kUse, "two", "call", 6, 9}}, {rule("r", FactKind::kUse, {"two"})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "r");
  EXPECT_EQ(found[0].severity, "error");
  EXPECT_EQ(found[0].file, "f.x");
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[0].column, 3);
  EXPECT_EQ(found[0].message, "two: no");
  EXPECT_EQ(found[0].snippet, "two(three)");
}

TEST(Judge, LevelsOffDetailAndUnless) {
  Rule r = rule("r-one", FactKind::kUse, {"two*"});
  r.at_default = Severity::kOff;
  r.detail = {"*shell=True*"};
  r.unless = {"twofold"};
  Fact fact{FactKind::kUse, "two", "call shell=True", 6, 9};
  VerifyOptions strict;
  strict.level = VerifyLevel::kStrict;
  EXPECT_EQ(judged({fact}, {r}).size(), 0u);
  EXPECT_EQ(judged({fact}, {r}, strict).size(), 1u);
  Fact other = fact;
  other.detail = "call";
  EXPECT_EQ(judged({other}, {r}, strict).size(), 0u);
  other = fact;
  other.name = "twofold";
  EXPECT_EQ(judged({other}, {r}, strict).size(), 0u);
  strict.off = {"r-*"};
  EXPECT_EQ(judged({fact}, {r}, strict).size(), 0u);
}

TEST(Judge, ImportsBlocklistPathsAndOwnRules) {
  VerifyOptions o;
  o.imports_allowed = {"math", "numpy", "std::collections"};
  o.blocklist = {{"pandas", "read_pickle"}, {"std::fs", "remove_file"}};
  o.allowed_paths = {"/tmp"};
  o.rules = {rule("profile-function", FactKind::kUse, {"mine"})};
  std::vector<Rule> rules = {rule("path", FactKind::kReadPath, {"/**"})};
  auto rule_of = [&](FactKind kind, const char* name) {
    auto found = judged({{kind, name, "", 0, 1}}, rules, o);
    return found.empty() ? std::string() : found[0].rule;
  };
  EXPECT_EQ(rule_of(FactKind::kImport, "numpy.linalg"), "");
  EXPECT_EQ(rule_of(FactKind::kImport, "numpyx"), "import-not-allowed");
  EXPECT_EQ(rule_of(FactKind::kUse, "pandas.read_pickle"), "blocklist");
  EXPECT_EQ(rule_of(FactKind::kImport, "std::collections::HashMap"), "");
  EXPECT_EQ(rule_of(FactKind::kImport, "std::collections"), "");
  EXPECT_EQ(rule_of(FactKind::kImport, "std::collections2::X"), "import-not-allowed");
  EXPECT_EQ(rule_of(FactKind::kImport, "std"), "import-not-allowed") << "all of it is more than a part";
  EXPECT_EQ(rule_of(FactKind::kUse, "std::fs::remove_file"), "blocklist");
  EXPECT_EQ(rule_of(FactKind::kUse, "std::fs::remove_file_later"), "");
  EXPECT_EQ(rule_of(FactKind::kImport, "math/rand"), "import-not-allowed") << "Go's packages do not hold each other";
  EXPECT_EQ(judged({{FactKind::kImport, "std::fs::File", "", 0, 1}}, rules, o)[0].fix,
            "add it to imports.additional of the profile: std::fs");
  EXPECT_EQ(judged({{FactKind::kImport, "os.path", "", 0, 1}}, rules, o)[0].fix,
            "add it to imports.additional of the profile: os");
  EXPECT_EQ(rule_of(FactKind::kUse, "pandas.read_csv"), "");
  EXPECT_EQ(rule_of(FactKind::kReadPath, "/tmp/x"), "");
  EXPECT_EQ(rule_of(FactKind::kReadPath, "/tmpx"), "path");
  EXPECT_EQ(rule_of(FactKind::kUse, "mine"), "profile-function");
}

TEST(Judge, APackageTheProfileNamesIsItsChoice) {
  Rule package = rule("package", FactKind::kImport, {"**"}), other = rule("other", FactKind::kImport, {"psutil"});
  package.detail = {"package"};
  auto rules_of = [&](const char* name, std::vector<std::string> allowed) {
    VerifyOptions o;
    o.imports_allowed = std::move(allowed);
    std::string out;
    for (const Finding& f : judged({{FactKind::kImport, name, "package", 0, 1}}, {package, other}, o))
      out += f.rule + " ";
    return out;
  };
  EXPECT_EQ(rules_of("numpy.linalg", {}), "package ");
  EXPECT_EQ(rules_of("numpy.linalg", {"numpy"}), "");
  EXPECT_EQ(rules_of("psutil", {"psutil"}), "other ") << "other rules stay";
}

TEST(Judge, AMillionFactsDoNotBecomeAMillionFindings) {
  std::vector<Fact> facts(300'000, Fact{FactKind::kUse, "two", "", 6, 9});
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i].name = cat("two.n", i);
  auto found = judged(facts, {rule("r", FactKind::kUse, {"two.**"})});
  ASSERT_EQ(found.size(), 1001u);
  EXPECT_EQ(found.back().rule, "more-findings");
  EXPECT_EQ(found.back().message, "299000 more findings are not listed");
}

TEST(RulesYaml, MistakesNameTheirLine) {
  auto message = [](const char* yaml) {
    auto r = read_rules(yaml, "r.yaml");
    return r.ok() ? std::string() : r.error().message;
  };
  std::string good = "- {id: a, type: system_call, severity: error, on: use, match: [x], reason: y}\n";
  EXPECT_EQ(message(good.c_str()), "");
  EXPECT_EQ(message((good + good).c_str()), "r.yaml:2: rule 'a' is there twice");
  EXPECT_EQ(message("- {id: a, kind: b}\n"), "r.yaml:1: unknown key 'kind'");
  EXPECT_EQ(message("- id: a\n  severity: bad\n"), "r.yaml:2: severity is one of off, info, warning, error");
  EXPECT_NE(message("x: [").find("r.yaml:"), std::string::npos);
}

}  // namespace
}  // namespace hotcell
