// Findings for programs: our own JSON, and SARIF 2.1.0 for tools that show findings of many kinds.
#include <algorithm>
#include <map>

#include "base/json_write.h"
#include "base/strings.h"
#include "hotcell/verify.h"
#include "verify/finding_json.h"

namespace hotcell {
namespace {

// A relative reference or a file: URI; everything that has a meaning in a URI, or none, is percent-encoded.
std::string uri_of(std::string_view path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = path.starts_with('/') ? "file://" : "";
  if (path == "-" || path.empty()) path = "stdin";
  for (char c : path) {
    auto byte = static_cast<unsigned char>(c);
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                 c == '_' || c == '~' || c == '/';
    if (plain) out += c;
    else (out += '%') += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::string_view sarif_level(std::string_view severity) {
  return severity == "error" ? "error" : severity == "warning" ? "warning" : "note";
}

void write_text(JsonWriter& w, std::string_view key, std::string_view text) {
  w.key(key);
  w.begin_object();
  w.field("text", text);
  w.end_object();
}

void write_result(JsonWriter& w, const Finding& f, int rule_index) {
  w.begin_object();
  w.field("ruleId", f.rule);
  w.field("ruleIndex", rule_index);
  w.field("level", sarif_level(f.severity));
  write_text(w, "message", f.fix.empty() ? f.message : cat(f.message, ". Fix: ", f.fix));
  w.key("locations");
  w.begin_array();
  w.begin_object();
  w.key("physicalLocation");
  w.begin_object();
  w.key("artifactLocation");
  w.begin_object();
  w.field("uri", uri_of(f.file));
  w.end_object();
  w.key("region");
  w.begin_object();
  w.field("startLine", std::max(f.line, 1));
  w.field("startColumn", std::max(f.column, 1));
  if (!f.snippet.empty()) write_text(w, "snippet", f.snippet);
  w.end_object();
  w.end_object();
  w.end_object();
  w.end_array();
  w.key("properties");
  w.begin_object();
  w.field("type", f.type);
  w.end_object();
  w.end_object();
}

}  // namespace

void write_finding(JsonWriter& w, const Finding& f) {
  w.begin_object();
  w.field("rule", f.rule);
  w.field("type", f.type);
  w.field("severity", f.severity);
  w.field("file", f.file);
  w.field("line", f.line);
  w.field("column", f.column);
  w.field("message", f.message);
  w.field("snippet", f.snippet);
  w.field("fix", f.fix);
  w.end_object();
}

std::string verification_json(std::span<const Verification> all) {
  bool safe = true;
  std::string language = all.empty() ? "" : all.front().language;
  for (const auto& v : all) {
    safe = safe && v.safe;
    if (v.language != language) language = "mixed";
  }
  JsonWriter w;
  w.begin_object();
  w.field("safe", safe);
  w.field("language", language);
  w.key("findings");
  w.begin_array();
  for (const auto& v : all)
    for (const auto& f : v.findings) write_finding(w, f);
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

std::string verification_sarif(std::span<const Verification> all) {
  std::map<std::string, std::pair<int, const Finding*>> rules;
  for (const auto& v : all)
    for (const auto& f : v.findings) rules.try_emplace(f.rule, 0, &f);
  int index = 0;
  for (auto& [id, rule] : rules) rule.first = index++;
  JsonWriter w;
  w.begin_object();
  w.field("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  w.field("version", "2.1.0");
  w.key("runs");
  w.begin_array();
  w.begin_object();
  w.key("tool");
  w.begin_object();
  w.key("driver");
  w.begin_object();
  w.field("name", "hotcell");
  w.field("version", HOTCELL_VERSION);
  w.key("rules");
  w.begin_array();
  for (const auto& [id, rule] : rules) {
    w.begin_object();
    w.field("id", id);
    write_text(w, "shortDescription", id);
    w.key("properties");
    w.begin_object();
    w.field("type", rule.second->type);
    w.end_object();
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.end_object();
  w.field("columnKind", "unicodeCodePoints");
  w.key("results");
  w.begin_array();
  for (const auto& v : all)
    for (const auto& f : v.findings) write_result(w, f, rules.at(f.rule).first);
  w.end_array();
  w.end_object();
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

}  // namespace hotcell
