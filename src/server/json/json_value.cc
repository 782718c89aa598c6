#include "server/json/json_value.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json_write.h"
#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell::server {

namespace json = boost::json;

namespace {

using Code = json::error_code;

// Boost's own DOM keeps the last of two equal keys, silently: what a filter in front of us has read would not be what
// runs. So the tree is made here.
class Builder {
 public:
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = 4096;

  explicit Builder(std::size_t values) : left_(values) {}

  JsonValue result;
  std::string failure;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code& ec) { return open(JsonValue::Array{}, ec); }
  bool on_object_begin(Code& ec) { return open(JsonValue::Object{}, ec); }
  bool on_array_end(std::size_t, Code&) { return close(); }
  bool on_object_end(std::size_t, Code& ec) {
    const auto& members = std::get<JsonValue::Object>(open_.back()->v);
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const auto& m : members) names.push_back(m.name);
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return fail(cat("the key ", quoted(*twice), " is there twice"), ec);
    return close();
  }
  bool on_string_part(json::string_view s, std::size_t, Code&) { return append(text_, s); }
  bool on_string(json::string_view s, std::size_t, Code& ec) {
    append(text_, s);
    return add(std::exchange(text_, {}), ec);
  }
  bool on_key_part(json::string_view s, std::size_t, Code&) { return append(key_, s); }
  bool on_key(json::string_view s, std::size_t, Code&) { return append(key_, s); }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(std::int64_t i, json::string_view, Code& ec) { return add(i, ec); }
  bool on_uint64(std::uint64_t u, json::string_view, Code& ec) {
    if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return add(u, ec);
    return add(static_cast<std::int64_t>(u), ec);
  }
  bool on_double(double d, json::string_view, Code& ec) {
    if (!std::isfinite(d)) return fail("a number is too large", ec);
    return add(d, ec);
  }
  bool on_bool(bool b, Code& ec) { return add(b, ec); }
  bool on_null(Code& ec) { return add(std::monostate{}, ec); }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

 private:
  static bool append(std::string& to, json::string_view s) {
    to.append(s.data(), s.size());
    return true;
  }
  bool fail(std::string why, Code& ec) {
    failure = std::move(why);
    ec = json::make_error_code(json::error::syntax);
    return false;
  }
  JsonValue* place(Code& ec) {
    if (left_-- == 0) {
      left_ = 0;
      fail("there are too many values", ec);
      return nullptr;
    }
    if (open_.empty()) return &result;
    if (auto* items = std::get_if<JsonValue::Array>(&open_.back()->v)) return &items->emplace_back();
    auto& members = std::get<JsonValue::Object>(open_.back()->v);
    members.push_back({std::exchange(key_, {}), {}});
    return &members.back().value;
  }
  template <typename T>
  bool add(T value, Code& ec) {
    JsonValue* at = place(ec);
    if (at == nullptr) return false;
    at->v = std::move(value);
    return true;
  }
  template <typename T>
  bool open(T container, Code& ec) {
    JsonValue* at = place(ec);
    if (at == nullptr) return false;
    at->v = std::move(container);
    open_.push_back(at);   // stays where it is: its parent does not grow before it is closed
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t left_;
  std::vector<JsonValue*> open_;
  std::string text_, key_;
};

std::string place_of(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  std::size_t line = 1, start = 0;
  for (std::size_t i = 0; i < at; ++i) {
    if (text[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  return cat("line ", line, ", column ", at - start + 1);
}

std::string words_for(Code code) {
  if (code == json::error::too_deep) return "it is nested too deeply";
  if (code == json::error::incomplete) return "it ends too early";
  if (code == json::error::extra_data) return "something follows the value";
  if (code == json::error::not_number || code == json::error::exponent_overflow) return "a number is not a number";
  if (code == json::error::key_too_large) return "a key is too long";
  return code.message();
}

// The parser calls all of these the same.
std::string what_is_wrong(std::string_view text, std::size_t at) {
  if (text.starts_with("\xef\xbb\xbf")) return "it begins with a byte order mark";
  if (at >= text.size()) return "it ends too early";
  const auto c = static_cast<unsigned char>(text[at]);
  if (c < 0x20) return "a control character in a string must be written as an escape";
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return cat(quoted(text.substr(at, end - at)), " is not expected here");
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  for (const auto& m : *members) {
    if (m.name == name) return &m.value;
  }
  return nullptr;
}

// Not in the header: inlined, g++ 12 sees null pointers in them.
const bool* JsonValue::boolean() const { return std::get_if<bool>(&v); }
const std::string* JsonValue::string() const { return std::get_if<std::string>(&v); }
const JsonValue::Array* JsonValue::array() const { return std::get_if<Array>(&v); }
const JsonValue::Object* JsonValue::object() const { return std::get_if<Object>(&v); }
bool JsonValue::is_integer() const {
  return std::holds_alternative<std::int64_t>(v) || std::holds_alternative<std::uint64_t>(v);
}

std::optional<std::int64_t> JsonValue::integer() const {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
  return std::nullopt;  // what only fits without a sign is larger than anything that is asked for
}

std::optional<double> JsonValue::number() const {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&v)) return static_cast<double>(*u);
  if (const auto* d = std::get_if<double>(&v)) return *d;
  return std::nullopt;
}

std::string_view JsonValue::text(std::string_view name) const {
  const JsonValue* member = find(name);
  const std::string* s = member == nullptr ? nullptr : member->string();
  return s == nullptr ? std::string_view() : *s;
}

std::int64_t JsonValue::integer_or(std::string_view name, std::int64_t other) const {
  const JsonValue* member = find(name);
  return member == nullptr ? other : member->integer().value_or(other);
}

bool JsonValue::boolean_or(std::string_view name, bool other) const {
  const JsonValue* member = find(name);
  const bool* b = member == nullptr ? nullptr : member->boolean();
  return b == nullptr ? other : *b;
}

const JsonValue::Array& JsonValue::items(std::string_view name) const {
  static const Array kNone;
  const JsonValue* member = find(name);
  return member == nullptr || member->array() == nullptr ? kNone : *member->array();
}

const JsonValue::Object& JsonValue::members(std::string_view name) const {
  static const Object kNone;
  const JsonValue* member = find(name);
  return member == nullptr || member->object() == nullptr ? kNone : *member->object();
}

std::string_view JsonValue::kind() const {
  constexpr std::string_view kKinds[] = {"null",     "true or false", "a number", "a number",
                                         "a number", "a string",      "a list",   "an object"};
  return kKinds[v.index()];
}

Result<JsonValue> parse_json(std::string_view text, JsonBounds bounds) {
  // Here, not by the parser, whose error would be one word for all of it.
  if (!is_valid_utf8(text)) return make_error(ErrorCode::kInvalid, "it is not valid UTF-8");
  json::parse_options options;
  options.max_depth = bounds.depth;
  json::basic_parser<Builder> parser(options, bounds.values);
  Code code;
  std::size_t read = parser.write_some(false, text.data(), text.size(), code);
  if (!code && read < text.size()) code = json::error::extra_data;
  if (code) {
    const std::string& failure = parser.handler().failure;
    const std::string why = !failure.empty() ? failure : code == json::error::syntax ? what_is_wrong(text, read) : words_for(code);
    return make_error(ErrorCode::kInvalid, cat(place_of(text, read), ": ", why));
  }
  return std::move(parser.handler().result);
}

void append_json(std::string& out, const JsonValue& value) {
  struct Write {
    std::string& out;
    void operator()(std::monostate) { out += "null"; }
    void operator()(bool b) { out += b ? "true" : "false"; }
    void operator()(std::int64_t i) { append_piece(out, i); }
    void operator()(std::uint64_t u) { append_piece(out, u); }
    void operator()(double d) {
      char buf[40];
      out.append(buf, std::to_chars(buf, buf + sizeof buf, d).ptr);
    }
    void operator()(const std::string& s) { append_json_string(out, s); }
    void operator()(const JsonValue::Array& a) {
      out += '[';
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (i > 0) out += ',';
        append_json(out, a[i]);
      }
      out += ']';
    }
    void operator()(const JsonValue::Object& o) {
      out += '{';
      for (std::size_t i = 0; i < o.size(); ++i) {
        if (i > 0) out += ',';
        append_json_string(out, o[i].name);
        out += ':';
        append_json(out, o[i].value);
      }
      out += '}';
    }
  };
  std::visit(Write{out}, value.v);
}

std::string json_text(const JsonValue& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace hotcell::server
