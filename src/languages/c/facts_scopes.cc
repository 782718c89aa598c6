// Which of the watched names are the program's own: `int kill = 0`, a method called open, a function remove() with a
// body. Only where such a declaration holds is the name left alone; a variable elsewhere hides nothing.
#include <algorithm>

#include "languages/c/facts_names.h"
#include "languages/c/facts_walk.h"

namespace hotcell::c {
namespace {
constexpr int kMostSteps = 256;          // up from a name to its scope
constexpr std::size_t kMostRanges = 64;  // of one name
}  // namespace

bool Walk::is_declarator(NodeId n) const {
  NodeId p = tree_.parent(n);
  if (p == kNoNode) return false;
  std::string_view place = tree_.field(n), in = tree_.kind(p);
  if (place == "declarator") return true;
  if (place == "name") return in == "enumerator" || in == "preproc_def" || in == "preproc_function_def";
  return in == "parenthesized_declarator" || in == "reference_declarator" || in == "structured_binding_declarator" ||
         in == "preproc_params" || in == "preproc_ifdef" || in == "preproc_defined";
}

void Walk::declare_tracked(NodeId n) {
  bool function = false, pointer = false, body = false, enumerator = false, field = false;
  NodeId at = tree_.parent(n);
  int steps = 0;
  for (; at != kNoNode && steps < kMostSteps; at = tree_.parent(at), ++steps) {
    std::string_view k = tree_.kind(at);
    if (k == "function_declarator") function = true;
    else if (k == "pointer_declarator" || k == "parenthesized_declarator") pointer = true;
    else if (k == "enumerator") enumerator = true;
    else if (!k.ends_with("declarator")) break;
    if (enumerator) break;
  }
  if (at == kNoNode || steps == kMostSteps) return;
  std::string_view holder = tree_.kind(at);
  if (holder.starts_with("preproc")) return;
  body = holder == "function_definition";
  field = holder == "field_declaration";
  if (field && !function) return;  // a member is reached through . and -> only
  bool parameter = holder.ends_with("parameter_declaration");
  NodeId scope = tree_.parent(at);
  for (; scope != kNoNode && steps < kMostSteps; scope = tree_.parent(scope), ++steps) {
    std::string_view k = tree_.kind(scope);
    // A definition that a condition may take away hides nothing.
    if (k.starts_with("preproc_if") || k.starts_with("preproc_el")) return;
    if (k == "compound_statement" || k == "translation_unit" || k == "lambda_expression" || k == "for_statement" ||
        k == "for_range_loop" || k == "catch_clause" || k == "namespace_definition" || k.starts_with("class_spec") ||
        k.starts_with("struct_spec") || (parameter && k == "function_definition"))
      break;
    // Parameters of a function that has no body name nothing.
    if (parameter && (k == "declaration" || k == "field_declaration" || k == "type_definition")) return;
  }
  if (scope == kNoNode || steps == kMostSteps) return;
  std::string_view name = tree_.text(n);
  if (function && !body && !field && !parameter && !(pointer && tree_.is(tree_.parent(n), "pointer_declarator"))) {
    // A declaration without a body is the library's function.
    if (!tree_.is(scope, "namespace_definition")) use(std::string(name), "declaration", n);
    return;
  }
  if (tree_.kind(scope).starts_with("class_spec") || tree_.kind(scope).starts_with("struct_spec"))
    own_methods_.insert(name);
  auto& ranges = own_[name];
  if (ranges.size() < kMostRanges) ranges.push_back({tree_[scope].begin, tree_[scope].end});
}

void Walk::collect_declarations() {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    switch (kind(n)) {
      case Kind::kIdentifier:
      case Kind::kFieldIdentifier:
        if (reaches_out(tree_.text(n)) && is_declarator(n)) declare_tracked(n);
        break;
      case Kind::kFunction: {
        NodeId d = tree_.child_by_field(n, "declarator");
        for (int i = 0; i < 8 && d != kNoNode && !tree_.is(d, "function_declarator"); ++i)
          d = tree_.child_by_field(d, "declarator");
        if (tree_.is(tree_.child_by_field(d, "declarator"), "qualified_identifier") && methods_bodies_.size() < 4096)
          methods_bodies_.push_back({tree_[n].begin, tree_[n].end});
        break;
      }
      case Kind::kTypedef: {  // typedef void (*run)(void);
        for (NodeId c = n; c < tree_.end_of(n) && c < n + 64; ++c)
          if (kind(c) == Kind::kTypeIdentifier && tree_.field(c) == "declarator") function_types_.insert(tree_.text(c));
        bool function = false;
        for (NodeId c = n; c < tree_.end_of(n) && c < n + 64; ++c) function |= tree_.kind(c) == "function_declarator";
        if (!function)
          for (NodeId c = n; c < tree_.end_of(n) && c < n + 64; ++c)
            if (kind(c) == Kind::kTypeIdentifier && tree_.field(c) == "declarator")
              function_types_.erase(tree_.text(c));
        break;
      }
      case Kind::kAlias: {
        if (tree_.is(n, "namespace_alias_definition")) {
          NodeId name = tree_.child_by_field(n, "name"), last = kNoNode;
          for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c))
            if (tree_[c].named && c != name) last = c;
          if (name != kNoNode && last != kNoNode) aliases_[std::string(tree_.text(name))] = resolve(tree_.text(last));
        } else {  // using fn = void (*)();  using P = std::filesystem::path;
          NodeId name = tree_.child_by_field(n, "name"), type = tree_.child_by_field(n, "type");
          if (name == kNoNode || type == kNoNode) break;
          if (mentions(type, "abstract_function_declarator")) function_types_.insert(tree_.text(name));
          else if (tree_.text(type).size() < 256) aliases_[std::string(tree_.text(name))] = resolve(tree_.text(type));
        }
        break;
      }
      default: break;
    }
  }
}

bool Walk::mentions(NodeId n, std::string_view node_kind) const {
  for (NodeId c = n; c < tree_.end_of(n) && c < n + 64; ++c)
    if (tree_.kind(c) == node_kind) return true;
  return false;
}

bool Walk::is_ours(std::string_view name, NodeId n) const {
  std::uint32_t at = tree_[n].begin;
  if (auto it = own_.find(name); it != own_.end())
    for (const Range& r : it->second)
      if (r.begin <= at && at < r.end) return true;
  if (!own_methods_.contains(name)) return false;
  auto after = std::upper_bound(methods_bodies_.begin(), methods_bodies_.end(), at,
                                [](std::uint32_t a, const Range& r) { return a < r.begin; });
  return after != methods_bodies_.begin() && at < std::prev(after)->end;
}

// Blanks out, the first part resolved, a leading :: dropped.
std::string Walk::resolve(std::string_view qualified) const {
  std::string plain;
  for (char c : qualified.substr(0, 512))
    if (is_word_char(c) || c == ':') plain += c;
    else if (c == '<') break;  // template arguments
  if (plain.starts_with("::")) plain.erase(0, 2);
  for (int i = 0; i < 4; ++i) {
    std::size_t end = plain.find("::");
    auto it = aliases_.find(plain.substr(0, end));
    if (it == aliases_.end() || it->second == plain.substr(0, end) || it->second.size() > 512) break;
    plain = end == std::string::npos ? it->second : it->second + plain.substr(end);
  }
  return plain;
}

}  // namespace hotcell::c
