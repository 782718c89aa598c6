// Start strict, loosen as needed. A policy is a value: copy the preset, change the fields that are needed, and all
// others stay what they were. Here strict gets one folder to read, and nothing more.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

Result<Report> run(const Policy& policy, const std::string& script) {
  Request request;
  request.argv = {"/bin/sh", "-c", script};
  TRY_SET(auto launcher, Launcher::create());
  TRY_SET(Report report, launcher->run(policy, request));
  std::printf("%-16s exit %d: %s%s", policy.name.c_str(), report.verdict.exit_code.value_or(-1), report.out.c_str(), report.err.c_str());
  return report;
}

Result<bool> show(const std::string& data) {
  const Policy strict = strict_policy();
  Policy merged = strict;
  merged.name = "strict-and-data";
  merged.filesystem.grants.push_back({data, Access::kRead, "this example"});
  merged.limits.wall = std::chrono::seconds(20);

  // Only what was changed differs.
  Policy back = merged;
  back.name = strict.name;
  back.filesystem.grants.clear();
  back.limits.wall = strict.limits.wall;
  if (back != strict) return false;

  const std::string read = "read line < " + data + "/numbers && echo $line";
  TRY_SET(Report without, run(strict, read));
  TRY_SET(Report with, run(merged, read));
  TRY_SET(Report write, run(merged, "echo x > " + data + "/numbers"));
  TRY_SET(Report scratch, run(merged, "echo x > /tmp/x"));
  return without.verdict.exit_code != 0 && with.out == "1 2 3\n" && with.verdict.exit_code == 0 && write.verdict.exit_code != 0 &&
         scratch.verdict.exit_code != 0;
}

}  // namespace

int main() {
  const char* tmp = ::getenv("TMPDIR");
  std::string folder = std::string(tmp != nullptr ? tmp : "/tmp") + "/merge_strict.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::perror("mkdtemp"), 1;
  std::ofstream(folder + "/numbers") << "1 2 3\n";
  auto held = show(folder);
  std::string kept;
  std::getline(std::ifstream(folder + "/numbers"), kept);
  ::unlink((folder + "/numbers").c_str());
  ::rmdir(folder.c_str());
  if (!held.ok()) std::fprintf(stderr, "%s\n", held.error().message.c_str());
  return held.ok() && held.value() && kept == "1 2 3" ? 0 : 1;
}
