// Calls: what is called, and what that means where the meaning is in the arguments.
#include <algorithm>

#include "base/strings.h"
#include "languages/python/facts_modules.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

bool among(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Functions that take a text and run it as Python.
bool runs_text(std::string_view name) {
  return among(name, {"timeit.timeit", "timeit.repeat", "timeit.Timer", "cProfile.run", "profile.run",
                      "cProfile.runctx", "profile.runctx", "pdb.run", "pdb.runeval", "pdb.runctx", "trace.Trace.run",
                      "trace.Trace.runctx", "numpy.testing.runstring", "cProfile.Profile.run",
                      "cProfile.Profile.runctx", "profile.Profile.run", "profile.Profile.runctx", "bdb.Bdb.run",
                      "bdb.Bdb.runeval", "bdb.Bdb.runctx", "doctest.debug_src"});
}

// Libraries whose functions evaluate a text that looks like an expression or a template.
bool evaluates_text(std::string_view name) {
  return among(name, {"pandas.eval", "pandas.DataFrame.query", "pandas.DataFrame.eval", "sympy.sympify",
                      "sympy.parse_expr", "numexpr.evaluate", "jinja2.Template", "jinja2.Environment.from_string",
                      "mako.template.Template", "flask.render_template_string"});
}

bool is_weak_crypto(std::string_view name) {
  return among(name, {"hashlib.md5",
                      "hashlib.sha1",
                      "hashlib.md4",
                      "Crypto.Cipher.DES.new",
                      "Crypto.Cipher.DES3.new",
                      "Crypto.Cipher.ARC4.new",
                      "Crypto.Cipher.ARC2.new",
                      "Crypto.Cipher.Blowfish.new",
                      "Cryptodome.Cipher.DES.new",
                      "Crypto.Hash.MD5.new",
                      "Crypto.Hash.SHA1.new",
                      "Crypto.Hash.MD2.new",
                      "Crypto.Hash.MD4.new",
                      "md5.new",
                      "sha.new",
                      "crypt.crypt",
                      "ssl._create_unverified_context",
                      "cryptography.hazmat.primitives.hashes.MD5",
                      "cryptography.hazmat.primitives.hashes.SHA1",
                      "cryptography.hazmat.primitives.ciphers.algorithms.ARC4",
                      "cryptography.hazmat.primitives.ciphers.algorithms.TripleDES",
                      "cryptography.hazmat.primitives.ciphers.algorithms.Blowfish",
                      "cryptography.hazmat.primitives.ciphers.modes.ECB",
                      "pyDes.des"});
}

bool starts_process(std::string_view name) {
  return among(
      name, {"os.fork", "os.forkpty", "subprocess.Popen", "subprocess.run", "subprocess.call", "os.system", "os.popen",
             "multiprocessing.Process", "multiprocessing.Process.start", "posix.fork", "os.posix_spawn"});
}

}  // namespace

void Analyser::on_call(NodeId n) {
  NodeId function = t_.field(n, "function");
  if (t_.kind(function) == K::kListSplat) function = t_.first_named(function);  // [*f(x)]
  if (function == kNoNode) return;
  Values functions = eval(function);
  Arguments a = e_.arguments(n);
  if (t_.kind(function) == K::kIdentifier) plain_call(function, functions);
  for (const Value& f : functions) {
    if (f.is(Kind::kName)) {
      known_call(f, n, a);
    } else if (f.is(Kind::kObject) && f.text == "operator.itemgetter") {
      for (const Value& v : eval(n)) report_name(v, n, "reference");
    } else if (f.is(Kind::kObject) && (f.text == "operator.attrgetter" || f.text == "operator.methodcaller")) {
      for (const Value& v : eval(n)) report_name(v, n, "reference");
      for (const Value& o : eval(a.at(0)))
        for (const Value& name : f.items)
          if (o.is(Kind::kName) && !name.known_string()) construct("dynamic-attribute", o.text, n);
    }
  }
  if (!namespace_of(n).empty()) {
    namespaces_ = true;
    namespace_handed_on(n);
  }
  // A computed function: what it is was reported where it was named.
  if (t_.kind(function) == K::kCall || t_.kind(function) == K::kSubscript || t_.kind(function) == K::kParenthesized ||
      t_.kind(function) == K::kConditional)
    return;
  if (t_.kind(function) == K::kAttribute) {
    // Methods of objects that are not followed: names given as text, and the exit of a loop.
    std::string_view name = t_.text(t_.field(function, "attribute"));
    if (name == "get" || name == "pop" || name == "setdefault" || name == "__getitem__" || name == "__getattribute__" ||
        name == "__getattr__" || name == "__delattr__" || name == "__setattr__")
      for (NodeId argument : a.positional)
        if (auto text = e_.constant(argument)) dunder_text(*text, argument);
  }
}

// For a profile's own list of functions: `baz()`, whoever defines it, and what an import calls otherwise by its own name.
void Analyser::plain_call(NodeId function, const Values& functions) {
  std::string name = t_.name(function);
  for (const Value& f : functions) {
    if (!f.is(Kind::kName)) continue;
    if (f.text.starts_with("builtins.")) return;  // a use of that name, and found as such
    if (std::string last = f.text.substr(f.text.rfind('.') + 1); last != name) construct("call:" + last, last, function);
  }
  construct("call:" + name, name, function);
}

void Analyser::known_call(const Value& f, NodeId n, const Arguments& a) {
  const std::string& name = f.text;
  if (among(name,
            {"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort", "builtins.input", "time.sleep"}))
    last_exit_ = name == "time.sleep" ? last_exit_ : n;
  if (starts_process(name)) last_spawn_ = n;
  if (name.starts_with("re.")) regex_call(f, n, a);
  std::string detail = "call";
  // subprocess.run(command, **{'shell': True}): what the two stars bring is not followed further than the word.
  if (name.starts_with("subprocess.") && t_.text(n).find("**") != std::string_view::npos &&
      (tree_.text().find("'shell'") != std::string_view::npos ||
       tree_.text().find("\"shell\"") != std::string_view::npos ||
       tree_.text().find("shell=True") != std::string_view::npos))
    detail += " shell=True";
  else if (NodeId shell = a.keyword("shell"); shell != kNoNode && t_.kind(shell) != K::kFalse)
    detail += " shell=True";
  if (name == "os.system" || name == "os.popen") {
    Values commands = eval(a.at(0));
    bool clear = !commands.empty() && std::all_of(commands.begin(), commands.end(), [](const Value& v) {
      return v.known_string() && (v.text == "clear" || v.text == "cls");
    });
    if (clear) detail = "clear-screen";
  }
  if (name == "yaml.load" || name == "yaml.load_all") {
    for (const Value& v : eval(a.get(1, "Loader")))
      if (v.is(Kind::kName) && (v.text.ends_with("SafeLoader") || v.text.ends_with("BaseLoader"))) detail = "safe";
  }
  if (NodeId allow = a.keyword("allow_pickle"); allow != kNoNode && t_.kind(allow) == K::kTrue)
    detail += " allow_pickle=True";
  if (NodeId verify = a.keyword("verify"); verify != kNoNode && t_.kind(verify) == K::kFalse)
    construct("weak-crypto", name + " without verifying the certificate", n);
  if (is_weak_crypto(name)) {
    NodeId security = a.keyword("usedforsecurity");
    if (security == kNoNode || t_.kind(security) != K::kFalse) construct("weak-crypto", name, n);
  }
  if (name.ends_with("RSA.generate") || name.ends_with("DSA.generate") || name.ends_with("rsa.generate_private_key") ||
      name.ends_with("dsa.generate_private_key"))
    for (const Value& v : eval(name.ends_with("key") ? a.get(1, "key_size") : a.get(0, "bits")))
      if (v.is(Kind::kInt) && v.number < 2048)
        construct("weak-crypto", cat(name, " of ", std::to_string(v.number), " bits"), n);
  if (name == "hmac.new" || name == "hmac.digest" || name == "hashlib.pbkdf2_hmac")
    for (const Value& v : eval(name == "hashlib.pbkdf2_hmac" ? a.get(0, "hash_name")
                                                             : a.get(2, name == "hmac.new" ? "digestmod" : "digest")))
      if (among(v.text, {"md5", "sha1", "hashlib.md5", "hashlib.sha1"}))
        construct("weak-crypto", cat(name, " with ", v.text), n);
  if ((name == "os.getenv" || name == "os.environ.get" || name == "os.environ.pop"))
    if (auto variable = e_.constant(a.get(0, "key")); variable && names_secret(*variable))
      construct("environment-secret", *variable, n);
  environment_changes(name, n, a);
  if (name == "webbrowser.get")  // a browser given as a command
    if (auto browser = e_.constant(a.get(0, "using")); browser && browser->find_first_of(" /%") != std::string::npos)
      fact(FactKind::kUse, "webbrowser.GenericBrowser", "call", n);
  if (evaluates_text(name) || name.ends_with(".query") || name.ends_with(".eval"))
    if (auto text = e_.constant(a.at(0))) {
      if (std::size_t at = text->find("__"); at != std::string::npos && text->find("__", at + 2) != std::string::npos)
        construct("dunder-walk", text->substr(at, 60), n);
      if (text->find('(') != std::string::npos)  // @pd.compat.os.system('…'): such texts reach the program's own names
        for (std::string_view way :
             {".os.", ".sys.", ".system(", ".popen(", ".builtins.", "import_module(", ".subprocess."})
          if (text->find(way) != std::string::npos) construct("dynamic-code", text->substr(0, 60), n);
    }
  if (name == "hashlib.new")
    if (auto hash = e_.constant(a.get(0, "name")); hash && among(*hash, {"md5", "MD5", "sha1", "SHA1", "md4"}))
      construct("weak-crypto", *hash, n);
  if (name == "builtins.bytearray" || name == "builtins.bytes")
    for (const Value& v : eval(a.at(0)))
      if (v.is(Kind::kInt) && v.number >= 1'000'000'000) construct("huge-allocation", std::to_string(v.number), n);
  if (reads_own_pickle(name, a)) detail = "own data";
  reflective_call(f, n, a);
  if (name == "builtins.eval" || name == "builtins.exec" || name == "builtins.compile" || name == "builtins.execfile" ||
      runs_text(name)) {
    code_call(f, n, a);
    return;
  }
  report_name(f, n, detail);
  file_call(f, n, a);
  host_call(f, n, a);
  process_call(f, n, a);
}

void Analyser::attribute_by_text(NodeId object, NodeId name, NodeId at) {
  if (name == kNoNode) return;
  Values names = eval(name), objects = eval(object);
  bool constant = std::all_of(names.begin(), names.end(), [](const Value& v) { return v.known_string(); });
  if (!constant) dynamic_getattr_ = true;
  for (const Value& v : names) {
    if (!v.known_string()) continue;
    for (std::string_view part : split(v.text, '.')) dunder_text(std::string(part), name);
    for (const Value& o : objects)
      if (o.is(Kind::kName) && !module_through(o.text, v.text).empty()) report_through(at, o.text, v.text);
  }
  if (constant) return;
  for (const Value& o : objects)
    if (o.is(Kind::kName) && !o.text.starts_with("str.")) construct("dynamic-attribute", o.text, at);
}

void Analyser::reflective_call(const Value& f, NodeId n, const Arguments& a) {
  const std::string& name = f.text;
  if (among(name, {"builtins.getattr", "builtins.setattr", "builtins.delattr", "builtins.hasattr",
                   "inspect.getattr_static"})) {
    attribute_by_text(a.at(0), a.at(1), n);
    if (name == "builtins.setattr" && a.at(1) != kNoNode && !e_.constant(a.at(1)))
      construct("mass-assignment", "setattr", n);
    if (name != "builtins.getattr") return;
    for (const Value& v : eval(n)) report_name(v, n, "reference");
    return;
  }
  if (name.ends_with(".__getattribute__") || name.ends_with(".__getattr__")) {
    Values made = eval(n);
    for (const Value& v : made) report_name(v, n, "reference");
    if (!f.items.empty() && f.items[0].module && !e_.constant(a.at(0)))
      construct("dynamic-attribute", f.items[0].text, n);
    for (NodeId argument : a.positional)
      if (auto text = e_.constant(argument)) dunder_text(*text, argument);
    return;
  }
  if (name == "operator.attrgetter" || name == "operator.methodcaller" || name == "operator.itemgetter") {
    for (NodeId argument : a.positional) {
      auto text = e_.constant(argument);
      if (!text) {
        if (name != "operator.itemgetter") dynamic_getattr_ = true;
      } else {
        for (std::string_view part : split(*text, '.')) {
          if (name == "operator.attrgetter") called_on_unknown(argument, part, {});  // whatever it is given later
          if (is_hard_dunder(part) || part == "__class__" || part == "__dict__")
            construct("dunder-walk", std::string(part), argument);
          if (name == "operator.methodcaller" &&
              among(part, {"system", "popen", "execv", "execl", "spawnl", "spawnv", "fork", "eval", "exec"}))
            construct("dangerous-method-by-name", std::string(part), argument);
        }
      }
      if (name == "operator.methodcaller") break;  // the rest are its arguments
    }
    return;
  }
  if (name == "sys.modules.values" || name == "sys.modules.items") modules_handed_on();
  bool imports =
      among(name, {"builtins.__import__", "importlib.import_module", "importlib.__import__", "pkgutil.resolve_name",
                   "pydoc.locate", "sys.modules.get", "sys.modules.pop", "sys.modules.__getitem__"});
  if (imports) {
    for (const Value& v : eval(n)) {
      if (v.is(Kind::kName) && v.module) {
        fact(FactKind::kImport, v.text, "by " + name, n);
        module_handed_on(n, v);
        if (name.starts_with("sys.modules") && is_stdlib(v.text)) report_through(n, "sys.modules", v.text);
      } else if (v.is(Kind::kName)) {
        report_name(v, n, "reference");
      } else if (a.at(0) == kNoNode || t_.text(a.at(0)) != "__name__") {
        construct("dynamic-import", name, n);
      }
    }
    if (NodeId list = a.get(3, "fromlist"); name == "builtins.__import__" && list != kNoNode)
      for (const Value& v : eval(a.at(0)))
        if (v.known_string()) fact(FactKind::kImport, canonical_module(v.text), "by __import__", n);
    return;
  }
  if (name == "functools.reduce")
    for (const Value& v : eval(n)) {
      if (v.is(Kind::kUnknown)) dynamic_getattr_ = true;
      report_name(v, n, "reference");
    }
  if (name == "dict.get" || name == "dict.pop" || name == "builtins.globals.get" || name == "dict.__getitem__" ||
      name == "dict.values" || name == "dict.items") {
    bool of_module = !f.items.empty() && f.items[0].is(Kind::kDictOf);
    auto key = e_.constant(a.at(0));
    if (key) dunder_text(*key, n);
    if (of_module && !key) construct("dynamic-attribute", f.items[0].text, n);
    if (of_module)
      for (const Value& v : eval(n)) report_name(v, n, "reference");
  }
}

// eval of nothing but the function's own parameters and numbers: what calculators do. Anything that decodes, reads or
// carries text of its own is not that.
bool Analyser::only_parameters(NodeId start) {
  std::vector<NodeId> left = {start}, done;
  bool parameter = false;
  while (!left.empty()) {
    NodeId top = left.back();
    left.pop_back();
    if (std::find(done.begin(), done.end(), top) != done.end()) continue;
    done.push_back(top);
    if (done.size() > 24 || top == kNoNode) return false;
    for (NodeId n = top; n < tree_.end_of(top); ++n) {
      if (!tree_[n].named) continue;
      switch (t_.kind(n)) {
        case K::kIdentifier: {
          std::uint32_t at = s_.lookup(s_.scope_of(n), s_.name_of(n));
          const std::string& name = s_.spelling(s_.name_of(n));
          if (at == ~0u && !among(name, {"str", "zip", "range", "len", "int", "float", "enumerate", "map"}))
            return false;
          for (; at != ~0u; at = s_.binding(at).next) {
            const Binding& b = s_.binding(at);
            if (b.how == Binding::How::kParameter)
              parameter = true;
            else if (b.how == Binding::How::kValue || b.how == Binding::How::kElement)
              left.push_back(b.node);
            else if (b.how != Binding::How::kOpaque)
              return false;
          }
          break;
        }
        case K::kString: {
          std::string text = e_.constant(n).value_or("~");
          if (text.find_first_not_of("0123456789.+-*/%() <>=") != std::string::npos) return false;
          n = tree_.end_of(n) - 1;
          break;
        }
        case K::kAttribute: {
          std::string name = t_.name(t_.field(n, "attribute"));
          if (!among(name, {"join", "strip", "replace"})) return false;
          break;
        }
        case K::kSubscript:
        case K::kInteger:
        case K::kSlice:
        case K::kBinary:
        case K::kCall:
        case K::kArguments:
        case K::kParenthesized:
        case K::kTuple:
        case K::kUnary:
          break;
        case K::kStringContent:
        case K::kStringStart:
          break;
        default:
          if (tree_.kind(n) != "string_end") return false;
      }
    }
  }
  return parameter;
}

// Does any text of the source look like a piece of code? Then what a calculator is given may be one.
bool Analyser::carries_code() {
  if (carries_code_) return *carries_code_;
  carries_code_ = false;
  for (NodeId n = 0; n < tree_.size() && !*carries_code_; ++n) {
    if (!tree_[n].named || t_.kind(n) != K::kString || t_.kind(t_.parent(n)) == K::kExpressionStatement) continue;
    std::string_view text = t_.text(n);
    if (text.find("__") != std::string_view::npos || text.find("import") != std::string_view::npos)
      carries_code_ = true;
    for (std::size_t at = text.find('('); at != std::string_view::npos; at = text.find('(', at + 1))
      if (at > 0 && is_word_char(text[at - 1])) carries_code_ = true;
  }
  return *carries_code_;
}

void Analyser::code_call(const Value& f, NodeId n, const Arguments& a) {
  const std::string& name = f.text;
  NodeId source = a.get(0, name == "builtins.eval" ? "expression" : name.starts_with("builtins.") ? "source" : "stmt");
  Values sources = eval(source);
  bool all = source != kNoNode;
  std::string before;  // of timeit: both texts are one function
  if (NodeId setup = runs_text(name) ? a.get(1, "setup") : kNoNode; setup != kNoNode) {
    for (const Value& v : eval(setup))
      if (v.known_string()) {
        nested(v.text, n, false);
        before += v.text + "\n";
      }
    all = all || sources.empty();
  }
  for (const Value& v : sources) {
    bool compiled = v.is(Kind::kObject) && v.text == "builtins.compile";
    if (v.known_string())
      nested(before + v.text, n, false);
    else if (!compiled && !(runs_text(name) && !v.is(Kind::kString)))
      all = false;
  }
  fact(FactKind::kUse, name, all ? "constant" : "computed", n);
  if (all || runs_text(name)) return;
  std::string_view word = std::string_view(name).substr(9);
  if (name == "builtins.eval" && source != kNoNode && a.positional.size() <= 3 && only_parameters(source) &&
      !carries_code())
    construct("computed-expression", std::string(word), n);
  else
    construct("dynamic-code", std::string(word), n);
}

void Analyser::nested(const std::string& source, NodeId at, bool must_parse) {
  if (++nested_count_ > 64) {
    if (!must_parse) construct("dynamic-code", "too many texts run as code", at);
    return;
  }
  if (depth_ >= 4) {
    construct("dynamic-code", "code in code in code", at);
    return;
  }
  std::size_t begin = source.find_first_not_of(" \t\n");
  std::string text = begin == std::string::npos ? "" : source.substr(begin) + "\n", around;
  const auto& lines = surroundings();
  for (auto it = lines.rbegin(); it != lines.rend() && around.size() < (16u << 10); ++it)  // x = os, then import os
    if (text.find(it->first) != std::string::npos || around.find(it->first) != std::string::npos)
      around.insert(0, it->second);
  auto tree = parse_source(Grammar::kPython, around + text);
  if (!around.empty() && (!tree.ok() || tree.value().has_error())) {
    around.clear();
    tree = parse_source(Grammar::kPython, text);
  }
  if (!tree.ok() || tree.value().has_error()) {
    // eval of what is no Python fails when it runs; but the parser and Python may disagree.
    if (!must_parse) construct("unparsable-code", source.substr(0, 60), at);
    if (must_parse || !tree.ok()) return;
  }
  Analyser code(tree.value(), depth_ + 1);
  for (Fact& inner : code.run())
    if (inner.begin >= around.size()) fact(inner.kind, std::move(inner.name), std::move(inner.detail), at);
  if (!must_parse && brought_.size() < (16u << 10))
    for (const auto& [name, line] : code.surroundings())
      if (around.find(line) == std::string::npos) brought_ += line;
}

// What the source imports, and plain other names of it: a text that is run as code sees them.
const std::vector<std::pair<std::string, std::string>>& Analyser::surroundings() {
  if (surroundings_) return *surroundings_;
  surroundings_.emplace();
  constexpr std::size_t kMost = 256, kLongest = 512;
  for (NodeId n = 0; n < tree_.size() && surroundings_->size() < kMost; ++n) {
    if (!tree_[n].named) continue;
    K kind = t_.kind(n);
    if (kind == K::kAssignment) {
      NodeId left = t_.field(n, "left"), right = t_.field(n, "right");
      if (left == kNoNode || right == kNoNode || t_.kind(left) != K::kIdentifier) continue;
      if (t_.kind(right) != K::kIdentifier && t_.kind(right) != K::kAttribute) continue;
      if (t_.text(n).size() < kLongest) surroundings_->emplace_back(t_.text(left), cat(t_.text(n), "\n"));
      continue;
    }
    if ((kind != K::kImport && kind != K::kImportFrom) || t_.text(n).size() > kLongest) continue;
    NodeId module = kind == K::kImportFrom ? t_.field(n, "module_name") : kNoNode;
    std::string name;  // of several the last: one line brings them all, and "" is in every text
    int names = 0;
    for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c)) {
      if (c == module) continue;
      std::string_view bound = t_.text(t_.kind(c) == K::kAliased ? t_.field(c, "alias") : c);
      name = t_.kind(c) == K::kWildcard ? "" : std::string(bound.substr(0, bound.find('.')));
      ++names;
    }
    surroundings_->emplace_back(names == 1 ? name : "", cat(t_.text(n), "\n"));
  }
  return *surroundings_;
}

}  // namespace hotcell::python
