// Extended attributes, and the marks overlayfs keeps in them. None follows a symbolic link.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::cells {

using Xattrs = std::vector<std::pair<std::string, std::string>>;  // sorted by name

// What a program may have given its files and another may have as well: user.*, and access control lists. Not overlay's
// marks, and nothing that gives rights (security.capability) or belongs to this host (security.selinux, trusted.*); the
// names of those are added to `left_out` where it is given.
Result<Xattrs> read_xattrs(int folder, const std::string& name, std::vector<std::string>* left_out = nullptr);
bool is_portable_xattr(std::string_view name);

struct XattrFailure {
  std::string name;
  int err;
};
// Those that could not be set: the file system has none, or we may not.
std::vector<XattrFailure> write_xattrs(int folder, const std::string& name, const Xattrs& attributes);

// user.overlay.*: cells mount their overlay in a user namespace of their own (option userxattr), root's too. The program
// cannot write these by itself: overlayfs keeps the names from it.
std::string_view overlay_prefix();
Result<bool> has_overlay_mark(int folder, const std::string& name, std::string_view mark);
Result<char> opaque_mark(int folder, const std::string& name);   // 'y', 'x' or 0
Result<void> set_opaque(int folder, const std::string& name);
Result<void> clear_opaque(int folder, const std::string& name);
// "Came from the project": without which a file whose original is gone would look like a new one.
Result<bool> is_copied_up(int folder, const std::string& name);
Result<void> set_copied_up(int folder, const std::string& name);
// A deletion, as overlayfs writes it: a character device 0:0, which ordinary users may make, too.
Result<void> make_whiteout(int folder, const std::string& name);

}  // namespace hotcell::cells
