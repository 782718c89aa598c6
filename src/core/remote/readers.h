// Programs that read what is hostile for the front, which starts nothing itself: the launcher does, the front asks them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hotcell::remote {

enum class ReaderKind : std::uint8_t { kVerify, kInspect, kProxy, kTls };
inline constexpr ReaderKind kLastReader = ReaderKind::kTls;

struct ReaderPrograms {  // absolute; empty: none are started
  std::string verify, inspect, proxy, tls = {};
  std::string authorities = {};          // a file that hotcell-tls checks servers against; empty: this host's own
  std::vector<std::string> proxy_words;  // what may be reached at most: allow=…, block=…, private=…, and how much (net/door/order.h)
};

}  // namespace hotcell::remote
