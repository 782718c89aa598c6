#include "languages/python/facts_scope.h"

namespace hotcell::python {
namespace {

constexpr std::uint32_t kMostBindings = 24;  // of one name; more are one opaque binding

std::uint64_t key_of(std::uint32_t scope, NameId name) { return std::uint64_t{scope} << 32 | name; }

}  // namespace

Scopes::Scopes(const PyTree& tree) : t_(tree) {
  NodeId size = tree.tree().size();
  scope_of_.assign(size, 0);
  name_of_.assign(size, kNoName);
  scopes_.push_back({0, 0, false});
  std::vector<std::pair<std::uint32_t, NodeId>> open = {{0, size}};
  for (NodeId n = 0; n < size; ++n) {
    while (open.size() > 1 && n >= open.back().second) open.pop_back();
    std::uint32_t scope = open.back().first;
    scope_of_[n] = scope;
    if (!tree.tree()[n].named) continue;
    K kind = t_.kind(n);
    if (kind == K::kIdentifier) {
      if (name_of_[n] == kNoName) intern(n);
      continue;
    }
    if (kind == K::kFunction || kind == K::kLambda || kind == K::kClass) {
      std::uint32_t inner = open_scope(n, scope, kind == K::kClass);
      open.emplace_back(inner, tree.tree().end_of(n));
      NodeId name = t_.field(n, "name");
      if (name != kNoNode && t_.kind(name) == K::kIdentifier)
        bind_identifier(scope, name, {Binding::How::kDefinition, n});
      if (kind != K::kClass) bind_parameters(n, t_.field(n, "parameters"), inner);
      if (kind == K::kLambda) bind_raw(inner, kReturned, {Binding::How::kValue, t_.field(n, "body")});
      continue;
    }
    visit(n, scope);
  }
}

NameId Scopes::intern(NodeId identifier) {
  std::string_view text = t_.text(identifier);
  auto it = names_.find(text);
  if (it == names_.end()) {
    // A spelling in other letters is the same name: both point at one entry.
    std::string normal = t_.name(identifier);
    auto same = names_.find(normal);
    if (same == names_.end()) {
      spellings_.push_back(std::move(normal));
      uses_.emplace_back();
      same = names_.emplace(spellings_.back(), static_cast<NameId>(spellings_.size() - 1)).first;
    }
    NameId id = same->second;
    it = names_.emplace(text, id).first;
  }
  name_of_[identifier] = it->second;
  ++uses_[it->second].total;
  return it->second;
}

NameId Scopes::find_name(std::string_view name) const {
  auto it = names_.find(name);
  return it == names_.end() ? kNoName : it->second;
}

std::uint32_t Scopes::open_scope(NodeId node, std::uint32_t parent, bool is_class) {
  scopes_.push_back({node, parent, is_class});
  auto id = static_cast<std::uint32_t>(scopes_.size() - 1);
  made_by_.emplace(node, id);
  return id;
}

std::uint32_t Scopes::scope_made_by(NodeId definition) const {
  auto it = made_by_.find(definition);
  return it == made_by_.end() ? 0 : it->second;
}

std::uint32_t Scopes::first(std::uint32_t scope, NameId name) const {
  auto it = slots_.find(key_of(scope, name));
  return it == slots_.end() ? ~0u : it->second.first;
}

std::uint32_t Scopes::lookup(std::uint32_t scope, NameId name) const {
  if (name == kNoName) return ~0u;
  if (auto moved = redirected_.find(key_of(scope, name)); moved != redirected_.end()) scope = moved->second;
  // Functions nest a few deep; a hostile file may nest them a thousand deep, and the loop stays bounded by that.
  for (int steps = 0; steps < 64; ++steps) {
    std::uint32_t found = first(scope, name);
    if (found != ~0u) return found;
    if (scope == 0) return ~0u;
    do {
      scope = scopes_[scope].parent;
    } while (scope != 0 && scopes_[scope].is_class);
  }
  return first(0, name);
}

void Scopes::bind_raw(std::uint32_t scope, NameId name, Binding b) {
  if (b.node == kNoNode) b.how = Binding::How::kOpaque;
  auto [it, added] = slots_.try_emplace(key_of(scope, name), Slot{0, 0, 0});
  Slot& slot = it->second;
  if (slot.count >= kMostBindings) return;
  if (slot.count + 1 == kMostBindings && scope != kCalls) b.how = Binding::How::kOpaque;
  auto at = static_cast<std::uint32_t>(bindings_.size());
  bindings_.push_back(b);
  if (added)
    slot.first = at;
  else
    bindings_[slot.last].next = at;
  slot.last = at;
  ++slot.count;
}

void Scopes::bind(std::uint32_t scope, NameId name, Binding b) {
  if (!redirected_.empty())
    if (auto moved = redirected_.find(key_of(scope, name)); moved != redirected_.end()) scope = moved->second;
  bind_raw(scope, name, b);
  if (scope != 0 && scope < scopes_.size() && scopes_[scope].is_class) bind_raw(kAttributes, name, b);
}

void Scopes::bind_identifier(std::uint32_t scope, NodeId identifier, Binding b) {
  NameId name = intern(identifier);
  ++uses_[name].bound;
  bind(scope, name, b);
}

void Scopes::bind_target(std::uint32_t scope, NodeId target, Binding b, int depth) {
  switch (t_.kind(target)) {
    case K::kIdentifier:
      bind_identifier(scope, target, b);
      return;
    case K::kAttribute: {
      NodeId attribute = t_.field(target, "attribute");
      if (attribute != kNoNode) bind_identifier(kAttributes, attribute, b);
      return;
    }
    case K::kAsTarget:
    case K::kParenthesized:
    case K::kListSplatPattern:
      if (t_.kind(target) == K::kListSplatPattern) b = {};
      if (depth < 8) bind_target(scope, t_.first_named(target), b, depth + 1);
      return;
    case K::kPatternList:
    case K::kTuplePattern:
    case K::kListPattern: {
      if (depth >= 8) return;
      // `f, g = os.system, 1` pairs the elements; anything else is taken apart by place.
      K value = t_.kind(b.node);
      bool pairs = b.how == Binding::How::kValue && b.index < 0 &&
                   (value == K::kExpressionList || value == K::kTuple || value == K::kList);
      NodeId element = pairs ? t_.first_named(b.node) : kNoNode;
      std::int32_t index = 0;
      for (NodeId c = t_.first_named(target); c != kNoNode; c = t_.next_named(c), ++index) {
        Binding part = b;
        if (pairs)
          part.node = element;
        else
          part.index = b.index < 0 ? index : -2;
        if (part.index == -2 || (pairs && element == kNoNode)) part = {};
        bind_target(scope, c, part, depth + 1);
        if (element != kNoNode) element = t_.next_named(element);
      }
      return;
    }
    default:
      return;
  }
}

void Scopes::bind_imports(NodeId n, std::uint32_t scope) {
  bool from = t_.kind(n) == K::kImportFrom;
  NodeId module = from ? t_.field(n, "module_name") : kNoNode;
  bool relative = t_.kind(module) == K::kRelative;
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
    if (c == module) continue;
    K kind = t_.kind(c);
    if (kind == K::kWildcard && !relative && module != kNoNode) stars_.push_back(module);
    NodeId dotted = kind == K::kAliased ? t_.field(c, "name") : kind == K::kDotted ? c : kNoNode;
    if (dotted == kNoNode) continue;
    NodeId target = kind == K::kAliased ? t_.field(c, "alias") : t_.first_named(dotted);
    if (target == kNoNode || t_.kind(target) != K::kIdentifier) continue;
    Binding::How how = from                  ? Binding::How::kFrom
                       : kind == K::kAliased ? Binding::How::kImportAs
                                             : Binding::How::kImportTop;
    bind_identifier(scope, target, {relative ? Binding::How::kOpaque : how, dotted});
  }
}

void Scopes::bind_parameters(NodeId function, NodeId list, std::uint32_t inner) {
  std::int32_t index = 0;
  for (NodeId c = t_.first_named(list); c != kNoNode; c = t_.next_named(c), ++index) {
    K kind = t_.kind(c);
    NodeId name = kind == K::kIdentifier ? c : t_.field(c, "name");
    if (name == kNoNode) name = t_.first_named(c);
    if (t_.kind(name) == K::kListSplatPattern || t_.kind(name) == K::kDictSplatPattern) {
      kind = t_.kind(name);
      name = t_.first_named(name);
    }
    if (t_.kind(name) != K::kIdentifier) continue;
    bool rest = kind == K::kListSplatPattern || kind == K::kDictSplatPattern;
    bind_identifier(inner, name, rest ? Binding{} : Binding{Binding::How::kParameter, function, index});
  }
}

void Scopes::bind_pattern(NodeId n, std::uint32_t scope) {
  // Bare names in a pattern capture; a keyword of a class pattern captures an attribute of the subject.
  if (t_.kind(n) == K::kKeywordPattern) {
    NodeId keyword = t_.first_named(n);
    NodeId value = keyword == kNoNode ? kNoNode : t_.next_named(keyword);
    NodeId capture = t_.kind(value) == K::kDotted ? t_.first_named(value) : value;
    if (t_.kind(capture) == K::kIdentifier) bind_identifier(scope, capture, {Binding::How::kMatch, n});
    return;
  }
  NodeId name = t_.first_named(n);
  if (t_.kind(name) == K::kDotted && t_.next_named(name) == kNoNode) {
    NodeId only = t_.first_named(name);
    if (t_.kind(only) == K::kIdentifier && t_.next_named(only) == kNoNode) bind_identifier(scope, only, {});
  }
}

void Scopes::note_call(NodeId n) {
  NodeId f = t_.field(n, "function");
  if (t_.kind(f) == K::kAttribute) f = t_.field(f, "attribute");
  if (t_.kind(f) != K::kIdentifier) return;
  if (name_of_[f] == kNoName) intern(f);
  ++uses_[name_of_[f]].calls;
  bind_raw(kCalls, name_of_[f], {Binding::How::kValue, n});
}

void Scopes::visit(NodeId n, std::uint32_t scope) {
  using How = Binding::How;
  switch (t_.kind(n)) {
    case K::kImport:
    case K::kImportFrom:
      bind_imports(n, scope);
      break;
    case K::kAssignment: {
      NodeId value = t_.field(n, "right");
      if (value != kNoNode) bind_target(scope, t_.field(n, "left"), {How::kValue, value}, 0);
      break;
    }
    case K::kAugmented:
      bind_target(scope, t_.field(n, "left"), {}, 0);
      break;
    case K::kNamed:
      bind_target(scope, t_.field(n, "name"), {How::kValue, t_.field(n, "value")}, 0);
      break;
    case K::kFor:
    case K::kForIn:
      bind_target(scope, t_.field(n, "left"), {How::kElement, t_.field(n, "right")}, 0);
      break;
    case K::kAsPattern: {
      NodeId alias = t_.field(n, "alias");
      bool with = t_.kind(t_.parent(n)) == K::kWithItem;
      if (alias != kNoNode) {
        bind_target(scope, alias, with ? Binding{How::kValue, t_.first_named(n)} : Binding{}, 0);
      } else if (NodeId first = t_.first_named(n); first != kNoNode) {
        NodeId name = t_.next_named(first);
        if (t_.kind(name) == K::kIdentifier) bind_identifier(scope, name, {});
      }
      break;
    }
    case K::kKeywordPattern:
    case K::kCasePattern:
      bind_pattern(n, scope);
      break;
    case K::kGlobal:
    case K::kNonlocal:
      for (NodeId c = t_.first_named(n); c != kNoNode && scope != 0; c = t_.next_named(c))
        if (t_.kind(c) == K::kIdentifier)
          redirected_.emplace(key_of(scope, intern(c)), t_.kind(n) == K::kGlobal ? 0 : scopes_[scope].parent);
      break;
    case K::kReturn:
      if (NodeId value = t_.first_named(n); value != kNoNode) bind_raw(scope, kReturned, {How::kValue, value});
      break;
    case K::kCall:
      note_call(n);
      break;
    default:
      break;
  }
}

}  // namespace hotcell::python
