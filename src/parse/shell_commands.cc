// Lists, pipelines, simple commands with their redirections and assignments.
#include <array>

#include "base/strings.h"
#include "parse/shell_parser.h"

namespace hotcell {
namespace {

bool is_closer(std::string_view w) {
  static constexpr std::array<std::string_view, 8> kClosers = {"then", "else", "elif", "fi", "do", "done", "esac", "}"};
  for (auto c : kClosers)
    if (w == c) return true;
  return false;
}

}  // namespace

bool ShellParser::closes() const {
  char c = cur();
  return c == ')' || (c == ';' && (peek(1) == ';' || peek(1) == '&')) || is_closer(plain_ahead());
}

bool ShellParser::unexpected_here() {
  std::string_view w = plain_ahead();
  fail(cat("unexpected '", printable(w.empty() ? slice(c_.pos, std::min(c_.pos + 1, c_.end)) : w), "'"));
  return false;
}

// Up to the end or to what closes the command around it; the caller checks which.
void ShellParser::list() {
  for (;;) {
    skip_newlines();
    if (at_end() || closes()) return;
    and_or();
    skip_blanks();
    if (at_end()) return;
    char c = cur();
    if (c == '\n')
      newline();
    else if (closes())
      return;
    else if (c == ';' || c == '&')
      ++c_.pos;
    else {
      unexpected_here();
      return;
    }
  }
}

void ShellParser::and_or() {
  std::vector<ShellId> joined;
  char op = ';';
  for (;;) {
    pipeline(op, joined);
    skip_blanks();
    if (!looking_at("&&") && !looking_at("||")) break;
    op = cur();
    c_.pos += 2;
    skip_newlines();
  }
  if (cur() == '&')
    for (ShellId p : joined) s_.nodes[p].background = true;
}

void ShellParser::pipeline(char op, std::vector<ShellId>& joined) {
  ShellId node = open(ShellNodeKind::kPipeline);
  s_.nodes[node].op = op;
  joined.push_back(node);
  for (;;) {
    skip_blanks();
    bool prefixed = false;
    for (;;) {
      if (take_word("!"))
        s_.nodes[node].negated = true;
      else if (take_word("time")) {
        skip_blanks();
        if (!take_word("-p")) skip_blanks();
        if (take_word("--")) skip_blanks();
      } else
        break;
      prefixed = true;
      skip_blanks();
    }
    if (!(prefixed && (at_end() || cur() == '\n' || cur() == ';' || cur() == ')'))) command();
    skip_blanks();
    if (cur() != '|' || peek(1) == '|') break;
    c_.pos += peek(1) == '&' ? 2 : 1;
    skip_newlines();
  }
  close(node);
}

void ShellParser::command() {
  Nest nest(*this);
  if (failed_) return;
  if (at_end()) return fail("a command is wanted");
  if (cur() == '(') {
    std::uint32_t end = peek(1) == '(' ? arithmetic_end(c_.pos + 2) : kNoShell;
    if (end != kNoShell)
      arithmetic_command(end);
    else
      group(ShellNodeKind::kSubshell, 1, ')');
    return;
  }
  std::string_view w = plain_ahead();
  if (is_closer(w)) {
    unexpected_here();
    return;
  }
  if (w.empty() || !compound(w)) simple();
}

void ShellParser::simple() {
  ShellId node = open(ShellNodeKind::kSimple);
  Lists lists;
  std::uint32_t first_end = 0;
  for (;;) {
    skip_blanks();
    char c = cur();
    if (at_end() || c == '\n' || c == ';' || c == '|' || c == ')' || (c == '&' && peek(1) != '>')) break;
    if (read_redirect(lists)) continue;
    if (c == '(') {
      if (lists.words.size() != 1 || !lists.assignments.empty() || !lists.redirects.empty()) {
        unexpected_here();
        break;
      }
      ++c_.pos;
      skip_blanks();
      if (cur() != ')') {
        unexpected_here();
        break;
      }
      ++c_.pos;
      std::uint32_t from = first_end - (lists.words[0].end - lists.words[0].begin);
      return function_body(node, c_.fixed == kNoShell ? slice(from, first_end) : std::string_view("?"));
    }
    if (read_assignment(lists, !lists.words.empty())) continue;
    std::uint32_t before = c_.pos;
    lists.words.push_back(word());
    if (c_.pos == before) {
      if (!failed_) unexpected_here();
      lists.words.pop_back();
      break;
    }
    if (lists.words.size() == 1) first_end = c_.pos;
  }
  if (!failed_ && lists.words.empty() && lists.assignments.empty() && lists.redirects.empty()) unexpected_here();
  close(node, lists);
}

bool ShellParser::read_redirect(Lists& lists) {
  ShellRedirect r;
  r.begin = here();
  std::uint32_t at = c_.pos;
  auto is_sign = [&](std::uint32_t p) { return p < c_.end && (c_.text[p] == '<' || c_.text[p] == '>'); };
  if (cur() >= '0' && cur() <= '9') {
    int fd = 0;
    while (at < c_.end && c_.text[at] >= '0' && c_.text[at] <= '9')
      fd = std::min(fd * 10 + (c_.text[at++] - '0'), 1 << 20);
    if (!is_sign(at)) return false;
    r.fd = fd;
  } else if (cur() == '{') {
    while (++at < c_.end && shell_name_char(c_.text[at])) {
    }
    if (at >= c_.end || c_.text[at] != '}' || !is_sign(at + 1)) return false;
    r.fd_name = slice(c_.pos + 1, at++);
  } else if (!(cur() == '&' && peek(1) == '>') && !is_sign(at)) {
    return false;
  }
  if (at + 1 < c_.end && is_sign(at) && c_.text[at + 1] == '(') return false;  // <(…) is a word
  static constexpr std::pair<std::string_view, ShellRedirectOp> kSigns[] = {
      {"&>>", ShellRedirectOp::kBothAppend},  {"&>", ShellRedirectOp::kBoth},
      {"<<<", ShellRedirectOp::kHereString},  {"<<-", ShellRedirectOp::kHereDocument},
      {"<<", ShellRedirectOp::kHereDocument}, {"<&", ShellRedirectOp::kReadDup},
      {"<>", ShellRedirectOp::kReadWrite},    {"<", ShellRedirectOp::kRead},
      {">>", ShellRedirectOp::kAppend},       {">&", ShellRedirectOp::kWriteDup},
      {">|", ShellRedirectOp::kClobber},      {">", ShellRedirectOp::kWrite}};
  c_.pos = at;
  bool strip_tabs = looking_at("<<-");
  for (const auto& [sign, op] : kSigns) {
    if (!looking_at(sign)) continue;
    r.op = op;
    c_.pos += static_cast<std::uint32_t>(sign.size());
    break;
  }
  skip_blanks();
  if (r.op == ShellRedirectOp::kHereDocument) {
    here_document(r, strip_tabs);
  } else {
    std::uint32_t before = c_.pos;
    ShellWord w = word();
    if (c_.pos == before) {
      if (!failed_) fail_at(r.begin, "a redirection without its target");
      return true;
    }
    s_.words.push_back(w);
    r.target = static_cast<ShellId>(s_.words.size() - 1);
  }
  lists.redirects.push_back(r);
  return true;
}

void ShellParser::here_document(ShellRedirect& r, bool strip_tabs) {
  Pending p;
  p.strip_tabs = strip_tabs;
  std::uint32_t before = c_.pos;
  char quote = '\0';
  while (!at_end() && (quote != '\0' || !shell_meta(cur()))) {
    char c = cur();
    if (quote != '\0' && c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '\'' || c == '"')) {
      p.quoted = true;
      quote = c;
    } else if (c == '\\' && quote != '\'' && peek(1) != '\0') {
      p.quoted = true;
      p.delimiter += peek(1);
      ++c_.pos;
    } else if (c == '$' && quote == '\0' && (peek(1) == '\'' || peek(1) == '"')) {
      // $'…' and $"…": only the quotes count
    } else
      p.delimiter += c;
    ++c_.pos;
  }
  if (c_.pos == before || quote != '\0') return fail_at(r.begin, "a here-document without its end mark");
  p.slot = r.target = static_cast<ShellId>(s_.here_documents.size());
  s_.here_documents.push_back(kNoShell);
  pending_.push_back(std::move(p));
}

// name=…, name+=…, name[…]=…; after the first word only name=(…), as `declare` takes it.
bool ShellParser::read_assignment(Lists& lists, bool arrays_only) {
  if (!shell_name_start(cur())) return false;
  std::uint32_t at = c_.pos;
  while (at < c_.end && shell_name_char(c_.text[at])) ++at;
  ShellAssignment a;
  a.begin = here();
  a.name = slice(c_.pos, at);
  std::uint32_t index = 0;
  if (at < c_.end && c_.text[at] == '[') {
    index = at + 1;
    int brackets = 0;
    // No subscript is this long; without the cap a row of [ would be read over and over.
    std::uint32_t last = std::min(c_.end, at + 1000);
    for (; at < last && c_.text[at] != '\n'; ++at) {
      if (c_.text[at] == '[') ++brackets;
      if (c_.text[at] == ']' && --brackets == 0) break;
    }
    if (at >= last || c_.text[at] != ']') return false;
    ++at;
  }
  if (at < c_.end && c_.text[at] == '+') {
    a.append = true;
    ++at;
  }
  if (at >= c_.end || c_.text[at] != '=') return false;
  ++at;
  a.array = at < c_.end && c_.text[at] == '(';
  if (arrays_only && !a.array) return false;
  if (index != 0) {
    c_.pos = index;
    a.index = sub_word(Mode::kIndex, "");
  }
  c_.pos = at;
  if (a.array) {
    read_array(a);
  } else {
    s_.words.push_back(word());
    a.value = static_cast<ShellId>(s_.words.size() - 1);
  }
  lists.assignments.push_back(a);
  return true;
}

void ShellParser::read_array(ShellAssignment& a) {
  std::uint32_t begin = c_.pos++;
  std::vector<ShellWord> elements;
  for (;;) {
    skip_newlines();
    if (at_end() || cur() == ')') break;
    std::uint32_t before = c_.pos;
    elements.push_back(word());
    if (c_.pos == before) {
      unexpected_here();
      break;
    }
  }
  if (cur() != ')') return fail_at(place(begin), "array is not closed");
  ++c_.pos;
  a.elements = static_cast<ShellId>(s_.words.size());
  a.count = static_cast<ShellId>(elements.size());
  s_.words.insert(s_.words.end(), elements.begin(), elements.end());
}

}  // namespace hotcell
