// The walk over a Java tree: names by imports, variables by their declared types, strings as far as they are constant.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "languages/fact_list.h"

namespace hotcell::java {

enum class Kind : std::uint8_t {
  kOther, kIdentifier, kTypeIdentifier, kScopedType, kImport, kMethodCall, kNew, kMethodReference, kFieldAccess, kClassLiteral,
  kDeclarator, kParameter, kAssignment, kString, kBinary, kParenthesized, kCast, kMethod, kTypeDeclaration, kAnnotation,
};

// The full name of a class that reaches outside, by its last name; empty when there is none.
std::string_view known_class(std::string_view simple);

class Walk {
 public:
  Walk(const SyntaxTree& tree, FactList& facts);
  void run();

 private:
  // facts.cc
  void collect_names();
  void see_import(NodeId n);
  void see_type(NodeId n);
  void see_declarator(NodeId n);
  void see_identifier(NodeId n);
  void see_field(NodeId n);
  std::string class_of(std::string_view name) const;    // of a type's name; empty: unknown
  std::string type_of(NodeId expression, int depth = 0);
  void use(std::string name, std::string_view how, NodeId n);
  // facts_calls.cc
  void see_call(NodeId n);
  void see_new(NodeId n);
  void see_reference(NodeId n);
  void see_reflection(std::string_view method, const std::vector<NodeId>& arguments, NodeId n);
  void see_files(std::string_view name, const std::vector<NodeId>& arguments, NodeId n);
  void see_append(NodeId n);
  void path(FactKind kind, NodeId argument, NodeId at);
  void command(const std::vector<NodeId>& arguments, NodeId at);
  // facts_constants.cc
  std::optional<std::string> constant(NodeId n, int depth = 0);
  std::optional<std::string> call_value(NodeId n, int depth);
  std::optional<std::string> new_value(NodeId n, int depth);
  std::optional<std::string> array_value(NodeId n, int depth);
  std::optional<long> number(NodeId n, int depth);

  void add(FactKind kind, std::string name, std::string detail, NodeId n) {
    facts_.add(kind, std::move(name), std::move(detail), tree_[n].begin, tree_[n].end);
  }
  Kind kind(NodeId n) { return kinds_(tree_, n); }
  std::string_view field_text(NodeId n, std::string_view field) const {
    NodeId c = tree_.child_by_field(n, field);
    return c == kNoNode ? std::string_view() : tree_.text(c);
  }

  const SyntaxTree& tree_;
  FactList& facts_;
  KindTable<Kind> kinds_;
  ConstantStore constants_;
  std::unordered_map<std::string_view, std::string> imported_, statics_, variables_;
  std::vector<std::string> packages_, static_classes_;  // import a.*; import static a.B.*;
  std::unordered_set<std::string_view> own_classes_;
  std::unordered_map<std::string, int> said_;
  bool runtime_seen_ = false;  // Runtime is named somewhere: x.exec(…) of anything unknown is taken for its
  int folding_ = 0;
};

}  // namespace hotcell::java
