// Lasting cells removed by age and by count, as `hotcell cell clean` does it, but of the caller's own alone. The keeper takes no
// such order from the daemon: it would be about the cells of everybody.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/cells/cell_door.h"

namespace hotcell::server {

struct CleanSpec {
  std::optional<double> older;        // seconds since it was made, at least
  std::optional<std::uint64_t> keep;  // so many of the newest stay; of the others those go that do not run
  // Neither: what is a day old.
};

struct Cleaned {
  struct One {
    std::string id, name, why;        // why it is still there
  };
  std::vector<One> removed, left;
};
std::string cleaned_json(const Cleaned& cleaned);  // {"removed":[{id,name}],"left":[{id,name,why}]}

// One after the other, and none any more once `goes_on` says no; `done` is called in any case.
void clean_cells(CellDoor& door, const Caller& caller, const CleanSpec& spec, std::function<bool()> goes_on, CellDoor::Done<Cleaned> done);

}  // namespace hotcell::server
