// Strings that can be known without running: literals, concat!, format! of constants, String and Path made of them.
#include "base/strings.h"
#include "languages/rust/facts_walk.h"

namespace hotcell::rust {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (auto n : names)
    if (n == name) return true;
  return false;
}

std::optional<std::string> literal(std::string_view t) {
  if (t.size() > kMaxConstant) return std::nullopt;
  std::size_t quote = t.find('"');
  if (quote == std::string_view::npos) return std::nullopt;
  std::string_view prefix = t.substr(0, quote);
  if (prefix.find('r') != std::string_view::npos) {
    std::size_t end = t.rfind('"');
    return end > quote ? std::optional(std::string(t.substr(quote + 1, end - quote - 1))) : std::nullopt;
  }
  std::string_view inside = t.substr(quote + 1);
  if (inside.ends_with('"')) inside.remove_suffix(1);
  std::string out = decode_escapes(inside);
  if (out.ends_with('\0')) out.pop_back();  // b"…\0" for C
  return out;
}

}  // namespace

// The tokens from `first` to the next comma: one string, or concat!(…) and the like.
std::optional<std::string> Walk::constant_tokens(NodeId first, int depth) {
  if (first == kNoNode || depth > kMaxFolding || ++folding_ > 1'000'000) return std::nullopt;
  while (first != kNoNode && tree_.is(first, "&")) first = tree_.next_sibling(first);
  if (first == kNoNode) return std::nullopt;
  NodeId next = tree_.next_sibling(first);
  bool last = next == kNoNode || tree_.is(next, ",") || tree_.is(next, ")") || tree_.is(next, "]") || tree_.is(next, "}") ||
              tree_.is(next, ".") || tree_.is(next, "?");
  if (kind(first) == Kind::kString || kind(first) == Kind::kRawString) return last ? literal(tree_.text(first)) : std::nullopt;
  if (kind(first) != Kind::kIdentifier) return std::nullopt;
  if (last) return constants_.get(tree_.text(first));
  if (!tree_.is(next, "!")) return std::nullopt;
  NodeId group = tree_.next_sibling(next);
  return group != kNoNode && kind(group) == Kind::kTokenTree ? macro_value(tree_.text(first), group, depth + 1) : std::nullopt;
}

std::optional<std::string> Walk::macro_value(std::string_view name, NodeId tokens, int depth) {
  if (depth > kMaxFolding) return std::nullopt;
  auto arguments = token_arguments(tokens);
  if (name == "concat") {
    std::string out;
    for (NodeId a : arguments) {
      auto piece = constant_tokens(a, depth + 1);
      if (!piece || out.size() + piece->size() > kMaxConstant) return std::nullopt;
      out += *piece;
    }
    return out;
  }
  if (name == "env" && !arguments.empty()) {
    auto variable = constant_tokens(arguments[0], depth + 1);
    // The crate's own folders.
    return variable && (*variable == "CARGO_MANIFEST_DIR" || *variable == "OUT_DIR") ? std::optional<std::string>(".") : std::nullopt;
  }
  if (name == "format" && !arguments.empty()) {
    auto form = constant_tokens(arguments[0], depth + 1);
    if (!form) return std::nullopt;
    std::string out;
    std::size_t next = 1;
    for (std::size_t i = 0; i < form->size(); ++i) {
      char c = (*form)[i];
      if ((c == '{' || c == '}') && i + 1 < form->size() && (*form)[i + 1] == c) {
        out += c;
        ++i;
      } else if (c == '{') {
        std::size_t close = form->find('}', i);
        if (close == std::string::npos) return std::nullopt;
        std::string inside = form->substr(i + 1, close - i - 1);
        inside = inside.substr(0, inside.find(':'));
        std::optional<std::string> value;
        if (inside.empty()) value = next < arguments.size() ? constant_tokens(arguments[next++], depth + 1) : std::nullopt;
        else value = constants_.get(inside);
        if (!value || out.size() + value->size() > kMaxConstant) return std::nullopt;
        out += *value;
        i = close;
      } else {
        out += c;
      }
    }
    return out;
  }
  return std::nullopt;
}

std::optional<std::string> Walk::method_value(NodeId call, int depth) {
  NodeId f = tree_.child_by_field(call, "function");
  NodeId receiver = tree_.child_by_field(f, "value");
  std::string_view method = tree_.text(tree_.child_by_field(f, "field"));
  if (one_of(method, {"to_string", "to_owned", "into", "as_str", "as_ref", "clone", "to_path_buf", "as_path", "as_ptr", "as_bytes",
                      "unwrap", "expect", "unwrap_or_default", "as_os_str", "to_str", "into_string", "trim", "cast", "to_string_lossy",
                      "into_os_string", "as_deref", "ok", "into_boxed_str", "display"}))
    return constant(receiver, depth + 1);
  auto arguments = tree_.named_children(tree_.child_by_field(call, "arguments"));
  if (method == "join" && arguments.size() == 1) {
    auto base = constant(receiver, depth + 1), rest = base ? constant(arguments[0], depth + 1) : std::nullopt;
    if (!rest || base->size() + rest->size() > kMaxConstant) return std::nullopt;
    return rest->starts_with('/') ? *rest : cat(*base, "/", *rest);
  }
  if (method == "replace" && arguments.size() == 2) {
    auto text = constant(receiver, depth + 1), from = constant(arguments[0], depth + 1), to = constant(arguments[1], depth + 1);
    if (!text || !from || !to || from->empty()) return std::nullopt;
    std::string out;
    for (std::size_t i = 0; i < text->size() && out.size() <= kMaxConstant;) {
      bool here = text->compare(i, from->size(), *from) == 0;
      out += here ? *to : std::string(1, (*text)[i]);
      i += here ? from->size() : 1;
    }
    return out.size() <= kMaxConstant ? std::optional(out) : std::nullopt;
  }
  if ((method == "concat" || method == "join") && tree_.is(receiver, "array_expression")) {
    auto between = method == "join" && !arguments.empty() ? constant(arguments[0], depth + 1) : std::string();
    std::string out;
    for (NodeId c : tree_.named_children(receiver)) {
      auto piece = constant(c, depth + 1);
      if (!piece || !between || out.size() + piece->size() > kMaxConstant) return std::nullopt;
      out += cat(out.empty() ? "" : *between, *piece);
    }
    return out;
  }
  return std::nullopt;
}

std::optional<std::string> Walk::constant(NodeId n, int depth) {
  if (n == kNoNode || depth > kMaxFolding || ++folding_ > 1'000'000) return std::nullopt;
  switch (kind(n)) {
    case Kind::kString:
    case Kind::kRawString: return literal(tree_.text(n));
    case Kind::kIdentifier: return tree_.is(tree_.parent(n), "token_tree") ? constant_tokens(n, depth) : constants_.get(tree_.text(n));
    case Kind::kMacro: {
      NodeId name = tree_.child_by_field(n, "macro"), tokens = tree_.child_by_kind(n, "token_tree");
      return name != kNoNode && tokens != kNoNode ? macro_value(plain_path(tree_.text(name)), tokens, depth + 1) : std::nullopt;
    }
    case Kind::kCall: {
      NodeId f = tree_.child_by_field(n, "function");
      if (f == kNoNode) return std::nullopt;
      if (tree_.is(f, "field_expression")) return method_value(n, depth);
      if (tree_.text(f).size() > 128) return std::nullopt;
      std::string name = plain_path(tree_.text(f));
      if (name.ends_with("var") || name.ends_with("var_os"))
        for (const std::string& meaning : resolve(name))
          if (one_of(meaning, {"std::env::var", "std::env::var_os"})) {
            auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
            auto variable = arguments.size() == 1 ? constant(arguments[0], depth + 1) : std::nullopt;
            return variable ? std::optional(environment_path(*variable)) : std::nullopt;
          }
      for (std::string_view made : {"String::from", "Path::new", "PathBuf::from", "OsStr::new", "OsString::from", "CString::new", "Cow::from"})
        if (name == made || name.ends_with(cat("::", made))) {
          auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
          return arguments.size() == 1 ? constant(arguments[0], depth + 1) : std::nullopt;
        }
      return std::nullopt;
    }
    default: break;
  }
  std::string_view k = tree_.kind(n);
  if (k == "reference_expression") return constant(tree_.child_by_field(n, "value"), depth + 1);
  if (k == "parenthesized_expression" || k == "try_expression" || k == "type_cast_expression") {
    auto inner = tree_.named_children(n);
    return inner.empty() ? std::nullopt : constant(inner[0], depth + 1);
  }
  if (k == "binary_expression" && tree_.text(tree_.child_by_field(n, "operator")) == "+") {
    auto left = constant(tree_.child_by_field(n, "left"), depth + 1);
    auto right = left ? constant(tree_.child_by_field(n, "right"), depth + 1) : std::nullopt;
    if (!right || left->size() + right->size() > kMaxConstant) return std::nullopt;
    return *left + *right;
  }
  return std::nullopt;
}

}  // namespace hotcell::rust
