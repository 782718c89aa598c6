// WebSocket (RFC 6455), the server's side: the handshake, and frames as bytes. No extension is ever agreed on. Pure: bytes
// come in, messages go out; who reads and writes is elsewhere.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace hotcell::server {

// The head of the answer to a handshake; `protocol`: the one we speak, agreed on when the client offers it.
struct WebSocketHandshake {
  std::optional<HttpResponse> refusal;      // what to answer instead
  HttpResponse head;
};
WebSocketHandshake websocket_handshake(const HttpRequest& request, std::string_view protocol);
std::string websocket_accept(std::string_view key);  // of Sec-WebSocket-Key

enum class WebSocketKind : std::uint8_t { kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

struct WebSocketMessage {
  WebSocketKind kind = WebSocketKind::kText;
  std::string bytes;                        // of a close: the reason
  std::uint16_t code = 0;                   // of a close; 1005: none was given
};

// Why a connection is closed (RFC 6455 §7.4.1).
inline constexpr std::uint16_t kWsNormal = 1000, kWsGoingAway = 1001, kWsProtocol = 1002, kWsNoCode = 1005, kWsBadText = 1007,
                               kWsPolicy = 1008, kWsTooLarge = 1009, kWsInternal = 1011, kWsTryAgain = 1013;

class WebSocketReader {
 public:
  explicit WebSocketReader(std::size_t most_bytes) : most_(most_bytes) {}  // of a message

  // Calls `each` for every whole message, until it says false. False: the peer has broken the protocol, and failure() is the
  // code to close with. After that, and after a close, nothing more is read.
  bool feed(std::string_view bytes, const std::function<bool(WebSocketMessage)>& each);
  std::uint16_t failure() const { return failure_; }
  bool closed() const { return closed_; }

 private:
  enum class Step { kMore, kFrame, kFailed };
  Step take_head();
  bool take_frame(const std::function<bool(WebSocketMessage)>& each);
  bool fail(std::uint16_t code) {
    failure_ = code;
    return false;
  }

  std::size_t most_;
  std::string input_;                       // a head that is not complete yet, or a control frame's bytes
  std::string message_;                     // what has come of a message, unmasked
  bool in_message_ = false, text_ = false, in_frame_ = false, closed_ = false;
  // The frame that is being read
  std::uint8_t opcode_ = 0;
  bool last_ = false;
  std::uint64_t left_ = 0;
  unsigned char mask_[4] = {};
  unsigned at_ = 0;
  std::string control_;
  std::uint16_t failure_ = 0;
};

// Never masked, never in pieces, as a server writes them.
std::string websocket_frame(WebSocketKind kind, std::string_view bytes);
std::string websocket_close(std::uint16_t code, std::string_view reason);

}  // namespace hotcell::server
