// Our right to look at what we own, where somebody has taken it: a program in a cell, or whoever made the project.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::cells {

struct ClosedFolder {
  std::string path;
  mode_t mode = 0;  // that it has when we do not hold it open
};

// We own them, so we give it back to ourselves: of a file for as long as opening takes, of a folder for as long as this
// lives. Nothing changes that is open to us, as everything is to root.
//
// Killed meanwhile, a folder stays open to its owner, and to nobody else. An apply notes what it opens, and what comes after it
// closes that (apply_folders.cc). Nothing is noted by what only looks and has nowhere to note it (diff, snapshot, usage): of the
// project's folders, the next apply makes what they are in the cell. Nor is what is opened for one call.
//
// Folders are known by a descriptor of the folder that all is below, which must outlive this, and their path from there:
// however many they are, no descriptors pile up. What has another folder under its path at the end is left alone.
class Unlocked {
 public:
  static constexpr mode_t kRead = 0500, kWrite = 0700;  // to read names and what is below them; to change names, too

  using Note = std::function<Result<void>(int root, const ClosedFolder& folder)>;  // of one that is about to be opened

  Unlocked() = default;
  explicit Unlocked(Note note) : note_(std::move(note)) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

  // Of this folder, and of those above it where they are in the way; "" is the root. What is not there or is somebody else's
  // stays as it is, and whoever opens it is told.
  Result<void> folder(int root, const std::string& path, mode_t right = kRead);
  // It was opened by one of us that was killed. Not if its mode is another one now.
  Result<void> adopt(int root, const ClosedFolder& folder);
  // The mode that it is to have when this ends, and not before: it is open until then.
  Result<void> leave_as(int root, const std::string& path, mode_t mode);
  void moved(int root, const std::string& from, const std::string& to);
  // All below this root, innermost first, with their modes on disk.
  Result<void> close(int root);

  bool holds(int root, const std::string& path) const { return folders_.contains({root, path}); }
  mode_t mode_of(int root, const std::string& path, const struct stat& now) const;  // without our doing

  static Result<sys::Fd> file(int parent, const std::string& name);  // O_RDONLY
  // For as long as it takes; the same error again when that is of no use.
  static Result<std::string> attribute(int parent, const std::string& name, const std::function<Result<std::string>()>& read);

 private:
  struct Was {
    dev_t device;
    ino_t inode;
    mode_t mode;
  };
  using Folders = std::map<std::pair<int, std::string>, Was>;
  enum class Sync : std::uint8_t { kNo, kOnDisk };
  static Result<void> put_back(const Folders::value_type& folder, Sync sync);

  Note note_;
  Folders folders_;  // a folder is before what is in it
};

// Whether our right is lacking, and is ours to give.
bool lacks(const struct stat& folder, mode_t right);

}  // namespace hotcell::cells
