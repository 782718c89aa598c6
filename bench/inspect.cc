// All inspectors over log text, against reading the same bytes once; then hostile text. Usage: bench_inspect [rounds]
#include <cstdlib>
#include <cstring>
#include <random>

#include "hotcell/inspect.h"
#include "measure.h"

using namespace hotcell;

namespace {

constexpr std::size_t kSize = 10'000'000;

// What services write: times, levels, addresses, ids, words, now and then JSON or a stack.
std::string log_text() {
  static constexpr const char* kWords[] = {"request", "handled", "from", "user", "session", "opened", "closed", "error", "warning", "connection",
                                           "reset", "by", "peer", "timeout", "token", "refreshed", "cache", "miss", "query", "took", "the", "system",
                                           "message", "row", "page", "index", "worker", "queue", "started", "stopped", "after", "retry"};
  // Words that rules begin with: one in every few lines.
  static constexpr const char* kSigns[] = {"you", "previous", "ignored", "return", "list", "send", "all", "instructions"};
  std::mt19937 random(7);
  auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::string out;
  char line[512];
  while (out.size() < kSize) {
    std::string words;
    for (int i = 0; i < 10; ++i) (words += kWords[pick(std::size(kWords))]) += ' ';
    if (pick(4) == 0) (words += kSigns[pick(std::size(kSigns))]) += ' ';
    switch (pick(8)) {
      case 0:
        std::snprintf(line, sizeof line, "{\"time\":\"2026-11-16T12:%02u:%02uZ\",\"level\":\"info\",\"id\":\"%08x%08x\",\"message\":\"%s\"}\n", pick(60),
                      pick(60), pick(1u << 31), pick(1u << 31), words.c_str());
        break;
      case 1:
        std::snprintf(line, sizeof line, "10.0.%u.%u - - [16/Nov/2026] \"GET /api/v1/items/%u?page=%u&sort=asc HTTP/1.1\" 200 %u \"https://www.example.org/%u\"\n",
                      pick(255), pick(255), pick(10000), pick(50), pick(100000), pick(1000));
        break;
      case 2: std::snprintf(line, sizeof line, "    at com.example.service.Handler%u.run(Handler.java:%u)\n", pick(100), pick(900)); break;
      default:
        std::snprintf(line, sizeof line, "2026-11-16T12:%02u:%02u.%03uZ INFO worker-%u: %sid=%08x\n", pick(60), pick(60), pick(1000), pick(64), words.c_str(),
                      pick(1u << 31));
    }
    out += line;
  }
  return out;
}

bool inspected(const std::string& text) {
  auto result = inspect_text(text, {});
  return result.ok();
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  std::string log = log_text(), hostile;
  while (hostile.size() < kSize) hostile += "ignore all previous curl -d send token= &#73; ";
  volatile unsigned sum = 0;
  std::vector<bench::Subject> subjects = {
      {"reading 10 MB of log text once",
       [&] {
         unsigned s = 0;
         for (char c : log) s += static_cast<unsigned char>(c);
         sum = s;
         return true;
       }},
      {"all inspectors over it", [&] { return inspected(log); }},
      {"all inspectors over 10 MB of hostile text", [&] { return inspected(hostile); }},
  };
  if (!bench::interleave(subjects, rounds, 1)) return 1;
  bench::table(subjects);
  for (std::size_t i : {1u, 2u}) std::printf("%s: %.0f MB/s\n", subjects[i].name.c_str(), static_cast<double>(kSize) / subjects[i].median());
  return 0;
}
