// What lasting cells use, what happens in them, and their network.
#include "base/strings.h"
#include "cells/monitor/needs.h"
#include "cli/cell.h"
#include "cli/cell_json.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<void> only_a_cell(const Parsed& parsed) {
  if (parsed.words.size() > 2) return bad(cat("cell ", parsed.words[0], ": ", printable(parsed.words[2]), " is one word too many"));
  return {};
}

Result<int> print_words(Result<std::string> words) {
  if (!words.ok()) return std::move(words).error();
  return print(words.value());
}

std::string lines(const Parsed& parsed, Opt option) {
  std::vector<std::string> out;
  for (const auto& [o, value] : parsed.values())
    if (o == option) out.emplace_back(value);
  return join(out, "\n");
}

}  // namespace

Result<int> cell_usage(const Parsed& parsed) {
  TRY_SET(std::string cell, cell_word(parsed));
  TRY(only_a_cell(parsed));
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(cell_ask("usage", cell)));
  return parsed.has(Opt::kJson) ? print(told.text) : print_words(usage_words(told.text));
}

Result<int> cell_events(const Parsed& parsed) {
  TRY_SET(std::string cell, cell_word(parsed));
  TRY(only_a_cell(parsed));
  TRY(catch_signals());
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(std::uint64_t asked, keeper.send(cell_ask("events", cell)));
  while (caught_signal() == 0) {
    TRY_SET(std::optional<cells::Told> told, keeper.receive(std::chrono::milliseconds(100)));
    if (!told || told->number != asked) continue;
    if (told->error) return *std::move(told->error);
    if (!told->text.empty())
      if (int failed = print((parsed.has(Opt::kJson) ? told->text : event_words(told->text)) + "\n"); failed != 0) return failed;
    if (told->last) break;
  }
  return 0;
}

Result<int> cell_estimate(const Parsed& parsed) {
  if (parsed.words.size() < 2) return bad("cell estimate: expected hotcell cell estimate -- COMMAND...");
  std::vector<std::string> argv(parsed.words.begin() + 1, parsed.words.end());
  // One word with blanks in it is a line of a shell.
  cells::Needs needs = argv.size() == 1 ? cells::estimate_needs(argv[0]) : cells::estimate_needs(argv);
  if (!parsed.has(Opt::kJson))
    return print(cat("--memory ", format_bytes(needs.memory), " --cpu-time ", needs.cpu.count(), "s --timeout ", needs.wall.count(), "s",
                     needs.because.empty() ? "" : cat("  (", printable(needs.because), ")"), "\n"));
  return print(cells::needs_json(needs) + "\n");
}

Result<int> cell_network(const Parsed& parsed, std::string_view what) {
  TRY_SET(std::string cell, cell_word(parsed));
  TRY(only_a_cell(parsed));
  cells::Ask ask = cell_ask(std::string(what), cell);
  bool changes = parsed.has(Opt::kAllowDomain) || parsed.has(Opt::kBlockDomain);
  if (parsed.has(Opt::kAllowDomain)) ask.fields["allow"] = lines(parsed, Opt::kAllowDomain);
  if (parsed.has(Opt::kBlockDomain)) ask.fields["block"] = lines(parsed, Opt::kBlockDomain);
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (parsed.has(Opt::kJson)) return print(told.text);
  if (changes || what == "seal") return 0;
  return print_words(network_words(told.text));
}

}  // namespace hotcell
