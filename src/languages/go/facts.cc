#include <algorithm>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/constant_paths.h"
#include "languages/go/facts_walk.h"

namespace hotcell {
namespace go {

void Walk::add(FactKind k, std::string name, std::string detail, NodeId at) {
  facts_.add(k, std::move(name), std::move(detail), tree_[at].begin, tree_[at].end);
}

// Comments are not code, but the compiler obeys some of them.
void Walk::look_at_comment(NodeId n) {
  std::string_view s = tree_.text(n);
  auto rest_of = [&](std::string_view prefix) { return std::string(trim(s.substr(prefix.size()))); };
  if (s.starts_with("//go:linkname")) {
    construct("linkname", rest_of("//"), n);
  } else if (s.starts_with("//go:embed ")) {
    for (std::string_view word : split(s.substr(11), ' '))
      if (word = trim(word); !word.empty()) {
        if (word.size() > 2 && (word[0] == '"' || word[0] == '`')) word = word.substr(1, word.size() - 2);
        add(FactKind::kReadPath, normal_path(word.starts_with("all:") ? word.substr(4) : word), "embed", n);
      }
  } else if (s.starts_with("//go:generate")) {
    construct("generate", rest_of("//go:generate"), n);
  } else if (s.starts_with("//go:cgo_")) {
    construct("cgo-directive", rest_of("//"), n);
  } else if (s.starts_with("//go:nosplit") || s.starts_with("//go:noescape") || s.starts_with("//go:nowritebarrier") ||
             s.starts_with("//go:systemstack") || s.starts_with("//go:uintptrescapes") ||
             s.starts_with("//go:nocheckptr") || s.starts_with("//go:norace")) {
    construct("compiler-directive", rest_of("//"), n);
  } else if (s.starts_with("//export ") && names_.contains("C")) {
    construct("cgo", rest_of("//"), n);
  }
}

void Walk::look_at_text() {
  see_bidi(tree_.text(), facts_);
}

// The grammar reads fragments as well. No compiler takes one, so what it would do is for whoever completes it to say;
// the facts that it has are given all the same.
void Walk::look_at_outline() {
  constexpr std::string_view kDeclarations[] = {"package_clause",     "import_declaration", "function_declaration",
                                                "method_declaration", "const_declaration",  "var_declaration",
                                                "type_declaration",   "empty_statement"};
  if (tree_.has_error()) return;  // which is said with its place
  std::vector<NodeId> parts = tree_.named_children(0);
  if (parts.empty() || !tree_.is(parts[0], "package_clause"))
    return add(FactKind::kUnreadable, "it is not whole go: a file begins with its package clause, and this one has none",
               "", parts.empty() ? 0 : parts[0]);
  for (NodeId n : parts)
    if (std::find(std::begin(kDeclarations), std::end(kDeclarations), tree_.kind(n)) == std::end(kDeclarations))
      return add(FactKind::kUnreadable, "it is not whole go: a statement stands outside of every function", "", n);
}

// The longest chain that still has a meaning is reported, its parts are not.
void Walk::look_at_name(NodeId n) {
  if (declares_[n]) return;
  NodeId p = tree_.parent(n);
  if (kind(p) == K::kSelector && tree_.child_by_field(p, "field") == n) return;
  const Value& v = value_of(n);
  NodeId outer = n;
  while (kind(p) == K::kParenthesized) outer = p, p = tree_.parent(p);
  bool call = kind(p) == K::kCall && tree_.child_by_field(p, "function") == outer;
  // Methods of reflect.Value that hand out raw addresses, whatever the value is called.
  if (kind(n) == K::kSelector && call)
    if (NodeId field = tree_.child_by_field(n, "field");
        field != kNoNode && tree_.text(field).starts_with("Unsafe") && v.text.rfind("unsafe", 0) != 0)
      construct("unsafe-reflect", std::string(tree_.text(field)), n);
  if (v.kind != Value::kPath) return;
  if (v.text.find('.', v.text.rfind('/') == std::string::npos ? 0 : v.text.rfind('/')) == std::string::npos)
    return;  // a package alone
  if (kind(p) == K::kSelector && tree_.child_by_field(p, "operand") == outer && value_of(p).kind == Value::kPath)
    return;
  for (Import& i : imports_)
    if (v.text.starts_with(i.path) && v.text.size() > i.path.size() && v.text[i.path.size()] == '.') {
      std::string_view rest = std::string_view(v.text).substr(i.path.size() + 1);
      // SIGTERM, ENOENT, Errno, Stdin: names for numbers, which servers need to end in good order.
      bool constant = rest.starts_with("SIG") || rest.starts_with("Signal") || rest.starts_with("Errno") ||
                      rest.starts_with("Std") ||
                      (rest.size() > 2 && rest[0] == 'E' && rest[1] >= 'A' && rest[1] <= 'Z');
      i.used = true;
      i.used_freely |= !constant;
    }
  std::string role = kind(n) == K::kQualifiedType ? "type" : call ? "call" : "reference";
  if (++uses_[cat(v.text, " ", role)] > 64) return;
  add(FactKind::kUse, v.text, role, n);
}

void Walk::imports() {
  for (const Import& i : imports_) {
    add(FactKind::kImport, i.path, i.used && !i.used_freely ? "constants" : "whole", i.node);
    if (i.path != "C") continue;
    // What stands right before it is C, which goes to the C compiler.
    NodeId declaration = tree_.parent(i.node);
    while (declaration != kNoNode && kind(tree_.parent(declaration)) != K::kSource)
      declaration = tree_.parent(declaration);
    construct("cgo", "import \"C\"", i.node);
    for (NodeId c = tree_.first_child(0); c != kNoNode && c != declaration; c = tree_.next_sibling(c))
      if (kind(c) == K::kComment && tree_.text(c).find("#cgo") != std::string_view::npos)
        construct("cgo-directive", "#cgo", c);
  }
}

std::vector<Fact> Walk::run() {
  look_at_text();
  if (tree_.size() == 0) return {};
  look_at_outline();
  collect();
  for (NodeId n = tree_.size(); n-- > 0;) {
    switch (kind(n)) {
      case K::kIdentifier:
      case K::kSelector:
      case K::kQualifiedType:
        look_at_name(n);
        break;
      case K::kCall:
        look_at_call(n);
        break;
      case K::kComment:
        look_at_comment(n);
        break;
      case K::kFunction:
      case K::kMethod:
        if (tree_.child_by_field(n, "body") == kNoNode) construct("assembly-stub", "a function without a body", n);
        break;
      default:
        break;
    }
  }
  imports();
  if (folded_ > kFoldBudget) add(FactKind::kUnreadable, "its constants are more than can be put together", "", 0);
  std::vector<Fact> facts = facts_.take();
  std::stable_sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.begin < b.begin; });
  return facts;
}

}  // namespace go

std::vector<Fact> go_facts(const SyntaxTree& tree) { return go::Walk(tree).run(); }

}  // namespace hotcell
