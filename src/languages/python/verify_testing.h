// For the tests beside it: a text in, facts and findings out; and the development data, where it is.
#pragma once
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_folder_testing.h"
#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/fact_list.h"
#include "verify/rules.h"

namespace hotcell::python {

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

inline const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::string path = hotcell::source_path("src/languages/python/rules.yaml");
    auto read = read_rules(read_text(path), "rules.yaml");
    return read.ok() ? read.value() : std::vector<Rule>{};
  }();
  return all;
}

inline std::vector<Fact> facts_of(std::string code) {
  auto tree = parse_source(Grammar::kPython, std::move(code));
  return tree.ok() ? python_facts(tree.value()) : std::vector<Fact>{};
}

inline bool has_fact(const std::vector<Fact>& facts, FactKind kind, std::string_view name,
                     std::string_view detail = "") {
  for (const Fact& f : facts)
    if (f.kind == kind && f.name == name && (detail.empty() || f.detail.find(detail) != std::string::npos)) return true;
  return false;
}

inline std::vector<Finding> findings_of(const std::string& code, VerifyLevel level) {
  auto tree = parse_source(Grammar::kPython, code);
  VerifyOptions options;
  options.level = level;
  return judge(tree.value().source(), "x.py", python_facts(tree.value()), rules(), options);
}

// As the caller sees it: a text that cannot be parsed is an error, too.
inline bool has_error(const std::string& code, VerifyLevel level) {
  auto tree = parse_source(Grammar::kPython, code);
  if (!tree.ok() || tree.value().has_error()) return true;
  for (const Finding& f : findings_of(code, level))
    if (f.severity == "error") return true;
  return false;
}

inline std::string describe(const std::string& code) {
  std::string out;
  for (const Fact& f : facts_of(code)) out += cat("  ", to_string(f.kind), " ", f.name, " [", f.detail, "]\n");
  for (const Finding& f : findings_of(code, VerifyLevel::kDefault))
    out += cat("  ", f.severity, " ", f.rule, ": ", f.message, "\n");
  return out;
}

inline std::string data_folder() {
  const char* set = std::getenv("HOTCELL_DATA");
  return set != nullptr ? set : "";
}

// The development data are lines of flat objects whose values are texts; this reads no more than that.
inline std::vector<std::map<std::string, std::string>> read_lines(const std::string& path) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::map<std::string, std::string> row;
    std::string key;
    bool value = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == ':') value = true;
      if (line[i] == ',') value = false;
      if (line[i] != '"') continue;
      std::string text;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] != '\\') {
          text += line[i];
          continue;
        }
        char c = line[++i];
        if (c != 'u') {
          text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
          continue;
        }
        auto unit = [&] {
          std::uint32_t u = 0;
          for (int k = 1; k <= 4; ++k)
            u = u * 16 + static_cast<std::uint32_t>(hex_digit(line[i + static_cast<std::size_t>(k)]));
          i += 4;
          return u;
        };
        std::uint32_t u = unit();
        if (u >= 0xd800 && u < 0xdc00 && line.compare(i + 1, 2, "\\u") == 0) {
          i += 2;
          u = 0x10000 + ((u - 0xd800) << 10) + (unit() - 0xdc00);
        }
        append_utf8(text, u);
      }
      if (value)
        row[key] = text;
      else
        key = text;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hotcell::python
