// Expressions, members and collections; names are in facts_bindings.cc. Depth, steps, candidates and sizes are bounded:
// beyond, a value is unknown.
#include <algorithm>

#include "languages/python/facts_modules.h"
#include "languages/python/facts_value.h"

namespace hotcell::python {
namespace {

constexpr std::uint32_t kBusy = ~0u;
constexpr std::size_t kMostBytes = 32u << 20;

// How many values a value holds, itself and those in its items, counted as far as `most`.
std::size_t weight(const Value& v, std::size_t most) {
  std::size_t count = 1;
  for (const Value& item : v.items) {
    if (count >= most) break;
    count += weight(item, most - count);
  }
  return count;
}

}  // namespace

Value unknown_value() { return {}; }
Value string_value(std::string text, bool bytes) {
  Value v;
  v.kind = Value::Kind::kString;
  v.bytes = bytes;
  v.text = std::move(text);
  return v;
}
Value int_value(std::int64_t number) {
  Value v;
  v.kind = Value::Kind::kInt;
  v.number = number;
  return v;
}
Value name_value(std::string text, bool module) {
  Value v;
  v.kind = Value::Kind::kName;
  v.module = module;
  v.text = std::move(text);
  return v;
}
Value list_value(std::vector<Value> items) {
  Value v;
  v.kind = Value::Kind::kList;
  v.items = std::move(items);
  return v;
}
Values one(Value v) {
  Values out;
  out.push_back(std::move(v));
  return out;
}
void add_values(Values& to, const Values& from) {
  for (const Value& v : from) {
    if (to.size() >= kMostValues) return;
    bool same = std::any_of(to.begin(), to.end(), [&](const Value& o) {
      return o.kind == v.kind && o.text == v.text && o.number == v.number && o.node == v.node && o.items.empty() &&
             v.items.empty() && o.partial == v.partial;
    });
    if (!same) to.push_back(v);
  }
}

NodeId Arguments::keyword(std::string_view name) const {
  for (const auto& [key, node] : keywords)
    if (key == name) return node;
  return kNoNode;
}
NodeId Arguments::get(std::size_t i, std::string_view name) const {
  NodeId n = at(i);
  return n != kNoNode ? n : keyword(name);
}

Evaluator::Evaluator(const PyTree& tree, const Scopes& scopes) : t_(tree), s_(scopes) {
  memo_.assign(tree.tree().size(), 0);
  budget_ = 2'000'000 + 16ull * tree.tree().size();
}

Arguments Evaluator::arguments(NodeId call_node) const {
  Arguments out;
  NodeId list = t_.field(call_node, "arguments");
  if (t_.kind(list) == K::kGenerator) {
    out.positional.push_back(list);
    return out;
  }
  for (NodeId c = t_.first_named(list); c != kNoNode; c = t_.next_named(c)) {
    switch (t_.kind(c)) {
      case K::kKeywordArgument: {
        NodeId name = t_.field(c, "name"), value = t_.field(c, "value");
        if (name != kNoNode && value != kNoNode) out.keywords.emplace_back(t_.name(name), value);
        break;
      }
      case K::kListSplat:
      case K::kDictSplat:
        out.splat = true;
        break;
      default:
        if (!out.splat) out.positional.push_back(c);
    }
  }
  return out;
}

const Values& Evaluator::eval(NodeId n, int depth, bool keep) {
  static const Values none = one(unknown_value());
  if (n == kNoNode) return none;
  bool kept = overrides_.empty();
  if (kept && memo_[n] == kBusy) return none;
  if (kept && memo_[n] != 0) return kept_[memo_[n] - 1];
  if (kept)
    // From deeper down there is no more to be seen than was seen from here.
    if (auto it = cut_short_.find(n); it != cut_short_.end() && it->second.depth <= depth) {
      truncated_ = true;
      return kept_[it->second.at];
    }
  if (depth > kMaxFolding || ++steps_ > budget_) {
    truncated_ = true;
    return none;
  }
  bool outer = truncated_;
  truncated_ = false;
  if (kept) memo_[n] = kBusy;
  Values v = compute(n, depth + 1);
  if (v.empty()) v.push_back(unknown_value());
  for (Value& each : v) {
    if (each.text.size() > kMaxConstant || each.items.size() > kMostItems * 2) each = unknown_value();
    // Lists of lists that hold themselves through a loop double with every turn, and are copied each time.
    if (!each.items.empty()) {
      std::size_t held = weight(each, kMostItems * 2 + 1);
      steps_ += held / 4;
      if (held > kMostItems * 2) each = unknown_value();
    }
    bytes_ += each.text.size();
    if (bytes_ > kMostBytes) each = unknown_value();
  }
  // A result that was cut short by depth is not kept, so that the same expression by itself may still be folded;
  // the values of bindings are, or chains of names would be walked again and again.
  bool store = kept && (!truncated_ || keep);
  truncated_ = truncated_ || outer;
  if (kept) memo_[n] = 0;
  if (store) {
    kept_.push_back(std::move(v));
    memo_[n] = static_cast<std::uint32_t>(kept_.size());
    return kept_.back();
  }
  if (kept) {
    cut_short_[n] = {depth, kept_.size()};
    kept_.push_back(std::move(v));
    return kept_.back();
  }
  if (scratch_.size() > 4096 && depth == 0) scratch_.clear();
  scratch_.push_back(std::move(v));
  return scratch_.back();
}

std::optional<std::string> Evaluator::constant(NodeId n) {
  if (n == kNoNode) return std::nullopt;
  const Values& v = eval(n);
  if (v.size() != 1 || !v[0].known_string()) return std::nullopt;
  return v[0].text;
}

Value Evaluator::first(NodeId n, int depth) {
  if (n == kNoNode) return unknown_value();
  const Values& v = eval(n, depth);
  return v.size() == 1 ? v[0] : unknown_value();
}

Values Evaluator::compute(NodeId n, int depth) {
  switch (t_.kind(n)) {
    case K::kIdentifier:
      return eval_identifier(n, depth);
    case K::kAttribute: {
      NodeId object = t_.field(n, "object"), attribute = t_.field(n, "attribute");
      if (object == kNoNode || attribute == kNoNode) return {};
      Values out;
      Values objects = eval(object, depth);
      std::string name = t_.name(attribute);
      for (const Value& v : objects) add_values(out, member(v, name, depth));
      return out;
    }
    case K::kCall:
      return eval_call(n, depth);
    case K::kSubscript:
      return eval_subscript(n, depth);
    case K::kString:
    case K::kConcatenated:
      return eval_string(n, depth);
    case K::kInteger: {
      auto number = parse_integer(t_.text(n));
      return number ? one(int_value(*number)) : Values{};
    }
    case K::kTrue:
      return one(int_value(1));
    case K::kFalse:
      return one(int_value(0));
    case K::kBinary:
      return eval_binary(n, depth);
    case K::kUnary: {
      Value v = first(t_.field(n, "argument"), depth);
      std::string_view text = t_.text(n);
      if (!v.is(Kind::kInt) || text.empty()) return {};
      return one(int_value(text[0] == '-' ? -v.number : text[0] == '~' ? ~v.number : v.number));
    }
    case K::kBoolean: {
      Values out = eval(t_.field(n, "left"), depth);
      add_values(out, eval(t_.field(n, "right"), depth));
      return out;
    }
    case K::kConditional: {
      NodeId body = t_.first_named(n);
      NodeId condition = body == kNoNode ? kNoNode : t_.next_named(body);
      Values out = eval(body, depth);
      if (condition != kNoNode) add_values(out, eval(t_.next_named(condition), depth));
      return out;
    }
    case K::kParenthesized:
    case K::kAwait:
    case K::kListSplat:  // of [*f(x)] the grammar makes (*f)(x)
      return eval(t_.first_named(n), depth);
    case K::kNamed:
      return eval(t_.field(n, "value"), depth);
    case K::kAssignment:
      return eval(t_.field(n, "right"), depth);
    case K::kList:
    case K::kTuple:
    case K::kSet:
    case K::kExpressionList:
      return eval_collection(n, depth);
    case K::kDictionary:
      return eval_dictionary(n, depth);
    case K::kListComp:
    case K::kSetComp:
    case K::kGenerator:
      return eval_comprehension(n, depth);
    case K::kLambda: {
      Value v;
      v.kind = Kind::kOwn;
      v.node = n;
      return one(v);
    }
    default:
      return {};
  }
}

Values Evaluator::member(const Value& object, const std::string& name, int depth) {
  switch (object.kind) {
    case Kind::kName: {
      if (name == "__call__" || name == "__wrapped__") return one(object);
      if (name == "__dict__") {
        Value v = object;
        v.kind = Kind::kDictOf;
        return one(v);
      }
      if (name == "__self__" && object.text.starts_with("builtins.")) return one(name_value("builtins", true));
      if (std::string through = module_through(object.text, name); !through.empty())
        return one(name_value(through, true));
      std::string dotted = object.text + "." + name;
      if (std::string_view text = constant_text(dotted); !text.empty()) return one(string_value(std::string(text)));
      Value v = name_value(std::move(dotted), object.module && is_submodule(object.text, name));
      if (name == "__getattribute__" || name == "__getattr__") v.items.push_back(object);
      return one(v);
    }
    case Kind::kObject: {
      if (object.text == "pathlib.Path") {
        if (auto made = fold_path_method(name, object, {}, depth); made && (name == "parent" || name == "name" || name == "path"))
          return *made;
      }
      Value v = name_value(object.text + "." + name);
      v.items.push_back(object);
      return one(v);
    }
    case Kind::kString:
    case Kind::kEnv:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kInt: {
      std::string type = object.is(Kind::kList)   ? "list."
                         : object.is(Kind::kDict) ? "dict."
                         : object.is(Kind::kInt)  ? "int."
                                                  : "str.";
      Value v = name_value(type + name);
      v.items.push_back(object);
      return one(v);
    }
    case Kind::kDictOf: {
      Value v = name_value("dict." + name);
      v.items.push_back(object);
      return one(v);
    }
    case Kind::kOwn:
    case Kind::kUnknown:
      break;
  }
  Values out;
  NameId id = s_.find_name(name);
  if (id == kNoName || depth > kMaxFolding) return one(unknown_value());
  for (std::uint32_t at = s_.first(Scopes::kAttributes, id); at != ~0u; at = s_.binding(at).next)
    add_values(out, eval_binding(s_.binding(at), depth));
  add_values(out, one(unknown_value()));
  return out;
}

std::optional<std::vector<Value>> Evaluator::elements(const Value& v) const {
  if (v.is(Kind::kList)) return v.items;
  if (v.is(Kind::kDict)) {
    std::vector<Value> keys;
    for (std::size_t i = 0; i < v.items.size(); i += 2) keys.push_back(v.items[i]);
    return keys;
  }
  if (!v.known_string() || v.text.size() > kMostItems) return std::nullopt;
  std::vector<Value> out;
  std::string_view rest = v.text;
  while (!rest.empty()) {
    std::size_t length = 1;
    if (v.bytes) {
      out.push_back(int_value(static_cast<unsigned char>(rest[0])));
    } else {
      while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80) ++length;
      out.push_back(string_value(std::string(rest.substr(0, length))));
    }
    rest.remove_prefix(length);
  }
  return out;
}

Values Evaluator::eval_collection(NodeId n, int depth) {
  std::vector<Value> items;
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
    if (items.size() >= kMostItems) return {};
    if (t_.kind(c) == K::kListSplat) {
      auto parts = elements(first(t_.first_named(c), depth));
      if (!parts) return {};
      items.insert(items.end(), parts->begin(), parts->end());
      continue;
    }
    // An element with several candidates keeps the one that names something.
    const Values& v = eval(c, depth);
    auto named = std::find_if(v.begin(), v.end(), [](const Value& x) { return !x.is(Kind::kUnknown); });
    items.push_back(v.size() == 1 || named == v.end() || named->is(Kind::kString)
                        ? v.size() == 1 ? v[0] : unknown_value()
                        : *named);
  }
  return one(list_value(std::move(items)));
}

Values Evaluator::eval_dictionary(NodeId n, int depth) {
  Value dict;
  Values out;
  dict.kind = Kind::kDict;
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
    if (t_.kind(c) != K::kPair || dict.items.size() >= kMostItems) {
      dict.items.push_back(unknown_value());
      dict.items.push_back(unknown_value());
      if (t_.kind(c) == K::kDictSplat)  // {**vars(os)}
        for (const Value& v : eval(t_.first_named(c), depth))
          if (v.is(Kind::kDictOf) || (v.is(Kind::kName) && v.text == "sys.modules")) add_values(out, one(v));
      continue;
    }
    dict.items.push_back(first(t_.field(c, "key"), depth));
    dict.items.push_back(first(t_.field(c, "value"), depth));
  }
  if (out.empty() || dict.items.size() > 2 * out.size()) add_values(out, one(dict));
  return out;
}

Values Evaluator::eval_comprehension(NodeId n, int depth) {
  NodeId body = t_.field(n, "body"), clause = body == kNoNode ? kNoNode : t_.next_named(body);
  if (t_.kind(clause) != K::kForIn || t_.next_named(clause) != kNoNode || overrides_.size() >= 4) return {};
  NodeId target = t_.field(clause, "left");
  if (t_.kind(target) != K::kIdentifier) return {};
  auto items = elements(first(t_.field(clause, "right"), depth));
  if (!items || items->size() > kMostItems) return {};
  std::vector<Value> out;
  for (const Value& item : *items) {
    overrides_.push_back({s_.name_of(target), item});
    out.push_back(first(body, depth));
    overrides_.pop_back();
  }
  return one(list_value(std::move(out)));
}

}  // namespace hotcell::python
