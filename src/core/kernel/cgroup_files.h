// Reading and writing the little files of a cgroup folder; what both versions share.
#pragma once
#include <cstdint>
#include <string>

#include "hotcell/result.h"

namespace hotcell {

std::uint64_t read_number_fd(int fd);                                          // 0 when unreadable
std::uint64_t read_field_fd(int fd, const char* key);
std::uint64_t read_number(int dir, const char* file);
std::uint64_t read_field(int dir, const char* file, const char* key);          // "key value" lines
Result<void> make_cgroup_folder(const std::string& parent, const std::string& path);
void kill_members(int dir);                                                    // SIGKILL to all in cgroup.procs until none is left

}  // namespace hotcell
