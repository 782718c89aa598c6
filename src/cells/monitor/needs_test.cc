#include "cells/monitor/needs.h"

#include <gtest/gtest.h>

namespace hotcell::cells {
namespace {

struct Guess {
  std::uint64_t mib;
  int seconds;
  bool operator==(const Guess&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Guess& g) { return out << g.mib << " MiB, " << g.seconds << " s"; }
Guess of(const std::string& line) {
  Needs n = estimate_needs(line);
  EXPECT_EQ(n.wall, 2 * n.cpu) << line;
  return {n.memory.n >> 20, static_cast<int>(n.cpu.count())};
}

TEST(Needs, TheFoundingTable) {
  EXPECT_EQ(of("node app.js"), (Guess{256, 10}));
  EXPECT_EQ(of("npm install"), (Guess{256, 10}));
  EXPECT_EQ(of("python3 x.py"), (Guess{128, 10}));
  EXPECT_EQ(of("/usr/bin/python3.11 x.py"), (Guess{128, 10}));
  EXPECT_EQ(of("java -jar x.jar"), (Guess{512, 10}));
  EXPECT_EQ(of("cargo check"), (Guess{1024, 10}));
  EXPECT_EQ(of("rustc x.rs"), (Guess{1024, 60}));
  EXPECT_EQ(of("ls -l"), (Guess{64, 10}));
  EXPECT_EQ(of("cargo build"), (Guess{1024, 60}));
  EXPECT_EQ(of("npm test"), (Guess{256, 30}));
  EXPECT_EQ(of("make compile"), (Guess{64, 60}));
}

TEST(Needs, WordsNotSubstrings) {
  EXPECT_EQ(of("javelin"), (Guess{64, 10}));
  EXPECT_EQ(of("nodemon-like-thing"), (Guess{64, 10}));
  EXPECT_EQ(of("cat latest.txt"), (Guess{64, 10})) << "test is a part of latest";
  EXPECT_EQ(of("echo rebuilding"), (Guess{64, 10}));
  EXPECT_EQ(of("cat java"), (Guess{64, 10})) << "a file of that name runs nothing";
  EXPECT_EQ(of("ls build/main"), (Guess{64, 10})) << "a folder on the way";
  EXPECT_EQ(of("git commit -m 'build the test'"), (Guess{64, 10})) << "a message is nobody's order";
  EXPECT_EQ(of("npm run build:prod"), (Guess{256, 60}));
  EXPECT_EQ(of("./scripts/build.sh"), (Guess{64, 60}));
}

TEST(Needs, WrappersAreLookedThrough) {
  for (std::string line : {"env A=1 B=2 cargo build", "A=1 cargo build", "sudo -u somebody cargo build", "nice -n 5 cargo build", "timeout -k 5 60 cargo build",
                           "timeout 60 nice env X=y cargo build", "sh -c 'cargo build'", "bash -lc \"cd x && cargo build\"", "env -u HOME cargo build",
                           "stdbuf -oL cargo build", "nohup cargo build &", "sudo -- cargo build"})
    EXPECT_EQ(of(line), (Guess{1024, 60})) << line;
  EXPECT_EQ(of("sh build.sh"), (Guess{64, 60}));
  EXPECT_EQ(of("timeout"), (Guess{64, 10}));
  EXPECT_EQ(of("env"), (Guess{64, 10}));
  EXPECT_EQ(of(""), (Guess{64, 10}));
}

TEST(Needs, OfSeveralCommandsTheLargestCounts) {
  EXPECT_EQ(of("cd src && npm test | tee log; ls"), (Guess{256, 30}));
  EXPECT_EQ(of("make build; python3 x.py"), (Guess{128, 60})) << "of each quantity";
  EXPECT_EQ(of("echo 'cargo build; java'"), (Guess{64, 10})) << "quoted: one argument of echo";
}

TEST(Needs, ArgumentsAsTheyAreAndWhatWasRecognised) {
  Needs n = estimate_needs(std::vector<std::string>{"env", "A=b", "cargo", "build", "--release"});
  EXPECT_EQ(n.memory, 1024_MiB);
  EXPECT_EQ(n.because, "cargo, build");
  EXPECT_EQ(estimate_needs(std::vector<std::string>{"cargo build"}).memory, 64_MiB) << "one word is one name";
  std::string deep = "cargo build";
  for (int i = 0; i < 100; ++i) deep = "sh -c \"" + deep + "\"";
  EXPECT_GE(estimate_needs(deep).memory, 64_MiB);  // ends
  EXPECT_EQ(estimate_needs("cargo 'unended").memory, 1024_MiB);
}

}  // namespace
}  // namespace hotcell::cells
