// Backends as users choose them: by name, by level, for other tools; what is waived is in the audit log.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/strings.h"
#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class BackendCli : public E2e {
 protected:
  std::string place(const std::string& name) const { return dir_.path() + "/" + name; }
  TempDir dir_;
};

// A command line that only looks like one is of no use to anybody.
TEST_F(BackendCli, WhatWrapPrintsRuns) {
  auto wrapped = hotcell({"wrap", "--backend", "bwrap", "--into", place("into"), "--env", "A=it's \"so\"", "--", "/bin/sh", "-c", "echo \"$A\"; id -u; ls /root /home 2>/dev/null; touch here; cat /proc/net/dev | wc -l"});
  ASSERT_EQ(wrapped.code, 0) << wrapped.describe();
  EXPECT_NE(wrapped.err.find("the limits (wall, cpu, memory, processes, disk, output) are hotcell's own"), std::string::npos) << wrapped.err;
  int code = -1;
  std::string out = shell_output({"/bin/sh", "-c", wrapped.out}, "", &code);
  EXPECT_EQ(code, 0) << out;
  EXPECT_TRUE(out.starts_with("it's \"so\"\n1000\n")) << out;
  EXPECT_TRUE(out.ends_with("3\n")) << "a network with lo alone: " << out;
  struct stat st {};
  ASSERT_EQ(::stat(place("into/work/here").c_str(), &st), 0);
  EXPECT_TRUE(!is_root() || st.st_uid >= 1'900'000'000) << "as root the program is nobody's user of the host, as in a run of ours: " << st.st_uid;
  EXPECT_NE(hotcell({"wrap", "--backend", "bwrap", "--into", place("into"), "--", "/bin/true"}).code, 0) << "what is there already is not trusted";
}

TEST_F(BackendCli, WrapSaysWhatItsCommandLineDoesNotHold) {
  auto json = hotcell({"wrap", "--json", "--backend", "bwrap", "--", "/bin/true"});
  ASSERT_EQ(json.code, 0) << json.describe();
  Json j(json.out);
  EXPECT_EQ(j.size("not_held"), 6u) << json.out;
  EXPECT_GT(j.size("files"), 3u);
  auto own = hotcell({"wrap", "--json", "--", "/bin/true"});
  ASSERT_EQ(own.code, 0) << own.describe();
  EXPECT_EQ(Json(own.out).size("not_held"), 0u) << "that one is ours: " << own.out;
  auto refused = hotcell({"wrap", "--backend", "bwrap", "--read", dir_.path(), "--deny", dir_.path() + "/x", "--", "/bin/true"});
  EXPECT_EQ(refused.code, 125) << refused.describe();
  EXPECT_EQ(refused.out, "");
  // The host's root is mapped nowhere, also not in what is only shown.
  auto bundle = hotcell({"explain", "--json", "--backend", "crun", "--", "/bin/true"});
  ASSERT_EQ(bundle.code, 0) << bundle.describe();
  EXPECT_EQ(bundle.out.find("\\\"hostID\\\":0,"), std::string::npos);
}

// A runtime gives its standard streams to the container's user, so its own command line would give away the host's /dev/null.
TEST_F(BackendCli, WhatWrapPrintsOfARuntimeKeepsItsCallersStreams) {
  for (auto backend : {"crun", "runc", "runsc"}) {
    auto wrapped = hotcell({"wrap", "--backend", backend, "--memory", "64M", "--into", place("unused"), "--", "/bin/echo", "a b"});
    ASSERT_EQ(wrapped.code, 0) << wrapped.describe();
    EXPECT_EQ(wrapped.out, cat("hotcell run --memory 64M --backend ", backend, " -- /bin/echo 'a b'\n"));
    if (!is_root()) continue;  // these take root
    struct stat before {}, after {};
    std::string log = place("log");
    write_text(log, "");
    ASSERT_EQ(::stat(log.c_str(), &before), 0);
    std::string command = cat("cd ", place(""), " && ", hotcell_path(), wrapped.out.substr(7, wrapped.out.size() - 8), " <", log, " >>", log);
    int code = -1;
    std::string out = shell_output({"/bin/sh", "-c", command}, "", &code);
    EXPECT_EQ(code, 0) << out;
    EXPECT_EQ(read_text(log), "a b\n");
    ASSERT_EQ(::stat(log.c_str(), &after), 0);
    EXPECT_EQ(after.st_uid, before.st_uid) << backend;
    EXPECT_EQ(after.st_mode, before.st_mode) << backend;
  }
}

TEST_F(BackendCli, AWaiverIsInTheResultAndInTheAudit) {
  const std::vector<std::string> words = {"run", "--json", "--backend", "bwrap", "--read", dir_.path(), "--deny", dir_.path() + "/secret"};
  auto with = [&](std::vector<std::string> more) {
    auto all = words;
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", "/bin/true"});
    return hotcell(all);
  };
  auto refused = with({"--state", place("state")});
  EXPECT_EQ(refused.code, 125) << refused.describe();
  EXPECT_NE(refused.err.find("--waive deny"), std::string::npos) << refused.err;
  EXPECT_NE(::access(place("state/audit.jsonl").c_str(), F_OK), 0) << "nothing was waived";
  auto ran = with({"--waive", "deny", "--state", place("state")});
  ASSERT_EQ(ran.code, 0) << ran.describe();
  Json j(ran.out);
  EXPECT_EQ(j.text("denials/0/layer"), "waiver") << ran.out;
  auto shown = hotcell({"audit", "show", "--state", place("state")});
  ASSERT_EQ(shown.code, 0) << shown.describe();
  EXPECT_NE(shown.out.find("statement_waived"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("deny was waived: bubblewrap has no masks"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(j.text("id")), std::string::npos) << "of that run: " << shown.out;
  EXPECT_EQ(hotcell({"audit", "verify", "--state", place("state")}).code, 0);
  // Where it cannot be written down it is not waived.
  write_text(place("file"), "");
  auto nowhere = with({"--waive", "deny", "--state", place("file")});
  EXPECT_EQ(nowhere.code, 125) << nowhere.describe();
  EXPECT_NE(nowhere.err.find("cannot be put into the audit log"), std::string::npos) << nowhere.err;
}

TEST_F(BackendCli, TwoWaysToChooseAreOneTooMany) {
  for (std::vector<std::string> words : {std::vector<std::string>{"--backend", "none", "--level", "maximum"}, {"--backend", "none", "--tier", "strong"}, {"--level", "off", "--tier", "strong"}}) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--", "/bin/echo", "ran"});
    auto called = hotcell(words);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.out, "");
  }
  auto elsewhere = hotcell({"run", "--level", "seatbelt", "--", "/bin/echo", "ran"});
  EXPECT_EQ(elsewhere.code, 125) << elsewhere.describe();
  EXPECT_NE(elsewhere.err.find("only on macOS"), std::string::npos) << elsewhere.err;
  // The names of other tools for the same.
  for (auto level : {"default", "process", "auto", "namespace", "chroot"}) {
    auto called = hotcell({"run", "--json", "--level", level, "--", "/bin/true"});
    EXPECT_EQ(called.code, 0) << called.describe();
    EXPECT_EQ(Json(called.out).text("enforcement/backend"), "native") << level;
  }
}

// Whoever asks for more than a native cell does not get one and believe it to be more.
TEST_F(BackendCli, ACellThatLastsIsNativeOrRefused) {
  for (std::vector<std::string> words : {std::vector<std::string>{"--level", "off"}, {"--level", "wasm"}, {"--level", "container"}, {"--level", "maximum"}, {"--tier", "strong"}}) {
    words.insert(words.begin(), {"cell", "create", "--stopped", "--state", place("cells")});
    auto called = hotcell(words);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.out, "") << called.describe();
    EXPECT_TRUE(called.err.find("a cell that lasts is native") != std::string::npos || called.err.find("nothing that holds it works here") != std::string::npos) << called.err;
  }
}

// Where user namespaces are forbidden: a namespace of ours that allows no more of them.
TEST_F(BackendCli, TheDefaultLevelFallsBackAndSaysSo) {
  auto there = [&](const std::string& options, int* code) {
    std::string line = cat("export HOME=", dir_.path(), " XDG_CACHE_HOME=", place("cache"), "; mkdir -p \"$XDG_CACHE_HOME\"; chmod 777 \"$XDG_CACHE_HOME\"; ",
                           is_root() ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "",
                           "unshare --user --map-current-user --keep-caps sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all ", hotcell_path(), " run ", options, " -- /bin/echo ran' 2>&1");
    return shell_output({"/bin/sh", "-c", line}, "", code);
  };
  int code = -1;
  auto native = there("--backend native", &code);
  EXPECT_NE(code, 0) << "the control: it does not work there: " << native;
  EXPECT_EQ(native.find("ran\n"), std::string::npos) << native;
  auto fell = there("--level default", &code);
  EXPECT_EQ(code, 0) << fell;
  EXPECT_NE(fell.find("level default: landlock works here; before it: native: "), std::string::npos) << fell;
  EXPECT_NE(fell.find("ran\n"), std::string::npos) << fell;
  // Not where the policy says what only namespaces hold, nor where every layer is asked for.
  auto denied = there(cat("--level default --read ", dir_.path(), " --deny ", dir_.path(), "/x"), &code);
  EXPECT_NE(code, 0) << denied;
  EXPECT_NE(denied.find("landlock: cannot hold this policy: deny"), std::string::npos) << denied;
  EXPECT_EQ(denied.find("ran\n"), std::string::npos) << denied;
  auto enhanced = there("--level enhanced", &code);
  EXPECT_NE(code, 0) << enhanced;
  EXPECT_EQ(enhanced.find("ran\n"), std::string::npos) << enhanced;
}

TEST_F(BackendCli, TheListSaysWhatBecomesOfThisPolicy) {
  auto plain = hotcell({"backend", "list", "native", "bwrap", "none", "--json"});
  ASSERT_EQ(plain.code, 0) << plain.describe();
  Json j(plain.out);
  EXPECT_EQ(j.text("0/name"), "native");
  EXPECT_EQ(j.text("0/works"), "true");
  EXPECT_GT(std::stoi(j.text("0/start_us")), 0) << "measured here";
  for (auto backend : {"0", "1", "2"}) EXPECT_EQ(j.size(cat(backend, "/policy")), 9u) << "every statement: " << plain.out;
  EXPECT_EQ(j.find_by_name("1/policy", "deny", "status"), "(missing)");
  EXPECT_EQ(j.text("1/policy/1/status"), "full") << "nothing is denied";
  EXPECT_EQ(j.text("2/policy/0/status"), "none") << "no wall";
  auto denied = hotcell({"backend", "list", "native", "bwrap", "--json", "--read", dir_.path(), "--deny", dir_.path() + "/x", "--network", "proxy"});
  ASSERT_EQ(denied.code, 0) << denied.describe();
  Json d(denied.out);
  EXPECT_EQ(d.text("0/policy/1/status"), "full") << denied.out;
  EXPECT_EQ(d.text("1/policy/1/status"), "none") << denied.out;
  EXPECT_EQ(d.text("1/policy/2/status"), "none") << denied.out;
  auto text = hotcell({"backend", "list", "bwrap", "--read", dir_.path(), "--deny", dir_.path() + "/x"});
  EXPECT_NE(text.out.find(cat("policy: not held: deny; in part: processes", is_root() ? "" : ", memory, cpu", ", disk")), std::string::npos) << text.out;
  EXPECT_EQ(hotcell({"backend", "list", "bwarp"}).code, 125);
}

TEST_F(BackendCli, BasicLooksAtCommandsAndSaysThatItIsNoWall) {
  auto refused = hotcell({"run", "--backend", "basic", "--", "/bin/sh", "-c", "echo ran; reboot --help"});
  EXPECT_EQ(refused.code, 125) << refused.describe();
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("blocked_command: reboot is not run here"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("no wall"), std::string::npos) << refused.err;
  auto looks = hotcell({"run", "--backend", "basic", "--backend-option", "basic.shell=read_only", "--", "/bin/sh", "-c", "ls / | grep -c usr"});
  EXPECT_EQ(looks.out, "1\n") << looks.describe();
  auto writes = hotcell({"run", "--backend", "basic", "--backend-option", "basic.shell=read_only", "--", "/bin/sh", "-c", "echo ran; echo x > f"});
  EXPECT_EQ(writes.code, 125) << writes.describe();
  EXPECT_EQ(writes.out, "");
  EXPECT_EQ(hotcell({"run", "--backend", "basic", "--", "/bin/sh", "-c", "echo x > f && cat f"}).out, "x\n") << "the control";
}

TEST_F(BackendCli, WhatIsNoWallStartsWhereItWasTold) {
  ::mkdir(place("g").c_str(), 0777);
  ::chmod(place("g").c_str(), 0777);
  ::chmod(dir_.path().c_str(), 0755);
  for (auto backend : {"basic", "none"}) {
    EXPECT_EQ(hotcell({"run", "--backend", backend, "--workdir", "/usr", "--", "/bin/pwd"}).out, "/usr\n") << backend;
    auto wrote = hotcell({"run", "--backend", backend, "--write", place("g"), "--workdir", place("g"), "--", "/bin/sh", "-c", cat("echo x > ", backend)});
    EXPECT_EQ(wrote.code, 0) << wrote.describe();
    EXPECT_EQ(::access(place(cat("g/", backend)).c_str(), F_OK), 0) << "it is not in a folder that goes with the run: " << wrote.describe();
    EXPECT_EQ(hotcell({"run", "--backend", backend, "--workdir", place("g"), "--", "/bin/pwd"}).code, 125) << "not granted";
  }
}

// A program whose root was named does not run on the host's folders instead.
TEST_F(BackendCli, ASettingThatWouldBeIgnoredIsRefused) {
  const std::string root = cat("oci.rootfs=", dir_.path());
  for (std::vector<std::string> words : {std::vector<std::string>{}, {"--backend", "bwrap"}, {"--backend", "docker"}, {"--backend", "landlock"}, {"--level", "off"}, {"--level", "default"}, {"--level", "docker"}}) {
    words.insert(words.begin(), {"run", "--backend-option", root});
    words.insert(words.end(), {"--", "/bin/echo", "ran"});
    auto called = hotcell(words);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.out, "");
    EXPECT_NE(called.err.find("it cannot do what oci.rootfs says; that is for crun, runc, runsc and oci"), std::string::npos) << called.err;
  }
  auto cell = hotcell({"cell", "create", "--stopped", "--state", place("cells"), "--backend-option", root});
  EXPECT_EQ(cell.code, 125) << cell.describe();
  EXPECT_EQ(hotcell({"run", "--backend", "bwrap", "--backend-option", "docker.socket=/s", "--", "/bin/true"}).code, 125);
  // For a level it says where one of several is.
  EXPECT_EQ(hotcell({"run", "--level", "default", "--backend-option", "docker.socket=/s", "--", "/bin/true"}).code, 0);
  EXPECT_EQ(hotcell({"backend", "list", "native", "--backend-option", root}).code, 0) << "a list is of all of them";
}

TEST_F(BackendCli, ExplainInJsonShowsTheModuleAndTheCellAroundIt) {
  std::ofstream(place("x.c")) << "int main(void) { return 0; }\n";
  auto called = hotcell({"explain", "--json", "--backend", "wasm", place("x.c")});
  ASSERT_EQ(called.code, 0) << called.describe();
  Json j(called.out);
  EXPECT_EQ(j.text("backend"), "wasm");
  EXPECT_EQ(j.size("policy"), 9u) << called.out;
  EXPECT_EQ(j.text("policy/4/detail"), "a module starts none") << called.out;
  auto native = hotcell({"explain", "--json", "--", "/bin/true"});
  ASSERT_EQ(native.code, 0) << native.describe();
  EXPECT_EQ(j.keys("cell"), Json(native.out).keys()) << "what the native backend shows by itself";
}

TEST_F(BackendCli, ExplainRefusesWhatRunRefuses) {
  for (auto command : {"run", "explain", "wrap"}) {
    auto called = hotcell({command, "--backend", "wasm", "--", "/bin/ls"});
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.out, "") << command;
    EXPECT_NE(called.err.find("backend wasm runs WASI modules"), std::string::npos) << called.err;
  }
}

// Also to whoever reads the result alone.
TEST_F(BackendCli, WhyTheseWallsIsInTheResult) {
  for (auto backend : {"basic", "none"}) {
    auto called = hotcell({"run", "--json", "--backend", backend, "--", "/bin/true"});
    ASSERT_EQ(called.code, 0) << called.describe();
    EXPECT_EQ(Json(called.out).text("notices/0"), cat("no wall: asked for by --backend ", backend)) << called.out;
    EXPECT_EQ(called.err, cat("hotcell: no wall: asked for by --backend ", backend, "\n")) << "once";
  }
  auto off = hotcell({"run", "--json", "--level", "off", "--", "/bin/true"});
  EXPECT_EQ(Json(off.out).text("notices/0"), "no wall: asked for by --level off") << off.out;
  auto native = hotcell({"run", "--json", "--", "/bin/true"});
  EXPECT_EQ(Json(native.out).size("notices"), 0u) << native.out;
}

TEST_F(BackendCli, BasicShowsNoCommandThatItWouldNotStart) {
  for (auto command : {"wrap", "explain"}) {
    auto refused = hotcell({command, "--backend", "basic", "--", "/bin/sh", "-c", "reboot --help"});
    EXPECT_EQ(refused.code, 125) << refused.describe();
    EXPECT_EQ(refused.out, "") << command;
    EXPECT_NE(refused.err.find("blocked_command: reboot is not run here"), std::string::npos) << refused.err;
    EXPECT_EQ(hotcell({command, "--backend", "basic", "--backend-option", "basic.shell=read_only", "--", "/bin/touch", "x"}).code, 125) << command;
    EXPECT_EQ(hotcell({command, "--backend", "basic", "--", "/bin/ls"}).code, 0) << command;
  }
  auto json = hotcell({"wrap", "--json", "--backend", "basic", "--", "/bin/ls"});
  for (auto statement : {"files", "network", "syscalls"}) EXPECT_NE(json.out.find(cat("\"", statement, "\"")), std::string::npos) << json.out;
  EXPECT_NE(hotcell({"wrap", "--backend", "basic", "--", "/bin/ls"}).err.find("no wall"), std::string::npos);
}

TEST_F(BackendCli, BasicReadsScriptsAndSaysWhatItCannotRead) {
  write_text(place("r.sh"), "#!/bin/sh\necho ran\nreboot --help\n");
  write_text(place("r"), "#!/bin/sh\necho ran\nreboot --help\n");
  ::chmod(place("r").c_str(), 0755);
  for (std::vector<std::string> words : {std::vector<std::string>{place("r.sh")}, {place("r")}, {"--language", "bash", "-c", "echo ran; reboot --help"}, {"--file", place("r.sh"), "--", "/bin/sh", "r.sh"}}) {
    words.insert(words.begin(), {"run", "--backend", "basic"});
    auto refused = hotcell(words);
    EXPECT_EQ(refused.code, 125) << refused.describe();
    EXPECT_EQ(refused.out, "") << refused.describe();
    EXPECT_NE(refused.err.find("blocked_command: reboot"), std::string::npos) << refused.err;
  }
  auto unread = hotcell({"run", "--json", "--backend", "basic", "--", "/bin/sh", "-c", "eval \"$NOTHING\""});
  EXPECT_EQ(unread.code, 0) << unread.describe();
  EXPECT_NE(unread.err.find("basic cannot read this before it runs: eval"), std::string::npos) << unread.err;
  EXPECT_EQ(Json(unread.out).size("notices"), 2u) << unread.out;
}

}  // namespace
}  // namespace hotcell::testing
