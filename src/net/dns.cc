#include "net/dns.h"

#include "base/strings.h"

namespace hotcell::net {
namespace {

Error bad(std::string_view why) { return make_error(ErrorCode::kInvalid, cat("not a DNS query: ", why)); }

std::uint16_t word(std::string_view p, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(p[at]) << 8 | static_cast<unsigned char>(p[at + 1]));
}

void put16(std::string& out, unsigned v) {
  out += static_cast<char>(v >> 8 & 0xff);
  out += static_cast<char>(v & 0xff);
}

constexpr std::size_t kHeader = 12, kMostPacket = 512;

}  // namespace

Result<DnsQuery> parse_dns_query(std::string_view p) {
  if (p.size() < kHeader || p.size() > 4096) return bad("its size");
  DnsQuery q;
  q.id = word(p, 0);
  q.flags = word(p, 2);
  if (q.flags & 0x8000) return bad("it is an answer");
  if ((q.flags >> 11 & 15) != 0) return bad("another operation");
  // Additional records are fine (EDNS), others have no place in a question.
  if (word(p, 4) != 1 || word(p, 6) != 0 || word(p, 8) != 0) return bad("not one question");
  std::size_t at = kHeader;
  for (;;) {
    if (at >= p.size()) return bad("the name does not end");
    auto length = static_cast<std::size_t>(static_cast<unsigned char>(p[at++]));
    if (length == 0) break;
    if (length > 63 || at + length > p.size()) return bad("a label is too long, or compressed");
    if (!q.name.empty()) q.name += '.';
    // A dot inside a label is not the dot between labels.
    for (char c : p.substr(at, length)) {
      if (c == '.') return bad("a dot within a label");
      q.name += c;
    }
    at += length;
    if (q.name.size() > 253) return bad("the name is too long");
  }
  if (at + 4 > p.size()) return bad("it has no type");
  q.type = word(p, at);
  q.klass = word(p, at + 2);
  q.question = std::string(p.substr(kHeader, at + 4 - kHeader));
  return q;
}

std::string dns_answer(const DnsQuery& q, DnsCode code, const std::vector<Address>& addresses, std::uint32_t ttl) {
  std::string out, records;
  unsigned count = 0;
  for (const auto& a : addresses) {
    std::size_t size = a.v6 ? 16 : 4;
    if (kHeader + q.question.size() + records.size() + 12 + size > kMostPacket) break;
    put16(records, 0xc000 | kHeader);  // the name: the question's
    put16(records, a.v6 ? kDnsAaaa : kDnsA);
    put16(records, 1);
    put16(records, ttl >> 16);
    put16(records, ttl & 0xffff);
    put16(records, static_cast<unsigned>(size));
    records.append(reinterpret_cast<const char*>(a.bytes.data()), size);
    ++count;
  }
  put16(out, q.id);
  // An answer, recursion available, and what was asked for of recursion.
  put16(out, 0x8080u | (q.flags & 0x0100u) | static_cast<unsigned>(code));
  put16(out, 1);
  put16(out, count);
  put16(out, 0);
  put16(out, 0);
  return out += q.question + records;
}

std::string_view dns_type_name(std::uint16_t type) {
  switch (type) {
    case kDnsA: return "A";
    case kDnsAaaa: return "AAAA";
    case 5: return "CNAME";
    case 10: return "NULL";
    case 12: return "PTR";
    case 15: return "MX";
    case 16: return "TXT";
    case 33: return "SRV";
    case 65: return "HTTPS";
    case 255: return "ANY";
    default: return "other";
  }
}

}  // namespace hotcell::net
