#include "net/tls_hello.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace hotcell::net {
namespace {

constexpr std::size_t kMostHello = 64 << 10;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::uint32_t> number(std::size_t width) {
    if (bytes_.size() < width) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[i]);
    bytes_.remove_prefix(width);
    return value;
  }
  std::optional<std::string_view> block(std::size_t width) {
    auto size = number(width);
    if (!size || bytes_.size() < *size) return std::nullopt;
    return take(*size);
  }
  bool skip(std::size_t n) {
    if (bytes_.size() < n) return false;
    bytes_.remove_prefix(n);
    return true;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(std::size_t n) {
    std::string_view out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }
  std::string_view bytes_;
};

TlsHello broken() { return {TlsHello::Kind::kBroken}; }

// The server_name extension: one host name.
bool read_names(std::string_view extension, std::string& out) {
  Reader list_reader(extension);
  auto list = list_reader.block(2);
  if (!list || !list_reader.empty()) return false;
  Reader names(*list);
  while (!names.empty()) {
    auto type = names.number(1);
    auto name = names.block(2);
    if (!type || !name || *type != 0 || name->empty() || !out.empty()) return false;
    out = std::string(*name);
  }
  return !out.empty();
}

TlsHello read_body(std::string_view body) {
  Reader r(body);
  TlsHello hello{TlsHello::Kind::kHello};
  if (!r.skip(2 + 32) || !r.block(1) || !r.block(2) || !r.block(1)) return broken();
  if (r.empty()) return hello;
  auto extensions = r.block(2);
  if (!extensions || !r.empty()) return broken();
  Reader e(*extensions);
  bool seen = false;
  while (!e.empty()) {
    auto type = e.number(2);
    auto content = e.block(2);
    if (!type || !content) return broken();
    if (*type != 0) continue;
    if (seen || !read_names(*content, hello.server_name)) return broken();
    seen = true;
  }
  return hello;
}

}  // namespace

std::size_t record_size(std::string_view bytes) {
  if (bytes.size() < kRecordHead || bytes[1] != 3) return 0;
  auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  std::size_t size = at(3) << 8 | at(4);
  bool known = at(0) >= 0x14 && at(0) <= 0x17;  // change of cipher, alert, handshake, data
  return known && size > 0 && size <= (16 << 10) + 256 ? kRecordHead + size : 0;
}

TlsHello read_hello(std::string_view bytes) {
  if (bytes.empty()) return {};
  // As SSL 2 said it, which servers took for a long time as a way to TLS. It cannot name one.
  if ((bytes[0] & 0x80) != 0 && (bytes.size() < 3 || bytes[2] == 1)) {
    if (bytes.size() < 4) return {};
    if (bytes[3] == 3) return {TlsHello::Kind::kHello, {}, bytes.size()};
  }
  // A server that lets other records of TLS pass before the first hello would be asked for a name that nobody has read.
  if (bytes[0] >= 0x14 && bytes[0] <= 0x18 && bytes[0] != kHandshake) {
    if (bytes.size() < 2) return {};
    return bytes[1] == 3 ? broken() : TlsHello{TlsHello::Kind::kNotTls};
  }
  if (bytes[0] != kHandshake) return {TlsHello::Kind::kNotTls};
  // Not all servers want the 3 of its version in a first record; no other protocol of note begins with that byte.
  if (bytes.size() >= 2 && bytes[1] != 3) return broken();
  // The handshake message may be spread over several records, and is alone in them.
  std::string message;
  std::size_t used = 0;
  while (used < bytes.size()) {
    std::string_view rest = bytes.substr(used);
    if (rest.size() < kRecordHead) return {};
    std::size_t size = record_size(rest);
    if (size == 0 || rest[0] != kHandshake) return broken();
    message += rest.substr(kRecordHead, size - kRecordHead);
    if (message.size() >= 4) {
      auto m = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(message[i])); };
      if (m(0) != 1) return broken();
      std::size_t length = m(1) << 16 | m(2) << 8 | m(3);
      if (length > kMostHello || message.size() > 4 + length) return broken();
      if (message.size() == 4 + length && rest.size() >= size) {
        TlsHello hello = read_body(std::string_view(message).substr(4));
        hello.size = used + size;
        return hello;
      }
    }
    if (rest.size() < size) return {};
    used += size;
  }
  return {};
}

TlsAnswer read_answer(std::string_view bytes) {
  // RFC 8446, 4.1.3: the random bytes of a HelloRetryRequest.
  static constexpr unsigned char kRetry[32] = {0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
                                               0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};
  constexpr std::size_t kRandom = kRecordHead + 4 + 2;  // behind the heads of record and message, and the version
  static_assert(kRandom + sizeof kRetry == kRetryHead);
  if (bytes.empty()) return TlsAnswer::kMore;
  if (bytes[0] != kHandshake || (bytes.size() > kRecordHead && bytes[kRecordHead] != 2)) return TlsAnswer::kOther;
  if (bytes.size() < kRetryHead) return TlsAnswer::kMore;
  return std::memcmp(bytes.data() + kRandom, kRetry, sizeof kRetry) == 0 ? TlsAnswer::kRetry : TlsAnswer::kOther;
}

}  // namespace hotcell::net
