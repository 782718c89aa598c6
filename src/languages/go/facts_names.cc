// Names, imports and constants.
#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "languages/constant_paths.h"
#include "languages/go/facts_walk.h"

namespace hotcell::go {
namespace {

const KindTable<K>::Names kKinds = {
    {"identifier", K::kIdentifier},
    {"selector_expression", K::kSelector},
    {"call_expression", K::kCall},
    {"interpreted_string_literal", K::kString},
    {"raw_string_literal", K::kRawString},
    {"rune_literal", K::kRune},
    {"int_literal", K::kInt},
    {"binary_expression", K::kBinary},
    {"unary_expression", K::kUnary},
    {"parenthesized_expression", K::kParenthesized},
    {"composite_literal", K::kComposite},
    {"type_conversion_expression", K::kConversion},
    {"index_expression", K::kIndex},
    {"qualified_type", K::kQualifiedType},
    {"import_spec", K::kImportSpec},
    {"short_var_declaration", K::kShortVar},
    {"var_spec", K::kVarSpec},
    {"const_spec", K::kConstSpec},
    {"assignment_statement", K::kAssignment},
    {"parameter_declaration", K::kParameter},
    {"variadic_parameter_declaration", K::kParameter},
    {"range_clause", K::kRange},
    {"receive_statement", K::kReceive},
    {"type_switch_statement", K::kTypeSwitch},
    {"function_declaration", K::kFunction},
    {"method_declaration", K::kMethod},
    {"func_literal", K::kFuncLiteral},
    {"function_type", K::kFunctionType},
    {"block", K::kBlock},
    {"if_statement", K::kScope},
    {"for_statement", K::kScope},
    {"expression_switch_statement", K::kScope},
    {"expression_case", K::kScope},
    {"default_case", K::kScope},
    {"type_case", K::kScope},
    {"communication_case", K::kScope},
    {"source_file", K::kSource},
    {"comment", K::kComment},
    {"type_spec", K::kTypeSpec},
    {"literal_element", K::kLiteralElement},
    {"type_assertion_expression", K::kTypeAssertion},
    {"slice_type", K::kSliceType},
    {"array_type", K::kSliceType},
    {"implicit_length_array_type", K::kSliceType},
};

bool one_of(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

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

std::string from_base64(std::string_view s) {
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : s) {
    int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
    if (v < 0) continue;
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    if ((have += 6) >= 8) out += static_cast<char>(bits >> (have -= 8) & 0xff);
  }
  return out;
}

}  // namespace

Walk::Walk(const SyntaxTree& tree)
    : tree_(tree), kinds_(kKinds), declares_(tree.size()), memo_(tree.size(), ~ValueId{0}) {
  values_.emplace_back();
}

ValueId Walk::make(Value v) {
  if (v.kind != Value::kNumber) folded_ += v.text.size() + 16;
  if (v.text.size() > kMaxConstant || folded_ > kFoldBudget) return 0;
  values_.push_back(std::move(v));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Walk::text(std::string s) {
  Value v;
  v.kind = Value::kText;
  v.text = std::move(s);
  return make(std::move(v));
}

ValueId Walk::path(std::string s) {
  if (s.size() > 240) return 0;
  Value v;
  v.kind = Value::kPath;
  v.text = std::move(s);
  values_.push_back(std::move(v));  // what is looked for does not count as folding
  return static_cast<ValueId>(values_.size() - 1);
}

std::string Walk::string_of(NodeId n) {
  std::string_view s = tree_.text(n);
  if (s.size() >= 2) s = s.substr(1, s.size() - 2);
  s = s.substr(0, kMaxConstant);
  return kind(n) == K::kRawString ? std::string(s) : decode_escapes(s);
}

std::vector<NodeId> Walk::arguments_of(NodeId call) const {
  return tree_.named_children(tree_.child_by_field(call, "arguments"));
}

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

ValueId Walk::evaluate(NodeId n) {
  while (kind(n) == K::kParenthesized || kind(n) == K::kLiteralElement) {
    NodeId inner = kNoNode;
    for (NodeId c = tree_.first_child(n); c != kNoNode && inner == kNoNode; c = tree_.next_sibling(c))
      if (tree_[c].named && kind(c) != K::kComment) inner = c;
    if (inner == kNoNode) return 0;
    n = inner;
  }
  if (n == kNoNode) return 0;
  if (memo_[n] != ~ValueId{0}) return memo_[n];
  if (depth_ >= kMaxDepth) return 0;
  ++depth_;
  ValueId v = evaluate_now(n);
  --depth_;
  return memo_[n] = v;
}

ValueId Walk::evaluate_now(NodeId n) {
  switch (kind(n)) {
    case K::kIdentifier:
      return evaluate_name(n);
    case K::kString:
    case K::kRawString: {
      // A literal is no larger than the source: only what is put together counts as folding.
      Value v;
      v.kind = Value::kText;
      v.text = string_of(n);
      values_.push_back(std::move(v));
      return static_cast<ValueId>(values_.size() - 1);
    }
    case K::kRune: {
      Value v;
      v.kind = Value::kNumber;
      std::string s = string_of(n);
      v.number = s.empty() ? 0 : static_cast<unsigned char>(s[0]);
      return s.size() == 1 ? make(std::move(v)) : 0;
    }
    case K::kInt: {
      Value v;
      v.kind = Value::kNumber;
      v.number = std::strtol(std::string(tree_.text(n)).c_str(), nullptr, 0);
      return make(std::move(v));
    }
    case K::kQualifiedType:
    case K::kSelector: {
      bool type = kind(n) == K::kQualifiedType;
      NodeId operand = tree_.child_by_field(n, type ? "package" : "operand"),
             field = tree_.child_by_field(n, type ? "name" : "field");
      const Value& o = type ? value(evaluate_name(operand)) : value_of(operand);
      return o.kind == Value::kPath && field != kNoNode ? path(cat(o.text, ".", tree_.text(field))) : 0;
    }
    case K::kCall:
      return evaluate_call(n);
    case K::kBinary:
      return evaluate_sum(n);
    case K::kUnary:
      return tree_.text(tree_.child_by_field(n, "operator")) == "&" ? evaluate(tree_.child_by_field(n, "operand")) : 0;
    case K::kTypeAssertion:
    case K::kConversion:
      return evaluate(tree_.child_by_field(n, "operand"));
    case K::kComposite:
      return evaluate_composite(n);
    case K::kIndex: {
      const Value &list = value_of(tree_.child_by_field(n, "operand")),
                  &at = value_of(tree_.child_by_field(n, "index"));
      bool ok = list.kind == Value::kList && at.kind == Value::kNumber && at.number >= 0 &&
                static_cast<std::size_t>(at.number) < list.items.size();
      return ok ? list.items[static_cast<std::size_t>(at.number)] : 0;
    }
    default:
      return 0;
  }
}

// A name declared here hides an import only after its declaration: `exec := exec.Command` still means the package.
ValueId Walk::evaluate_name(NodeId n) {
  std::string_view name = tree_.text(n);
  std::uint32_t id = scopes_.find(name, n);
  if (id != NameScopes::kNone && !bindings_[id].sources.empty()) {
    NodeId statement = bindings_[id].sources[0].statement;
    if (n >= tree_.end_of(statement) || kind(statement) == K::kTypeSwitch || declares_[n] ||
        kind(tree_.parent(statement)) == K::kSource || !names_.contains(std::string(name))) {
      Binding& b = bindings_[id];
      if (b.state == 2) return b.known;
      if (b.state == 1 || depth_ >= kMaxDepth) return 0;
      b.state = 1;
      ValueId known = 0, named = 0;
      for (std::size_t i = 0; i < b.sources.size(); ++i) {
        ValueId v = b.sources[i].value == kNoNode ? 0 : evaluate(b.sources[i].value);
        if (value(v).kind == Value::kPath && named == 0) named = v;
        known = i == 0 ? v : 0;
      }
      b.state = 2;
      return b.known = named != 0 ? named : known;
    }
  }
  if (auto import = names_.find(std::string(name)); import != names_.end()) return path(imports_[import->second].path);
  if (!dots_.empty() && !name.empty() && name[0] >= 'A' && name[0] <= 'Z' && !declares_[n]) {
    // Of several dot imports the one that matters most is not known; the first that is not a test's helper is taken.
    for (std::size_t d : dots_)
      if (imports_[d].path.find("gomega") == std::string::npos) return path(cat(imports_[d].path, ".", name));
  }
  return 0;
}

bool Walk::as_text(ValueId v, std::string& out) const {
  const Value& x = value(v);
  if (x.kind == Value::kText) out = x.text;
  else if (x.kind == Value::kNumber) out = std::to_string(x.number);
  else return false;
  return true;
}

ValueId Walk::add_texts(const std::vector<ValueId>& parts) {
  Value v;
  v.kind = Value::kText;
  for (ValueId p : parts) {
    std::string piece;
    bool known = value(p).kind == Value::kText && as_text(p, piece);
    if (value(p).kind == Value::kPrefix) piece = value(p).text;
    if (v.text.size() + piece.size() > kMaxConstant) return 0;
    v.text += piece;
    if (!known) {
      v.kind = Value::kPrefix;
      break;
    }
  }
  return make(std::move(v));
}

ValueId Walk::evaluate_sum(NodeId n) {
  std::vector<NodeId> operands;
  NodeId at = n;
  while (kind(at) == K::kBinary) {
    if (tree_.text(tree_.child_by_field(at, "operator")) != "+" || operands.size() > 4096) return 0;
    operands.push_back(tree_.child_by_field(at, "right"));
    at = tree_.child_by_field(at, "left");
  }
  operands.push_back(at);
  std::reverse(operands.begin(), operands.end());
  std::vector<ValueId> parts;
  bool any = false;
  for (NodeId o : operands) {
    parts.push_back(evaluate(o));
    any |= value(parts.back()).kind == Value::kText || value(parts.back()).kind == Value::kPrefix;
  }
  return any ? add_texts(parts) : 0;
}

ValueId Walk::evaluate_composite(NodeId n) {
  NodeId type = tree_.child_by_field(n, "type");
  if (kind(type) != K::kSliceType) {
    const Value& t = value_of(type);
    return t.kind == Value::kPath ? path(cat(t.text, "{}")) : 0;
  }
  Value v;
  v.kind = Value::kList;
  for (NodeId c : tree_.named_children(tree_.child_by_field(n, "body"))) {
    if (v.items.size() >= 1024) return 0;
    v.items.push_back(kind(c) == K::kLiteralElement ? evaluate(c) : 0);
  }
  return make(std::move(v));
}

ValueId Walk::evaluate_call(NodeId n) {
  NodeId function = tree_.child_by_field(n, "function");
  auto arguments = arguments_of(n);
  auto at = [&](std::size_t i) { return i < arguments.size() ? evaluate(arguments[i]) : 0; };
  if (kind(function) == K::kIdentifier && one_of(tree_.text(function), {"string", "append", "new"})) {
    const Value& v = value(at(0));
    if (v.kind != Value::kList) return tree_.text(function) == "new" ? 0 : at(0);
    if (tree_.text(function) != "string") return 0;
    std::string s;
    for (ValueId item : v.items) {
      if (value(item).kind != Value::kNumber) return 0;
      append_utf8(s, static_cast<std::uint32_t>(value(item).number));
    }
    return text(s);
  }
  const Value& f = value_of(function);
  if (f.kind != Value::kPath) return 0;
  const std::string& p = f.text;
  std::string a, b;
  bool has_a = as_text(at(0), a), has_b = as_text(at(1), b);
  if (p == "os.Getenv" && has_a) return text(a == "HOME" ? "~" : cat("$", a));
  if (p == "os.ExpandEnv" && has_a) return text(a);
  if (p == "os.UserHomeDir") return text("~");
  if (p == "os.TempDir") return text("/tmp");
  if (p == "os.Getwd") return text(".");
  if (p == "path.Join" || p == "path/filepath.Join") {
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i > 0) parts.push_back(text("/"));
      parts.push_back(at(i));
    }
    return add_texts(parts);
  }
  if (p == "path/filepath.Clean" || p == "path/filepath.Abs" || p == "strings.TrimSpace") return at(0);
  if (p == "strings.Join" && value(at(0)).kind == Value::kList && has_b) {
    std::vector<ValueId> parts;
    for (ValueId item : value(at(0)).items) {
      if (!parts.empty()) parts.push_back(at(1));
      parts.push_back(item);
    }
    return add_texts(parts);
  }
  if (p == "fmt.Sprintf" && has_a) {
    Value v;
    v.kind = Value::kText;
    std::size_t next = 1;
    for (std::size_t i = 0; i < a.size() && v.text.size() < kMaxConstant; ++i) {
      if (a[i] != '%' || i + 1 >= a.size()) {
        v.text += a[i];
      } else if (a[++i] == '%') {
        v.text += '%';
      } else {
        std::string piece;
        if (!one_of(a.substr(i, 1), {"s", "v", "d"}) || !as_text(at(next++), piece)) {
          v.kind = Value::kPrefix;
          break;
        }
        v.text += piece;
      }
    }
    return make(std::move(v));
  }
  if (p == "strings.ToLower" || p == "strings.ToUpper") {
    for (char& c : a) c = static_cast<char>(p == "strings.ToLower" ? std::tolower(c) : std::toupper(c));
    return has_a ? text(a) : 0;
  }
  if ((p == "strings.ReplaceAll" || p == "strings.Replace") && has_a && has_b && !b.empty()) {
    std::string c;
    if (!as_text(at(2), c)) return 0;
    for (std::size_t i = 0; (i = a.find(b, i)) != a.npos && a.size() < kMaxConstant; i += c.size())
      a.replace(i, b.size(), c);
    return text(a);
  }
  if (p.starts_with("encoding/base64.") && p.ends_with(".DecodeString") && has_a) return text(from_base64(a));
  if (p == "encoding/hex.DecodeString" && has_a) {
    std::string s;
    for (std::size_t i = 0; i + 1 < a.size() && hex_digit(a[i]) >= 0 && hex_digit(a[i + 1]) >= 0; i += 2)
      s += static_cast<char>(hex_digit(a[i]) * 16 + hex_digit(a[i + 1]));
    return text(s);
  }
  return path(cat(p, "()"));
}

}  // namespace hotcell::go
