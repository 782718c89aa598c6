#include "manager/compiler_findings.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/strings.h"
#include "verify/rules.h"

namespace hotcell {

namespace {

constexpr std::string_view kRule = "compiler-warning";
constexpr std::size_t kMost = 100, kLongestText = 300;

// A line of a source, for people; hostile sources have lines of megabytes.
std::string line_of(const Sources& sources, const std::string& file, int line) {
  const SourceFile* source = sources.find(file);
  if (source == nullptr || line < 1) return {};
  std::string_view rest = source->text;
  for (; line > 1; --line) {
    auto end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  std::string_view text = trim(rest.substr(0, rest.find('\n')));
  return printable(text.substr(0, kLongestText));
}

}  // namespace

std::vector<Finding> compiler_findings(std::span<const Diagnostic> diagnostics, const Sources& sources,
                                       std::span<const Finding> known, std::span<const std::string> off) {
  std::vector<Finding> out;
  if (std::any_of(off.begin(), off.end(), [](const auto& pattern) { return glob_matches(pattern, kRule, 0); }))
    return out;
  std::set<std::pair<std::string_view, int>> places;
  for (const auto& f : known) places.emplace(f.file, f.line);
  std::set<std::tuple<std::string_view, int, std::string_view>> seen;
  for (const auto& d : diagnostics) {
    if (d.severity != "warning" || places.contains({d.file, d.line})) continue;
    if (!seen.emplace(d.file, d.line, d.message).second) continue;  // one for each place it is included from
    if (out.size() == kMost) break;
    Finding f;
    f.rule = kRule;
    f.type = "dangerous_pattern";
    f.severity = "info";
    f.file = d.file;
    f.line = d.line;
    f.column = d.column;
    f.message = d.message;
    f.snippet = line_of(sources, d.file, d.line);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace hotcell
