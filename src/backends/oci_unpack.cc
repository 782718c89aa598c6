#include "backends/oci_unpack.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <vector>

#include "backends/backend.h"
#include "backends/oci_tar.h"
#include "base/strings.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

Error refused(std::string_view name, std::string_view why) { return make_error(ErrorCode::kInvalid, cat("the image: ", printable(name), ": ", why)); }

// Links on the way are followed as the container would follow them: inside.
Result<sys::Fd> open_folder(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  sys::Fd out(static_cast<int>(::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how)));
  if (!out.valid()) return errno_error(printable(path), errno);
  return out;
}

// Makes what is missing, one name at a time.
Result<sys::Fd> make_parents(int root, const std::string& path) {
  if (auto there = open_folder(root, path); there.ok() || there.error().err != ENOENT) return there;
  auto slash = path.rfind('/');
  TRY_SET(sys::Fd above, make_parents(root, slash == path.npos ? "" : path.substr(0, slash)));
  std::string last = slash == path.npos ? path : path.substr(slash + 1);
  if (::mkdirat(above.get(), last.c_str(), 0755) < 0 && errno != EEXIST) return errno_error(printable(path), errno);
  return open_folder(root, path);
}

// "./a//b/" is "a/b". Nothing: a name that leads out, or is no name.
std::optional<std::string> plain(std::string_view name) {
  std::string out;
  if (name.starts_with('/')) return std::nullopt;
  for (auto part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > 255) return std::nullopt;
    out += cat(out.empty() ? "" : "/", part);
  }
  return out;
}

void remove_below(int folder, const std::string& name, int depth) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || depth > 256) return;
  sys::Fd below(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!below.valid()) return;
  if (auto names = sys::list_dir(cat("/proc/self/fd/", below.get()).c_str()); names.ok())
    for (const auto& n : names.value()) remove_below(below.get(), n, depth + 1);
  ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

struct Layer {
  int root;
  UnpackBudget& budget;
  std::set<std::string> brought = {};  // by this layer: a whiteout is for those before it

  Result<void> whiteout(const std::string& folder, std::string_view last) {
    std::string gone(last.substr(4));
    bool all = last == ".wh..wh..opq";
    if (!all && (gone.empty() || gone == "." || gone == ".." || gone.starts_with(".wh."))) return refused(cat(folder, "/", last), "a whiteout of no name");
    auto at = open_folder(root, folder);
    if (!at.ok()) return {};  // nothing there to take away
    if (all) {
      sys::Fd listed(::openat(at.value().get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (auto names = sys::list_dir(cat("/proc/self/fd/", listed.get()).c_str()); names.ok())
        for (const auto& n : names.value())
          if (!brought.contains(folder.empty() ? n : cat(folder, "/", n))) remove_below(at.value().get(), n, 0);
      return {};
    }
    if (!brought.contains(folder.empty() ? gone : cat(folder, "/", gone))) remove_below(at.value().get(), gone, 0);
    return {};
  }

  Result<void> entry(TarReader& tar, const TarEntry& e) {
    auto name = plain(e.name);
    if (!name) return refused(e.name, "leads out of it");
    if (name->empty()) return {};  // the root itself
    if (budget.entries == 0) return refused(e.name, "more entries than an image may have");
    --budget.entries;
    auto slash = name->rfind('/');
    std::string folder = slash == name->npos ? "" : name->substr(0, slash), last = slash == name->npos ? *name : name->substr(slash + 1);
    if (last.starts_with(".wh.")) return whiteout(folder, last);
    bool in_dev = name->starts_with("dev/");
    if (e.kind == TarEntry::Kind::kDevice || e.kind == TarEntry::Kind::kOther) {
      if (in_dev || e.kind == TarEntry::Kind::kOther) return {};  // the program gets a /dev of its own
      return refused(e.name, "a device");
    }
    TRY_SET(sys::Fd at, make_parents(root, folder));
    for (std::string path = *name; !path.empty(); path = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'))) brought.insert(path);
    return put(tar, e, at.get(), last);
  }

  Result<void> put(TarReader& tar, const TarEntry& e, int at, const std::string& last) {
    struct stat st {};
    bool there = ::fstatat(at, last.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    unsigned mode = e.mode & 0777;
    if (e.kind == TarEntry::Kind::kFolder) {
      if (there && !S_ISDIR(st.st_mode)) remove_below(at, last, 0);
      if (::mkdirat(at, last.c_str(), 0755) < 0 && errno != EEXIST) return errno_error(printable(e.name), errno);
      if (::fchmodat(at, last.c_str(), mode | 0700, 0) < 0) return errno_error(printable(e.name), errno);
      return {};
    }
    if (there) remove_below(at, last, 0);
    if (e.kind == TarEntry::Kind::kLink) {
      if (e.target.empty() || ::symlinkat(e.target.c_str(), at, last.c_str()) < 0) return errno_error(cat("the image: ", printable(e.name)), e.target.empty() ? EINVAL : errno);
      return {};
    }
    if (e.kind == TarEntry::Kind::kHardLink) return hard_link(e, at, last);
    if (e.size > budget.bytes) return refused(e.name, "more bytes than an image may have");
    budget.bytes -= e.size;
    sys::Fd file(::openat(at, last.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return errno_error(cat("the image: ", printable(e.name)), errno);
    TRY(tar.content([&](std::string_view piece) { return sys::write_all(file.get(), piece); }));
    if (::fchmod(file.get(), mode) < 0) return errno_error(printable(e.name), errno);
    return {};
  }

  Result<void> hard_link(const TarEntry& e, int at, const std::string& last) const {
    auto target = plain(e.target);
    if (!target || target->empty()) return refused(e.name, "a link that leads out of it");
    auto slash = target->rfind('/');
    TRY_SET(sys::Fd from, open_folder(root, slash == target->npos ? "" : target->substr(0, slash)));
    std::string name = slash == target->npos ? *target : target->substr(slash + 1);
    // Not through a link: the kernel links to the link itself, which is inside.
    if (::linkat(from.get(), name.c_str(), at, last.c_str(), 0) < 0) return errno_error(cat("the image: ", printable(e.name)), errno);
    return {};
  }
};

// A decompressor is another program: what breaks it does not break us.
struct Unpacker {
  sys::Fd out;
  pid_t pid = 0;
  ~Unpacker() {
    out.reset();
    if (pid == 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Result<void> begin(const char* tool, int archive) {
    std::string path = find_tool(tool);
    if (path.empty()) return make_error(ErrorCode::kUnsupported, cat("the image is compressed by ", tool, ", which is not installed (apt-get install ", tool, ")"));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return errno_error("pipe", errno);
    out = sys::Fd(ends[0]);
    sys::Fd in(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, archive, 0);
    ::posix_spawn_file_actions_adddup2(&actions, in.get(), 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    char flags[] = "-dc", variable[] = "PATH=/usr/bin:/bin";
    char *argv[] = {path.data(), flags, nullptr}, *env[] = {variable, nullptr};
    int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv, env);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return errno_error(tool, failed);
    return {};
  }
  Result<void> end() {
    int status = 0;
    if (pid == 0) return {};
    out.reset();
    ::waitpid(std::exchange(pid, 0), &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return make_error(ErrorCode::kInvalid, "the image: a layer does not decompress");
  }
};

}  // namespace

Result<void> unpack_layer(int archive, int root, UnpackBudget& budget) {
  unsigned char magic[4] = {};
  if (::pread(archive, magic, sizeof magic, 0) < 0 || ::lseek(archive, 0, SEEK_SET) < 0) return errno_error("the image", errno);
  Unpacker unpacker;
  if (magic[0] == 0x1f && magic[1] == 0x8b) {
    TRY(unpacker.begin("gzip", archive));
  } else if (magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) {
    TRY(unpacker.begin("zstd", archive));
  }
  TarReader tar(unpacker.pid != 0 ? unpacker.out.get() : archive);
  Layer layer{root, budget};
  for (;;) {
    TRY_SET(auto e, tar.next());
    if (!e) break;
    TRY(layer.entry(tar, *e));
  }
  return unpacker.end();
}

}  // namespace hotcell::backends
