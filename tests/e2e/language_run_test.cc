// Every language, as a user calls it: arguments, standard input, exit code; what goes wrong in the program and before it.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

// Prints its arguments and the first line of its input, exits with 7.
struct Sample {
  const char* language;
  const char* file;
  const char* program;
  const char* fails;       // ends with an error of its own while running
  const char* fails_says;  // on stderr
  const char* broken;      // does not compile; empty: interpreted
  int broken_line;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.language; }

constexpr Sample kSamples[] = {
    {"python", "hello.py", "import sys\nprint('hello', *sys.argv[1:], input())\nsys.exit(7)\n", "x = 1\nraise ValueError('boom')\n",
     "line 2", "", 0},
    {"bash", "hello.sh", "read line; echo hello \"$@\" \"$line\"; exit 7\n", "set -e\ncat /nosuch\n", "nosuch", "", 0},
    {"perl", "hello.pl", "my $l = <STDIN>; chomp $l; print \"hello @ARGV $l\\n\"; exit 7;\n", "die 'boom'\n", "boom", "", 0},
    {"c", "hello.c",
     "#include <stdio.h>\nint main(int c, char** v) { char l[99]; fgets(l, 99, stdin); printf(\"hello %s %s %s\", v[1], v[2], l); "
     "return 7; }\n",
     "#include <stdlib.h>\nint main() { abort(); }\n", "SIGABRT", "int main() {\n  return nosuch;\n}\n", 2},
    {"cpp", "hello.cpp",
     "#include <iostream>\n#include <string>\nint main(int, char** v) { std::string l; std::getline(std::cin, l); std::cout << "
     "\"hello \" << v[1] << ' ' << v[2] << ' ' << l << '\\n'; return 7; }\n",
     "#include <stdexcept>\nint main() { throw std::runtime_error(\"boom\"); }\n", "boom", "int main() {\n  return nosuch;\n}\n", 2},
    {"rust", "hello.rs",
     "use std::io;\nfn main() { let a: Vec<String> = std::env::args().skip(1).collect(); let mut l = String::new(); "
     "io::stdin().read_line(&mut l).unwrap(); print!(\"hello {} {}\", a.join(\" \"), l); std::process::exit(7); }\n",
     "fn main() { let v: Vec<i32> = vec![]; println!(\"{}\", v[std::env::args().count()]); }\n", "index out of bounds",
     "fn main() {\n    let x: i32 = nosuch;\n}\n", 2},
    {"go", "hello.go",
     "package main\n\nimport (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n\nfunc main() {\n\tl, _ := "
     "bufio.NewReader(os.Stdin).ReadString('\\n')\n\tfmt.Print(\"hello \", strings.Join(os.Args[1:], \" \"), \" \", l)\n\tos.Exit(7)\n}\n",
     "package main\n\nfunc main() {\n\tpanic(\"boom\")\n}\n", "boom", "package main\n\nfunc main() {\n\tnosuch()\n}\n", 4},
    {"java", "Hello.java",
     "import java.util.*;\npublic class Hello { public static void main(String[] a) { System.out.println(\"hello \" + String.join(\" \", "
     "a) + \" \" + new Scanner(System.in).nextLine()); System.exit(7); } }\n",
     "class Boom { public static void main(String[] a) { throw new IllegalStateException(\"boom\"); } }\n", "boom",
     "class Broken {\n  int x = nosuch;\n}\n", 2},
    {"javascript", "hello.js",
     "const l = require('fs').readFileSync(0, 'utf8').trim();\nconsole.log('hello', ...process.argv.slice(2), l);\nprocess.exit(7);\n",
     "throw new Error('boom');\n", "boom", "", 0},
    {"typescript", "hello.ts",
     "import { readFileSync } from 'node:fs';\nenum Word { Hello = 'hello' }\nconst l: string = readFileSync(0, 'utf8').trim();\n"
     "console.log(Word.Hello, ...process.argv.slice(2), l);\nprocess.exit(7);\n",
     "const x: number = 1;\nthrow new Error('boom' + x);\n", "boom1", "const x: number = 1;\nlet y = = 2;\n", 2},
};

class LanguageRun : public E2e {
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
  TempDir dir_;
};

class LanguageSample : public LanguageRun, public ::testing::WithParamInterface<Sample> {};

TEST_P(LanguageSample, ArgumentsInputAndExitCode) {
  const auto& s = GetParam();
  auto called = hotcell({"run", file(s.file, s.program), "one", "two words"}, "three\nfour\n");
  EXPECT_EQ(called.code, 7) << called.describe();
  EXPECT_TRUE(called.out == "hello one two words three\n" || called.out == "hello one two words three\nfour\n") << called.describe();
  EXPECT_EQ(called.err, "") << called.describe();
}

TEST_P(LanguageSample, ItsOwnErrorIsItsOwn) {
  const auto& s = GetParam();
  auto called = hotcell({"run", "--language", s.language, "-c", s.fails});
  EXPECT_NE(called.code, 0) << called.describe();
  EXPECT_NE(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find(s.fails_says), std::string::npos) << called.describe();
}

TEST_P(LanguageSample, WhatDoesNotCompileIsToldByLine) {
  const auto& s = GetParam();
  if (s.broken[0] == '\0') return;
  std::string text = s.broken;
  auto called = hotcell({"run", "--json", file(s.file, text)});
  EXPECT_EQ(called.code, 1) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("exit_reason"), "compile_error");
  EXPECT_EQ(json.text("status"), "failed");
  EXPECT_EQ(json.text("compile/exit_reason"), "exited");
  ASSERT_GE(json.size("compile/diagnostics"), 1u) << called.out;
  EXPECT_EQ(json.text("compile/diagnostics/0/file"), s.file);
  EXPECT_EQ(json.text("compile/diagnostics/0/line"), std::to_string(s.broken_line)) << called.out;
  EXPECT_EQ(json.text("compile/diagnostics/0/severity"), "error");
  EXPECT_EQ(json.text("compile/stderr").find("/work/main"), std::string::npos) << called.out;
  EXPECT_LT(json.text("start_time"), json.text("end_time")) << "the time of compiling: " << called.out;
  auto human = hotcell({"run", file(s.file, text)});
  EXPECT_EQ(human.code, 1);
  EXPECT_EQ(human.out, "");
  EXPECT_NE(human.err.find("hotcell: does not compile: "), std::string::npos) << human.describe();
}

INSTANTIATE_TEST_SUITE_P(All, LanguageSample, ::testing::ValuesIn(kSamples), [](const auto& given) { return std::string(given.param.language); });

// The linker's errors are of no line.
TEST_F(LanguageRun, AnErrorWithoutAPlaceIsToldByItsWordsAlone) {
  auto called = hotcell({"run", "--language", "rust", "-c", "extern \"C\" { fn nowhere_defined(); }\nfn main() { unsafe { nowhere_defined() } }"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.err.find("does not compile: "), std::string::npos) << called.describe();
  EXPECT_EQ(called.err.find("does not compile: :"), std::string::npos) << called.describe();
}

TEST_F(LanguageRun, TheSecondTimeIsNotCompiled) {
  auto path = file("twice.c", "#include <stdio.h>\nint main() { puts(\"again\"); }\n");
  auto first = hotcell({"run", "--json", path});
  auto second = hotcell({"run", "--json", path});
  EXPECT_EQ(Json(first.out).text("compile/cached"), "false") << first.describe();
  EXPECT_EQ(Json(second.out).text("compile/cached"), "true") << second.describe();
  EXPECT_EQ(Json(second.out).text("stdout"), "again\n");
  auto shown = hotcell({"cache", "show", "--json"});
  EXPECT_NE(Json(shown.out).text("entries"), "0") << shown.describe();
  auto cleared = hotcell({"cache", "clear"});
  EXPECT_EQ(cleared.code, 0);
  EXPECT_EQ(Json(hotcell({"cache", "show", "--json"}).out).text("entries"), "0");
  EXPECT_EQ(Json(hotcell({"run", "--json", path}).out).text("compile/cached"), "false");
}

TEST_F(LanguageRun, NoCacheCompilesAnewAndKeepsNothing) {
  auto path = file("anew.c", "#include <stdio.h>\nint main() { puts(\"anew\"); }\n");
  hotcell({"cache", "clear"});
  for (int i = 0; i < 2; ++i) {
    auto called = hotcell({"run", "--json", "--no-cache", path});
    EXPECT_EQ(Json(called.out).text("compile/cached"), "false") << called.describe();
    EXPECT_EQ(Json(called.out).text("stdout"), "anew\n");
  }
  EXPECT_EQ(Json(hotcell({"cache", "show", "--json"}).out).text("entries"), "0");
  hotcell({"run", path});
  EXPECT_EQ(Json(hotcell({"run", "--json", "--no-cache", path}).out).text("compile/cached"), "false")
      << "nor is anything taken from it";
}

TEST_F(LanguageRun, AChangedSourceOrFlagIsCompiledAnew) {
  auto path = file("x.c", "#include <stdio.h>\nint main() { puts(\"one\"); }\n");
  EXPECT_EQ(hotcell({"run", path}).out, "one\n");
  file("x.c", "#include <stdio.h>\nint main() { puts(\"two\"); }\n");
  EXPECT_EQ(hotcell({"run", path}).out, "two\n");
}

TEST_F(LanguageRun, TheRunCellHasTheArtefactAndNotTheSource) {
  auto path = file("look.c", "#include <dirent.h>\n#include <stdio.h>\nint main() { DIR* d = opendir(\"/work\"); struct dirent* e; "
                             "while ((e = readdir(d))) if (e->d_name[0] != '.') puts(e->d_name); }\n");
  EXPECT_EQ(hotcell({"run", path}).out, "look\n");
}

TEST_F(LanguageRun, SourcesWithStrangeNames) {
  const std::string text = "#include <stdio.h>\nint main() { puts(\"ran\"); }\n";
  for (const char* name : {"-o.c", "@x.c", "a b.c", "$(id).c", "-fplugin=x.c"}) {
    auto called = hotcell({"run", file(name, text)});
    EXPECT_EQ(called.out, "ran\n") << name << called.describe();
  }
  EXPECT_EQ(hotcell({"run", "--language", "c", file("notes.txt", text)}).out, "ran\n");
  auto refused = hotcell({"run", file("a\nb.c", text)});
  EXPECT_EQ(refused.code, 125);
  EXPECT_NE(refused.err.find("control characters"), std::string::npos) << refused.describe();
}

TEST_F(LanguageRun, FurtherFilesAreCompiledAlong) {
  auto main_c = file("main.c", "#include \"two.h\"\n#include <stdio.h>\nint main() { printf(\"%d\\n\", two()); }\n");
  auto called = hotcell({"run", "--file", file("two.h", "int two(void);\n"), "--file", file("two.c", "int two(void) { return 2; }\n"), main_c});
  EXPECT_EQ(called.out, "2\n") << called.describe();
}

TEST_F(LanguageRun, AGoModuleFolder) {
  std::string folder = dir_.path() + "/mod";
  ::mkdir(folder.c_str(), 0755);
  ::mkdir((folder + "/words").c_str(), 0755);
  write_text(folder + "/go.mod", "module example.org/mod\n\ngo 1.19\n");
  write_text(folder + "/main.go", "package main\n\nimport \"example.org/mod/words\"\n\nfunc main() {\n\tprintln(words.Word())\n}\n");
  write_text(folder + "/words/words.go", "package words\n\nfunc Word() string { return \"from a module\" }\n");
  auto called = hotcell({"run", folder});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.err, "from a module\n");
}

TEST_F(LanguageRun, ACargoFolderAndItsBuildScript) {
  std::string folder = dir_.path() + "/crate";
  ::mkdir(folder.c_str(), 0755);
  ::mkdir((folder + "/src").c_str(), 0755);
  write_text(folder + "/Cargo.toml", "[package]\nname = \"inside\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
  write_text(folder + "/src/main.rs", "fn main() { println!(\"{}\", env!(\"SEEN\")); }\n");
  // Runs in the compile cell: it sees what the program would see, and a host file is not that.
  std::string secret = file("secret", "swordfish");
  write_text(folder + "/build.rs", "fn main() { println!(\"cargo:rustc-env=SEEN={}\", std::fs::read_to_string(\"" + secret +
                                       "\").unwrap_or(\"nothing\".into())); }\n");
  auto called = hotcell({"run", folder});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "nothing\n") << called.describe();
}

// Where there are no namespaces the workspace has another name, and compilers and programs still find their files.
TEST_F(LanguageRun, WithoutNamespaces) {
  auto c = hotcell({"run", "--backend", "landlock", file("a.c", "#include <stdio.h>\nint main() { puts(\"c\"); }\n")});
  EXPECT_EQ(c.out, "c\n") << c.describe();
  auto go = hotcell({"run", "--backend", "landlock", "--language", "go", "-c", "package main\n\nfunc main() {\n\tprintln(\"go\")\n}\n"});
  EXPECT_EQ(go.err, "go\n") << go.describe();
  // Its settings are links into /etc.
  auto java = hotcell({"run", "--backend", "landlock",
                       file("Hi.java", "public class Hi { public static void main(String[] a) { System.out.println(\"java\"); } }\n")});
  EXPECT_EQ(java.out, "java\n") << java.describe();
}

// There it is the host's own /etc: readable is what a made one would have been made of, and no more.
TEST_F(LanguageRun, WithoutNamespacesOnlySettingsOfRuntimesAreSeenOfEtc) {
  std::vector<std::string> settings, others;
  for (const auto& entry : std::filesystem::directory_iterator("/etc"))
    if (std::string name = entry.path(); name.starts_with("/etc/java-") && name.ends_with("-openjdk"))
      for (const char* file : {"/net.properties", "/security/java.security"}) settings.push_back(name + file);
  ASSERT_FALSE(settings.empty());
  for (const char* name : {"/etc/shadow", "/etc/gshadow", "/etc/fstab", "/etc/debian_version", "/etc/hosts", "/etc/hostname", "/etc/login.defs",
                           "/etc/shells", "/etc/ssh/ssh_config", "/etc/ssh/sshd_config", "/etc/apt/sources.list"})
    if (std::ifstream(name).peek() != std::char_traits<char>::eof()) others.push_back(name);
  ASSERT_FALSE(others.empty()) << "the control: nothing could be read outside either";
  auto seen = [](const std::vector<std::string>& files) {
    std::vector<std::string> words = {"run", "--backend", "landlock", "--", "/bin/sh", "-c",
                                      "for f; do head -c1 \"$f\" >/dev/null 2>&1 && echo \"$f\"; (: >>\"$f\") 2>/dev/null && echo written; done; ls /etc 2>/dev/null", "sh"};
    words.insert(words.end(), files.begin(), files.end());
    return hotcell(words).out;
  };
  std::string all;
  for (const auto& name : settings) all += name + "\n";
  EXPECT_EQ(seen(settings), all);
  EXPECT_EQ(seen(others), "");
}

TEST_F(LanguageRun, AFolderWithoutAManifestIsNoProgram) {
  auto called = hotcell({"run", dir_.path()});
  EXPECT_EQ(called.code, 126);
  EXPECT_NE(called.err.find("is a folder"), std::string::npos);
}

TEST_F(LanguageRun, TimeoutsAreTheProgramsOwnAndNotTheCompilers) {
  auto called = hotcell({"run", "--timeout", "300ms", file("spin.go", "package main\n\nfunc main() {\n\tfor {\n\t}\n}\n")});
  EXPECT_EQ(called.code, 124) << called.describe();
  EXPECT_NE(called.err.find("ran longer than 300ms"), std::string::npos) << called.describe();
}

TEST_F(LanguageRun, AGoroutineBombStopsAtTheLimit) {
  auto called = hotcell({"run", "--memory", "64M", "--timeout", "10s",
                         file("bomb.go", "package main\n\nimport \"time\"\n\nfunc f() {\n\tfor {\n\t\tgo f()\n\t\ttime.Sleep(1)\n\t}\n}\n\nfunc main() {\n\tf()\n}\n")});
  EXPECT_NE(called.code, 0) << called.describe();
  EXPECT_TRUE(called.code == 137 || called.code == 124 || called.code == 2) << called.describe();
}

TEST_F(LanguageRun, BashMinimalFindsItsCommandsAndNoOthers) {
  auto good = hotcell({"run", "--no-verify", "--profile", "bash-minimal", "-c", "echo b a | tr ' ' '\\n' | sort | head -n 1"});
  EXPECT_EQ(good.out, "a\n") << good.describe();
  for (const char* script : {"curl x", "/bin/ls", "echo x >f", "PATH=/bin", "exec ls", "eval ls", "command ls", "enable exec", "source /etc/passwd"}) {
    auto bad = hotcell({"run", "--no-verify", "--profile", "bash-minimal", "-c", script});
    EXPECT_NE(bad.code, 0) << script << bad.describe();
    EXPECT_EQ(bad.out, "") << script;
  }
}

TEST_F(LanguageRun, LanguagesAreListedWithTheirTools) {
  auto called = hotcell({"language", "list", "--json"});
  ASSERT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  for (const char* name : {"python", "bash", "c", "cpp", "rust", "go", "java", "javascript", "typescript"})
    EXPECT_EQ(json.find_by_name("", name, "usable"), "true") << name << called.out;
  auto text = hotcell({"language", "list"});
  EXPECT_NE(text.out.find("g++"), std::string::npos) << text.out;
}

TEST_F(LanguageRun, ALanguageWithoutItsToolsNamesThePackage) {
  // In a view of the machine where /usr/bin/go is no program.
  const std::string hide = "mount --bind /dev/null \"$(readlink -f /usr/bin/go)\" && exec \"$0\" \"$@\"";
  auto without_go = [&](std::vector<std::string> args, int* code) {
    std::vector<std::string> argv = {"/usr/bin/unshare", "-rm", "/bin/sh", "-c", hide, hotcell_path()};
    argv.insert(argv.end(), args.begin(), args.end());
    return shell_output(argv, "", code);
  };
  int code = -1;
  auto text = without_go({"language", "list"}, &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("missing  go is not there (apt-get install golang-go)"), std::string::npos) << text;
  Json json(without_go({"language", "list", "--json"}, &code));
  EXPECT_EQ(json.find_by_name("", "go", "usable"), "false");
  EXPECT_EQ(json.find_by_name("", "c", "usable"), "true") << "the others are as they were";
  Json all(hotcell({"language", "list", "--json"}).out);
  EXPECT_EQ(all.find_by_name("", "go", "usable"), "true") << "or the view above hides nothing";
  bool versions = true;
  for (std::size_t i = 0; i < all.size(""); ++i)
    for (std::size_t t = 0; t < all.size(std::to_string(i) + "/tools"); ++t) {
      auto tool = std::to_string(i) + "/tools/" + std::to_string(t);
      if (all.text(tool + "/path").empty()) continue;
      versions = versions && all.text(tool + "/version").find_first_of("0123456789") != std::string::npos;
    }
  EXPECT_TRUE(versions) << hotcell({"language", "list", "--json"}).out;
}

TEST_F(LanguageRun, GoIsToldItsProcessorsAndItsMemory) {
  auto path = file("told.go", "package main\n\nimport (\n\t\"fmt\"\n\t\"runtime\"\n\t\"runtime/debug\"\n)\n\nfunc main() {\n\tfmt.Println("
                              "runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1))\n}\n");
  auto called = hotcell({"run", "--cpus", "1", "--memory", "100M", path});
  EXPECT_EQ(called.out, "1 94371840\n") << called.describe();
}

TEST_F(LanguageRun, AFastProfileCompilesCWithTheSmallCompiler) {
  auto path = file("quick.c", "#include <stdio.h>\nint main(void) { puts(\"quick\"); return 0; }\n");
  auto profile = file("quick.yaml", "extends: default\nfast: true\n");
  auto fast = hotcell({"run", "--json", "--profile", profile, path});
  EXPECT_EQ(Json(fast.out).text("stdout"), "quick\n") << fast.describe();
  EXPECT_EQ(Json(fast.out).text("compile/command/0"), "/usr/bin/tcc") << fast.out;
  auto usual = hotcell({"run", "--json", path});
  EXPECT_EQ(Json(usual.out).text("compile/command/0"), "/usr/bin/gcc") << usual.out;
}

TEST_F(LanguageRun, HeadersBringTheirLibraries) {
  const std::string text =
      "#include <openssl/evp.h>\n#include <cstdio>\nint main() {\n  unsigned char out[64];\n  unsigned n = 0;\n"
      "  EVP_Digest(\"Hello world\", 11, out, &n, EVP_md5(), nullptr);\n  for (unsigned i = 0; i < n; i++) std::printf(\"%02x\", out[i]);\n}\n";
  auto called = hotcell({"run", file("digest.cpp", text)});
  EXPECT_EQ(called.out, "3e25960a79dbc69b674cd4ec67a72c62") << called.describe();
}

TEST_F(LanguageRun, WhatHidesBehindAMacroIsFoundInTheProgram) {
  const std::string text = "#include <stdlib.h>\n#define JOIN(a, b) a##b\nint main() { return JOIN(sys, tem)(\"true\"); }\n";
  auto called = hotcell({"run", "--json", file("m.c", text)});
  bool found = false;
  Json json(called.out);
  for (std::size_t i = 0; i < json.size("findings"); ++i) found = found || json.text("findings/" + std::to_string(i) + "/rule") == "elf-process";
  EXPECT_TRUE(found) << called.out;
  auto strict = hotcell({"run", "--json", "--profile", "strict", file("m.c", text)});
  EXPECT_EQ(strict.code, 125) << strict.describe();
  EXPECT_EQ(Json(strict.out).text("exit_reason"), "verification") << strict.out;
}

TEST_F(LanguageRun, ACompilersWarningInformsAlsoWhenTheArtefactWasThere) {
  auto source = file("w.c", "#include <stdio.h>\nint main() {\n  int unused;\n  puts(\"hi\");\n}\n");
  for (const char* cached : {"false", "true"}) {
    auto called = hotcell({"run", "--json", "--profile", "default", source});
    EXPECT_EQ(called.code, 0) << called.describe();
    Json json(called.out);
    EXPECT_EQ(json.text("compile/cached"), cached);
    ASSERT_EQ(json.size("findings"), 1u) << called.out;
    EXPECT_EQ(json.text("findings/0/rule"), "compiler-warning");
    EXPECT_EQ(json.text("findings/0/severity"), "info");
    EXPECT_EQ(json.text("findings/0/line"), "3");
    EXPECT_EQ(json.text("findings/0/snippet"), "int unused;");
  }
  auto called = hotcell({"run", "--json", "--no-verify", source});
  EXPECT_EQ(Json(called.out).size("findings"), 0u) << called.out;
}

}  // namespace
}  // namespace hotcell::testing
