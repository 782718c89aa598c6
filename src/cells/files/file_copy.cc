#include "cells/files/file_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/strings.h"
#include "sys/fault.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kChunk = 256 << 10;

Error became_shorter() { return make_error(ErrorCode::kIo, "the file became shorter while it was read"); }

Result<std::size_t> read_at(int fd, char* to, std::size_t count, std::uint64_t offset) {
  for (;;) {
    ssize_t n = ::pread(fd, to, count, static_cast<off_t>(offset));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) return errno_error("read", errno);
  }
}

Result<void> write_at(int fd, const char* from, std::size_t count, std::uint64_t offset) {
  while (count > 0) {
    if (int e = sys::fault("write")) return errno_error("write", e);
    ssize_t n = ::pwrite(fd, from, count, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write", errno);
    from += n;
    count -= static_cast<std::size_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> copy_by_hand(int in, int out, Segment s, std::string& buffer) {
  buffer.resize(kChunk);
  while (s.length > 0) {
    TRY_SET(std::size_t n, read_at(in, buffer.data(), std::min<std::uint64_t>(buffer.size(), s.length), s.offset));
    if (n == 0) return became_shorter();
    TRY(write_at(out, buffer.data(), n, s.offset));
    s.offset += n;
    s.length -= n;
  }
  return {};
}

Result<void> copy_segment(int in, int out, Segment s, std::string& buffer) {
  while (s.length > 0) {
    auto from = static_cast<off64_t>(s.offset), to = from;
    ssize_t n = ::copy_file_range(in, &from, out, &to, s.length, 0);
    if (n < 0 && errno == EINTR) continue;
    // Between file systems, or of one that cannot: by hand. 0 also means "cannot" for some.
    if (n <= 0) return copy_by_hand(in, out, s, buffer);
    s.offset += static_cast<std::uint64_t>(n);
    s.length -= static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace

Result<std::vector<Segment>> data_segments(int fd, std::uint64_t size) {
  std::vector<Segment> out;
  std::uint64_t at = 0;
  while (at < size) {
    off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole up to the end
    if (data < 0 && errno == EINVAL) return std::vector<Segment>{{0, size}};
    if (data < 0) return errno_error("seek", errno);
    off_t hole = ::lseek(fd, data, SEEK_HOLE);
    if (hole < 0) return errno_error("seek", errno);
    auto from = static_cast<std::uint64_t>(data), to = std::min(static_cast<std::uint64_t>(hole), size);
    if (from >= size) break;
    out.push_back({from, to - from});
    at = to;
  }
  return out;
}

Result<CopiedData> copy_data(int in, int out, std::uint64_t size) {
  CopiedData done;
  if (size == 0) return done;
  TRY_SET(auto segments, data_segments(in, size));
  for (const auto& s : segments) done.bytes += s.length;
  if (done.bytes > 0 && ::ioctl(out, FICLONE, in) == 0) {
    done.shared = true;
    if (::ftruncate(out, static_cast<off_t>(size)) < 0) return errno_error("truncate", errno);
    return done;
  }
  std::string buffer;
  for (const auto& s : segments) TRY(copy_segment(in, out, s, buffer));
  if (::ftruncate(out, static_cast<off_t>(size)) < 0) return errno_error("truncate", errno);
  return done;
}

Result<bool> same_bytes(int a, int b, std::uint64_t size) {
  // A terabyte of hole is not read.
  TRY_SET(auto of_a, data_segments(a, size));
  TRY_SET(auto of_b, data_segments(b, size));
  bool same_map = of_a.size() == of_b.size();
  for (std::size_t i = 0; same_map && i < of_a.size(); ++i)
    same_map = of_a[i].offset == of_b[i].offset && of_a[i].length == of_b[i].length;
  if (!same_map) of_a.insert(of_a.end(), of_b.begin(), of_b.end());  // what is a hole in both is the same
  std::string left(kChunk, '\0'), right(kChunk, '\0');
  for (auto s : of_a) {
    while (s.length > 0) {
      auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, s.length));
      TRY_SET(std::size_t n, read_at(a, left.data(), want, s.offset));
      TRY_SET(std::size_t m, read_at(b, right.data(), want, s.offset));
      if (n != m || std::memcmp(left.data(), right.data(), n) != 0) return false;
      if (n == 0) return true;
      s.offset += n;
      s.length -= n;
    }
  }
  return true;
}

}  // namespace hotcell::cells
