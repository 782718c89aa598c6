#include "cells/keeper/layers_disk.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "cells/files/steps.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/spawn.h"
#include "sys/uapi/mount.h"

namespace hotcell::cells {
namespace {

constexpr int kTries = 16;               // somebody else may take the loop device that was free
constexpr Bytes kSmallest = 1_MiB;
constexpr std::string_view kImage = "disk.img";

std::string mke2fs() {
  for (const char* path : {"/usr/sbin/mke2fs", "/sbin/mke2fs"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

Result<sys::Fd> new_mount(const std::string& device) {
  return sys::new_mount("ext4", {{"source", device}}, uapi::kAttrNoSuid | uapi::kAttrNoDev).context(device);
}

struct Loop {
  sys::Fd fd;
  std::string path;
};

// The device that has this file already. A cell of a keeper that was killed may take a moment to be gone: a second device
// over the same file would be two file systems that know nothing of each other, while the same device is the same one.
std::optional<Loop> attached(const struct stat& file) {
  auto names = sys::list_dir("/sys/block");
  if (!names.ok()) return std::nullopt;
  const std::uint64_t device = (minor(file.st_dev) & 0xffu) | (major(file.st_dev) << 8) | ((minor(file.st_dev) & ~0xffu) << 12);
  for (const auto& name : names.value()) {
    if (!name.starts_with("loop") || ::access(cat("/sys/block/", name, "/loop").c_str(), F_OK) < 0) continue;
    auto fd = sys::open(cat("/dev/", name).c_str(), O_RDWR);
    loop_info64 info{};
    if (!fd.ok() || ::ioctl(fd.value().get(), LOOP_GET_STATUS64, &info) < 0) continue;
    if (info.lo_inode == file.st_ino && info.lo_device == device) return Loop{std::move(fd).value(), cat("/dev/", name)};
  }
  return std::nullopt;
}

Result<Loop> attach(const std::string& image) {
  TRY_SET(sys::Fd file, sys::open(image.c_str(), O_RDWR | O_NOFOLLOW));
  TRY_SET(struct stat st, sys::stat_fd(file.get(), image));
  if (auto loop = attached(st)) return *std::move(loop);
  TRY_SET(sys::Fd control, sys::open("/dev/loop-control", O_RDWR));
  for (int i = 0; i < kTries; ++i) {
    int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return errno_error("a loop device", errno);
    std::string path = cat("/dev/loop", number);
    TRY_SET(sys::Fd loop, sys::open(path.c_str(), O_RDWR));
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(file.get());
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), "hotcell", LO_NAME_SIZE - 1);
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) return Loop{std::move(loop), std::move(path)};
    if (errno != EBUSY) return errno_error(path, errno);
  }
  return make_error(ErrorCode::kIo, "no loop device stays free");
}

Result<void> format(const std::string& path, Bytes size) {
  TRY_SET(sys::Fd file, sys::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (::ftruncate(file.get(), static_cast<off_t>(size.n)) < 0) return errno_error(cat("--disk: ", path), errno);
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  sys::Spawn what;
  what.program = mke2fs();
  // Nothing is kept back for root, and tables are written when they are needed. A small one has no room for a journal.
  what.argv = {"mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-i", "8192", "-E", "lazy_itable_init=1,lazy_journal_init=1", "-O", "^resize_inode"};
  using Words = std::vector<std::string>;
  const Words layout = size.n < (64u << 20) ? Words{"-b", "1024", "-O", "^has_journal"} : Words{"-b", "4096", "-J", "size=4"};
  what.argv.insert(what.argv.end(), layout.begin(), layout.end());
  what.argv.push_back(path);
  what.fds = {null.get(), null.get(), null.get()};
  what.die_with_us = false;
  TRY_SET(sys::Child child, sys::spawn(what).context("mke2fs"));
  TRY_SET(auto reaped, sys::reap(child.pid, true));
  if (!reaped || reaped->status != 0) return make_error(ErrorCode::kIo, cat("mke2fs cannot make a file system of ", size.n, " bytes"));
  return {};
}

// What overlayfs is to have, with the owner and mode of what stands in the cell's folder.
Result<void> fill(const std::string& folder, const std::string& inside) {
  std::string upper = cat(folder, "/upper");
  struct stat st {};
  if (::stat(upper.c_str(), &st) < 0) return errno_error(printable(upper), errno);
  TRY(copy_upper(upper, cat(inside, "/upper")).context("into the cell's own file system"));
  std::string work = cat(inside, "/work");
  if (::mkdir(work.c_str(), 0755) < 0) return errno_error("mkdir work", errno);
  if (::chown(work.c_str(), st.st_uid, st.st_gid) < 0) return errno_error("chown work", errno);
  ::rmdir(cat(inside, "/lost+found").c_str());
  return {};
}

}  // namespace

std::string LayersDisk::why_not() {
  if (::geteuid() != 0) return "only root may mount a file system of its own";
  if (mke2fs().empty()) return "mke2fs is not installed";
  if (::access("/dev/loop-control", R_OK | W_OK) < 0) return "there are no loop devices";
  return {};
}

Result<std::shared_ptr<LayersDisk>> LayersDisk::open(const std::string& folder, Bytes size) {
  if (std::string why = why_not(); !why.empty()) return make_error(ErrorCode::kUnsupported, cat("--disk: ", why));
  std::string image = cat(folder, "/", kImage), making = cat(image, ".new");
  bool there = ::access(image.c_str(), F_OK) == 0;
  if (!there) {
    if (size < kSmallest) return make_error(ErrorCode::kInvalid, "--disk: a file system of its own takes 1M at least");
    ::unlink(making.c_str());
    about_to_change();
    TRY(format(making, size));
  }
  about_to_change();
  TRY_SET(Loop loop, attach(there ? image : making));
  std::shared_ptr<LayersDisk> disk(new LayersDisk);
  disk->device_ = loop.path;
  TRY_SET(disk->mount_, new_mount(loop.path));
  if (there) {
    // What was taken in and not removed any more: a crash came between.
    if (std::string old = cat(folder, "/upper"); ::access(old.c_str(), F_OK) == 0) remove_tree(old).ignore("nobody looks there");
    return disk;
  }
  about_to_change();
  TRY(fill(folder, disk->path()));
  // On disk before it has its name: a crash leaves the old folder or the whole image.
  TRY_SET(sys::Fd root, sys::open(disk->path().c_str(), O_RDONLY | O_DIRECTORY));
  if (::syncfs(root.get()) < 0) return errno_error("syncfs", errno);
  about_to_change();
  if (::rename(making.c_str(), image.c_str()) < 0) return errno_error(cat("rename ", making), errno);
  about_to_change();
  remove_tree(cat(folder, "/upper")).ignore("it is in the image now, and nobody looks there again");
  return disk;
}

std::string LayersDisk::path() const { return cat("/proc/self/fd/", mount_.get(), "/."); }

Result<sys::Fd> LayersDisk::mount() const { return new_mount(device_); }

std::optional<DiskUsage> LayersDisk::used() const {
  struct statfs fs {};
  if (::fstatfs(mount_.get(), &fs) < 0) return std::nullopt;
  DiskUsage out;
  out.bytes = out.apparent = {(fs.f_blocks - fs.f_bfree) * static_cast<std::uint64_t>(fs.f_bsize)};
  out.inodes = fs.f_files - fs.f_ffree;
  return out;
}

}  // namespace hotcell::cells
