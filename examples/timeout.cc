// A wall-clock limit ends the whole tree: also a child that left its session, ignores every signal it can and still
// holds the output pipe. The caller's hook is called first.
#include <cstdio>
#include <string>

#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

constexpr const char* kStubborn =
    "trap '' TERM HUP INT\n"
    "setsid sh -c 'trap \"\" TERM HUP INT; sleep 60' &\n"
    "echo waiting\n"
    "sleep 60\n";

Result<bool> show() {
  Policy policy = default_policy();
  policy.limits.wall = std::chrono::seconds(1);
  bool told = false;
  Request request;
  request.argv = {"/bin/sh", "-c", kStubborn};
  request.on_timeout = [&] {
    told = true;
    std::printf("on_timeout: the caller cleans up\n");
  };
  TRY_SET(auto launcher, Launcher::create());
  auto before = std::chrono::steady_clock::now();
  TRY_SET(Report report, launcher->run(policy, request));
  auto took = std::chrono::steady_clock::now() - before;
  std::printf("%s%s, status %s, the shell would exit %d, back after %.1f s of the 60\n", report.out.c_str(),
              std::string(to_string(report.verdict.reason)).c_str(), std::string(to_string(report.verdict.status())).c_str(),
              report.verdict.cli_exit_code(), std::chrono::duration<double>(took).count());
  return told && report.verdict.reason == ExitReason::kTimeoutWall && report.verdict.cli_exit_code() == 124 && report.out == "waiting\n" &&
         took < std::chrono::seconds(30);
}

}  // namespace

int main() {
  auto held = show();
  if (!held.ok()) std::fprintf(stderr, "%s\n", held.error().message.c_str());
  return held.ok() && held.value() ? 0 : 1;
}
