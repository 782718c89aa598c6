// Paths that are put together: os.path, pathlib, the environment.
#include <algorithm>

#include "languages/python/facts_value.h"

namespace hotcell::python {
namespace {

// Variables that name places of the cell rather than something chosen by who starts the program.
bool is_home(std::string_view variable) { return variable == "HOME" || variable == "USERPROFILE"; }
bool is_temporary(std::string_view variable) { return variable == "TMPDIR" || variable == "TEMP" || variable == "TMP"; }

Value environment(const Value& key, bool has_default) {
  if (!key.known_string()) {
    Value v;
    v.kind = Value::Kind::kEnv;
    v.number = has_default ? 1 : 0;
    return v;
  }
  if (is_home(key.text)) return string_value("~");
  if (is_temporary(key.text)) return string_value("/tmp");
  Value v;
  v.kind = Value::Kind::kEnv;
  v.text = key.text;
  v.number = has_default ? 1 : 0;
  return v;
}

Value path_object(Value path) {
  Value v;
  v.kind = Value::Kind::kObject;
  v.text = "pathlib.Path";
  v.items.push_back(std::move(path));
  return v;
}

Value plain_path(const Value& v) {
  return v.is(Value::Kind::kObject) && v.text == "pathlib.Path" && !v.items.empty() ? v.items[0] : v;
}

}  // namespace

std::optional<Values> Evaluator::fold_path(const Value& f, const Arguments& a, int depth) {
  std::string_view name = f.text;
  if (name == "os.getenv" || name == "os.environ.get" || name == "os.environ.pop" || name == "os.environ.setdefault" ||
      name == "os.environ.__getitem__" || name == "os.getenvb") {
    NodeId fallback = a.get(1, "default");
    Values out = one(environment(first(a.get(0, "key"), depth), fallback != kNoNode));
    if (fallback != kNoNode) add_values(out, eval(fallback, depth));
    return out;
  }
  bool joins = name == "os.path.join";
  bool makes = name == "pathlib.Path" || name == "pathlib.PosixPath" || name == "pathlib.PurePath" ||
               name == "pathlib.PurePosixPath" || name == "pathlib.WindowsPath";
  if (joins || makes) {
    if (a.positional.empty()) return makes ? one(path_object(string_value("."))) : Values{};
    Values out, starts = eval(a.at(0), depth);
    for (const Value& start : starts) {
      Value path = plain_path(start);
      for (std::size_t i = 1; i < a.positional.size(); ++i) path = join_path(path, plain_path(first(a.at(i), depth)));
      if (a.splat && path.is(Kind::kString)) path.partial = true;
      add_values(out, one(makes ? path_object(path) : path));
    }
    return out;
  }
  if (name == "os.path.expanduser" || name == "os.path.abspath" || name == "os.path.realpath" ||
      name == "os.path.normpath" || name == "os.fspath" || name == "os.fsencode" || name == "os.fsdecode" ||
      name == "os.path.expandvars") {
    Values out, paths = eval(a.at(0), depth);
    for (const Value& p : paths) {
      Value path = plain_path(p);
      if (path.is(Kind::kString) && path.text.starts_with("$HOME")) path.text = "~" + path.text.substr(5);
      add_values(out, one(path));
    }
    return out;
  }
  if (name == "os.path.dirname") {
    Values out, paths = eval(a.at(0), depth);
    for (const Value& p : paths) {
      Value path = plain_path(p);
      if (path.known_string()) {
        std::size_t slash = path.text.rfind('/');
        path.text = slash == std::string::npos ? "" : path.text.substr(0, std::max<std::size_t>(slash, 1));
      } else if (!path.is(Kind::kEnv)) {  // the folder of a file that a variable names is named by it, too
        path = unknown_value();
      }
      add_values(out, one(path));
    }
    return out;
  }
  // What is found below a folder begins with its name.
  const bool walks = name == "os.walk" || name == "os.fwalk", scans = name == "os.scandir";
  if (walks || scans || name == "glob.glob" || name == "glob.iglob") {
    Value path = plain_path(first(a.positional.empty() ? kNoNode : a.at(0), depth));
    if (!path.is(Kind::kString) || path.text.empty()) return std::nullopt;
    if (!walks && !scans) path.text = path.text.substr(0, path.text.find_first_of("*?["));
    else if (scans && !path.text.ends_with('/')) path.text += '/';
    path.partial = true;
    if (scans) path = path_object(std::move(path));
    return one(list_value({walks ? list_value({path, unknown_value(), unknown_value()}) : path}));
  }
  if (name == "pathlib.Path.home") return one(path_object(string_value("~")));
  if (name == "pathlib.Path.cwd") return one(path_object(string_value(".")));
  if (name == "os.getcwd") return one(string_value("."));
  if (name == "tempfile.gettempdir") return one(string_value("/tmp"));
  if (name == "tempfile.mkdtemp" || name == "tempfile.mktemp") return one(string_value("/tmp/made"));
  return std::nullopt;
}

std::optional<Values> Evaluator::fold_path_method(std::string_view method, const Value& self, const Arguments& a,
                                                  int depth) {
  Value path = plain_path(self);
  if (method == "joinpath") {
    for (NodeId n : a.positional) path = join_path(path, plain_path(first(n, depth)));
    return one(path_object(path));
  }
  if (method == "resolve" || method == "absolute" || method == "expanduser") return one(self);
  if (method == "as_posix" || method == "__str__" || method == "path") return one(path);
  if (method == "parent") {
    if (!path.known_string()) return one(path_object(unknown_value()));
    std::size_t slash = path.text.rfind('/');
    path.text = slash == std::string::npos ? "." : slash == 0 ? "/" : path.text.substr(0, slash);
    return one(path_object(path));
  }
  if (method == "name") return one(unknown_value());
  if (method == "with_name" || method == "with_suffix" || method == "glob" || method == "rglob" ||
      method == "iterdir") {
    // What is below or beside it: the beginning stays.
    if (!path.is(Kind::kString)) return one(path_object(unknown_value()));
    if (method.starts_with("with_")) {
      std::size_t slash = path.text.rfind('/');
      path.text = slash == std::string::npos ? "" : path.text.substr(0, slash + 1);
    } else if (!path.partial) {
      path.text += '/';
    }
    path.partial = true;
    return one(method.starts_with("with_") ? path_object(path) : list_value({path_object(path)}));
  }
  return std::nullopt;
}

}  // namespace hotcell::python
