// The rules over the development data. Where the data are not there, a test says so and passes.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "base/source_folder_testing.h"
#include "languages/python/verify_testing.h"

namespace hotcell::python {
namespace {

std::vector<std::map<std::string, std::string>> rows_of(const char* file) {
  auto rows = read_lines(data_folder() + file);
  if (rows.empty()) std::cout << "skipped: no " << data_folder() << file << "\n";
  return rows;
}

TEST(PythonRules, AreReadable) {
  auto read = read_rules(read_text(source_path("src/languages/python/rules.yaml")), "rules.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_GT(read.value().size(), 50u);
}

TEST(PythonRules, EveryRuleHasItsNameAReasonAndAFix) {
  for (const Rule& r : rules()) {
    EXPECT_TRUE(r.id.starts_with("python-")) << r.id;
    EXPECT_FALSE(r.fix.empty()) << r.id;
    EXPECT_LE(r.at_default, r.at_strict) << r.id << ": strict is never milder";
  }
}

TEST(PythonRules, EveryRowOfTheVerifierDataIsRight) {
  for (auto& row : rows_of("/attacks/verifier.jsonl")) {
    if (row["lang"] != "python") continue;
    if (row["expect"] == "flag") {
      EXPECT_TRUE(has_error(row["code"], VerifyLevel::kDefault)) << row["id"] << "\n" << row["code"];
      EXPECT_TRUE(has_error(row["code"], VerifyLevel::kStrict)) << row["id"];
    } else {
      EXPECT_FALSE(has_error(row["code"], VerifyLevel::kDefault)) << row["id"] << "\n" << describe(row["code"]);
      for (const Finding& f : findings_of(row["code"], VerifyLevel::kDefault))
        EXPECT_EQ(f.severity, "info") << row["id"] << f.rule;
    }
  }
}

TEST(PythonRules, SolutionsWithTheirTestsAreClean) {
  for (auto& row : rows_of("/humaneval-x/python.jsonl")) {
    std::string code = row["prompt"] + row["canonical_solution"] + row["test"];
    EXPECT_FALSE(has_error(code, VerifyLevel::kDefault)) << row["task_id"] << "\n" << describe(code);
  }
}

TEST(PythonRules, RiskyProgramsAreErrorsUnderStrict) {
  std::size_t flagged = 0, total = 0;
  for (auto& row : rows_of("/redcode-exec/python.jsonl")) {
    ++total;
    if (has_error(row["code"], VerifyLevel::kStrict))
      ++flagged;
    else
      std::cout << "missed: " << row["index"] << "\n";
  }
  if (total == 0) return;
  std::cout << "risky programs with an error under strict: " << flagged << " of " << total << "\n";
  EXPECT_GE(flagged * 100, total * 97);
}

std::set<std::string> rules_hit(const char* code, VerifyLevel level) {
  std::set<std::string> out;
  for (const Finding& f : findings_of(code, level)) out.insert(f.rule + "=" + f.severity);
  return out;
}

TEST(PythonRules, SeveritiesFollowTheLevel) {
  EXPECT_TRUE(rules_hit("import os\nos.remove('x')", VerifyLevel::kDefault).contains("python-delete=warning"));
  EXPECT_TRUE(rules_hit("import os\nos.remove('x')", VerifyLevel::kStrict).contains("python-delete=error"));
  EXPECT_TRUE(rules_hit("open('/etc/hostname')", VerifyLevel::kDefault).contains("python-read-outside=info"));
  EXPECT_TRUE(rules_hit("open('/etc/hostname')", VerifyLevel::kStrict).contains("python-read-outside=error"));
  EXPECT_TRUE(rules_hit("open('/tmp/x', 'w')", VerifyLevel::kStrict).empty());
}

TEST(PythonRules, QualityFindingsAreWarningsAtMost) {
  EXPECT_TRUE(rules_hit("k = 'AKIAABCDEFGHIJKLMNOP'", VerifyLevel::kDefault).contains("python-secret=warning"));
  EXPECT_TRUE(
      rules_hit("k = '-----BEGIN RSA PRIVATE KEY-----'", VerifyLevel::kDefault).contains("python-secret=warning"));
  EXPECT_TRUE(rules_hit("q = f'DELETE FROM t WHERE a = {x}'", VerifyLevel::kDefault).contains("python-sql=warning"));
  EXPECT_TRUE(
      rules_hit("q = 'SELECT a FROM t WHERE a = %s' % x", VerifyLevel::kDefault).contains("python-sql=warning"));
  EXPECT_TRUE(rules_hit("p = 'data/../../../x'", VerifyLevel::kDefault).contains("python-parent-folders=info"));
  EXPECT_TRUE(
      rules_hit("import hashlib\nhashlib.sha1(b'')", VerifyLevel::kDefault).contains("python-weak-crypto=warning"));
  EXPECT_TRUE(rules_hit("import hashlib\nhashlib.md5(b'', usedforsecurity=False)", VerifyLevel::kDefault).empty());
}

TEST(PythonRules, FindingsPointAtTheLine) {
  auto found = findings_of("import os\n\nos.system('id')\n", VerifyLevel::kDefault);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].column, 1);
  EXPECT_EQ(found[0].snippet, "os.system('id')");
}

}  // namespace
}  // namespace hotcell::python
