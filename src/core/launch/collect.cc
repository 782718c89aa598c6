#include "core/launch/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostFiles = 4096;
constexpr int kDeepest = 32;

class Collector {
 public:
  explicit Collector(Bytes limit) : left_(limit.n) {}

  Result<void> add(int folder, const std::string& at, const std::string& name, int depth) {
    // Non-blocking: opening a FIFO would wait for a writer that is dead.
    auto opened = sys::open_beneath(folder, at.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0, false);
    if (!opened.ok()) {
      if (opened.error().err == ELOOP) return refused(name, "is a symbolic link");
      if (opened.error().err == ENXIO) return refused(name, "is not a regular file");
      return std::move(opened).error().context(printable(name));
    }
    TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), name));
    if (S_ISDIR(s.st_mode)) return add_folder(std::move(opened).value(), name, depth);
    if (!S_ISREG(s.st_mode)) return refused(name, "is not a regular file");
    return add_file(opened.value().get(), s, name);
  }

  std::vector<OutputFile> take() { return std::move(files_); }

 private:
  static Error refused(const std::string& name, std::string_view why) {
    return make_error(ErrorCode::kDenied, cat(printable(name), " ", why));
  }

  Result<void> add_file(int fd, const struct stat& s, const std::string& name) {
    auto size = static_cast<std::uint64_t>(s.st_size);
    if (size > left_) return make_error(ErrorCode::kLimit, cat(printable(name), " is larger than the disk limit"));
    if (files_.size() == kMostFiles) return make_error(ErrorCode::kLimit, cat("more than ", kMostFiles, " files"));
    left_ -= size;
    TRY_SET(std::string bytes, sys::read_fd(fd, size));
    files_.push_back({name, std::move(bytes), (s.st_mode & 0100) != 0});
    return {};
  }

  Result<void> add_folder(sys::Fd folder, const std::string& name, int depth) {
    if (depth == kDeepest) return make_error(ErrorCode::kLimit, cat(printable(name), " is nested too deep"));
    std::vector<std::string> names;
    DIR* stream = ::fdopendir(folder.get());
    if (stream == nullptr) return errno_error(printable(name), errno);
    int fd = folder.release();  // the stream's now
    while (dirent* e = ::readdir(stream)) {
      std::string_view entry = e->d_name;
      if (entry != "." && entry != ".." && names.size() <= kMostFiles) names.emplace_back(entry);
    }
    std::sort(names.begin(), names.end());
    Result<void> done;
    for (const auto& entry : names) {
      done = add(fd, entry, cat(name, "/", entry), depth + 1);
      if (!done.ok()) break;
    }
    ::closedir(stream);
    return done;
  }

  std::uint64_t left_;
  std::vector<OutputFile> files_;
};

}  // namespace

Result<std::vector<OutputFile>> collect_outputs(int workspace, std::span<const std::string> names, Bytes limit) {
  Collector collector(limit);
  for (const auto& name : names) TRY(collector.add(workspace, name, name, 0));
  return collector.take();
}

std::vector<OutputFile> collect_present(int workspace, std::span<const std::string> names, Bytes limit) {
  std::vector<OutputFile> out;
  for (const auto& name : names) {
    Collector collector(limit);
    if (!collector.add(workspace, name, name, 0).ok()) continue;
    for (auto& file : collector.take()) out.push_back(std::move(file));
  }
  return out;
}

}  // namespace hotcell
