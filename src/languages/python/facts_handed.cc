// What can only be told of the whole source: modules that are handed on as values and used where nobody can follow
// them, examples in docstrings that doctest runs, modules the program writes for itself, variables that make others run
// code.
#include <algorithm>

#include "base/strings.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

struct Telling {
  std::string_view module, methods;  // with one space between and around
};

constexpr Telling kTelling[] = {
    {"os",
     " system popen execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv "
     "spawnve "
     "spawnvp spawnvpe posix_spawn posix_spawnp fork forkpty startfile "},
    {"posix", " system popen execv execve posix_spawn posix_spawnp fork forkpty "},
    {"subprocess", " Popen run call check_call check_output getoutput getstatusoutput "},
    {"builtins", " eval exec compile __import__ open "},
    {"importlib", " import_module __import__ reload "},
    {"ctypes", " CDLL PyDLL cdll pydll pythonapi "},
    {"pty", " spawn fork "},
    {"sys", " modules settrace setprofile meta_path "},
    {"shutil", " rmtree "},
    {"socket", " create_connection create_server "},
};

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1))
    if (list[at - 1] == ' ' && list[at + word.size()] == ' ') return true;
  return false;
}

bool is_telling(std::string_view method) {
  return !method.empty() && method.size() < 20 && method.find(' ') == method.npos &&
         std::any_of(std::begin(kTelling), std::end(kTelling),
                     [&](const Telling& t) { return has_word(t.methods, method); });
}

// Variables whose value other programs, or the interpreter itself, run or load.
bool is_run_by_others(std::string_view variable) {
  static constexpr std::string_view kNames =
      " LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH GCONV_PATH BROWSER PYTHONSTARTUP PYTHONBREAKPOINT PYTHONPATH PYTHONHOME "
      "PYTHONINSPECT "
      "PYTHONUSERBASE PYTHONEXECUTABLE BASH_ENV ENV PROMPT_COMMAND PS4 NODE_OPTIONS PERL5OPT PERL5LIB RUBYOPT RUBYLIB "
      "JAVA_TOOL_OPTIONS "
      "GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS LESSOPEN PAGER MANPAGER EDITOR "
      "VISUAL ";
  return !variable.empty() && variable.find(' ') == variable.npos && has_word(kNames, variable);
}

}  // namespace

// `n` stands for the module and is no object of an attribute: it goes somewhere.
void Analyser::module_handed_on(NodeId n, const Value& module) {
  if (!module.is(Kind::kName) || !module.module) return;
  if (std::none_of(std::begin(kTelling), std::end(kTelling), [&](const Telling& t) { return t.module == module.text; }))
    return;
  NodeId up = t_.parent(n);
  if (t_.kind(up) == K::kListSplat && t_.kind(t_.parent(up)) == K::kAttribute) return;  // [*os.listdir('.')]
  switch (t_.kind(up)) {
    case K::kAttribute:            // __import__('os').name
    case K::kExpressionStatement:  // by itself it goes nowhere
    case K::kComparison:
    case K::kDotted:
    case K::kAliased:
      return;
    case K::kAssignment:  // a name that is followed
      if (t_.kind(t_.field(up, "left")) == K::kIdentifier) return;
      break;
    case K::kNamed:
      return;
    default:
      break;
  }
  if (tree_.kind(up) == "delete_statement") return;
  handed_on_.insert(module.text);
  if (meets_getattr(n)) construct("dynamic-attribute", module.text, n);
}

// sys.modules as a whole: whatever is taken out of it may be any module.
void Analyser::modules_handed_on() {
  handed_on_.insert("os");
  handed_on_.insert("posix");
}

void Analyser::called_on_unknown(NodeId n, std::string_view method, const Values& objects) {
  if (!is_telling(method) || unknown_methods_.size() > 256) return;
  // What a library makes of the values it is given is not followed, either: nullcontext(os), SimpleNamespace(m=os).
  bool followed = std::all_of(objects.begin(), objects.end(), [](const Value& v) {
    return !v.is(Kind::kUnknown) && !v.is(Kind::kOwn) && !v.is(Kind::kObject) &&
           !(v.is(Kind::kName) && !v.module && v.text.find('.') != std::string::npos);
  });
  if (!followed || objects.empty()) unknown_methods_.emplace_back(std::string(method), n);
}

void Analyser::report_handed_on() {
  for (const auto& [method, at] : unknown_methods_)
    for (const Telling& t : kTelling)
      if (handed_on_.contains(std::string(t.module)) && has_word(t.methods, method))
        construct("module-handed-on", cat(t.module, ".", method), at);
  for (const auto& [stem, at] : written_modules_)
    if (imported_.contains(stem)) construct("writes-module", cat(stem, ".py"), at);
}

// The lines behind >>> and ... of one text.
void Analyser::run_examples(NodeId string) {
  auto text = e_.constant(string);
  if (!text || text->size() > kMaxConstant) return;
  std::string code;
  for (std::string_view line : split(*text, '\n')) {
    line = trim(line);
    if (line.starts_with(">>> "))
      (code += line.substr(4)) += '\n';
    else if (line.starts_with("... ") && !code.empty())
      (code += line.substr(4)) += '\n';
  }
  if (!code.empty()) nested(code, string, true);
}

void Analyser::environment_changes(std::string_view function, NodeId n, const Arguments& a) {
  auto changed = [&](const Value& key) {
    if (key.known_string() && is_run_by_others(key.text)) construct("environment-change", key.text, n);
  };
  if (function == "os.putenv" || function == "os.environ.setdefault" || function == "os.environ.__setitem__")
    for (const Value& v : eval(a.at(0))) changed(v);
  if (function != "os.environ.update") return;
  for (const auto& [name, value] : a.keywords) changed(string_value(name));
  for (const Value& v : eval(a.at(0)))
    if (v.is(Kind::kDict))
      for (std::size_t i = 0; i < v.items.size(); i += 2) changed(v.items[i]);
}

}  // namespace hotcell::python
