// if, loops, case, groups, [[ ]], (( )), functions, coprocesses.
#include "base/strings.h"
#include "parse/shell_parser.h"

namespace hotcell {

std::string_view ShellParser::plain_ahead() const {
  std::uint32_t at = c_.pos;
  while (!failed_ && at < c_.end && at - c_.pos < 16 && !shell_meta(c_.text[at])) {
    char c = c_.text[at];
    if (c == '\'' || c == '"' || c == '\\' || c == '$' || c == '`') return {};
    ++at;
  }
  return failed_ ? std::string_view() : slice(c_.pos, at);
}

bool ShellParser::take_word(std::string_view w) {
  if (plain_ahead() != w) return false;
  c_.pos += static_cast<std::uint32_t>(w.size());
  return true;
}

void ShellParser::expect_word(std::string_view w) {
  skip_newlines();
  if (!failed_ && !take_word(w)) fail(cat("'", w, "' is wanted"));
}

void ShellParser::expect_sign(char sign) {
  skip_blanks();
  if (cur() != sign) return fail(cat("'", sign, "' is wanted"));
  ++c_.pos;
}

// The redirections that follow belong to the whole of it.
void ShellParser::close_compound(ShellId node, Lists& lists) {
  for (skip_blanks(); !at_end() && read_redirect(lists); skip_blanks()) {
  }
  close(node, lists);
}

// True when `reserved` begins a compound command, which is read then.
bool ShellParser::compound(std::string_view reserved) {
  if (reserved == "{")
    group(ShellNodeKind::kGroup, 1, '}');
  else if (reserved == "if")
    if_command();
  else if (reserved == "while")
    loop(ShellNodeKind::kWhile);
  else if (reserved == "until")
    loop(ShellNodeKind::kUntil);
  else if (reserved == "for")
    for_command(ShellNodeKind::kFor);
  else if (reserved == "select")
    for_command(ShellNodeKind::kSelect);
  else if (reserved == "case")
    case_command();
  else if (reserved == "[[")
    test_command();
  else if (reserved == "function")
    function_keyword();
  else if (reserved == "coproc")
    coprocess();
  else
    return false;
  return true;
}

void ShellParser::group(ShellNodeKind kind, std::uint32_t skip, char closer) {
  std::uint32_t begin = here();
  ShellId node = open(kind);
  Lists lists;
  c_.pos += skip;
  list();
  if (cur() == closer)
    ++c_.pos;
  else if (at_end())
    fail_at(begin, cat("'", closer == '}' ? '{' : '(', "' is not closed"));
  else
    unexpected_here();
  close_compound(node, lists);
}

void ShellParser::if_command() {
  std::uint32_t begin = here();
  ShellId node = open(ShellNodeKind::kIf);
  Lists lists;
  c_.pos += 2;
  do {
    list();
    expect_word("then");
    list();
  } while (take_word("elif"));
  if (take_word("else")) list();
  if (at_end()) fail_at(begin, "'if' is not closed");
  expect_word("fi");
  close_compound(node, lists);
}

void ShellParser::do_group() {
  skip_newlines();
  if (take_word("{")) {
    list();
    expect_word("}");
    return;
  }
  expect_word("do");
  list();
  expect_word("done");
}

void ShellParser::loop(ShellNodeKind kind) {
  ShellId node = open(kind);
  Lists lists;
  c_.pos += 5;  // while, until
  list();
  expect_word("do");
  list();
  expect_word("done");
  close_compound(node, lists);
}

void ShellParser::for_command(ShellNodeKind kind) {
  ShellId node = open(kind);
  Lists lists;
  c_.pos += kind == ShellNodeKind::kSelect ? 6 : 3;
  skip_blanks();
  std::string_view name;
  if (looking_at("((")) {
    std::uint32_t end = arithmetic_end(c_.pos + 2);
    if (end == kNoShell)
      fail("'((' is not closed");
    else {
      s_.nodes[node].kind = ShellNodeKind::kForArithmetic;
      c_.pos += 2;
      std::uint32_t outer = c_.end;
      c_.end = end;
      lists.words.push_back(word(Mode::kArithmetic));
      c_.end = outer;
      c_.pos = end + 2;
    }
    skip_blanks();
    if (cur() == ';') ++c_.pos;
  } else {
    std::uint32_t from = c_.pos;
    while (shell_name_char(cur()) || cur() == '-' || cur() == '.') ++c_.pos;
    name = slice(from, std::max(from, c_.pos));
    if (name.empty()) fail("'for' without a name");
    skip_newlines();
    if (take_word("in")) {
      for (skip_blanks(); !at_end() && cur() != '\n' && cur() != ';'; skip_blanks()) {
        std::uint32_t before = c_.pos;
        lists.words.push_back(word());
        if (c_.pos == before) {
          unexpected_here();
          break;
        }
      }
    } else {
      skip_blanks();
    }
    if (cur() == ';') ++c_.pos;
  }
  s_.nodes[node].name = name;
  do_group();
  close_compound(node, lists);
}

void ShellParser::case_command() {
  std::uint32_t begin = here();
  ShellId node = open(ShellNodeKind::kCase);
  Lists lists;
  c_.pos += 4;
  skip_blanks();
  lists.words.push_back(word());
  expect_word("in");
  for (;;) {
    skip_newlines();
    if (at_end()) {
      fail_at(begin, "'case' is not closed");
      break;
    }
    if (take_word("esac")) break;
    if (cur() == '(') ++c_.pos;
    for (;;) {
      skip_blanks();
      std::uint32_t before = c_.pos;
      lists.words.push_back(word());
      if (c_.pos == before && !failed_) unexpected_here();
      skip_blanks();
      if (cur() != '|') break;
      ++c_.pos;
    }
    expect_sign(')');
    list();
    if (looking_at(";;&"))
      c_.pos += 3;
    else if (looking_at(";;") || looking_at(";&"))
      c_.pos += 2;
    else if (!at_end() && plain_ahead() != "esac") {
      unexpected_here();
      break;
    }
  }
  close_compound(node, lists);
}

void ShellParser::test_command() {
  std::uint32_t begin = here();
  ShellId node = open(ShellNodeKind::kTest);
  Lists lists;
  c_.pos += 2;
  bool regex = false;
  for (;;) {
    skip_blanks();
    while (cur() == '\n') {
      newline();
      skip_blanks();
    }
    if (at_end()) {
      fail_at(begin, "'[[' is not closed");
      break;
    }
    if (take_word("]]")) break;
    std::uint32_t before = c_.pos;
    bool sign = !regex && (cur() == '(' || cur() == ')' || looking_at("&&") || looking_at("||") ||
                           ((cur() == '<' || cur() == '>') && peek(1) != '('));
    if (sign) {
      std::uint32_t size = cur() == '&' || cur() == '|' ? 2 : 1;
      ShellWord w{here(), place(c_.pos + size), static_cast<ShellId>(s_.parts.size()), 1};
      Parts parts;
      add_literal(c_.pos, c_.pos + size, false, parts);
      s_.parts.push_back(parts[0]);
      lists.words.push_back(w);
      c_.pos += size;
      continue;
    }
    lists.words.push_back(word(regex ? Mode::kRegex : Mode::kWord));
    if (c_.pos == before) {
      unexpected_here();
      break;
    }
    regex = slice(before, c_.pos) == "=~";
  }
  close_compound(node, lists);
}

void ShellParser::arithmetic_command(std::uint32_t end) {
  ShellId node = open(ShellNodeKind::kArithmetic);
  Lists lists;
  c_.pos += 2;
  std::uint32_t outer = c_.end;
  c_.end = end;
  lists.words.push_back(word(Mode::kArithmetic));
  c_.end = outer;
  c_.pos = end + 2;
  close_compound(node, lists);
}

void ShellParser::function_keyword() {
  ShellId node = open(ShellNodeKind::kFunction);
  c_.pos += 8;
  skip_blanks();
  std::uint32_t from = c_.pos;
  while (!at_end() && !shell_meta(cur())) ++c_.pos;
  std::string_view name = slice(from, std::max(from, c_.pos));
  if (name.empty()) fail("'function' without a name");
  skip_blanks();
  if (cur() == '(') {
    ++c_.pos;
    expect_sign(')');
  }
  function_body(node, name);
}

// Its body is any compound command.
void ShellParser::function_body(ShellId node, std::string_view name) {
  s_.nodes[node].kind = ShellNodeKind::kFunction;
  s_.nodes[node].name = name;
  skip_newlines();
  command();
  close(node);
}

void ShellParser::coprocess() {
  ShellId node = open(ShellNodeKind::kCoproc);
  c_.pos += 6;
  skip_blanks();
  std::uint32_t from = c_.pos;
  while (shell_name_char(cur())) ++c_.pos;
  std::string_view name = slice(from, std::max(from, c_.pos));
  skip_blanks();
  std::string_view next = plain_ahead();
  bool named = !name.empty() && (cur() == '(' || next == "{" || next == "while" || next == "until" || next == "for" ||
                                 next == "if" || next == "case" || next == "[[");
  if (named)
    s_.nodes[node].name = name;
  else
    c_.pos = failed_ ? c_.pos : from;
  command();
  close(node);
}

}  // namespace hotcell
