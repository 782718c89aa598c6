// Reading and writing the little files of a cgroup folder; what both versions share.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

// What a launcher makes outside of itself is called PID-START.PIDNS-SOMETHING, so that the next one knows what belongs to
// nobody any more.
const std::string& own_prefix();
bool is_of_the_dead(std::string_view name);

std::uint64_t read_number_fd(int fd);                                          // 0 when unreadable
std::uint64_t read_field_fd(int fd, const char* key);
std::pair<std::uint64_t, std::uint64_t> read_fields_fd(int fd, std::string_view first, std::string_view second);  // by one look
std::uint64_t read_number(int dir, const char* file);
std::uint64_t read_field(int dir, const char* file, const char* key);          // "key value" lines
std::string most_tasks(const Limits& limits);                                  // for pids.max: init is one, too
Result<void> make_cgroup_folder(const std::string& parent, const std::string& path);
// With the groups that a tool has made below it; false: somebody is still there.
bool remove_empty_groups(const std::string& path);
std::vector<std::string> groups_below(const std::string& path);                // deepest first
bool has_line(int dir, const char* file, std::string_view line);
// Who is in a system call or on another processor stops only when it gets there, as a rule within a fraction of a millisecond; who waits for
// a disk may take long, and is waited for a fifth of a second.
template <typename Frozen>
void wait_until_frozen(Frozen frozen) {
  for (int i = 0; i < 220 && !frozen(); ++i) ::usleep(i < 20 ? 50 : 1000);
}
void kill_members(int dir);                                                    // SIGKILL to all in cgroup.procs until none is left

}  // namespace hotcell
