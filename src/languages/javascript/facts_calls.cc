// What calls do: modules that are loaded, code that is run, programs, files, hosts.
#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "languages/constant_paths.h"
#include "languages/javascript/facts_walk.h"

namespace hotcell::javascript {
namespace {

bool one_of(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

// What each argument of a file function is: r read, w written, d deleted, o opened (the next argument says how), -
// other.
std::string_view file_arguments(std::string_view function) {
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"readFile", "r"},
      {"createReadStream", "r"},
      {"readdir", "r"},
      {"stat", "r"},
      {"lstat", "r"},
      {"access", "r"},
      {"exists", "r"},
      {"readlink", "r"},
      {"realpath", "r"},
      {"opendir", "r"},
      {"watch", "r"},
      {"watchFile", "r"},
      {"statfs", "r"},
      {"open", "o"},
      {"openAsBlob", "r"},
      {"readTextFile", "r"},
      {"readDir", "r"},
      {"readLink", "r"},
      {"realPath", "r"},
      {"file", "r"},
      {"writeFile", "w"},
      {"appendFile", "w"},
      {"createWriteStream", "w"},
      {"mkdir", "w"},
      {"mkdtemp", "w"},
      {"truncate", "w"},
      {"chmod", "w"},
      {"chown", "w"},
      {"lchmod", "w"},
      {"lchown", "w"},
      {"utimes", "w"},
      {"lutimes", "w"},
      {"writeTextFile", "w"},
      {"write", "w"},
      {"create", "w"},
      {"unlink", "d"},
      {"rm", "d"},
      {"rmdir", "d"},
      {"remove", "d"},
      {"rename", "dw"},
      {"copyFile", "rw"},
      {"cp", "rw"},
      {"link", "rw"},
      {"symlink", "rw"},
      {"outputFile", "w"},
      {"outputJson", "w"},
      {"writeJson", "w"},
      {"readJson", "r"},
      {"move", "dw"},
      {"copy", "rw"},
      {"emptyDir", "d"},
      {"ensureDir", "w"},
  };
  auto it = table.find(function);
  return it == table.end() ? std::string_view() : it->second;
}

}  // namespace

bool Walk::loads_module(const Model::Call& call, NodeId n) {
  const std::string& p = call.path;
  bool certain = one_of(p, {"require", "import", "Module._load", "Module.require", "process.getBuiltinModule",
                            "require.resolve", "import.meta.require"});
  if (!certain && p != "?.require" && p != "?.getBuiltinModule") return false;
  const Value& name = argument(call, 0);
  if (p == "require.resolve") return true;
  if (name.kind == Value::kText) {
    import(name.text, name.folded, n);
  } else if (certain && !call.arguments.empty()) {
    bool local = name.kind == Value::kPrefix && (name.text.starts_with("./") || name.text.starts_with("../"));
    construct(local ? "local-dynamic-require" : "dynamic-require", p, n);
  }
  return true;
}

void Walk::nested(std::string source, NodeId n) {
  if (nesting_ >= 4 || --*nested_left_ < 0) {
    construct("dynamic-code", "code within code within code", n);
    return;
  }
  auto tree = parse_source(Grammar::kJavascript, std::move(source));
  if (!tree.ok() || tree.value().has_error()) {
    construct("unparsable-code", "a text run as code that cannot be read", n);
    return;
  }
  for (Fact& f : Walk(tree.value(), nesting_ + 1, nested_left_).run())
    add(f.kind, std::move(f.name), std::move(f.detail), n);
}

void Walk::code(const Model::Call& call, std::size_t i, NodeId n) {
  const Value& v = argument(call, i);
  if (v.kind == Value::kText || v.kind == Value::kBytes) {
    construct("constant-code", call.path, n);
    nested(v.text, n);
  } else if (v.kind == Value::kUnknown || v.kind == Value::kPrefix || v.kind == Value::kPath) {
    construct(plain_eval(n) && only_computes() ? "computed-expression" : "dynamic-code", call.path, n);
  }
}

// eval(x), spelled so, of names that are declared here: not one of whoever runs the source.
bool Walk::plain_eval(NodeId n) {
  std::vector<NodeId> given = model_.arguments_of(n);
  if (model_.kind(n) != K::kCall || tree().text(model_.callee_of(n)) != "eval" || given.size() != 1) return false;
  if (declared_.empty())
    for (NodeId d = 0; d < tree().size(); ++d)
      if (model_.kind(d) == K::kIdentifier && model_.is_declaration(d)) declared_.insert(tree().text(d));
  for (NodeId c = given[0]; c < tree().end_of(given[0]); ++c)
    if (model_.kind(c) == K::kIdentifier && !declared_.contains(tree().text(c))) return false;
  return true;
}

// Nothing in the source is, makes or brings a text that could be code: then eval only computes with the operators and
// numbers it is given, as calculators do.
bool Walk::only_computes() {
  if (only_computes_) return *only_computes_;
  only_computes_ = false;
  std::string_view all = tree().text();
  // Texts made of anything but texts: [] + {} and numbers in base 36 spell words, too.
  for (std::string_view made :
       {"[]+", "[] +", "+[]", "+ []", "![]", "{}+", "+{}", "+ {}", "toString(3", "toString(2", "RegExp"})
    if (all.find(made) != all.npos) return false;
  static constexpr std::string_view kBring =
      " atob btoa Buffer fromCharCode fromCodePoint unescape decodeURIComponent decodeURI TextDecoder require process "
      "module global "
      "globalThis window self document location prompt fetch XMLHttpRequest WebSocket Deno Bun readline fs raw source "
      "name message stack "
      "constructor prototype __proto__ arguments caller callee ";
  for (NodeId n = 0; n < tree().size(); ++n) {
    K kind = model_.kind(n);
    if (kind == K::kString || kind == K::kTemplate) {
      std::string_view text = tree().text(n);
      if (text.find('\\') != text.npos || text.find("${") != text.npos) return false;
      for (std::size_t at = text.find('('); at != text.npos; at = text.find('(', at + 1))
        if (at > 0 && is_word_char(text[at - 1])) return false;
      std::size_t run = 0;  // letters in one piece: a word of a message has few
      for (char c : text) {
        run = is_word_char(c) ? run + 1 : 0;
        if (run > 24) return false;
      }
      if (text.find("__") != text.npos || text.find("import") != text.npos || text.find("=>") != text.npos)
        return false;
    } else if (kind == K::kImport || kind == K::kImportStatement || kind == K::kWith || kind == K::kThis) {
      return false;
    } else if (tree()[n].named && tree().text(n).size() < 24 && tree().end_of(n) == n + 1 && !tree().text(n).empty() &&
               is_word_char(tree().text(n)[0])) {
      std::string word = cat(" ", tree().text(n), " ");
      if (kBring.find(word) != kBring.npos) return false;
    }
  }
  only_computes_ = true;
  return true;
}

bool Walk::runs_code(const Model::Call& call, NodeId n) {
  const std::string& p = call.path;
  if (one_of(p, {"eval", "execScript", "Script.runInThisContext"})) {
    if (!call.arguments.empty()) code(call, 0, n);
  } else if (one_of(p, {"Function", "AsyncFunction", "GeneratorFunction"})) {
    construct("function-constructor", p, n);
    if (!call.arguments.empty()) code(call, call.arguments.size() - 1, n);
  } else if (p == "?.constructor" && !call.arguments.empty() && model_.kind(n) == K::kCall) {
    const Value& v = model_.value(call.arguments.back());
    bool body =
        v.kind == Value::kText && (v.text.find("return ") != v.text.npos || v.text.find("process") != v.text.npos ||
                                   v.text.find("require") != v.text.npos);
    if (body) {
      construct("function-constructor", "constructor", n);
      code(call, call.arguments.size() - 1, n);
    }
  } else if (one_of(p, {"setTimeout", "setInterval", "setImmediate", "execScript"})) {
    const Value& v = argument(call, 0);
    if (v.kind == Value::kText || v.kind == Value::kPrefix) code(call, 0, n);
  } else if (p.starts_with("vm.") && p.find("()") == p.npos) {
    if (one_of(p, {"vm.runInThisContext", "vm.runInNewContext", "vm.runInContext", "vm.Script", "vm.compileFunction",
                   "vm.SourceTextModule"}))
      code(call, 0, n);
  } else if (one_of(p, {"worker_threads.Worker", "Worker", "SharedWorker"})) {
    const Value& options = argument(call, 1);
    const Value& source = argument(call, 0);
    const NodeId given = call.nodes.size() > 1 ? call.nodes[1] : kNoNode;
    bool eval = options.kind == Value::kObject ? evaluates(options.node)  // { ...x } and Object.assign, too
                                               : given != kNoNode && tree().text(given).find("eval") != std::string_view::npos;
    if (eval) code(call, 0, n);
    else if (source.kind == Value::kText && !source.text.starts_with("data:")) loaded_.emplace_back(source.text, n);
    if (source.kind == Value::kText && source.text.starts_with("data:")) import(source.text, false, n);
  } else if (p.ends_with("._compile") || call.method == "_compile") {
    code(call, 0, n);
  } else {
    return false;
  }
  return true;
}

void Walk::commands(const Model::Call& call, NodeId n) {
  const std::string& p = call.path;
  bool starts =
      p.starts_with("child_process.") || one_of(p, {"Bun.spawn", "Bun.spawnSync", "Deno.run", "Deno.Command", "Bun.$",
                                                    "execa", "execa.execa", "shelljs.exec", "zx.$", "$"});
  if (!starts) return;
  const Value& command = argument(call, 0);
  std::string words = command.kind == Value::kText || command.kind == Value::kPrefix ? command.text : "";
  auto append = [&](const Value& list) {
    for (ValueId item : list.items) words += cat(words.empty() ? "" : " ", model_.value(item).text);
  };
  if (command.kind == Value::kArray) append(command);
  if (argument(call, 1).kind == Value::kArray) append(argument(call, 1));
  if (words.empty()) return;
  std::string_view s = trim(words);
  add(FactKind::kCommand, std::string(s.substr(0, s.find_first_of(" \t\n;|&"))), std::string(s), n);
}

void Walk::file(FactKind kind, ValueId id, bool deletes, NodeId n) {
  const Value& v = model_.value(id);
  std::string name;
  if (v.kind == Value::kText || v.kind == Value::kBytes) {
    name = v.text;
  } else if (v.kind == Value::kPrefix && v.text.find('/') != v.text.npos) {
    name = v.text + "*";
  } else if (v.kind == Value::kPath && v.text.starts_with("process.env.") && !v.text.ends_with('*')) {
    name = "$" + v.text.substr(12);
  } else if (v.kind == Value::kNumber || v.kind == Value::kObject) {
    return;  // a descriptor that is open already; options
  } else {
    construct(deletes ? "non-literal-delete" : "non-literal-path", "a path that is not constant", n);
    return;
  }
  name = normal_path(name);
  // Below the work folder only what other programs pick up is worth a fact; the rules say what that is.
  add(kind, name, deletes ? "delete" : "", n);
}

void Walk::files(const Model::Call& call, NodeId n) {
  std::string_view p = call.path, root = p.substr(0, p.find('.'));
  if (!one_of(root, {"fs", "Deno", "Bun", "fs-extra", "graceful-fs", "original-fs"}) || root.size() == p.size()) return;
  std::string_view f = p.substr(root.size() + 1);
  if (f.starts_with("promises.")) f.remove_prefix(9);
  if (f.ends_with("Sync")) f.remove_suffix(4);
  std::string_view what = file_arguments(f);
  for (std::size_t i = 0; i < what.size() && i < call.arguments.size(); ++i) {
    bool writes = what[i] == 'w' || what[i] == 'd';
    if (what[i] == 'o') {
      const Value& mode = argument(call, 1);
      writes = mode.kind == Value::kText && mode.text.find_first_of("wa+") != mode.text.npos;
      if (mode.kind == Value::kObject) writes = tree().text(mode.node).find("write") != std::string_view::npos;
      if (mode.kind == Value::kPath || mode.kind == Value::kNumber) writes = true;
    }
    if (writes && what[i] != 'd') keep_written(f, call, i);
    file(writes ? FactKind::kWritePath : FactKind::kReadPath, call.arguments[i], what[i] == 'd', n);
  }
}

void Walk::host(ValueId id, NodeId n) {
  const Value& v = model_.value(id);
  if ((v.kind == Value::kText || v.kind == Value::kPrefix) && v.text.find_first_of(".:/") != v.text.npos) {
    if (v.text.starts_with('/') || v.text.starts_with('.')) return;  // a path on the page's own host
    add(FactKind::kHost, v.text, "", n);
  } else if (v.kind == Value::kText && v.text == "localhost") {
    add(FactKind::kHost, v.text, "", n);
  } else if (v.kind == Value::kObject) {
    for (std::string_view key : {"host", "hostname", "url", "baseURL"}) {
      const Value& h = model_.value(model_.property(v.node, key));
      if (h.kind == Value::kText && !h.text.empty()) add(FactKind::kHost, h.text, "", n);
    }
  }
}

void Walk::hosts(const Model::Call& call, NodeId n) {
  const std::string& p = call.path;
  std::string_view root = std::string_view(p).substr(0, p.find('.'));
  auto at = [&](std::size_t i) {
    if (i < call.arguments.size()) host(call.arguments[i], n);
  };
  if (one_of(root, {"fetch", "WebSocket", "EventSource", "axios", "got", "request", "superagent", "needle", "undici",
                    "node-fetch", "ws", "Request"}) ||
      one_of(p, {"http.get", "http.request", "https.get", "https.request", "http2.connect", "navigator.sendBeacon",
                 "Deno.connect", "Bun.connect"}))
    at(0);
  else if (p == "XMLHttpRequest().open")
    at(1);
  else if (one_of(p, {"net.connect", "net.createConnection", "tls.connect", "net.Socket().connect"}))
    at(0), at(1);
  else if (p == "dgram.createSocket().send")
    for (std::size_t i = 1; i < call.arguments.size(); ++i) at(i);
  else if (root == "dns")
    at(0);
}

void Walk::globals_as_objects(const Model::Call& call, NodeId n) {
  bool looks = one_of(call.path, {"Object.keys", "Object.values", "Object.entries", "Object.getOwnPropertyNames",
                                  "Object.getOwnPropertyDescriptors", "Reflect.ownKeys"});
  bool wraps = one_of(call.path, {"Proxy", "Reflect.get", "Reflect.set", "Object.defineProperty",
                                  "Reflect.defineProperty", "Object.defineProperties", "Object.setPrototypeOf"});
  if (!looks && !wraps) return;
  const Value& target = argument(call, 0);
  if (target.kind != Value::kPath) return;
  if (wraps && target.text == "Object.prototype") construct("prototype-change", target.text, n);
  if (!one_of(target.text,
              {"process", "globalThis", "require", "module", "Module", "eval", "Function", "child_process"}))
    return;
  bool resolved = call.path == "Reflect.get" && argument(call, 1).kind == Value::kText;
  if (call.path == "Reflect.get" && !resolved) construct("computed-global-call", target.text, n);
  else if (call.path == "Proxy") construct("global-wrapped", target.text, n);
  else if (!resolved) construct("global-as-object", target.text, n);
  // What Reflect.get yields has a name of its own: report it as if it stood there.
  if (resolved)
    if (const Value& v = model_.value_of(n); v.kind == Value::kPath && v.text[0] != '?')
      add(FactKind::kUse, v.text, role_of(n), n);
}

void Walk::look_at_call(NodeId n) {
  Model::Call call = model_.call_of(n);
  if (NodeId f = tree().child_by_field(n, "function"); tree().is(f, "identifier")) facts_.plain_call(tree().text(f), tree()[n].begin, tree()[n].end);
  // buf.readUInt8(at, true) of old: no check of the bounds.
  std::string_view m = call.method;
  if ((m.starts_with("readU") || m.starts_with("readI") || m.starts_with("writeU") || m.starts_with("writeI")) &&
      !call.nodes.empty() && call.nodes.back() != kNoNode && tree().text(call.nodes.back()) == "true")
    construct("buffer-noassert", std::string(m), n);
  if (call.path.empty()) {
    if (m == "_compile" && call.arguments.size() == 2) runs_code(call, n);
    return;
  }
  if (loads_module(call, n)) return;
  runs_code(call, n);
  commands(call, n);
  files(call, n);
  hosts(call, n);
  globals_as_objects(call, n);
  look_at_habits(call, n);
  if ((call.path == "RegExp") && argument(call, 0).kind == Value::kText &&
      has_nested_repetition(argument(call, 0).text))
    construct("unsafe-regex", argument(call, 0).text.substr(0, 80), n);
}

}  // namespace hotcell::javascript
