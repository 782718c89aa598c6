#include "cells/files/snapshot_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "base/strings.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

// Frames that every reader of zstd skips (RFC 8878, 3.1.2): magic, length, anything.
constexpr std::uint32_t kSealMagic = 0x184D2A5C, kPaddingMagic = 0x184D2A5D;
constexpr std::string_view kSealWord("hotcell-sha256\0\0", 16);
constexpr std::size_t kSealBody = kSealWord.size() + 32, kSealSize = 8 + kSealBody;
constexpr std::size_t kChunk = 256 << 10;

std::string frame_head(std::uint32_t magic, std::uint32_t length) {
  std::string out;
  for (auto value : {magic, length})
    for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

Error archive_failed(std::string_view doing, struct archive* a) {
  const char* why = ::archive_error_string(a);
  return make_error(ErrorCode::kInvalid, cat(doing, why != nullptr ? ": " : "", why != nullptr ? printable(why) : ""));
}

std::string seal(Sha256& digest) {
  std::string out = frame_head(kSealMagic, kSealBody) + std::string(kSealWord);
  for (auto byte : digest.finish()) out += static_cast<char>(byte);
  return out;
}

}  // namespace

std::string seal_of(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return seal(digest);
}

struct ArchiveWriter::State {
  struct archive* handle = nullptr;
  int fd = -1;
  std::uint64_t written = 0;
  Sha256 digest;
  std::optional<Error> failed;  // what libarchive was told with -1

  ~State() {
    if (handle != nullptr) ::archive_write_free(handle);
  }
  Result<void> put(std::string_view bytes) {
    if (int e = sys::fault("write")) return errno_error("write", e);
    TRY(sys::write_all(fd, bytes));
    digest.add(bytes);
    written += bytes.size();
    return {};
  }
  static la_ssize_t on_write(struct archive* a, void* self, const void* bytes, std::size_t size) {
    auto& state = *static_cast<State*>(self);
    auto put = state.put({static_cast<const char*>(bytes), size});
    if (put.ok()) return static_cast<la_ssize_t>(size);
    ::archive_set_error(a, put.error().err, "%s", put.error().message.c_str());
    state.failed = put.error();
    return -1;
  }
  Error error(std::string_view doing) { return failed ? *failed : archive_failed(doing, handle); }
};

ArchiveWriter::ArchiveWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveWriter::ArchiveWriter(ArchiveWriter&&) noexcept = default;
ArchiveWriter::~ArchiveWriter() = default;

Result<ArchiveWriter> ArchiveWriter::create(int fd) {
  auto state = std::make_unique<State>();
  state->fd = fd;
  state->handle = ::archive_write_new();
  if (state->handle == nullptr) return make_error(ErrorCode::kInternal, "archive_write_new failed");
  // GNU's tar takes names as the bytes they are; pax would have them in some character set.
  if (::archive_write_set_format_gnutar(state->handle) != ARCHIVE_OK || ::archive_write_add_filter_zstd(state->handle) != ARCHIVE_OK ||
      ::archive_write_set_bytes_in_last_block(state->handle, 1) != ARCHIVE_OK ||
      ::archive_write_open2(state->handle, state.get(), nullptr, State::on_write, nullptr, nullptr) != ARCHIVE_OK)
    return state->error("begin a snapshot");
  return ArchiveWriter(std::move(state));
}

Result<void> ArchiveWriter::begin(const Member& member) {
  std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(), ::archive_entry_free);
  if (!entry) return make_error(ErrorCode::kInternal, "archive_entry_new failed");
  ::archive_entry_set_pathname(entry.get(), member.name.c_str());
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.size));
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_perm(entry.get(), member.mode & 0777);
  ::archive_entry_set_mtime(entry.get(), member.mtime, 0);
  if (::archive_write_header(state_->handle, entry.get()) < ARCHIVE_WARN) return state_->error(cat("write ", printable(member.name)));
  return {};
}

Result<void> ArchiveWriter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    la_ssize_t n = ::archive_write_data(state_->handle, bytes.data(), bytes.size());
    if (n <= 0) return state_->error("write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::uint64_t> ArchiveWriter::finish(std::uint64_t at_least) {
  if (::archive_write_close(state_->handle) != ARCHIVE_OK) return state_->error("end a snapshot");
  if (state_->written + kSealSize < at_least) {
    const std::uint64_t missing = std::min<std::uint64_t>(at_least - state_->written - kSealSize, UINT32_MAX);
    TRY(state_->put(frame_head(kPaddingMagic, static_cast<std::uint32_t>(missing))));
    const std::string nothing(kChunk, '\0');
    for (std::uint64_t left = missing; left > 0;) {
      auto now = std::min<std::uint64_t>(left, nothing.size());
      TRY(state_->put(std::string_view(nothing).substr(0, now)));
      left -= now;
    }
  }
  TRY(sys::write_all(state_->fd, seal(state_->digest)));
  return state_->written + kSealSize;
}

struct ArchiveReader::State {
  struct archive* handle = nullptr;
  int fd = -1;
  std::uint64_t at = 0, end = 0;  // without the seal
  std::string seal;
  Sha256 digest;
  std::vector<char> buffer;
  std::optional<Error> failed;

  ~State() {
    if (handle != nullptr) ::archive_read_free(handle);
  }
  Result<std::string_view> more() {
    buffer.resize(kChunk);
    auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - at));
    if (want == 0) return std::string_view();
    ssize_t n;
    do n = ::pread(fd, buffer.data(), want, static_cast<off_t>(at));
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno_error("read", errno);
    if (n == 0) return make_error(ErrorCode::kInvalid, "the file became shorter while it was read");
    std::string_view got(buffer.data(), static_cast<std::size_t>(n));
    digest.add(got);
    at += got.size();
    return got;
  }
  static la_ssize_t on_read(struct archive* a, void* self, const void** bytes) {
    auto& state = *static_cast<State*>(self);
    auto got = state.more();
    if (!got.ok()) {
      ::archive_set_error(a, got.error().err, "%s", got.error().message.c_str());
      state.failed = got.error();
      return -1;
    }
    *bytes = got.value().data();
    return static_cast<la_ssize_t>(got.value().size());
  }
  Error error(std::string_view doing) { return failed ? *failed : archive_failed(doing, handle); }
};

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader::~ArchiveReader() = default;
std::uint64_t ArchiveReader::size() const { return state_->end + kSealSize; }

Result<ArchiveReader> ArchiveReader::open(int fd) {
  TRY_SET(struct stat st, sys::stat_fd(fd, "the snapshot"));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorCode::kInvalid, "not a regular file");
  auto state = std::make_unique<State>();
  const auto size = static_cast<std::uint64_t>(st.st_size);
  std::string end(kSealSize, '\0');
  const std::string expected = frame_head(kSealMagic, kSealBody) + std::string(kSealWord);
  if (size <= kSealSize || ::pread(fd, end.data(), kSealSize, static_cast<off_t>(size - kSealSize)) != static_cast<ssize_t>(kSealSize) ||
      !std::string_view(end).starts_with(expected))
    return make_error(ErrorCode::kInvalid, "no snapshot, or one that is cut off: its end is missing");
  state->fd = fd;
  state->end = size - kSealSize;
  state->seal = end.substr(expected.size());
  state->handle = ::archive_read_new();
  if (state->handle == nullptr) return make_error(ErrorCode::kInternal, "archive_read_new failed");
  // One format and one filter: of all that libarchive can read, what we write.
  if (::archive_read_support_format_tar(state->handle) != ARCHIVE_OK || ::archive_read_support_filter_zstd(state->handle) != ARCHIVE_OK ||
      ::archive_read_open(state->handle, state.get(), nullptr, State::on_read, nullptr) != ARCHIVE_OK)
    return state->error("no snapshot");
  return ArchiveReader(std::move(state));
}

Result<std::optional<ArchiveReader::Member>> ArchiveReader::next() {
  struct archive_entry* entry = nullptr;
  int got = ::archive_read_next_header(state_->handle, &entry);
  if (got == ARCHIVE_EOF) return std::optional<Member>();
  if (got != ARCHIVE_OK) return state_->error("not readable");
  const char* name = ::archive_entry_pathname(entry);
  if (name == nullptr || ::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr ||
      ::archive_entry_symlink(entry) != nullptr || ::archive_entry_sparse_count(entry) != 0 || ::archive_entry_size_is_set(entry) == 0 ||
      ::archive_entry_size(entry) < 0)
    return make_error(ErrorCode::kInvalid, cat(name == nullptr ? "an entry" : printable(name), " is no plain file"));
  return std::optional(Member{name, static_cast<std::uint64_t>(::archive_entry_size(entry))});
}

Result<std::size_t> ArchiveReader::read(char* to, std::size_t at_most) {
  la_ssize_t n = ::archive_read_data(state_->handle, to, at_most);
  if (n < 0) return state_->error("not readable");
  return static_cast<std::size_t>(n);
}

Result<void> ArchiveReader::finish() {
  for (;;) {
    TRY_SET(std::string_view more, state_->more());
    if (more.empty()) break;
  }
  auto digest = state_->digest.finish();
  if (std::memcmp(digest.data(), state_->seal.data(), digest.size()) != 0)
    return make_error(ErrorCode::kInvalid, "its bytes are not those that were written: the digest at its end is another");
  return {};
}

}  // namespace hotcell::cells
