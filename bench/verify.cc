// Verifying a Python source through the library, against parsing it with Python's own ast in a subprocess: 50 lines,
// and 50 000. Usage: bench_verify [rounds] [rounds of the large one]
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "hotcell/verify.h"
#include "measure.h"
#include "spawn.h"

using namespace hotcell;

namespace {

// What people write: functions, classes, comprehensions, strings; a different name on every turn.
std::string program(int lines) {
  std::string out = "import math\nfrom collections import defaultdict\n\n";
  for (int n = 0, line = 3; line + 11 < lines; ++n, line += 11) {
    std::string i = std::to_string(n);
    out += "def work_" + i + "(items, scale=1.5):\n"
           "    \"\"\"Adds what is there, scaled.\"\"\"\n"
           "    total = 0\n"
           "    for index, item in enumerate(items):\n"
           "        if item is None or index % 7 == 3:\n"
           "            continue\n"
           "        total += math.sqrt(abs(item)) * scale + " + i + "\n"
           "    groups = defaultdict(list)\n"
           "    groups[f'key {total:.2f}'].append([x * 2 for x in items if x])\n"
           "    return {'total': total, 'groups': dict(groups), 'n': len(items)}\n"
           "\n";
  }
  return out + "print(work_0([1, 2, 3]))\n";
}

struct Source {
  std::string text, path;
};

Source make(int lines) {
  Source s{program(lines), "/tmp/hotcell-bench-verify-XXXXXX"};
  int fd = ::mkstemp(s.path.data());
  if (fd < 0) std::abort();
  ::close(fd);
  std::ofstream(s.path) << s.text;
  return s;
}

double compare(const char* name, int lines, int rounds) {
  Source s = make(lines);
  Verifier verifier;
  Policy policy = default_policy();
  std::string code = "import ast; ast.parse(open('" + s.path + "').read())";
  std::vector<bench::Subject> subjects;
  subjects.push_back({"python3 -I -S, ast.parse", [&] {
                        return bench::fork_exec_wait({"/usr/bin/python3", "-I", "-S", "-c", code.c_str()});
                      }});
  subjects.push_back({"verify", [&] {
                        Verification v = verifier.verify(s.text, "python", "bench.py", policy);
                        if (v.unverifiable) std::fprintf(stderr, "%s\n", v.findings[0].message.c_str());
                        return !v.unverifiable;
                      }});
  bool good = bench::interleave(subjects, rounds, 3);
  ::unlink(s.path.c_str());
  if (!good) std::exit(1);
  std::printf("%s (%zu bytes)\n", name, s.text.size());
  bench::table(subjects);
  return subjects[1].median() / subjects[0].median();
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 200, large = argc > 2 ? std::atoi(argv[2]) : 15;
  double small = compare("50 lines of Python", 50, rounds);
  double big = compare("50 000 lines of Python", 50'000, large);
  std::printf("ratio 50_lines %.3f 50000_lines %.2f\n", small, big);
}
