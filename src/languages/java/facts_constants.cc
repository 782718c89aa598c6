// Strings that can be known without running: concatenation, final fields, builders, new String of characters, a few methods.
#include <algorithm>

#include "base/strings.h"
#include "languages/java/facts_walk.h"

namespace hotcell::java {
namespace {

std::optional<std::string> base64(std::string_view s) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : s) {
    if (c == '=' || c == '\n' || c == '\r') continue;
    int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
    if (v < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return out;
}

std::optional<std::string> capped(std::string s) { return s.size() > kMaxConstant ? std::nullopt : std::optional(std::move(s)); }

}  // namespace

std::optional<long> Walk::number(NodeId n, int depth) {
  if (n == kNoNode || depth > kMaxFolding || ++folding_ > 1'000'000) return std::nullopt;
  std::string_view t = tree_.text(n), k = tree_.kind(n);
  if (k == "character_literal" && t.size() >= 3) {
    std::string c = decode_escapes(t.substr(1, t.size() - 2));
    return c.size() == 1 ? std::optional<long>(static_cast<unsigned char>(c[0])) : std::nullopt;
  }
  if (k == "decimal_integer_literal" || k == "hex_integer_literal") {
    long value = 0;
    bool hex = k.starts_with("hex");
    for (char c : hex ? t.substr(2) : t)
      if (hex_digit(c) >= 0 && value < 1'000'000) value = value * (hex ? 16 : 10) + hex_digit(c);
    return value;
  }
  if (kind(n) == Kind::kCast) return number(tree_.child_by_field(n, "value"), depth + 1);
  if (kind(n) == Kind::kParenthesized) {
    auto inner = tree_.named_children(n);
    return inner.size() == 1 ? number(inner[0], depth + 1) : std::nullopt;
  }
  if (kind(n) == Kind::kBinary) {
    auto a = number(tree_.child_by_field(n, "left"), depth + 1), b = number(tree_.child_by_field(n, "right"), depth + 1);
    std::string_view op = field_text(n, "operator");
    if (!a || !b || op.size() != 1 || std::max(*a, *b) > 1'000'000) return std::nullopt;
    switch (op[0]) {
      case '+': return *a + *b;
      case '-': return *a - *b;
      case '^': return *a ^ *b;
      case '*': return *a * *b;
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::string> Walk::array_value(NodeId n, int depth) {  // new char[]{'a', 98}
  NodeId list = tree_.is(n, "array_initializer") ? n : tree_.child_by_field(n, "value");
  if (list == kNoNode) return std::nullopt;
  std::string out;
  for (NodeId c : tree_.named_children(list)) {
    auto unit = number(c, depth + 1);
    if (!unit || out.size() > kMaxConstant || *unit < 0) return std::nullopt;
    append_utf8(out, static_cast<std::uint32_t>(*unit));
  }
  return out;
}

std::optional<std::string> Walk::new_value(NodeId n, int depth) {
  std::string_view type = field_text(n, "type");
  if (type.starts_with("java.")) type.remove_prefix(type.rfind('.') + 1);
  auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
  if (type == "StringBuilder" || type == "StringBuffer" || type == "String") {
    if (arguments.empty()) return std::string();
    return constant(arguments[0], depth + 1);
  }
  if (type == "File" && arguments.size() == 2) {
    auto base = constant(arguments[0], depth + 1), rest = constant(arguments[1], depth + 1);
    return base && rest ? capped(cat(*base, "/", *rest)) : std::nullopt;
  }
  if ((type == "File" || type == "URL") && arguments.size() == 1) return constant(arguments[0], depth + 1);
  return std::nullopt;
}

std::optional<std::string> Walk::call_value(NodeId n, int depth) {
  std::string_view method = field_text(n, "name"), object = field_text(n, "object");
  NodeId receiver = tree_.child_by_field(n, "object");
  auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
  auto argument = [&](std::size_t i) { return i < arguments.size() ? constant(arguments[i], depth + 1) : std::nullopt; };
  if (object == "String" && (method == "valueOf" || method == "copyValueOf") && arguments.size() == 1) {
    if (auto unit = tree_.is(arguments[0], "character_literal") ? number(arguments[0], depth + 1) : std::nullopt) return std::string(1, static_cast<char>(*unit));
    return argument(0);
  }
  if (object == "String" && method == "join") {
    auto between = argument(0);
    std::string out;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      auto piece = argument(i);
      if (!piece || !between || out.size() > kMaxConstant) return std::nullopt;
      out += cat(i > 1 ? *between : "", *piece);
    }
    return capped(out);
  }
  if (method == "getenv" && object.ends_with("System") && arguments.size() == 1) {
    auto variable = argument(0);
    return variable ? std::optional(environment_path(*variable)) : std::nullopt;
  }
  if ((method == "get" || method == "getOrDefault") && object.ends_with("System.getenv()")) {
    auto variable = arguments.size() == 1 ? argument(0) : std::nullopt;
    return variable ? std::optional(environment_path(*variable)) : std::nullopt;
  }
  if (method == "getProperty" && object.ends_with("System") && arguments.size() == 1)
    return argument(0) == "user.home" ? std::optional<std::string>("~") : std::nullopt;
  if (object == "Character" && method == "toString" && arguments.size() == 1) {
    auto unit = number(arguments[0], depth + 1);
    return unit && *unit > 0 && *unit < 128 ? std::optional(std::string(1, static_cast<char>(*unit))) : std::nullopt;
  }
  if ((method == "of" && object.ends_with("Path")) || (method == "get" && object.ends_with("Paths")) || (method == "create" && object.ends_with("URI"))) {
    std::string out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      auto piece = argument(i);
      if (!piece || out.size() > kMaxConstant) return std::nullopt;
      out += cat(i > 0 ? "/" : "", *piece);
    }
    return out;
  }
  if (method == "decode" && object.find("Base64") != std::string_view::npos) {
    auto text = argument(0);
    return text ? base64(*text) : std::nullopt;
  }
  if (receiver == kNoNode) return std::nullopt;
  if (method == "toString" || method == "intern" || method == "trim" || method == "strip" || method == "toPath" || method == "toFile" ||
      method == "getBytes" || method == "toCharArray" || method == "toAbsolutePath" || method == "normalize" || method == "toURL")
    return constant(receiver, depth + 1);
  bool grows = method == "append" || method == "concat", path = method == "resolve";
  if ((grows || path) && arguments.size() == 1) {
    auto left = constant(receiver, depth + 1);
    auto right = left ? argument(0) : std::nullopt;
    if (left && !right)
      if (auto unit = number(arguments[0], depth + 1); unit && *unit > 0 && *unit < 128)
        right = tree_.is(arguments[0], "decimal_integer_literal") ? std::string(tree_.text(arguments[0])) : std::string(1, static_cast<char>(*unit));
    return left && right ? capped(cat(*left, path ? "/" : "", *right)) : std::nullopt;
  }
  if (method == "reverse") {
    auto text = constant(receiver, depth + 1);
    if (text) std::reverse(text->begin(), text->end());
    return text;
  }
  if (method == "toLowerCase" || method == "toUpperCase") {
    auto text = constant(receiver, depth + 1);
    if (text)
      for (char& c : *text) c = method == "toLowerCase" && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : method == "toUpperCase" && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return text;
  }
  if ((method == "replace" || method == "replaceAll") && arguments.size() == 2) {
    auto text = constant(receiver, depth + 1), from = argument(0), to = argument(1);
    if (!text || !from || !to || from->empty()) return std::nullopt;
    std::string out;
    for (std::size_t i = 0; i < text->size() && out.size() <= kMaxConstant;) {
      bool here = text->compare(i, from->size(), *from) == 0;
      out += here ? *to : std::string(1, (*text)[i]);
      i += here ? from->size() : 1;
    }
    return capped(out);
  }
  if (method == "substring" && !arguments.empty()) {
    auto text = constant(receiver, depth + 1);
    auto from = number(arguments[0], depth + 1), to = arguments.size() > 1 ? number(arguments[1], depth + 1) : std::optional<long>(1 << 30);
    if (!text || !from || !to || *from < 0 || *to < *from || static_cast<std::size_t>(*from) > text->size()) return std::nullopt;
    return text->substr(static_cast<std::size_t>(*from), static_cast<std::size_t>(*to - *from));
  }
  return std::nullopt;
}

std::optional<std::string> Walk::constant(NodeId n, int depth) {
  if (n == kNoNode || depth > kMaxFolding || ++folding_ > 1'000'000) return std::nullopt;
  switch (kind(n)) {
    case Kind::kString: {
      std::string_view t = tree_.text(n);
      if (t.size() > kMaxConstant || t.size() < 2) return std::nullopt;
      bool block = t.starts_with("\"\"\"") && t.size() >= 6;
      std::string out = decode_escapes(block ? t.substr(3, t.size() - 6) : t.substr(1, t.size() - 2));
      return block ? std::string(trim(out)) : out;
    }
    case Kind::kIdentifier: return constants_.get(tree_.text(n));
    case Kind::kFieldAccess: return constants_.get(field_text(n, "field"));
    case Kind::kMethodCall: return call_value(n, depth);
    case Kind::kNew: return new_value(n, depth);
    case Kind::kCast: return constant(tree_.child_by_field(n, "value"), depth + 1);
    case Kind::kParenthesized: {
      auto inner = tree_.named_children(n);
      return inner.size() == 1 ? constant(inner[0], depth + 1) : std::nullopt;
    }
    case Kind::kBinary: {
      if (field_text(n, "operator") != "+") return std::nullopt;
      NodeId l = tree_.child_by_field(n, "left"), r = tree_.child_by_field(n, "right");
      auto piece = [&](NodeId c) {
        auto text = constant(c, depth + 1);
        if (!text && tree_.is(c, "character_literal"))
          if (auto unit = number(c, depth + 1)) text = std::string(1, static_cast<char>(*unit));
        if (!text && tree_.is(c, "decimal_integer_literal")) text = std::string(tree_.text(c));
        if (!text && kind(c) == Kind::kCast)  // (char) 82
          if (auto unit = number(c, depth + 1); unit && *unit > 0 && *unit < 128) text = std::string(1, static_cast<char>(*unit));
        return text;
      };
      auto left = l == kNoNode ? std::nullopt : piece(l);
      auto right = left && r != kNoNode ? piece(r) : std::nullopt;
      return right ? capped(*left + *right) : std::nullopt;
    }
    default: break;
  }
  if (tree_.is(n, "array_creation_expression") || tree_.is(n, "array_initializer")) return array_value(n, depth + 1);
  return std::nullopt;
}

}  // namespace hotcell::java
