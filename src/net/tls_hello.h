// The name a TLS client asks for, read from its first bytes.
#pragma once
#include <string>
#include <string_view>

namespace hotcell::net {

struct TlsHello {
  enum class Kind : unsigned char { kMore, kNotTls, kBroken, kHello };
  Kind kind = Kind::kMore;
  std::string server_name;  // as sent; empty: none
};
// kNotTls: the first bytes are something else. kBroken: they begin like TLS and are not, or the hello is larger than 64 KiB.
TlsHello read_hello(std::string_view bytes);

}  // namespace hotcell::net
