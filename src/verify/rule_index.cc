#include "verify/rule_index.h"

#include <algorithm>

namespace hotcell {

char stop_of(FactKind kind) {
  switch (kind) {
    case FactKind::kReadPath:
    case FactKind::kWritePath: return '/';
    case FactKind::kUse:
    case FactKind::kImport: return '.';
    default: return 0;
  }
}

RuleIndex::RuleIndex(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (std::uint32_t i = 0; i < rules_.size(); ++i)
    for (const std::string& pattern : rules_[i].match)
      add(kinds_[static_cast<std::size_t>(rules_[i].on)], i, pattern, stop_of(rules_[i].on));
}

void RuleIndex::add(Kind& kind, std::uint32_t rule, std::string_view pattern, char stop) {
  std::string_view prefix = pattern.substr(0, pattern.find_first_of("*?"));
  if (prefix.size() == pattern.size()) {
    kind.exact[pattern].push_back(rule);
    return;
  }
  // Paths begin with their separator: the first segment is what is behind it.
  std::size_t end = stop == 0 || prefix.empty() ? prefix.npos : prefix.find(stop, 1);
  Glob glob{rule, pattern, prefix};
  if (end != prefix.npos) kind.by_segment[prefix.substr(0, end)].push_back(glob);
  else if (!prefix.empty()) kind.by_letter[static_cast<unsigned char>(prefix[0])].push_back(glob);
  else kind.rest.push_back(glob);
}

void RuleIndex::find(const Fact& fact, std::vector<const Rule*>& out) const {
  out.clear();
  const Kind& kind = kinds_[static_cast<std::size_t>(fact.kind)];
  const char stop = stop_of(fact.kind);
  std::string_view name = fact.name;
  std::vector<std::uint32_t> found;
  auto try_all = [&](const Globs& globs) {
    for (const Glob& g : globs)
      if (name.starts_with(g.prefix) && glob_matches(g.pattern, name, stop)) found.push_back(g.rule);
  };
  if (auto it = kind.exact.find(name); it != kind.exact.end()) found = it->second;
  if (stop != 0 && !name.empty())
    if (auto it = kind.by_segment.find(name.substr(0, name.find(stop, 1))); it != kind.by_segment.end())
      try_all(it->second);
  if (!name.empty()) try_all(kind.by_letter[static_cast<unsigned char>(name[0])]);
  try_all(kind.rest);
  if (found.empty()) return;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (std::uint32_t i : found) {
    const auto& unless = rules_[i].unless;
    if (std::none_of(unless.begin(), unless.end(), [&](const std::string& p) { return glob_matches(p, name, stop); }))
      out.push_back(&rules_[i]);
  }
}

}  // namespace hotcell
