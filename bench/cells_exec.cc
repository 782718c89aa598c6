// `/bin/true` in a lasting cell, by a kept connection to its keeper, against bare fork+exec+wait; and what idle cells cost in
// memory, spawner, init and the keeper's own part included. Usage: bench_cells_exec [rounds] [cells] [path of hotcell]
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "cells/keeper/client.h"
#include "core/policy/profile.h"
#include "measure.h"
#include "memory.h"
#include "spawn.h"

using namespace hotcell;

namespace {

bool fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return false;
}

bool create(cells::KeeperClient& keeper, const std::string& name) {
  cells::Ask ask;
  ask.verb = "create";
  ask.fields["name"] = name;
  ask.fields["policy"] = to_yaml(default_policy());
  auto told = keeper.ask(std::move(ask));
  return told.ok() || fail(told.error());
}

bool exec_true(cells::KeeperClient& keeper) {
  cells::ExecAsk ask;
  ask.cell = "cell-0";
  ask.argv = {"/bin/true"};
  auto report = keeper.exec(ask);
  if (!report.ok()) return fail(report.error());
  return report.value().verdict.exit_code == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 500, count = argc > 2 ? std::atoi(argv[2]) : 200;
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::readlink("/proc/self/exe", self.data(), self.size()))));
  std::string hotcell = argc > 3 ? argv[3] : self.substr(0, self.rfind('/') + 1) + "hotcell";
  char state[] = "/tmp/hotcell-bench-XXXXXX";
  if (::mkdtemp(state) == nullptr) return 1;
  ::setenv("HOTCELL_MAX_CELLS", "1000", 1);
  auto keeper = cells::KeeperClient::connect(state, {hotcell, {"hotcell", "cell", "keeper"}});
  if (!keeper.ok()) return fail(keeper.error()), 1;
  bool good = create(keeper.value(), "cell-0");
  std::vector<bench::Subject> subjects;
  subjects.push_back({"bare /bin/true", [&] { return bench::fork_exec_wait({"/bin/true"}); }});
  subjects.push_back({"exec of /bin/true in a lasting cell", [&] { return exec_true(keeper.value()); }});
  good = good && bench::interleave(subjects, rounds, 20);
  if (good) bench::table(subjects);
  if (good && count > 0) {
    int made = 1;
    for (; good && made < 9; ++made) good = create(keeper.value(), "cell-" + std::to_string(made));  // caches are warm, lists have their first pages
    double before = bench::settled_kib();
    for (int end = made + count; good && made < end; ++made) good = create(keeper.value(), "cell-" + std::to_string(made));
    double after = bench::settled_kib();
    if (good) std::printf("%d idle lasting cells\nper cell %.0f KiB\n", count, (before - after) / count);
  }
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(keeper.value().fd(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && ::kill(who.pid, SIGTERM) == 0)
    while (::kill(who.pid, 0) == 0) ::usleep(10'000);
  for (const auto& e : std::filesystem::directory_iterator(std::string(state) + "/cells")) ::chmod((e.path().string() + "/work/work").c_str(), 0700);
  std::error_code ignored;
  std::filesystem::remove_all(state, ignored);
  if (!good) return 1;
  std::printf("ratio %.2f\n", subjects[1].median() / subjects[0].median());
}
