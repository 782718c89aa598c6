#include "base/json_write.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace hotcell {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWrite, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(quoted("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(quoted(std::string_view("\0\x1b", 2)), "\"\\u0000\\u001b\"");
}

TEST(JsonWrite, EscapesDelAndC1SoThatATerminalIsNotDriven) {
  EXPECT_EQ(quoted("\x7f"), "\"\\u007f\"");
  EXPECT_EQ(quoted("\xC2\x9B" "31m"), "\"\\u009b31m\"");
  EXPECT_EQ(quoted("\xC2\xA0"), "\"\xC2\xA0\"");
}

TEST(JsonWrite, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(quoted("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(quoted("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(quoted("\xE2\x82\xAC"), "\"\xE2\x82\xAC\"");
}

TEST(JsonWrite, CommasAndNestingAreRight) {
  JsonWriter w;
  w.begin_object();
  w.field("a", 1);
  w.key("b");
  w.begin_array();
  w.end_array();
  w.key("c");
  w.begin_array();
  w.value(true);
  w.value("x");
  w.begin_object();
  w.end_object();
  w.null();
  w.end_array();
  w.field("d", std::string("y"));
  w.field("e", false);
  w.end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":[],"c":[true,"x",{},null],"d":"y","e":false})");
}

TEST(JsonWrite, PrettyIndentsAndKeepsEmptyContainersOnOneLine) {
  JsonWriter w(JsonStyle::kPretty);
  w.begin_object();
  w.field("a", 1);
  w.key("b");
  w.begin_array();
  w.end_array();
  w.key("c");
  w.begin_array();
  w.value(2);
  w.end_array();
  w.end_object();
  EXPECT_EQ(w.text(), "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": [\n    2\n  ]\n}");
}

TEST(JsonWrite, NumbersThatJsonCannotSayAreNull) {
  JsonWriter w;
  w.begin_array();
  w.value(0.5);
  w.value(std::nan(""));
  w.value(HUGE_VAL);
  w.value(UINT64_MAX);
  w.value(INT64_MIN);
  w.end_array();
  EXPECT_EQ(w.text(), "[0.5,null,null,18446744073709551615,-9223372036854775808]");
}

TEST(Base64, MatchesTheRfc4648Vectors) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE"), "//4=");
}

}  // namespace
}  // namespace hotcell
