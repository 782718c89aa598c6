// request → verdict of /bin/true, all layers on: parked cell, cell on demand, first after idleness; against bare
// fork+exec+wait of the same. Also what each layer costs. Usage: bench_startup [rounds] [idle seconds]
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "measure.h"
#include "spawn.h"
#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

Request true_request() {
  Request r;
  r.argv = {"/bin/true"};
  return r;
}

bool run_true(Launcher& launcher, const Policy& policy, std::map<std::string, double>* layers = nullptr) {
  auto report = launcher.run(policy, true_request());
  if (!report || report.value().verdict.exit_code != 0) {
    std::fprintf(stderr, "%s\n", report ? "did not exit 0" : report.error().message.c_str());
    return false;
  }
  if (layers)
    for (const auto& [name, ns] : report.value().setup_ns) (*layers)[name] += static_cast<double>(ns.count()) / 1000;
  return true;
}

void fill(Launcher& launcher, const Policy& policy, std::size_t count) {
  for (int i = 0; launcher.parked(policy) < count; ++i)
    if (i > 10'000 || !launcher.step(std::chrono::milliseconds(10))) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  int idle = argc > 2 ? std::atoi(argv[2]) : 0;
  auto parked = Launcher::create(), demand = Launcher::create();
  if (!parked || !demand) return 1;
  Policy policy = default_policy();
  Launcher& p = *parked.value();
  Launcher& d = *demand.value();
  if (!p.park(policy, 2)) return 1;
  std::map<std::string, double> layers;
  std::vector<bench::Subject> subjects;
  subjects.push_back({"bare fork+exec+wait /bin/true", [] { return bench::fork_exec_wait({"/bin/true"}); }});
  subjects.push_back({"parked cell", [&] { return run_true(p, policy); }, [&] { fill(p, policy, 2); }});
  subjects.push_back({"cell on demand", [&] { return run_true(d, policy, &layers); }});
  if (!bench::interleave(subjects, rounds)) return 1;
  bench::table(subjects);
  std::printf("\ncost of each step of a cell on demand, mean us\n");
  for (const auto& [name, us] : layers) std::printf("  %-16s %8.1f\n", name.c_str(), us / (rounds + 5));
  double first = 0;
  if (idle > 0) {
    std::vector<bench::Subject> rested;
    for (int i = 0; i < 5; ++i) {
      fill(p, policy, 2);
      ::sleep(static_cast<unsigned>(idle));
      std::vector<bench::Subject> once;
      once.push_back({"bare after idleness", [] { return bench::fork_exec_wait({"/bin/true"}); }, [&] {}});
      once.push_back({"parked after idleness", [&] { return run_true(p, policy); }, [&] { ::sleep(static_cast<unsigned>(idle)); }});
      if (!bench::interleave(once, 1, 0)) return 1;
      if (rested.empty()) rested = once;
      else
        for (std::size_t k = 0; k < 2; ++k) rested[k].us.push_back(once[k].us[0]);
    }
    std::printf("\nafter %d s of idleness\n", idle);
    bench::table(rested);
    first = rested[1].median() / rested[0].median();
  }
  std::printf("ratio parked %.2f demand %.2f", subjects[1].median() / subjects[0].median(), subjects[2].median() / subjects[0].median());
  if (idle > 0) std::printf(" after_idle %.2f", first);
  std::printf("\n");
}
