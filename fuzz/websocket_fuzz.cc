// Frames from a peer that means harm: fed whole and byte by byte, both must be understood in the same way, and nothing may
// be larger than what was allowed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/http/websocket.h"

using namespace hotcell::server;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 4096;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string whole, pieces;
  auto note = [](std::string& into) {
    return [&into](WebSocketMessage m) {
      if (m.bytes.size() > kMost) std::abort();
      into += static_cast<char>(m.kind);
      into += m.bytes;
      into += websocket_frame(m.kind, m.bytes);
      return true;
    };
  };
  WebSocketReader a(kMost), b(kMost);
  a.feed(bytes, note(whole));
  for (char c : bytes)
    if (!b.feed(std::string_view(&c, 1), note(pieces))) break;
  if (whole != pieces || a.failure() != b.failure() || a.closed() != b.closed()) std::abort();
  return 0;
}
