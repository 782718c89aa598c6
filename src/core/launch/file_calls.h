// Which arguments of a system call are names of files, and what the call wants of them. Read from the calling program's
// memory, which it may change while we look: good enough to tell a person, never good enough to decide by.
#pragma once
#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

// A name may be wanted in several ways, by one call (open with O_CREAT) or by several.
using Wishes = std::uint8_t;
inline constexpr Wishes kWantsLook = 1, kWantsRead = 2, kWantsExecute = 4, kWantsWrite = 8, kWantsMake = 16;

struct NamedFile {
  std::string path;  // absolute and normal, as the program sees it
  Wishes wishes = 0;
  bool follow = true;     // a symlink at its end is followed
  std::string_view call;  // "openat"
};

// Empty: it names no file (fstat by descriptor, an internet address). nullopt: the name could not be read.
std::optional<std::vector<NamedFile>> named_files(const seccomp_notif& call);

}  // namespace hotcell
