// Whatever the bytes: a manifest is refused, or every path in it is below the root and written out and read again it is the
// same; an archive is refused, or what verify accepts restore writes, into its own folder alone.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "cells/files/copy.h"
#include "cells/files/snapshot.h"
#include "cells/files/snapshot_archive.h"
#include "cells/files/snapshot_manifest.h"
#include "cells/files/tree.h"

namespace cells = hotcell::cells;
namespace fs = std::filesystem;

namespace {

cells::SnapshotLimits small() {
  cells::SnapshotLimits limits;
  limits.bytes = hotcell::Bytes{1 << 20};
  limits.apparent = hotcell::Bytes{1 << 24};
  limits.manifest = hotcell::Bytes{1 << 20};
  limits.entries = 64;
  return limits;
}

void as_manifest(std::string_view text) {
  auto manifest = cells::parse_manifest(text, small());
  if (!manifest.ok()) return;
  for (const auto& e : manifest.value().entries)
    if (e.kind != cells::SavedEntry::Kind::kRoot && !cells::is_clean_path(e.path)) std::abort();
  const std::string again = cells::manifest_text(manifest.value());
  auto second = cells::parse_manifest(again, small());
  if (!second.ok() || cells::manifest_text(second.value()) != again) std::abort();
}

void as_archive(std::string_view bytes) {
  char top[] = "/tmp/hotcell-snapshot-fuzz-XXXXXX";
  if (::mkdtemp(top) == nullptr) return;
  int fd = ::memfd_create("snapshot", MFD_CLOEXEC);
  // With the right digest at its end: what is behind that is to be reached.
  const std::string whole = std::string(bytes) + cells::seal_of(bytes);
  if (fd >= 0 && ::write(fd, whole.data(), whole.size()) == static_cast<ssize_t>(whole.size())) {
    const std::string file = "/proc/self/fd/" + std::to_string(fd), upper = std::string(top) + "/upper";
    (void)cells::snapshot_info(file).ok();
    const bool verified = cells::verify_snapshot(file, small()).ok();
    const bool restored = cells::restore_snapshot(file, upper, small()).ok();
    if (restored && !verified) std::abort();
    if (restored != fs::exists(upper)) std::abort();
    for (const auto& e : fs::directory_iterator(top))
      if (e.path().filename() != "upper") std::abort();
  }
  if (fd >= 0) ::close(fd);
  if (!cells::remove_tree(top).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with("hotcell-snapshot")) as_manifest(bytes);
  else as_archive(bytes);
  return 0;
}
