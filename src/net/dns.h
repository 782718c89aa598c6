// DNS messages, as far as a door needs them: one question in, addresses out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "net/address.h"

namespace hotcell::net {

enum class DnsCode : std::uint8_t { kOk = 0, kFormat = 1, kServerFailure = 2, kNoName = 3, kNotThere = 4, kRefused = 5 };
inline constexpr std::uint16_t kDnsA = 1, kDnsAaaa = 28;

struct DnsQuery {
  std::uint16_t id = 0, type = 0, klass = 0, flags = 0;
  std::string name;       // dotted, as sent
  std::string question;   // its bytes, for the answer
};
// An error: it is no query with one question; nothing can be answered then.
Result<DnsQuery> parse_dns_query(std::string_view packet);
std::string dns_answer(const DnsQuery& query, DnsCode code, const std::vector<Address>& addresses, std::uint32_t ttl = 30);
std::string_view dns_type_name(std::uint16_t type);

}  // namespace hotcell::net
