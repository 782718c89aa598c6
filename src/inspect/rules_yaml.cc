// Reads rules/*.yaml at build time, and the rules of users.
#include <yaml-cpp/yaml.h>

#include <set>

#include "base/strings.h"
#include "inspect/regex.h"
#include "inspect/rules.h"
#include "inspect/signs.h"

namespace hotcell::inspect {
namespace {

struct Bad {
  std::string what;
};

[[noreturn]] void bad(std::string_view file, const YAML::Node& node, std::string_view what) {
  throw Bad{cat(file, ":", node.Mark().line + 1, ":", node.Mark().column + 1, ": ", what)};
}

ThreatLevel level_of(std::string_view file, const YAML::Node& node) {
  if (node.IsScalar())
    for (auto l : {ThreatLevel::kLow, ThreatLevel::kMedium, ThreatLevel::kHigh, ThreatLevel::kCritical})
      if (node.Scalar() == to_string(l)) return l;
  bad(file, node, "level is one of low, medium, high, critical");
}

// Short words in patterns: {_} what stands between two words, however they are wrapped, commented or decorated; {w} up
// to five words that do not matter; {few} up to two. The others are classes of words that mean the same in an order to
// a model, so that each rule knows all of them: {undo} to take back, {past} what came before, {order} what a model was
// told, {tell} to show it, {reply} what it says, {reader} what it is called, {make} to do as it is told, {talk} all that it
// knows, {slot} a parameter of a tool that no such thing belongs into.
std::string expand(std::string_view pattern) {
  static constexpr std::pair<std::string_view, std::string_view> kMacros[] = {
      {"{_}", "(?:[^a-z0-9\\x80-\\xff]+)"},
      {"{w}", "(?:[a-z0-9']+[^a-z0-9\\x80-\\xff]+){0,5}"},
      {"{few}", "(?:[a-z0-9']+[^a-z0-9\\x80-\\xff]+){0,2}"},
      {"{undo}",
       "(?:ignore|disregard|forget(?:{_}about)?|neglect|overlook|discard|dismiss|abandon|disobey|(?:set|put|lay|cast|leave|toss) aside|"
       "throw (?:away|out)|never mind|pay no{_}(?:attention|heed){_}to|take no{_}notice{_}of|"
       "(?:do not{_}|don(?:'|\\xe2\\x80\\x99)?t |never |stop |cease{_}|quit |refrain{_}from{_}|no longer{_})(?:follow|obey|heed|listen|comply|adher|abid|respect)"
       "(?:e|ing|ying)?(?:{_}(?:to|with|by))?)"},
      {"{past}", "(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|past|former|initial|original|aforementioned)"},
      {"{order}", "(?:instructions?|directi(?:ves?|ons)|prompts?|guidelines?|guidance|programming|orders|rules|commands)"},
      {"{tell}",
       "(?:repeat|print|reveal|show|output|display|write{_}(?:out|down|me)|leak|disclose|dump|echo|recite|expose|paraphrase|translate|quote|"
       "spell(?:{_}out)?|list|summari[sz]e|reproduce|paste|share|(?:tell|give|send){_}(?:me|us))"},
      {"{reply}", "(?:answers?|responses?|reply|replies|output)"},
      {"{reader}", "(?:ai|llms?|language{_}models?|chatbots?|gpt|chatgpt|claude|gemini|copilot|assistants?|agents?|bots?|models?)"},
      {"{talk}",
       "(?:your{_}(?:(?:full|entire|whole|complete|own|initial|hidden|exact){_}){0,2}(?:system{_}(?:prompt|message|instructions)|prompt|chain{_}of{_}thought)|"
       "your{_}(?:full|entire|whole|complete|own|initial|hidden|exact){_}instructions|"
       "(?:the{_})?(?:full{_}|entire{_}|whole{_}|complete{_}|exact{_}){0,2}(?:system{_}prompt|(?:conversation|chat){_}(?:history|log|transcript|so{_}far))|"
       "(?:the{_})?(?:full|entire|whole|complete){_}(?:conversation|chat|dialogue|context|prompt)|"
       "(?:the{_}|all{_}(?:of{_})?(?:the{_})?){0,1}(?:user.s{_}(?:previous{_}|last{_}|original{_}|other{_}){0,1}|previous{_}|prior{_}|earlier{_})(?:messages?|prompts?|conversation))"},
      {"{slot}",
       "(?:(?:side_?)?notes?|comments?|memo|debug\\w*|trace\\w*|reason\\w*|metadata|extra\\w*|feedback|remarks?|title|subject|ref(?:erence)?|tags?|"
       "(?:file)?name|user_agent|description|details|log\\w*|label|annotation|justification|explanation|callback\\w*|webhook\\w*|background)"},
      {"{make}",
       "(?:run|execute|send|e-?mail|forward|call|upload|delete|transfer|post|fetch|download|install|reveal|disclose|ignore|read|print|output|"
       "include|append|insert|add|recommend|say|tell|ask|reply|respond|approve|rate|push|skip|stop|hide|open|visit|display|comply|grant)"},
  };
  std::string out;
  for (std::size_t i = 0; i < pattern.size();) {
    bool found = false;
    for (const auto& [name, means] : kMacros) {
      if (!pattern.substr(i).starts_with(name)) continue;
      out += name == "{_}" || name == "{w}" || name == "{few}" ? std::string(means) : expand(means);
      i += name.size();
      found = true;
      break;
    }
    if (!found) out += pattern[i++];
  }
  return out;
}

ReadRule read_rule(std::string_view file, const YAML::Node& node, bool builtin) {
  if (!node.IsMap()) bad(file, node, "a rule is a map");
  ReadRule r;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    std::string key = entry.first.as<std::string>();
    const YAML::Node& value = entry.second;
    if (!value.IsScalar()) bad(file, value, cat("'", key, "' is a text"));
    if (!seen.insert(key).second) bad(file, entry.first, cat("'", key, "' is there twice"));
    if (key == "id") r.id = value.Scalar();
    else if (key == "kind") r.kind = value.Scalar();
    else if (key == "type") r.type = value.Scalar();
    else if (key == "message") r.message = value.Scalar();
    else if (key == "level") r.level = level_of(file, value);
    else if (key == "case" && (value.Scalar() == "true" || value.Scalar() == "false")) r.caseless = value.Scalar() == "false";
    else if (key == "group" && builtin) r.group = value.Scalar();
    else if (key == "check" && builtin) r.check = value.Scalar();
    else if (key == "weight" && builtin) r.weight = value.as<int>();
    else if (key == "sign" && builtin) r.sign = expand(value.Scalar());
    else if (key == "back" && builtin) r.back = value.as<int>();
    else if (key == "pattern") {
      r.pattern = expand(value.Scalar());
      auto compiled = Regex::compile(r.pattern, r.caseless);
      if (!compiled.ok()) bad(file, value, cat("pattern: ", compiled.error().message));
    } else bad(file, entry.first, cat("unknown key '", key, "'"));
  }
  for (const char* key : {"id", "kind", "pattern"})
    if (!seen.contains(key)) bad(file, node, cat("a rule needs '", key, "'"));
  if (builtin) {
    // A rule that is tried at every byte makes all of them slow. Arguments are short, so there one character will do.
    bool short_texts = r.kind == "sql" || r.kind == "traversal" || r.kind == "c2";
    auto signs = signs_of(r.sign.empty() ? r.pattern : r.sign, r.caseless, short_texts ? 1 : 2);
    if (!signs.ok()) bad(file, node, cat("rule '", r.id, "': ", signs.error().message));
  }
  bool ours = builtin && (r.kind == "trigger" || r.kind == "squeezed");
  if (!ours && !inspect_kind(r.kind))
    bad(file, node, "kind is one of injection, egress, secrets, sql, traversal, c2");
  if (!builtin && (!seen.contains("message") || !seen.contains("level"))) bad(file, node, "a rule needs 'message' and 'level'");
  if (r.type.empty()) {
    r.type = r.kind == "injection" ? "prompt_injection"
             : r.kind == "secrets" ? "data_leak"
             : r.kind == "sql"     ? "sql_injection"
             : r.kind == "c2"      ? "command_and_control"
             : r.kind == "traversal" ? "path_traversal"
                                     : r.kind;
  }
  return r;
}

}  // namespace

Result<std::vector<ReadRule>> read_rules(std::string_view yaml, std::string_view file, bool builtin) {
  try {
    std::vector<ReadRule> rules;
    std::set<std::string> ids;
    YAML::Node root = YAML::Load(std::string(yaml));
    if (!root.IsSequence()) bad(file, root, "a list of rules is wanted");
    for (const auto& node : root) {
      rules.push_back(read_rule(file, node, builtin));
      if (!ids.insert(rules.back().id).second) bad(file, node, cat("rule '", rules.back().id, "' is there twice"));
    }
    return rules;
  } catch (const Bad& b) {
    return make_error(ErrorCode::kInvalid, b.what);
  } catch (const YAML::Exception& e) {
    return make_error(ErrorCode::kInvalid, cat(file, ":", e.mark.line + 1, ":", e.mark.column + 1, ": ", e.msg));
  }
}

}  // namespace hotcell::inspect
