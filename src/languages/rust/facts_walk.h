// The walk over a Rust tree. Macro bodies and arguments are token trees to the grammar; they are read here for the same
// names as code is.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "languages/fact_list.h"

namespace hotcell::rust {

enum class Kind : std::uint8_t {
  kOther, kIdentifier, kScoped, kUse, kExternCrate, kTypeAlias, kMod, kConst, kLet, kCall, kMacro, kAttribute, kForeignMod,
  kUnsafe, kTokenTree, kMetavariable, kString, kRawString, kPointerType, kLocalName, kParameter,
};

// The text with `print !(x)` for print!(x) and its like, each byte in its place; empty when that would show nothing new.
std::string without_macro_marks(std::string_view source);

class Walk {
 public:
  Walk(const SyntaxTree& tree, FactList& facts);
  void run();

 private:
  // Names (facts_names.cc)
  void collect_names();
  void see_use(NodeId declaration, bool report);
  std::vector<std::string> resolve(std::string_view path) const;
  std::string plain_path(std::string_view text) const;
  void alias(std::string_view name, std::string path);
  void use(std::string_view path, std::string_view how, NodeId n);
  // Code (facts.cc)
  void see_path(NodeId n);
  void see_call(NodeId n);
  void see_method(std::string_view name, const std::vector<NodeId>& arguments, NodeId receiver, NodeId n);
  void see_known_call(std::string_view path, const std::vector<NodeId>& arguments, NodeId n);
  void see_transmute(NodeId n);
  void see_attribute(NodeId n);
  void see_foreign(NodeId n);
  void see_unsafe(NodeId n);
  void see_macro(std::string_view name, NodeId tokens, NodeId n);
  std::string arguments_of_chain(NodeId call, std::string program);
  void path(FactKind kind, NodeId argument, NodeId at);
  // Token trees (facts_tokens.cc)
  void see_tokens(NodeId tree_node);
  void see_token_group(NodeId group, const std::string& prefix, int depth);
  std::vector<NodeId> token_arguments(NodeId group) const;
  void see_templates();
  void open_path(const std::string& path, NodeId n);
  void see_open_paths();
  // Constants (facts_constants.cc)
  std::optional<std::string> constant(NodeId n, int depth = 0);
  std::optional<std::string> constant_tokens(NodeId first, int depth);
  std::optional<std::string> macro_value(std::string_view name, NodeId tokens, int depth);
  std::optional<std::string> method_value(NodeId call, int depth);

  void add(FactKind kind, std::string name, std::string detail, NodeId n) {
    facts_.add(kind, std::move(name), std::move(detail), tree_[n].begin, tree_[n].end);
  }
  Kind kind(NodeId n) { return kinds_(tree_, n); }

  const SyntaxTree& tree_;
  FactList& facts_;
  KindTable<Kind> kinds_;
  ConstantStore constants_;
  std::unordered_map<std::string, std::vector<std::string>> aliases_;
  std::vector<std::string> globs_;
  std::unordered_set<std::string_view> modules_, function_types_;
  std::vector<std::pair<std::string, NodeId>> templates_;  // std::$a::Command in a macro
  std::vector<std::pair<std::string, NodeId>> open_paths_;  // std::process::$($x)+ in a macro
  std::unordered_set<std::string_view> macro_words_;
  std::unordered_map<std::string, int> said_;
  int folding_ = 0;
};

}  // namespace hotcell::rust
