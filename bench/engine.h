// A docker engine of the benchmark's own, in a folder, mounts and groups of its own, gone at the end; and the command line of its
// own client for what the library asks of it.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backends/engine/client.h"
#include "backends/engine/container.h"
#include "backends/tools.h"
#include "base/strings.h"

namespace bench {

class Docker {
 public:
  Docker() {
    char path[] = "/tmp/hotcell-bench.XXXXXX";
    if (::mkdtemp(path) == nullptr) return;
    folder_ = path;
    const std::string f = folder_;
    std::vector<std::string> words = {"/usr/bin/setpriv", "--pdeathsig", "TERM", "/usr/bin/unshare", "--mount", "--propagation", "private", "/usr/sbin/dockerd",
                                      "--data-root", f + "/data", "--exec-root", f + "/x", "-H", "unix://" + socket(), "--pidfile", f + "/pid", "--iptables=false",
                                      "--ip6tables=false", "--ip-forward=false", "--bridge=none", "--storage-driver=overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs",
                                      "--cgroup-parent", "/" + group()};
    std::vector<char*> argv;
    for (auto& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int fd : {0, 1, 2}) ::posix_spawn_file_actions_addopen(&actions, fd, fd == 0 ? "/dev/null" : (f + "/log").c_str(), fd == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = 0;
    ::posix_spawn_file_actions_destroy(&actions);
    hotcell::backends::EngineClient client("docker", socket());
    for (int i = 0; i < 300 && !up_; ++i) {
      up_ = client.ping(std::chrono::seconds(2)).ok();
      if (!up_) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  ~Docker() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      for (int i = 0; i < 1500 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::error_code ignored;
    for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) ::rmdir((hierarchy.path().string() + "/" + group()).c_str());
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  bool up() const { return up_; }
  std::string socket() const { return folder_ + "/s"; }

  // The same container by the client's own words. Its image is there once the library has run something.
  std::vector<std::string> command(const hotcell::backends::ToolRequest& r, std::string_view client) const {
    using namespace hotcell;
    using namespace hotcell::backends;
    auto shown = view_sealed(r);
    if (!shown) return {};
    const Limits& l = r.policy.limits;
    std::vector<std::string> out = {std::string(client), "-H", "unix://" + socket(), "run", "--rm", "--network=none", "--ipc=private", "--cgroupns=private", "--userns=host", "--read-only",
                                    "--cap-drop=ALL", "--security-opt=no-new-privileges:true", cat("--security-opt=seccomp=", r.scratch, "/seccomp.json"), cat("--memory=", l.memory.n),
                                    cat("--memory-swap=", l.memory.n), cat("--pids-limit=", l.processes + 2), cat("--shm-size=", l.disk.n), "--log-driver=none", cat("--ulimit=nofile=", l.open_files),
                                    cat("--ulimit=fsize=", l.disk.n), "--ulimit=core=0", cat("--ulimit=nproc=", l.processes + 2), "--hostname=cell", cat("--user=", r.inside, ":", r.inside), "--workdir=/work"};
    for (const auto& [k, v] : r.env) out.push_back(cat("--env=", k, "=", v));
    for (const auto& s : shown.value()) {
      if (s.kind == Shown::Kind::kTmpfs) out.push_back(cat("--tmpfs=", s.target, ":rw,exec,nosuid,nodev,mode=1777,size=", s.size.n));
      if (s.kind == Shown::Kind::kBind)
        out.push_back(cat("--mount=type=bind,source=", s.source, ",target=", s.target, s.read_only ? ",readonly" : "", ",bind-propagation=rprivate"));
    }
    out.push_back(root_image(empty_root(shown.value())));
    for (auto word : kWatchedFirst) out.emplace_back(word);
    for (const auto& word : r.request.argv) out.push_back(word);
    return out;
  }

 private:
  static std::string group() { return hotcell::cat("hotcell/bench-", ::getpid()); }
  std::string folder_;
  pid_t pid_ = 0;
  bool up_ = false;
};

}  // namespace bench
