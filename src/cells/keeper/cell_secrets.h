// Secrets that the programs of a lasting cell may use and never see. Their values are in the keeper's memory and in the
// hotcell-tls of the running cell, and nowhere else: the record has names, hosts and placeholders. A cell that is started by a
// later keeper must be given them again.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/inserter.h"
#include "net/secrets.h"
#include "sys/fd.h"

namespace hotcell::cells {

struct CellSecrets {
  std::vector<net::Secret> held;
  std::shared_ptr<net::TlsInserter> tls;   // started, and not yet given to the door
  std::string trusted, java;               // what the cell's programs find in /run/hotcell
};

// One execution's output, which the keeper reads instead of the client, cleans of values and passes on.
struct OutputRelay {
  struct Side {
    sys::Fd from, to;                      // of the program's pipe, and of the client's
    net::Scrub scrub;
    std::string waiting;
    std::uint64_t in = 0, out = 0;         // watches
    bool ended = false, nobody = false;    // the program's side; the client's
  };
  Side sides[2];
  std::function<void()> flushed;           // once, when everything is with the client
  bool done() const { return sides[0].waiting.empty() && sides[1].waiting.empty(); }
};

}  // namespace hotcell::cells
