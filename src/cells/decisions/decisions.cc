#include "cells/decisions/decisions.h"

#include <algorithm>
#include <ctime>

#include "base/strings.h"
#include "cells/decisions/command_list.h"
#include "cells/decisions/command_match.h"
#include "core/policy/glob.h"

namespace hotcell::cells {
namespace {

constexpr std::string_view kClasses[] = {"command", "read", "write"};
constexpr std::string_view kAnswers[] = {"allow", "ask", "deny"};
constexpr std::string_view kWorkspace = "/work/";
constexpr std::size_t kMostJudged = 16384;  // names of files, in each folder that they may be in
constexpr std::size_t kShown = 200;  // of a command in a reason

std::string clipped(std::string_view text) { return cat(printable(text.substr(0, kShown)), text.size() > kShown ? "..." : ""); }

// As it is written: `..` takes back the name before it, whatever that may be a link to. The doors refuse `..` by themselves.
std::string normal_path(std::string_view path) {
  std::string whole = path.starts_with('/') ? std::string(path) : cat(kWorkspace, path);
  std::vector<std::string_view> kept;
  for (auto part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") kept.push_back(part);
    else if (!kept.empty()) kept.pop_back();
  }
  std::string out;
  for (auto part : kept) out += cat("/", part);
  return out.empty() ? "/" : out;
}

bool path_fits(std::string_view pattern, const std::string& path) { return pattern == "**" || pattern == "/**" || glob_covers(pattern, path); }

std::string rule_reason(std::size_t number, const Rule& rule) {
  return cat("rule ", number + 1, ": ", printable(rule.pattern), rule.reason.empty() ? "" : cat(" (", printable(rule.reason), ")"));
}

std::string until(const Grant& grant) {
  if (!grant.expires) return {};
  std::time_t seconds = grant.expires->time_since_epoch().count();
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return cat(" until ", std::string_view(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)));
}
std::string grant_reason(const Grant& grant) {
  return cat("granted by ", grant.by.empty() ? "somebody" : printable(grant.by), until(grant), ": ", printable(grant.pattern));
}

bool holds(const Grant& grant, ActionClass what, WallTime now) { return grant.what == what && (!grant.expires || now < *grant.expires); }

std::optional<Decision> forbidden_path(const DecisionPolicy& policy, ActionClass what, const std::string& path) {
  if (what == ActionClass::kWrite) {
    std::string lower = ascii_lower(path);  // some file systems take .GIT for .git
    for (const auto& pattern : policy.protected_paths)
      if (path_fits(ascii_lower(pattern), lower)) return Decision{Answer::kDeny, cat("protected by ", printable(pattern))};
  }
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    if (rule.what == what && rule.answer == Answer::kDeny && path_fits(rule.pattern, path)) return Decision{Answer::kDeny, rule_reason(i, rule)};
  }
  return std::nullopt;
}

Decision decide_path(const DecisionPolicy& policy, const std::vector<Grant>& grants, ActionClass what, std::string_view subject, WallTime now) {
  if (subject.empty() || subject.find('\0') != subject.npos) return {Answer::kDeny, "no path"};
  std::string path = normal_path(subject);
  if (auto no = forbidden_path(policy, what, path)) return *std::move(no);
  for (const auto& grant : grants)
    if (holds(grant, what, now) && path_fits(grant.pattern, path)) return {Answer::kAllow, grant_reason(grant)};
  for (std::size_t i = 0; i < policy.rules.size(); ++i)
    if (policy.rules[i].what == what && path_fits(policy.rules[i].pattern, path)) return {policy.rules[i].answer, rule_reason(i, policy.rules[i])};
  return {policy.otherwise, "nothing matches"};
}

// One command by itself; nullopt: it only runs another one, and nothing is said about it.
std::optional<Decision> decide_one(const DecisionPolicy& policy, const std::vector<Grant>& grants, const ListedCommand& command, WallTime now) {
  std::optional<std::string> perhaps;  // a rule that would not allow it, should its words become what the rule says
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    if (rule.what != ActionClass::kCommand || rule.answer != Answer::kDeny) continue;
    Match match = match_command(rule.pattern, command, For::kForbidding);
    if (match == Match::kYes) return Decision{Answer::kDeny, rule_reason(i, rule)};
    if (match == Match::kMaybe && !perhaps) perhaps = cat("may be what ", rule_reason(i, rule), " denies");
  }
  auto allowed = [&](std::string reason) { return perhaps ? Decision{Answer::kAsk, *perhaps} : Decision{Answer::kAllow, std::move(reason)}; };
  for (const auto& grant : grants)
    if (holds(grant, ActionClass::kCommand, now) && match_command(grant.pattern, command, For::kAllowing) == Match::kYes) return allowed(grant_reason(grant));
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    if (rule.what != ActionClass::kCommand || rule.answer == Answer::kDeny) continue;
    Match match = match_command(rule.pattern, command, rule.answer == Answer::kAllow ? For::kAllowing : For::kForbidding);
    if (match == Match::kYes) return rule.answer == Answer::kAllow ? allowed(rule_reason(i, rule)) : Decision{Answer::kAsk, rule_reason(i, rule)};
    if (match == Match::kMaybe && rule.answer == Answer::kAsk && !perhaps) perhaps = cat("may be what ", rule_reason(i, rule), " asks about");
  }
  if (command.passes && !perhaps) return std::nullopt;
  if (policy.otherwise == Answer::kAllow) return allowed("nothing matches");
  return Decision{policy.otherwise, "nothing matches"};
}

// A rule or a grant for exactly this text.
std::optional<Decision> whole_text(const DecisionPolicy& policy, const std::vector<Grant>& grants, std::string_view line, WallTime now, Answer wanted) {
  if (wanted == Answer::kAllow)
    for (const auto& grant : grants)
      if (holds(grant, ActionClass::kCommand, now) && trim(grant.pattern) == line) return Decision{Answer::kAllow, grant_reason(grant)};
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    if (rule.what != ActionClass::kCommand || trim(rule.pattern) != line) continue;
    if (rule.answer == wanted) return Decision{wanted, rule_reason(i, rule)};
    if (wanted == Answer::kAllow) return std::nullopt;  // the first rule counts
  }
  return std::nullopt;
}

Decision decide_command(const DecisionPolicy& policy, const std::vector<Grant>& grants, std::string_view subject, const Whereabouts& in, WallTime now) {
  std::string_view line = trim(subject);
  if (line.empty()) return {Answer::kDeny, "no command"};
  CommandList list = list_commands(line, in);
  Decision strictest{Answer::kAllow, ""};
  auto count = [&](Decision d, std::string about) {
    if (!strictest.reason.empty() && d.answer <= strictest.answer) return;
    strictest.answer = d.answer;
    strictest.reason = about.empty() ? std::move(d.reason) : cat(clipped(about), ": ", d.reason);
  };
  bool several = list.commands.size() > 1;
  if (auto no = whole_text(policy, grants, line, now, Answer::kDeny)) return *std::move(no);
  for (const auto& command : list.commands)
    if (auto d = decide_one(policy, grants, command, now)) count(*std::move(d), several ? command_text(command) : "");
  std::size_t judged = 0;
  for (const auto& write : list.writes) {
    const std::string& text = write.path.text;
    if (!write.path.fixed) {
      if (write.redirected) count({Answer::kAsk, "which file is written is not known before"}, "");
      continue;
    }
    if (text.empty()) continue;
    auto judge = [&](const std::string& path) {
      if (write.redirected) count(decide_path(policy, grants, ActionClass::kWrite, path, now), cat("writing ", path));
      else if (auto no = forbidden_path(policy, ActionClass::kWrite, normal_path(path))) count(*std::move(no), cat("writing ", path));
    };
    judge(text);
    if (text.starts_with('/')) continue;
    // Behind `cd .git` the name `config` is another one. It counts as both: that cd may have failed.
    if (write.in && (judged += write.in->size()) > kMostJudged) {
      count({Answer::kAsk, "too many files are written in folders that it may be in or not"}, "");
      continue;
    }
    for (const auto& folder : write.in ? *write.in : Folders())
      if (!folder.empty()) judge(cat(folder, folder == "/" ? "" : "/", text));
    if (write.lost) count({Answer::kAsk, "in which folder it is written is not known before"}, cat("writing ", text));
  }
  if (list.unclear) count({Answer::kAsk, *list.unclear}, "");
  // Nothing to judge at all: a comment, x=1. Then what is said about anything else holds.
  if (strictest.reason.empty()) strictest = {policy.otherwise, "nothing matches"};
  if (strictest.answer == Answer::kAsk)
    if (auto yes = whole_text(policy, grants, line, now, Answer::kAllow)) return *std::move(yes);
  return strictest;
}

}  // namespace

std::string_view to_string(ActionClass action) { return kClasses[static_cast<std::size_t>(action)]; }
std::string_view to_string(Answer answer) { return kAnswers[static_cast<std::size_t>(answer)]; }

std::optional<ActionClass> parse_action_class(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kClasses); ++i)
    if (word == kClasses[i]) return static_cast<ActionClass>(i);
  return std::nullopt;
}

Action command_action(const std::vector<std::string>& argv) {
  std::string line;
  for (std::size_t i = 0; i < argv.size(); ++i) line += cat(i == 0 ? "" : " ", shell_quoted(argv[i], i == 0));
  return {ActionClass::kCommand, std::move(line)};
}

Decision decide(const DecisionPolicy& policy, const std::vector<Grant>& grants, const Action& action, WallTime now) {
  if (action.what == ActionClass::kCommand) return decide_command(policy, grants, action.subject, action.in, now);
  return decide_path(policy, grants, action.what, action.subject, now);
}

}  // namespace hotcell::cells
