#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/say.h"

namespace hotcell {

namespace {

Result<std::string> explain(const Parsed& parsed) {
  TRY_SET(Job job, make_job(parsed, JobFor::kExplaining));
  if (parsed.has(Opt::kJson)) {
    TRY_SET(std::string json, explain_json(job.policy, job.request, job.launcher));
    return json.ends_with('\n') ? json : json + "\n";
  }
  TRY_SET(std::string text, explain_text(job.policy, job.request, job.launcher));
  for (const auto& note : job.notes) text += cat("note: ", printable(note), "\n");
  return text;
}

}  // namespace

int cmd_explain(Args args) {
  auto parsed = parse(Command::kExplain, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kExplain));
  auto text = explain(parsed.value());
  return text.ok() ? print(text.value()) : refuse(text.error());
}

}  // namespace hotcell
