#include "core/launch/proc_io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <set>
#include <utility>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr unsigned kMostProcesses = 256;  // somebody waits for the tree to be killed

std::uint64_t field(std::string_view text, std::string_view key) {
  auto at = text.find(key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + key.size());
  return parse_u64(trim(text.substr(0, text.find('\n')))).value_or(0);
}

using Seen = std::set<std::pair<dev_t, ino_t>>;

// What a descriptor of somebody else's leads to is looked at, never opened.
void add_files(int pid, Seen& seen, TreeIo& out) {
  const std::string folder = cat("/proc/", pid, "/fd/");
  auto names = sys::list_dir(folder.c_str());
  if (!names.ok()) return;
  for (const auto& name : names.value()) {
    const std::string path = cat(folder, name);
    struct statx st {};
    struct statfs fs {};
    // What is known here: a server that does not answer, behind a grant, would hold the launcher.
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0 || !S_ISREG(st.stx_mode) || st.stx_nlink > 0 || st.stx_blocks == 0) continue;
    if (::statfs(path.c_str(), &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC || !seen.emplace(makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino).second) continue;
    out.nameless += st.stx_blocks * 512;
  }
}

void add(int pid, unsigned& budget, Seen* seen, TreeIo& out) {
  if (budget == 0) return;
  --budget;
  if (auto io = sys::read_file(cat("/proc/", pid, "/io").c_str()); io.ok()) {
    out.read += field(io.value(), "\nread_bytes: ");
    out.written += field(io.value(), "\nwrite_bytes: ");
  }
  if (seen != nullptr) add_files(pid, *seen, out);
  auto tasks = sys::list_dir(cat("/proc/", pid, "/task").c_str());
  if (!tasks.ok()) return;
  for (const auto& tid : tasks.value()) {
    auto children = sys::read_file(cat("/proc/", pid, "/task/", tid, "/children").c_str());
    if (!children.ok()) continue;
    for (auto word : split(trim(children.value()), ' '))
      if (auto child = parse_u64(word)) add(static_cast<int>(*child), budget, seen, out);
  }
}

}  // namespace

TreeIo tree_io(int init_pid, bool files) {
  TreeIo out;
  Seen seen;
  unsigned budget = kMostProcesses;
  add(init_pid, budget, files ? &seen : nullptr, out);
  return out;
}

}  // namespace hotcell
