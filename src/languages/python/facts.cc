// The walk itself: imports, names, members, loops. Calls are in facts_calls.cc and facts_files.cc.
#include <algorithm>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/python/facts_modules.h"
#include "languages/python/facts_walk.h"

namespace hotcell {

std::vector<Fact> python_facts(const SyntaxTree& tree) {
  python::Analyser first(tree, 0);
  auto facts = first.run();
  if (first.brought().empty()) return facts;
  // exec("import os") binds a name of the source: it is read once more as if it had that line itself.
  auto longer = parse_source(Grammar::kPython, cat(tree.text(), "\n", first.brought()));
  if (!longer.ok() || longer.value().has_error()) return facts;
  facts = python::Analyser(longer.value(), 0).run();
  std::erase_if(facts, [&](const Fact& f) { return f.begin >= tree.text().size(); });
  return facts;
}

namespace python {
namespace {

constexpr int kMostRepeats = 50;

// Builtins that are worth a fact; print and len are not.
bool is_telling_builtin(std::string_view name) {
  static constexpr std::string_view names[] = {"eval",    "exec",    "compile", "__import__", "open",
                                               "getattr", "setattr", "delattr", "breakpoint", "globals",
                                               "locals",  "vars",    "execfile"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_own_prefix(std::string_view text) {
  return text.starts_with("str.") || text.starts_with("list.") || text.starts_with("dict.") || text.starts_with("int.");
}

}  // namespace

Analyser::Analyser(const SyntaxTree& tree, int depth) : tree_(tree), t_(tree), s_(t_), e_(t_, s_), depth_(depth) {}

void Analyser::fact(FactKind kind, std::string name, std::string detail, NodeId at) {
  std::string key = cat(static_cast<int>(kind), name, '\0', detail);
  if (++seen_[std::move(key)] > kMostRepeats) return;
  facts_.add(kind, std::move(name), std::move(detail), tree_[at].begin, tree_[at].end);
}

std::vector<Fact> Analyser::run() {
  if (tree_.size() == 0) return {};
  check_text();
  if (depth_ == 0) check_whole();
  if (NodeId hints = s_.find_name("get_type_hints"); hints != kNoName) evaluates_annotations_ = true;
  if (s_.find_name("ForwardRef") != kNoName || s_.find_name("_evaluate") != kNoName ||
      s_.find_name("get_annotations") != kNoName)
    evaluates_annotations_ = true;
  runs_examples_ = s_.find_name("doctest") != kNoName;
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (!loops_.empty()) close_loops(n);
    if (tree_[n].named) visit(n);
    if (e_.exhausted()) {
      fact(FactKind::kUnreadable, "too entangled to be followed", "", n);
      break;
    }
  }
  close_loops(tree_.size());
  report_handed_on();
  // The names of a walk, kept as texts, beside a getattr whose name is computed: together they are the walk.
  for (const auto& [text, at] : dunder_texts_) construct(dynamic_getattr_ ? "dunder-walk" : "dunder-string", text, at);
  return facts_.take();
}

void Analyser::visit(NodeId n) {
  resources(n);
  quality(n);
  declared(n);
  switch (t_.kind(n)) {
    case K::kImport:
      on_import(n);
      break;
    case K::kImportFrom:
      on_import_from(n);
      break;
    case K::kIdentifier:
      on_identifier(n);
      break;
    case K::kAttribute:
      on_attribute(n);
      break;
    case K::kSubscript:
      on_subscript(n);
      break;
    case K::kCall:
      on_call(n);
      break;
    case K::kString:
      on_string(n);
      break;
    case K::kConcatenated:
      if (auto text = e_.constant(n)) check_format(*text, n);
      break;
    case K::kKeywordPattern:
      on_pattern(n);
      break;
    case K::kWhile: {
      NodeId condition = t_.field(n, "condition");
      K kind = t_.kind(condition);
      bool always = kind == K::kTrue || (kind == K::kInteger && t_.text(condition) != "0");
      if (tree_.kind(condition) == "not_operator") {  // not False
        K inner = t_.kind(t_.first_named(condition));
        always = inner == K::kFalse || inner == K::kNone;
      }
      if (kind == K::kComparison && t_.text(condition).starts_with("len(")) {  // len(x) >= 0
        std::string_view end = t_.text(condition);
        always = end.ends_with(">= 0") || end.ends_with("> -1");
      }
      if (always) loops_.push_back(n);
      break;
    }
    case K::kBreak:
    case K::kReturn:
    case K::kRaise:
    case K::kYield:
    case K::kAwait:
      last_exit_ = n;
      break;
    case K::kExecStatement:
      construct("dynamic-code", "exec", n);
      break;
    case K::kPair: {
      // logging.config and its like call what stands under "()".
      NodeId key = t_.field(n, "key"), value = t_.field(n, "value");
      if (t_.kind(key) == K::kString && t_.text(key).size() == 4 && t_.text(key).substr(1, 2) == "()")
        if (auto dotted = e_.constant(value)) fact(FactKind::kUse, *dotted, "reference", n);
      break;
    }
    default:
      break;
  }
}

void Analyser::close_loops(NodeId n) {
  while (!loops_.empty() && n >= tree_.end_of(loops_.back())) {
    NodeId loop = loops_.back();
    loops_.pop_back();
    if (last_spawn_ > loop)
      construct("fork-bomb", "starts processes without end", loop);
    else if (last_exit_ < loop)
      construct("endless-loop", "while True", loop);
  }
}

void Analyser::report_through(NodeId at, std::string_view holder, std::string_view name) {
  construct("module-through-module", cat(holder, ".", name), at);
}

void Analyser::on_import(NodeId n) {
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
    NodeId dotted = t_.kind(c) == K::kAliased ? t_.field(c, "name") : c;
    if (t_.kind(dotted) != K::kDotted) continue;
    std::string name, holder;
    for (NodeId part = t_.first_named(dotted); part != kNoNode; part = t_.next_named(part)) {
      std::string piece = t_.name(part);
      if (!name.empty()) {
        if (!module_through(name, piece).empty()) report_through(part, name, piece);
        name += '.';
      }
      name += piece;
    }
    imported_.insert(name.substr(0, name.find('.')));
    fact(FactKind::kImport, name, is_package(name) ? "package" : "", c);
  }
}

void Analyser::on_import_from(NodeId n) {
  NodeId module = t_.field(n, "module_name");
  if (t_.kind(module) == K::kRelative) {
    fact(FactKind::kImport, std::string(t_.text(module)), "relative", n);
    return;
  }
  std::string dotted;
  for (NodeId part = t_.first_named(module); part != kNoNode; part = t_.next_named(part))
    dotted += (dotted.empty() ? "" : ".") + t_.name(part);
  if (dotted.empty()) return;
  imported_.insert(dotted.substr(0, dotted.find('.')));
  fact(FactKind::kImport, dotted, is_package(dotted) ? "package" : "", module);
  std::string canonical = canonical_module(dotted);
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
    if (c == module) continue;
    if (t_.kind(c) == K::kWildcard) {
      construct("star-import", dotted, c);
      continue;
    }
    NodeId name_node = t_.kind(c) == K::kAliased ? t_.field(c, "name") : c;
    if (t_.kind(name_node) != K::kDotted) continue;
    std::string name = t_.name(t_.first_named(name_node));
    if (std::string through = module_through(canonical, name); !through.empty()) {
      fact(FactKind::kImport, through, "through " + dotted, c);
      report_through(c, dotted, name);
    } else {
      if (is_submodule(canonical, name)) fact(FactKind::kImport, canonical + "." + name, "", c);
      if (!only_asks(name_value(canonical + "." + name), c))
        fact(FactKind::kUse, canonical + "." + name, "reference", c);
    }
    if (is_hard_dunder(name) && name != "__import__") construct("dunder-walk", name, c);
  }
}

void Analyser::report_name(const Value& v, NodeId at, std::string_view detail) {
  if (!v.is(Kind::kName) || is_own_prefix(v.text)) return;
  if (v.text.starts_with("builtins.")) {
    std::string_view name = std::string_view(v.text).substr(9);
    // A bare builtin is everyday; the same one taken out of the builtins module is not.
    bool bare = t_.kind(at) == K::kIdentifier ||
                (t_.kind(at) == K::kCall && t_.kind(t_.field(at, "function")) == K::kIdentifier);
    if (bare && !is_telling_builtin(name)) return;
    if (name.find('.') != std::string_view::npos && !is_telling_builtin(name.substr(0, name.find('.')))) return;
  }
  fact(FactKind::kUse, v.text, std::string(detail), at);
}

void Analyser::on_identifier(NodeId n) {
  NodeId parent = t_.parent(n);
  std::string_view field = tree_.field(n);
  K kind = t_.kind(parent);
  if (field == "attribute" || kind == K::kDotted || kind == K::kGlobal || kind == K::kNonlocal ||
      kind == K::kKeywordPattern ||
      (field == "name" && (kind == K::kKeywordArgument || kind == K::kFunction || kind == K::kClass)) ||
      (kind == K::kAliased && field == "alias"))
    return;
  NameId name = s_.name_of(n);
  std::uint32_t bound = s_.lookup(s_.scope_of(n), name);
  const std::string& spelling = s_.spelling(name);
  if (bound == ~0u) {
    if (spelling == "__builtins__" || spelling == "__loader__") construct("dunder-walk", spelling, n);
    if (spelling == "__spec__" && kind == K::kAttribute) construct("dunder-walk", spelling, n);
    if (s_.star_imports().empty() && !is_telling_builtin(spelling)) return;
  } else {
    bool imported = false, module = false;
    for (std::uint32_t at = bound; at != ~0u; at = s_.binding(at).next) {
      Binding::How how = s_.binding(at).how;
      imported = imported || how == Binding::How::kFrom;
      module = module || how == Binding::How::kImportTop || how == Binding::How::kImportAs;
    }
    if (module && !(field == "object" && kind == K::kAttribute))
      for (const Value& v : eval(n)) module_handed_on(n, v);
    if (namespaces_ && !imported && !module) namespace_handed_on(n);
    if (!imported) return;
  }
  if (field == "function" && kind == K::kCall) return;  // on_call says it with more detail
  if (field == "object" && kind == K::kAttribute) return;
  if (bound == ~0u && spelling == "open" && kind != K::kAssignment) return;
  for (const Value& v : eval(n))
    if (!only_asks(v, n)) report_name(v, n, "reference");
}

// isinstance(f, types.FunctionType) asks, it builds nothing.
bool Analyser::only_asks(const Value& v, NodeId n) const {
  if (!v.is(Kind::kName) ||
      (v.text != "types.FunctionType" && v.text != "types.LambdaType" && v.text != "types.CodeType"))
    return false;
  NodeId up = t_.parent(n);
  if (t_.kind(up) == K::kTuple) up = t_.parent(up);
  if (t_.kind(up) == K::kComparison || t_.kind(up) == K::kType || t_.kind(up) == K::kImportFrom) return true;
  if (t_.kind(up) != K::kArguments) return false;
  std::string_view called = t_.text(t_.field(t_.parent(up), "function"));
  return (called == "isinstance" || called == "issubclass") &&
         s_.lookup(s_.scope_of(up), s_.name_of(t_.field(t_.parent(up), "function"))) == ~0u;
}

void Analyser::on_attribute(NodeId n) {
  NodeId object = t_.field(n, "object"), attribute = t_.field(n, "attribute");
  if (object == kNoNode || attribute == kNoNode) return;
  const std::string name = s_.name_of(attribute) == kNoName ? t_.name(attribute) : s_.spelling(s_.name_of(attribute));
  Dunder dunder = judge_dunder(n, name);
  if (dunder == Dunder::kWalk) construct("dunder-walk", name, attribute);
  if (dunder == Dunder::kMild) construct("dunder-attribute", name, attribute);
  Values objects = eval(object);
  for (const Value& v : objects)
    if (v.is(Kind::kName) && !module_through(v.text, name).empty()) report_through(n, v.text, name);
  NodeId parent = t_.parent(n);
  bool inner = (t_.kind(parent) == K::kAttribute && tree_.field(n) == "object");
  bool called = t_.kind(parent) == K::kCall && tree_.field(n) == "function";
  called_on_unknown(n, name, objects);
  if (inner || called) return;
  if (name == "__dict__" && !namespace_of(n).empty()) {
    namespaces_ = true;
    namespace_handed_on(n);
  }
  for (const Value& v : eval(n)) {
    bool environment = v.is(Kind::kName) && (v.text == "os.environ" || v.text == "os.environb");
    if (environment) {
      // Asking for one variable is everyday, taking all of them is not.
      bool single =
          (t_.kind(parent) == K::kSubscript && tree_.field(n) == "value") || t_.kind(parent) == K::kComparison;
      if (!single) construct("environment-dump", v.text, n);
    }
    const bool taken = t_.kind(parent) == K::kSubscript || t_.kind(parent) == K::kComparison;
    if (v.is(Kind::kName) && v.text == "sys.modules" && !taken) modules_handed_on();
    if (!only_asks(v, n)) report_name(v, n, "reference");
  }
}

void Analyser::on_pattern(NodeId n) {
  NodeId keyword = t_.first_named(n);
  if (t_.kind(keyword) != K::kIdentifier) return;
  std::string name = t_.name(keyword);
  if (is_hard_dunder(name) || name == "__class__" || name == "__dict__") construct("dunder-walk", name, keyword);
  NodeId match = n;
  for (int up = 0; up < 64 && match != kNoNode && t_.kind(match) != K::kMatch; ++up) match = t_.parent(match);
  if (t_.kind(match) != K::kMatch) return;
  for (const Value& v : eval(t_.field(match, "subject"))) {
    if (!v.is(Kind::kName)) continue;
    if (!module_through(v.text, name).empty()) report_through(n, v.text, name);
    for (const Value& m : e_.member(v, name)) report_name(m, n, "reference");
  }
}

void Analyser::on_subscript(NodeId n) {
  NodeId value = t_.field(n, "value"), key = t_.field(n, "subscript");
  if (value == kNoNode || key == kNoNode || t_.kind(key) == K::kSlice) return;
  Values keys = eval(key), objects = eval(value);
  bool constant = true;
  for (const Value& k : keys) {
    constant = constant && (k.known_string() || k.is(Kind::kInt));
    if (k.known_string()) dunder_text(k.text, key);
  }
  NodeId up = t_.parent(n);
  bool set = (t_.kind(up) == K::kAssignment || t_.kind(up) == K::kAugmented) && tree_.field(n) == "left";
  for (const Value& o : objects) {
    if (o.is(Kind::kName) && o.text == "os.environ")
      for (const Value& k : keys) {
        bool changes = set || tree_.kind(up) == "delete_statement";
        if (changes || (k.known_string() && names_secret(k.text)))
          construct(changes ? "environment-change" : "environment-secret", k.known_string() ? k.text : "?", n);
      }
    bool modules = o.is(Kind::kName) && o.text == "sys.modules";
    bool names = o.is(Kind::kDictOf) || (o.is(Kind::kName) && o.text == "builtins");
    bool own_module = t_.kind(key) == K::kIdentifier && t_.text(key) == "__name__";
    if (modules && !constant && !own_module) construct("dynamic-import", "sys.modules", n);
    if (names && !constant) construct("dynamic-attribute", o.text, n);
    if (o.is(Kind::kObject) && o.text == "builtins.globals" && !constant) construct("dynamic-name", "globals()", n);
    if (modules && constant)
      for (const Value& k : keys)
        if (is_stdlib(k.text.substr(0, k.text.find('.')))) report_through(n, "sys.modules", k.text);
    if (modules || names)
      for (const Value& v : eval(n)) report_name(v, n, "reference");
  }
}

void Analyser::check_text() {
  std::string_view text = tree_.text();
  for (std::size_t i = 0; (i = text.find('\r', i)) != std::string_view::npos; ++i) {
    if (i + 1 < text.size() && text[i + 1] == '\n') continue;
    fact(FactKind::kUnreadable, "a carriage return by itself ends a line for Python, and so a comment", "", 0);
    break;
  }
  if (text.find('\0') != std::string_view::npos) fact(FactKind::kUnreadable, "the source contains NUL", "", 0);
  for (std::string_view mark : {"\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
                                "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"}) {
    std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    facts_.add(FactKind::kConstruct, "bidi-control", "a mark that turns the direction of text",
               static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + mark.size()));
    break;
  }
  // PEP 263: in one of the first two lines, in a comment.
  std::string_view rest = text;
  for (int line = 0; line < 2 && depth_ == 0; ++line) {
    std::string_view here = rest.substr(0, rest.find('\n'));
    std::size_t hash = here.find('#'), at = here.find("coding");
    if (hash != std::string_view::npos && at != std::string_view::npos && at > hash && at + 6 < here.size() &&
        (here[at + 6] == ':' || here[at + 6] == '=')) {
      std::string_view name = trim(here.substr(at + 7));
      std::string plain;
      for (char c : name) {
        if (!is_word_char(c) && c != '-' && c != '.') break;
        if (c != '-' && c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
      }
      bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      bool same = plain.starts_with("utf8") || plain == "ascii" || plain == "usascii" ||
                  (ascii && (plain == "latin1" || plain == "iso88591" || plain == "cp1252" || plain == "iso885915"));
      if (!same && !plain.empty())
        fact(FactKind::kUnreadable, cat("the source declares the encoding ", printable(name), "; only UTF-8 is read"),
             "", 0);
    }
    if (here.size() == rest.size()) break;
    rest.remove_prefix(here.size() + 1);
  }
}

}  // namespace python
}  // namespace hotcell
