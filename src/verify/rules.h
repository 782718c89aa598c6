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
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "verify/facts.h"

namespace hotcell {

enum class Severity : std::uint8_t { kOff, kInfo, kWarning, kError };
enum class VerifyLevel : std::uint8_t { kDefault, kStrict };

struct Rule {
  std::string id, type, reason, fix;
  Severity at_default = Severity::kError, at_strict = Severity::kError;
  FactKind on = FactKind::kUse;
  std::vector<std::string> match, detail, unless;
};

// `*` matches anything but `stop`, `**` anything, `?` one character but `stop`. stop 0: none.
bool glob_matches(std::string_view pattern, std::string_view name, char stop);

}  // namespace hotcell
