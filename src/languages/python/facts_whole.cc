// What the grammar takes and Python does not: a source that cannot run is not one that was found clean. Only what no
// version 3 of Python takes is said; ast of CPython is the judge.
#include "base/strings.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

// The first line that is neither blank nor a comment begins in the first column.
bool first_line_is_indented(std::string_view text, std::uint32_t& at) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    std::size_t first = line.find_first_not_of(" \t\f\r\v");
    if (first != line.npos && line[first] != '#') {
      std::size_t feed = line.substr(0, first).rfind('\f');
      at = static_cast<std::uint32_t>(begin);
      return first > (feed == line.npos ? 0 : feed + 1);
    }
    begin = end + 1;
  }
  return false;
}

bool is_zero_led(std::string_view number) {  // 08, 0777; not 0, 00, 0_0, 0x8, 08j
  return number.size() > 1 && number[0] == '0' && number.find_first_not_of("0123456789_") == number.npos &&
         number.find_first_of("123456789") != number.npos;
}

}  // namespace

void Analyser::check_whole() {
  std::uint32_t at = 0;
  if (first_line_is_indented(tree_.text(), at))
    facts_.add(FactKind::kUnreadable, "it is not whole python: its first line is indented", "", at, at);
  std::vector<NodeId> functions;  // that are open
  for (NodeId n = 0; n < tree_.size(); ++n) {
    while (!functions.empty() && n >= tree_.end_of(functions.back())) functions.pop_back();
    if (!tree_[n].named) continue;
    std::string_view why;
    switch (t_.kind(n)) {
      case K::kFunction:
      case K::kLambda:
        functions.push_back(n);
        break;
      case K::kReturn:
        if (functions.empty()) why = "return stands outside of every function";
        break;
      case K::kInteger:
        if (is_zero_led(t_.text(n))) why = "a number begins with 0";
        break;
      case K::kPrintStatement:
      case K::kExecStatement: {
        // `print >>f, x` and `print -x` are expressions for Python 3; a text or a number behind the word is nothing.
        std::string_view text = t_.text(n);
        std::size_t next = text.find_first_not_of(" \t", t_.kind(n) == K::kExecStatement ? 4 : 5);
        char c = next == text.npos ? ' ' : text[next];
        if (c == '"' || c == '\'' || (c >= '0' && c <= '9')) why = "print and exec are functions";
        break;
      }
      default:
        break;
    }
    if (!why.empty()) {
      fact(FactKind::kUnreadable, cat("it is not whole python: ", why), "", n);
      return;
    }
  }
}

}  // namespace hotcell::python
