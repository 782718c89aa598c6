// Findings for people.
#include <algorithm>

#include "base/strings.h"
#include "hotcell/verify.h"

namespace hotcell {
namespace {

constexpr int kWindow = 100;  // characters of a source line that are shown

// The lines of a text that are asked for one after the other, each looked for only once.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  std::string_view line(int wanted) {
    if (wanted < number_) number_ = 1, begin_ = 0;
    while (number_ < wanted) {
      auto end = text_.find('\n', begin_);
      if (end == text_.npos) return {};
      begin_ = end + 1;
      ++number_;
    }
    if (begin_ > text_.size()) return {};
    return text_.substr(begin_, text_.find('\n', begin_) - begin_);
  }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  int number_ = 1;
};

std::size_t skip_characters(std::string_view s, std::size_t at, int count) {
  for (; count > 0 && at < s.size(); --count) at += std::max<std::size_t>(utf8_length(s.substr(at)), 1);
  return at;
}

// One character for each, so that the caret stands below the right one: tabs and what cannot be shown become spaces.
std::string plain(std::string_view s) {
  std::string out;
  for (std::size_t at = 0; at < s.size();) {
    std::size_t n = utf8_length(s.substr(at));
    auto c = static_cast<unsigned char>(s[at]);
    bool c1 = n == 2 && c == 0xC2 && static_cast<unsigned char>(s[at + 1]) < 0xA0;
    bool control = n == 0 || c < 0x20 || c == 0x7f || c1;
    if (control) out += ' ';
    else out += s.substr(at, n);
    at += std::max<std::size_t>(n, 1);
  }
  return out;
}

void show_place(std::string& out, const Finding& f, Lines& lines) {
  std::string_view line = lines.line(f.line);
  if (trim(line).empty()) return;
  int column = std::max(f.column, 1), first = 1;
  if (column > kWindow - 20) first = column - 40;  // a long line: the part around the column
  std::size_t begin = skip_characters(line, 0, first - 1), end = skip_characters(line, begin, kWindow);
  std::string_view shown = line.substr(begin, end - begin);
  while (shown.ends_with('\r') || shown.ends_with(' ')) shown.remove_suffix(1);
  out += cat("    ", plain(shown), "\n    ", std::string(static_cast<std::size_t>(column - first), ' '), "^\n");
}

std::string count_of(std::size_t n, std::string_view word) { return cat(n, " ", word, n == 1 ? "" : "s"); }

}  // namespace

std::string verification_text(const Verification& v, std::string_view source) {
  std::string rule_line;
  for (int i = 0; i < 25; ++i) rule_line += "─";
  std::string_view word = v.unverifiable ? "UNVERIFIABLE" : v.safe ? "SAFE" : "UNSAFE";
  std::string out = cat("Code Verification: ", word, "\n", rule_line, "\n");
  if (v.findings.empty()) return out + "No violations detected.\n";
  Lines lines(source);
  std::size_t errors = 0, warnings = 0;
  for (const Finding& f : v.findings) {
    errors += f.severity == "error";
    warnings += f.severity == "warning";
    std::string_view icon = f.severity == "error" ? "✗" : f.severity == "warning" ? "⚠" : "·";
    out += cat(icon, " L", f.line, ":", f.column, ": ", printable(f.message), " [", printable(f.rule), "]\n");
    show_place(out, f, lines);
    if (!f.fix.empty()) out += cat("    fix: ", printable(f.fix), "\n");
  }
  out += cat(count_of(errors, "violation"), ", ", count_of(warnings, "warning"));
  return out + (v.safe ? "\n" : " — execution blocked\n");
}

}  // namespace hotcell
