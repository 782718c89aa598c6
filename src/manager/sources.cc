#include "manager/sources.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {

namespace {

constexpr std::size_t kMostFiles = 4096;
constexpr int kDeepest = 32;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

bool has_extension_of(const Language& language, std::string_view name) {
  auto dot = name.rfind('.');
  return dot != std::string_view::npos && dot != 0 &&
         std::find(language.extensions.begin(), language.extensions.end(), name.substr(dot)) !=
             language.extensions.end();
}

class ProjectReader {
 public:
  Result<void> read(int folder, const std::string& prefix, int depth) {
    if (depth > kDeepest) return bad(cat(printable(prefix), ": nested too deep"));
    sys::Fd again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* stream = again.valid() ? ::fdopendir(again.get()) : nullptr;
    if (stream == nullptr) return errno_error(printable(prefix), errno);
    again.release();
    std::vector<std::string> names;
    while (dirent* e = ::readdir(stream)) names.emplace_back(e->d_name);
    ::closedir(stream);
    std::sort(names.begin(), names.end());  // the same key for the same folder, whatever order the disk has
    for (const auto& name : names) {
      if (name == "." || name == ".." || name == ".git" || (depth == 0 && (name == "target" || name == ".hotcell")))
        continue;
      TRY(read_one(folder, name, cat(prefix, name), depth));
    }
    return {};
  }
  std::vector<SourceFile> take() { return std::move(files_); }

 private:
  Result<void> read_one(int folder, const std::string& name, const std::string& path, int depth) {
    auto opened = sys::open_at(folder, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    // A link may point anywhere, and the compile cell sees nothing outside the folder either.
    if (!opened.ok() && (opened.error().err == ELOOP || opened.error().err == ENXIO)) return {};
    if (!opened.ok()) return std::move(opened).error();
    TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), path));
    if (S_ISDIR(s.st_mode)) return read(opened.value().get(), path + "/", depth + 1);
    if (!S_ISREG(s.st_mode)) return {};
    auto size = static_cast<std::uint64_t>(s.st_size);
    if (files_.size() == kMostFiles) return bad(cat("more than ", kMostFiles, " files in the folder"));
    if (size > kLargestProject.n - total_) return bad("the folder has more than 64 MiB of files");
    total_ += size;
    TRY_SET(std::string text, sys::read_fd(opened.value().get(), kLargestProject.n));
    files_.push_back({path, std::move(text)});
    return {};
  }

  std::uint64_t total_ = 0;
  std::vector<SourceFile> files_;
};

}  // namespace

Result<std::string> source_name(const Language& language, std::string_view file, std::string_view text) {
  file = file.substr(file.rfind('/') + 1);
  for (unsigned char c : file)
    if (c < 0x20 || c == 0x7f) return bad(cat(printable(file), ": a source's name must not have control characters"));
  if (language.file_name != nullptr)
    if (auto name = language.file_name(text); !name.empty()) return name;
  if (file.empty() || (language.compile != nullptr && !has_extension_of(language, file)))
    return std::string(language.main_file);
  return std::string(file);
}

Result<Sources> read_project(const std::string& folder, const Language& language) {
  TRY_SET(sys::Fd top, sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  ProjectReader reader;
  TRY(reader.read(top.get(), "", 0).context(folder));
  Sources out;
  out.files = reader.take();
  out.project = true;
  for (auto manifest : language.manifests)
    if (out.find(manifest) != nullptr) out.main = std::string(manifest);
  if (out.main.empty())
    return bad(
        cat(folder, ": no ", language.manifests.empty() ? "manifest" : language.manifests[0], " in this folder"));
  return out;
}

}  // namespace hotcell
