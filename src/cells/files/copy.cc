#include "cells/files/copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cells/files/beside.h"
#include "cells/files/file_copy.h"
#include "cells/files/steps.h"
#include "cells/files/tree.h"
#include "cells/files/xattrs.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

class Copier {
 public:
  Copier(int from, int to) : from_(from), to_(to) {}

  Result<CopyReport> run() {
    TRY(walk(from_, "", Layer::kUpper,
             [&](const Entry& e, int folder, const std::string& name) { return add(e, folder, name); }, &unlocked_));
    // Last, innermost first: filling a folder changes its time, and a closed one cannot be filled.
    for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) TRY(finish_folder(*it));
    TRY_SET(struct stat root, sys::stat_fd(from_, "."));
    TRY(give(to_, ".", root, false));
    return std::move(report_);
  }

 private:
  Result<Walk> add(const Entry& e, int folder, const std::string& name) {
    if (e.type == FileType::kSocket || e.type == FileType::kBlockDevice || (e.type == FileType::kCharDevice && !e.whiteout))
      return Walk::kSkip;
    ++report_.entries;
    about_to_change();
    TRY_SET(Place to, open_parent(to_, e.path));
    if (e.st.st_nlink > 1 && e.type != FileType::kFolder && !e.whiteout) {
      auto [it, first] = names_.try_emplace({e.st.st_dev, e.st.st_ino}, e.path);
      if (!first) return link(it->second, to);
    }
    TRY(make(e, folder, name, to).context(printable(e.path)));
    return Walk::kEnter;
  }

  Result<Walk> link(const std::string& first, const Place& to) {
    TRY_SET(Place old, open_parent(to_, first));
    if (::linkat(old.folder.get(), old.name.c_str(), to.folder.get(), to.name.c_str(), 0) < 0)
      return errno_error(cat("link ", printable(to.name)), errno);
    return Walk::kSkip;
  }

  Result<void> make(const Entry& e, int folder, const std::string& name, const Place& to) {
    int at = to.folder.get();
    const char* as = to.name.c_str();
    if (e.whiteout) return make_whiteout(at, to.name);
    if (e.type == FileType::kFolder) {
      if (::mkdirat(at, as, 0700) < 0) return errno_error("mkdir", errno);
      folders_.push_back({e.path, e.st});
      if (e.opaque) TRY(set_opaque(at, to.name));
      return attributes(folder, name, to);
    }
    if (e.type == FileType::kSymlink) {
      TRY_SET(std::string target, read_link_at(folder, name));
      if (::symlinkat(target.c_str(), at, as) < 0) return errno_error("symlink", errno);
    } else if (e.type == FileType::kFifo) {
      if (::mkfifoat(at, as, 0600) < 0) return errno_error("mkfifo", errno);
    } else {
      TRY_SET(sys::Fd in, Unlocked::file(folder, name));
      TRY_SET(sys::Fd out, sys::open_at(at, as, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
      TRY_SET(auto copied, copy_data(in.get(), out.get(), static_cast<std::uint64_t>(e.st.st_size)));
      report_.bytes.n += copied.bytes;
      report_.shared = report_.shared || copied.shared;
    }
    TRY(attributes(folder, name, to));
    return give(at, to.name, e.st, e.type == FileType::kSymlink);
  }

  Result<void> attributes(int folder, const std::string& name, const Place& to) {
    TRY_SET(auto xattrs, read_xattrs(folder, name));
    for (const auto& failed : write_xattrs(to.folder.get(), to.name, xattrs))
      return errno_error(cat("attribute ", printable(failed.name)), failed.err);
    TRY_SET(bool copied_up, is_copied_up(folder, name));
    if (copied_up) TRY(set_copied_up(to.folder.get(), to.name));
    return {};
  }

  Result<void> finish_folder(const std::pair<std::string, struct stat>& folder) {
    TRY_SET(Place to, open_parent(to_, folder.first));
    return give(to.folder.get(), to.name, folder.second, false);
  }

  // The owner first: giving a file away takes its set-id bits.
  Result<void> give(int at, const std::string& name, const struct stat& st, bool is_link) {
    if (::fchownat(at, name.c_str(), st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != EPERM) return errno_error("chown", errno);
      report_.owners_kept = false;
    }
    if (!is_link && ::fchmodat(at, name.c_str(), st.st_mode & 07777, 0) < 0) return errno_error("chmod", errno);
    const timespec times[2] = {st.st_atim, st.st_mtim};
    if (::utimensat(at, name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0) return errno_error("set time", errno);
    return {};
  }

  int from_, to_;
  Unlocked unlocked_;
  CopyReport report_;
  std::vector<std::pair<std::string, struct stat>> folders_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;
};

}  // namespace

Result<CopyReport> copy_upper(const std::string& from, const std::string& to) {
  if (::access(to.c_str(), F_OK) == 0) return make_error(ErrorCode::kInvalid, cat(printable(to), " is already there"));
  TRY_SET(sys::Fd source, open_root(from));
  TRY_SET(Beside fresh, Beside::make(to, "copy"));
  TRY_SET(auto report, Copier(source.get(), fresh.fd()).run().context(cat("copy ", printable(from))));
  TRY(fresh.take_place(Beside::Sync::kNo));
  return report;
}

namespace {

// A program that is held to a disk limit by this runs meanwhile, and may not want to be counted: what has gone is nothing, a folder
// that is closed again is opened again, and what lies deeper than a path can say is counted from a folder on the way.
class Counter {
 public:
  static constexpr std::size_t kFar = 1024;  // of a path's bytes
  static constexpr int kMostHops = 256, kTries = 5;

  Result<void> all_below(int root, int hops) {
    Unlocked unlocked;
    std::vector<std::string> folders = {""};
    while (!folders.empty()) {
      std::string path = std::move(folders.back());
      folders.pop_back();
      auto folder = open(root, path, unlocked);
      if (!folder.ok()) {
        const int e = folder.error().err;
        if (e == ENOENT || e == ENOTDIR || e == ELOOP) continue;
        return std::move(folder).error();
      }
      if (path.size() > kFar) {
        if (hops == kMostHops) return make_error(ErrorCode::kLimit, "folders lie too deep to be counted");
        TRY(all_below(folder.value().get(), hops + 1));
        continue;
      }
      std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.value().get()), ::closedir);
      if (!stream) return errno_error(cat("read ", printable(path)), errno);
      const int fd = folder.value().release();
      while (dirent* e = ::readdir(stream.get())) {
        std::string_view name = e->d_name;
        struct stat st {};
        if (name == "." || name == ".." || ::fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) continue;
        if (add(st)) folders.push_back(below(path, name));
      }
    }
    return {};
  }

  DiskUsage found;

 private:
  static Result<sys::Fd> open(int root, const std::string& path, Unlocked& unlocked) {
    auto folder = open_folder(root, path);
    for (int i = 0; i < kTries && !folder.ok() && folder.error().err == EACCES; ++i) {
      TRY(unlocked.folder(root, path));
      folder = open_folder(root, path);
    }
    return folder;
  }

  bool add(const struct stat& st) {  // whether there is more in it
    const bool folder = S_ISDIR(st.st_mode);
    if (st.st_nlink > 1 && !folder && !seen_.emplace(st.st_dev, st.st_ino).second) return false;
    ++found.inodes;
    found.bytes.n += static_cast<std::uint64_t>(st.st_blocks) * 512;
    if (S_ISREG(st.st_mode)) found.apparent.n += static_cast<std::uint64_t>(st.st_size);
    return folder;
  }

  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

Result<DiskUsage> usage(const std::string& upper) {
  TRY_SET(sys::Fd root, open_root(upper));
  Counter counter;
  TRY(counter.all_below(root.get(), 0));
  return counter.found;
}

}  // namespace hotcell::cells
