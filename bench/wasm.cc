// The same C program as a WASI module (translated, cached) and as a native binary, each in a native cell, interleaved: request
// to verdict. Then a loop of computing, where the start does not count. Usage: bench_wasm [runs]
#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "manager/pipeline.h"
#include "measure.h"

using namespace hotcell;

namespace {

constexpr std::string_view kHello = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";
constexpr std::string_view kWork =
    "#include <stdio.h>\nint main(void) { static unsigned char sieve[4000000]; unsigned n = 0; for (int r = 0; r < 5; ++r) { n = 0; for (unsigned i = 2; i < 4000000; ++i) sieve[i] = 1;"
    " for (unsigned i = 2; i < 4000000; ++i) if (sieve[i]) { ++n; for (unsigned j = 2 * i; j < 4000000; j += i) sieve[j] = 0; } } printf(\"%u\\n\", n); return 0; }\n";

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

Result<Report> once(Launcher& launcher, const Language& language, std::string_view text, double& ms) {
  ProgramSource source{&language, {{{"main.c", std::string(text)}}, "main.c"}};
  Policy policy = default_policy();
  Request request;
  TRY(plan_run(source, policy, {}, request));
  PipelineOptions options;
  options.verify = false;
  Pipeline pipeline(launcher, std::move(options));
  auto start = bench::Clock::now();
  TRY_SET(Prepared prepared, pipeline.prepare(source, policy, request));
  if (prepared.stopped) return make_error(ErrorCode::kInternal, prepared.stopped->error);
  TRY_SET(Report report, launcher.run(policy, std::move(request)));
  ms = std::chrono::duration<double, std::milli>(bench::Clock::now() - start).count();
  if (report.verdict.exit_code != 0) return make_error(ErrorCode::kInternal, cat("it failed: ", report.err));
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  int runs = argc > 1 ? std::atoi(argv[1]) : 30;
  auto launcher = Launcher::create({});
  if (!launcher) return 1;
  const Language& native = *find_language("c");
  for (auto [what, text] : {std::pair{"hello", kHello}, std::pair{"sieve", kWork}}) {
    std::vector<double> ours, theirs;
    for (int i = 0; i <= runs; ++i) {
      double a = 0, b = 0;
      for (auto [language, ms] : {std::pair{&native, &b}, std::pair{as_wasm(native), &a}}) {
        auto report = once(*launcher.value(), *language, text, *ms);
        if (report.ok()) continue;
        std::printf("%s\n", report.error().message.c_str());
        return 1;
      }
      if (i == 0) continue;  // compiles, and fills the cache
      ours.push_back(a);
      theirs.push_back(b);
    }
    std::printf("%-6s native %8.2f ms  wasm %8.2f ms  ratio %.2f (%d runs)\n", what, median(theirs), median(ours), median(ours) / median(theirs), runs);
  }
}
