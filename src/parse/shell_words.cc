// Words: quoting, expansions and what is code inside them.
#include "base/strings.h"
#include "parse/shell_parser.h"

namespace hotcell {
namespace {

bool extended_glob_sign(char c) { return c == '?' || c == '*' || c == '+' || c == '@' || c == '!'; }

}  // namespace

bool ShellParser::ends_here(Mode mode, std::string_view stops, int& brackets) const {
  char c = cur();
  switch (mode) {
    case Mode::kWord:
      return shell_meta(c);
    case Mode::kDouble:
      return c == '"';
    case Mode::kHere:
    case Mode::kArithmetic:
      return false;
    case Mode::kBraced:
    case Mode::kBracedQuoted:
      return c == '}' || stops.find(c) != std::string_view::npos;
    case Mode::kIndex:
      if (c == '[') ++brackets;
      return c == ']' && brackets-- == 0;
    case Mode::kRegex:
      if (c == '(') ++brackets;
      if (c == ')' && brackets-- == 0) return true;
      return c == '\n' || (brackets == 0 && shell_blank(c));
  }
  return true;
}

void ShellParser::read_parts(Mode mode, std::string_view stops, Parts& out) {
  const bool quoted =
      mode == Mode::kDouble || mode == Mode::kHere || mode == Mode::kBracedQuoted || mode == Mode::kArithmetic;
  std::uint32_t start = c_.pos, literal = c_.pos;
  int brackets = 0, braces = 0;
  auto flush = [&] {
    if (literal < c_.pos) add_literal(literal, c_.pos, quoted, out);
  };
  while (!at_end()) {
    char c = cur();
    // Most of a text is letters: no more than this is asked of them.
    if (shell_name_char(c) || c == '-' || c == '.' || (c == '/' && stops.empty())) {
      ++c_.pos;
      continue;
    }
    bool process = (c == '<' || c == '>') && peek(1) == '(' && (mode == Mode::kWord || mode == Mode::kBraced);
    if (process) {
      flush();
      ShellPart p{.kind = ShellPartKind::kProcess, .begin = here()};
      p.text = slice(c_.pos, c_.pos + 1);
      read_substitution(p, 2, out);
      literal = c_.pos;
      continue;
    }
    if (mode == Mode::kWord && c == '(' && c_.pos > start && extended_glob_sign(c_.text[c_.pos - 1]) && !out.empty() &&
        out.back().kind == ShellPartKind::kGlob && out.back().end == here()) {
      flush();
      read_extended_glob(out);
      literal = c_.pos;
      continue;
    }
    if (ends_here(mode, stops, brackets)) break;
    if (c == '\\') {
      flush();
      literal = c_.pos;
      read_backslash(mode, literal, out);
    } else if (c == '\'' && !quoted) {
      flush();
      read_single(out);
      literal = c_.pos;
    } else if (c == '"' && mode != Mode::kHere) {
      flush();
      read_double(out);
      literal = c_.pos;
    } else if (c == '$') {
      flush();
      literal = c_.pos;
      if (!read_dollar(mode, literal, out)) ++c_.pos;
    } else if (c == '`') {
      flush();
      read_backtick(quoted, out);
      literal = c_.pos;
    } else if (quoted || !read_sign(mode, start, literal, braces, out)) {
      ++c_.pos;
    }
  }
  if (!failed_) flush();
}

// Signs that mean something only outside quotes. True when one was taken.
bool ShellParser::read_sign(Mode mode, std::uint32_t start, std::uint32_t& literal, int& braces, Parts& out) {
  char c = cur();
  ShellPart p{.begin = here(), .end = place(c_.pos + 1)};
  p.text = slice(c_.pos, c_.pos + 1);
  std::uint32_t size = 1;
  if (c == '*' || c == '?' || c == '[' || c == ']' ||
      (peek(1) == '(' && extended_glob_sign(c) && mode == Mode::kWord)) {
    p.kind = ShellPartKind::kGlob;
  } else if (mode == Mode::kWord && (c == '{' || c == '}' || (c == ',' && braces > 0))) {
    p.kind = ShellPartKind::kBrace;
    braces += c == '{' ? 1 : c == '}' && braces > 0 ? -1 : 0;
  } else if (c == '~' &&
             (c_.pos == start || ((c_.text[c_.pos - 1] == '=' || c_.text[c_.pos - 1] == ':') && mode == Mode::kWord))) {
    p.kind = ShellPartKind::kTilde;
    while (shell_name_char(peek(size)) || peek(size) == '-' || peek(size) == '+') ++size;
    p.text = slice(c_.pos, c_.pos + size);
  } else {
    return false;
  }
  if (literal < c_.pos) add_literal(literal, c_.pos, false, out);
  p.end = place(c_.pos + size);
  out.push_back(p);
  c_.pos += size;
  literal = c_.pos;
  return true;
}

void ShellParser::add_literal(std::uint32_t from, std::uint32_t to, bool quoted, Parts& out) {
  ShellPart p{.kind = ShellPartKind::kLiteral, .quoted = quoted, .begin = place(from), .end = place(to)};
  p.text = slice(from, to);
  out.push_back(p);
}

// At a `$`. False: it is a letter like any other.
bool ShellParser::read_dollar(Mode mode, std::uint32_t& literal, Parts& out) {
  const bool quoted =
      mode == Mode::kDouble || mode == Mode::kHere || mode == Mode::kBracedQuoted || mode == Mode::kArithmetic;
  char next = peek(1);
  if (next == '(') {
    std::uint32_t end = peek(2) == '(' ? arithmetic_end(c_.pos + 3) : kNoShell;
    if (end != kNoShell) {
      c_.pos += 3;
      read_arithmetic(quoted, end, out);
    } else {
      read_substitution({.kind = ShellPartKind::kCommand, .quoted = quoted, .begin = here()}, 2, out);
    }
  } else if (next == '{') {
    if (shell_blank(peek(2)) || peek(2) == '\n' || peek(2) == '|')
      read_substitution({.kind = ShellPartKind::kCommand, .quoted = quoted, .begin = here()}, 3, out);
    else
      read_parameter(quoted, out);
  } else if (next == '[') {
    Nest nest(*this);
    ShellPart p{.kind = ShellPartKind::kArithmetic, .quoted = quoted, .begin = here()};
    c_.pos += 2;
    p.first = sub_word(Mode::kIndex, "");
    if (cur() != ']') {
      fail_at(p.begin, "$[ is not closed");
      return true;
    }
    p.end = place(++c_.pos);
    out.push_back(p);
  } else if (next == '\'' && !quoted) {
    read_ansi(out);
  } else if (next == '"' && !quoted) {  // translated text: for us the same as without $
    ++c_.pos;
    read_double(out);
  } else {
    std::uint32_t size = 0;
    if (shell_name_start(next))
      while (shell_name_char(peek(1 + size))) ++size;
    else if (next != '\0' && std::string_view("0123456789@*#?-$!").find(next) != std::string_view::npos)
      size = 1;
    if (size == 0) return false;
    ShellPart p{.kind = ShellPartKind::kParameter, .quoted = quoted, .begin = here(), .end = place(c_.pos + 1 + size)};
    p.text = slice(c_.pos + 1, c_.pos + 1 + size);
    c_.pos += 1 + size;
    out.push_back(p);
  }
  literal = c_.pos;
  return true;
}

ShellId ShellParser::sub_word(Mode mode, std::string_view stops) {
  ShellWord w;
  w.begin = here();
  Parts parts;
  read_parts(mode, stops, parts);
  w.end = here();
  return store(w, parts);
}

ShellWord ShellParser::word(Mode mode) {
  ShellWord w;
  w.begin = here();
  Parts parts;
  read_parts(mode, "", parts);
  w.end = here();
  w.parts = static_cast<ShellId>(s_.parts.size());
  w.count = static_cast<ShellId>(parts.size());
  s_.parts.insert(s_.parts.end(), parts.begin(), parts.end());
  return w;
}

void ShellParser::read_arithmetic(bool quoted, std::uint32_t end, Parts& out) {
  Nest nest(*this);
  ShellPart p{.kind = ShellPartKind::kArithmetic, .quoted = quoted, .begin = place(c_.pos - 3), .end = place(end + 2)};
  std::uint32_t outer = c_.end;
  c_.end = end;
  p.first = sub_word(Mode::kArithmetic, "");
  c_.end = outer;
  c_.pos = end + 2;
  out.push_back(p);
}

void ShellParser::read_substitution(ShellPart part, std::uint32_t skip, Parts& out) {
  Nest nest(*this);
  if (failed_) return;
  const char closer = skip == 3 ? '}' : ')';
  std::vector<Pending> outer;
  outer.swap(pending_);  // here-documents of the command around it begin after its own line
  part.node = open(ShellNodeKind::kSubstitution);
  c_.pos += skip;
  list();
  if (cur() != closer) {
    if (at_end() || closer == '}')
      fail_at(part.begin, "command substitution is not closed");
    else
      unexpected_here();
  } else {
    ++c_.pos;
  }
  close(part.node);
  pending_.insert(pending_.begin(), outer.begin(), outer.end());
  part.end = here();
  out.push_back(part);
}

void ShellParser::read_backtick(bool quoted, Parts& out) {
  Nest nest(*this);
  if (failed_) return;
  ShellPart part{.kind = ShellPartKind::kCommand, .quoted = quoted, .begin = here()};
  std::uint32_t from = ++c_.pos, end = from;
  bool escaped = false;
  while (end < c_.end && c_.text[end] != '`') {
    if (c_.text[end] == '\\') {
      escaped = true;
      ++end;
    }
    ++end;
  }
  if (end >= c_.end) return fail_at(part.begin, "` is not closed");
  Cursor outer = c_;
  if (escaped) {
    std::string text;
    for (std::uint32_t i = from; i < end; ++i) {
      char next = i + 1 < end ? c_.text[i + 1] : '\0';
      if (c_.text[i] == '\\' && (next == '$' || next == '`' || next == '\\' || (quoted && next == '"'))) ++i;
      text += c_.text[i];
    }
    c_.text = keep(std::move(text));
    c_.pos = 0;
    c_.end = static_cast<std::uint32_t>(c_.text.size());
    c_.fixed = part.begin;
  } else {
    c_.end = end;
  }
  std::vector<Pending> pending;
  pending.swap(pending_);
  part.node = open(ShellNodeKind::kSubstitution);
  list();
  if (!at_end()) unexpected_here();
  if (!failed_ && !pending_.empty()) fail("here-document is not finished");
  close(part.node);
  pending_.swap(pending);
  c_ = outer;
  c_.pos = end + 1;
  part.end = here();
  out.push_back(part);
}

// At the bracket after ? * + @ or !; the sign itself is there already.
void ShellParser::read_extended_glob(Parts& out) {
  Nest nest(*this);
  std::uint32_t begin = c_.pos;
  int brackets = 0;
  do {  // at a sign that ends words elsewhere: here it is part of the pattern
    brackets += cur() == '(' ? 1 : cur() == ')' ? -1 : 0;
    add_literal(c_.pos, c_.pos + 1, false, out);
    ++c_.pos;
    if (brackets > 0) read_parts(Mode::kWord, "", out);
  } while (brackets > 0 && !at_end() && cur() != '\n');
  if (brackets > 0) fail_at(place(begin), "pattern is not closed");
}

std::uint32_t ShellParser::arithmetic_end(std::uint32_t from) const {
  int open_brackets = 0;
  for (std::uint32_t i = from; i < c_.end; ++i) {
    char c = c_.text[i];
    if (c == '\\')
      ++i;
    else if (c == '(')
      ++open_brackets;
    else if (c == '"' || c == '\'') {
      for (++i; i < c_.end && c_.text[i] != c; ++i)
        if (c == '"' && c_.text[i] == '\\') ++i;
    } else if (c == ')' && open_brackets-- == 0) {
      return i + 1 < c_.end && c_.text[i + 1] == ')' ? i : kNoShell;
    }
  }
  return kNoShell;
}

}  // namespace hotcell
