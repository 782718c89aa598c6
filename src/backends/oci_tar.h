// A tar as it comes, entry by entry, read as if somebody hostile had written it: ustar, with the long names of GNU and of POSIX (pax).
// What an entry may be and where it goes is the caller's question (oci_unpack.cc).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::backends {

struct TarEntry {
  enum class Kind : std::uint8_t { kFile, kFolder, kLink, kHardLink, kDevice, kOther };
  Kind kind = Kind::kFile;
  std::string name, target;  // as written in the archive
  unsigned mode = 0;
  std::uint64_t size = 0;    // of a file's content
};

class TarReader {
 public:
  explicit TarReader(int fd) : fd_(fd) {}
  // Nothing: the end. What is left of the last one's content is passed over.
  Result<std::optional<TarEntry>> next();
  // The content of the entry that came last, in pieces.
  Result<void> content(const std::function<Result<void>(std::string_view)>& take);

 private:
  Result<bool> block(char* into);          // 512 bytes, or the end
  Result<std::string> long_text(std::uint64_t size);
  int fd_;
  std::uint64_t left_ = 0;                 // content and padding of the last one
  std::uint64_t padding_ = 0;
};

}  // namespace hotcell::backends
