// What names mean: use declarations with their groups, aliases and globs, extern crate, type aliases.
#include <algorithm>

#include "base/strings.h"
#include "languages/rust/facts_walk.h"

namespace hotcell::rust {
namespace {

constexpr std::size_t kMostMeanings = 4, kMostGlobs = 32;
constexpr int kMostPlaces = 16;

// What a glob of a module that reaches outside brings in.
struct Members {
  std::string_view module, names;
};
constexpr Members kMembers[] = {
    {"std", " process fs net env mem os arch ptr "},
    {"std::process", " Command "},
    {"std::mem", " transmute transmute_copy "},
    {"std::arch", " asm global_asm naked_asm "},
    {"std::fs",
     " File OpenOptions read read_to_string read_dir read_link write copy rename remove_file remove_dir remove_dir_all "
     "create_dir create_dir_all set_permissions hard_link metadata canonicalize "},
    {"std::net", " TcpStream TcpListener UdpSocket ToSocketAddrs "},
    {"std::os::unix::fs", " symlink chroot chown fchown lchown PermissionsExt "},
    {"std::os::unix::net", " UnixStream UnixListener UnixDatagram "},
    {"std::os::unix::process", " CommandExt "},
    {"std::os", " unix linux fd "},
    {"std::os::unix", " process fs net "},
    {"libc",
     " system popen execl execlp execle execv execve execvp fork vfork clone syscall ptrace dlopen dlsym mmap mprotect "
     "kill setuid setgid socket connect open unlink mount unshare setns chroot prctl "},
};

bool separates(char c) { return !is_word_char(c) && c != ':' && c != '$'; }

}  // namespace

// Without blanks, comments, r#, generic arguments and a leading ::. core is std.
std::string Walk::plain_path(std::string_view text) const {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && i < 512; ++i) {
    char c = text[i];
    if (text.substr(i).starts_with("/*")) {
      std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) break;
      i = end + 1;
    } else if (text.substr(i).starts_with("//")) {
      std::size_t end = text.find('\n', i);
      if (end == std::string_view::npos) break;
      i = end;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      --depth;
    } else if (depth == 0 && text.substr(i).starts_with("r#") && (i == 0 || !is_word_char(text[i - 1]))) {
      ++i;
    } else if (depth == 0 && !separates(c)) {
      out += c;
    }
  }
  while (out.ends_with(':')) out.pop_back();
  while (out.starts_with(':')) out.erase(0, 1);
  for (std::size_t at = out.find("::::"); at != std::string::npos; at = out.find("::::")) out.erase(at, 2);
  if (out == "core" || out.starts_with("core::")) out.replace(0, 4, "std");
  return out;
}

void Walk::alias(std::string_view name, std::string path) {
  if (name.starts_with("r#")) name.remove_prefix(2);
  if (name.empty() || name == "_" || name == path || path.size() > 512) return;
  auto& meanings = aliases_[std::string(name)];
  if (meanings.size() < kMostMeanings && std::find(meanings.begin(), meanings.end(), path) == meanings.end())
    meanings.push_back(std::move(path));
}

std::vector<std::string> Walk::resolve(std::string_view text) const {
  std::vector<std::string> open = {plain_path(text)}, out;
  for (int round = 0; round < 4 && !open.empty(); ++round) {
    std::vector<std::string> next;
    for (std::string& p : open) {
      std::size_t end = p.find("::");
      std::string head = p.substr(0, end);
      // Through the program's own modules to what they re-export.
      while (end != std::string::npos &&
             (head == "crate" || head == "self" || head == "super" || modules_.contains(head)) &&
             !(aliases_.contains(head) && !modules_.contains(head))) {
        p.erase(0, end + 2);
        end = p.find("::");
        head = p.substr(0, end);
      }
      auto it = aliases_.find(head);
      bool moved = false;
      if (it != aliases_.end())
        for (const std::string& meaning : it->second) {
          if (meaning == head || meaning.starts_with(head + "::")) continue;
          std::string longer = end == std::string::npos ? meaning : meaning + p.substr(end);
          if (next.size() < 16 && longer.size() < 512) next.push_back(plain_path(longer)), moved = true;
        }
      if (it == aliases_.end())
        for (const std::string& glob : globs_)
          for (const Members& m : kMembers)
            if (m.module == glob && m.names.find(cat(" ", head, " ")) != std::string_view::npos)
              out.push_back(cat(glob, "::", p));
      if (!moved) out.push_back(std::move(p));
    }
    open = std::move(next);
  }
  return out;
}

void Walk::use(std::string_view path, std::string_view how, NodeId n) {
  for (std::string& meaning : resolve(path)) {
    bool outside = meaning.starts_with("std::process") || meaning.starts_with("libc") ||
                   meaning.starts_with("std::fs") || meaning.starts_with("std::os") ||
                   meaning.starts_with("std::arch") || meaning.starts_with("std::net");
    if (!outside && ++said_[meaning] > kMostPlaces) continue;
    add(FactKind::kUse, std::move(meaning), std::string(how), n);
  }
}

void Walk::see_use(NodeId declaration, bool report) {
  struct Item {
    NodeId node;
    std::string prefix;
  };
  std::vector<Item> left = {{tree_.child_by_field(declaration, "argument"), ""}};
  auto join = [](const std::string& prefix, const std::string& rest) {
    return prefix.empty() ? rest : rest.empty() ? prefix : cat(prefix, "::", rest);
  };
  for (int steps = 0; !left.empty() && steps < 4096; ++steps) {
    Item item = std::move(left.back());
    left.pop_back();
    if (item.node == kNoNode || item.prefix.size() > 512) continue;
    std::string_view k = tree_.kind(item.node);
    if (k == "scoped_use_list" || k == "use_list") {
      NodeId head = tree_.child_by_field(item.node, "path"),
             list = k == "use_list" ? item.node : tree_.child_by_field(item.node, "list");
      std::string prefix = head == kNoNode ? item.prefix : join(item.prefix, plain_path(tree_.text(head)));
      for (NodeId c = list == kNoNode ? kNoNode : tree_.first_child(list); c != kNoNode; c = tree_.next_sibling(c))
        if (tree_[c].named) left.push_back({c, prefix});
      continue;
    }
    NodeId name = item.node, as = kNoNode;
    if (k == "use_as_clause") {
      name = tree_.child_by_field(item.node, "path");
      as = tree_.child_by_field(item.node, "alias");
    }
    if (name == kNoNode) continue;
    std::string path =
        k == "use_wildcard"
            ? plain_path(tree_.text(tree_.first_child(item.node) == kNoNode ? item.node : tree_.first_child(item.node)))
            : plain_path(tree_.text(name));
    if (path == "self" && !item.prefix.empty()) path.clear();
    path = join(item.prefix, path);
    if (path == "core" || path.starts_with("core::")) path.replace(0, 4, "std");
    if (!report) {
      if (k == "use_wildcard") {
        if (globs_.size() < kMostGlobs) globs_.push_back(path);
      } else {
        std::size_t last = path.rfind("::");
        alias(as != kNoNode ? tree_.text(as) : std::string_view(path).substr(last == std::string::npos ? 0 : last + 2),
              path);
      }
      continue;
    }
    std::string full = resolve(path).empty() ? path : resolve(path).front();
    add(FactKind::kImport, full, k == "use_wildcard" ? "glob" : "", item.node);
    add(FactKind::kUse, k == "use_wildcard" ? cat(full, "::*") : full, "use", item.node);
  }
}

void Walk::collect_names() {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    switch (kind(n)) {
      case Kind::kUse: see_use(n, false); break;
      case Kind::kExternCrate: {
        NodeId name = tree_.child_by_field(n, "name"), as = tree_.child_by_field(n, "alias");
        if (name != kNoNode && as != kNoNode) alias(tree_.text(as), std::string(tree_.text(name)));
        break;
      }
      case Kind::kTypeAlias: {
        NodeId name = tree_.child_by_field(n, "name"), type = tree_.child_by_field(n, "type");
        if (name == kNoNode || type == kNoNode) break;
        if (tree_.is(type, "function_type")) function_types_.insert(tree_.text(name));
        else if (tree_.kind(type).ends_with("type_identifier")) alias(tree_.text(name), plain_path(tree_.text(type)));
        break;
      }
      case Kind::kMod: {
        NodeId name = tree_.child_by_field(n, "name");
        if (name != kNoNode) modules_.insert(tree_.text(name));
        break;
      }
      case Kind::kConst: {
        NodeId name = tree_.child_by_field(n, "name"), value = tree_.child_by_field(n, "value");
        if (name != kNoNode && value != kNoNode) constants_.set(tree_.text(name), constant(value));
        break;
      }
      default: break;
    }
  }
}

}  // namespace hotcell::rust
