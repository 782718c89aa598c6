// Declarations: each name, its scope, and every value it is given.
#include <unordered_map>

#include "languages/javascript/facts_model.h"

namespace hotcell::javascript {
namespace {

K kind_named(std::string_view name) {
  static const std::unordered_map<std::string_view, K> table = {
      {"identifier", K::kIdentifier},
      {"shorthand_property_identifier", K::kShorthand},
      {"shorthand_property_identifier_pattern", K::kShorthandPattern},
      {"member_expression", K::kMember},
      {"nested_identifier", K::kMember},
      {"subscript_expression", K::kSubscript},
      {"call_expression", K::kCall},
      {"new_expression", K::kNew},
      {"arguments", K::kArguments},
      {"string", K::kString},
      {"template_string", K::kTemplate},
      {"template_substitution", K::kTemplateSubstitution},
      {"string_fragment", K::kStringFragment},
      {"escape_sequence", K::kEscape},
      {"number", K::kNumber},
      {"binary_expression", K::kBinary},
      {"unary_expression", K::kUnary},
      {"parenthesized_expression", K::kParenthesized},
      {"sequence_expression", K::kSequence},
      {"await_expression", K::kAwait},
      {"ternary_expression", K::kTernary},
      {"array", K::kArray},
      {"object", K::kObject},
      {"pair", K::kPair},
      {"spread_element", K::kSpread},
      {"function_expression", K::kFunction},
      {"generator_function", K::kFunction},
      {"function", K::kFunction},
      {"function_declaration", K::kFunctionDeclaration},
      {"generator_function_declaration", K::kFunctionDeclaration},
      {"arrow_function", K::kArrow},
      {"method_definition", K::kMethod},
      {"class", K::kClass},
      {"class_declaration", K::kClassDeclaration},
      {"abstract_class_declaration", K::kClassDeclaration},
      {"this", K::kThis},
      {"regex", K::kRegex},
      {"import", K::kImport},
      {"meta_property", K::kMetaProperty},
      {"variable_declarator", K::kVariableDeclarator},
      {"variable_declaration", K::kVar},
      {"lexical_declaration", K::kLet},
      {"formal_parameters", K::kFormalParameters},
      {"required_parameter", K::kParameter},
      {"optional_parameter", K::kParameter},
      {"catch_clause", K::kCatch},
      {"for_in_statement", K::kForIn},
      {"for_statement", K::kFor},
      {"statement_block", K::kBlock},
      {"class_static_block", K::kBlock},
      {"program", K::kProgram},
      {"switch_body", K::kSwitchBody},
      {"class_body", K::kClassBody},
      {"import_statement", K::kImportStatement},
      {"export_statement", K::kExportStatement},
      {"import_clause", K::kImportClause},
      {"assignment_expression", K::kAssignment},
      {"augmented_assignment_expression", K::kAugmented},
      {"update_expression", K::kUpdate},
      {"object_pattern", K::kObjectPattern},
      {"array_pattern", K::kArrayPattern},
      {"pair_pattern", K::kPairPattern},
      {"assignment_pattern", K::kAssignmentPattern},
      {"object_assignment_pattern", K::kObjectAssignmentPattern},
      {"rest_pattern", K::kRest},
      {"with_statement", K::kWith},
      {"debugger_statement", K::kDebugger},
      {"type_annotation", K::kType},
      {"type_arguments", K::kType},
      {"type_parameters", K::kType},
      {"type_alias_declaration", K::kType},
      {"interface_declaration", K::kType},
      {"asserts_annotation", K::kType},
      {"type_predicate_annotation", K::kType},
      {"implements_clause", K::kType},
      {"function_signature", K::kType},
      {"type_query", K::kType},
      {"as_expression", K::kCast},
      {"satisfies_expression", K::kCast},
      {"non_null_expression", K::kCast},
      {"type_assertion", K::kCast},
      {"return_statement", K::kReturn},
      {"computed_property_name", K::kComputed},
      {"jsx_opening_element", K::kJsxName},
      {"jsx_closing_element", K::kJsxName},
      {"jsx_self_closing_element", K::kJsxName},
      {"jsx_attribute", K::kJsxAttribute},
      {"enum_declaration", K::kEnum},
      {"internal_module", K::kNamespace},
      {"import_alias", K::kImportAlias},
      {"ambient_declaration", K::kAmbient},
      {"undefined", K::kUndefined},
      {"yield_expression", K::kYield},
  };
  auto it = table.find(name);
  return it == table.end() ? K::kOther : it->second;
}

bool is_function(K k) {
  return k == K::kFunction || k == K::kFunctionDeclaration || k == K::kArrow || k == K::kMethod;
}

}  // namespace

Model::Model(const SyntaxTree& tree) : tree_(tree) {
  values_.emplace_back();
  marks_.resize(tree.size());
  memo_.assign(tree.size(), ~ValueId{0});
  std::vector<bool> seen;
  for (NodeId n = 0; n < tree.size(); ++n) {
    std::uint16_t symbol = tree[n].kind;
    if (symbol >= seen.size()) {
      seen.resize(symbol + 1u);
      kinds_.resize(symbol + 1u, K::kOther);
    }
    if (seen[symbol]) continue;
    seen[symbol] = true;
    // "function" and "class" are keywords, too; those are not named.
    if (tree[n].named) kinds_[symbol] = kind_named(tree.kind(n));
  }
  mark_types();
  collect();
}

void Model::mark_types() {
  for (NodeId n = 0; n < tree_.size();) {
    K k = kind(n);
    bool type_import = (k == K::kImportStatement || k == K::kExportStatement) &&
                       (tree_.child_by_kind(n, "type") != kNoNode || tree_.child_by_kind(n, "typeof") != kNoNode);
    if (k != K::kType && k != K::kAmbient && !type_import) {
      ++n;
      continue;
    }
    for (NodeId end = tree_.end_of(n); n < end; ++n) marks_[n] |= kTypeOnly;
  }
}

std::string Model::name_of(NodeId n) const {
  std::string_view raw = tree_.text(n);
  return raw.find('\\') == raw.npos ? std::string(raw) : decode_string(raw);
}

std::string Model::string_of(NodeId n) const {
  std::string_view raw = tree_.text(n);
  if (kind(n) == K::kString && raw.size() >= 2) raw = raw.substr(1, raw.size() - 2);
  if (raw.size() > kMaxText) raw = raw.substr(0, kMaxText);
  return raw.find('\\') == raw.npos ? std::string(raw) : decode_string(raw);
}

std::string Model::key_text(NodeId key) {
  if (key == kNoNode) return "";
  if (kind(key) == K::kString) return string_of(key);
  if (kind(key) == K::kComputed) {
    // The names it may be made of are not all collected yet; only pure constants are read here.
    auto inner = tree_.named_children(key);
    if (inner.size() != 1) return "*";
    std::string out;
    std::vector<NodeId> open = {inner[0]};  // 'a' + 'b'
    for (int steps = 0; !open.empty(); ++steps) {
      NodeId n = open.back();
      open.pop_back();
      if (steps > 64) return "*";
      if (kind(n) == K::kString) {
        out += string_of(n);
      } else if (kind(n) == K::kBinary && tree_.text(tree_.child_by_field(n, "operator")) == "+") {
        open.push_back(tree_.child_by_field(n, "right"));
        open.push_back(tree_.child_by_field(n, "left"));
      } else {
        return "*";
      }
    }
    return out;
  }
  return name_of(key);
}

template <typename Visit>
void Model::for_each_name(NodeId pattern, const Source& source, Visit visit) {
  std::vector<std::pair<NodeId, Source>> open = {{pattern, source}};
  for (int budget = 20000; !open.empty() && budget > 0; --budget) {
    auto [n, from] = std::move(open.back());
    open.pop_back();
    if (n == kNoNode) continue;
    auto step = [&](std::string key) {
      Source inner = from;
      if (inner.steps.size() < 16) inner.steps.push_back(std::move(key));
      return inner;
    };
    switch (kind(n)) {
      case K::kIdentifier:
        visit(n, from);
        break;
      case K::kShorthandPattern:
        visit(n, step(name_of(n)));
        break;
      case K::kPairPattern:
        open.emplace_back(tree_.child_by_field(n, "value"), step(key_text(tree_.child_by_field(n, "key"))));
        break;
      case K::kAssignmentPattern:
      case K::kObjectAssignmentPattern:
        open.emplace_back(tree_.child_by_field(n, "left"), from);
        break;
      case K::kParameter:
        open.emplace_back(tree_.child_by_field(n, "pattern"), from);
        break;
      case K::kObjectPattern:
      case K::kRest:
        for (NodeId c : tree_.named_children(n)) open.emplace_back(c, from);
        break;
      case K::kArrayPattern: {
        std::size_t index = 0;
        for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
          if (tree_[c].named) open.emplace_back(c, step(std::to_string(index)));
          else if (tree_.text(c) == ",") ++index;
        }
        break;
      }
      default:
        break;
    }
  }
}

std::uint32_t Model::declare_name(NodeId identifier, NodeId scope) {
  marks_[identifier] |= kDeclares;
  std::string_view name = tree_.text(identifier);
  if (name.find('\\') != name.npos) name = decoded_.emplace_back(decode_string(name));
  std::uint32_t id = scopes_.declare(name, scope, tree_.end_of(scope));
  if (id >= bindings_.size()) bindings_.resize(id + 1u);
  return id;
}

void Model::declare(NodeId identifier, NodeId scope, Source source) {
  std::uint32_t id = declare_name(identifier, scope);
  // A parameter that is assigned somewhere, a name with many values: eight say enough.
  if (bindings_[id].sources.size() < 8) bindings_[id].sources.push_back(std::move(source));
}

void Model::declare_pattern(NodeId pattern, NodeId scope, const Source& source) {
  for_each_name(pattern, source, [&](NodeId n, Source s) { declare(n, scope, std::move(s)); });
}

void Model::declare_parameters(NodeId function) {
  if (NodeId name = tree_.child_by_field(function, "name");
      kind(function) == K::kFunction && kind(name) == K::kIdentifier)
    declare(name, function, {Source::kExpression, function, 0, {}, {}});
  std::uint32_t index = 0;
  if (NodeId one = tree_.child_by_field(function, "parameter"); one != kNoNode)
    declare_pattern(one, function, {Source::kParameter, function, 0, {}, {}});
  for (NodeId p : tree_.named_children(tree_.child_by_field(function, "parameters")))
    declare_pattern(p, function, {Source::kParameter, function, index++, {}, {}});
}

void Model::declare_imports(NodeId statement) {
  NodeId from = tree_.child_by_field(statement, "source");
  NodeId require = tree_.child_by_kind(statement, "import_require_clause");
  if (require != kNoNode) from = tree_.child_by_field(require, "source");
  Source whole{Source::kModule, kNoNode, 0, {}, from == kNoNode ? "" : module_path(string_of(from))};
  if (require != kNoNode) {
    if (NodeId name = tree_.child_by_kind(require, "identifier"); name != kNoNode) declare(name, 0, whole);
    return;
  }
  NodeId clause = tree_.child_by_kind(statement, "import_clause");
  for (NodeId part : tree_.named_children(clause)) {
    if (kind(part) == K::kIdentifier) {
      declare(part, 0, whole);
    } else if (tree_.is(part, "namespace_import")) {
      if (NodeId name = tree_.child_by_kind(part, "identifier"); name != kNoNode) declare(name, 0, whole);
    } else {
      for (NodeId one : tree_.named_children(part)) {
        NodeId name = tree_.child_by_field(one, "name"), alias = tree_.child_by_field(one, "alias");
        if (name == kNoNode) continue;
        Source s = whole;
        s.steps.push_back(key_text(name));
        marks_[name] |= kDeclares;
        declare(alias != kNoNode ? alias : name, 0, s);
      }
    }
  }
}

void Model::assign_pattern(NodeId pattern, const Source& source) {
  for_each_name(pattern, source, [&](NodeId n, Source s) {
    std::string name = name_of(n);
    std::uint32_t id = scopes_.find(name, n);
    if (id != NameScopes::kNone && bindings_[id].sources.size() < 8) bindings_[id].sources.push_back(std::move(s));
  });
}

void Model::assign(NodeId n) {
  NodeId left = tree_.child_by_field(n, kind(n) == K::kUpdate ? "argument" : "left");
  Source source{Source::kOpaque, kNoNode, 0, {}, {}};
  if (kind(n) == K::kAssignment) source = {Source::kExpression, tree_.child_by_field(n, "right"), 0, {}, {}};
  if (left != kNoNode && kind(left) != K::kMember && kind(left) != K::kSubscript) assign_pattern(left, source);
}

void Model::collect() {
  std::vector<NodeId> assignments, block(tree_.size()), function(tree_.size());
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (NodeId p = tree_.parent(n); p != kNoNode) {
      K k = kind(p);
      bool is_body = is_function(k) || k == K::kProgram;
      bool is_block = is_body || k == K::kBlock || k == K::kFor || k == K::kForIn || k == K::kSwitchBody;
      function[n] = is_body ? p : function[p];
      block[n] = is_block ? p : block[p];
    }
    if (is_dead(n)) continue;
    switch (kind(n)) {
      case K::kVariableDeclarator: {
        NodeId value = tree_.child_by_field(n, "value");
        NodeId scope = kind(tree_.parent(n)) == K::kVar ? function[n] : block[n];
        NodeId name = tree_.child_by_field(n, "name");
        // `var x;` says nothing of its value: the assignments do.
        if (value == kNoNode && kind(name) == K::kIdentifier) declare_name(name, scope);
        else declare_pattern(name, scope, {value == kNoNode ? Source::kOpaque : Source::kExpression, value, 0, {}, {}});
        break;
      }
      case K::kFunctionDeclaration:
      case K::kClassDeclaration:
      case K::kEnum:
      case K::kNamespace:
        if (NodeId name = tree_.child_by_field(n, "name"); name != kNoNode)
          declare(name, block[n], {Source::kExpression, n, 0, {}, {}});
        if (kind(n) == K::kFunctionDeclaration) declare_parameters(n);
        break;
      case K::kFunction:
      case K::kArrow:
      case K::kMethod:
        declare_parameters(n);
        break;
      case K::kClass:
        if (NodeId name = tree_.child_by_field(n, "name"); name != kNoNode)
          declare(name, n, {Source::kExpression, n, 0, {}, {}});
        break;
      case K::kCatch:
        if (NodeId p = tree_.child_by_field(n, "parameter"); p != kNoNode) declare_pattern(p, n, {});
        break;
      case K::kForIn:
        if (NodeId left = tree_.child_by_field(n, "left"); tree_.child_by_field(n, "kind") != kNoNode)
          declare_pattern(left, n, {});
        else if (left != kNoNode)
          assignments.push_back(n);
        break;
      case K::kImportStatement:
        declare_imports(n);
        break;
      case K::kImportAlias:
        if (auto parts = tree_.named_children(n); parts.size() == 2)
          declare(parts[0], block[n], {Source::kExpression, parts[1], 0, {}, {}});
        break;
      case K::kAssignment:
      case K::kAugmented:
      case K::kUpdate:
        assignments.push_back(n);
        break;
      default:
        break;
    }
  }
  // A name that is only assigned, never declared, is a global of this program, unless the language has it.
  scopes_.finish();
  bindings_.resize(scopes_.size());
  bool fresh = false;
  for (NodeId n : assignments) {
    NodeId left = tree_.child_by_field(n, "left");
    if (kind(n) != K::kAssignment || kind(left) != K::kIdentifier) continue;
    std::string_view name = tree_.text(left);
    static constexpr std::string_view kOwn[] = {"module",  "exports",  "process",  "global", "globalThis",
                                                "require", "eval",     "Function", "fetch",  "window",
                                                "self",    "location", "Buffer",   "name"};
    bool own = false;
    for (auto o : kOwn) own |= o == name;
    if (own || name.find('\\') != name.npos || scopes_.find(name, left) != NameScopes::kNone) continue;
    scopes_.declare(name, 0, tree_.size());
    fresh = true;
  }
  if (fresh) scopes_.finish();
  bindings_.resize(scopes_.size());
  for (NodeId n : assignments) assign(n);
}

}  // namespace hotcell::javascript
