#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "hotcell/language.h"
#include "languages/common/language_common.h"
#include "languages/java/source_outline.h"
#include "languages/plugins.h"

namespace hotcell {
namespace {

std::string name_of(const Language* language) { return language == nullptr ? "none" : std::string(language->name); }

TEST(LanguageRegistry, KnowsByNameAliasAndExtension) {
  EXPECT_EQ(name_of(find_language("cpp")), "cpp");
  EXPECT_EQ(name_of(find_language("c++")), "cpp");
  EXPECT_EQ(name_of(find_language("node")), "javascript");
  EXPECT_EQ(name_of(find_language("cobol")), "none");
  EXPECT_EQ(name_of(find_language("Python")), "python");
  EXPECT_EQ(name_of(find_language("PY")), "python");
  EXPECT_EQ(name_of(language_by_extension("dir.py/main.go")), "go");
  EXPECT_EQ(name_of(language_by_extension("a.b.rs")), "rust");
  EXPECT_EQ(name_of(language_by_extension(".c")), "none");
  EXPECT_EQ(name_of(language_by_extension("Makefile")), "none");
}

TEST(LanguageRegistry, KnowsByTheFirstLine) {
  EXPECT_EQ(name_of(language_by_shebang("#!/usr/bin/python3\n")), "python");
  EXPECT_EQ(name_of(language_by_shebang("#!/usr/bin/env -S FOO=1 python3.11 -u\nx")), "python");
  EXPECT_EQ(name_of(language_by_shebang("#!/bin/sh -e")), "bash");
  EXPECT_EQ(name_of(language_by_shebang("#! /usr/bin/env node")), "javascript");
  EXPECT_EQ(name_of(language_by_shebang("#!/usr/bin/awk -f")), "none");
  EXPECT_EQ(name_of(language_by_shebang("#!")), "none");
  EXPECT_EQ(name_of(language_by_shebang("print(1)")), "none");
}

TEST(LanguageRegistry, NamesAliasesAndExtensionsBelongToOneLanguage) {
  std::set<std::string_view> names, extensions;
  for (const auto* l : languages()) {
    EXPECT_TRUE(names.insert(l->name).second) << l->name;
    for (auto a : l->aliases) EXPECT_TRUE(names.insert(a).second) << a;
    for (auto e : l->extensions) EXPECT_TRUE(extensions.insert(e).second && e.starts_with('.')) << e;
    EXPECT_NE(l->run, nullptr) << l->name;
    EXPECT_FALSE(l->tools.empty()) << l->name;
    if (l->compile != nullptr) {
      EXPECT_NE(l->diagnostics, nullptr) << l->name;
      EXPECT_EQ(language_by_extension(l->main_file), l) << l->name;
    }
  }
}

TEST(LanguageRegistry, ProjectsAreKnownByTheirManifest) {
  std::vector<std::string> cargo = {"src", "Cargo.toml"}, plain = {"main.go"};
  EXPECT_EQ(name_of(language_of_project(cargo)), "rust");
  EXPECT_EQ(name_of(language_of_project(plain)), "none");
}

// Whatever sources are called: no word of a command comes from the caller but absolute paths.
TEST(LanguageRegistry, CallersNamesAreNeverOptions) {
  ToolPaths tools;
  for (const auto* l : languages())
    for (const auto& t : l->tools) tools.emplace(t.program, cat("/usr/bin/", t.program));
  Policy policy = default_policy();
  for (const auto* l : languages()) {
    if (l->compile == nullptr) continue;
    auto extension = std::string(l->extensions[0]);
    Sources plain{{{cat("main", extension), ""}}, cat("main", extension)};
    for (std::string odd : {"-o", "@args", "--help", "-fplugin=x", "--toolexec=x"}) {
      Sources sources{{{odd + extension, ""}, {cat("-B", extension), ""}}, odd + extension};
      auto usual = l->compile({plain, policy, tools}), step = l->compile({sources, policy, tools});
      ASSERT_TRUE(usual.ok() && step.ok()) << l->name;
      for (const auto& word : step.value().argv) {
        bool known = std::find(usual.value().argv.begin(), usual.value().argv.end(), word) != usual.value().argv.end();
        EXPECT_TRUE(known || word.starts_with("/work/") || word.starts_with("--outfile=./")) << l->name << ": " << word;
      }
    }
  }
}

TEST(LanguageRegistry, EmbeddedProfilesAreValid) {
  ProfileSearch search;
  search.read_files = false;
  search.built_in = language_profiles();
  ASSERT_GE(search.built_in.size(), 3u);
  for (const auto& p : search.built_in) {
    auto loaded = load_profile(p.name, search);
    ASSERT_TRUE(loaded.ok()) << p.name << ": " << loaded.error().message;
    EXPECT_EQ(loaded.value().name, p.name);
    EXPECT_NE(find_language(loaded.value().language), nullptr) << p.name;
  }
  auto science = load_profile("data-science", search);
  ASSERT_TRUE(science.ok());
  EXPECT_EQ(science.value().imports_allowed.size(), 19u);
  EXPECT_EQ(science.value().blocklist.size(), 22u);
  EXPECT_EQ(science.value().preimport, (std::vector<std::string>{"numpy", "pandas", "scipy"}));
}

TEST(Diagnostics, OfCompilersInTheStyleOfGcc) {
  auto found = colon_diagnostics(
      "In file included from /work/a.c:1:\n/work/a b.c:3:5: error: 'x' undeclared\n    3 |     x;\n/work/a.c:9: warning: odd\n"
      "# command-line-arguments\n./main.go:4:2: undefined: nosuch\n/usr/bin/ld: /tmp/x.o: in function `main':\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].file, "a b.c");
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].column, 5);
  EXPECT_EQ(found[0].severity, "error");
  EXPECT_EQ(found[0].message, "'x' undeclared");
  EXPECT_EQ(found[1].severity, "warning");
  EXPECT_EQ(found[1].column, 0);
  EXPECT_EQ(found[2].file, "main.go");
  EXPECT_EQ(found[2].message, "undefined: nosuch");
}

TEST(Diagnostics, OfRustcAndEsbuild) {
  auto rust = kRust.diagnostics("error[E0425]: cannot find value `x` in this scope\n --> /work/main.rs:2:18\n  |\nerror: aborting due to previous error\n");
  ASSERT_EQ(rust.size(), 1u);
  EXPECT_EQ(rust[0].file, "main.rs");
  EXPECT_EQ(rust[0].line, 2);
  EXPECT_EQ(rust[0].column, 18);
  EXPECT_EQ(rust[0].message, "cannot find value `x` in this scope");
  auto ts = kTypescript.diagnostics("✘ [ERROR] Unexpected \"=\"\n\n    main.ts:2:8:\n      2 │ let y = = 2;\n");
  ASSERT_EQ(ts.size(), 1u);
  EXPECT_EQ(ts[0].line, 2);
  EXPECT_EQ(ts[0].message, "Unexpected \"=\"");
}

TEST(JavaOutline, FindsPackagePublicTypeAndMain) {
  auto o = java_outline(
      "package a.b; // class No { void main( }\nimport java.util.*;\nclass Helper { void x() { String s = \"class Z { main(\"; } }\n"
      "/* public class Comment {} */ public final class Shown { static class Inner { public static void main(String[] x) {} } }\n"
      "class Start { char c = '{'; public static void main(String... a) {} }\n");
  EXPECT_EQ(o.package, "a.b");
  EXPECT_EQ(o.public_type, "Shown");
  EXPECT_EQ(o.main_type, "Start");
  auto none = java_outline("interface I {}");
  EXPECT_EQ(none.public_type, "");
  EXPECT_EQ(none.main_type, "");
}

TEST(Deno, MayNoMoreThanThePolicy) {
  Sources sources{{{"main.ts", ""}}, "main.ts"};
  ToolPaths tools = {{"deno", "/usr/bin/deno"}};
  Policy policy = default_policy();
  policy.filesystem.grants = {{"/data", Access::kRead, ""}, {"/out", Access::kWrite, ""}};
  auto step = kDeno.run({sources, policy, tools});
  ASSERT_TRUE(step.ok());
  auto has = [&](std::string_view word) { return std::find(step.value().argv.begin(), step.value().argv.end(), word) != step.value().argv.end(); };
  for (auto flag : {"--no-prompt", "--no-remote", "--deny-run", "--deny-ffi", "--deny-net", "--allow-read=/work,/tmp,/data,/out", "--allow-write=/work,/tmp,/out"})
    EXPECT_TRUE(has(flag)) << flag;
  policy.network.mode = NetworkMode::kHost;
  step = kDeno.run({sources, policy, tools});
  EXPECT_TRUE(has("--allow-net"));
  policy.network = {NetworkMode::kProxy, RuleMode::kAllowlist, {}, {}};
  step = kDeno.run({sources, policy, tools});
  EXPECT_TRUE(has("--allow-net=127.0.0.1:3128")) << "nothing is allowed but the proxy, which refuses everything";
  policy.network.allow = {"a.org", "b.org:443"};
  policy.network.block = {"c.org", "*.d.org"};
  step = kDeno.run({sources, policy, tools});
  EXPECT_TRUE(has("--allow-net=127.0.0.1:3128,a.org,b.org:443"));
  EXPECT_TRUE(has("--deny-net=c.org"));
  policy.network.allow = {"*.a.org"};
  step = kDeno.run({sources, policy, tools});
  EXPECT_TRUE(has("--allow-net")) << "what Deno has no word for is the proxy's alone";
  policy.network.rules = RuleMode::kClosed;
  step = kDeno.run({sources, policy, tools});
  EXPECT_TRUE(has("--deny-net"));
}

TEST(Deno, ReadsTheVariablesOfPolicyAndRequestAndNoOthers) {
  Sources sources{{{"main.ts", ""}}, "main.ts"};
  ToolPaths tools = {{"deno", "/usr/bin/deno"}};
  Policy policy = default_policy();
  std::map<std::string, std::string> env = {{"B", "2"}};
  auto flags = [&](const std::map<std::string, std::string>* own) { return join(kDeno.run({sources, policy, tools, false, own}).value().argv, " "); };
  EXPECT_EQ(flags(nullptr).find("--allow-env"), std::string::npos);
  EXPECT_NE(flags(&env).find("--allow-env=B "), std::string::npos) << flags(&env);
  policy.env.set["A"] = "1";
  EXPECT_NE(flags(&env).find("--allow-env=A,B "), std::string::npos) << flags(&env);
}

TEST(Deno, HasNoJitWhereMemoryIsNeverWritableAndExecutable) {
  Sources sources{{{"main.ts", ""}}, "main.ts"};
  ToolPaths tools = {{"deno", "/usr/bin/deno"}};
  Policy policy = default_policy();
  EXPECT_EQ(join(kDeno.run({sources, policy, tools}).value().argv, " ").find("jitless"), std::string::npos);
  policy.syscalls.base = "strict";
  EXPECT_NE(join(kDeno.run({sources, policy, tools}).value().argv, " ").find("--v8-flags=--jitless"), std::string::npos);
}

TEST(Java, HeapAndModulesComeFromThePolicy) {
  Sources sources{{{"Main.java", "class Main { public static void main(String[] a) {} }"}}, "Main.java"};
  ToolPaths tools = {{"java", "/usr/bin/java"}};
  Policy policy = default_policy();
  policy.limits.memory = 512_MiB;
  auto step = kJava.run({sources, policy, tools});
  ASSERT_TRUE(step.ok());
  auto line = join(step.value().argv, " ");
  EXPECT_NE(line.find(" -Xmx256m "), line.npos) << line;
  EXPECT_NE(line.find(" -XX:+DisableAttachMechanism "), line.npos) << line;
  EXPECT_TRUE(line.ends_with(" -cp /work/classes Main")) << line;
  EXPECT_EQ(line.find("--limit-modules"), line.npos);
  policy.language = "java";
  policy.imports_allowed = {"java.base", "java.util", "java.logging"};
  line = join(kJava.run({sources, policy, tools}).value().argv, " ");
  EXPECT_NE(line.find("--limit-modules java.base,java.logging "), line.npos) << line;
}

TEST(Go, ProcessorsAndMemoryOfTheRuntimeComeFromThePolicy) {
  Sources sources{{{"main.go", "package main\n"}}, "main.go"};
  ToolPaths tools = {{"go", "/usr/bin/go"}};
  Policy policy = default_policy();
  policy.limits.memory = 100_MiB;
  auto step = kGo.run({sources, policy, tools});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step.value().env["GOMEMLIMIT"], cat((100ULL << 20) / 10 * 9, "B"));
  EXPECT_FALSE(step.value().env.contains("GOMAXPROCS")) << "no quota: as many as there are";
  for (auto [cpus, processors] : {std::pair{0.5, "1"}, std::pair{1.0, "1"}, std::pair{1.5, "2"}, std::pair{4.0, "4"}}) {
    policy.limits.cpus = cpus;
    EXPECT_EQ(kGo.run({sources, policy, tools}).value().env["GOMAXPROCS"], processors) << cpus;
  }
}

TEST(Rust, AFoldersProgramIsStrippedLikeAFiles) {
  Sources sources{{{"Cargo.toml", "[package]\nname = \"demo\"\n"}, {"src/main.rs", "fn main() {}\n"}}, "Cargo.toml"};
  sources.project = true;
  Policy policy = default_policy();
  ToolPaths tools = {{"cargo", "/usr/bin/cargo"}, {"rustc", "/usr/bin/rustc"}};
  auto step = kRust.compile({sources, policy, tools});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step.value().env["CARGO_PROFILE_RELEASE_STRIP"], "debuginfo");
}

TEST(C, FastIsTinyAndOtherwiseGcc) {
  Sources sources{{{"main.c", ""}}, "main.c"};
  Policy policy = default_policy();
  ToolPaths both = {{"gcc", "/usr/bin/gcc"}, {"tcc", "/usr/bin/tcc"}}, gcc = {{"gcc", "/usr/bin/gcc"}};
  EXPECT_EQ(kC.compile({sources, policy, both, true}).value().argv[0], "/usr/bin/tcc");
  EXPECT_EQ(kC.compile({sources, policy, both, false}).value().argv[0], "/usr/bin/gcc");
  auto without = kC.compile({sources, policy, gcc, true}).value().argv;
  EXPECT_EQ(without[0], "/usr/bin/gcc");
  EXPECT_NE(std::find(without.begin(), without.end(), "-O0"), without.end()) << "quick all the same";
}

}  // namespace
}  // namespace hotcell
