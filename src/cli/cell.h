// What the subcommands of `hotcell cell` share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cells/keeper/client.h"
#include "cli/options.h"
#include "cli/state.h"
#include "hotcell/result.h"

namespace hotcell {

// Whether cells were ever made where --state or the configuration says. A folder that was named and is not there is an error: the name
// was mistyped. Nothing is made by looking.
Result<bool> has_cells(const Parsed& parsed);
Error no_cell(const Parsed& parsed, std::string_view name);  // where none were ever made; of no name: of all
// With Missing::kMake also there.
Result<cells::KeeperClient> connect_keeper(const Parsed& parsed, Missing missing = Missing::kRefuse);
// The word after the subcommand: which cell.
Result<std::string> cell_word(const Parsed& parsed);
cells::Ask cell_ask(std::string verb, std::string cell);
// create and start: --secret, with the values.
Result<void> add_cell_secrets(const Parsed& parsed, cells::Ask& ask);

// One file each.
Result<int> cell_create(const Parsed& parsed);
Result<int> cell_exec(const Parsed& parsed);
Result<int> cell_list(const Parsed& parsed);
Result<int> cell_inspect(const Parsed& parsed);
Result<int> cell_file(const Parsed& parsed, std::string_view what);      // ls cat write stat mkdir remove move watch
Result<int> cell_copy(const Parsed& parsed);
Result<int> cell_changes(const Parsed& parsed, std::string_view what);   // diff apply discard
Result<int> cell_saved(const Parsed& parsed, std::string_view what);     // snapshot snapshots restore fork
Result<int> cell_context(const Parsed& parsed);
Result<int> cell_usage(const Parsed& parsed);
Result<int> cell_events(const Parsed& parsed);
Result<int> cell_estimate(const Parsed& parsed);
Result<int> cell_network(const Parsed& parsed, std::string_view what);   // network seal
Result<int> cell_decisions(const Parsed& parsed, std::string_view what); // questions approve deny grant grants revoke
Result<std::string> decisions_text(std::string_view file);                // of --decisions

}  // namespace hotcell
