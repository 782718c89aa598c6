// What a probe found, kept: a level would otherwise try its backends before each run. An entry is for one binary (its path, time,
// size and inode), one kernel, one user, one version of ours and what else it leans on (settings, an engine's socket, images, the
// guest's kernel and where it is looked for), and not for long. It only ever chooses what is tried for
// real a moment later; nothing runs with weaker walls because an entry is old.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "backends/probe.h"

namespace hotcell::backends {

class ProbeCache {
 public:
  // What works is believed for an hour; what does not for a minute, since people repair it and try again.
  static constexpr auto kGood = std::chrono::hours(1);
  static constexpr auto kBad = std::chrono::minutes(1);

  explicit ProbeCache(std::string folder) : folder_(std::move(folder)) {}
  static std::string standard_folder();     // of this user, beside the one of the artefacts; empty: none is known

  std::optional<Probed> get(std::string_view name, std::string_view key, std::chrono::system_clock::time_point now,
                            std::chrono::seconds bad = kBad) const;
  void put(const Probed& probed, std::string_view key, std::chrono::system_clock::time_point now) const;
  void forget(std::string_view name) const;  // what was found is not so: whoever asks next tries again

 private:
  std::string folder_;
};

// Everything a result depends on, hashed. `tool`: where the binary is; empty: nowhere, which is a key of its own.
std::string probe_key(std::string_view name, const std::string& tool, std::string_view config);

std::string probe_key_here(std::string_view name, const Settings& settings = {});

// By the cache, or by a real try that is then kept.
Probed probe_cached(std::string_view name, const ProbeCache& cache, const Settings& settings = {});

}  // namespace hotcell::backends
