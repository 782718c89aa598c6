// Bodies that are passed on as they come: any length, in little memory, and never taken for whole when they are not.
#include <gtest/gtest.h>

#include <atomic>

#include "server/http/server.h"
#include "server/http/test_client.h"

namespace hotcell::server {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::Client;
using testing::eventually;
using testing::status_of;
using testing::TestServer;

class HttpPieces : public ::testing::Test {
 protected:
  std::unique_ptr<TestServer> start(const ServerLimits& limits = {}) {
    auto routes = [this](Router& router, TestServer& server) {
      router.add("PUT", "/count", Scope::kRun, [this](ExchangePtr x) {
        ++asked_;
        x->on_closed([this] { ++closed_; });
        auto size = std::make_shared<std::size_t>(0);
        x->receive([this, x, size](std::string_view piece, bool last) {
          *size += piece.size();
          largest_ = std::max<std::size_t>(largest_, piece.size());
          passed_ = *size;
          if (!last) return;
          HttpResponse r;
          r.body = std::to_string(*size);
          x->respond(r);
        });
      }, BodyKind::kPieces);
      // Takes 64 KiB, then nothing until the test says so.
      router.add("PUT", "/slow", Scope::kRun, [this, &server](ExchangePtr x) {
        server.held = x;
        auto size = std::make_shared<std::size_t>(0);
        x->receive([this, &server, size](std::string_view piece, bool last) {
          *size += piece.size();
          passed_ = *size;
          if (*size >= 64 << 10 && server.held) server.held->hold_body(true);
          if (!last) return;
          HttpResponse r;
          r.body = std::to_string(*size);
          if (auto held = std::exchange(server.held, nullptr)) held->respond(r);
        });
      }, BodyKind::kPieces);
      router.add("PUT", "/later", Scope::kRun, [&server](ExchangePtr x) { server.held = x; }, BodyKind::kPieces);
      router.add("PUT", "/no", Scope::kRun, [](ExchangePtr x) { x->respond(error_response(409, "no")); }, BodyKind::kPieces);
      router.add("POST", "/echo", Scope::kRun, [](ExchangePtr x) {
        x->receive([x](std::string_view piece, bool last) {
          HttpResponse r;
          r.body = std::string(piece) + (last ? "." : "");
          x->respond(r);
        });
      });
    };
    return std::make_unique<TestServer>(routes, limits);
  }
  static std::string head(const char* path, const std::string& more) { return std::string("PUT ") + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n"; }
  static std::string sized(const char* path, std::size_t n) { return head(path, "Content-Length: " + std::to_string(n) + "\r\n"); }

  std::atomic<int> asked_ = 0, closed_ = 0;
  std::atomic<std::size_t> largest_ = 0, passed_ = 0;
};

TEST_F(HttpPieces, ABodyLargerThanAnyThatIsKept) {
  ServerLimits limits;
  limits.parse.body_bytes = 1 << 20;
  limits.all_bodies = 2 << 20;
  auto server = start(limits);
  Client client = server->connect();
  const std::string piece(1 << 20, 'x');
  for (int round = 0; round < 2; ++round) {   // and the connection serves again
    client.send(sized("/count", 32u << 20));
    for (int i = 0; i < 32; ++i) ASSERT_TRUE(client.send(piece));
    EXPECT_EQ(body_of(client.read_answer()), std::to_string(32u << 20));
  }
  EXPECT_LE(largest_, 256u << 10);
  client.send(head("/count", "Transfer-Encoding: chunked\r\n"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.send("100000\r\n" + piece + "\r\n"));
  EXPECT_EQ(body_of(client.ask("0\r\n\r\n")), std::to_string(3u << 20));
  EXPECT_EQ(body_of(client.ask(sized("/count", 0))), "0");
  EXPECT_EQ(body_of(client.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")), "abc.") << "of other routes the body is one piece";
}

TEST_F(HttpPieces, EvenTheseHaveASize) {
  ServerLimits limits;
  limits.parse.piecewise_bytes = limits.parse.body_bytes = 1000;
  auto server = start(limits);
  EXPECT_EQ(status_of(server->connect().ask(sized("/count", 1001))), 413);
  EXPECT_EQ(asked_, 0) << "said before anybody is asked";
  std::string chunks = head("/count", "Transfer-Encoding: chunked\r\n");
  for (int i = 0; i < 200; ++i) chunks += "a\r\n0123456789\r\n";
  EXPECT_EQ(status_of(server->connect().ask(chunks)), 413);
  EXPECT_TRUE(eventually([&] { return closed_ == 1; })) << "who takes the pieces is told";
}

TEST_F(HttpPieces, NothingIsReadForOneWhoHasEnough) {
  auto server = start();
  Client client = server->connect();
  client.send(sized("/slow", 16u << 20));
  std::thread sender([&] {
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 16; ++i) client.send(piece);
  });
  ASSERT_TRUE(eventually([&] { return passed_ >= 64u << 10; }));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LE(passed_, 256u << 10);
  EXPECT_LE(server->stats().bytes_in, 1u << 20);
  while (passed_ < 16u << 20) {
    server->on_loop([&] {
      if (server->held) server->held->hold_body(false);
    });
    std::this_thread::sleep_for(milliseconds(1));
  }
  sender.join();
  EXPECT_EQ(body_of(client.read_answer()), std::to_string(16u << 20));
}

TEST_F(HttpPieces, OneThatIsCutOffIsNotTheWhole) {
  auto server = start();
  for (bool half : {false, true}) {
    const int before = closed_;
    Client client = server->connect();
    client.send(sized("/count", 1000) + std::string(500, 'x'));
    ASSERT_TRUE(eventually([&] { return passed_ == 500; }));
    if (half) client.half_close();
    else client.close();
    EXPECT_TRUE(eventually([&] { return closed_ == before + 1; }));
    passed_ = 0;
  }
  Client broken = server->connect();
  EXPECT_EQ(status_of(broken.ask(head("/count", "Transfer-Encoding: chunked\r\n") + "5\r\nabcde\r\nnonsense\r\n")), 400);
  EXPECT_TRUE(eventually([&] { return closed_ == 3; }));
}

TEST_F(HttpPieces, OneThatComesTooSlowlyIsTimedOut) {
  ServerLimits limits;
  limits.header_timeout = milliseconds(200);
  auto server = start(limits);
  Client client = server->connect();
  client.send(sized("/count", 1000) + "abc");
  EXPECT_EQ(status_of(client.read_answer()), 408);
  EXPECT_TRUE(eventually([&] { return closed_ == 1; }));
  // Time that the handler takes is not the sender's.
  Client patient = server->connect();
  patient.send(sized("/later", 3) + "ab");
  std::this_thread::sleep_for(milliseconds(500));
  server->on_loop([&] {
    auto x = std::exchange(server->held, nullptr);
    x->receive([x, all = std::make_shared<std::string>()](std::string_view piece, bool last) {
      *all += piece;
      HttpResponse r;
      r.body = *all;
      if (last) x->respond(r);
    });
  });
  EXPECT_EQ(body_of(patient.ask("c")), "abc");
}

TEST_F(HttpPieces, AnAnswerBeforeTheEndEndsTheConnection) {
  auto server = start();
  Client client = server->connect();
  client.send(sized("/no", 9u << 20) + std::string(1 << 20, 'x'));
  const std::string answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 409);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << "the rest is no request";
  EXPECT_EQ(status_of(server->connect().ask(sized("/count", 1) + "x")), 200);
}

TEST_F(HttpPieces, TheSenderIsToldToGoOnWhenSomebodyWantsIt) {
  auto server = start();
  Client client = server->connect();
  client.send(head("/count", "Content-Length: 3\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(status_of(client.read_answer()), 100);
  EXPECT_EQ(body_of(client.ask("abc")), "3");
}

}  // namespace
}  // namespace hotcell::server
