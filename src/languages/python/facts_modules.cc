#include "languages/python/facts_modules.h"

#include <unordered_map>
#include <unordered_set>

namespace hotcell::python {
namespace {

using Words = std::unordered_set<std::string_view>;

// Modules that open a way out of what a program says it imports, and their usual private aliases.
const std::unordered_map<std::string_view, std::string_view>& reachable() {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"os", "os"},
      {"sys", "sys"},
      {"subprocess", "subprocess"},
      {"socket", "socket"},
      {"ctypes", "ctypes"},
      {"builtins", "builtins"},
      {"bltns", "builtins"},
      {"__builtin__", "builtins"},
      {"pty", "pty"},
      {"posix", "posix"},
      {"marshal", "marshal"},
      {"importlib", "importlib"},
      {"shutil", "shutil"},
      {"pickle", "pickle"},
      {"runpy", "runpy"},
      {"linecache", "linecache"},
      {"_os", "os"},
      {"_sys", "sys"},
      {"_subprocess", "subprocess"},
      {"_socket", "socket"},
      {"_signal", "signal"},
      {"_ctypes", "ctypes"},
      {"_multiprocessing", "multiprocessing"},
      {"_pickle", "pickle"},
      {"_marshal", "marshal"},
      {"_shutil", "shutil"},
      {"_mmap", "mmap"},
      {"_pty", "pty"},
      {"_io", "io"},
      {"_builtins", "builtins"},
      {"_importlib", "importlib"},
      {"_imp", "_imp"},
      {"_types", "types"},
      {"_warnings", "warnings"},
      {"_inspect", "inspect"},
      {"_codecs", "codecs"},
      {"_winapi", "_winapi"},
      {"_frozen_importlib", "importlib._bootstrap"},
      {"_bootstrap", "importlib._bootstrap"},
      {"_bootstrap_external", "importlib._bootstrap_external"},
      {"_posixsubprocess", "_posixsubprocess"},
      {"_weakref", "weakref"},
      {"_thread", "_thread"},
      {"_collections_abc", "_collections_abc"}};
  return names;
}

// Words that other packages use for something of their own (scipy.io, torch.multiprocessing): only seen through a
// module of the standard library do they mean that module.
const Words& reachable_in_stdlib() {
  static const Words names = {"signal",   "multiprocessing", "mmap",       "codecs",   "io",      "pathlib",
                              "tempfile", "types",           "contextlib", "warnings", "inspect", "gc",
                              "code",     "codeop",          "threading",  "select",   "ssl",     "urllib",
                              "http",     "zipimport",       "pkgutil",    "atexit",   "fcntl",   "resource"};
  return names;
}

const Words& stdlib() {
  static const Words names = {"__future__",   "abc",          "aifc",
                              "argparse",     "array",        "ast",
                              "asyncio",      "atexit",       "base64",
                              "bdb",          "binascii",     "bisect",
                              "builtins",     "bz2",          "calendar",
                              "cgi",          "cgitb",        "chunk",
                              "cmath",        "cmd",          "code",
                              "codecs",       "codeop",       "collections",
                              "colorsys",     "compileall",   "concurrent",
                              "configparser", "contextlib",   "contextvars",
                              "copy",         "copyreg",      "cProfile",
                              "crypt",        "csv",          "ctypes",
                              "curses",       "dataclasses",  "datetime",
                              "dbm",          "decimal",      "difflib",
                              "dis",          "distutils",    "doctest",
                              "email",        "encodings",    "ensurepip",
                              "enum",         "errno",        "faulthandler",
                              "fcntl",        "filecmp",      "fileinput",
                              "fnmatch",      "fractions",    "ftplib",
                              "functools",    "gc",           "getopt",
                              "getpass",      "gettext",      "glob",
                              "graphlib",     "grp",          "gzip",
                              "hashlib",      "heapq",        "hmac",
                              "html",         "http",         "idlelib",
                              "imaplib",      "imghdr",       "imp",
                              "importlib",    "inspect",      "io",
                              "ipaddress",    "itertools",    "json",
                              "keyword",      "linecache",    "locale",
                              "logging",      "lzma",         "mailbox",
                              "marshal",      "math",         "mimetypes",
                              "mmap",         "modulefinder", "multiprocessing",
                              "netrc",        "nntplib",      "ntpath",
                              "numbers",      "operator",     "optparse",
                              "os",           "pathlib",      "pdb",
                              "pickle",       "pickletools",  "pipes",
                              "pkgutil",      "platform",     "plistlib",
                              "poplib",       "posix",        "posixpath",
                              "pprint",       "profile",      "pstats",
                              "pty",          "pwd",          "py_compile",
                              "pyclbr",       "pydoc",        "queue",
                              "quopri",       "random",       "re",
                              "readline",     "reprlib",      "resource",
                              "rlcompleter",  "runpy",        "sched",
                              "secrets",      "select",       "selectors",
                              "shelve",       "shlex",        "shutil",
                              "signal",       "site",         "smtpd",
                              "smtplib",      "socket",       "socketserver",
                              "sqlite3",      "sre_compile",  "sre_parse",
                              "ssl",          "stat",         "statistics",
                              "string",       "stringprep",   "struct",
                              "subprocess",   "symtable",     "sys",
                              "sysconfig",    "syslog",       "tabnanny",
                              "tarfile",      "telnetlib",    "tempfile",
                              "termios",      "test",         "textwrap",
                              "threading",    "time",         "timeit",
                              "tkinter",      "token",        "tokenize",
                              "tomllib",      "trace",        "traceback",
                              "tracemalloc",  "tty",          "turtle",
                              "types",        "typing",       "unicodedata",
                              "unittest",     "urllib",       "uuid",
                              "venv",         "warnings",     "wave",
                              "weakref",      "webbrowser",   "wsgiref",
                              "xml",          "xmlrpc",       "zipapp",
                              "zipfile",      "zipimport",    "zlib",
                              "zoneinfo"};
  return names;
}

const Words& submodules() {
  static const Words names = {"os.path",
                              "urllib.request",
                              "urllib.parse",
                              "urllib.error",
                              "urllib.response",
                              "urllib.robotparser",
                              "http.client",
                              "http.server",
                              "http.cookies",
                              "http.cookiejar",
                              "importlib.machinery",
                              "importlib.util",
                              "importlib.abc",
                              "importlib.resources",
                              "importlib.metadata",
                              "importlib.readers",
                              "importlib._bootstrap",
                              "importlib._bootstrap_external",
                              "multiprocessing.pool",
                              "multiprocessing.util",
                              "multiprocessing.managers",
                              "multiprocessing.shared_memory",
                              "multiprocessing.connection",
                              "multiprocessing.context",
                              "multiprocessing.process",
                              "multiprocessing.spawn",
                              "multiprocessing.popen_fork",
                              "multiprocessing.dummy",
                              "multiprocessing.queues",
                              "multiprocessing.synchronize",
                              "asyncio.subprocess",
                              "asyncio.streams",
                              "asyncio.threads",
                              "asyncio.unix_events",
                              "concurrent.futures",
                              "concurrent.futures.process",
                              "concurrent.futures.thread",
                              "collections.abc",
                              "xml.etree",
                              "xml.etree.ElementTree",
                              "xml.dom",
                              "xml.dom.minidom",
                              "xml.sax",
                              "email.mime",
                              "email.mime.text",
                              "email.mime.multipart",
                              "email.message",
                              "json.decoder",
                              "json.encoder",
                              "json.tool",
                              "logging.handlers",
                              "logging.config",
                              "unittest.mock",
                              "ctypes.util",
                              "ctypes.wintypes",
                              "wsgiref.types",
                              "encodings.idna",
                              "distutils.spawn",
                              "curses.ascii",
                              "dbm.dumb",
                              "sqlite3.dbapi2",
                              "tkinter.ttk",
                              "html.parser",
                              "html.entities",
                              "xmlrpc.client",
                              "xmlrpc.server",
                              "re._compiler",
                              "re._parser",
                              "unittest.signals",
                              "test.support"};
  return names;
}

}  // namespace

std::string canonical_module(std::string_view module) {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"_io", "io"},
      {"_pyio", "io"},
      {"posixpath", "os.path"},
      {"ntpath", "os.path"},
      {"nt", "posix"},
      {"__builtin__", "builtins"},
      {"__builtins__", "builtins"},
      {"_pickle", "pickle"},
      {"cPickle", "pickle"},
      {"_socket", "socket"},
      {"_operator", "operator"},
      {"_codecs", "codecs"},
      {"_signal", "signal"},
      {"urllib2", "urllib.request"},
      {"httplib", "http.client"},
      {"_frozen_importlib", "importlib._bootstrap"},
      {"_frozen_importlib_external", "importlib._bootstrap_external"},
      {"imp", "imp"}};
  auto it = names.find(module);
  return std::string(it == names.end() ? module : it->second);
}

bool is_stdlib(std::string_view top) { return stdlib().contains(top) || (top.size() > 1 && top[0] == '_'); }

bool is_submodule(std::string_view package, std::string_view name) {
  std::string dotted(package);
  dotted += '.';
  dotted += name;
  return submodules().contains(dotted);
}

std::string module_through(std::string_view holder, std::string_view name) {
  if (holder == name || is_submodule(holder, name)) return "";
  std::string_view top = holder.substr(0, holder.find('.'));
  // Names below os and sys that only look like modules are functions or data: sys.modules, os.path.
  if (auto it = reachable().find(name); it != reachable().end()) {
    if (top == it->second && holder.find('.') == std::string_view::npos && name[0] != '_') return "";
    return std::string(it->second);
  }
  if (is_stdlib(top) && holder.find('.') == std::string_view::npos && reachable_in_stdlib().contains(name))
    return std::string(name);
  return "";
}

bool is_builtin(std::string_view name) {
  static const Words names = {
      "eval",         "exec",       "compile",  "__import__", "open",        "getattr",      "setattr",    "delattr",
      "hasattr",      "breakpoint", "input",    "globals",    "locals",      "vars",         "dir",        "print",
      "chr",          "ord",        "str",      "bytes",      "bytearray",   "int",          "float",      "len",
      "list",         "tuple",      "set",      "frozenset",  "dict",        "map",          "filter",     "zip",
      "reversed",     "sorted",     "iter",     "next",       "type",        "object",       "super",      "isinstance",
      "issubclass",   "id",         "hash",     "repr",       "ascii",       "format",       "hex",        "oct",
      "bin",          "abs",        "min",      "max",        "sum",         "any",          "all",        "range",
      "enumerate",    "slice",      "callable", "property",   "classmethod", "staticmethod", "memoryview", "help",
      "exit",         "quit",       "round",    "pow",        "divmod",      "bool",         "complex",    "license",
      "credits",      "copyright",  "execfile", "reload",     "unicode",     "raw_input",    "file",       "Exception",
      "BaseException"};
  return names.contains(name);
}

std::string_view constant_text(std::string_view dotted) {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"string.ascii_lowercase", "abcdefghijklmnopqrstuvwxyz"},
      {"string.ascii_uppercase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
      {"string.ascii_letters", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
      {"string.digits", "0123456789"},
      {"string.hexdigits", "0123456789abcdefABCDEF"},
      {"string.octdigits", "01234567"},
      {"string.punctuation", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
      {"string.printable",
       "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!\"#$%&'()*+,-./:;<=>?@[\\]^_"
       "`{|}~ \t\n\r\x0b\x0c"},
      {"os.sep", "/"},
      {"os.path.sep", "/"},
      {"os.curdir", "."},
      {"os.pardir", ".."},
      {"os.linesep", "\n"},
      {"os.devnull", "/dev/null"},
      {"os.pathsep", ":"}};
  auto it = names.find(dotted);
  return it == names.end() ? std::string_view() : it->second;
}

}  // namespace hotcell::python
