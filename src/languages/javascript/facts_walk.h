// Turns the meaning of a source (facts_model.h) into facts.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "languages/fact_list.h"
#include "languages/javascript/facts_model.h"
#include "verify/facts.h"

namespace hotcell::javascript {

class Walk {
 public:
  Walk(const SyntaxTree& tree, int nesting, int* nested_left)
      : model_(tree), nesting_(nesting), nested_left_(nested_left) {}
  std::vector<Fact> run();

 private:
  const SyntaxTree& tree() const { return model_.tree(); }
  void add(FactKind kind, std::string name, std::string detail, NodeId at);
  void construct(std::string_view name, std::string detail, NodeId at) {
    add(FactKind::kConstruct, std::string(name), std::move(detail), at);
  }

  // facts.cc
  void look(NodeId n);
  void look_at_text();
  void look_at_imports(NodeId n);
  void look_at_name(NodeId n);
  void look_at_member(NodeId n);
  void look_at_script_url(NodeId n);
  NodeId outermost(NodeId n) const;  // with its parentheses, casts and awaits
  std::string role_of(NodeId n);
  void import(std::string_view specifier, bool folded, NodeId at);

  // facts_calls.cc
  void look_at_call(NodeId n);
  bool loads_module(const Model::Call& call, NodeId n);
  bool runs_code(const Model::Call& call, NodeId n);
  void code(const Model::Call& call, std::size_t argument, NodeId n);
  bool plain_eval(NodeId n);
  bool only_computes();
  void nested(std::string source, NodeId n);
  void commands(const Model::Call& call, NodeId n);
  void files(const Model::Call& call, NodeId n);
  void file(FactKind kind, ValueId v, bool deletes, NodeId n);
  void hosts(const Model::Call& call, NodeId n);
  void host(ValueId v, NodeId n);
  void globals_as_objects(const Model::Call& call, NodeId n);
  const Value& argument(const Model::Call& call, std::size_t i) const {
    return model_.value(i < call.arguments.size() ? call.arguments[i] : kUnknownValue);
  }

  // facts_written.cc
  void keep_written(std::string_view function, const Model::Call& call, std::size_t argument);
  void look_at_written();
  bool evaluates(NodeId options);

  // facts_lint.cc
  std::string_view last_name(NodeId n) const;
  void look_at_comparison(NodeId n);
  void look_at_assignment(NodeId n);
  void look_at_habits(const Model::Call& call, NodeId n);
  void look_at_order();

  Model model_;
  FactList facts_;
  std::vector<NodeId> csrf_;
  std::uint32_t method_override_ = 0;  // where the last one is
  std::unordered_map<std::string, int> uses_;
  std::set<std::string> written_;  // files the program writes
  std::vector<std::pair<std::string, NodeId>> loaded_;  // what it loads as code
  std::optional<bool> only_computes_;
  std::unordered_set<std::string_view> declared_;  // names, once they are asked for
  int nesting_;
  int* nested_left_;
};

bool is_telling_name(std::string_view name);  // a name that is only hidden to hide what is done

}  // namespace hotcell::javascript
