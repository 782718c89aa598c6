// What comes out of a cell is the program's word: nothing in it may be taken for more.
#include "manager/notes.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace hotcell {
namespace {

const std::string kPng = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + std::string(40, 'x');

std::string record(std::string_view kind, std::string_view name, std::string_view bytes) {
  return cat(kind, " ", name, " ", bytes.size(), "\n", bytes);
}

Report read(std::string_view bytes) {
  Report report;
  read_notes(bytes, "minimal", report);
  return report;
}

TEST(Notes, HoldOutputsInTheirOrder) {
  auto r = read(cat(record("png", "figure-1.png", kPng), record("html", "value.html", "<b>1</b>"),
                    record("text", "value.txt", "")));
  ASSERT_EQ(r.outputs.size(), 3U);
  EXPECT_EQ(r.outputs[0].type, RichType::kPng);
  EXPECT_EQ(r.outputs[0].name, "figure-1.png");
  EXPECT_EQ(r.outputs[0].bytes, kPng);
  EXPECT_EQ(r.outputs[1].bytes, "<b>1</b>");
  EXPECT_EQ(to_string(r.outputs[2].type), "text");
}

TEST(Notes, AnImageThatIsNoneAndTextThatIsNoneAreLeftOut) {
  auto r = read(
      cat(record("png", "a.png", "<script>"), record("html", "b.html", "\xff\xfe"), record("text", "c.txt", "fine")));
  ASSERT_EQ(r.outputs.size(), 3U);
  EXPECT_EQ(r.outputs[0].type, RichType::kText);
  EXPECT_EQ(r.outputs[0].bytes, "a.png is left out: it is not a PNG image");
  EXPECT_EQ(r.outputs[1].bytes, "b.html is left out: it is not UTF-8 text");
  EXPECT_EQ(r.outputs[2].bytes, "fine");
}

TEST(Notes, AreBounded) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += record("text", "x.txt", "1");
  EXPECT_EQ(read(many).outputs.size(), kMostOutputs);
  auto large = read(record("text", "x.txt", std::string(kLargestOutput.n + 1, 'x')));
  ASSERT_EQ(large.outputs.size(), 1U);
  EXPECT_EQ(large.outputs[0].bytes, "x.txt is left out: it is too large");
  std::string eight = record("text", "x.txt", std::string(kLargestOutput.n, 'x'));
  auto three = read(cat(eight, eight, eight));
  ASSERT_EQ(three.outputs.size(), 3U);
  EXPECT_EQ(three.outputs[2].bytes, "x.txt is left out: it is too large");
}

TEST(Notes, WhatIsNoRecordEndsTheReading) {
  for (std::string_view bad :
       {"", "\n", "text", "text x.txt", "text x.txt 5\nfour", "text x.txt -1\n", "text ../x 1\nx", "text .x 1\nx",
        "text x.txt 99999999999999999999\n", "what x 1\nx", "text a\x1b 1\nx"})
    EXPECT_TRUE(read(bad).outputs.empty()) << bad;
  EXPECT_EQ(read(cat(record("text", "a.txt", "1"), "text b.txt 9\ncut")).outputs.size(), 1U);
  EXPECT_TRUE(read(std::string(1 << 20, 'x')).outputs.empty());
}

TEST(Notes, RefusalsAreSentencesOfOurs) {
  auto r = read(cat(record("denial", "import", "ctypes"), record("denial", "import", "ctypes"),
                    record("denial", "attribute", "pandas.read_pickle"), record("denial", "import-observed", "os"),
                    record("denial", "import", "x\n; rm"), record("denial", "other", "x")));
  ASSERT_EQ(r.denials.size(), 3U);
  EXPECT_EQ(r.denials[0].layer, "language");
  EXPECT_EQ(r.denials[0].what, "import of 'ctypes' is not allowed by profile minimal");
  EXPECT_NE(r.denials[0].fix.find("additional: [ctypes]"), std::string::npos);
  EXPECT_EQ(r.denials[0].count, 2U);
  EXPECT_EQ(r.denials[1].subject, "pandas.read_pickle");
  EXPECT_NE(r.denials[2].what.find("only observed"), std::string::npos);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += record("denial", "import", cat("m", i));
  EXPECT_EQ(read(many).denials.size(), 64U);
}

}  // namespace
}  // namespace hotcell
