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
  Request rich;
  rich.rich = true;
  if (language.warm.rich != nullptr && language.warm.rich(policy)) {
    Policy same = policy;
    TRY(plan_run(source, same, raise, rich));
  }
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
  kept_.push_back({&language, std::move(policy), std::move(cold.argv), std::move(rich.argv), std::move(cold.env),
                   std::move(runtime)});
  return {};
}

void WarmRuntimes::offer(const ProgramSource& source, const Policy& policy, Request& request) const {
  for (const auto& k : kept_) {
    const auto& cold = request.rich ? k.rich : k.cold;
    if (k.language != source.language || cold.empty() || cold.size() > request.argv.size() ||
        !std::equal(cold.begin(), cold.end(), request.argv.begin()))
      continue;
    bool plain =
        request.argv.size() == cold.size() && request.env == k.env && request.workdir.empty() && request.id.empty();
    if (!k.language->warm.arguments && !plain) continue;
    bool late = std::any_of(request.env.begin(), request.env.end(), [&](const auto& e) {
      auto there = k.env.find(e.first);
      return is_read_at_start(e.first) && (there == k.env.end() || there->second != e.second);
    });
    if (late || !same_cell(k.policy, policy)) continue;
    request.runtime = k.runtime;
    // From the program on; what stands before it has been said when the runtime was started. A runner of ours has not.
    const std::size_t begin = request.rich ? 1 : cold.size() - 1;
    request.runtime_argv.assign(request.argv.begin() + static_cast<std::ptrdiff_t>(begin), request.argv.end());
    return;
  }
}

}  // namespace hotcell
