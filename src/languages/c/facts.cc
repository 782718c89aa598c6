// C and C++: directives from the text itself (facts_text.cc), names and calls from the tree.
#include <set>
#include <tuple>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/c/facts_directives.h"
#include "languages/c/facts_names.h"
#include "languages/c/facts_walk.h"
#include "languages/c/preprocess.h"
#include "languages/lone_return.h"

namespace hotcell::c {
namespace {

const KindTable<Kind>::Names kKinds = {
    {"identifier", Kind::kIdentifier}, {"field_identifier", Kind::kFieldIdentifier}, {"call_expression", Kind::kCall},
    {"asm", Kind::kAsm}, {"__asm__", Kind::kAsm}, {"__asm", Kind::kAsm}, {"cast_expression", Kind::kCast},
    {"declaration", Kind::kDeclaration}, {"init_declarator", Kind::kInitDeclarator},
    {"qualified_identifier", Kind::kQualified}, {"using_declaration", Kind::kUsing},
    {"namespace_alias_definition", Kind::kAlias}, {"alias_declaration", Kind::kAlias},
    {"attribute_specifier", Kind::kAttribute}, {"attribute", Kind::kAttribute}, {"string_literal", Kind::kString},
    {"concatenated_string", Kind::kConcatenated}, {"raw_string_literal", Kind::kRawString},
    {"function_definition", Kind::kFunction}, {"type_definition", Kind::kTypedef},
    {"type_identifier", Kind::kTypeIdentifier}, {"compound_statement", Kind::kCompound}, {"new_expression", Kind::kNew},
    {"assignment_expression", Kind::kAssignment}, {"parameter_declaration", Kind::kParameter},
    {"optional_parameter_declaration", Kind::kParameter}};

constexpr int kMostPlaces = 16;  // of one function that is not watched

}  // namespace

Walk::Walk(const SyntaxTree& tree, Macros& macros, FactList& facts)
    : tree_(tree), macros_(macros), facts_(facts), kinds_(kKinds) {}

void Walk::use(std::string name, std::string_view how, NodeId n) {
  std::string_view last = name;
  if (auto at = last.rfind("::"); at != std::string_view::npos) last.remove_prefix(at + 2);
  if (!reaches_out(last) && ++said_[name] > kMostPlaces) return;
  add(FactKind::kUse, std::move(name), std::string(how), n);
}

void Walk::see_identifier(NodeId n) {
  NodeId p = tree_.parent(n);
  if (p == kNoNode || tree_.is(p, "qualified_identifier") || tree_.is(p, "using_declaration")) return;
  std::string_view name = library_name(tree_.text(n));
  const Macro* macro = macros_.find(name);
  if (macro != nullptr && macro->pastes) see_macro_use(n);
  if (is_declarator(n)) return;
  if (name == "asm" || name == "__asm" || name == "_asm" || name == "__asm__") {
    add(FactKind::kConstruct, "inline-asm", std::string(name), n);
    return;
  }
  if (!reaches_out(name)) {
    if (auto it = aliases_.find(std::string(name)); it != aliases_.end()) use(resolve(name), "reference", n);
    return;
  }
  if (is_ours(name, n)) return;
  NodeId outer = p, inner = n;
  while (tree_.is(outer, "parenthesized_expression")) {
    inner = outer;
    outer = tree_.parent(outer);
    if (outer == kNoNode || inner - outer > 64) break;
  }
  bool called = tree_.is(outer, "call_expression") && tree_.field(inner) == "function";
  // std::remove of <algorithm> has three arguments, that of <cstdio> one; a call says how many itself.
  if (called || name == "remove") return;
  use(std::string(name), "reference", n);
}

void Walk::see_qualified(NodeId n) {
  NodeId p = tree_.parent(n);
  if (tree_.is(p, "qualified_identifier")) return;
  if (tree_.is(p, "call_expression") && tree_.field(n) == "function") return;  // see_call
  if (tree_.field(n) == "declarator" || tree_.is(p, "function_declarator")) return;
  std::string name = resolve(tree_.text(n));
  if (name != "std::remove") use(std::move(name), "reference", n);
}

void Walk::see_using(NodeId n) {
  NodeId last = kNoNode;
  for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c))
    if (tree_[c].named) last = c;
  if (last == kNoNode || tree_.text(last).size() > 256) return;
  std::string name = resolve(tree_.text(last));
  if (tree_.child_by_kind(n, "namespace") != kNoNode) {
    if (opened_.size() < 64) opened_.push_back(name);
    return;
  }
  if (auto at = name.rfind("::"); at != std::string::npos && name != "std::remove") {
    aliases_[name.substr(at + 2)] = name;
    use(name, "reference", last);
  }
}

void Walk::see_asm(NodeId n) {
  NodeId p = tree_.parent(n);
  std::string code;
  if (tree_.is(p, "gnu_asm_expression"))
    if (auto value = constant(tree_.child_by_field(p, "assembly_code"))) code = *value;
  add(FactKind::kConstruct, "inline-asm", code.empty() ? std::string(tree_.text(n)) : code, n);
  see_assembler(code, facts_, tree_[n].begin, tree_[n].end);
}

// Bytes that are called: (void(*)())code, reinterpret_cast<fn>(code), a string cast to a function.
void Walk::see_cast(NodeId n, NodeId type, NodeId value) {
  if (type == kNoNode || value == kNoNode) return;
  bool function = mentions(type, "abstract_function_declarator");
  for (NodeId c = type; !function && c < tree_.end_of(type) && c < type + 16; ++c)
    function = kind(c) == Kind::kTypeIdentifier && function_types_.contains(tree_.text(c));
  if (!function) return;
  for (NodeId c = value; c < tree_.end_of(value) && c < value + 64; ++c) {
    bool bytes = kind(c) == Kind::kIdentifier && byte_arrays_.contains(tree_.text(c));
    if (bytes || kind(c) == Kind::kString) {
      add(FactKind::kConstruct, "code-array", std::string(tree_.text(n).substr(0, 80)), n);
      return;
    }
  }
}

void Walk::see_declaration(NodeId n) {  // an init_declarator
  NodeId declarator = tree_.child_by_field(n, "declarator"), value = tree_.child_by_field(n, "value");
  NodeId holder = tree_.parent(n), name = declarator;
  bool array = false, function = false;
  for (int i = 0; i < 16 && name != kNoNode && kind(name) != Kind::kIdentifier; ++i) {
    array |= tree_.is(name, "array_declarator");
    function |= tree_.is(name, "function_declarator");
    NodeId inner = tree_.child_by_field(name, "declarator");
    if (inner == kNoNode)
      for (NodeId c = tree_.first_child(name); c != kNoNode && inner == kNoNode; c = tree_.next_sibling(c))
        if (tree_[c].named) inner = c;
    name = inner;
  }
  if (name == kNoNode || value == kNoNode || holder == kNoNode) return;
  std::string_view text = tree_.text(name);
  constants_.set(text, constant(value));
  NodeId type = tree_.child_by_field(holder, "type");
  if (array) {
    byte_arrays_.insert(text);
    if (text == "main" || text == "_start") add(FactKind::kConstruct, "code-array", std::string(text), n);
  }
  if (function && kind(value) != Kind::kIdentifier)
    for (NodeId c = value; c < tree_.end_of(value) && c < value + 64; ++c)
      if (kind(c) == Kind::kIdentifier && byte_arrays_.contains(tree_.text(c)) && kind(value) == Kind::kCast)
        add(FactKind::kConstruct, "code-array", std::string(tree_.text(n).substr(0, 80)), n);
  if (type != kNoNode && tree_.text(type).size() < 256) see_stream(resolve(tree_.text(type)), value, n);
}

void Walk::see_attribute(NodeId n) {
  std::string words;
  for (NodeId c = n; c < tree_.end_of(n) && c < n + 128; ++c) {
    if (kind(c) != Kind::kIdentifier) continue;
    std::string_view name = tree_.text(c);
    while (name.starts_with('_')) name.remove_prefix(1);
    while (name.ends_with('_')) name.remove_suffix(1);
    if (name == "constructor" || name == "destructor") add(FactKind::kConstruct, "constructor", std::string(name), c);
    if (name == "section" || name == "alias" || name == "ifunc" || name == "weakref") {
      std::string detail(name);
      for (NodeId s = c; s < tree_.end_of(n) && s < c + 8; ++s)
        if (kind(s) == Kind::kString) {
          auto value = constant(s);
          detail += cat(" ", value ? *value : "");
          if (value && reaches_out(*value)) use(*value, "symbol alias", s);
          break;
        }
      add(FactKind::kConstruct, name == "section" ? "section" : "symbol-alias", detail, c);
    }
  }
}

// Call<system>: the grammar takes an argument of a template for a type.
void Walk::see_type_name(NodeId n) {
  std::string_view name = tree_.text(n);
  if (!reaches_out(name)) return;
  NodeId p = tree_.parent(n);
  if (!tree_.is(p, "type_descriptor")) {
    own_types_.insert(name);  // struct link { … }; template <class link>
    return;
  }
  if (tree_.is(tree_.parent(p), "template_argument_list") && !own_types_.contains(name) && !is_ours(name, n))
    use(std::string(name), "reference", n);
}

// Names made by ##: the tokens from here on are expanded and looked through.
void Walk::see_macro_use(NodeId n) {
  if (NodeId p = tree_.parent(n); p != kNoNode && tree_.kind(p).starts_with("preproc_")) return;
  std::string_view rest = tree_.text().substr(tree_[n].begin, 1024);
  rest = rest.substr(0, rest.find_first_of(";{}#"));
  std::string_view before, earlier;  // x.fork and x->fork are members
  for (const Token& t : macros_.expand(tokens_of(rest, 256))) {
    bool member = before == "." || (before == ">" && earlier == "-");
    earlier = before;
    before = t.kind == TokenKind::kWord ? "" : t.text == "." ? "." : t.text == "-" ? "-" : t.text == ">" ? ">" : "";
    if (member) continue;
    if (t.kind == TokenKind::kWord && reaches_out(t.text)) use(t.text, "made by a macro", n);
    else if (t.text == "asm" || t.text == "__asm__") add(FactKind::kConstruct, "inline-asm", "made by a macro", n);
  }
}

// import "file"; and import <header>; as the grammar reads them.
void Walk::see_import(NodeId n) {
  NodeId first = tree_.first_child(n);
  if (first == kNoNode || tree_.text(first) != "import") return;
  NodeId file = tree_.child_by_kind(n, "string_literal");
  if (auto path = file != kNoNode ? constant(file) : std::nullopt) {
    add(FactKind::kImport, *path, "import", n);
    see_included(*path, "import", facts_, tree_[n].begin, tree_[n].end);
  }
}

void Walk::run() {
  collect_declarations();
  for (NodeId n = 0; n < tree_.size(); ++n) {
    switch (kind(n)) {
      case Kind::kIdentifier: see_identifier(n); break;
      case Kind::kQualified: see_qualified(n); break;
      case Kind::kUsing: see_using(n); break;
      case Kind::kTypeIdentifier: see_type_name(n); break;
      case Kind::kCall: see_call(n); break;
      case Kind::kAsm: see_asm(n); break;
      case Kind::kCast: see_cast(n, tree_.child_by_field(n, "type"), tree_.child_by_field(n, "value")); break;
      case Kind::kInitDeclarator: see_declaration(n); break;
      case Kind::kAttribute: see_attribute(n); break;
      case Kind::kConcatenated: see_import(n); break;
      case Kind::kAssignment: {  // a name that had no value; what it had before may still be meant
        NodeId left = tree_.child_by_field(n, "left"), right = tree_.child_by_field(n, "right");
        if (left == kNoNode || right == kNoNode || kind(left) != Kind::kIdentifier || constants_.has(tree_.text(left))) break;
        if (tree_.text(tree_.child_by_field(n, "operator")) == "=") constants_.set(tree_.text(left), constant(right));
        break;
      }
      case Kind::kParameter: {  // another thing than the variable of that name elsewhere
        NodeId name = tree_.child_by_field(n, "declarator");
        for (int i = 0; i < 8 && name != kNoNode && kind(name) != Kind::kIdentifier; ++i) {
          auto inside = tree_.named_children(name);
          name = inside.empty() ? kNoNode : inside.back();
        }
        if (name != kNoNode) constants_.set(tree_.text(name), std::nullopt);
        break;
      }
      case Kind::kDeclaration: {  // std::ofstream f; kept for f.open("…")
        NodeId type = tree_.child_by_field(n, "type"), name = tree_.child_by_field(n, "declarator");
        if (type != kNoNode && name != kNoNode && kind(name) == Kind::kIdentifier && tree_.text(type).ends_with("stream"))
          streams_[tree_.text(name)] = tree_.text(type);
        // std::ofstream f(path); reads like the declaration of a function.
        if (type != kNoNode && name != kNoNode && tree_.is(name, "function_declarator") && tree_.text(type).ends_with("stream")) {
          auto given = tree_.named_children(tree_.child_by_field(name, "parameters"));
          auto value = given.empty() ? std::nullopt : constants_.get(tree_.text(given[0]));
          std::string normal = value ? normalise_path(*value) : "";
          if (value && leaves_work_folder(normal))
            add(tree_.text(type).ends_with("ifstream") ? FactKind::kReadPath : FactKind::kWritePath, normal, "", n);
        }
        break;
      }
      default: break;
    }
  }
}

}  // namespace hotcell::c

namespace hotcell {
namespace {

// Trees do not name their grammar; the number of their root's kind tells the two apart.
bool parses_as_cpp(const SyntaxTree& tree) {
  auto empty = parse_source(Grammar::kCpp, "");
  return empty.ok() && empty.value().size() > 0 && tree.size() > 0 && empty.value()[0].kind == tree[0].kind;
}

class Facts {  // what stands in several texts counts once
 public:
  Facts() = default;
  explicit Facts(const std::vector<Fact>& facts) {
    for (const Fact& f : facts) is_new(f);
  }
  bool is_new(const Fact& f) { return seen_.emplace(f.kind, f.begin, f.name, f.detail).second; }

 private:
  std::set<std::tuple<FactKind, std::uint32_t, std::string, std::string>> seen_;
};

void see_pragmas(const std::vector<c::Pragma>& pragmas, FactList& facts) {
  for (const c::Pragma& p : pragmas) c::see_pragma({"pragma", p.text, p.at, p.at + 1}, facts);
}

// What stands there, and what the preprocessor makes of it where that may be something else.
std::vector<Fact> with_macros_replaced(std::vector<Fact> facts, MappedText& text, const c::Scan& scan, bool cpp) {
  using namespace c;
  constexpr std::size_t kMostTexts = 64;
  if (scan.has_digraph) replace_digraphs(text);
  std::vector<Pragma> pragmas;
  auto texts = preprocessed(text, cpp, &pragmas, kMostTexts);
  FactList more;
  if (!texts) {
    more.add(FactKind::kConstruct, "macros-not-followed", "too many conditions or too much to replace", 0, 0);
    texts.emplace();
  }
  Facts seen(facts);
  Macros none;
  for (MappedText& each : *texts) {
    auto parsed = parse_source(cpp ? Grammar::kCpp : Grammar::kC, each.text);
    if (!parsed.ok()) continue;
    FactList inner;
    Walk(parsed.value(), none, inner).run();
    inner.move_origins(each);
    for (Fact& f : inner.take())
      if (seen.is_new(f)) more.add(f.kind, std::move(f.name), std::move(f.detail), f.begin, f.end);
  }
  see_pragmas(pragmas, more);
  for (Fact& f : more.take()) facts.push_back(std::move(f));
  return facts;
}

}  // namespace

std::vector<Fact> c_facts(const SyntaxTree& tree) {
  using namespace c;
  FactList facts;
  bool joins_token = false;
  MappedText text = join_lines(tree.text(), joins_token);
  Scan scan = scan_text(text.text);
  // What the grammar cannot see as it stands is parsed again the way the compiler reads it.
  bool again = joins_token || (scan.has_digraph && tree.has_error());
  if (again && scan.has_digraph) {
    replace_digraphs(text);
    scan = scan_text(text.text);
  }
  Macros macros;
  see_bidi(text.text, facts);
  see_directives(scan, macros, facts);
  facts.move_origins(text);
  see_lone_return(tree.text(), facts);
  if (!again) {
    Walk(tree, macros, facts).run();
    if (!changes_by_macros(scan, text.text)) return facts.take();
    return with_macros_replaced(facts.take(), text, scan, parses_as_cpp(tree));
  }
  auto joined = parse_source(parses_as_cpp(tree) ? Grammar::kCpp : Grammar::kC, text.text);
  if (!joined.ok()) {
    facts.add(FactKind::kUnreadable, "lines are joined in a way that cannot be followed", "", 0, 0);
    return facts.take();
  }
  FactList inner;
  Walk(joined.value(), macros, inner).run();
  inner.move_origins(text);
  for (Fact& f : inner.take()) facts.add(f.kind, std::move(f.name), std::move(f.detail), f.begin, f.end);
  if (joined.value().has_error())
    facts.add(FactKind::kUnreadable, "lines are joined in a way that cannot be followed", "", 0, 0);
  return facts.take();
}

std::optional<std::vector<Fact>> c_facts_preprocessed(const SyntaxTree& tree) {
  using namespace c;
  FactList facts;
  bool joins_token = false;
  MappedText text = join_lines(tree.text(), joins_token);
  Scan scan = scan_text(text.text);
  if (scan.has_digraph) {
    replace_digraphs(text);
    scan = scan_text(text.text);
  }
  const bool cpp = parses_as_cpp(tree);
  std::vector<Pragma> pragmas;
  auto texts = preprocessed(text, cpp, &pragmas);
  if (!texts) return std::nullopt;
  Macros macros, none;
  see_bidi(text.text, facts);
  see_directives(scan, macros, facts);
  facts.move_origins(text);
  see_lone_return(tree.text(), facts);
  Facts seen;
  for (MappedText& each : *texts) {
    auto parsed = parse_source(cpp ? Grammar::kCpp : Grammar::kC, each.text);
    if (!parsed.ok() || parsed.value().has_error()) return std::nullopt;
    FactList inner;
    Walk(parsed.value(), none, inner).run();
    inner.move_origins(each);
    for (Fact& f : inner.take())
      if (seen.is_new(f))
        facts.add(f.kind, std::move(f.name), std::move(f.detail), f.begin, f.end);
  }
  see_pragmas(pragmas, facts);
  return facts.take();
}

}  // namespace hotcell
