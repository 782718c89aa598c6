#include "sys/uuid.h"

#include <sys/random.h>

namespace hotcell::sys {
namespace {

using Bytes = unsigned char[16];

bool fill(Bytes& b) { return ::getrandom(b, sizeof b, 0) == sizeof b; }

std::string text_of(const Bytes& b) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += kHex[b[i] >> 4];
    id += kHex[b[i] & 15];
  }
  return id;
}

}  // namespace

std::string random_uuid() {
  Bytes b;
  if (!fill(b)) return {};
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  return text_of(b);
}

std::string random_id() {
  Bytes b;
  return fill(b) ? text_of(b) : std::string();
}

std::string random_hex() {
  std::string hex;
  for (char c : random_id())
    if (c != '-') hex += c;
  return hex;
}

}  // namespace hotcell::sys
