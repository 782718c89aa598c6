#include "core/kernel/grants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "core/policy/glob.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::size_t kMaxWalk = 200'000;  // entries looked at for globs: about a second; more is an error, not a guess
constexpr std::size_t kMaxMasks = 256;     // each is a mount

std::string where(const std::string& origin) { return origin.empty() ? std::string() : cat(origin, ": "); }

Result<ResolvedGrant> resolve(const FsGrant& grant) {
  if (grant.path.empty() || grant.path[0] != '/' || grant.path.find('\0') != std::string::npos)
    return make_error(ErrorCode::kInvalid, cat(where(grant.origin), "not an absolute path: ", printable(grant.path)));
  ResolvedGrant out;
  out.shown = normal_path(grant.path);
  out.access = grant.access;
  out.origin = grant.origin;
  TRY(check_place(grant, out.shown));
  int fd = ::open(out.shown.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) {
    int err = errno;
    return Error{ErrorCode::kInvalid, err, cat(where(grant.origin), printable(out.shown), ": ", ::strerror(err))};
  }
  out.fd = sys::Fd(fd);
  TRY_SET(struct stat st, sys::stat_fd(fd, out.shown));
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
    return make_error(ErrorCode::kInvalid, cat(where(grant.origin), printable(out.shown), " is neither a file nor a folder (a socket or device would be a way out)"));
  out.dev = st.st_dev;
  out.ino = st.st_ino;
  out.directory = S_ISDIR(st.st_mode);
  TRY_SET(out.canonical, sys::read_link(cat("/proc/self/fd/", fd).c_str()));
  TRY(check_meaning(grant, out.canonical));
  // The cell has the same links (/bin -> usr/bin), and nothing can be mounted on one.
  for (std::string_view system : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat link;
    if (is_inside(out.shown, system) && is_inside(out.canonical, "/usr") && ::lstat(std::string(system).c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      out.shown = out.canonical;
  }
  return out;
}

const ResolvedGrant* grant_of(const Grants& grants, std::string_view path) {
  const ResolvedGrant* best = nullptr;
  for (const auto& g : grants.grants)
    if (is_inside(path, g.shown)) best = &g;  // sorted by length: the last one that covers is the nearest
  return best;
}

// Not there yet: the first missing component is made, empty, so that it can be masked and the name never be taken.
Result<void> hold_missing(const FsDeny& deny, const ResolvedGrant& grant, const std::string& path, const std::string& relative,
                          bool make_placeholders, Grants& out) {
  auto refuse = [&](int err) {
    return Error{ErrorCode::kUnsupported, err,
                 cat(where(deny.origin), "cannot keep ", printable(path), " from appearing: ", ::strerror(err))};
  };
  TRY_SET(sys::Fd parent, sys::duplicate(grant.fd.get()));
  std::string shown = grant.shown;
  for (auto part : split(relative, '/')) {
    std::string name(part);
    shown += cat("/", name);
    auto next = sys::open_beneath(parent.get(), name.c_str(), O_PATH | O_NOFOLLOW, 0, false);
    if (next) {
      TRY_SET(struct stat st, sys::stat_fd(next.value().get(), shown));
      if (!S_ISDIR(st.st_mode)) {
        // A file where a folder would have to be: another cell's placeholder for a name further down, or a real one.
        if (shown == path) return refuse(EEXIST);
        if (!make_placeholders) return refuse(ENOTDIR);
        TRY_SET(auto shared, Placeholder::share(parent.get(), name));
        if (!shared) return refuse(ENOTDIR);
        out.placeholders.push_back(*std::move(shared));
        out.masks.push_back({shown, false, deny.origin, std::move(next).value()});
        return {};
      }
      parent = std::move(next).value();
      continue;
    }
    sys::Fd file;
    if (make_placeholders) {
      auto made = Placeholder::make(parent.get(), name);
      if (!made) return refuse(made.error().err);
      out.placeholders.push_back(std::move(made).value());
      TRY_SET(file, sys::open_beneath(parent.get(), name.c_str(), O_PATH | O_NOFOLLOW, 0, false));
    }
    out.masks.push_back({shown, false, deny.origin, std::move(file)});
    return {};
  }
  // Every component is there by now: somebody has made the name meanwhile.
  return refuse(EEXIST);
}

Result<void> try_deny_exact(const FsDeny& deny, const std::string& path, bool make_placeholders, Grants& out) {
  // Denied wins: what lies inside is no longer granted, under whichever name it was written.
  for (const auto& g : out.grants)
    if (path != g.shown && (is_inside(g.shown, path) || is_inside(g.canonical, path)))
      return make_error(ErrorCode::kInvalid, cat(where(deny.origin), printable(path), " is denied and ", printable(g.shown), " inside it is granted"));
  const ResolvedGrant* grant = grant_of(out, path);
  if (grant == nullptr) {
    for (std::string_view system : {"/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64"})
      if (is_inside(path, system))
        return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), printable(path), " belongs to what every cell sees; only paths below /usr and grants can be denied"));
    // Nothing shows it. Only the system folders are left, and a name there cannot appear: they are read-only.
    if (!is_inside(path, "/usr")) return {};
    struct stat st;
    if (::lstat(path.c_str(), &st) < 0) return {};
    out.masks.push_back({path, S_ISDIR(st.st_mode), deny.origin, sys::Fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC))});
    return {};
  }
  if (path == grant->shown) {
    std::erase_if(out.grants, [&](const auto& g) { return is_inside(g.shown, path); });
    return {};
  }
  // Walk from the grant's own descriptor, never through a symlink: masking a link would leave its target open.
  std::string relative = path.substr(grant->shown.size() + 1);
  auto found = sys::open_beneath(grant->fd.get(), relative.c_str(), O_PATH | O_NOFOLLOW, 0, false);
  if (found) {
    TRY_SET(struct stat st, sys::stat_fd(found.value().get(), path));
    if (S_ISLNK(st.st_mode))
      return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), printable(path), " is a symlink: deny what it points to"));
    if (make_placeholders && S_ISREG(st.st_mode) && st.st_size == 0) {
      // It may be there only because another cell denies it, and would go with that cell.
      auto slash = relative.rfind('/');
      int top = grant->fd.get();
      TRY_SET(sys::Fd parent, slash == std::string::npos
                                  ? sys::duplicate(top)
                                  : sys::open_beneath(top, relative.substr(0, slash).c_str(), O_PATH, 0, false));
      TRY_SET(auto shared, Placeholder::share(parent.get(), relative.substr(slash + 1)));
      if (shared) out.placeholders.push_back(*std::move(shared));
    }
    out.masks.push_back({path, S_ISDIR(st.st_mode), deny.origin, std::move(found).value()});
    return {};
  }
  if (found.error().err == ELOOP)
    return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), printable(path), " lies behind a symlink: deny the real path"));
  if (found.error().err != ENOENT && found.error().err != ENOTDIR) return std::move(found).error().context(where(deny.origin) + "deny");
  return hold_missing(deny, *grant, path, relative, make_placeholders, out);
}

// While one cell looks, another may be making or removing the same placeholder; each round of that takes microseconds.
Result<void> deny_exact(const FsDeny& deny, const std::string& path, bool make_placeholders, Grants& out) {
  for (int round = 0;; ++round) {
    auto done = try_deny_exact(deny, path, make_placeholders, out);
    if (done.ok() || done.error().err != EEXIST || round >= 1000) return done;
    ::usleep(1000);
  }
}

struct Walker {
  const FsDeny& deny;
  Grants& out;
  std::size_t seen = 0;

  Result<void> walk(int dir, const std::string& shown) {
    sys::Fd copy(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy.valid()) {
      if (errno != EACCES && errno != EPERM) return errno_error(cat("deny ", deny.pattern, ": ", printable(shown)), errno);
      // Neither listed nor entered: the cell cannot either, as it is the same user or has fewer rights.
      if (::faccessat(dir, ".", X_OK, AT_EACCESS) < 0) return {};
      // It can be entered by who knows a name (mode 0711), and the name might match: hidden as a whole.
      std::string why = cat(deny.origin.empty() ? "" : cat(deny.origin, ", "), "a folder that cannot be listed");
      out.masks.push_back({shown, true, std::move(why), sys::Fd(::openat(dir, ".", O_PATH | O_CLOEXEC))});
      return {};
    }
    std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
    auto failed = [&](std::string_view what) { return errno_error(cat("deny ", deny.pattern, ": ", printable(what)), errno); };
    if (stream == nullptr) return failed(shown);
    copy.release();
    for (;;) {
      errno = 0;
      dirent* entry = ::readdir(stream.get());
      if (entry == nullptr && errno != 0) return failed(shown);  // the rest was not seen
      if (entry == nullptr) break;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++seen > kMaxWalk)
        return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), "deny ", deny.pattern, ": more than ", kMaxWalk,
                                                       " entries under the granted folders; name the path instead"));
      std::string path = cat(shown, "/", name);
      struct stat st;
      if (::fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT || errno == EACCES || errno == EPERM) continue;
        return failed(path);
      }
      bool matches = glob_match(deny.pattern, path);
      if (matches && S_ISLNK(st.st_mode))
        return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), "deny ", deny.pattern, ": ", printable(path), " is a symlink"));
      if (matches) {
        sys::Fd masked(::openat(dir, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
        out.masks.push_back({path, S_ISDIR(st.st_mode), deny.origin, std::move(masked)});
        if (out.masks.size() > kMaxMasks) return {};  // an error of the caller's, before descriptors run out
        continue;
      }
      if (!S_ISDIR(st.st_mode)) continue;
      sys::Fd child(::openat(dir, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      // What we may not enter the cell may not either, and what is gone is gone. Anything else (no descriptor left, far
      // down) is no answer: a name behind it would stay open.
      if (!child.valid() && (errno == EACCES || errno == EPERM || errno == ENOENT || errno == ENOTDIR)) continue;
      if (!child.valid()) return errno_error(cat("deny ", deny.pattern, ": ", printable(path)), errno);
      TRY(walk(child.get(), path));
    }
    return {};
  }
};

Result<void> deny_glob(const FsDeny& deny, Grants& out) {
  for (std::string_view system : {"/usr/", "/etc/", "/bin/", "/sbin/", "/lib"})
    if (deny.pattern.starts_with(system))
      return make_error(ErrorCode::kUnsupported, cat(where(deny.origin), "deny ", deny.pattern, ": globs are looked for in granted folders only; name the path"));
  for (const auto& g : out.grants)
    for (const std::string* name : {&g.shown, &g.canonical})
      for (std::size_t end = name->size(); end != std::string::npos && end > 0; end = name->rfind('/', end - 1))
        if (g.directory && glob_match(deny.pattern, name->substr(0, end)))
          return make_error(ErrorCode::kInvalid, cat(where(deny.origin), "deny ", deny.pattern, " matches ", printable(name->substr(0, end)), ", and ",
                                                     printable(g.shown), " is granted"));
  std::size_t count = out.grants.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& g = out.grants[i];
    if (!g.directory) {
      if (glob_match(deny.pattern, g.shown))
        return make_error(ErrorCode::kInvalid, cat(where(deny.origin), printable(g.shown), " is both granted and denied by ", deny.pattern));
      continue;
    }
    if (g.access == Access::kWrite)
      return make_error(ErrorCode::kUnsupported,
                        cat(where(deny.origin), "deny ", deny.pattern, " cannot be enforced inside ", printable(g.shown),
                            ", which is writable: a new name would match it; name the path, or grant the folder read-only"));
    Walker walker{deny, out};
    TRY(walker.walk(g.fd.get(), g.shown));
  }
  return {};
}

}  // namespace

Result<void> check_place(const FsGrant& grant, std::string_view shown) {
  if (shown == "/") return make_error(ErrorCode::kInvalid, cat(where(grant.origin), "/ cannot be granted: it would undo the private root; name the folders"));
  for (std::string_view ours : {"/proc", "/dev", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"})
    if (shown == ours || ((ours == "/proc" || ours == "/dev") && is_inside(shown, ours)))
      return make_error(ErrorCode::kInvalid, cat(where(grant.origin), printable(shown), " cannot be granted: the cell has its own"));
  return {};
}

Result<void> check_meaning(const FsGrant& grant, std::string_view canonical) {
  // A folder below /dev is let pass: what lies in /dev/shm is files.
  if (canonical != "/" && canonical != "/dev" && !is_inside(canonical, "/proc")) return {};
  return make_error(ErrorCode::kInvalid, cat(where(grant.origin), printable(normal_path(grant.path)), " is ", canonical, " of the host, which cannot be granted"));
}

const Mask* lost_mask(const Grants& grants) {
  for (const auto& m : grants.masks) {
    struct stat then, now;
    if (!m.fd.valid() || ::fstat(m.fd.get(), &then) < 0) continue;
    bool same = ::lstat(m.shown.c_str(), &now) == 0 && now.st_dev == then.st_dev && now.st_ino == then.st_ino;
    if (!same) return &m;
  }
  return nullptr;
}

std::string normal_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (auto p : split(path, '/')) {
    if (p.empty() || p == ".") continue;
    if (p == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(p);
    }
  }
  std::string out;
  for (auto p : parts) (out += '/') += p;
  return out.empty() ? "/" : out;
}

bool is_inside(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/' || folder == "/");
}

Result<Grants> resolve_grants(const Filesystem& fs, bool make_placeholders) {
  Grants out;
  for (const auto& g : fs.grants) {
    TRY_SET(ResolvedGrant resolved, resolve(g));
    // The same path twice: the wider access wins, once.
    auto same = std::find_if(out.grants.begin(), out.grants.end(), [&](const auto& o) { return o.shown == resolved.shown; });
    if (same == out.grants.end()) out.grants.push_back(std::move(resolved));
    else if (resolved.access == Access::kWrite) same->access = Access::kWrite;
  }
  std::stable_sort(out.grants.begin(), out.grants.end(), [](const auto& a, const auto& b) { return a.shown.size() < b.shown.size(); });
  for (const auto& d : fs.deny) {
    if (d.pattern.empty()) return make_error(ErrorCode::kInvalid, cat(where(d.origin), "an empty deny pattern"));
    if (is_glob(d.pattern) || d.pattern[0] != '/') {
      TRY(deny_glob(d, out));
    } else {
      std::string path = normal_path(d.pattern);
      TRY(deny_exact(d, path, make_placeholders, out));
      // A grant written through a symlink shows the denied file under another name.
      std::vector<std::string> other_names;
      if (sys::Fd real(::open(path.c_str(), O_PATH | O_CLOEXEC)); real.valid())
        if (auto name = sys::read_link(cat("/proc/self/fd/", real.get()).c_str()); name.ok() && name.value() != path) {
          other_names.push_back(name.value());
          for (const auto& g : out.grants)
            if (g.canonical != g.shown && is_inside(name.value(), g.canonical)) other_names.push_back(g.shown + name.value().substr(g.canonical.size()));
        }
      for (const auto& g : out.grants)
        if (g.canonical != g.shown && is_inside(path, g.canonical)) other_names.push_back(g.shown + path.substr(g.canonical.size()));
      for (const auto& name : other_names)
        if (name != path) TRY(deny_exact(d, name, make_placeholders, out));
    }
    if (out.masks.size() > kMaxMasks)
      return make_error(ErrorCode::kUnsupported, cat(where(d.origin), "deny ", d.pattern, " matches more than ", kMaxMasks, " names"));
  }
  return out;
}

}  // namespace hotcell
