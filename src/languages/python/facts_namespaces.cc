// The namespace of a module as a dictionary: copied and merged it is followed, and where it goes somewhere else what is
// taken out of it cannot be told any more.
#include <algorithm>

#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

bool among(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// They show it, or take its keys alone.
bool only_looks(std::string_view function) {
  return among(function, {"builtins.print", "builtins.len", "builtins.sorted", "builtins.dir", "builtins.str",
                          "builtins.repr", "builtins.id", "builtins.type", "builtins.isinstance", "builtins.bool",
                          "builtins.set", "builtins.frozenset", "builtins.list", "builtins.tuple", "builtins.iter",
                          "builtins.enumerate", "str.join", "pprint.pprint", "pprint.pformat"});
}

}  // namespace

// dict(vars(os)), copy.copy(vars(os)), collections.ChainMap({}, vars(os)): the same names in another dictionary.
bool copies_namespace(std::string_view function) {
  return among(function, {"builtins.dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict",
                          "collections.ChainMap", "collections.UserDict", "types.MappingProxyType"});
}

std::string Analyser::namespace_of(NodeId n) {
  for (const Value& v : eval(n))
    if (v.is(Kind::kDictOf) && v.module) return v.text;
  return {};
}

// `n` stands for the namespace of a module. What it is copied into is followed as far as it is still one.
void Analyser::namespace_handed_on(NodeId n) {
  const std::string module = namespace_of(n);
  if (module.empty()) return;
  bool pairs = false;  // names and what they are, in a list
  if (t_.kind(n) == K::kCall)
    for (const Value& f : eval(t_.field(n, "function"))) pairs = pairs || f.text.starts_with("inspect.getmembers");
  for (int up_steps = 0; up_steps < 16; ++up_steps) {
    NodeId up = t_.parent(n);
    switch (t_.kind(up)) {
      case K::kParenthesized:
      case K::kConditional:
      case K::kBoolean:
      case K::kBinary:
      case K::kDictionary:
        n = up;
        continue;
      case K::kDictSplat:
        n = up;
        if (t_.kind(t_.parent(n)) == K::kDictionary) continue;
        return construct("dynamic-attribute", module, n);
      case K::kAttribute:  // a method: said where that is looked at
      case K::kSubscript:
      case K::kComparison:
      case K::kExpressionStatement:
      case K::kFor:  // its keys
      case K::kForIn:
        if (pairs) construct("dynamic-attribute", module, n);
        return;
      case K::kReturn:
      case K::kInterpolation:
      case K::kNamed:
        return;
      case K::kAssignment:
        if (t_.kind(t_.field(up, "left")) == K::kIdentifier || t_.kind(t_.field(up, "left")) == K::kAttribute) return;
        return construct("dynamic-attribute", module, n);
      case K::kAugmented:
        if (tree_.field(n) == "left") return;
        return construct("dynamic-attribute", module, n);
      case K::kArguments: {
        NodeId call = t_.parent(up);
        for (const Value& f : eval(t_.field(call, "function"))) {
          if (f.is(Kind::kName) && only_looks(f.text)) return;
          if (f.is(Kind::kObject) && f.text == "operator.itemgetter") return;
          if (f.is(Kind::kName) &&
              (f.text == "operator.getitem" || (copies_namespace(f.text) && !namespace_of(call).empty())))
            return;
        }
        return construct("dynamic-attribute", module, n);
      }
      default:
        return construct("dynamic-attribute", module, n);
    }
  }
}

// functools.reduce(lambda a, b: getattr(a, b), names, os): getattr and a module come to one call by different ways.
bool Analyser::meets_getattr(NodeId n) {
  NodeId call = n;
  for (int up = 0; up < 6 && call != kNoNode && t_.kind(call) != K::kCall; ++up) call = t_.parent(call);
  if (t_.kind(call) != K::kCall) return false;
  for (NodeId c = call; c < tree_.end_of(call) && c < call + 400; ++c) {
    if (t_.kind(c) != K::kIdentifier) continue;
    const bool by_namespace = t_.text(c) == "vars";
    if (!by_namespace && t_.text(c) != "getattr") continue;
    NodeId up = t_.parent(c);
    if (t_.kind(up) != K::kCall) return true;
    Arguments a = e_.arguments(up);
    if (by_namespace) {  // vars(o)[n], of who knows what
      for (const Value& v : eval(a.at(0)))
        if (v.is(Kind::kUnknown) && a.at(0) != kNoNode) return true;
      continue;
    }
    if (a.at(1) == kNoNode) return true;
    for (const Value& v : eval(a.at(1)))
      if (!v.known_string()) return true;
  }
  return false;
}

// pickle.loads(pickle.dumps(x)): a copy, of what the program has itself.
bool Analyser::reads_own_pickle(std::string_view function, const Arguments& a) {
  if (!among(function, {"pickle.loads", "dill.loads", "cloudpickle.loads", "marshal.loads"}) ||
      t_.kind(a.at(0)) != K::kCall || a.splat)
    return false;
  // Who puts another function in the place of dumps says so in one of these ways.
  NameId dumps = s_.find_name("dumps");
  if (dumps != kNoName && s_.first(Scopes::kAttributes, dumps) != ~0u) return false;
  for (std::string_view way : {"setattr", "__dict__", "vars(", "globals(", "locals(", "modules", "patch", "reload"})
    if (tree_.text().find(way) != std::string_view::npos) return false;
  const std::string wanted(function.substr(0, function.find('.')));
  Values made_by = eval(t_.field(a.at(0), "function"));
  return !made_by.empty() && std::all_of(made_by.begin(), made_by.end(), [&](const Value& f) {
    return f.is(Kind::kName) && f.text == wanted + ".dumps";
  });
}

}  // namespace hotcell::python
