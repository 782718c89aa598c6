// Reads rules.yaml. At build time and in tests only: nothing that users start pays for YAML.
#include <yaml-cpp/yaml.h>

#include <set>

#include "base/strings.h"
#include "verify/rules.h"

namespace hotcell {
namespace {

struct Bad {
  std::string what;
};

[[noreturn]] void bad(std::string_view file, const YAML::Node& node, std::string_view what) {
  throw Bad{cat(file, ":", node.Mark().line + 1, ": ", what)};
}

Severity severity_of(std::string_view file, const YAML::Node& node) {
  for (auto s : {Severity::kOff, Severity::kInfo, Severity::kWarning, Severity::kError})
    if (node.IsScalar() && node.Scalar() == to_string(s)) return s;
  bad(file, node, "severity is one of off, info, warning, error");
}

FactKind kind_of(std::string_view file, const YAML::Node& node) {
  for (auto k : {FactKind::kImport, FactKind::kUse, FactKind::kConstruct, FactKind::kReadPath, FactKind::kWritePath,
                 FactKind::kHost, FactKind::kCommand})
    if (node.IsScalar() && node.Scalar() == to_string(k)) return k;
  bad(file, node, "on is one of import, use, construct, read_path, write_path, host, command");
}

std::vector<std::string> words(std::string_view file, const YAML::Node& node) {
  if (!node.IsSequence() || node.size() == 0) bad(file, node, "a list of at least one pattern is wanted");
  std::vector<std::string> out;
  for (const auto& n : node) {
    if (!n.IsScalar() || n.Scalar().empty()) bad(file, n, "a pattern is a text");
    out.push_back(n.Scalar());
  }
  return out;
}

Rule read_rule(std::string_view file, const YAML::Node& node) {
  if (!node.IsMap()) bad(file, node, "a rule is a map");
  Rule r;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    std::string key = entry.first.as<std::string>();
    const YAML::Node& value = entry.second;
    if (!seen.insert(key).second) bad(file, entry.first, cat("'", key, "' is there twice"));
    if (key == "id") r.id = value.as<std::string>();
    else if (key == "type") r.type = value.as<std::string>();
    else if (key == "reason") r.reason = value.as<std::string>();
    else if (key == "fix") r.fix = value.as<std::string>();
    else if (key == "on") r.on = kind_of(file, value);
    else if (key == "match") r.match = words(file, value);
    else if (key == "detail") r.detail = words(file, value);
    else if (key == "unless") r.unless = words(file, value);
    else if (key == "severity" && value.IsMap()) {
      if (value.size() != 2 || !value["default"] || !value["strict"]) bad(file, value, "severity wants default and strict");
      r.at_default = severity_of(file, value["default"]);
      r.at_strict = severity_of(file, value["strict"]);
    } else if (key == "severity") r.at_default = r.at_strict = severity_of(file, value);
    else bad(file, entry.first, cat("unknown key '", key, "'"));
  }
  for (const char* key : {"id", "type", "severity", "on", "match", "reason"})
    if (!seen.contains(key)) bad(file, node, cat("a rule needs '", key, "'"));
  static const std::set<std::string> types = {"blocked_module", "blocked_function", "dangerous_pattern",
                                              "file_access", "network_access", "system_call"};
  if (!types.contains(r.type)) bad(file, node, cat("unknown type '", r.type, "'"));
  return r;
}

}  // namespace

Result<std::vector<Rule>> read_rules(std::string_view yaml, std::string_view filename) {
  try {
    std::vector<Rule> rules;
    std::set<std::string> ids;
    YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsSequence()) bad(filename, root, "a list of rules is wanted");
    for (const auto& node : root) {
      rules.push_back(read_rule(filename, node));
      if (!ids.insert(rules.back().id).second) bad(filename, node, cat("rule '", rules.back().id, "' is there twice"));
    }
    return rules;
  } catch (const Bad& b) {
    return make_error(ErrorCode::kInvalid, b.what);
  } catch (const YAML::Exception& e) {
    return make_error(ErrorCode::kInvalid, cat(filename, ":", e.mark.line + 1, ": ", e.msg));
  }
}

}  // namespace hotcell
