// What hotcell prints as JSON, read by a parser that is not its own.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::testing {

class Json {
 public:
  explicit Json(const std::string& text);  // text that is not one JSON value fails the test
  ~Json();
  Json(Json&&) noexcept;

  // `path` is keys and indexes with slashes: enforcement/layers/0/name. The answers to one that is not there are
  // "(missing)", 0 and nothing.
  bool has(std::string_view path) const;
  std::string text(std::string_view path) const;  // a string as it is, everything else as JSON
  std::size_t size(std::string_view path) const;
  std::vector<std::string> keys(std::string_view path = "") const;
  std::string find_by_name(std::string_view array, std::string_view name, std::string_view key) const;

 private:
  struct Value;
  std::unique_ptr<Value> value_;
};

}  // namespace hotcell::testing
