// Which language a source is in, for the verifier: by name, extension or first line.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "hotcell/verify.h"

namespace hotcell {
namespace {

struct Kind {
  std::string_view name;
  std::string_view names;         // |a|b|: what people call it
  std::string_view extensions;    // |.a|.b|
  std::string_view interpreters;  // |a|: on a `#!` line, without a version
};

constexpr std::array<Kind, 9> kKinds = {{
    {"python", "|python|py|python3|", "|.py|.pyw|.pyi|", "|python|pypy|"},
    {"bash", "|bash|sh|shell|dash|ksh|zsh|", "|.sh|.bash|.ksh|.zsh|", "|bash|sh|dash|ksh|zsh|ash|"},
    {"c", "|c|", "|.c|.h|", "|tcc|"},
    {"cpp", "|cpp|c++|cxx|cc|", "|.cc|.cpp|.cxx|.c++|.hh|.hpp|.hxx|", "||"},
    {"rust", "|rust|rs|", "|.rs|", "||"},
    {"go", "|go|golang|", "|.go|", "||"},
    {"java", "|java|", "|.java|", "|java|"},
    {"javascript", "|javascript|js|node|nodejs|ecmascript|mjs|cjs|jsx|", "|.js|.mjs|.cjs|.jsx|", "|node|nodejs|"},
    {"typescript", "|typescript|ts|mts|cts|tsx|deno|", "|.ts|.mts|.cts|.tsx|", "|deno|ts-node|"},
}};

bool holds(std::string_view list, std::string_view word) {
  return !word.empty() && word.find('|') == word.npos && list.find(cat("|", word, "|")) != list.npos;
}

std::string by_first_line(std::string_view source) {
  if (!source.starts_with("#!")) return {};
  std::string_view line = source.substr(2, std::min<std::size_t>(source.find('\n'), 512) - 2);
  std::string found;
  for (auto word : split(line, ' ')) {
    word = trim(word);
    auto name = word.substr(word.rfind('/') + 1);
    // `env`, its options and assignments come before the interpreter.
    if (name.empty() || name == "env" || word.starts_with('-') || word.find('=') != word.npos) continue;
    auto version = name.find_last_not_of("0123456789.");
    found = name.substr(0, version == name.npos ? name.size() : version + 1);
    break;
  }
  for (const Kind& kind : kKinds)
    if (holds(kind.interpreters, found)) return std::string(kind.name);
  return ascii_lower(found);  // "perl": nobody here can read it, but it has a name
}

}  // namespace

std::string verify_language_name(std::string_view name) {
  std::string word = ascii_lower(trim(name));
  for (const Kind& kind : kKinds)
    if (holds(kind.names, word)) return std::string(kind.name);
  return word.size() > 64 ? word.substr(0, 64) : word;
}

std::string detect_verify_language(std::string_view file, std::string_view source) {
  auto base = file.substr(file.rfind('/') + 1);
  auto dot = base.rfind('.');
  if (dot != base.npos && dot != 0) {
    std::string extension = ascii_lower(base.substr(dot));
    // `.C` is C++ by an old custom that compilers still follow.
    if (base.substr(dot) == ".C" || base.substr(dot) == ".H") return "cpp";
    for (const Kind& kind : kKinds)
      if (holds(kind.extensions, extension)) return std::string(kind.name);
  }
  return by_first_line(source);
}

}  // namespace hotcell
