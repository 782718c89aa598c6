// Cells per second with 8 in flight, all layers, against bare fork+exec per second with 8 in flight.
// Usage: bench_throughput [seconds per slice] [slices]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "measure.h"
#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

constexpr int kInFlight = 8;

double bare(double seconds) {
  auto start = bench::Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(bench::Clock::now() - start).count(); };
  int alive = 0, done = 0;
  while (elapsed() < seconds || alive > 0) {
    while (alive < kInFlight && elapsed() < seconds) {
      pid_t pid = ::fork();
      if (pid == 0) {
        ::execl("/bin/true", "true", static_cast<char*>(nullptr));
        ::_exit(127);
      }
      ++alive;
    }
    int status;
    if (::wait(&status) > 0) {
      --alive;
      ++done;
    }
  }
  return done / elapsed();
}

double cells(Launcher& launcher, const Policy& policy, double seconds) {
  auto start = bench::Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(bench::Clock::now() - start).count(); };
  int alive = 0, done = 0;
  bool failed = false;
  while (elapsed() < seconds || alive > 0) {
    while (alive < kInFlight && elapsed() < seconds) {
      Request r;
      r.argv = {"/bin/true"};
      auto begun = launcher.start(policy, std::move(r), [&](RunId, Result<Report> report) {
        --alive;
        ++done;
        failed = failed || !report || report.value().verdict.exit_code != 0;
        if (!report) std::fprintf(stderr, "%s\n", report.error().message.c_str());
      });
      if (!begun) {
        std::fprintf(stderr, "%s\n", begun.error().message.c_str());
        std::exit(1);
      }
      ++alive;
    }
    if (!launcher.step(std::chrono::milliseconds(100))) std::abort();
  }
  if (failed) std::exit(1);
  return done / elapsed();
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  int slices = argc > 2 ? std::atoi(argv[2]) : 5;
  auto launcher = Launcher::create();
  if (!launcher) return 1;
  Policy policy = default_policy();
  std::vector<double> a, b;
  for (int i = 0; i < slices; ++i) {
    a.push_back(bare(seconds));
    b.push_back(cells(*launcher.value(), policy, seconds));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double bare_rate = a[a.size() / 2], cell_rate = b[b.size() / 2];
  std::printf("bare fork+exec  %8.0f /s\ncells           %8.0f /s\nratio %.2f\n", bare_rate, cell_rate, cell_rate / bare_rate);
}
