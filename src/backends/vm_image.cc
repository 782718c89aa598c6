// The files a machine is made of: the distribution's kernel, an initramfs of our agent and the few modules it needs, and
// the program itself. Kept in the cache under the hash of what they come from.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "backends/vm.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"
#include "sys/uuid.h"

extern "C" const char hotcell_vm_begin[], hotcell_vm_end[];

namespace hotcell::backends {
namespace {

constexpr std::string_view kModules[] = {"netfs", "fscache", "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_console",
                                         "9pnet", "9pnet_virtio", "9p",
                                         // of a machine with a disk (vm_root.cc)
                                         "virtio_blk", "crc32c_generic", "libcrc32c", "lz4_decompress", "erofs", "overlay"};
constexpr std::string_view kSuffixes[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
constexpr std::string_view kModuleFolders[] = {"fs/netfs", "fs/fscache", "drivers/virtio", "drivers/char", "net/9p", "fs/9p", "drivers/block", "crypto", "lib", "lib/lz4", "fs/erofs", "fs/overlayfs"};
constexpr std::size_t kLargest = 256u << 20;
constexpr std::size_t kKept = 8;

struct Source {
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> modules;  // name in the guest, path
};

std::string_view program() { return {hotcell_vm_begin, static_cast<std::size_t>(hotcell_vm_end - hotcell_vm_begin)}; }

bool is_there(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

// A kernel that can be read and that has the modules for shared folders; one without them is of no use.
std::optional<Source> source_in(const std::string& place) {
  auto names = sys::list_dir(cat(place, "/boot").c_str());
  if (!names.ok()) return std::nullopt;
  auto sorted = names.value();
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& name : sorted) {
    if (!name.starts_with("vmlinuz-") || !is_there(cat(place, "/boot/", name))) continue;
    Source out{cat(place, "/boot/", name), {}};
    std::string modules = cat(place, "/lib/modules/", name.substr(8), "/kernel/");
    bool share = false;
    for (auto module : kModules)
      for (auto folder : kModuleFolders)
        for (auto suffix : kSuffixes)
          if (std::string path = cat(modules, folder, "/", module, suffix); is_there(path)) {
            out.modules.emplace_back(cat(module, suffix), path);
            share = share || module == "9pnet_virtio";
          }
    if (share) return out;
  }
  return std::nullopt;
}

void add_identity(Sha256& hash, const std::string& path) {
  struct stat st {};
  hash.add_field(path);
  if (::stat(path.c_str(), &st) != 0) return;
  for (std::uint64_t n : {static_cast<std::uint64_t>(st.st_size), static_cast<std::uint64_t>(st.st_mtim.tv_sec), static_cast<std::uint64_t>(st.st_mtim.tv_nsec), static_cast<std::uint64_t>(st.st_ino)})
    hash.add_number(n);
}

// One entry of a cpio archive (newc), as the kernel reads it.
void add_entry(std::string& out, std::string_view name, unsigned mode, std::string_view bytes) {
  char head[111];
  std::snprintf(head, sizeof head, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", 0u, mode, 0u, 0u, 1u, 0u, bytes.size(), 0u, 0u, 0u, 0u, name.size() + 1, 0u);
  auto pad = [&] { out.resize((out.size() + 3) / 4 * 4); };
  out += head;
  out += name;
  out += '\0';
  pad();
  out += bytes;
  pad();
}

Result<std::string> make_initrd(const Source& source) {
  std::string out;
  add_entry(out, "init", S_IFREG | 0755, program());
  for (std::string_view folder : {"modules", "dev"}) add_entry(out, folder, S_IFDIR | 0755, "");
  for (const auto& [name, path] : source.modules) {
    TRY_SET(std::string bytes, sys::read_file(path.c_str(), kLargest));
    add_entry(out, cat("modules/", name), S_IFREG | 0644, bytes);
  }
  add_entry(out, "TRAILER!!!", 0, "");
  return out;
}

// The kernel proper out of its self-extracting file: unpacking it in an emulated machine takes longer than booting it.
// Where that does not work the file is used as it is.
std::string unpacked(const std::string& image) {
  auto number = [&](std::size_t at) {
    std::uint32_t n = 0;
    std::memcpy(&n, image.data() + at, sizeof n);
    return n;
  };
  if (image.size() < 0x250 || image.compare(0x202, 4, "HdrS") != 0) return image;
  std::size_t setup = static_cast<unsigned char>(image[0x1f1]), from = (setup + 1) * 512 + number(0x248), size = number(0x24c);
  if (size < 8 || from > image.size() || size > image.size() - from) return image;
  std::string_view payload = std::string_view(image).substr(from, size - 4);  // the unpacked size stands behind it
  constexpr std::pair<std::string_view, std::string_view> kPackers[] = {{std::string_view("\xfd" "7zXZ", 5), "xz"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\x1f\x8b", "gzip"}};
  for (auto [magic, tool] : kPackers) {
    if (!payload.starts_with(magic)) continue;
    std::string path = find_tool(tool);
    auto launcher = path.empty() ? Result<std::unique_ptr<Launcher>>(make_error(ErrorCode::kNotFound, "")) : Launcher::create();
    if (!launcher.ok()) return image;
    Policy policy = default_policy();
    policy.limits.memory = 512_MiB;
    policy.limits.output = Bytes{kLargest};
    policy.limits.wall = std::chrono::seconds(120);
    policy.limits.cpu_time = std::chrono::seconds(60);
    Request request;
    request.argv = {path, "-dc"};
    request.stdin_source = StdinBytes{std::string(payload)};
    auto report = launcher.value()->run(policy, std::move(request));
    if (report.ok() && report.value().verdict.exit_code == 0 && report.value().out.starts_with("\x7f" "ELF")) return std::move(report.value().out);
  }
  return image;
}

}  // namespace

// Ours alone to write: whoever else could, could choose what we boot.
Result<void> make_own_folder(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) < 0 && errno != EEXIST) return errno_error(path, errno);
  struct stat st {};
  if (::lstat(path.c_str(), &st) < 0) return errno_error(path, errno);
  if (!S_ISDIR(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 0022) != 0)
    return make_error(ErrorCode::kDenied, cat(path, ": not a folder that only we can write"));
  return {};
}

std::string machine_cache() {
  std::string base;
  if (const char* cache = ::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') base = cache;
  else if (::geteuid() == 0) base = "/var/cache";
  else if (const char* home = ::getenv("HOME"); home != nullptr && home[0] == '/') base = cat(home, "/.cache");
  return base.empty() ? base : cat(base, "/hotcell/vm");
}

std::vector<std::string> kernel_places(const Settings& settings) {
  std::vector<std::string> out;
  if (settings.said("vm.kernel")) return {settings.get("vm.kernel")};
  if (const char* told = ::getenv("HOTCELL_VM_KERNEL"); told != nullptr && told[0] == '/') out.emplace_back(told);
  if (auto self = sys::read_link("/proc/self/exe"); self.ok()) {
    std::string folder = self.value().substr(0, self.value().rfind('/'));
    out.push_back(cat(folder, "/guest-kernel"));
    out.push_back(cat(folder, "/../libexec/hotcell/guest-kernel"));
  }
  out.emplace_back("");
  return out;
}

Result<void> keep_file(const std::string& path, std::string_view bytes, unsigned mode) {
  std::string temporary = cat(path, ".", sys::random_uuid(), ".tmp");
  TRY_SET(sys::Fd file, sys::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  auto written = sys::write_all(file.get(), bytes);
  if (!written.ok() || ::fchmod(file.get(), mode) < 0 || ::rename(temporary.c_str(), path.c_str()) < 0) {
    int error = errno;
    ::unlink(temporary.c_str());
    return written.ok() ? Result<void>(errno_error(path, error)) : std::move(written);
  }
  return {};
}

void sweep_machines(const std::string& folder) {
  auto names = sys::list_dir(folder.c_str());
  if (!names.ok()) return;
  std::vector<std::pair<std::time_t, std::string>> states;
  for (const auto& name : names.value()) {
    struct stat st {};
    std::string path = cat(folder, "/", name);
    if (::lstat(path.c_str(), &st) != 0) continue;
    std::error_code ignored;
    if ((name.ends_with(".tmp") || name.ends_with(".part")) && st.st_mtime < std::time(nullptr) - 3600) std::filesystem::remove_all(path, ignored);
    else if (S_ISREG(st.st_mode) && !name.ends_with(".tmp")) states.emplace_back(st.st_mtime, path);
  }
  // Four files are of one machine, and the parts of one kernel are shared by all of its states.
  std::sort(states.rbegin(), states.rend());
  for (std::size_t i = kKept; i < states.size(); ++i) ::unlink(states[i].second.c_str());
}

Result<MachineImage> machine_image(MakeImage make, const Settings& settings) {
  MachineImage out;
  out.folder = machine_cache();
  if (out.folder.empty()) return make_error(ErrorCode::kNotFound, "backend vm: no folder is known for the cache (HOME is not set)");
  std::optional<Source> source;
  std::string looked;
  if (settings.said("vm.kernel") && !settings.get("vm.kernel").starts_with('/')) return make_error(ErrorCode::kInvalid, "vm.kernel: expected a path from the root");
  for (const auto& place : kernel_places(settings)) {
    source = source_in(place);
    if (source) break;
    looked += cat(looked.empty() ? "" : ", ", place, "/boot");
  }
  if (!source)
    return make_error(ErrorCode::kUnsupported, cat("backend vm: no kernel for the guest: neither of ", looked, " has a vmlinuz that can be read and the modules for 9p "
                                                   "(apt-get install linux-image-amd64, or unpack that package and set HOTCELL_VM_KERNEL to the folder)"));
  Sha256 hash;
  hash.add_field(program());
  add_identity(hash, source->kernel);
  for (const auto& [name, path] : source->modules) add_identity(hash, path);
  out.key = hash.finish_hex().substr(0, 24);
  out.kernel = cat(out.folder, "/", out.key, ".kernel");
  out.initrd = cat(out.folder, "/", out.key, ".initrd");
  out.program = cat(out.folder, "/", out.key, ".program");
  if (make == MakeImage::kNo) return out;
  std::string up = out.folder.substr(0, out.folder.rfind('/'));
  ::mkdir(up.substr(0, up.rfind('/')).c_str(), 0700);
  TRY(make_own_folder(up, 0700));
  TRY(make_own_folder(out.folder, 0755));
  if (is_there(out.program) && is_there(out.kernel) && is_there(out.initrd)) {
    for (const auto& path : {out.kernel, out.initrd, out.program}) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return out;
  }
  TRY_SET(std::string kernel, sys::read_file(source->kernel.c_str(), kLargest));
  TRY(keep_file(out.kernel, unpacked(kernel), 0444));
  TRY_SET(std::string initrd, make_initrd(*source));
  TRY(keep_file(out.initrd, initrd, 0444));
  TRY(keep_file(out.program, program(), 0555));
  sweep_machines(out.folder);
  return out;
}

}  // namespace hotcell::backends
