#include "languages/c/facts_text.h"

namespace hotcell::c {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// The end of the string, character or comment that begins at `i`, or `i` when none does. Strings end at a newline, as
// they do for the compiler (which then refuses the text).
std::size_t skip_quoted(std::string_view s, std::size_t i) {
  char c = s[i];
  if (c == '"' || c == '\'') {
    // 1'000'000 holds no character literal.
    if (c == '\'' && i > 0 && hex_digit(s[i - 1]) >= 0 && i + 1 < s.size() && hex_digit(s[i + 1]) >= 0 &&
        (i + 2 >= s.size() || s[i + 2] != '\''))
      return i + 1;
    std::size_t j = i + 1;
    while (j < s.size() && s[j] != c && s[j] != '\n') j += s[j] == '\\' ? 2 : 1;
    if (j >= s.size()) return s.size();
    return s[j] == '\n' ? j : j + 1;  // prose in `#if 0`: the line after it may be a directive
  }
  if (c == 'R' && i + 1 < s.size() && s[i + 1] == '"') {
    std::size_t open = s.find('(', i + 2);
    if (open == std::string_view::npos || open - i > 18) return i;
    std::string close = ")";
    close += s.substr(i + 2, open - i - 2);
    close += '"';
    std::size_t end = s.find(close, open);
    return end == std::string_view::npos ? s.size() : end + close.size();
  }
  if (c == '/' && i + 1 < s.size() && s[i + 1] == '/') {
    std::size_t end = s.find('\n', i);
    return end == std::string_view::npos ? s.size() : end;
  }
  if (c == '/' && i + 1 < s.size() && s[i + 1] == '*') {
    std::size_t end = s.find("*/", i + 2);
    return end == std::string_view::npos ? s.size() : end + 2;
  }
  return i;
}

bool raw_prefix(std::string_view s, std::size_t i) {  // R of R"…", u8R"…", and not the end of a longer word
  if (s[i] != 'R' || i + 1 >= s.size() || s[i + 1] != '"') return false;
  std::size_t b = i;
  while (b > 0 && is_word_char(s[b - 1])) --b;
  std::string_view prefix = s.substr(b, i - b);
  return prefix.empty() || prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L";
}

// One directive, whose # ends before `i`. Returns where its line ends.
std::size_t read_directive(std::string_view s, std::size_t begin, std::size_t i, std::vector<Directive>& out) {
  Directive d;
  d.begin = static_cast<std::uint32_t>(begin);
  std::string line;
  while (i < s.size() && s[i] != '\n') {
    if (s[i] == '/' || s[i] == '"' || s[i] == '\'') {
      std::size_t end = skip_quoted(s, i);
      if (end > i) {
        if (s[i] == '/') line += ' ';
        else line += s.substr(i, end - i);
        i = end;
        continue;
      }
    }
    line += s[i++];
  }
  d.end = static_cast<std::uint32_t>(i);
  std::size_t at = 0;
  while (at < line.size() && is_blank(line[at])) ++at;
  std::size_t from = at;
  while (at < line.size() && is_word_char(line[at])) ++at;
  d.name = line.substr(from, at - from);
  while (at < line.size() && is_blank(line[at])) ++at;
  std::size_t to = line.size();
  while (to > at && is_blank(line[to - 1])) --to;
  d.rest = line.substr(at, to - at);
  out.push_back(std::move(d));
  return i;
}

}  // namespace

std::size_t skip_inert(std::string_view s, std::size_t i) {
  char c = s[i];
  if (c == '"' || c == '\'' || c == '/') return skip_quoted(s, i);
  return c == 'R' && raw_prefix(s, i) ? skip_quoted(s, i) : i;
}

MappedText join_lines(std::string_view text, bool& joins_token) {
  MappedText out;
  joins_token = false;
  if (text.find('\\') == std::string_view::npos) {
    out.text = text;
    return out;
  }
  out.text.reserve(text.size());
  out.origin.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      std::size_t j = i + 1;
      while (j < text.size() && is_blank(text[j])) ++j;  // the compiler allows blanks here, with a warning
      if (j < text.size() && text[j] == '\n') {
        char before = out.text.empty() ? '\n' : out.text.back(), after = j + 1 < text.size() ? text[j + 1] : '\n';
        joins_token |= !is_blank(before) && before != '\n' && !is_blank(after) && after != '\n';
        i = j;
        continue;
      }
    }
    out.text += text[i];
    out.origin.push_back(static_cast<std::uint32_t>(i));
  }
  out.origin.push_back(static_cast<std::uint32_t>(text.size()));
  return out;
}

void replace_digraphs(MappedText& mapped) {
  const std::string& s = mapped.text;
  MappedText out;
  auto keep = [&](char c, std::size_t from) {
    out.text += c;
    out.origin.push_back(mapped.at(static_cast<std::uint32_t>(from)));
  };
  for (std::size_t i = 0; i < s.size();) {
    std::size_t end = skip_inert(s, i);
    if (end > i) {
      for (; i < end; ++i) keep(s[i], i);
      continue;
    }
    std::string_view two = std::string_view(s).substr(i, 2);
    char c = two == "%:" ? '#' : two == "<:" ? '[' : two == ":>" ? ']' : two == "<%" ? '{' : two == "%>" ? '}' : '\0';
    if (two == "<:" && i + 2 < s.size() && s[i + 2] == ':') c = '\0';  // std::vector<::x>
    keep(c != '\0' ? c : s[i], i);
    i += c != '\0' ? 2 : 1;
  }
  out.origin.push_back(mapped.at(static_cast<std::uint32_t>(s.size())));
  mapped = std::move(out);
}

Scan scan_text(std::string_view s) {
  Scan out;
  for (std::size_t at = s.find("\?\?"); at != std::string_view::npos; at = s.find("\?\?", at + 1))
    if (at + 2 < s.size() && (s[at + 2] == '/' || s[at + 2] == '='))
      out.trigraphs.push_back(static_cast<std::uint32_t>(at));
  bool line_start = true;
  for (std::size_t i = 0; i < s.size();) {
    char c = s[i];
    if (c == '\n') {
      line_start = true;
      ++i;
      continue;
    }
    if (is_blank(c)) {
      ++i;
      continue;
    }
    std::string_view rest = s.substr(i);
    if (line_start && (c == '#' || rest.starts_with("%:") || rest.starts_with("\?\?="))) {
      std::size_t mark = c == '#' ? 1 : c == '%' ? 2 : 3;
      out.has_digraph |= c != '#';
      i = read_directive(s, i, i + mark, out.directives);
      if (!out.directives.empty() && out.directives.back().rest.find("%:") != std::string::npos)
        out.has_digraph = true;  // a %:%: b
      continue;
    }
    std::size_t end = skip_inert(s, i);
    if (end > i) {
      if (c != '/') line_start = false;  // a comment may stand before a directive
      i = end;
      continue;
    }
    line_start = false;
    if ((c == '<' || c == '%' || c == ':') &&
        (rest.starts_with("<%") || rest.starts_with("%>") || rest.starts_with("<:")))
      out.has_digraph = true;
    ++i;
  }
  return out;
}

std::vector<Token> tokens_of(std::string_view s, std::size_t most) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < s.size() && out.size() < most;) {
    char c = s[i];
    if (is_blank(c) || c == '\n') {
      ++i;
      continue;
    }
    std::size_t end = skip_inert(s, i);
    if (end > i && c == '/') {
      i = end;
      continue;
    }
    Token t;
    if (end > i) {
      t.kind = c == '\'' ? TokenKind::kChar : TokenKind::kString;
    } else if (is_word_char(c)) {
      t.kind = c >= '0' && c <= '9' ? TokenKind::kNumber : TokenKind::kWord;
      end = i;
      while (end < s.size() && is_word_char(s[end])) ++end;
      if (end < s.size() && s[end] == '"' && t.kind == TokenKind::kWord && end - i <= 3) {  // L"…", u8R"…"
        std::string_view prefix = s.substr(i, end - i);
        bool raw = prefix.ends_with('R');
        if (raw) prefix.remove_suffix(1);
        if (prefix.empty() || prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L") {
          end = skip_quoted(s, raw ? end - 1 : end);
          t.kind = TokenKind::kString;
        }
      }
    } else {
      end = i + (s.substr(i).starts_with("##") || s.substr(i).starts_with("::") ? 2 : 1);
    }
    t.text = s.substr(i, end - i);
    t.spaced = i > 0 && (is_blank(s[i - 1]) || s[i - 1] == '\n');
    out.push_back(std::move(t));
    i = end;
  }
  return out;
}

std::string string_value(std::string_view token) {
  std::size_t quote = token.find('"');
  if (quote == std::string_view::npos) return {};
  bool raw = quote > 0 && token[quote - 1] == 'R';
  std::string_view inside = token.substr(quote + 1);
  if (!inside.empty() && inside.back() == '"') inside.remove_suffix(1);
  if (!raw) return decode_escapes(inside);
  std::size_t open = inside.find('('), close = inside.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open) return {};
  return std::string(inside.substr(open + 1, close - open - 1));
}

}  // namespace hotcell::c
