// Who may do what in a cell, and who is asked: a cell with decisions, and answers from other processes.
#include <sys/stat.h>

#include <thread>

#include "cells/cells.h"
#include "cells/decisions/decisions.h"
#include "cells/files/apply.h"

namespace hotcell::testing {
namespace {

using std::chrono::seconds;

constexpr char kRules[] = R"(
default: ask
timeout: 60s
protected: [.git, .env]
rules:
  - {command: "echo *", action: allow}
  - {command: "cat *", action: allow}
  - {command: "hotcell cell apply *", action: ask, reason: leaves the cell}
  - {command: "rm *", action: deny, reason: nothing is removed}
  - {read: "**", action: allow}
  - {write: out, action: allow}
  - {write: "*.key", action: deny, reason: no keys}
)";

class DecidedCells : public Cells {
 protected:
  void SetUp() override {
    Cells::SetUp();
    ASSERT_EQ(::chmod(state().c_str(), 0700), 0);  // the audit log is in it
  }
  // Beside the project: what is in it would be among the cell's files.
  std::string rules_file(std::string_view text) const {
    write_text(state() + "/rules.yaml", text);
    return state() + "/rules.yaml";
  }
  std::string decided(const std::string& name, std::string_view rules = kRules) const { return create(name, {"--decisions", rules_file(rules)}); }

  // Of the first question that waits.
  std::string question(const std::string& name, const std::string& field = "id") const {
    for (int i = 0; i < 600; ++i) {
      Json waiting = json({"questions", name});
      if (waiting.size("") > 0) return waiting.text("0/" + field);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << "nothing is asked about " << name;
    return {};
  }
  std::string audit() const { return hotcell({"audit", "show", "--state", state(), "--limit", "1000"}).out; }
  // The log is whole, and has this many lines of each action.
  void audited(const std::vector<std::pair<std::string, std::size_t>>& actions) const {
    Called verified = hotcell({"audit", "verify", "--state", state()});
    EXPECT_EQ(verified.code, 0) << verified.describe();
    EXPECT_EQ(verified.out.rfind("whole: ", 0), 0u) << verified.out;
    std::string all = audit();
    for (const auto& [action, count] : actions) {
      const std::string field = "\"sandbox_action\":\"" + action + "\"";
      std::size_t found = 0;
      for (std::size_t at = all.find(field); at != all.npos; at = all.find(field, at + 1)) ++found;
      EXPECT_EQ(found, count) << action << " in\n" << all;
    }
  }
};

TEST_F(DecidedCells, WhatIsAllowedRunsAndWhatIsDeniedDoesNot) {
  put("kept", "here");
  decided("work");
  EXPECT_EQ(good({"exec", "work", "--", "echo", "hi"}), "hi\n");
  refused({"exec", "work", "--", "rm", "kept"}, "denied by the decisions of work: rule 4: rm * (nothing is removed)");
  refused({"exec", "work", "--", "bash", "-c", "echo hi; rm kept"}, "rm kept: rule 4: rm * (nothing is removed)");
  refused({"exec", "work", "--detach", "--", "nice", "rm", "kept"}, "rule 4: rm *");
  EXPECT_EQ(good({"exec", "work", "--", "cat", "kept"}), "here") << "it was not removed";
  // Control: the same cell without decisions does as it is told.
  create("free");
  good({"exec", "free", "--", "rm", "kept"});
  EXPECT_NE(exec("free", {"cat", "kept"}).code, 0);
  EXPECT_EQ(json({"questions"}).size(""), 0u);
  audited({{"denied", 3}, {"asked", 0}});
}

TEST_F(DecidedCells, TheShellOfAnAgentIsAskedForEachCommand) {
  decided("work");
  EXPECT_EQ(shell("work", "echo one").out, "one\n");
  Called no = shell("work", "echo two; rm -rf /work");
  EXPECT_EQ(no.code, 125) << no.describe();
  EXPECT_EQ(no.out, "");
  EXPECT_NE(no.err.find("rule 4: rm *"), std::string::npos) << no.err;
  EXPECT_EQ(shell("work", "echo three").out, "three\n") << "the shell goes on";
  Call waits({"shell", "work", "--state", state(), "--", "x=1; id -u >/dev/null && echo done $x"});
  std::string id = question("work");
  good({"approve", id});
  Called done = waits.finish();
  EXPECT_EQ(done.code, 0) << done.describe();
  EXPECT_EQ(done.out, "done 1\n");
  EXPECT_NE(done.err.find("waiting for approval, question " + id + ": hotcell cell approve " + id), std::string::npos) << done.err;
  audited({{"denied", 1}, {"asked", 1}, {"approved", 1}});
}

TEST_F(DecidedCells, AProtectedPathIsTheSameFromWithinItsFolder) {
  put(".git/config", "theirs");
  decided("work", "default: allow\nprotected: [.git]\n");
  const std::string sentence = "writing .git/config: protected by .git";
  refused({"exec", "work", "--", "sh", "-c", "cd .git && echo ours > config"}, sentence);
  refused({"exec", "work", "--workdir", "/work/.git", "--", "sh", "-c", "echo ours > config"}, "writing /work/.git/config: protected by .git");
  EXPECT_EQ(shell("work", "cd .git").code, 0);
  Called no = shell("work", "echo ours > config");
  EXPECT_EQ(no.code, 125) << no.describe();
  EXPECT_NE(no.err.find(sentence), std::string::npos) << no.err;
  good({"context", "work", "create", "bash"});
  good({"context", "work", "run", "bash", "cd .git"});
  refused({"context", "work", "run", "bash", "echo ours > config"}, sentence);
  EXPECT_EQ(sh("work", "cat .git/config"), "theirs");
  // The control: elsewhere the name is free, and a shell that has come back is elsewhere.
  good({"exec", "work", "--", "sh", "-c", "echo ours > config"});
  EXPECT_EQ(shell("work", "cd ..; echo again >> config; cat config").out, "ours\nagain\n");
}

TEST_F(DecidedCells, VariablesThatChangeWhatRunsAreJudged) {
  decided("work", "default: deny\nrules: [{command: \"echo *\", action: allow}]\n");
  EXPECT_EQ(good({"exec", "work", "--env", "LANG=C", "--", "echo", "hi"}), "hi\n");
  refused({"exec", "work", "--env", "PATH=/work", "--", "echo", "hi"}, "PATH=/work echo hi: nothing matches");
  refused({"exec", "work", "--env", "LD_PRELOAD=/work/x.so", "--", "echo", "hi"}, "nothing matches");
}

TEST_F(DecidedCells, CodeInAContextIsJudgedAsItsInterpretersWords) {
  decided("work", "default: deny\nrules: [{command: \"echo *\", action: allow}]\n");
  good({"context", "work", "create", "bash"});
  EXPECT_EQ(good({"context", "work", "run", "bash", "echo hi"}), "hi\n");
  refused({"context", "work", "run", "bash", "echo hi; uname"}, "uname: nothing matches");
  good({"context", "work", "create", "python"});
  refused({"context", "work", "run", "python", "print(1+1)"}, "denied by the decisions of work: nothing matches");
  good({"grant", "work", "command", "python3 *"});
  EXPECT_EQ(good({"context", "work", "run", "python", "print(1+1)"}), "2\n");
  audited({{"denied", 2}, {"granted", 1}});
}

TEST_F(DecidedCells, ATerminalIsACommandToo) {
  decided("work", "rules: [{command: \"bash -i\", action: deny, reason: no terminals}]\n");
  auto keeper = client();
  cells::Ask open;
  open.verb = "shell.open";
  open.cell = "work";
  open.fields = {{"session", "main"}, {"kind", "terminal"}};
  auto opened = keeper.ask(open);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("no terminals"), std::string::npos) << opened.error().message;
  // Control: an agent's shell is opened; what it is told is judged.
  open.fields = {{"session", "agent"}, {"kind", "agent"}};
  EXPECT_TRUE(keeper.ask(open).ok());
}

TEST_F(DecidedCells, WhatIsAskedAboutWaitsForAnotherProcess) {
  std::string id_of_cell = decided("work");
  Call waits(cell_words({"exec", "work", "--", "sh", "-c", "seq 3"}));
  std::string id = question("work");
  Json waiting = json({"questions"});
  EXPECT_EQ(waiting.size(""), 1u);
  EXPECT_EQ(waiting.text("0/cell"), id_of_cell);
  EXPECT_EQ(waiting.text("0/class"), "command");
  EXPECT_EQ(waiting.text("0/subject"), "sh -c 'seq 3'");
  EXPECT_EQ(waiting.text("0/state"), "pending");
  EXPECT_NE(good({"questions", "work"}).find(id + "  work  command  sh -c 'seq 3'"), std::string::npos);
  EXPECT_EQ(good({"exec", "work", "--", "echo", "meanwhile"}), "meanwhile\n") << "others do not wait";
  good({"approve", id});
  Called done = waits.finish();
  EXPECT_EQ(done.code, 0) << done.describe();
  EXPECT_EQ(done.out, "1\n2\n3\n");
  EXPECT_NE(done.err.find(id), std::string::npos) << done.err;
  refused({"approve", id}, id + " was approved already by uid ");
  refused({"deny", "q-unknown"}, "there is no question q-unknown");
  EXPECT_EQ(json({"questions"}).size(""), 0u);
  // A yes is for once: the same is asked anew, and this time the answer is no.
  Call again(cell_words({"exec", "work", "--", "sh", "-c", "seq 3"}));
  std::string second = question("work");
  EXPECT_NE(second, id);
  good({"deny", second});
  Called no = again.finish();
  EXPECT_EQ(no.code, 125) << no.describe();
  EXPECT_EQ(no.out, "");
  EXPECT_NE(no.err.find("denied by uid "), std::string::npos) << no.err;
  audited({{"asked", 2}, {"approved", 1}, {"refused", 1}});
}

TEST_F(DecidedCells, NoAnswerInTimeIsANo) {
  decided("work", "timeout: 2s\n");
  Called late = cell({"exec", "work", "--", "touch", "/work/made"});
  EXPECT_EQ(late.code, 125) << late.describe();
  EXPECT_NE(late.err.find("nobody approved it in time, so it is denied"), std::string::npos) << late.err;
  EXPECT_EQ(json({"questions"}).size(""), 0u);
  EXPECT_EQ(good({"diff", "work"}).find("made"), std::string::npos);
  audited({{"asked", 1}, {"expired", 1}, {"approved", 0}});
}

TEST_F(DecidedCells, AnAskerThatIsGoneNeedsNoAnswer) {
  decided("work");
  for (int signal : {SIGKILL, SIGTERM}) {
    std::string id;
    {
      Call waits(cell_words({"exec", "work", "--", "touch", "/work/made"}));
      id = question("work");
      waits.send(signal);
      waits.finish();
    }
    for (int i = 0; i < 200 && json({"questions"}).size("") > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    refused({"approve", id}, id + " was denied already by the asker");
  }
  EXPECT_EQ(good({"diff", "work"}).find("made"), std::string::npos);
  audited({{"asked", 2}, {"withdrawn", 2}, {"approved", 0}});
}

TEST_F(DecidedCells, AKeeperThatIsKilledTakesItsQuestionsAlong) {
  decided("work");
  Call waits(cell_words({"exec", "work", "--", "touch", "/work/made"}));
  std::string id = question("work");
  kill_keeper();
  Called gone = waits.finish();
  EXPECT_EQ(gone.code, 125) << gone.describe();
  good({"start", "work"});
  EXPECT_EQ(good({"exec", "work", "--", "echo", "alive"}), "alive\n") << "its decisions are still there";
  refused({"exec", "work", "--", "rm", "x"}, "rule 4: rm *");
  refused({"approve", id}, id + " was denied already by its keeper ended");
  EXPECT_EQ(good({"diff", "work"}).find("made"), std::string::npos);
  audited({{"asked", 1}, {"withdrawn", 1}, {"denied", 1}});
}

TEST_F(DecidedCells, AGrantIsAnAnswerBeforehandUntilItExpires) {
  decided("work");
  decided("other");
  good({"grant", "work", "command", "seq *"});
  EXPECT_EQ(good({"exec", "work", "--", "seq", "2"}), "1\n2\n");
  {
    Call asked(cell_words({"exec", "other", "--", "seq", "2"}));  // of that cell alone
    good({"deny", question("other")});
    EXPECT_EQ(asked.finish().code, 125);
  }
  Json held = json({"grants", "work"});
  EXPECT_EQ(held.size(""), 1u);
  EXPECT_EQ(held.text("0/pattern"), "seq *");
  EXPECT_EQ(held.text("0/expires_at"), "null");
  good({"revoke", "work", "seq *"});
  refused({"revoke", "work", "seq *"}, "there is no grant 'seq *' of this cell");
  good({"grant", "work", "command", "seq *", "--ttl", "3s"});
  EXPECT_NE(good({"grants", "work"}).find("command  seq *  by uid "), std::string::npos);
  for (int i = 0; i < 400 && json({"grants", "work"}).size("") > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Call again(cell_words({"exec", "work", "--", "seq", "2"}));
  good({"deny", question("work")});
  EXPECT_EQ(again.finish().code, 125);
  refused({"grant", "work", "everything", "x"}, "'everything' is none of command, read, write");
  refused({"grant", "work", "write", "a//b"}, "has an empty segment");
  create("free");
  refused({"grant", "free", "command", "x"}, "free has no decisions");
  audited({{"granted", 2}, {"revoked", 1}, {"asked", 2}, {"refused", 2}});
}

TEST_F(DecidedCells, FilesAreReadAndWrittenAsTheRulesSay) {
  put(".git/config", "[core]");
  decided("work");
  good({"mkdir", "work", "out"});
  good({"write", "work", "out/a"}, "text");
  EXPECT_EQ(good({"cat", "work", "out/a"}), "text");
  EXPECT_EQ(good({"cat", "work", ".git/config"}), "[core]") << "looking is not writing";
  refused({"write", "work", "out/my.key"}, "rule 7: *.key (no keys)");
  // Protected wins over whatever is granted.
  for (const char* pattern : {"**", ".git", ".git/**"}) good({"grant", "work", "write", pattern});
  for (const char* path : {".git/config", ".GIT/x", "out/../.git/x", ".env"}) refused({"write", "work", path}, "protected by .");
  refused({"remove", "work", ".git/config"}, "protected by .git");
  refused({"move", "work", "out/a", ".env"}, "protected by .env");
  good({"write", "work", "elsewhere"}, "granted");
  good({"revoke", "work", "**"});
  Call waits(cell_words({"write", "work", "elsewhere"}), "asked");
  EXPECT_EQ(question("work", "class"), "write");
  good({"approve", question("work")});
  EXPECT_EQ(waits.finish().code, 0);
  EXPECT_EQ(good({"cat", "work", "elsewhere"}), "asked");
  audited({{"denied", 7}, {"granted", 3}, {"revoked", 1}, {"asked", 1}, {"approved", 1}});
}

TEST_F(DecidedCells, NothingReachesTheProjectWithoutAnAnswer) {
  put("a.txt", "old");
  decided("work");
  good({"grant", "work", "command", "sh *"});
  good({"grant", "work", "command", "printf *"});
  good({"grant", "work", "command", "mkdir *"});
  good({"grant", "work", "write", "a.txt"});
  good({"exec", "work", "--", "sh", "-c", "printf new > a.txt"});
  Call waits(cell_words({"apply", "work"}));
  EXPECT_EQ(question("work", "subject"), "hotcell cell apply work a.txt");
  EXPECT_EQ(in_project("a.txt"), "old");
  // What comes later was not in the question.
  good({"mkdir", "work", "out"});
  good({"write", "work", "out/late"}, "late");
  good({"approve", question("work")});
  Called applied = waits.finish();
  EXPECT_EQ(applied.code, 0) << applied.describe();
  EXPECT_EQ(in_project("a.txt"), "new");
  EXPECT_EQ(in_project("out/late"), "");
  {
    Call denied_apply(cell_words({"apply", "work"}));
    good({"deny", question("work")});
    EXPECT_EQ(denied_apply.finish().code, 125);
    EXPECT_EQ(in_project("out/late"), "");
  }
  // A program in the cell writes what it likes there; a protected path does not leave, whoever asks and however.
  good({"grant", "work", "command", "hotcell cell apply *"});
  good({"grant", "work", "command", "python3 *"});
  good({"exec", "work", "--", "python3", "-c", "import os; os.makedirs('.git/hooks'); open('.git/hooks/pre-commit', 'w').write('#!/bin/sh')"});
  refused({"apply", "work"}, "protected by .git");
  refused({"apply", "work", "--allow-protected"}, "protected by .git");
  EXPECT_EQ(in_project(".git/hooks/pre-commit"), "");
  audited({{"asked", 2}, {"approved", 1}, {"refused", 1}});
}

// What somebody says yes to is what was there when it was asked, not what the cell puts there while they think.
TEST_F(DecidedCells, WhatChangesAfterItWasApprovedIsNotApplied) {
  put("a.txt", "old");
  decided("work", "default: allow\ntimeout: 60s\nrules: [{command: \"hotcell cell apply *\", action: ask}]\n");
  for (const bool changes : {true, false}) {
    good({"exec", "work", "--", "sh", "-c", "printf shown > a.txt; mkdir -p new; printf shown > new/b"});
    Call waits(cell_words({"apply", "work"}));
    const std::string id = question("work");
    if (changes) good({"exec", "work", "--", "sh", "-c", "printf other > a.txt"});
    // The same words, which are no longer about the same.
    if (changes) refused({"apply", "work"}, "the same is asked about already, with other content (question " + id + ")");
    good({"approve", id});
    Called done = waits.finish();
    EXPECT_EQ(done.code == 0, !changes) << done.describe();
    EXPECT_EQ((done.out + done.err).find("a.txt: changed after it was approved") != std::string::npos, changes) << done.describe();
    EXPECT_EQ(in_project("a.txt"), changes ? "old" : "shown");
    EXPECT_EQ(in_project("new/b"), changes ? "" : "shown") << "all of it or nothing";
  }
}

TEST_F(DecidedCells, NothingToApplyIsNothingToAskAbout) {
  put("a.txt", "old");
  decided("work", "default: ask\ntimeout: 60s\n");
  Called done = hotcell(cell_words({"apply", "work"}));
  EXPECT_EQ(done.code, 0) << done.describe();
  EXPECT_NE(done.out.find("0 written, 0 removed"), std::string::npos) << done.describe();
  EXPECT_EQ(in_project("a.txt"), "old");
}

// Nobody was asked: then nobody has seen it as it was, and what goes on writing is no reason to refuse.
TEST_F(DecidedCells, WhatARuleAllowsMayGoOnChanging) {
  decided("work", "default: allow\n");
  good({"exec", "work", "-d", "--", "sh", "-c", "while :; do echo line >> log; done"});
  for (int i = 0; i < 25; ++i) {
    Called done = hotcell(cell_words({"apply", "work", "--force"}));
    // Where there is no freezer the program may write one line more while it is told to stop.
    if (done.code != 0) {
      EXPECT_EQ(done.err, "hotcell: log: changed while it was being applied\n") << done.describe();
    }
  }
  EXPECT_TRUE(in_project("log").starts_with("line\n"));
}

// Given up while the changes are still looked at: before there is a question that could be withdrawn.
TEST_F(DecidedCells, AnApplyThatIsGivenUpAtOnceAsksNothing) {
  put("a.txt", "old");
  decided("work", "default: allow\nrules: [{command: \"hotcell cell apply *\", action: ask}]\n");
  good({"write", "work", "a.txt"}, "new");
  auto keeper = client();
  cells::Ask apply;
  apply.verb = "apply";
  apply.cell = "work";
  auto number = keeper.send(apply);
  ASSERT_TRUE(number.ok());
  cells::Ask kill;
  kill.verb = "kill";
  kill.number = number.value();
  ASSERT_TRUE(keeper.send(kill).ok());
  std::string said;
  for (int i = 0; i < 100 && said.empty(); ++i)
    if (auto told = keeper.receive(std::chrono::milliseconds(100)); told.ok() && told.value() && told.value()->last && told.value()->number == number.value())
      said = told.value()->error ? told.value()->error->message : "applied";
  EXPECT_EQ(said, "cancelled before it began");
  EXPECT_EQ(json({"questions"}).size(""), 0u);
  EXPECT_EQ(in_project("a.txt"), "old");
}

TEST_F(DecidedCells, AForkIsHeldToTheSame) {
  decided("work");
  good({"fork", "work", "twin"});
  refused({"exec", "twin", "--", "rm", "x"}, "denied by the decisions of twin: rule 4: rm *");
  EXPECT_EQ(inspect("twin").text("decisions"), inspect("work").text("decisions"));
}

TEST_F(DecidedCells, ARemovedCellTakesItsQuestionsAndGrants) {
  std::string first = decided("work");
  good({"grant", "work", "command", "seq *"});
  Call waits(cell_words({"exec", "work", "--", "uname"}));
  question("work");
  good({"rm", "work"});
  Called gone = waits.finish();
  EXPECT_EQ(gone.code, 125) << gone.describe();
  EXPECT_NE(decided("work"), first);
  EXPECT_EQ(json({"grants", "work"}).size(""), 0u);
}

TEST_F(DecidedCells, AFileOfDecisionsIsReadBeforeTheCellIsMade) {
  refused({"create", "--name", "work", "--decisions", rules_file("default: ask\nrulez: []\n")}, "rules.yaml:2: unknown key \"rulez\"; did you mean \"rules\"?");
  refused({"create", "--name", "work", "--decisions", state() + "/none"}, "--decisions: ");
  EXPECT_EQ(json({"list"}).size(""), 0u);
  create("work", {"--decisions", "standard"});
  EXPECT_EQ(good({"exec", "work", "--", "ls", "/work"}), "");
  refused({"exec", "work", "--", "sudo", "ls"}, "asks for the rights of root");
  // A folder that others may look into is no place for an audit log.
  ASSERT_EQ(::chmod(state().c_str(), 0755), 0);
  end_keeper();
  refused({"create", "--name", "open", "--decisions", "standard"}, "must be closed to everybody else");
  ASSERT_EQ(::chmod(state().c_str(), 0700), 0);
}

TEST(StandardDecisions, ProtectWhatAnApplyProtects) {
  EXPECT_EQ(cells::standard_decisions().protected_paths, cells::standard_protected_paths());
}

}  // namespace
}  // namespace hotcell::testing
