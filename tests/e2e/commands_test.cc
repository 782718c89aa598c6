// The ways to say what to run, and the commands that run nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Commands : public E2e {};

TEST_F(Commands, RunAFile) {
  TempDir dir;
  write_text(dir.path() + "/sum.py", "import sys\nprint(sum(map(int, sys.argv[1:])), sys.stdin.read())\n");
  auto called = hotcell({"run", dir.path() + "/sum.py", "2", "40"}, "typed");
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "42 typed\n");

  write_text(dir.path() + "/script", "#!/bin/sh\necho \"$1-$2\"; exit 5\n");
  called = hotcell({"run", dir.path() + "/script", "a b", "--json"});
  EXPECT_EQ(called.code, 5) << called.describe();
  EXPECT_EQ(called.out, "a b---json\n");

  write_text(dir.path() + "/words", "hello\n");
  called = hotcell({"run", dir.path() + "/words"});
  EXPECT_EQ(called.code, 126) << called.describe();
  EXPECT_NE(called.err.find("name one with --language"), std::string::npos) << called.err;
}

TEST_F(Commands, RunCode) {
  auto called = hotcell({"run", "--language", "python", "-c", "import sys; print(6 * 7, sys.argv[1:])", "x", "-v"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "42 ['x', '-v']\n");
  called = hotcell({"run", "--language", "bash", "-c", "echo $((6 * 7)); exit 2"});
  EXPECT_EQ(called.code, 2) << called.describe();
  EXPECT_EQ(called.out, "42\n");
}

TEST_F(Commands, FilesAreWhatWasGiven) {
  TempDir dir;
  write_text(dir.path() + "/seen", "seen\n");
  write_text(dir.path() + "/.env", "secret\n");
  auto called = hotcell({"run", "--read", dir.path(), "--deny", dir.path() + "/.env", "--", "/bin/sh", "-c",
                         "cd " + dir.path() + "; cat seen; cat .env; echo x >seen; ls -A /work"});
  EXPECT_EQ(called.out, "seen\n") << called.describe();
  EXPECT_EQ(read_text(dir.path() + "/seen"), "seen\n");

  called = hotcell({"run", "--write", dir.path(), "--file", dir.path() + "/seen", "--", "/bin/sh", "-c",
                    "cat /work/seen > " + dir.path() + "/made; echo x > /work/seen"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(read_text(dir.path() + "/made"), "seen\n");
  EXPECT_EQ(read_text(dir.path() + "/seen"), "seen\n") << "--file is a copy";
}

TEST_F(Commands, ExplainRunsNothing) {
  TempDir dir;
  const std::vector<std::string> program = {"--write", dir.path(), "--", "/bin/touch", dir.path() + "/ran"};
  std::vector<std::string> args = {"explain"};
  args.insert(args.end(), program.begin(), program.end());
  auto called = hotcell(args);
  EXPECT_EQ(called.code, 0) << called.describe();
  for (const char* word : {"/bin/touch", "limits: memory 256M", "seccomp", "landlock", dir.path().c_str()})
    EXPECT_NE(called.out.find(word), std::string::npos) << word;

  args.insert(args.begin() + 1, "--json");
  called = hotcell(args);
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("argv/0"), "/bin/touch");
  EXPECT_EQ(json.text("policy"), "default");
  EXPECT_GT(json.size("operations"), 20u);
  EXPECT_NE(::access((dir.path() + "/ran").c_str(), F_OK), 0) << "explain ran the program";
}

TEST_F(Commands, Profiles) {
  auto called = hotcell({"profile", "list", "--json"});
  EXPECT_EQ(called.code, 0) << called.describe();
  Json list(called.out);
  for (const char* name : {"default", "strict", "dev", "build", "test", "ci", "minimal"})
    EXPECT_EQ(list.find_by_name("", name, "valid"), "true") << name;
  called = hotcell({"profile", "list"});
  EXPECT_EQ(lines(called.out), list.size(""));

  called = hotcell({"profile", "show", "strict", "--json"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(Json(called.out).text("name"), "strict");
  called = hotcell({"profile", "show", "nosuch"});
  EXPECT_EQ(called.code, 125);
  EXPECT_EQ(called.err, "hotcell: there is no profile \"nosuch\"\n");

  // What `show` prints is a profile that `check` and `run` take.
  TempDir dir;
  std::string path = dir.path() + "/mine.yaml";
  write_text(path, hotcell({"profile", "show", "default"}).out);
  called = hotcell({"profile", "check", path});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(hotcell({"run", "--profile", path, "--", "/bin/true"}).code, 0);

  write_text(path, "name: mine\nlimits:\n  memry: 1M\n");
  called = hotcell({"profile", "check", path});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_EQ(called.err, "hotcell: " + path + ":3: unknown key \"memry\" in limits; did you mean \"memory\"?\n");
  write_text(path, "name: mine\nlanguage: cobol\n");
  called = hotcell({"profile", "check", path});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.out.find(path + ":2: language: \"cobol\" is none that can be read here (python, bash, c, "), std::string::npos) << called.describe();
  for (const char* known : {"python", "Python", "py", "c++", "TypeScript"}) {
    write_text(path, std::string("language: ") + known + "\n");
    EXPECT_EQ(hotcell({"profile", "check", path}).code, 0) << known;
  }
  write_text(path, "limits: {processes: 50}\n");
  called = hotcell({"profile", "check", path});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE((called.out + called.err).find("limits.processes: 50 is above the default of 10"), std::string::npos)
      << called.describe();
}

// Well formed, and yet no cell can be made of it: what `check` says is what `run` would.
TEST_F(Commands, AProfileThatNoCellCanHaveIsNotOk) {
  TempDir dir;
  std::string path = dir.path() + "/mine.yaml", here = "filesystem: {write: [" + dir.path() + "]";
  struct {
    std::string text, says;
  } bad[] = {
      {"syscalls: {allow: [nosuchcall]}\n", ":1: syscalls.allow: there is no system call named 'nosuchcall'"},
      {"name: mine\nsyscalls: {allow: [mount]}\n", ":2: syscalls.allow: mount cannot be allowed"},
      {"syscalls: {deny: [execve]}\n", ":1: syscalls.deny: without execve no program could start"},
      {"audit: {mode: {rootfs: observe}}\n", "rootfs cannot be switched off alone"},
      {"filesystem: {read: [/proc]}\n", ":1: /proc cannot be granted"},
      {"filesystem: {deny: [/etc/passwd]}\n", ":1: /etc/passwd belongs to what every cell sees"},
      {here + ", deny: [\"**/.env\"]}\n", ":1: deny **/.env cannot be enforced inside"},
  };
  for (const auto& b : bad) {
    SCOPED_TRACE(b.text);
    write_text(path, b.text);
    auto called = hotcell({"profile", "check", path});
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_NE(called.err.find(b.says), std::string::npos) << called.describe();
    EXPECT_EQ(called.out, "");
    called = hotcell({"run", "--profile", path, "--", "/bin/true"});
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_NE(called.err.find(b.says), std::string::npos) << called.describe();
  }
  // What is missing here may be there elsewhere.
  write_text(path, "filesystem: {read: [/nonexistent/folder]}\n");
  auto called = hotcell({"profile", "check", path});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.out.find("/nonexistent/folder: No such file or directory (on this host"), std::string::npos) << called.describe();
}

TEST_F(Commands, Doctor) {
  auto called = hotcell({"doctor", "--json"});
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("ok"), "true");
  EXPECT_GT(json.size("facts"), 5u);
  EXPECT_EQ(json.find_by_name("facts", "kernel", "have"), "yes");
}

TEST_F(Commands, Completion) {
  auto called = hotcell({"completion", "bash"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_NE(called.out.find("--on-output"), std::string::npos);
  int code = -1;
  std::string said = shell_output({"/bin/bash", "-n"}, called.out, &code);
  EXPECT_EQ(code, 0) << said;
  EXPECT_EQ(said, "");
}

// What belongs to another verb would have been ignored, and what was asked for not been done.
TEST_F(Commands, AVerbRefusesTheOptionsOfOthers) {
  TempDir dir;
  const std::string state = dir.path() + "/state";
  const std::vector<std::string> words[] = {
      {"key", "revoke", "ci", "--scope", "read"},       {"key", "list", "--per-minute", "5"},         {"history", "show", "x", "--limit", "1"},
      {"audit", "verify", "--limit", "1"},              {"proxy", "check", "--listen", "[::1]:0", "a"}, {"proxy", "env", "--allow-domain", "a"},
      {"proxy", "log", "--network-bytes", "1K"},        {"proxy", "stats", "--limit", "3"},            {"profile", "list", "--seccomp", "text"},
      {"profile", "check", "strict", "--seccomp", "oci"}, {"config", "check", "x", "--config", "y"},   {"config", "example", "--json"},
      {"sandbox", "exec", "--memory", "1G", "--", "true"}, {"sandbox", "swap", "--image", "a", "--cpus", "2"}, {"sandbox", "images", "--project", "."}};
  for (auto args : words) {
    auto option = *std::find_if(args.begin(), args.end(), [](const auto& word) { return word.starts_with("--"); });
    auto called = hotcell(args);
    EXPECT_EQ(called.code, 125) << args[0] << " " << args[1] << ": " << called.describe();
    EXPECT_EQ(called.out, "");
    std::string sentence = "hotcell: ";
    sentence += option == "--image" ? "--cpus" : option;
    EXPECT_TRUE(called.err.starts_with(sentence + " is no option of `hotcell " + args[0] + " " + args[1] + "`")) << called.err;
  }
  // The controls: the same where it is read.
  auto key = hotcell({"key", "create", "ci", "--scope", "read", "--per-minute", "5", "--max-running", "2", "--state", state});
  EXPECT_EQ(key.code, 0) << key.describe();
  EXPECT_EQ(hotcell({"key", "list", "--json", "--state", state}).code, 0);
  EXPECT_EQ(hotcell({"history", "list", "--limit", "1", "--json", "--state", state}).code, 0);
  EXPECT_EQ(hotcell({"key", "revoke", "ci", "--json", "--state", state}).code, 0);
  EXPECT_EQ(hotcell({"proxy", "env", "--listen", "127.0.0.1:3128"}).code, 0);
  EXPECT_EQ(hotcell({"proxy", "log", "--limit", "3", "--json", "--state", state}).code, 0);
  EXPECT_EQ(hotcell({"proxy", "stats", "--json", "--state", state}).code, 0);
  EXPECT_EQ(hotcell({"profile", "show", "strict", "--seccomp", "oci"}).code, 0);
  write_text(dir.path() + "/config.yaml", "state_dir: " + state + "\n");
  EXPECT_EQ(hotcell({"config", "show", "--origin", "--json", "--config", dir.path() + "/config.yaml"}).code, 0);
}

TEST_F(Commands, TheDaemonTakesNoWords) {
  TempDir dir;
  for (const char* command : {"serve", "mcp"}) {
    auto called = hotcell({command, "extra-word", "--state", dir.path() + "/state"});
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.err, std::string("hotcell: ") + command + " takes no words, got extra-word\n");
  }
}

TEST_F(Commands, HelpOfAVerb) {
  auto called = hotcell({"help", "cell", "apply"});
  EXPECT_EQ(called.code, 0);
  EXPECT_TRUE(called.out.starts_with("Usage: hotcell cell apply NAME")) << called.out;
  EXPECT_NE(called.out.find("--dry-run"), std::string::npos);
  EXPECT_EQ(called.out.find("--memory"), std::string::npos) << called.out;
  EXPECT_EQ(hotcell({"cell", "apply", "--help"}).out, called.out);
  EXPECT_NE(hotcell({"help", "cell", "context", "run"}).out.find("--timeout"), std::string::npos);
  EXPECT_EQ(hotcell({"help", "cell", "nosuch"}).out, hotcell({"help", "cell"}).out);
}

TEST_F(Commands, HelpAndVersion) {
  auto called = hotcell({"--help"});
  EXPECT_EQ(called.code, 0);
  EXPECT_TRUE(called.out.starts_with("hotcell runs code")) << called.out;
  EXPECT_EQ(called.err, "");
  called = hotcell({"version"});
  EXPECT_EQ(called.code, 0);
  EXPECT_TRUE(called.out.starts_with("hotcell ")) << called.out;
}

}  // namespace
}  // namespace hotcell::testing
