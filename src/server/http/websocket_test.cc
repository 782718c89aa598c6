#include "server/http/websocket.h"

#include <gtest/gtest.h>

#include <vector>

namespace hotcell::server {
namespace {

std::string client_frame(unsigned first, std::string_view bytes, std::string_view mask = "\x01\x02\x03\x04") {
  std::string out(1, static_cast<char>(first));
  if (bytes.size() < 126) {
    out += static_cast<char>(0x80 | bytes.size());
  } else {
    const int more = bytes.size() < 65536 ? 2 : 8;
    out += static_cast<char>(0x80 | (more == 2 ? 126 : 127));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(bytes.size() >> (8 * i));
  }
  out += mask;
  for (std::size_t i = 0; i < bytes.size(); ++i) out += static_cast<char>(bytes[i] ^ mask[i & 3]);
  return out;
}

struct Read {
  std::vector<WebSocketMessage> messages;
  std::uint16_t failure = 0;
};
// Whole, and byte by byte: both must say the same.
Read read(const std::string& bytes, std::size_t most = 1 << 20) {
  Read whole, pieces;
  WebSocketReader a(most), b(most);
  a.feed(bytes, [&](WebSocketMessage m) { return whole.messages.push_back(std::move(m)), true; });
  for (char c : bytes)
    if (!b.feed(std::string_view(&c, 1), [&](WebSocketMessage m) { return pieces.messages.push_back(std::move(m)), true; })) break;
  whole.failure = a.failure();
  EXPECT_EQ(b.failure(), whole.failure);
  EXPECT_EQ(pieces.messages.size(), whole.messages.size());
  for (std::size_t i = 0; i < pieces.messages.size() && i < whole.messages.size(); ++i) EXPECT_EQ(pieces.messages[i].bytes, whole.messages[i].bytes);
  return whole;
}

TEST(WebSocket, TheHandshakeOfTheStandardIsAnsweredAsInTheStandard) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  HttpRequest request;
  request.method = "GET";
  request.headers = {{"upgrade", "WebSocket"}, {"connection", "keep-alive, Upgrade"}, {"sec-websocket-version", "13"},
                     {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}, {"sec-websocket-protocol", "other, hotcell-terminal"}};
  auto good = websocket_handshake(request, "hotcell-terminal");
  ASSERT_FALSE(good.refusal);
  EXPECT_EQ(good.head.status, 101);
  ASSERT_EQ(good.head.headers.size(), 2u);
  EXPECT_EQ(good.head.headers[1].second, "hotcell-terminal");
  auto without = [&](std::string_view name, std::string value) {
    HttpRequest changed = request;
    for (auto& [n, v] : changed.headers)
      if (n == name) v = value;
    auto answer = websocket_handshake(changed, "hotcell-terminal");
    return answer.refusal ? answer.refusal->status : 101;
  };
  EXPECT_EQ(without("upgrade", "h2c"), 426);
  EXPECT_EQ(without("connection", "keep-alive"), 426);
  EXPECT_EQ(without("sec-websocket-version", "8"), 426);
  EXPECT_EQ(without("sec-websocket-key", "short=="), 400);
  EXPECT_EQ(without("sec-websocket-protocol", "other"), 101);
}

TEST(WebSocket, ReadsMessagesWholeInPiecesAndWithPingsBetween) {
  auto one = read(client_frame(0x81, "hello"));
  ASSERT_EQ(one.messages.size(), 1u);
  EXPECT_EQ(one.messages[0].kind, WebSocketKind::kText);
  EXPECT_EQ(one.messages[0].bytes, "hello");
  auto parts = read(client_frame(0x02, "ab") + client_frame(0x89, "ping") + client_frame(0x00, "") + client_frame(0x80, "c"));
  ASSERT_EQ(parts.messages.size(), 2u);
  EXPECT_EQ(parts.messages[0].kind, WebSocketKind::kPing);
  EXPECT_EQ(parts.messages[0].bytes, "ping");
  EXPECT_EQ(parts.messages[1].kind, WebSocketKind::kBinary);
  EXPECT_EQ(parts.messages[1].bytes, "abc");
  for (std::size_t size : {0u, 125u, 126u, 65535u, 65536u}) {
    auto sized = read(client_frame(0x82, std::string(size, 'x')));
    ASSERT_EQ(sized.messages.size(), 1u) << size;
    EXPECT_EQ(sized.messages[0].bytes.size(), size);
  }
  auto closed = read(client_frame(0x88, "\x03\xe8 bye") + client_frame(0x81, "after"));
  ASSERT_EQ(closed.messages.size(), 1u);
  EXPECT_EQ(closed.messages[0].code, 1000);
  EXPECT_EQ(closed.messages[0].bytes, " bye");
  EXPECT_EQ(read(client_frame(0x88, "")).messages.at(0).code, kWsNoCode);
}

TEST(WebSocket, WhatBreaksTheProtocolIsClosedWithItsCode) {
  std::string naked = "\x81\x01x";
  EXPECT_EQ(read(naked).failure, kWsProtocol) << "not masked";
  EXPECT_EQ(read(client_frame(0xC1, "x")).failure, kWsProtocol) << "an extension";
  EXPECT_EQ(read(client_frame(0x83, "x")).failure, kWsProtocol) << "an unknown kind";
  EXPECT_EQ(read(client_frame(0x8B, "x")).failure, kWsProtocol) << "an unknown control frame";
  EXPECT_EQ(read(client_frame(0x80, "x")).failure, kWsProtocol) << "goes on with nothing";
  EXPECT_EQ(read(client_frame(0x01, "x") + client_frame(0x81, "y")).failure, kWsProtocol) << "a message inside another";
  EXPECT_EQ(read(client_frame(0x09, "x")).failure, kWsProtocol) << "a control frame in pieces";
  EXPECT_EQ(read(client_frame(0x89, std::string(126, 'x'))).failure, kWsProtocol) << "a long control frame";
  EXPECT_EQ(read(std::string("\x82\xfe\x00\x05", 4) + "aaaa12345").failure, kWsProtocol) << "a length in too many bytes";
  EXPECT_EQ(read(std::string("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00", 10) + "aaaa").failure, kWsProtocol) << "a length of 2^63";
  EXPECT_EQ(read(client_frame(0x81, "\xff")).failure, kWsBadText);
  EXPECT_EQ(read(client_frame(0x01, "\xc3") + client_frame(0x80, "\xa4")).failure, 0) << "a character across two frames";
  EXPECT_EQ(read(client_frame(0x88, "x")).failure, kWsProtocol) << "half a code";
  EXPECT_EQ(read(client_frame(0x88, std::string("\x03\xed", 2))).failure, kWsProtocol) << "1005 is never sent";
  EXPECT_EQ(read(client_frame(0x88, std::string("\x03\xe8\xff", 3))).failure, kWsBadText);
  EXPECT_EQ(read(client_frame(0x82, "12345"), 4).failure, kWsTooLarge);
  EXPECT_EQ(read(client_frame(0x02, "123") + client_frame(0x80, "45"), 4).failure, kWsTooLarge);
  EXPECT_EQ(read(client_frame(0x82, "1234"), 4).failure, 0);
}

TEST(WebSocket, WritesFramesThatAClientReads) {
  EXPECT_EQ(websocket_frame(WebSocketKind::kText, "hi"), std::string("\x81\x02hi", 4));
  EXPECT_EQ(websocket_frame(WebSocketKind::kBinary, std::string(126, 'x')).substr(0, 4), std::string("\x82\x7e\x00\x7e", 4));
  EXPECT_EQ(websocket_frame(WebSocketKind::kBinary, std::string(65536, 'x')).substr(0, 10), std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
  EXPECT_EQ(websocket_close(1000, "bye"), std::string("\x88\x05\x03\xe8", 4) + "bye");
  // A reason of ours that is too long ends with a whole character.
  std::string frame = websocket_close(1011, std::string(122, 'a') + "ä");
  EXPECT_EQ(frame.size(), 2u + 2 + 122);
}

}  // namespace
}  // namespace hotcell::server
