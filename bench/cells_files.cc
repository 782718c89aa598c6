// What lasting cells cost in a large project: created over it, looked at and saved in it, forked. Each against the same in
// something small, or against cp -a. The keeper answers a client of its own, as any door would ask it.
// Usage: bench_cells_files [files] [rounds]   (50000 files are one gigabyte)
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/strings.h"
#include "cells/files/copy.h"
#include "cells/keeper/client.h"
#include "core/policy/profile.h"
#include "hotcell/policy.h"
#include "measure.h"
#include "spawn.h"
#include "sys/file.h"

using namespace hotcell;

namespace {

namespace fs = std::filesystem;
constexpr std::size_t kBytesEach = 20'000, kChanged = 100;

std::string g_top;

cells::KeeperClient& keeper() {
  static cells::KeeperClient client = [] {
    auto self = sys::read_link("/proc/self/exe");
    if (!self.ok()) std::exit(1);
    std::string program = self.value().substr(0, self.value().rfind('/')) + "/hotcell";
    auto connected = cells::KeeperClient::connect(g_top + "/state", {program, {"hotcell", "cell", "keeper"}});
    if (!connected.ok()) {
      std::fprintf(stderr, "%s\n", connected.error().message.c_str());
      std::exit(1);
    }
    return std::move(connected).value();
  }();
  return client;
}

bool ask(const std::string& verb, const std::string& cell, cells::Fields fields = {}) {
  cells::Ask what;
  what.verb = verb;
  what.cell = cell;
  what.fields = std::move(fields);
  auto told = keeper().ask(std::move(what));
  if (!told.ok()) std::fprintf(stderr, "%s %s: %s\n", verb.c_str(), cell.c_str(), told.error().message.c_str());
  return told.ok();
}

bool create(const std::string& name, const std::string& project) {
  static const std::string policy = to_yaml(default_policy());
  return ask("create", name, {{"name", name}, {"project", project}, {"policy", policy}});
}

// So many files in folders of a hundred, 20 000 bytes each, no two the same.
void make_project(const std::string& path, int files) {
  std::string bytes(kBytesEach, '\0');
  std::uint64_t state = 88172645463325252ull;
  for (int i = 0; i < files; ++i) {
    std::string folder = cat(path, "/", i / 10'000, "/", i / 100);
    if (i % 100 == 0) fs::create_directories(folder);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      for (std::size_t k = 0; k < 8 && at + k < bytes.size(); ++k) bytes[at + k] = static_cast<char>('a' + ((state >> (8 * k)) & 15));
    }
    std::ofstream(cat(folder, "/", i), std::ios::binary) << bytes;
  }
}

// A hundred files, each in a folder of its own where there are so many.
bool change(const std::string& cell, int files) {
  cells::ExecAsk what;
  what.cell = cell;
  std::string script = "cd /work";
  for (std::size_t i = 0; i < kChanged; ++i) {
    auto at = static_cast<int>(i) * std::max(1, files / static_cast<int>(kChanged));
    script += cat("; echo changed >> ", at / 10'000, "/", at / 100, "/", at);
  }
  what.argv = {"/bin/sh", "-c", script};
  auto ran = keeper().exec(what);
  return ran.ok() && ran.value().verdict.cli_exit_code() == 0;
}

void ratio(const char* what, double value, double must, double aim) {
  std::printf("%-72s %8.4f  (must %.3f, aim %.3f)\n", what, value, must, aim);
}

}  // namespace

int main(int argc, char** argv) {
  int files = argc > 1 ? std::atoi(argv[1]) : 50'000, rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const char* tmp = ::getenv("TMPDIR");
  g_top = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-bench-files.XXXXXX");
  if (::mkdtemp(g_top.data()) == nullptr) return 1;
  const std::string large = g_top + "/large", small = g_top + "/small", empty = g_top + "/empty", copy = g_top + "/copy";
  for (const auto& folder : {large, small, empty}) fs::create_directory(folder);
  make_project(large, files);
  make_project(small, static_cast<int>(kChanged));
  int number = 0;
  bool good = true;

  std::vector<bench::Subject> made = {
      {"create over an empty folder", [&] { return create(cat("e", ++number), empty); }, [&] {}},
      {cat("create over ", files, " files"), [&] { return create(cat("l", ++number), large); }, [&] {}}};
  made[1].between = [&] { good = good && (number == 0 || ask("rm", cat("e", number))); };
  made[0].between = [&] { good = good && (number == 0 || ask("rm", cat("l", number))); };
  good = good && bench::interleave(made, rounds) && ask("rm", cat("l", number));

  good = good && create("small", small) && create("large", large) && change("small", static_cast<int>(kChanged)) && change("large", files);
  number = 0;
  std::vector<bench::Subject> looked = {
      {"diff of 100 changed files of 100", [&] { return ask("diff", "small", {{"format", "text"}}); }},
      {cat("diff of 100 changed files of ", files), [&] { return ask("diff", "large", {{"format", "text"}}); }},
      {"snapshot of 100 changed files of 100", [&] { return ask("snapshot", "small", {{"label", cat("s", ++number)}}); }},
      {cat("snapshot of 100 changed files of ", files), [&] { return ask("snapshot", "large", {{"label", cat("s", ++number)}}); }}};
  good = good && bench::interleave(looked, rounds);

  number = 0;
  std::vector<bench::Subject> forked = {
      {"cp -a of the project", [&] { return bench::fork_exec_wait({"/bin/cp", "-a", large.c_str(), copy.c_str()}); },
       [&] { fs::remove_all(copy); }},
      {"fork of a cell with 100 changed files", [&] { return ask("fork", "large", {{"name", cat("f", ++number)}}); },
       [&] { good = good && (number == 0 || ask("rm", cat("f", number))); }}};
  good = good && bench::interleave(forked, std::min(rounds, 5), 1);

  for (const char* cell : {"small", "large"}) good = ask("rm", cell) && good;
  if (number > 0) good = ask("rm", cat("f", number)) && good;
  ask("end", "");
  if (!cells::remove_tree(g_top).ok()) std::fprintf(stderr, "%s is left\n", g_top.c_str());
  if (!good) return 1;
  for (const auto* rows : {&made, &looked, &forked}) {
    bench::table(*rows);
    std::printf("\n");
  }
  ratio("create over the large project, against over an empty folder", made[1].median() / made[0].median(), 1.3, 1.05);
  ratio("diff in the large project, against in a small one", looked[1].median() / looked[0].median(), 2, 1.2);
  ratio("snapshot in the large project, against in a small one", looked[3].median() / looked[2].median(), 2, 1.2);
  ratio("fork of a cell, against cp -a of its project", forked[1].median() / forked[0].median(), 0.05, 0.005);
}
