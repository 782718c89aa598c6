#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "hotcell/verify.h"

namespace hotcell {
namespace {

Finding finding(const char* rule, const char* severity, int line, int column) {
  Finding f;
  f.rule = rule;
  f.type = "system_call";
  f.severity = severity;
  f.file = "a b/ü%.py";
  f.message = "os.system: starts a program";
  f.snippet = "os.system(1)";
  f.fix = "do not";
  f.line = line;
  f.column = column;
  return f;
}

Verification unsafe() {
  Verification v;
  v.language = "python";
  v.findings = {finding("python-start", "error", 2, 3), finding("python-time", "warning", 2, 3)};
  return v;
}

TEST(VerificationText, SafeAsInTheFoundingSystem) {
  Verification v;
  v.safe = true;
  EXPECT_EQ(verification_text(v, "x"),
            "Code Verification: SAFE\n─────────────────────────\nNo violations detected.\n");
}

TEST(VerificationText, ALineACaretAndASummary) {
  EXPECT_EQ(verification_text(unsafe(), "import os\n\té\xC3\xA9os.system(1)\n"),
            "Code Verification: UNSAFE\n─────────────────────────\n"
            "✗ L2:3: os.system: starts a program [python-start]\n"
            "     ééos.system(1)\n"
            "      ^\n"
            "    fix: do not\n"
            "⚠ L2:3: os.system: starts a program [python-time]\n"
            "     ééos.system(1)\n"
            "      ^\n"
            "    fix: do not\n"
            "1 violation, 1 warning — execution blocked\n");
}

TEST(VerificationText, ALineOfAMegabyteIsShownAroundTheColumn) {
  Verification v = unsafe();
  v.findings.resize(1);
  v.findings[0].line = 1;
  v.findings[0].column = 500'001;
  std::string source(1'000'000, 'x');
  source[500'000] = 'Y';
  std::string text = verification_text(v, source);
  EXPECT_LT(text.size(), 600u);
  auto shown = text.find("xY"), caret = text.find('^');
  ASSERT_NE(shown, std::string::npos);
  auto line = text.rfind('\n', shown), below = text.rfind('\n', caret);
  EXPECT_EQ(shown + 1 - line, caret - below);
}

TEST(VerificationText, ControlBytesOfASourceDoNotReachTheTerminal) {
  Verification v = unsafe();
  std::string text = verification_text(v, "\n  \x1b[31m\xff os\n");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(VerificationJson, HasTheFieldsOfTheContract) {
  Verification all[] = {unsafe()};
  auto json = boost::json::parse(verification_json(all)).as_object();
  EXPECT_EQ(json.size(), 3u);
  EXPECT_EQ(json.at("safe"), false);
  EXPECT_EQ(json.at("language"), "python");
  auto& first = json.at("findings").as_array().at(0).as_object();
  EXPECT_EQ(first.size(), 9u);
  for (const char* key : {"rule", "type", "severity", "file", "line", "column", "message", "snippet", "fix"})
    EXPECT_TRUE(first.contains(key)) << key;
  EXPECT_EQ(first.at("line"), 2);

  Verification two[] = {unsafe(), unsafe()};
  two[1].language = "go";
  EXPECT_EQ(boost::json::parse(verification_json(two)).at("language"), "mixed");
}

TEST(VerificationSarif, IsWhatReadersOfSarifWant) {
  Verification all[] = {unsafe()};
  auto json = boost::json::parse(verification_sarif(all)).as_object();
  EXPECT_EQ(json.at("version"), "2.1.0");
  EXPECT_NE(std::string_view(json.at("$schema").as_string()).find("sarif-2.1.0"), std::string_view::npos);
  auto& run = json.at("runs").at(0).as_object();
  auto& rules = run.at("tool").at("driver").at("rules").as_array();
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].at("id"), "python-start");
  auto& result = run.at("results").at(1);
  EXPECT_EQ(result.at("ruleId"), "python-time");
  EXPECT_EQ(result.at("ruleIndex"), 1);
  EXPECT_EQ(result.at("level"), "warning");
  auto& place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation").at("uri"), "a%20b/%C3%BC%25.py");
  EXPECT_EQ(place.at("region").at("startLine"), 2);
  EXPECT_EQ(place.at("region").at("startColumn"), 3);
  EXPECT_FALSE(result.at("message").at("text").as_string().empty());
}

}  // namespace
}  // namespace hotcell
