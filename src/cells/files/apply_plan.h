// What an apply will do, decided before anything is done.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "cells/files/apply.h"
#include "cells/files/apply_journal.h"
#include "cells/files/changes.h"

namespace hotcell::cells {

struct ApplyStep {
  enum class Kind : std::uint8_t {
    kPut,       // a file or link, with all its attributes
    kFolder,    // a new folder
    kMode,      // of what is there
    kRemove,
  };
  Kind kind = Kind::kPut;
  FoundChange found;
  bool exchange = false;      // a folder must make room for what is none, or the reverse
  std::string temporary;      // from the project; of kPut and of exchanged ones
};

struct ApplyPlan {
  ApplyReport report;         // lists only
  std::vector<ApplyStep> steps;  // sorted by path
  bool refused = false;
  // In which names came or went since we last knew, when not all that is changed in them is decided here.
  std::set<std::string> changed_by_others;
};

// `begun`: what an unfinished apply of ours was already free to write. `unlocked`: by which it was found.
Result<ApplyPlan> plan_apply(const OpenLayers& layers, std::vector<FoundChange> found, const ApplyOptions& options, const Applied& applied,
                             const std::vector<std::string>& begun, const Unlocked& unlocked);

// Which pattern protects it; empty: none.
std::string protected_by(std::string_view path, const std::vector<std::string>& patterns);
// From the folder a link is in, by the letters of its target: "../x" of "a/l" stays inside, of "l" it does not.
bool leads_out(std::string_view link_path, std::string_view target);

}  // namespace hotcell::cells
