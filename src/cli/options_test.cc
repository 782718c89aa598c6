#include "cli/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/strings.h"

namespace hotcell {
namespace {

Result<Parsed> parse_words(Command command, std::vector<std::string_view> words) { return parse(command, words); }

std::string why(Command command, std::vector<std::string_view> words) {
  auto parsed = parse(command, words);
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(Options, TakeTheirValueWithEqualsOrAsTheNextWord) {
  auto a = parse_words(Command::kRun, {"--memory=64M", "--timeout", "2s", "--", "ls", "-la"});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.value().last(Opt::kMemory), "64M");
  EXPECT_EQ(a.value().last(Opt::kTimeout), "2s");
  EXPECT_TRUE(a.value().dashes);
  EXPECT_EQ(a.value().words, (std::vector<std::string_view>{"ls", "-la"}));
}

TEST(Options, EndAtTheFileSoThatTheRestIsThePrograms) {
  auto a = parse_words(Command::kRun, {"--json", "x.py", "--memory", "-v", "--"});
  ASSERT_TRUE(a.ok());
  EXPECT_FALSE(a.value().dashes);
  EXPECT_FALSE(a.value().has(Opt::kMemory));
  EXPECT_EQ(a.value().words, (std::vector<std::string_view>{"x.py", "--memory", "-v", "--"}));
}

TEST(Options, MayFollowTheWordsOfOtherCommands) {
  auto a = parse_words(Command::kProfile, {"show", "strict", "--json"});
  ASSERT_TRUE(a.ok());
  EXPECT_TRUE(a.value().has(Opt::kJson));
  EXPECT_EQ(a.value().words.size(), 2U);
}

TEST(Options, AValueMayStartWithADash) {
  auto a = parse_words(Command::kRun, {"--language", "python", "-c", "-1", "--timeout", "-5s"});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.value().last(Opt::kCode), "-1");
  EXPECT_EQ(a.value().last(Opt::kTimeout), "-5s");
}

TEST(Options, TheLaterOfTwoWinsAndRepeatableOnesAddUp) {
  auto a = parse_words(Command::kRun, {"--memory", "1M", "--memory", "2M", "--read", "/a", "--read", "/b"});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.value().last(Opt::kMemory), "2M");
  EXPECT_EQ(a.value().values().size(), 4U);
}

TEST(Options, AnUnknownOneIsNamedWithTheNearest) {
  EXPECT_EQ(why(Command::kRun, {"--memroy", "1M"}), "unknown option --memroy; did you mean \"--memory\"?");
  EXPECT_EQ(why(Command::kRun, {"--xyzzy=1"}), "unknown option --xyzzy; see hotcell run --help");
  EXPECT_EQ(why(Command::kProfile, {"list", "--memory", "1M"}), "unknown option --memory; see hotcell profile --help");
  EXPECT_EQ(why(Command::kRun, {"--bad\x1b]0;x\n"}), "unknown option --bad\\x1b]0;x\\n; see hotcell run --help");
}

TEST(Options, MissingEmptyAndSurplusValuesAreErrors) {
  EXPECT_EQ(why(Command::kRun, {"--memory"}), "--memory needs a value: SIZE");
  EXPECT_EQ(why(Command::kRun, {"--memory="}), "--memory: the value is empty; expected SIZE");
  EXPECT_EQ(why(Command::kRun, {"--json=yes"}), "--json takes no value");
}

TEST(Options, ChoicesAreChecked) {
  EXPECT_EQ(why(Command::kRun, {"--on-output", "drop"}), "--on-output: unknown value 'drop'; one of kill, truncate");
  EXPECT_EQ(why(Command::kRun, {"--backend", "dokcer"}), "--backend: unknown value 'dokcer'; one of native, landlock, bwrap, nsjail, firejail, nspawn, crun, runc, runsc, oci, docker, podman, lxc, codex, vm, wasm, basic, none");
}

// `cell rm --dry-run` removed, and `cell exec --deny` hid nothing.
TEST(Options, AVerbRefusesThoseOfOthers) {
  EXPECT_EQ(why(Command::kCell, {"rm", "work", "--dry-run"}), "--dry-run is no option of `hotcell cell rm` but of `hotcell cell apply`; see hotcell help cell rm");
  EXPECT_EQ(why(Command::kCell, {"--name", "b", "fork", "a", "b"}),
            "--name is no option of `hotcell cell fork` but of `hotcell cell create` and `hotcell cell restore`; see hotcell help cell fork");
  EXPECT_EQ(why(Command::kCell, {"rm", "work", "--json"}), "--json is no option of `hotcell cell rm`; see hotcell help cell rm") << "of too many to be a hint";
  EXPECT_EQ(why(Command::kKey, {"revoke", "ci", "--scope", "read"}), "--scope is no option of `hotcell key revoke` but of `hotcell key create`; see hotcell help key revoke");
  EXPECT_EQ(why(Command::kCell, {"exec", "work", "git", "diff", "--patch"}),
            "--patch is no option of `hotcell cell exec` but of `hotcell cell diff`; a program and its options come after --; see hotcell help cell exec");
  // By the second word, where that decides: the name of the cell stands before it.
  EXPECT_EQ(why(Command::kCell, {"context", "work", "run", "python", "1", "--timeout", "1s"}), "accepted");
  EXPECT_EQ(why(Command::kCell, {"context", "work", "create", "python", "--timeout", "1s"}),
            "--timeout is no option of `hotcell cell context create` but of `hotcell cell create`, `hotcell cell exec` and `hotcell cell context run`; see hotcell help cell context create");
  EXPECT_EQ(why(Command::kCell, {"snapshots", "work", "--json"}), "accepted");
  EXPECT_EQ(why(Command::kCell, {"snapshots", "work", "rm", "one", "--json"}), "--json is no option of `hotcell cell snapshots rm`; see hotcell help cell snapshots rm");
  // What comes after -- is the program's, and help is given in any case.
  EXPECT_EQ(why(Command::kCell, {"exec", "work", "--", "x", "--dry-run"}), "accepted");
  EXPECT_EQ(why(Command::kCell, {"rm", "--dry-run", "--help"}), "accepted");
}

// Each walls' option by name: whoever gives one to `exec` believes that it holds there.
TEST(Options, WallsAreNotSaidToExec) {
  for (std::vector<std::string_view> wall : {std::vector<std::string_view>{"--require", "all"}, {"--level", "enhanced"}, {"--profile", "strict"}, {"--deny", "/x"}, {"--memory", "1M"},
                                             {"--network", "none"}, {"--tier", "strong"}, {"--decisions", "standard"}, {"--read", "/x"}, {"--cpu-time", "1s"}}) {
    std::vector<std::string_view> exec = {"exec", "work"}, create = {"create"};
    for (auto* words : {&exec, &create}) words->insert(words->end(), wall.begin(), wall.end());
    exec.insert(exec.end(), {"--", "true"});
    EXPECT_TRUE(why(Command::kCell, exec).starts_with(cat(wall[0], " is no option of `hotcell cell exec` but of `hotcell cell create`"))) << why(Command::kCell, exec);
    EXPECT_EQ(why(Command::kCell, create), "accepted") << wall[0];
  }
}

TEST(Options, JsonIsSeenEvenWhenSomethingElseIsWrong) {
  auto wants = [](std::vector<std::string_view> words) { return wants_json(Command::kRun, words); };
  EXPECT_TRUE(wants({"--bogus", "--json"}));
  EXPECT_TRUE(wants({"--memory", "12Q", "--json"}));
  EXPECT_FALSE(wants({"--env", "--json", "--bogus"}));
  EXPECT_FALSE(wants({"--bogus", "--", "--json"}));
  EXPECT_FALSE(wants({"x.py", "--json"}));
}

TEST(OptionTable, EveryOptionOfTheContractIsThere) {
  std::set<std::string_view> names;
  for (const auto& o : options()) {
    if (applies(o, Command::kRun)) names.insert(o.name);
  }
  for (std::string_view name : {"--profile",         "--level",     "--backend", "--memory",
                                "--cpu-time",        "--cpus",      "--timeout", "--processes",
                                "--open-files",      "--disk",      "--output",  "--read",
                                "--write",           "--deny",      "--env",     "--workdir",
                                "--stdin",           "--file",      "--network", "--allow-domain",
                                "--block-domain",    "--secret",    "--tier",    "--require",
                                "--on-output",       "--rich",      "--json",    "--status-fd",
                                "--explain-denials", "--no-verify", "--no-warm", "--daemon",
                                "--no-cache",        "--inspect",
                                "--language",        "-c"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

// A verb without a row would take every option of its command.
TEST(VerbTable, EveryVerbHasARowAndEveryOptionAVerb) {
  auto rows_of = [](Command command, std::string_view word) {
    return std::count_if(verbs().begin(), verbs().end(), [&](const VerbSpec& v) { return v.command == command && v.name.substr(0, v.name.find(' ')) == word; });
  };
  for (const auto& c : commands()) {
    if (c.words.empty() || c.id == Command::kCompletion) continue;  // whose words are shells
    for (auto word : split(c.words, '|')) EXPECT_GT(rows_of(c.id, word), 0) << c.name << " " << word;
    for (const auto& o : options()) {
      if (!applies(o, c.id)) continue;
      EXPECT_TRUE(std::any_of(verbs().begin(), verbs().end(), [&](const VerbSpec& v) { return v.command == c.id && applies(o, v); })) << c.name << " " << o.name << ": no verb reads it";
    }
  }
  for (const auto& v : verbs()) {
    auto words = split(command_spec(v.command).words, '|');
    EXPECT_TRUE(std::count(words.begin(), words.end(), v.name.substr(0, v.name.find(' ')))) << v.name;
    for (const auto& o : options()) EXPECT_TRUE(!v.reads.has(o.id) || applies(o, v.command)) << v.name << " " << o.name << ": the command has no such option";
  }
}

TEST(OptionTable, RowsAreConsistent) {
  std::set<std::string_view> names;
  std::set<Opt> ids;
  for (const auto& o : options()) {
    EXPECT_TRUE(names.insert(o.name).second) << o.name;
    EXPECT_TRUE(ids.insert(o.id).second) << o.name;
    EXPECT_TRUE(o.help.ends_with('.')) << o.name;
    EXPECT_TRUE(o.choices.empty() || !o.value.empty()) << o.name;
  }
  for (const auto& c : commands()) EXPECT_EQ(&command_spec(c.id), &c) << c.name;
}

}  // namespace
}  // namespace hotcell
