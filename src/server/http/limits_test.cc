// Clients that mean harm, or have gone mad: each gets one clear answer, and the next client does not notice.
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

struct Shared {
  std::atomic<int> asked = 0, closed = 0, refused_writes = 0;
  std::atomic<std::uint64_t> written = 0;
};

class HttpLimits : public ::testing::Test {
 protected:
  std::unique_ptr<TestServer> start(const ServerLimits& limits) {
    auto routes = [this](Router& router, TestServer& server) {
      router.add("GET", "/hello", Scope::kNone, [this](ExchangePtr x) {
        ++shared_.asked;
        HttpResponse r;
        r.body = "hello";
        x->respond(r);
      });
      router.add("POST", "/echo", Scope::kRun, [this](ExchangePtr x) {
        ++shared_.asked;
        HttpResponse r;
        r.body = x->request().body;
        x->respond(r);
      });
      router.add("GET", "/forever", Scope::kRead, [this, &server](ExchangePtr x) {
        x->on_closed([this] { ++shared_.closed; });
        server.timers.push_back(server.loop.after(std::chrono::seconds(3), [x] { x->respond({}); }));
      });
      router.add("GET", "/flood", Scope::kRead, [this, &server](ExchangePtr x) {
        x->start({});
        auto timer = server.timers.emplace(server.timers.end());
        *timer = server.loop.every(milliseconds(1), [this, x, timer] {
          const std::string piece(256 << 10, 'x');
          if (x->write(piece)) {
            shared_.written += piece.size();
          } else {
            ++shared_.refused_writes;
            timer->reset();
          }
        });
      });
    };
    return std::make_unique<TestServer>(routes, limits);
  }

  // One request on a connection of its own; the server must then still serve others.
  int status_for(TestServer& server, std::string_view bytes, std::string* sentence = nullptr) {
    Client client = server.connect();
    client.send(bytes);
    const std::string answer = client.read_answer();
    if (sentence) *sentence = body_of(answer);
    Client next = server.connect();
    EXPECT_EQ(body_of(next.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), "hello");
    return status_of(answer);
  }

  Shared shared_;
};

TEST_F(HttpLimits, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  auto server = start({});
  struct Case {
    const char* what;
    std::string bytes;
    int status;
  };
  const std::string post = "POST /echo HTTP/1.1\r\nHost: localhost\r\n";
  const std::string get = "GET /hello HTTP/1.1\r\nHost: localhost\r\n";
  const Case cases[] = {
      {"length and coding", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"coding and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
      {"two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {"two equal lengths", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"a list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc", 400},
      {"a signed length", post + "Content-Length: +3\r\n\r\nabc", 400},
      {"a negative length", post + "Content-Length: -1\r\n\r\n", 400},
      {"a hexadecimal length", post + "Content-Length: 0x3\r\n\r\nabc", 400},
      {"a length beyond 64 bits", post + "Content-Length: 18446744073709551617\r\n\r\n", 400},
      {"an empty length", post + "Content-Length:\r\n\r\n", 400},
      {"xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
      {"gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunked, identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400},
      {"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"a vertical tab before chunked",
       post + "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"chunked in 1.0", "POST /echo HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"a chunk of no size", post + "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n", 400},
      {"a chunk of a negative size", post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", 400},
      {"a chunk beyond 64 bits", post + "Transfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\nabc", 400},
      {"a chunk whose head ends in LF", post + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", 400},
      {"a last chunk whose head ends in LF", post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\n\n", 400},
      {"a chunk of line ends", post + "Transfer-Encoding: chunked\r\n\r\n5\r\n\na\n\nb\r\n1\r\n\n\r\n0\r\n\r\n", 200},
      {"a chunk without its end", post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n", 400},
      {"a folded line", get + "X-A: 1\r\n X-B: 2\r\n\r\n", 400},
      {"a folded first line", "GET /hello HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
      {"bare LF", "GET /hello HTTP/1.1\nHost: localhost\n\n", 400},
      {"one bare LF", get + "X-A: 1\nX-B: 2\r\n\r\n", 400},
      {"bare CR", get + "X-A: 1\rX-B: 2\r\n\r\n", 400},
      {"a blank before the colon", get + "X-A : 1\r\n\r\n", 400},
      {"a blank before the coding's colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
      {"no colon", get + "X-A\r\n\r\n", 400},
      {"an empty name", get + ": 1\r\n\r\n", 400},
      {"NUL in a value", get + std::string("X-A: a\0b\r\n\r\n", 12), 400},
      {"NUL in the target", std::string("GET /he\0llo HTTP/1.1\r\nHost: localhost\r\n\r\n", 41), 400},
      {"no Host", "GET /hello HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", get + "Host: localhost\r\n\r\n", 400},
      {"a lower-case method", "get /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"another version", "GET /hello HTTP/2.0\r\nHost: localhost\r\n\r\n", 505},
      {"no version", "GET /hello\r\n\r\n", 400},
      {"an old version", "GET /hello HTTP/0.9\r\n\r\n", 505},
      {"two blanks", "GET  /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"a tab", "GET\t/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"a TLS greeting", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), 400},
      {"HTTP/2 by knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"dots", "GET /../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"encoded dots", "GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"an encoded slash", "GET /item/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"an encoded NUL", "GET /hello%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"half an escape", "GET /hello%4 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"invalid UTF-8", "GET /%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"a fragment", "GET /hello#x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"a proxy's CONNECT", "CONNECT evil.test:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"a star", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"another expectation", post + "Expect: money\r\nContent-Length: 1\r\n\r\na", 417},
      {"an absolute target", "GET http://localhost/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
      {"empty lines before", "\r\n\r\nGET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
      {"HTTP/1.0 without Host", "GET /hello HTTP/1.0\r\n\r\n", 200},
  };
  for (const Case& c : cases) {
    std::string sentence;
    EXPECT_EQ(status_for(*server, c.bytes, &sentence), c.status) << c.what << ": " << sentence;
    if (c.status >= 400) {
      EXPECT_TRUE(sentence.starts_with("{\"message\":\"")) << c.what;
    }
  }
}

TEST_F(HttpLimits, ARefusedRequestIsTheLastOfItsConnection) {
  auto server = start({});
  Client client = server->connect();
  // What stands behind the ambiguous one must never be taken for a request.
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string all = client.read_to_end();
  EXPECT_EQ(status_of(all), 400);
  EXPECT_EQ(all.find("HTTP/1.1 ", 1), std::string::npos);
  EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(shared_.asked, 0);
}

TEST_F(HttpLimits, HeadsHaveASizeAndANumber) {
  auto server = start({});
  const std::string get = "GET /hello HTTP/1.1\r\nHost: localhost\r\n";
  std::string many = get;
  for (int i = 0; i < 1000; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(status_for(*server, many + "\r\n"), 431);
  EXPECT_EQ(status_for(*server, get + "X-A: " + std::string(64 << 10, 'a') + "\r\n\r\n"), 431);
  EXPECT_EQ(status_for(*server, get + "X-A: " + std::string(40 << 10, 'a')), 431);
  EXPECT_EQ(status_for(*server, "GET /" + std::string(64 << 10, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 414);
  EXPECT_EQ(status_for(*server, get + "X-A: " + std::string(30 << 10, 'a') + "\r\n\r\n"), 200);
  std::string parameters = "GET /hello?";
  for (int i = 0; i < 100; ++i) parameters += "a=1&";
  EXPECT_EQ(status_for(*server, parameters + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
}

TEST_F(HttpLimits, BodiesHaveASize) {
  ServerLimits limits;
  limits.parse.body_bytes = 1000;
  auto server = start(limits);
  const std::string post = "POST /echo HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(status_for(*server, post + "Content-Length: 1001\r\n\r\n"), 413);
  EXPECT_EQ(status_for(*server, post + "Content-Length: 1000000000000\r\nExpect: 100-continue\r\n\r\n"), 413);
  EXPECT_EQ(status_for(*server, post + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'a')), 200);
  std::string chunks = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 200; ++i) chunks += "a\r\n0123456789\r\n";
  EXPECT_EQ(status_for(*server, chunks + "0\r\n\r\n"), 413);
  EXPECT_EQ(status_for(*server, post + "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\nx"), 413) << "of one that does not come";
  EXPECT_EQ(status_for(*server, post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(100 << 10, 'e')), 400);
}

TEST_F(HttpLimits, ALargeBodyThatNobodyWantsIsRefusedBeforeItComes) {
  auto server = start({});
  Client client = server->connect();
  // The answer arrives although we go on sending: the server reads a little longer before it hangs up.
  client.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n");
  client.send(std::string(1 << 20, 'x'));
  EXPECT_EQ(status_of(client.read_answer()), 404);
  EXPECT_EQ(shared_.asked, 0);
}

TEST_F(HttpLimits, AllBodiesTogetherHaveASize) {
  ServerLimits limits;
  limits.all_bodies = 300000;
  auto server = start(limits);
  Client first = server->connect(), second = server->connect();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
  first.send(head + std::string(200000, 'x'));
  ASSERT_TRUE(eventually([&] { return server->stats().bytes_in > 200000; }));
  second.send(head + std::string(200000, 'x'));
  EXPECT_EQ(status_of(second.read_answer()), 503);
  first.close();
  ASSERT_TRUE(eventually([&] { return server->stats().open <= 1; }));
  Client third = server->connect();
  const std::string fits = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n";
  EXPECT_EQ(status_of(third.ask(fits + std::string(200000, 'x'))), 200);
}

TEST_F(HttpLimits, SlowHeadsAndBodiesAreTimedOut) {
  ServerLimits limits;
  limits.header_timeout = milliseconds(200);
  auto server = start(limits);
  const char* beginnings[] = {"", "GET /hel", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX-A",
                              "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc"};
  for (const char* beginning : beginnings) {
    Client client = server->connect();
    client.send(beginning);
    // A byte now and then is no progress.
    for (int i = 0; i < 10 && *beginning != '\0'; ++i) {
      ::usleep(50000);
      if (!client.send("x")) break;
    }
    EXPECT_EQ(status_of(client.read_answer()), 408) << beginning;
    client.read_to_end();
  }
  EXPECT_EQ(server->stats().timed_out, 4u);
  EXPECT_EQ(status_for(*server, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
}

TEST_F(HttpLimits, AnIdleConnectionIsClosedWithoutAWord) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(200);
  auto server = start(limits);
  Client client = server->connect();
  EXPECT_EQ(status_of(client.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.ended());
}

TEST_F(HttpLimits, SlowlorisDoesNotKeepOthersOut) {
  auto server = start({});
  std::vector<Client> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(server->connect());
    ASSERT_TRUE(slow.back().send("GET /hello HTTP/1.1\r\nX"));
  }
  EXPECT_EQ(status_for(*server, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
}

TEST_F(HttpLimits, ConnectionsAreCountedAndRefused) {
  ServerLimits limits;
  limits.max_connections = 20;
  auto server = start(limits);
  std::vector<Client> busy;
  for (int i = 0; i < 20; ++i) {
    busy.push_back(server->connect());
    ASSERT_TRUE(busy.back().send("GET /hello HTTP/1.1\r\nX"));  // not idle: nobody is evicted
  }
  ASSERT_TRUE(eventually([&] { return server->stats().accepted == 20; }));
  Client late = server->connect();
  const std::string answer = late.ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(server->stats().refused, 1u);
  busy.pop_back();
  EXPECT_TRUE(eventually(
      [&] { return status_of(server->connect().ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")) == 200; }));
}

TEST_F(HttpLimits, TenThousandThatSayNothingMakeRoomForOneThatSpeaks) {
  ServerLimits limits;
  limits.max_connections = 100;
  limits.idle_timeout = limits.header_timeout = std::chrono::seconds(30);
  auto server = start(limits);
  std::vector<Client> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(server->connect());
  ASSERT_TRUE(eventually([&] { return server->stats().accepted >= 100; }));
  for (int i = 0; i < 9900; ++i) Client more(server->port());
  ::usleep(1100000);
  EXPECT_EQ(status_of(server->connect().ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
  EXPECT_TRUE(eventually([&] { return server->stats().open <= 101; }));
  EXPECT_GE(server->stats().evicted, 1u);
}

TEST_F(HttpLimits, AHandlerHearsThatItsClientHasGone) {
  auto server = start({});
  Client client = server->connect();
  client.send("GET /forever HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server->stats().requests == 1; }));
  EXPECT_EQ(shared_.closed, 0);
  client.close();
  EXPECT_TRUE(eventually([&] { return shared_.closed == 1; }));
  // An answer that comes nevertheless goes nowhere, and hurts nobody.
  EXPECT_TRUE(eventually([&] { return server->stats().open == 0; }));
}

TEST_F(HttpLimits, ASlowReaderIsGivenUpBeforeItFillsTheMemory) {
  auto server = start({});
  Client client(server->port(), 4096);
  client.send("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return shared_.refused_writes == 1; }, 20000));
  // 4 MiB wait, one piece is on top, and the kernel holds some.
  EXPECT_LE(shared_.written, std::uint64_t(16) << 20);
  EXPECT_EQ(server->stats().slow_readers, 1u);
  EXPECT_TRUE(eventually([&] { return server->stats().open == 0; }));
}

TEST_F(HttpLimits, AnAnswerThatNobodyReadsIsGivenUpInTime) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(200);
  limits.slowest = 64 << 20;
  auto server = start(limits);
  Client client(server->port(), 4096);
  const std::string large(8 << 20, 'x');
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(large.size()) + "\r\n\r\n");
  client.send(large);
  EXPECT_TRUE(eventually([&] { return server->stats().timed_out == 1 && server->stats().open == 0; }));
}

TEST_F(HttpLimits, WhoReadsItsAnswerSlowlyIsNotIdle) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(200);
  auto server = start(limits);
  Client client(server->port(), 512 << 10);
  const std::string large(8 << 20, 'x');
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(large.size()) + "\r\n\r\n");
  client.send(large);
  // At 8 KiB a second it may take minutes.
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(body_of(client.read_answer(true, 60000)).size(), large.size());
  EXPECT_EQ(server->stats().timed_out, 0u);
}

TEST_F(HttpLimits, APipelineDoesNotPileUpAnswers) {
  auto server = start({});
  Client client(server->port(), 4096);
  std::string body(30000, 'x'), all;
  for (int i = 0; i < 100; ++i) all += "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000\r\n\r\n" + body;
  std::thread sender([&] { client.send(all); });
  ASSERT_TRUE(eventually([&] { return shared_.asked > 5; }));
  ::usleep(200000);
  // It stopped asking handlers when the answers were not taken; and goes on when they are.
  const std::string first = client.read_answer();
  EXPECT_EQ(body_of(first).size(), 30000u);
  for (int i = 1; i < 100; ++i) ASSERT_EQ(body_of(client.read_answer()).size(), 30000u) << i;
  sender.join();
  EXPECT_EQ(shared_.asked, 100);
}

}  // namespace
}  // namespace hotcell::server
