#include "net/secrets.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";

Result<std::string> random_letters(std::size_t count) {
  std::string out(count, '\0');
  for (std::size_t have = 0; have < count;) {
    ssize_t n = ::getrandom(out.data() + have, count - have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("getrandom", errno);
    have += static_cast<std::size_t>(n);
  }
  for (char& c : out) c = kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  return out;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t at; (at = text.find(what)) != text.npos; text.remove_prefix(at + what.size())) out += cat(text.substr(0, at), by);
  return out += text;
}

std::optional<std::string> base64_bytes(std::string_view text) {
  std::string out;
  unsigned bits = 0, have = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (char c : text) {
    auto at = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (at == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(at);
    if ((have += 6) < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  return out;
}

std::string percent(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text) {
    bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) out += static_cast<char>(c);
    else out += cat("%", kHex[c >> 4], kHex[c & 15]);
  }
  return out;
}

}  // namespace

Result<Secret> known_secret(std::string_view name, std::string_view where, std::string_view placeholder, std::string_view value) {
  Secret out{std::string(name), std::string(placeholder), std::string(value), {}};
  if (placeholder.size() != value.size() || value.empty()) return make_error(ErrorCode::kInvalid, "a placeholder is as long as its secret");
  TRY_SET(out.where, HostPattern::parse(where));
  return out;
}

Result<Secret> make_secret(std::string_view name, std::string_view where, std::string_view value) {
  if (value.size() < kShortestSecret || value.size() > kLongestSecret)
    return make_error(ErrorCode::kInvalid, cat("the secret ", name, " must have from ", kShortestSecret, " to ", kLongestSecret, " characters: a shorter one cannot be told from other text"));
  if (std::any_of(value.begin(), value.end(), [](char c) { return c <= 0x20 || c >= 0x7f; }))
    return make_error(ErrorCode::kInvalid, cat("the secret ", name, " has characters that no header field may have"));
  // Whoever is to be trusted with it is named: not everybody, and no whole network.
  if (where.find('/') != where.npos || where.substr(where.starts_with("*.") ? 2 : 0).find('*') != where.npos)
    return make_error(ErrorCode::kInvalid, cat("the secret ", name, " needs a host, or *.domain"));
  TRY_SET(std::string letters, random_letters(value.size() - 2));
  return known_secret(name, where, cat("hc", letters), value);
}

Result<std::vector<Secret>> make_secrets(const std::map<std::string, std::string>& given) {
  std::vector<Secret> out;
  for (const auto& [key, value] : given) {
    auto at = key.find('@');
    if (at == 0 || at == key.npos || at + 1 == key.size()) return make_error(ErrorCode::kInvalid, cat("secrets: ", printable(key), " is not NAME@HOST"));
    std::string name = key.substr(0, at);
    auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
    bool fits = !(name[0] >= '0' && name[0] <= '9') &&
                std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); });
    if (!fits) return make_error(ErrorCode::kInvalid, cat("secrets: ", printable(name), " is not the name of a variable"));
    TRY_SET(Secret secret, make_secret(name, key.substr(at + 1), value));
    for (const auto& s : out) {
      if (s.name != name) continue;
      if (s.value != secret.value) return make_error(ErrorCode::kInvalid, cat("secrets: ", name, " has two values"));
      secret.placeholder = s.placeholder;
    }
    out.push_back(std::move(secret));
  }
  return out;
}

std::string with_secrets(std::string_view text, const std::vector<Secret>& secrets) {
  std::string out(text);
  for (const auto& s : secrets) out = replaced(out, s.placeholder, s.value);
  auto space = out.find(' ');
  if (space != 5 || (out[0] | 0x20) != 'b' || (out[1] | 0x20) != 'a') return out;
  auto inside = base64_bytes(trim(std::string_view(out).substr(6)));
  if (!inside) return out;
  std::string filled = *inside;
  for (const auto& s : secrets) filled = replaced(filled, s.placeholder, s.value);
  return filled == *inside ? out : cat("Basic ", base64(filled));
}

std::string path_with_secrets(std::string_view path, const std::vector<Secret>& secrets) {
  std::string out(path);
  for (const auto& s : secrets) out = replaced(out, s.placeholder, percent(s.value));
  return out;
}

}  // namespace hotcell::net
