// Runs tree-sitter and copies its tree into ours. The only file that knows the library.
#include <tree_sitter/api.h>

#include <memory>

#include "parse/syntax_tree.h"

extern "C" {
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_c();
const TSLanguage* tree_sitter_cpp();
const TSLanguage* tree_sitter_rust();
const TSLanguage* tree_sitter_go();
const TSLanguage* tree_sitter_java();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_typescript();
const TSLanguage* tree_sitter_tsx();
}

namespace hotcell {
namespace {

const TSLanguage* language_of(Grammar grammar) {
  switch (grammar) {
    case Grammar::kPython: return tree_sitter_python();
    case Grammar::kC: return tree_sitter_c();
    case Grammar::kCpp: return tree_sitter_cpp();
    case Grammar::kRust: return tree_sitter_rust();
    case Grammar::kGo: return tree_sitter_go();
    case Grammar::kJava: return tree_sitter_java();
    case Grammar::kJavascript: return tree_sitter_javascript();
    case Grammar::kTypescript: return tree_sitter_typescript();
    case Grammar::kTsx: return tree_sitter_tsx();
  }
  return nullptr;
}

struct Deleter {
  void operator()(TSParser* p) const { ts_parser_delete(p); }
  void operator()(TSTree* t) const { ts_tree_delete(t); }
};

void copy_nodes(TSTreeCursor& cursor, std::vector<SyntaxNode>& nodes, NodeId& first_error) {
  NodeId parent = kNoNode, previous = kNoNode;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    auto id = static_cast<NodeId>(nodes.size());
    SyntaxNode n;
    n.begin = ts_node_start_byte(node);
    n.end = ts_node_end_byte(node);
    n.parent = parent;
    n.kind = ts_node_symbol(node);
    if (n.kind == 0xffff) n.kind = 0;  // ERROR; 0 is the end of the text, which is no node
    n.field = ts_tree_cursor_current_field_id(&cursor);
    n.named = ts_node_is_named(node);
    n.error = ts_node_is_error(node);
    n.missing = ts_node_is_missing(node);
    nodes.push_back(n);
    if ((n.error || n.missing) && first_error == kNoNode) first_error = id;
    if (previous != kNoNode) nodes[previous].next = id;
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      parent = id;
      previous = kNoNode;
      continue;
    }
    NodeId at = id;
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      nodes[at].after = static_cast<NodeId>(nodes.size());
      if (!ts_tree_cursor_goto_parent(&cursor)) return;
      at = nodes[at].parent;
    }
    nodes[at].after = static_cast<NodeId>(nodes.size());
    previous = at;
    parent = nodes[at].parent;
  }
}

}  // namespace

Result<SyntaxTree> parse_source(Grammar grammar, std::string text) {
  if (text.size() > 64u << 20) return make_error(ErrorCode::kLimit, "the source is larger than 64 MiB");
  const TSLanguage* language = language_of(grammar);
  std::unique_ptr<TSParser, Deleter> parser(ts_parser_new());
  if (!parser || !ts_parser_set_language(parser.get(), language))
    return make_error(ErrorCode::kInternal, "the grammar and the parser do not fit together");
  std::unique_ptr<TSTree, Deleter> tree(
      ts_parser_parse_string(parser.get(), nullptr, text.data(), static_cast<std::uint32_t>(text.size())));
  if (!tree) return make_error(ErrorCode::kLimit, "the parser gave up");
  SyntaxTree out;
  out.source_ = SourceText(std::move(text));
  std::uint32_t kinds = ts_language_symbol_count(language), fields = ts_language_field_count(language);
  out.kinds_.resize(kinds);
  for (std::uint32_t i = 0; i < kinds; ++i) {
    const char* name = ts_language_symbol_name(language, static_cast<TSSymbol>(i));
    out.kinds_[i] = i == 0 ? "ERROR" : name != nullptr ? name : "";
  }
  out.fields_.resize(fields + 1);
  for (std::uint32_t i = 1; i <= fields; ++i) {
    const char* name = ts_language_field_name_for_id(language, static_cast<TSFieldId>(i));
    out.fields_[i] = name != nullptr ? name : "";
  }
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree.get()));
  copy_nodes(cursor, out.nodes_, out.first_error_);
  ts_tree_cursor_delete(&cursor);
  return out;
}

}  // namespace hotcell
