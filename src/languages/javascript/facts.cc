#include <algorithm>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/javascript/facts_walk.h"

namespace hotcell {
namespace javascript {
namespace {

bool one_of(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

bool takes_callback(std::string_view method) {
  return one_of(method, {"map", "forEach", "filter", "reduce", "flatMap", "find", "some", "every", "then", "replace",
                         "apply", "call", "construct", "bind", "sort", "setTimeout", "setInterval", "setImmediate",
                         "nextTick", "queueMicrotask", "from"});
}

}  // namespace

bool is_telling_name(std::string_view name) {
  return one_of(name, {"eval",
                       "Function",
                       "constructor",
                       "require",
                       "process",
                       "mainModule",
                       "child_process",
                       "exec",
                       "execSync",
                       "execFile",
                       "execFileSync",
                       "spawn",
                       "spawnSync",
                       "fork",
                       "binding",
                       "_linkedBinding",
                       "dlopen",
                       "_load",
                       "__proto__",
                       "getBuiltinModule",
                       "globalThis",
                       "node:child_process",
                       "vm",
                       "node:vm",
                       "unlinkSync",
                       "rmSync",
                       "runInNewContext",
                       "runInThisContext",
                       "kill"});
}

void Walk::add(FactKind kind, std::string name, std::string detail, NodeId at) {
  facts_.add(kind, std::move(name), std::move(detail), tree()[at].begin, tree()[at].end);
}

NodeId Walk::outermost(NodeId n) const {
  for (NodeId p = tree().parent(n); p != kNoNode; p = tree().parent(n)) {
    K k = model_.kind(p);
    bool last = k == K::kSequence && tree().end_of(n) == tree().end_of(p);
    if (k != K::kParenthesized && k != K::kCast && k != K::kAwait && !last) break;
    n = p;
  }
  return n;
}

std::string Walk::role_of(NodeId n) {
  n = outermost(n);
  NodeId p = tree().parent(n);
  if (p == kNoNode) return "reference";
  if (tree().is(p, "class_heritage") || tree().is(p, "extends_clause")) return "extended";
  switch (model_.kind(p)) {
    case K::kCall:
      return model_.callee_of(p) == n ? "call" : "reference";
    case K::kNew:
      return model_.callee_of(p) == n ? "new" : "reference";
    case K::kAssignment:
    case K::kAugmented:
      return tree().child_by_field(p, "left") == n ? "assign" : "reference";
    case K::kUnary: {
      std::string_view op = tree().text(tree().child_by_field(p, "operator"));
      return op == "typeof" || op == "delete" ? std::string(op) : "reference";
    }
    case K::kBinary:
      return tree().text(tree().child_by_field(p, "operator")) == "instanceof" ? "instanceof" : "reference";
    case K::kVariableDeclarator: {
      NodeId name = tree().child_by_field(p, "name");
      return model_.kind(name) == K::kObjectPattern && tree().child_by_kind(name, "rest_pattern") == kNoNode
                 ? "destructured"
                 : "reference";
    }
    case K::kArguments: {
      NodeId callee = model_.inside(model_.callee_of(tree().parent(p)));
      std::string_view name;
      if (model_.kind(callee) == K::kMember) name = tree().text(tree().child_by_field(callee, "property"));
      else if (model_.kind(callee) == K::kIdentifier) name = tree().text(callee);
      return takes_callback(name) ? "passed" : "argument";
    }
    default:
      return "reference";
  }
}

// Names and members alike: the longest chain that still has a meaning is reported, its parts are not.
void Walk::look_at_name(NodeId n) {
  if (model_.is_declaration(n)) return;
  NodeId p = tree().parent(n);
  if (model_.kind(p) == K::kJsxName || tree().is(p, "import_specifier")) return;
  const Value& v = model_.value_of(n);
  if (v.kind != Value::kPath || v.text.empty()) return;
  NodeId outer = outermost(n);
  p = tree().parent(outer);
  if ((model_.kind(p) == K::kMember || model_.kind(p) == K::kSubscript) &&
      tree().child_by_field(p, "object") == outer && model_.value_of(p).kind == Value::kPath)
    return;
  std::string name = v.text, role = role_of(n);
  for (std::string_view suffix : {".call", ".apply", ".bind"})
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      if (role != "call") role = "reference";
    }
  if (name == "?.constructor.prototype" || name.starts_with("?.constructor.prototype.")) {
    if (role == "assign") construct("prototype-change", "constructor.prototype", n);
    return;
  }
  if (name[0] == '?' || name[0] == '.' || name[0] == '/' || name[0] == '=' || name == "undefined") return;
  if (++uses_[cat(name, " ", role)] > 64) return;
  add(FactKind::kUse, std::move(name), std::move(role), n);
}

void Walk::look_at_member(NodeId n) {
  Model::Key k = model_.key_of(n);
  NodeId object = tree().child_by_field(n, "object");
  const Value& o = model_.value_of(object);
  if (k.kind == Model::Key::kText) {
    if (k.folded && is_telling_name(k.text)) construct("hidden-name", k.text, n);
    if (k.text == "mainModule") add(FactKind::kUse, "process.mainModule", "reference", n);
    if (k.text == "__proto__") {
      NodeId outer = outermost(n), p = tree().parent(outer);
      bool through = (model_.kind(p) == K::kMember || model_.kind(p) == K::kSubscript) && role_of(p) == "assign";
      construct(through ? "prototype-pollution" : "proto-access", "__proto__", n);
    }
  } else if (k.kind == Model::Key::kUnknown && model_.kind(n) == K::kSubscript && o.kind == Value::kPath &&
             one_of(o.text,
                    {"process", "globalThis", "require", "module", "Module", "vm", "child_process", "Reflect"})) {
    std::string role = role_of(n);
    NodeId p = tree().parent(outermost(n));
    bool chained = model_.kind(p) == K::kMember || model_.kind(p) == K::kSubscript;
    bool used = role == "call" || role == "new" || (chained && tree().child_by_field(p, "object") == outermost(n));
    construct(used || o.text != "globalThis" ? "computed-global-call" : "computed-global", o.text, n);
  }
  look_at_name(n);
}

void Walk::import(std::string_view specifier, bool folded, NodeId at) {
  if (specifier.starts_with("node:")) specifier.remove_prefix(5);
  if (folded && is_telling_name(specifier)) construct("hidden-name", std::string(specifier), at);
  if (specifier.starts_with("data:")) {
    std::size_t comma = specifier.find(',');
    std::string body(comma == specifier.npos ? "" : specifier.substr(comma + 1));
    construct("dynamic-code", "import of a data: URL", at);
    nested(specifier.substr(0, comma).ends_with(";base64") ? from_base64(body) : from_percent(body), at);
    return;
  }
  if (specifier.starts_with("http://") || specifier.starts_with("https://"))  // Deno and browsers fetch it
    add(FactKind::kHost, std::string(specifier), "", at);
  if (loaded_.size() < 4096) loaded_.emplace_back(specifier, at);
  add(FactKind::kImport, std::string(specifier), "", at);
}

void Walk::look_at_imports(NodeId n) {
  NodeId from = tree().child_by_field(n, "source");
  if (NodeId require = tree().child_by_kind(n, "import_require_clause"); require != kNoNode)
    from = tree().child_by_field(require, "source");
  if (from == kNoNode) return;
  // `import {type A, type B} from 'x'` is gone at run time.
  NodeId clause = tree().child_by_kind(n, "import_clause");
  auto parts = tree().named_children(clause);
  if (parts.size() == 1 && tree().is(parts[0], "named_imports")) {
    auto names = tree().named_children(parts[0]);
    bool types = !names.empty() && std::all_of(names.begin(), names.end(), [&](NodeId one) {
      return tree().child_by_kind(one, "type") != kNoNode;
    });
    if (types) return;
  }
  import(model_.string_of(from), tree().text(from).find('\\') != std::string_view::npos, from);
}

void Walk::look_at_script_url(NodeId n) {
  std::string_view raw = tree().text(n);
  if (raw.size() < 13 || (raw[1] != 'j' && raw[1] != 'J')) return;
  std::string s = model_.string_of(n);
  for (char& c : s) c = static_cast<char>(std::tolower(c));
  if (!s.starts_with("javascript:")) return;
  K p = model_.kind(tree().parent(n));
  if (p == K::kJsxAttribute || p == K::kAssignment || p == K::kArguments || p == K::kPair)
    construct("script-url", s, n);
}

// What no tree shows: letters that turn the text around, names nobody can see, programs of brackets only.
void Walk::look_at_text() {
  std::string_view s = tree().text();
  auto report = [&](std::string_view name, std::string_view detail, std::size_t at) {
    facts_.add(FactKind::kConstruct, std::string(name), std::string(detail), static_cast<std::uint32_t>(at),
               static_cast<std::uint32_t>(at + 1));
  };
  int shown = 0, hex_names = 0;
  std::size_t brackets = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    auto c = static_cast<unsigned char>(s[i]);
    bool bracket = c == '[' || c == ']' || c == '(' || c == ')' || c == '!' || c == '+';
    brackets = bracket ? brackets + 1 : c == '\n' || c == ' ' ? brackets : 0;
    if (brackets == 160) report("bracket-code", "code of brackets and signs only", i - 100);
    if (c == '_' && s.substr(i, 3) == "_0x" && ++hex_names == 6) report("obfuscated-names", "_0x… names", i);
    if (c != 0xe2 || i + 2 >= s.size() || shown >= 16) continue;
    auto d = static_cast<unsigned char>(s[i + 1]), e = static_cast<unsigned char>(s[i + 2]);
    bool bidi = (d == 0x80 && e >= 0xaa && e <= 0xae) || (d == 0x81 && e >= 0xa6 && e <= 0xa9);
    if (bidi) report("bidi-control", "a character that reverses the text shown", i), ++shown;
  }
}

void Walk::look(NodeId n) {
  switch (model_.kind(n)) {
    case K::kIdentifier:
    case K::kShorthand: {
      // Fillers of Hangul are letters to the language and nothing to the eye.
      std::string_view raw = tree().text(n);
      if (raw.find("\u3164") != raw.npos || raw.find("\uffa0") != raw.npos || raw.find("\u115f") != raw.npos ||
          raw.find("\u1160") != raw.npos)
        construct("invisible-name", "an invisible letter in a name", n);
      look_at_name(n);
      break;
    }
    case K::kShorthandPattern:
      if (tree().text(n).find("\u3164") != std::string_view::npos)
        construct("invisible-name", "an invisible letter in a name", n);
      break;
    case K::kMember:
    case K::kSubscript:
      look_at_member(n);
      break;
    case K::kCall:
    case K::kNew:
      look_at_call(n);
      break;
    case K::kImportStatement:
    case K::kExportStatement:
      look_at_imports(n);
      break;
    case K::kString:
      look_at_script_url(n);
      break;
    case K::kRegex:
      if (has_nested_repetition(tree().text(tree().child_by_field(n, "pattern"))))
        construct("unsafe-regex", std::string(tree().text(n).substr(0, 80)), n);
      break;
    case K::kBinary:
      look_at_comparison(n);
      break;
    case K::kAssignment:
      look_at_assignment(n);
      break;
    case K::kWith:
      construct("with", "with", n);
      break;
    case K::kDebugger:
      construct("debugger", "debugger", n);
      break;
    default:
      break;
  }
}

std::vector<Fact> Walk::run() {
  look_at_text();
  for (NodeId n = tree().size(); n-- > 0;)
    if (!model_.is_dead(n)) look(n);
  look_at_order();
  look_at_written();
  if (model_.gave_up()) add(FactKind::kUnreadable, "its constants are more than can be put together", "", 0);
  std::vector<Fact> facts = facts_.take();
  std::stable_sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.begin < b.begin; });
  return facts;
}

}  // namespace javascript

std::vector<Fact> javascript_facts(const SyntaxTree& tree) {
  int nested_left = 64;
  return javascript::Walk(tree, 0, &nested_left).run();
}

}  // namespace hotcell
