// What an expression is known to be. facts.cc asks for nodes from the last to the first, so that the parts of a long
// chain are known before the whole; only names and folded texts recurse, and those are counted.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "languages/javascript/facts_model.h"
#include "languages/one_of.h"

namespace hotcell::javascript {
namespace {

bool is_global_object(std::string_view p) {
  return one_of(p, {"globalThis", "global", "window", "self", "top", "frames"});
}

// Objects, as opposed to functions: their constructor is a class, and only the constructor of that is Function.
bool is_object_path(std::string_view p) {
  return p.ends_with("()") || p.ends_with(".__proto__") ||
         one_of(p, {"process", "globalThis", "console", "Math", "JSON", "Reflect", "process.env", "import.meta",
                    "arguments", "exports", "fs", "path", "os", "navigator", "document", "require.cache"});
}

std::string member_path(const std::string& p, const std::string& key) {
  if (is_global_object(p)) return is_global_object(key) ? "globalThis" : key;
  if (key == "default") return p;
  if (key == "constructor") {
    if (p == "module" || p == "?.module") return "Module";
    if (p == "?.constructor" || p == "?.method") return "Function";
    if (p.ends_with(".prototype")) return p.substr(0, p.size() - 10);
    if (p.starts_with("?")) return "?.constructor";
    return is_object_path(p) ? "?.constructor" : "Function";
  }
  if (p == "module" && one_of(key, {"parent", "children", "main", "0"})) return "module";
  if ((p == "module" || p == "Module.prototype") && key == "require")
    return p == "module" ? "require" : "Module.require";
  if (p == "process" && key == "mainModule") return "module";
  if (p == "require" && key == "main") return "module";
  if (p == "Module" && key == "Module") return p;
  if (p == "module" && key == "__proto__") return "Module.prototype";
  if (p == "buffer" && key == "Buffer") return "Buffer";
  if (p == "path" && one_of(key, {"posix", "win32"})) return p;
  if (p == "util" && key == "types") return p;
  if (p.ends_with("#descriptor")) return one_of(key, {"value", "get"}) ? p.substr(0, p.size() - 11) : p;
  return cat(p, ".", key);
}

}  // namespace

ValueId Model::make(Value v) {
  // A literal is made once for its node, so it is no larger than the source; only what is put together can grow.
  if (v.folded || v.kind == Value::kArray) folded_ += v.text.size() + v.items.size() * sizeof(ValueId) + 16;
  if (folded_ > kFoldBudget || v.text.size() > kMaxText) return kUnknownValue;
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Model::text(std::string s, bool folded) {
  Value v;
  v.kind = Value::kText;
  v.folded = folded;
  v.text = std::move(s);
  return make(std::move(v));
}

ValueId Model::path(std::string s) {
  if (s.size() > kMaxPath) return kUnknownValue;
  Value v;
  v.kind = Value::kPath;
  v.text = std::move(s);
  // Paths are what is looked for: they do not count against the budget of folded texts.
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size() - 1);
}

NodeId Model::inside(NodeId n) const {
  for (int i = 0; i < 256 && n != kNoNode; ++i) {
    K k = kind(n);
    if (k != K::kParenthesized && k != K::kSequence && k != K::kAwait && k != K::kCast && k != K::kYield) return n;
    NodeId first = kNoNode, last = kNoNode;
    for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
      if (!tree_[c].named || tree_.is(c, "comment")) continue;
      if (first == kNoNode) first = c;
      last = c;
    }
    bool takes_last = k == K::kSequence || tree_.is(n, "type_assertion");
    n = takes_last ? last : first;
  }
  return n;
}

std::vector<NodeId> Model::arguments_of(NodeId call) const {
  NodeId list = tree_.child_by_field(call, "arguments");
  return kind(list) == K::kArguments ? tree_.named_children(list) : std::vector<NodeId>();
}

NodeId Model::callee_of(NodeId call) const {
  return tree_.child_by_field(call, kind(call) == K::kNew ? "constructor" : "function");
}

ValueId Model::evaluate(NodeId n) {
  n = inside(n);
  if (n == kNoNode || is_dead(n)) return kUnknownValue;
  if (memo_[n] != ~ValueId{0}) return memo_[n];
  if (depth_ >= kMaxDepth || (marks_[n] & kRunning)) return kUnknownValue;
  ++depth_;
  marks_[n] |= kRunning;
  ValueId v = evaluate_now(n);
  marks_[n] &= static_cast<std::uint8_t>(~kRunning);
  --depth_;
  return memo_[n] = v;
}

ValueId Model::evaluate_now(NodeId n) {
  switch (kind(n)) {
    case K::kIdentifier:
    case K::kShorthand:
      return evaluate_identifier(n);
    case K::kString:
      return text(string_of(n), tree_.text(n).find('\\') != std::string_view::npos);
    case K::kTemplate:
      return evaluate_template(n);
    case K::kNumber: {
      Value v;
      v.kind = Value::kNumber;
      std::string digits(tree_.text(n));
      std::erase(digits, '_');
      v.number = std::strtod(digits.c_str(), nullptr);
      return make(std::move(v));
    }
    case K::kMember:
    case K::kSubscript: {
      Key key = key_of(n);
      ValueId object = evaluate(tree_.child_by_field(n, "object"));
      if (key.kind != Key::kUnknown) return member(object, key.text);
      if (value(object).kind == Value::kPath && !is_global_object(value(object).text))
        return path(cat(value(object).text, ".*"));
      return kUnknownValue;
    }
    case K::kCall:
    case K::kNew:
      return evaluate_call(n);
    case K::kBinary:
      return evaluate_binary(n);
    case K::kUnary: {
      ValueId v = evaluate(tree_.child_by_field(n, "argument"));
      Value out;
      out.kind = Value::kNumber;
      if (value(v).kind != Value::kNumber) return kUnknownValue;
      std::string_view op = tree_.text(tree_.child_by_field(n, "operator"));
      out.number = op == "-" ? -value(v).number : op == "~" ? -value(v).number - 1 : value(v).number;
      return op == "-" || op == "+" || op == "~" ? make(std::move(out)) : kUnknownValue;
    }
    case K::kTernary:
    case K::kAssignment: {
      if (kind(n) == K::kAssignment) return evaluate(tree_.child_by_field(n, "right"));
      ValueId yes = evaluate(tree_.child_by_field(n, "consequence")),
              no = evaluate(tree_.child_by_field(n, "alternative"));
      return value(yes).kind == Value::kPath ? yes : value(no).kind == Value::kPath ? no : kUnknownValue;
    }
    case K::kArray:
      return evaluate_array(n);
    case K::kObject:
    case K::kFunction:
    case K::kFunctionDeclaration:
    case K::kArrow:
    case K::kMethod:
    case K::kClass:
    case K::kClassDeclaration: {
      Value v;
      v.kind = kind(n) == K::kObject ? Value::kObject : Value::kFunction;
      v.node = n;
      return make(std::move(v));
    }
    case K::kThis:
      return called_on_nothing(n) ? path("globalThis") : kUnknownValue;
    case K::kImport:
      return path("import");
    case K::kMetaProperty:
      return tree_.text(n) == "import.meta" ? path("import.meta") : kUnknownValue;
    default:
      return kUnknownValue;
  }
}

// `this` of a sloppy function that is called where it is written: (function () { return this })().
bool Model::called_on_nothing(NodeId n) const {
  NodeId f = tree_.parent(n);
  for (int up = 0; up < 256 && f != kNoNode; ++up, f = tree_.parent(f)) {
    if (kind(f) == K::kClassBody || kind(f) == K::kMethod || kind(f) == K::kFunctionDeclaration) return false;
    if (kind(f) == K::kFunction) break;
  }
  if (kind(f) != K::kFunction) return false;
  NodeId call = tree_.parent(f);
  while (kind(call) == K::kParenthesized) call = tree_.parent(call);
  return kind(call) == K::kCall && inside(callee_of(call)) == f;
}

Model::Key Model::key_of(NodeId n) {
  if (kind(n) == K::kMember) {
    NodeId p = tree_.child_by_field(n, "property");
    if (p == kNoNode || tree_.is(p, "private_property_identifier")) return {};
    return {Key::kText, false, name_of(p)};
  }
  ValueId v = evaluate(tree_.child_by_field(n, "index"));
  if (value(v).kind == Value::kArray && value(v).items.size() == 1) v = value(v).items[0];  // o[['x']] is o['x']
  const Value& k = value(v);
  if (k.kind == Value::kText) return {Key::kText, k.folded, k.text};
  if (k.kind == Value::kNumber && k.number >= 0 && k.number < 1e9)
    return {Key::kIndex, false, std::to_string(static_cast<long>(k.number))};
  return {};
}

ValueId Model::property(NodeId object, std::string_view key) {
  int budget = 4096;
  for (NodeId c = tree_.first_child(object); c != kNoNode && budget > 0; c = tree_.next_sibling(c), --budget) {
    if (kind(c) == K::kShorthand && tree_.text(c) == key) return evaluate(c);
    if (kind(c) == K::kMethod && tree_.text(tree_.child_by_field(c, "name")) == key) return evaluate(c);
    if (kind(c) == K::kPair && key_text(tree_.child_by_field(c, "key")) == key)
      return evaluate(tree_.child_by_field(c, "value"));
  }
  return kUnknownValue;
}

ValueId Model::member(ValueId object, const std::string& key) {
  const Value o = value(object);
  bool index = !key.empty() && key.find_first_not_of("0123456789") == key.npos && key.size() < 8;
  switch (o.kind) {
    case Value::kPath:
      return path(member_path(o.text, key));
    case Value::kArray:
      if (index)
        return static_cast<std::size_t>(std::stoi(key)) < o.items.size()
                   ? o.items[static_cast<std::size_t>(std::stoi(key))]
                   : kUnknownValue;
      return path(key == "constructor" ? "?.constructor" : "?.method");
    case Value::kText:
    case Value::kPrefix:
    case Value::kBytes:
    case Value::kNumber:
      if (index && o.kind == Value::kText)
        return static_cast<std::size_t>(std::stoi(key)) < o.text.size()
                   ? text(o.text.substr(static_cast<std::size_t>(std::stoi(key)), 1))
                   : kUnknownValue;
      return path(key == "constructor" ? "?.constructor" : "?.method");
    case Value::kObject: {
      ValueId v = property(o.node, key);
      if (v != kUnknownValue) return v;
      if (key == "constructor") return path("?.constructor");
      if (one_of(key, {"toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "toLocaleString"}))
        return path("?.method");
      return kUnknownValue;
    }
    case Value::kFunction:
      if (key == "constructor") return path("Function");
      if (key == "__proto__") return path("Function.prototype");
      return kUnknownValue;
    case Value::kUnknown:
      if (key == "constructor") return path("?.constructor");
      if (key == "mainModule") return path("module");
      if (key == "_load") return path("Module._load");
      if (one_of(key, {"__proto__", "require", "getBuiltinModule"})) return path(cat("?.", key));
      // Names nothing else has: whatever this hangs on, it is the module's function.
      if (one_of(key, {"execSync", "execFileSync", "spawnSync", "execFile"})) return path(cat("child_process.", key));
      return kUnknownValue;
  }
  return kUnknownValue;
}

ValueId Model::evaluate_identifier(NodeId n) {
  std::string name = name_of(n);
  std::uint32_t id = scopes_.find(name, n);
  if (id != NameScopes::kNone) return evaluate_binding(id);
  if (name == "__dirname") return text(".", false);
  if (name == "__filename") return text("./main.js", false);
  return path(is_global_object(name) ? "globalThis" : name);
}

ValueId Model::evaluate_binding(std::uint32_t id) {
  if (bindings_[id].state == Binding::kDone) return bindings_[id].known;
  if (bindings_[id].state == Binding::kBusy || depth_ >= kMaxDepth) return kUnknownValue;
  bindings_[id].state = Binding::kBusy;
  ++depth_;
  // One value: that one. Several: what is certain of all; but a function that it may be is one that it can be used as.
  ValueId known = kUnknownValue, named = kUnknownValue;
  for (std::size_t i = 0; i < bindings_[id].sources.size(); ++i) {
    ValueId v = evaluate_source(bindings_[id].sources[i]);
    if (value(v).kind == Value::kPath && named == kUnknownValue) named = v;
    known = i == 0 ? v : kUnknownValue;
  }
  --depth_;
  bindings_[id].known = named != kUnknownValue ? named : known;
  bindings_[id].state = Binding::kDone;
  return bindings_[id].known;
}

ValueId Model::evaluate_source(const Source& source) {
  ValueId v = kUnknownValue;
  if (source.kind == Source::kExpression) v = evaluate(source.node);
  if (source.kind == Source::kParameter) v = evaluate_parameter(source);
  if (source.kind == Source::kModule) v = path(source.module);
  for (const std::string& step : source.steps) v = member(v, step);
  return v;
}

// Only what is called where it is written: `(r => r('x'))(require)`, `import('x').then(m => …)`.
ValueId Model::evaluate_parameter(const Source& source) {
  NodeId f = source.node, p = tree_.parent(f);
  while (kind(p) == K::kParenthesized) f = p, p = tree_.parent(p);
  if (kind(p) == K::kCall && inside(callee_of(p)) == source.node) {
    auto args = arguments_of(p);
    return source.index < args.size() ? evaluate(args[source.index]) : kUnknownValue;
  }
  NodeId call = kind(p) == K::kArguments ? tree_.parent(p) : kNoNode;
  NodeId callee = kind(call) == K::kCall ? inside(callee_of(call)) : kNoNode;
  if (source.index != 0 || kind(callee) != K::kMember) return kUnknownValue;
  std::string_view method = tree_.text(tree_.child_by_field(callee, "property"));
  if (method == "then") {
    ValueId v = evaluate(tree_.child_by_field(callee, "object"));
    if (value(v).kind == Value::kPath) return v;
  } else if (one_of(method, {"map", "forEach", "flatMap", "filter", "find", "some", "every"})) {
    const Value list = value_of(tree_.child_by_field(callee, "object"));  // [Function].map(f => …)
    if (list.kind == Value::kArray)
      for (ValueId item : list.items)
        if (value(item).kind == Value::kPath) return item;
  }
  return kUnknownValue;
}

ValueId Model::dotted(std::string_view source) {
  source = trim(source);
  while (source.ends_with(';') || source.ends_with(' ')) source.remove_suffix(1);
  ValueId v = kUnknownValue;
  bool first = true;
  for (std::string_view part : split(source, '.')) {
    if (part.empty() || part.size() > 40) return kUnknownValue;
    for (char c : part)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$')) return kUnknownValue;
    if (first) v = path(part == "this" || is_global_object(part) ? "globalThis" : std::string(part));
    else v = member(v, std::string(part));
    first = false;
  }
  return v;
}

}  // namespace hotcell::javascript
