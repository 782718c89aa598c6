// Regular expressions of users, matched in linear time whatever the pattern and the text.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell {

class Pattern {
 public:
  // RE2 syntax. An error says what is wrong with which part.
  static Result<Pattern> compile(std::string_view text);
  // Where the first match begins.
  std::optional<std::size_t> find(std::string_view text) const;

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace hotcell
