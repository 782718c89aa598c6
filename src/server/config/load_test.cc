#include "base/source_folder_testing.h"
#include "server/config/load.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "server/config/fields.h"

namespace hotcell::server {
namespace {

std::string why(std::string_view yaml) {
  auto config = parse_config(yaml, "c.yaml");
  return config.ok() ? "accepted" : config.error().message;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A folder of its own, and sources that see nothing of this machine.
class ConfigFiles : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "hotcell-config.XXXXXX").native();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    sources_.variables["HOME"] = folder_;
    sources_.files = {folder_ + "/etc.yaml", folder_ + "/own.yaml"};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(std::string_view name, std::string_view text, unsigned mode = 0644) {
    auto path = cat(folder_, "/", name);
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  Config load() {
    auto config = load_config(sources_);
    EXPECT_TRUE(config.ok()) << config.error().message;
    return config.ok() ? std::move(config).value() : Config{};
  }
  std::string refusal() {
    auto config = load_config(sources_);
    return config.ok() ? "accepted" : config.error().message;
  }

  std::string folder_;
  ConfigSources sources_;
};

TEST(ConfigDecisions, AreStandardOrAFile) {
  for (auto fine : {"standard", "/etc/hotcell/rules.yaml", "\"\""}) EXPECT_EQ(why(cat("cells: {decisions: ", std::string_view(fine), "}")), "accepted") << fine;
  for (auto wrong : {"strict", "rules.yaml", "/etc/../rules.yaml", "[standard]", "true"})
    EXPECT_TRUE(contains(why(cat("cells: {decisions: ", std::string_view(wrong), "}")), "c.yaml:1: cells.decisions: ")) << why(cat("cells: {decisions: ", std::string_view(wrong), "}"));
}

TEST_F(ConfigFiles, WithoutAnyTheDefaultsHoldAndSaySo) {
  auto config = load();
  EXPECT_EQ(config.listen, std::vector<std::string>{"127.0.0.1:7070"});
  for (const auto& field : fields()) {
    auto origin = config.origins.at(std::string(field.key));
    EXPECT_EQ(origin, field.key == "state_dir" && ::geteuid() != 0 ? "HOME" : "default") << field.key;
  }
  EXPECT_EQ(config.state_dir, ::geteuid() == 0 ? "/var/lib/hotcell" : folder_ + "/.local/state/hotcell");
}

TEST_F(ConfigFiles, TheLaterSourceWinsAndIsNamed) {
  write("etc.yaml", "limits:\n  memory: 1G\n  disk: 2G\n  output: 1M\n  processes: 7\n");
  write("own.yaml", "limits:\n  disk: 3G\n  output: 2M\n  processes: 8\n");
  sources_.variables["HOTCELL_LIMITS_OUTPUT"] = "3M";
  sources_.variables["HOTCELL_LIMITS_PROCESSES"] = "9";
  sources_.variables["HOTCELL_LISTEN"] = "127.0.0.1:1, [::1]:2";
  sources_.options = {{"--processes", "limits.processes", {"10"}}};
  auto config = load();
  EXPECT_EQ(config.max_memory, 1_GiB);
  EXPECT_EQ(config.max_disk, 3_GiB);
  EXPECT_EQ(config.max_output, 3_MiB);
  EXPECT_EQ(config.max_processes, 10U);
  EXPECT_EQ(config.listen, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
  EXPECT_EQ(config.origins["limits.memory"], folder_ + "/etc.yaml:2");
  EXPECT_EQ(config.origins["limits.disk"], folder_ + "/own.yaml:2");
  EXPECT_EQ(config.origins["limits.output"], "HOTCELL_LIMITS_OUTPUT");
  EXPECT_EQ(config.origins["limits.processes"], "--processes");
}

TEST_F(ConfigFiles, OneFileTakesThePlaceOfTheOthersAndMustBeThere) {
  write("etc.yaml", "docs: false\n");
  sources_.only_file = write("mine.yaml", "mcp: false\n");
  auto config = load();
  EXPECT_TRUE(config.docs);
  EXPECT_FALSE(config.mcp);
  sources_.only_file = folder_ + "/none.yaml";
  EXPECT_TRUE(contains(refusal(), "none.yaml: No such file or directory")) << refusal();
}

TEST_F(ConfigFiles, WhatOthersMayWriteIsRefused) {
  auto path = write("etc.yaml", "docs: false\n", 0666);
  EXPECT_TRUE(contains(refusal(), cat(path, ": others may write it"))) << refusal();
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  EXPECT_TRUE(contains(refusal(), "others may write it")) << refusal();
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(refusal(), "accepted");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(contains(refusal(), "belongs to user 12345")) << refusal();
  }
}

TEST_F(ConfigFiles, WhatCannotBeReadIsAnErrorAndNotAnAbsence) {
  std::filesystem::create_directory(folder_ + "/etc.yaml");
  EXPECT_TRUE(contains(refusal(), "is not a file")) << refusal();
  std::filesystem::remove(folder_ + "/etc.yaml");
  ASSERT_EQ(::mkfifo((folder_ + "/etc.yaml").c_str(), 0600), 0);
  EXPECT_TRUE(contains(refusal(), "is not a file")) << refusal();
  std::filesystem::remove(folder_ + "/etc.yaml");
  write("etc.yaml", "docs: no\n");
  EXPECT_EQ(refusal(), cat(folder_, "/etc.yaml:1: docs: \"no\" is neither true nor false"));
}

TEST_F(ConfigFiles, VariablesAndOptionsAreCheckedLikeFiles) {
  sources_.variables["HOTCELL_LIMITS_MEMORY"] = "2Q";
  EXPECT_TRUE(contains(refusal(), "HOTCELL_LIMITS_MEMORY: \"2Q\" is not a size")) << refusal();
  sources_.variables["HOTCELL_LIMITS_MEMORY"] = "";  // as good as not set
  EXPECT_EQ(refusal(), "accepted");
  sources_.options = {{"--listen", "listen", {"7070"}}};
  EXPECT_TRUE(contains(refusal(), "--listen: \"7070\" has no port")) << refusal();
}

TEST_F(ConfigFiles, AVariableThatIsNearlyOneOfOursIsMentioned) {
  sources_.variables["HOTCELL_LISTN"] = "x";
  sources_.variables["HOTCELL_SERVICE_PORT_HTTP"] = "tcp://10.0.0.1:80";
  auto notes = load().notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "the variable HOTCELL_LISTN is ignored; did you mean \"HOTCELL_LISTEN\"?");
}

TEST_F(ConfigFiles, TheUsualVariableOfTracesCountsBelowOurOwn) {
  sources_.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:4318";
  auto config = load();
  EXPECT_EQ(config.otlp_endpoint, "http://127.0.0.1:4318");
  EXPECT_EQ(config.origins["otlp_endpoint"], "OTEL_EXPORTER_OTLP_ENDPOINT");
  sources_.variables["HOTCELL_OTLP_ENDPOINT"] = "http://127.0.0.1:9";
  EXPECT_EQ(load().origins["otlp_endpoint"], "HOTCELL_OTLP_ENDPOINT");
}

TEST_F(ConfigFiles, TheStateFolderOfSystemdIsTaken) {
  sources_.variables["STATE_DIRECTORY"] = "/var/lib/private/a:/var/lib/b";
  auto config = load();
  EXPECT_EQ(config.state_dir, "/var/lib/private/a");
  EXPECT_EQ(config.origins["state_dir"], "STATE_DIRECTORY");
}

TEST(Config, TheUsersFileIsFoundByXdg) {
  EXPECT_EQ(standard_files({{"HOME", "/h"}})[1], "/h/.config/hotcell/config.yaml");
  EXPECT_EQ(standard_files({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}})[1], "/x/hotcell/config.yaml");
  EXPECT_EQ(standard_files({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "rel"}})[1], "/h/.config/hotcell/config.yaml");
  EXPECT_EQ(standard_files({}).size(), 1U);
}

TEST(Config, AnUnknownKeyIsNamedWithItsLineAndTheNearest) {
  EXPECT_EQ(why("docs: true\nlisten_on: [a]\n"), "c.yaml:2: unknown key \"listen_on\"");
  EXPECT_EQ(why("\nlisten: []\nlimts: {}\n"), "c.yaml:3: unknown key \"limts\"; did you mean \"limits\"?");
  EXPECT_EQ(why("limits:\n  memry: 1G\n"), "c.yaml:2: unknown key \"memry\" in limits; did you mean \"memory\"?");
  EXPECT_EQ(why("timeout: 5m\n"), "c.yaml:1: unknown key \"timeout\"; did you mean \"limits.timeout\"?");
  EXPECT_EQ(why("park: {pyhton: 1}\n"), "c.yaml:1: unknown key \"pyhton\" in park; did you mean \"python\"?");
  EXPECT_EQ(why("docs: true\nmcp: true\ndocs: false\n"), "c.yaml:3: the key \"docs\" is there twice (first in line 1)");
}

TEST(Config, WrongTypesAreErrors) {
  EXPECT_EQ(why("[]"), "c.yaml:1: wants keys and values, as in `listen: [127.0.0.1:7070]`");
  EXPECT_EQ(why("listen: 127.0.0.1:1\n"), "c.yaml:1: listen: wants a list, as in [a, b]");
  EXPECT_EQ(why("listen: [[a]]\n"), "c.yaml:1: listen: wants a list of texts");
  EXPECT_EQ(why("limits: 5\n"), "c.yaml:1: limits: wants keys and values, as in `timeout: …`");
  EXPECT_EQ(why("limits:\n"), "c.yaml:1: limits: wants keys and values, as in `timeout: …`");
  EXPECT_EQ(why("docs: [true]\n"), "c.yaml:1: docs: wants a single value");
  EXPECT_EQ(why("docs: \"true\"\n"), "c.yaml:1: docs: wants true or false, without quotes");
  EXPECT_EQ(why("state_dir:\n"), "c.yaml:1: state_dir: wants a single value");
  EXPECT_EQ(why("# nothing\n"), "accepted");
}

TEST(Config, ValuesOutOfRangeAndBadUnitsAreErrors) {
  EXPECT_TRUE(contains(why("limits: {memory: 0}"), "limits.memory: \"0\" is no size"));
  EXPECT_EQ(why("limits: {memory: 1K}"), "c.yaml:1: limits.memory: \"1K\" is out of range; accepted: 1M to 16384G");
  EXPECT_TRUE(contains(why("limits: {timeout: 5 m}"), "\"5 m\" is not a duration"));
  EXPECT_EQ(why("limits: {timeout: 25h}"), "c.yaml:1: limits.timeout: \"25h\" is out of range; accepted: 1ms to 24h");
  for (auto text : {"0", "4097", "many"}) EXPECT_TRUE(contains(why(cat("cells: {max: ", text, "}")), "cells.max: \"")) << text;
  EXPECT_EQ(why("cells: {max: 4096}"), "accepted");
  EXPECT_EQ(why("queue: {waiting: 0}"),
            "c.yaml:1: queue.waiting: \"0\" is not accepted: a whole number from 1 to 1000000");
  for (auto text : {"-1", "1.5", "1e3", "0x10", "99999999999", "ten", "''"})
    EXPECT_TRUE(contains(why(cat("keep: {rows: ", text, "}")), "is not accepted")) << text;
  EXPECT_EQ(why("log: {level: warn}"),
            "c.yaml:1: log.level: \"warn\" is none of debug, info, warning, error");
  EXPECT_EQ(why("log: {format: jsn}"), "c.yaml:1: log.format: \"jsn\" is none of text, json; did you mean \"json\"?");
}

TEST(Config, AddressesPathsAndNamesAreChecked) {
  for (auto text : {"127.0.0.1", "127.0.0.1:65536", "127.0.0.1:", "example.org:80", "::1:80", "[::1]", "[::g]:1", ":80",
                    "*:80", "127.0.0.1:-1", "256.0.0.1:80", "unix:/x"})
    EXPECT_TRUE(contains(why(cat("listen: ['", text, "']")), "c.yaml:1: listen: ")) << text;
  EXPECT_EQ(why("listen:\n  - 127.0.0.1:1\n  - nowhere:1\n").substr(0, 9), "c.yaml:3:") << "the line of the entry";
  EXPECT_EQ(why("listen: ['127.0.0.1:1', '127.0.0.1:1']"), "c.yaml:1: listen: \"127.0.0.1:1\" is there twice");
  for (auto text : {"rel", "/a/../b", "/a//b", "/a/"})
    EXPECT_TRUE(contains(why(cat("paths: {read: ['", text, "']}")), "paths.read: ")) << text;
  EXPECT_TRUE(contains(why(cat("unix_socket: /", std::string(108, 'x'))), "too long for a socket"));
  for (auto text : {"https://a.b/c", "a.b", "*", "ftp://a", "https://*"})
    EXPECT_TRUE(contains(why(cat("origins: ['", text, "']")), "is no origin")) << text;
  for (auto text : {"*", "a b", "a/b", "-a", "[x]"})
    EXPECT_TRUE(contains(why(cat("hosts: ['", text, "']")), "is no host")) << text;
  EXPECT_EQ(why("hosts: [cells.example.org, 'cells.example.org:8443', '[2001:db8::1]:80']\n"), "accepted");
  auto secret = why(cat("otlp_endpoint: http://me:", "hunter2@host:1\n"));
  EXPECT_TRUE(contains(secret, "is no endpoint")) << secret;
  EXPECT_FALSE(contains(secret, "hunter2")) << "a password must not reach a log";
}

TEST(Config, BeyondTheLoopbackItWantsTls) {
  EXPECT_TRUE(contains(why("docs: true\nlisten: ['0.0.0.0:80']\n"), "c.yaml:2: listen: 0.0.0.0:80 is not"));
  EXPECT_TRUE(contains(why("listen: ['[::]:80']\n"), "is not the loopback"));
  EXPECT_TRUE(contains(why("listen: ['[::ffff:10.0.0.1]:80']\n"), "is not the loopback"));
  EXPECT_EQ(why("listen: ['127.9.9.9:80', '[::1]:80', 'localhost:81']\n"), "accepted");
  EXPECT_EQ(why("listen: ['0.0.0.0:80']\ntls: {cert: /c, key: /k}\n"), "accepted");
  EXPECT_EQ(why("listen: ['0.0.0.0:80']\ntls: {elsewhere: true}\n"), "accepted");
  EXPECT_EQ(why("tls:\n  key: /k\n"), "c.yaml:2: tls.key: tls.cert and tls.key go together; one is missing");
  EXPECT_EQ(why("listen: []\n"), "c.yaml:1: listen: empty, and there is no unix_socket: nobody could call");
  EXPECT_EQ(why("listen: []\nunix_socket: /run/h.sock\n"), "accepted");
}

TEST(Config, ANetworkThatTheBackendCannotHoldIsRefused) {
  EXPECT_EQ(why("backend: landlock\nnetwork:\n  enabled: true\n"),
            "c.yaml:3: network.enabled is not supported on this platform: the landlock backend has no network namespace, and nothing else would "
            "hold programs to the proxy");
  EXPECT_EQ(why("backend: landlock\nnetwork: {enabled: true, host: true}\n"), "accepted") << "the host's network needs no namespace";
  EXPECT_EQ(why("backend: landlock\nnetwork: {enabled: false}\n"), "accepted");
  EXPECT_EQ(why("backend: native\nnetwork: {enabled: true}\n"), "accepted");
  // What it becomes is not known here; whoever finds out asks again.
  auto config = parse_config("backend: auto\nnetwork: {enabled: true}\n", "c.yaml");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(check_network(config.value()).ok());
  config.value().backend = "landlock";
  EXPECT_FALSE(check_network(config.value()).ok());
}

TEST(Config, AShorterCeilingOfTimeIsRaisedAndThatIsSaid) {
  auto config = parse_config("limits:\n  timeout: 2m\n  max_timeout: 1m\n", "c.yaml");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().max_timeout, std::chrono::minutes(2));
  ASSERT_EQ(config.value().notes.size(), 1U);
  EXPECT_EQ(config.value().notes[0],
            "limits.max_timeout of 60s (c.yaml:3) is shorter than limits.timeout of 2m (c.yaml:2) and was raised to it");
}

TEST(Config, ParkedRuntimesAreSetOneByOne) {
  auto config = parse_config("park: {java: 2}\n", "c.yaml");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config.value().park_runtimes, (std::map<std::string, std::uint32_t>{{"java", 2}, {"python", 1}}));
  config = parse_config("park: {python: 0}\n", "c.yaml");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config.value().park_runtimes.empty());
}

std::vector<std::vector<std::string>> all_values(const Config& config) {
  std::vector<std::vector<std::string>> out;
  for (const auto& field : fields()) out.push_back(field_values(config, field));
  return out;
}

TEST(ConfigText, WhatIsWrittenReadsBackTheSame) {
  Config config;
  config.listen = {"[::1]:0", "127.0.0.1:65535"};
  config.default_profile = "/a \"b\"\\c: #d/ü.yaml";
  config.allowed_read = {"/with, comma", "/with'quote", "/[x]{y}", "/null"};
  config.state_dir = "/null";
  config.header_timeout = std::chrono::milliseconds(1500);
  config.max_body = Bytes{1025};
  config.park_runtimes = {{"java", 3}};
  config.docs = false;
  for (bool origins : {false, true}) {
    auto again = parse_config(config_yaml(config, origins), "again.yaml");
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << config_yaml(config, origins);
    EXPECT_EQ(all_values(again.value()), all_values(config));
  }
}

TEST(ConfigText, TheExampleHasEveryKeyAndOnlyDefaults) {
  auto config = parse_config(config_example(), "example.yaml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(all_values(config.value()), all_values(Config{}));
  for (const auto& field : fields())
    EXPECT_TRUE(config.value().origins.at(std::string(field.key)).starts_with("example.yaml:")) << field.key;
}

TEST(ConfigText, TheShippedFileIsTheExample) {
  std::stringstream shipped;
  shipped << std::ifstream(source_path("packaging/config.yaml")).rdbuf();
  EXPECT_TRUE(shipped.str() == config_example()) << "renew it: hotcell config example > packaging/config.yaml";
}

TEST(ConfigText, JsonHasTheSameShapeAndTellsOrigins) {
  auto config = parse_config("limits:\n  memory: 1G\n", "c.yaml");
  ASSERT_TRUE(config.ok());
  auto text = config_json(config.value(), true);
  EXPECT_TRUE(text.starts_with("{\"listen\":[\"127.0.0.1:7070\"],")) << text;
  EXPECT_TRUE(contains(text, "\"limits\":{\"timeout\":\"5m\",\"max_timeout\":\"5m\",\"memory\":\"1G\"")) << text;
  EXPECT_TRUE(contains(text, "\"queue\":{\"running\":0,\"waiting\":1024")) << text;
  EXPECT_TRUE(contains(text, "\"limits.memory\":\"c.yaml:2\"")) << text;
  EXPECT_FALSE(contains(config_json(config.value(), false), "origins\":{"));
}

TEST(ConfigTable, GroupsStandTogetherAndNamesAreUnique) {
  std::set<std::string> groups, variables;
  std::string last;
  for (const auto& field : fields()) {
    EXPECT_TRUE(field.help.ends_with('.')) << field.key;
    EXPECT_TRUE(variables.insert(variable_of(field)).second) << field.key;
    std::string group(field.key.substr(0, field.key.find('.') == field.key.npos ? 0 : field.key.find('.')));
    EXPECT_TRUE(group == last || groups.insert(group).second) << field.key;
    last = group;
  }
}

}  // namespace
}  // namespace hotcell::server
