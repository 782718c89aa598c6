// The name a TLS client asks for, read from its first bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hotcell::net {

struct TlsHello {
  enum class Kind : unsigned char { kMore, kNotTls, kBroken, kHello };
  Kind kind = Kind::kMore;
  std::string server_name = {};  // as sent; empty: none
  std::size_t size = 0;          // of the records that it fills
};
// kNotTls: the first bytes are something else. kBroken: they begin like TLS and are not, or the hello is larger than 64 KiB.
TlsHello read_hello(std::string_view bytes);

// What a server says to it. kRetry: the client shall say its hello once more, and what that one says counts.
enum class TlsAnswer : unsigned char { kMore, kRetry, kOther };
inline constexpr std::size_t kRetryHead = 43;  // so many bytes tell
TlsAnswer read_answer(std::string_view bytes);

inline constexpr char kHandshake = 0x16;       // what a record with a hello begins with
inline constexpr std::size_t kRecordHead = 5;
std::size_t record_size(std::string_view bytes);  // with its head; 0: it is none, or the head is not there yet

}  // namespace hotcell::net
