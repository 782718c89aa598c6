#include "inspect/decode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "inspect/sweep.h"

namespace hotcell::inspect {

namespace {

constexpr std::int8_t kNo = -1;

constexpr std::array<std::int8_t, 256> make_base64() {
  std::array<std::int8_t, 256> t{};
  t.fill(kNo);
  for (int i = 0; i < 26; ++i) t[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(i), t[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(26 + i);
  for (int i = 0; i < 10; ++i) t[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(52 + i);
  t['+'] = t['-'] = 62;
  t['/'] = t['_'] = 63;
  return t;
}
constexpr auto kBase64 = make_base64();

int hex_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
bool is_run(char c) { return kBase64[static_cast<unsigned char>(c)] >= 0; }

// Text, not what random bytes happen to be.
bool looks_like_text(std::string_view s) {
  if (s.size() < 8) return false;
  std::size_t good = 0;
  for (char c : s) {
    auto b = static_cast<unsigned char>(c);
    good += (b >= 0x20 && b != 0x7F) || b == '\n' || b == '\t' || b == '\r';
  }
  std::size_t ascii = static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return c >= 0x20 && c < 0x7F; }));
  return good * 20 >= s.size() * 19 && ascii * 4 >= s.size() * 3;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) out += static_cast<char>(c);
  else if (c < 0x800) (out += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 63));
  else if (c < 0x10000) ((out += static_cast<char>(0xE0 | c >> 12)) += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
  else if (c < 0x110000)
    (((out += static_cast<char>(0xF0 | c >> 18)) += static_cast<char>(0x80 | (c >> 12 & 63))) += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view s) {
  while (!s.empty() && s.back() == '=') s.remove_suffix(1);
  std::string out;
  out.reserve(s.size() * 3 / 4);
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : s) {
    int v = kBase64[static_cast<unsigned char>(c)];
    if (v < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    if ((have += 6) >= 8) out += static_cast<char>(bits >> (have -= 8) & 0xFF);
  }
  return out;
}

std::optional<std::string> decode_base32(std::string_view s) {
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : s) {
    int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' : c >= '2' && c <= '7' ? c - '2' + 26 : -1;
    if (v < 0) return std::nullopt;
    bits = bits << 5 | static_cast<std::uint32_t>(v);
    if ((have += 5) >= 8) out += static_cast<char>(bits >> (have -= 8) & 0xFF);
  }
  return out;
}

std::optional<std::string> decode_hex(std::string_view s) {
  if (s.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < s.size(); i += 2) {
    int high = hex_of(s[i]), low = hex_of(s[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

namespace {

// Text of two bytes a character, as PowerShell has it encoded: every other one is 0.
bool narrowed(std::string& s) {
  std::string out;
  for (std::size_t i = 0; i + 1 < s.size(); i += 2) {
    if (s[i + 1] != '\0' || s[i] == '\0') return false;
    out += s[i];
  }
  if (out.size() < 8 || !looks_like_text(out)) return false;
  s = std::move(out);
  return true;
}

struct Coding {
  const char* name;
  std::optional<std::string> (*decode)(std::string_view);
};

void decode_run(std::string_view text, std::size_t begin, std::size_t end, std::size_t& left, std::vector<Layer>& to) {
  static constexpr Coding kCodings[] = {{"hex", decode_hex}, {"base32", decode_base32}, {"base64", decode_base64}};
  std::string_view run = text.substr(begin, end - begin);
  if (run.starts_with("0x") || run.starts_with("0X")) run.remove_prefix(2), begin += 2;
  // A run may be glued to a path or a name, or have lost its beginning in the window before: then its groups of four begin
  // a little later.
  if (run.size() >= 40) {
    for (std::size_t skip = 0; skip < 4; ++skip) {
      auto head = decode_base64(run.substr(skip, 24));
      if (!head || !looks_like_text(*head)) continue;
      begin += skip;
      run.remove_prefix(skip);
      break;
    }
  }
  for (const Coding& coding : kCodings) {
    // The first bytes tell most runs that are something else: names, hashes, random keys.
    auto head = coding.decode(run.substr(0, std::min<std::size_t>(run.size(), 24) / 8 * 8));
    if (!head || !(looks_like_text(*head) || narrowed(*head))) continue;
    auto all = coding.decode(run.substr(0, std::min(run.size(), left)));
    if (!all || !(narrowed(*all), looks_like_text(*all))) continue;
    left -= std::min(left, run.size());
    to.push_back({coding.name, std::move(*all), begin, end, true});
    return;
  }
}

constexpr std::size_t kLongRun = 48;

// The run of characters that `is` accepts around `at`; nothing when it is short or was taken before.
template <typename Is>
std::string_view long_run(std::string_view text, std::size_t at, std::size_t& taken, Is&& is) {
  if (at < taken || !is(text[at])) return {};
  std::size_t begin = at, end = at;
  while (begin > taken && is(text[begin - 1])) --begin;
  while (end < text.size() && is(text[end])) ++end;
  taken = end;
  return end - begin >= kLongRun ? text.substr(begin, end - begin) : std::string_view();
}

// One character as a number of its own: 8 binary, 2 hexadecimal, 3 octal or 2 to 3 decimal digits.
int value_of(std::string_view token, int base) {
  if (token.starts_with("0x") || token.starts_with("0X")) token = base == 16 ? token.substr(2) : std::string_view();
  if (token.starts_with("U+") && token.size() == 6) token = base == 16 && token.substr(2, 2) == "00" ? token.substr(4) : std::string_view();
  bool fits = base == 2 ? token.size() == 8 : base == 16 ? token.size() == 2 : base == 8 ? token.size() == 3 : token.size() == 2 || token.size() == 3;
  if (!fits) return -1;
  int value = 0;
  auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, base);
  return error != std::errc() || end != token.data() + token.size() || value < 9 || value > 255 ? -1 : value;
}

// "01001001 01100111", "49 67 6e", "73,103,110", "U+0049 U+0067": numbers apart, each a character.
bool is_of_numbers(char c) { return hex_of(c) >= 0 || c == ' ' || c == ',' || c == 'x' || c == 'U' || c == '+' || c == '\n' || c == ';'; }

void read_numbers(std::string_view text, std::string_view run, std::size_t& left, std::vector<Layer>& to) {
  constexpr std::size_t kShortest = 8;
  const std::size_t begin = static_cast<std::size_t>(run.data() - text.data()), end = begin + run.size();
  struct Reading {
    int base;
    const char* name;
    std::string text;
    std::size_t begin = 0;
  };
  Reading readings[] = {{2, "binary digits", {}}, {16, "hexadecimal numbers", {}}, {8, "octal numbers", {}}, {10, "decimal numbers", {}}};
  auto done = [&](Reading& r, std::size_t at) {
    if (r.text.size() >= kShortest && r.text.size() <= left && looks_like_text(r.text)) {
      left -= r.text.size();
      to.push_back({r.name, r.text, r.begin, at, true});
    }
    r.text.clear();
  };
  for (std::size_t at = begin; at < end;) {
    std::size_t stop = at;
    while (stop < end && (hex_of(text[stop]) >= 0 || text[stop] == 'x' || text[stop] == 'U' || text[stop] == '+')) ++stop;
    std::string_view token = text.substr(at, stop - at);
    for (Reading& r : readings) {
      int value = value_of(token, r.base);
      if (value < 0) {
        done(r, at);
        continue;
      }
      if (r.text.empty()) r.begin = at;
      r.text += static_cast<char>(value);
    }
    at = stop;
    while (at < end && (text[at] == ' ' || text[at] == ',' || text[at] == '\n' || text[at] == ';')) ++at;
  }
  for (Reading& r : readings) done(r, end);
}

char morse_letter(std::string_view s) {
  static constexpr std::string_view kLetters[] = {".-",   "-...", "-.-.", "-..",  ".",   "..-.", "--.",  "....", "..",   ".---", "-.-", ".-..", "--",
                                                  "-.",   "---",  ".--.", "--.-", ".-.", "...",  "-",    "..-",  "...-", ".--",  "-..-", "-.--", "--.."};
  for (std::size_t i = 0; i < std::size(kLetters); ++i)
    if (kLetters[i] == s) return static_cast<char>('a' + i);
  return s.size() >= 5 && s.size() <= 6 ? '.' : '\0';  // a digit or a stop: not what words are made of
}

bool is_of_morse(char c) { return c == '.' || c == '-' || c == ' ' || c == '/' || c == '|' || c == '\n'; }

void read_morse(std::string_view text, std::string_view run, std::size_t& left, std::vector<Layer>& to) {
  std::string out;
  std::size_t letters = 0;
  for (std::size_t at = 0; at < run.size();) {
    std::size_t stop = at;
    while (stop < run.size() && (run[stop] == '.' || run[stop] == '-')) ++stop;
    if (stop > at) {
      char c = morse_letter(run.substr(at, stop - at));
      if (c == '\0') return;  // a line, not a letter
      out += c;
      letters += c != '.';
    }
    std::size_t gap = stop;
    while (gap < run.size() && run[gap] != '.' && run[gap] != '-') ++gap;
    if (gap > stop + 1 || (gap > stop && run[stop] != ' ')) out += ' ';
    at = gap;
  }
  if (letters < 12 || letters * 4 < out.size() * 2 || out.size() > left) return;
  left -= out.size();
  std::size_t begin = static_cast<std::size_t>(run.data() - text.data());
  to.push_back({"morse", std::move(out), begin, begin + run.size(), true});
}

// Groups of five characters that are four bytes each: Ascii85 and the alphabet of RFC 1924.
constexpr auto kBase85 = [] {
  std::array<std::int8_t, 256> t{};
  t.fill(kNo);
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
  for (std::size_t i = 0; i < kDigits.size(); ++i) t[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return t;
}();

std::string decode_base85(std::string_view s, bool ascii85) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); i += 5) {
    std::string_view group = s.substr(i, 5);
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      int digit = 84;  // the last group may be short
      if (k < group.size()) digit = ascii85 ? group[k] - '!' : kBase85[static_cast<unsigned char>(group[k])];
      if (digit < 0 || digit > 84) return out;
      value = value * 85 + static_cast<std::uint64_t>(digit);
    }
    if (value > 0xFFFFFFFFu) return out;
    for (std::size_t k = 0; k + 1 < group.size(); ++k) {
      char c = static_cast<char>(value >> (24 - 8 * k) & 0xFF);
      if (i == 0 && (c < ' ' || c == 0x7F)) return out;  // most runs are something else, and told so at once
      out += c;
    }
  }
  return out;
}

void read_base85(std::string_view text, std::string_view run, std::size_t& left, std::vector<Layer>& to) {
  // Words: sixteen bytes of them hold a space, and are letters mostly.
  auto reads = [](std::string_view s) {
    auto letters = std::count_if(s.begin(), s.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' '; });
    return s.size() >= 16 && s.find(' ') != s.npos && letters >= 13 && looks_like_text(s);
  };
  const std::size_t begin = static_cast<std::size_t>(run.data() - text.data()), end = begin + run.size();
  if (auto mark = run.substr(0, 16).find("<~"); mark != run.npos) run.remove_prefix(mark + 2);
  if (run.ends_with("~>")) run.remove_suffix(2);
  run = run.substr(0, left);
  for (bool ascii85 : {true, false}) {
    if (!reads(decode_base85(run.substr(0, 20), ascii85))) continue;
    std::string all = decode_base85(run, ascii85);
    left -= std::min(left, all.size());
    to.push_back({"base85", std::move(all), begin, end, true});
    return;
  }
}

// What does not look like sentences: numbers, Morse, base 85.
void find_odd_runs(std::string_view text, std::size_t& left, std::vector<Layer>& to) {
  std::size_t numbers = 0, morse = 0, words = 0;  // up to where each was taken
  for (Block b = next_block(text, 0); b.at < text.size() && left > 0; b = next_block(text, b.at + 16)) {
    if (b.numbers) {
      if (auto run = long_run(text, b.at, numbers, is_of_numbers); !run.empty()) read_numbers(text, run, left, to);
      if (auto run = long_run(text, b.at, morse, is_of_morse); !run.empty()) read_morse(text, run, left, to);
    }
    if (!b.unbroken || b.at < words) continue;
    std::size_t begin = word_begin(text, b.at);
    words = word_end(text, b.at);
    if (words - begin >= kLongRun) read_base85(text, text.substr(begin, words - begin), left, to);
  }
}

}  // namespace

namespace {

std::size_t run_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_run(text[at])) ++at;
  return at;
}

// What quotes or indents a line.
bool is_margin(char c) { return c == ' ' || c == '\t' || c == '>' || c == '#' || c == '*' || c == '|'; }

// Where the run of the next line begins; npos when there is none.
std::size_t next_line_run(std::string_view text, std::size_t at) {
  constexpr std::size_t kMargin = 16;
  if (at < text.size() && text[at] == '\r') ++at;
  if (at >= text.size() || text[at] != '\n') return text.npos;
  std::size_t begin = ++at;
  while (at < text.size() && at < begin + kMargin && is_margin(text[at])) ++at;
  return at < text.size() && is_run(text[at]) ? at : text.npos;
}

bool begins_line(std::string_view text, std::size_t at) {
  constexpr std::size_t kMargin = 16;
  std::size_t first = at;
  while (first > 0 && at - first < kMargin && is_margin(text[first - 1])) --first;
  return first == 0 || text[first - 1] == '\n';
}

// A line of it, and another of the same length below: text that was wrapped at a narrow column.
bool is_narrow(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::size_t kNarrowest = 10;
  if (end - begin < kNarrowest || !begins_line(text, begin)) return false;
  std::size_t next = next_line_run(text, end);
  return next != text.npos && run_end(text, next) - next == end - begin;
}

}  // namespace

void find_encoded_runs(std::string_view text, std::size_t most, std::vector<Layer>& to) {
  constexpr std::size_t kShortest = 20;
  std::size_t left = most;
  for (std::size_t i = next_run(text, 0); i < text.size() && left > 0;) {
    std::size_t end = i, begin = i;
    while (end < text.size() && is_run(text[end])) ++end;
    while (begin > 0 && is_run(text[begin - 1])) --begin;
    if (end - begin < kShortest && !is_narrow(text, begin, end)) {
      i = next_run(text, end);
      continue;
    }
    // Encoded text is often wrapped at a column: lines of the same alphabet are one run.
    std::string joined;
    std::size_t next = end;
    const bool lines = end - begin >= 56 || begins_line(text, begin);
    for (std::size_t more = lines ? next_line_run(text, next) : text.npos; more != text.npos; more = next_line_run(text, next)) {
      std::size_t stop = run_end(text, more);
      if (joined.empty()) joined = text.substr(begin, end - begin);
      joined += text.substr(more, stop - more);
      bool full = stop - more + 4 >= end - begin;
      next = stop;
      if (!full || joined.size() > most) break;
    }
    if (joined.empty()) {
      decode_run(text, begin, end, left, to);
    } else {
      std::size_t before = to.size();
      decode_run(joined, 0, joined.size(), left, to);
      for (std::size_t k = before; k < to.size(); ++k) to[k].begin = begin, to[k].end = next;
      end = next;
    }
    i = next_run(text, end);
  }
  find_odd_runs(text, left, to);
}

namespace {

struct Entity {
  std::string_view name;
  char means;
};
constexpr Entity kEntities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '},
                                {"period", '.'}, {"colon", ':'}, {"sol", '/'}, {"excl", '!'}, {"NewLine", '\n'}, {"Tab", '\t'},
                                {"lpar", '('}, {"rpar", ')'}, {"num", '#'}, {"comma", ','}, {"lowbar", '_'}, {"shy", '\0'}};

bool entity(std::string_view s, std::string& out, std::size_t& used) {
  std::size_t end = s.substr(0, 12).find(';');
  if (end == s.npos || end < 2) return false;
  std::string_view name = s.substr(1, end - 1);
  used = end + 1;
  if (name[0] == '#') {
    bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
    std::uint32_t c = 0;
    std::string_view digits = name.substr(hex ? 2 : 1);
    auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, hex ? 16 : 10);
    if (error != std::errc() || last != digits.data() + digits.size() || digits.empty()) return false;
    append_utf8(out, c);
    return true;
  }
  for (const Entity& e : kEntities)
    if (e.name == name) return e.means != '\0' ? (out += e.means, true) : true;
  return false;
}

bool backslash(std::string_view s, std::string& out, std::size_t& used) {
  if (s.size() < 2) return false;
  char c = s[1];
  used = 2;
  if (c == 'n' || c == 'r' || c == 't') return out += (c == 't' ? '\t' : '\n'), true;
  if (c == '"' || c == '/' || c == '\\' || c == '\'') return out += c, true;
  std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  std::size_t at = 2;
  if (c == 'u' && s.size() > 3 && s[2] == '{') at = 3, digits = std::min<std::size_t>(s.find('}') - 3, 6);
  if (digits == 0 || s.size() < at + digits) return false;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    int h = hex_of(s[at + i]);
    if (h < 0) return false;
    value = value << 4 | static_cast<std::uint32_t>(h);
  }
  used = at + digits + (at == 3 ? 1 : 0);
  if (used > s.size()) return false;
  if (value >= 0xD800 && value < 0xDC00 && s.size() >= used + 6 && s[used] == '\\' && s[used + 1] == 'u') {
    std::uint32_t low = 0;
    for (std::size_t i = 0; i < 4; ++i) low = low << 4 | static_cast<std::uint32_t>(std::max(0, hex_of(s[used + 2 + i])));
    if (low >= 0xDC00 && low < 0xE000) value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00), used += 6;
  }
  if (c == 'x') out += static_cast<char>(value);
  else append_utf8(out, value);
  return true;
}

// CSI, OSC and the two-byte sequences. What a terminal would not show is kept: hidden text is text.
std::size_t ansi_length(std::string_view s) {
  if (s.size() < 2) return 1;
  std::size_t i = 2;
  if (s[1] == '[') {
    while (i < s.size() && s[i] >= 0x20 && s[i] < 0x40) ++i;
    return std::min(i + 1, s.size());
  }
  if (s[1] == ']') {
    while (i < s.size() && s[i] != '\a' && s[i] != '\033') ++i;
    return std::min(i + 1, s.size());
  }
  return 2;
}

}  // namespace

bool is_quoted_printable(std::string_view line) {
  auto upper_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  int n = 0;
  for (std::size_t i = line.find('='); i < line.size() && i + 2 < line.size() && n < 4; i = line.find('=', i + 1))
    n += upper_hex(line[i + 1]) && upper_hex(line[i + 2]);
  return n >= 4;
}

std::string unescape(std::string_view line) {
  std::string out;
  const bool quoted_printable = is_quoted_printable(line);
  bool changed = false;
  for (std::size_t i = 0; i < line.size();) {
    char c = line[i];
    std::size_t used = 1;
    if (c == '&' && entity(line.substr(i), out, used)) {
      changed = true;
    } else if (c == '\\' && backslash(line.substr(i), out, used)) {
      changed = true;
    } else if ((c == '%' || c == '=') && i + 2 < line.size() && hex_of(line[i + 1]) >= 0 && hex_of(line[i + 2]) >= 0 &&
               (c == '%' || quoted_printable)) {
      out += static_cast<char>(hex_of(line[i + 1]) << 4 | hex_of(line[i + 2]));
      used = 3;
      changed = true;
    } else if (c == '\033') {
      used = ansi_length(line.substr(i));
      changed = true;
    } else if (c == '\b') {
      if (!out.empty()) out.pop_back();
      changed = true;
    } else {
      out += c;
    }
    i += used;
  }
  return changed ? out : std::string();
}

std::string rot(std::string_view s, int by) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>('a' + (c - 'a' + by) % 26);
    else if (c >= 'A' && c <= 'Z') c = static_cast<char>('A' + (c - 'A' + by) % 26);
  }
  return out;
}

std::string atbash(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>('z' - (c - 'a'));
    else if (c >= 'A' && c <= 'Z') c = static_cast<char>('Z' - (c - 'A'));
  }
  return out;
}

std::string rot47(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c > ' ' && c < 0x7F) c = static_cast<char>('!' + (c - '!' + 47) % 94);
  return out;
}

std::string reversed(std::string_view s) { return std::string(s.rbegin(), s.rend()); }

std::string reversed_words(std::string_view s) {
  std::string out(s);
  for (std::size_t at = 0; at < out.size();) {
    std::size_t end = std::min(out.find_first_of(" \n\t", at), out.size());
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(end));
    at = end + 1;
  }
  return out;
}

std::string without_tags(std::string_view line) {
  std::string out;
  bool changed = false;
  std::size_t comment_end = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '<' && line.substr(i, 4) == "<!--") {
      if (comment_end < i + 4) comment_end = line.find("-->", i + 4);  // looked for once, however many begin before it
      if (comment_end != line.npos && comment_end < i + 400) {
        changed = true;
        i = comment_end + 3;
        continue;
      }
    }
    std::size_t name = i + 1 + (i + 1 < line.size() && line[i + 1] == '/' ? 1 : 0);
    bool opens = line[i] == '<' && name < line.size() && ((line[name] >= 'a' && line[name] <= 'z') || (line[name] >= 'A' && line[name] <= 'Z'));
    std::size_t close = opens ? line.substr(0, i + 400).find_first_of("<>", i + 1) : line.npos;
    if (close == line.npos || line[close] == '<') {
      out += line[i++];
      continue;
    }
    changed = true;
    i = close + 1;
  }
  return changed ? out : std::string();
}

std::string from_leet(std::string_view s) {
  static constexpr std::string_view kFrom = "013457@$!|+69(", kTo = "oieastasiltggc";
  std::string out(s);
  for (char& c : out)
    if (auto at = kFrom.find(c); at != kFrom.npos) c = kTo[at];
  return out;
}

}  // namespace hotcell::inspect
