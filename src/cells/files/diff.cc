#include "cells/files/diff.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/files/changes.h"
#include "cells/files/git_patch.h"
#include "cells/files/text_diff.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

class Patcher {
 public:
  Patcher(const OpenLayers& layers, const DiffOptions& options) : layers_(layers), options_(options), left_(options.most_patches.n) {}

  Result<void> add(FoundChange& f) {
    Change& c = f.change;
    const bool had = shows(c.old_type), has = shows(c.type);
    if (!had && !has) return {};
    if (c.kind == ChangeKind::kMode) {
      if (options_.patches) c.patch = patch_of_mode(c);
      return {};
    }
    if (had && c.old_type == FileType::kFile) {
      TRY_SET(bool readable, may_read(c.path));
      if (!readable) {
        c.patch_left_out = "the project's file may not be read";
        return {};
      }
    }
    if (std::max(c.size, c.old_size) > options_.largest_text.n) {
      // Whether it is text is still worth knowing, and its beginning tells.
      TRY_SET(std::string now, content(has && c.type == FileType::kFile, layers_.upper.get(), c.path, c.target, kHead));
      TRY_SET(std::string before, content(had && c.old_type == FileType::kFile, layers_.lower.get(), c.path, c.old_target, kHead));
      c.binary = looks_binary(now) || looks_binary(before);
      c.patch_left_out = c.binary ? "binary" : "too large";
      return {};
    }
    TRY_SET(std::string now, content(has, layers_.upper.get(), c.path, c.target, options_.largest_text.n));
    TRY_SET(std::string before, content(had, layers_.lower.get(), c.path, c.old_target, options_.largest_text.n));
    c.binary = looks_binary(now) || looks_binary(before);
    if (c.binary) {
      c.patch_left_out = "binary";
      return {};
    }
    std::string patch = patch_of(c, before, now, options_.context);
    if (!options_.patches) return {};
    if (patch.size() > left_) {
      c.patch_left_out = "all patches together would be too large";
      return {};
    }
    left_ -= patch.size();
    c.patch = std::move(patch);
    return {};
  }

 private:
  static constexpr std::uint64_t kHead = 8000;
  static bool shows(FileType type) { return type == FileType::kFile || type == FileType::kSymlink; }

  // Nothing of the project is unlocked for that: its ctime would say that somebody has changed it.
  Result<bool> may_read(const std::string& path) const {
    TRY_SET(Place place, open_parent(layers_.lower.get(), path));
    auto opened = sys::open_at(place.folder.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return opened.ok() || opened.error().err != EACCES;
  }

  static Result<std::string> content(bool there, int root, const std::string& path, const std::string& target, std::uint64_t most) {
    if (!there) return std::string();
    TRY_SET(Place place, open_parent(root, path));
    if (!target.empty()) return target;
    TRY_SET(sys::Fd file, Unlocked::file(place.folder.get(), place.name));
    std::string out(most, '\0');
    std::size_t got = 0;
    while (got < out.size()) {
      ssize_t n = ::read(file.get(), out.data() + got, out.size() - got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_error(cat("read ", printable(path)), errno);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    out.resize(got);
    return out;
  }

  const OpenLayers& layers_;
  const DiffOptions& options_;
  std::uint64_t left_;
};

}  // namespace

Result<Diff> diff(const Layers& layers, const DiffOptions& options) {
  TRY_SET(OpenLayers open, open_layers(layers));
  TRY_SET(auto selection, clean_selection(options.paths));
  Unlocked unlocked;
  TRY_SET(auto found, find_changes(open, selection, options.most_changes, unlocked));
  Patcher patcher(open, options);
  Diff out;
  for (auto& f : found) {
    TRY(patcher.add(f).context(printable(f.change.path)));
    std::uint64_t* count[] = {&out.added, &out.modified, &out.deleted, &out.type, &out.mode};
    ++*count[static_cast<std::size_t>(f.change.kind)];
    out.lines_added += f.change.lines_added;
    out.lines_removed += f.change.lines_removed;
    out.changes.push_back(std::move(f.change));
  }
  return out;
}

}  // namespace hotcell::cells
