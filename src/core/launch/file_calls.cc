#include "core/launch/file_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/strings.h"
#include "core/kernel/grants.h"
#include "core/kernel/seccomp_names.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::int8_t kNone = -1, kSockaddr = -2;
// One name of a call: where the folder's descriptor, the name and the lookup flags are; what is wanted.
struct Name {
  std::int8_t dir = kNone, path = 0;
  Wishes wishes = kWantsLook;
  std::int8_t open_flags = kNone;    // the argument that holds O_*: they say what is wanted
  std::int8_t lookup_flags = kNone;  // the argument that holds AT_*
  bool follow = true;
};
struct Call {
  std::string_view name;
  Name first, second = {kNone, kNone};
};

constexpr Call kCalls[] = {
    {"open", {kNone, 0, 0, 1}},
    {"openat", {0, 1, 0, 2}},
    {"creat", {kNone, 0, kWantsWrite | kWantsMake}},
    {"stat", {kNone, 0}},
    {"lstat", {kNone, 0, kWantsLook, kNone, kNone, false}},
    {"newfstatat", {0, 1, kWantsLook, kNone, 3}},
    {"statx", {0, 1, kWantsLook, kNone, 2}},
    {"access", {kNone, 0}},
    {"faccessat", {0, 1}},
    {"faccessat2", {0, 1, kWantsLook, kNone, 3}},
    {"readlink", {kNone, 0, kWantsLook, kNone, kNone, false}},
    {"readlinkat", {0, 1, kWantsLook, kNone, kNone, false}},
    {"chdir", {kNone, 0}},
    {"statfs", {kNone, 0}},
    {"inotify_add_watch", {kNone, 1}},
    {"execve", {kNone, 0, kWantsExecute}},
    {"execveat", {0, 1, kWantsExecute, kNone, 4}},
    {"mkdir", {kNone, 0, kWantsMake, kNone, kNone, false}},
    {"mkdirat", {0, 1, kWantsMake, kNone, kNone, false}},
    {"mknod", {kNone, 0, kWantsMake, kNone, kNone, false}},
    {"mknodat", {0, 1, kWantsMake, kNone, kNone, false}},
    {"unlink", {kNone, 0, kWantsWrite, kNone, kNone, false}},
    {"unlinkat", {0, 1, kWantsWrite, kNone, kNone, false}},
    {"rmdir", {kNone, 0, kWantsWrite, kNone, kNone, false}},
    {"rename", {kNone, 0, kWantsWrite, kNone, kNone, false}, {kNone, 1, kWantsMake, kNone, kNone, false}},
    {"renameat", {0, 1, kWantsWrite, kNone, kNone, false}, {2, 3, kWantsMake, kNone, kNone, false}},
    {"renameat2", {0, 1, kWantsWrite, kNone, kNone, false}, {2, 3, kWantsMake, kNone, kNone, false}},
    {"link", {kNone, 0, kWantsLook, kNone, kNone, false}, {kNone, 1, kWantsMake, kNone, kNone, false}},
    {"linkat", {0, 1, kWantsLook, kNone, kNone, false}, {2, 3, kWantsMake, kNone, kNone, false}},
    // What a symlink points to is text; only where it is made is a name.
    {"symlink", {kNone, 1, kWantsMake, kNone, kNone, false}},
    {"symlinkat", {1, 2, kWantsMake, kNone, kNone, false}},
    {"truncate", {kNone, 0, kWantsWrite}},
    {"chmod", {kNone, 0, kWantsWrite}},
    {"fchmodat", {0, 1, kWantsWrite}},
    {"fchmodat2", {0, 1, kWantsWrite, kNone, 3}},
    {"chown", {kNone, 0, kWantsWrite}},
    {"lchown", {kNone, 0, kWantsWrite, kNone, kNone, false}},
    {"fchownat", {0, 1, kWantsWrite, kNone, 4}},
    {"utime", {kNone, 0, kWantsWrite}},
    {"utimes", {kNone, 0, kWantsWrite}},
    {"futimesat", {0, 1, kWantsWrite}},
    {"utimensat", {0, 1, kWantsWrite, kNone, 3}},
    {"connect", {kSockaddr, 1, kWantsLook}},
    {"bind", {kSockaddr, 1, kWantsMake}},
};

const Call* find_call(std::string_view name) {
  for (const Call& c : kCalls)
    if (c.name == name) return &c;
  return nullptr;
}

// The place of a descriptor or of the current folder, in the program's own view of the tree.
std::optional<std::string> folder_of(pid_t tid, std::int64_t dir) {
  auto link =
      sys::read_link(dir == AT_FDCWD ? cat("/proc/", tid, "/cwd").c_str() : cat("/proc/", tid, "/fd/", dir).c_str());
  if (!link.ok() || !link.value().starts_with('/')) return std::nullopt;
  return std::move(link).value();
}

Wishes wishes_of(std::uint32_t flags) {
  if (flags & O_PATH) return kWantsLook;
  Wishes out = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) ? kWantsWrite : kWantsRead;
  if (flags & O_CREAT) out |= kWantsMake;
  return out;
}

std::optional<std::string> socket_name(pid_t tid, const __u64 (&args)[6]) {
  sockaddr_un address{};
  auto size = std::min<std::size_t>(static_cast<std::uint32_t>(args[2]), sizeof address);
  if (size <= offsetof(sockaddr_un, sun_path)) return std::string();
  auto bytes = read_memory(tid, args[1], size, false);
  if (!bytes) return std::nullopt;
  bytes->copy(reinterpret_cast<char*>(&address), size);
  // Abstract names and internet addresses are no files.
  if (address.sun_family != AF_UNIX || address.sun_path[0] == '\0') return std::string();
  return std::string(address.sun_path, ::strnlen(address.sun_path, size - offsetof(sockaddr_un, sun_path)));
}

// False: it could not be read.
bool add_name(const seccomp_notif& call, const Name& name, std::string_view call_name, std::vector<NamedFile>& out) {
  if (name.path == kNone) return true;
  const auto tid = static_cast<pid_t>(call.pid);
  const auto& args = call.data.args;
  const std::uint64_t address = args[name.path];
  if (address == 0) return true;  // utimensat(fd, NULL), or EFAULT
  auto text = name.dir == kSockaddr ? socket_name(tid, args) : read_memory(tid, address, PATH_MAX, true);
  if (!text) return false;
  if (text->empty()) return true;
  NamedFile file;
  file.call = call_name;
  file.wishes = name.open_flags == kNone ? name.wishes : wishes_of(static_cast<std::uint32_t>(args[name.open_flags]));
  file.follow = name.follow;
  if (name.open_flags != kNone && (args[name.open_flags] & O_NOFOLLOW)) file.follow = false;
  if (name.lookup_flags != kNone && (args[name.lookup_flags] & AT_SYMLINK_NOFOLLOW)) file.follow = false;
  if ((*text)[0] != '/') {
    const bool by_descriptor = name.dir != kNone && name.dir != kSockaddr;
    auto folder = folder_of(tid, by_descriptor ? static_cast<std::int32_t>(args[name.dir]) : AT_FDCWD);
    if (!folder) return true;  // not a folder, or no descriptor: the kernel will refuse it for that
    *text = cat(*folder, "/", *text);
  }
  file.path = normal_path(*text);
  out.push_back(std::move(file));
  return true;
}

}  // namespace

// Page by page, since a string may end right before a page that is not there.
std::optional<std::string> read_memory(pid_t tid, std::uint64_t from, std::size_t at_most, bool text) {
  std::string out;
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  while (out.size() < at_most) {
    std::array<char, 4096> chunk;
    const std::uint64_t at = from + out.size();
    std::size_t size = std::min<std::uint64_t>({chunk.size(), kPage - at % kPage, at_most - out.size()});
    iovec local{chunk.data(), size};
    iovec remote{reinterpret_cast<void*>(at), size};  // NOLINT(performance-no-int-to-ptr): an address over there
    ssize_t n = ::process_vm_readv(tid, &local, 1, &remote, 1, 0);
    if (n <= 0) return std::nullopt;
    std::string_view got(chunk.data(), static_cast<std::size_t>(n));
    auto end = text ? got.find('\0') : std::string_view::npos;
    out += got.substr(0, end);
    if (end != std::string_view::npos) return out;
  }
  if (text) return std::nullopt;  // longer than PATH_MAX: the kernel refuses it
  return out;
}

std::optional<std::vector<NamedFile>> named_files(const seccomp_notif& call) {
  std::vector<NamedFile> out;
  const Call* known = find_call(syscall_name(call.data.nr, call.data.arch));
  if (known == nullptr) return out;
  if (!add_name(call, known->first, known->name, out) || !add_name(call, known->second, known->name, out))
    return std::nullopt;
  return out;
}

}  // namespace hotcell
