// Everything a snapshot says is checked before it is done: the manifest as a whole first, then each file's bytes while they
// are written into a folder nobody looks at, then the digest of the whole. Only that folder takes the place of another.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

constexpr std::size_t kChunk = 256 << 10, kMostHead = 8 << 20;
constexpr std::uint64_t kSmallContent = 64ull << 20;  // so much may come of the smallest archive

using Kind = SavedEntry::Kind;

Error not_as_said(const std::string& path) {
  return make_error(ErrorCode::kInvalid, cat(printable(path), ": the bytes are not those of the manifest"));
}

Result<Manifest> read_manifest(ArchiveReader& in, const SnapshotLimits& limits) {
  TRY_SET(auto member, in.next());
  if (!member || member->name != kManifestName) return make_error(ErrorCode::kInvalid, "no snapshot: its first entry is no manifest");
  if (member->size > limits.manifest.n) return make_error(ErrorCode::kLimit, cat("the manifest is longer than ", limits.manifest.n, " bytes"));
  auto too_much = [&](std::uint64_t bytes) { return bytes > kSmallContent && bytes / std::max<std::uint64_t>(limits.ratio, 1) > in.size(); };
  if (too_much(member->size)) return make_error(ErrorCode::kLimit, "a bomb: the manifest is too large for the archive");
  std::string text;
  while (text.size() < member->size) {
    const std::size_t had = text.size();
    text.resize(static_cast<std::size_t>(std::min<std::uint64_t>(member->size, had + kChunk)));
    TRY_SET(std::size_t n, in.read(text.data() + had, text.size() - had));
    text.resize(had + n);
    if (n == 0) return make_error(ErrorCode::kInvalid, "the manifest is cut off");
  }
  TRY_SET(Manifest manifest, parse_manifest(text, limits));
  if (too_much(manifest.content + text.size())) return make_error(ErrorCode::kLimit, "a bomb: its content is too large for the archive");
  return manifest;
}

// Hands out the bytes of one file as the manifest has them.
class FileBytes {
 public:
  FileBytes(ArchiveReader& in, const SavedEntry& entry) : in_(in), entry_(entry) {}

  Result<void> begin() {
    TRY_SET(auto member, in_.next());
    if (!member) return make_error(ErrorCode::kInvalid, cat(printable(entry_.path), " is missing"));
    if (member->name != member_name(entry_) || member->size != entry_.stored())
      return make_error(ErrorCode::kInvalid, cat(printable(member->name), " is not what the manifest has next, ", printable(entry_.path)));
    return {};
  }
  template <typename Sink>  // (bytes, offset in the file)
  Result<void> run(std::string& buffer, Sink sink) {
    buffer.resize(kChunk);
    Sha256 digest;
    const std::vector<Segment> whole = {{0, entry_.size}};
    for (Segment s : entry_.sparse ? entry_.segments : whole) {
      while (s.length > 0) {
        TRY_SET(std::size_t n, in_.read(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), s.length))));
        if (n == 0) return not_as_said(entry_.path);
        const std::string_view bytes(buffer.data(), n);
        digest.add(bytes);
        TRY(sink(bytes, s.offset));
        s.offset += n;
        s.length -= n;
      }
    }
    if (digest.finish_hex() != entry_.sha256) return not_as_said(entry_.path);
    return {};
  }

 private:
  ArchiveReader& in_;
  const SavedEntry& entry_;
};

class Filler {
 public:
  Filler(int root, ArchiveReader& in, SnapshotInfo& info) : root_(root), in_(in), info_(info) {}

  Result<void> run(const std::vector<SavedEntry>& entries) {
    for (const auto& e : entries)
      if (e.kind != Kind::kRoot) TRY(make(e).context(printable(e.path)));
    return {};
  }
  // Last, innermost first: filling a folder changes its time, and a closed one cannot be filled.
  Result<void> finish(const std::vector<SavedEntry>& entries) {
    for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
      if (e->kind == Kind::kRoot) TRY(attributes(root_, ".", *e));
      if (e->kind != Kind::kFolder) continue;
      TRY_SET(Place place, open_parent(root_, e->path));
      TRY(attributes(place.folder.get(), place.name, *e).context(printable(e->path)));
    }
    return {};
  }

 private:
  Result<void> make(const SavedEntry& e) {
    about_to_change();
    TRY_SET(Place place, open_parent(root_, e.path));
    const int at = place.folder.get();
    const char* as = place.name.c_str();
    switch (e.kind) {
      case Kind::kDeleted: return make_whiteout(at, place.name);
      case Kind::kFolder:
        if (::mkdirat(at, as, 0700) < 0) return errno_error("mkdir", errno);
        if (e.opaque) TRY(set_opaque(at, place.name));
        return {};
      case Kind::kHardLink: {
        TRY_SET(Place old, open_parent(root_, e.target));
        if (::linkat(old.folder.get(), old.name.c_str(), at, as, 0) < 0) return errno_error("link", errno);
        return {};
      }
      case Kind::kSymlink:
        if (::symlinkat(e.target.c_str(), at, as) < 0) return errno_error("symlink", errno);
        break;
      case Kind::kFifo:
        if (::mkfifoat(at, as, 0600) < 0) return errno_error("mkfifo", errno);
        break;
      case Kind::kFile: TRY(write(e, at, as)); break;
      case Kind::kRoot: return {};
    }
    return attributes(at, place.name, e);
  }

  Result<void> write(const SavedEntry& e, int at, const char* as) {
    FileBytes bytes(in_, e);
    TRY(bytes.begin());
    TRY_SET(sys::Fd out, sys::open_at(at, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    TRY(bytes.run(buffer_, [&](std::string_view chunk, std::uint64_t offset) -> Result<void> {
      while (!chunk.empty()) {
        if (int err = sys::fault("write")) return errno_error("write", err);
        ssize_t n = ::pwrite(out.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("write", errno);
        chunk.remove_prefix(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
      }
      return {};
    }));
    if (e.sparse && ::ftruncate(out.get(), static_cast<off_t>(e.size)) < 0) return errno_error("truncate", errno);
    return {};
  }

  // The owner first: giving a file away takes its set-id bits and what may be written into it.
  Result<void> attributes(int at, const std::string& name, const SavedEntry& e) {
    for (const auto& failed : write_xattrs(at, name, e.xattrs)) return errno_error(cat("attribute ", printable(failed.name)), failed.err);
    if (e.copied_up) TRY(set_copied_up(at, name));
    if (::fchownat(at, name.c_str(), e.uid, e.gid, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != EPERM && errno != EINVAL) return errno_error("chown", errno);
      info_.owners_kept = false;
    }
    mode_t mode = e.mode;
    if (e.kind == Kind::kFile && (mode & 06000) != 0) {
      // Whoever made the archive does not make programs that run as somebody else on this host.
      mode &= ~static_cast<mode_t>(06000);
      info_.left_out.push_back(cat(e.path, ": set-id bits"));
    }
    if (e.kind != Kind::kSymlink && ::fchmodat(at, name.c_str(), mode, 0) < 0) return errno_error("chmod", errno);
    const timespec times[2] = {{0, UTIME_OMIT}, timespec_of(e.mtime)};
    if (::utimensat(at, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("set time", errno);
    return {};
  }

  int root_;
  ArchiveReader& in_;
  SnapshotInfo& info_;
  std::string buffer_;
};

SnapshotInfo info_of(const std::string& file, const ArchiveReader& in, const Manifest& m) {
  SnapshotInfo info;
  info.file = file;
  info.meta = m.meta;
  info.created = m.created;
  info.size = Bytes{in.size()};
  info.content = Bytes{m.content};
  info.entries = m.entries.size() - 1;
  info.left_out = m.left_out;
  return info;
}

Result<void> expect_end(ArchiveReader& in) {
  TRY_SET(auto more, in.next());
  if (more) return make_error(ErrorCode::kInvalid, cat(printable(more->name), " is not in the manifest"));
  return in.finish();
}

// Not a link and nothing that blocks: a snapshot may lie where others write.
Result<sys::Fd> open_snapshot(const std::string& file) { return sys::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY); }

Result<SnapshotInfo> restore(const std::string& file, const std::string& upper, const SnapshotLimits& limits) {
  TRY_SET(sys::Fd fd, open_snapshot(file));
  TRY_SET(ArchiveReader in, ArchiveReader::open(fd.get()));
  TRY_SET(Manifest manifest, read_manifest(in, limits));
  SnapshotInfo info = info_of(file, in, manifest);
  about_to_change();
  TRY_SET(Beside fresh, Beside::make(upper, "restore"));
  Filler filler(fresh.fd(), in, info);
  TRY(filler.run(manifest.entries));
  TRY(expect_end(in));
  TRY(filler.finish(manifest.entries));
  about_to_change();
  TRY(fresh.take_place(Beside::Sync::kOnDisk));
  about_to_change();
  return info;
}

Result<SnapshotInfo> verify(const std::string& file, const SnapshotLimits& limits) {
  TRY_SET(sys::Fd fd, open_snapshot(file));
  TRY_SET(ArchiveReader in, ArchiveReader::open(fd.get()));
  TRY_SET(Manifest manifest, read_manifest(in, limits));
  std::string buffer;
  for (const auto& e : manifest.entries) {
    if (e.kind != Kind::kFile) continue;
    FileBytes bytes(in, e);
    TRY(bytes.begin());
    TRY(bytes.run(buffer, [](std::string_view, std::uint64_t) -> Result<void> { return {}; }));
  }
  TRY(expect_end(in));
  return info_of(file, in, manifest);
}

}  // namespace

Result<SnapshotInfo> restore_snapshot(const std::string& file, const std::string& upper, const SnapshotLimits& limits) {
  return restore(file, upper, limits).context(printable(file));
}

Result<SnapshotInfo> verify_snapshot(const std::string& file, const SnapshotLimits& limits) {
  return verify(file, limits).context(printable(file));
}

Result<SnapshotInfo> snapshot_info(const std::string& file) {
  auto read = [&]() -> Result<SnapshotInfo> {
    TRY_SET(sys::Fd fd, open_snapshot(file));
    TRY_SET(ArchiveReader in, ArchiveReader::open(fd.get()));
    TRY_SET(auto member, in.next());
    if (!member || member->name != kManifestName) return make_error(ErrorCode::kInvalid, "no snapshot: its first entry is no manifest");
    std::string text;
    while (text.find("\n\n") == std::string::npos && text.size() < kMostHead) {
      const std::size_t had = text.size();
      text.resize(had + (4 << 10));
      TRY_SET(std::size_t n, in.read(text.data() + had, text.size() - had));
      text.resize(had + n);
      if (n == 0) break;
    }
    TRY_SET(ManifestHead head, parse_head(text));
    SnapshotInfo info;
    info.file = file;
    info.meta = std::move(head.meta);
    info.created = head.created;
    info.size = Bytes{in.size()};
    info.content = Bytes{head.content};
    info.entries = head.entries == 0 ? 0 : head.entries - 1;
    info.left_out = std::move(head.left_out);
    return info;
  };
  return read().context(printable(file));
}

}  // namespace hotcell::cells
