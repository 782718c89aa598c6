#include "parse/source_text.h"

#include <algorithm>

namespace hotcell {

SourceText::SourceText(std::string text) : text_(std::move(text)), lines_{0} {
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    lines_.push_back(static_cast<std::uint32_t>(at + 1));
}

Place SourceText::place(std::uint32_t offset) const {
  auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  std::uint32_t start = lines_[static_cast<std::size_t>(line - 1)];
  Place place{static_cast<int>(line), 1};
  // A column is for people: a line of megabytes is not counted through.
  std::uint32_t end = std::min({offset, start + 100'000, static_cast<std::uint32_t>(text_.size())});
  for (std::uint32_t i = start; i < end; ++i)
    if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) ++place.column;
  return place;
}

std::string_view SourceText::line_text(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > lines_.size()) return {};
  std::size_t begin = lines_[static_cast<std::size_t>(line - 1)];
  std::size_t end = text_.find('\n', begin);
  return std::string_view(text_).substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace hotcell
