// The attributes by which Python code climbs from any object to everything: what counts as a step of such a walk, and
// which of them ordinary programs use.
#include <algorithm>

#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

bool among(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_literal(K kind) {
  return kind == K::kTuple || kind == K::kList || kind == K::kDictionary || kind == K::kString ||
         kind == K::kConcatenated || kind == K::kInteger || kind == K::kFloat || kind == K::kTrue ||
         kind == K::kFalse || kind == K::kNone || kind == K::kSet || kind == K::kLambda;
}

}  // namespace

bool is_hard_dunder(std::string_view name) {
  return among(name, {"__subclasses__", "__globals__",  "__builtins__", "__closure__",      "__loader__",
                      "__import__",     "f_globals",    "f_locals",     "f_builtins",       "gi_frame",
                      "gi_code",        "cr_frame",     "cr_code",      "ag_frame",         "ag_code",
                      "tb_frame",       "func_globals", "im_func",      "__bases__",        "__base__",
                      "__mro__",        "__code__",     "co_code",      "__getattribute__", "__self__"});
}

Dunder Analyser::judge_dunder(NodeId n, const std::string& name) {
  bool dunder = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
  bool frame = name.starts_with("f_") || name.starts_with("gi_") || name.starts_with("cr_") ||
               name.starts_with("ag_") || name.starts_with("tb_") || name.starts_with("co_") ||
               name.starts_with("func_") || name == "mro";
  if (!dunder && !frame) return Dunder::kNone;
  NodeId object = t_.field(n, "object"), parent = t_.parent(n);
  while (t_.kind(object) == K::kParenthesized) object = t_.first_named(object);
  std::string next;  // what is taken from it in turn
  if (t_.kind(parent) == K::kAttribute && tree_.field(n) == "object") next = t_.name(t_.field(parent, "attribute"));
  std::string before = t_.kind(object) == K::kAttribute ? t_.name(t_.field(object, "attribute")) : "";
  auto objects = [&] { return eval(object); };
  auto own = [&] {
    for (const Value& v : objects())
      if (v.is(Kind::kOwn)) return true;
    std::string_view text = t_.text(object);
    return text == "cls" || text == "self" || text == "type(self)";
  };
  auto library = [&] {
    for (const Value& v : objects())
      if (v.is(Kind::kName)) return true;
    return false;
  };
  if (among(name, {"__globals__", "__builtins__", "__closure__", "__loader__", "__import__", "f_globals", "f_locals",
                   "f_builtins", "gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "func_globals",
                   "co_code"})) {
    // builtins.__import__ is a name like any other, and reported as one.
    return name == "__import__" && library() ? Dunder::kNone : Dunder::kWalk;
  }
  if (name == "__subclasses__") return own() ? Dunder::kMild : Dunder::kWalk;
  if (name == "tb_frame") return among(next, {"f_code", "f_lineno"}) ? Dunder::kMild : Dunder::kWalk;
  if (name == "__code__") return next.starts_with("co_") && next != "co_code" ? Dunder::kMild : Dunder::kWalk;
  if (among(name, {"__base__", "__bases__", "__mro__", "mro"})) {
    if (before == "__class__" || before == "__base__" || is_literal(t_.kind(object))) return Dunder::kWalk;
    return name == "mro" ? Dunder::kNone : Dunder::kMild;
  }
  if (name == "__class__") return is_literal(t_.kind(object)) ? Dunder::kWalk : Dunder::kMild;
  if (name == "__self__") return library() ? Dunder::kWalk : Dunder::kMild;
  if (name == "__spec__") return next == "loader" ? Dunder::kWalk : Dunder::kMild;
  if (name == "__getattribute__") {
    // super().__getattribute__(name) inside a class is how it is meant to be used.
    std::string_view text = t_.text(object);
    if (text.starts_with("super(") || text == "object") return Dunder::kMild;
    if (t_.kind(parent) == K::kCall) {
      Arguments a = e_.arguments(parent);
      if (a.positional.size() == 1 && e_.constant(a.at(0))) return Dunder::kMild;
    }
    return Dunder::kWalk;
  }
  if (name == "__annotations__") return evaluates_annotations_ ? Dunder::kWalk : Dunder::kNone;
  if (among(name, {"__dict__", "__traceback__", "__func__", "__wrapped__", "__getattr__", "__cached__", "__reduce__",
                   "__reduce_ex__", "f_code", "f_back"}))
    return Dunder::kMild;
  return Dunder::kNone;
}

void Analyser::dunder_text(const std::string& name, NodeId at) {
  if (is_hard_dunder(name)) construct("dunder-walk", name, at);
}

void Analyser::check_format(std::string_view text, NodeId at) {
  // '{0.__class__.__init__.__globals__}': str.format follows attributes and keys. The name of an object's class is what
  // ordinary __repr__ methods ask for.
  for (std::size_t open = 0; (open = text.find('{', open)) != std::string_view::npos; ++open) {
    std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return;
    std::string_view field = text.substr(open + 1, std::min<std::size_t>(close - open - 1, 256));
    std::size_t first = field.find_first_of(".[");
    if (first == std::string_view::npos || field.find(':') < first || field.find_first_of(" \n\"'") < first) continue;
    bool walk = false, mild = false;
    std::string_view rest = field.substr(first);
    while (!rest.empty()) {
      std::size_t begin = rest.find_first_not_of(".[]");
      if (begin == std::string_view::npos) break;
      rest.remove_prefix(begin);
      std::size_t end = rest.find_first_of(".[]!:");
      std::string_view part = rest.substr(0, end);
      bool dunder = part.size() > 4 && part.starts_with("__") && part.ends_with("__");
      if (part == "__class__")
        mild = true;
      else if (dunder && !among(part, {"__name__", "__qualname__", "__module__", "__doc__"}))
        walk = true;
      if (is_hard_dunder(part) || part == "f_code") walk = true;
      if (end == std::string_view::npos || rest[end] == '!' || rest[end] == ':') break;
      rest.remove_prefix(end);
    }
    if (mild && !walk && field.find("__name__") == std::string_view::npos &&
        field.find("__qualname__") == std::string_view::npos)
      walk = true;
    if (walk) construct("format-traversal", std::string(field), at);
  }
}

}  // namespace hotcell::python
