#pragma once
#include <vector>

#include "hotcell/inspect.h"

namespace hotcell::inspect {

void tidy(std::vector<InspectFinding>& findings);
Inspection finished(std::vector<InspectFinding> findings);

}  // namespace hotcell::inspect
