#include <algorithm>

#include "base/strings.h"
#include "verify/rule_index.h"
#include "verify/rules.h"

namespace hotcell {
namespace {

// Enough for anybody to see what a source is like; a hostile one could make a finding of every byte.
constexpr std::size_t kMostErrors = 1000, kMostOthers = 1000;

bool any_matches(const std::vector<std::string>& patterns, std::string_view name, char stop) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return glob_matches(p, name, stop); });
}

bool is_below(std::string_view name, std::string_view root, std::string_view separator) {
  return name == root || (name.starts_with(root) && name.substr(root.size()).starts_with(separator));
}

// What a profile would have to list: Python's package, Rust's module that the item is in.
std::string_view module_of(std::string_view name) {
  if (auto last = name.rfind("::"); last != name.npos) return name.substr(0, last);
  return name.substr(0, name.find('.'));
}

std::string_view one_line(std::string_view line) {
  line = trim(line);
  if (line.size() <= 160) return line;
  std::size_t end = 160;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // not through a character
  return line.substr(0, end);
}

class Judge {
 public:
  Judge(const SourceText& source, std::string_view file, const VerifyOptions& options)
      : source_(source), file_(file), options_(options), own_(options.rules) {}

  void look(const Fact& fact, const RuleIndex& rules) {
    if (fact.kind == FactKind::kImport && check_import(fact) && fact.detail == "package") {
      Fact named = fact;  // a package that the profile names is the profile's choice, and no longer one of many
      named.detail.clear();
      return consider_all(named, rules);
    }
    if (fact.kind == FactKind::kUnreadable) {
      say(fact, "unverifiable", "dangerous_pattern", Severity::kError, printable(one_line(fact.name)), "");
      return;
    }
    bool path = fact.kind == FactKind::kReadPath || fact.kind == FactKind::kWritePath;
    if (path && std::any_of(options_.allowed_paths.begin(), options_.allowed_paths.end(),
                            [&](const std::string& p) { return p == "/" || is_below(fact.name, p, "/"); }))
      return;
    if (fact.kind == FactKind::kUse) check_blocklist(fact);
    consider_all(fact, rules);
  }

  std::vector<Finding> take() {
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
      return a.line != b.line ? a.line < b.line : a.column < b.column;
    });
    auto same = [](const Finding& a, const Finding& b) {
      return a.line == b.line && a.column == b.column && a.rule == b.rule && a.message == b.message;
    };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    if (left_out_ > 0) {
      Finding rest = unverifiable_finding("");
      rest.rule = "more-findings";
      rest.severity = "info";
      rest.message = cat(left_out_, " more findings are not listed");
      rest.file = file_;
      found_.push_back(std::move(rest));
    }
    return std::move(found_);
  }

 private:
  void consider_all(const Fact& fact, const RuleIndex& rules) {
    for (const RuleIndex* index : {&rules, &own_}) {
      index->find(fact, candidates_);
      for (const Rule* rule : candidates_) consider(*rule, fact);
    }
  }

  void consider(const Rule& rule, const Fact& fact) {
    Severity severity = options_.level == VerifyLevel::kStrict ? rule.at_strict : rule.at_default;
    if (severity == Severity::kOff || any_matches(options_.off, rule.id, 0)) return;
    if (!rule.detail.empty() && !any_matches(rule.detail, fact.detail, 0)) return;
    std::string_view subject = fact.kind == FactKind::kCommand && !fact.detail.empty() ? fact.detail : fact.name;
    if (fact.kind == FactKind::kConstruct && !fact.detail.empty()) subject = fact.detail;
    say(fact, rule.id, rule.type, severity, cat(printable(one_line(subject)), ": ", rule.reason), rule.fix);
  }

  // Whether the profile names the module.
  bool check_import(const Fact& fact) {
    if (options_.imports_allowed.empty()) return false;
    for (const auto& allowed : options_.imports_allowed)
      if (is_below(fact.name, allowed, ".") || is_below(fact.name, allowed, "::")) return true;
    say(fact, "import-not-allowed", "blocked_module", Severity::kError,
        cat(printable(one_line(fact.name)), ": this profile does not allow it to be imported"),
        cat("add it to imports.additional of the profile: ", printable(one_line(module_of(fact.name)))));
    return false;
  }

  void check_blocklist(const Fact& fact) {
    for (const auto& [module, attribute] : options_.blocklist)
      if (fact.name.starts_with(module) && (is_below(fact.name, cat(module, ".", attribute), ".") ||
                                            is_below(fact.name, cat(module, "::", attribute), "::")))
        say(fact, "blocklist", "blocked_function", Severity::kError,
            cat(printable(one_line(fact.name)), ": on the profile's blocklist"), "");
  }

  void say(const Fact& fact, std::string_view rule, std::string_view type, Severity severity, std::string message,
           std::string_view fix) {
    std::size_t& count = severity == Severity::kError ? errors_ : others_;
    if (++count > (severity == Severity::kError ? kMostErrors : kMostOthers)) {
      ++left_out_;
      return;
    }
    Place at = source_.place(fact.begin);
    Finding f;
    f.rule = rule;
    f.type = type;
    f.severity = to_string(severity);
    f.file = file_;
    f.message = std::move(message);
    f.snippet = printable(one_line(source_.line_text(at.line)));
    f.fix = fix;
    f.line = at.line;
    f.column = at.column;
    found_.push_back(std::move(f));
  }

  const SourceText& source_;
  std::string_view file_;
  const VerifyOptions& options_;
  const RuleIndex own_;
  std::vector<const Rule*> candidates_;
  std::vector<Finding> found_;
  std::size_t errors_ = 0, others_ = 0, left_out_ = 0;
};

}  // namespace

Finding unverifiable_finding(std::string_view why, int line, int column) {
  Finding f;
  f.rule = "unverifiable";
  f.type = "dangerous_pattern";
  f.severity = "error";
  f.message = cat("cannot be verified: ", why);
  f.line = line;
  f.column = column;
  return f;
}

std::vector<Finding> judge(const SourceText& source, std::string_view file, std::span<const Fact> facts,
                           const RuleIndex& rules, const VerifyOptions& options) {
  Judge j(source, file, options);
  for (const Fact& fact : facts) j.look(fact, rules);
  return j.take();
}

std::vector<Finding> judge(const SourceText& source, std::string_view file, std::span<const Fact> facts,
                           std::span<const Rule> rules, const VerifyOptions& options) {
  return judge(source, file, facts, RuleIndex({rules.begin(), rules.end()}), options);
}

}  // namespace hotcell
