#include "server/http/websocket.h"

#include <algorithm>
#include <array>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::server {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kMostControl = 125;

// Only for the handshake, where it proves nothing but that the peer speaks WebSocket.
std::array<unsigned char, 20> sha1(std::string_view text) {
  std::uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::string m(text);
  m += '\x80';
  while (m.size() % 64 != 56) m += '\0';
  const std::uint64_t bits = static_cast<std::uint64_t>(text.size()) * 8;
  for (int i = 7; i >= 0; --i) m += static_cast<char>(bits >> (8 * i));
  auto rotate = [](std::uint32_t v, int n) { return (v << n) | (v >> (32 - n)); };
  for (std::size_t at = 0; at < m.size(); at += 64) {
    std::uint32_t w[80];
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (std::size_t j = 0; j < 4; ++j) w[i] = (w[i] << 8) | static_cast<unsigned char>(m[at + 4 * i + j]);
    }
    for (int i = 16; i < 80; ++i) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 80; ++i) {
      std::uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 ? b ^ c ^ d : i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
      std::uint32_t k = i < 20 ? 0x5A827999 : i < 40 ? 0x6ED9EBA1 : i < 60 ? 0x8F1BBCDC : 0xCA62C1D6;
      std::uint32_t next = rotate(a, 5) + f + e + k + w[i];
      e = d;
      d = c;
      c = rotate(b, 30);
      b = a;
      a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
  }
  std::array<unsigned char, 20> out{};
  for (std::size_t i = 0; i < 20; ++i) out[i] = static_cast<unsigned char>(h[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool has_word(std::string_view list, std::string_view word) {
  for (auto item : split(list, ','))
    if (ascii_lower(trim(item)) == word) return true;
  return false;
}

bool is_key(std::string_view key) {
  return key.size() == 24 && key.ends_with("==") &&
         std::all_of(key.begin(), key.end() - 2, [](char c) { return kBase64.find(c) != std::string_view::npos; });
}

bool is_close_code(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  auto digest = sha1(cat(key, kMagic));
  return base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

WebSocketHandshake websocket_handshake(const HttpRequest& request, std::string_view protocol) {
  WebSocketHandshake out;
  if (request.method != "GET" || !has_word(request.header("upgrade").value_or(""), "websocket") || !has_word(request.header("connection").value_or(""), "upgrade")) {
    out.refusal = error_response(426, "This path speaks WebSocket.", "upgrade");
    out.refusal->headers.emplace_back("Sec-WebSocket-Version", "13");
    return out;
  }
  if (request.header("sec-websocket-version") != "13") {
    out.refusal = error_response(426, "The only version of WebSocket understood is 13.", "version");
    out.refusal->headers.emplace_back("Sec-WebSocket-Version", "13");
    return out;
  }
  const auto key = request.header("sec-websocket-key");
  if (!key || !is_key(*key)) {
    out.refusal = error_response(400, "Sec-WebSocket-Key is missing or not 16 bytes in base64.", "bad_request");
    return out;
  }
  out.head.status = 101;
  out.head.headers.emplace_back("Sec-WebSocket-Accept", websocket_accept(*key));
  if (has_word(request.header("sec-websocket-protocol").value_or(""), protocol)) out.head.headers.emplace_back("Sec-WebSocket-Protocol", protocol);
  return out;
}

// From input_, which holds nothing else: two bytes, the length, the mask.
WebSocketReader::Step WebSocketReader::take_head() {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input_[i]); };
  auto failed = [&](std::uint16_t code) {
    failure_ = code;
    return Step::kFailed;
  };
  if (input_.size() < 2) return Step::kMore;
  const unsigned first = byte(0), second = byte(1);
  if ((first & 0x70) != 0) return failed(kWsProtocol);    // an extension nobody agreed on
  if ((second & 0x80) == 0) return failed(kWsProtocol);   // a client masks, so that no proxy in between takes it for something else
  opcode_ = first & 15;
  last_ = (first & 0x80) != 0;
  const bool control = opcode_ >= 8;
  if (opcode_ > 10 || (opcode_ > 2 && opcode_ < 8)) return failed(kWsProtocol);
  if (control && (!last_ || (second & 127) > kMostControl)) return failed(kWsProtocol);
  // A message begins with its kind and goes on with 0.
  if (!control && (opcode_ == 0) != in_message_) return failed(kWsProtocol);
  const std::size_t more = (second & 127) == 126 ? 2 : (second & 127) == 127 ? 8 : 0;
  if (input_.size() < 2 + more + 4) return Step::kMore;
  left_ = second & 127;
  if (more > 0) {
    left_ = 0;
    for (std::size_t i = 0; i < more; ++i) left_ = left_ << 8 | byte(2 + i);
    // The shortest form, as the standard has it: there is one way to write a frame.
    if (left_ < (more == 2 ? 126u : 65536u) || left_ >> 63 != 0) return failed(kWsProtocol);
  }
  if (!control && left_ > most_ - std::min(most_, message_.size())) return failed(kWsTooLarge);
  for (std::size_t i = 0; i < 4; ++i) mask_[i] = byte(2 + more + i);
  at_ = 0;
  if (!control && opcode_ != 0) {
    in_message_ = true;
    text_ = opcode_ == 1;
  }
  return Step::kFrame;
}

bool WebSocketReader::take_frame(const std::function<bool(WebSocketMessage)>& each) {
  WebSocketMessage out;
  if (opcode_ >= 8) {
    out.kind = static_cast<WebSocketKind>(opcode_);
    out.bytes = std::exchange(control_, {});
    if (out.kind == WebSocketKind::kClose) {
      closed_ = true;
      out.code = kWsNoCode;
      if (out.bytes.size() == 1) return fail(kWsProtocol);
      if (out.bytes.size() >= 2) {
        out.code = static_cast<std::uint16_t>(static_cast<unsigned char>(out.bytes[0]) << 8 | static_cast<unsigned char>(out.bytes[1]));
        out.bytes.erase(0, 2);
        if (!is_close_code(out.code)) return fail(kWsProtocol);
        if (!is_valid_utf8(out.bytes)) return fail(kWsBadText);
      }
    }
  } else {
    if (!last_) return true;
    in_message_ = false;
    out.kind = text_ ? WebSocketKind::kText : WebSocketKind::kBinary;
    out.bytes = std::exchange(message_, {});
    if (text_ && !is_valid_utf8(out.bytes)) return fail(kWsBadText);
  }
  if (!each(std::move(out))) closed_ = true;
  return true;
}

bool WebSocketReader::feed(std::string_view bytes, const std::function<bool(WebSocketMessage)>& each) {
  while (failure_ == 0 && !closed_ && (in_frame_ || !bytes.empty())) {
    if (!in_frame_) {
      // Byte by byte: a head has fourteen at most.
      input_ += bytes.front();
      bytes.remove_prefix(1);
      Step step = take_head();
      if (step == Step::kFailed) return false;
      if (step == Step::kMore) continue;
      input_.clear();
      in_frame_ = true;
    }
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    std::string& into = opcode_ >= 8 ? control_ : message_;
    for (std::size_t i = 0; i < n; ++i) into += static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ mask_[at_++ & 3]);
    at_ &= 3;
    bytes.remove_prefix(n);
    left_ -= n;
    if (left_ > 0) break;
    in_frame_ = false;
    if (!take_frame(each)) return false;
  }
  return failure_ == 0;
}

std::string websocket_frame(WebSocketKind kind, std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 10);
  out += static_cast<char>(0x80 | static_cast<unsigned>(kind));
  if (bytes.size() < 126) {
    out += static_cast<char>(bytes.size());
  } else {
    const int more = bytes.size() < 65536 ? 2 : 8;
    out += static_cast<char>(more == 2 ? 126 : 127);
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(static_cast<std::uint64_t>(bytes.size()) >> (8 * i));
  }
  out += bytes;
  return out;
}

std::string websocket_close(std::uint16_t code, std::string_view reason) {
  std::string body;
  body += static_cast<char>(code >> 8);
  body += static_cast<char>(code & 255);
  // Whole characters only.
  std::size_t fits = 0;
  while (fits < reason.size()) {
    std::size_t n = utf8_length(reason.substr(fits));
    if (n == 0 || fits + n > kMostControl - 2) break;
    fits += n;
  }
  body += reason.substr(0, fits);
  return websocket_frame(WebSocketKind::kClose, body);
}

}  // namespace hotcell::server
