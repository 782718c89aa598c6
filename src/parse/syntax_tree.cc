#include "parse/syntax_tree.h"

#include <algorithm>

namespace hotcell {

NodeId SyntaxTree::child_by_field(NodeId n, std::string_view field_name) const {
  if (n == kNoNode) return kNoNode;
  for (NodeId c = first_child(n); c != kNoNode; c = next_sibling(c))
    if (nodes_[c].field != 0 && field(c) == field_name) return c;
  return kNoNode;
}

NodeId SyntaxTree::child_by_kind(NodeId n, std::string_view kind_name) const {
  if (n == kNoNode) return kNoNode;
  for (NodeId c = first_child(n); c != kNoNode; c = next_sibling(c))
    if (kind(c) == kind_name) return c;
  return kNoNode;
}

std::vector<NodeId> SyntaxTree::named_children(NodeId n) const {
  std::vector<NodeId> out;
  if (n == kNoNode) return out;
  for (NodeId c = first_child(n); c != kNoNode; c = next_sibling(c))
    if (nodes_[c].named && !kind(c).ends_with("comment")) out.push_back(c);
  return out;
}

Place SyntaxTree::place(std::uint32_t offset) const {
  auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  std::uint32_t start = lines_[static_cast<std::size_t>(line - 1)];
  Place place{static_cast<int>(line), 1};
  // A column is for people: a line of megabytes is not counted through.
  std::uint32_t end = std::min(offset, start + 100'000);
  for (std::uint32_t i = start; i < end; ++i)
    if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) ++place.column;
  return place;
}

std::string_view SyntaxTree::line_text(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > lines_.size()) return {};
  std::size_t begin = lines_[static_cast<std::size_t>(line - 1)];
  std::size_t end = text_.find('\n', begin);
  return std::string_view(text_).substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace hotcell
