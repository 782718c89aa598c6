// Finds a language by what is known of a program; the list itself is registry.inc.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "hotcell/language.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

#define LANGUAGE(plugin) &plugin,
constexpr std::array kLanguages = {
#include "languages/registry.inc"
};
#undef LANGUAGE

bool among(std::string_view word, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

std::span<const Language* const> languages() { return kLanguages; }

const Language* find_language(std::string_view written) {
  const std::string name = ascii_lower(written);
  for (const auto* l : kLanguages)
    if (l->name == name || among(name, l->aliases)) return l;
  return nullptr;
}

const Language* language_by_extension(std::string_view file) {
  file = file.substr(file.rfind('/') + 1);
  auto dot = file.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return nullptr;
  for (const auto* l : kLanguages)
    if (among(file.substr(dot), l->extensions)) return l;
  return nullptr;
}

const Language* language_by_shebang(std::string_view line) {
  if (!line.starts_with("#!")) return nullptr;
  line = line.substr(2, line.find('\n') - 2);
  std::string_view program;
  for (auto word : split(line, ' ')) {
    word = trim(word);
    if (word.empty()) continue;
    word = word.substr(word.rfind('/') + 1);
    if (program.empty() && word == "env") continue;
    if (word.starts_with('-') || word.find('=') != std::string_view::npos) continue;
    program = word;
    break;
  }
  if (program.empty()) return nullptr;
  // python3.11 → python3 → python: a version does not change the language.
  for (auto name = program; !name.empty(); name.remove_suffix(1)) {
    for (const auto* l : kLanguages)
      if (among(name, l->interpreters)) return l;
    char last = name.back();
    if (last != '.' && !(last >= '0' && last <= '9')) break;
  }
  return nullptr;
}

const Language* language_of_project(std::span<const std::string> names) {
  for (const auto* l : kLanguages)
    for (auto manifest : l->manifests)
      if (std::find(names.begin(), names.end(), manifest) != names.end()) return l;
  return nullptr;
}

}  // namespace hotcell
