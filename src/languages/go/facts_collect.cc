// Imports, and where each name is declared and set.
#include "base/strings.h"
#include "languages/go/facts_walk.h"

namespace hotcell::go {
namespace {

// The name a file uses for an import that is not renamed: the last word that is no version.
std::string default_name(std::string_view path) {
  auto parts = split(path, '/');
  std::string_view last = parts.back();
  bool version = last.size() > 1 && last[0] == 'v' && last.find_first_not_of("0123456789", 1) == last.npos;
  if (version && parts.size() > 1) last = parts[parts.size() - 2];
  if (std::size_t dot = last.rfind(".v"); dot != last.npos) last = last.substr(0, dot);
  if (last.starts_with("go-")) last.remove_prefix(3);
  return std::string(last);
}

}  // namespace

void Walk::import_spec(NodeId n) {
  NodeId from = tree_.child_by_field(n, "path"), name = tree_.child_by_field(n, "name");
  if (from == kNoNode) return;
  std::string p = string_of(from);
  imports_.push_back({p, from});
  if (tree_.is(name, "dot")) dots_.push_back(imports_.size() - 1);
  else if (!tree_.is(name, "blank_identifier"))
    names_.emplace(name == kNoNode ? default_name(p) : std::string(tree_.text(name)), imports_.size() - 1);
}

void Walk::declare(NodeId identifier, NodeId scope, Source source) {
  if (kind(identifier) != K::kIdentifier || tree_.text(identifier) == "_") return;
  declares_[identifier] = true;
  std::uint32_t id = scopes_.declare(tree_.text(identifier), scope, tree_.end_of(scope));
  if (id >= bindings_.size()) bindings_.resize(id + 1u);
  if (bindings_[id].sources.size() < 8) bindings_[id].sources.push_back(source);
}

void Walk::declare_list(NodeId names, NodeId values, NodeId scope, NodeId statement) {
  std::vector<NodeId> left =
      tree_.is(names, "expression_list") ? tree_.named_children(names) : std::vector<NodeId>{names};
  std::vector<NodeId> right = tree_.named_children(values);
  for (std::size_t i = 0; i < left.size(); ++i) {
    // `x, err := f()`: the first is what f is for.
    NodeId value = right.size() == left.size() ? right[i] : right.size() == 1 && i == 0 ? right[0] : kNoNode;
    declare(left[i], scope, {statement, value});
  }
}

void Walk::collect() {
  std::vector<NodeId> scope(tree_.size()), assignments;
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (NodeId p = tree_.parent(n); p != kNoNode) {
      K k = kind(p);
      bool opens = k == K::kBlock || k == K::kScope || k == K::kFunction || k == K::kMethod || k == K::kFuncLiteral ||
                   k == K::kFunctionType || k == K::kTypeSwitch || k == K::kSource;
      scope[n] = opens ? p : scope[p];
    }
    switch (kind(n)) {
      case K::kImportSpec:
        import_spec(n);
        break;
      case K::kShortVar:
        declare_list(tree_.child_by_field(n, "left"), tree_.child_by_field(n, "right"), scope[n], n);
        break;
      case K::kVarSpec:
      case K::kConstSpec: {
        std::vector<NodeId> values = tree_.named_children(tree_.child_by_field(n, "value"));
        std::size_t i = 0;
        for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c))
          if (tree_[c].named && tree_.field(c) == "name") {
            NodeId v = i < values.size() ? values[i] : kNoNode;
            declare(c, scope[n], {n, v});
            ++i;
          }
        break;
      }
      case K::kParameter:
        for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c))
          if (tree_.field(c) == "name") declare(c, scope[n], {n, kNoNode});
        break;
      case K::kRange:
      case K::kReceive:
        for (NodeId c : tree_.named_children(tree_.child_by_field(n, "left"))) declare(c, scope[n], {n, kNoNode});
        break;
      case K::kTypeSwitch:
        for (NodeId c : tree_.named_children(tree_.child_by_field(n, "alias"))) declare(c, n, {n, kNoNode});
        break;
      case K::kFunction:
        declares_[tree_.child_by_field(n, "name") == kNoNode ? n : tree_.child_by_field(n, "name")] = true;
        break;
      case K::kAssignment:
        assignments.push_back(n);
        break;
      default:
        break;
    }
  }
  scopes_.finish();
  bindings_.resize(scopes_.size());
  for (NodeId n : assignments) {
    auto left = tree_.named_children(tree_.child_by_field(n, "left"));
    auto right = tree_.named_children(tree_.child_by_field(n, "right"));
    bool plain = tree_.text(tree_.child_by_field(n, "operator")) == "=";
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (kind(left[i]) != K::kIdentifier) continue;
      std::uint32_t id = scopes_.find(tree_.text(left[i]), left[i]);
      NodeId value = !plain                        ? kNoNode
                     : right.size() == left.size() ? right[i]
                     : i == 0 && right.size() == 1 ? right[0]
                                                   : kNoNode;
      if (id != NameScopes::kNone && bindings_[id].sources.size() < 8) bindings_[id].sources.push_back({n, value});
    }
  }
}

}  // namespace hotcell::go
