// Ordinary programs in six languages (humaneval-x): each verifies clean under the default profile and passes its test in a
// cell. Four of each by default, all of them in the soak. The set is made for other harnesses; what they would supply (an
// assertion library for Go, a main for Rust) is supplied here.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

struct Row {
  std::string id, prompt, declaration, solution, test, test_setup;
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
  return text;
}

// The names that follow `before` up to an opening bracket.
std::vector<std::string> names_after(const std::string& text, const std::string& before) {
  std::vector<std::string> out;
  for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    auto begin = at + before.size(), end = text.find('(', begin);
    if (end != std::string::npos) out.push_back(text.substr(begin, end - begin));
  }
  return out;
}

// `strings.` and a capital letter: a use of the package, not the end of a sentence.
bool uses(const std::string& text, const std::string& word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (auto end = at + word.size(); end < text.size() && text[end] >= 'A' && text[end] <= 'Z') return true;
  return false;
}

std::vector<Row> read_rows(const std::string& language) {
  const char* from = std::getenv("HOTCELL_DATA");
  std::string folder = from != nullptr ? from : "";
  std::ifstream in(folder + "/humaneval-x/" + language + ".jsonl");
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    auto o = boost::json::parse(line).as_object();
    auto text = [&](const char* key) {
      auto* v = o.if_contains(key);
      return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
    };
    rows.push_back({text("task_id"), text("prompt"), text("declaration"), text("canonical_solution"), text("test"), text("test_setup")});
  }
  if (rows.empty()) std::printf("no humaneval-x/%s.jsonl: left out\n", language.c_str());
  return rows;
}

class HumanEval : public E2e, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    E2e::SetUp();
    ::setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    E2e::TearDown();
  }
  std::string file(const std::string& name, const std::string& text) {
    std::string path = dir_.path() + "/" + name;
    write_text(path, text);
    return path;
  }

  std::vector<std::string> go(const Row& row) {
    // What a problem imports and does not use does not compile; what is used is added below.
    std::string imports, prompt = row.prompt;
    if (prompt.starts_with("import (")) prompt.erase(0, prompt.find(")\n") + 2);
    for (std::size_t at = 0, end; at < row.test_setup.size(); at = end + 1) {
      end = std::min(row.test_setup.find('\n', at), row.test_setup.size());
      auto line = row.test_setup.substr(at, end - at);
      auto quote = line.find('"');
      if (quote == std::string::npos || line.find("\"testing\"") != std::string::npos || line.find("testify") != std::string::npos) continue;
      auto name = line.substr(quote);
      if (imports.find(name) == std::string::npos) imports += "\nimport " + name + "\n";
    }
    for (const char* name : {"math", "strings", "fmt", "strconv", "time", "bytes", "regexp", "sort", "math/rand", "crypto/md5", "unicode", "reflect",
                             "errors", "math/big", "container/list", "container/heap", "encoding/hex"}) {
      std::string quoted = "\"" + std::string(name) + "\"", word = std::string(name).substr(std::string(name).rfind('/') + 1) + ".";
      if (uses(prompt + row.solution + row.test, word) && imports.find(quoted) == std::string::npos)
        imports += "\nimport " + quoted + "\n";
    }
    std::string test = replaced(replaced(row.test, "*testing.T", "*hcT"), "assert.New(t)", "hcAssert{}");
    std::string calls;
    for (const auto& name : names_after(row.test, "func Test")) calls += "\tTest" + name + "(&hcT{})\n";
    auto shim = file("shim.go",
                     "package main\n\nimport (\n\t\"fmt\"\n\t\"math\"\n\t\"os\"\n\t\"reflect\"\n)\n\ntype hcT struct{}\ntype hcAssert struct{}\n\n"
                     "func fail(a, b interface{}) {\n\tfmt.Fprintln(os.Stderr, \"assertion\", a, b)\n\tos.Exit(1)\n}\n"
                     "func (hcAssert) Equal(a, b interface{}, _ ...interface{}) bool {\n\tif !reflect.DeepEqual(a, b) {\n\t\tfail(a, b)\n\t}\n\treturn true\n}\n"
                     "func (hcAssert) Nil(a interface{}, _ ...interface{}) bool {\n\tif a != nil {\n\t\tfail(a, nil)\n\t}\n\treturn true\n}\n"
                     "func (hcAssert) True(a bool, _ ...interface{}) bool {\n\tif !a {\n\t\tfail(a, true)\n\t}\n\treturn true\n}\n"
                     "func (hcAssert) False(a bool, _ ...interface{}) bool {\n\tif a {\n\t\tfail(a, false)\n\t}\n\treturn true\n}\n"
                     "func (hcAssert) NotEqual(a, b interface{}, _ ...interface{}) bool {\n\tif reflect.DeepEqual(a, b) {\n\t\tfail(a, b)\n\t}\n\treturn true\n}\n"
                     "func (hcAssert) InDelta(a, b, d float64, _ ...interface{}) bool {\n\tif math.Abs(a-b) > d {\n\t\tfail(a, b)\n\t}\n\treturn true\n}\n\n"
                     "func main() {\n" + calls + "}\n");
    return {"--file", shim, file("main.go", "package main\n\n" + imports + "\n" + prompt + row.solution + test)};
  }

  std::vector<std::string> rust(const Row& row) {
    std::string head = row.declaration;
    // Crates that the set imports everywhere and uses hardly anywhere.
    for (auto [line, word] : {std::pair{"use rand::Rng;\n", "rand::"}, std::pair{"use regex::Regex;\n", "Regex"}, std::pair{"use md5;\n", "md5::"}})
      if (row.solution.find(word) == std::string::npos) head = replaced(head, line, "");
    std::string test = replaced(replaced(row.test, "#[cfg(test)]", ""), "#[test]", ""), calls;
    // One problem has its test commented out.
    if (test.find("/*") < test.find("mod tests")) return {file("main.rs", head + row.solution + "\nfn main() {}\n")};
    for (const auto& name : names_after(test, "fn test_")) calls += "test_" + name + "(); ";
    test.insert(test.rfind('}'), "pub fn run_all() { " + calls + "}\n");
    if (test.find("rand::random") != std::string::npos)
      test += "\nmod rand { pub fn random<T: From<u32>>() -> T { static mut S: u32 = 1; unsafe { S = S.wrapping_mul(1664525).wrapping_add(1013904223); T::from(S >> 8) } } }\n";
    return {file("main.rs", head + row.solution + replaced(test, "rand::random", "super::rand::random") + "\nfn main() { tests::run_all(); }\n")};
  }

  std::vector<std::string> arguments(const std::string& language, const Row& row) {
    if (language == "go") return go(row);
    if (language == "rust") return rust(row);
    if (language == "python") return {file("main.py", row.prompt + row.solution + row.test + "\n")};
    if (language == "js") return {file("main.js", row.prompt + row.solution + row.test + "\n")};
    if (language == "cpp")
      return {file("main.cpp", "#include <algorithm>\n#include <cmath>\n#include <cstdlib>\n" + row.prompt + row.solution + row.test + "\n")};
    return {file("Main.java", row.prompt + row.solution + "\n" + row.test + "\n")};
  }

  TempDir dir_;
};

TEST_P(HumanEval, ProgramsVerifyCleanAndPass) {
  const std::string language = GetParam();
  auto rows = read_rows(language);
  const std::size_t step = std::getenv("HOTCELL_SOAK") != nullptr ? 1 : 10;
  std::size_t passed = 0, tried = 0;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    SCOPED_TRACE(rows[i].id);
    std::vector<std::string> args = {"run", "--json"};
    for (auto& word : arguments(language, rows[i])) args.push_back(std::move(word));
    auto called = hotcell(args);
    ++tried;
    Json json(called.out);
    bool good = called.code == 0 && json.text("stderr").find("Assertion failed") == std::string::npos;
    EXPECT_TRUE(good) << called.describe();
    for (std::size_t f = 0; f < json.size("findings"); ++f) {
      auto at = "findings/" + std::to_string(f);
      bool error = json.text(at + "/severity") == "error";
      EXPECT_FALSE(error) << json.text(at);
      good = good && !error;
    }
    passed += good ? 1 : 0;
  }
  std::printf("%s: %zu of %zu\n", language.c_str(), passed, tried);
}

INSTANTIATE_TEST_SUITE_P(All, HumanEval, ::testing::Values("python", "cpp", "java", "js", "go", "rust"), [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace hotcell::testing
