// `stages` and the mode of each: what looks at a source, and what keeps it from starting.
#include <gtest/gtest.h>

#include "core/policy/profile.h"
#include "manager/pipeline.h"

namespace hotcell {
namespace {

class Stages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = Launcher::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
  }
  static void TearDownTestSuite() { launcher_.reset(); }

  // "refused: " when it must not start, then the rules that found something.
  static std::string outcome(std::string_view stages_and_audit, std::string text = kBoth) {
    std::string yaml = "extends: default\nlanguage: python\nimports: {allowed: [json]}\nblocklist: [[json, loads]]\n";
    auto policy = parse_profile(yaml.append(stages_and_audit), "p.yaml", {});
    if (!policy.ok()) return policy.error().message;
    ProgramSource source{find_language("python"), {}};
    source.sources.main = "a.py";
    source.sources.files.push_back({"a.py", std::move(text)});
    Request request;
    Report report;
    Pipeline pipeline(*launcher_,
                      {.verify = true, .cache = false, .cache_folder = {}, .cancelled = {}, .on_event = {}});
    auto prepared = pipeline.prepare(source, policy.value(), request);
    if (!prepared.ok()) return prepared.error().message;
    std::string out = prepared.value().stopped ? "refused:" : "starts:";
    pipeline.complete(std::move(prepared).value(), report);
    for (const auto& f : report.findings) out += " " + f.rule;
    return out;
  }

  static constexpr const char* kBoth = "import json\nimport textwrap\njson.loads('1')\n";
  static std::unique_ptr<Launcher> launcher_;
};
std::unique_ptr<Launcher> Stages::launcher_;

TEST_F(Stages, WithoutAListBothLook) {
  EXPECT_EQ(outcome("audit: {mode: {verification: enforce}}\n"), "refused: import-not-allowed blocklist");
  EXPECT_EQ(outcome("audit: {mode: {verification: observe}}\n"), "starts: import-not-allowed blocklist");
}

TEST_F(Stages, WhatIsNotListedDoesNotLook) {
  EXPECT_EQ(outcome("audit: {mode: {}}\nstages: {pre: [ast_scan]}\n"), "refused: import-not-allowed");
  EXPECT_EQ(outcome("audit: {mode: {}}\nstages: {pre: [blocklist_audit]}\n"), "refused: blocklist");
  EXPECT_EQ(
      outcome("audit: {mode: {}}\nstages: {pre: [blocklist_audit]}\nrules: {patterns: [zip], functions: [exec]}\n",
              "import json, os\nexec('1')\nos.system('zip')\n"),
      "starts:");
}

TEST_F(Stages, AnErrorRefusesOnlyWhereItsStageEnforces) {
  EXPECT_EQ(outcome("audit: {mode: {ast_scan: observe}}\n"), "refused: import-not-allowed blocklist");
  EXPECT_EQ(outcome("audit: {mode: {ast_scan: observe}}\n", "import textwrap\n"), "starts: import-not-allowed");
  EXPECT_EQ(outcome("audit: {mode: {blocklist_audit: observe}}\n", "import json\njson.loads('1')\n"),
            "starts: blocklist");
  EXPECT_EQ(outcome("audit: {mode: {blocklist_audit: observe}}\n", "import textwrap\n"), "refused: import-not-allowed");
  EXPECT_EQ(outcome("audit: {mode: {verification: observe, blocklist_audit: enforce}}\n"),
            "refused: import-not-allowed blocklist");
  EXPECT_EQ(outcome("audit: {mode: {blocklist_audit: enforce, ast_scan: observe}}\nstages: {pre: [ast_scan]}\n"),
            "starts: import-not-allowed")
      << "a stage that does not run refuses nothing";
}

TEST_F(Stages, WhatCannotBeReadIsRefusedByAnyStageThatEnforces) {
  EXPECT_EQ(outcome("audit: {mode: {}}\nstages: {pre: [blocklist_audit]}\n", "def (:\n"), "refused: unverifiable");
  EXPECT_EQ(outcome("audit: {mode: {ast_scan: observe}}\n", "def (:\n"), "refused: unverifiable");
  EXPECT_EQ(outcome("audit: {mode: {verification: observe}}\n", "def (:\n"), "starts: unverifiable");
}

}  // namespace
}  // namespace hotcell
