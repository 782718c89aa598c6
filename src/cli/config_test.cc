#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/serve_options.h"
#include "hotcell/language.h"
#include "server/config/fields.h"

namespace hotcell {
namespace {

struct Said {
  int code;
  std::string out, err;
};

Said config(std::vector<std::string_view> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = cmd_config(words);
  std::string out = testing::internal::GetCapturedStdout(), err = testing::internal::GetCapturedStderr();
  return {code, std::move(out), std::move(err)};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

class ConfigCommand : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "hotcell-config.XXXXXX").native();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/c.yaml";
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    ::setenv("HOTCELL_LIMITS_DISK", "3G", 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CONFIG_HOME");
    ::unsetenv("HOTCELL_LIMITS_DISK");
    std::filesystem::remove_all(folder_);
  }
  void write(std::string_view text) {
    std::ofstream(file_) << text;
    std::filesystem::permissions(file_, std::filesystem::perms(0644));
  }

  std::string folder_, file_;
};

TEST_F(ConfigCommand, ShowTellsWhereEachValueComesFrom) {
  write("limits:\n  memory: 1G\n");
  auto said = config({"show", "--origin", "--config", file_});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, cat("# ", file_, ":2\n"))) << said.out;
  EXPECT_TRUE(contains(said.out, "# HOTCELL_LIMITS_DISK\n")) << said.out;
  EXPECT_TRUE(contains(said.out, "# default\n")) << said.out;
  auto json = config({"show", "--json", "--origin", "--config", file_});
  EXPECT_TRUE(contains(json.out, "\"limits.disk\":\"HOTCELL_LIMITS_DISK\"")) << json.out;
}

TEST_F(ConfigCommand, ShowReadsTheUsersFile) {
  std::filesystem::create_directory(folder_ + "/hotcell");
  file_ = folder_ + "/hotcell/config.yaml";
  write("log:\n  format: json\n");
  auto said = config({"show", "--origin"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, cat("# ", file_, ":2\n"))) << said.out;
}

TEST_F(ConfigCommand, CheckReadsTheFileAloneAndItsExitCodeTells) {
  write("limits: {memory: 1G}\n");
  auto said = config({"check", file_});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, cat(file_, ": ok\n"));
  write("limits:\n  timeout: 9m\n");
  said = config({"check", file_});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(contains(said.out, "was raised to it")) << said.out;
  write("\nlimits:\n  memroy: 9m\n");
  said = config({"check", file_, "--json"});
  EXPECT_EQ(said.code, 125);
  EXPECT_TRUE(contains(said.err, cat("hotcell: ", file_, ":3: unknown key"))) << said.err;
  EXPECT_TRUE(contains(said.out, "\"valid\":false")) << said.out;
  EXPECT_EQ(config({"check", folder_ + "/none"}).code, 125);
}

TEST_F(ConfigCommand, CheckRefusesTheHostsThatServeWouldRefuse) {
  for (std::string_view bad : {"allow: [\"http://a.org\"]", "block: [\"a b\"]", "private: [300.1.1.1]", "allow: [\"@nobody\"]"}) {
    write(cat("network: {", bad, "}\n"));
    auto said = config({"check", file_});
    EXPECT_EQ(said.code, 125) << bad;
    EXPECT_TRUE(contains(said.err, cat(file_, ": network"))) << said.err;
    EXPECT_EQ(said.out, "");
  }
  write("network: {allow: [\"@registries\", \"*.a.org:443\"], private: [\"10.0.0.0/8\"]}\n");
  EXPECT_EQ(config({"check", file_}).code, 0);
}

TEST_F(ConfigCommand, TheExampleIsAFileThatChecks) {
  auto example = config({"example"});
  write(example.out);
  EXPECT_EQ(config({"check", file_}).code, 0);
}

TEST_F(ConfigCommand, WordsThatMakeNoSenseAreRefused) {
  for (std::vector<std::string_view> words : std::initializer_list<std::vector<std::string_view>>{
           {}, {"sho"}, {"show", "x"}, {"check"}, {"example", "x"}, {"check", "x", "--origin"},
           {"show", "--listen", "x"}})
    EXPECT_EQ(config(words).code, 125);
}

Result<server::Config> served(std::vector<std::string_view> words) {
  auto parsed = parse(Command::kServe, words);
  if (!parsed.ok()) return std::move(parsed).error();
  return serve_config(parsed.value());
}

TEST_F(ConfigCommand, OptionsOfServeSetTheirFields) {
  auto c = served({"--listen", "127.0.0.1:0", "--listen=[::1]:0", "--state", "here/./x/..", "--unix", "/run/x.sock",
                   "--require-key", "--tls-cert", "c.pem", "--tls-key", "/k.pem", "--profile", "strict",
                   "--max-running", "3", "--log-format", "json", "--log-level", "error", "--state", "there"});
  ASSERT_TRUE(c.ok()) << c.error().message;
  auto& config = c.value();
  auto here = std::filesystem::current_path().native();
  EXPECT_EQ(config.listen, (std::vector<std::string>{"127.0.0.1:0", "[::1]:0"}));
  EXPECT_EQ(config.state_dir, here + "/there");
  EXPECT_EQ(config.unix_socket, "/run/x.sock");
  EXPECT_TRUE(config.require_key);
  EXPECT_EQ(config.tls_cert, here + "/c.pem");
  EXPECT_EQ(config.default_profile, "strict");
  EXPECT_EQ(config.max_running, 3U);
  EXPECT_EQ(config.log_format, "json");
  EXPECT_EQ(config.log_level, "error");
  EXPECT_EQ(config.origins["listen"], "--listen");
  EXPECT_EQ(served({"--profile", "./p.yaml"}).value().default_profile, here + "/p.yaml");
}

TEST_F(ConfigCommand, OptionsOfServeAreCheckedLikeTheFile) {
  auto why = [](std::vector<std::string_view> words) {
    auto c = served(std::move(words));
    return c.ok() ? std::string("accepted") : c.error().message;
  };
  EXPECT_TRUE(contains(why({"--listen", "0.0.0.0:80"}), "--listen: listen: 0.0.0.0:80 is not the loopback"));
  EXPECT_TRUE(contains(why({"--max-running", "-1"}), "--max-running: \"-1\" is not accepted"));
  EXPECT_TRUE(contains(why({"--tls-cert", "/x"}), "go together"));
  EXPECT_TRUE(contains(why({"--log-level", "loud"}), "unknown value 'loud'"));
}

TEST(ConfigTable, LogChoicesOfOptionsAreThoseOfTheFile) {
  for (const auto& o : options()) {
    if (o.id != Opt::kLogFormat && o.id != Opt::kLogLevel) continue;
    EXPECT_EQ(o.choices, server::find_field(o.id == Opt::kLogFormat ? "log.format" : "log.level")->choices);
  }
}

TEST(ConfigTable, ExactlyTheLanguagesThatCanWaitAreParked) {
  for (const auto& language : languages()) {
    bool parked = server::find_field(cat("park.", language->name)) != nullptr;
    EXPECT_EQ(parked, language->warm.prepare != nullptr) << language->name;
  }
}

}  // namespace
}  // namespace hotcell
