// Which arguments of a system call are names of files, and what the call wants of them. Read from the calling program's
// memory, which it may change while we look: good enough to tell a person, never good enough to decide by.
#pragma once
#include <linux/seccomp.h>
#include <sys/types.h>

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

// nullopt: it is not there, or may not be read (errno). `text`: up to a NUL, which must come.
std::optional<std::string> read_memory(pid_t tid, std::uint64_t from, std::size_t at_most, bool text);

// Empty: it names no file (fstat by descriptor, an internet address). nullopt: the name could not be read.
std::optional<std::vector<NamedFile>> named_files(const seccomp_notif& call);

}  // namespace hotcell
