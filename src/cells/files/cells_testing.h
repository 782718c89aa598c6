// A project, a cell over it by the real overlayfs, and commands run there.
#pragma once
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/strings.h"
#include "cells/files/copy.h"
#include "cells/files/layers.h"

namespace hotcell::cells {

inline std::string read_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}
inline void write_text(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

struct Ran {
  int exit_code = -1;
  std::string output;
};

class Scratch {
 public:
  Scratch() {
    const char* tmp = std::getenv("TMPDIR");
    path_ = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-cells-XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    for (const char* folder : {"lower", "upper", "work", "merged", "state"}) std::filesystem::create_directory(cat(path_, "/", folder));
    base_ = base_time_now();
  }
  ~Scratch() {
    // On overlay's work folder nobody has rights; our own removal copes, which is a test of its own.
    auto removed = remove_tree(path_);
    EXPECT_TRUE(removed.ok()) << removed.error().message;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(std::string_view name) const { return cat(path_, "/", name); }
  Layers layers() const { return {*this / "lower", *this / "upper"}; }
  Time base() const { return base_; }
  // From now on the project counts as changed underneath. Files are stamped by a clock that is some milliseconds behind.
  void project_is_as_it_was() {
    base_ = base_time_now();
    ::usleep(30'000);
  }

  // A shell script in `folder`. Its output includes its errors.
  static Ran run(const std::string& folder, const std::string& script) {
    return started([&] { return ::chdir(folder.c_str()) == 0; }, script);
  }
  // In the workspace, which is mounted for it alone: as root in a mount namespace, as anybody else in a user namespace.
  Ran in_cell(const std::string& script) const {
    return started([&] { return mount_overlay(); }, script);
  }

 private:
  bool mount_overlay() const {
    const bool root = ::geteuid() == 0;
    const auto uid = ::geteuid();
    const auto gid = ::getegid();
    if (::unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) != 0) return false;
    if (!root) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    std::string options = cat("lowerdir=", *this / "lower", ",upperdir=", *this / "upper", ",workdir=", *this / "work",
                              ",index=off,metacopy=off,userxattr");
    if (::mount("overlay", (*this / "merged").c_str(), "overlay", 0, options.c_str()) != 0) return false;
    return ::chdir((*this / "merged").c_str()) == 0;
  }

  template <typename Prepare>
  static Ran started(Prepare prepare, const std::string& script) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) std::abort();
    pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(pipe[1], 1);
      ::dup2(pipe[1], 2);
      if (!prepare()) {
        ::perror("prepare");
        ::_exit(126);
      }
      ::execl("/bin/bash", "bash", "-ec", script.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(pipe[1]);
    Ran ran;
    char buffer[4096];
    while (ssize_t n = ::read(pipe[0], buffer, sizeof buffer)) {
      if (n < 0) break;
      ran.output.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ran;
  }

  std::string path_;
  Time base_{};
};

#define IN_CELL(scratch, script)                             \
  do {                                                       \
    auto ran_ = (scratch).in_cell(script);                   \
    ASSERT_EQ(ran_.exit_code, 0) << ran_.output << (script); \
  } while (0)
#define ASSERT_OK(expr)                                                  \
  do {                                                                   \
    auto&& result_ = (expr);                                             \
    ASSERT_TRUE(result_.ok()) << (result_.ok() ? "" : result_.error().message); \
  } while (0)

// Everything that can be told of a tree from outside, line by line: two trees are the same when these texts are. Nobody sees
// when a deletion was marked, nor whose mark it is.
inline std::string tree_listing(const std::string& folder) {
  auto ran = Scratch::run(folder,
                          "LC_ALL=C; find . -mindepth 1 \\( -type c -printf '%P|deleted\\n' -o -printf '%P|%y|%#m|%U:%G|%n|%l|%T@\\n' \\) | sort; "
                          "find . -type f -print0 | sort -z | xargs -0r sha256sum; "
                          "python3 -c 'import os\nfor p, d, f in sorted(os.walk(\".\")):\n for n in sorted(d + f):\n  q = p + \"/\" + n\n"
                          "  for a in sorted(os.listxattr(q, follow_symlinks=False)):\n"
                          "   if \".overlay.\" not in a: print(q, a, os.getxattr(q, a, follow_symlinks=False))'");
  return ran.output;
}

}  // namespace hotcell::cells
