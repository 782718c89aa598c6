// What the walls of tools are seen to hold: attacks run behind each of them, and without any as the control. What a tool cannot
// hold is named here and in docs/reference/backends.md; once it is held this test says so.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <map>

#include "backends/engines.h"
#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "support/leak_check.h"
#include "sys/file.h"

namespace hotcell {
namespace {

struct Row {
  std::string_view attack, control;  // how it is called behind walls and without; no control: it needs rights that not every caller has
};
constexpr Row kRows[] = {
    {"setuid-plant", "setuid-plant"}, {"new-mount-api", "new-mount-api"}, {"io-uring", "io-uring"}, {"ia32", "ia32"}, {"unknown-syscalls", "unknown-syscalls"},
    {"odd-sockets", "odd-sockets"}, {"user-namespace", "user-namespace"}, {"keyctl", "keyctl"}, {"proc-mem", "proc-mem $$"}, {"host-read", "host-read /etc/hostname"},
    {"privilege", "privilege"}, {"userfaultfd", ""}, {"kernel-module", ""}, {"kernel-info", ""}, {"vsock", ""}, {"device-node", ""}, {"sysctl-write", ""}};

// What is not held, by whom, and why.
const std::map<std::string, std::vector<std::string_view>> kNotHeld = {
    {"codex", {"proc-mem",      // its own pid 1 is a process of the program's user that can be read
               "host-read"}},   // all of /etc that an ordinary user reads
    {"runsc", {"proc-mem",      // gVisor shows maps, environ and auxv of a process that is not dumpable
               "sysctl-write"}},  // and takes any oom_score_adj: a number of its own kernel
};

std::vector<std::string> tools_here() {
  std::vector<std::string> out = {"native", "bwrap", "codex", "vm"};
  if (::geteuid() == 0) out.insert(out.end(), {"firejail", "nspawn", "crun", "runc", "runsc", "docker", "podman", "lxc"});
  if (!backends::find_tool("nsjail").empty()) out.emplace_back("nsjail");
  return out;
}

std::string attack_program() {
  auto self = sys::read_link("/proc/self/exe");
  std::string path = cat(self.value().substr(0, self.value().rfind('/')), "/hotcell-attack");
  auto bytes = sys::read_file(path.c_str(), 16 << 20);
  EXPECT_TRUE(bytes.ok()) << path;
  return bytes.ok() ? std::move(bytes).value() : std::string();
}

std::map<std::string, std::string> attacked(const std::string& backend, bool control) {
  backends::Settings settings;
  if (backend == "docker" || backend == "podman") settings = testing::engine_settings().of(backend);
  auto launcher = backends::open_backend(backend, {}, {{}, true, settings});
  EXPECT_TRUE(launcher.ok()) << launcher.error().message;
  std::string script;
  for (const auto& row : kRows)
    if (!control || !row.control.empty()) script += cat("./attack ", control ? row.control : row.attack, "; ");
  Request request;
  request.argv = {"/bin/sh", "-c", script};
  request.files.push_back({"attack", attack_program(), 0755});
  Policy policy = default_policy();
  policy.limits.wall = std::chrono::seconds(120);
  auto report = launcher.value()->run(policy, std::move(request));
  EXPECT_TRUE(report.ok()) << report.error().message;
  std::map<std::string, std::string> out;
  for (auto line : split(report.value().out, '\n')) {
    auto words = split(line, ' ');
    if (words.size() >= 3 && words[0] == "RESULT") out[std::string(words[1])] = std::string(line.substr(8 + words[1].size()));
  }
  return out;
}

class ToolAttack : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "docker" || GetParam() == "podman") testing::engine_settings();  // started before anything is counted
    LeakCheck::SetUp();
  }
};

TEST_P(ToolAttack, IsHeldOrNamed) {
  auto results = attacked(GetParam(), false);
  auto known = kNotHeld.find(GetParam());
  for (const auto& row : kRows) {
    std::string name(row.attack);
    auto it = results.find(name);
    // A call by the wrong door ends the program before it can say anything.
    std::string said = it == results.end() ? (name == "ia32" ? "blocked by its end" : "nothing") : it->second;
    bool open = said.starts_with("open");
    bool expected = known != kNotHeld.end() && std::find(known->second.begin(), known->second.end(), name) != known->second.end();
    // /proc/keys lists what the caller itself may see, if anything: codex shows it.
    if (GetParam() == "codex" && name == "kernel-info") expected = open && said == "open /proc/keys";
    EXPECT_EQ(open, expected) << GetParam() << " " << name << ": " << said;
    EXPECT_TRUE(open || said.starts_with("blocked")) << GetParam() << " " << name << ": " << said;
  }
}
INSTANTIATE_TEST_SUITE_P(Tools, ToolAttack, ::testing::ValuesIn(tools_here()), [](const auto& p) { return p.param; });

TEST(ToolAttackControl, WithoutAWallEveryOneOfThemWorks) {
  auto results = attacked("none", true);
  for (const auto& row : kRows) {
    std::string name(row.attack);
    if (row.control.empty()) continue;
    EXPECT_TRUE(results[name].starts_with("open")) << name << ": " << results[name];
  }
}

}  // namespace
}  // namespace hotcell
