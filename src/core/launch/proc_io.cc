#include "core/launch/proc_io.h"

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

void add(int pid, unsigned& budget, TreeIo& out) {
  if (budget == 0) return;
  --budget;
  if (auto io = sys::read_file(cat("/proc/", pid, "/io").c_str()); io.ok()) {
    out.read += field(io.value(), "\nread_bytes: ");
    out.written += field(io.value(), "\nwrite_bytes: ");
  }
  auto tasks = sys::list_dir(cat("/proc/", pid, "/task").c_str());
  if (!tasks.ok()) return;
  for (const auto& tid : tasks.value()) {
    auto children = sys::read_file(cat("/proc/", pid, "/task/", tid, "/children").c_str());
    if (!children.ok()) continue;
    for (auto word : split(trim(children.value()), ' '))
      if (auto child = parse_u64(word)) add(static_cast<int>(*child), budget, out);
  }
}

}  // namespace

TreeIo tree_io(int init_pid) {
  TreeIo out;
  unsigned budget = kMostProcesses;
  add(init_pid, budget, out);
  return out;
}

}  // namespace hotcell
