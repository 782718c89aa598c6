// ${…}
#include "parse/shell_parser.h"

namespace hotcell {

void ShellParser::read_parameter(bool quoted, Parts& out) {
  Nest nest(*this);
  if (failed_) return;
  ShellPart p{.kind = ShellPartKind::kParameter, .quoted = quoted, .begin = here()};
  c_.pos += 2;
  if (cur() == '#' && peek(1) != '}' && peek(1) != ':' && peek(1) != '#' && peek(1) != '%' && peek(1) != '-') {
    p.op = "len";
    ++c_.pos;
  } else if (cur() == '!' && peek(1) != '}' && peek(1) != ':' && peek(1) != '-') {
    p.op = "!";
    ++c_.pos;
  }
  std::uint32_t from = c_.pos;
  if (shell_name_start(cur()))
    while (shell_name_char(cur())) ++c_.pos;
  else if (cur() >= '0' && cur() <= '9')
    while (cur() >= '0' && cur() <= '9') ++c_.pos;
  else if (!at_end() && std::string_view("@*#?-$!").find(cur()) != std::string_view::npos)
    ++c_.pos;
  p.text = slice(from, c_.pos);
  if (p.text.empty()) return fail_at(p.begin, "${ without a name");
  if (cur() == '[') {
    ++c_.pos;
    p.index = sub_word(Mode::kIndex, "");
    if (cur() != ']') return fail_at(p.begin, "[ in ${ is not closed");
    ++c_.pos;
  }
  if (!at_end() && cur() != '}') read_parameter_operator(p, quoted);
  if (cur() != '}') return fail_at(p.begin, "${ is not closed");
  ++c_.pos;
  p.end = here();
  out.push_back(p);
}

void ShellParser::read_parameter_operator(ShellPart& part, bool quoted) {
  static constexpr std::string_view kOperators[] = {":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%",
                                                    "^^", ",,", "-",  "=",  "?",  "+",  "#",  "%",  "/",
                                                    "^",  ",",  "@",  ":",  "~~", "~",  "*"};
  std::string_view op;
  for (std::string_view candidate : kOperators)
    if (op.empty() && looking_at(candidate)) op = candidate;
  if (op.empty()) return fail_at(part.begin, "${ with an operator that is not known");
  c_.pos += static_cast<std::uint32_t>(op.size());
  // ${!x:-y}: the operator counts, and that the name is looked up twice is kept by a name nobody can have.
  if (part.op == "!") part.text = keep("!" + std::string(part.text));
  if (part.op == "!" && (op == "*" || op == "@")) op = "!";
  part.op = op;
  bool pattern = op[0] == '#' || op[0] == '%' || op[0] == '/' || op[0] == '^' || op[0] == ',' || op[0] == '~';
  // In "${x#'a'}" the quotes quote, in "${x:-'a'}" they are letters.
  Mode mode = quoted && !pattern ? Mode::kBracedQuoted : Mode::kBraced;
  bool two = op[0] == '/' || op == ":";
  part.first = sub_word(mode, two ? (op == ":" ? ":" : "/") : "");
  if (two && cur() == (op == ":" ? ':' : '/')) {
    ++c_.pos;
    part.second = sub_word(mode, "");
  }
}

}  // namespace hotcell
