// The daemon over HTTP, against the same programs started bare: one request after the other on a kept connection, then 16
// clients at once, the same by wrk where that is installed; and what the idle daemon holds.
// Usage: bench_daemon [rounds] [seconds of load]
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/strings.h"
#include "measure.h"
#include "spawn.h"
#include "sys/file.h"

using namespace hotcell;

namespace {

struct Daemon {
  pid_t pid = 0;
  int port = 0;
  std::string state;
};

Daemon start() {
  Daemon d;
  d.state = "/tmp/hotcell-bench.XXXXXX";
  if (::mkdtemp(d.state.data()) == nullptr) std::exit(1);
  auto self = sys::read_link("/proc/self/exe");
  if (!self.ok()) std::exit(1);
  std::string program = self.value().substr(0, self.value().rfind('/')) + "/hotcell";
  std::string state = d.state + "/state";
  int ready[2];
  if (::pipe(ready) != 0) std::exit(1);
  d.pid = ::fork();
  if (d.pid == 0) {
    ::dup2(ready[1], 9);
    ::execl(program.c_str(), "hotcell", "serve", "--listen", "127.0.0.1:0", "--state", state.c_str(), "--ready-fd", "9", nullptr);
    ::_exit(127);
  }
  ::close(ready[1]);
  char text[256] = "";
  ssize_t n = ::read(ready[0], text, sizeof text - 1);
  ::close(ready[0]);
  const char* colon = n > 0 ? ::strrchr(text, ':') : nullptr;
  if (colon == nullptr) {
    std::fprintf(stderr, "the daemon did not start\n");
    std::exit(1);
  }
  d.port = std::atoi(colon + 1);
  return d;
}

// One kept connection.
class Client {
 public:
  explicit Client(int port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) std::exit(1);
  }
  ~Client() { ::close(fd_); }

  // The body of the answer to a POST of `body`; empty when it failed.
  std::string post(std::string_view path, std::string_view body) {
    std::string request = cat("POST ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ",
                              body.size(), "\r\n\r\n", body);
    if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return {};
    std::string in;
    char buffer[65536];
    for (;;) {
      auto head = in.find("\r\n\r\n");
      if (head != std::string::npos) {
        auto at = in.find("ontent-Length: ");
        if (at == std::string::npos || at > head) at = in.find("ontent-length: ");
        std::size_t length = at == std::string::npos ? 0 : static_cast<std::size_t>(std::atoll(in.c_str() + at + 15));
        if (in.size() >= head + 4 + length) return in.substr(head + 4, length);
      }
      ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return {};
      in.append(buffer, static_cast<std::size_t>(n));
    }
  }

 private:
  int fd_ = -1;
};

constexpr std::string_view kTrue = R"({"command":"/bin/true"})";
constexpr std::string_view kPrint = R"j({"language":"python","code":"print(1)"})j";
constexpr std::string_view kExecute = "/api/v1/sandbox/execute";

bool completed(const std::string& answer) { return answer.find("\"status\":\"completed\"") != std::string::npos; }

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

template <typename Once>
double per_second(int clients, double seconds, Once once) {
  std::atomic<long> done{0};
  std::atomic<bool> bad{false};
  auto start = bench::Clock::now();
  std::vector<std::thread> all;
  for (int i = 0; i < clients; ++i)
    all.emplace_back([&, i] {
      auto mine = once(i);
      while (std::chrono::duration<double>(bench::Clock::now() - start).count() < seconds) {
        if (!mine()) bad = true;
        ++done;
      }
    });
  for (auto& t : all) t.join();
  if (bad) std::fprintf(stderr, "some failed\n");
  return static_cast<double>(done) / std::chrono::duration<double>(bench::Clock::now() - start).count();
}

// Proportional share of all processes of the daemon, cells included, in KiB.
long memory_of(pid_t root) {
  std::map<pid_t, pid_t> parents;
  for (const auto& e : std::filesystem::directory_iterator("/proc")) {
    auto pid = parse_u64(e.path().filename().string());
    std::string text = sys::read_file((e.path() / "stat").c_str()).value_or("");
    auto close = text.rfind(')');
    if (pid && close != std::string::npos) parents[static_cast<pid_t>(*pid)] = std::atoi(text.c_str() + close + 4);
  }
  long sum = 0;
  for (const auto& [pid, parent] : parents) {
    bool ours = false;
    for (pid_t p = pid; p > 1 && parents.contains(p); p = parents[p]) ours = ours || p == root;
    if (!ours) continue;
    std::string rollup = sys::read_file(cat("/proc/", pid, "/smaps_rollup").c_str()).value_or("");
    if (auto at = rollup.find("\nPss:"); at != std::string::npos) sum += std::atol(rollup.c_str() + at + 5);
  }
  return sum;
}

// Idle is when it changes no more: at first the backends are tried, each a program or a machine of its own.
long settled_memory_of(pid_t root) {
  pause_ms(3000);
  long last = memory_of(root);
  for (int i = 0; i < 30; ++i) {
    pause_ms(2000);
    const long now = memory_of(root);
    if (std::labs(now - last) < 256) return now;
    last = now;
  }
  return last;
}

// The same by somebody else's client: wrk, one request after the other on each connection. Empty where it is not installed.
struct ByWrk {
  double per_second = 0, median_ms = 0;
  bool good = false;   // every answer was 200 and said completed
};
std::optional<ByWrk> by_wrk(const Daemon& daemon, int clients, double seconds, std::string_view body) {
  const std::string script = daemon.state + "/wrk.lua";
  std::ofstream(script) << cat("wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = [==[", body,
                               "]==]\nfunction response(status, headers, body)\n  if status ~= 200 or not body:find('\"status\":\"completed\"', 1, true) then\n"
                               "    print('not completed')\n  end\nend\n");
  FILE* out = ::popen(cat("wrk -t1 -c", clients, " -d", std::max(1, static_cast<int>(seconds)), "s --latency -s ", script, " http://127.0.0.1:",
                          daemon.port, kExecute, " 2>/dev/null").c_str(), "r");
  std::string text;
  char buffer[4096];
  for (std::size_t n; out != nullptr && (n = ::fread(buffer, 1, sizeof buffer, out)) > 0;) text.append(buffer, n);
  if (out == nullptr || ::pclose(out) != 0) return std::nullopt;
  ByWrk got;
  got.good = text.find("not completed") == std::string::npos && text.find("Non-2xx") == std::string::npos && text.find("Socket errors") == std::string::npos;
  if (auto at = text.find("Requests/sec:"); at != std::string::npos) got.per_second = std::atof(text.c_str() + at + 13);
  if (auto at = text.find(" 50%"); at != std::string::npos) {
    char* unit = nullptr;
    got.median_ms = std::strtod(text.c_str() + at + 4, &unit);
    if (::strncmp(unit, "us", 2) == 0) got.median_ms /= 1000;
    else if (*unit == 's') got.median_ms *= 1000;
  }
  return got;
}

double bare_median_ms(const std::vector<const char*>& argv, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    auto begun = bench::Clock::now();
    if (!bench::fork_exec_wait(argv)) return 0;
    all.push_back(std::chrono::duration<double, std::milli>(bench::Clock::now() - begun).count());
  }
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

bool compare_by_wrk(const Daemon& daemon, double seconds) {
  auto one = by_wrk(daemon, 1, seconds / 3, kTrue);
  if (!one) return std::printf("wrk is not installed: left out\n"), true;
  const double bare = bare_median_ms({"/bin/true"}, 200);
  std::printf("wrk, 1 connection: POST execute /bin/true %.2f ms, bare %.2f ms, ratio %.2f%s\n", one->median_ms, bare, one->median_ms / bare,
              one->good ? "" : "; SOME FAILED");
  bool good = one->good;
  for (int i = 0; i < 3; ++i) {
    const double forks = per_second(16, seconds / 3, [](int) { return [] { return bench::fork_exec_wait({"/bin/true"}); }; });
    auto many = by_wrk(daemon, 16, seconds / 3, kTrue);
    if (!many) return false;
    std::printf("wrk, 16 connections: bare %.0f/s, POST execute %.0f/s, ratio %.2f%s\n", forks, many->per_second, many->per_second / forks,
                many->good ? "" : "; SOME FAILED");
    good = good && many->good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  Daemon daemon = start();
  std::printf("idle daemon, 8 parked cells and a waiting Python: %.1f MiB\n", static_cast<double>(settled_memory_of(daemon.pid)) / 1024);
  {
    Client client(daemon.port);
    std::vector<bench::Subject> rows = {
        {"bare fork+exec+wait /bin/true", [] { return bench::fork_exec_wait({"/bin/true"}); }, [] { pause_ms(5); }},
        {"POST execute /bin/true", [&] { return completed(client.post(kExecute, kTrue)); }, [] { pause_ms(5); }}};
    if (!bench::interleave(rows, rounds)) return 1;
    bench::table(rows);
    std::vector<bench::Subject> python = {
        {"bare python3 -I -c 'print(1)'", [] { return bench::fork_exec_wait({"/usr/bin/python3", "-I", "-c", "print(1)"}); }, [] { pause_ms(60); }},
        {"POST execute python print(1)", [&] { return completed(client.post(kExecute, kPrint)); }, [] { pause_ms(60); }}};
    if (!bench::interleave(python, std::max(10, rounds / 4))) return 1;
    bench::table(python);
  }
  std::vector<double> ratios;
  for (int i = 0; i < 3; ++i) {
    double bare = per_second(16, seconds / 3, [](int) { return [] { return bench::fork_exec_wait({"/bin/true"}); }; });
    double ours = per_second(16, seconds / 3, [&](int) {
      auto client = std::make_shared<Client>(daemon.port);
      return [client] { return completed(client->post(kExecute, kTrue)); };
    });
    std::printf("16 clients: bare %.0f/s, POST execute %.0f/s, ratio %.2f\n", bare, ours, ours / bare);
    ratios.push_back(ours / bare);
  }
  const bool by_others = compare_by_wrk(daemon, seconds);
  ::kill(daemon.pid, SIGTERM);
  int status = 0;
  ::waitpid(daemon.pid, &status, 0);
  std::filesystem::remove_all(daemon.state);
  return status == 0 && by_others ? 0 : 1;
}
