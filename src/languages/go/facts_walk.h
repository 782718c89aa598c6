// The meaning of a Go source: which package a name belongs to, what constants are, and the facts that follow.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "languages/fact_list.h"
#include "languages/name_scopes.h"
#include "parse/syntax_tree.h"

namespace hotcell::go {

enum class K : std::uint8_t {
  kOther, kIdentifier, kSelector, kCall, kString, kRawString, kRune, kInt, kBinary, kUnary, kParenthesized, kComposite,
  kConversion, kIndex, kQualifiedType, kImportSpec, kShortVar, kVarSpec, kConstSpec, kAssignment, kParameter, kRange,
  kReceive, kTypeSwitch, kFunction, kMethod, kFuncLiteral, kFunctionType, kBlock, kScope, kSource, kComment, kTypeSpec,
  kLiteralElement, kTypeAssertion, kSliceType,
};

using ValueId = std::uint32_t;

struct Value {
  enum Kind : std::uint8_t { kUnknown, kText, kPrefix, kNumber, kPath, kList } kind = kUnknown;
  std::string text;  // of a path: "os/exec.Command"; "os/exec.Command()" is what it returns
  long number = 0;
  std::vector<ValueId> items;
};

class Walk {
 public:
  explicit Walk(const SyntaxTree& tree);
  std::vector<Fact> run();

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr std::size_t kFoldBudget = 16u << 20;  // bytes of folded texts for one source
  struct Source {
    NodeId statement = kNoNode, value = kNoNode;  // no value: not known
  };
  struct Binding {
    std::vector<Source> sources;
    ValueId known = 0;
    std::uint8_t state = 0;  // 0 new, 1 being looked at, 2 known
  };

  K kind(NodeId n) { return n == kNoNode ? K::kOther : kinds_(tree_, n); }
  void add(FactKind k, std::string name, std::string detail, NodeId at);
  void construct(std::string_view name, std::string detail, NodeId at) {
    add(FactKind::kConstruct, std::string(name), std::move(detail), at);
  }

  // facts.cc
  void look_at_comment(NodeId n);
  void look_at_text();
  void look_at_outline();
  void look_at_name(NodeId n);
  void imports();

  // facts_names.cc
  void collect();
  void declare(NodeId identifier, NodeId scope, Source source);
  void declare_list(NodeId names, NodeId values, NodeId scope, NodeId statement);
  void import_spec(NodeId n);
  ValueId evaluate(NodeId n);
  ValueId evaluate_now(NodeId n);
  ValueId evaluate_name(NodeId n);
  ValueId evaluate_sum(NodeId n);
  ValueId evaluate_composite(NodeId n);
  ValueId evaluate_call(NodeId n);
  const Value& value(ValueId v) const { return values_[v]; }
  const Value& value_of(NodeId n) { return values_[evaluate(n)]; }
  ValueId make(Value v);
  ValueId text(std::string s);
  ValueId path(std::string s);
  bool as_text(ValueId v, std::string& out) const;
  ValueId add_texts(const std::vector<ValueId>& parts);
  std::string string_of(NodeId n);
  std::vector<NodeId> arguments_of(NodeId call) const;

  // facts_calls.cc
  void look_at_call(NodeId n);
  void commands(const std::string& path, const std::vector<NodeId>& arguments, NodeId n);
  void files(const std::string& path, const std::vector<NodeId>& arguments, NodeId n);
  void hosts(const std::string& path, const std::vector<NodeId>& arguments, NodeId n);

  const SyntaxTree& tree_;
  KindTable<K> kinds_;
  FactList facts_;
  NameScopes scopes_;
  std::vector<Binding> bindings_;
  std::vector<bool> declares_;
  std::deque<Value> values_;
  std::vector<ValueId> memo_;
  struct Import {
    std::string path;
    NodeId node;
    bool used = false, used_freely = false;  // freely: for more than its constants
  };
  std::vector<Import> imports_;
  std::unordered_map<std::string, std::size_t> names_;  // what a file calls an import
  std::vector<std::size_t> dots_;
  std::unordered_map<std::string, int> uses_;
  int depth_ = 0;
  std::size_t folded_ = 0;
};

}  // namespace hotcell::go
