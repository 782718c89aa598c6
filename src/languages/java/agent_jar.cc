#include "languages/java/agent_jar.h"

#include <cstdint>
#include <vector>

#include "base/strings.h"

namespace hotcell {
namespace {

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (unsigned char c : bytes) {
    crc ^= c;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

void number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

struct Entry {
  std::string_view name, bytes;
  std::uint32_t offset = 0;
};

// What the local and the central header of an entry have in common. Stored, not compressed; dated 1980, so that the same
// class gives the same jar.
void description(std::string& out, const Entry& e) {
  number(out, 20, 2);
  number(out, 0, 4);
  number(out, (1u << 5 | 1u) << 16, 4);
  number(out, crc32(e.bytes), 4);
  number(out, e.bytes.size(), 4);
  number(out, e.bytes.size(), 4);
  number(out, e.name.size(), 2);
  number(out, 0, 2);
}

}  // namespace

std::string agent_jar(std::string_view class_name, std::string_view class_bytes) {
  std::string manifest = cat("Manifest-Version: 1.0\r\nPremain-Class: ", class_name, "\r\n\r\n");
  std::string file = cat(class_name, ".class");
  std::vector<Entry> entries = {{"META-INF/MANIFEST.MF", manifest}, {file, class_bytes}};
  std::string out, central;
  for (auto& e : entries) {
    e.offset = static_cast<std::uint32_t>(out.size());
    number(out, 0x04034b50, 4);
    description(out, e);
    out += e.name;
    out += e.bytes;
  }
  for (const auto& e : entries) {
    number(central, 0x02014b50, 4);
    number(central, 20, 2);
    description(central, e);
    number(central, 0, 8);  // comment length 2, disk 2, attributes 2 + 4: none
    number(central, 0, 2);
    number(central, e.offset, 4);
    central += e.name;
  }
  auto start = out.size();
  out += central;
  number(out, 0x06054b50, 4);
  number(out, 0, 4);
  number(out, entries.size(), 2);
  number(out, entries.size(), 2);
  number(out, central.size(), 4);
  number(out, start, 4);
  number(out, 0, 2);
  return out;
}

}  // namespace hotcell
