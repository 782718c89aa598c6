// Constant paths as facts name them: `//` and `/./` collapsed, `..` resolved by the letters, the home folder as `~`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

inline std::string normal_path(std::string_view path) {
  if (path.starts_with("file://")) path.remove_prefix(7);
  for (std::string_view home : {"$HOME", "${HOME}", "$USERPROFILE"})
    if (path.starts_with(home) && (path.size() == home.size() || path[home.size()] == '/'))
      return normal_path(std::string("~").append(path.substr(home.size())));
  bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    // Above the root there is only the root; above a variable there may be anything, so it stays.
    if (part == ".." && !parts.empty() && parts.back() != ".." && parts.back()[0] != '$' && parts.back() != "~") {
      parts.pop_back();
    } else if (part != ".." || !absolute || !parts.empty()) {
      parts.push_back(part);
    }
  }
  std::string out;
  for (std::string_view part : parts) {
    if (absolute || !out.empty()) out += '/';
    out += part;
  }
  return out.empty() ? (absolute ? "/" : ".") : out;
}

// Inside the folder the program starts in. "~" and "$VAR" may be anywhere.
inline bool is_below_work_folder(std::string_view normal) {
  return !normal.starts_with('/') && !normal.starts_with("..") && !normal.starts_with('~') && !normal.starts_with('$');
}

}  // namespace hotcell
