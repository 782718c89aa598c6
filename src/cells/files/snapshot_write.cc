// A snapshot is written in two passes: the manifest comes first and holds each file's digest, so files are read once to
// know them and once to write them. What is small is kept in memory in between.
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/sha256.h"
#include "base/strings.h"
#include "cells/files/beside.h"
#include "cells/files/snapshot.h"
#include "cells/files/snapshot_archive.h"
#include "cells/files/snapshot_manifest.h"
#include "cells/files/steps.h"
#include "cells/files/tree.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kSmall = 256 << 10, kKeptAtMost = 32 << 20, kChunk = 256 << 10;

using Kind = SavedEntry::Kind;

Error changed(const std::string& path) { return make_error(ErrorCode::kIo, cat(printable(path), " was changed while it was read")); }

template <typename Sink>
Result<void> read_segment(int fd, Segment s, const std::string& path, std::string& buffer, Sink sink) {
  buffer.resize(kChunk);
  while (s.length > 0) {
    auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), s.length));
    ssize_t n = ::pread(fd, buffer.data(), want, static_cast<off_t>(s.offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(cat("read ", printable(path)), errno);
    if (n == 0) return changed(path);
    TRY(sink(std::string_view(buffer.data(), static_cast<std::size_t>(n))));
    s.offset += static_cast<std::uint64_t>(n);
    s.length -= static_cast<std::uint64_t>(n);
  }
  return {};
}

std::vector<Segment> segments_of(const SavedEntry& e) {
  if (e.sparse) return e.segments;
  return e.size == 0 ? std::vector<Segment>() : std::vector<Segment>{{0, e.size}};
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

class Collector {
 public:
  Collector(int root, const SnapshotLimits& limits) : root_(root), limits_(limits) {}

  Result<void> run(Unlocked& unlocked) {
    TRY_SET(struct stat st, sys::stat_fd(root_, "the cell's files"));
    SavedEntry root = common(Kind::kRoot, "", st);
    TRY_SET(root.xattrs, read_xattrs(root_, "."));
    manifest.entries.push_back(std::move(root));
    return walk(root_, "", Layer::kUpper, [&](const Entry& e, int folder, const std::string& name) { return add(e, folder, name); }, &unlocked);
  }

  Manifest manifest;
  std::map<std::size_t, std::string> kept;  // small files, by their place in the manifest

 private:
  static SavedEntry common(Kind kind, const std::string& path, const struct stat& st) {
    SavedEntry e;
    e.kind = kind;
    e.path = path;
    e.mode = st.st_mode & 07777;
    e.uid = st.st_uid;
    e.gid = st.st_gid;
    e.mtime = time_of(st.st_mtim);
    return e;
  }

  Result<Walk> add(const Entry& e, int folder, const std::string& name) {
    if (e.path.size() > limits_.path) return make_error(ErrorCode::kLimit, cat(printable(e.path.substr(0, 80)), "…: the path is too long"));
    if (manifest.entries.size() == limits_.entries) return make_error(ErrorCode::kLimit, cat("more than ", limits_.entries, " entries"));
    if (e.type == FileType::kSocket || e.type == FileType::kBlockDevice || (e.type == FileType::kCharDevice && !e.whiteout)) {
      manifest.left_out.push_back(cat(e.path, ": is a ", to_string(e.type)));
      return Walk::kSkip;
    }
    if (e.whiteout) {
      manifest.entries.push_back(common(Kind::kDeleted, e.path, e.st));
      return Walk::kSkip;
    }
    if (e.st.st_nlink > 1 && e.type != FileType::kFolder) {
      auto [it, first] = names_.try_emplace({e.st.st_dev, e.st.st_ino}, e.path);
      if (!first) {
        SavedEntry second = common(Kind::kHardLink, e.path, e.st);
        second.target = it->second;
        manifest.entries.push_back(std::move(second));
        return Walk::kSkip;
      }
    }
    const Kind kind = e.type == FileType::kFolder ? Kind::kFolder : e.type == FileType::kSymlink ? Kind::kSymlink
                      : e.type == FileType::kFifo ? Kind::kFifo : Kind::kFile;
    SavedEntry saved = common(kind, e.path, e.st);
    saved.opaque = e.opaque;
    TRY_SET(saved.copied_up, is_copied_up(folder, name));
    std::vector<std::string> foreign;
    TRY_SET(saved.xattrs, read_xattrs(folder, name, &foreign));
    for (const auto& attribute : foreign) manifest.left_out.push_back(cat(e.path, ": attribute ", attribute));
    if (kind == Kind::kSymlink) {
      TRY_SET(saved.target, read_link_at(folder, name));
    }
    if (kind == Kind::kFile) TRY(read_file(e, folder, name, saved));
    manifest.entries.push_back(std::move(saved));
    return Walk::kEnter;
  }

  Result<void> read_file(const Entry& e, int folder, const std::string& name, SavedEntry& saved) {
    TRY_SET(sys::Fd in, Unlocked::file(folder, name));
    saved.size = static_cast<std::uint64_t>(e.st.st_size);
    TRY_SET(auto segments, data_segments(in.get(), saved.size));
    saved.sparse = saved.size > 0 && (segments.size() != 1 || segments[0].offset != 0 || segments[0].length != saved.size);
    if (saved.sparse) saved.segments = std::move(segments);
    const std::uint64_t stored = saved.stored();
    if (stored > limits_.bytes.n - manifest.content) return make_error(ErrorCode::kLimit, cat("more than ", limits_.bytes.n, " bytes of content"));
    if (saved.size > limits_.apparent.n - apparent_) return make_error(ErrorCode::kLimit, cat("more than ", limits_.apparent.n, " bytes, holes counted"));
    apparent_ += saved.size;
    manifest.content += stored;
    const bool keep = stored <= kSmall && kept_bytes_ + stored <= kKeptAtMost;
    Sha256 digest;
    std::string bytes;
    for (const auto& s : segments_of(saved))
      TRY(read_segment(in.get(), s, e.path, buffer_, [&](std::string_view chunk) -> Result<void> {
        digest.add(chunk);
        if (keep) bytes += chunk;
        return {};
      }));
    TRY_SET(struct stat after, sys::stat_fd(in.get(), name));
    if (!same_file(e.st, after)) return changed(e.path);
    saved.sha256 = digest.finish_hex();
    if (keep) {
      kept_bytes_ += bytes.size();
      kept.emplace(manifest.entries.size(), std::move(bytes));
    }
    return {};
  }

  int root_;
  const SnapshotLimits& limits_;
  std::uint64_t apparent_ = 0, kept_bytes_ = 0;
  std::string buffer_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;
};

Result<void> write_file(ArchiveWriter& out, int root, const SavedEntry& e) {
  TRY_SET(Place place, open_parent(root, e.path));
  TRY_SET(sys::Fd in, Unlocked::file(place.folder.get(), place.name));
  Sha256 digest;
  std::string buffer;
  for (const auto& s : segments_of(e))
    TRY(read_segment(in.get(), s, e.path, buffer, [&](std::string_view chunk) {
      digest.add(chunk);
      return out.add(chunk);
    }));
  if (digest.finish_hex() != e.sha256) return changed(e.path);
  return {};
}

Result<std::uint64_t> write_archive(int fd, int root, const Collector& all, const SnapshotLimits& limits) {
  const std::string text = manifest_text(all.manifest);
  if (text.size() > limits.manifest.n) return make_error(ErrorCode::kLimit, cat("the list of its files is longer than ", limits.manifest.n, " bytes"));
  TRY_SET(ArchiveWriter out, ArchiveWriter::create(fd));
  const auto now = std::chrono::floor<std::chrono::seconds>(all.manifest.created).time_since_epoch().count();
  TRY(out.begin({std::string(kManifestName), text.size(), 0600, now}));
  TRY(out.add(text));
  for (std::size_t i = 0; i < all.manifest.entries.size(); ++i) {
    const SavedEntry& e = all.manifest.entries[i];
    if (e.kind != Kind::kFile) continue;
    const auto mtime = std::chrono::floor<std::chrono::seconds>(e.mtime).time_since_epoch().count();
    TRY(out.begin({member_name(e), e.stored(), e.mode, mtime}));
    auto kept = all.kept.find(i);
    if (kept != all.kept.end()) TRY(out.add(kept->second));
    else TRY(write_file(out, root, e));
  }
  // Zeros compress better than any limit allows; so that no honest snapshot is taken for a bomb, it is made large enough.
  return out.finish((all.manifest.content + text.size()) / std::max<std::uint64_t>(limits.ratio, 1) + 1);
}

// Removed when it does not get its name; locked, so that nobody takes it for that of a writer who is gone.
class NewFile {
 public:
  static Result<NewFile> make(const std::string& final_path) {
    NewFile out;
    out.final_ = final_path;
    const std::string path = temporary_name(final_path, "snapshot");
    TRY_SET(out.fd_, sys::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    out.path_ = path;
    if (::flock(out.fd_.get(), LOCK_EX | LOCK_NB) < 0) return errno_error(cat("lock ", printable(path)), errno);
    return out;
  }
  NewFile(NewFile&& other) noexcept : final_(std::move(other.final_)), path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}
  ~NewFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  int fd() const { return fd_.get(); }
  Result<void> take_place() {
    if (int e = sys::fault("fsync")) return errno_error("sync", e);
    if (::fsync(fd_.get()) < 0) return errno_error("sync", errno);
    about_to_change();
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), RENAME_NOREPLACE) < 0) {
      if (errno == EEXIST) return make_error(ErrorCode::kInvalid, cat(printable(final_), " is there already"));
      return errno_error(cat("rename to ", printable(final_)), errno);
    }
    path_.clear();
    about_to_change();
    const auto slash = final_.rfind('/');
    TRY_SET(sys::Fd parent, sys::open(slash == std::string::npos ? "." : final_.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY));
    if (::fsync(parent.get()) < 0) return errno_error("sync", errno);
    return {};
  }

 private:
  NewFile() = default;
  std::string final_, path_;
  sys::Fd fd_;
};

}  // namespace

Result<SnapshotInfo> write_snapshot(const std::string& upper, const std::string& file, std::string_view meta, const SnapshotLimits& limits) {
  if (meta.size() > kMostMeta) return make_error(ErrorCode::kInvalid, cat("meta data larger than ", kMostMeta, " bytes"));
  if (::access(file.c_str(), F_OK) == 0) return make_error(ErrorCode::kInvalid, cat(printable(file), " is there already"));
  TRY_SET(sys::Fd root, open_root(upper));
  Unlocked unlocked;
  Collector all(root.get(), limits);
  all.manifest.created = base_time_now();
  all.manifest.meta = std::string(meta);
  TRY(all.run(unlocked).context("snapshot"));
  about_to_change();
  TRY_SET(NewFile out, NewFile::make(file));
  about_to_change();
  TRY_SET(std::uint64_t size, write_archive(out.fd(), root.get(), all, limits).context("snapshot"));
  about_to_change();
  TRY(out.take_place());
  SnapshotInfo info;
  info.file = file;
  info.meta = std::string(meta);
  info.created = all.manifest.created;
  info.size = Bytes{size};
  info.content = Bytes{all.manifest.content};
  info.entries = all.manifest.entries.size() - 1;
  info.left_out = std::move(all.manifest.left_out);
  return info;
}

}  // namespace hotcell::cells
