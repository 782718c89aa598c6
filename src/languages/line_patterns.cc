#include "languages/line_patterns.h"

#include <algorithm>

#include "base/pattern.h"
#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostMatches = 500;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

enum class Part : std::uint8_t { kCode, kComment, kString, kHole };

Part part_of(std::string_view kind, bool named) {
  if (!named) return Part::kCode;
  if (has(kind, "comment")) return Part::kComment;
  if (kind == "interpolation" || kind == "template_substitution") return Part::kHole;
  // string, string_literal, template_string, char_literal, …; not `string_type` or the like of any grammar here.
  if (kind == "string" || has(kind, "string_literal") || kind == "template_string" || has(kind, "char_literal") ||
      has(kind, "character_literal") || kind == "rune_literal" || kind == "system_lib_string")
    return Part::kString;
  return Part::kCode;
}

}  // namespace

std::string code_only(const SyntaxTree& tree) {
  std::string out(tree.text());
  std::vector<Part> parts(tree.size(), Part::kCode);
  auto blank = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i)
      if (out[i] != '\n') out[i] = ' ';
  };
  for (NodeId n = 0; n < tree.size(); ++n) {
    Part own = part_of(tree.kind(n), tree[n].named);
    NodeId parent = tree.parent(n);
    Part around = parent == kNoNode ? Part::kCode : parts[parent];
    if (own == Part::kHole || around == Part::kHole) parts[n] = own == Part::kHole ? Part::kHole : own;
    else parts[n] = own == Part::kCode ? around : own;
    if (parts[n] != Part::kComment && parts[n] != Part::kString) continue;
    // Between its children and around them; the children look after themselves, for one may be code again.
    std::uint32_t at = tree[n].begin;
    for (NodeId c = tree.first_child(n); c != kNoNode; c = tree.next_sibling(c)) {
      blank(at, std::max(at, tree[c].begin));
      at = std::max(at, tree[c].end);
    }
    blank(at, std::max(at, tree[n].end));
  }
  return out;
}

Result<std::vector<Finding>> find_patterns(const SourceText& source, std::string_view code,
                                           const std::vector<std::string>& patterns) {
  std::vector<Finding> found;
  for (const std::string& text : patterns) {
    TRY_SET(Pattern pattern, Pattern::compile(text));
    int line = 0;
    for (std::size_t begin = 0; begin <= code.size() && found.size() < kMostMatches;) {
      std::size_t end = std::min(code.find('\n', begin), code.size());
      ++line;
      std::string_view row = code.substr(begin, end - begin);
      if (row.ends_with('\r')) row.remove_suffix(1);
      if (auto at = pattern.find(row)) {
        Place place = source.place(static_cast<std::uint32_t>(begin + *at));
        Finding f;
        f.rule = "profile-pattern";
        f.type = "dangerous_pattern";
        f.severity = "error";
        f.message = cat("matches the profile's pattern ", printable(std::string_view(text).substr(0, 200)));
        f.snippet = printable(trim(source.line_text(line).substr(0, 160)));
        f.line = line;
        f.column = place.column;
        found.push_back(std::move(f));
      }
      begin = end + 1;
    }
  }
  return found;
}

}  // namespace hotcell
