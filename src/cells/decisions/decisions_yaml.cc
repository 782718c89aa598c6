// Decisions as people write them.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "cells/decisions/command_match.h"
#include "cells/decisions/decisions.h"
#include "cells/decisions/standard.h"
#include "core/policy/glob.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "core/policy/yaml_tree.h"

namespace hotcell::cells {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 7);

class Reader {
 public:
  explicit Reader(std::string_view filename) : filename_(filename) {}

  Result<DecisionPolicy> read(const YamlNode& root) {
    if (!root.is_map()) return fail(root, "wants keys and values, as in `default: ask`");
    // The part of a profile, or a file with nothing else.
    if (root.items.size() == 1 && root.items[0].key == "decisions") {
      if (!root.items[0].is_map()) return fail(root.items[0], "decisions: wants keys and values, as in `default: ask`");
      return part(root.items[0]);
    }
    return part(root);
  }

 private:
  Error fail(const YamlNode& node, std::string_view message) const { return at(node.line, message); }
  Error at(int line, std::string_view message) const { return make_error(ErrorCode::kInvalid, cat(printable(filename_), ":", line, ": ", message)); }

  Error unknown(const YamlNode& node, std::string_view where, std::span<const std::string_view> known) const {
    return at(node.key_line, cat("unknown key ", quoted(node.key), where, did_you_mean(node.key, known)));
  }

  Result<DecisionPolicy> part(const YamlNode& map) {
    static constexpr std::array<std::string_view, 4> kKeys = {"default", "timeout", "protected", "rules"};
    DecisionPolicy out;
    bool says_protected = false;
    for (const auto& node : map.items) {
      if (node.key == "default") {
        TRY_SET(out.otherwise, answer(node, "default"));
      } else if (node.key == "timeout") {
        TRY_SET(std::string text, word(node, "timeout"));
        auto time = parse_duration(text);
        if (!time.ok()) return fail(node, cat("timeout: ", time.error().message));
        if (time.value() > kLongest) return fail(node, "timeout: longer than seven days");
        out.patience = std::chrono::ceil<std::chrono::seconds>(time.value());
      } else if (node.key == "protected") {
        TRY_SET(out.protected_paths, globs(node));
        says_protected = true;
      } else if (node.key == "rules") {
        if (!node.is_sequence()) return fail(node, cat("rules: wants a list", shape(node)));
        for (const auto& item : node.items) {
          TRY_SET(Rule r, rule(item));
          out.rules.push_back(std::move(r));
        }
      } else {
        return unknown(node, "", kKeys);
      }
    }
    if (!says_protected) out.protected_paths = standard_decisions().protected_paths;  // [] says: nothing
    return out;
  }

  Result<Rule> rule(const YamlNode& map) {
    static constexpr std::array<std::string_view, 5> kKeys = {"command", "read", "write", "action", "reason"};
    if (!map.is_map()) return fail(map, cat("rules: wants keys and values, as in {command: \"npm test *\", action: allow}", shape(map)));
    Rule out;
    bool has_what = false, has_action = false;
    for (const auto& node : map.items) {
      if (auto what = parse_action_class(node.key)) {
        if (std::exchange(has_what, true)) return at(node.key_line, "rules: a rule is about one of command, read and write, not several");
        out.what = *what;
        TRY_SET(out.pattern, word(node, cat("rules.", node.key)));
        auto problem = *what == ActionClass::kCommand ? command_pattern_problem(out.pattern) : path_pattern_problem(out.pattern);
        if (problem) return fail(node, cat("rules.", node.key, ": ", quoted(out.pattern), " ", *problem));
      } else if (node.key == "action") {
        TRY_SET(out.answer, answer(node, "rules.action"));
        has_action = true;
      } else if (node.key == "reason") {
        TRY_SET(out.reason, word(node, "rules.reason"));
      } else {
        return unknown(node, " in rules", kKeys);
      }
    }
    if (!has_what) return fail(map, "rules: a rule says command, read or write, and of what");
    if (!has_action) return fail(map, "rules: a rule says its action: allow, ask or deny");
    return out;
  }

  Result<std::vector<std::string>> globs(const YamlNode& node) {
    if (!node.is_sequence()) return fail(node, cat("protected: wants a list", shape(node)));
    std::vector<std::string> out;
    for (const auto& item : node.items) {
      TRY_SET(std::string text, word(item, "protected"));
      if (auto problem = path_pattern_problem(text)) return fail(item, cat("protected: ", quoted(text), " ", *problem));
      out.push_back(std::move(text));
    }
    return out;
  }

  Result<Answer> answer(const YamlNode& node, std::string_view field) {
    TRY_SET(std::string text, word(node, field));
    static constexpr std::array<std::string_view, 3> kWords = {"allow", "ask", "deny"};
    for (std::size_t i = 0; i < kWords.size(); ++i)
      if (text == kWords[i]) return static_cast<Answer>(i);
    return fail(node, cat(field, ": ", quoted(text), " is none of allow, ask, deny", did_you_mean(text, kWords)));
  }

  Result<std::string> word(const YamlNode& node, std::string_view field) {
    if (!node.is_scalar()) return fail(node, cat(field, ": wants text", shape(node)));
    return node.text;
  }

  static std::string_view shape(const YamlNode& node) {
    return node.is_map() ? ", not keys and values" : node.is_sequence() ? ", not a list" : node.is_scalar() ? ", not a single value" : ", not nothing";
  }

  std::string_view filename_;
};

}  // namespace

std::optional<std::string> path_pattern_problem(std::string_view pattern) {
  if (pattern == "**" || pattern == "/**") return std::nullopt;  // everything; a rule may say so, and its order decides
  return glob_problem(pattern);
}

Result<DecisionPolicy> parse_decisions(std::string_view yaml, std::string_view filename) {
  TRY_SET(YamlNode root, parse_yaml(yaml, filename));
  return Reader(filename).read(root);
}

}  // namespace hotcell::cells
