// Texts, operators, subscripts.
#include <algorithm>

#include "languages/python/facts_modules.h"
#include "languages/python/facts_value.h"

namespace hotcell::python {

Values Evaluator::eval_string(NodeId n, int depth) {
  if (t_.kind(n) == K::kConcatenated) {
    Value whole = string_value("");
    for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
      if (whole.partial) break;
      Value part = first(c, depth);
      if (!part.is(Kind::kString)) {
        whole.partial = true;
        break;
      }
      whole.text += part.text;
      whole.bytes = part.bytes;
      whole.partial = part.partial;
    }
    return one(whole);
  }
  NodeId start = t_.first_named(n);
  if (t_.kind(start) != K::kStringStart) return {};
  StringPrefix prefix = string_prefix(t_.text(start));
  Value out = string_value("", prefix.bytes);
  for (NodeId c = t_.next_named(start); c != kNoNode && !out.partial; c = t_.next_named(c)) {
    if (t_.kind(c) == K::kStringContent) {
      std::string_view text = t_.text(c);
      // Characters by name are legal and unusual: not looked up, hence unknown.
      if (!prefix.raw && text.find("\\N{") != std::string_view::npos) out.partial = true;
      std::string piece = decode_string(text, prefix);
      if (prefix.formatted) {
        std::string single;
        for (std::size_t i = 0; i < piece.size(); ++i) {
          single += piece[i];
          if ((piece[i] == '{' || piece[i] == '}') && i + 1 < piece.size() && piece[i + 1] == piece[i]) ++i;
        }
        piece = std::move(single);
      }
      out.text += piece;
    } else if (t_.kind(c) == K::kInterpolation) {
      NodeId expression = t_.field(c, "expression");
      Value v = first(expression, depth);
      bool plain = expression != kNoNode && t_.next_named(expression) == kNoNode;
      if (plain && v.is(Kind::kString) && !v.bytes) {
        out.text += v.text;
        out.partial = v.partial;
      } else if (plain && v.is(Kind::kInt)) {
        out.text += std::to_string(v.number);
      } else if (plain && v.is(Kind::kObject) && v.text == "pathlib.Path" && !v.items.empty() &&
                 v.items[0].is(Kind::kString)) {
        out.text += v.items[0].text;
        out.partial = v.items[0].partial;
      } else if (plain && v.is(Kind::kEnv) && out.text.empty()) {
        return one(v);
      } else {
        out.partial = true;
      }
    }
  }
  return one(out);
}

Values Evaluator::eval_binary(NodeId n, int depth) {
  NodeId left_node = t_.field(n, "left"), right_node = t_.field(n, "right"), op_node = t_.field(n, "operator");
  if (left_node == kNoNode || right_node == kNoNode || op_node == kNoNode) return {};
  std::string_view op = t_.text(op_node);
  Values lefts = eval(left_node, depth), rights = eval(right_node, depth);
  Values out;
  for (const Value& l : lefts) {
    for (const Value& r : rights) {
      Value v;
      auto names = [](const Value& x) { return x.is(Kind::kDictOf) || (x.is(Kind::kName) && x.text == "sys.modules"); };
      if (op == "|" && (names(l) || names(r))) {  // vars(os) | {}
        if (names(l)) add_values(out, one(l));
        v = r;
      } else if (l.is(Kind::kInt) && r.is(Kind::kInt)) {
        std::int64_t a = l.number, b = r.number, most = std::int64_t{1} << 31;
        bool small = a < most && a > -most && b < most && b > -most;
        if (op == "+" && small)
          v = int_value(a + b);
        else if (op == "-" && small)
          v = int_value(a - b);
        else if (op == "*" && small)
          v = int_value(a * b);
        else if (op == "^")
          v = int_value(a ^ b);
        else if (op == "&")
          v = int_value(a & b);
        else if (op == "|")
          v = int_value(a | b);
        else if (op == "%" && b > 0)
          v = int_value(((a % b) + b) % b);
        else if (op == "//" && b > 0 && a >= 0)
          v = int_value(a / b);
        else if (op == "<<" && b >= 0 && b < 31 && a >= 0 && a < most)
          v = int_value(a << b);
        else if (op == ">>" && b >= 0 && b < 63)
          v = int_value(a >> b);
        else if (op == "**" && b >= 0 && b < 62) {
          std::int64_t p = 1;
          bool fits = true;
          for (std::int64_t i = 0; i < b; ++i) fits = fits && !__builtin_mul_overflow(p, a, &p);
          if (fits) v = int_value(p);
        }
      } else if (op == "+" && l.is(Kind::kString) && !l.partial) {
        v = l;
        if (r.is(Kind::kString)) {
          v.text += r.text;
          v.partial = r.partial;
        } else {
          v.partial = true;
        }
      } else if (op == "+" && l.is(Kind::kString)) {
        v = l;
      } else if (op == "+" && l.is(Kind::kEnv)) {
        v = l;
      } else if (op == "+" && l.is(Kind::kList) && r.is(Kind::kList) && l.items.size() + r.items.size() <= kMostItems) {
        v = l;
        v.items.insert(v.items.end(), r.items.begin(), r.items.end());
      } else if (op == "*" && (l.known_string() || r.known_string()) && (l.is(Kind::kInt) || r.is(Kind::kInt))) {
        const Value& s = l.is(Kind::kInt) ? r : l;
        std::int64_t times = l.is(Kind::kInt) ? l.number : r.number;
        if (times <= 0)
          v = string_value("", s.bytes);
        else if (s.text.empty() || static_cast<std::size_t>(times) <= kMaxConstant / s.text.size()) {
          v = string_value("", s.bytes);
          for (std::int64_t i = 0; i < times; ++i) v.text += s.text;
        }
      } else if (op == "%" && l.known_string()) {
        if (auto made = percent(l, r)) v = *made;
      } else if (op == "/" && (l.is(Kind::kObject) || r.is(Kind::kObject))) {
        const Value& path = l.is(Kind::kObject) ? l : r;
        if (path.text == "pathlib.Path") {
          v = path;
          v.items = {join_path(l.is(Kind::kObject) && !l.items.empty() ? l.items[0] : l,
                               r.is(Kind::kObject) && !r.items.empty() ? r.items[0] : r)};
        }
      }
      add_values(out, one(v));
    }
  }
  return out;
}

Values Evaluator::eval_subscript(NodeId n, int depth) {
  NodeId value = t_.field(n, "value"), key = t_.field(n, "subscript");
  if (value == kNoNode || key == kNoNode) return {};
  Values out;
  Values objects = eval(value, depth);
  if (t_.kind(key) == K::kSlice) {
    for (const Value& v : objects) add_values(out, eval_slice(v, key, depth));
    return out;
  }
  Values keys = eval(key, depth);
  for (const Value& v : objects)
    for (const Value& k : keys) add_values(out, subscript(v, k, depth));
  return out;
}

Values Evaluator::eval_slice(const Value& v, NodeId slice, int depth) {
  auto items = elements(v);
  if (!items || (!v.is(Kind::kString) && !v.is(Kind::kList))) {
    // The beginning of a known beginning is one still: enough for paths.
    return v.is(Kind::kEnv) ? one(v) : Values{};
  }
  std::optional<std::int64_t> part[3];
  int at = 0;
  for (NodeId c = t_.tree().first_child(slice); c != kNoNode; c = t_.tree().next_sibling(c)) {
    if (t_.text(c) == ":") {
      if (++at > 2) return {};
    } else if (t_.tree()[c].named && t_.kind(c) != K::kComment && t_.kind(c) != K::kNone) {
      Value number = first(c, depth);
      if (!number.is(Kind::kInt)) return {};
      part[at] = number.number;
    }
  }
  auto size = static_cast<std::int64_t>(items->size());
  std::int64_t step = part[2].value_or(1);
  if (step == 0) return {};
  auto clamp = [&](std::int64_t i, std::int64_t low, std::int64_t high) {
    return std::clamp(i < 0 ? i + size : i, low, high);
  };
  std::int64_t begin = step > 0  ? clamp(part[0].value_or(0), 0, size)
                       : part[0] ? clamp(*part[0], -1, size - 1)
                                 : size - 1;
  std::int64_t end = step > 0  ? part[1] ? clamp(*part[1], 0, size) : size
                     : part[1] ? clamp(*part[1], -1, size - 1)
                               : -1;
  std::vector<Value> chosen;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    chosen.push_back((*items)[static_cast<std::size_t>(i)]);
  if (v.is(Kind::kList)) return one(list_value(std::move(chosen)));
  Value text = string_value("", v.bytes);
  for (const Value& c : chosen) {
    if (v.bytes)
      text.text += static_cast<char>(c.number);
    else
      text.text += c.text;
  }
  return one(text);
}

Values Evaluator::subscript(const Value& v, const Value& key, int depth) {
  switch (v.kind) {
    case Kind::kDictOf:
      if (key.known_string()) return member(name_value(v.text, v.module), key.text, depth);
      return {};
    case Kind::kName:
      if (!key.known_string()) return {};
      if (v.text == "sys.modules") return one(name_value(canonical_module(key.text), true));
      if (v.text == "builtins") return member(v, key.text, depth);
      if (v.text == "os.environ" || v.text == "os.environb") {
        if (key.text == "HOME") return one(string_value("~"));
        Value env;
        env.kind = Kind::kEnv;
        env.text = key.text;
        return one(env);
      }
      return {};
    case Kind::kObject:
      if (v.text == "builtins.globals" && key.known_string()) {
        if (key.text == "__builtins__") return one(name_value("builtins", true));
        NameId name = s_.find_name(key.text);
        return name == kNoName ? Values{} : eval_name(0, name, depth);
      }
      return {};
    case Kind::kString:
    case Kind::kList: {
      if (!key.is(Kind::kInt)) return {};
      auto items = elements(v);
      if (!items) return {};
      auto size = static_cast<std::int64_t>(items->size());
      std::int64_t i = key.number < 0 ? key.number + size : key.number;
      if (i < 0 || i >= size) return {};
      return one((*items)[static_cast<std::size_t>(i)]);
    }
    case Kind::kDict: {
      Values out;
      for (std::size_t i = 0; i + 1 < v.items.size(); i += 2) {
        const Value& k = v.items[i];
        bool same = k.kind == key.kind && k.text == key.text && k.number == key.number;
        if (same && !key.is(Kind::kUnknown)) return one(v.items[i + 1]);
        add_values(out, one(v.items[i + 1]));
      }
      return out;
    }
    default:
      return {};
  }
}

Value join_path(const Value& left, const Value& right) {
  if (right.is(Value::Kind::kString) && right.text.starts_with('/')) return right;
  if (left.is(Value::Kind::kEnv)) return left;
  if (!left.is(Value::Kind::kString)) {
    return right.is(Value::Kind::kEnv) ? right : unknown_value();
  }
  Value out = left;
  if (left.partial) return out;
  if (!out.text.empty() && !out.text.ends_with('/')) out.text += '/';
  if (right.is(Value::Kind::kString)) {
    out.text += right.text;
    out.partial = right.partial;
  } else {
    out.partial = true;
  }
  return out;
}

}  // namespace hotcell::python
