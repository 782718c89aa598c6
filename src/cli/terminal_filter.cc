#include "cli/terminal_filter.h"

#include "base/strings.h"

namespace hotcell {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kLongestColour = 64;  // the longest real one, two 24-bit colours and attributes, is about 45

void show(std::string& out, char byte) {
  static constexpr char kHex[] = "0123456789abcdef";
  auto c = static_cast<unsigned char>(byte);
  (out += "\\x") += {kHex[c >> 4], kHex[c & 15]};
}

enum class Sequence { kColour, kOther, kCut };

// Is `s`, which starts with ESC, a whole "set graphics rendition" (CSI parameters m)? `length` is then its size.
Sequence classify(std::string_view s, std::size_t& length) {
  if (s.size() == 1) return Sequence::kCut;
  if (s[1] != '[') return Sequence::kOther;
  for (std::size_t i = 2; i < s.size() && i < kLongestColour; ++i) {
    if (s[i] == 'm') {
      length = i + 1;
      return Sequence::kColour;
    }
    bool parameter = (s[i] >= '0' && s[i] <= '9') || s[i] == ';' || s[i] == ':';
    if (!parameter) return Sequence::kOther;
  }
  return s.size() < kLongestColour ? Sequence::kCut : Sequence::kOther;
}

// Could `s`, which is not well-formed, still become one character when more bytes come?
bool cut_character(std::string_view s) {
  auto lead = static_cast<unsigned char>(s[0]);
  std::size_t length = lead >= 0xF0 && lead <= 0xF4 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (lead > 0xF4 || s.size() >= length) return false;
  for (std::size_t i = 1; i < s.size(); ++i) {
    if ((static_cast<unsigned char>(s[i]) & 0xC0) != 0x80) return false;
  }
  return true;
}

bool resets(std::string_view colour) { return colour == "\x1b[m" || colour == "\x1b[0m"; }

}  // namespace

void TerminalFilter::feed(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::move(held_);
    held_.clear();
    joined += bytes;
    bytes = joined;
  }
  while (!bytes.empty()) {
    char first = bytes[0];
    auto c = static_cast<unsigned char>(first);
    std::size_t used = 1;
    if (first == kEscape) {
      switch (classify(bytes, used)) {
        case Sequence::kCut: held_ = bytes; return;
        case Sequence::kOther: show(out, first); break;
        case Sequence::kColour:
          out += bytes.substr(0, used);
          coloured_ = !resets(bytes.substr(0, used));
          break;
      }
    } else if (first == '\n' || first == '\t' || first == '\r' || (c >= 0x20 && c < 0x7F)) {
      out += first;
    } else if (c < 0x80) {
      show(out, first);
    } else if (std::size_t n = utf8_length(bytes); n == 0) {
      if (cut_character(bytes)) {
        held_ = bytes;
        return;
      }
      show(out, first);
    } else {
      used = n;
      // U+0080 to U+009F are the C1 controls: U+009B is CSI in one character.
      if (n == 2 && c == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0) show(out, bytes[1]);
      else out += bytes.substr(0, n);
    }
    bytes.remove_prefix(used);
  }
}

void TerminalFilter::finish(std::string& out) {
  for (char c : held_) {
    if (c >= 0x20 && c < 0x7F) out += c;
    else show(out, c);
  }
  held_.clear();
  if (coloured_) out += "\x1b[0m";
  coloured_ = false;
}

}  // namespace hotcell
