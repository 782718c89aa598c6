#include "net/tls_hello.h"

#include <cstddef>
#include <cstdint>
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

TlsHello broken() { return {TlsHello::Kind::kBroken, {}}; }

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
  TlsHello hello{TlsHello::Kind::kHello, {}};
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

TlsHello read_hello(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] != 0x16) return {TlsHello::Kind::kNotTls, {}};
  if (bytes.size() >= 2 && bytes[1] != 3) return {TlsHello::Kind::kNotTls, {}};
  // The handshake message may be spread over several records.
  std::string message;
  while (!bytes.empty()) {
    if (bytes.size() < 5) return {};
    auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
    if (bytes[0] != 0x16 || bytes[1] != 3) return broken();
    std::size_t size = at(3) << 8 | at(4);
    if (size == 0 || size > (16 << 10) + 256) return broken();
    message += bytes.substr(5, size);
    if (message.size() >= 4) {
      auto m = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(message[i])); };
      if (m(0) != 1) return broken();
      std::size_t length = m(1) << 16 | m(2) << 8 | m(3);
      if (length > kMostHello) return broken();
      if (message.size() >= 4 + length) return read_body(std::string_view(message).substr(4, length));
    }
    if (bytes.size() < 5 + size) return {};
    bytes.remove_prefix(5 + size);
  }
  return message.size() > kMostHello ? broken() : TlsHello{};
}

}  // namespace hotcell::net
