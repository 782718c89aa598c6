// Programs whose runtime waits in a finished cell, against the same started bare. Cold, too: the runtime started in a cell that
// waits, as a daemon has them (park.cells), and in one that is made for it; and programs from the cache.
// Usage: bench_warm [rounds]
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "manager/warm.h"
#include "measure.h"

extern char** environ;

using namespace hotcell;

namespace {

double since(bench::Clock::time_point start) { return std::chrono::duration<double, std::milli>(bench::Clock::now() - start).count(); }

double bare(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const auto& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  auto start = bench::Clock::now();
  pid_t pid = 0;
  int status = 1;
  if (posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0 || ::waitpid(pid, &status, 0) != pid || status != 0) {
    std::fprintf(stderr, "%s failed\n", argv[0]);
    std::exit(1);
  }
  posix_spawn_file_actions_destroy(&actions);
  return since(start);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
double p99(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() * 99 / 100];
}

struct Row {
  const char* name;
  const char* language;
  std::string text;
  std::vector<std::string> bare;
  const char* must_warm;
  const char* must_cold;
  std::vector<std::string> preimport = {};
  bool verify = false;
};

template <typename T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}
void must(Result<void> result) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

void measure(const Row& row, int rounds) {
  auto launcher = must(Launcher::create());
  // A second run of what is compiled is measured as a user has it, verified and looked up; with interpreters, whose bare side
  // verifies nothing, only the running is compared (bench_verify has the rest).
  Pipeline pipeline(*launcher, {.verify = row.verify, .cache = true, .cache_folder = {}, .cancelled = {}, .on_event = {}});
  WarmRuntimes runtimes;
  ProgramSource source;
  source.language = find_language(row.language);
  source.sources.main = std::string(source.language->main_file);
  source.sources.files = {{source.sources.main, row.text}};
  Policy base = default_policy();
  base.preimport = row.preimport;
  const bool can_wait = source.language->warm.prepare != nullptr;
  if (can_wait) must(runtimes.keep(*launcher, pipeline, *source.language, base, {true, true}, 1));
  // Where no runtime can wait, a finished cell does.
  auto wait_for_cell = [&](const Policy& policy) {
    must(launcher->park(policy, 1));
    while (launcher->parked(policy) == 0) must(launcher->step(std::chrono::milliseconds(20)));
  };
  enum class Way { kWaiting, kInWaitingCell, kInNewCell };
  // Nothing of ours may be busy while something is measured: a runtime that was used is replaced at once.
  auto settle = [&](Way way) {
    Policy policy = base;
    Request request;
    must(plan_run(source, policy, {true, true}, request));
    (void)must(pipeline.prepare(source, policy, request));
    if (way == Way::kInWaitingCell) wait_for_cell(policy);
    else must(launcher->park(policy, 0));
    if (!can_wait) return;
    runtimes.offer(source, policy, request);
    while (launcher->parked(policy, *request.runtime) == 0) must(launcher->step(std::chrono::milliseconds(20)));
    auto until = bench::Clock::now() + std::chrono::milliseconds(30);
    while (bench::Clock::now() < until) must(launcher->step(std::chrono::milliseconds(10)));
  };
  std::vector<double> warm, cold, made, without;
  for (int i = 0; i < rounds; ++i) {
    for (Way way : {Way::kWaiting, Way::kInWaitingCell, Way::kInNewCell}) {
      if (way == Way::kWaiting && !can_wait) continue;
      settle(way);
      Policy policy = base;
      Request request;
      auto start = bench::Clock::now();
      must(plan_run(source, policy, {true, true}, request));
      (void)must(pipeline.prepare(source, policy, request));
      if (way == Way::kWaiting) runtimes.offer(source, policy, request);
      Report report = must(launcher->run(policy, std::move(request)));
      (way == Way::kWaiting ? warm : way == Way::kInWaitingCell ? cold : made).push_back(since(start));
      if (report.verdict.exit_code != 0 || report.out != "1\n") {
        std::fprintf(stderr, "%s: %s%s\n", row.name, report.out.c_str(), report.err.c_str());
        std::exit(1);
      }
    }
    settle(Way::kInNewCell);
    without.push_back(bare(row.bare));
  }
  std::printf("%-22s bare %8.2f ms (p99 %.2f)", row.name, median(without), p99(without));
  if (can_wait) std::printf("  warm %7.2f (p99 %.2f)", median(warm), p99(warm));
  std::printf("  cold, in a waiting cell %7.2f (p99 %.2f), in a new one %7.2f (p99 %.2f)\n", median(cold), p99(cold), median(made), p99(made));
  if (*row.must_warm) std::printf("  warm/bare ratio %.3f (must %s)\n", median(warm) / median(without), row.must_warm);
  if (*row.must_cold) std::printf("  cold/bare ratio %.3f (must %s), in a new cell %.3f\n", median(cold) / median(without), row.must_cold, median(made) / median(without));
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  char folder[] = "/tmp/hotcell-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  std::string place = folder;
  const std::string java = "public class Main { public static void main(String[] a) { System.out.println(1); } }\n";
  const std::string cpp = "#include <iostream>\nint main() { std::cout << 1 << '\\n'; }\n";
  auto write = [&](const char* name, const std::string& text) {
    std::FILE* f = std::fopen((place + "/" + name).c_str(), "w");
    if (f == nullptr || std::fwrite(text.data(), 1, text.size(), f) != text.size() || std::fclose(f) != 0) std::exit(1);
  };
  write("Main.java", java);
  write("main.cc", cpp);
  bare({"/usr/bin/javac", "-d", place, place + "/Main.java"});
  bare({"/usr/bin/g++", "-O2", "-o", place + "/main", place + "/main.cc"});
  measure({"python print(1)", "python", "print(1)\n", {"/usr/bin/python3", "-I", "-c", "print(1)"}, "0.3", "1.15"}, rounds);
  measure({"python with numpy", "python", "import numpy\nprint(1)\n", {"/usr/bin/python3", "-I", "-c", "import numpy; print(1)"}, "0.1", "", {"numpy"}}, rounds);
  measure({"node console.log(1)", "javascript", "console.log(1)\n", {"/usr/bin/node", "-e", "console.log(1)"}, "0.3", ""}, rounds);
  measure({"java hello", "java", java, {"/usr/bin/java", "-cp", place, "Main"}, "0.6", ""}, rounds);
  measure({"c++ hello, cached", "cpp", cpp, {place + "/main"}, "", "2", {}, true}, rounds);
  for (const char* name : {"Main.java", "Main.class", "main.cc", "main"}) ::unlink((place + "/" + name).c_str());
  ::rmdir(folder);
}
