// Rules turn facts into findings. They are data: `src/languages/<language>/rules.yaml`, checked and compiled into tables at build
// time (rules_gen.cc), and a profile's own on top.
//
//   - id: python-start-program          # unique over all languages: <language>-<what>
//     type: system_call                 # blocked_module blocked_function dangerous_pattern file_access network_access system_call
//     severity: error                   # under every profile; or {default: warning, strict: error}; `off` is a severity
//     on: use                           # import use construct read_path write_path host command
//     match: [os.system, "os.exec*"]    # globs over the fact's name; `*` stops at a dot, or a slash for paths; `**` does not
//     detail: ["*shell=True*"]          # optional: globs over the fact's detail, `*` matches anything
//     unless: [os.execution_time]       # optional: globs over the name that are not meant
//     reason: starts a program outside the interpreter
//     fix: use the standard library's own function for it
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"
#include "parse/source_text.h"
#include "verify/facts.h"

namespace hotcell {

enum class Severity : std::uint8_t { kOff, kInfo, kWarning, kError };

struct Rule {
  std::string id, type, reason, fix;
  Severity at_default = Severity::kError, at_strict = Severity::kError;
  FactKind on = FactKind::kUse;
  std::vector<std::string> match, detail, unless;
};

// `*` matches anything but `stop`, `**` anything, `?` one character but `stop`. stop 0: none.
bool glob_matches(std::string_view pattern, std::string_view name, char stop);

// What a profile adds to the rules of the language.
struct VerifyOptions {
  VerifyLevel level = VerifyLevel::kDefault;
  std::vector<std::string> off;               // ids (globs) of rules that do not count
  std::vector<std::string> imports_allowed;   // not empty: any other module is an error (`*` for all below: "numpy" allows numpy.linalg)
  std::vector<std::pair<std::string, std::string>> blocklist;  // [module, attribute]
  std::vector<Rule> rules;                    // the user's own functions, modules and patterns
  std::vector<std::string> allowed_paths;     // paths (and what is below) that may be read and written
  std::vector<std::string> patterns;          // regular expressions over each line of code; the engine's, not judge()'s
};

class RuleIndex;  // rule_index.h: for who judges more than one source by the same rules

// Findings in the order of the text, one for each rule and place. Of more than a thousand errors, or a thousand others,
// the rest is counted in a last finding.
std::vector<Finding> judge(const SourceText& source, std::string_view file, std::span<const Fact> facts,
                           const RuleIndex& rules, const VerifyOptions& options);
std::vector<Finding> judge(const SourceText& source, std::string_view file, std::span<const Fact> facts,
                           std::span<const Rule> rules, const VerifyOptions& options);

// One rules.yaml. Errors name file:line. Only the generator and tests read YAML (rules_yaml.cc).
Result<std::vector<Rule>> read_rules(std::string_view yaml, std::string_view filename);

// The finding that makes a source unverifiable.
Finding unverifiable_finding(std::string_view why, int line = 1, int column = 1);

std::string_view to_string(Severity severity);
std::string_view to_string(FactKind kind);

}  // namespace hotcell
