#include "manager/stock.h"

#include "core/policy/profile.h"
#include "manager/pipeline.h"

namespace hotcell {
namespace {

struct Stock {
  const JobRules& rules;
  Workers& workers;
  CodeRunner& code;

  // An empty profile: the one that a request gets that names none.
  void keep_runtimes(const std::string& language, const std::string& profile, std::size_t wanted) {
    JobSpec program;
    program.language = language;
    program.profile = profile;
    auto job = make_job(std::move(program), rules);
    if (wanted == 0 || !job.ok()) return;
    // The policy before the runtime's needs were laid over it: keep() does that itself.
    JobSpec command;
    command.argv = {"/bin/true"};
    command.profile = profile.empty() ? profile_for(rules.default_profile, job.value().source->language) : profile;
    auto plain = make_job(std::move(command), rules);
    if (!plain.ok()) return;
    workers.run([&runner = code, policy = plain.value().policy, known = job.value().source->language, raise = job.value().raise,
                 wanted](Result<Workers::Tools*> tools) {
      if (tools.ok()) runner.keep(*tools.value(), *known, policy, raise, wanted);
    });
  }
};

}  // namespace

void keep_stock(const ExecutionsOptions& options, const JobRules& rules, Workers& workers, CodeRunner& code) {
  JobSpec command;
  command.argv = {"/bin/true"};
  auto plain = make_job(std::move(command), rules);
  if (!plain.ok()) return;
  if (options.park_cells > 0)
    workers.run([policy = plain.value().policy, n = options.park_cells](Result<Workers::Tools*> tools) {
      if (tools.ok()) tools.value()->launcher.park(policy, n).ignore("cells are made on demand then");
    });
  Stock stock{rules, workers, code};
  for (const auto& [language, wanted] : options.park_runtimes) stock.keep_runtimes(language, {}, wanted);
  for (const auto& profile : options.park_profiles) {
    auto loaded = load_profile(profile, rules.profiles);
    if (!loaded.ok()) continue;  // the front has said so
    const std::string& own = loaded.value().language;
    if (!own.empty()) stock.keep_runtimes(own, profile, options.park_runtimes.contains(own) ? options.park_runtimes.at(own) : 1);
    else
      for (const auto& [language, wanted] : options.park_runtimes) stock.keep_runtimes(language, profile, wanted);
  }
}

}  // namespace hotcell
