// What calls of library functions do with their constant arguments.
#include "base/strings.h"
#include "languages/c/facts_names.h"
#include "languages/c/facts_walk.h"

namespace hotcell::c {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (auto n : names)
    if (n == name) return true;
  return false;
}

}  // namespace

std::optional<std::string> Walk::constant(NodeId n, int depth) {
  if (n == kNoNode || depth > kMaxFolding || ++folding_ > 2'000'000) return std::nullopt;
  switch (kind(n)) {
    case Kind::kString: {
      std::string_view t = tree_.text(n);
      return t.size() > kMaxConstant ? std::nullopt : std::optional(string_value(t));
    }
    case Kind::kRawString: return tree_.text(n).size() > kMaxConstant ? std::nullopt : std::optional(string_value(tree_.text(n)));
    case Kind::kIdentifier: {
      if (auto value = constants_.get(tree_.text(n))) return value;
      return macros_.string_of(tree_.text(n));
    }
    case Kind::kCast: return constant(tree_.child_by_field(n, "value"), depth + 1);
    case Kind::kConcatenated: {
      std::string out;
      for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
        if (!tree_[c].named || tree_.is(c, "comment")) continue;
        auto piece = constant(c, depth + 1);
        if (!piece || out.size() + piece->size() > kMaxConstant) return std::nullopt;
        out += *piece;
      }
      return out;
    }
    case Kind::kCall: {  // std::string("x"), path("x"), s.c_str()
      NodeId f = tree_.child_by_field(n, "function"), arguments = tree_.child_by_field(n, "arguments");
      if (tree_.is(f, "field_expression")) {
        std::string_view method = tree_.text(tree_.child_by_field(f, "field"));
        return one_of(method, {"c_str", "data", "string", "str"}) ? constant(tree_.child_by_field(f, "argument"), depth + 1)
                                                                   : std::nullopt;
      }
      if (f == kNoNode || tree_.text(f).size() > 64) return std::nullopt;
      std::string name = resolve(tree_.text(f));
      if (one_of(name, {"getenv", "std::getenv", "secure_getenv"})) {
        auto given = tree_.named_children(arguments);
        auto variable = given.size() == 1 ? constant(given[0], depth + 1) : std::nullopt;
        return variable ? std::optional(environment_path(*variable)) : std::nullopt;
      }
      if (!one_of(name, {"std::string", "string", "std::filesystem::path", "path", "std::string_view", "strdup"})) return std::nullopt;
      auto given = tree_.named_children(arguments);
      return given.size() == 1 ? constant(given[0], depth + 1) : std::nullopt;
    }
    default: break;
  }
  std::string_view k = tree_.kind(n);
  if (k == "parenthesized_expression" || k == "argument_list" || k == "initializer_list") {
    std::string chars;
    bool all_chars = k == "initializer_list";
    NodeId only = kNoNode;
    int count = 0;
    for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
      if (!tree_[c].named || tree_.is(c, "comment")) continue;
      only = c;
      if (++count > 4096) return std::nullopt;
      std::string_view t = tree_.text(c);
      if (tree_.is(c, "char_literal") && t.size() >= 3) chars += decode_escapes(t.substr(1, t.size() - 2));
      else if (tree_.is(c, "number_literal") && all_chars) {  // {115, 0x79, …, 0}
        int value = 0;
        bool hex = t.starts_with("0x") || t.starts_with("0X");
        for (char d : hex ? t.substr(2) : t) value = value * (hex ? 16 : 10) + (hex_digit(d) < 0 ? 0 : hex_digit(d)) , value &= 0xffff;
        chars += static_cast<char>(value);
      } else all_chars = false;
    }
    if (all_chars && count > 1) return chars.substr(0, chars.find('\0'));
    return count == 1 ? constant(only, depth + 1) : std::nullopt;
  }
  if (k == "binary_expression") {
    std::string_view op = tree_.text(tree_.child_by_field(n, "operator"));
    if (op != "+" && op != "/") return std::nullopt;
    auto left = constant(tree_.child_by_field(n, "left"), depth + 1);
    auto right = left ? constant(tree_.child_by_field(n, "right"), depth + 1) : std::nullopt;
    if (!right || left->size() + right->size() > kMaxConstant) return std::nullopt;
    return op == "+" ? *left + *right : right->starts_with('/') ? *right : cat(*left, "/", *right);
  }
  return std::nullopt;
}

void Walk::path(FactKind kind, NodeId argument, NodeId at) {
  auto value = constant(argument);
  if (!value || value->empty()) return;
  std::string normal = normalise_path(*value);
  if (leaves_work_folder(normal)) add(kind, normal, "", at);
}

void Walk::command(const std::vector<NodeId>& words, std::size_t from, bool shell, NodeId at) {
  std::string line;
  for (std::size_t i = from; i < words.size() && i < from + 64; ++i) {
    auto word = constant(words[i]);
    if (!word) break;
    line += cat(line.empty() ? "" : " ", *word);
    if (shell || line.size() > 4096) break;
  }
  std::string_view first = trim(line);
  first = first.substr(0, first.find(' '));
  if (!first.empty()) add(FactKind::kCommand, std::string(first), line, at);
}

void Walk::see_stream(std::string_view type, NodeId arguments, NodeId at) {
  if (type.starts_with("std::")) type.remove_prefix(5);
  bool in = type == "ifstream" || type == "basic_ifstream", out = type == "ofstream" || type == "fstream" || type == "basic_ofstream";
  if (type.starts_with("boost::process::") || type == "boost::process") {
    command(tree_.named_children(arguments), 0, false, at);
    return;
  }
  if (!in && !out) return;
  NodeId first = arguments;
  if (auto list = tree_.named_children(arguments); !list.empty() && kind(arguments) != Kind::kCall) first = list[0];
  path(in ? FactKind::kReadPath : FactKind::kWritePath, first, at);
}

void Walk::see_call(NodeId n) {
  NodeId f = tree_.child_by_field(n, "function"), list = tree_.child_by_field(n, "arguments");
  if (f == kNoNode || list == kNoNode) return;
  for (int i = 0; i < 16 && tree_.is(f, "parenthesized_expression"); ++i) f = tree_.first_child(f) + 1;
  if (f >= tree_.size()) return;
  auto arguments = tree_.named_children(list);
  if (tree_.is(f, "template_function") && tree_.text(tree_.child_by_field(f, "name")).ends_with("_cast")) {
    see_cast(n, tree_.child_by_field(f, "arguments"), list);
    return;
  }
  if (tree_.is(f, "field_expression")) {
    if (tree_.text(tree_.child_by_field(f, "field")) != "open" || arguments.empty()) return;
    auto it = streams_.find(tree_.text(tree_.child_by_field(f, "argument")));
    if (it == streams_.end() && own_methods_.contains("open")) return;  // of the program's own class
    bool reads = it != streams_.end() && it->second.ends_with("ifstream");
    path(reads ? FactKind::kReadPath : FactKind::kWritePath, arguments[0], n);
    return;
  }
  std::string name;
  if (kind(f) == Kind::kIdentifier) {
    name = library_name(tree_.text(f));
    if (is_ours(name, f)) return;
    if (auto it = aliases_.find(name); it != aliases_.end()) name = resolve(name);
    else
      for (const std::string& space : opened_)
        if (space == "std::filesystem" && one_of(name, {"remove_all", "remove", "rename", "permissions", "create_symlink"}))
          name = cat(space, "::", name);
  } else if (kind(f) == Kind::kQualified && tree_.text(f).size() < 512) {
    name = resolve(tree_.text(f));
    if (name.find("::") == std::string::npos && is_ours(name, f)) {
      // ::system is the library's unless the program defines one itself, outside every scope.
      if (tree_.text(f).find("::") != 0) return;
    }
  } else {
    return;
  }
  if (name == "asm" || name == "__asm" || name == "_asm" || name == "__asm__") return;  // see_identifier said it
  std::string_view plain = name;
  if (plain.starts_with("std::") && plain.find("::", 5) == std::string_view::npos) plain.remove_prefix(5);
  if (plain == "remove" && arguments.size() != 1) return;
  if (plain == "bind" && name != "bind") return;  // std::bind
  see_stream(plain, list, n);
  see_known_call(plain, arguments, n);
  use(std::move(name), "call", f);
}

void Walk::see_known_call(std::string_view name, const std::vector<NodeId>& a, NodeId n) {
  if (a.empty()) return;
  auto arg = [&](std::size_t i) { return i < a.size() ? a[i] : kNoNode; };
  if (name.starts_with("std::filesystem::")) {
    name.remove_prefix(17);
    bool writes = one_of(name, {"remove", "remove_all", "rename", "permissions", "create_directory", "create_directories",
                                "resize_file"});
    path(writes ? FactKind::kWritePath : FactKind::kReadPath, arg(0), n);
    if (one_of(name, {"rename", "copy", "copy_file", "copy_symlink", "create_symlink", "create_directory_symlink", "create_hard_link"}))
      path(FactKind::kWritePath, arg(1), n);
    return;
  }
  if (name == "system" || name == "popen" || name == "_popen" || name == "wordexp") return command(a, 0, true, n);
  if (name == "execl" || name == "execlp" || name == "execle") return command(a, 1, false, n);
  if (name == "execv" || name == "execve" || name == "execvp" || name == "execvpe") return command(a, 0, true, n);
  if (name == "posix_spawn" || name == "posix_spawnp") return command(a, 1, true, n);
  if (name.starts_with("boost::process::")) return command(a, 0, false, n);
  if (name == "fopen" || name == "fopen64" || name == "freopen") {
    auto mode = constant(arg(1));
    bool reads = mode && mode->find_first_of("wa+") == std::string::npos;
    return path(reads ? FactKind::kReadPath : FactKind::kWritePath, arg(0), n);
  }
  if (name == "open" || name == "open64" || name == "openat" || name == "openat64") {
    std::size_t at = name.starts_with("openat") ? 1 : 0;
    std::string_view flags = arg(at + 1) != kNoNode ? tree_.text(arg(at + 1)) : "";
    bool reads = flags == "0" || (flags.find("O_RDONLY") != flags.npos && flags.find("O_CREAT") == flags.npos);
    return path(reads ? FactKind::kReadPath : FactKind::kWritePath, arg(at), n);
  }
  if (one_of(name, {"remove", "unlink", "rmdir", "chmod", "chown", "lchown", "truncate", "mkdir", "creat", "mknod", "mkfifo"}))
    return path(FactKind::kWritePath, arg(0), n);
  if (one_of(name, {"rename", "link", "symlink"})) {
    path(name == "rename" ? FactKind::kWritePath : FactKind::kReadPath, arg(0), n);
    return path(FactKind::kWritePath, arg(1), n);
  }
  if (one_of(name, {"unlinkat", "fchmodat", "fchownat", "mkdirat"})) return path(FactKind::kWritePath, arg(1), n);
  if (one_of(name, {"stat", "lstat", "stat64", "access", "opendir", "readlink", "chdir", "realpath", "chroot", "scandir", "nftw", "ftw"}))
    return path(FactKind::kReadPath, arg(0), n);
  if (one_of(name, {"dlsym", "dlvsym", "dlopen"})) {
    if (auto symbol = constant(arg(name == "dlopen" ? 0 : 1))) add(FactKind::kUse, *symbol, std::string(name), n);
    return;
  }
  if (one_of(name, {"getaddrinfo", "gethostbyname", "gethostbyname2", "inet_addr", "inet_aton", "inet_pton"})) {
    auto host = constant(arg(name == "inet_pton" ? 1 : 0));
    if (host && !host->empty()) add(FactKind::kHost, *host, std::string(name), n);
    return;
  }
  if ((name == "mprotect" || name == "mmap" || name == "pkey_mprotect") && arg(2) != kNoNode) {
    std::string_view rights = tree_.text(arg(2));
    bool number = rights.size() == 1 && rights[0] >= '4' && rights[0] <= '7';
    if (number || (rights.size() == 3 && rights.starts_with("0x") && rights[2] >= '4' && rights[2] <= '7'))
      add(FactKind::kConstruct, "executable-memory", cat(name, " ", rights), n);
  }
}

}  // namespace hotcell::c
