// What the grammar takes and Python does not: a source that cannot run is not one that was found clean. Only what no
// version 3 of Python takes is said; ast of CPython is the judge.
#include <optional>

#include "base/strings.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

// The blanks before a statement that is the first of its line; nothing where something else stands before it, or where a
// backslash joins its line to the one before.
std::optional<std::string_view> blanks_before(std::string_view text, std::uint32_t at) {
  std::size_t line = at;   // step by step: a line may be as long as the source, with a hundred thousand statements
  while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t' || text[line - 1] == '\f')) --line;
  if (line > 0 && text[line - 1] != '\n') return std::nullopt;
  std::string_view blanks = text.substr(line, at - line);
  std::size_t before = line > 1 && text[line - 2] == '\r' ? line - 3 : line - 2;   // the last letter of the line before
  if (line > 1 && before < text.size() && text[before] == '\\') return std::nullopt;
  return blanks.substr(blanks.rfind('\f') + 1);
}

// As Python counts: a tab goes to the next multiple of eight, and where it made a difference whether it goes by one, the two
// cannot be compared.
struct Columns {
  std::size_t wide = 0, narrow = 0;
  bool operator==(const Columns&) const = default;
  bool inside(const Columns& o) const { return wide > o.wide && narrow > o.narrow; }
};

std::optional<Columns> columns_of(std::string_view text, std::uint32_t at) {
  auto blanks = blanks_before(text, at);
  if (!blanks) return std::nullopt;
  Columns c{0, blanks->size()};
  for (char b : *blanks) c.wide = b == '\t' ? (c.wide / 8 + 1) * 8 : c.wide + 1;
  return c;
}

bool is_zero_led(std::string_view number) {  // 08, 0777; not 0, 00, 0_0, 0x8, 08j
  return number.size() > 1 && number[0] == '0' && number.find_first_not_of("0123456789_") == number.npos &&
         number.find_first_of("123456789") != number.npos;
}

}  // namespace

// Why Python would not take the statements of a block, or of the module, as they stand under each other; empty: it would. `at`: where.
std::string_view Analyser::block_fault(NodeId block, NodeId& at) {
  const bool module = block == 0;
  std::optional<Columns> first, owner;
  if (module) first = Columns{};
  else owner = columns_of(tree_.text(), tree_[t_.parent(block)].begin);
  NodeId n = t_.first_named(block);
  at = block;
  if (n == kNoNode && !module) return "a block is empty";
  for (; n != kNoNode; n = t_.next_named(n)) {
    at = n;
    auto here = columns_of(tree_.text(), tree_[n].begin);
    if (!here) continue;
    if (!first && owner && !here->inside(*owner)) return "a block is not indented";
    if (!first) first = here;
    else if (*here != *first) return "a line is indented as none around it";
  }
  return {};
}

void Analyser::check_whole() {
  std::vector<NodeId> functions;  // that are open
  for (NodeId n = 0; n < tree_.size(); ++n) {
    NodeId where = n;
    while (!functions.empty() && n >= tree_.end_of(functions.back())) functions.pop_back();
    if (!tree_[n].named) continue;
    std::string_view why;
    if (n == 0) why = block_fault(n, where);   // the module
    switch (t_.kind(n)) {
      case K::kBlock:
        why = block_fault(n, where);
        break;
      case K::kDecorated:
        for (NodeId c = t_.first_named(n); c != kNoNode && why.empty(); c = t_.next_named(c))
          if (auto here = columns_of(tree_.text(), tree_[c].begin), owner = columns_of(tree_.text(), tree_[n].begin); here && owner && *here != *owner)
            why = "a line is indented as none around it", where = c;
        break;
      case K::kTry: {
        NodeId c = t_.first_named(n);
        while (c != kNoNode && t_.kind(c) != K::kExcept && (t_.kind(c) != K::kClause || t_.text(c).starts_with("else"))) c = t_.next_named(c);
        if (c == kNoNode) why = "a try has neither except nor finally";
        break;
      }
      case K::kClause:
      case K::kExcept:
        if (auto here = columns_of(tree_.text(), tree_[n].begin), owner = columns_of(tree_.text(), tree_[t_.parent(n)].begin);
            here && owner && *here != *owner)
          why = "a line is indented as none around it";
        break;
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
      fact(FactKind::kUnreadable, cat("it is not whole python: ", why), "", where);
      return;
    }
  }
}

}  // namespace hotcell::python
