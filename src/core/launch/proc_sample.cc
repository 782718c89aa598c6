#include "core/launch/proc_sample.h"

#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr unsigned kMaxTree = 4096;

void add_process(int pid, bool is_init, CgroupSample& out, unsigned& budget) {
  if (budget == 0) return;
  --budget;
  auto text = sys::read_file(cat("/proc/", pid, "/stat").c_str());
  if (!text) return;
  auto close = text.value().rfind(')');
  if (close == std::string::npos) return;
  auto f = split(std::string_view(text.value()).substr(close + 2), ' ');
  if (f.size() < 22) return;
  auto number = [&](std::size_t i) { return parse_u64(f[i]).value_or(0); };
  static const long kTick = ::sysconf(_SC_CLK_TCK), kPage = ::sysconf(_SC_PAGESIZE);
  // utime stime cutime cstime are fields 14–17; init's own c-times hold those it has reaped.
  auto ticks = [&](std::uint64_t n) { return Nanoseconds(n * 1'000'000'000 / static_cast<std::uint64_t>(kTick)); };
  Nanoseconds user = ticks((is_init ? 0 : number(11)) + number(13)), system = ticks((is_init ? 0 : number(12)) + number(14));
  out.cpu_user += user;
  out.cpu_system += system;
  out.cpu += user + system;
  if (!is_init) {
    out.tasks += static_cast<std::uint32_t>(number(17));
    out.anonymous.n += number(21) * static_cast<std::uint64_t>(kPage);
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

}  // namespace

CgroupSample sample_tree(int init_pid) {
  CgroupSample out;
  unsigned budget = kMaxTree;
  add_process(init_pid, true, out, budget);
  out.memory = out.anonymous;
  return out;
}

}  // namespace hotcell
