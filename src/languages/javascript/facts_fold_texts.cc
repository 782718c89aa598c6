// Constant folding: texts made of others by operators and templates.
#include <cmath>

#include "base/strings.h"
#include "languages/fact_list.h"
#include "languages/javascript/facts_model.h"

namespace hotcell::javascript {
namespace {

std::string number_text(double d) {
  if (d == std::floor(d) && std::abs(d) < 1e15) return std::to_string(static_cast<long long>(d));
  return std::to_string(d);
}

}  // namespace

// A value where a text is wanted. The environment's variables are texts nobody knows, but their names say something.
bool Model::as_text(ValueId v, std::string& out) const {
  const Value& x = value(v);
  if (x.kind == Value::kText || x.kind == Value::kBytes) out = x.text;
  else if (x.kind == Value::kNumber) out = number_text(x.number);
  else if (x.kind == Value::kPath && x.text.starts_with("process.env.") && !x.text.ends_with("*"))
    out = x.text == "process.env.HOME" ? "~" : "$" + x.text.substr(12);
  else return false;
  return true;
}

ValueId Model::add_texts(const std::vector<ValueId>& parts) {
  Value v;
  v.kind = Value::kText;
  v.folded = true;
  for (ValueId p : parts) {
    std::string piece;
    bool known = as_text(p, piece);
    if (value(p).kind == Value::kPrefix) piece = value(p).text;
    if (v.text.size() + piece.size() > kMaxText) return kUnknownValue;
    v.text += piece;
    if (!known) {
      v.kind = Value::kPrefix;
      break;
    }
  }
  return make(std::move(v));
}

ValueId Model::evaluate_template(NodeId n) {
  std::vector<ValueId> parts;
  int pieces = 0;
  for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
    if (kind(c) == K::kStringFragment) {
      parts.push_back(text(std::string(tree_.text(c)), false));
      ++pieces;
    } else if (kind(c) == K::kEscape) {
      parts.push_back(text(decode_string(tree_.text(c))));
    } else if (kind(c) == K::kTemplateSubstitution) {
      auto inner = tree_.named_children(c);
      parts.push_back(inner.empty() ? kUnknownValue : evaluate(inner[0]));
      pieces += 2;
    }
  }
  ValueId v = add_texts(parts);
  if (pieces <= 1 && value(v).kind == Value::kText && parts.size() == 1) return text(value(v).text, false);
  return v;
}

ValueId Model::evaluate_binary(NodeId n) {
  NodeId right = tree_.child_by_field(n, "right"), left = tree_.child_by_field(n, "left");
  std::string_view op = tree_.text(tree_.child_by_field(n, "operator"));
  if (op == "||" || op == "??" || op == "&&") {
    ValueId a = evaluate(left), b = evaluate(right);
    bool first = value(a).kind == Value::kPath && op != "&&" && !value(a).text.starts_with("process.env.");
    return first                                         ? a
           : value(b).kind == Value::kPath || op == "&&" ? b
           : value(a).kind == Value::kPath               ? a
                                                         : kUnknownValue;
  }
  if (op != "+") {
    const Value &a = value_of(left), &b = value_of(right);
    if (a.kind != Value::kNumber || b.kind != Value::kNumber) return kUnknownValue;
    Value v;
    v.kind = Value::kNumber;
    auto small = [](double d) { return std::abs(d) < 2e9; };
    if (op == "-") v.number = a.number - b.number;
    else if (op == "*") v.number = a.number * b.number;
    else if (op == "/" && b.number != 0) v.number = a.number / b.number;
    else if (op == "^" && small(a.number) && small(b.number))
      v.number = static_cast<double>(static_cast<long long>(a.number) ^ static_cast<long long>(b.number));
    else return kUnknownValue;
    return make(std::move(v));
  }
  // The left spine in one go: a sum of ten thousand texts is one text.
  std::vector<NodeId> operands;
  NodeId at = n;
  while (kind(at) == K::kBinary && tree_.text(tree_.child_by_field(at, "operator")) == "+") {
    if (operands.size() >= kMaxItems) return kUnknownValue;
    operands.push_back(tree_.child_by_field(at, "right"));
    at = inside(tree_.child_by_field(at, "left"));
  }
  operands.push_back(at);
  std::reverse(operands.begin(), operands.end());
  std::vector<ValueId> parts;
  bool any_text = false, all_numbers = true;
  double sum = 0;
  for (NodeId o : operands) {
    parts.push_back(evaluate(o));
    const Value& v = value(parts.back());
    any_text |= v.kind == Value::kText || v.kind == Value::kPrefix || v.kind == Value::kBytes;
    all_numbers &= v.kind == Value::kNumber;
    sum += v.number;
  }
  if (any_text) return add_texts(parts);
  if (!all_numbers) return kUnknownValue;
  Value v;
  v.kind = Value::kNumber;
  v.number = sum;
  return make(std::move(v));
}

}  // namespace hotcell::javascript
