#include "backends/engine/tar_write.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace hotcell::backends {

std::string tar_header(std::string_view name, char type, std::string_view link, std::uint64_t size, unsigned mode) {
  char h[512] = {};
  auto put = [&](std::size_t at, std::size_t room, std::string_view text) { std::memcpy(h + at, text.data(), std::min(room, text.size())); };
  put(0, 100, name);
  std::snprintf(h + 100, 8, "%07o", mode != 0 ? mode & 07777 : type == '5' ? 0755U : type == '2' ? 0777U : 0644U);
  put(108, 8, "0000000");
  put(116, 8, "0000000");
  std::snprintf(h + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  put(136, 12, "00000000000");
  std::memset(h + 148, ' ', 8);
  h[156] = type;
  put(157, 100, link);
  put(257, 6, std::string_view("ustar\0", 6));
  put(263, 2, "00");
  unsigned sum = 0;
  for (char c : h) sum += static_cast<unsigned char>(c);
  std::snprintf(h + 148, 8, "%06o", sum);
  return {h, sizeof h};
}

}  // namespace hotcell::backends
