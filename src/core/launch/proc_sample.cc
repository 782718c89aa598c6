#include "core/launch/proc_sample.h"

#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr unsigned kMaxTree = 4096;

struct Resident {
  std::uint64_t own = 0, files = 0;
};

// A name cannot hold a line's end (the kernel writes \n), so it is no line of its own.
Resident resident(int pid) {
  auto text = sys::read_file(cat("/proc/", pid, "/status").c_str());
  if (!text) return {};
  auto bytes = [&](std::string_view key) -> std::uint64_t {
    auto at = text.value().find(key);
    if (at == std::string::npos) return 0;
    auto line = std::string_view(text.value()).substr(at + key.size());
    line = trim(line.substr(0, line.find('\n')));
    return parse_u64(line.substr(0, line.find(' '))).value_or(0) << 10;
  };
  return {bytes("\nRssAnon:") + bytes("\nRssShmem:"), bytes("\nRssFile:")};
}

}  // namespace

void TreeSampler::add_process(int pid, bool is_init, CgroupSample& out, unsigned& budget) {
  if (budget == 0) return;
  --budget;
  auto text = sys::read_file(cat("/proc/", pid, "/stat").c_str());
  if (!text) return;
  auto close = text.value().rfind(')');
  if (close == std::string::npos) return;
  auto f = split(std::string_view(text.value()).substr(close + 2), ' ');
  if (f.size() < 22) return;
  auto number = [&](std::size_t i) { return parse_u64(f[i]).value_or(0); };
  static const long kTick = ::sysconf(_SC_CLK_TCK);
  // utime stime cutime cstime are fields 14–17, the start time is the 22nd; init's own time is ours, not the program's.
  auto ticks = [&](std::uint64_t n) { return Nanoseconds(n * 1'000'000'000 / static_cast<std::uint64_t>(kTick)); };
  Nanoseconds user = is_init ? Nanoseconds(0) : ticks(number(11)), system = is_init ? Nanoseconds(0) : ticks(number(12));
  Nanoseconds child_user = ticks(number(13)), child_system = ticks(number(14));
  out.cpu_user += user + child_user;
  out.cpu_system += system + child_system;
  auto [seen, is_new] = seen_.try_emplace({pid, number(19)});
  if (!is_new) grown_ += std::max(child_user + child_system - seen->second.reaped, Nanoseconds(0));
  seen->second = {user + system, child_user + child_system, round_};
  if (!is_init) {
    out.tasks += static_cast<std::uint32_t>(number(17));
    if (number(21) != 0) {
      Resident r = resident(pid);
      out.anonymous.n += r.own;
      files_ = std::max(files_, r.files);
    }
  }
  auto tasks = sys::list_dir(cat("/proc/", pid, "/task").c_str());
  if (!tasks) return;
  for (const auto& tid : tasks.value()) {
    auto children = sys::read_file(cat("/proc/", pid, "/task/", tid, "/children").c_str());
    if (!children) continue;
    for (auto word : split(trim(children.value()), ' '))
      if (auto child = parse_u64(word)) add_process(static_cast<int>(*child), false, out, budget);
  }
}

// The time of processes that have gone and that nobody has taken over. Who was waited for is in the account of its
// parent, which was read either before it went or after: so it is looked for in the growth of two looks, and what is not
// found there is lost. Growth that belongs to children never seen can hide a loss, never make one.
Nanoseconds TreeSampler::missing() {
  Nanoseconds found = std::min(vanished_, credit_ + grown_);
  lost_ += vanished_ - found;
  credit_ = std::min(grown_, credit_ + grown_ - found);
  grown_ = Nanoseconds(0);
  vanished_ = Nanoseconds(0);
  for (auto it = seen_.begin(); it != seen_.end();) {
    if (it->second.round == round_) {
      ++it;
      continue;
    }
    vanished_ += it->second.own + it->second.reaped;
    it = seen_.erase(it);
  }
  return lost_;
}

CgroupSample TreeSampler::sample(int init_pid) {
  CgroupSample out;
  unsigned budget = kMaxTree;
  ++round_;
  files_ = 0;
  add_process(init_pid, true, out, budget);
  out.anonymous.n += files_;
  out.cpu_user += missing();
  out.cpu = out.cpu_user + out.cpu_system;
  out.memory = out.anonymous;
  return out;
}

}  // namespace hotcell
