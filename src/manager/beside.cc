#include "manager/beside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/strings.h"
#include "hotcell/verify.h"
#include "manager/sources.h"

namespace hotcell {
namespace {

struct Loads {
  std::string_view language;
  std::array<std::string_view, 4> words;  // on one line before the name of a file: its text is code there
  bool near = false;                      // with no space between
};

// A name that is put together at run time is a finding of its own in each of these.
constexpr std::array kLoads = {
    Loads{"c", {"include"}},
    Loads{"cpp", {"include"}},
    Loads{"rust", {"include!", "path"}},
    Loads{"javascript", {"require", "import"}},
    Loads{"bash", {"source ", ". ", "sh "}, true},
    Loads{"python", {"exec", "run_path", "FileLoader", "from_file"}},
};

struct Opaque {
  std::string_view extensions;  // |.a|.b|
  std::string_view why;
};

constexpr std::array kOpaque = {
    Opaque{"|.s|.sx|.asm|", "it is assembler, which nobody here can read"},
    Opaque{"|.o|.a|.so|.syso|.obj|.lib|.dll|.exe|.node|.pyd|.wasm|", "it is machine code, which nobody here can read"},
    Opaque{"|.pyc|.pyo|.class|.jar|.war|.whl|.egg|", "it is compiled code, which nobody here can read"},
    Opaque{"|.m|.mm|.f|.f90|.for|.swig|.swigcxx|", "it is source of a language that nobody here can read"},
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string extension(std::string_view name) {
  name = base_name(name);
  auto dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string() : ascii_lower(name.substr(dot));
}

std::string_view why_opaque(std::string_view name, std::string_view text) {
  if (text.starts_with("\x7f" "ELF")) return kOpaque[1].why;
  if (text.starts_with(std::string_view("\0asm", 4))) return kOpaque[1].why;
  if (text.starts_with("\xca\xfe\xba\xbe")) return kOpaque[2].why;
  std::string ending = extension(name);
  // libx.so.1, and what an interpreter keeps: x.cpython-311.pyc has its own ending.
  if (base_name(name).find(".so.") != name.npos) ending = ".so";
  for (const auto& o : kOpaque)
    if (!ending.empty() && o.extensions.find(cat("|", ending, "|")) != o.extensions.npos) return o.why;
  return {};
}

std::string_view rules_of(const Language& language) { return language.verify_as.empty() ? language.name : language.verify_as; }

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '+';
}

// Behind the last character that ends a word: what is looked up of "my rows.inc" is "rows.inc".
std::string_view last_word(std::string_view name) {
  auto begin = name.size();
  while (begin > 0 && in_name(name[begin - 1])) --begin;
  return name.substr(begin);
}

void add_words(std::string_view line, bool near, std::set<std::string, std::less<>>& out) {
  for (std::size_t at = 0; at < line.size();) {
    if (near && (line[at] == ' ' || line[at] == '\t')) return;
    std::size_t end = at;
    while (end < line.size() && in_name(line[end])) ++end;
    if (end > at) out.emplace(line.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

// Of a descriptor the bytes at its beginning; the position stays where it is.
Result<std::string> beginning(const InputFile& file, std::size_t most) {
  if (const auto* bytes = std::get_if<std::string>(&file.content)) return bytes->substr(0, most);
  std::string out(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    ssize_t got = ::pread(std::get<int>(file.content), out.data() + have, most - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(file.name, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

Result<std::uint64_t> size_of(const InputFile& file) {
  if (const auto* bytes = std::get_if<std::string>(&file.content)) return std::uint64_t{bytes->size()};
  struct stat s {};
  if (::fstat(std::get<int>(file.content), &s) != 0) return errno_error(file.name, errno);
  return static_cast<std::uint64_t>(s.st_size);
}

}  // namespace

// Each text is gone through once, however many files there are to ask for.
void FileReader::note_loads() {
  noted_ = true;
  auto loads = std::find_if(kLoads.begin(), kLoads.end(), [&](const Loads& l) { return l.language == rules_of(language_); });
  if (loads == kLoads.end()) return;
  auto look = [&](std::string_view line) {
    for (auto word : loads->words) {
      auto at = word.empty() ? line.npos : line.find(word);
      for (; at != line.npos; at = loads->near ? line.find(word, at + 1) : line.npos)
        add_words(line.substr(at + word.size()), loads->near, loaded_);
    }
  };
  for (const auto& f : sources_.files) {
    std::string line;  // it may go on behind a backslash
    for (auto part : split(f.text, '\n')) {
      const bool goes_on = part.ends_with('\\');
      line += goes_on ? part.substr(0, part.size() - 1) : part;
      if (goes_on) continue;
      look(line);
      line.clear();
    }
    look(line);
  }
}

FileReading FileReader::how(std::string_view name, std::string_view text) {
  if (auto why = why_opaque(name, text); !why.empty()) return {{}, why};
  auto kind = detect_verify_language(name, text);
  if (kind == "c" && extension(name) == ".h") kind = rules_of(language_) == "cpp" ? "cpp" : "c";  // its name does not say
  if (!kind.empty()) return {std::move(kind), {}};
  // Known here and read by nobody: Perl, Ruby. The verifier says so.
  if (const auto* known = language_by_extension(name)) return {std::string(rules_of(*known)), {}};
  if (!noted_) note_loads();
  if (extension(name) != ".json" && loaded_.contains(last_word(base_name(name)))) return {std::string(rules_of(language_)), {}};
  return {};
}

Result<std::vector<BesideFile>> files_beside(const Language& language, const Sources& sources, std::span<const InputFile> files) {
  constexpr std::size_t kHead = 1024;  // a `#!` line, the mark of a binary
  std::vector<BesideFile> out;
  if (files.empty()) return out;
  FileReader reader(language, sources);
  std::set<std::string_view> known;
  for (const auto& f : sources.files) known.insert(f.name);
  for (const auto& f : files) {
    if (known.contains(f.name)) continue;
    TRY_SET(std::string head, beginning(f, kHead));
    BesideFile beside{{f.name, {}}, reader.how(f.name, head)};
    if (!beside.reading.language.empty()) {
      TRY_SET(std::uint64_t size, size_of(f));
      if (size > kLargestSource.n) {
        beside.reading = {{}, "it is larger than 16 MiB"};
      } else {
        TRY_SET(beside.file.text, beginning(f, static_cast<std::size_t>(size)));
      }
    }
    out.push_back(std::move(beside));
  }
  return out;
}

Finding other_language_finding(const Policy& policy, std::string_view language, std::string_view file) {
  Finding f;
  f.rule = "other-language";
  f.type = "blocked_module";
  f.severity = "warning";
  f.file = std::string(file);
  f.message = cat("profile ", printable(policy.name), " is one for ", printable(policy.language), ": its lists of names mean nothing in ", language,
                  " and were left out");
  f.fix = cat("--profile with one for ", language, " (hotcell profile list), or one that names no language");
  return f;
}

Finding unread_finding(std::span<const std::string_view> names) {
  constexpr std::size_t kNamed = 20;
  Finding f;
  f.rule = "not-read";
  f.type = "dangerous_pattern";
  f.severity = "info";
  f.file = std::string(names[0]);
  std::string list;
  for (auto name : names.first(std::min(names.size(), kNamed))) list += cat(list.empty() ? "" : ", ", printable(name));
  if (names.size() > kNamed) list += cat(" and ", names.size() - kNamed, " more");
  f.message = cat("not verified, since nothing says that it is code: ", list);
  f.fix = "give code the extension of its language; data needs none";
  return f;
}

}  // namespace hotcell
