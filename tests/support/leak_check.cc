#include "support/leak_check.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "support/cells.h"

namespace hotcell::testing {
namespace {

std::set<std::string> children() {
  std::set<std::string> out;
  for (const auto& task : matches("/proc/self/task/*/children")) {
    std::istringstream words(read_text(task));
    for (std::string pid; words >> pid;) out.insert(pid + " " + first_line("/proc/" + pid + "/comm"));
  }
  return out;
}

std::set<std::string> mounts() {
  std::set<std::string> out;
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    // From the fifth field on: mount ids and parents change for reasons of others.
    std::size_t at = 0;
    for (int i = 0; i < 4 && at != std::string::npos; ++i) at = line.find(' ', at + 1);
    std::string mount = at == std::string::npos ? line : line.substr(at + 1);
    // firejail, which is set-user-id, makes these three when it is first used on a machine, and keeps them; a suite beside this one may.
    if (!mount.starts_with("/run/firejail/")) out.insert(std::move(mount));
  }
  return out;
}

std::set<std::string> cgroups() {
  std::set<std::string> out;
  std::string mine = std::to_string(::getpid()) + "-";
  for (const char* pattern : {"/sys/fs/cgroup/*/hotcell/*-*-*", "/sys/fs/cgroup/hotcell/*-*-*"})
    for (const auto& path : matches(pattern))
      if (path.substr(path.rfind('/') + 1).starts_with(mine)) out.insert(path);
  return out;
}

std::set<std::string> descriptors() {
  std::set<std::string> out;
  DIR* dir = ::opendir("/proc/self/fd");
  while (dirent* e = ::readdir(dir)) {
    if (e->d_name[0] == '.' || std::stoi(e->d_name) == ::dirfd(dir)) continue;
    char target[512];
    ssize_t n = ::readlinkat(::dirfd(dir), e->d_name, target, sizeof target);
    std::string what(target, n > 0 ? static_cast<std::size_t>(n) : 0);
    out.insert(std::string(e->d_name) + " -> " + what);
  }
  ::closedir(dir);
  return out;
}

bool descends_from_us(int pid) {
  for (int rounds = 0; pid > 1 && rounds < 64; ++rounds) {
    if (pid == ::getpid()) return true;
    const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) return false;
    pid = std::atoi(stat.c_str() + name_end + 4);
  }
  return false;
}

// What a launcher makes is called after its pid. Of launchers that live and are not ours it is theirs; what has another name is
// looked for when all tests are over (`nothing left behind`).
std::set<std::string> files() {
  constexpr std::string_view kBegin = "/tmp/hotcell-";
  std::set<std::string> out;
  for (const auto& path : matches("/tmp/hotcell-[0-9]*-*")) {
    const int owner = std::atoi(path.c_str() + kBegin.size());
    struct stat st;
    if (::lstat(path.c_str(), &st) != 0 || st.st_uid != ::geteuid()) continue;
    if (::access(("/proc/" + std::to_string(owner)).c_str(), F_OK) == 0 && !descends_from_us(owner)) continue;
    out.insert(path);
  }
  return out;
}

std::string news(const Belongings& before, const Belongings& after) {
  std::string out;
  for (const auto& [kind, names] : after)
    for (const auto& name : names)
      if (!before.at(kind).contains(name)) out += "\n  " + kind + ": " + name;
  return out;
}

}  // namespace

Belongings belongings() {
  return {{"process", children()},
          {"mount", mounts()},
          {"cgroup", cgroups()},
          {"descriptor", descriptors()},
          {"file", files()}};
}

void LeakCheck::SetUp() {
  launcher().trim();  // its own descriptors are there before and after
  carried_program("");  // so is the copy of ourselves
  before_ = belongings();
}

void LeakCheck::TearDown() {
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // a busy machine takes its time to empty a cgroup
  std::string left;
  do {
    // The launcher removes what was still busy when a run ended.
    launcher().step(std::chrono::milliseconds(1)).ignore("only its housekeeping is wanted");
    launcher().trim();
    left = news(before_, belongings());
    if (left.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (std::chrono::steady_clock::now() < until);
  ADD_FAILURE() << "left behind:" << left;
}

}  // namespace hotcell::testing
