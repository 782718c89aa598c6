// Names below a folder that is held open. Nothing here follows a symbolic link or leaves the folder.
#pragma once
#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/files/diff.h"
#include "cells/files/layers.h"
#include "cells/files/unlocked.h"
#include "sys/fd.h"

namespace hotcell::cells {

Result<sys::Fd> open_root(const std::string& path);  // the folder itself may be named through links
// By the path that it had when the cell was made, which had no link in it: one that has come there since leads to other folders.
Result<sys::Fd> open_project(const std::string& path);

// "" is the root. A component that is no folder or a link is an error (ENOTDIR, ELOOP).
Result<sys::Fd> open_folder(int root, const std::string& path);  // to read names from
struct Place {
  sys::Fd folder;    // O_PATH
  std::string name;
};
Result<Place> open_parent(int root, const std::string& path);
// Nothing: it is not there, or what should be a folder above it is none.
Result<std::optional<struct stat>> stat_below(int root, const std::string& path);
Result<std::string> read_link_at(int folder, const std::string& name);

FileType type_of(mode_t mode);
Time time_of(const timespec& t);
timespec timespec_of(Time t);
std::string_view parent_of(std::string_view path);     // "a/b" → "a", "a" → ""
std::string below(std::string_view folder, std::string_view name);  // "" and "a" → "a"
bool is_below(std::string_view path, std::string_view folder);      // or the same; "" is above all
// Relative, normal, without "..", NUL and empty parts, no longer than a path may be.
bool is_clean_path(std::string_view path);
// The paths of a request: "./a/" is "a". What cannot be made clean is an error.
Result<std::string> clean_path(std::string_view path);
bool is_selected(std::string_view path, const std::vector<std::string>& paths);  // none: all are

struct Entry {
  std::string path;
  struct stat st {};
  FileType type = FileType::kNone;
  bool whiteout = false;  // deleted in the cell
  bool opaque = false;    // a folder that hides the project's of the same name
};
enum class Walk : std::uint8_t { kEnter, kSkip };
// `folder` holds the entry under `name` and is valid during the call only. A folder comes before what is in it; names in
// one folder are sorted. `layer` tells whether overlay's marks mean something here.
enum class Layer : std::uint8_t { kUpper, kPlain };
using Visitor = std::function<Result<Walk>(const Entry& entry, int folder, const std::string& name)>;
// `unlocked` opens what is closed to us, the start as well.
Result<void> walk(int root, const std::string& start, Layer layer, const Visitor& visit, Unlocked* unlocked = nullptr);

}  // namespace hotcell::cells
