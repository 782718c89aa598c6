#include "cells/decisions/command_match.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"
#include "cells/decisions/command_lister.h"

namespace hotcell::cells {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

std::vector<std::string_view> pattern_words(std::string_view pattern) {
  std::vector<std::string_view> out;
  for (auto word : split(pattern, ' '))
    if (!word.empty()) out.push_back(word);
  return out;
}

// `*` stands for any characters but blanks. Only the last star is ever retried.
bool word_match(std::string_view p, std::string_view s) {
  std::size_t pi = 0, si = 0, star = std::string_view::npos, retry = 0;
  while (si < s.size()) {
    if (pi < p.size() && p[pi] == '*') {
      star = pi++;
      retry = si;
    } else if (pi < p.size() && p[pi] == s[si]) {
      ++pi;
      ++si;
    } else if (star != std::string_view::npos && !is_blank(s[retry])) {
      pi = star + 1;
      si = ++retry;
    } else {
      return false;
    }
  }
  while (pi < p.size() && p[pi] == '*') ++pi;
  return pi == p.size();
}

bool name_match(std::string_view p, std::string_view name, For purpose) {
  if (word_match(p, name)) return true;
  if (p.find('/') != p.npos || name.find('/') == name.npos) return false;
  static constexpr std::array<std::string_view, 6> kSystem = {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"};
  std::string_view folder = name.substr(0, name.rfind('/'));
  if (purpose == For::kAllowing && std::find(kSystem.begin(), kSystem.end(), folder) == kSystem.end()) return false;
  return word_match(p, base_name(name));
}

}  // namespace

Match match_command(std::string_view pattern, const ListedCommand& command, For purpose) {
  auto p = pattern_words(pattern);
  if (p.empty()) return Match::kNo;
  bool tail = p.back() == "*";
  if (tail) p.pop_back();
  // What forbids a program forbids it whatever is set before its name; what allows one allows nothing more than it says.
  bool names_variables = !p.empty() && p[0].find('=') != p[0].npos;
  std::size_t skip = purpose == For::kForbidding && !names_variables ? std::min(command.name, command.words.size()) : 0;
  std::size_t count = command.words.size() - skip;
  auto word = [&](std::size_t i) -> const CommandWord& { return command.words[skip + i]; };
  auto fits = [&](std::string_view part, std::size_t i) {
    const CommandWord& w = word(i);
    if (!w.fixed) return part == w.text;
    return skip + i == command.name ? name_match(part, w.text, purpose) : word_match(part, w.text);
  };

  bool yes = tail ? count >= p.size() : count == p.size();
  for (std::size_t i = 0; yes && i < p.size(); ++i) yes = fits(p[i], i);
  if (yes) return Match::kYes;

  bool open = std::any_of(command.words.begin() + static_cast<std::ptrdiff_t>(skip), command.words.end(), [](const CommandWord& w) { return !w.fixed; });
  if (!open) return Match::kNo;
  // reach[j]: the words so far can have become the first j of the pattern; one that is not fixed becomes any number.
  std::vector<bool> reach(p.size() + 1, false);
  reach[0] = true;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<bool> next(p.size() + 1, false);
    bool before = false;
    for (std::size_t j = 0; j <= p.size(); ++j) {
      before = before || reach[j];
      if (!word(i).fixed) next[j] = before;
      else if (reach[j] && j < p.size() && fits(p[j], i)) next[j + 1] = true;
      if (tail && j == p.size() && reach[j]) next[j] = true;
    }
    reach = std::move(next);
  }
  return reach[p.size()] ? Match::kMaybe : Match::kNo;
}

std::optional<std::string> command_pattern_problem(std::string_view pattern) {
  if (trim(pattern).empty()) return "is empty";
  if (pattern.find('\0') != pattern.npos) return "has a NUL byte";
  return std::nullopt;
}

}  // namespace hotcell::cells
