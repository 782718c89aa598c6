// May this command be run, this path be written? Rules are data, the answer is a pure function of rules, grants and time.
//
// The order, which is the point of it:
//   1. a protected path is denied, whatever grants and rules say;
//   2. a deny rule that matches denies, wherever it stands;
//   3. a grant that has not expired allows;
//   4. the first rule that matches decides;
//   5. nothing matches: the default, which is `ask`.
// A command line is judged by each of its commands (`ls; rm -rf /` is judged as rm too): the strictest answer counts, and
// one that cannot be parsed is never allowed by a rule or a grant for less than all of its text.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/decisions/whereabouts.h"
#include "hotcell/result.h"

namespace hotcell::cells {

enum class ActionClass : std::uint8_t { kCommand, kRead, kWrite };   // "command", "read", "write"
enum class Answer : std::uint8_t { kAllow, kAsk, kDeny };            // in order of strictness
std::string_view to_string(ActionClass action);
std::string_view to_string(Answer answer);
std::optional<ActionClass> parse_action_class(std::string_view word);

struct Action {
  ActionClass what = ActionClass::kCommand;
  std::string subject;               // a command line, or a path: absolute, or relative to the workspace
  Whereabouts in = {};               // where a command line begins
};
// For a command that was given as words, not as a line for a shell.
Action command_action(const std::vector<std::string>& argv);

// `pattern` of a command: words, `*` within a word for any characters but a space, a last word `*` for any number of words;
// of a path: a glob as in core/policy/glob.h, which takes what is below it along.
struct Rule {
  ActionClass what = ActionClass::kCommand;
  std::string pattern;
  Answer answer = Answer::kAsk;
  std::string reason;
};
using WallTime = std::chrono::sys_seconds;
struct Grant {
  ActionClass what = ActionClass::kCommand;
  std::string pattern;
  std::optional<WallTime> expires;
  std::string by;                    // who gave it
};
struct DecisionPolicy {
  std::vector<Rule> rules;
  std::vector<std::string> protected_paths;  // globs; reading is not protected, writing is
  Answer otherwise = Answer::kAsk;
  std::chrono::seconds patience{300};        // how long a question waits; then the answer is no
};
// The `decisions` part of a profile, or a file of its own:
//   decisions: {default: ask, timeout: 5m, protected: [.git], rules: [{command: "npm test *", action: allow, reason: …}]}
Result<DecisionPolicy> parse_decisions(std::string_view yaml, std::string_view filename);
DecisionPolicy standard_decisions();

struct Decision {
  Answer answer = Answer::kDeny;
  std::string reason;                // "protected by .git", "rule 3: npm test *", "granted by anna until …", "nothing matches"
};
Decision decide(const DecisionPolicy& policy, const std::vector<Grant>& grants, const Action& action, WallTime now);

}  // namespace hotcell::cells
