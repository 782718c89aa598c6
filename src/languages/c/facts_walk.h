// The walk over a C or C++ tree: what is declared, what is referred to, what calls mean.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "languages/c/facts_macros.h"
#include "languages/c/facts_text.h"
#include "languages/fact_list.h"

namespace hotcell::c {

enum class Kind : std::uint8_t {
  kOther, kIdentifier, kFieldIdentifier, kCall, kAsm, kCast, kDeclaration, kInitDeclarator, kQualified, kUsing, kAlias,
  kAttribute, kString, kConcatenated, kRawString, kFunction, kTypedef, kTypeIdentifier, kCompound, kClass, kNamespace, kNew,
  kAssignment, kParameter,
};

class Walk {
 public:
  Walk(const SyntaxTree& tree, Macros& macros, FactList& facts);
  void run();

 private:
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  // Names (facts_scopes.cc)
  void collect_declarations();
  void declare_tracked(NodeId n);
  bool is_declarator(NodeId n) const;
  bool is_ours(std::string_view name, NodeId n) const;  // the program's own thing of that name
  std::string resolve(std::string_view qualified) const;
  // References (facts.cc)
  void see_identifier(NodeId n);
  void see_qualified(NodeId n);
  void see_using(NodeId n);
  void see_asm(NodeId n);
  void see_cast(NodeId n, NodeId type, NodeId value);
  void see_declaration(NodeId n);
  void see_attribute(NodeId n);
  void see_type_name(NodeId n);
  void see_macro_use(NodeId n);
  void see_import(NodeId n);
  void use(std::string name, std::string_view how, NodeId n);
  // Calls (facts_calls.cc)
  void see_call(NodeId n);
  void see_stream(std::string_view type, NodeId arguments, NodeId at);
  void see_known_call(std::string_view name, const std::vector<NodeId>& arguments, NodeId n);
  std::optional<std::string> constant(NodeId n, int depth = 0);
  void path(FactKind kind, NodeId argument, NodeId at);
  void command(const std::vector<NodeId>& words, std::size_t from, bool shell, NodeId at);

  void add(FactKind kind, std::string name, std::string detail, NodeId n) {
    facts_.add(kind, std::move(name), std::move(detail), tree_[n].begin, tree_[n].end);
  }
  Kind kind(NodeId n) { return kinds_(tree_, n); }
  bool mentions(NodeId n, std::string_view word) const;

  const SyntaxTree& tree_;
  Macros& macros_;
  FactList& facts_;
  KindTable<Kind> kinds_;
  ConstantStore constants_;
  std::unordered_map<std::string_view, std::vector<Range>> own_;  // where a tracked name is the program's own
  std::vector<Range> methods_bodies_;                             // bodies of functions defined as X::f
  std::unordered_set<std::string_view> own_methods_;
  std::unordered_map<std::string, std::string> aliases_;          // fs → std::filesystem, system → std::system
  std::vector<std::string> opened_;                               // using namespace …
  std::unordered_set<std::string_view> byte_arrays_, function_types_, own_types_;
  std::unordered_map<std::string_view, std::string_view> streams_;  // variable → ifstream, ofstream, fstream
  std::unordered_map<std::string, int> said_;                     // untracked calls, to stop after a few places
  int folding_ = 0;                                               // expressions folded so far
};

// What an assembler text reads: .incbin and .include.
void see_assembler(std::string_view text, FactList& facts, std::uint32_t begin, std::uint32_t end);
void see_included(std::string_view path, std::string_view how, FactList& facts, std::uint32_t begin, std::uint32_t end);

}  // namespace hotcell::c
