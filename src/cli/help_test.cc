#include "base/source_folder_testing.h"
#include "cli/help.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "cli/completion.h"
#include "server/config/fields.h"

namespace hotcell {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string escaped(std::string_view name) {
  std::string out;
  for (char c : name) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

TEST(Help, NamesEveryOptionOfTheCommand) {
  for (const auto& c : commands()) {
    auto text = help_text(c.id);
    for (const auto& o : options()) {
      EXPECT_TRUE(o.hidden || !applies(o, c.id) || contains(text, o.name)) << c.name << " " << o.name;
    }
    EXPECT_TRUE(contains(short_help(), c.name));
    for (auto line : split(text, '\n')) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Help, OfAVerbNamesWhatItTakesAndNoMore) {
  for (const auto& v : verbs()) {
    auto text = help_text(v);
    auto name = command_spec(v.command).name;
    EXPECT_TRUE(text.starts_with(cat("Usage: hotcell ", name, " "))) << name << " " << v.name << ": in no form of the synopsis";
    for (const auto& o : options()) {
      if (o.hidden || !applies(o, v.command)) continue;
      EXPECT_EQ(contains(text, cat("  ", o.short_name, o.short_name.empty() ? "" : ", ", o.name, o.value.empty() ? " " : cat(" ", o.value))), applies(o, v)) << name << " " << v.name << " " << o.name;
    }
  }
  EXPECT_TRUE(contains(help_text(Command::kCell, std::vector<std::string_view>{"rm"}), "pause | resume | start | stop | rm NAME..."));
  EXPECT_FALSE(contains(help_text(Command::kCell, std::vector<std::string_view>{"rm"}), "create"));
  EXPECT_TRUE(contains(help_text(Command::kCell, std::vector<std::string_view>{"write"}), "write NAME PATH"));
  EXPECT_FALSE(contains(help_text(Command::kCell, std::vector<std::string_view>{"write"}), "grant"));
  EXPECT_TRUE(contains(help_text(Command::kCell, std::vector<std::string_view>{"context", "work", "run"}), "run CONTEXT"));
  EXPECT_EQ(help_text(Command::kCell, {}), help_text(Command::kCell));
}

TEST(Manual, NamesEveryOptionAndCommand) {
  auto text = manual_page();
  for (const auto& o : options()) {
    EXPECT_TRUE(o.hidden || contains(text, cat("\\fB", escaped(o.name), "\\fR"))) << o.name;
  }
  for (const auto& c : commands()) EXPECT_TRUE(contains(text, cat(".B ", c.name, "\n"))) << c.name;
}

std::string shipped(std::string_view name) {
  std::stringstream text;
  text << std::ifstream(std::filesystem::path(source_path("packaging")) / name).rdbuf();
  return text.str();
}

TEST(Manual, TheShippedPagesAreTheCurrentOnes) {
  EXPECT_TRUE(shipped("man/hotcell.1") == manual_page()) << "renew it: hotcell help --man > packaging/man/hotcell.1";
  for (auto command : {Command::kServe, Command::kMcp, Command::kConfig}) {
    auto name = command_spec(command).name;
    EXPECT_TRUE(shipped(cat("man/hotcell-", name, ".1")) == manual_page(command))
        << "renew it: hotcell help --man " << name << " > packaging/man/hotcell-" << name << ".1";
  }
}

TEST(Manual, TheOneOfConfigNamesEveryKeyAndItsVariable) {
  auto text = manual_page(Command::kConfig);
  for (const auto& field : server::fields()) {
    EXPECT_TRUE(contains(text, cat("\\fB", field.key, "\\fR (", server::variable_of(field), ")"))) << field.key;
  }
}

TEST(Completion, EveryUsableOptionIsOfferedByEveryShell) {
  for (const auto& script : {bash_completion(), zsh_completion(), fish_completion()}) {
    for (const auto& o : options()) {
      bool offered = contains(script, o.name) || contains(script, cat(o.name.starts_with("--") ? " -l " : " -s ",
                                                                      o.name.substr(o.name.find_first_not_of('-'))));
      EXPECT_TRUE(offered || o.hidden) << o.name;
    }
    for (const auto& c : commands()) EXPECT_TRUE(contains(script, c.name));
    EXPECT_TRUE(contains(script, "landlock_broad"));
  }
}

// Asks bash itself what it would offer.
std::string offers(const std::string& line) {
  std::string words;
  for (auto word : split(line, ' ')) words += cat("'", word, "' ");
  auto count = split(line, ' ').size();
  auto file = std::filesystem::temp_directory_path() / cat("hotcell-completion-", ::getpid());
  std::ofstream(file) << bash_completion() << "cd /\nCOMP_WORDS=(" << words << ")\nCOMP_CWORD=" << count - 1
                      << "\n_hotcell\necho \"${COMPREPLY[@]}\"\n";
  std::string command = cat("bash --norc ", file.native());
  std::string out;
  if (FILE* p = ::popen(command.c_str(), "r")) {
    char buffer[4096];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, p)) out.append(buffer, n);
    ::pclose(p);
  }
  std::filesystem::remove(file);
  return std::string(trim(out));
}

TEST(Completion, BashOffersCommandsOptionsAndValues) {
  EXPECT_EQ(offers("hotcell ex"), "explain");
  EXPECT_EQ(offers("hotcell run --mem"), "--memory");
  EXPECT_EQ(offers("hotcell run --network h"), "host");
  EXPECT_EQ(offers("hotcell run --require landlock_"), "landlock_broad");
  EXPECT_EQ(offers("hotcell run --profile str"), "strict");
  EXPECT_EQ(offers("hotcell completion z"), "zsh");
  EXPECT_EQ(offers("hotcell doctor --a"), "--attack");
  EXPECT_EQ(offers("hotcell serve --log-f"), "--log-format");
  EXPECT_EQ(offers("hotcell serve --log-level w"), "warning");
  EXPECT_EQ(offers("hotcell config ex"), "example");
  EXPECT_EQ(offers("hotcell help ser"), "serve");
  EXPECT_EQ(offers("hotcell run -- /bin/ls --mem"), "");
}

TEST(Completion, BashOffersAVerbItsOwnOptions) {
  EXPECT_EQ(offers("hotcell cell apply work --dr"), "--dry-run");
  EXPECT_EQ(offers("hotcell cell discard work --dr"), "");
  EXPECT_EQ(offers("hotcell cell discard work --js"), "--json");
  EXPECT_EQ(offers("hotcell cell context work run --t"), "--timeout");
  EXPECT_EQ(offers("hotcell cell context work close --t"), "");
  EXPECT_EQ(offers("hotcell cell snapshots work --js"), "--json");
  EXPECT_EQ(offers("hotcell cell disc"), "discard");
  EXPECT_EQ(offers("hotcell key revoke ci --sc"), "");
  EXPECT_EQ(offers("hotcell key create ci --sc"), "--scope");
}

}  // namespace
}  // namespace hotcell
