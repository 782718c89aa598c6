#include "backends/engine/group.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

std::uint64_t number_in(const std::string& path) {
  auto text = sys::read_file(path.c_str());
  if (!text.ok()) return 0;
  std::uint64_t n = 0;
  std::from_chars(text.value().data(), text.value().data() + text.value().size(), n);
  return n;
}

std::uint64_t field_in(const std::string& path, std::string_view key) {
  auto text = sys::read_file(path.c_str());
  if (!text.ok()) return 0;
  for (auto line : split(text.value(), '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      std::uint64_t n = 0;
      auto rest = line.substr(key.size() + 1);
      std::from_chars(rest.data(), rest.data() + rest.size(), n);
      return n;
    }
  return 0;
}

}  // namespace

EngineGroup EngineGroup::of(long long pid, const std::string& id) {
  EngineGroup out;
  auto text = sys::read_file(cat("/proc/", pid, "/cgroup").c_str());
  if (pid <= 0 || !text.ok() || id.empty()) return out;
  for (auto line : split(text.value(), '\n')) {
    auto parts = split(line, ':');
    if (parts.size() < 3 || parts[2].find(id) == parts[2].npos) continue;
    auto controllers = split(parts[1], ',');
    auto has = [&](std::string_view name) { return std::find(controllers.begin(), controllers.end(), name) != controllers.end(); };
    auto folder = [&](std::string_view name) {
      std::string together = cat("/sys/fs/cgroup/", parts[1], parts[2]);
      return ::access(together.c_str(), R_OK) == 0 ? together : cat("/sys/fs/cgroup/", name, parts[2]);
    };
    if (has("cpuacct")) out.cpu_ = folder("cpuacct");
    if (has("memory")) out.memory_ = folder("memory");
    if (has("pids")) out.pids_ = folder("pids");
    std::string whole = cat("/sys/fs/cgroup", parts[2]);
    if (parts[0] == "0" && out.cpu_.empty() && ::access(cat(whole, "/cpu.stat").c_str(), R_OK) == 0) {
      out.v2_ = true;
      out.cpu_ = out.memory_ = out.pids_ = whole;
    }
  }
  return out;
}

bool EngineGroup::sample(Usage& usage, LiveUsage& now) const {
  if (!known()) return false;
  auto cpu = Nanoseconds(v2_ ? field_in(cpu_ + "/cpu.stat", "usage_usec") * 1000 : number_in(cpu_ + "/cpuacct.usage"));
  if (cpu.count() == 0) return false;
  usage.cpu = std::max(usage.cpu, cpu);
  now.cpu = usage.cpu;
  now.memory.n = number_in(memory_ + (v2_ ? "/memory.current" : "/memory.usage_in_bytes"));
  auto peak = number_in(memory_ + (v2_ ? "/memory.peak" : "/memory.max_usage_in_bytes"));
  usage.memory_peak.n = std::max({usage.memory_peak.n, peak, now.memory.n});
  now.tasks = static_cast<std::uint32_t>(number_in(pids_ + "/pids.current"));
  usage.processes_peak = std::max(usage.processes_peak, now.tasks);
  return true;
}

}  // namespace hotcell::backends
