// What a name may stand for: imports, assignments, loops, parameters and what callers hand over.
#include "languages/python/facts_modules.h"
#include "languages/python/facts_value.h"

namespace hotcell::python {

Values Evaluator::eval_identifier(NodeId n, int depth) {
  NameId name = s_.name_of(n);
  for (auto it = overrides_.rbegin(); it != overrides_.rend(); ++it)
    if (it->name == name) return one(it->value);
  // What other names are bound to stands outside of the comprehension, and is found once for all of its turns.
  std::vector<Override> held;
  held.swap(overrides_);
  Values out = eval_name(s_.scope_of(n), name, depth);
  held.swap(overrides_);
  return out;
}

Values Evaluator::eval_name(std::uint32_t scope, NameId name, int depth) {
  if (name == kNoName) return {};
  Values out;
  for (std::uint32_t at = s_.lookup(scope, name); at != ~0u; at = s_.binding(at).next)
    add_values(out, eval_binding(s_.binding(at), depth));
  if (!out.empty()) return out;
  const std::string& spelling = s_.spelling(name);
  if (spelling == "__builtins__") return one(name_value("builtins", true));
  if (is_builtin(spelling)) out.push_back(name_value("builtins." + spelling));
  for (NodeId module : s_.star_imports())
    add_values(out, member(name_value(canonical_module(t_.text(module)), true), spelling, depth));
  return out;
}

Values Evaluator::eval_binding(const Binding& b, int depth) {
  using How = Binding::How;
  auto own = [&] {
    Value v;
    v.kind = Kind::kOwn;
    v.node = b.node;
    return one(v);
  };
  switch (b.how) {
    case How::kOpaque:
      return one(unknown_value());
    case How::kImportTop: {
      std::string_view dotted = t_.text(b.node);
      return one(
          name_value(canonical_module(normalise_identifier(dotted.substr(0, dotted.find_first_of(". \\")))), true));
    }
    case How::kImportAs: {
      std::string dotted;
      for (NodeId c = t_.first_named(b.node); c != kNoNode; c = t_.next_named(c))
        dotted += (dotted.empty() ? "" : ".") + t_.name(c);
      return one(name_value(canonical_module(dotted), true));
    }
    case How::kFrom: {
      NodeId statement = t_.parent(b.node);
      if (t_.kind(statement) == K::kAliased) statement = t_.parent(statement);
      NodeId module = t_.field(statement, "module_name");
      std::string dotted;
      for (NodeId c = t_.first_named(module); c != kNoNode; c = t_.next_named(c))
        dotted += (dotted.empty() ? "" : ".") + t_.name(c);
      return member(name_value(canonical_module(dotted), true), t_.name(t_.first_named(b.node)), depth);
    }
    case How::kValue:
    case How::kElement: {
      const Values& whole = eval(b.node, depth, true);
      if (b.how == How::kValue && b.index < 0) return whole;
      Values out;
      auto take = [&](const Value& v) {
        if (b.index < 0) return add_values(out, one(v));
        auto parts = elements(v);
        bool has = parts && static_cast<std::size_t>(b.index) < parts->size();
        add_values(out, one(has ? (*parts)[static_cast<std::size_t>(b.index)] : unknown_value()));
      };
      for (const Value& v : whole) {
        if (b.how == How::kValue) {
          take(v);
        } else if (auto parts = elements(v); parts && !parts->empty()) {
          for (std::size_t i = 0; i < parts->size() && i < kMostValues; ++i) take((*parts)[i]);
          if (parts->size() > kMostValues) add_values(out, one(unknown_value()));
        } else {
          add_values(out, one(unknown_value()));
        }
      }
      return out;
    }
    case How::kDefinition:
      return own();
    case How::kParameter:
      return eval_parameter(b, depth);
    case How::kMatch: {
      NodeId keyword = t_.first_named(b.node);
      NodeId match = b.node;
      for (int up = 0; up < 64 && match != kNoNode && t_.kind(match) != K::kMatch; ++up) match = t_.parent(match);
      if (t_.kind(match) != K::kMatch) return {};
      Values out;
      Values subjects = eval(t_.field(match, "subject"), depth);
      for (const Value& v : subjects) add_values(out, member(v, t_.name(keyword), depth));
      return out;
    }
  }
  return {};
}

// What the callers hand over, and the default. Only when the function is called and nothing else is that all of it.
Values Evaluator::eval_parameter(const Binding& b, int depth) {
  NodeId list = t_.field(b.node, "parameters"), parameter = t_.first_named(list);
  for (std::int32_t i = 0; i < b.index && parameter != kNoNode; ++i) parameter = t_.next_named(parameter);
  if (parameter == kNoNode) return {};
  NodeId name_node = t_.kind(parameter) == K::kIdentifier ? parameter : t_.field(parameter, "name");
  if (name_node == kNoNode) name_node = t_.first_named(parameter);
  std::string name = t_.kind(name_node) == K::kIdentifier ? t_.name(name_node) : "";
  NodeId fallback = t_.field(parameter, "value");
  NodeId function_name = t_.field(b.node, "name");
  Values out;
  bool called = false, complete = false;
  if (function_name != kNoNode) {
    NameId function = s_.name_of(function_name);
    std::int32_t shift = 0;
    NodeId holder = t_.parent(b.node);
    if (t_.kind(holder) == K::kDecorated) holder = t_.parent(holder);
    holder = holder == kNoNode ? kNoNode : t_.parent(holder);
    if (t_.kind(holder) == K::kClass) {
      shift = 1;
      NodeId class_name = t_.field(holder, "name");
      if (s_.spelling(function) == "__init__" && class_name != kNoNode) function = s_.name_of(class_name);
    }
    complete = s_.only_called(function);
    for (std::uint32_t at = s_.first(Scopes::kCalls, function); at != ~0u; at = s_.binding(at).next) {
      Arguments a = arguments(s_.binding(at).node);
      NodeId given = b.index >= shift ? a.at(static_cast<std::size_t>(b.index - shift)) : kNoNode;
      if (given == kNoNode) given = a.keyword(name);
      called = true;
      if (given != kNoNode)
        add_values(out, eval(given, depth, true));
      else if (a.splat || fallback == kNoNode)
        complete = false;
    }
  }
  if (fallback != kNoNode) add_values(out, eval(fallback, depth, true));
  if (!called || !complete) add_values(out, one(unknown_value()));
  return out;
}

}  // namespace hotcell::python
