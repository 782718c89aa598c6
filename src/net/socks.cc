#include "net/socks.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::net {
namespace {

unsigned byte_at(std::string_view s, std::size_t i) { return static_cast<unsigned char>(s[i]); }

}  // namespace

Result<std::size_t> socks_greeting(std::string_view b) {
  if (b.size() < 2) return std::size_t{0};
  if (b[0] != kSocksVersion) return make_error(ErrorCode::kInvalid, "not SOCKS5");
  std::size_t methods = byte_at(b, 1);
  if (methods == 0) return make_error(ErrorCode::kInvalid, "SOCKS5: no method offered");
  if (b.size() < 2 + methods) return std::size_t{0};
  if (b.substr(2, methods).find('\0') == std::string_view::npos)
    return make_error(ErrorCode::kInvalid, "SOCKS5: only the method without a password is there");
  return 2 + methods;
}

SocksRequest socks_request(std::string_view b) {
  SocksRequest out;
  if (b.size() < 5) return out;
  auto refuse = [&](SocksReply reply, std::string why) {
    out.size = b.size();
    out.problem = reply;
    out.why = std::move(why);
    return out;
  };
  if (b[0] != kSocksVersion || b[2] != 0) return refuse(SocksReply::kFailure, "SOCKS5: not a request");
  if (b[1] != 1) return refuse(SocksReply::kBadCommand, "SOCKS5: only CONNECT is there, neither BIND nor UDP");
  std::size_t length = 0, from = 4;
  switch (byte_at(b, 3)) {
    case 1: length = 4; break;
    case 4: length = 16; break;
    case 3:
      length = byte_at(b, 4);
      from = 5;
      break;
    default: return refuse(SocksReply::kBadAddress, "SOCKS5: unknown kind of address");
  }
  if (b.size() < from + length + 2) return out;
  out.size = from + length + 2;
  std::string_view address = b.substr(from, length);
  out.target.port = static_cast<std::uint16_t>(byte_at(b, from + length) << 8 | byte_at(b, from + length + 1));
  if (out.target.port == 0) return refuse(SocksReply::kNotAllowed, "port 0 is no port");
  Result<Host> host = Host{};
  if (from == 5) {
    host = parse_host(address);
  } else {
    Address a;
    a.v6 = length == 16;
    std::copy(address.begin(), address.end(), a.bytes.begin());
    host = parse_host(a.text());  // a mapped address becomes what it is
  }
  if (!host) return refuse(SocksReply::kNotAllowed, host.error().message);
  out.target.host = std::move(host).value();
  return out;
}

std::string socks_answer(SocksReply reply) {
  // Bound to nothing: clients want ten bytes and look at the second.
  std::string out(10, '\0');
  out[0] = kSocksVersion;
  out[1] = static_cast<char>(reply);
  out[3] = 1;
  return out;
}

}  // namespace hotcell::net
