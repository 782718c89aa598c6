#include "languages/c/loop_macros.h"

#include <algorithm>
#include <map>
#include <set>

#include "languages/c/facts_names.h"
#include "languages/c/facts_text.h"

namespace hotcell::c {
namespace {

constexpr std::size_t kMostTokens = 256;

// The name at the beginning of what follows #define, and what comes after it.
std::string_view name_of(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && is_word_char(rest[end])) ++end;
  return rest.substr(0, end);
}

// `for (…)`, also `for (…) if (…)`: heads and nothing that ends a statement.
bool is_loop_head(const std::vector<Token>& body, const std::set<std::string, std::less<>>& macros) {
  if (body.size() < 3 || body.size() >= kMostTokens || body.back().text != ")") return false;
  if (body[0].text != "for" && body[0].text != "while" && body[0].text != "if") return false;
  int depth = 0;
  for (const Token& t : body) {
    if (t.text == "(") ++depth;
    else if (t.text == ")") --depth;
    else if (t.text == "{" || t.text == "}" || t.text.starts_with('#') || (t.text == ";" && depth == 0)) return false;
    else if (t.kind == TokenKind::kWord && macros.contains(t.text)) return false;
  }
  return depth == 0;
}

std::set<std::string, std::less<>> loop_macros(const Scan& scan) {
  std::set<std::string, std::less<>> all, twice;
  for (const Directive& d : scan.directives) {
    if (d.name != "define" && d.name != "undef") continue;
    std::string name(name_of(d.rest));
    if (!all.insert(name).second || d.name == "undef") twice.insert(name);
  }
  std::set<std::string, std::less<>> out;
  for (const Directive& d : scan.directives) {
    if (d.name != "define") continue;
    std::string_view name = name_of(d.rest), rest = std::string_view(d.rest).substr(name.size());
    std::size_t close = rest.find(')');
    if (name.size() < 2 || twice.contains(name) || reaches_out(name) || !rest.starts_with('(') || close == rest.npos)
      continue;
    if (is_loop_head(tokens_of(rest.substr(close + 1), kMostTokens), all)) out.emplace(name);
  }
  return out;
}

}  // namespace

std::string without_loop_macros(std::string text) {
  if (text.find("#") == text.npos || text.find("R\"") != text.npos || text.find("\\\n") != text.npos) return text;
  auto names = loop_macros(scan_text(text));
  if (names.empty()) return text;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '#' && line_start) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (std::size_t after = skip_inert(text, i); after > i) {
      i = after;
      continue;
    }
    if (!is_word_char(text[i])) {
      line_start = text[i] == '\n' || (line_start && (text[i] == ' ' || text[i] == '\t'));
      ++i;
      continue;
    }
    line_start = false;
    std::size_t end = i;
    while (end < text.size() && (is_word_char(text[end]) || text[end] == '\'')) ++end;  // 1'000 is one word
    std::size_t open = text.find_first_not_of(" \t", end);
    if (open != text.npos && text[open] == '(' && names.contains(std::string_view(text).substr(i, end - i)))
      text.replace(i, end - i, "if" + std::string(end - i - 2, ' '));
    i = end;
  }
  return text;
}

}  // namespace hotcell::c
