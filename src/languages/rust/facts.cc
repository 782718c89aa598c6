// Rust: paths resolved through use declarations, calls with constant arguments, attributes, unsafe and foreign code.
#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/rust/facts_walk.h"

namespace hotcell::rust {
namespace {

const KindTable<Kind>::Names kKinds = {
    {"identifier", Kind::kIdentifier}, {"type_identifier", Kind::kLocalName}, {"scoped_identifier", Kind::kScoped},
    {"scoped_type_identifier", Kind::kScoped}, {"use_declaration", Kind::kUse},
    {"extern_crate_declaration", Kind::kExternCrate}, {"type_item", Kind::kTypeAlias}, {"mod_item", Kind::kMod},
    {"const_item", Kind::kConst}, {"static_item", Kind::kConst}, {"let_declaration", Kind::kLet},
    {"call_expression", Kind::kCall}, {"macro_invocation", Kind::kMacro}, {"attribute", Kind::kAttribute},
    {"foreign_mod_item", Kind::kForeignMod}, {"unsafe", Kind::kUnsafe}, {"token_tree", Kind::kTokenTree},
    {"metavariable", Kind::kMetavariable}, {"string_literal", Kind::kString}, {"raw_string_literal", Kind::kRawString},
    {"pointer_type", Kind::kPointerType}, {"let_condition", Kind::kLet}, {"parameter", Kind::kParameter}};

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (auto n : names)
    if (n == name) return true;
  return false;
}

}  // namespace

Walk::Walk(const SyntaxTree& tree, FactList& facts) : tree_(tree), facts_(facts), kinds_(kKinds) {}

void Walk::path(FactKind kind, NodeId argument, NodeId at) {
  auto value = constant(argument);
  if (!value || value->empty()) return;
  std::string normal = normalise_path(*value);
  if (leaves_work_folder(normal)) add(kind, normal, "", at);
}

void Walk::see_path(NodeId n) {
  NodeId p = tree_.parent(n);
  if (p == kNoNode || kind(p) == Kind::kScoped || tree_.text(n).size() > 512) return;
  std::string_view in = tree_.kind(p);
  if (in.starts_with("use_") || in.starts_with("scoped_use") || in == "extern_crate_declaration") return;
  std::string_view how = tree_.field(n) == "function" || in == "generic_function" ? "call" : "reference";
  if (kind(n) == Kind::kScoped) return use(tree_.text(n), how, n);
  if (tree_.is(p, "token_tree") || tree_.field(n) == "pattern" || (tree_.field(n) == "name" && in != "shorthand_field_initializer")) return;
  std::string_view name = tree_.text(n);
  if (name.starts_with("r#")) name.remove_prefix(2);
  if (aliases_.contains(std::string(name)) || (!globs_.empty() && how == "call")) use(name, how, n);
}

// .arg("-c").args(["x", "y"]) after Command::new("sh").
std::string Walk::arguments_of_chain(NodeId call, std::string line) {
  for (int i = 0; i < 32 && line.size() < 4096; ++i) {
    NodeId field = tree_.parent(call);
    if (field == kNoNode || !tree_.is(field, "field_expression")) break;
    NodeId outer = tree_.parent(field);
    if (outer == kNoNode || kind(outer) != Kind::kCall) break;
    std::string_view method = tree_.text(tree_.child_by_field(field, "field"));
    for (NodeId a : tree_.named_children(tree_.child_by_field(outer, "arguments"))) {
      if (method == "arg") {
        if (auto word = constant(a)) line += cat(" ", *word);
      } else if (method == "args") {
        NodeId list = tree_.is(a, "reference_expression") ? tree_.child_by_field(a, "value") : a;
        for (NodeId w : tree_.named_children(list))
          if (auto word = constant(w)) line += cat(" ", *word);
      }
    }
    call = outer;
  }
  return line;
}

void Walk::see_call(NodeId n) {
  NodeId f = tree_.child_by_field(n, "function");
  auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
  if (tree_.is(f, "generic_function")) f = tree_.child_by_field(f, "function");
  if (f == kNoNode) return;
  if (tree_.is(f, "field_expression"))
    return see_method(tree_.text(tree_.child_by_field(f, "field")), arguments, tree_.child_by_field(f, "value"), n);
  if (tree_.text(f).size() > 512 || (kind(f) != Kind::kScoped && kind(f) != Kind::kIdentifier)) return;
  std::string_view plain = kind(f) == Kind::kIdentifier ? tree_.text(f) : std::string_view();
  if (!plain.empty()) facts_.plain_call(plain, tree_[n].begin, tree_[n].end);
  for (const std::string& meaning : resolve(tree_.text(f))) {
    see_known_call(meaning, arguments, n);
    std::size_t at = meaning.rfind("::");
    if (!plain.empty() && at != std::string::npos && meaning.substr(at + 2) != plain) facts_.plain_call(meaning.substr(at + 2), tree_[n].begin, tree_[n].end);
  }
}

void Walk::see_method(std::string_view name, const std::vector<NodeId>& arguments, NodeId receiver, NodeId n) {
  if (name == "open" && arguments.size() == 1) {  // OpenOptions::new().write(true).open("…")
    bool writes = false;
    for (int i = 0; i < 16 && receiver != kNoNode && kind(receiver) == Kind::kCall; ++i) {
      NodeId f = tree_.child_by_field(receiver, "function");
      writes |= one_of(tree_.text(f == kNoNode ? receiver : tree_.child_by_field(f, "field") == kNoNode ? f : tree_.child_by_field(f, "field")),
                       {"write", "append", "create", "truncate", "create_new"});
      receiver = f == kNoNode ? kNoNode : tree_.child_by_field(f, "value");
    }
    path(writes ? FactKind::kWritePath : FactKind::kReadPath, arguments[0], n);
  } else if (arguments.empty() && receiver != kNoNode &&
             one_of(name, {"exists", "read_dir", "metadata", "is_file", "is_dir", "canonicalize", "read_link", "symlink_metadata", "try_exists"})) {
    path(FactKind::kReadPath, receiver, n);
  }
}

void Walk::see_known_call(std::string_view name, const std::vector<NodeId>& arguments, NodeId n) {
  if (name == "std::mem::transmute" || name == "std::mem::transmute_copy" || name == "std::intrinsics::transmute") return see_transmute(n);
  if (arguments.empty()) return;
  if (name.ends_with("process::Command::new")) {
    auto program = constant(arguments[0]);
    if (program && !program->empty()) add(FactKind::kCommand, *program, arguments_of_chain(n, *program), n);
    return;
  }
  if (name.starts_with("std::fs::") || name.starts_with("tokio::fs::")) {
    name.remove_prefix(name.find("fs::") + 4);
    if (one_of(name, {"read", "read_to_string", "read_dir", "metadata", "symlink_metadata", "canonicalize", "read_link", "exists", "File::open"}))
      return path(FactKind::kReadPath, arguments[0], n);
    if (one_of(name, {"copy", "hard_link"})) path(FactKind::kReadPath, arguments[0], n);
    else if (one_of(name, {"write", "remove_file", "remove_dir", "remove_dir_all", "rename", "create_dir", "create_dir_all", "set_permissions",
                           "File::create", "File::create_new"}))
      path(FactKind::kWritePath, arguments[0], n);
    if (one_of(name, {"copy", "hard_link", "rename"}) && arguments.size() > 1) path(FactKind::kWritePath, arguments[1], n);
    return;
  }
  if (name.starts_with("std::os::unix::fs::") && arguments.size() > 1) {
    path(FactKind::kReadPath, arguments[0], n);
    return path(FactKind::kWritePath, arguments[1], n);
  }
  if (name.starts_with("std::env::set_current_dir")) return path(FactKind::kReadPath, arguments[0], n);
  bool net = name.starts_with("std::net::") || name.starts_with("tokio::net::");
  if ((net && (name.ends_with("::connect") || name.ends_with("::bind") || name.ends_with("connect_timeout"))) ||
      name.starts_with("reqwest::") || name.starts_with("ureq::"))
    if (auto host = constant(arguments[0]); host && !host->empty()) add(FactKind::kHost, *host, "", n);
  if (name.starts_with("libc::system") || name.starts_with("libc::popen"))
    if (auto line = constant(arguments[0]); line && !line->empty())
      add(FactKind::kCommand, line->substr(0, line->find(' ')), *line, n);
}

// To a function pointer, as far as the types around it say.
void Walk::see_transmute(NodeId n) {
  auto function = [&](NodeId type) {
    for (NodeId c = type; type != kNoNode && c < tree_.end_of(type) && c < type + 64; ++c)
      if (tree_.kind(c) == "function_type" || tree_.text(c) == "fn" || function_types_.contains(tree_.text(c))) return true;
    return false;
  };
  NodeId f = tree_.child_by_field(n, "function");
  bool found = f != kNoNode && function(tree_.child_by_field(f, "type_arguments"));
  NodeId up = n;
  for (int i = 0; i < 6 && !found && up != kNoNode; ++i, up = tree_.parent(up)) {
    if (kind(up) == Kind::kLet || kind(up) == Kind::kConst) found = function(tree_.child_by_field(up, "type"));
    // transmute(p)(): what it gives is called.
    NodeId callee = up != n && kind(up) == Kind::kCall ? tree_.child_by_field(up, "function") : kNoNode;
    if (callee != kNoNode) found |= callee <= n && n < tree_.end_of(callee) && !tree_.is(callee, "field_expression");
    if (tree_.is(up, "function_item")) break;
  }
  if (tree_.is(tree_.parent(n), "token_tree"))
    for (NodeId c = n; c != kNoNode && !found && c < n + 64; c = tree_.next_sibling(c)) found = tree_.text(c) == "fn";
  if (found) add(FactKind::kConstruct, "transmute-to-function", std::string(tree_.text(n).substr(0, 100)), n);
}

void Walk::see_attribute(NodeId n) {
  for (NodeId c = n; c < tree_.end_of(n) && c < n + 128; ++c) {
    if (kind(c) != Kind::kIdentifier) continue;
    std::string_view name = tree_.text(c);
    NodeId next = tree_.next_sibling(c), value = next != kNoNode ? tree_.next_sibling(next) : kNoNode;
    bool given = next != kNoNode && tree_.is(next, "=") && value != kNoNode;
    std::string text = given ? constant(value).value_or("") : "";
    if (name == "link_section") add(FactKind::kConstruct, "link-section", text, c);
    else if (name == "link_name") add(FactKind::kUse, cat("extern::", text), "link_name", c);
    else if (one_of(name, {"no_mangle", "export_name"})) add(FactKind::kConstruct, "exported-symbol", cat(name, " ", text), c);
    else if (one_of(name, {"link", "link_args"})) add(FactKind::kConstruct, "link-library", std::string(tree_.text(n)), c);
    else if (name == "naked") add(FactKind::kConstruct, "inline-asm", "naked", c);
    else if (one_of(name, {"proc_macro", "proc_macro_derive", "proc_macro_attribute"})) add(FactKind::kConstruct, "proc-macro", std::string(name), c);
    else if (name == "feature") add(FactKind::kConstruct, "unstable-feature", std::string(tree_.text(n)), c);
    else if (name == "path" && given) {
      std::string normal = normalise_path(text);
      if (text.empty() || leaves_work_folder(normal)) {
        add(FactKind::kConstruct, "include-file", cat("#[path] ", normal), c);
        if (!text.empty()) add(FactKind::kReadPath, normal, "path", c);
      }
    }
  }
}

void Walk::see_foreign(NodeId n) {
  NodeId abi = tree_.child_by_kind(n, "extern_modifier"), body = tree_.child_by_field(n, "body");
  add(FactKind::kConstruct, "extern-block", std::string(tree_.text(abi == kNoNode ? n : abi).substr(0, 60)), n);
  for (NodeId c = body == kNoNode ? kNoNode : tree_.first_child(body); c != kNoNode; c = tree_.next_sibling(c)) {
    NodeId name = tree_.child_by_field(c, "name");
    if (tree_.is(c, "function_signature_item") && name != kNoNode) add(FactKind::kUse, cat("extern::", tree_.text(name)), "declaration", name);
  }
}

void Walk::see_unsafe(NodeId n) {
  NodeId p = tree_.parent(n);
  if (p == kNoNode || kind(p) == Kind::kTokenTree) return;
  std::string_view in = tree_.kind(p);
  std::string_view what = in == "unsafe_block" ? "unsafe-block" : in == "impl_item" ? "unsafe-impl" : in == "function_modifiers" ? "unsafe-fn"
                          : in == "trait_item" ? "unsafe-trait" : "unsafe-other";
  add(FactKind::kConstruct, std::string(what), "unsafe", n);
}

void Walk::see_macro(std::string_view name, NodeId tokens, NodeId n) {
  std::string full = resolve(name).empty() ? std::string(name) : resolve(name).back();
  std::string_view last = full;
  if (auto at = last.rfind("::"); at != std::string_view::npos) last.remove_prefix(at + 2);
  auto arguments = token_arguments(tokens);
  auto first = arguments.empty() ? std::nullopt : constant_tokens(arguments[0], 0);
  if (one_of(last, {"asm", "global_asm", "naked_asm", "llvm_asm"})) {
    add(FactKind::kConstruct, "inline-asm", cat(last, "! ", first.value_or("")), n);
    if (first && (first->find(".incbin") != std::string::npos || first->find(".include") != std::string::npos))
      add(FactKind::kConstruct, "include-file", *first, n);
  } else if (one_of(last, {"include_str", "include_bytes", "include"})) {
    std::string normal = first ? normalise_path(*first) : "";
    if (!first) add(FactKind::kConstruct, "include-file", cat(last, "! of an unknown path"), n);
    else if (leaves_work_folder(normal)) {
      add(FactKind::kConstruct, "include-file", cat(last, "! ", normal), n);
      add(FactKind::kReadPath, normal, std::string(last), n);
    }
  } else if (one_of(last, {"env", "option_env"})) {
    add(FactKind::kConstruct, "build-environment", first.value_or("?"), n);
  } else if (one_of(last, {"println", "print", "eprintln"}) && first && first->starts_with("cargo:")) {
    add(FactKind::kConstruct, "build-script", *first, n);
  }
  if (full.find("::") != std::string::npos) use(name, "call", n);
}

void Walk::run() {
  collect_names();
  for (NodeId n = 0; n < tree_.size(); ++n) {
    switch (kind(n)) {
      case Kind::kUse: see_use(n, true); break;
      case Kind::kIdentifier:
      case Kind::kLocalName:
      case Kind::kScoped: see_path(n); break;
      case Kind::kExternCrate: {
        NodeId name = tree_.child_by_field(n, "name");
        if (name == kNoNode) break;
        add(FactKind::kImport, std::string(tree_.text(name)), "extern crate", n);
        if (tree_.text(name) == "proc_macro") add(FactKind::kConstruct, "proc-macro", "extern crate proc_macro", n);
        if (tree_.text(name) == "libc") add(FactKind::kUse, "libc", "reference", n);
        break;
      }
      case Kind::kLet: {
        NodeId pattern = tree_.child_by_field(n, "pattern"), value = tree_.child_by_field(n, "value");
        if (pattern != kNoNode && tree_.is(pattern, "tuple_struct_pattern")) {  // if let Ok(path) = env::var("X")
          auto inside = tree_.named_children(pattern);
          pattern = inside.size() == 2 ? inside[1] : kNoNode;
        }
        if (pattern != kNoNode && value != kNoNode && kind(pattern) == Kind::kIdentifier) constants_.set(tree_.text(pattern), constant(value));
        break;
      }
      case Kind::kParameter: {  // another thing than the variable of that name elsewhere
        NodeId pattern = tree_.child_by_field(n, "pattern");
        if (pattern != kNoNode && kind(pattern) == Kind::kIdentifier) constants_.set(tree_.text(pattern), std::nullopt);
        break;
      }
      case Kind::kCall: see_call(n); break;
      case Kind::kMacro: {
        NodeId name = tree_.child_by_field(n, "macro"), tokens = tree_.child_by_kind(n, "token_tree");
        if (name != kNoNode && tokens != kNoNode && tree_.text(name).size() < 256) see_macro(plain_path(tree_.text(name)), tokens, n);
        break;
      }
      case Kind::kTokenTree: see_tokens(n); break;
      case Kind::kAttribute: see_attribute(n); break;
      case Kind::kForeignMod: see_foreign(n); break;
      case Kind::kUnsafe: see_unsafe(n); break;
      case Kind::kPointerType: add(FactKind::kConstruct, "raw-pointer", std::string(tree_.text(n).substr(0, 40)), n); break;
      default: break;
    }
  }
  see_templates();
  see_open_paths();
}

}  // namespace hotcell::rust

namespace hotcell {

std::vector<Fact> rust_facts(const SyntaxTree& tree) {
  FactList facts;
  see_bidi(tree.text(), facts);
  // What print!(…) is given is code, but tokens to the grammar: without the mark it is a call like any other.
  if (std::string plain = rust::without_macro_marks(tree.text()); !plain.empty() && !tree.has_error())
    if (auto again = parse_source(Grammar::kRust, plain); again.ok() && !again.value().has_error()) {
      rust::Walk(again.value(), facts).run();
      return facts.take();
    }
  rust::Walk(tree, facts).run();
  return facts.take();
}

}  // namespace hotcell
