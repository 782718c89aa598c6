// Calls whose result can be told: building texts, decoding them, taking things out of collections.
#include <algorithm>

#include "languages/python/facts_decode.h"
#include "languages/python/facts_value.h"

namespace hotcell::python {

Values Evaluator::eval_call(NodeId n, int depth) {
  NodeId function = t_.field(n, "function");
  if (function == kNoNode) return {};
  Values out;
  Values functions = eval(function, depth);
  for (const Value& f : functions) add_values(out, call(f, n, depth));
  return out;
}

Values Evaluator::called_own(const Value& function, int depth) {
  Values out;
  std::uint32_t scope = s_.scope_made_by(function.node);
  if (t_.kind(function.node) == K::kClass || scope == 0) return one(unknown_value());
  for (std::uint32_t at = s_.first(scope, Scopes::kReturned); at != ~0u; at = s_.binding(at).next)
    add_values(out, eval_binding(s_.binding(at), depth));
  if (out.empty()) out.push_back(unknown_value());
  return out;
}

Values Evaluator::apply(const Value& function, const Value& argument, int depth) {
  if (function.is(Kind::kName) && function.text == "builtins.chr" && argument.is(Kind::kInt)) {
    std::string text;
    append_utf8(text, static_cast<std::uint32_t>(argument.number));
    return one(string_value(text));
  }
  if (function.is(Kind::kName) && function.text == "builtins.ord" && argument.known_string() &&
      argument.text.size() == 1)
    return one(int_value(static_cast<unsigned char>(argument.text[0])));
  if (function.is(Kind::kName) && function.text == "builtins.str")
    return one(argument.is(Kind::kString) ? argument : unknown_value());
  if (function.is(Kind::kName) && function.text == "builtins.int" && argument.known_string()) {
    auto number = parse_integer(argument.text);
    return number ? one(int_value(*number)) : Values{};
  }
  if (!function.is(Kind::kOwn) || t_.kind(function.node) != K::kLambda || overrides_.size() >= 4) return {};
  NodeId parameter = t_.first_named(t_.field(function.node, "parameters"));
  if (t_.kind(parameter) != K::kIdentifier) return {};
  overrides_.push_back({s_.name_of(parameter), argument});
  Values out = eval(t_.field(function.node, "body"), depth);
  overrides_.pop_back();
  return out;
}

Values Evaluator::call(const Value& f, NodeId call_node, int depth) {
  if (depth > kMaxFolding) return {};
  if (f.is(Kind::kOwn)) return called_own(f, depth);
  if (f.is(Kind::kObject)) {
    Arguments a = arguments(call_node);
    if (auto made = fold_reflection(f, a, depth)) return *made;
    return {};
  }
  if (!f.is(Kind::kName)) return {};
  Arguments a = arguments(call_node);
  std::string_view name = f.text;
  std::optional<Values> made;
  if ((name.starts_with("str.") || name.starts_with("list.") || name.starts_with("dict.")) && !f.items.empty())
    made = fold_method(name.substr(name.find('.') + 1), f.items[0], a, depth);
  else if (name.starts_with("pathlib.Path.") && !f.items.empty())
    made = fold_path_method(name.substr(13), f.items[0], a, depth);
  if (!made && name.starts_with("builtins.")) made = fold_builtin(name.substr(9), a, depth);
  if (!made) made = fold_reflection(f, a, depth);
  if (!made) made = fold_decoder(name, a, depth);
  if (!made) made = fold_path(f, a, depth);
  if (made) return *made;
  Value object;
  object.kind = Kind::kObject;
  object.text = f.text;
  return one(object);
}

std::optional<Values> Evaluator::fold_builtin(std::string_view name, const Arguments& a, int depth) {
  Value x = first(a.at(0), depth);
  if (name == "chr" || name == "ord")
    return apply(name_value(name == "chr" ? "builtins.chr" : "builtins.ord"), x, depth);
  if (name == "str" || name == "repr" || name == "ascii" || name == "format") {
    if (a.positional.empty()) return one(string_value(""));
    if (x.is(Kind::kInt)) return one(string_value(std::to_string(x.number)));
    if (x.is(Kind::kString) && name == "str") {
      if (x.bytes && a.positional.size() + a.keywords.size() < 2) return Values{};
      x.bytes = false;
      return one(x);
    }
    if (x.is(Kind::kObject) && x.text == "pathlib.Path" && !x.items.empty()) return one(x.items[0]);
    if (x.is(Kind::kEnv)) return one(x);
    return Values{};
  }
  if (name == "bytes" || name == "bytearray") {
    if (x.is(Kind::kString)) {
      x.bytes = true;
      return one(x);
    }
    if (!x.is(Kind::kList)) return Values{};
    Value out = string_value("", true);
    for (const Value& i : x.items) {
      if (!i.is(Kind::kInt)) return Values{};
      out.text += static_cast<char>(i.number);
    }
    return one(out);
  }
  if (name == "int") {
    NodeId base_node = a.get(1, "base");
    if (base_node == kNoNode) return x.is(Kind::kInt) ? one(x) : apply(name_value("builtins.int"), x, depth);
    Value base = first(base_node, depth);
    if (!x.known_string() || !base.is(Kind::kInt)) return Values{};
    auto number = parse_integer(base.number == 16 && !x.text.starts_with("0x")  ? "0x" + x.text
                                : base.number == 2 && !x.text.starts_with("0b") ? "0b" + x.text
                                : base.number == 8 && !x.text.starts_with("0o") ? "0o" + x.text
                                                                                : x.text);
    return number ? one(int_value(*number)) : Values{};
  }
  if (name == "list" || name == "tuple" || name == "set" || name == "iter" || name == "sorted" || name == "reversed") {
    auto items = elements(x);
    if (!items || name == "sorted") return Values{};
    if (name == "reversed") std::reverse(items->begin(), items->end());
    return one(list_value(std::move(*items)));
  }
  if (name == "next" || name == "max" || name == "min") {
    if (!x.is(Kind::kList)) return Values{};
    Values out;
    for (const Value& i : x.items) add_values(out, one(i));
    return out;
  }
  if (name == "len" && x.known_string()) return one(int_value(static_cast<std::int64_t>(x.text.size())));
  if (name == "map" && a.positional.size() == 2) {
    auto items = elements(first(a.at(1), depth));
    if (!items) return Values{};
    std::vector<Value> out;
    for (const Value& i : *items) {
      Values v = apply(x, i, depth);
      out.push_back(v.size() == 1 ? v[0] : unknown_value());
    }
    return one(list_value(std::move(out)));
  }
  if (name == "bytes.fromhex" || name == "bytearray.fromhex") {
    auto out = x.known_string() ? decode_hex(x.text) : std::nullopt;
    return out ? one(string_value(*out, true)) : Values{};
  }
  if (name == "str.join") {
    auto out = join_strings(x, first(a.at(1), depth));
    return out ? one(string_value(*out)) : Values{};
  }
  if (name == "bytes.decode" || name == "str.encode") {
    if (!x.is(Kind::kString)) return Values{};
    x.bytes = name == "str.encode";
    return one(x);
  }
  if (name.starts_with("str.") && a.positional.size() == 1) return fold_method(name.substr(4), x, {}, depth);
  return std::nullopt;
}

std::optional<std::string> Evaluator::join_strings(const Value& separator, const Value& list) const {
  auto items = elements(list);
  if (!separator.known_string() || !items) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < items->size(); ++i) {
    if (!(*items)[i].known_string() || out.size() > kMaxConstant) return std::nullopt;
    if (i > 0) out += separator.text;
    out += (*items)[i].text;
  }
  return out;
}

std::optional<Value> Evaluator::percent(const Value& format, const Value& right) const {
  std::vector<Value> items = right.is(Kind::kList) ? right.items : std::vector<Value>{right};
  Value out = string_value("", format.bytes);
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.text.size(); ++i) {
    if (format.text[i] != '%' || i + 1 == format.text.size()) {
      out.text += format.text[i];
      continue;
    }
    char c = format.text[++i];
    if (c == '%') {
      out.text += '%';
      continue;
    }
    bool plain = next < items.size() && (c == 's' || c == 'd' || c == 'c' || c == 'i');
    const Value v = plain ? items[next++] : Value{};
    if (c == 's' && v.is(Kind::kString)) {
      out.text += v.text;
      out.partial = v.partial;
    } else if (c == 'c' && v.is(Kind::kInt)) {
      append_utf8(out.text, static_cast<std::uint32_t>(v.number));
    } else if (c == 'c' && v.known_string()) {
      out.text += v.text;
    } else if (plain && v.is(Kind::kInt)) {
      out.text += std::to_string(v.number);
    } else {
      out.partial = true;
    }
    if (out.partial) return out;
  }
  return out;
}

std::optional<Value> Evaluator::format_string(const Value& format, const Arguments& a, int depth) {
  Value out = string_value("", format.bytes);
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.text.size(); ++i) {
    char c = format.text[i];
    bool doubled = i + 1 < format.text.size() && format.text[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      out.text += c;
      ++i;
      continue;
    }
    if (c != '{') {
      out.text += c;
      continue;
    }
    std::size_t close = format.text.find('}', i);
    out.partial = true;
    if (close == std::string::npos) return out;
    std::string field = format.text.substr(i + 1, close - i - 1);
    NodeId node = kNoNode;
    if (field.empty())
      node = a.at(next++);
    else if (auto number =
                 field.find_first_not_of("0123456789") == std::string::npos ? parse_integer(field) : std::nullopt)
      node = a.at(static_cast<std::size_t>(*number));
    else
      node = a.keyword(field);
    Value v = first(node, depth);
    if (v.is(Kind::kInt))
      out.text += std::to_string(v.number);
    else if (v.is(Kind::kString))
      out.text += v.text;
    else
      return out;
    out.partial = v.partial;
    if (out.partial) return out;
    i = close;
  }
  return out;
}

std::optional<Values> Evaluator::fold_method(std::string_view name, const Value& self, const Arguments& a, int depth) {
  if (self.is(Kind::kEnv)) return one(self);  // still what the environment said, whatever is done to it
  if (self.is(Kind::kDict) || self.is(Kind::kDictOf)) {
    if (name == "get" || name == "pop" || name == "setdefault" || name == "__getitem__") {
      Values out, keys = eval(a.at(0), depth);
      for (const Value& k : keys) add_values(out, subscript(self, k, depth));
      return out;
    }
    if (name == "copy" || name == "__or__" || name == "__ror__") return one(self);
    if (name == "values" && self.is(Kind::kDict)) {
      std::vector<Value> items;
      for (std::size_t i = 1; i < self.items.size(); i += 2) items.push_back(self.items[i]);
      return one(list_value(std::move(items)));
    }
    return Values{};
  }
  if (self.is(Kind::kList)) {
    if (name == "pop" || name == "__getitem__") {
      Value index = a.positional.empty() ? int_value(-1) : first(a.at(0), depth);
      return subscript(self, index, depth);
    }
    return Values{};
  }
  if (!self.is(Kind::kString)) return Values{};
  Value out = self;
  if (name == "encode" || name == "decode") {
    if (self.partial) return one(out);
    auto codec = a.get(0, "encoding") == kNoNode ? std::optional<std::string>("utf-8") : std::nullopt;
    if (Value c = first(a.get(0, "encoding"), depth); c.known_string()) codec = c.text;
    if (!codec) return Values{};
    auto text = decode_codec(self.text, *codec, name == "decode");
    if (!text) return Values{};
    return one(string_value(*text, name == "encode"));
  }
  if (name == "join") {
    auto text = join_strings(self, first(a.at(0), depth));
    return text ? one(string_value(*text, self.bytes)) : Values{};
  }
  if (name == "format" || name == "format_map") {
    if (a.splat || name == "format_map" || self.partial) return Values{};
    auto v = format_string(self, a, depth);
    return v ? one(*v) : Values{};
  }
  if (name == "lower" || name == "casefold" || name == "upper" || name == "swapcase") {
    for (char& c : out.text) {
      bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
      if (upper && name != "upper")
        c = static_cast<char>(c | 0x20);
      else if (lower && (name == "upper" || name == "swapcase"))
        c = static_cast<char>(c & ~0x20);
    }
    return one(out);
  }
  if (self.partial) return name.starts_with("strip") || name.starts_with("rstrip") ? one(out) : Values{};
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    Value chars = a.positional.empty() ? string_value(" \t\n\r\f\v") : first(a.at(0), depth);
    if (!chars.known_string()) return Values{};
    std::size_t from = name == "rstrip" ? 0 : out.text.find_first_not_of(chars.text);
    if (from == std::string::npos) return one(string_value("", self.bytes));
    std::size_t to = name == "lstrip" ? std::string::npos : out.text.find_last_not_of(chars.text);
    out.text = to == std::string::npos && name != "lstrip"
                   ? ""
                   : out.text.substr(from, to == std::string::npos ? to : to - from + 1);
    return one(out);
  }
  if (name == "replace") {
    Value from = first(a.at(0), depth), to = first(a.at(1), depth);
    if (!from.known_string() || !to.known_string() || from.text.empty()) return Values{};
    std::string text;
    std::size_t at = 0, hit = 0;
    while ((hit = out.text.find(from.text, at)) != std::string::npos && text.size() < kMaxConstant) {
      text.append(out.text, at, hit - at);
      text += to.text;
      at = hit + from.text.size();
    }
    if (text.size() >= kMaxConstant) return Values{};
    text.append(out.text, at);
    out.text = std::move(text);
    return one(out);
  }
  if (name == "split") {
    Value by = a.positional.empty() ? string_value(" ") : first(a.at(0), depth);
    if (!by.known_string() || by.text.empty() || out.text.size() > kMostItems) return Values{};
    std::vector<Value> items;
    std::size_t at = 0, hit = 0;
    while ((hit = out.text.find(by.text, at)) != std::string::npos) {
      items.push_back(string_value(out.text.substr(at, hit - at), self.bytes));
      at = hit + by.text.size();
    }
    items.push_back(string_value(out.text.substr(at), self.bytes));
    return one(list_value(std::move(items)));
  }
  if (name == "hex" && self.bytes) return one(string_value(encode_hex(self.text)));
  return Values{};
}

std::optional<Values> Evaluator::fold_decoder(std::string_view name, const Arguments& a, int depth) {
  auto result = [](std::optional<std::string> text, bool bytes) {
    return text ? one(string_value(std::move(*text), bytes)) : Values{};
  };
  bool base64 = name == "base64.b64decode" || name == "base64.standard_b64decode" ||
                name == "base64.urlsafe_b64decode" || name == "binascii.a2b_base64" || name == "base64.decodebytes";
  bool hex = name == "binascii.unhexlify" || name == "binascii.a2b_hex" || name == "base64.b16decode";
  bool known = base64 || hex || name == "base64.b32decode" || name == "codecs.decode" || name == "codecs.encode" ||
               name == "operator.add" || name == "operator.concat" || name == "operator.getitem";
  if (!known) return std::nullopt;
  Value x = first(a.at(0), depth);
  if (name == "operator.getitem") return subscript(x, first(a.at(1), depth), depth);
  if (!x.known_string()) return Values{};
  if (base64) return result(decode_base64(x.text), true);
  if (hex) return result(decode_hex(x.text), true);
  if (name == "base64.b32decode") return result(decode_base32(x.text), true);
  Value y = first(a.get(1, "encoding"), depth);
  if (!y.known_string()) return Values{};
  if (name.starts_with("operator.")) return result(x.text + y.text, x.bytes);
  return result(decode_codec(x.text, y.text, name == "codecs.decode"), x.bytes && name == "codecs.encode");
}

}  // namespace hotcell::python
