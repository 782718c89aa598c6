#include "net/trust_store.h"

#include <initializer_list>
#include <optional>

#include "base/strings.h"

namespace hotcell::net {
namespace {

// DER: a tag, a length, the bytes.
std::string der(unsigned char tag, std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (auto p : parts) size += p.size();
  std::string length;
  for (std::size_t n = size; n != 0; n >>= 8) length.insert(length.begin(), static_cast<char>(n & 0xff));
  std::string out(1, static_cast<char>(tag));
  if (size < 0x80) out += static_cast<char>(size);
  else (out += static_cast<char>(0x80 | length.size())) += length;
  for (auto p : parts) out += p;
  return out;
}

constexpr unsigned char kSequence = 0x30, kSet = 0x31, kOctets = 0x04, kInside = 0xa0;
// With tag and length: pkcs7-data, certBag, x509Certificate, Java's "trusted for" and "for anything".
constexpr std::string_view kData("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01", 11), kCertBag("\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03", 13),
    kCertificate("\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01", 12), kTrustedFor("\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01", 14),
    kAnything("\x06\x04\x55\x1d\x25\x00", 6), kVersion("\x02\x01\x03", 3);

std::optional<std::string> base64_bytes(std::string_view text) {
  std::string out;
  unsigned bits = 0, have = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '=') continue;
    auto at = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (at == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<unsigned>(at)) & 0xffffff;
    if ((have += 6) < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  return out;
}

std::string content(std::string_view inner) { return der(kSequence, {kData, der(kInside, {der(kOctets, {inner})})}); }

std::string bag(std::string_view certificate) {
  std::string value = der(kInside, {der(kSequence, {kCertificate, der(kInside, {der(kOctets, {certificate})})})});
  std::string trusted = der(kSet, {der(kSequence, {kTrustedFor, der(kSet, {kAnything})})});
  return der(kSequence, {kCertBag, value, trusted});
}

}  // namespace

Result<std::string> java_trust_store(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  std::string bags;
  for (std::size_t at; (at = pem.find(kBegin)) != pem.npos;) {
    pem.remove_prefix(at + kBegin.size());
    auto end = pem.find(kEnd);
    if (end == pem.npos) return make_error(ErrorCode::kInvalid, "a certificate is cut off");
    auto bytes = base64_bytes(pem.substr(0, end));
    if (!bytes || bytes->empty()) return make_error(ErrorCode::kInvalid, "a certificate is no base64");
    bags += bag(*bytes);
    pem.remove_prefix(end + kEnd.size());
  }
  if (bags.empty()) return make_error(ErrorCode::kInvalid, "there is no certificate");
  return der(kSequence, {kVersion, content(der(kSequence, {content(der(kSequence, {bags}))}))});
}

}  // namespace hotcell::net
