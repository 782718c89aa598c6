// What an expression may stand for, as far as it can be told without running it.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "languages/python/facts_scope.h"

namespace hotcell::python {

struct Value {
  enum class Kind : std::uint8_t {
    kUnknown,
    kString,  // text; bytes: of bytes; partial: only the beginning is known
    kInt,     // number
    kName,    // text: a dotted name of a library: "os", "os.system", "builtins.eval"; items[0]: what it is bound to
    kObject,  // text: the name that was called to make it; items: what it was made with, where that matters
    kDictOf,  // text: the module whose __dict__ it is
    kList,    // items
    kDict,    // items: key, value, key, value …
    kOwn,     // node: a function, class or lambda of the program
    kEnv,     // text: the environment variable it was read from; number: 1 when there is a default
  };
  Kind kind = Kind::kUnknown;
  bool partial = false, bytes = false, module = false;
  std::string text;
  std::int64_t number = 0;
  NodeId node = kNoNode;
  std::vector<Value> items;

  bool is(Kind k) const { return kind == k; }
  bool known_string() const { return kind == Kind::kString && !partial; }
};
using Values = std::vector<Value>;  // candidates; never empty

Value unknown_value();
Value string_value(std::string text, bool bytes = false);
Value int_value(std::int64_t number);
Value name_value(std::string text, bool module = false);
Value list_value(std::vector<Value> items);
Values one(Value v);

struct Arguments {
  std::vector<NodeId> positional;
  std::vector<std::pair<std::string, NodeId>> keywords;
  bool splat = false;  // *args or **kwargs: there may be more
  NodeId at(std::size_t i) const { return i < positional.size() ? positional[i] : kNoNode; }
  NodeId keyword(std::string_view name) const;
  NodeId get(std::size_t i, std::string_view name) const;  // by place or by name
};

class Evaluator {
 public:
  Evaluator(const PyTree& tree, const Scopes& scopes);

  const Values& eval(NodeId n) { return eval(n, 0); }
  Arguments arguments(NodeId call) const;
  // The one text it is, when it is one.
  std::optional<std::string> constant(NodeId n);
  Values member(const Value& object, const std::string& name, int depth = 0);
  Values call(const Value& function, NodeId call_node, int depth);
  bool exhausted() const { return steps_ > budget_; }
  const PyTree& tree() const { return t_; }
  const Scopes& scopes() const { return s_; }

 private:
  using Kind = Value::Kind;
  struct Override {
    NameId name;
    Value value;
  };
  const Values& eval(NodeId n, int depth, bool keep = false);
  Values compute(NodeId n, int depth);
  Values eval_identifier(NodeId n, int depth);
  Values eval_name(std::uint32_t scope, NameId name, int depth);
  Values eval_binding(const Binding& b, int depth);
  Values eval_parameter(const Binding& b, int depth);
  Values eval_string(NodeId n, int depth);
  Values eval_binary(NodeId n, int depth);
  Values eval_subscript(NodeId n, int depth);
  Values eval_slice(const Value& v, NodeId slice, int depth);
  Values eval_collection(NodeId n, int depth);
  Values eval_dictionary(NodeId n, int depth);
  Values eval_comprehension(NodeId n, int depth);
  Values eval_call(NodeId n, int depth);
  Values subscript(const Value& v, const Value& key, int depth);
  Values apply(const Value& function, const Value& argument, int depth);
  Value first(NodeId n, int depth);  // the only candidate, or unknown
  std::optional<std::vector<Value>> elements(const Value& v) const;
  Values called_own(const Value& function, int depth);

  // facts_fold.cc, facts_reflect.cc, facts_path_fold.cc: calls whose result is known. nullopt: not one of them.
  std::optional<Values> fold_builtin(std::string_view name, const Arguments& a, int depth);
  std::optional<Values> fold_method(std::string_view name, const Value& self, const Arguments& a, int depth);
  std::optional<Values> fold_decoder(std::string_view name, const Arguments& a, int depth);
  std::optional<Values> fold_reflection(const Value& f, const Arguments& a, int depth);
  std::optional<Values> fold_path(const Value& f, const Arguments& a, int depth);
  std::optional<Values> fold_path_method(std::string_view method, const Value& self, const Arguments& a, int depth);
  std::optional<std::string> join_strings(const Value& separator, const Value& list) const;
  std::optional<Value> format_string(const Value& format, const Arguments& a, int depth);
  std::optional<Value> percent(const Value& format, const Value& right) const;
  Values module_values(const Values& names, bool top);

  const PyTree& t_;
  const Scopes& s_;
  std::vector<std::uint32_t> memo_;
  std::deque<Values> kept_;
  struct Cut {
    int depth = 0;
    std::size_t at = 0;
  };
  std::unordered_map<NodeId, Cut> cut_short_;  // results that depth cut short, and the depth they were found at
  std::deque<Values> scratch_;
  std::vector<Override> overrides_;
  std::uint64_t steps_ = 0, budget_ = 0;
  bool truncated_ = false;
  std::size_t bytes_ = 0;  // of all folded strings
};

inline constexpr std::size_t kMostValues = 8;
inline constexpr std::size_t kMostItems = 4096;

bool copies_namespace(std::string_view function);  // facts_namespaces.cc
void add_values(Values& to, const Values& from);
// Joined as os.path.join and pathlib do.
Value join_path(const Value& left, const Value& right);

}  // namespace hotcell::python
