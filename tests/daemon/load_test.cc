// Many executions of every kind from many clients at once: none lost, none doubled, nothing left. Once in peace, once
// while processes of the daemon are killed at random.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "base/strings.h"
#include "daemon/rest_client.h"
#include "support/cells.h"
#include "sys/file.h"

namespace hotcell::testing {
namespace {

struct Kind {
  std::string_view body;     // of the request
  std::string_view ends_as;  // exit_reason, in peace
};
constexpr Kind kKinds[] = {
    {R"({"command":"/bin/true"})", "exited"},
    {R"({"command":"sh","args":["-c","exit 3"]})", "exited"},
    {R"({"command":"sh","args":["-c","kill -9 $$"]})", "signal"},
    {R"({"command":"cat","stdin":"hello"})", "exited"},
    {R"({"command":"sleep","args":["60"],"timeout_secs":1})", "timeout_wall"},
    // Not more, or the history would forget the first of 20 000 for want of room (keep.bytes).
    {R"({"command":"sh","args":["-c","head -c 200000 /dev/zero | tr '\\0' x"]})", "exited"},
    {R"j({"language":"python","code":"print(1)"})j", "exited"},
    {R"j({"language":"python","code":"def"})j", "exited"},
    {R"({"language":"bash","code":"echo x | wc -c"})", "exited"},
    {R"({"language":"c","code":"int main(void) { return 0; }"})", "exited"},
    {R"({"language":"c","code":"int main(void) { return x; }"})", "compile_error"},
    {R"j({"language":"python","code":"import os; os.system('x')","profile":"strict"})j", "verification"},
};

std::string field(const std::string& json, const std::string& name) {
  auto at = json.find(cat("\"", name, "\":\""));
  if (at == std::string::npos) return {};
  at += name.size() + 4;
  return json.substr(at, json.find('"', at) - at);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& e : std::filesystem::directory_iterator("/proc")) {
    auto pid = parse_u64(e.path().filename().string());
    if (!pid) continue;
    std::string text = sys::read_file((e.path() / "stat").c_str()).value_or("");
    auto close = text.rfind(')');
    if (close != std::string::npos && std::atoi(text.c_str() + close + 4) == parent) out.push_back(static_cast<pid_t>(*pid));
  }
  return out;
}

std::string name_of(pid_t pid) {
  return sys::read_file(cat("/proc/", pid, "/comm").c_str()).value_or("");
}

std::size_t open_files(pid_t pid) {
  std::size_t n = 0;
  std::error_code gone;
  for (auto it = std::filesystem::directory_iterator(cat("/proc/", pid, "/fd"), gone); !gone && it != std::filesystem::end(it); it.increment(gone)) ++n;
  return n;
}

// By name, and how many of each.
void count_below(pid_t parent, std::map<std::string, int>& names) {
  for (pid_t child : children_of(parent)) {
    ++names[std::string(trim(name_of(child)))];
    count_below(child, names);
  }
}
std::map<std::string, int> processes_below(pid_t parent) {
  std::map<std::string, int> out;
  count_below(parent, out);
  return out;
}

// A cgroup is called after the launcher that made it.
std::size_t cgroups_of(pid_t launcher) {
  return testing::matches(cat("/sys/fs/cgroup/*/hotcell/", launcher, "-*")).size() + testing::matches(cat("/sys/fs/cgroup/hotcell/", launcher, "-*")).size();
}

std::size_t lines_of(const std::string& file) {
  const std::string text = sys::read_file(file.c_str()).value_or("");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::uint64_t memory_kib(pid_t pid) {
  const std::string text = sys::read_file(cat("/proc/", pid, "/status").c_str()).value_or("");
  auto at = text.find("VmRSS:");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 6, nullptr, 10);
}

// What the daemon has of the machine.
struct Holdings {
  std::size_t front_files = 0, launcher_files = 0, cgroups = 0, mounts = 0;
  std::map<std::string, int> processes;
  bool operator==(const Holdings&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Holdings& h) {
  out << h.front_files << " and " << h.launcher_files << " descriptors, " << h.cgroups << " cgroups, " << h.mounts << " mounts,";
  for (const auto& [name, count] : h.processes) out << " " << count << " " << name;
  return out;
}

class Load : public DaemonFixture {
 protected:
  struct Outcome {
    std::string id, reason;
  };

  void SetUp() override {
    record = false;
    DaemonFixture::SetUp();
  }

  // `./test --soak` asks for thousands, outside the time limit of the suites.
  static std::size_t amount(std::size_t usual) {
    const char* asked = ::getenv("HOTCELL_LOAD");
    return asked == nullptr ? usual : static_cast<std::size_t>(std::atoll(asked));
  }

  // One execution, asked for again under the same key until there is an answer.
  Outcome run_one(std::size_t number) {
    const Kind& kind = kKinds[number % std::size(kKinds)];
    HttpHeaders key = {{"Idempotency-Key", cat("load-", round_, "-", number)}};
    for (int attempt = 0; attempt < 200; ++attempt) {
      auto answer = send("POST", "/api/v1/sandbox/execute", std::string(kind.body), key);
      if (answer.status == 200) return {field(answer.body, "id"), field(answer.body, "exit_reason")};
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
  }

  // Of each kind in turn, or all of one.
  std::vector<Outcome> run_all(std::size_t count, std::optional<std::size_t> kind = std::nullopt) {
    ++round_;   // other keys than before
    std::vector<Outcome> outcomes(count);
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 16; ++i)
      clients.emplace_back([&] {
        for (std::size_t n = next++; n < count; n = next++) outcomes[n] = run_one(kind ? n * std::size(kKinds) + *kind : n);
      });
    for (auto& c : clients) c.join();
    return outcomes;
  }

  // Every id that the daemon knows of, by pages.
  std::map<std::string, std::string> all_known() {
    std::map<std::string, std::string> out;
    std::string before;
    for (;;) {
      auto page = send("GET", cat("/api/v1/executions?limit=500", before)).body;
      for (std::size_t at = page.find("{\"number\":"); at != std::string::npos; at = page.find("{\"number\":", at + 1))
        out[field(page.substr(at), "id")] = field(page.substr(at), "status");
      auto next = page.rfind("\"next\":");
      if (next == std::string::npos || page.compare(next + 7, 4, "null") == 0) return out;
      before = cat("&before=", std::atoll(page.c_str() + next + 7));
    }
  }

  int round_ = 0;

  pid_t child(std::string_view name) {
    for (pid_t pid : children_of(daemon_pid()))
      if (name_of(pid).starts_with(name)) return pid;
    return 0;
  }
};

TEST_F(Load, NoneIsLostOrDoubledAndNothingIsLeft) {
  const pid_t front = child("hotcell-front"), launcher = child("hotcell-launch");
  ASSERT_TRUE(front > 0 && launcher > 0);
  auto look = [&] {
    return Holdings{open_files(front), open_files(launcher), cgroups_of(launcher), lines_of(cat("/proc/", launcher, "/mountinfo")),
                    processes_below(daemon_pid())};
  };
  // Cells that wait are made again in idle time: until the same was seen for three seconds.
  auto settled = [&] {
    Holdings seen = look();
    for (int same = 0, i = 0; same < 6 && i < 120; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      Holdings now = look();
      same = now == seen ? same + 1 : 0;
      seen = now;
    }
    return seen;
  };
  // What is made once, a template for each policy and what those keep ready among it, is there before anybody counts.
  for (int i = 0; i < 2; ++i) {
    run_all(std::size(kKinds) * 10);
    run_all(64, 8);   // as many workers at once as there may be
    settled();
  }
  const Holdings before = settled();
  const auto known_before = all_known().size();
  // What a daemon has once had to do with is given back when there was nothing to do for some seconds.
  auto memory = [&] {
    std::this_thread::sleep_for(std::chrono::seconds(12));
    return memory_kib(front) + memory_kib(launcher);
  };
  const auto memory_before = memory();

  auto outcomes = run_all(amount(480));
  std::set<std::string> ids;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].reason, kKinds[i % std::size(kKinds)].ends_as) << i;
    ids.insert(outcomes[i].id);
  }
  EXPECT_EQ(ids.size(), amount(480));
  EXPECT_FALSE(ids.contains(""));
  auto known = all_known();
  EXPECT_EQ(known.size(), known_before + amount(480));
  for (const auto& [id, status] : known) EXPECT_TRUE(status != "running" && status != "pending") << id << " " << status;

  EXPECT_EQ(child("hotcell-front"), front) << "the front was started anew";
  EXPECT_EQ(child("hotcell-launch"), launcher) << "the launcher was started anew";
  Holdings after = settled();
  std::cout << "before: " << before << "\nafter:  " << after << "\n";
  // Up to eight cgroups wait to be used again, each a folder of every hierarchy with its files open; how many do is chance.
  constexpr std::size_t kSpareCgroups = 8, kFolders = 3, kFiles = 15;
  EXPECT_NEAR(static_cast<double>(after.cgroups), static_cast<double>(before.cgroups), kSpareCgroups * kFolders);
  EXPECT_NEAR(static_cast<double>(after.launcher_files), static_cast<double>(before.launcher_files), kSpareCgroups * kFiles);
  // Fewer is nothing left behind: a template that nobody asked for meanwhile is let go of.
  EXPECT_LE(after.front_files, before.front_files);
  EXPECT_LE(after.mounts, before.mounts);
  for (const auto& [name, count] : after.processes) {
    auto was = before.processes.find(name);
    EXPECT_LE(count, was == before.processes.end() ? 0 : was->second) << name;
  }
  const auto memory_after = memory();
  RecordProperty("memory_kib", cat(memory_before, " ", memory_after));
  std::printf("%zu executions: memory %llu KiB before, %llu after\n", amount(480), static_cast<unsigned long long>(memory_before),
              static_cast<unsigned long long>(memory_after));
  // The thread sanitizer keeps a shadow of all that was ever touched: ./test says when the front is one with it.
  if (::getenv("HOTCELL_SHADOWED") == nullptr) {
    EXPECT_LE(memory_after, memory_before + (2u << 10));
  }
}

TEST_F(Load, NoneIsLostWhileProcessesOfTheDaemonAreKilled) {
  std::atomic<bool> stop{false};
  std::size_t kills = 0;
  std::thread killer([&] {
    std::mt19937 chance(1);
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(400 + chance() % 800));
      auto all = children_of(daemon_pid());
      std::vector<pid_t> more;
      for (pid_t pid : all)
        for (pid_t below : children_of(pid)) more.push_back(below);   // cells' inits and verifiers
      all.insert(all.end(), more.begin(), more.end());
      if (all.empty() || stop) continue;
      ::kill(all[chance() % all.size()], SIGKILL);
      ++kills;
    }
  });
  auto outcomes = run_all(amount(240));
  stop = true;
  killer.join();
  EXPECT_GT(kills, 3u);
  // All have an answer, each its own id, and each is known by exactly that id.
  std::set<std::string> ids;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_FALSE(outcomes[i].id.empty()) << i;
    const auto& reason = outcomes[i].reason;
    EXPECT_TRUE(reason == kKinds[i % std::size(kKinds)].ends_as || reason == "sandbox_error" || reason == "signal" ||
                reason == "verification" || reason == "compile_error")
        << i << " " << reason;
    ids.insert(outcomes[i].id);
  }
  EXPECT_EQ(ids.size(), outcomes.size());
  std::map<std::string, std::string> known;
  for (int i = 0; i < 100 && known.empty(); ++i) {
    known = all_known();
    if (known.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(known.size(), outcomes.size());
  for (const auto& [id, status] : known) {
    EXPECT_TRUE(ids.contains(id)) << id;
    EXPECT_TRUE(status != "running" && status != "pending") << id << " " << status;
  }
}

}  // namespace
}  // namespace hotcell::testing
