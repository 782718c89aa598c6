#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hotcell {

namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}

}  // namespace

void Sha256::block(const unsigned char* p) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(p + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    auto s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    auto t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    auto s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    auto t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += mixed[i];
}

void Sha256::add(std::string_view bytes) {
  std::size_t have = total_ % 64;
  total_ += bytes.size();
  if (have > 0) {
    std::size_t take = std::min(64 - have, bytes.size());
    std::memcpy(held_.data() + have, bytes.data(), take);
    bytes.remove_prefix(take);
    if (have + take < 64) return;
    block(held_.data());
  }
  for (; bytes.size() >= 64; bytes.remove_prefix(64)) block(reinterpret_cast<const unsigned char*>(bytes.data()));
  if (!bytes.empty()) std::memcpy(held_.data(), bytes.data(), bytes.size());
}

void Sha256::add_number(std::uint64_t number) {
  char bytes[8];
  std::memcpy(bytes, &number, sizeof bytes);
  add({bytes, sizeof bytes});
}

void Sha256::add_field(std::string_view bytes) {
  add_number(bytes.size());
  add(bytes);
}

Sha256::Digest Sha256::finish() {
  std::uint64_t bits = total_ * 8;
  constexpr std::string_view kPadding("\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 64);
  std::size_t have = total_ % 64;
  add(kPadding.substr(0, have < 56 ? 56 - have : 120 - have));
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  add({length, sizeof length});
  Digest out;
  for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string Sha256::finish_hex() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (auto byte : finish()) (out += kHex[byte >> 4]) += kHex[byte & 15];
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish_hex();
}

std::uint64_t quick_checksum(std::string_view bytes) {
  // Four lanes of multiply and rotate, folded at the end; any single change reaches the result.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::array<std::uint64_t, 4> lane = {1, 2, 3, bytes.size()};
  for (; bytes.size() >= 32; bytes.remove_prefix(32)) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + 8 * i, 8);
      lane[i] = std::rotl((lane[i] ^ word) * kOdd, 29);
    }
  }
  for (unsigned char c : bytes) lane[0] = std::rotl((lane[0] ^ c) * kOdd, 29);
  std::uint64_t out = 0;
  for (auto l : lane) out = std::rotl((out ^ l) * kOdd, 31);
  return out ^ (out >> 32);
}

}  // namespace hotcell
