// A gibibyte of output through the supervisor against a bare pipe of the same sizes, and the supervisor's memory during
// an endless flood. Usage: bench_output [rounds]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "hotcell/launcher.h"
#include "measure.h"

using namespace hotcell;

namespace {

constexpr std::uint64_t kTotal = 1ull << 30;
const std::vector<std::string> kWriter = {"/usr/bin/head", "-c", "1073741824", "/dev/zero"};

bool bare_pipe() {
  int ends[2];
  if (::pipe(ends) < 0) return false;
  pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl(kWriter[0].c_str(), "head", "-c", "1073741824", "/dev/zero", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  static char buffer[64 << 10];
  std::uint64_t total = 0;
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) total += static_cast<std::uint64_t>(n);
  ::close(ends[0]);
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && status == 0 && total == kTotal;
}

bool through_cell(Launcher& launcher) {
  Policy policy = default_policy();
  policy.limits.output = 2_GiB;
  Request r;
  r.argv = kWriter;
  r.collect_output = false;
  std::uint64_t seen = 0;
  r.on_output = [&](Stream, std::string_view bytes) { seen += bytes.size(); };
  auto report = launcher.run(policy, std::move(r));
  return report.ok() && report.value().verdict.exit_code == 0 && seen == kTotal;
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  auto launcher = Launcher::create();
  if (!launcher) return 1;
  long before = resident_kib();
  Policy flood = default_policy();
  flood.on_output = OnOutput::kTruncate;
  flood.limits.wall = std::chrono::seconds(2);
  Request r;
  r.argv = {"/bin/cat", "/dev/zero"};
  auto report = launcher.value()->run(flood, std::move(r));
  if (!report || report.value().verdict.reason != ExitReason::kTimeoutWall) return 1;
  std::printf("endless flood for 2 s: %.1f GiB seen, supervisor grew by %.1f MiB\n",
              static_cast<double>(report.value().out_bytes) / (1 << 30), static_cast<double>(resident_kib() - before) / 1024);
  std::vector<bench::Subject> subjects;
  subjects.push_back({"1 GiB through a bare pipe", bare_pipe});
  subjects.push_back({"1 GiB through the supervisor", [&] { return through_cell(*launcher.value()); }});
  if (!bench::interleave(subjects, rounds, 1)) return 1;
  bench::table(subjects);
  std::printf("ratio %.2f (throughput, higher is better)\n", subjects[0].median() / subjects[1].median());
}
