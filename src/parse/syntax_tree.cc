#include "parse/syntax_tree.h"

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

}  // namespace hotcell
