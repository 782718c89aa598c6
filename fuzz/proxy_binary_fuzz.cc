// SOCKS5, TLS hellos and DNS questions, by the first byte; and host names with patterns.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "net/dns.h"
#include "net/pattern.h"
#include "net/socks.h"
#include "net/tls_hello.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotcell::net;
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      auto greeting = socks_greeting(bytes);
      if (greeting && greeting.value() > bytes.size()) std::abort();
      auto request = socks_request(bytes);
      if (request.size > bytes.size()) std::abort();
      if (request.size != 0 && request.problem == SocksReply::kSucceeded && request.target.port == 0) std::abort();
      break;
    }
    case 1: {
      auto whole = read_hello(bytes);
      // More bytes never turn a found name into another.
      if (whole.kind == TlsHello::Kind::kHello && read_hello(std::string(bytes) + "x").server_name != whole.server_name) std::abort();
      break;
    }
    case 2: {
      auto query = parse_dns_query(bytes);
      if (!query) break;
      std::string answer = dns_answer(query.value(), DnsCode::kOk, {Address::v4(0x01020304)});
      if (answer.size() > 512 + 300) std::abort();
      break;
    }
    default: {
      auto host = parse_host(bytes);
      if (host) {
        auto again = parse_host(host.value().bracketed());
        if (!again || again.value() != host.value()) std::abort();  // normal forms are normal
        auto exact = HostPattern::parse(host.value().bracketed());
        if (!exact || !exact.value().matches(host.value(), 1)) std::abort();
      }
      auto pattern = HostPattern::parse(bytes);
      if (pattern && host) (void)pattern.value().matches(host.value(), 80);
    }
  }
  return 0;
}
