#include <algorithm>

#include "base/strings.h"
#include "verify/rules.h"

namespace hotcell {
namespace {

char stop_of(FactKind kind) {
  switch (kind) {
    case FactKind::kReadPath:
    case FactKind::kWritePath: return '/';
    case FactKind::kUse:
    case FactKind::kImport: return '.';
    default: return 0;
  }
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view name, char stop) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return glob_matches(p, name, stop); });
}

bool matches(const Rule& rule, const Fact& fact) {
  char stop = stop_of(fact.kind);
  return rule.on == fact.kind && any_matches(rule.match, fact.name, stop) &&
         (rule.detail.empty() || any_matches(rule.detail, fact.detail, 0)) && !any_matches(rule.unless, fact.name, stop);
}

bool is_below(std::string_view name, std::string_view root, char separator) {
  return name == root || (name.starts_with(root) && name.size() > root.size() && name[root.size()] == separator);
}

std::string_view one_line(std::string_view line) {
  line = trim(line);
  return line.size() > 160 ? line.substr(0, 160) : line;
}

class Judge {
 public:
  Judge(const SourceText& source, std::string_view file, const VerifyOptions& options)
      : source_(source), file_(file), options_(options) {}

  void look(const Fact& fact, std::span<const Rule> rules) {
    if (fact.kind == FactKind::kUnreadable) {
      say(fact, "unverifiable", "dangerous_pattern", Severity::kError, fact.name, "");
      return;
    }
    bool path = fact.kind == FactKind::kReadPath || fact.kind == FactKind::kWritePath;
    if (path && std::any_of(options_.allowed_paths.begin(), options_.allowed_paths.end(),
                            [&](const std::string& p) { return is_below(fact.name, p, '/'); }))
      return;
    if (fact.kind == FactKind::kImport) check_import(fact);
    if (fact.kind == FactKind::kUse) check_blocklist(fact);
    for (const Rule& rule : rules) consider(rule, fact);
    for (const Rule& rule : options_.rules) consider(rule, fact);
  }

  std::vector<Finding> take() {
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
      return a.line != b.line ? a.line < b.line : a.column < b.column;
    });
    auto same = [](const Finding& a, const Finding& b) {
      return a.line == b.line && a.column == b.column && a.rule == b.rule && a.message == b.message;
    };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    return std::move(found_);
  }

 private:
  void consider(const Rule& rule, const Fact& fact) {
    Severity severity = options_.level == VerifyLevel::kStrict ? rule.at_strict : rule.at_default;
    if (severity == Severity::kOff || !matches(rule, fact) || any_matches(options_.off, rule.id, 0)) return;
    std::string subject = fact.kind == FactKind::kCommand && !fact.detail.empty() ? fact.detail : fact.name;
    if (fact.kind == FactKind::kConstruct && !fact.detail.empty()) subject = fact.detail;
    say(fact, rule.id, rule.type, severity, cat(printable(one_line(subject)), ": ", rule.reason), rule.fix);
  }

  void check_import(const Fact& fact) {
    if (options_.imports_allowed.empty()) return;
    for (const auto& allowed : options_.imports_allowed)
      if (is_below(fact.name, allowed, '.')) return;
    say(fact, "import-not-allowed", "blocked_module", Severity::kError,
        cat(printable(fact.name), ": this profile does not allow it to be imported"),
        cat("add it to imports.additional of the profile: ", printable(fact.name.substr(0, fact.name.find('.')))));
  }

  void check_blocklist(const Fact& fact) {
    for (const auto& [module, attribute] : options_.blocklist)
      if (is_below(fact.name, cat(module, ".", attribute), '.'))
        say(fact, "blocklist", "blocked_function", Severity::kError,
            cat(printable(fact.name), ": on the profile's blocklist"), "");
  }

  void say(const Fact& fact, std::string_view rule, std::string_view type, Severity severity, std::string message,
           std::string fix) {
    Place at = source_.place(fact.begin);
    Finding f;
    f.rule = rule;
    f.type = type;
    f.severity = to_string(severity);
    f.file = file_;
    f.message = std::move(message);
    f.snippet = printable(one_line(source_.line_text(at.line)));
    f.fix = std::move(fix);
    f.line = at.line;
    f.column = at.column;
    found_.push_back(std::move(f));
  }

  const SourceText& source_;
  std::string_view file_;
  const VerifyOptions& options_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> judge(const SourceText& source, std::string_view file, std::span<const Fact> facts,
                           std::span<const Rule> rules, const VerifyOptions& options) {
  Judge j(source, file, options);
  for (const Fact& fact : facts) j.look(fact, rules);
  return j.take();
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kOff: return "off";
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

std::string_view to_string(FactKind kind) {
  switch (kind) {
    case FactKind::kImport: return "import";
    case FactKind::kUse: return "use";
    case FactKind::kConstruct: return "construct";
    case FactKind::kReadPath: return "read_path";
    case FactKind::kWritePath: return "write_path";
    case FactKind::kHost: return "host";
    case FactKind::kCommand: return "command";
    case FactKind::kUnreadable: return "unreadable";
  }
  return "unreadable";
}

}  // namespace hotcell
