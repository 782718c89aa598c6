// The file a snapshot is: tar in zstd by libarchive, and behind it a frame that zstd skips, with the digest of all before.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::cells {

class ArchiveWriter {
 public:
  static Result<ArchiveWriter> create(int fd);  // of an empty file; stays the caller's
  ArchiveWriter(ArchiveWriter&&) noexcept;
  ~ArchiveWriter();

  struct Member {
    std::string name;
    std::uint64_t size = 0;
    unsigned mode = 0600;
    std::int64_t mtime = 0;  // seconds
  };
  Result<void> begin(const Member& member);
  Result<void> add(std::string_view bytes);
  // Ends the archive. `at_least`: it is made so large by a frame of nothing. Returns its size.
  Result<std::uint64_t> finish(std::uint64_t at_least);

 private:
  struct State;
  explicit ArchiveWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

std::string seal_of(std::string_view bytes);  // what finish() writes behind them

class ArchiveReader {
 public:
  static Result<ArchiveReader> open(int fd);    // stays the caller's
  ArchiveReader(ArchiveReader&&) noexcept;
  ~ArchiveReader();

  std::uint64_t size() const;                   // of the whole file
  struct Member {
    std::string name;
    std::uint64_t size = 0;
  };
  // Nothing: the end. What is no plain file is an error.
  Result<std::optional<Member>> next();
  Result<std::size_t> read(char* to, std::size_t at_most);  // 0: the member's end
  // Reads what is left, and compares the digest.
  Result<void> finish();

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hotcell::cells
