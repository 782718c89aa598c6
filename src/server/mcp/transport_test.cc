// g++ 12 sees a null pointer in the scheduler of Asio 1.81 (scheduler.ipp) that is none.
#pragma GCC diagnostic ignored "-Wnull-dereference"
// The two doors over the same server.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "server/mcp/http.h"
#include "server/mcp/mcp_testing.h"
#include "server/mcp/stdio.h"

namespace hotcell::server::mcp {
namespace {

using testing::Scene;

struct FakeExchange : Exchange {
  HttpRequest asked;
  std::optional<HttpResponse> response;
  bool streaming = false, ended = false;
  std::string streamed;
  std::function<void()> closed;

  const HttpRequest& request() const override { return asked; }
  void respond(HttpResponse r) override {
    EXPECT_FALSE(response.has_value());
    response = std::move(r);
    ended = true;
  }
  void start(HttpResponse head) override {
    streaming = true;
    streamed = head.body;
    response = std::move(head);
  }
  bool write(std::string_view piece) override {
    streamed += piece;
    return true;
  }
  void finish() override { ended = true; }
  void on_closed(std::function<void()> f) override { closed = std::move(f); }
};

struct HttpScene : Scene {
  Router router;
  HttpScene() { add_mcp(router, std::shared_ptr<McpServer>(server.get(), [](McpServer*) {})); }

  std::shared_ptr<FakeExchange> post(std::string body, std::string accept = "application/json, text/event-stream",
                                     std::string type = "application/json; charset=utf-8") {
    auto exchange = std::make_shared<FakeExchange>();
    exchange->asked.method = "POST";
    exchange->asked.body = std::move(body);
    exchange->asked.headers = {{"content-type", type}, {"accept", accept}};
    auto match = router.match("POST", "/mcp");
    EXPECT_NE(match.handler, nullptr);
    if (match.handler != nullptr) (*match.handler)(exchange);
    run_posted();
    return exchange;
  }
};

constexpr const char* kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr const char* kSleep = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command",
  "arguments":{"command":"sleep 9"},"_meta":{"progressToken":1}}})";

TEST(McpHttp, ARequestIsAnsweredWithJsonAndANotificationWithNothing) {
  HttpScene scene;
  auto ping = scene.post(kPing);
  EXPECT_EQ(ping->response->status, 200);
  EXPECT_EQ(ping->response->content_type, "application/json");
  EXPECT_EQ(ping->response->body, R"({"jsonrpc":"2.0","id":1,"result":{}})");
  auto notice = scene.post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(notice->response->status, 202);
  EXPECT_TRUE(notice->response->body.empty());
  EXPECT_EQ(scene.post("{")->response->status, 400);
  auto others = scene.router.match("GET", "/mcp");
  EXPECT_EQ(others.handler, nullptr);
  EXPECT_EQ(others.allowed, std::vector<std::string>{"POST"});
}

TEST(McpHttp, TypesOfMediaThatAPageCanSendByItselfAreRefused) {
  HttpScene scene;
  EXPECT_EQ(scene.post(kPing, "*/*", "text/plain")->response->status, 415);
  EXPECT_EQ(scene.post(kPing, "*/*", "")->response->status, 415);
  EXPECT_EQ(scene.post(kPing, "text/html")->response->status, 406);
  EXPECT_EQ(scene.post(kPing, "*/*")->response->status, 200);
}

TEST(McpHttp, ProgressMakesItAStream) {
  HttpScene scene;
  scene.executions.end_at_once = false;
  auto exchange = scene.post(kSleep);
  EXPECT_FALSE(exchange->response.has_value());
  scene.executions.update(scene.executions.last(), "state", R"({"status":"running"})");
  ASSERT_TRUE(exchange->streaming);
  EXPECT_EQ(exchange->response->content_type, "text/event-stream");
  EXPECT_FALSE(exchange->ended);
  scene.executions.end(scene.executions.last());
  EXPECT_TRUE(exchange->ended);
  EXPECT_EQ(exchange->streamed.find("event: message\ndata: {\"jsonrpc\""), 0u);
  EXPECT_NE(exchange->streamed.find("\"result\""), std::string::npos);
  EXPECT_TRUE(exchange->streamed.ends_with("}\n\n"));
}

TEST(McpHttp, WhoAcceptsNoStreamGetsTheAnswerAlone) {
  HttpScene scene;
  scene.executions.end_at_once = false;
  auto exchange = scene.post(kSleep, "application/json");
  scene.executions.update(scene.executions.last(), "state", R"({"status":"running"})");
  scene.executions.end(scene.executions.last());
  EXPECT_FALSE(exchange->streaming);
  EXPECT_EQ(exchange->response->status, 200);
}

TEST(McpHttp, AClosedConnectionKills) {
  HttpScene scene;
  scene.executions.end_at_once = false;
  auto exchange = scene.post(kSleep);
  exchange->closed();
  EXPECT_TRUE(scene.executions.last().killed);
}

// A client at the other end of two pipes.
struct StdioScene : Scene {
  boost::asio::io_context loop;
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  bool ended = false;
  std::unique_ptr<StdioDoor> door;

  explicit StdioScene(std::size_t max_message = 1000) {
    EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
    StdioOptions options;
    options.in = to[0];
    options.out = from[1];
    options.max_message = max_message;
    auto opened = StdioDoor::open(loop, *server, options, [this] { ended = true; });
    EXPECT_TRUE(opened.ok());
    door = std::move(opened).value();
  }
  ~StdioScene() {
    door.reset();
    loop.restart();
    loop.poll();
    for (int fd : {to[0], to[1], from[0], from[1]})
      if (fd >= 0) ::close(fd);
  }
  std::string say(std::string_view text) {
    EXPECT_EQ(::write(to[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return heard();
  }
  std::string heard() {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(50));
    run_posted();
    ::fcntl(from[0], F_SETFL, O_NONBLOCK);
    std::string out(1 << 16, '\0');
    ssize_t n = ::read(from[0], out.data(), out.size());
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return out;
  }
  void hang_up() {
    ::close(std::exchange(to[1], -1));
    heard();
  }
};

TEST(McpStdio, EachLineIsAMessage) {
  StdioScene scene;
  EXPECT_EQ(scene.say(R"({"jsonrpc":"2.0","id":1,"me)"), "");
  EXPECT_EQ(scene.say("thod\":\"ping\"}\n\n  \n"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  std::string two = cat(kPing, "\n", kPing, "\n");
  EXPECT_EQ(scene.say(two),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  EXPECT_EQ(scene.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"), "");
  EXPECT_FALSE(scene.ended);
}

TEST(McpStdio, ALineThatIsTooLongIsRefusedAndTheNextOneServed) {
  StdioScene scene;
  auto said = scene.say(std::string(3000, 'x'));
  EXPECT_NE(said.find("at most 1000 bytes"), std::string::npos) << said;
  EXPECT_EQ(scene.say(cat("yyy\n", kPing, "\n")), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

TEST(McpStdio, TheEndOfInputKillsWhatRunsAndEndsTheDoor) {
  StdioScene scene;
  scene.executions.end_at_once = false;
  std::string line(kSleep);
  std::erase(line, '\n');
  scene.say(line + "\n");
  ASSERT_EQ(scene.executions.all.size(), 1u);
  EXPECT_FALSE(scene.ended);
  scene.hang_up();
  EXPECT_TRUE(scene.executions.last().killed);
  EXPECT_TRUE(scene.ended);
}

TEST(McpStdio, AReaderThatHasGoneEndsTheDoor) {
  StdioScene scene;
  ::close(std::exchange(scene.from[0], -1));
  scene.say(cat(kPing, "\n"));
  EXPECT_TRUE(scene.ended);
}

}  // namespace
}  // namespace hotcell::server::mcp
