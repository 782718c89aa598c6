// The client and its child: what the child may do, and what becomes of a source that kills, stalls or turns it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "hotcell/verify.h"
#include "languages/verify_program.h"
#include "languages/verify_wire.h"
#include "sys/file.h"

namespace hotcell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// One that cannot be verified, for a reason that holds these words.
void expect_unverifiable(const Verification& v, std::string_view words) {
  EXPECT_FALSE(v.safe);
  EXPECT_TRUE(v.unverifiable);
  ASSERT_EQ(v.findings.size(), 1u);
  EXPECT_EQ(v.findings[0].rule, "unverifiable");
  EXPECT_EQ(v.findings[0].severity, "error");
  EXPECT_NE(v.findings[0].message.find(words), std::string::npos) << v.findings[0].message;
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string out;
  out.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(Verifier, AnswersOneAfterTheOtherFromOneChild) {
  Verifier verifier;
  ASSERT_TRUE(verifier.park().ok());
  for (int i = 0; i < 20; ++i) {
    Verification v = verifier.verify("", "python", "a.py", default_policy());
    EXPECT_TRUE(v.safe);
    EXPECT_EQ(v.language, "python");
  }
  expect_unverifiable(verifier.verify(std::string_view("a\0", 2), "", "a.py", default_policy()), "NUL");
  EXPECT_EQ(verifier.verify("x", "COBOL", "a", default_policy()).language, "cobol");
  EXPECT_EQ(verifier.verify("x", "", "a", default_policy()).language, "unknown");
}

TEST(Verifier, EachSourceAChildOfItsOwnWhenAsked) {
  VerifierOptions o;
  o.fresh_child = true;
  Verifier verifier(o);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(verifier.verify("", "go", "a.go", default_policy()).safe);
}

TEST(Verifier, ASourceThatIsTooLargeIsNotEvenSent) {
  Verifier verifier;
  expect_unverifiable(verifier.verify(std::string((64u << 20) + 1, ' '), "python", "a.py", default_policy()), "64 MiB");
}

// What STACK-breaking sources do to a parser: the answer is clear, comes in time, and the next source is served.
TEST(Verifier, HostileSourcesEndInBoundedTimeWithAClearAnswer) {
  VerifierOptions o;
  o.wall = seconds(5);
  Verifier verifier(o);
  std::string garbage(10u << 20, ' ');
  std::uint32_t state = 1;
  for (char& c : garbage) c = static_cast<char>(' ' + (state = state * 1664525 + 1013904223, (state >> 16) % 95));
  struct Row {
    const char* name;
    const char* language;
    std::string source;
  };
  std::vector<Row> rows;
  rows.push_back({"10 MB of garbage", "python", garbage});
  rows.push_back({"10 MB of garbage", "javascript", garbage});
  rows.push_back({"10 MB of garbage", "cpp", garbage});
  rows.push_back({"nested brackets", "python", "x = " + std::string(100'000, '[') + std::string(100'000, ']') + "\n"});
  rows.push_back(
      {"nested brackets", "c", "int x = " + std::string(100'000, '(') + "1" + std::string(100'000, ')') + ";"});
  rows.push_back({"open brackets", "javascript", std::string(100'000, '(')});
  rows.push_back({"generics", "java", repeated("a<", 20'000)});
  rows.push_back({"signs", "python", "x=" + std::string(100'000, '-') + "1\n"});
  for (const Row& row : rows) {
    auto start = steady_clock::now();
    Verification v = verifier.verify(row.source, row.language, "f", default_policy());
    auto took = steady_clock::now() - start;
    EXPECT_LT(took, seconds(30)) << row.name << " " << row.language;
    std::string said = v.findings.empty() ? "clean" : v.findings[0].message;
    std::printf("[ hostile  ] %-17s %-11s %5lld ms  %s\n", row.name, row.language,
                static_cast<long long>(std::chrono::duration_cast<milliseconds>(took).count()),
                said.substr(0, 90).c_str());
    EXPECT_EQ(v.safe, v.findings.empty()) << row.name;
    bool may_be_read = std::string_view(row.name) == "nested brackets" || std::string_view(row.name) == "signs";
    EXPECT_TRUE(v.unverifiable || may_be_read) << row.name << " " << row.language;
    EXPECT_TRUE(verifier.verify("", "python", "f", default_policy()).safe) << "after " << row.name;
  }
}

TEST(Verifier, AMegabyteOnOneLineIsRead) {
  Verifier verifier;
  std::string source = "x = [" + repeated("1, ", 350'000) + "]\n";
  Verification v = verifier.verify(source, "python", "f.py", default_policy());
  for (const auto& f : v.findings) EXPECT_EQ(f.message.find("takes"), std::string::npos) << f.message;
}

// A child of our own making, which does to its owner what a child that was taken over could do.
class LyingChild : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hotcell-lying-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Verification ask(std::string_view python, Nanoseconds wall = seconds(5)) {
    std::string path = folder_ + "/child";
    std::ofstream(path) << "#!/usr/bin/python3 -IS\nimport os, signal, struct, sys, time\n"
                           "signal.pthread_sigmask(signal.SIG_SETMASK, [])\n"
                           "def frame(b, magic=0x31514348): return struct.pack('<II', magic, len(b)) + b\n"
                           "def text(s): s = s.encode(); return struct.pack('<I', len(s)) + s\n"
                           "def finding(rule='a', kind='system_call', sev='error', m='m', line=1):\n"
                           "  texts = map(text, (rule, kind, sev, m, 's', 'f'))\n"
                           "  return b''.join(texts) + struct.pack('<II', line, 1)\n"
                           "def reply(*f): return struct.pack('<III', 0, 0, len(f)) + b''.join(f)\n"
                           "os.read(0, 1 << 20)\n"
                        << python << "\n";
    ::chmod(path.c_str(), 0755);
    VerifierOptions o;
    o.program = path;
    o.wall = wall;
    return Verifier(o).verify("x = 1\n", "python", "f.py", default_policy());
  }

  std::string folder_;
};

TEST_F(LyingChild, OneThatIsInOrderIsBelieved) {
  Verification v = ask("os.write(0, frame(reply(finding(m='\\x1b[2Jx'))))");
  ASSERT_EQ(v.findings.size(), 1u);
  EXPECT_EQ(v.findings[0].message, "\\x1b[2Jx") << "texts are made printable";
  EXPECT_EQ(v.findings[0].file, "f.py");
  EXPECT_FALSE(v.safe);
}

TEST_F(LyingChild, NonsenseIsNeverClean) {
  for (const char* lie : {
           "os.write(0, frame(reply(), magic=1))",
           "os.write(0, frame(reply()) + b'more')",
           "os.write(0, struct.pack('<II', 0x31514348, 0xffffffff))",
           "os.write(0, frame(struct.pack('<III', 0, 0, 0xffffffff)))",
           "os.write(0, frame(struct.pack('<III', 7, 0, 0)))",
           "os.write(0, frame(reply(finding(rule='Bad Rule'))))",
           "os.write(0, frame(reply(finding(kind='x'))))",
           "os.write(0, frame(reply(finding(sev='fine'))))",
           "os.write(0, frame(reply(finding(line=0xffffffff))))",
           "os.write(0, frame(reply(struct.pack('<I', 0xfffffff0))))",
       }) {
    SCOPED_TRACE(lie);
    expect_unverifiable(ask(lie), "makes no sense");
  }
}

TEST_F(LyingChild, UnverifiableCannotBeTakenBackAsSafe) {
  Verification v = ask("os.write(0, frame(struct.pack('<III', 1, 0, 0)))");
  EXPECT_TRUE(v.unverifiable);
  EXPECT_FALSE(v.safe);
  EXPECT_EQ(v.findings.size(), 1u);
}

TEST_F(LyingChild, DeathSilenceAndDribbleEndInTime) {
  expect_unverifiable(ask("sys.exit(0)"), "without an answer");
  expect_unverifiable(ask("os.kill(os.getpid(), 11)"), "crashed");
  expect_unverifiable(ask("os.kill(os.getpid(), 6)"), "MiB");
  auto start = steady_clock::now();
  expect_unverifiable(ask("time.sleep(60)", milliseconds(700)), "longer than 700 ms");
  expect_unverifiable(ask("os.write(0, frame(b'x' * 999)[:5]); time.sleep(60)", milliseconds(700)), "longer than");
  // A byte at a time: each arrives, the whole does not.
  expect_unverifiable(ask("os.write(0, struct.pack('<II', 0x31514348, 1 << 20))\n"
                          "while True: os.write(0, b'x'); time.sleep(0.01)",
                          milliseconds(700)),
                      "longer than");
  EXPECT_LT(steady_clock::now() - start, seconds(8));
}

TEST_F(LyingChild, NoChildIsLeftBehindAndNobodyElsesIsTaken) {
  pid_t other = ::fork();
  if (other == 0) ::_exit(7);
  ask("time.sleep(60)", milliseconds(300));
  int status = 0;
  EXPECT_EQ(::waitpid(other, &status, 0), other) << "the verifier reaped a child that was not its own";
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(::waitpid(-1, &status, WNOHANG), -1) << "a child of the verifier is left";
}

TEST(Verifier, AProgramThatIsNotThereIsAClearAnswer) {
  VerifierOptions o;
  o.program = "/nonexistent/hotcell-verify";
  expect_unverifiable(Verifier(o).verify("x", "python", "f", default_policy()), "cannot be started");
}

#ifndef HOTCELL_SANITIZED
std::string status_field(pid_t pid, std::string_view name) {
  std::ifstream in(cat("/proc/", pid, "/status"));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::string(trim(std::string_view(line).substr(name.size() + 1)));
  return "";
}

pid_t only_child() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "children");
    pid_t pid = 0;
    if (in >> pid) return pid;
  }
  return 0;
}

TEST(Verifier, TheChildIsConfinedBeforeItReadsAnything) {
  Verifier verifier;
  ASSERT_TRUE(verifier.verify("", "python", "f", default_policy()).safe);
  pid_t pid = only_child();
  ASSERT_GT(pid, 0);
  EXPECT_EQ(status_field(pid, "Seccomp:"), "2");
  EXPECT_EQ(status_field(pid, "NoNewPrivs:"), "1");
  std::string all = sys::read_file(cat("/proc/", pid, "/limits").c_str()).value_or("");
  EXPECT_NE(all.find("Max address space         1073741824"), std::string::npos) << all;
  EXPECT_NE(all.find("Max open files            3 "), std::string::npos) << all;
  EXPECT_NE(all.find("Max core file size        0 "), std::string::npos) << all;
  // Killed while parked: the next source is served all the same.
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(verifier.verify("", "python", "f", default_policy()).safe);
}
#endif

}  // namespace
}  // namespace hotcell
