#include "backends/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/strings.h"
#include "core/launch/workspace.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

// Those above `name` that are not there yet, below a folder that is.
Result<void> make_folders(const std::string& top, const std::string& name, std::set<std::string>& made) {
  for (auto at = name.find('/', 1); at != name.npos; at = name.find('/', at + 1)) {
    std::string path = cat(top, "/", name.substr(0, at));
    if (!made.insert(path).second) continue;
    if (::mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) return errno_error(path, errno);
  }
  return {};
}

// What a name and an inode take of a disk, though no block is counted for them: empty files fill one too.
constexpr std::uint64_t kEntry = 512;

// Bounded: a workspace of millions of files is looked at again and again.
std::uint64_t sum(int folder, int depth, std::size_t& entries) {
  std::uint64_t total = 0;
  auto names = sys::list_dir(cat("/proc/self/fd/", folder).c_str());
  if (!names.ok() || depth > 64) return 0;
  for (const auto& name : names.value()) {
    struct stat st {};
    if (++entries > 200'000 || ::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) < 0) continue;
    total += static_cast<std::uint64_t>(st.st_blocks) * 512 + kEntry;
    if (!S_ISDIR(st.st_mode)) continue;
    sys::Fd below(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below.valid()) total += sum(below.get(), depth + 1, entries);
  }
  return total;
}

}  // namespace

Result<Scratch> Scratch::make(unsigned id) {
  Scratch out;
  TRY_SET(std::string path, make_flat_folder());
  out.path_ = path;
  std::string work = cat(path, "/work");
  if (::mkdir(work.c_str(), 0755) < 0) return errno_error(work, errno);
  TRY_SET(out.work_, sys::open(work.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  TRY(out.give(id));
  return out;
}

Result<void> Scratch::give(unsigned id) {
  id_ = id;
  if (id == 0) return {};
  // As root another id passes through to what is its own; nobody can list it.
  if (::chmod(path_.c_str(), 0711) < 0 || ::fchown(work_.get(), id, id) < 0) return errno_error(path_, errno);
  return {};
}

Result<void> Scratch::write(const std::vector<Piece>& pieces) { return write_pieces(path_, pieces, id_); }

Result<void> write_pieces(const std::string& folder, const std::vector<Piece>& pieces, unsigned id) {
  std::set<std::string> made;
  for (const auto& p : pieces) {
    std::string path = cat(folder, "/", p.name);
    TRY(make_folders(folder, p.name, made));
    switch (p.kind) {
      case Piece::Kind::kFolder:
        if (::mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) return errno_error(path, errno);
        if ((p.mode & S_ISVTX) != 0 && ::chmod(path.c_str(), p.mode) < 0) return errno_error(path, errno);
        if (p.owned && id != 0 && ::chown(path.c_str(), id, id) < 0) return errno_error(path, errno);
        break;
      case Piece::Kind::kLink:
        if (::symlink(p.bytes.c_str(), path.c_str()) < 0 && errno != EEXIST) return errno_error(path, errno);
        break;
      case Piece::Kind::kFifo:
        if ((::mkfifo(path.c_str(), 0600) < 0 && errno != EEXIST) || ::chmod(path.c_str(), p.mode) < 0) return errno_error(path, errno);
        break;
      case Piece::Kind::kFile: {
        TRY_SET(sys::Fd file, sys::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
        TRY(sys::write_all(file.get(), p.bytes));
        if (::fchmod(file.get(), p.mode) < 0) return errno_error(path, errno);
        break;
      }
    }
  }
  return {};
}

std::uint64_t Scratch::used() const {
  std::size_t entries = 0;
  return work_.valid() ? sum(work_.get(), 0, entries) : 0;
}

void Scratch::remove() {
  work_.reset();
  if (!path_.empty()) remove_flat_workspace(path_);
  path_.clear();
}

bool run_quietly(const std::vector<std::string>& argv, int seconds) {
  std::vector<char*> words;
  for (const auto& a : argv) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int fd : {0, 1, 2}) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* env[] = {path, nullptr};
  pid_t pid = 0;
  // In a group of its own: what is typed at a terminal is meant for us.
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&how, 0);
  bool begun = ::posix_spawn(&pid, words[0], &actions, &how, words.data(), env) == 0;
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&actions);
  if (!begun) return false;
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > until) ::kill(-pid, SIGKILL);  // with what it has started
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace hotcell::backends
