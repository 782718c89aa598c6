#include "store/artefact_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/strings.h"
#include "store/pack.h"
#include "sys/file.h"

namespace hotcell {

namespace {

constexpr std::string_view kSuffix = ".pack", kFolder = ".folder", kTemporary = ".tmp";
constexpr const char* kLock = "lock";
constexpr std::time_t kForgotten = 3600;  // a temporary file this old belongs to a process that died
constexpr std::time_t kTouchAfter = 60;   // "used lately" need not be exact, and a write costs more than a look

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 200 && key[0] != '.' && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

// Ours alone: whoever else could have written it could choose what we run.
bool is_own(const struct stat& s) { return s.st_uid == ::geteuid() && (s.st_mode & 0077) == 0; }

struct Entry {
  std::string name;
  std::uint64_t size;
  std::time_t used;
};

std::vector<std::string> names_in(int folder, const char* path) {
  std::vector<std::string> out;
  sys::Fd opened(::openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DIR* stream = opened.valid() ? ::fdopendir(opened.get()) : nullptr;
  if (stream == nullptr) return out;
  opened.release();
  while (dirent* e = ::readdir(stream))
    if (std::string_view name = e->d_name; name != "." && name != "..") out.emplace_back(name);
  ::closedir(stream);
  return out;
}

// With all that is in it, which is of our own making and not deep.
std::uint64_t size_of(int folder, const std::string& path, const struct stat& s) {
  std::uint64_t size = static_cast<std::uint64_t>(s.st_blocks) * 512;
  if (!S_ISDIR(s.st_mode)) return size;
  for (const auto& name : names_in(folder, path.c_str())) {
    std::string below = cat(path, "/", name);
    struct stat inner {};
    if (::fstatat(folder, below.c_str(), &inner, AT_SYMLINK_NOFOLLOW) == 0) size += size_of(folder, below, inner);
  }
  return size;
}

bool remove_entry(int folder, const std::string& path) {
  if (::unlinkat(folder, path.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  for (const auto& name : names_in(folder, path.c_str()))
    if (!remove_entry(folder, cat(path, "/", name))) return false;
  return ::unlinkat(folder, path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

std::vector<Entry> list(int folder) {
  std::vector<Entry> out;
  for (const auto& name : names_in(folder, ".")) {
    struct stat s {};
    if (!name.ends_with(kSuffix) && !name.ends_with(kFolder) && !name.ends_with(kTemporary)) continue;
    if (::fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out.push_back({name, size_of(folder, name, s), s.st_mtim.tv_sec});
  }
  return out;
}

// A folder's list of what is in it: a machine that lost its power may have kept the names and not the bytes.
constexpr std::string_view kList = ".sizes";

bool is_whole(int folder, const std::string& path) {
  sys::Fd file(::openat(folder, cat(path, "/", kList).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  auto text = file.valid() ? sys::read_fd(file.get()) : Result<std::string>(make_error(ErrorCode::kNotFound, "no list"));
  if (!text.ok() || text.value().empty()) return false;
  for (auto line : split(trim(text.value()), '\n')) {
    auto space = line.find(' ');
    struct stat s {};
    if (space == line.npos || ::fstatat(folder, cat(path, "/", line.substr(space + 1)).c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (!S_ISREG(s.st_mode) || cat(static_cast<std::uint64_t>(s.st_size)) != line.substr(0, space)) return false;
  }
  return true;
}

std::string temporary_name() {
  static std::atomic<unsigned> counter = 0;
  return cat("w", ::getpid(), "-", counter++, kTemporary);
}

Result<void> make_folders(const std::string& path) {
  for (auto at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) < 0 && errno != EEXIST) return errno_error(cat("mkdir ", printable(part)), errno);
    if (at == std::string::npos) return {};
  }
}

// Held while entries are counted and removed. Readers need none: a removed file stays whole for who has it open.
class Lock {
 public:
  explicit Lock(int folder) : fd_(::openat(folder, kLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    while (fd_.valid() && ::flock(fd_.get(), LOCK_EX) < 0 && errno == EINTR) {
    }
  }

 private:
  sys::Fd fd_;  // closing it lets go
};

}  // namespace

std::string ArtefactCache::standard_folder() {
  const char* cache = ::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return cat(cache, "/hotcell");
  if (::geteuid() == 0) return "/var/cache/hotcell";
  const char* home = ::getenv("HOME");
  return home != nullptr && home[0] == '/' ? cat(home, "/.cache/hotcell") : std::string();
}

Result<ArtefactCache> ArtefactCache::open(const std::string& folder, Bytes limit) {
  if (!folder.starts_with('/')) return make_error(ErrorCode::kNotFound, "no folder is known for the cache (HOME is not set)");
  ArtefactCache cache;
  cache.path_ = folder;
  cache.limit_ = limit;
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  auto opened = sys::open(folder.c_str(), flags);
  if (!opened.ok() && opened.error().err == ENOENT) {
    TRY(make_folders(folder));
    opened = sys::open(folder.c_str(), flags);
  }
  if (!opened.ok()) return std::move(opened).error();
  cache.folder_ = std::move(opened).value();
  TRY_SET(struct stat s, sys::stat_fd(cache.folder_.get(), folder));
  if (!is_own(s)) {
    return make_error(ErrorCode::kDenied, cat(printable(folder), " must belong to uid ", ::geteuid(),
                                              " and be closed to everybody else (chmod 700); it is not used"));
  }
  return cache;
}

std::optional<std::vector<OutputFile>> ArtefactCache::get(const std::string& key) const {
  if (!is_key(key)) return std::nullopt;
  std::string name = cat(key, kSuffix);
  sys::Fd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ELOOP) ::unlinkat(folder_.get(), name.c_str(), 0);
    return std::nullopt;
  }
  struct stat s {};
  if (::fstat(file.get(), &s) == 0 && S_ISREG(s.st_mode) && is_own(s) && s.st_nlink == 1 &&
      static_cast<std::uint64_t>(s.st_size) <= limit_.n) {
    std::string bytes(static_cast<std::size_t>(s.st_size), '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
      ssize_t n = ::pread(file.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    auto files = got == bytes.size() ? unpack_files(bytes) : std::nullopt;
    if (files) {
      if (std::time(nullptr) - s.st_mtim.tv_sec > kTouchAfter) ::futimens(file.get(), nullptr);
      return files;
    }
  }
  ::unlinkat(folder_.get(), name.c_str(), S_ISDIR(s.st_mode) ? AT_REMOVEDIR : 0);
  return std::nullopt;
}

Result<void> ArtefactCache::put(const std::string& key, std::span<const OutputFile> files) const {
  if (!is_key(key)) return make_error(ErrorCode::kInvalid, cat("not a key of the cache: ", printable(key)));
  std::string bytes = pack_files(files);
  if (bytes.size() > limit_.n / 4) return make_error(ErrorCode::kLimit, "too large for the cache");
  std::string temporary = temporary_name(), name = cat(key, kSuffix);
  remove_entry(folder_.get(), temporary);  // of an earlier process with our number
  {
    TRY_SET(sys::Fd out, sys::open_at(folder_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    auto written = sys::write_all(out.get(), bytes);
    // At once under its name or not at all: nobody ever reads half an entry.
    if (!written.ok() || ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) < 0) {
      int err = errno;
      ::unlinkat(folder_.get(), temporary.c_str(), 0);
      if (!written.ok()) return written;
      return errno_error(cat("rename ", name), err);
    }
  }
  shrink();
  return {};
}

std::optional<std::string> ArtefactCache::folder_of(const std::string& key) const {
  if (!is_key(key)) return std::nullopt;
  std::string name = cat(key, kFolder);
  struct stat s {};
  if (::fstatat(folder_.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISDIR(s.st_mode) || !is_own(s) || !is_whole(folder_.get(), name)) {
    remove_entry(folder_.get(), name);
    return std::nullopt;
  }
  if (std::time(nullptr) - s.st_mtim.tv_sec > kTouchAfter) ::utimensat(folder_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return cat(path_, "/", name);
}

Result<std::string> ArtefactCache::put_folder(const std::string& key, std::span<const OutputFile> files) const {
  if (!is_key(key)) return make_error(ErrorCode::kInvalid, cat("not a key of the cache: ", printable(key)));
  std::uint64_t total = 0;
  for (const auto& f : files) total += f.bytes.size();
  if (total > limit_.n / 4) return make_error(ErrorCode::kLimit, "too large for the cache");
  std::string temporary = temporary_name(), name = cat(key, kFolder);
  remove_entry(folder_.get(), temporary);
  auto write = [&]() -> Result<void> {
    std::string all;
    if (::mkdirat(folder_.get(), temporary.c_str(), 0700) < 0) return errno_error(cat("mkdir ", temporary), errno);
    for (const auto& f : files) {
      std::string path = cat(temporary, "/", f.name);
      for (auto at = path.find('/', temporary.size() + 1); at != path.npos; at = path.find('/', at + 1))
        if (::mkdirat(folder_.get(), path.substr(0, at).c_str(), 0700) < 0 && errno != EEXIST) return errno_error(cat("mkdir ", path), errno);
      TRY_SET(sys::Fd out, sys::open_at(folder_.get(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
      TRY(sys::write_all(out.get(), f.bytes));
      all += cat(f.bytes.size(), " ", f.name, "\n");
    }
    TRY_SET(sys::Fd told, sys::open_at(folder_.get(), cat(temporary, "/", kList).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    TRY(sys::write_all(told.get(), all));
    // Somebody may have been faster: theirs is the same.
    if (::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) < 0 && errno != EEXIST && errno != ENOTEMPTY) return errno_error(cat("rename ", name), errno);
    return {};
  };
  auto written = write();
  remove_entry(folder_.get(), temporary);
  if (!written.ok()) return std::move(written).error();
  shrink();
  return cat(path_, "/", name);
}

void ArtefactCache::shrink() const {
  Lock lock(folder_.get());
  auto entries = list(folder_.get());
  auto now = std::time(nullptr);
  std::uint64_t total = 0;
  for (const auto& e : entries) {
    if (e.name.ends_with(kTemporary) && now - e.used > kForgotten) remove_entry(folder_.get(), e.name);
    total += e.size;
  }
  if (total <= limit_.n) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // Some room at once, so that not every new entry has to remove one.
  const std::uint64_t goal = limit_.n / 10 * 9;
  for (const auto& e : entries) {
    if (total <= goal) return;
    if (e.name.ends_with(kTemporary) || !remove_entry(folder_.get(), e.name)) continue;
    total -= e.size;
  }
}

CacheStats ArtefactCache::stats() const {
  CacheStats out;
  for (const auto& e : list(folder_.get())) {
    ++out.entries;
    out.bytes.n += e.size;
  }
  return out;
}

Result<CacheStats> ArtefactCache::clear() const {
  Lock lock(folder_.get());
  CacheStats removed;
  for (const auto& e : list(folder_.get())) {
    if (!remove_entry(folder_.get(), e.name)) return errno_error(cat("remove ", e.name), errno);
    ++removed.entries;
    removed.bytes.n += e.size;
  }
  return removed;
}

}  // namespace hotcell
