// Token trees: arguments of macros and bodies of macro_rules. Paths, calls and macros are found by their tokens.
#include "base/strings.h"
#include "languages/rust/facts_walk.h"

namespace hotcell::rust {

std::vector<NodeId> Walk::token_arguments(NodeId group) const {
  std::vector<NodeId> out;
  bool fresh = true;
  for (NodeId c = tree_.first_child(group); c != kNoNode && out.size() < 256; c = tree_.next_sibling(c)) {
    std::string_view k = tree_.kind(c);
    if (k == "(" || k == ")" || k == "[" || k == "]" || k == "{" || k == "}" || k.ends_with("comment")) continue;
    if (k == ",") fresh = true;
    else if (fresh) out.push_back(c), fresh = false;
  }
  return out;
}

// use std::{process::Command, fs} inside a macro.
void Walk::see_token_group(NodeId group, const std::string& prefix, int depth) {
  if (depth > 8 || prefix.size() > 256) return;
  std::string name;
  for (NodeId c = tree_.first_child(group); c != kNoNode; c = tree_.next_sibling(c)) {
    if (kind(c) == Kind::kTokenTree) {
      see_token_group(c, cat(prefix, "::", name), depth + 1);
      name.clear();
    } else if (kind(c) == Kind::kIdentifier || tree_.is(c, "::") || tree_.is(c, "*")) {
      if (name.size() < 256) name += tree_.text(c);
    } else if (!name.empty()) {
      use(cat(prefix, "::", name), "reference", c);
      name.clear();
    }
  }
}

void Walk::see_tokens(NodeId group) {
  NodeId before = kNoNode;
  for (NodeId c = tree_.first_child(group); c != kNoNode; before = c, c = tree_.next_sibling(c)) {
    bool word = kind(c) == Kind::kIdentifier || kind(c) == Kind::kMetavariable || tree_.is(c, "crate") || tree_.is(c, "super");
    if (tree_.text(c) == "unsafe") add(FactKind::kConstruct, "unsafe-block", "unsafe in a macro", c);
    if (kind(c) == Kind::kIdentifier && macro_words_.size() < 4096) macro_words_.insert(tree_.text(c));
    if (!word || (before != kNoNode && tree_.is(before, "::") && tree_[before].begin > 0)) {
      // The rest of a path; a leading :: is followed by its first word.
      NodeId first = tree_.first_child(group);
      if (!word || before != first) continue;
    }
    std::string path(tree_.text(c));
    bool made = kind(c) == Kind::kMetavariable;
    NodeId last = c, next = tree_.next_sibling(c);
    while (next != kNoNode && tree_.is(next, "::") && path.size() < 256) {
      NodeId part = tree_.next_sibling(next);
      if (part == kNoNode) break;
      if (kind(part) == Kind::kTokenTree) {
        see_token_group(part, path, 0);
        break;
      }
      if (tree_.is(part, "token_repetition")) {
        open_path(path, c);
        break;
      }
      if (tree_.is(part, "<")) break;
      made |= kind(part) == Kind::kMetavariable;
      path += cat("::", tree_.text(part));
      last = part;
      next = tree_.next_sibling(part);
    }
    if (made) {
      if (templates_.size() < 256) templates_.emplace_back(path, c);
      if (std::size_t at = path.rfind("::$"); at != std::string::npos && path.find('$') == at + 2)
        open_path(path.substr(0, at), c);
      continue;
    }
    bool member = before != kNoNode && tree_.is(before, ".");
    next = tree_.next_sibling(last);
    if (next != kNoNode && tree_.is(next, "!")) {
      NodeId tokens = tree_.next_sibling(next);
      if (tokens != kNoNode && kind(tokens) == Kind::kTokenTree) see_macro(path, tokens, c);
      continue;
    }
    bool call = next != kNoNode && kind(next) == Kind::kTokenTree && tree_.text(next).starts_with('(');
    if (member) {
      if (call) see_method(path, token_arguments(next), kNoNode, c);
      continue;
    }
    if (path.find("::") == std::string::npos && !aliases_.contains(path) && (!call || globs_.empty())) continue;
    use(path, call ? "call" : "reference", c);
    if (call)
      for (const std::string& meaning : resolve(path)) see_known_call(meaning, token_arguments(next), c);
  }
}

// std::process::$($x)+: whatever the macro is given stands in the module. Each word that any macro of the source is
// given is tried, since a word of another place finds too much and never too little.
void Walk::open_path(const std::string& path, NodeId n) {
  for (std::string& module : resolve(path)) {
    static constexpr std::string_view kGuarded[] = {"std::process", "std::fs", "std::net", "std::os", "std::mem",
                                                    "std::arch",    "libc",    "tokio",    "nix"};
    for (std::string_view guarded : kGuarded)
      if (cat(module, "::").starts_with(cat(guarded, "::"))) {
        if (open_paths_.size() < 64) open_paths_.emplace_back(std::move(module), n);
        break;
      }
  }
}

void Walk::see_open_paths() {
  int tries = 0;
  for (const auto& [module, n] : open_paths_) {
    add(FactKind::kConstruct, "open-path", module, n);
    for (std::string_view word : macro_words_)
      if (++tries < 20'000) add(FactKind::kUse, cat(module, "::", word), "made by a macro", n);
  }
}

// std::$a::Command, with what macros are given put in: only words that would mean something are tried.
void Walk::see_templates() {
  static constexpr std::string_view kWords[] = {"process", "Command", "fs", "net", "mem", "transmute", "os", "std", "arch", "asm", "libc", "system"};
  int tries = 0;
  for (const auto& [path, n] : templates_) {
    std::vector<std::string> open = {path};
    while (!open.empty() && ++tries < 20'000) {
      std::string p = std::move(open.back());
      open.pop_back();
      std::size_t at = p.find('$');
      if (at == std::string::npos) {
        if (p.find("std::process::Command") != std::string::npos || p.find("std::mem::transmute") != std::string::npos ||
            p.starts_with("libc::system") || p.starts_with("std::fs::"))
          add(FactKind::kUse, p, "made by a macro", n);
        continue;
      }
      std::size_t end = at + 1;
      while (end < p.size() && is_word_char(p[end])) ++end;
      for (std::string_view word : kWords)
        if (macro_words_.contains(word)) open.push_back(cat(p.substr(0, at), word, p.substr(end)));
    }
  }
}

std::string without_macro_marks(std::string_view source) {
  bool reaches = false;
  for (std::string_view word : {"fs::", "File", "env::", "OpenOptions"}) reaches |= source.find(word) != source.npos;
  if (!reaches) return {};
  std::string out;
  for (std::size_t at = source.find("!("); at != source.npos; at = source.find("!(", at + 2)) {
    std::size_t begin = at;
    while (begin > 0 && is_word_char(source[begin - 1])) --begin;
    static constexpr std::string_view kTakeExpressions[] = {"print", "println", "eprint", "eprintln", "write", "writeln", "assert",
                                                            "assert_eq", "assert_ne", "dbg", "panic"};
    bool known = false;
    for (std::string_view name : kTakeExpressions) known |= source.substr(begin, at - begin) == name;
    // A build script speaks by println!("cargo:…"), which is looked for as a macro.
    if (!known || source.substr(at, 9) == "!(\"cargo:") continue;
    if (out.empty()) out = source;
    out[at] = ' ';
  }
  return out;
}

}  // namespace hotcell::rust
