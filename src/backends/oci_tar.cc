#include "backends/oci_tar.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/strings.h"

namespace hotcell::backends {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kMostText = 64 << 10;  // of names that are too long for a header

Error broken(std::string_view why) { return make_error(ErrorCode::kInvalid, cat("the archive is broken: ", why)); }

// Octal digits, or a binary number where the first bit is set.
std::optional<std::uint64_t> number(std::string_view field) {
  std::uint64_t out = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (std::size_t i = 1; i < field.size(); ++i) {
      if (out >> 55 != 0) return std::nullopt;
      out = out << 8 | static_cast<unsigned char>(field[i]);
    }
    return (field[0] & 0x7f) == 0 ? std::optional(out) : std::nullopt;
  }
  for (char c : field) {
    if (c == '\0' || c == ' ') {
      if (out != 0) break;
      continue;
    }
    if (c < '0' || c > '7' || out >> 60 != 0) return std::nullopt;
    out = out * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return out;
}

std::string text(std::string_view field) { return std::string(field.substr(0, field.find('\0'))); }

bool sum_is_right(const char* header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return number({header + 148, 8}) == sum;
}

TarEntry::Kind kind_of(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7': return TarEntry::Kind::kFile;
    case '1': return TarEntry::Kind::kHardLink;
    case '2': return TarEntry::Kind::kLink;
    case '3':
    case '4': return TarEntry::Kind::kDevice;
    case '5': return TarEntry::Kind::kFolder;
    default: return TarEntry::Kind::kOther;
  }
}

struct Long {
  std::optional<std::string> name, target;
  std::optional<std::uint64_t> size;
};

// Records "LENGTH KEY=VALUE\n".
bool read_pax(std::string_view records, Long& out) {
  while (!records.empty()) {
    auto blank = records.find(' ');
    std::uint64_t length = 0;
    if (blank == records.npos || blank > 10) return false;
    for (char c : records.substr(0, blank)) {
      if (c < '0' || c > '9') return false;
      length = length * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (length <= blank + 1 || length > records.size() || records[length - 1] != '\n') return false;
    auto record = records.substr(blank + 1, length - blank - 2);
    records.remove_prefix(length);
    auto equals = record.find('=');
    if (equals == record.npos) return false;
    auto key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") out.name = std::string(value);
    if (key == "linkpath") out.target = std::string(value);
    if (key == "size") {
      std::uint64_t n = 0;
      if (value.empty() || value.size() > 18) return false;
      for (char c : value) {
        if (c < '0' || c > '9') return false;
        n = n * 10 + static_cast<std::uint64_t>(c - '0');
      }
      out.size = n;
    }
    if (key.starts_with("GNU.sparse")) return false;  // its content is not what it says it is
  }
  return true;
}

}  // namespace

Result<bool> TarReader::block(char* into) {
  std::size_t have = 0;
  while (have < kBlock) {
    ssize_t n = ::read(fd_, into + have, kBlock - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("the archive", errno);
    if (n == 0 && have == 0) return false;
    if (n == 0) return broken("it ends in the middle");
    have += static_cast<std::size_t>(n);
  }
  return true;
}

Result<void> TarReader::content(const std::function<Result<void>(std::string_view)>& take) {
  char piece[64 << 10];
  std::uint64_t bytes = left_ - padding_;
  while (left_ > 0) {
    ssize_t n = ::read(fd_, piece, std::min<std::uint64_t>(sizeof piece, left_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("the archive", errno);
    if (n == 0) return broken("it ends in the middle");
    auto got = std::min<std::uint64_t>(static_cast<std::uint64_t>(n), bytes);
    left_ -= static_cast<std::uint64_t>(n);
    bytes -= got;
    if (got > 0) TRY(take({piece, got}));
  }
  padding_ = 0;
  return {};
}

Result<std::string> TarReader::long_text(std::uint64_t size) {
  if (size > kMostText) return broken("a name is too long");
  std::string out;
  TRY(content([&](std::string_view piece) -> Result<void> {
    out += piece;
    return {};
  }));
  return out;
}

Result<std::optional<TarEntry>> TarReader::next() {
  TRY(content([](std::string_view) -> Result<void> { return {}; }));
  Long wide;
  for (int heads = 0; heads < 64; ++heads) {
    char h[kBlock];
    TRY_SET(bool more, block(h));
    if (!more || std::all_of(h, h + kBlock, [](char c) { return c == '\0'; })) {
      // Whoever writes to us may go on to the end: two empty blocks and whatever fills the record.
      while (more) {
        TRY_SET(more, block(h));
      }
      return std::optional<TarEntry>();
    }
    if (!sum_is_right(h)) return broken("a header is none");
    auto size = number({h + 124, 12}), mode = number({h + 100, 8});
    if (!size || *size > std::uint64_t{1} << 40 || !mode) return broken("a number is none");
    char type = h[156];
    bool has_content = type != '1' && type != '2' && type != '3' && type != '4' && type != '5' && type != '6';
    if (wide.size && has_content && type != 'x' && type != 'g' && type != 'L' && type != 'K') size = wide.size;
    left_ = has_content ? (*size + kBlock - 1) / kBlock * kBlock : 0;
    padding_ = has_content ? left_ - *size : 0;
    if (type == 'L' || type == 'K' || type == 'x' || type == 'g') {
      TRY_SET(std::string said, long_text(*size));
      if (type == 'L') wide.name = text(said);
      if (type == 'K') wide.target = text(said);
      if (type == 'x' && !read_pax(said, wide)) return broken("an extended header is none, or of a sparse file");
      continue;
    }
    TarEntry e;
    e.kind = kind_of(type);
    e.mode = static_cast<unsigned>(*mode & 07777);
    e.size = has_content ? *size : 0;
    std::string prefix = std::memcmp(h + 257, "ustar\0", 6) == 0 ? text({h + 345, 155}) : std::string();
    e.name = wide.name ? *wide.name : prefix.empty() ? text({h, 100}) : cat(prefix, "/", text({h, 100}));
    e.target = wide.target ? *wide.target : text({h + 157, 100});
    if (e.kind == TarEntry::Kind::kFile && e.name.ends_with('/')) e.kind = TarEntry::Kind::kFolder;  // as old as tar itself
    if (e.name.find('\0') != e.name.npos || e.target.find('\0') != e.target.npos) return broken("a name with a zero in it");
    return std::optional(std::move(e));
  }
  return broken("headers without end");
}

}  // namespace hotcell::backends
