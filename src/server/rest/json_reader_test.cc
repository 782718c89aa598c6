#include "server/rest/json_reader.h"

#include <gtest/gtest.h>

#include <array>

#include "base/json_write.h"
#include "server/json/base64_decode.h"

namespace hotcell::server {
namespace {

std::string why(std::string_view text) {
  auto parsed = parse_json(text);
  return parsed.ok() ? "" : parsed.error().message;
}

const JsonValue::Object& members_of_top(const JsonValue& value) { return std::get<JsonValue::Object>(value.v); }

TEST(JsonValue, EveryKindComesBack) {
  auto parsed = parse_json(R"({"a":[1,-2,2.5,true,null,"xé\u00e9"],"b":{}})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(members_of_top(parsed.value()).size(), 2U);
  const auto items = std::get<JsonValue::Array>(members_of_top(parsed.value())[0].value.v);
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(std::get<std::int64_t>(items[0].v), 1);
  EXPECT_EQ(std::get<std::int64_t>(items[1].v), -2);
  EXPECT_EQ(std::get<double>(items[2].v), 2.5);
  EXPECT_TRUE(std::get<bool>(items[3].v));
  EXPECT_TRUE(items[4].is_null());
  EXPECT_EQ(std::get<std::string>(items[5].v), "xéé");
  EXPECT_TRUE(std::get<JsonValue::Object>(members_of_top(parsed.value())[1].value.v).empty());
}

TEST(JsonValue, ADuplicateKeyIsRefusedByName) {
  EXPECT_NE(why(R"({"command":"id","x":{"a":1,"b":2,"a":3}})").find("\"a\" is there twice"), std::string::npos);
}

TEST(JsonValue, WhatIsNoJsonIsSaidWithItsPlace) {
  EXPECT_EQ(why("{\"a\":1,}"), "line 1, column 8: \"}\" is not expected here");
  EXPECT_EQ(why("{'a':1}"), "line 1, column 2: \"'\" is not expected here");
  EXPECT_EQ(why("{\"a\":\n NaN}"), "line 2, column 2: \"N\" is not expected here");
  EXPECT_EQ(why("{\"a\":\"x\ty\"}"), "line 1, column 8: a control character in a string must be written as an escape");
  EXPECT_EQ(why("\xef\xbb\xbf{}"), "line 1, column 1: it begins with a byte order mark");
  EXPECT_EQ(why("{\"a\":é}"), "line 1, column 6: \"é\" is not expected here");
  EXPECT_EQ(why(""), "line 1, column 1: it ends too early");
  EXPECT_EQ(why("{\"a\":1"), "line 1, column 7: it ends too early");
}

TEST(JsonValue, DepthIsBoundedWithoutAStackOverflow) {
  EXPECT_EQ(why(std::string(30, '[') + std::string(30, ']')), "");
  EXPECT_NE(why(std::string(100'000, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(why(std::string(33, '[') + std::string(33, ']')).find("nested too deeply"), std::string::npos);
}

TEST(JsonValue, TheNumberOfValuesIsBounded) {
  std::string many = "[";
  for (int i = 0; i < 100'001; ++i) many += "0,";
  EXPECT_NE(why(many + "0]").find("too many values"), std::string::npos);
}

TEST(JsonValue, WhatIsNoJsonIsRefusedWithAPlace) {
  for (const char* text : {"", "{", "nul", "{\"a\":1}x", "{'a':1}", "{\"a\":NaN}", "[Infinity]", "[1,]", "// c\n1", "{\"a\" 1}",
                           "\"\\ud800\"", "[01]", "\"a\nb\"", "\xef\xbb\xbf{}"})
    EXPECT_NE(why(text), "") << text;
  EXPECT_EQ(why("{\n \"a\":x}").substr(0, 15), "line 2, column ");
}

TEST(JsonValue, InvalidUtf8IsRefused) { EXPECT_EQ(why("{\"a\":\"\xff\"}"), "it is not valid UTF-8"); }

TEST(JsonValue, NumbersBeyondADoubleAreRefused) {
  EXPECT_NE(why("1e999"), "");
  EXPECT_NE(why("-1e400"), "");
  EXPECT_EQ(why("1180591620717411303424"), "");   // 2^70: no integer field takes it
}

constexpr std::array<std::string_view, 4> kKnown = {"name", "count", "ratio", "on"};

Result<JsonReader> reader_of(const JsonValue& value) { return JsonReader::of(value, "", kKnown); }

template <typename T>
std::string refusal(std::string_view text, std::string_view field) {
  auto value = parse_json(text);
  if (!value.ok()) return value.error().message;
  auto reader = reader_of(value.value());
  if (!reader.ok()) return reader.error().message;
  T out{};
  auto read = reader.value().read(field, out);
  return read.ok() ? "" : read.error().message;
}

TEST(JsonReader, NamesTheFieldAndWhatWasExpected) {
  EXPECT_EQ(refusal<std::string>(R"({"name":5})", "name"), "invalid request body: name must be a string, not a number");
  EXPECT_EQ(refusal<bool>(R"({"on":"yes"})", "on"), "invalid request body: on must be true or false, not a string");
  using Count = std::optional<std::uint64_t>;
  EXPECT_EQ(refusal<Count>(R"({"count":"5"})", "count"), "invalid request body: count must be a whole number, not a string");
  EXPECT_EQ(refusal<Count>(R"({"count":2.5})", "count"), "invalid request body: count must be a whole number");
  EXPECT_EQ(refusal<Count>(R"({"count":-1})", "count"), "invalid request body: count must not be negative");
  EXPECT_EQ(refusal<Count>(R"({"count":1180591620717411303424})", "count"), "invalid request body: count is too large");
  EXPECT_EQ(refusal<Count>(R"({"count":9223372036854775808})", "count"), "invalid request body: count is too large");
  EXPECT_EQ(refusal<std::optional<double>>(R"({"ratio":9223372036854775808})", "ratio"), "");
  EXPECT_EQ(refusal<std::optional<double>>(R"({"ratio":-0.5})", "ratio"), "invalid request body: ratio must not be negative");
  EXPECT_EQ(refusal<std::vector<std::string>>(R"({"name":["a",1]})", "name"),
            "invalid request body: name[1] must be a string, not a number");
  EXPECT_EQ(refusal<std::string>("[]", "name"), "invalid request body: the body must be an object, not a list");
}

TEST(JsonReader, AnUnknownFieldIsRefusedWithTheNearestKnownOne) {
  EXPECT_EQ(refusal<std::string>(R"({"nme":"x"})", "name"),
            "invalid request body: unknown field \"nme\"; did you mean \"name\"?");
  EXPECT_EQ(refusal<std::string>(R"({"preload":"import os"})", "name"), "invalid request body: unknown field \"preload\"");
}

TEST(JsonReader, NullIsAbsent) { EXPECT_EQ(refusal<std::string>(R"({"name":null})", "name"), ""); }

TEST(Base64, DecodesWhatWeEncodeAndRefusesTheRest) {
  for (std::string text : {"", "a", "ab", "abc", "\xff\x00\x01"}) EXPECT_EQ(base64_decode(base64(text)), text);
  for (const char* bad : {"a", "YQ", "YQ=", "Y Q=", "YR==", "=AAA", "YQ==YQ=="}) EXPECT_FALSE(base64_decode(bad)) << bad;
}

}  // namespace
}  // namespace hotcell::server
