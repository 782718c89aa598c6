#include "manager/warm.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/same_cell.h"
#include "languages/common/warm.h"

namespace hotcell {
namespace {

// What a runtime reads of its environment before we could change it.
bool is_read_at_start(std::string_view name) {
  for (std::string_view prefix : {"PYTHON", "NODE", "JAVA", "JDK", "LD_", "LC_", "LANG", "MALLOC", "GLIBC", "OMP_",
                                  "OPENBLAS", "MKL_", "TZ", "UV_", "PATH"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// The program every runtime waits for: what it is called is all that matters.
ProgramSource stand_in(const Language& language) {
  ProgramSource source;
  source.language = &language;
  source.sources.main = std::string(language.main_file);
  source.sources.files = {{source.sources.main, ""}};
  return source;
}

}  // namespace

Result<void> WarmRuntimes::keep(Launcher& launcher, Pipeline& pipeline, const Language& language, Policy policy,
                                MayRaise raise, std::size_t count) {
  if (language.warm.prepare == nullptr)
    return make_error(ErrorCode::kUnsupported,
                      cat(language.name, " programs have no runtime that could wait for them"));
  if (!policy.warm) return make_error(ErrorCode::kInvalid, cat("profile ", printable(policy.name), ": warm is false"));
  ProgramSource source = stand_in(language);
  Request cold;
  TRY(plan_run(source, policy, raise, cold));
  auto same = [&](const Kept& k) { return k.language == &language && same_cell(k.policy, policy); };
  auto known = std::find_if(kept_.begin(), kept_.end(), same);
  if (known != kept_.end()) {
    TRY(launcher.park(policy, known->runtime, count));
    if (count == 0) kept_.erase(known);
    return {};
  }
  if (count == 0) return {};
  std::vector<OutputFile> helper;
  if (!language.warm.source.empty()) {
    ProgramSource ours;
    ours.language = &language;
    ours.sources.main = std::string(language.warm.source);
    ours.sources.files = {{ours.sources.main, std::string(warm_prelude(language.warm.source))}};
    TRY_SET(helper, pipeline.compiled(ours, policy));
  }
  auto tools = find_tools(language, policy);
  BuildInput input{source.sources, policy, tools, policy.fast};
  TRY_SET(RunStep step, language.run(input));
  TRY(language.warm.prepare(input, helper, step));
  auto runtime = std::make_shared<Runtime>();
  runtime->argv = std::move(step.argv);
  runtime->env = std::move(step.env);
  for (auto& f : step.extra) runtime->files.push_back({std::move(f.name), std::move(f.text), 0644});
  TRY(launcher.park(policy, runtime, count));
  kept_.push_back({&language, std::move(policy), std::move(cold.argv), std::move(cold.env), std::move(runtime)});
  return {};
}

void WarmRuntimes::offer(const ProgramSource& source, const Policy& policy, Request& request) const {
  for (const auto& k : kept_) {
    if (k.language != source.language || k.cold.size() > request.argv.size() ||
        !std::equal(k.cold.begin(), k.cold.end(), request.argv.begin()))
      continue;
    bool plain =
        request.argv.size() == k.cold.size() && request.env == k.env && request.workdir.empty() && request.id.empty();
    if (!k.language->warm.arguments && !plain) continue;
    bool late = std::any_of(request.env.begin(), request.env.end(), [&](const auto& e) {
      auto there = k.env.find(e.first);
      return is_read_at_start(e.first) && (there == k.env.end() || there->second != e.second);
    });
    if (late || !same_cell(k.policy, policy)) continue;
    request.runtime = k.runtime;
    request.runtime_argv.assign(request.argv.begin() + static_cast<std::ptrdiff_t>(k.cold.size() - 1),
                                request.argv.end());
    return;
  }
}

}  // namespace hotcell
