// A root file system of the machine's own, instead of the host's folders: an erofs image, read-only by what it is, as the
// guest's one disk. Made once from a folder, a tar or an image layout, in a cell that reads that and writes the image.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "backends/oci_root.h"
#include "backends/vm.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::backends {
namespace {

constexpr std::uint32_t kErofsMagic = 0xe0f5e1e2;
constexpr off_t kErofsHead = 1024;
constexpr Bytes kLargestRoot = Bytes{std::uint64_t{32} << 30};

bool is_erofs(int fd, const struct stat& st) {
  std::uint32_t magic = 0;
  return S_ISREG(st.st_mode) && ::pread(fd, &magic, sizeof magic, kErofsHead) == sizeof magic && magic == kErofsMagic;
}
bool is_erofs(const std::string& path) {
  auto file = sys::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  struct stat st {};
  return file.ok() && ::fstat(file.value().get(), &st) == 0 && is_erofs(file.value().get(), st);
}

// What a tree is, as far as can be told without reading its files: any change to one of them shows in its ctime.
Result<std::string> stamp_of(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<std::string> paths = {folder};
  for (auto it = fs::recursive_directory_iterator(folder, failed); !failed && it != fs::recursive_directory_iterator(); it.increment(failed))
    paths.push_back(it->path().string());
  if (failed) return errno_error(cat("vm.image: ", printable(folder)), failed.value());
  std::sort(paths.begin(), paths.end());
  Sha256 hash;
  for (const auto& path : paths) {
    struct stat st {};
    if (::lstat(path.c_str(), &st) < 0) return errno_error(cat("vm.image: ", printable(path)), errno);
    hash.add_field(path);
    for (auto n : {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino), static_cast<std::uint64_t>(st.st_size),
                   static_cast<std::uint64_t>(st.st_ctim.tv_sec), static_cast<std::uint64_t>(st.st_ctim.tv_nsec)})
      hash.add_number(n);
  }
  return hash.finish_hex();
}

// Its owner is root throughout: whoever made the folder is nobody in the guest.
Result<void> pack(const std::string& tool, const std::string& folder, const std::string& part, const std::function<bool()>& cancelled) {
  TRY_SET(auto launcher, Launcher::create());
  Policy policy = default_policy();
  policy.limits.memory = 2_GiB;
  policy.limits.disk = kLargestRoot;
  policy.limits.wall = policy.limits.cpu_time = std::chrono::minutes(15);
  policy.filesystem.grants = {{folder, Access::kRead, "vm.image"}, {part, Access::kWrite, "vm.image"}};
  Request request;
  request.argv = {tool, "--all-root", cat(part, "/root"), folder};
  TRY_SET(Report report, run_while(*launcher, policy, std::move(request), cancelled));
  if (report.verdict.exit_code == 0) return {};
  std::string_view said = hotcell::trim(report.err.empty() ? report.out : report.err);
  return make_error(ErrorCode::kUnsupported, cat("vm.image: no image can be made of ", printable(folder), ": ", to_string(report.verdict.reason), said.empty() ? "" : ": ",
                                                 printable(said.substr(0, 300))));
}

// What the cell has left: an image, or nothing that we would touch. Its tool reads names and files that are anybody's.
Result<void> take_over(const std::string& packed, const std::string& path) {
  TRY_SET(sys::Fd file, sys::open(packed.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  TRY_SET(struct stat st, sys::stat_fd(file.get(), packed));
  if (st.st_nlink != 1 || !is_erofs(file.get(), st))
    return make_error(ErrorCode::kInternal, "vm.image: what was made is no image");
  if (::fchmod(file.get(), 0444) < 0 || ::rename(packed.c_str(), path.c_str()) < 0) return errno_error(path, errno);
  return {};
}

// The folder that the image shows: said, or unpacked from what was said.
Result<std::string> folder_of(const std::string& said) {
  struct stat st {};
  bool there = ::stat(said.c_str(), &st) == 0;
  bool layout = !there || ::access(cat(said, "/oci-layout").c_str(), F_OK) == 0;
  auto found = oci_root(Settings().with(layout ? "oci.image" : "oci.rootfs", said));
  if (!found.ok()) return make_error(found.error().code, cat("vm.image: ", printable(said), ": ", found.error().message));
  return found;
}

}  // namespace

std::string machine_roots() {
  std::string cache = machine_cache();
  return cache.empty() ? cache : cat(cache.substr(0, cache.rfind('/')), "/vm-roots");
}

Result<std::string> machine_root(MakeImage make, const Settings& settings, const std::function<bool()>& cancelled) {
  if (!settings.said("vm.image")) return std::string();
  std::string said = settings.get("vm.image");
  if (!said.starts_with('/')) return make_error(ErrorCode::kInvalid, "vm.image: expected a path from the root");
  if (is_erofs(said)) {
    std::error_code failed;
    auto real = std::filesystem::canonical(said, failed);
    if (failed) return errno_error(cat("vm.image: ", printable(said)), failed.value());
    return real.string();
  }
  if (make == MakeImage::kNo) return cat(machine_roots(), "/IMAGE");
  TRY_SET(std::string folder, folder_of(said));
  // What we have unpacked is called after its content and is changed by nobody.
  Sha256 hash;
  hash.add_field(folder);
  if (!folder.starts_with(cat(oci_cache(), "/"))) {
    TRY_SET(std::string stamp, stamp_of(folder));
    hash.add_field(stamp);
  }
  TRY(make_own_folder(machine_roots(), 0700));  // beside the machines' folder, which is there by now
  std::string path = cat(machine_roots(), "/", hash.finish_hex().substr(0, 24), ".erofs");
  if (::access(path.c_str(), R_OK) == 0) {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return path;
  }
  std::string tool = find_tool("mkfs.erofs");
  if (tool.empty()) return make_error(ErrorCode::kUnsupported, "vm.image: mkfs.erofs is not installed (apt-get install erofs-utils), and this is no erofs image yet");
  std::string part = cat(machine_roots(), "/", sys::random_uuid(), ".part");
  if (::mkdir(part.c_str(), 0700) < 0) return errno_error(part, errno);
  auto made = pack(tool, folder, part, cancelled);
  if (made.ok()) made = take_over(cat(part, "/root"), path);
  std::error_code ignored;
  std::filesystem::remove_all(part, ignored);
  if (!made.ok()) return std::move(made).error();
  sweep_machines(machine_roots());
  return path;
}

}  // namespace hotcell::backends
