// Processes of a daemon, as /proc has them.
#pragma once
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::testing {

inline std::vector<pid_t> children_of_process(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& e : std::filesystem::directory_iterator("/proc")) {
    auto pid = parse_u64(e.path().filename().string());
    if (!pid) continue;
    const std::string text = sys::read_file((e.path() / "stat").c_str()).value_or("");
    auto close = text.rfind(')');
    if (close != std::string::npos && std::atoi(text.c_str() + close + 4) == parent) out.push_back(static_cast<pid_t>(*pid));
  }
  return out;
}

inline void add_descendants(pid_t parent, std::vector<pid_t>& out) {
  for (pid_t child : children_of_process(parent)) {
    out.push_back(child);
    add_descendants(child, out);
  }
}

inline std::string process_name(pid_t pid) {
  return std::string(trim(sys::read_file(cat("/proc/", pid, "/comm").c_str()).value_or("")));
}

// 0: there is none.
inline pid_t child_named(pid_t parent, std::string_view name) {
  for (pid_t pid : children_of_process(parent))
    if (process_name(pid).starts_with(name)) return pid;
  return 0;
}

// Which process a number means: the same one has the same time of its start. Empty when it has gone, or waits to be reaped.
inline std::string process_identity(pid_t pid) {
  const std::string text = sys::read_file(cat("/proc/", pid, "/stat").c_str()).value_or("");
  auto close = text.rfind(')');
  if (close == std::string::npos || text.size() < close + 4 || text[close + 2] == 'Z') return {};
  auto fields = split(std::string_view(text).substr(close + 2), ' ');
  return fields.size() > 19 ? std::string(fields[19]) : std::string();
}

}  // namespace hotcell::testing
