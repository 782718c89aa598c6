// Profiles and command lines of other systems, as text.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/seatbelt.h"
#include "backends/windows.h"

namespace hotcell::backends {
namespace {

TEST(Seatbelt, TheProfileOfTheDefaultPolicy) {
  auto profile = seatbelt_profile(seatbelt_rules(default_policy(), "/Users/a/work").value());
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile.value(), R"((version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target self))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (subpath "/System"))
(allow file-read* (subpath "/usr/lib"))
(allow file-read* (subpath "/usr/bin"))
(allow file-read* (subpath "/bin"))
(allow file-read* (subpath "/usr/share"))
(allow file-read* (subpath "/Library/Apple"))
(allow file-read* (subpath "/private/var/db/dyld"))
(allow file-read* (subpath "/private/var/db/timezone"))
(allow file-read* (subpath "/private/etc/localtime"))
(allow file-read* file-write-data (literal "/dev/null"))
(allow file-read* file-write-data (literal "/dev/zero"))
(allow file-read* file-write-data (literal "/dev/random"))
(allow file-read* file-write-data (literal "/dev/urandom"))
(allow file-read* (subpath "/Users/a/work"))
(allow file-write* (subpath "/Users/a/work"))
(deny network*)
(deny network-outbound (remote ip "localhost:*"))
(deny network-inbound (local ip "localhost:*"))
(deny system-socket)
)");
}

TEST(Seatbelt, StrictWritesNowhereAndGrantsAreGrants) {
  EXPECT_TRUE(seatbelt_rules(strict_policy(), "/w").value().write.empty());
  Policy policy = strict_policy();
  policy.filesystem.grants.push_back({"/data", Access::kRead, "--read"});
  policy.filesystem.grants.push_back({"/out", Access::kWrite, "--write"});
  policy.filesystem.deny.push_back({"/data/.env", "--deny"});
  auto profile = seatbelt_profile(seatbelt_rules(policy, "/w").value());
  ASSERT_TRUE(profile.ok());
  auto at = [&](std::string_view part) { return profile.value().find(part); };
  EXPECT_NE(at("(allow file-read* (subpath \"/data\"))"), std::string::npos);
  EXPECT_EQ(at("(allow file-write* (subpath \"/data\"))"), std::string::npos);
  EXPECT_NE(at("(allow file-write* (subpath \"/out\"))"), std::string::npos);
  policy.filesystem.deny = {{"/data/**/*.pem", "--deny"}, {"/data/a?b.c", "--deny"}};
  auto patterns = seatbelt_profile(seatbelt_rules(policy, "/w").value()).value();
  EXPECT_NE(patterns.find(R"x((deny file-read* file-write* (regex #"^/data/(.*/)?[^/]*\.pem(/|$)")))x"), std::string::npos) << patterns;
  EXPECT_NE(patterns.find(R"x((regex #"^/data/a[^/]b\.c(/|$)")))x"), std::string::npos) << patterns;
  policy.filesystem.deny = {{"/data/*\")(allow default)", "--deny"}};
  EXPECT_FALSE(seatbelt_profile(seatbelt_rules(policy, "/w").value()).ok());
  // The last rule that fits decides.
  EXPECT_GT(at("(deny file-read* file-write* (subpath \"/data/.env\"))"), at("(allow file-write* (subpath \"/out\"))"));
}

TEST(Seatbelt, WithoutNetworkThereIsNoLocalhost) {
  SeatbeltRules rules;
  auto off = seatbelt_profile(rules).value();
  EXPECT_EQ(off.find("(allow network"), std::string::npos);
  EXPECT_EQ(off.find("mach-lookup"), std::string::npos);
  EXPECT_NE(off.find("(deny network-outbound (remote ip \"localhost:*\"))"), std::string::npos);
  rules.network = true;
  auto on = seatbelt_profile(rules).value();
  EXPECT_NE(on.find("(allow network*)"), std::string::npos);
  EXPECT_EQ(on.find("(deny network"), std::string::npos);
}

TEST(Seatbelt, SwitchesOfProcessAndSysctl) {
  SeatbeltRules rules;
  rules.processes = rules.sysctl_read = false;
  auto text = seatbelt_profile(rules).value();
  EXPECT_EQ(text.find("process-fork"), std::string::npos);
  EXPECT_EQ(text.find("sysctl"), std::string::npos);
}

TEST(Seatbelt, NoPathAddsARule) {
  EXPECT_EQ(seatbelt_quoted("/a\"))(allow default)(x \"").value(), "\"/a\\\"))(allow default)(x \\\"\"");
  EXPECT_EQ(seatbelt_quoted("/a\\\"").value(), "\"/a\\\\\\\"\"");
  EXPECT_FALSE(seatbelt_quoted("/a\n(allow default)").ok());
  EXPECT_FALSE(seatbelt_quoted(std::string("/a\0b", 4)).ok());
  EXPECT_FALSE(seatbelt_quoted("relative").ok());
  SeatbeltRules rules;
  rules.write = {"/a\n(allow default)"};
  EXPECT_FALSE(seatbelt_profile(rules).ok());
  // Whatever the path: outside of strings the number of parentheses is that of the rules we wrote.
  rules.write = {"/x\"))\\\"((allow network*)"};
  auto text = seatbelt_profile(rules).value();
  int open = 0, top = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && text[i] == '(') top += open++ == 0;
    else if (!quoted && text[i] == ')') --open;
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(open, 0);
  rules.write = {"/x"};
  auto plain = seatbelt_profile(rules).value();
  EXPECT_EQ(top, std::count(plain.begin(), plain.end(), '\n'));
}

// What is compared is the path a file has, and there these are links: a rule for the link would fit nothing.
TEST(Seatbelt, RulesNameThePlacesThatFilesReallyHave) {
  SeatbeltRules rules;
  rules.read = {"/tmp/in", "/var/folders/x", "/variable", "/private/tmp/y", "//data//x/./y/"};
  rules.write = {"/tmp"};
  rules.deny = {"/etc/secret", "/tmp/**/*.pem", "/tmpfile"};
  auto text = seatbelt_profile(rules).value();
  for (auto part : {R"((allow file-read* (subpath "/private/tmp/in")))", R"((allow file-read* (subpath "/private/var/folders/x")))", R"((allow file-read* (subpath "/variable")))",
                    R"((allow file-read* (subpath "/private/tmp/y")))", R"((allow file-read* (subpath "/data/x/y")))", R"((allow file-write* (subpath "/private/tmp")))",
                    R"((deny file-read* file-write* (subpath "/private/etc/secret")))", R"x((deny file-read* file-write* (regex #"^/private/tmp/(.*/)?[^/]*\.pem(/|$)")))x",
                    R"((deny file-read* file-write* (subpath "/tmpfile")))"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  rules.deny = {"/data/../etc/passwd"};
  EXPECT_FALSE(seatbelt_profile(rules).ok()) << "a step back fits nothing";
}

TEST(Seatbelt, WhatCannotBeSaidIsRefusedOrWaived) {
  Policy policy = default_policy();
  policy.network.mode = NetworkMode::kProxy;
  auto refused = seatbelt_rules(policy, "/w");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--waive network"), std::string::npos) << refused.error().message;
  auto waived = seatbelt_rules(policy, "/w", {"network"});
  ASSERT_TRUE(waived.ok());
  EXPECT_FALSE(waived.value().network) << "less, not more";
  policy.network.mode = NetworkMode::kHost;
  EXPECT_TRUE(seatbelt_rules(policy, "/w").value().network);
  EXPECT_FALSE(seatbelt_rules(default_policy(), "/w").value().network);
  for (auto statement : kStatements) {
    auto held = seatbelt_judge(policy);
    EXPECT_TRUE(std::any_of(held.begin(), held.end(), [&](const Held& h) { return h.statement == statement && !h.detail.empty(); })) << statement;
  }
}

// One profile for each name that somebody may give a folder: the rules outside of strings are always the same.
TEST(Seatbelt, HostileNamesStayNames) {
  auto outside = [](std::string_view text) {
    std::string out;
    bool quoted = false, raw = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quoted && !raw && text[i] == '\\') ++i;
      else if (text[i] == '"') {
        raw = !quoted && i > 0 && text[i - 1] == '#';
        quoted = !quoted;
      } else if (!quoted) out += text[i];
    }
    EXPECT_FALSE(quoted);
    return out;
  };
  SeatbeltRules plain;
  plain.read = {"/x"};
  plain.write = {"/x"};
  plain.deny = {"/x", "/x*"};
  const std::string expected = outside(seatbelt_profile(plain).value());
  for (std::string name : {"/a b", "/a\"b", "/a\\", "/a\\\"", "/\")) (allow default) (\"", "/;comment", "/#|x|#", "/$(x)`y`", "/\xc3\xa9\xe2\x80\xae", "/(literal \"/\")", "/%s%n", "/'"}) {
    SeatbeltRules rules;
    rules.read = rules.write = {name};
    rules.deny = {name, "/x*"};
    auto profile = seatbelt_profile(rules);
    ASSERT_TRUE(profile.ok()) << name;
    EXPECT_EQ(outside(profile.value()), expected) << profile.value();
  }
  for (std::string name : {std::string("/a\nb"), std::string("/a\rb"), std::string("/a\0b", 4), std::string("/a\x1b[0m"), std::string("/a\x7f"), std::string("a"), std::string()}) {
    SeatbeltRules rules;
    rules.write = {name};
    EXPECT_FALSE(seatbelt_profile(rules).ok()) << name;
    rules.write.clear();
    rules.deny = {name + "*"};
    EXPECT_FALSE(seatbelt_profile(rules).ok()) << name;
  }
}

TEST(Seatbelt, CommandLine) {
  auto argv = seatbelt_command({}, {"/bin/echo", "-p", "a b"}).value();
  ASSERT_EQ(argv.size(), 7u);
  EXPECT_EQ(argv[0], "/usr/bin/sandbox-exec");
  EXPECT_EQ(argv[1], "-p");
  EXPECT_TRUE(argv[2].starts_with("(version 1)\n(deny default)\n"));
  EXPECT_EQ((std::vector<std::string>(argv.begin() + 3, argv.end())), (std::vector<std::string>{"--", "/bin/echo", "-p", "a b"}));
  EXPECT_FALSE(seatbelt_command({}, {}).ok());
}

TEST(MacSelection, AHypervisorThatWasAskedForIsNotReplaced) {
  struct Row {
    std::string_view wanted;
    MacFacts facts;
    std::string_view expected;  // empty: refused
  };
  const Row rows[] = {{"auto", {true, true}, "hypervisor"},       {"auto", {true, false}, "sandbox-exec"}, {"auto", {false, false}, ""},
                      {"hypervisor", {true, true}, "hypervisor"}, {"hypervisor", {true, false}, ""},       {"sandbox-exec", {true, true}, "sandbox-exec"},
                      {"sandbox-exec", {false, true}, ""},        {"docker", {true, true}, ""}};
  for (const auto& row : rows) {
    auto chosen = select_on_mac(row.wanted, row.facts);
    EXPECT_EQ(chosen.ok() ? chosen.value().how : "", row.expected) << row.wanted;
    EXPECT_FALSE(chosen.ok() ? chosen.value().reason.empty() : chosen.error().message.empty());
  }
}

TEST(Windows, ACommandLineGivesTheSameWordsBack) {
  EXPECT_EQ(windows_command_line({"a.exe", "b c", "", "d\"e", "f\\", "g h\\", "i\\\"j", "plain"}).value(),
            "a.exe \"b c\" \"\" \"d\\\"e\" f\\ \"g h\\\\\" \"i\\\\\\\"j\" plain");
  EXPECT_EQ(windows_command_line({"C:\\Program Files\\x.exe", "y"}).value(), "\"C:\\Program Files\\x.exe\" y");
  EXPECT_FALSE(windows_command_line({"a\"b"}).ok());
  EXPECT_FALSE(windows_command_line({"a", std::string("b\0c", 3)}).ok());
  EXPECT_FALSE(windows_command_line({"a", std::string(40000, 'x')}).ok());
  EXPECT_FALSE(windows_command_line({}).ok());
}

TEST(Windows, AJobHasEveryLimitAndNoWayOut) {
  Policy policy = default_policy();
  policy.limits.memory = 64_MiB;
  policy.limits.cpu_time = std::chrono::seconds(3);
  policy.limits.wall = std::chrono::seconds(5);
  policy.limits.processes = 4;
  JobLimits l = job_limits(policy);
  EXPECT_EQ(l, (JobLimits{67108864, 67108864, 30000000, 4, 0x270c, 0xff}));
  EXPECT_EQ(l.limit_flags & 0x1800u, 0u) << "no breakaway";
  EXPECT_EQ(job_command(policy, "C:\\work", {"x.exe", "--", "-y"}, {"files", "network", "syscalls"}).value(),
            (std::vector<std::string>{"hotcell-job.exe", "--limit-flags=9996", "--ui-flags=255", "--process-memory=67108864", "--job-memory=67108864", "--job-time=30000000",
                                      "--active-processes=4", "--wall-ms=5000", "--directory=C:\\work", "--restricted-token", "--", "x.exe", "--", "-y"}));
  policy.filesystem.deny.push_back({"/work/.env", "--deny"});
  EXPECT_FALSE(job_command(policy, "C:\\work", {"x.exe"}, {"files", "network", "syscalls"}).ok());
}

// A job limits and ends. Whoever wants no more than that says so, statement by statement.
TEST(Windows, AJobIsNoWallAndIsNotTakenForOne) {
  for (auto missing : {"files", "network", "syscalls"}) {
    std::vector<std::string> waived;
    for (auto name : {"files", "network", "syscalls"})
      if (std::string_view(name) != missing) waived.emplace_back(name);
    auto refused = job_command(default_policy(), "C:\\work", {"x.exe"}, waived);
    ASSERT_FALSE(refused.ok()) << missing;
    EXPECT_NE(refused.error().message.find(std::string("--waive ") + missing), std::string::npos) << refused.error().message;
  }
  Policy on = default_policy();
  on.network.mode = NetworkMode::kHost;
  EXPECT_TRUE(job_command(on, "C:\\work", {"x.exe"}, {"files", "syscalls"}).ok()) << "a network that is asked for needs no wall";
  for (auto statement : kStatements) {
    auto held = job_judge(default_policy());
    EXPECT_TRUE(std::any_of(held.begin(), held.end(), [&](const Held& h) { return h.statement == statement && !h.detail.empty(); })) << statement;
  }
}

// These are read by cmd.exe, which has rules of its own for what a word is: an argument would become a command.
TEST(Windows, ABatchFileIsNoProgram) {
  for (auto name : {"x.bat", "x.CMD", "C:\\a b\\x.Bat", "x.bat.", "x.bat ", "x.cmd. .", "x.bat::$DATA"}) EXPECT_FALSE(windows_command_line({name, "&calc"}).ok()) << name;
  for (auto name : {"x.exe", "x.bat.exe", "bat", "cmd.exe"}) EXPECT_TRUE(windows_command_line({name, "a"}).ok()) << name;
  for (auto name : {"a\nb.exe", "a\tb.exe", "a\x01.exe"}) EXPECT_FALSE(windows_command_line({name}).ok()) << "the first word has no way to say it";
}

// As CommandLineToArgvW takes it apart: words that come back as others would be other arguments.
TEST(Windows, HostileWordsComeBackAsTheyWere) {
  auto apart = [](std::string_view line) {
    std::vector<std::string> out;
    std::size_t i = 0;
    std::string first;
    bool quoted = !line.empty() && line[0] == '"';
    for (i = quoted ? 1 : 0; i < line.size() && (quoted ? line[i] != '"' : line[i] != ' ' && line[i] != '\t'); ++i) first += line[i];
    out.push_back(first);
    i += quoted ? 1 : 0;
    while (i < line.size()) {
      while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
      if (i >= line.size()) break;
      std::string word;
      for (bool in = false; i < line.size() && (in || (line[i] != ' ' && line[i] != '\t'));) {
        std::size_t slashes = 0;
        while (i < line.size() && line[i] == '\\') ++slashes, ++i;
        if (i < line.size() && line[i] == '"') {
          word.append(slashes / 2, '\\');
          if (slashes % 2 != 0) word += '"';
          else if (in && i + 1 < line.size() && line[i + 1] == '"') word += '"', ++i;
          else in = !in;
          ++i;
        } else {
          word.append(slashes, '\\');
          if (slashes == 0) word += line[i++];
        }
      }
      out.push_back(word);
    }
    return out;
  };
  const std::vector<std::string> argv = {"C:\\Program Files\\x.exe", "", " ", "\"", "\\", "\\\\", "a\\", "a b\\", "a\\\"b", "\"a b\"", "\\\"", "a\tb", "--x=\"y z\"", "& calc", "%PATH%", "^", "a\nb", "'", "\"\"\"", "\\\\\"\\"};
  EXPECT_EQ(apart(windows_command_line(argv).value()), argv) << windows_command_line(argv).value();
}

TEST(Windows, CodexIsNotAskedForWhatItCannotHold) {
  Policy policy = default_policy();
  EXPECT_EQ(windows_codex_command(policy, "codex.exe", {"x", "y"}).value(), (std::vector<std::string>{"codex.exe", "sandbox", "windows", "--full-auto", "--", "x", "y"}));
  EXPECT_EQ(windows_codex_command(strict_policy(), "codex.exe", {"x"}).value(), (std::vector<std::string>{"codex.exe", "sandbox", "windows", "--", "x"}));
  policy.filesystem.grants.push_back({"/data", Access::kRead, "--read"});
  EXPECT_FALSE(windows_codex_command(policy, "codex.exe", {"x"}).ok()) << "it shows what its caller reads, and no folder by itself";
  policy.filesystem.grants.clear();
  policy.network.mode = NetworkMode::kProxy;
  EXPECT_FALSE(windows_codex_command(policy, "codex.exe", {"x"}).ok());
}

}  // namespace
}  // namespace hotcell::backends
