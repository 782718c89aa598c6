// `hotcell doctor`: what this host can enforce, what a default cell really gets here, and what to do about the rest.
#include <stdlib.h>
#include <unistd.h>

#include <optional>

#include "backends/probe.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/doctor_attack.h"
#include "cli/doctor_report.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "hotcell/launcher.h"

namespace hotcell {
namespace {

Result<Report> try_default_cell(const std::string& backend) {
  LauncherOptions options;
  options.backend = backend;
  TRY_SET(auto launcher, Launcher::create(options));
  Request request;
  request.argv = {"/bin/true"};
  return launcher->run(default_policy(), std::move(request));
}

// Not in the help: for tests, which pick one attack or another backend, or show that the attacks work without a cell.
struct Hidden {
  bool control = false;
  std::string only, backend = "native";
  std::vector<std::string> settings;  // of the tool behind it
  std::vector<std::string_view> rest;
};
Hidden take_hidden(Args args) {
  Hidden h;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--control") h.control = true;
    else if (args[i] == "--only" && i + 1 < args.size()) h.only = args[++i];
    else if (args[i] == "--backend" && i + 1 < args.size()) h.backend = args[++i];
    else if (args[i] == "--backend-option" && i + 1 < args.size()) h.settings.emplace_back(args[++i]);
    else h.rest.push_back(args[i]);
  }
  return h;
}

}  // namespace

int cmd_doctor(Args args) {
  const Hidden hidden = take_hidden(args);
  auto parsed = parse(Command::kDoctor, hidden.rest);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kDoctor));
  if (!parsed.value().words.empty())
    return refuse(make_error(ErrorCode::kInvalid, cat("doctor takes no words, got ", parsed.value().words.front())));
  const bool json = parsed.value().has(Opt::kJson);
  const bool colour = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nullptr;
  if (parsed.value().has(Opt::kAttack)) {
    AttackOptions options;
    options.backend = hidden.backend;
    options.json = json;
    options.colour = colour;
    options.control = hidden.control;
    options.only = hidden.only;
    auto settings = backends::Settings::parse(hidden.settings);
    if (!settings.ok()) return refuse(settings.error());
    options.settings = std::move(settings).value();
    return run_attacks(options);
  }
  if (hidden.control || !hidden.only.empty() || !hidden.settings.empty())
    return refuse(make_error(ErrorCode::kInvalid, "--control, --only and --backend-option go with --attack"));

  sys::Facts facts = sys::probe();
  // The device's answer is no proof, and a guest is. What this says is what machines are made of here.
  if (std::string machine = backends::here_of("vm", {}); !machine.empty())
    for (auto& fact : facts.all) {
      if (fact.name != "kvm") continue;
      if (machine.starts_with("KVM")) fact.have = sys::Have::kYes;
      fact.reason = cat("backend vm: ", machine);
    }
  const DoctorReport report = make_doctor_report(std::move(facts), try_default_cell(hidden.backend));
  if (int failed = print(json ? doctor_json(report) : doctor_text(report, colour)); failed != 0) return failed;
  return report.ok ? 0 : 1;
}

}  // namespace hotcell
