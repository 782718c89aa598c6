// Ordinary use: what a well-behaved client may count on.
#include "server/http/server.h"

#include <gtest/gtest.h>

#include "server/http/test_client.h"

namespace hotcell::server {
namespace {

using testing::body_of;
using testing::Client;
using testing::eventually;
using testing::status_of;
using testing::TestServer;

HttpResponse text(std::string body) {
  HttpResponse out;
  out.content_type = "text/plain";
  out.body = std::move(body);
  return out;
}

void routes(Router& router, TestServer& server) {
  router.add("GET", "/hello", Scope::kNone, [](ExchangePtr x) { x->respond(text("hello")); });
  router.add("GET", "/item/:id", Scope::kRead,
             [](ExchangePtr x) { x->respond(text("item " + x->request().params[0])); });
  router.add("POST", "/echo", Scope::kRun, [](ExchangePtr x) { x->respond(text(x->request().body)); });
  router.add("GET", "/later", Scope::kRead, [&server](ExchangePtr x) {
    server.timers.push_back(server.loop.after(std::chrono::milliseconds(50), [x] { x->respond(text("later")); }));
  });
  router.add("POST", "/echo-later", Scope::kRead, [&server](ExchangePtr x) {
    server.timers.push_back(
        server.loop.after(std::chrono::milliseconds(50), [x] { x->respond(text(x->request().body)); }));
  });
  router.add("GET", "/stream", Scope::kRead, [](ExchangePtr x) {
    x->start(text("one "));
    x->write("two ");
    x->write("three");
    x->finish();
  });
  router.add("GET", "/held", Scope::kRead, [&server](ExchangePtr x) { server.held = std::move(x); });
  router.add("GET", "/dropped", Scope::kRead, [](ExchangePtr) {});
  router.add("GET", "/throws", Scope::kRead, [](ExchangePtr) { throw 1; });
  router.add("GET", "/id", Scope::kRead, [](ExchangePtr x) { x->respond(text(x->request().request_id)); });
  router.add("GET", "/inject", Scope::kRead, [](ExchangePtr x) {
    HttpResponse r = text("x");
    r.headers.emplace_back("X-Note", "a\r\nSet-Cookie: b");
    r.headers.emplace_back("Content-Length", "99");
    x->respond(r);
  });
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  TestServer server(routes);
  Client client = server.connect();
  for (int i = 0; i < 3; ++i) {
    const std::string answer = client.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "hello");
    EXPECT_NE(answer.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos);
    EXPECT_NE(answer.find("Cache-Control: no-store\r\n"), std::string::npos);
    EXPECT_NE(answer.find("\r\nDate: "), std::string::npos);
    EXPECT_NE(answer.find("\r\nX-Request-Id: "), std::string::npos);
    EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
  }
  EXPECT_EQ(server.stats().accepted, 1u);
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  TestServer server(routes);
  Client client = server.connect();
  const std::string head = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_TRUE(client.send("GET /later" + head + "GET /item/1" + head + "GET /later" + head + "GET /item/2" + head));
  EXPECT_EQ(body_of(client.read_answer()), "later");
  EXPECT_EQ(body_of(client.read_answer()), "item 1");
  EXPECT_EQ(body_of(client.read_answer()), "later");
  EXPECT_EQ(body_of(client.read_answer()), "item 2");
}

// What is read while an answer is made must neither be lost nor come out of memory that was given back.
TEST(HttpServer, WhatComesWhileARequestIsAnsweredIsReadAsItIs) {
  TestServer server(routes);
  Client client = server.connect();
  const std::string head = " HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 3; ++i) {
    // The body apart from its head: room for a large one is made, and given back when there is none any more.
    const std::string body(static_cast<std::size_t>(20'000 * i + 5), static_cast<char>('a' + i));
    ASSERT_TRUE(client.send("POST /echo-later" + head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(client.send(body));
    EXPECT_EQ(body_of(client.read_answer()), body);
    // Two at once, the second of which waits; then a third when both have been answered.
    ASSERT_TRUE(client.send("GET /later" + head + "\r\nGET /item/" + std::to_string(i) + head + "\r\n"));
    EXPECT_EQ(body_of(client.read_answer()), "later");
    EXPECT_EQ(body_of(client.read_answer()), "item " + std::to_string(i));
    EXPECT_EQ(body_of(client.ask("GET /item/9" + std::to_string(i) + head + "\r\n")), "item 9" + std::to_string(i));
  }
}

TEST(HttpServer, TakesBodiesWithLengthInChunksAndByteByByte) {
  TestServer server(routes);
  Client client = server.connect();
  EXPECT_EQ(body_of(client.ask("POST /echo HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 5\r\n\r\nabcde")), "abcde");
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Trailer: "
      "1\r\n\r\n";
  EXPECT_EQ(body_of(client.ask(chunked)), "abcde");
  for (char c : chunked) ASSERT_TRUE(client.send(std::string(1, c)));
  EXPECT_EQ(body_of(client.read_answer()), "abcde");
  const std::string large(3 << 20, 'x');
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(large.size()) +
                          "\r\n\r\n" + large));
  EXPECT_TRUE(body_of(client.read_answer()) == large);
}

TEST(HttpServer, StreamsInChunksOrUntilTheEndForOldClients) {
  TestServer server(routes);
  Client client = server.connect();
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const std::string answer = client.read_until([](const std::string& s) { return s.ends_with("0\r\n\r\n"); });
  EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(body_of(answer), "4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n");
  EXPECT_EQ(body_of(client.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), "hello");

  Client old = server.connect();
  ASSERT_TRUE(old.send("GET /stream HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"));
  const std::string whole = old.read_to_end();
  EXPECT_EQ(body_of(whole), "one two three");
  EXPECT_EQ(whole.find("chunked"), std::string::npos);
  EXPECT_TRUE(old.ended());
}

TEST(HttpServer, APackedBodyIsRefusedAndNotTakenForAPlainOne) {
  TestServer server(routes);
  auto post = [&](const std::string& headers) {
    Client client = server.connect();
    return client.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + headers + "Content-Length: 5\r\n\r\nabcde");
  };
  for (const char* encoding : {"gzip", "br", "GZIP", "identity, deflate", "x"}) {
    const std::string answer = post(std::string("Content-Encoding: ") + encoding + "\r\n");
    EXPECT_EQ(status_of(answer), 415) << answer;
    EXPECT_EQ(body_of(answer), std::string("{\"message\":\"The body must come as it is: Content-Encoding ") + encoding +
                                   " is not read here.\",\"reason\":\"content_encoding\"}");
    EXPECT_NE(answer.find("\r\nAccept-Encoding: identity\r\n"), std::string::npos) << answer;
  }
  EXPECT_EQ(status_of(post("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")), 415);
  for (const char* plain : {"", "Content-Encoding: identity\r\n", "Content-Encoding: Identity\r\n", "Content-Encoding:\r\n"})
    EXPECT_EQ(body_of(post(plain)), "abcde") << plain;
  // Nothing is packed where there is nothing.
  Client client = server.connect();
  EXPECT_EQ(body_of(client.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n\r\n")), "hello");
}

TEST(HttpServer, HeadIsGetWithoutTheBody) {
  TestServer server(routes);
  Client client = server.connect();
  ASSERT_TRUE(
      client.send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: "
                  "localhost\r\n\r\nGET /item/7 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const std::string head = client.read_answer(false);
  EXPECT_NE(head.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_NE(client.read_answer(false).find("chunked"), std::string::npos);
  EXPECT_EQ(body_of(client.read_answer()), "item 7");
}

TEST(HttpServer, SaysWhatAPathAllows) {
  TestServer server(routes);
  Client client = server.connect();
  const std::string missing = client.ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_of(missing), 404);
  EXPECT_EQ(body_of(missing), R"({"message":"There is nothing at this path.","reason":"not_found"})");
  const std::string wrong = client.ask("DELETE /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_of(wrong), 405);
  EXPECT_NE(wrong.find("Allow: GET, HEAD\r\n"), std::string::npos);
  const std::string options = client.ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_of(options), 204);
  EXPECT_NE(options.find("Allow: POST, OPTIONS\r\n"), std::string::npos);
  EXPECT_EQ(options.find("Access-Control"), std::string::npos);
  const std::string preflight =
      client.ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://friend.test\r\n\r\n");
  EXPECT_NE(preflight.find("Access-Control-Allow-Origin: https://friend.test\r\n"), std::string::npos);
  EXPECT_EQ(status_of(client.ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")), 204);
  EXPECT_EQ(status_of(client.ask("POST /hello HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: GET\r\n"
                                 "Content-Length: 0\r\n\r\n")),
            405);
}

TEST(HttpServer, SaysContinueOnlyToThoseItWouldServe) {
  TestServer server(routes);
  Client client = server.connect();
  const std::string expect = "Host: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\n" + expect));
  EXPECT_EQ(client.read_answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(body_of(client.ask("abc")), "abc");
  const std::string refused = client.ask("POST /nowhere HTTP/1.1\r\n" + expect);
  EXPECT_EQ(status_of(refused), 404);
  EXPECT_NE(refused.find("Connection: close"), std::string::npos);
  client.read_to_end();
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, AnExchangeWithoutAnAnswerIsA500) {
  TestServer server(routes);
  Client client = server.connect();
  EXPECT_EQ(status_of(client.ask("GET /dropped HTTP/1.1\r\nHost: localhost\r\n\r\n")), 500);
  EXPECT_EQ(status_of(client.ask("GET /throws HTTP/1.1\r\nHost: localhost\r\n\r\n")), 500);
  EXPECT_EQ(status_of(client.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
}

TEST(HttpServer, RequestIdsAreTakenWhenPlainAndMadeOtherwise) {
  TestServer server(routes);
  Client client = server.connect();
  EXPECT_EQ(body_of(client.ask("GET /id HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: abc-1.2_3\r\n\r\n")), "abc-1.2_3");
  const std::string made = body_of(client.ask("GET /id HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a b\r\n\r\n"));
  EXPECT_EQ(made.size(), 32u);
  EXPECT_NE(body_of(client.ask("GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n")), made);
}

TEST(HttpServer, AHandlerCannotBreakTheHeadOfItsAnswer) {
  TestServer server(routes);
  Client client = server.connect();
  const std::string answer = client.ask("GET /inject HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(answer.find("X-Note: a  Set-Cookie: b\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("Content-Length: 99"), std::string::npos);
}

TEST(HttpServer, ClosesWhenAskedAndAnswersAPeerThatHasFinishedSending) {
  TestServer server(routes);
  Client client = server.connect();
  ASSERT_TRUE(client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(body_of(client.read_to_end()), "hello");
  EXPECT_TRUE(client.ended());
  Client half = server.connect();
  ASSERT_TRUE(
      half.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\nGET /item/3 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  half.half_close();
  EXPECT_EQ(body_of(half.read_answer()), "later");
  EXPECT_EQ(body_of(half.read_answer()), "item 3");
  half.read_to_end();
  EXPECT_TRUE(half.ended());
  EXPECT_TRUE(eventually([&] { return server.stats().open == 0; }));
}

TEST(HttpServer, DrainingFinishesWhatIsUnderWayAndClosesTheRest) {
  TestServer server(routes);
  Client busy = server.connect(), idle = server.connect();
  EXPECT_EQ(status_of(idle.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
  ASSERT_TRUE(busy.send("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return server.stats().requests == 2; }));
  server.on_loop([&] { server.server().drain(); });
  server.on_loop([&] { std::exchange(server.held, nullptr)->respond(text("late")); });
  idle.read_to_end();
  EXPECT_TRUE(idle.ended());
  const std::string answer = busy.read_to_end();
  EXPECT_EQ(body_of(answer), "late");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return server.stats().open == 0; }));
  // Not left to wait in a queue that nobody looks into.
  Client late(server.port());
  ASSERT_TRUE(late.connected());
  EXPECT_EQ(status_of(late.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), 503);
}

TEST(HttpServer, TheLogHasThePathWithoutTheQuery) {
  TestServer server(routes);
  std::string seen;
  server.on_loop([&] {
    server.server().set_access_log([&](const AccessRecord& r) {
      seen = std::string(r.method) + " " + std::string(r.path) + " " + std::to_string(r.status) + " " +
             std::string(r.caller);
    });
  });
  Client client = server.connect();
  client.ask("GET /item/5?key=secret HTTP/1.1\r\nHost: localhost\r\n\r\n");
  server.on_loop([] {});
  EXPECT_EQ(seen, "GET /item/5 200 tester");
}

}  // namespace
}  // namespace hotcell::server
