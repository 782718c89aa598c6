#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "cli/paths.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

// A throwaway folder outside everything a cell sees, and the current directory of the test.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/hotcell-cli-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    dir_ = fs::canonical(name);
    before_ = fs::current_path();
    fs::current_path(dir_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(dir_);
  }
  std::string file(const std::string& name, std::string_view text, mode_t mode = 0644) {
    fs::path path = dir_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  static Result<CliJob> job(std::vector<std::string_view> words) {
    auto parsed = parse(Command::kRun, words);
    if (!parsed.ok()) return parsed.error();
    return make_job(parsed.value(), JobFor::kRunning);
  }
  static std::string why(std::vector<std::string_view> words, int code) {
    auto made = job(std::move(words));
    if (made.ok()) return "accepted";
    EXPECT_EQ(exit_code_of(made.error().code), code) << made.error().message;
    return made.error().message;
  }
  using Words = std::vector<std::string>;

  fs::path dir_, before_;
};

TEST_F(ProgramTest, AFileIsCopiedAloneAndRunByItsExtension) {
  file("hello.py", "print(1)");
  auto made = job({"hello.py", "--x", "y"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().request.argv, (Words{"/usr/bin/python3", "/work/hello.py", "--x", "y"}));
  ASSERT_EQ(made.value().request.files.size(), 1U);
  EXPECT_EQ(made.value().request.files[0].name, "hello.py");
  EXPECT_TRUE(made.value().policy.filesystem.grants.empty());
}

TEST_F(ProgramTest, AHashBangFileAndABinaryAreRunThemselves) {
  file("script", "#!/bin/sh -e\necho hi\n");
  auto script = job({"script"});
  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_EQ(script.value().request.argv, (Words{"/work/script"}));
  EXPECT_EQ(script.value().request.files[0].mode, 0755U);
  file("binary", "\x7f" "ELF...");
  auto binary = job({"binary", "1"});
  ASSERT_TRUE(binary.ok());
  EXPECT_EQ(binary.value().request.argv, (Words{"/work/binary", "1"}));
  EXPECT_EQ(binary.value().request.files[0].mode, 0755U);
}

TEST_F(ProgramTest, AnInterpreterTheCellLacksIsNamed) {
  file("gone", "#!/no/such/interpreter\n");
  EXPECT_EQ(why({"gone"}, 127), "gone: its interpreter /no/such/interpreter is not there");
  auto tool = file("bin/tool", "x", 0755);
  file("hidden", cat("#!", tool, "\n"));
  EXPECT_NE(why({"hidden"}, 127).find(cat("add --read ", (dir_ / "bin").native())), std::string::npos);
  EXPECT_EQ(why({"--read", "bin", "hidden"}, 0), "accepted");
}

TEST_F(ProgramTest, CodeIsPutIntoAFileOfItsLanguage) {
  auto made = job({"--language", "python", "-c", "print(1)", "a"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().request.argv, (Words{"/usr/bin/python3", "/work/main.py", "a"}));
  EXPECT_EQ(std::get<std::string>(made.value().request.files[0].content), "print(1)");
  EXPECT_EQ(why({"-c", "x"}, 125), "-c needs --language");
  EXPECT_NE(why({"--language", "cobol", "-c", "x"}, 125).find("python, bash, c, cpp, rust"), std::string::npos);
}

TEST_F(ProgramTest, WhatCannotBeRunIsSaidInOneSentence) {
  file("notes.txt", "hello");
  EXPECT_NE(why({"notes.txt"}, 126).find("notes.txt: its language is not known"), std::string::npos);
  EXPECT_EQ(why({"missing.py"}, 127), "missing.py: no such file (a program: hotcell run -- missing.py)");
  EXPECT_EQ(why({"."}, 126), ". is a folder");
  EXPECT_EQ(why({"--", "no-such-program"}, 127), "no-such-program: program not found");
  EXPECT_EQ(why({"--", "./no-such"}, 127), "./no-such: program not found");
  EXPECT_EQ(why({"--", "/usr"}, 126), "/usr: is a folder");
  EXPECT_EQ(why({"--", "./notes.txt"}, 126), "./notes.txt: not executable");
  EXPECT_EQ(why({}, 125), "nothing to run: give a FILE, --language LANG -c CODE, or -- PROGRAM");
}

TEST_F(ProgramTest, ABareNameIsLookedUpInTheCellsPathNotOurs) {
  auto known = job({"--", "true", "x"});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known.value().request.argv, (Words{"true", "x"}));
  file("bin/mytool", "x", 0755);
  std::string old = ::getenv("PATH") ? ::getenv("PATH") : "";
  ::setenv("PATH", cat((dir_ / "bin").native(), ":", old).c_str(), 1);
  auto said = why({"--", "mytool"}, 127);
  ::setenv("PATH", old.c_str(), 1);
  EXPECT_NE(said.find(cat("add --read ", (dir_ / "bin").native())), std::string::npos) << said;
}

TEST_F(ProgramTest, AProgramOutsideIsShownAsThatOneFile) {
  auto tool = file("bin/tool", "\x7f" "ELF", 0755);
  auto made = job({"--", "bin/tool", "1"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().request.argv, (Words{tool, "1"}));
  ASSERT_EQ(made.value().policy.filesystem.grants.size(), 1U);
  EXPECT_EQ(made.value().policy.filesystem.grants[0].path, tool);
  EXPECT_EQ(made.value().policy.filesystem.grants[0].access, Access::kRead);
  auto granted = job({"--read", "bin", "--", "bin/tool"});
  ASSERT_TRUE(granted.ok());
  EXPECT_EQ(granted.value().policy.filesystem.grants.size(), 1U);
  auto visible = job({"--", "/bin/true"});
  ASSERT_TRUE(visible.ok());
  EXPECT_TRUE(visible.value().policy.filesystem.grants.empty());
  EXPECT_EQ(visible.value().request.argv, (Words{"/bin/true"}));
}

TEST_F(ProgramTest, PathsThatAreMissingOrInvisibleAreNamed) {
  EXPECT_EQ(why({"--read", "nope", "--", "true"}, 125), "--read: nope: No such file or directory");
  EXPECT_EQ(why({"--write", "/nope", "--", "true"}, 125), "--write: /nope: No such file or directory");
  EXPECT_EQ(why({"--file", "nope", "--", "true"}, 125), "--file: nope: No such file or directory");
  EXPECT_EQ(why({"--stdin", "nope", "--", "true"}, 125), "--stdin: nope: No such file or directory");
  EXPECT_NE(why({"--workdir", ".", "--", "true"}, 125).find("add --read"), std::string::npos);
  auto made = job({"--write", ".", "--workdir", ".", "--", "true"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().request.workdir, dir_.native());
  EXPECT_EQ(made.value().policy.filesystem.grants[0].path, dir_.native());
}

TEST_F(ProgramTest, TwoFilesOfOneNameAreRefusedAndAFolderIsNoFile) {
  file("a/x", "1");
  file("b/x", "2");
  EXPECT_EQ(why({"--file", "a/x", "--file", "b/x", "--", "true"}, 125), "--file: two files would both be /work/x");
  EXPECT_EQ(why({"--file", "a", "--", "true"}, 125), "--file: a is a folder; show it with --read a");
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  EXPECT_EQ(why({"--file", "pipe", "--", "true"}, 125), "--file: pipe is not a regular file");
}

TEST_F(ProgramTest, FlagsThatMakeNoSenseAreRefused) {
  EXPECT_NE(why({"--memory", "12Q", "--", "true"}, 125).find("--memory: "), std::string::npos);
  EXPECT_NE(why({"--memory", "0", "--", "true"}, 125).find("--memory: "), std::string::npos);
  EXPECT_NE(why({"--env", "A", "--", "true"}, 125).find("is not NAME=VALUE"), std::string::npos);
  EXPECT_NE(why({"--require", "secomp", "--", "true"}, 125).find("did you mean \"seccomp\"?"), std::string::npos);
  EXPECT_NE(why({"--waive", "everything", "--", "true"}, 125).find("everything"), std::string::npos);
  EXPECT_NE(why({"--tier", "strong", "--backend", "native", "--", "true"}, 125).find("does not go with --backend"), std::string::npos);
  EXPECT_EQ(why({"--allow-domain", "a.test", "--", "true"}, 125), "--allow-domain is for --network proxy");
  EXPECT_NE(why({"--profile", "no-such", "--", "true"}, 125).find("no-such"), std::string::npos);
}

TEST_F(ProgramTest, ALevelChoosesABackendOrIsRefusedWithTheReason) {
  auto off = job({"--level", "off", "--", "true"});
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off.value().launcher.backend, "none");
  EXPECT_NE(off.value().notes.back().find("no wall"), std::string::npos);
  EXPECT_EQ(job({"--level", "process", "--", "true"}).value().launcher.backend, "native");
  // A machine of its own needs no root; with nothing but a container in its place an ordinary user would be refused.
  for (auto [option, value] : {std::pair{"--level", "maximum"}, std::pair{"--level", "vm"}, std::pair{"--tier", "strong"}}) {
    auto strong = job({option, value, "--", "true"});
    ASSERT_TRUE(strong.ok()) << option << strong.error().message;
    EXPECT_EQ(strong.value().launcher.backend, "vm");
  }
  auto container = job({"--level", "container", "--", "true"});
  ASSERT_EQ(container.ok(), ::geteuid() == 0);
  if (!container.ok()) {
    EXPECT_NE(container.error().message.find("nothing that holds it works here"), std::string::npos) << container.error().message;
  }
}

TEST_F(ProgramTest, EnhancedRequiresEveryLayerButTheOptionalOne) {
  auto made = job({"--level", "enhanced", "--", "true"});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().policy.required.size(), kLayerCount - 1);
  EXPECT_FALSE(made.value().policy.required.contains(Layer::kLsm));
}

TEST_F(ProgramTest, ADangerousVariableIsReported) {
  auto made = job({"--env", "LD_PRELOAD=/x.so", "--env", "A=b=c", "--", "true"});
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().notes.size(), 1U);
  EXPECT_NE(made.value().notes[0].find("LD_PRELOAD"), std::string::npos);
  EXPECT_EQ(made.value().policy.env.set.at("A"), "b=c");
}

TEST_F(ProgramTest, ADenialHoldsUnderEveryNameOfAGrantedFolder) {
  file("real/secret", "x");
  fs::create_directory_symlink(dir_ / "real", dir_ / "link");
  auto patterns = [&](std::vector<std::string_view> words) {
    auto made = job(std::move(words));
    std::vector<std::string> out;
    if (!made.ok()) ADD_FAILURE() << made.error().message;
    else for (const auto& d : made.value().policy.filesystem.deny) out.push_back(d.pattern);
    return out;
  };
  std::string real = dir_ / "real/secret", link = dir_ / "link/secret";
  EXPECT_EQ(patterns({"--write", "link", "--deny", "link/secret", "--", "true"}), (Words{real, link}));
  EXPECT_EQ(patterns({"--write", "link", "--deny", "real/secret", "--", "true"}), (Words{real, link}));
  EXPECT_EQ(patterns({"--write", "real", "--deny", "link/secret", "--", "true"}), (Words{real}));
  EXPECT_EQ(patterns({"--write", "real", "--deny", "link/not-yet", "--", "true"}), (Words{dir_ / "real/not-yet"}));
  EXPECT_EQ(patterns({"--write", "real", "--deny", "**/.env", "--", "true"}), (Words{"**/.env"}));
}

TEST_F(ProgramTest, FilesAreNotPutWhereAGrantHidesThem) {
  CliJob own;
  own.policy.filesystem.grants.push_back({"/work", Access::kRead, "--read"});
  EXPECT_TRUE(check_workspace(own).ok()) << "a program of the host's may be run there";
  own.request.files.push_back({"x.py", std::string("1"), 0644});
  ASSERT_FALSE(check_workspace(own).ok());
  EXPECT_TRUE(check_workspace(own).error().message.starts_with("--read: the host's /work would cover"));
  own.policy.filesystem.grants[0].path = "/work/project";
  EXPECT_TRUE(check_workspace(own).ok());
}

TEST_F(ProgramTest, AProgramThatIsThereAndNotFoundIsToldWhy) {
  auto why = [&](std::vector<std::string_view> words) {
    auto made = job(std::move(words));
    return made.ok() ? std::string("it was found") : made.error().message;
  };
  EXPECT_EQ(why({"--deny", "/usr/bin/env", "--", "env"}), "env: /usr/bin/env is denied by the policy");
  EXPECT_EQ(why({"--env", "PATH=/nonexistent", "--", "env"}), "env: not found along the PATH of the cell; it is at /usr/bin/env");
}

TEST_F(ProgramTest, AFileWithAGlobInItsNameIsDeniedAsItself) {
  file("real/a[1]*", "x");
  EXPECT_EQ(deny_pattern("real/a[1]*"), (dir_ / "real/a[[]1][*]").native());
}

}  // namespace
}  // namespace hotcell
