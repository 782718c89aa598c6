#include "cells/monitor/needs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::cells {
namespace {

constexpr int kDeepest = 8;  // sh -c 'sh -c …'

using Words = std::vector<std::string>;

std::string_view base_name(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

bool is_digits(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; }); }

// `name`, or `name` with a version behind it: python3.11, node-20; not pythonic.
bool is_program(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return false;
  std::string_view rest = word.substr(name.size());
  if (rest.starts_with('-')) rest.remove_prefix(1);
  return rest.empty() || is_digits(rest);
}

struct Kind {
  std::array<std::string_view, 8> names;
  Bytes memory;
};
// The numbers of the founding estimator; the names beside node and java are other doors to the same runtimes.
constexpr Kind kKinds[] = {
    {{"cargo", "rustc"}, 1024_MiB},
    {{"java", "javac", "mvn", "gradle", "kotlinc", "scala"}, 512_MiB},
    {{"node", "npm", "npx", "yarn", "pnpm", "tsc", "bun", "deno"}, 256_MiB},
    {{"python", "pip", "pytest", "uv", "poetry"}, 128_MiB},
};

bool assigns(std::string_view word) {
  auto equals = word.find('=');
  if (equals == word.npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// Words that only say how the rest is run, with the options of each that take a value.
struct Wrapper {
  std::string_view name, valued;  // letters of short options
  std::array<std::string_view, 4> valued_long;
  int operands;                   // before the command: timeout has one
};
constexpr Wrapper kWrappers[] = {
    {"env", "uSC", {"--unset", "--chdir", "--split-string"}, 0},
    {"sudo", "ugCDhprtTU", {"--user", "--group", "--chdir", "--host"}, 0},
    {"nice", "n", {"--adjustment"}, 0},
    {"ionice", "cnpPu", {"--class", "--classdata"}, 0},
    {"timeout", "ks", {"--kill-after", "--signal"}, 1},
    {"time", "fo", {"--format", "--output"}, 0},
    {"nohup", "", {}, 0},
    {"setsid", "", {}, 0},
    {"stdbuf", "ioe", {"--input", "--output", "--error"}, 0},
    {"xvfb-run", "nsefp", {}, 0},
    {"exec", "a", {}, 0},
    {"command", "", {}, 0},
};

Needs estimate(const Words& words, int depth);
Needs estimate_line(std::string_view line, int depth);

void keep_larger(Needs& all, const Needs& one) {
  if (one.memory > all.memory || (one.memory == all.memory && one.cpu > all.cpu) || all.because.empty()) {
    Bytes memory = std::max(all.memory, one.memory);
    auto cpu = std::max(all.cpu, one.cpu);
    all = one;
    all.memory = memory;
    all.cpu = cpu;
  } else {
    all.cpu = std::max(all.cpu, one.cpu);
  }
  all.wall = 2 * all.cpu;
}

// Whether `word` has one of `names` among its parts: npm run build:prod, gradle assembleTest does not.
bool says(std::string_view word, std::initializer_list<std::string_view> names) {
  std::size_t at = 0;
  while (at <= word.size()) {
    auto end = word.find_first_of(":-_./", at);
    if (end == word.npos) end = word.size();
    for (auto name : names)
      if (ascii_lower(word.substr(at, end - at)) == name) return true;
    at = end + 1;
  }
  return false;
}

Needs plain(const Words& words, std::size_t from) {
  Needs needs;
  std::string_view program = base_name(words[from]);
  auto because = [&](std::string_view word) { needs.because += cat(needs.because.empty() ? "" : ", ", word); };
  for (const auto& kind : kKinds) {
    for (auto name : kind.names) {
      if (name.empty() || !is_program(program, name)) continue;
      needs.memory = kind.memory;
      because(name);
      break;
    }
    if (!needs.because.empty()) break;
  }
  bool builds = false, tests = false;
  // Operands and the program's own name; a value behind an option (--message "build it") is nobody's order.
  bool value_next = false;
  for (std::size_t i = from; i < words.size(); ++i) {
    std::string_view word = i == from ? program : std::string_view(words[i]);
    if (i > from && word.starts_with('-')) {
      value_next = word.size() == 2 && word != "-m" && word != "--";
      continue;
    }
    if (std::exchange(value_next, false) || word.find(' ') != word.npos) continue;
    // A path is what is worked on, except at the end of it: ./scripts/build.sh, but not build/main.
    std::string_view last = base_name(word);
    builds = builds || says(last, {"build", "compile"}) || (i == from && (says(last, {"make", "ninja", "rustc", "javac", "gcc", "g++", "clang", "clang++", "cc", "tsc"})));
    tests = tests || says(last, {"test", "tests", "pytest", "jest", "vitest", "mocha", "ctest"});
  }
  if (builds) {
    needs.cpu = std::chrono::seconds(60);
    because("build");
  } else if (tests) {
    needs.cpu = std::chrono::seconds(30);
    because("test");
  }
  needs.wall = 2 * needs.cpu;
  return needs;
}

Needs estimate(const Words& words, int depth) {
  std::size_t i = 0;
  for (;;) {
    while (i < words.size() && assigns(words[i])) ++i;
    if (i >= words.size()) return {};
    std::string_view program = base_name(words[i]);
    const Wrapper* wrapper = nullptr;
    for (const auto& w : kWrappers)
      if (w.name == program) wrapper = &w;
    if (wrapper == nullptr) break;
    ++i;
    while (i < words.size() && words[i].starts_with('-') && words[i] != "-") {
      std::string_view option = words[i++];
      if (option == "--") break;
      bool apart = option.starts_with("--") ? std::find(wrapper->valued_long.begin(), wrapper->valued_long.end(), option) != wrapper->valued_long.end()
                                            : wrapper->valued.find(option.back()) != wrapper->valued.npos && option.size() == 2;
      if (apart) ++i;
    }
    i += static_cast<std::size_t>(wrapper->operands);
    if (program == "env")
      while (i < words.size() && assigns(words[i])) ++i;
    if (i >= words.size()) return {};
  }
  std::string_view program = base_name(words[i]);
  for (std::string_view shell : {"sh", "bash", "dash", "zsh", "ksh"}) {
    if (program != shell || depth >= kDeepest) continue;
    for (std::size_t k = i + 1; k < words.size() && words[k].starts_with('-'); ++k)
      if (!words[k].starts_with("--") && words[k].find('c') != words[k].npos && k + 1 < words.size()) return estimate_line(words[k + 1], depth + 1);
  }
  return plain(words, i);
}

// Splits as a shell would, as far as a guess needs it: quotes, backslashes, and what ends a command.
Needs estimate_line(std::string_view line, int depth) {
  Needs all;
  Words words;
  std::string word;
  bool in_word = false;
  auto end_word = [&] {
    if (in_word) words.push_back(std::exchange(word, {}));
    in_word = false;
  };
  auto end_command = [&] {
    end_word();
    if (!words.empty()) keep_larger(all, estimate(words, depth));
    words.clear();
  };
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < line.size()) word += line[++i];
      else word += c;
      continue;
    }
    if (c == '\'' || c == '"') quote = c, in_word = true;
    else if (c == '\\' && i + 1 < line.size()) word += line[++i], in_word = true;
    else if (c == ' ' || c == '\t') end_word();
    else if (c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') end_command();
    else word += c, in_word = true;
  }
  end_command();
  return all;
}

}  // namespace

Needs estimate_needs(const std::vector<std::string>& argv) { return estimate(argv, 0); }
Needs estimate_needs(const std::string& command_line) { return estimate_line(command_line, 0); }

std::string needs_json(const Needs& needs) {
  JsonWriter w;
  w.begin_object();
  w.field("memory_bytes", needs.memory.n);
  w.field("cpu_time_ns", std::chrono::nanoseconds(needs.cpu).count());
  w.field("timeout_ns", std::chrono::nanoseconds(needs.wall).count());
  w.field("because", std::string_view(needs.because));
  w.end_object();
  return w.take();
}

}  // namespace hotcell::cells
