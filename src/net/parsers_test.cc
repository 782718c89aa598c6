// The readers of HTTP, SOCKS5, TLS and DNS.
#include <gtest/gtest.h>

#include "net/dns.h"
#include "net/http_request.h"
#include "net/socks.h"
#include "net/tls_hello.h"

namespace hotcell::net {
namespace {

using namespace std::string_literals;

bool takes(std::string_view head) { return parse_request(head).ok(); }

TEST(HttpRequest, ConnectAndAbsoluteForm) {
  auto c = parse_request("CONNECT API.good.test:443 HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_TRUE(c.value().connect);
  EXPECT_EQ(c.value().target.text(), "api.good.test:443");
  auto g = parse_request("GET http://a.test?x=1 HTTP/1.1\r\nHost: a.test\r\nProxy-Connection: keep-alive\r\nConnection: x-hop\r\nX-Hop: 1\r\nX: 2\r\n\r\n");
  ASSERT_TRUE(g) << g.error().message;
  EXPECT_EQ(forwarded_head(g.value()), "GET /?x=1 HTTP/1.1\r\nHost: a.test\r\nX: 2\r\nConnection: close\r\n\r\n");
  // No chunks for a client that cannot read them.
  auto old = parse_request("GET http://a.test/ HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(forwarded_head(old.value()), "GET / HTTP/1.0\r\nHost: a.test\r\nConnection: close\r\n\r\n");
}

TEST(HttpRequest, TheHostFieldMustNameTheAddress) {
  EXPECT_FALSE(takes("GET http://evil.test/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n"));
  EXPECT_FALSE(takes("GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n"));
  EXPECT_FALSE(takes("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n"));
  EXPECT_FALSE(takes("GET http://a.test/ HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(takes("CONNECT evil.test:443 HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n"));
  EXPECT_TRUE(takes("GET http://a.test:80/ HTTP/1.1\r\nHost: A.TEST.\r\n\r\n"));
  EXPECT_TRUE(takes("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  EXPECT_TRUE(takes("CONNECT a.test:443 HTTP/1.0\r\n\r\n"));
}

TEST(HttpRequest, WhatCouldBeFramedDifferentlyIsRefused) {
  const std::string h = "Host: a.test\r\n";
  for (const std::string& fields : {"Transfer-Encoding: xchunked\r\n"s, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"s, "Content-Length: 5\r\nContent-Length: 5\r\n"s,
                                    "Content-Length: +5\r\n"s, "Content-Length: 0x5\r\n"s, "Content-Length: 5, 5\r\n"s, "Transfer-Encoding: chunked, chunked\r\n"s,
                                    "X: a\r\n folded\r\n"s, "X : a\r\n"s, "X\r\n"s, ": a\r\n"s, "X: a\rb\r\n"s, "X: a\nY: b\r\n"s, "X: \x01\r\n"s})
    EXPECT_FALSE(takes("POST http://a.test/ HTTP/1.1\r\n" + h + fields + "\r\n")) << fields;
  for (const char* line : {"GET / HTTP/1.1", "GET http://a.test/ HTTP/2.0", "GET http://a.test/", "GET  http://a.test/ HTTP/1.1", "G(T http://a.test/ HTTP/1.1",
                           "GET https://a.test/ HTTP/1.1", "GET unix:/var/run/docker.sock HTTP/1.1", "GET file:///etc/passwd HTTP/1.1", "GET http://u@a.test/ HTTP/1.1",
                           "GET http://a.test#@b.test/ HTTP/1.1", "GET http://a.test\\@b/ HTTP/1.1", "GET http:///x HTTP/1.1", "GET * HTTP/1.1", "PRI * HTTP/2.0",
                           "CONNECT a.test HTTP/1.1", "CONNECT http://a.test:443 HTTP/1.1"})
    EXPECT_FALSE(takes(std::string(line) + "\r\n" + h + "\r\n")) << line;
}

TEST(HttpRequest, AHeadThatCannotComeIsRefusedEarly) {
  EXPECT_EQ(head_size("GET http://a.test/ HTTP/1.1\r\nHost").value(), 0u);
  EXPECT_FALSE(head_size("GET http://a.test/ HTTP/1.1\nHost: a.test\n\n"));
  EXPECT_FALSE(head_size(std::string(kMostHead, 'a')));
  EXPECT_FALSE(head_size("CONNECT a\0b"s));
}

TEST(HttpRequest, BodiesEndWhereTheirFramingSays) {
  ProxyRequest r;
  r.chunked = true;
  std::string body = "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n";
  for (std::size_t step : {1u, 2u, 7u, 100u}) {
    BodyReader reader(r);
    std::string all = body + "GET http://evil.test/";
    std::size_t at = 0;
    while (at < all.size() && !reader.done()) at += reader.take(std::string_view(all).substr(at, step)).value();
    EXPECT_EQ(at, body.size());
  }
  for (const char* bad : {"x\r\n", "\r\n", "3\nabc", "3\r\nabcd\r\n", "fffffffffffffffff\r\n", "0\r\nT: v\nx", "3 \r\n"}) EXPECT_FALSE(BodyReader(r).take(bad)) << bad;
}

TEST(HttpRequest, AnswersLoseTheirHopByHopFields) {
  auto r = rewritten_response("HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nConnection: keep-alive, x\r\nX: 1\r\nKeep-Alive: 5\r\n\r\n");
  ASSERT_TRUE(r);
  EXPECT_EQ(r.value().text, "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(rewritten_response("SSH-2.0-x\r\n\r\n"));
}

TEST(Socks, NamesAreLeftToUs) {
  EXPECT_EQ(socks_greeting("\x05\x02\x00\x02"s).value(), 4u);
  EXPECT_EQ(socks_greeting("\x05\x02\x00"s).value(), 0u);
  EXPECT_FALSE(socks_greeting("\x05\x01\x02"s));
  EXPECT_FALSE(socks_greeting("\x04\x01"s));
  auto r = socks_request("\x05\x01\x00\x03\x06"s + "A.test" + "\x01\xbb"s);
  EXPECT_EQ(r.size, 13u);
  EXPECT_EQ(r.target.text(), "a.test:443");
  EXPECT_EQ(socks_request("\x05\x01\x00\x03\x06"s + "A.tes").size, 0u);
  r = socks_request("\x05\x01\x00\x04"s + std::string(10, '\0') + "\xff\xff\x7f\x00\x00\x01\x00\x50"s);
  EXPECT_EQ(r.target.text(), "127.0.0.1:80") << "a mapped address is the address it maps";
}

TEST(Socks, OtherCommandsAndStrangeNamesAreRefused) {
  EXPECT_EQ(socks_request("\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50"s).problem, SocksReply::kBadCommand);
  EXPECT_EQ(socks_request("\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50"s).problem, SocksReply::kBadCommand);
  EXPECT_EQ(socks_request("\x05\x01\x00\x05\x7f\x00\x00\x01\x00\x50"s).problem, SocksReply::kBadAddress);
  EXPECT_EQ(socks_request("\x05\x01\x00\x03\x0b"s + "a\0.pkg.test"s + "\x01\xbb"s).problem, SocksReply::kNotAllowed);
  EXPECT_EQ(socks_request("\x05\x01\x00\x03\x01"s + "a" + "\x00\x00"s).problem, SocksReply::kNotAllowed);
}

std::string record(std::string_view payload) {
  return "\x16\x03\x01"s + static_cast<char>(payload.size() >> 8) + static_cast<char>(payload.size() & 0xff) + std::string(payload);
}

std::string hello_message(const std::string& extensions) {
  std::string body = "\x03\x03"s + std::string(32, 'r') + "\0"s + "\x00\x02\x13\x01"s + "\x01\x00"s;
  body += static_cast<char>(extensions.size() >> 8);
  body += static_cast<char>(extensions.size() & 0xff);
  body += extensions;
  return "\x01\x00"s + static_cast<char>(body.size() >> 8) + static_cast<char>(body.size() & 0xff) + body;
}

std::string sni(const std::string& name) {
  auto n = static_cast<char>(name.size());
  return "\x00\x00\x00"s + static_cast<char>(n + 5) + "\x00"s + static_cast<char>(n + 3) + "\x00\x00"s + n + name;
}

TEST(TlsHello, ItsNameIsFoundHoweverItIsCut) {
  std::string message = hello_message("\x00\x10\x00\x00"s + sni("a.test"));
  std::string whole = record(message), parts = record(message.substr(0, 3)) + record(message.substr(3, 20)) + record(message.substr(23));
  for (const std::string& bytes : {whole, parts}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(read_hello(std::string_view(bytes).substr(0, i)).kind, TlsHello::Kind::kMore) << i;
    EXPECT_EQ(read_hello(bytes).kind, TlsHello::Kind::kHello);
    EXPECT_EQ(read_hello(bytes + "more").server_name, "a.test");
  }
  EXPECT_EQ(read_hello(record(hello_message(""))).server_name, "");
}

TEST(TlsHello, WhatIsNoHelloIsSaidToBeNone) {
  EXPECT_EQ(read_hello("GET / HTTP/1.1").kind, TlsHello::Kind::kNotTls);
  EXPECT_EQ(read_hello("SSH-2.0").kind, TlsHello::Kind::kNotTls);
  // Records of TLS before the first hello: some servers let them pass.
  for (char type : {'\x14', '\x15', '\x17', '\x18'}) {
    const std::string first = type + "\x03\x01\x00\x02\x01\x5a"s;
    EXPECT_EQ(read_hello(first.substr(0, 1)).kind, TlsHello::Kind::kMore) << int(type);
    EXPECT_EQ(read_hello(first.substr(0, 2)).kind, TlsHello::Kind::kBroken) << int(type);
    EXPECT_EQ(read_hello(first + record(hello_message(sni("a.test")))).kind, TlsHello::Kind::kBroken) << int(type);
    EXPECT_EQ(read_hello(type + "\x04" "ab"s).kind, TlsHello::Kind::kNotTls) << int(type);
  }
  EXPECT_EQ(read_hello(record(hello_message(sni("a.test") + sni("b.test")))).kind, TlsHello::Kind::kBroken) << "two names";
  EXPECT_EQ(read_hello(record("\x02\x00\x00\x01x"s)).kind, TlsHello::Kind::kBroken);
  EXPECT_EQ(read_hello("\x16\x03\x01\xff\xff"s).kind, TlsHello::Kind::kBroken);
  EXPECT_EQ(read_hello(record("\x01\xff\xff\xff"s)).kind, TlsHello::Kind::kBroken);
  EXPECT_EQ(read_hello(record(hello_message(sni("a.test")) + hello_message(sni("b.test")))).kind, TlsHello::Kind::kBroken) << "two in one record";
}

// Servers are not as strict about a first record as the standard is: what one of them may take for TLS is not let through unread.
TEST(TlsHello, OddVersionsAreNotTakenForSomethingElse) {
  std::string odd = record(hello_message(sni("a.test")));
  for (int version : {0, 1, 2, 4, 0x0f}) {
    odd[1] = static_cast<char>(version);
    EXPECT_EQ(read_hello(odd).kind, TlsHello::Kind::kBroken) << version;
  }
  const std::string ssl2 = "\x80\x1c\x01\x03\x03\x00\x03\x00\x00\x00\x10"s + "\x00\x00\x35"s + std::string(16, 'c');
  EXPECT_EQ(read_hello(ssl2).kind, TlsHello::Kind::kHello);
  EXPECT_EQ(read_hello(ssl2).server_name, "");
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(read_hello(std::string_view(ssl2).substr(0, i)).kind, TlsHello::Kind::kMore) << i;
  EXPECT_EQ(read_hello("\x80\x1c\x02\x03"s).kind, TlsHello::Kind::kNotTls);
  EXPECT_EQ(read_hello("\x80\x1c\x01\x04"s).kind, TlsHello::Kind::kNotTls);
}

TEST(TlsHello, AServerThatWantsAnotherIsRecognised) {
  const std::string retry =
      "\xCF\x21\xAD\x74\xE5\x9A\x61\x11\xBE\x1D\x8C\x02\x1E\x65\xB8\x91\xC2\xA2\x11\x16\x7A\xBB\x8C\x5E\x07\x9E\x09\xE2\xC8\xA8\x33\x9C"s;
  auto answer = [](const std::string& random) { return record("\x02\x00\x00\x28\x03\x03"s + random + "\x00\x13\x01\x00\x00\x00"s); };
  EXPECT_EQ(read_answer(answer(retry)), TlsAnswer::kRetry);
  EXPECT_EQ(read_answer(answer(std::string(32, 'r'))), TlsAnswer::kOther);
  for (std::size_t i = 0; i < kRetryHead; ++i) EXPECT_EQ(read_answer(answer(retry).substr(0, i)), TlsAnswer::kMore) << i;
  EXPECT_EQ(read_answer("\x15\x03\x03\x00\x02\x02\x28"s), TlsAnswer::kOther);
  EXPECT_EQ(read_answer("HTTP/1.1 400"), TlsAnswer::kOther);
}

std::string query(const std::string& name, int type) {
  return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + name + "\0\0"s + static_cast<char>(type) + "\x00\x01"s;
}

TEST(Dns, AQuestionAndItsAnswer) {
  auto q = parse_dns_query(query("\x01" "a\x04test", kDnsA));
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(q.value().name, "a.test");
  EXPECT_EQ(q.value().type, kDnsA);
  std::string answer = dns_answer(q.value(), DnsCode::kOk, {*parse_v4("203.0.113.10")}, 30);
  EXPECT_EQ(answer.substr(0, 8), "\x12\x34\x81\x80\x00\x01\x00\x01"s);
  EXPECT_TRUE(answer.ends_with("\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04\xcb\x00\x71\x0a"s));
  EXPECT_EQ(dns_answer(q.value(), DnsCode::kRefused, {})[3] & 15, 5);
  std::vector<Address> many(100, *parse_v4("203.0.113.10"));
  EXPECT_LE(dns_answer(q.value(), DnsCode::kOk, many).size(), 512u);
}

TEST(Dns, WhatIsNoQuestionIsNotAnswered) {
  for (const std::string& bad : {""s, "short"s, query("\x01" "a\x04tes", 1).substr(0, 18), query("\xc0\x0c", 1), query("\x03" "a.b\x04test", 1),
                                 "\x12\x34\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"s, "\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"s})
    EXPECT_FALSE(parse_dns_query(bad));
}

}  // namespace
}  // namespace hotcell::net
