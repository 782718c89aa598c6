// Requests that have broken other people's daemons: the rows of attacks/api.jsonl. Each that is a request as it stands, or that a
// few lines here put into one, must get the answer it is given there, and the daemon must go on. The rest are scenes; each names
// the test that plays it, and a row that is neither is a failure.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "daemon/rest_client.h"
#include "server/json/json_value.h"
#include "support/cells.h"
#include "sys/uuid.h"

namespace hotcell::testing {
namespace {

// Where the scenes are played.
const std::map<std::string, std::string, std::less<>> kScenes = {
    {"state-symlink", "StateFolder.ALinkAndAFolderOfOthersAreRefused"},
    {"upload-symlink-race", "CellFiles.SeedsApplyNeverFollowsASymlinkOutOfTheProject; a work_dir is looked up inside the cell alone"},
    {"download-fifo", "Files.DevicesAndFifosAreNeitherReadNorWritten"},
    {"auth-timing", "ConstantTime.Compares"},
    {"bind-all", "ConfigFiles.WithoutAnyTheDefaultsHoldAndSaySo"},
    {"sock-mode", "UnixSocket.*"},
    {"ws-origin", "CellsTerminal.WhoMayNotComeInDoesNot"},
    {"id-entropy", "ExecutionIds.AreChanceAndNothingElse"},
    {"xss-output", "tests/web/executions_test.mjs"},
    {"slowloris", "HttpLimits.SlowlorisDoesNotKeepOthersOut"},
    {"conn-flood", "HttpLimits.TenThousandThatSayNothingMakeRoomForOneThatSpeaks"},
    {"kill-twice", "AttackScenes.TwoKillsATimeoutAndAnEndAreOneEnd"},
    {"daemon-kill9", "Crash.ADaemonThatIsKilledLeavesNothingButRowsOfAllItWasAsked"},
    {"client-gone", "Rest.AClientThatLeavesTakesItsExecutionWithIt"},
    {"snapshot-tamper", "src/cells/files/snapshot_test.cc, fuzz/snapshot_fuzz.cc"},
    {"resume-other-user", "CellsRest.AKeyHasOnlyCellsOfItsOwn"},
    {"mcp-notify", "McpTools.NobodyCancelsWhatSomebodyElseAskedFor"},
};

class AttackRows : public DaemonFixture {
 protected:
  // The status, and all of the answer. Empty: it closed without a word.
  std::string raw(const std::string& text) {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string out;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
      char buffer[4096];
      pollfd p{fd, POLLIN, 0};
      while (::poll(&p, 1, 10'000) > 0) {
        ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n <= 0) break;
        out.append(buffer, static_cast<std::size_t>(n));
      }
    }
    ::close(fd);
    return out;
  }
  static bool is_status(const std::string& answer, int status) { return answer.starts_with(cat("HTTP/1.1 ", status, " ")); }
  std::string head(const std::string& line, const std::string& host, const std::string& more) {
    return cat(line, " HTTP/1.1\r\nHost: ", host, "\r\n", more, "Connection: close\r\n\r\n");
  }
  void expect_execute(const std::string& body, int status) {
    auto answer = send("POST", "/api/v1/sandbox/execute", body);
    EXPECT_EQ(answer.status, status) << body.substr(0, 200) << " → " << answer.body;
  }

  std::map<std::string, std::function<void()>> hand_made() {
    const std::string own = cat("127.0.0.1:", port);
    return {
        {"env-many",
         [this] {
           std::string many = R"({"command":"id","env":{)";
           for (int i = 0; i < 100'000; ++i) many += cat(i == 0 ? "" : ",", "\"V", i, "\":\"", std::string(90, 'x'), "\"");
           expect_execute(many + "}}", 400);
         }},
        {"arg-huge",
         [this] {
           // Whoever says how much it will be is answered before it comes.
           EXPECT_TRUE(is_status(raw(head("POST /api/v1/sandbox/execute", cat("127.0.0.1:", port), "Content-Type: application/json\r\nContent-Length: 104857600\r\n")), 413));
         }},
        {"body-huge",
         [this] {
           EXPECT_TRUE(is_status(raw(head("POST /api/v1/sandbox/execute", cat("127.0.0.1:", port), "Content-Type: application/json\r\nContent-Length: 1073741824\r\n")), 413));
         }},
        {"limits-nan",
         [this] {
           for (const char* value : {"NaN", "1e999", "\"5\"", "[]", "true", "-1", "-Infinity"}) expect_execute(cat(R"({"command":"id","timeout_secs":)", value, "}"), 400);
         }},
        {"json-deep", [this] { expect_execute(cat(R"({"command":)", std::string(100'000, '['), std::string(100'000, ']'), "}"), 400); }},
        {"json-bigint",
         [this] {
           for (const char* value : {"1e400", "1180591620717411303424", "-1180591620717411303424"}) expect_execute(cat(R"({"command":"id","memory_mb":)", value, "}"), 400);
         }},
        {"rebind", [this] { EXPECT_TRUE(is_status(raw(head("GET /api/v1/stats", cat("evil.test:", port), "")), 403)); }},
        {"origin-suffix",
         [this, own] {
           EXPECT_TRUE(is_status(raw(head("GET /api/v1/stats", own, "Origin: http://localhost.evil.test\r\n")), 403));
           EXPECT_TRUE(is_status(raw(head("GET /api/v1/stats", own, cat("Origin: http://localhost:", port, "\r\n"))), 200)) << "the control";
         }},
        {"smuggle",
         [this, own] {
           const std::string json = "Content-Type: application/json\r\n";
           EXPECT_TRUE(is_status(raw(head("POST /api/v1/verify", own, json + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") + "{}"), 400));
           EXPECT_TRUE(is_status(raw(head("POST /api/v1/verify", own, json + "Content-Length: 2\r\nContent-Length: 3\r\n") + "{} "), 400));
         }},
        {"method-override",
         [this, own] {
           EXPECT_TRUE(is_status(raw(head("GET /api/v1/keys", own, "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: POST\r\n")), 200)) << "it is a GET";
         }},
        {"ssrf-callback",
         [this] {
           for (const char* url : {"http://169.254.169.254/", "http://127.0.0.1:1/"}) expect_execute(cat(R"({"command":"true","callback_url":")", url, "\"}"), 400);
         }},
        {"log-inject",
         [this] {
           auto ran = send("POST", "/api/v1/sandbox/execute", R"({"command":"echo","args":["x\nhotcell: forged\u001b[31m"]})");
           EXPECT_EQ(ran.status, 200) << ran.body;
           std::ifstream said(state + ".said");
           for (std::string text; std::getline(said, text);) {
             EXPECT_FALSE(text.starts_with("hotcell: forged"));
             EXPECT_EQ(text.find('\x1b'), text.npos);
           }
         }},
        {"disk-log",
         [this] {
           auto flood = send("POST", "/api/v1/sandbox/execute", R"({"command":"sh","args":["-c","head -c 50000000 /dev/zero | tr '\\0' x"]})");
           EXPECT_EQ(flood.status, 200);
           EXPECT_NE(flood.body.find("\"stdout_truncated\":true"), std::string::npos);
           EXPECT_LT(flood.body.size(), 17u << 20);
           EXPECT_LT(std::filesystem::file_size(state + ".said"), 1u << 20);
         }},
        {"mcp-tool-args",
         [this] {
           auto told = send("POST", "/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"id","preload":"x"}}})");
           EXPECT_NE(told.body.find("\"isError\":true"), std::string::npos) << told.body;
         }},
        {"mcp-id",
         [this] {
           for (const char* id : {"null", "1.5", "1e308", "[1]", "{}"}) {
             auto told = send("POST", "/mcp", cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":"ping"})"));
             EXPECT_TRUE(told.status == 400 || told.status == 200) << id << " " << told.status << told.body;
             EXPECT_NE(told.body.find("\"jsonrpc\":\"2.0\""), std::string::npos) << id << told.body;
           }
         }},
    };
  }
};

bool ran_inside(const HttpAnswer& answer) {
  // As nobody of the host's: uid 1000 in a cell's own user namespace, or it did not get that far.
  return answer.body.find("uid=0(") == std::string::npos && answer.body.find("\"exit_reason\"") != std::string::npos;
}

TEST_F(AttackRows, GetTheSafeAnswer) {
  const char* data = std::getenv("HOTCELL_DATA");
  std::ifstream file(cat(std::string_view(data == nullptr ? "" : data), "/attacks/api.jsonl"));
  if (!file) {
    std::cout << "left out: attacks/api.jsonl is not here (HOTCELL_DATA)\n";
    EXPECT_EQ(send("GET", "/health").status, 200);
    return;
  }
  std::size_t tried = 0, scenes = 0;
  const auto by_hand = hand_made();
  for (std::string line; std::getline(file, line);) {
    auto row = server::parse_json(line, server::JsonBounds{16, 10'000});
    ASSERT_TRUE(row.ok()) << line;
    const std::string request(row.value().text("request")), expect(row.value().text("expect"));
    const bool posts = request.starts_with("POST /"), gets = request.starts_with("GET /");
    if (!posts && !gets) {
      const std::string id(row.value().text("id"));
      if (auto made = by_hand.find(id); made != by_hand.end()) {
        ++tried;
        made->second();
      } else {
        ++scenes;
        EXPECT_TRUE(kScenes.contains(id)) << id << " is sent by nobody: " << request;
      }
      EXPECT_EQ(send("GET", "/health").status, 200) << "after " << id;
      continue;
    }
    ++tried;
    const auto after = request.find(' ') + 1, body = request.find(" {");
    auto answer = send(posts ? "POST" : "GET", request.substr(after, body == request.npos ? body : body - after),
                       body == request.npos ? std::string() : request.substr(body + 1));
    const std::string seen = cat(row.value().text("id"), ": ", answer.status, " ", answer.body);
    const bool refused = answer.status >= 400 && answer.status < 500;
    EXPECT_TRUE(refused || (answer.status == 200 && ran_inside(answer))) << seen;
    if (expect.starts_with("400") || expect.starts_with("404") || expect.find("unknown fields refused") != expect.npos) {
      EXPECT_TRUE(refused) << seen;
    }
    if (refused) {
      EXPECT_FALSE(text_field(answer.body, "message").empty()) << seen;
    }
    EXPECT_EQ(send("GET", "/health").status, 200) << "after " << seen;
  }
  std::cout << tried << " requests, " << scenes << " scenes with tests of their own\n";
  EXPECT_GT(tried, 30u);
}

class AttackScenes : public DaemonFixture {
 protected:
  void SetUp() override {
    record = false;
    DaemonFixture::SetUp();
  }
};

TEST_F(AttackScenes, TwoKillsATimeoutAndAnEndAreOneEnd) {
  std::map<std::string, int> ends;
  for (int round = 0; round < 12; ++round) {
    auto taken = send("POST", "/api/v1/sandbox/execute?wait=false", R"({"command":"sleep","args":["0.4"],"timeout_secs":0.4})");
    ASSERT_EQ(taken.status, 202) << taken.body;
    const std::string id = field(taken.body, "id");
    std::this_thread::sleep_for(std::chrono::milliseconds(340 + 15 * round));
    std::array<int, 2> said{};
    std::thread other([&] { said[0] = send("POST", "/api/v1/sandbox/kill/" + id).status; });
    said[1] = send("POST", "/api/v1/sandbox/kill/" + id).status;
    other.join();
    for (int status : said) EXPECT_TRUE(status == 200 || status == 409) << status;
    std::string end;
    for (int i = 0; i < 200 && (end.empty() || end == "running" || end == "pending"); ++i) {
      end = field(send("GET", "/api/v1/sandbox/status/" + id).body, "status");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(end == "killed" || end == "timeout" || end == "completed") << end;
    ++ends[end];
    EXPECT_EQ(send("POST", "/api/v1/sandbox/kill/" + id).status, 409);
    auto again = send("GET", "/api/v1/executions/" + id).body;
    EXPECT_EQ(field(again, "status"), end) << "it stays as it ended";
  }
  auto stats = send("GET", "/api/v1/stats").body;
  for (const char* part : {"\"running\":0", "\"queued\":0", "\"submitted\":12", "\"ended\":12"}) EXPECT_NE(stats.find(part), stats.npos) << stats;
}

// 128 bits that nobody knows, and no version, clock or counter in them.
TEST(ExecutionIds, AreChanceAndNothingElse) {
  constexpr int kMany = 10'000;
  std::set<std::string> seen;
  std::array<int, 128> ones{};
  int ascending = 0;
  std::string last;
  for (int i = 0; i < kMany; ++i) {
    const std::string id = sys::random_id();
    ASSERT_EQ(id.size(), 36u);
    EXPECT_TRUE(seen.insert(id).second) << "twice: " << id;
    if (id > last) ++ascending;
    last = id;
    int bit = 0;
    for (char c : id) {
      if (c == '-') continue;
      const int value = c <= '9' ? c - '0' : c - 'a' + 10;
      for (int b = 3; b >= 0; --b) ones[static_cast<std::size_t>(bit++)] += value >> b & 1;
    }
  }
  for (int n : ones) EXPECT_NEAR(n, kMany / 2, 300) << "six standard deviations";
  EXPECT_NEAR(ascending, kMany / 2, 300) << "a clock or a counter would show";
}

TEST_F(AttackScenes, IdsOfExecutionsAreOfThatKind) {
  std::set<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.insert(field(send("POST", "/api/v1/sandbox/execute?wait=false", R"({"command":"true"})").body, "id"));
  EXPECT_EQ(ids.size(), 50u);
  std::map<char, int> first, version;
  for (const auto& id : ids) {
    ASSERT_EQ(id.size(), 36u) << id;
    ++first[id[0]];
    ++version[id[14]];
  }
  EXPECT_GT(first.size(), 6u) << "the first letters of fifty";
  EXPECT_GT(version.size(), 6u) << "where a UUID says which version it is";
}

// Whoever may put something in the place of the state folder, or into it, would be the daemon's history and keys.
TEST(StateFolder, ALinkAndAFolderOfOthersAreRefused) {
  TempDir around;
  namespace fs = std::filesystem;
  fs::create_directory(around.path() + "/real");
  fs::create_directory_symlink("real", around.path() + "/link");
  fs::create_directory(around.path() + "/open");
  fs::permissions(around.path() + "/open", fs::perms::all);
  auto start = [&](const std::string& name) {
    const std::string told = around.path() + "/told";
    int status = std::system(cat("timeout 20 '", program_path(), "' serve --listen 127.0.0.1:0 --state '", around.path(), "/", name, "' 2>'", told, "'").c_str());
    return cat(WIFEXITED(status) ? WEXITSTATUS(status) : -1, " ", read_text(told));
  };
  EXPECT_NE(start("link").find("125 hotcell: state folder"), std::string::npos) << start("link");
  EXPECT_NE(start("link").find("it is a link"), std::string::npos);
  EXPECT_NE(start("open").find("others may enter it"), std::string::npos) << start("open");
  EXPECT_TRUE(fs::is_empty(around.path() + "/real"));
}

}  // namespace
}  // namespace hotcell::testing
