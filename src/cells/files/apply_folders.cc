#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/strings.h"
#include "cells/files/apply_work.h"
#include "cells/files/codec.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

constexpr const char* kOpenedFile = "apply.opened";
constexpr std::size_t kLargest = 1 << 30;

// In which names come or go; and those whose attributes change, which needs the same right.
std::set<std::string> written_folders(const ApplyPlan& plan) {
  std::set<std::string> out;
  for (const auto& s : plan.steps) {
    const std::string& path = s.found.change.path;
    if (s.kind == ApplyStep::Kind::kMode) {
      if (s.found.change.type == FileType::kFolder) out.insert(path);
      continue;
    }
    out.emplace(parent_of(path));
    if (!s.temporary.empty()) out.emplace(parent_of(s.temporary));
  }
  return out;
}

std::optional<ClosedFolder> noted_folder(std::string_view path_word, std::string_view mode_word) {
  auto path = decode_word(path_word);
  auto mode = parse_u64(mode_word);
  if (!path || (!path->empty() && !is_clean_path(*path)) || !mode || *mode > 07777) return std::nullopt;
  return ClosedFolder{*path, static_cast<mode_t>(*mode)};
}

}  // namespace

// One line for each, on disk before it is opened: there are few such folders, mostly none.
Unlocked::Note note_opened(const OpenLayers& layers, const std::string& state) {
  return [lower = layers.lower.get(), state](int root, const ClosedFolder& folder) -> Result<void> {
    TRY_SET(sys::Fd at, sys::open(state.c_str(), O_RDONLY | O_DIRECTORY));
    TRY_SET(sys::Fd file, sys::open_at(at.get(), kOpenedFile, O_WRONLY | O_CREAT | O_APPEND | O_DSYNC | O_NOFOLLOW, 0600));
    TRY_SET(struct stat st, sys::stat_fd(file.get(), kOpenedFile));
    TRY(sys::write_all(file.get(), cat(root == lower ? "project " : "cell ", encode_word(folder.path), " ", folder.mode, "\n")));
    if (st.st_size == 0 && ::fsync(at.get()) < 0) return errno_error("sync", errno);
    return {};
  };
}

Result<void> close_noted(const OpenLayers& layers, const std::string& state) {
  auto text = sys::read_file(cat(state, "/", kOpenedFile).c_str(), kLargest);
  if (!text.ok() && text.error().err == ENOENT) return {};
  if (!text.ok()) return std::move(text).error();
  Unlocked left;
  for (auto line : split(text.value(), '\n')) {
    auto words = split(line, ' ');
    auto folder = words.size() == 3 ? noted_folder(words[1], words[2]) : std::nullopt;
    // What was cut off while it was noted was not opened yet.
    if (folder) TRY(left.adopt(words[0] == "project" ? layers.lower.get() : layers.upper.get(), *folder));
  }
  return close_all(layers, state, left);
}

Result<void> close_all(const OpenLayers& layers, const std::string& state, Unlocked& unlocked) {
  TRY(unlocked.close(layers.lower.get()));
  TRY(unlocked.close(layers.upper.get()));
  if (::unlink(cat(state, "/", kOpenedFile).c_str()) < 0 && errno != ENOENT) return errno_error(cat("remove ", kOpenedFile), errno);
  return {};
}

Result<void> open_for_writing(const OpenLayers& layers, const ApplyPlan& plan, Unlocked& unlocked) {
  const int root = layers.lower.get();
  for (const auto& path : written_folders(plan)) {
    TRY(unlocked.folder(root, path, Unlocked::kWrite));
    auto folder = sys::open_beneath(root, path.empty() ? "." : path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, false);
    if (!folder.ok()) {
      const int e = folder.error().err;
      if (e == ENOENT || e == ENOTDIR || e == ELOOP) continue;  // it is new
      return std::move(folder).error();
    }
    // Said now: in the middle of it there would be an apply that nobody can finish.
    if (::faccessat(folder.value().get(), ".", W_OK | X_OK, AT_EACCESS) < 0)
      return errno_error(cat("the project's folder ", path.empty() ? "itself" : printable(path), " may not be written"), errno);
  }
  return {};
}

}  // namespace hotcell::cells
