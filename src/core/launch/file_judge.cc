#include "core/launch/file_judge.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "core/kernel/grants.h"
#include "sys/file.h"
#include "sys/uapi/landlock.h"
#include "sys/uapi/mount.h"

namespace hotcell {
namespace {

constexpr std::uint64_t kResolveInRoot = 0x10;

std::string parent_of(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string real_host_path(const std::string& path) {
  std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  return real ? std::string(real.get()) : path;
}

std::string for_shell(const std::string& path) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+,:@%=").find(c) != std::string_view::npos;
  };
  if (std::all_of(path.begin(), path.end(), plain)) return path;
  std::string out = "'";
  for (char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Judge {
 public:
  Judge(const Plan& plan, int root, const NamedFile& file) : plan_(plan), root_(root), file_(file) {}

  std::optional<Denial> run() {
    if (root_ < 0) return std::nullopt;
    const bool native = plan_.backend == BackendKind::kNative;
    if (is_inside(file_.path, "/proc")) {
      // A cell has its own. Without namespaces no rule shows any of it.
      if (native || !wants(kWantsRead | kWantsWrite)) return std::nullopt;
      return denial("landlock", "no rule shows /proc", "");
    }
    for (const auto& mask : plan_.grants.masks)
      if (is_inside(file_.path, mask.shown) &&
          (file_.path != mask.shown || wants(kWantsRead | kWantsExecute | kWantsWrite)))
        return denial("rootfs", cat("denied", mask.origin.empty() ? "" : cat(" by ", mask.origin)), "");
    int err = 0;
    if (sys::Fd there = look(file_.path, file_.follow, err); there.valid()) return judge_found(there.get());
    if (err != ENOENT && err != ENOTDIR) return std::nullopt;  // unreadable to us too, or a loop: nothing can be said
    return native ? judge_hidden() : judge_new(file_.path);
  }

 private:
  bool wants(Wishes any) const { return (file_.wishes & any) != 0; }

  sys::Fd look(const std::string& path, bool follow, int& err) const {
    uapi::OpenHow how{};
    how.flags = O_PATH | O_CLOEXEC | (follow ? 0u : static_cast<unsigned>(O_NOFOLLOW));
    how.resolve = kResolveInRoot | uapi::kResolveNoMagicLinks;
    sys::Fd out(static_cast<int>(::syscall(SYS_openat2, root_, path.c_str(), &how, sizeof how)));
    err = out.valid() ? 0 : errno;
    return out;
  }

  // Landlock adds up the rights on the way from an object to the root.
  bool landlock_grants(std::string_view path, std::uint64_t right) const {
    if (!plan_.landlock_tight || plan_.landlock_rules.empty()) return true;
    return std::any_of(plan_.landlock_rules.begin(), plan_.landlock_rules.end(),
                       [&](const auto& r) { return (r.access & right) != 0 && is_inside(path, r.path); });
  }

  std::optional<Denial> judge_found(int fd) {
    struct stat st;
    auto name = sys::read_link(cat("/proc/self/fd/", fd).c_str());
    if (::fstat(fd, &st) < 0 || !name.ok() || S_ISLNK(st.st_mode)) return std::nullopt;
    const std::string& path = name.value();
    const bool folder = S_ISDIR(st.st_mode);
    // Devices, pipes and sockets on a read-only mount can be written to.
    if (wants(kWantsWrite) && (folder || S_ISREG(st.st_mode)) && read_only(fd)) return read_only_denial(file_.path);
    if (wants(kWantsWrite) && !folder && !landlock_grants(path, uapi::kFsWriteFile))
      return denial("landlock", "no rule lets it be written", fix("--write ", path));
    if (wants(kWantsWrite) && folder && !landlock_grants(parent_of(path), uapi::kFsRemoveDir))
      return denial("landlock", "no rule lets it be changed", fix("--write ", path));
    if (wants(kWantsExecute) && !folder && !landlock_grants(path, uapi::kFsExecute))
      return denial("landlock", "no rule lets it be executed", fix("--read ", path));
    if (wants(kWantsRead) && !landlock_grants(path, folder ? uapi::kFsReadDir : uapi::kFsReadFile))
      return denial("landlock", "no rule lets it be read", fix("--read ", path));
    return std::nullopt;
  }

  static bool read_only(int fd) {
    struct statfs fs;
    return ::fstatfs(fd, &fs) == 0 && (static_cast<unsigned long>(fs.f_flags) & ST_RDONLY) != 0;
  }

  bool in_scratch(std::string_view path) const {
    return plan_.backend == BackendKind::kNative &&
           (is_inside(path, "/work") || is_inside(path, "/tmp") || is_inside(path, "/var/tmp") ||
            is_inside(path, "/dev/shm")) &&
           !granted(path);
  }
  bool granted(std::string_view path) const {
    return std::any_of(plan_.grants.grants.begin(), plan_.grants.grants.end(),
                       [&](const auto& g) { return is_inside(path, g.shown); });
  }

  std::optional<Denial> read_only_denial(const std::string& what_to_grant) {
    if (in_scratch(file_.path))
      return denial("rootfs", "the private folders are read-only under this policy", "filesystem: {tmp: true}");
    return denial("rootfs", "it is read-only in the cell", fix("--write ", what_to_grant));
  }

  // Not in the cell. On the host?
  std::optional<Denial> judge_hidden() {
    // A link into /proc (/dev/stdout) cannot be followed from outside; a name that a grant covers was there to be
    // found.
    int err = 0;
    bool outward = false;
    if (sys::Fd link = look(file_.path, false, err); link.valid()) {
      outward = true;
      char target[6] = {};
      if (::readlinkat(link.get(), "", target, sizeof target) == sizeof target &&
          std::string_view(target, sizeof target) == "/proc/")
        return std::nullopt;
    }
    if (granted(file_.path) && !outward) return wants(kWantsMake) ? judge_new(file_.path) : std::nullopt;
    // What the program made and removed in its own folders says nothing about the host's of the same name.
    if (in_scratch(file_.path) && wants(kWantsWrite | kWantsMake))
      return plan_.policy.filesystem.writable_scratch ? std::nullopt : read_only_denial({});
    struct stat st;
    const int how = AT_NO_AUTOMOUNT | (file_.follow ? 0 : AT_SYMLINK_NOFOLLOW);
    if (::fstatat(AT_FDCWD, file_.path.c_str(), &st, how) == 0) {
      const std::string path = outward ? real_host_path(file_.path) : file_.path;
      const bool can_be = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
      return denial("rootfs", "it is on the host and not shown to the cell",
                    can_be ? fix(wants(kWantsWrite) ? "--write " : "--read ", path) : "");
    }
    return wants(kWantsMake) ? judge_new(file_.path) : std::nullopt;
  }

  // It was to be made, and neither side has it: the folder it would be in decides.
  std::optional<Denial> judge_new(const std::string& path) {
    if (!wants(kWantsMake)) return std::nullopt;
    const std::string folder = parent_of(path);
    int err = 0;
    sys::Fd there = look(folder, true, err);
    if (there.valid()) {
      if (plan_.backend == BackendKind::kNative)
        return read_only(there.get()) ? read_only_denial(folder) : std::nullopt;
      auto name = sys::read_link(cat("/proc/self/fd/", there.get()).c_str());
      if (!name.ok() || landlock_grants(name.value(), uapi::kFsMakeReg)) return std::nullopt;
      return denial("landlock", "no rule lets it be made", fix("--write ", folder));
    }
    struct stat st;
    if (plan_.backend != BackendKind::kNative || (err != ENOENT && err != ENOTDIR)) return std::nullopt;
    if (::fstatat(AT_FDCWD, folder.c_str(), &st, AT_NO_AUTOMOUNT) < 0 || !S_ISDIR(st.st_mode)) return std::nullopt;
    return denial("rootfs", "its folder is on the host and not shown to the cell", fix("--write ", folder));
  }

  static std::string fix(std::string_view flag, const std::string& path) { return grant_fix(flag, path); }

  Denial denial(std::string layer, std::string_view why, std::string fix) const {
    Denial d;
    d.layer = std::move(layer);
    d.subject = printable(file_.path);
    d.what = cat(file_.call, "(", d.subject, "): ", why);
    d.fix = std::move(fix);
    return d;
  }

  const Plan& plan_;
  const int root_;
  const NamedFile& file_;
};

}  // namespace

// resolve() in grants.cc refuses the same.
std::string grant_fix(std::string_view flag, const std::string& path) {
  if (path == "/" || is_inside(path, "/proc") || is_inside(path, "/dev")) return {};
  struct stat st;
  if (::fstatat(AT_FDCWD, path.c_str(), &st, AT_NO_AUTOMOUNT) < 0) return {};  // only the cell has it
  for (std::string_view ours : {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"})
    if (path == ours) return {};
  return cat(flag, for_shell(printable(path)));
}

std::optional<Denial> judge_file(const Plan& plan, int root, const NamedFile& file) {
  return Judge(plan, root, file).run();
}

}  // namespace hotcell
