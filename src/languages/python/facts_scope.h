// Which names are bound where, to what: one pass over the tree, without regard to order. A name that is bound several
// times has several candidates; one that cannot be followed has an opaque one among them.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "languages/python/facts_tree.h"

namespace hotcell::python {

using NameId = std::uint32_t;
inline constexpr NameId kNoName = ~NameId{0};

struct Binding {
  enum class How : std::uint8_t {
    kOpaque,
    kImportTop,   // import a.b: node is the dotted name, the value is a
    kImportAs,    // import a.b as c: the value is a.b
    kFrom,        // from a import b: node is the dotted name b
    kValue,       // node is an expression
    kElement,     // … and the value one of its elements: for x in node
    kDefinition,  // node is a function, class or lambda
    kParameter,   // node is the function; index which one
    kMatch,       // node is a keyword pattern of a class pattern
  };
  How how = How::kOpaque;
  NodeId node = kNoNode;
  std::int32_t index = -1;  // place in the value when it is taken apart
  std::uint32_t next = ~0u;
};

class Scopes {
 public:
  static constexpr std::uint32_t kAttributes = ~0u, kCalls = ~0u - 1;  // pseudo scopes: x.NAME = …; NAME(…)
  static constexpr NameId kReturned = ~0u - 1;                         // pseudo name: what a function returns

  explicit Scopes(const PyTree& tree);

  std::uint32_t scope_of(NodeId n) const { return scope_of_[n]; }
  NameId name_of(NodeId identifier) const { return name_of_[identifier]; }
  NameId find_name(std::string_view name) const;
  const std::string& spelling(NameId name) const { return spellings_[name]; }

  // First binding of a name in one scope, ~0u: none; and in the scopes that are visible from it.
  std::uint32_t first(std::uint32_t scope, NameId name) const;
  std::uint32_t lookup(std::uint32_t scope, NameId name) const;
  const Binding& binding(std::uint32_t at) const { return bindings_[at]; }

  const std::vector<NodeId>& star_imports() const { return stars_; }
  std::uint32_t scope_made_by(NodeId definition) const;
  // Is the name only ever called or defined, never handed on as a value?
  bool only_called(NameId name) const { return uses_[name].total <= uses_[name].calls + uses_[name].bound; }

 private:
  struct Scope {
    NodeId node;
    std::uint32_t parent;
    bool is_class;
  };
  struct Slot {
    std::uint32_t first, last, count;
  };
  struct Uses {
    std::uint32_t total = 0, calls = 0, bound = 0;
  };
  NameId intern(NodeId identifier);
  std::uint32_t open_scope(NodeId node, std::uint32_t parent, bool is_class);
  void visit(NodeId n, std::uint32_t scope);
  void bind(std::uint32_t scope, NameId name, Binding b);
  void bind_raw(std::uint32_t scope, NameId name, Binding b);
  void bind_identifier(std::uint32_t scope, NodeId identifier, Binding b);
  void bind_target(std::uint32_t scope, NodeId target, Binding b, int depth);
  void bind_imports(NodeId n, std::uint32_t scope);
  void bind_parameters(NodeId function, NodeId list, std::uint32_t inner);
  void bind_pattern(NodeId n, std::uint32_t scope);
  void note_call(NodeId n);

  const PyTree& t_;
  std::vector<std::uint32_t> scope_of_;
  std::vector<NameId> name_of_;
  std::vector<Scope> scopes_;
  std::unordered_map<NodeId, std::uint32_t> made_by_;
  std::unordered_map<std::string_view, NameId> names_;
  std::deque<std::string> spellings_;
  std::vector<Uses> uses_;
  std::unordered_map<std::uint64_t, Slot> slots_;
  std::unordered_map<std::uint64_t, std::uint32_t> redirected_;  // global and nonlocal names
  std::vector<Binding> bindings_;
  std::vector<NodeId> stars_;
};

}  // namespace hotcell::python
