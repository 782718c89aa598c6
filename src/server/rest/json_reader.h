// Typed reading of a JSON object: each error names the field and what was expected. null is the same as absent.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/json/json_value.h"

namespace hotcell::server {

// The body of a request. Every error, here and below, begins with "invalid request body: ".
Result<JsonValue> parse_body(std::string_view body);

class JsonReader {
 public:
  // Refuses what is no object, and fields that are not in `known`. `where` is put before names: "limits." or "".
  static Result<JsonReader> of(const JsonValue& value, std::string where, std::span<const std::string_view> known);

  const JsonValue* find(std::string_view name) const;   // nullptr: absent or null
  Error wrong(std::string_view name, std::string_view expected) const;   // "timeout_secs must be …, not a string"

  // Leave `out` alone when the field is absent.
  Result<void> read(std::string_view name, std::string& out) const;
  Result<void> read(std::string_view name, bool& out) const;
  Result<void> read(std::string_view name, std::optional<bool>& out) const;
  Result<void> read(std::string_view name, std::vector<std::string>& out) const;
  Result<void> read(std::string_view name, std::map<std::string, std::string>& out) const;
  Result<void> read(std::string_view name, std::optional<std::uint64_t>& out) const;   // a whole number, 0 or more
  Result<void> read(std::string_view name, std::optional<double>& out) const;          // 0 or more
  // What becomes an argument, a variable or a path: without NUL, which would end it early.
  Result<void> read_word(std::string_view name, std::string& out) const;
  // One of `words`.
  Result<void> read_choice(std::string_view name, std::span<const std::string_view> words, std::string& out) const;

 private:
  JsonReader(const JsonValue& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const JsonValue* value_;
  std::string where_;
};

}  // namespace hotcell::server
