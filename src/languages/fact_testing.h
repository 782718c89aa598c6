// For the tests of the analysers: a snippet judged by a language's rules, and the rows of the development data.
#pragma once
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "languages/analysers.h"
#include "verify/rules.h"

#ifndef HOTCELL_SOURCE_DIR
#define HOTCELL_SOURCE_DIR "."
#endif

namespace hotcell::testing_facts {

inline std::string read_all(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Judged {
  bool parse_error = false;
  std::vector<Finding> findings;
  std::vector<Fact> facts;
  int count(std::string_view severity) const {
    int n = 0;
    for (const Finding& f : findings) n += f.severity == severity;
    return n;
  }
  bool has(std::string_view rule) const {
    for (const Finding& f : findings)
      if (f.rule == rule) return true;
    return false;
  }
  bool fact(FactKind kind, std::string_view name) const {
    for (const Fact& f : facts)
      if (f.kind == kind && f.name == name) return true;
    return false;
  }
  std::string words() const {
    std::string out;
    for (const Finding& f : findings) out += f.severity + " " + f.rule + " " + f.message + "\n";
    return out;
  }
};

inline Judged judged(Grammar grammar, const std::string& text, VerifyLevel level) {
  Judged out;
  auto tree = parse_source(grammar, text);
  if (!tree.ok()) return out;
  std::vector<std::string> files = grammar == Grammar::kRust ? std::vector<std::string>{"rust"} : grammar == Grammar::kJava ? std::vector<std::string>{"java"}
                                   : grammar == Grammar::kCpp ? std::vector<std::string>{"c", "cpp"} : std::vector<std::string>{"c"};
  std::vector<Rule> rules;
  for (const auto& language : files) {
    std::string path = std::string(HOTCELL_SOURCE_DIR) + "/src/languages/" + language + "/rules.yaml";
    auto read = read_rules(read_all(path), path);
    if (!read.ok()) {
      std::cerr << read.error().message << "\n";
      std::abort();
    }
    for (Rule& r : read.value()) rules.push_back(r);
  }
  out.parse_error = tree.value().has_error();
#if defined(HOTCELL_TEST_RUST)
  out.facts = rust_facts(tree.value());
#elif defined(HOTCELL_TEST_JAVA)
  out.facts = java_facts(tree.value());
#else
  out.facts = c_facts(tree.value());
#endif
  VerifyOptions options;
  options.level = level;
  out.findings = judge(tree.value().source(), "test", out.facts, rules, options);
  return out;
}

// One string member of a line of JSON; enough for the data, which has no nested objects before its strings.
inline std::string json_string(const std::string& line, const std::string& key) {
  std::size_t at = line.find("\"" + key + "\": \"");
  if (at == std::string::npos) return {};
  std::string out;
  for (std::size_t i = at + key.size() + 5; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    char c = line[++i];
    if (c == 'u') {
      auto code = static_cast<unsigned>(std::stoul(line.substr(i + 1, 4), nullptr, 16));
      if (code < 0x80) out += static_cast<char>(code);
      else out += "?";
      i += 4;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

inline std::vector<std::string> data_lines(const std::string& file) {
  const char* set = std::getenv("HOTCELL_DATA");
  std::string folder = set != nullptr ? set : "";
  std::ifstream in(folder + "/" + file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  if (out.empty()) std::cout << "skipped: " << file << " is not there\n";
  return out;
}

}  // namespace hotcell::testing_facts
