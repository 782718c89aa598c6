#include "net/host.h"

#include <algorithm>

#include "base/strings.h"
#include "net/punycode.h"

namespace hotcell::net {
namespace {

constexpr std::size_t kLongestName = 253, kLongestLabel = 63;

Error bad(std::string_view text, std::string_view why) {
  return make_error(ErrorCode::kInvalid, cat("not a host: ", printable(text.substr(0, 100)), ": ", why));
}

char32_t code_point(std::string_view s, std::size_t length) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  if (length == 1) return byte(0);
  char32_t c = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3f);
  return c;
}

// What stands for an ASCII character, and capital letters of the scripts that have them in simple rows. Anything else
// stays itself: the worst that can come of it is a name that nobody registered.
char32_t mapped(char32_t c) {
  if (c == 0x3002 || c == 0xff0e || c == 0xff61) return '.';
  if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0;
  if (c >= 'A' && c <= 'Z') return c + 32;
  if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f)) return c + 32;
  if (c >= 0x400 && c <= 0x40f) return c + 80;
  if (c >= 0x100 && c <= 0x137 && c % 2 == 0 && c != 0x130) return c + 1;
  if (c >= 0x14a && c <= 0x177 && c % 2 == 0) return c + 1;
  return c;
}

// Marks, spaces and controls that are seen by nobody: a name with one looks like another.
bool invisible(char32_t c) {
  return (c >= 0x80 && c <= 0xa0) || c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f || c == 0x1160 || c == 0x1680 ||
         c == 0x17b4 || c == 0x17b5 || (c >= 0x180b && c <= 0x180f) || (c >= 0x2000 && c <= 0x200f) ||
         (c >= 0x2024 && c <= 0x206f) || c == 0x3000 || c == 0x3164 || (c >= 0xd800 && c <= 0xf8ff) ||
         (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 || (c >= 0xfff0 && c <= 0xffff) || c >= 0xe0000;
}

Result<std::u32string> decode(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return bad(text, "it is not valid UTF-8");
    char32_t c = code_point(text.substr(i), length);
    if (c < 0x21 || c == 0x7f) return bad(text, "it has a space or a control character in it");
    if (invisible(c)) return bad(text, "it has an invisible character in it");
    out += mapped(c);
    i += length;
  }
  return out;
}

bool is_name_character(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

Result<std::string> ascii_label(std::string_view whole, std::u32string_view label) {
  if (label.empty()) return bad(whole, "it has an empty label");
  bool plain = true;
  for (char32_t c : label) {
    if (c >= 0x80) plain = false;
    else if (!is_name_character(c)) return bad(whole, cat("a name has no ", printable(std::string(1, static_cast<char>(c)))));
  }
  std::string out;
  if (plain) {
    for (char32_t c : label) out += static_cast<char>(c);
    if (out.starts_with("xn--")) {
      auto decoded = punycode_decode(std::string_view(out).substr(4));
      bool real = decoded && std::any_of(decoded->begin(), decoded->end(), [](char32_t c) { return c >= 0x80; }) &&
                  std::none_of(decoded->begin(), decoded->end(), invisible);
      if (!real) return bad(whole, "it is not a valid internationalised name");
    }
  } else {
    if (label.substr(0, 4) == U"xn--") return bad(whole, "it is not a valid internationalised name");
    auto encoded = punycode_encode(label);
    if (!encoded) return bad(whole, "a label is too long");
    out = cat("xn--", *encoded);
  }
  if (out.size() > kLongestLabel) return bad(whole, "a label is longer than 63 characters");
  return out;
}

}  // namespace

Result<Host> parse_host(std::string_view text) {
  if (text.empty()) return bad(text, "it is empty");
  if (text.size() > 1024) return bad(text, "it is too long");
  std::string_view inner = text;
  bool brackets = inner.front() == '[';
  if (brackets) {
    if (inner.back() != ']') return bad(text, "the bracket is not closed");
    inner = inner.substr(1, inner.size() - 2);
  }
  if (brackets || inner.find(':') != std::string_view::npos) {
    if (inner.find('%') != std::string_view::npos) return bad(text, "an address with a zone is of this machine alone");
    auto address = parse_v6(inner);
    if (!address) return bad(text, "it is not an IPv6 address");
    return Host{address->text(), address};
  }
  if (text.find('@') != std::string_view::npos) return bad(text, "a user name does not belong there");
  if (text.find('%') != std::string_view::npos) return bad(text, "a percent sign does not belong there");
  TRY_SET(std::u32string wide, decode(text));
  if (!wide.empty() && wide.back() == '.') wide.pop_back();
  if (wide.empty()) return bad(text, "it is empty");
  std::string name;
  for (std::size_t from = 0; from <= wide.size();) {
    auto dot = std::min(wide.find('.', from), wide.size());
    TRY_SET(std::string label, ascii_label(text, std::u32string_view(wide).substr(from, dot - from)));
    if (!name.empty()) name += '.';
    name += label;
    from = dot + 1;
  }
  if (name.size() > kLongestName) return bad(text, "it is longer than 253 characters");
  if (ends_in_number(name)) {
    auto address = parse_v4(name);
    if (!address) return bad(text, "it ends in a number and is not an address");
    return Host{address->text(), address};
  }
  return Host{std::move(name), std::nullopt};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  auto value = parse_u64(text);
  if (!value || *value == 0 || *value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

Result<Target> parse_authority(std::string_view text, std::uint16_t default_port) {
  std::string_view host = text, port;
  bool has_port = false;
  if (!text.empty() && text.front() == '[') {
    auto close = text.find(']');
    if (close == std::string_view::npos) return bad(text, "the bracket is not closed");
    host = text.substr(0, close + 1);
    std::string_view rest = text.substr(close + 1);
    has_port = !rest.empty();
    if (has_port && rest.front() != ':') return bad(text, "something follows the bracket");
    if (has_port) port = rest.substr(1);
  } else if (auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  Target target;
  if (has_port) {
    auto number = parse_port(port);
    if (!number) return bad(text, "the port is not a number from 1 to 65535");
    target.port = *number;
  } else if (default_port == 0) {
    return bad(text, "it has no port");
  } else {
    target.port = default_port;
  }
  TRY_SET(target.host, parse_host(host));
  return target;
}

}  // namespace hotcell::net
