#include "server/mcp/protocol.h"

#include <gtest/gtest.h>

#include "server/json/base64_decode.h"
#include "server/mcp/mcp_testing.h"

namespace hotcell::server::mcp {
namespace {

using testing::Scene;

const std::string kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

std::string modern(std::string_view method, std::string_view more = "") {
  return cat(R"({"jsonrpc":"2.0","id":1,"method":")", method, R"(","params":{)", kMeta, more, "}}");
}
Headers modern_headers(std::string_view method) {
  return {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", std::string(method)}};
}

JsonValue answer(const std::shared_ptr<testing::Told>& told) {
  EXPECT_EQ(told->answers.size(), 1u);
  if (told->answers.empty()) return JsonValue();
  EXPECT_EQ(told->answers[0].find('\n'), std::string::npos) << "a message is one line";
  auto json = parse_json(told->answers[0]);
  EXPECT_TRUE(json.ok()) << told->answers[0];
  return json.ok() ? std::move(json).value() : JsonValue();
}
std::int64_t code(const std::shared_ptr<testing::Told>& told) {
  JsonValue json = answer(told);
  const JsonValue* error = json.find("error");
  return error == nullptr ? 0 : error->integer_or("code", 0);
}

TEST(McpMessage, EveryBrokenMessageGetsItsOwnError) {
  struct {
    std::string text;
    int code;
    std::string id;
  } cases[] = {
      {"", -32700, "null"},
      {"{", -32700, "null"},
      {"nonsense", -32700, "null"},
      {"{} {}", -32700, "null"},
      {std::string(100'000, '['), -32700, "null"},
      {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", -32700, "null"},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\"}", -32700, "null"},
      {R"({"jsonrpc":"2.0","id":1e999,"method":"ping"})", -32700, "null"},
      {"7", -32600, "null"},
      {"null", -32600, "null"},
      {"\"ping\"", -32600, "null"},
      {"{}", -32600, "null"},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600, "null"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600, "null"},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600, "null"},
      {cat(R"({"jsonrpc":"2.0","id":")", std::string(2000, 'x'), R"(","method":"ping"})"), -32600, "null"},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", -32600, "1"},
      {R"({"jsonrpc":"2.0","id":"a","method":7})", -32600, "\"a\""},
      {R"({"jsonrpc":"2.0","id":"a"})", -32600, "\"a\""},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":null})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":3}})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"no/such"})", -32601, "1"},
      {R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"no/such"})", -32601, "18446744073709551615"},
      {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})", -32602, "1"},
      {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}})", -32602, "1"},
      {"[]", -32600, "null"},
  };
  for (const auto& c : cases) {
    Scene scene;
    auto told = scene.send(c.text);
    EXPECT_EQ(code(told), c.code) << c.text.substr(0, 100);
    JsonValue json = answer(told);
    ASSERT_NE(json.find("id"), nullptr);
    EXPECT_EQ(json_text(*json.find("id")), c.id) << c.text.substr(0, 100);
  }
  // A number that is no id of ours is not refused for being one.
  for (auto text : {R"({"jsonrpc":"2.0","id":1000000000000000000000000000000,"method":"ping"})", R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"}) {
    Scene scene;
    auto told = scene.send(text);
    EXPECT_EQ(answer(told).find("error")->text("message"), "id must be a string or a whole number without a fraction, of at most 64 bits") << text;
  }
}

TEST(McpMessage, NotificationsAndAnswersOfTheClientAreTakenSilently) {
  Scene scene;
  for (auto text : {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}})",
                    R"({"jsonrpc":"2.0","method":"no/such"})", R"({"jsonrpc":"2.0","id":4,"result":{}})",
                    R"({"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"x"}})"}) {
    auto told = scene.send(text);
    EXPECT_TRUE(told->answers.empty()) << text;
    EXPECT_EQ(told->status, 202) << text;
    EXPECT_EQ(told->times, 1) << text;
  }
}

TEST(McpLegacy, InitializeSpeaksTheVersionThatWasAskedForOrTheNewest) {
  Scene scene;
  for (auto [asked, spoken] : {std::pair{"2024-11-05", "2024-11-05"},
                               {"2025-03-26", "2025-03-26"},
                               {"2025-06-18", "2025-06-18"},
                               {"2025-11-25", "2025-11-25"},
                               {"1999-01-01", "2025-11-25"}}) {
    JsonValue json = answer(scene.send(cat(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")",
                                      asked, R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})")));
    ASSERT_NE(json.find("result"), nullptr);
    EXPECT_EQ(json.find("result")->text("protocolVersion"), spoken);
    EXPECT_EQ(json.find("result", "serverInfo")->text("name"), "hotcell");
    EXPECT_EQ(json.find("result")->find("resultType"), nullptr);
  }
}

TEST(McpModern, ChecksComeInTheirOrder) {
  auto sent = [](std::string_view body, Headers headers) {
    Scene scene;
    auto told = scene.send(body, &headers);
    return std::pair<int, std::int64_t>(told->status, code(told));
  };
  using Got = std::pair<int, std::int64_t>;
  auto good = modern_headers("server/discover");
  EXPECT_EQ(sent(modern("server/discover"), good), Got(200, 0));
  EXPECT_EQ(sent("{", good), Got(400, -32700));
  EXPECT_EQ(sent(modern("server/discover"), {}), Got(400, -32020)) << "no header at all";
  EXPECT_EQ(sent(R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}})", good), Got(400, -32602));
  EXPECT_EQ(sent(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})", good), Got(400, -32602));
  EXPECT_EQ(sent(modern("server/discover"), {{"mcp-protocol-version", "2025-11-25"}}), Got(400, -32020));
  std::string unknown = modern("server/discover");
  unknown.replace(unknown.find("2026-07-28"), 10, "v999.0.0");
  EXPECT_EQ(sent(unknown, {{"mcp-protocol-version", "v999.0.0"}}), Got(400, -32022));
  EXPECT_EQ(
      sent(
          R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})",
          modern_headers("x")),
      Got(400, -32602))
      << "no capabilities";
  EXPECT_EQ(sent(modern("server/discover"), modern_headers("Server/Discover")), Got(400, -32020));
  EXPECT_EQ(sent(modern("server/discover"), {{"mcp-protocol-version", "2026-07-28"}}), Got(400, -32020));
  EXPECT_EQ(
      sent(modern("server/discover"), {{"mcp-protocol-version", " 2026-07-28 "}, {"mcp-method", "\tserver/discover "}}),
      Got(200, 0))
      << "white space around a value means nothing";
  for (auto gone : {"initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"})
    EXPECT_EQ(sent(modern(gone), modern_headers(gone)), Got(404, -32601)) << gone;
}

TEST(McpModern, TheNameInTheHeaderMustBeTheNameInTheMessage) {
  auto body = modern("tools/call", R"(,"name":"list_languages","arguments":{})");
  auto sent = [&](const char* name) {
    Scene scene;
    Headers headers = modern_headers("tools/call");
    if (name != nullptr) headers.emplace_back("mcp-name", name);
    return code(scene.send(body, &headers));
  };
  EXPECT_EQ(sent("list_languages"), 0);
  EXPECT_EQ(sent("=?base64?bGlzdF9sYW5ndWFnZXM=?="), 0);
  EXPECT_EQ(sent("=?base64?bGlzdF9sYW5ndWFnZXM?="), -32020) << "without its padding";
  EXPECT_EQ(sent("=?base64?!!!?="), -32020);
  EXPECT_EQ(sent("List_Languages"), -32020);
  EXPECT_EQ(sent("run_code"), -32020);
  EXPECT_EQ(sent(nullptr), -32020);
}

TEST(McpModern, AToolsParameterMayBeRepeatedInAHeader) {
  auto sent = [](std::string_view arguments, Headers more) {
    Scene scene(true);
    Headers headers = modern_headers("tools/call");
    headers.emplace_back("mcp-name", "test_header_tool");
    headers.insert(headers.end(), more.begin(), more.end());
    return code(
        scene.send(modern("tools/call", cat(R"(,"name":"test_header_tool","arguments":)", arguments)), &headers));
  };
  EXPECT_EQ(sent(R"({"region":"eu"})", {{"mcp-param-region", "eu"}}), 0);
  EXPECT_EQ(sent(R"({"region":"eu"})", {{"mcp-param-region", "=?base64?ZXU=?="}}), 0);
  EXPECT_EQ(sent(R"({"region":"eu"})", {}), -32020);
  EXPECT_EQ(sent(R"({"region":"eu"})", {{"mcp-param-region", "us"}}), -32020);
  EXPECT_EQ(sent(R"({})", {{"mcp-param-region", "eu"}}), -32020);
  EXPECT_EQ(sent(R"({"region":"eu"})", {{"mcp-param-region", "eu"}, {"mcp-param-region", "eu"}}), -32020);
}

TEST(McpModern, ResultsSayWhoAnswersAndHowLongTheyMayBeKept) {
  Scene scene;
  for (auto method : {"tools/list", "server/discover", "resources/list", "resources/templates/list"}) {
    JsonValue json = answer(scene.send(modern(method)));
    const JsonValue* result = json.find("result");
    ASSERT_NE(result, nullptr) << method;
    EXPECT_EQ(result->text("resultType"), "complete");
    EXPECT_GE(result->integer_or("ttlMs", -1), 0);
    EXPECT_FALSE(result->text("cacheScope").empty());
    EXPECT_EQ(result->find("_meta", "io.modelcontextprotocol/serverInfo")->text("version"), "1.2.3");
  }
}

TEST(McpBatch, ABatchOfTheOldRevisionIsAnsweredAsOne) {
  Scene scene;
  auto told =
      scene.send(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},
                             {"jsonrpc":"2.0","id":2,"method":"no/such"},7])");
  ASSERT_EQ(told->answers.size(), 1u);
  JsonValue json = answer(told);
  ASSERT_NE(json.array(), nullptr);
  EXPECT_EQ(json.array()->size(), 3u);
  EXPECT_EQ(told->times, 1);
  auto silent = scene.send(R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  EXPECT_TRUE(silent->answers.empty());
  EXPECT_EQ(silent->status, 202);
  Headers newer = {{"mcp-protocol-version", "2025-06-18"}};
  EXPECT_EQ(code(scene.send(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", &newer)), -32600);
  std::string many = "[";
  for (int i = 0; i < 65; ++i) many += cat(i == 0 ? "" : ",", R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_EQ(code(scene.send(many + "]")), -32600);
}

TEST(McpJson, BoundsHold) {
  EXPECT_TRUE(parse_json("[[[]]]", {.depth = 3, .values = 10}).ok());
  EXPECT_FALSE(parse_json("[[[[]]]]", {.depth = 3, .values = 10}).ok());
  EXPECT_FALSE(parse_json("[1,2,3,4,5,6,7,8,9,10,11]", {.depth = 3, .values = 10}).ok());
  EXPECT_EQ(json_text(parse_json(R"({"a":[1,-2,3.5,true,null,"\u00e4\n"],"b":{}})").value()),
            R"({"a":[1,-2,3.5,true,null,"ä\n"],"b":{}})");
  EXPECT_FALSE(base64_decode("QQ=").has_value());
  EXPECT_FALSE(base64_decode("QR==").has_value()) << "bits that mean nothing must be zero";
  EXPECT_EQ(base64_decode("QQ=="), "A");
  EXPECT_EQ(base64_decode(""), "");
}

}  // namespace
}  // namespace hotcell::server::mcp
