#include "cells/files/xattrs.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cells/files/tree.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

// There is no getxattrat before 6.13. The folder is a descriptor and the last name is not followed, so this path is not
// one that could be changed under us.
std::string by_fd(int folder, const std::string& name) { return cat("/proc/self/fd/", folder, "/", name); }

bool has_none(int err) { return err == ENOTSUP || err == ENODATA || err == EPERM; }

Result<std::string> value_once(const std::string& path, const char* name, bool& found) {
  std::string value(256, '\0');
  for (;;) {
    ssize_t n = ::lgetxattr(path.c_str(), name, value.data(), value.size());
    if (n >= 0) {
      value.resize(static_cast<std::size_t>(n));
      found = true;
      return value;
    }
    if (errno == ERANGE && value.size() < 65536) {
      value.resize(65536);
      continue;
    }
    found = false;
    if (has_none(errno)) return std::string();
    return errno_error(cat("attribute ", name), errno);
  }
}

Result<std::string> value_of(int folder, const std::string& file, const std::string& name, bool& found) {
  const std::string path = by_fd(folder, file);
  return Unlocked::attribute(folder, file, [&] { return value_once(path, name.c_str(), found); });
}

Result<void> set_mark(int folder, const std::string& name, std::string_view mark, std::string_view value) {
  const std::string attribute = cat(overlay_prefix(), mark);
  if (::lsetxattr(by_fd(folder, name).c_str(), attribute.c_str(), value.data(), value.size(), 0) == 0) return {};
  return errno_error(cat("attribute ", attribute, " of ", printable(name)), errno);
}

}  // namespace

bool is_portable_xattr(std::string_view name) {
  return (name.starts_with("user.") && name.size() > 5 && !name.starts_with("user.overlay.")) ||
         name == "system.posix_acl_access" || name == "system.posix_acl_default";
}

Result<Xattrs> read_xattrs(int folder, const std::string& name, std::vector<std::string>* left_out) {
  const std::string path = by_fd(folder, name);
  char small[1024];
  ssize_t n = ::llistxattr(path.c_str(), small, sizeof small);
  if (n == 0 || (n < 0 && has_none(errno))) return Xattrs();
  std::string large;
  std::string_view names(small, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (n < 0 && errno == ERANGE) {
    large.resize(65536);
    n = ::llistxattr(path.c_str(), large.data(), large.size());
    if (n >= 0) names = std::string_view(large).substr(0, static_cast<std::size_t>(n));
  }
  if (n < 0) return errno_error(cat("attributes of ", printable(name)), errno);
  Xattrs out;
  for (auto attribute : split(names, '\0')) {
    if (attribute.empty()) continue;
    std::string key(attribute);
    if (!is_portable_xattr(key)) {
      if (left_out != nullptr && !key.starts_with("trusted.overlay.") && !key.starts_with("user.overlay.")) left_out->push_back(key);
      continue;
    }
    bool found = false;
    TRY_SET(std::string value, value_of(folder, name, key, found).context(printable(name)));
    if (found) out.emplace_back(std::move(key), std::move(value));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<XattrFailure> write_xattrs(int folder, const std::string& name, const Xattrs& attributes) {
  std::vector<XattrFailure> failed;
  for (const auto& [key, value] : attributes)
    if (::lsetxattr(by_fd(folder, name).c_str(), key.c_str(), value.data(), value.size(), 0) < 0) failed.push_back({key, errno});
  return failed;
}

std::string_view overlay_prefix() { return "user.overlay."; }

Result<bool> has_overlay_mark(int folder, const std::string& name, std::string_view mark) {
  bool found = false;
  TRY(value_of(folder, name, cat(overlay_prefix(), mark), found));
  return found;
}

Result<char> opaque_mark(int folder, const std::string& name) {
  bool found = false;
  TRY_SET(std::string value, value_of(folder, name, cat(overlay_prefix(), "opaque"), found));
  return value.size() == 1 && (value[0] == 'y' || value[0] == 'x') ? value[0] : '\0';
}

Result<void> set_opaque(int folder, const std::string& name) { return set_mark(folder, name, "opaque", "y"); }

Result<void> clear_opaque(int folder, const std::string& name) {
  const std::string attribute = cat(overlay_prefix(), "opaque");
  if (::lremovexattr(by_fd(folder, name).c_str(), attribute.c_str()) == 0 || has_none(errno)) return {};
  return errno_error(cat("attribute ", attribute, " of ", printable(name)), errno);
}

Result<bool> is_copied_up(int folder, const std::string& name) { return has_overlay_mark(folder, name, "origin"); }

// Empty: copied up, from where is not known. The handle of the original means nothing in another cell or on another host.
Result<void> set_copied_up(int folder, const std::string& name) { return set_mark(folder, name, "origin", ""); }

Result<void> make_whiteout(int folder, const std::string& name) {
  if (::mknodat(folder, name.c_str(), S_IFCHR, makedev(0, 0)) == 0) return {};
  return errno_error(cat("mark ", printable(name), " as deleted"), errno);
}

}  // namespace hotcell::cells
