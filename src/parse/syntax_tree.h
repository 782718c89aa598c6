// What a parser saw, as one flat list in the order of the text: no pointers, no recursion, nothing of the parser's left.
// Analysers walk it by index; a node's descendants are the nodes from it to `end_of(node)`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "parse/source_text.h"

namespace hotcell {

enum class Grammar : std::uint8_t { kPython, kC, kCpp, kRust, kGo, kJava, kJavascript, kTypescript, kTsx };

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

struct SyntaxNode {
  std::uint32_t begin = 0, end = 0;     // bytes of the text
  NodeId parent = kNoNode, next = kNoNode, after = 0;  // next sibling; first node that is not a descendant
  std::uint16_t kind = 0, field = 0;    // the grammar's symbol; the name of the place in its parent, 0: none
  bool named = false, error = false, missing = false;
};

class SyntaxTree {
 public:
  const SourceText& source() const { return source_; }
  std::string_view text() const { return source_.text(); }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  const SyntaxNode& operator[](NodeId n) const { return nodes_[n]; }

  std::string_view kind(NodeId n) const { return kinds_[nodes_[n].kind]; }   // "call", "identifier", "(", …
  bool is(NodeId n, std::string_view kind_name) const { return n != kNoNode && kind(n) == kind_name; }
  std::string_view field(NodeId n) const { return fields_[nodes_[n].field]; }  // "function", "arguments", … or ""
  std::string_view text(NodeId n) const { return text().substr(nodes_[n].begin, nodes_[n].end - nodes_[n].begin); }

  NodeId parent(NodeId n) const { return nodes_[n].parent; }
  NodeId end_of(NodeId n) const { return nodes_[n].after; }                    // one past its last descendant
  NodeId first_child(NodeId n) const { return n + 1 < nodes_[n].after ? n + 1 : kNoNode; }
  NodeId next_sibling(NodeId n) const { return nodes_[n].next; }
  NodeId child_by_field(NodeId n, std::string_view field_name) const;          // kNoNode when there is none
  NodeId child_by_kind(NodeId n, std::string_view kind_name) const;            // the first one
  std::vector<NodeId> named_children(NodeId n) const;                          // comments are left out

  // The parser met something it could not read. Such a text cannot be verified; it is never clean.
  bool has_error() const { return first_error_ != kNoNode; }
  NodeId first_error() const { return first_error_; }

  Place place_of(NodeId n) const { return source_.place(nodes_[n].begin); }

 private:
  friend Result<SyntaxTree> parse_source(Grammar grammar, std::string text);
  SourceText source_;
  std::vector<SyntaxNode> nodes_;
  std::vector<std::string_view> kinds_, fields_;  // of the grammar; static strings
  NodeId first_error_ = kNoNode;
};

// In this process, without any limit: hostile text takes gigabytes. Only the limited child (languages/verify_main.cc)
// and tests call it.
Result<SyntaxTree> parse_source(Grammar grammar, std::string text);

}  // namespace hotcell
