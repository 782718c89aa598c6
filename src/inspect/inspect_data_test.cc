// The development data through the inspectors: every row gets the decision it expects, and the rates are printed for each
// half of the labelled texts.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <cstdlib>
#include <fstream>

#include "base/strings.h"
#include "hotcell/inspect.h"

namespace hotcell {
namespace {

std::string data_folder() {
  const char* given = std::getenv("HOTCELL_DATA");
  return given != nullptr ? given : "";
}

std::vector<boost::json::object> rows_of(const std::string& name) {
  std::vector<boost::json::object> rows;
  std::ifstream in(data_folder() + name);
  for (std::string line; std::getline(in, line);)
    if (!trim(line).empty()) rows.push_back(boost::json::parse(line).as_object());
  if (rows.empty()) std::printf("[ data     ] %s is not there: nothing was checked\n", name.c_str());
  return rows;
}

std::string text(const boost::json::object& row, const char* key) {
  auto* v = row.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
}

bool is_flagged(const std::string& t, InspectKind kind) {
  InspectOptions options;
  options.kinds = {};
  options.kinds.add(kind);
  options.allowed_domains = {"api.good.test"};
  auto result = inspect_text(t, options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() && !result.value().safe();
}

TEST(InspectData, EveryAttackRowGetsItsDecision) {
  for (const auto& row : rows_of("/attacks/inspector.jsonl")) {
    auto kind = inspect_kind(text(row, "kind"));
    ASSERT_TRUE(kind);
    EXPECT_EQ(is_flagged(text(row, "text"), *kind), text(row, "expect") == "flag") << text(row, "id") << " " << text(row, "evasion");
  }
}

// All kinds together find what each finds, and no benign row becomes an alarm.
TEST(InspectData, BenignRowsPassAllInspectorsTogether) {
  for (const auto& row : rows_of("/attacks/inspector.jsonl")) {
    auto result = inspect_text(text(row, "text"), {});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(!result.value().safe(), text(row, "expect") == "flag") << text(row, "id");
  }
}

struct Rate {
  int flagged = 0, all = 0;
};

TEST(InspectData, LabelledTextsInHalves) {
  Rate benign[2], attacks[2];
  int n = 0;
  for (const auto& row : rows_of("/inspect/labelled.jsonl")) {
    bool attack = row.at("label").as_int64() == 1;
    Rate& rate = (attack ? attacks : benign)[n++ % 2];
    ++rate.all;
    rate.flagged += is_flagged(text(row, "text"), InspectKind::kInjection);
  }
  if (n == 0) return;
  for (int half = 0; half < 2; ++half) {
    std::printf("[ data     ] labelled half %d: %d of %d attacks, %d of %d benign\n", half, attacks[half].flagged, attacks[half].all,
                benign[half].flagged, benign[half].all);
    EXPECT_EQ(benign[half].flagged, 0);
  }
  // What SPECIFICATION says of them: 19 of 24, those that carry an instruction. The share holds for more texts of the kind.
  EXPECT_GE((attacks[0].flagged + attacks[1].flagged) * 24, (attacks[0].all + attacks[1].all) * 19);
}

TEST(InspectData, BenignTextsFullOfTriggerWordsPass) {
  for (const auto& row : rows_of("/inspect/notinject_one.benign.jsonl")) {
    auto result = inspect_text(text(row, "text"), {});
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result.value().safe()) << text(row, "text");
  }
}

}  // namespace
}  // namespace hotcell
