#include "backends/engines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "backends/engine/client.h"
#include "base/strings.h"

namespace hotcell::testing {
namespace {

using namespace std::chrono_literals;

struct Engine {
  std::string folder, socket;
  pid_t pid = 0;
};
Engine g_docker, g_podman;

std::string make_folder() {
  char path[] = "/tmp/hotcell-engine.XXXXXX";
  if (::mkdtemp(path) == nullptr) return {};
  ::chmod(path, 0755);
  return path;
}

// In a mount namespace of its own, so that what it mounts goes with it; and it goes with us.
pid_t spawn(std::vector<std::string> command, const std::string& log, const std::string& variable) {
  std::vector<std::string> argv = {"/usr/bin/setpriv", "--pdeathsig", "TERM", "/usr/bin/unshare", "--mount", "--propagation", "private"};
  argv.insert(argv.end(), command.begin(), command.end());
  std::vector<char*> words;
  for (auto& a : argv) words.push_back(a.data());
  words.push_back(nullptr);
  std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", home = "HOME=/root", more = variable;
  char* env[] = {path.data(), home.data(), more.empty() ? nullptr : more.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  int failed = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), env);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : 0;
}

void await(const Engine& engine, const char* name) {
  backends::EngineClient client(name, engine.socket);
  for (int i = 0; i < 300; ++i) {
    if (client.ping(2000ms).ok()) return;
    std::this_thread::sleep_for(100ms);
  }
  std::ifstream log(engine.folder + "/log");
  ADD_FAILURE() << name << " does not come up:\n" << std::string(std::istreambuf_iterator<char>(log), {});
}

void remove_groups(const char* name) {
  std::error_code ignored;
  for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
    std::string path = cat(hierarchy.path().string(), "/", name);
    for (int i = 0; i < 20 && std::filesystem::exists(path, ignored); ++i) {
      std::vector<std::string> folders = {path};
      for (const auto& e : std::filesystem::recursive_directory_iterator(path, ignored))
        if (e.is_directory(ignored)) folders.push_back(e.path().string());
      for (auto it = folders.rbegin(); it != folders.rend(); ++it) ::rmdir(it->c_str());
      std::this_thread::sleep_for(10ms);
    }
  }
}

void stop(Engine& engine) {
  if (engine.pid == 0) return;
  ::kill(engine.pid, SIGTERM);
  for (int i = 0; i < 1500 && ::waitpid(engine.pid, nullptr, WNOHANG) == 0; ++i) {
    if (i == 1400) ::kill(engine.pid, SIGKILL);
    std::this_thread::sleep_for(10ms);
  }
  // Podman's monitors of commands wait five minutes for somebody to ask how it ended: known by our folder, which is in their words.
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream in(process.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(in)), {});
    if (line.starts_with("/usr/bin/conmon") && line.find(engine.folder + "/") != line.npos) ::kill(std::atoi(process.path().filename().c_str()), SIGKILL);
  }
  std::filesystem::remove_all(engine.folder, ignored);
  engine = {};
}

std::string own_group() { return cat("hotcell/engine-", ::getpid()); }

class Engines : public ::testing::Environment {
 public:
  void TearDown() override { stop_engines(); }
};
const auto* g_environment = ::testing::AddGlobalTestEnvironment(new Engines);

}  // namespace

std::vector<std::string> engines_here() {
  if (::geteuid() != 0) return {};
  return {"docker", "podman"};
}

std::string docker_socket() {
  if (::geteuid() != 0) return {};
  Engine& e = g_docker;
  if (e.pid != 0) return e.socket;
  e.folder = make_folder();
  e.socket = e.folder + "/s";
  // gVisor under a name of its own: one that is called runsc would be taken for every run.
  std::ofstream(e.folder + "/daemon.json") << R"({"runtimes":{"other":{"path":"/usr/sbin/runc"},"gvisor":{"path":"/usr/bin/runsc","runtimeArgs":["--network=none","--ignore-cgroups","--platform=ptrace"]}}})";
  e.pid = spawn({"/usr/sbin/dockerd", "--config-file", e.folder + "/daemon.json", "--data-root", e.folder + "/data", "--exec-root", e.folder + "/x", "-H", "unix://" + e.socket, "--pidfile", e.folder + "/pid",
                 "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none", "--storage-driver=overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs",
                 "--cgroup-parent", "/" + own_group()},
                e.folder + "/log", "");
  await(e, "docker");
  return e.socket;
}

std::string podman_socket() {
  if (::geteuid() != 0) return {};
  Engine& e = g_podman;
  if (e.pid != 0) return e.socket;
  e.folder = make_folder();
  e.socket = e.folder + "/s";
  std::ofstream(e.folder + "/containers.conf") << "[containers]\ndefault_ulimits=[\"nofile=1024:1024\",\"nproc=4096:4096\"]\n";
  e.pid = spawn({"/usr/bin/podman", "--root", e.folder + "/data", "--runroot", e.folder + "/run", "--tmpdir", e.folder + "/tmp", "--cgroup-manager=cgroupfs",
                 "--events-backend=file", "--runtime", "runc", "--storage-driver", "overlay", "system", "service", "--time=0", "unix://" + e.socket},
                e.folder + "/log", "CONTAINERS_CONF=" + e.folder + "/containers.conf");
  await(e, "podman");
  return e.socket;
}

backends::Settings engine_settings() {
  if (::geteuid() != 0) return {};
  return backends::Settings::parse({cat("docker.socket=", docker_socket()), cat("podman.socket=", podman_socket())}).value();
}

void stop_engines() {
  bool podman = g_podman.pid != 0, docker = g_docker.pid != 0;
  stop(g_docker);
  stop(g_podman);
  if (docker) remove_groups(own_group().c_str());
  if (podman) remove_groups("libpod_parent");
}

}  // namespace hotcell::testing
