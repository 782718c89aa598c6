// What can be said about a source before any parser sees it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

struct SourceProblem {
  std::string why;
  std::uint32_t offset = 0;
};

// A NUL byte, bytes that are no UTF-8, a coding cookie (Python) that makes the interpreter read other text than we do.
std::optional<SourceProblem> source_problem(std::string_view language, std::string_view source);

// Java reads \uXXXX anywhere, even as a newline or a quote, before it looks for words. `at(n)` says where byte n of
// `text` stood in the original.
class UnescapedJava {
 public:
  explicit UnescapedJava(std::string_view source);
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }
  bool changed() const { return !shifts_.empty(); }
  std::uint32_t at(std::uint32_t offset) const;

 private:
  struct Shift {
    std::uint32_t from, original, length;  // `length` bytes at `from` stood for the escape at `original`
    std::uint32_t after;                   // where the original goes on
  };
  std::string text_;
  std::vector<Shift> shifts_;
};

}  // namespace hotcell
