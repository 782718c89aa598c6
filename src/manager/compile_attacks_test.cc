// Attacks on the compile step: each ends without having read, written or run anything on the host, within its limits.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "hotcell/language.h"
#include "manager/compile_step.h"
#include "manager/pipeline.h"
#include "sys/file.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSecret = "swordfish-4711";

class CompileAttack : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = Launcher::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
  }
  static void TearDownTestSuite() { launcher_.reset(); }
  void SetUp() override {
    const char* tmp = ::getenv("TMPDIR");
    std::string name = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-compile-XXXXXX");
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    ::chmod(name.c_str(), 0755);
    std::ofstream(dir_ / "secret") << "root:" << kSecret << ":0:0\n";
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string secret() const { return (dir_ / "secret").string(); }

  Result<Compiled> compile(const Language& language, Sources sources,
                           std::chrono::milliseconds most = std::chrono::seconds(4)) {
    Policy policy = default_policy();
    auto tools = find_tools(language, policy);
    TRY_SET(CompileStep step, language.compile({sources, policy, tools, false}));
    step.limits.wall = most;
    step.limits.cpu_time = most;
    auto begin = std::chrono::steady_clock::now();
    auto done = run_compile_step(*launcher_, language, step, sources, policy, {});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, most + std::chrono::seconds(6));
    return done;
  }
  Result<Compiled> compile(std::string_view language, std::string main, std::string text) {
    Sources sources;
    sources.main = main;
    sources.files.push_back({std::move(main), std::move(text)});
    return compile(*find_language(language), std::move(sources));
  }
  // Neither what the compiler says nor what it makes has a word of the secret.
  static void expect_no_secret(const Result<Compiled>& done) {
    if (!done.ok()) return;
    EXPECT_EQ(done.value().report.err.find(kSecret), std::string::npos) << done.value().report.err;
    for (const auto& f : done.value().artefact) EXPECT_EQ(f.bytes.find(kSecret), std::string::npos) << f.name;
  }
  static bool failed(const Result<Compiled>& done) { return !done.ok() || done.value().artefact.empty(); }
  int outside(const std::string& command) const {
    return std::system(cat("cd ", dir_.string(), " && ", command).c_str());
  }

  static inline std::unique_ptr<Launcher> launcher_;
  fs::path dir_;
};

TEST_F(CompileAttack, AnIncludeShowsNothing) {
  std::string text = cat("#include \"", secret(), "\"\nint main() {}\n");
  std::ofstream(dir_ / "a.c") << text;
  // Control: outside, the message quotes the file.
  ASSERT_EQ(outside("gcc -fsyntax-only a.c 2>said; grep -q swordfish said"), 0);
  auto done = compile("c", "a.c", text);
  EXPECT_TRUE(failed(done));
  expect_no_secret(done);
  expect_no_secret(compile("c", "a.c", "#include \"/etc/shadow\"\n#include \"/etc/hostname\"\nint main() {}\n"));
}

TEST_F(CompileAttack, AnAssemblerIncludeShowsNothing) {
  std::string text =
      cat("__asm__(\".section .rodata\\n.incbin \\\"", secret(), "\\\"\\n.text\");\nint main() { return 0; }\n");
  std::ofstream(dir_ / "a.c") << text;
  ASSERT_EQ(outside("gcc -o a a.c && grep -q swordfish a"), 0);
  auto done = compile("c", "a.c", text);
  EXPECT_TRUE(failed(done));
  expect_no_secret(done);
}

TEST_F(CompileAttack, RustIncludesShowNothingAndTheEnvironmentIsClean) {
  ::setenv("HOTCELL_TEST_SECRET", std::string(kSecret).c_str(), 1);
  auto file = compile("rust", "a.rs", cat("fn main() { print!(\"{}\", include_str!(\"", secret(), "\")) }\n"));
  EXPECT_TRUE(failed(file));
  expect_no_secret(file);
  auto env = compile("rust", "a.rs", "fn main() { print!(\"{:?}\", option_env!(\"HOTCELL_TEST_SECRET\")) }\n");
  ::unsetenv("HOTCELL_TEST_SECRET");
  EXPECT_FALSE(failed(env));
  expect_no_secret(env);
}

TEST_F(CompileAttack, GoEmbedsNothingAndHasNoCgo) {
  auto embed = compile("go", "a.go",
                       cat("package main\n\nimport _ \"embed\"\n\n//go:embed ", secret(),
                           "\nvar s string\n\nfunc main() { print(s) }\n"));
  EXPECT_TRUE(failed(embed));
  expect_no_secret(embed);
  auto cgo = compile("go", "a.go", "package main\n\n// #cgo CFLAGS: -fplugin=./p.so\nimport \"C\"\n\nfunc main() {}\n");
  EXPECT_TRUE(failed(cgo));
}

TEST_F(CompileAttack, JavaRunsNoAnnotationProcessor) {
  Sources sources;
  sources.main = "Main.java";
  sources.files = {{"Main.java", "class Main { public static void main(String[] a) {} }\n"},
                   {"P.java",
                    "import java.util.*;import javax.annotation.processing.*;import javax.lang.model.element.*;\n"
                    "public class P extends AbstractProcessor { public boolean process(Set<? extends TypeElement> s, "
                    "RoundEnvironment e) { "
                    "throw new Error(\"RAN\"); } }\n"},
                   {"META-INF/services/javax.annotation.processing.Processor", "P\n"}};
  auto done = compile(*find_language("java"), sources, std::chrono::seconds(10));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_FALSE(done.value().artefact.empty()) << done.value().report.err;
  EXPECT_EQ(done.value().report.err.find("RAN"), std::string::npos);
}

TEST_F(CompileAttack, BombsEndAtTheirLimits) {
  struct Bomb {
    const char *language, *file, *text;
  };
  constexpr Bomb kBombs[] = {
      {"cpp", "a.cpp",
       "template<int N> struct X { typedef typename X<N-1>::t t; X<N-1> a; X<N-2> b; };\n"
       "template<int A, int B> struct Y { enum { v = Y<A-1, B+1>::v + Y<A-1, B+2>::v }; };\n"
       "template<int B> struct Y<0, B> { enum { v = B }; };\nint main() { return Y<30, 0>::v; }\n"},
      {"cpp", "a.cpp",
       "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }\n"
       "template<long N> struct A { static constexpr long v = f(200000 + N) + A<N - 1>::v; };\ntemplate<> struct A<0> "
       "{ static constexpr long v = 0; };\n"
       "int main() { return A<800>::v; }\n"},
      {"c", "a.c", "#include \"/dev/random\"\nint main() {}\n"},
      {"c", "a.c", "#include __FILE__\n#include __FILE__\nint main() {}\n"},
      {"rust", "a.rs",
       "#![allow(long_running_const_eval)]\n#![feature(const_eval_limit)]\nconst X: u64 = { let mut i = 0u64; while i "
       "< 10_000_000_000 { i += 1 } i };\n"
       "fn main() { print!(\"{}\", X) }\n"},
  };
  for (const auto& bomb : kBombs) {
    auto done = compile(bomb.language, bomb.file, bomb.text);
    EXPECT_TRUE(failed(done)) << bomb.text;
  }
}

TEST_F(CompileAttack, AHugeArrayDoesNotFillAnything) {
  auto done = compile("c", "a.c", "char a[1L << 32] = {1};\nint main() { return a[0]; }\n");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(done.value().artefact.empty());
  EXPECT_NE(done.value().report.exit_code, 0);
}

// A procedural macro is a program that the compiler runs. It runs here, too, and finds what the sources brought and no more.
TEST_F(CompileAttack, AProceduralMacroRunsInTheCompileCell) {
  const std::string canary = (dir_ / "canary").string();
  Sources sources;
  sources.project = true;
  sources.main = "Cargo.toml";
  sources.files = {
      {"Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nm = { path = \"m\" }\n"},
      {"src/main.rs", "fn main() { print!(\"{}\", m::look!()) }\n"},
      {"m/Cargo.toml", "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n"},
      {"m/src/lib.rs",
       cat("use std::process::Command;\n#[proc_macro]\npub fn look(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n"
           "  let seen = Command::new(\"/bin/cat\").arg(\"", secret(), "\").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();\n"
           "  let _ = Command::new(\"/bin/sh\").args([\"-c\", \"echo PWNED > ", canary, "\"]).status();\n"
           "  format!(\"\\\"the-macro-ran {}\\\"\", seen.trim()).parse().unwrap()\n}\n")}};
  auto done = compile(*find_language("rust"), sources, std::chrono::seconds(60));
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_FALSE(done.value().artefact.empty()) << done.value().report.err;
  EXPECT_NE(done.value().artefact[0].bytes.find("the-macro-ran"), std::string::npos) << "or nothing was tried";
  expect_no_secret(done);
  EXPECT_FALSE(fs::exists(canary));
}

TEST_F(CompileAttack, SettingsOfTheSourcesAreNotRead) {
  Sources sources;
  sources.main = "a.ts";
  sources.files = {{"a.ts", "console.log(1)\n"}, {"tsconfig.json", cat("{\"extends\":\"", secret(), "\"}")}};
  auto done = compile(*find_language("typescript"), sources);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_FALSE(done.value().artefact.empty()) << done.value().report.err;
  expect_no_secret(done);
}

// What a compiler leaves may be anything: here a shell stands for it.
class CompileLeavings : public CompileAttack {
 protected:
  Result<Compiled> leave(const std::string& script) {
    const Language& language = *find_language("c");
    CompileStep step;
    step.argv = {"/bin/sh", "-c", script};
    step.outputs = {"a.out"};
    step.limits = default_policy().limits;
    step.limits.wall = std::chrono::seconds(8);
    Sources sources{{{"a.c", "int main() {}\n"}}, "a.c"};
    return run_compile_step(*launcher_, language, step, sources, default_policy(), {});
  }
};

TEST_F(CompileLeavings, AnArtefactThatIsNoFileIsNone) {
  auto made = leave("echo made > a.out");
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made.value().artefact.size(), 1u);
  EXPECT_EQ(made.value().artefact[0].bytes, "made\n");
  for (const char* script : {"mkfifo a.out", "ln -s /etc/passwd a.out", "ln -s /dev/zero a.out"}) {
    auto begin = std::chrono::steady_clock::now();
    auto done = leave(script);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6)) << script << ": nobody waits for what never comes";
    EXPECT_TRUE(failed(done)) << script;
  }
}

TEST_F(CompileLeavings, WhatItStartedEndsWithIt) {
  auto running = [] { return std::system("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'sleep 98765[.]4321'") == 0; };
  auto done = leave("setsid sleep 98765.4321 >/dev/null 2>&1 </dev/null & (setsid sleep 98765.4321 &) ; echo made > a.out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done.value().artefact.size(), 1u) << "a daemon does not keep the step from ending";
  for (int i = 0; i < 40 && running(); ++i) ::usleep(50'000);
  EXPECT_FALSE(running());
}

// Every row of the collected attacks that is one compilation of a known language. The others are named: the tests above and
// those of the run step (tests/e2e/language_files_test.cc) are theirs.
TEST_F(CompileAttack, CollectedRows) {
  const char* from = ::getenv("HOTCELL_DATA");
  std::string path = cat(from == nullptr ? "" : from, "/attacks/compile.jsonl");
  std::ifstream in(path);
  if (!in) {
    std::printf("no %s: collected attacks were left out\n", path.c_str());
    return;
  }
  std::string canary = (dir_ / "canary").string();
  int tried = 0;
  for (std::string line; std::getline(in, line);) {
    auto row = boost::json::parse(line).as_object();
    const auto* language = find_language(std::string_view(row["lang"].as_string()));
    auto& files = row["files"].as_object();
    if (language == nullptr || language->compile == nullptr || files.contains("note") || std::string(row["id"].as_string()) == "ts-config") {
      std::printf("no compilation of one source: %s\n", row["id"].as_string().c_str());
      continue;
    }
    Sources sources;
    for (auto& [name, content] : files) {
      std::string text(content.as_string());
      for (auto [mark, value] : {std::pair<std::string_view, std::string>{"{S}", secret()}, {"{OUT}", canary}})
        for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
          text.replace(at, mark.size(), value);
      sources.files.push_back({std::string(name), text});
      if (language_by_extension(std::string_view(name)) == language && (sources.main.empty() || name == "Main.java"))
        sources.main = std::string(name);
    }
    if (sources.main.empty()) continue;
    SCOPED_TRACE(std::string(row["id"].as_string()));
    ++tried;
    auto done = compile(*language, sources);
    expect_no_secret(done);
    EXPECT_FALSE(fs::exists(canary));
  }
  EXPECT_GT(tried, 10);
}

}  // namespace
}  // namespace hotcell
