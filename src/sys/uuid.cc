#include "sys/uuid.h"

#include <sys/random.h>

namespace hotcell::sys {

std::string random_uuid() {
  unsigned char b[16];
  if (::getrandom(b, sizeof b, 0) != sizeof b) return {};
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += kHex[b[i] >> 4];
    id += kHex[b[i] & 15];
  }
  return id;
}

}  // namespace hotcell::sys
