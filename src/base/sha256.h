// SHA-256, for names of things by their content. Small, since a whole TLS library linked into a program that starts in a
// millisecond would cost more than what it hashes.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotcell {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void add(std::string_view bytes);
  // A field with its length before it, so that ("ab","c") and ("a","bc") differ.
  void add_field(std::string_view bytes);
  void add_number(std::uint64_t number);
  Digest finish();
  std::string finish_hex();

 private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> held_{};
  std::uint64_t total_ = 0;
};

std::string sha256_hex(std::string_view bytes);

// Not against an adversary: notices bytes that a disk or a crash has changed, at memory speed.
std::uint64_t quick_checksum(std::string_view bytes);

}  // namespace hotcell
