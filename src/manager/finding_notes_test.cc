#include "manager/finding_notes.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace hotcell {
namespace {

OutputFinding finding(std::string level, std::uint64_t offset) {
  return {"stdout", "secrets", "data_leak", std::move(level), "key", "a key", "", offset};
}

TEST(FindingNotes, EachFindingIsALineWithItsPlace) {
  auto notes = finding_notes({finding("high", 7), finding("low", 90)}, {"a.b[1]"}, false);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].severity, "high");
  EXPECT_EQ(notes[0].details.at("offset"), "7");
  EXPECT_EQ(notes[0].details.at("path"), "a.b[1]");
  EXPECT_EQ(notes[0].details.at("stream"), "stdout");
  EXPECT_FALSE(notes[1].details.contains("path"));
}

// A thousand findings are 64 lines and one that names each of the others: none is left out in silence.
TEST(FindingNotes, WhatIsBeyondTheMostIsListedInOneLine) {
  std::vector<OutputFinding> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back(finding(i == 500 ? "critical" : "medium", i));
  auto notes = finding_notes(many, {}, true);
  ASSERT_EQ(notes.size(), 66u);
  EXPECT_EQ(notes[64].message, "936 more findings");
  EXPECT_EQ(notes[64].severity, "critical");
  for (std::uint64_t i = 64; i < 1000; ++i)
    EXPECT_NE((notes[64].details.at("findings") + ",").find(cat("key@", i, " stdout,")), std::string::npos) << i;
  EXPECT_EQ(notes[65].details.at("cut"), "true");
}

}  // namespace
}  // namespace hotcell
