// Single mechanisms of the analyser: what a name means, what a constant is.
#include <gtest/gtest.h>

#include <algorithm>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

std::vector<Fact> facts_of(const std::string& source) {
  auto tree = parse_source(Grammar::kGo, source);
  EXPECT_TRUE(tree.ok());
  EXPECT_FALSE(tree.value().has_error()) << source;
  return go_facts(tree.value());
}

std::string program(const std::string& imports, const std::string& body) {
  return "package main\nimport (\n" + imports + "\n)\nfunc main() {\n" + body + "\n}\n";
}

#define EXPECT_FACT(source, kind, ...)                                      \
  do {                                                                      \
    auto facts_ = facts_of(source);                                         \
    EXPECT_TRUE(has_fact(facts_, FactKind::kind, __VA_ARGS__)) << source << "\n" \
                                                          << words_of(facts_); \
  } while (false)

TEST(GoNames, PackagesAreKnownByAnyName) {
  EXPECT_FACT(program("fmt \"os/exec\"", "fmt.Command(\"sh\").Run()"), kUse, "os/exec.Command().Run");
  EXPECT_FACT(program("fmt \"os/exec\"", "fmt.Command(\"sh\").Run()"), kCommand, "sh");
  EXPECT_FACT(program(". \"os/exec\"", "Command(\"sh\").Run()"), kCommand, "sh");
  EXPECT_FACT(program("_ \"net/http/pprof\"", ""), kImport, "net/http/pprof");
  EXPECT_FACT(program("\"os/exec\"", "run := exec.Command; run(\"sh\")"), kCommand, "sh");
  EXPECT_FACT(program("\"os/exec\"", "exec := exec.Command; exec(\"sh\")"), kUse, "os/exec.Command");
  EXPECT_FACT(program("\"os/exec\"", "exec.Command(\"sh\"); exec := 1; _ = exec"), kCommand, "sh");
  EXPECT_FACT(program("\"os/exec\"", "c := &exec.Cmd{Path: \"/bin/sh\"}; c.Run()"), kUse, "os/exec.Cmd{}.Run");
  EXPECT_FACT(program("\"os/exec\"", "(exec.Command)(\"sh\")"), kCommand, "sh");
  EXPECT_FACT(program("yaml \"gopkg.in/yaml.v3\"", "yaml.Marshal(1)"), kUse, "gopkg.in/yaml.v3.Marshal");
}

TEST(GoNames, ConstantsAreFolded) {
  EXPECT_FACT(
      "package main\nimport \"os\"\nconst d = \"/etc\"\nconst f = d + \"/pass\" + \"wd\"\nfunc main() { os.ReadFile(f) "
      "}",
      kReadPath, "/etc/passwd");
  EXPECT_FACT(program("\"os\"\n\"path/filepath\"",
                      "h, _ := os.UserHomeDir(); os.ReadFile(filepath.Join(h, \".ssh\", \"id_rsa\"))"),
              kReadPath, "~/.ssh/id_rsa");
  EXPECT_FACT(program("\"os\"\n\"fmt\"", "os.Open(fmt.Sprintf(\"/proc/%d/mem\", 1))"), kReadPath, "/proc/1/mem");
  EXPECT_FACT(program("\"os\"", "os.WriteFile(os.Getenv(\"OUT\"), nil, 0644)"), kWritePath, "$OUT");
  EXPECT_FACT(program("\"os\"", "os.Remove(\"/a/./b//../c\")"), kWritePath, "/a/c");
  EXPECT_FACT(program("\"os\"", "os.Open(string([]byte{47, 101, 116, 99}))"), kReadPath, "/etc");
  EXPECT_FACT(program("\"os\"\n\"strings\"", "os.Open(strings.Join([]string{\"\", \"etc\", \"x\"}, \"/\"))"), kReadPath,
              "/etc/x");
  EXPECT_FACT(program("\"os\"\n\"encoding/base64\"",
                      "b, _ := base64.StdEncoding.DecodeString(\"L2V0Yw==\"); os.Open(string(b))"),
              kReadPath, "/etc");
  EXPECT_FACT(program("\"os\"", "os.OpenFile(\"/x\", os.O_RDONLY, 0)"), kReadPath, "/x");
  EXPECT_FACT(program("\"os\"", "os.OpenFile(\"/x\", os.O_CREATE|os.O_WRONLY, 0)"), kWritePath, "/x");
  EXPECT_FACT(program("\"os\"", "p := \"\\x2fetc\\u002fx\"; os.Open(p)"), kReadPath, "/etc/x");
}

TEST(GoNames, WhatIsDeclaredHereIsNotThePackage) {
  auto facts =
      facts_of(program("\"github.com/stretchr/testify/assert\"", "assert := assert.New(t)\nassert.Equal(1, 2)"));
  EXPECT_TRUE(has_fact(facts, FactKind::kUse, "github.com/stretchr/testify/assert.New")) << words_of(facts);
  facts = facts_of(
      "package main\nimport \"os\"\ntype T struct{}\nfunc f(os T) { os.Exit(1) }\nfunc main() { os.Getpid() }");
  EXPECT_FALSE(has_fact(facts, FactKind::kUse, "os.Exit")) << words_of(facts);
  EXPECT_TRUE(has_fact(facts, FactKind::kUse, "os.Getpid")) << words_of(facts);
}

TEST(GoFacts, CommentsTheCompilerObeys) {
  EXPECT_FACT("package main\nimport _ \"unsafe\"\n//go:linkname f runtime.f\nfunc f()\n", kConstruct, "linkname");
  EXPECT_FACT("package main\nfunc f(x int) int\n", kConstruct, "assembly-stub");
  EXPECT_FACT("package main\nimport _ \"embed\"\n//go:embed ../x.txt\nvar s string\n", kReadPath, "../x.txt");
  EXPECT_FACT("package main\n//go:generate sh -c id\n", kConstruct, "generate");
  EXPECT_FACT("package main\n// #cgo LDFLAGS: -fplugin=x\nimport \"C\"\n", kConstruct, "cgo-directive");
  EXPECT_FACT("package main\nimport \"C\"\n", kConstruct, "cgo");
  auto facts =
      facts_of("package main\n// go:linkname is only mentioned\n// see //go:generate\nvar s = \"//go:linkname a b\"\n");
  EXPECT_TRUE(facts.empty()) << words_of(facts);
}

TEST(GoFacts, AFragmentIsNoProgramAndItsFactsAreGiven) {
  auto unreadable = [](const std::string& source) {
    auto facts = facts_of(source);
    return std::any_of(facts.begin(), facts.end(), [](const Fact& f) { return f.kind == FactKind::kUnreadable; });
  };
  const std::string start = "import \"os/exec\"\nfunc main() { exec.Command(\"sh\").Run() }\n";
  EXPECT_TRUE(unreadable(start));
  EXPECT_FACT(start, kImport, "os/exec");
  EXPECT_FACT(start, kCommand, "sh");
  for (const char* source : {"func main() {}\n", "println(1)\n", "// only words\n", "\n", "func main() {}\npackage main\n",
                             "package main\nprintln(1)\n", "package main\nx := 1\n", "package main\nif true {\n}\n"})
    EXPECT_TRUE(unreadable(source)) << source;
  for (const char* source :
       {"package main\n", "// words\n/* more */ package main; import \"os\"; func main() { os.Getpid() }",
        "//go:build linux\n\npackage a\n\nimport (\n\t\"os\"\n)\n\ntype (\n\tT[P any] struct{ p P }\n)\n\nconst (\n\tA = iota\n)\n\n"
        "var x, y = 1, os.Args\n\nfunc (t *T[P]) m() P {\n\treturn t.p\n}\n\nfunc asm() // no body\n"})
    EXPECT_FALSE(unreadable(source)) << source;
}

TEST(GoFacts, OfSyscallOnlyTheNumbersAreHarmless) {
  EXPECT_FACT(
      program("\"syscall\"\n\"os/signal\"\n\"os\"", "c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGTERM)"),
      kImport, "syscall", "constants");
  EXPECT_FACT(program("\"syscall\"", "syscall.Kill(1, syscall.SIGTERM)"), kImport, "syscall", "whole");
  EXPECT_FACT(program("_ \"syscall\"", ""), kImport, "syscall", "whole");
}

TEST(GoFacts, CommandsAndHosts) {
  EXPECT_FACT(program("\"os/exec\"\n\"context\"", "exec.CommandContext(context.Background(), \"sh\", \"-c\", \"id\")"),
              kCommand, "sh", "sh -c id");
  EXPECT_FACT(program("\"os\"", "os.StartProcess(\"/bin/sh\", []string{\"sh\", \"-c\", \"id\"}, nil)"), kCommand,
              "/bin/sh", "/bin/sh -c id");
  EXPECT_FACT(program("\"net/http\"", "http.Get(\"http://a.example/x\")"), kHost, "http://a.example/x");
  EXPECT_FACT(program("\"net/http\"", "c := &http.Client{}; c.Get(\"http://a.example/x\")"), kHost,
              "http://a.example/x");
  EXPECT_FACT(program("\"net\"", "net.Dial(\"tcp\", \"a.example:80\")"), kHost, "a.example:80");
}

TEST(GoLimits, HostileShapesEnd) {
  std::string sum = "package main\nvar x = \"a\"", chain = "package main\nvar x = a",
              names = "package main\nvar v0 = \"a\"\n", blocks = "package main\nfunc f() {";
  for (int i = 0; i < 20000; ++i) sum += "+\"a\"", chain += ".b";
  for (int i = 1; i < 3000; ++i)
    names += "var v" + std::to_string(i) + " = v" + std::to_string(i - 1) + " + v" + std::to_string(i - 1) + "\n";
  for (int i = 0; i < 2000; ++i) blocks += "{ x := 1; _ = x\n";
  blocks += std::string(2001, '}');
  for (const std::string& s :
       {sum, chain, names + "func main() { os.Open(v2999) }", blocks, std::string("package"), std::string("func f("),
        std::string("package main\nvar a = b\nvar b = a\nfunc main() { a() }"), std::string()}) {
    auto tree = parse_source(Grammar::kGo, s);
    ASSERT_TRUE(tree.ok());
    EXPECT_LT(go_facts(tree.value()).size(), 100000u);
  }
}

}  // namespace
