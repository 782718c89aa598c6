// Making a cell, and looking at cells.
#include <stdlib.h>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/record.h"
#include "cli/cell.h"
#include "cli/cell_json.h"
#include "cli/network.h"
#include "cli/paths.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "core/policy/profile.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<void> add_time(const Parsed& parsed, Opt option, std::string_view name, const char* field, cells::Ask& ask) {
  auto given = parsed.last(option);
  if (!given) return {};
  TRY_SET(Nanoseconds time, parse_duration(*given).context(name));
  ask.fields[field] = cat(static_cast<std::uint64_t>(time.count()));
  return {};
}

Result<void> add_labels(const Parsed& parsed, cells::Ask& ask) {
  for (const auto& [option, value] : parsed.values()) {
    if (option != Opt::kLabel) continue;
    auto equals = value.find('=');
    if (equals == value.npos || equals == 0) return bad(cat("--label: '", printable(value), "' is not KEY=VALUE"));
    ask.fields[cat("label.", value.substr(0, equals))] = std::string(value.substr(equals + 1));
  }
  return {};
}

std::string ago(std::int64_t seconds) { return cells::age_words(std::chrono::seconds(seconds)); }

}  // namespace

Result<void> add_cell_secrets(const Parsed& parsed, cells::Ask& ask) {
  TRY_SET(auto secrets, given_secrets(parsed));
  for (auto& [where, value] : secrets) ask.fields[cat("secret.", where)] = std::move(value);
  if (const char* file = ::getenv("SSL_CERT_FILE"); file != nullptr && !secrets.empty()) {
    TRY_SET(ask.fields["authorities"], real_path(file, "SSL_CERT_FILE"));
  }
  return {};
}

Result<int> cell_create(const Parsed& parsed) {
  if (parsed.words.size() > 1) return bad(cat("cell create: ", printable(parsed.words[1]), " is one word too many; --name names it, --from says what it shows"));
  TRY_SET(ChosenPolicy chosen, choose_policy(parsed));
  if (chosen.wasm || chosen.launcher.backend != "native")
    return bad(cat("cell create: a cell that lasts is native, and ", chosen.wasm ? std::string("wasm") : chosen.launcher.backend, " was chosen (", chosen.reason.empty() ? "--level, --tier" : chosen.reason, "); none was made"));
  if (auto why = backends::not_for("native", chosen.settings, backends::SettingsOf::kNamed); !why.empty()) return bad(cat("cell create: a cell that lasts is native: ", why));
  Policy& policy = chosen.policy;
  cells::Ask ask = cell_ask("create", "");
  // What is taken from the caller's environment is taken now, once.
  for (const auto& name : policy.env.pass)
    if (const char* value = ::getenv(name.c_str())) ask.env[name] = value;
  for (const auto& [name, value] : policy.env.set) ask.env[name] = value;
  policy.env = {};
  if (auto valid = validate(policy, chosen.origins); !valid.ok()) return std::move(valid).error();
  ask.fields["policy"] = to_yaml(policy);
  if (auto name = parsed.last(Opt::kName)) ask.fields["name"] = std::string(*name);
  if (auto from = parsed.last(Opt::kFrom)) {
    TRY_SET(ask.fields["project"], real_path(*from, "--from"));
  }
  TRY(add_labels(parsed, ask));
  TRY(add_time(parsed, Opt::kTtl, "--ttl", "ttl_ns", ask));
  TRY(add_time(parsed, Opt::kIdlePause, "--idle-pause", "idle_pause_ns", ask));
  if (parsed.has(Opt::kStopped)) ask.fields["stopped"] = "1";
  if (parsed.has(Opt::kDisk)) ask.fields["own_disk"] = "1";
  if (parsed.has(Opt::kPhases)) ask.fields["phases"] = "1";
  if (policy.network.mode == NetworkMode::kProxy) {
    Network network = policy.network;
    TRY(add_cell_secrets(parsed, ask));
    for (const auto& [field, value] : ask.fields)
      if (field.starts_with("secret.")) network.allow.push_back(field.substr(field.find('@') + 1));
    TRY_SET(auto words, door_words(network, parsed));
    ask.fields["network_words"] = join(words, "\n");
  }
  if (auto file = parsed.last(Opt::kDecisions)) {
    TRY_SET(ask.fields["decisions"], decisions_text(*file));
  }
  TRY_SET(auto keeper, connect_keeper(parsed, Missing::kMake));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(CellSummary cell, read_cell(told.text));
  return print(cat(cell.name, "\n"));
}

Result<int> cell_list(const Parsed& parsed) {
  if (parsed.words.size() > 1) return bad("cell list takes no names; see hotcell cell inspect NAME");
  cells::Ask ask = cell_ask("list", "");
  TRY(add_labels(parsed, ask));
  TRY_SET(bool any, has_cells(parsed));
  if (!any) return print(parsed.has(Opt::kJson) ? "[]\n" : "Cells (0):\n");
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(auto all, read_cells(told.text));
  std::string text = cat("Cells (", all.size(), "):\n");
  for (const auto& c : all) {
    text += cat("[", c.status, "] ", c.name, "  ", c.id, "  ", ago(c.age_seconds), " old", c.work_dir.empty() ? "" : cat("  (", printable(c.work_dir), ")"), "\n");
    if (c.status == "paused") text += cat("    Paused: ", ago(c.paused_seconds), " ago, Resumable\n");
    if (!c.reason.empty()) text += cat("    ", printable(c.reason), "\n");
    if (!c.unfinished_apply.empty()) text += cat("    Unfinished apply: ", printable(c.unfinished_apply), "\n");
    if (c.cleanup_eligible) text += "    Cleanup eligible\n";
  }
  return print(text);
}

Result<int> cell_inspect(const Parsed& parsed) {
  TRY_SET(std::string name, cell_word(parsed));
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(cell_ask("inspect", name)));
  return print(told.text + "\n");
}

}  // namespace hotcell
