// The shell that is kept between commands, and the one for people. Each defect of the shells this replaces is a test.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/strings.h"
#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Shells : public Cells {
 protected:
  void SetUp() override {
    Cells::SetUp();
    create("work", {"--processes", "40"});
  }
  Called control(std::vector<std::string> options) const {
    std::vector<std::string> words = {"shell", "work", "--state", state()};
    words.insert(words.end(), options.begin(), options.end());
    return hotcell(std::move(words));
  }
};

TEST_F(Shells, DirectoryVariablesAndFunctionsAreKept) {
  EXPECT_EQ(shell("work", "mkdir -p deep/er; cd deep/er; export COLOUR=blue; plain=1; greet() { echo hello $1; }").code, 0);
  Called next = shell("work", "pwd; echo $COLOUR $plain; greet you; sh -c 'echo $COLOUR'");
  EXPECT_EQ(next.out, "/work/deep/er\nblue 1\nhello you\nblue\n") << next.describe();
  EXPECT_EQ(shell("work", "false").code, 1);
  EXPECT_EQ(shell("work", "echo $?").out, "1\n") << "the last command's code is there, too";
  EXPECT_EQ(shell("work", "(exit 42)").code, 42);
  EXPECT_EQ(shell("work", "alias ll='echo aliased'").code, 0);
  EXPECT_EQ(shell("work", "ll").out, "aliased\n");
}

// SEEDS §4.6: there were plain pipes, and `tty` said "not a tty".
TEST_F(Shells, TtyIsATerminal) {
  Called tty = shell("work", "tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all");
  EXPECT_EQ(tty.code, 0);
  EXPECT_EQ(tty.out, "/dev/pts/0\nall\n") << tty.describe();
  // The control: an execution has none.
  EXPECT_NE(exec("work", {"tty"}).code, 0);
}

// SEEDS §4.6: output with `__CMD_DONE__ 0` in it ended the command.
TEST_F(Shells, OutputThatLooksLikeAMarkerEndsNothing) {
  Called spoof = shell("work", "echo '__CMD_DONE__ 0'; sleep 0.3; echo still here; exit_code() { return 9; }; exit_code");
  EXPECT_EQ(spoof.out, "__CMD_DONE__ 0\nstill here\n");
  EXPECT_EQ(spoof.code, 9);
  // Not even what the shell itself would write: the word of an earlier command is worth nothing.
  Called shapes = shell("work", "printf '%s 0\\0' 0123456789abcdef0123456789abcdef; echo; false");
  EXPECT_EQ(shapes.code, 1);
}

// SEEDS §4.6: and every result after that was the one before.
TEST_F(Shells, ResultsAreNeverShiftedByOneCommand) {
  for (int i = 0; i < 10; ++i) {
    Called each = shell("work", "echo '__CMD_DONE__ 0'; echo number " + std::to_string(i) + "; (exit " + std::to_string(i) + ")");
    EXPECT_EQ(each.out, "__CMD_DONE__ 0\nnumber " + std::to_string(i) + "\n");
    EXPECT_EQ(each.code, i);
  }
}

// SEEDS §4.6: a command that reads its input ate the marker.
TEST_F(Shells, ACommandThatEatsItsInputIsToldToWaitAndShiftsNothing) {
  Json waits = shell_json("work", "cat");
  EXPECT_EQ(waits.text("state"), "awaiting_input");
  EXPECT_EQ(waits.text("exit_code"), "null");
  EXPECT_EQ(control({"--interrupt"}).code, 0);
  for (int i = 0; i < 200 && shell("work", "true").code == 125; ++i) std::this_thread::sleep_for(milliseconds(50));
  Called next = shell("work", "echo mine");
  EXPECT_EQ(next.out, "mine\n");
  EXPECT_EQ(next.code, 0);
}

// SEEDS §4.6: past its time the command went on running.
TEST_F(Shells, ATimedOutCommandEndsAndTheShellLivesOn) {
  ASSERT_EQ(shell("work", "cd /tmp; kept=yes").code, 0);
  Json late = shell_json("work", "echo begun; sleep 86421; echo never", {"--timeout", "1s"});
  EXPECT_EQ(late.text("state"), "timeout");
  EXPECT_EQ(late.text("output").substr(0, 6), "begun\n");
  EXPECT_EQ(late.text("output").find("never"), std::string::npos);
  EXPECT_TRUE(gone_within("86421", seconds(5)));
  EXPECT_EQ(shell("work", "echo $kept $PWD").out, "yes /tmp\n");
}

// bash reads an order byte by byte. Interrupted meanwhile, it took the rest for a command and ran it, whatever it began with: what
// decisions had been asked about was another one.
TEST_F(Shells, WhatIsInterruptedWhileItIsReadIsNotRunInPart) {
  const std::string halves = "first=1;" + std::string(50'000, ' ') + "second=1";
  for (const char* timeout : {"1ms", "2ms", "5ms", "10ms", "20ms"}) {
    ASSERT_EQ(shell("work", "first= second=").code, 0);
    Json cut = shell_json("work", halves, {"--timeout", timeout});
    Called after = shell("work", "echo $first/$second");
    EXPECT_NE(after.out, "/1\n") << timeout << ": " << cut.text("state");
    EXPECT_EQ(after.out.size(), after.out.find('\n') + 1) << "one line, its own: " << after.describe();
  }
}

// The same by Ctrl-C, which comes by the terminal, whenever somebody types it.
TEST_F(Shells, WhatIsTypedWhileACommandIsReadDoesNotCutIt) {
  const std::string halves = "first=1;" + std::string(50'000, ' ') + "second=1";
  auto keeper = client();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(shell("work", i == 10 ? "trap 'caught=$((caught+1))' INT; first= second=" : "first= second=").code, 0);
    std::thread types([&] {
      std::this_thread::sleep_for(milliseconds(i));
      cells::Ask ask;
      ask.verb = "shell.input";
      ask.cell = "work";
      ask.fields["session"] = "agent";
      ask.words = {"\x03"};
      keeper.ask(std::move(ask)).ignore("the command may be over");
    });
    Called ran = shell("work", halves);
    types.join();
    Called after = shell("work", "echo $first/$second");
    EXPECT_TRUE(after.out == "1/1\n" || after.out == "/\n") << i << ": " << ran.describe() << after.describe();
  }
  EXPECT_NE(shell("work", "trap -p INT").out.find("caught+1"), std::string::npos) << "what a command has trapped is trapped in the next one";
}

TEST_F(Shells, WhatIgnoresTheInterruptIsKilled) {
  ASSERT_EQ(shell("work", "kept=yes").code, 0);
  Json late = shell_json("work", "sh -c 'trap \"\" INT; exec sleep 86422'", {"--timeout", "1s"});
  EXPECT_EQ(late.text("state"), "timeout");
  EXPECT_TRUE(gone_within("86422", seconds(5)));
  EXPECT_EQ(shell("work", "echo $kept").out, "yes\n");
  // A loop of the shell itself is interrupted like a program.
  EXPECT_EQ(shell_json("work", "while :; do :; done", {"--timeout", "1s"}).text("state"), "timeout");
  EXPECT_EQ(shell("work", "echo $kept").out, "yes\n");
}

// SEEDS §4.6: cd and setEnv were text put together for a shell.
TEST_F(Shells, DirectoriesAndVariablesAreWordsNotCode) {
  // What `cd "<d>"` and `export K="v"` of others would run.
  sh("work", "mkdir '$(touch pwned)' '\"; touch pwned; \"'");
  EXPECT_EQ(good({"exec", "work", "--workdir", "$(touch pwned)", "--", "pwd"}), "/work/$(touch pwned)\n");
  EXPECT_EQ(good({"exec", "work", "--workdir", "\"; touch pwned; \"", "--", "pwd"}), "/work/\"; touch pwned; \"\n");
  EXPECT_EQ(good({"exec", "work", "--env", "K=\"; touch pwned; \"$(touch pwned)`touch pwned`", "--", "sh", "-c", "printf %s \"$K\""}),
            "\"; touch pwned; \"$(touch pwned)`touch pwned`");
  EXPECT_EQ(sh("work", "find / -name pwned 2>/dev/null || true"), "");
}

TEST_F(Shells, JobsInTheBackgroundShiftNothing) {
  Called begun = shell("work", "(sleep 0.4; echo late) & echo now");
  EXPECT_EQ(begun.code, 0);
  EXPECT_NE(begun.out.find("now\n"), std::string::npos);
  EXPECT_EQ(begun.out.find("late"), std::string::npos);
  std::this_thread::sleep_for(milliseconds(800));
  Called next = shell("work", "echo after; (exit 3)");
  EXPECT_EQ(next.out, "after\n") << "what the job wrote in between belongs to nobody";
  EXPECT_EQ(next.code, 3);
  EXPECT_EQ(shell("work", "sleep 86423 & jobs -r | wc -l").code, 0);
  EXPECT_EQ(shell("work", "jobs -r | grep -c 86423").out, "1\n");
  EXPECT_EQ(shell("work", "kill %%").code, 0);
}

// An interactive bash forgets what has ended when it shows its prompt, and this one shows none.
TEST_F(Shells, JobsAreThoseThatWerePutIntoTheBackground) {
  EXPECT_EQ(shell("work", "/bin/true; /bin/echo one | cat").out, "one\n");
  EXPECT_EQ(shell("work", "jobs").out, "");
  EXPECT_EQ(shell("work", "sleep 86423 & sleep 0.2 & sleep 86424 &").code, 0);
  EXPECT_EQ(shell("work", "/bin/true; /bin/false").code, 1);
  std::string listed = shell("work", "echo $?; jobs; jobs -r | grep -c 8642").out;
  EXPECT_EQ(listed.substr(0, 2), "1\n") << listed;
  EXPECT_NE(listed.find("[1] "), std::string::npos) << listed;
  EXPECT_NE(listed.find("sleep 86423 &"), std::string::npos) << listed;
  EXPECT_NE(listed.find("[3]+"), std::string::npos) << listed;
  EXPECT_EQ(listed.find("/bin/"), std::string::npos) << listed;
  EXPECT_EQ(listed.substr(listed.size() - 3), "\n2\n") << listed;
  // One that has ended is told once, also when other commands came between.
  EXPECT_EQ(shell("work", "sleep 0.5").code, 0);
  std::string ended = shell("work", "jobs").out;
  EXPECT_NE(ended.find("Done"), std::string::npos) << ended;
  EXPECT_NE(ended.find("sleep 0.2"), std::string::npos) << ended;
  EXPECT_EQ(ended.find("sleep 0.5"), std::string::npos) << ended;
  EXPECT_EQ(shell("work", "jobs").out.find("Done"), std::string::npos);
  // Numbers are those of the jobs alone, and whatever the command has set changes nothing.
  EXPECT_EQ(shell("work", "set -euC; IFS=8; kill %1; set +euC; wait %1 || :; unset IFS").code, 0);
  EXPECT_EQ(shell("work", "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; jobs | wc -l").code, 0);
  EXPECT_EQ(shell("work", "jobs -p | wc -l").out, "1\n");
  EXPECT_EQ(shell("work", "kill %3; wait %3; jobs >/dev/null; sleep 86425 & jobs").out.find("[1]+"), 0u);
  EXPECT_EQ(shell("work", "ls /proc/self/fd | wc -l; kill %1").out, "4\n") << "the file for it is not the command's";
}

// Programs of one cell are one user: by /proc they open each other's files and pipes by name, sockets they do not.
TEST_F(Shells, WhatAShellIsToldIsNotForOtherPrograms) {
  EXPECT_EQ(shell("work", "echo here").out, "here\n");
  good({"context", "work", "create", "python"});
  good({"context", "work", "create", "bash"});
  const std::string look =
      "import os, stat\n"
      "for p in [p for p in os.listdir('/proc') if p.isdigit()]:\n"
      "  try: name, fds = open(f'/proc/{p}/comm').read().strip(), os.listdir(f'/proc/{p}/fd')\n"
      "  except OSError: continue\n"
      "  if int(p) == os.getpid() or not name.startswith(('bash', 'python')): continue\n"
      "  for fd in map(int, fds):\n"
      "    path = f'/proc/{p}/fd/{fd}'\n"
      "    if fd <= 2 or stat.S_ISREG(os.stat(path).st_mode): continue\n"  // its terminal, its output, bash's notes on its jobs
      "    for how in (os.O_RDONLY, os.O_WRONLY):\n"
      "      try: os.open(path, how | os.O_NONBLOCK); print('open', name, fd, os.readlink(path))\n"
      "      except OSError as e: print('closed', name)\n";
  Called seen = exec("work", {"python3", "-c", look});
  EXPECT_EQ(seen.code, 0) << seen.describe();
  std::size_t closed = 0;
  for (auto line : split(seen.out, '\n')) {
    closed += line.starts_with("closed ");
    // bash keeps a second descriptor of the terminal itself.
    EXPECT_TRUE(!line.starts_with("open ") || line.find("/dev/pts/") != line.npos || line.find("/dev/null") != line.npos) << line;
  }
  EXPECT_GE(closed, 12u) << "three interpreters, two descriptors, two ways: " << seen.out;
}

TEST_F(Shells, ATracedShellDoesNotTraceItself) {
  EXPECT_EQ(shell("work", "set -x; echo a").out, "+++ echo a\na\n++ hc_status=0\n++ hc_after\n");
  Called next = shell("work", "set +x; echo b");
  EXPECT_EQ(next.out.find("nonce"), std::string::npos) << next.out;
  EXPECT_EQ(shell("work", "echo c").out, "c\n");
}

TEST_F(Shells, APasswordPromptIsToldAndAnswered) {
  Json asks = shell_json("work", "read -r -s -p 'Password: ' p; echo; echo got ${#p}");
  EXPECT_EQ(asks.text("state"), "awaiting_input");
  EXPECT_EQ(asks.text("output"), "Password: ");
  EXPECT_EQ(asks.text("echo"), "false") << "what is typed is a secret";
  Called busy = shell("work", "echo other");
  EXPECT_EQ(busy.code, 125);
  EXPECT_NE(busy.err.find("is busy with a command"), std::string::npos) << busy.describe();
  Called answered = control({"--input", "secret"});
  EXPECT_EQ(answered.code, 0) << answered.describe();
  EXPECT_NE(answered.out.find("got 6"), std::string::npos) << answered.describe();
  EXPECT_EQ(answered.out.find("secret"), std::string::npos);
}

TEST_F(Shells, AProgramThatAsksInPythonIsSeenToo) {
  Json asks = shell_json("work", "python3 -c 'print(\"hello \" + input(\"name? \"))'");
  EXPECT_EQ(asks.text("state"), "awaiting_input");
  EXPECT_EQ(asks.text("output"), "name? ");
  EXPECT_EQ(asks.text("echo"), "true");
  EXPECT_NE(control({"--input", "you"}).out.find("hello you"), std::string::npos);
}

// The answer may have been read and the command be over before anybody asks what became of it.
TEST_F(Shells, AnEndThatNobodyWaitedForIsToldToTheNextWhoAsks) {
  auto keeper = client();
  auto ask = [&](const char* verb, cells::Fields fields, std::vector<std::string> words) {
    cells::Ask a;
    a.verb = verb;
    a.cell = "work";
    a.words = std::move(words);
    a.fields = std::move(fields);
    a.fields["session"] = "agent";
    return keeper.ask(std::move(a));
  };
  ASSERT_TRUE(ask("shell.open", {{"reuse", "1"}}, {}).ok());
  auto waits = ask("shell.run", {{"stop_on_input", "1"}}, {"read x; echo got $x; (exit 3)"});
  ASSERT_TRUE(waits.ok()) << waits.error().message;
  ASSERT_EQ(waits.value().fields["state"], "awaiting_input");
  ASSERT_TRUE(ask("shell.input", {}, {"line\n"}).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  auto ended = ask("shell.wait", {{"stop_on_input", "1"}}, {});
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(ended.value().fields["state"], "done");
  EXPECT_EQ(ended.value().fields["exit_code"], "3");
  EXPECT_NE(ended.value().text.find("got line\n"), std::string::npos) << ended.value().text;
  EXPECT_FALSE(ask("shell.wait", {}, {}).ok()) << "told once";
}

TEST_F(Shells, AQuietProgramIsNotSaidToWait) {
  Json quiet = shell_json("work", "sleep 1; echo over");
  EXPECT_EQ(quiet.text("state"), "done");
  EXPECT_EQ(quiet.text("output"), "over\n");
}

TEST_F(Shells, ManyShellsOfOneCellAreApart) {
  EXPECT_EQ(shell("work", "x=first; cd /tmp", {"--session", "one"}).code, 0);
  EXPECT_EQ(shell("work", "x=second", {"--session", "two"}).code, 0);
  EXPECT_EQ(shell("work", "echo $x $PWD", {"--session", "one"}).out, "first /tmp\n");
  EXPECT_EQ(shell("work", "echo $x $PWD", {"--session", "two"}).out, "second /work\n");
  Json j = inspect("work");
  EXPECT_EQ(j.text("shells"), "[\"one\",\"two\"]");
  // At once.
  std::vector<std::thread> threads;
  std::vector<Called> called(4);
  for (std::size_t i = 0; i < called.size(); ++i)
    threads.emplace_back([&, i] { called[i] = shell("work", "sleep 0.2; echo " + std::to_string(i), {"--session", "s" + std::to_string(i)}); });
  for (auto& t : threads) t.join();
  for (std::size_t i = 0; i < called.size(); ++i) EXPECT_EQ(called[i].out, std::to_string(i) + "\n");
}

TEST_F(Shells, HistoryHasEachCommandAndItsEnd) {
  shell("work", "true");
  shell("work", "exit_with() { return 4; }; exit_with");
  shell("work", "sleep 86424", {"--timeout", "500ms"});
  Json history(control({"--history"}).out);
  ASSERT_EQ(history.size(""), 3u);
  EXPECT_EQ(history.text("0/command"), "true");
  EXPECT_EQ(history.text("0/exit_code"), "0");
  EXPECT_EQ(history.text("1/exit_code"), "4");
  EXPECT_EQ(history.text("2/timed_out"), "true");
}

TEST_F(Shells, AShellThatEndsIsSaidToEndAndTheNextIsNew) {
  ASSERT_EQ(shell("work", "x=old").code, 0);
  Json ended = shell_json("work", "echo bye; exit 6");
  EXPECT_EQ(ended.text("state"), "ended");
  EXPECT_EQ(ended.text("exit_code"), "6");
  EXPECT_NE(ended.text("output").find("bye"), std::string::npos);
  EXPECT_EQ(shell("work", "echo [$x]").out, "[]\n");
  EXPECT_EQ(control({"--close"}).code, 0);
}

TEST_F(Shells, MuchOutputIsCutAndTheShellGoesOn) {
  Json much = shell_json("work", "yes x | head -c 3000000; echo; (exit 5)");
  EXPECT_EQ(much.text("state"), "done");
  EXPECT_EQ(much.text("truncated"), "true");
  EXPECT_EQ(much.text("exit_code"), "5");
  EXPECT_EQ(shell("work", "echo after").out, "after\n");
}

TEST_F(Shells, CommandsThatChangeTheShellItselfCannotBreakIt) {
  EXPECT_EQ(shell("work", "PROMPT_COMMAND=; PS1='$ '; set -f; IFS=x").code, 0);
  EXPECT_EQ(shell("work", "exec 2>/tmp/err; exec 11<&- 12>&- 13>&- 3<&- 4>&-; echo still").out, "still\n");
  EXPECT_EQ(shell("work", "trap 'echo trapped' DEBUG; trap 'echo end' RETURN").code, 0);
  EXPECT_EQ(shell("work", "trap - DEBUG RETURN; true").code, 0);
  EXPECT_EQ(shell_json("work", "sleep 86425", {"--timeout", "500ms"}).text("state"), "timeout");
  EXPECT_EQ(shell("work", "echo after").out, "after\n");
}

// A person at a terminal of 30 × 100.
class Person {
 public:
  explicit Person(std::vector<std::string> words) {
    winsize size{};
    size.ws_row = 30;
    size.ws_col = 100;
    words.insert(words.begin(), hotcell_path());
    pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (auto& w : words) argv.push_back(w.data());
      argv.push_back(nullptr);
      ::setenv("TERM", "dumb", 1);
      ::execv(argv[0], argv.data());
      ::_exit(99);
    }
    ::fcntl(master_, F_SETFD, FD_CLOEXEC);
  }
  ~Person() {
    ::close(master_);
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }
  void type(std::string_view text) const { EXPECT_EQ(::write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size())); }
  bool sees(const std::string& text, seconds time = seconds(30)) {
    auto until = std::chrono::steady_clock::now() + time;
    while (seen_.find(text) == std::string::npos) {
      pollfd ready{master_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > until) return false;
      if (::poll(&ready, 1, 100) <= 0) continue;
      char bytes[4096];
      ssize_t n = ::read(master_, bytes, sizeof bytes);
      if (n <= 0) return false;
      seen_.append(bytes, static_cast<std::size_t>(n));
    }
    return true;
  }
  void forget() { seen_.clear(); }
  void resize(unsigned short rows, unsigned short columns) const {
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }
  int leaves() {  // its exit code
    int status = 0;
    for (int i = 0; i < 600; ++i) {
      pollfd ready{master_, POLLIN, 0};
      char bytes[4096];
      if (::poll(&ready, 1, 50) > 0 && ::read(master_, bytes, sizeof bytes) < 0) ::usleep(20'000);
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
    }
    return -2;
  }
  const std::string& seen() const { return seen_; }

 private:
  pid_t pid_ = -1;
  int master_ = -1;
  std::string seen_;
};

TEST_F(Shells, APersonAttachesLeavesAndComesBack) {
  {
    Person first({"shell", "work", "--state", state()});
    ASSERT_TRUE(first.sees("work:")) << first.seen();
    first.type("mark=here; stty size; tty; echo sum $((40+2))\n");
    EXPECT_TRUE(first.sees("30 100")) << first.seen();
    EXPECT_TRUE(first.sees("/dev/pts/")) << first.seen();
    EXPECT_TRUE(first.sees("sum 42")) << first.seen();
    first.forget();
    first.resize(50, 120);
    bool resized = false;
    for (int i = 0; i < 50 && !resized; ++i) {
      first.type("stty size\n");
      resized = first.sees("50 120", seconds(1));
    }
    EXPECT_TRUE(resized) << first.seen();
    first.forget();
    // Ctrl-C ends the command and not the shell.
    first.type("sleep 86426\n");
    EXPECT_TRUE(seen_within("86426", 1, seconds(10)));
    first.type("\x03");
    EXPECT_TRUE(gone_within("86426", seconds(10)));
    first.type("\x1d");
    EXPECT_EQ(first.leaves(), 0);
  }
  EXPECT_EQ(inspect("work").text("shells"), "[\"main\"]") << "it goes on";
  {
    Person again({"shell", "work", "--state", state()});
    ASSERT_TRUE(again.sees("sum 42")) << "what was on the screen is shown again: " << again.seen();
    again.forget();
    again.type("echo mark is $mark\n");
    EXPECT_TRUE(again.sees("mark is here")) << again.seen();
    again.type("exit\n");
    EXPECT_EQ(again.leaves(), 0);
  }
  for (int i = 0; i < 100 && inspect("work").text("shells") != "[]"; ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(inspect("work").text("shells"), "[]");
}

TEST_F(Shells, TwoPeopleSeeTheSameTerminal) {
  Person one({"shell", "work", "--state", state()}), two({"shell", "work", "--state", state()});
  ASSERT_TRUE(one.sees("work:")) << one.seen();
  ASSERT_TRUE(two.sees("work:")) << two.seen();
  one.type("echo from $((1+1)) people\n");
  EXPECT_TRUE(one.sees("from 2 people"));
  EXPECT_TRUE(two.sees("from 2 people"));
  one.type("\x1d");
  EXPECT_EQ(one.leaves(), 0);
  two.type("echo alone $((3*3))\n");
  EXPECT_TRUE(two.sees("alone 9"));
}

TEST_F(Shells, WithoutATerminalAttachIsRefused) {
  Called refusal = control({});
  EXPECT_EQ(refusal.code, 125);
  EXPECT_NE(refusal.err.find("are no terminal; for single commands"), std::string::npos) << refusal.describe();
}

}  // namespace
}  // namespace hotcell::testing
