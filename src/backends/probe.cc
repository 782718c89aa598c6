#include "backends/probe.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "backends/probe_cache.h"
#include "backends/tool_launcher.h"
#include "backends/vm_accel.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

std::vector<Trial>& trials() {
  static std::vector<Trial> list;
  return list;
}
const Trial* find_trial(std::string_view name) {
  for (const auto& t : trials())
    if (t.name == name) return &t;
  return nullptr;
}

Policy trial_policy(std::string_view name, const Settings& settings) {
  Policy policy = default_policy();
  policy.limits.wall = patience_for(name, settings, probe_settings().patience);
  return policy;
}

Result<Report> worked(Result<Report> tried, Nanoseconds wall) {
  if (!tried.ok() || tried.value().verdict.status() == RunStatus::kCompleted) return tried;
  const Report& report = tried.value();
  if (report.verdict.reason == ExitReason::kTimeoutWall)
    return make_error(ErrorCode::kUnsupported, cat("the smallest program had not ended after ", std::chrono::duration_cast<std::chrono::milliseconds>(wall).count(), " ms"));
  auto said = trim(report.err);
  return make_error(ErrorCode::kUnsupported, cat("the smallest program ended with ", to_string(report.verdict.reason), report.error.empty() ? "" : ": ",
                                                 report.error, said.empty() ? "" : ": ", printable(said.substr(0, 300))));
}

Result<Report> try_once(Launcher& launcher, const Policy& policy, const Settings& settings) {
  Request request;
  request.argv = {"/bin/true"};
  // The shell reads the walls back and so must be there; of a root that somebody has put together nothing more is known.
  if (settings.said("oci.rootfs") || settings.said("oci.image") || settings.said("vm.image")) request.argv = {"/bin/sh", "-c", ":"};
  return worked(launcher.run(policy, std::move(request)), policy.limits.wall);
}

Result<void> fill(Probed& p, ProbeFor purpose, const Settings& settings) {
  const Trial* trial = find_trial(p.name);
  std::unique_ptr<Launcher> launcher;
  if (trial == nullptr) {
    ToolOptions options;
    options.settings = settings.of(p.name);  // of all that may be chosen there are some
    options.patience = patience_for(p.name, settings, probe_settings().patience);
    // Whoever wants a list wants to know how it is now; what is found is kept, and the launcher believes that.
    if (std::string qemu = p.name == "vm" && purpose == ProbeFor::kListing ? find(p.name)->installed(settings) : std::string(); !qemu.empty())
      TRY(accel_here(options.settings, qemu, {Believe::kNothing, {}}));
    TRY_SET(launcher, open_backend(p.name, {}, std::move(options)));
  }
  int runs = purpose == ProbeFor::kChoosing ? 1 : 3;
  for (int i = 0; i < runs; ++i) {
    auto before = std::chrono::steady_clock::now();
    TRY_SET(Report report, trial == nullptr ? try_once(*launcher, trial_policy(p.name, settings), settings) : worked(trial->run(), default_policy().limits.wall));
    auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - before);
    if (i > 0) p.start = i == 1 ? took : std::min(p.start, took);  // the first one also reads the walls back
    p.layers = std::move(report.enforcement.layers);
  }
  return {};
}

// Judged is what a tool can do; how far that goes depends on who asks, and where.
void judge_here(std::string_view name, const Backend* tool, const Policy& policy, std::vector<Held>& held) {
  const bool root = ::geteuid() == 0;
  // An engine is root whoever asks it, and a machine's ceilings are the guest's.
  const bool ours = tool == nullptr || (!tool->engine() && tool->name() != "vm");
  const bool another = name == "landlock" || (tool != nullptr && tool->own_ids() && tool->name() != "vm");
  for (auto& h : held) {
    if (!root && ours && h.status == LayerStatus::kFull && (h.statement == "memory" || h.statement == "cpu")) {
      h.status = LayerStatus::kPartial;
      h.detail = "cgroup where this user may make one; each process and samples otherwise";
    }
    if (root && another && !policy.filesystem.grants.empty() && h.statement == "identity" && h.status != LayerStatus::kNone)
      h.detail += "; of what is granted it may do what others may: root's own files stay shut";
  }
}

// What the trial has shown to be less.
void lower(std::vector<Held>& held, const std::vector<LayerReport>& layers) {
  for (auto& h : held)
    for (const auto& l : layers)
      if ((l.layer == Layer::kMemory || l.layer == Layer::kCpu) && h.statement == to_string(l.layer) && h.status == LayerStatus::kFull && l.status != LayerStatus::kFull) {
        h.status = LayerStatus::kPartial;
        h.detail = l.detail;
      }
}

}  // namespace

Nanoseconds patience_for(std::string_view name, const Settings& settings, Nanoseconds otherwise) {
  int said = 0;
  std::string text = name == "codex" && settings.said("codex.probe_timeout") ? settings.get("codex.probe_timeout") : "";
  std::from_chars(text.data(), text.data() + text.size(), said);
  return said > 0 ? std::chrono::milliseconds(said) : otherwise;
}

std::string_view describe(std::string_view name) {
  if (name == "native") return "namespaces, Landlock, seccomp, cgroups";
  if (name == "landlock") return "no namespaces: Landlock, seccomp, rlimits";
  if (const Trial* trial = find_trial(name)) return trial->what;
  const Backend* b = find(name);
  return b == nullptr ? "" : b->what();
}

std::string here_of(std::string_view name, const Settings& settings) {
  std::string qemu = name == "vm" ? find(name)->installed(settings) : std::string();
  if (qemu.empty()) return {};
  auto choice = accel_here(settings, qemu);
  return choice.ok() ? choice.value().reason : std::string();  // what fails is told as why it fails
}

std::string describe_here(std::string_view name, const Settings& settings) {
  std::string here = here_of(name, settings);
  return cat(describe(name), here.empty() ? "" : "; here: ", here);
}

std::vector<Held> held_of(std::string_view name, const Policy& policy) {
  const Backend* tool = find(name);
  const Trial* trial = find_trial(name);
  auto held = tool != nullptr ? tool->judge(policy) : trial != nullptr ? trial->judge(policy) : judge_own(name, policy);
  judge_here(name, tool, policy, held);
  return held;
}

ProbeSettings& probe_settings() {
  static ProbeSettings settings;
  return settings;
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out = {"native", "landlock"};
  for (const auto& trial : trials()) out.push_back(trial.name);
  for (const Backend* b : all()) out.push_back(b->name());
  return out;
}

void add_trial(const Trial& trial) {
  if (find_trial(trial.name) == nullptr) trials().push_back(trial);
}

Probed probe(std::string_view name, const Settings& settings, ProbeFor purpose, const Policy& policy) {
  Probed p;
  p.name = std::string(name);
  p.held = held_of(name, policy);
  auto filled = fill(p, purpose, settings);
  p.works = filled.ok();
  if (!p.works) p.why = filled.error().message;
  p.what = describe_here(name, settings);
  lower(p.held, p.layers);
  return p;
}

std::vector<Probed> probe_all(const Settings& settings, const Policy& policy, const std::vector<std::string>& only) {
  std::vector<Probed> out;
  // Asked for by name: tried, whatever is known, and kept for those who come later.
  ProbeCache cache(probe_settings().cache_folder.value_or(ProbeCache::standard_folder()));
  for (auto name : names()) {
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    out.push_back(probe(name, settings, ProbeFor::kListing, policy));
    cache.put(out.back(), probe_key_here(name, settings), std::chrono::system_clock::now());
  }
  return out;
}

Result<Choice> select_here(Level level, const Settings& settings, const Policy& policy, const std::vector<std::string>& waived) {
  std::vector<Fact> facts;
  ProbeCache cache(probe_settings().cache_folder.value_or(ProbeCache::standard_folder()));
  auto known = names();
  for (auto name : order_of(level)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) continue;
    if (auto why = not_for(name, settings, SettingsOf::kCandidate); !why.empty()) {
      facts.push_back({std::string(name), false, std::move(why)});
      continue;
    }
    auto held = held_of(name, policy);
    auto missing = std::find_if(held.begin(), held.end(), [&](const Held& h) {
      return h.status == LayerStatus::kNone && !h.by_name && std::find(waived.begin(), waived.end(), h.statement) == waived.end();
    });
    if (missing != held.end()) {
      facts.push_back({std::string(name), false, cat("cannot hold this policy: ", missing->statement, ": ", missing->detail)});
      continue;
    }
    Probed p = probe_cached(name, cache, settings);
    facts.push_back({p.name, p.works, p.why});
    if (p.works) break;
  }
  return select(level, facts);
}

Result<Choice> select_strong(const Settings& settings, const Policy& policy, const std::vector<std::string>& waived) {
  auto found = select_here(Level::kMaximum, settings, policy, waived);
  if (found.ok()) return found;
  auto container = select_here(Level::kContainer, settings, policy, waived);
  if (!container.ok()) return make_error(ErrorCode::kUnsupported, cat(found.error().message, "; ", container.error().message));
  container.value().reason += cat("; stronger ones: ", found.error().message);
  return container;
}

}  // namespace hotcell::backends
