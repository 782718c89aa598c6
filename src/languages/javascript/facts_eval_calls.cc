// What a call is known to give.
#include "base/strings.h"
#include "languages/javascript/facts_model.h"
#include "languages/one_of.h"

namespace hotcell::javascript {

ValueId Model::returned_by(NodeId function) {
  NodeId body = tree_.child_by_field(function, "body");
  if (kind(body) != K::kBlock) {
    if (kind(body) == K::kThis) return kUnknownValue;
    return kind(function) == K::kArrow ? evaluate(body) : kUnknownValue;
  }
  auto statements = tree_.named_children(body);
  if (statements.empty() || kind(statements.back()) != K::kReturn) return kUnknownValue;
  auto result = tree_.named_children(statements.back());
  if (result.size() != 1) return kUnknownValue;
  // A sloppy function called on nothing has the global object as its `this`.
  if (kind(inside(result[0])) == K::kThis && kind(function) != K::kArrow) return path("globalThis");
  return evaluate(result[0]);
}

Model::Call Model::call_of(NodeId n) {
  Call call;
  NodeId callee = inside(callee_of(n));
  for (NodeId a : arguments_of(n)) {
    if (call.nodes.size() >= 64) break;
    ValueId v = kUnknownValue;
    if (kind(a) == K::kSpread) {
      auto inner = tree_.named_children(a);
      v = inner.empty() ? kUnknownValue : evaluate(inner[0]);
      if (value(v).kind == Value::kArray) {
        for (ValueId item : value(v).items) call.arguments.push_back(item), call.nodes.push_back(kNoNode);
        continue;
      }
    } else {
      v = evaluate(a);
    }
    call.arguments.push_back(v);
    call.nodes.push_back(a);
  }
  if (NodeId t = tree_.child_by_field(n, "arguments"); kind(t) == K::kTemplate) {
    call.arguments.push_back(evaluate(t));
    call.nodes.push_back(t);
  }
  if (kind(callee) == K::kMember || kind(callee) == K::kSubscript) {
    Key key = key_of(callee);
    if (key.kind == Key::kText) call.method = std::move(key.text);
    call.self = evaluate(tree_.child_by_field(callee, "object"));
  }
  const Value& f = value_of(callee);
  if (f.kind == Value::kPath) call.path = f.text;
  auto shift = [&](std::size_t count) {
    count = std::min(count, call.arguments.size());
    call.arguments.erase(call.arguments.begin(), call.arguments.begin() + static_cast<long>(count));
    call.nodes.erase(call.nodes.begin(), call.nodes.begin() + static_cast<long>(count));
  };
  auto spread = [&] {
    if (call.arguments.empty()) return;
    Value list = value(call.arguments[0]);
    call.arguments = list.kind == Value::kArray ? list.items : std::vector<ValueId>{kUnknownValue};
    call.nodes.assign(call.arguments.size(), kNoNode);
  };
  if (one_of(call.path, {"Reflect.apply", "Reflect.construct"}) && !call.arguments.empty()) {
    const Value& target = value(call.arguments[0]);
    bool apply = call.path == "Reflect.apply";
    if (target.kind == Value::kPath) {
      call.path = target.text;
      shift(apply ? 2 : 1);
      spread();
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (call.path.ends_with(".call") && call.path.size() > 5) {
      call.path.resize(call.path.size() - 5);
      shift(1);
    } else if (call.path.ends_with(".apply") && call.path.size() > 6) {
      call.path.resize(call.path.size() - 6);
      shift(1);
      spread();
    }
  }
  return call;
}

ValueId Model::evaluate_call(NodeId n) {
  Call call = call_of(n);
  if (call.path.empty() || call.path == "?.method") {
    if (ValueId v = fold_method(call); v != kUnknownValue) return v;
    const Value f = value_of(callee_of(n));
    if (f.kind == Value::kFunction && kind(n) == K::kCall) return returned_by(f.node);
    return kUnknownValue;
  }
  const std::string& p = call.path;
  auto argument = [&](std::size_t i) -> Value {
    return i < call.arguments.size() ? value(call.arguments[i]) : Value();
  };
  if (one_of(p, {"require", "import", "Module._load", "Module.require", "process.getBuiltinModule", "?.require",
                 "?.getBuiltinModule", "import.meta.require"}))
    return argument(0).kind == Value::kText ? path(module_path(argument(0).text)) : kUnknownValue;
  if (p == "Module.createRequire" || p == "Module.createRequireFromPath") return path("require");
  if (p.starts_with("=>")) return path(p.substr(2));
  if (one_of(p, {"Function", "AsyncFunction", "GeneratorFunction", "?.constructor"})) {
    std::string source = call.arguments.empty() ? "" : value(call.arguments.back()).text;
    std::string_view s = trim(source);
    if (s.starts_with("return ")) {
      Value v = value(dotted(s.substr(7)));
      if (v.kind == Value::kPath) return path(cat("=>", v.text));
    }
    return p == "?.constructor" ? kUnknownValue : path("Function()");
  }
  if (one_of(p, {"eval", "vm.runInThisContext", "vm.runInNewContext"}))
    return argument(0).kind == Value::kText ? dotted(argument(0).text) : kUnknownValue;
  if (p == "Reflect.get" || p == "Object.getOwnPropertyDescriptor" || p == "Reflect.getOwnPropertyDescriptor") {
    if (call.arguments.empty() || argument(1).kind != Value::kText) return kUnknownValue;
    ValueId v = member(call.arguments[0], argument(1).text);
    if (p == "Reflect.get" || value(v).kind != Value::kPath) return v;
    return path(cat(value(v).text, "#descriptor"));
  }
  if (p == "Object.getPrototypeOf" || p == "Reflect.getPrototypeOf")
    return call.arguments.empty() ? kUnknownValue : member(call.arguments[0], "__proto__");
  if (one_of(p, {"Object.assign", "Object.create", "Object.freeze", "Promise.resolve", "util.promisify", "Object",
                 "structuredClone"})) {
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      if (argument(i).kind == Value::kPath) return call.arguments[i];
    return kUnknownValue;
  }
  // Function.call.bind(f): calls f with what it is given, whoever lent it his `call`.
  if (p.ends_with(".call.bind") || p.ends_with(".apply.bind")) {
    const Value f = argument(0);
    return f.kind == Value::kPath ? path(cat(f.text, p.ends_with(".call.bind") ? ".call" : ".apply")) : kUnknownValue;
  }
  if (p.ends_with(".bind")) return path(p.substr(0, p.size() - 5));
  if (p.ends_with(".then") || p.ends_with(".catch") || p.ends_with(".finally")) return kUnknownValue;
  if (ValueId v = fold_function(call); v != kUnknownValue) return v;
  return path(cat(p, "()"));
}

}  // namespace hotcell::javascript
