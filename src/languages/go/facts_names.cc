// What names and expressions are known to be.
#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "languages/constant_paths.h"
#include "languages/go/facts_walk.h"
#include "languages/one_of.h"

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
  if ((p == "os.Getenv" || p == "os.LookupEnv") && has_a) return text(a == "HOME" ? "~" : cat("$", a));
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
