// Every language under strict, and under profiles that say nothing of what its runtime needs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

struct Sample {
  const char* language;
  const char* strict;   // the profile that is strict for it
  const char* code;     // prints "hi"
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.language; }

constexpr Sample kSamples[] = {
    {"python", "strict", "print('hi')\n"},
    {"bash", "strict", "echo hi\n"},
    {"c", "strict", "#include <stdio.h>\nint main(void) { puts(\"hi\"); return 0; }\n"},
    {"cpp", "strict", "#include <iostream>\nint main() { std::cout << \"hi\\n\"; }\n"},
    {"rust", "strict", "fn main() { println!(\"hi\"); }\n"},
    {"go", "go-strict", "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hi\")\n}\n"},
    {"java", "java-strict", "public class Main { public static void main(String[] a) { System.out.println(\"hi\"); } }\n"},
    {"javascript", "javascript-strict", "console.log('hi')\n"},
    {"typescript", "typescript-strict", "const word: string = 'hi';\nconsole.log(word)\n"},
    {"deno", "deno-strict", "const word: string = 'hi';\nconsole.log(word)\n"},
};

class LanguageProfiles : public E2e {
 protected:
  void SetUp() override {
    E2e::SetUp();
    ::setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    E2e::TearDown();
  }
  std::string profile(const std::string& text) {
    std::string path = dir_.path() + "/mine.yaml";
    write_text(path, text);
    return path;
  }
  TempDir dir_;
};

class LanguageProfile : public LanguageProfiles, public ::testing::WithParamInterface<Sample> {};

TEST_P(LanguageProfile, RunsUnderItsStrictProfile) {
  const auto& s = GetParam();
  auto called = hotcell({"run", "--profile", s.strict, "--language", s.language, "-c", s.code});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "hi\n") << called.describe();
}

TEST_P(LanguageProfile, RunsUnderDefault) {
  const auto& s = GetParam();
  auto called = hotcell({"run", "--profile", "default", "--language", s.language, "-c", s.code});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "hi\n") << called.describe();
}

TEST_P(LanguageProfile, RunsUnderAProfileThatSaysNothingOfItsNeeds) {
  const auto& s = GetParam();
  auto called = hotcell({"run", "--profile", profile("extends: default\nlimits: {wall: 50s}\n"), "--language", s.language, "-c", s.code});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "hi\n") << called.describe();
}

INSTANTIATE_TEST_SUITE_P(All, LanguageProfile, ::testing::ValuesIn(kSamples), [](const auto& given) { return std::string(given.param.language); });

constexpr const char* kJava = "public class Main { public static void main(String[] a) { System.out.println(\"hi\"); } }\n";

TEST_F(LanguageProfiles, JavaMinimalRunsJava) {
  auto called = hotcell({"run", "--profile", "java-minimal", "--language", "java", "-c", kJava});
  EXPECT_EQ(called.out, "hi\n") << called.describe();
  // Its modules are what the profile lists, and no more.
  auto other = hotcell({"run", "--profile", "java-minimal", "--no-verify", "--language", "java", "-c",
                        "public class Main { public static void main(String[] a) throws Exception { System.out.println(java.sql.Types.INTEGER); "
                        "Class.forName(\"java.sql.DriverManager\"); } }\n"});
  EXPECT_NE(other.code, 0) << other.describe();
  EXPECT_NE(other.err.find("java.sql.DriverManager"), std::string::npos) << other.describe();
}

// Ten is the default's number; here somebody has written it down.
TEST_F(LanguageProfiles, ALimitThatAProfileSaysIsNotRaised) {
  auto called = hotcell({"run", "--profile", profile("extends: default\nlimits: {processes: 10}\n"), "--language", "java", "-c", kJava});
  EXPECT_NE(called.code, 0) << called.describe();
  EXPECT_NE((called.out + called.err).find("unable to create native thread"), std::string::npos) << called.describe();
  called = hotcell({"run", "--processes", "10", "--language", "java", "-c", kJava});
  EXPECT_NE(called.code, 0) << called.describe();
}

TEST_F(LanguageProfiles, WhatCannotStartUnderStrictIsTold) {
  auto called = hotcell({"run", "--profile", "strict", "--language", "go", "-c", "package main\n\nfunc main() {\n}\n"});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find("profile go-strict has room for them"), std::string::npos) << called.describe();
}

TEST_F(LanguageProfiles, StrictProfilesOfLanguagesAreStrict) {
  const Sample writers[] = {
      {"go", "go-strict", "package main\n\nimport \"os\"\n\nfunc main() {\n\tif os.WriteFile(\"/work/x\", nil, 0600) != nil {\n\t\tos.Exit(9)\n\t}\n}\n"},
      {"java", "java-strict", "public class Main { public static void main(String[] a) { try { new java.io.FileOutputStream(\"/work/x\"); } catch (Exception e) { System.exit(9); } } }\n"},
      {"javascript", "javascript-strict", "try { require('fs').writeFileSync('/work/x', '') } catch { process.exit(9) }\n"},
      {"typescript", "typescript-strict", "import { writeFileSync } from 'node:fs';\ntry { writeFileSync('/work/x', '') } catch { process.exit(9) }\n"},
      {"deno", "deno-strict", "try { Deno.writeTextFileSync('/work/x', '') } catch { Deno.exit(9) }\n"}};
  for (const auto& w : writers) {
    auto strict = hotcell({"run", "--no-verify", "--profile", w.strict, "--language", w.language, "-c", w.code});
    EXPECT_EQ(strict.code, 9) << w.language << strict.describe();
    auto control = hotcell({"run", "--no-verify", "--language", w.language, "-c", w.code});
    EXPECT_EQ(control.code, 0) << w.language << control.describe();
  }
  // No memory that is writable and executable: these two do without.
  for (const char* language : {"javascript", "typescript"}) {
    auto called = hotcell({"run", "--profile", std::string(language) + "-strict", "--language", language, "-c", "console.log(typeof WebAssembly)\n"});
    EXPECT_EQ(called.out, "undefined\n") << called.describe();
  }
  auto socket = hotcell({"run", "--no-verify", "--profile", "java-strict", "--language", "java", "-c",
                         "public class Main { public static void main(String[] a) throws Exception { new java.net.ServerSocket(0); } }\n"});
  EXPECT_NE(socket.code, 0) << socket.describe();
  EXPECT_NE(socket.err.find("socket"), std::string::npos) << socket.describe();
}

}  // namespace
}  // namespace hotcell::testing
