#include "base/json_write.h"

#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace hotcell {

namespace {
constexpr char kHex[] = "0123456789abcdef";

void append_escape(std::string& out, unsigned code) {
  (out += "\\u00") += {kHex[(code >> 4) & 15], kHex[code & 15]};
}

// Bytes that can be copied as they are: printable ASCII without the quote and the backslash.
bool plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void append_control(std::string& out, char c) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\r': out += "\\r"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    default: append_escape(out, static_cast<unsigned char>(c));
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && plain(text[run])) ++run;
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    auto c = static_cast<unsigned char>(text[0]);
    std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      length = 1;
    } else if (c == '"' || c == '\\') {
      (out += '\\') += text[0];
    } else if (c < 0x20 || c == 0x7F) {
      append_control(out, text[0]);
    } else if (c == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) {
      append_escape(out, static_cast<unsigned char>(text[1]));
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string base64(std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    std::size_t have = bytes.size() - i;
    out += kAlphabet[group >> 18];
    out += kAlphabet[(group >> 12) & 63];
    out += have > 1 ? kAlphabet[(group >> 6) & 63] : '=';
    out += have > 2 ? kAlphabet[group & 63] : '=';
  }
  return out;
}

void JsonWriter::line() {
  if (style_ == JsonStyle::kOneLine) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
}

void JsonWriter::before() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  first_ = false;
  line();
}

void JsonWriter::open(char c) {
  before();
  out_ += c;
  ++depth_;
  first_ = true;
}

void JsonWriter::close(char c) {
  --depth_;
  if (!first_) line();
  out_ += c;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  before();
  append_json_string(out_, name);
  out_ += style_ == JsonStyle::kPretty ? ": " : ":";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before();
  append_json_string(out_, text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before();
  char buf[32];
  out_.append(buf, std::to_chars(buf, buf + sizeof buf, number).ptr);
}

void JsonWriter::null() {
  before();
  out_ += "null";
}

}  // namespace hotcell
