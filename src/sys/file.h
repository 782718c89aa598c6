// Files by descriptor. Paths that come from a policy are resolved once, then held.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace hotcell::sys {

Result<Fd> open(const char* path, int flags, unsigned mode = 0);                 // O_CLOEXEC is added
Result<Fd> open_at(int dir, const char* path, int flags, unsigned mode = 0);
// RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS [| RESOLVE_NO_SYMLINKS]: `path` cannot leave `dir`.
Result<Fd> open_beneath(int dir, const char* path, int flags, unsigned mode, bool follow_symlinks);
Result<std::string> read_file(const char* path, std::size_t at_most = 1 << 20);
Result<std::string> read_fd(int fd, std::size_t at_most = 1 << 20);
Result<void> write_file(const char* path, std::string_view bytes);               // one write, existing file (procfs, cgroupfs)
Result<void> write_file_at(int dir, const char* path, std::string_view bytes);
Result<void> write_all(int fd, std::string_view bytes);
Result<Fd> memfd(const char* name, std::string_view bytes, bool executable, bool sealed);
Result<struct stat> stat_fd(int fd, std::string_view what);
Result<std::vector<std::string>> list_dir(const char* path);                     // without . and ..
Result<std::string> read_link(const char* path);

}  // namespace hotcell::sys
