// SOCKS5 (RFC 1928), the part that a door needs: CONNECT, names left to us, no password.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "net/host.h"

namespace hotcell::net {

inline constexpr char kSocksVersion = 5;

enum class SocksReply : std::uint8_t {
  kSucceeded = 0, kFailure = 1, kNotAllowed = 2, kHostUnreachable = 4, kRefused = 5, kBadCommand = 7, kBadAddress = 8,
};

// How many bytes the client's greeting has, 0: more to come. An error: it does not offer to go without a password.
Result<std::size_t> socks_greeting(std::string_view bytes);
struct SocksRequest {
  std::size_t size = 0;  // 0: more to come
  SocksReply problem = SocksReply::kSucceeded;
  std::string why;
  Target target;
};
SocksRequest socks_request(std::string_view bytes);
std::string socks_answer(SocksReply reply);

}  // namespace hotcell::net
