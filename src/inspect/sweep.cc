#include "inspect/sweep.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hotcell::inspect {

namespace {

bool is_special(char c) {
  return c == '\033' || c == '\b' || c == '&' || c == '\\' || c == '%' || c == '=' || c == '<' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
constexpr auto kLetters = [] {
  std::array<char, 256> t{};
  for (int c = 'a'; c <= 'z'; ++c) t[static_cast<std::size_t>(c)] = t[static_cast<std::size_t>(c - 32)] = static_cast<char>(c);
  return t;
}();
bool is_run(char c) {
  return kLetters[static_cast<unsigned char>(c)] != 0 || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '-' || c == '_';
}

std::size_t letters_one_by_one(std::string_view text, char* out) {
  std::size_t n = 0;
  for (char c : text) {
    out[n] = kLetters[static_cast<unsigned char>(c)];
    n += out[n] != 0;
  }
  return n;
}

#if defined(__x86_64__)
__m128i load(const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
__m128i same(__m128i v, char c) { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
// Bytes from `low` on, `count` of them; unsigned.
__m128i within(__m128i v, char low, char count) {
  __m128i moved = _mm_sub_epi8(v, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(moved, _mm_set1_epi8(static_cast<char>(count - 1))), moved);
}
__m128i letters(__m128i v) { return within(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26); }
std::uint32_t bits(__m128i v) { return static_cast<std::uint32_t>(_mm_movemask_epi8(v)); }

std::uint32_t special_bits(__m128i v) {
  __m128i a = _mm_or_si128(_mm_or_si128(same(v, '\033'), same(v, '\b')), _mm_or_si128(same(v, '&'), same(v, '\\')));
  __m128i b = _mm_or_si128(_mm_or_si128(same(v, '%'), same(v, '=')), _mm_or_si128(same(v, '<'), v));  // movemask takes the top bit, as it is
  return bits(_mm_or_si128(a, b));
}
std::uint32_t run_bits(__m128i v) {
  __m128i a = _mm_or_si128(letters(v), within(v, '0', 10));
  __m128i b = _mm_or_si128(_mm_or_si128(same(v, '+'), same(v, '/')), _mm_or_si128(same(v, '-'), same(v, '_')));
  return bits(_mm_or_si128(a, b));
}

std::uint32_t later_letters(__m128i v) {
  __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));
  return bits(_mm_andnot_si128(_mm_or_si128(same(low, 'x'), same(low, 'u')), within(low, 'g', 20)));
}
std::uint32_t spaces(__m128i v) { return bits(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v)); }

// For each set of eight: which bytes to keep, side by side.
constexpr auto kKeep = [] {
  std::array<std::array<std::uint8_t, 8>, 256> t{};
  for (std::size_t mask = 0; mask < 256; ++mask) {
    std::size_t n = 0;
    for (std::uint8_t bit = 0; bit < 8; ++bit)
      if ((mask >> bit & 1) != 0) t[mask][n++] = bit;
  }
  return t;
}();

__attribute__((target("ssse3,popcnt"))) std::size_t letters_by_shuffle(std::string_view text, char* out) {
  std::size_t n = 0, i = 0;
  for (; i + 16 <= text.size(); i += 16) {
    __m128i v = _mm_or_si128(load(text.data() + i), _mm_set1_epi8(0x20));
    std::uint32_t mask = bits(within(v, 'a', 26));
    for (int half = 0; half < 2; ++half) {
      std::uint32_t part = half == 0 ? mask & 0xFF : mask >> 8;
      __m128i keep = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kKeep[part].data()));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + n), _mm_shuffle_epi8(v, keep));
      n += static_cast<std::size_t>(__builtin_popcount(part));
      v = _mm_srli_si128(v, 8);
    }
  }
  return n + letters_one_by_one(text.substr(i), out + n);
}
#endif

}  // namespace

std::size_t next_special(std::string_view text, std::size_t from) {
#if defined(__x86_64__)
  for (; from + 16 <= text.size(); from += 16)
    if (std::uint32_t found = special_bits(load(text.data() + from)); found != 0) return from + static_cast<std::size_t>(std::countr_zero(found));
#endif
  while (from < text.size() && !is_special(text[from])) ++from;
  return from;
}

std::size_t next_run(std::string_view text, std::size_t from) {
#if defined(__x86_64__)
  // A run of twenty has at least ten in one of two neighbouring blocks of 32.
  for (; from + 32 <= text.size(); from += 32) {
    std::uint32_t run = run_bits(load(text.data() + from)) | run_bits(load(text.data() + from + 16)) << 16;
    run &= run >> 1;
    run &= run >> 2;
    run &= run >> 4;
    run &= run >> 2;
    if (run != 0) return from + static_cast<std::size_t>(std::countr_zero(run));
  }
#endif
  for (std::size_t n = 0; from < text.size(); ++from) {
    n = is_run(text[from]) ? n + 1 : 0;
    if (n == 10) return from;
  }
  return text.size();
}

Block next_block(std::string_view text, std::size_t from) {
  constexpr std::size_t kBlock = 16;
  bool numbers = false, unbroken = false;  // of the block before
  for (; from + kBlock <= text.size(); from += kBlock) {
#if defined(__x86_64__)
    __m128i v = load(text.data() + from);
    const bool no_letters = later_letters(v) == 0, no_space = spaces(v) == 0;
#else
    bool no_letters = true, no_space = true;
    for (char c : text.substr(from, kBlock)) {
      char low = static_cast<char>(c | 0x20);
      no_letters = no_letters && !(low >= 'g' && low <= 'z' && low != 'x' && low != 'u');
      no_space = no_space && static_cast<unsigned char>(c) > ' ';
    }
#endif
    if ((no_letters && numbers) || (no_space && unbroken)) return {from, no_letters && numbers, no_space && unbroken};
    numbers = no_letters;
    unbroken = no_space;
  }
  return {text.size(), false, false};
}

std::size_t word_begin(std::string_view text, std::size_t at) {
#if defined(__x86_64__)
  for (; at >= 16; at -= 16)
    if (std::uint32_t found = spaces(load(text.data() + at - 16)); found != 0) return at - static_cast<std::size_t>(std::countl_zero(found << 16));
#endif
  while (at > 0 && static_cast<unsigned char>(text[at - 1]) > ' ') --at;
  return at;
}

std::size_t word_end(std::string_view text, std::size_t at) {
#if defined(__x86_64__)
  for (; at + 16 <= text.size(); at += 16)
    if (std::uint32_t found = spaces(load(text.data() + at)); found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
#endif
  while (at < text.size() && static_cast<unsigned char>(text[at]) > ' ') ++at;
  return at;
}

std::size_t letters_of(std::string_view text, char* out) {
#if defined(__x86_64__)
  static const bool can = __builtin_cpu_supports("ssse3") != 0 && __builtin_cpu_supports("popcnt") != 0;
  if (can) return letters_by_shuffle(text, out);
#endif
  return letters_one_by_one(text, out);
}

}  // namespace hotcell::inspect
