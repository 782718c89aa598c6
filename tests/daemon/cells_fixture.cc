#include "base/source_folder_testing.h"
#include "daemon/cells_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "server/json/json_value.h"
#include "support/cells.h"

namespace hotcell::testing {

namespace fs = std::filesystem;

std::string text_field(const std::string& json, const std::string& name) {
  auto parsed = server::parse_json(json, server::JsonBounds{64, 1'000'000});
  return parsed.ok() ? std::string(parsed.value().text(name)) : std::string();
}

std::string layer_status(const std::string& cell, const std::string& layer) {
  auto parsed = server::parse_json(cell, server::JsonBounds{64, 1'000'000});
  const server::JsonValue* enforcement = parsed.ok() ? parsed.value().find("enforcement") : nullptr;
  if (enforcement != nullptr)
    for (const auto& l : enforcement->items("layers"))
      if (l.text("name") == layer) return std::string(l.text("status"));
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string front_of(int daemon) {
  std::ifstream children(cat("/proc/", daemon, "/task/", daemon, "/children"));
  for (std::string pid; children >> pid;)
    if (first_line(cat("/proc/", pid, "/comm")) == "hotcell-front") return pid;
  return "0";
}

void CellsRest::SetUp() {
  around_ = (fs::temp_directory_path() / "hotcell-projects-XXXXXX").string();
  ASSERT_NE(::mkdtemp(around_.data()), nullptr);
  ::chmod(around_.c_str(), 0755);
  project = around_ + "/allowed/app";
  fs::create_directories(project + "/sub");
  std::ofstream(project + "/a.txt") << "one\n";
  std::ofstream(project + "/sub/b.txt") << "two\n";
  config += cat("cells:\n  projects: [\"", around_, "/allowed\"]\n", more_config);
  DaemonFixture::SetUp();
}

int CellsRest::keeper_pid() const {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // One that goes while it is read is none.
    if (read_text(entry.path() / "cmdline") == cat("hotcell", '\0', "cell", '\0', "keeper", '\0', state, '\0')) return std::stoi(name);
  }
  return 0;
}

void CellsRest::TearDown() {
  auto all = send("GET", "/api/v1/cells?limit=500");
  if (auto parsed = server::parse_json(all.body, server::JsonBounds{64, 1'000'000}); parsed.ok())
    for (const auto& c : parsed.value().items("cells")) {
      send("DELETE", cell(std::string(c.text("id"))));
    }
  end_daemon();
  if (pid_t pid = keeper_pid(); pid != 0) ::kill(pid, SIGTERM);
  for (int i = 0; i < 600 && keeper_pid() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(keeper_pid(), 0) << "the keeper did not go";
  for (const auto& path : matches(state + "/cells/*/work/work")) ::chmod(path.c_str(), 0700);
  std::error_code ignored;
  fs::remove_all(around_, ignored);
  DaemonFixture::TearDown();
}

std::string CellsRest::make(const std::string& body) {
  auto made = send("POST", "/api/v1/cells", body);
  EXPECT_EQ(made.status, 201) << made.body;
  return text_field(made.body, "id");
}

server::JsonValue CellsRest::mcp(const std::string& tool, const std::string& arguments) {
  const bool before = std::exchange(record, false);   // that document is not about this door
  auto answer = send("POST", "/mcp", cat(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")", tool, R"(","arguments":)", arguments, "}}"));
  record = before;
  auto parsed = server::parse_json(answer.body, server::JsonBounds{64, 1'000'000});
  const server::JsonValue* result = parsed.ok() ? parsed.value().find("result") : nullptr;
  EXPECT_NE(result, nullptr) << answer.status << answer.body;
  return result == nullptr ? server::JsonValue() : *result;
}

void CellsRest::expect_as_promised() {
  const std::string file = state + "/answers.ndjson";
  std::ofstream(file) << recorded;
  FILE* pipe = ::popen(cat(kSourceFolder, "/tests/openapi/check ", kSourceFolder, "/build/openapi-npm ", file, " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 0) << said;
}

std::string CellsRest::sh(const std::string& id, const std::string& line) {
  auto ran = send("POST", cell(id, "/exec"), cat("{\"shell\":", server::json_string(line), "}"));
  EXPECT_EQ(ran.status, 200) << ran.body;
  return text_field(ran.body, "stdout");
}

}  // namespace hotcell::testing
