// Whether a backend works here, by a real run with a time limit; never by looking for a file.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/select.h"

namespace hotcell::backends {

struct Probed {
  std::string name, what;
  bool works = false;
  std::string why;                       // when it does not
  std::vector<LayerReport> layers;       // as read back
  std::vector<Held> held;                // of the policy that was asked about
  std::chrono::microseconds start{0};    // /bin/true, request to verdict, the better of two
};

// A backend that is made of more than a tool: what tries it lives where its parts are (manager/wasm_backend.h) and says so here,
// once, before anything is probed.
struct Trial {
  std::string_view name, what;
  Result<Report> (*run)() = nullptr;            // the smallest program there is
  std::vector<Held> (*judge)(const Policy&) = nullptr;
};
void add_trial(const Trial& trial);

// Of the whole process; a test is less patient and keeps what it finds elsewhere.
struct ProbeSettings {
  std::chrono::milliseconds patience = std::chrono::seconds(20);  // a platform that hangs for ever is one that does not work
  std::optional<std::string> cache_folder;                        // unset: the user's own; empty: nothing is kept
};
ProbeSettings& probe_settings();

enum class ProbeFor : std::uint8_t { kListing, kChoosing };  // with its start-up time, or whether it works at all
Probed probe(std::string_view name, const Settings& settings = {}, ProbeFor purpose = ProbeFor::kListing, const Policy& policy = default_policy());
std::string_view describe(std::string_view name);
// How it works on this host, where that is not the same everywhere (a machine's processor): by a trial, unless there was one lately. Empty: as
// described.
std::string here_of(std::string_view name, const Settings& settings);
std::string describe_here(std::string_view name, const Settings& settings);
std::vector<Held> held_of(std::string_view name, const Policy& policy);  // on this host, for this user
// How long a trial run may take: what was said of this tool.
Nanoseconds patience_for(std::string_view name, const Settings& settings, Nanoseconds otherwise);
std::vector<std::string_view> names();   // native and landlock first
// `only`: these, where it is not empty.
std::vector<Probed> probe_all(const Settings& settings = {}, const Policy& policy = default_policy(), const std::vector<std::string>& only = {});
// Only as far as a level needs: the first that works and holds the policy ends it. What was found lately is not tried again
// (probe_cache.h).
Result<Choice> select_here(Level level, const Settings& settings = {}, const Policy& policy = default_policy(), const std::vector<std::string>& waived = {});
// Tier `strong`: the strongest that works, and nothing weaker than a container.
Result<Choice> select_strong(const Settings& settings = {}, const Policy& policy = default_policy(), const std::vector<std::string>& waived = {});

}  // namespace hotcell::backends
