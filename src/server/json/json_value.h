// JSON from outside, read strictly: one value, no duplicate keys, no comments, valid UTF-8, finite numbers, bounded
// depth and size.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::server {

struct JsonMember;

struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;   // in the order of the text
  // Without a sign only what does not fit with one.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> v;

  bool is_null() const { return v.index() == 0; }
  // nullptr: it is something else.
  const bool* boolean() const;
  const std::string* string() const;
  const Array* array() const;
  const Object* object() const;
  std::optional<std::int64_t> integer() const;   // whole numbers only, 3.0 is none
  std::optional<double> number() const;
  bool is_integer() const;

  const JsonValue* find(std::string_view name) const;   // nullptr: not an object, or not in it
  // By a path: find("params", "_meta"), with nullptr wherever it ends.
  template <typename... More>
  const JsonValue* find(std::string_view name, More... more) const {
    const JsonValue* inner = find(name);
    return inner == nullptr ? nullptr : inner->find(more...);
  }
  // Of a member; what is given, or nothing, when there is none of that kind.
  std::string_view text(std::string_view name) const;
  std::int64_t integer_or(std::string_view name, std::int64_t other) const;
  bool boolean_or(std::string_view name, bool other) const;
  const Array& items(std::string_view name) const;
  const Object& members(std::string_view name) const;
  std::string_view kind() const;                        // "a string", for messages
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

struct JsonBounds {
  std::size_t depth = 32;
  std::size_t values = 100'000;   // "[[],[],…" makes some forty bytes of three
};

// kInvalid, one sentence: "line 1, column 12: the key "a" is there twice".
Result<JsonValue> parse_json(std::string_view text, JsonBounds bounds = {});

void append_json(std::string& out, const JsonValue& value);   // in one line
std::string json_text(const JsonValue& value);
std::string json_string(std::string_view text);                // quoted

}  // namespace hotcell::server
