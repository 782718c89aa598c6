#include "languages/generic_facts.h"

#include <algorithm>

namespace hotcell {
namespace {

constexpr std::size_t kMostFacts = 200'000;
constexpr std::size_t kLongestWord = 200;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == ':'; }
bool is_path_char(char c) { return is_name_char(c) || c == '/' || c == '-' || c == '~'; }

void add(std::vector<Fact>& facts, FactKind kind, std::string_view text, std::size_t begin, std::size_t end) {
  std::string name(text.substr(begin, std::min(end - begin, kLongestWord)));
  while (!name.empty() && (name.back() == '.' || name.back() == ':')) name.pop_back();
  if (!name.empty())
    facts.push_back({kind, std::move(name), "", static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
}

}  // namespace

std::vector<Fact> generic_facts(std::string_view text) {
  std::vector<Fact> facts;
  for (std::size_t at = 0; at < text.size() && facts.size() < kMostFacts;) {
    char c = text[at];
    bool home = c == '~' && at + 1 < text.size() && text[at + 1] == '/';
    std::size_t end = at + 1;
    if (is_letter(c)) {
      while (end < text.size() && is_name_char(text[end])) ++end;
      add(facts, FactKind::kUse, text, at, end);
    } else if ((c == '/' && end < text.size() && is_letter(text[end])) || home) {
      while (end < text.size() && is_path_char(text[end])) ++end;
      add(facts, FactKind::kReadPath, text, at, end);
    }
    at = end;
  }
  return facts;
}

}  // namespace hotcell
