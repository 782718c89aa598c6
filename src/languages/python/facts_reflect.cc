// Things reached by name: getattr and its relatives, modules imported by text, namespaces as dictionaries.
#include "languages/python/facts_modules.h"
#include "languages/python/facts_value.h"

namespace hotcell::python {

Values Evaluator::module_values(const Values& names, bool top) {
  Values out;
  for (const Value& v : names) {
    if (!v.known_string() || v.text.empty()) {
      add_values(out, one(unknown_value()));
      continue;
    }
    std::string module = canonical_module(v.text);
    if (top) module = module.substr(0, module.find('.'));
    add_values(out, one(name_value(module, true)));
  }
  return out;
}

std::optional<Values> Evaluator::fold_reflection(const Value& f, const Arguments& a, int depth) {
  std::string_view name = f.text;
  // Several names at once: every object with every text.
  auto members = [&](const Values& objects, const Values& names) {
    Values out;
    for (const Value& o : objects) {
      for (const Value& n : names) {
        if (!n.known_string()) {
          add_values(out, one(unknown_value()));
          continue;
        }
        Values at = one(o);
        std::string_view rest = n.text;
        for (int parts = 0; parts < 16 && !rest.empty(); ++parts) {  // attrgetter takes dotted names
          std::size_t dot = rest.find('.');
          Values next;
          for (const Value& each : at) add_values(next, member(each, std::string(rest.substr(0, dot)), depth));
          at = next;
          rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
        }
        add_values(out, at);
      }
    }
    return out;
  };
  if (f.is(Kind::kObject)) {
    if (name == "operator.attrgetter") return members(eval(a.at(0), depth), f.items);
    if (name == "operator.itemgetter" && !f.items.empty()) {
      Values out, objects = eval(a.at(0), depth);
      for (const Value& o : objects) add_values(out, subscript(o, f.items[0], depth));
      return out;
    }
    return std::nullopt;
  }
  if (name == "builtins.getattr" || name == "inspect.getattr_static") {
    Values objects = eval(a.at(0), depth), names = eval(a.at(1), depth);
    Values out = members(objects, names);
    if (NodeId fallback = a.at(2); fallback != kNoNode) add_values(out, eval(fallback, depth));
    return out;
  }
  if (name.ends_with(".__getattribute__") || name.ends_with(".__getattr__")) {
    if (f.items.empty()) return std::nullopt;
    if (f.items[0].text == "builtins.object" || f.items[0].text == "builtins.type")
      return members(eval(a.at(0), depth), eval(a.at(1), depth));
    return members(f.items, eval(a.at(0), depth));
  }
  if (name == "operator.attrgetter" || name == "operator.itemgetter") {
    Value getter;
    getter.kind = Kind::kObject;
    getter.text = f.text;
    getter.items = eval(a.at(0), depth);
    return one(getter);
  }
  if (name == "builtins.__import__") {
    NodeId list = a.get(3, "fromlist");
    return module_values(eval(a.get(0, "name"), depth), list == kNoNode);
  }
  if (name == "importlib.import_module" || name == "importlib.__import__" || name == "importlib.reload") {
    if (name == "importlib.reload") return eval(a.at(0), depth);
    return module_values(eval(a.get(0, "name"), depth), name == "importlib.__import__");
  }
  if (name == "pkgutil.resolve_name" || name == "pydoc.locate") {
    Values out, names = eval(a.at(0), depth);
    for (const Value& v : names) {
      if (!v.known_string()) {
        add_values(out, one(unknown_value()));
        continue;
      }
      std::string dotted = v.text;
      for (char& c : dotted)
        if (c == ':') c = '.';
      add_values(out, one(name_value(dotted)));
    }
    return out;
  }
  if (copies_namespace(name) && name != "copy.copy") {  // dict(inspect.getmembers(os))
    for (NodeId argument : a.positional)
      for (const Value& v : eval(argument, depth))
        if (v.is(Kind::kDictOf) || (v.is(Kind::kName) && v.text == "sys.modules")) return one(v);
    return std::nullopt;
  }
  if (name == "inspect.getmembers" || name == "inspect.getmembers_static") {
    Values out, objects = eval(a.at(0), depth);
    for (const Value& o : objects)
      add_values(out, o.is(Kind::kName) ? member(o, "__dict__", depth) : one(unknown_value()));
    return out;
  }
  if (name == "builtins.vars" || name == "builtins.globals" || name == "builtins.locals") {
    if (!a.positional.empty()) {
      Values out, objects = eval(a.at(0), depth);
      for (const Value& o : objects)
        add_values(out, o.is(Kind::kName) ? member(o, "__dict__", depth) : one(unknown_value()));
      return out;
    }
    Value names;
    names.kind = Kind::kObject;
    names.text = "builtins.globals";
    return one(names);
  }
  if (name == "sys.modules.copy") return one(name_value("sys.modules"));
  if (name == "sys.modules.get" || name == "sys.modules.pop" || name == "sys.modules.__getitem__")
    return module_values(eval(a.at(0), depth), false);
  if (name == "builtins.globals.get" || name == "builtins.globals.pop" || name == "builtins.globals.__getitem__") {
    Value names;
    names.kind = Kind::kObject;
    names.text = "builtins.globals";
    return subscript(names, first(a.at(0), depth), depth);
  }
  if (name == "functools.partial" || name == "builtins.staticmethod" || name == "copy.copy" ||
      name == "functools.wraps" || name == "functools.lru_cache" || name == "functools.cache")
    return a.positional.empty() ? Values{} : eval(a.at(0), depth);
  if (name == "functools.reduce" && a.positional.size() == 3) {
    Values functions = eval(a.at(0), depth), at = eval(a.at(2), depth);
    Value list = first(a.at(1), depth);
    auto names = elements(list);
    bool by_name = functions.size() == 1 && functions[0].is(Kind::kName) && functions[0].text == "builtins.getattr";
    if (!by_name || !names || names->size() > 16) return Values{};
    for (const Value& n : *names) at = members(at, one(n));
    return at;
  }
  return std::nullopt;
}

}  // namespace hotcell::python
