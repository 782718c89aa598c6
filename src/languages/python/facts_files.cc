// Calls that touch files, hosts and programs: which argument is the path, the address, the command.
#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

// One letter for each positional argument: r read, w written, o opened by the mode after it, f by flags, . neither.
const std::unordered_map<std::string_view, std::string_view>& file_functions() {
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"builtins.open", "o"},
      {"io.open", "o"},
      {"codecs.open", "o"},
      {"io.FileIO", "o"},
      {"io.open_code", "r"},
      {"gzip.open", "o"},
      {"gzip.GzipFile", "o"},
      {"bz2.open", "o"},
      {"bz2.BZ2File", "o"},
      {"lzma.open", "o"},
      {"lzma.LZMAFile", "o"},
      {"tarfile.open", "o"},
      {"tarfile.TarFile", "o"},
      {"zipfile.ZipFile", "o"},
      {"wave.open", "o"},
      {"aiofiles.open", "o"},
      {"tokenize.open", "r"},
      {"os.open", "f"},
      {"posix.open", "f"},
      {"shelve.open", "w"},
      {"dbm.open", "w"},
      {"sqlite3.connect", "w"},
      {"logging.FileHandler", "w"},
      {"logging.handlers.RotatingFileHandler", "w"},
      {"os.remove", "w"},
      {"os.unlink", "w"},
      {"os.rmdir", "w"},
      {"os.removedirs", "w"},
      {"shutil.rmtree", "w"},
      {"os.truncate", "w"},
      {"os.mkdir", "w"},
      {"os.makedirs", "w"},
      {"os.mkfifo", "w"},
      {"os.mknod", "w"},
      {"os.chmod", "w"},
      {"os.chown", "w"},
      {"os.lchown", "w"},
      {"os.lchmod", "w"},
      {"os.utime", "w"},
      {"os.chroot", "w"},
      {"os.setxattr", "w"},
      {"os.chflags", "w"},
      {"shutil.chown", "w"},
      {"os.rename", "ww"},
      {"os.replace", "ww"},
      {"os.renames", "ww"},
      {"shutil.move", "ww"},
      {"shutil.copy", "rw"},
      {"shutil.copy2", "rw"},
      {"shutil.copyfile", "rw"},
      {"shutil.copytree", "rw"},
      {"shutil.copymode", "rw"},
      {"shutil.copystat", "rw"},
      {"os.link", "rw"},
      {"os.symlink", "rw"},
      {"shutil.make_archive", "w.r"},
      {"shutil.unpack_archive", "rw"},
      {"os.chdir", "r"},
      {"os.listdir", "r"},
      {"os.walk", "r"},
      {"os.scandir", "r"},
      {"os.fwalk", "r"},
      {"os.stat", "r"},
      {"os.lstat", "r"},
      {"os.access", "r"},
      {"os.readlink", "r"},
      {"os.statvfs", "r"},
      {"os.path.exists", "r"},
      {"os.path.isfile", "r"},
      {"os.path.isdir", "r"},
      {"os.path.getsize", "r"},
      {"os.path.getmtime", "r"},
      {"os.listxattr", "r"},
      {"os.getxattr", "r"},
      {"os.startfile", "r"},
      {"posix.listdir", "r"},
      {"posix.remove", "w"},
      {"posix.unlink", "w"},
      {"glob.glob", "r"},
      {"glob.iglob", "r"},
      {"fileinput.input", "r"},
      {"fileinput.FileInput", "r"},
      {"linecache.getline", "r"},
      {"linecache.getlines", "r"},
      {"linecache.updatecache", "r"},
      {"numpy.load", "r"},
      {"numpy.loadtxt", "r"},
      {"numpy.genfromtxt", "r"},
      {"numpy.fromfile", "r"},
      {"numpy.memmap", "r"},
      {"numpy.save", "w"},
      {"numpy.savetxt", "w"},
      {"numpy.savez", "w"},
      {"runpy.run_path", "r"},
      {"importlib.machinery.SourceFileLoader", ".r"},
      {"importlib.machinery.ExtensionFileLoader", ".r"},
      {"importlib.util.spec_from_file_location", ".r"},
      {"shutil.disk_usage", "r"},
      {"xml.etree.ElementTree.parse", "r"},
      {"xml.dom.minidom.parse", "r"},
      {"PIL.Image.open", "r"},
      {"cv2.imread", "r"},
      {"cv2.imwrite", "w"},
      {"configparser.ConfigParser.read", "r"},
      {"zipfile.ZipFile.extractall", "w"},
      {"tarfile.open.extractall", "w"},
      {"mailbox.mbox", "r"},
      {"netrc.netrc", "r"},
      {"py_compile.compile", "rw"},
      {"compileall.compile_dir", "r"},
      {"filecmp.cmp", "rr"},
      {"readline.read_history_file", "r"},
      {"readline.write_history_file", "w"},
      {"tempfile.TemporaryDirectory", "..w"},
      {"ctypes.CDLL", "r"},
      {"os.execv", "r"},
      {"os.pathconf", "r"},
      {"subprocess.os.remove", "w"},
      {"zipfile.ZipFile.write", "r"},
      {"tarfile.open.add", "r"},
      {"tarfile.TarFile.add", "r"},
      {"pandas.DataFrame.to_csv", "w"},
      {"pandas.DataFrame.to_json", "w"},
      {"pandas.DataFrame.to_pickle", "w"},
      {"pandas.DataFrame.to_excel", "w"},
      {"pandas.DataFrame.to_parquet", "w"},
      {"torch.load", "r"},
      {"torch.save", ".w"},
      {"joblib.load", "r"},
      {"joblib.dump", ".w"},
      {"send2trash.send2trash", "w"},
      {"distutils.file_util.copy_file", "rw"},
      {"distutils.dir_util.remove_tree", "w"},
      {"pwd.getpwnam", "."},
      {"zipapp.create_archive", "rw"},
      {"dotenv.load_dotenv", "r"},
      {"dotenv.dotenv_values", "r"}};
  return table;
}

const std::unordered_map<std::string_view, char>& path_methods() {
  static const std::unordered_map<std::string_view, char> table = {
      {"open", 'o'},        {"read_text", 'r'}, {"read_bytes", 'r'}, {"iterdir", 'r'}, {"glob", 'r'},
      {"rglob", 'r'},       {"stat", 'r'},      {"lstat", 'r'},      {"exists", 'r'},  {"is_file", 'r'},
      {"is_dir", 'r'},      {"readlink", 'r'},  {"walk", 'r'},       {"owner", 'r'},   {"write_text", 'w'},
      {"write_bytes", 'w'}, {"unlink", 'w'},    {"rmdir", 'w'},      {"mkdir", 'w'},   {"touch", 'w'},
      {"chmod", 'w'},       {"lchmod", 'w'},    {"rename", 'w'},     {"replace", 'w'}, {"symlink_to", 'w'},
      {"hardlink_to", 'w'}, {"link_to", 'w'}};
  return table;
}

// Modules of the library whose functions take paths: a path from the environment given to any of them is one.
bool takes_paths(std::string_view name) {
  static constexpr std::string_view modules[] = {
      "io",         "codecs",     "linecache", "tokenize", "fileinput",      "shutil",
      "sqlite3",    "zipfile",    "tarfile",   "mmap",     "gzip",           "bz2",
      "lzma",       "shelve",     "dbm",       "wave",     "configparser",   "runpy",
      "py_compile", "compileall", "zipimport", "glob",     "mailbox",        "netrc",
      "plistlib",   "xml",        "readline",  "pstats",   "filecmp",        "imghdr",
      "importlib",  "pkgutil",    "distutils", "tempfile", "posix",          "zipapp",
      "site",       "numpy",      "pandas",    "pty",      "ctypes",         "aifc",
      "symtable",   "imp",        "cProfile",  "trace",    "multiprocessing"};
  std::string_view top = name.substr(0, name.find('.'));
  if (top == "os") {
    return name != "os.getenv" && !name.starts_with("os.path") && !name.starts_with("os.environ") &&
           name != "os.putenv" && name != "os.fsencode" && name != "os.fspath" && name != "os.fsdecode" &&
           name != "os.kill" && name != "os.cpu_count";
  }
  if (name.ends_with(".write") || name.ends_with(".writestr") || name.ends_with(".execute")) return false;
  return std::find(std::begin(modules), std::end(modules), top) != std::end(modules);
}

std::string one_spaced(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return std::string(trim(out));
}

}  // namespace

void Analyser::path_fact(FactKind kind, const Value& given, NodeId at) {
  Value v = given.is(Kind::kObject) && given.text == "pathlib.Path" && !given.items.empty() ? given.items[0] : given;
  if (v.is(Kind::kEnv)) {
    construct(v.number != 0 ? "optional-path-from-environment" : "path-from-environment", v.text, at);
    return;
  }
  if (v.is(Kind::kList)) {
    for (std::size_t i = 0; i < v.items.size() && i < 16; ++i)
      if (!v.items[i].is(Kind::kList)) path_fact(kind, v.items[i], at);
    return;
  }
  bool nothing =
      v.is(Kind::kString) && (v.text == ":memory:" || v.text == "/dev/null" || v.text.starts_with("/dev/std"));
  if (kind == FactKind::kWritePath && !nothing)
    construct("writes-file", v.is(Kind::kString) ? v.text.substr(0, 200) : "a file", at);
  if (!v.is(Kind::kString) || v.text.empty()) return;
  std::string path = v.text.substr(0, v.text.find('\0'));
  if (path.starts_with("$HOME/")) path = "~" + path.substr(5);
  bool folder = v.partial && path.ends_with('/');
  path = normalise_path(path);
  if (folder && path != "/") path += "/";
  std::string_view base = std::string_view(path).substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  bool persists = kind == FactKind::kWritePath &&
                  (base == "sitecustomize.py" || base == "usercustomize.py" || base.ends_with(".pth"));
  if (kind == FactKind::kWritePath && !nothing) {
    bool hidden = path.find("/.") != std::string::npos && path.find("/..") == std::string::npos;
    if (hidden || (path.starts_with('.') && path.size() > 1 && path[1] != '.' && path[1] != '/'))
      construct("hidden-file", path, at);
    for (std::string_view ending :
         {".py", ".pyc", ".sh", ".bash", ".so", ".js", ".php", ".pl", ".rb", ".exe", ".bat", ".ps1", ".jar", ".html"})
      if (base.ends_with(ending) && base.size() > ending.size()) construct("writes-program", path, at);
  }
  if (kind == FactKind::kWritePath && base.ends_with(".py") && !v.partial && written_modules_.size() < 64)
    written_modules_.emplace_back(base.substr(0, base.size() - 3), at);
  if (leaves_work_folder(path) || persists) fact(kind, path, v.partial ? "beginning" : "", at);
}

void Analyser::path_facts(FactKind kind, NodeId argument, NodeId at) {
  if (argument == kNoNode) return;
  if (comes_from_input(argument)) construct("path-from-input", std::string(t_.text(argument).substr(0, 60)), at);
  for (const Value& v : eval(argument)) path_fact(kind, v, at);
}

void Analyser::file_call(const Value& f, NodeId n, const Arguments& a) {
  std::string_view name = f.text;
  auto opened = [&](NodeId mode_node) {
    if (mode_node == kNoNode) return FactKind::kReadPath;
    for (const Value& v : eval(mode_node))
      if (v.is(Kind::kString) && v.text.find_first_of("wax+") != std::string::npos) return FactKind::kWritePath;
    return FactKind::kReadPath;
  };
  if (name.starts_with("pathlib.Path.") && !f.items.empty()) {
    auto it = path_methods().find(name.substr(13));
    if (it == path_methods().end()) return;
    FactKind kind = it->second == 'w' ? FactKind::kWritePath : FactKind::kReadPath;
    if (it->second == 'o') kind = opened(a.get(0, "mode"));
    path_fact(kind, f.items[0], n);
    if (it->second == 'w' && !name.ends_with("_text") && !name.ends_with("_bytes"))
      path_facts(FactKind::kWritePath, a.at(0), n);
    return;
  }
  auto it = file_functions().find(name);
  if (it != file_functions().end()) {
    std::string_view roles = it->second;
    static constexpr std::string_view keywords[] = {"file", "path",     "src",      "filename",
                                                    "name", "database", "pathname", "fname"};
    for (std::size_t i = 0; i < roles.size(); ++i) {
      NodeId argument = a.at(i);
      for (std::size_t k = 0; argument == kNoNode && i == 0 && k < std::size(keywords); ++k)
        argument = a.keyword(keywords[k]);
      if (argument == kNoNode && i == 1) argument = a.keyword("dst");
      if (argument == kNoNode) continue;
      FactKind kind = roles[i] == 'w' ? FactKind::kWritePath : FactKind::kReadPath;
      if (roles[i] == 'o') kind = opened(a.get(1, "mode"));
      if (roles[i] == 'f') {
        std::string_view flags = a.at(1) == kNoNode ? "" : t_.text(a.at(1));
        if (flags.find("O_WR") != std::string_view::npos || flags.find("O_RDWR") != std::string_view::npos ||
            flags.find("O_CREAT") != std::string_view::npos || flags.find("O_APPEND") != std::string_view::npos)
          kind = FactKind::kWritePath;
      }
      if (roles[i] != '.') path_facts(kind, argument, n);
    }
    return;
  }
  if (name.starts_with("pandas.read_")) return path_facts(FactKind::kReadPath, a.at(0), n);
  if (name == "logging.basicConfig") return path_facts(FactKind::kWritePath, a.keyword("filename"), n);
  if (name.starts_with("tempfile.")) return path_facts(FactKind::kWritePath, a.keyword("dir"), n);
  if (name.ends_with(".get_data"))
    return path_facts(FactKind::kReadPath, a.positional.empty() ? kNoNode : a.positional.back(), n);
  if (!takes_paths(name)) return;
  for (NodeId argument : a.positional)
    for (const Value& v : eval(argument))
      if (v.is(Kind::kEnv)) path_fact(FactKind::kReadPath, v, n);
}

void Analyser::host_fact(const Value& v, NodeId at) {
  if (v.is(Kind::kList)) {
    if (!v.items.empty()) host_fact(v.items[0], at);
    return;
  }
  if (!v.is(Kind::kString) || v.text.empty()) return;
  if (v.text.starts_with("file:")) {
    path_fact(FactKind::kReadPath,
              string_value(v.text.substr(v.text.find_first_not_of("file:/") == std::string::npos ? 5
                                         : v.text.find("///") == 5                               ? 7
                                                                                                 : 5)),
              at);
    return;
  }
  fact(FactKind::kHost, v.text.substr(0, 512), v.partial ? "beginning" : "", at);
}

void Analyser::host_call(const Value& f, NodeId n, const Arguments& a) {
  std::string_view name = f.text;
  std::string_view top = name.substr(0, name.find('.'));
  static constexpr std::string_view clients[] = {
      "requests", "httpx",      "urllib",    "urllib3",    "http",     "ftplib", "smtplib", "telnetlib",
      "socket",   "aiohttp",    "websocket", "websockets", "paramiko", "poplib", "imaplib", "nntplib",
      "xmlrpc",   "webbrowser", "asyncio",   "dns",        "wget",     "pycurl"};
  if (std::find(std::begin(clients), std::end(clients), top) == std::end(clients)) return;
  if (name.starts_with("urllib.parse") || name.starts_with("http.cookies") || name.starts_with("http.HTTPStatus"))
    return;
  if (name == "urllib.request.urlretrieve") path_facts(FactKind::kWritePath, a.get(1, "filename"), n);
  std::string_view last = name.substr(name.rfind('.') + 1);
  if (top == "asyncio" && last != "open_connection" && last != "start_server") return;
  if (top == "socket" && last == "socket") return;
  bool second = last == "request" || last == "sendto";
  NodeId host = second ? a.get(1, "url") : a.get(0, "url");
  if (host == kNoNode) host = a.keyword("host");
  if (host == kNoNode) return;
  for (const Value& v : eval(host)) host_fact(v, n);
}

void Analyser::command_fact(const Value& v, NodeId at) {
  std::string words;
  if (v.is(Kind::kString)) {
    words = one_spaced(v.text);
  } else if (v.is(Kind::kList)) {
    for (const Value& item : v.items) {
      if (!words.empty()) words += ' ';
      words += item.is(Kind::kString) ? one_spaced(item.text) : "?";
      if (words.size() > 4096) break;
    }
  }
  if (words.empty() || words[0] == '?') return;
  fact(FactKind::kCommand, words.substr(0, words.find(' ')), words, at);
}

void Analyser::process_call(const Value& f, NodeId n, const Arguments& a) {
  std::string_view name = f.text;
  static constexpr std::string_view direct[] = {"os.system",
                                                "posix.system",
                                                "os.popen",
                                                "subprocess.run",
                                                "subprocess.call",
                                                "subprocess.check_call",
                                                "subprocess.check_output",
                                                "subprocess.Popen",
                                                "subprocess.getoutput",
                                                "subprocess.getstatusoutput",
                                                "pty.spawn",
                                                "asyncio.create_subprocess_shell",
                                                "pexpect.spawn",
                                                "pexpect.run",
                                                "commands.getoutput",
                                                "multiprocessing.util.spawnv_passfds",
                                                "asyncio.create_subprocess_exec",
                                                "os.execl",
                                                "os.execlp",
                                                "os.execle"};
  bool list = name.starts_with("os.execv") || name.starts_with("posix.execv");
  bool spread = name.starts_with("os.execl") || name == "asyncio.create_subprocess_exec";
  if (spread) {
    std::vector<Value> items;
    for (NodeId argument : a.positional) {
      Values v = eval(argument);
      items.push_back(v.size() == 1 ? v[0] : unknown_value());
    }
    command_fact(list_value(std::move(items)), n);
  } else if (list || name.starts_with("os.spawn") || name.starts_with("os.posix_spawn")) {
    NodeId words = a.at(name.starts_with("os.spawn") ? 2 : 1);
    for (const Value& v : eval(words)) command_fact(v, n);
  } else if (std::find(std::begin(direct), std::end(direct), name) != std::end(direct)) {
    for (const Value& v : eval(a.get(0, a.keyword("args") != kNoNode ? "args" : "cmd"))) command_fact(v, n);
  }
}

}  // namespace hotcell::python
