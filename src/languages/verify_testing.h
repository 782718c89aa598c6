// For the tests of analysers: a source judged by its language's rules, and the shared data to judge.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_folder_testing.h"
#include "parse/syntax_tree.h"
#include "verify/rules.h"

namespace hotcell::testing_rules {

inline std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::vector<Rule> rules_of(std::initializer_list<std::string> languages) {
  std::vector<Rule> out;
  for (const std::string& language : languages) {
    std::string path = std::string(hotcell::kSourceFolder) + "/src/languages/" + language + "/rules.yaml";
    auto rules = read_rules(read_whole(path), path);
    if (!rules.ok()) {
      std::fprintf(stderr, "%s\n", rules.error().message.c_str());
      std::abort();
    }
    out.insert(out.end(), rules.value().begin(), rules.value().end());
  }
  return out;
}
inline std::vector<Rule> rules_of(const std::string& language) { return rules_of({language}); }

inline bool has_fact(const std::vector<Fact>& facts, FactKind kind, std::string_view name, std::string_view detail = "*") {
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& f) {
    return f.kind == kind && f.name == name && (detail == "*" || f.detail == detail);
  });
}

inline std::string words_of(const std::vector<Fact>& facts) {
  std::string out;
  for (const Fact& f : facts) out += "  " + std::string(to_string(f.kind)) + " " + f.name + " [" + f.detail + "]\n";
  return out;
}

struct Judged {
  std::vector<Finding> findings;
  std::vector<Fact> facts;
  bool parsed = true;
  bool has(std::string_view rule, std::string_view severity = "") const {
    for (const Finding& f : findings)
      if (f.rule == rule && (severity.empty() || f.severity == severity)) return true;
    return false;
  }
  int count(std::string_view severity) const {
    int n = 0;
    for (const Finding& f : findings) n += f.severity == severity;
    return n;
  }
  std::string words() const {
    std::string out;
    for (const Finding& f : findings) out += "  " + f.severity + " " + f.rule + ": " + f.message + "\n";
    return out.empty() ? "  nothing found\n" : out;
  }
};

using Analyse = std::vector<Fact> (*)(const SyntaxTree&);

inline Judged judge_source(Grammar grammar, Analyse analyse, const std::vector<Rule>& rules, const std::string& source,
                           VerifyLevel level) {
  Judged out;
  auto tree = parse_source(grammar, source);
  out.parsed = tree.ok() && !tree.value().has_error();
  if (!tree.ok()) return out;
  VerifyOptions options;
  options.level = level;
  out.facts = analyse(tree.value());
  out.findings = judge(tree.value().source(), "source", out.facts, rules, options);
  return out;
}

// The text of `"key": "…"` in one line of JSON; "" when it is not there.
inline std::string json_text(const std::string& line, const std::string& key) {
  std::size_t at = line.find("\"" + key + "\": \"");
  if (at == line.npos) return "";
  std::string out;
  for (at += key.size() + 5; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\') {
      out += line[at];
      continue;
    }
    char c = line[++at];
    if (c == 'u') {
      unsigned n = static_cast<unsigned>(std::stoul(line.substr(at + 1, 4), nullptr, 16));
      at += 4;
      if (n < 0x80) {
        out += static_cast<char>(n);
      } else if (n < 0x800) {
        out += static_cast<char>(0xc0 | n >> 6);
        out += static_cast<char>(0x80 | (n & 0x3f));
      } else {
        out += static_cast<char>(0xe0 | n >> 12);
        out += static_cast<char>(0x80 | (n >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (n & 0x3f));
      }
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

// Every line of a file of the shared data. The data may be absent; then a line says what was left out.
inline std::vector<std::string> rows_of(const std::string& file) {
  const char* set = std::getenv("HOTCELL_DATA");
  std::string root = set != nullptr ? set : "";
  std::ifstream in(root + "/" + file);
  if (!in) std::printf("%s is not there: its rows were not looked at\n", file.c_str());
  std::vector<std::string> rows;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) rows.push_back(line);
  return rows;
}

inline void for_each_row(const std::string& file, const std::function<void(const std::string&)>& visit) {
  for (const std::string& row : rows_of(file)) visit(row);
}

}  // namespace hotcell::testing_rules
