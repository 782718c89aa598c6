// What calls do: programs, files, hosts.
#include <algorithm>

#include "base/strings.h"
#include "languages/constant_paths.h"
#include "languages/go/facts_walk.h"

namespace hotcell::go {
namespace {

bool one_of(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

// What each argument of a file function is: r read, w written, d deleted, o opened as the next argument says.
std::string_view file_arguments(std::string_view path) {
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"os.ReadFile", "r"},
      {"os.Open", "r"},
      {"os.OpenFile", "o"},
      {"os.Create", "w"},
      {"os.WriteFile", "w"},
      {"os.Remove", "d"},
      {"os.RemoveAll", "d"},
      {"os.Rename", "dw"},
      {"os.Mkdir", "w"},
      {"os.MkdirAll", "w"},
      {"os.Chmod", "w"},
      {"os.Chown", "w"},
      {"os.Lchown", "w"},
      {"os.Chtimes", "w"},
      {"os.Truncate", "w"},
      {"os.Symlink", "rw"},
      {"os.Link", "rw"},
      {"os.ReadDir", "r"},
      {"os.Stat", "r"},
      {"os.Lstat", "r"},
      {"os.Readlink", "r"},
      {"os.Chdir", "r"},
      {"os.DirFS", "r"},
      {"os.OpenRoot", "r"},
      {"io/ioutil.ReadFile", "r"},
      {"io/ioutil.WriteFile", "w"},
      {"io/ioutil.ReadDir", "r"},
      {"path/filepath.Walk", "r"},
      {"path/filepath.WalkDir", "r"},
      {"path/filepath.Glob", "r"},
      {"syscall.Open", "o"},
      {"syscall.Unlink", "d"},
      {"syscall.Mkdir", "w"},
      {"syscall.Rmdir", "d"},
      {"syscall.Chmod", "w"},
      {"text/template.ParseFiles", "r"},
      {"html/template.ParseFiles", "r"},
      {"net/http.Dir", "r"},
  };
  auto it = table.find(path);
  return it == table.end() ? std::string_view() : it->second;
}

}  // namespace

void Walk::commands(const std::string& p, const std::vector<NodeId>& arguments, NodeId n) {
  std::size_t first = p == "os/exec.CommandContext" ? 1 : 0;
  if (!one_of(p, {"os/exec.Command", "os/exec.CommandContext", "os.StartProcess", "syscall.Exec", "syscall.ForkExec",
                  "syscall.StartProcess", "golang.org/x/sys/unix.Exec"}))
    return;
  bool list = !p.starts_with("os/exec");
  std::vector<ValueId> words;
  for (std::size_t i = first; i < arguments.size() && i < 64; ++i) {
    const Value& v = value_of(arguments[i]);
    if (v.kind == Value::kList) {
      // The list of os.StartProcess and its kind begins with the program's name again.
      std::size_t from = list && i == first + 1 && !v.items.empty() ? 1 : 0;
      words.insert(words.end(), v.items.begin() + static_cast<long>(from), v.items.end());
    } else {
      words.push_back(evaluate(arguments[i]));
    }
    if (list && i == first + 1) break;
  }
  std::string command, all;
  if (words.empty() || !as_text(words[0], command)) return;
  for (ValueId w : words) {
    std::string s;
    if (!as_text(w, s)) s = "…";
    all += cat(all.empty() ? "" : " ", s);
  }
  add(FactKind::kCommand, std::move(command), std::move(all), n);
}

void Walk::files(const std::string& p, const std::vector<NodeId>& arguments, NodeId n) {
  std::string_view what = file_arguments(p);
  for (std::size_t i = 0; i < what.size() && i < arguments.size(); ++i) {
    bool deletes = what[i] == 'd', writes = what[i] == 'w' || deletes;
    if (what[i] == 'o' && arguments.size() > 1) {
      std::string_view flags = tree_.text(arguments[1]);
      writes = flags.find("RDONLY") == flags.npos && flags != "0";
    }
    const Value& v = value_of(arguments[i]);
    if (v.kind == Value::kText || (v.kind == Value::kPrefix && v.text.find('/') != v.text.npos)) {
      std::string name = normal_path(v.kind == Value::kText ? v.text : v.text + "*");
      add(writes ? FactKind::kWritePath : FactKind::kReadPath, name, deletes ? "delete" : "", n);
    } else {
      construct(deletes ? "non-literal-delete" : "non-literal-path", std::string(p), n);
    }
  }
}

void Walk::hosts(const std::string& p, const std::vector<NodeId>& arguments, NodeId n) {
  std::size_t which = ~std::size_t{0};
  bool client = p.starts_with("net/http.Client{}.") || p.starts_with("net/http.DefaultClient.");
  std::string_view last = std::string_view(p).substr(p.rfind('.') + 1);
  if (one_of(p,
             {"net/http.Get", "net/http.Post", "net/http.PostForm", "net/http.Head", "net.LookupHost", "net.LookupIP",
              "net.LookupAddr", "net.LookupTXT", "net.LookupCNAME", "net.LookupMX", "net.LookupNS"}) ||
      (client && one_of(last, {"Get", "Post", "PostForm", "Head"})))
    which = 0;
  else if (one_of(p, {"net/http.NewRequest", "net.Dial", "net.DialTimeout", "crypto/tls.Dial", "net.ResolveTCPAddr",
                      "net.ResolveUDPAddr", "net/rpc.Dial", "net/rpc.DialHTTP"}))
    which = 1;
  else if (p == "net/http.NewRequestWithContext" || p == "net.Dialer{}.DialContext")
    which = 2;
  if (which >= arguments.size()) return;
  const Value& v = value_of(arguments[which]);
  if ((v.kind == Value::kText || v.kind == Value::kPrefix) && !v.text.empty()) add(FactKind::kHost, v.text, "", n);
}

void Walk::look_at_call(NodeId n) {
  NodeId function = tree_.child_by_field(n, "function");
  if (tree_.is(function, "identifier")) facts_.plain_call(tree_.text(function), tree_[n].begin, tree_[n].end);
  const Value& f = value_of(function);
  if (f.kind != Value::kPath) return;
  auto arguments = arguments_of(n);
  std::string p = f.text;
  commands(p, arguments, n);
  files(p, arguments, n);
  hosts(p, arguments, n);
  std::string name;
  if (p == "os.Setenv" && !arguments.empty() && as_text(evaluate(arguments[0]), name))
    construct("set-environment", name, n);
}

}  // namespace hotcell::go
