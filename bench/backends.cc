// /bin/true through a backend against the tool's own command line with the same settings, and gVisor started ahead against
// `runsc do`: interleaved, the ratio last. Root, for all of them. Usage: bench_backends [runs] [name ...]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "backends/platform.h"
#include "backends/scratch.h"
#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "core/kernel/cgroup.h"
#include "core/kernel/host.h"
#include "core/launch/ids.h"
#include "engine.h"
#include "measure.h"

using namespace hotcell;

namespace {

// `groups`: where it is held to its limits (cgroup v1: a file for each hierarchy).
bool spawn_and_wait(std::vector<std::string> words, const std::vector<int>& groups = {}) {
  std::vector<char*> argv;
  for (auto& a : words) argv.push_back(a.data());
  argv.push_back(nullptr);
  // Not /dev/null, nor whatever our own output goes to: runsc makes what it is given the property of nobody.
  int nothing[2], said = ::memfd_create("said", MFD_CLOEXEC);
  if (said < 0 || ::pipe2(nothing, O_CLOEXEC) != 0) return false;
  ::close(nothing[1]);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* env[] = {path, nullptr};
  pid_t pid = ::vfork();
  if (pid == 0) {
    // A session of its own, as in the library: the scheduler weighs sessions, whatever they are made of.
    bool ready = ::setsid() >= 0 && ::dup2(nothing[0], 0) == 0 && ::dup2(said, 1) == 1 && ::dup2(said, 2) == 2;
    for (int group : groups) ready = ready && ::write(group, "0", 1) == 1;
    if (ready) ::execvpe(argv[0], argv.data(), env);
    ::_exit(127);
  }
  ::close(nothing[0]);
  int status = 0;
  bool well = pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
  char text[1024];
  if (ssize_t n = well ? 0 : ::pread(said, text, sizeof text, 0); n > 0) std::fwrite(text, 1, static_cast<std::size_t>(n), stderr);
  ::close(said);
  return well;
}

// The tool by itself, in a place and a cgroup of its own that are made before and taken away after: the limits that it has from
// us, too, and no reading back.
class Bare {
 public:
  Bare(const backends::Backend& backend, const Policy& policy) : backend_(backend), policy_(policy), limits_(policy.limits) {
    if (auto host = Host::look()) host_.emplace(std::move(host).value());
    limits_.memory.n += backend.overhead().memory.n;
    limits_.processes += backend.overhead().tasks;
  }
  ~Bare() { clear(); }
  void prepare() {
    clear();
    Request request;
    request.argv = {"/bin/true"};
    auto ids = take_ids();
    auto root = take_ids();
    if (!ids || !root) return;
    ids_ = std::move(ids).value();
    root_ = std::move(root).value();
    auto scratch = backends::Scratch::make(ids_.id);
    if (!scratch) return;
    scratch_ = std::move(scratch).value();
    auto plan = backends::plan_tool(backend_, policy_, request, scratch_.path(), ids_.id);
    if (!plan || !scratch_.write(plan.value().pieces)) return;
    plan_ = std::move(plan).value();
    if (!host_) return;
    if (auto group = create_cgroup(host_->cgroup, limits_)) group_ = std::move(group).value();
  }
  bool run() const { return plan_ && spawn_and_wait(plan_->argv, group_ ? group_->tasks_fds() : std::vector<int>()); }

 private:
  void clear() {
    if (plan_)
      for (const auto& command : plan_->after) backends::run_quietly(command);
    plan_.reset();
    group_.reset();
    scratch_.remove();
  }
  const backends::Backend& backend_;
  const Policy& policy_;
  CellIds ids_, root_;
  backends::Scratch scratch_;
  std::optional<Host> host_;
  Limits limits_;
  std::unique_ptr<Cgroup> group_;
  std::optional<backends::ToolPlan> plan_;
};

bool run_true(Launcher& launcher, const Policy& policy) {
  Request request;
  request.argv = {"/bin/true"};
  auto report = launcher.run(policy, std::move(request));
  if (!report) std::fprintf(stderr, "%s\n", report.error().message.c_str());
  return report.ok() && report.value().verdict.exit_code == 0;
}

int tell(const std::string& name, std::vector<bench::Subject> subjects, int runs) {
  if (!bench::interleave(subjects, runs, 2)) return 1;  // the first one also reads the walls back
  std::printf("%-10s %-26s %8.2f ms   %-22s %8.2f ms   ratio %.2f (%d runs)\n", name.c_str(), subjects[0].name.c_str(), subjects[0].median() / 1000,
              subjects[1].name.c_str(), subjects[1].median() / 1000, subjects[1].median() / subjects[0].median(), runs);
  std::fflush(stdout);
  return 0;
}

int against_tool(const std::string& name, const Policy& policy, int runs) {
  const auto* backend = backends::find(name);
  auto launcher = backends::open_backend(name, {});
  if (backend == nullptr || !launcher) return std::printf("%-10s %s\n", name.c_str(), launcher ? "no tool" : launcher.error().message.c_str()), 1;
  Bare bare(*backend, policy);
  return tell(name, {{cat("the tool alone"), [&] { return bare.run(); }, [&] { bare.prepare(); }},
                     {"through the library", [&] { return run_true(*launcher.value(), policy); }}}, runs);
}

int docker(const Policy& policy, int runs) {
  bench::Docker engine;
  auto said = backends::Settings::parse({cat("docker.socket=", engine.socket())});
  if (!engine.up() || !said) return std::printf("docker     no engine comes up\n"), 1;
  auto launcher = backends::open_backend("docker", {}, {{}, true, said.value()});
  auto ids = take_ids();
  auto scratch = ids ? backends::Scratch::make(ids.value().id) : Result<backends::Scratch>(ids.error());
  if (!launcher || !scratch || !run_true(*launcher.value(), policy)) return std::printf("docker     does not run\n"), 1;
  Request request;
  request.argv = {"/bin/true"};
  backends::ToolRequest asked{policy, request, scratch.value().path(), scratch.value().path() + "/work", "", "bench", ids.value().id};
  asked.inside = ids.value().id;
  asked.env = backends::program_env(policy, request);
  auto pieces = backends::container_pieces(asked);
  if (!pieces || !scratch.value().write(pieces.value())) return 1;
  auto command = engine.command(asked, backends::find_tool("docker"));
  return tell("docker", {{"docker run --rm", [&] { return spawn_and_wait(command); }}, {"through the library", [&] { return run_true(*launcher.value(), policy); }}}, runs);
}

int warm(const Policy& policy, int runs) {
  auto launcher = backends::open_backend("runsc", {});
  const std::string tool = backends::find_tool("runsc");
  auto scratch = backends::Scratch::make(0);
  auto platform = backends::platform_of(*backends::find("runsc"), tool, {});
  if (!launcher || !scratch || !platform || !launcher.value()->park(policy, 1)) return std::printf("runsc-warm cannot be parked\n"), 1;
  std::vector<std::string> command = {tool, cat("--root=", scratch.value().path(), "/state"), "--network=none", "--ignore-cgroups", cat("--platform=", platform.value()), "do", "/bin/true"};
  auto ready = [&] {
    for (int i = 0; i < 6000 && launcher.value()->parked(policy) == 0; ++i)
      if (!launcher.value()->step(std::chrono::milliseconds(10))) return;
  };
  auto ahead = [&] { return launcher.value()->parked(policy) == 1 && run_true(*launcher.value(), policy); };
  return tell("runsc-warm", {{"runsc do", [&] { return spawn_and_wait(command); }, ready}, {"started ahead", ahead, ready}}, runs);
}

}  // namespace

int main(int argc, char** argv) {
  int runs = argc > 1 ? std::atoi(argv[1]) : 15;
  std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  if (names.empty()) names = {"bwrap", "crun", "runc", "runsc", "docker", "runsc-warm"};
  Policy policy = default_policy();
  int failed = 0;
  for (const auto& name : names) failed |= name == "runsc-warm" ? warm(policy, runs) : name == "docker" ? docker(policy, runs) : against_tool(name, policy, runs);
  return failed;
}
