// Constant folding: what methods and functions make of texts and lists.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "languages/fact_list.h"
#include "languages/javascript/facts_model.h"
#include "languages/one_of.h"

namespace hotcell::javascript {
namespace {

std::vector<std::string> characters(std::string_view s) {
  std::vector<std::string> out;
  while (!s.empty()) {
    std::size_t n = std::max<std::size_t>(1, utf8_length(s));
    out.emplace_back(s.substr(0, n));
    s.remove_prefix(n);
  }
  return out;
}

}  // namespace

ValueId Model::evaluate_array(NodeId n) {
  Value v;
  v.kind = Value::kArray;
  for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
    if (!tree_[c].named || tree_.is(c, "comment")) continue;
    if (v.items.size() >= 1024) return kUnknownValue;
    if (kind(c) == K::kSpread) {
      auto inner = tree_.named_children(c);
      const Value& from = value(inner.empty() ? kUnknownValue : evaluate(inner[0]));
      if (from.kind == Value::kText)
        for (auto& letter : characters(from.text)) v.items.push_back(text(letter));
      else if (from.kind == Value::kArray) v.items.insert(v.items.end(), from.items.begin(), from.items.end());
      else v.items.push_back(kUnknownValue);
    } else {
      v.items.push_back(evaluate(c));
    }
  }
  return make(std::move(v));
}

ValueId Model::fold_method(const Call& call) {
  switch (value(call.self).kind) {
    case Value::kText:
    case Value::kBytes:
    case Value::kNumber:
      return fold_text_method(call);
    case Value::kArray:
      return fold_array_method(call);
    default:
      return kUnknownValue;
  }
}

ValueId Model::fold_text_method(const Call& call) {
  const Value self = value(call.self);
  const std::string& m = call.method;
  std::string s;
  as_text(call.self, s);
  std::string a, b;
  bool has_a = !call.arguments.empty() && as_text(call.arguments[0], a);
  bool has_b = call.arguments.size() > 1 && as_text(call.arguments[1], b);
  auto index = [&](std::size_t i, long otherwise) {
    const Value& v = value(i < call.arguments.size() ? call.arguments[i] : kUnknownValue);
    return v.kind == Value::kNumber && std::abs(v.number) < 1e6 ? static_cast<long>(v.number) : otherwise;
  };
  auto size = static_cast<long>(s.size());
  if (self.kind == Value::kBytes && m == "toString") {
    if (a == "base64" || a == "hex") return kUnknownValue;
    return text(s);
  }
  if (m == "toString" && self.kind == Value::kNumber) return has_a && a != "10" ? kUnknownValue : text(s);
  if (one_of(m, {"toString", "valueOf", "trim", "trimStart", "trimEnd", "normalize", "toWellFormed"}))
    return text(m.starts_with("trim") ? std::string(trim(s)) : s);
  if (m == "concat") {
    std::vector<ValueId> parts = {call.self};
    parts.insert(parts.end(), call.arguments.begin(), call.arguments.end());
    return add_texts(parts);
  }
  if (m == "toLowerCase" || m == "toUpperCase") {
    for (char& c : s) c = static_cast<char>(m == "toLowerCase" ? std::tolower(c) : std::toupper(c));
    return text(s);
  }
  if (m == "split" && has_a) {
    Value v;
    v.kind = Value::kArray;
    if (s.size() > kMaxItems) return kUnknownValue;
    if (a.empty()) {
      for (auto& letter : characters(s)) v.items.push_back(text(letter));
    } else {
      for (std::size_t at = 0, end; at <= s.size(); at = end + a.size()) {
        end = std::min(s.find(a, at), s.size());
        v.items.push_back(text(s.substr(at, end - at)));
      }
    }
    return make(std::move(v));
  }
  if ((m == "replace" || m == "replaceAll") && has_a && has_b && !a.empty()) {
    std::size_t at = 0;
    while ((at = s.find(a, at)) != s.npos && s.size() < kMaxText) {
      s.replace(at, a.size(), b);
      at += b.size();
      if (m == "replace") break;
    }
    return text(s);
  }
  if (m == "replace" && has_b && !call.nodes.empty() && kind(call.nodes[0]) == K::kRegex) {
    // /x/g and /[xyz]/g with plain letters: the usual way to take padding out of a name.
    std::string_view re = tree_.text(call.nodes[0]);
    std::size_t end = re.rfind('/');
    if (end == re.npos || end < 2) return kUnknownValue;
    std::string_view body = re.substr(1, end - 1), flags = re.substr(end + 1);
    bool set = body.starts_with('[') && body.ends_with(']') && body.size() > 2;
    if (set) body = body.substr(1, body.size() - 2);
    if (body.find_first_of("\\^$.*+?()[]{}|-") != body.npos || flags != "g") return kUnknownValue;
    std::string out;
    for (std::size_t i = 0; i < s.size() && out.size() < kMaxText;) {
      bool hit = set ? body.find(s[i]) != body.npos : std::string_view(s).substr(i).starts_with(body);
      out += hit ? b : std::string(1, s[i]);
      i += hit && !set ? body.size() : 1;
    }
    return text(out);
  }
  if (one_of(m, {"slice", "substring", "substr"})) {
    long from = index(0, 0), to = index(1, m == "substr" ? size : size);
    if (from < 0) from = m == "substring" ? 0 : std::max(0L, size + from);
    if (m == "substr") to = from + to;
    if (to < 0) to = m == "substring" ? 0 : size + to;
    from = std::min(from, size), to = std::min(to, size);
    if (m == "substring" && from > to) std::swap(from, to);
    return text(from < to ? s.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)) : "");
  }
  if (m == "charAt" || m == "at") {
    long at = index(0, 0);
    if (at < 0 && m == "at") at += size;
    return at >= 0 && at < size ? text(s.substr(static_cast<std::size_t>(at), 1)) : kUnknownValue;
  }
  if (m == "repeat") {
    long count = index(0, -1);
    if (count < 0 || static_cast<std::size_t>(count) * s.size() > kMaxText) return kUnknownValue;
    std::string out;
    for (long i = 0; i < count; ++i) out += s;
    return text(out);
  }
  if (m == "charCodeAt" || m == "codePointAt") {
    long at = index(0, 0);
    Value v;
    v.kind = Value::kNumber;
    if (at < 0 || at >= size) return kUnknownValue;
    v.number = static_cast<unsigned char>(s[static_cast<std::size_t>(at)]);
    return make(std::move(v));
  }
  return kUnknownValue;
}

ValueId Model::fold_array_method(const Call& call) {
  Value self = value(call.self);
  const std::string& m = call.method;
  if (m == "join" || m == "toString") {
    std::string separator = ",";
    if (!call.arguments.empty() && !as_text(call.arguments[0], separator)) return kUnknownValue;
    ValueId between = text(separator);
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < self.items.size(); ++i) {
      if (i > 0) parts.push_back(between);
      parts.push_back(self.items[i]);
    }
    return add_texts(parts);
  }
  if (m == "reverse" || m == "toReversed") {
    std::reverse(self.items.begin(), self.items.end());
    return make(std::move(self));
  }
  if (m == "concat") {
    for (ValueId a : call.arguments) {
      const Value& more = value(a);
      if (more.kind == Value::kArray) self.items.insert(self.items.end(), more.items.begin(), more.items.end());
      else self.items.push_back(a);
    }
    return self.items.size() > kMaxItems ? kUnknownValue : make(std::move(self));
  }
  if (m == "map" && !call.arguments.empty()) {
    // map(String.fromCharCode) and map(c => String.fromCharCode(c)).
    const Value& f = value(call.arguments[0]);
    bool letters = f.kind == Value::kPath && one_of(f.text, {"String.fromCharCode", "String.fromCodePoint"});
    if (f.kind == Value::kFunction && kind(f.node) == K::kArrow) {
      NodeId body = inside(tree_.child_by_field(f.node, "body"));
      auto given = kind(body) == K::kCall ? arguments_of(body) : std::vector<NodeId>();
      NodeId callee = kind(body) == K::kCall ? callee_of(body) : kNoNode;
      letters = callee != kNoNode && given.size() == 1 && kind(given[0]) == K::kIdentifier &&
                one_of(value_of(callee).text, {"String.fromCharCode", "String.fromCodePoint"});
    }
    if (!letters) return kUnknownValue;
    for (ValueId& item : self.items) {
      const Value& code = value(item);
      if (code.kind != Value::kNumber || code.number < 0 || code.number > 0x10ffff) return kUnknownValue;
      std::string letter;
      append_utf8(letter, static_cast<std::uint32_t>(code.number));
      item = text(letter);
    }
    return make(std::move(self));
  }
  if (one_of(m, {"at", "pop", "shift"}) && !self.items.empty()) {
    if (m == "at" && (call.arguments.empty() || value(call.arguments[0]).number != 0)) return kUnknownValue;
    return m == "pop" ? self.items.back() : self.items.front();
  }
  return kUnknownValue;
}

ValueId Model::fold_function(const Call& call) {
  const std::string& p = call.path;
  std::string a, b;
  bool has_a = !call.arguments.empty() && as_text(call.arguments[0], a);
  bool has_b = call.arguments.size() > 1 && as_text(call.arguments[1], b);
  const Value& first = value(call.arguments.empty() ? kUnknownValue : call.arguments[0]);
  auto codes = [&](const std::vector<ValueId>& from, Value::Kind as) {
    Value v;
    v.kind = as;
    v.folded = true;
    for (ValueId c : from) {
      double d = value(c).number;
      if (value(c).kind != Value::kNumber || d < 0 || d > 0x10ffff) return kUnknownValue;
      if (as == Value::kBytes) v.text += static_cast<char>(static_cast<int>(d) & 0xff);
      else append_utf8(v.text, static_cast<std::uint32_t>(d));
    }
    return make(std::move(v));
  };
  auto bytes = [&](std::string s) {
    Value v;
    v.kind = Value::kBytes;
    v.folded = true;
    v.text = std::move(s);
    return make(std::move(v));
  };
  if (one_of(p, {"Buffer.from", "Buffer", "Uint8Array.from", "Uint8Array", "Buffer.of", "Uint8Array.of"})) {
    if (p.ends_with(".of")) return codes(call.arguments, Value::kBytes);
    if (first.kind == Value::kArray) return codes(first.items, Value::kBytes);
    if (first.kind == Value::kBytes) return call.arguments[0];
    if (!has_a || first.kind == Value::kNumber) return kUnknownValue;
    if (!has_b) return bytes(a);
    return bytes(b.starts_with("base64") ? from_base64(a) : b == "hex" ? from_hex(a) : a);
  }
  if (p == "TextDecoder().decode" || p == "String" || p == "String.raw" || p == "unescape" ||
      p == "decodeURIComponent" || p == "decodeURI" || p == "atob") {
    if (!has_a) return kUnknownValue;
    if (p == "atob") return text(from_base64(a));
    return text(p.starts_with("decodeURI") || p == "unescape" ? from_percent(a) : a);
  }
  if (p == "String.fromCharCode" || p == "String.fromCodePoint") return codes(call.arguments, Value::kText);
  if (p == "Array.from" && first.kind == Value::kText && first.text.size() <= kMaxItems) {
    Value v;
    v.kind = Value::kArray;
    for (auto& letter : characters(std::string(first.text))) v.items.push_back(text(letter));
    return make(std::move(v));
  }
  if (p == "Array.of") {
    Value v;
    v.kind = Value::kArray;
    v.items = call.arguments;
    return make(std::move(v));
  }
  if (p == "JSON.parse" && has_a && a.size() >= 2 && a.front() == '"' && a.back() == '"')
    return text(decode_string(std::string_view(a).substr(1, a.size() - 2)));
  if (p == "path.join" || p == "path.resolve" || p == "path.normalize" || p == "path.dirname") {
    std::vector<std::string> parts;
    for (ValueId v : call.arguments) {
      std::string part;
      if (!as_text(v, part)) {
        Value partial;
        partial.kind = Value::kPrefix;
        if (!parts.empty()) partial.text = join_paths(parts, p == "path.resolve") + "/";
        return make(std::move(partial));
      }
      parts.push_back(part);
    }
    if (p == "path.dirname") parts.push_back("..");
    return text(join_paths(parts, p == "path.resolve"), false);
  }
  if (p == "os.homedir") return text("~", false);
  if (p == "os.tmpdir") return text("/tmp", false);
  if (p == "process.cwd" || p == "Deno.cwd") return text(".", false);
  if (p == "url.fileURLToPath" || p == "fileURLToPath" || p == "url.pathToFileURL") {
    if (first.kind == Value::kPath && first.text == "import.meta.url") return text("./main.js", false);
    return has_a ? text(a, false) : kUnknownValue;
  }
  if (p == "URL" && has_a) {
    bool here = call.arguments.size() > 1 && value(call.arguments[1]).text == "import.meta.url";
    if (here || a.starts_with("file:") || call.arguments.size() == 1) return text(a, false);
  }
  return kUnknownValue;
}

}  // namespace hotcell::javascript
