// A source and where its lines begin.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

struct Place {
  int line = 1, column = 1;  // from 1; columns count characters
};

class SourceText {
 public:
  SourceText() : SourceText(std::string()) {}
  explicit SourceText(std::string text);
  std::string_view text() const { return text_; }
  Place place(std::uint32_t offset) const;
  std::string_view line_text(int line) const;  // without its newline; empty past the end

 private:
  std::string text_;
  std::vector<std::uint32_t> lines_;
};

}  // namespace hotcell
