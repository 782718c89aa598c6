// What a connection to the keeper may order, where it was handed to somebody who is trusted less than the cells' owner: the
// daemon's front. Set by the first message (`bind`), before the connection changes hands; it can never be taken back.
//
// A bound client has the verbs that are listed in bounds.cc and no other, with the fields that are listed there: a verb that
// takes a path of this host is not among them. It may look at every cell, and do something only to those that it could have
// made itself: a cell that its owner gave more than the configuration allows is not to be had by way of the front.
#pragma once
#include <string>
#include <vector>

#include "cells/keeper/folder.h"
#include "cells/keeper/protocol.h"
#include "core/remote/ceiling.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell::cells {

struct Bounds {
  remote::Ceiling ceiling;
  std::vector<std::string> network_words;  // of the proxies: what programs may reach at most (net/door/order.h); empty: nothing
  std::size_t most = kMaxCells;       // of them, by whomever they are made: from here on the keeper's own limit
  std::vector<std::string> projects;  // folders; a project is one of them or below one. Empty: cells have none
  std::string decisions;              // YAML: what its cells must ask about, and no request can say otherwise. Empty: what each says
};

Ask bind_ask(const Bounds& bounds);
Result<Bounds> read_bounds(const Ask& ask);

// By its verb and fields alone.
Result<void> check_ask(const Ask& ask);
bool only_looks(std::string_view verb);
Result<void> check_cell(const Bounds& bounds, const Policy& policy, const std::string& project, const std::string& network_words);

}  // namespace hotcell::cells
