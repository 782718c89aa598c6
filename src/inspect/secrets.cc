#include "inspect/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>

#include "inspect/decode.h"

namespace hotcell::inspect {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::size_t distinct(std::string_view s) {
  std::array<bool, 256> seen{};
  for (char c : s) seen[static_cast<unsigned char>(c)] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

std::uint32_t crc32(std::string_view s) {
  std::uint32_t crc = ~0u;
  for (char c : s) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

// GitHub and npm: the last six characters are the CRC-32 of the thirty before them, in base 62.
bool has_good_checksum(std::string_view token) {
  static constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  auto underscore = token.find('_');
  if (underscore == token.npos || token.size() < underscore + 37) return false;
  std::string_view body = token.substr(underscore + 1);
  std::uint32_t crc = crc32(body.substr(0, 30));
  std::string sum(6, '0');
  for (std::size_t i = 6; i-- > 0; crc /= 62) sum[i] = kDigits[crc % 62];
  return body.substr(30, 6) == sum;
}

bool is_hex(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

bool is_uuid(std::string_view s) {
  if (s.size() != 36) return false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? s[i] != '-' : std::isxdigit(static_cast<unsigned char>(s[i])) == 0) return false;
  }
  return true;
}

// How often the kind of character changes: names change rarely, what is random at every third.
std::size_t changes(std::string_view s) {
  auto kind = [](char c) { return is_digit(c) ? 0 : is_upper(c) ? 1 : is_lower(c) ? 2 : 3; };
  std::size_t n = 0;
  for (std::size_t i = 1; i < s.size(); ++i) n += kind(s[i]) != kind(s[i - 1]);
  return n;
}

bool is_mixed(std::string_view s) {
  auto digits = std::count_if(s.begin(), s.end(), is_digit);
  bool upper = std::any_of(s.begin(), s.end(), is_upper), small = std::any_of(s.begin(), s.end(), is_lower);
  return digits >= 2 && upper && small && changes(s) * 5 >= s.size() && entropy_of(s) >= 3.5;
}

bool is_random(std::string_view s) {
  std::string_view tail = s.substr(std::min(s.size(), s.find_last_of("_-.") + 1));
  if (tail.size() < 16) tail = s.substr(std::min<std::size_t>(s.size(), 5));
  auto digits = std::count_if(tail.begin(), tail.end(), is_digit);
  bool lower = std::any_of(tail.begin(), tail.end(), is_lower), upper = std::any_of(tail.begin(), tail.end(), is_upper);
  if (tail.size() < 16 || digits < 2 || (!lower && !upper)) return false;
  return distinct(tail) >= 9 && changes(tail) * 100 >= tail.size() * 30 && entropy_of(tail) >= 3.2;
}

bool is_generic_secret(std::string_view v, std::string_view whole) {
  while (!v.empty() && (v.back() == '.' || v.back() == ':' || v.back() == '\\' || v.back() == '`' || v.back() == '*')) v.remove_suffix(1);
  if (v.size() < 12 || is_placeholder(v) || is_uuid(v) || v.starts_with("sk_test_") || v.starts_with("pk_")) return false;
  if (std::string_view("$%@*/.~#&|!-+=?\\`").find(v.front()) != std::string_view::npos) return false;
  if (v.find("://") != v.npos || v.find("::") != v.npos || v.find("->") != v.npos || v.find('$') != v.npos) return false;
  if (v.find("=") != v.npos && !v.ends_with('=')) return false;
  if (is_hex(v)) {  // a hash, unless it is called a key
    if (v.size() != 32 && v.size() != 64) return false;
    std::string name(whole.substr(0, 12));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    static constexpr std::array<std::string_view, 5> kNames = {"api", "secret", "client", "auth", "access"};
    return std::any_of(kNames.begin(), kNames.end(), [&](auto n) { return name.starts_with(n); }) && distinct(v) >= 8;
  }
  auto digits = static_cast<std::size_t>(std::count_if(v.begin(), v.end(), is_digit));
  auto letters = static_cast<std::size_t>(std::count_if(v.begin(), v.end(), [](char c) { return is_upper(c) || is_lower(c); }));
  auto dots = std::count_if(v.begin(), v.end(), [](char c) { return c == '.' || c == '/'; });
  if (digits < 2 || letters < 3 || dots > 2 || digits + letters + 6 < v.size()) return false;
  return entropy_of(v) >= 3.0 && changes(v) * 100 >= v.size() * 28;
}

bool pem_follows(std::string_view after) {
  std::size_t run = 0, looked = 0;
  for (char c : after) {
    if (++looked > 300) break;
    bool base64 = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/';
    run = base64 ? run + 1 : 0;
    if (run >= 32) return true;
    if (c == '-' && run == 0 && looked > 8 && after.substr(looked).starts_with("----END")) break;
  }
  return false;
}

}  // namespace

double entropy_of(std::string_view s) {
  if (s.empty()) return 0;
  std::array<std::uint32_t, 256> counts{};
  for (char c : s) ++counts[static_cast<unsigned char>(c)];
  double bits = 0, size = static_cast<double>(s.size());
  for (auto n : counts)
    if (n != 0) bits -= n / size * std::log2(n / size);
  return bits;
}

bool is_placeholder(std::string_view value) {
  static constexpr std::array<std::string_view, 27> kWords = {
      "example", "sample", "your_", "your-", "yourapi", "yourtoken", "placeholder", "changeme", "change_me", "change-me", "xxxx",
      "****", "....", "redacted", "dummy", "fake", "{{", "${", "<your", "insert", "replace", "0000000000", "1111111111",
      "notreal", "not-real", "goes_here", "goes-here"};
  std::string low(value);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return distinct(value) < 5 || std::any_of(kWords.begin(), kWords.end(), [&](auto w) { return low.find(w) != low.npos; });
}

ThreatLevel judge_secret(const SecretMatch& m) {
  auto when = [&](bool yes) { return yes ? m.level : ThreatLevel::kNone; };
  if (m.check == "pem") {
    if (pem_follows(m.after)) return m.level;
    return m.after.size() < 4 ? ThreatLevel::kMedium : ThreatLevel::kLow;  // a program that looks for keys names them
  }
  if (m.check == "generic") return when(is_generic_secret(m.value, m.whole));
  if (m.check == "password") {
    static constexpr std::array<std::string_view, 12> kUsual = {"password", "passwd", "pass", "pwd", "secret", "user",
                                                                "token", "test", "postgres", "root", "admin", "guest"};
    bool usual = std::find(kUsual.begin(), kUsual.end(), m.value) != kUsual.end();
    if (usual || is_placeholder(m.value) || std::string_view("$%{<[*.").find(m.value.front()) != std::string_view::npos) return ThreatLevel::kNone;
    bool real = m.value.size() >= 6 && std::any_of(m.value.begin(), m.value.end(), is_digit);
    return real ? m.level : ThreatLevel::kLow;
  }
  if (is_placeholder(m.value)) return ThreatLevel::kNone;
  // A prefix of a few letters also begins names: what follows must be random.
  if (m.check == "service") return when(is_random(m.value));
  if (m.check == "netrc") return when(m.value.size() >= 8 && std::any_of(m.value.begin(), m.value.end(), is_digit));
  if (m.check == "aws") return when(distinct(m.value) >= 7);
  if (m.check == "github") return has_good_checksum(m.value) ? m.level : distinct(m.value) >= 12 ? ThreatLevel::kMedium : ThreatLevel::kNone;
  if (m.check == "entropy") return when(entropy_of(m.value) >= 3.5 && !is_hex(m.value));
  if (m.check == "mixed") return when(is_mixed(m.value));
  if (m.check == "basic") {
    auto decoded = decode_base64(m.value);
    auto colon = decoded ? decoded->find(':') : std::string::npos;
    bool text = decoded && std::all_of(decoded->begin(), decoded->end(), [](char c) { return c >= 0x20 && c < 0x7F; });
    return when(text && colon != std::string::npos && colon > 0 && colon + 1 < decoded->size() && !is_placeholder(*decoded));
  }
  if (m.check == "jwt") {
    // The signature of the token that every page about them shows.
    if (m.value.ends_with("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c")) return ThreatLevel::kNone;
    auto header = decode_base64(m.value.substr(0, m.value.find('.')));
    return when(header && header->starts_with('{') && header->find("\"alg\"") != header->npos);
  }
  return when(distinct(m.value) >= 8);
}

}  // namespace hotcell::inspect
