// The development data through the whole verifier: every hostile row has an error under both levels, every benign one
// has none under default. Rates are printed for each language.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/strings.h"
#include "hotcell/verify.h"
#include "languages/engine.h"

namespace hotcell {
namespace {

std::string data_folder() {
  const char* given = std::getenv("HOTCELL_DATA");
  return given != nullptr ? given : "";
}

std::vector<boost::json::object> rows_of(const std::string& path) {
  std::vector<boost::json::object> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!trim(line).empty()) rows.push_back(boost::json::parse(line).as_object());
  return rows;
}

std::string text(const boost::json::object& row, const char* key) {
  auto* v = row.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
}

bool has_error(const Verification& v) {
  for (const auto& f : v.findings)
    if (f.severity == "error") return true;
  return false;
}

// Analysers arrive one by one; one that is not there says so.
bool is_missing(const Verification& v) {
  for (const auto& f : v.findings)
    if (f.message.find("this build has no analyser") != std::string::npos) return true;
  return false;
}

struct Rate {
  int good = 0, all = 0;
  std::string bad;
  void count(bool ok, const std::string& id) {
    good += ok;
    ++all;
    if (!ok) bad += cat(" ", id);
  }
};

void report(const char* what, const std::map<std::string, Rate>& rates, const std::map<std::string, bool>& missing) {
  for (const auto& [language, rate] : rates) {
    bool absent = missing.contains(language);
    std::printf("[ data     ] %-30s %-11s %4d of %4d%s%s\n", what, language.c_str(), rate.good, rate.all,
                absent ? " (no analyser yet)" : "",
                rate.bad.empty() ? "" : cat(" not:", rate.bad.substr(0, 400)).c_str());
    EXPECT_TRUE(absent || rate.good == rate.all) << what << " " << language << ":" << rate.bad;
  }
}

TEST(VerifierData, HostileRowsAreFlaggedAndBenignOnesPass) {
  auto rows = rows_of(data_folder() + "/attacks/verifier.jsonl");
  if (rows.empty()) {
    std::printf("[ data     ] verifier.jsonl is not there: nothing was checked\n");
    return;
  }
  Verifier verifier;
  std::map<std::string, Rate> flagged, flagged_strict, passed;
  std::map<std::string, bool> missing;
  Policy normal = default_policy(), strict = default_policy();
  strict.rules.level = VerifyLevel::kStrict;
  for (const auto& row : rows) {
    std::string language = verify_language_name(text(row, "lang")), id = text(row, "id"), code = text(row, "code");
    Verification v = verifier.verify(code, language, id, normal);
    if (is_missing(v)) missing[language] = true;
    if (text(row, "expect") == "flag") {
      flagged[language].count(has_error(v), id);
      flagged_strict[language].count(has_error(verifier.verify(code, language, id, strict)), id);
    } else {
      passed[language].count(v.safe, id);
    }
  }
  report("hostile flagged under default", flagged, missing);
  report("hostile flagged under strict", flagged_strict, missing);
  report("benign passed under default", passed, missing);
}

TEST(VerifierData, HumanEvalIsCleanUnderDefault) {
  std::map<std::string, Rate> clean;
  std::map<std::string, bool> missing;
  Verifier verifier;
  for (auto [file, language] : {std::pair("python", "python"), {"cpp", "cpp"}, {"java", "java"}, {"js", "javascript"},
                                {"go", "go"}, {"rust", "rust"}}) {
    for (const auto& row : rows_of(cat(data_folder(), "/humaneval-x/", file, ".jsonl"))) {
      bool apart = std::string_view(language) == "rust";  // there the prompt is the comment alone
      std::string source = cat(text(row, "prompt"), apart ? text(row, "declaration") : "",
                               text(row, "canonical_solution"), "\n", text(row, "test"));
      if (std::string_view(language) == "go")  // package and imports stand in fields of their own
        source = cat(text(row, "test_setup"), "\n", text(row, "import"), text(row, "declaration"),
                     text(row, "canonical_solution"), "\n", text(row, "test"));
      Verification v = verifier.verify(source, language, text(row, "task_id"), default_policy());
      if (is_missing(v)) missing[language] = true;
      clean[language].count(v.safe, text(row, "task_id"));
    }
  }
  if (clean.empty()) std::printf("[ data     ] humaneval-x is not there: nothing was checked\n");
  report("humaneval-x clean under default", clean, missing);
}

TEST(VerifierData, RiskyProgramsUnderStrict) {
  Verifier verifier;
  Policy strict = default_policy();
  strict.rules.level = VerifyLevel::kStrict;
  for (const char* language : {"python", "bash"}) {
    Rate rate;
    bool missing = false;
    for (const auto& row : rows_of(cat(data_folder(), "/redcode-exec/", language, ".jsonl"))) {
      Verification v = verifier.verify(text(row, "code"), language, "f", strict);
      missing |= is_missing(v);
      rate.count(has_error(v), text(row, "index"));
    }
    std::printf("[ data     ] redcode-exec flagged under strict %-7s %d of %d%s\n", language, rate.good, rate.all,
                missing ? " (no analyser yet)" : "");
  }
}

}  // namespace
}  // namespace hotcell
