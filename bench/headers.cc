// A C++ program that includes every header, compiled in its cell: with the header that was read before, and reading it again.
// Usage: bench_headers [rounds]
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "manager/pipeline.h"
#include "measure.h"

using namespace hotcell;

namespace {

double compile_ms(Launcher& launcher, const std::string& cache, const std::string& text) {
  Pipeline pipeline(launcher, {.verify = false, .cache = true, .cache_folder = cache, .cancelled = {}, .on_event = {}});
  ProgramSource source{find_language("cpp"), {}};
  source.sources.main = "main.cpp";
  source.sources.files = {{"main.cpp", text}};
  Policy policy = default_policy();
  auto start = bench::Clock::now();
  if (!pipeline.compiled(source, policy).ok()) std::exit(1);
  return std::chrono::duration<double, std::milli>(bench::Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  char folder[] = "/tmp/hotcell-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  auto launcher = Launcher::create();
  if (!launcher.ok()) return 1;
  // A cache of its own: nothing was compiled before. What stands before the #include makes the ready header unusable.
  auto program = [](const char* before, int number) {
    return before + std::string("#include <bits/stdc++.h>\nint main() { std::vector<int> v(") + std::to_string(number) + "); std::cout << v.size(); }\n";
  };
  const std::string cache = std::string(folder) + "/cache";
  const double first = compile_ms(*launcher.value(), cache, program("", 1));
  std::vector<double> ready, read;
  for (int i = 0; i < rounds; ++i) {
    ready.push_back(compile_ms(*launcher.value(), cache, program("", 10 + i)));
    read.push_back(compile_ms(*launcher.value(), cache, program("int before;\n", 10 + i)));
  }
  std::sort(ready.begin(), ready.end());
  std::sort(read.begin(), read.end());
  std::filesystem::remove_all(folder);
  const double a = ready[ready.size() / 2], b = read[read.size() / 2];
  std::printf("the first, which makes it %.0f ms\nready header %.0f ms\nread again %.0f ms\nratio %.2f\n", first, a, b, a / b);
}
