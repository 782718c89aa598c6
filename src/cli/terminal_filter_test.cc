#include "cli/terminal_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace hotcell {
namespace {

std::string whole(std::string_view bytes) {
  TerminalFilter filter;
  std::string out;
  filter.feed(bytes, out);
  filter.finish(out);
  return out;
}

// Every way of cutting the text in two must show the same.
std::string cut_everywhere(std::string_view bytes) {
  std::string expected = whole(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    TerminalFilter filter;
    std::string out;
    filter.feed(bytes.substr(0, cut), out);
    filter.feed(bytes.substr(cut), out);
    filter.finish(out);
    EXPECT_EQ(out, expected) << "cut at " << cut;
  }
  TerminalFilter filter;
  std::string out;
  for (char c : bytes) filter.feed({&c, 1}, out);
  filter.finish(out);
  EXPECT_EQ(out, expected) << "byte by byte";
  return expected;
}

TEST(TerminalFilter, TextTabsLineEndsAndUnicodePass) {
  std::string text = "a\tb\r\nc \xE2\x82\xAC \xF0\x9F\x98\x80 \xC3\xA9\n";
  EXPECT_EQ(cut_everywhere(text), text);
}

TEST(TerminalFilter, ColoursPassAndAreResetAtTheEnd) {
  EXPECT_EQ(cut_everywhere("\x1b[1;31mred\x1b[0m"), "\x1b[1;31mred\x1b[0m");
  EXPECT_EQ(cut_everywhere("\x1b[38:2::1:2:3mred"), "\x1b[38:2::1:2:3mred\x1b[0m");
}

TEST(TerminalFilter, ClipboardTitleAndLinksAreShownNotObeyed) {
  EXPECT_EQ(cut_everywhere("\x1b]52;c;ZXZpbA==\x07"), "\\x1b]52;c;ZXZpbA==\\x07");
  EXPECT_EQ(cut_everywhere("\x1b]0;title\x1b\\"), "\\x1b]0;title\\x1b\\");
  EXPECT_EQ(cut_everywhere("\x1bP+q544e\x1b\\\x1b_x\x1b\\"), "\\x1bP+q544e\\x1b\\\\x1b_x\\x1b\\");
}

TEST(TerminalFilter, CursorMovesAndScreenErasureAreShownNotObeyed) {
  EXPECT_EQ(cut_everywhere("\x1b[2J\x1b[1;1Hfake\x1b[1A\b\x7f"), "\\x1b[2J\\x1b[1;1Hfake\\x1b[1A\\x08\\x7f");
  EXPECT_EQ(cut_everywhere("\x1b[?25l\x1b[>4;1m\x1b" "c"), "\\x1b[?25l\\x1b[>4;1m\\x1b" "c");
}

TEST(TerminalFilter, C1ControlsAreShownRawAndAsUtf8) {
  EXPECT_EQ(cut_everywhere("\x9b" "31m"), "\\x9b31m");
  EXPECT_EQ(cut_everywhere("\xC2\x9D" "52;c;x\xC2\x9C"), "\\x9d52;c;x\\x9c");
}

TEST(TerminalFilter, InvalidAndUnfinishedBytesAreShown) {
  EXPECT_EQ(cut_everywhere("\xFF\xC0\xE2\x82"), "\\xff\\xc0\\xe2\\x82");
  EXPECT_EQ(cut_everywhere("x\x1b[31"), "x\\x1b[31");
  EXPECT_EQ(cut_everywhere("\xE2\x82" "A"), "\\xe2\\x82A");
}

TEST(TerminalFilter, AnEndlessColourIsNotHeldForEver) {
  std::string flood = "\x1b[" + std::string(100000, '1');
  TerminalFilter filter;
  std::string out;
  for (char c : flood) filter.feed({&c, 1}, out);
  EXPECT_GT(out.size(), 99000U);
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace hotcell
