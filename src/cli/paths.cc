#include "cli/paths.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/strings.h"
#include "core/policy/glob.h"

namespace hotcell {

namespace {

std::string absolute_path(std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) return cat("./", path);
  return cat(here, here[1] == '\0' ? "" : "/", path);
}

// A path that exists and has a glob character in its name means itself, or the file it names would stay visible.
std::string quote_glob(std::string_view path) {
  std::string out;
  for (char c : path) {
    if (c == '*' || c == '?' || c == '[') ((out += '[') += c) += ']';
    else out += c;
  }
  return out;
}

std::string_view parent(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

std::string joined(std::string_view folder, std::string_view rest) {
  return cat(folder, folder == "/" || rest.empty() ? "" : "/", rest);
}

// The folders every cell has; on a merged-/usr host all but the first are symlinks into it.
constexpr std::array<std::string_view, 7> kSystem = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

bool is_system(std::string_view path) {
  return std::any_of(kSystem.begin(), kSystem.end(), [&](auto folder) { return is_under(path, folder); });
}

}  // namespace

Result<std::string> real_path(std::string_view path, std::string_view what) {
  char resolved[PATH_MAX];
  if (::realpath(absolute_path(path).c_str(), resolved) != nullptr) return std::string(resolved);
  auto error = errno_error(cat(what, ": ", path), errno);
  error.code = ErrorCode::kInvalid;
  return error;
}

Result<std::string> shown_path(std::string_view path, std::string_view what) {
  TRY_SET(std::string real, real_path(path, what));
  std::string out;
  std::string absolute = absolute_path(path);
  for (auto part : split(absolute, '/')) {
    if (part == "..") return real;
    if (!part.empty() && part != ".") (out += '/') += part;
  }
  return out.empty() ? "/" : out;
}

std::string deny_pattern(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (auto whole = real_path(path, "--deny"); whole.ok()) return quote_glob(whole.value());
  if (is_glob(path) && !path.starts_with('/') && !path.starts_with("./") && !path.starts_with("../")) {
    return std::string(path);
  }
  std::string full = absolute_path(path);
  std::string_view known = full;
  while (known != "/") {
    known = parent(known);
    auto folder = real_path(known, "--deny");
    if (!folder.ok()) continue;
    std::string_view rest = std::string_view(full).substr(known == "/" ? 1 : known.size() + 1);
    return joined(quote_glob(folder.value()), rest);
  }
  return full;
}

void spread_denials(Filesystem& filesystem) {
  std::vector<FsDeny> more;
  for (const auto& grant : filesystem.grants) {
    auto real = real_path(grant.path, grant.origin);
    if (!real.ok() || real.value() == grant.path) continue;  // a missing one is the launcher's error to tell
    std::string prefix = quote_glob(real.value());
    for (const auto& deny : filesystem.deny) {
      if (!is_under(deny.pattern, prefix)) continue;
      auto rest = std::string_view(deny.pattern).substr(std::min(deny.pattern.size(), prefix.size() + 1));
      more.push_back({joined(quote_glob(grant.path), rest), deny.origin});
    }
  }
  filesystem.deny.insert(filesystem.deny.end(), more.begin(), more.end());
}

bool is_under(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_visible(const Policy& policy, std::string_view shown, std::string_view real) {
  const auto& grants = policy.filesystem.grants;
  auto has_place = [&](std::string_view path) {
    return is_system(path) ||
           std::any_of(grants.begin(), grants.end(), [&](auto& g) { return is_under(path, g.path); });
  };
  if (!has_place(shown)) return false;
  bool reached = has_place(real);
  for (const auto& grant : grants) {
    if (reached || !is_under(shown, grant.path)) continue;
    auto target = real_path(grant.path, grant.origin);
    reached = target.ok() && is_under(real, target.value());
  }
  const auto& deny = policy.filesystem.deny;
  return reached && std::none_of(deny.begin(), deny.end(), [&](const auto& d) {
           return glob_covers(d.pattern, shown) || glob_covers(d.pattern, real);
         });
}

}  // namespace hotcell
