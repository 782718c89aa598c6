#include "core/policy/same_cell.h"

namespace hotcell {

bool same_cell(const Policy& a, const Policy& b) {
  if (a.on_output == b.on_output) return a == b;
  if (a.name != b.name || a.limits != b.limits) return false;  // most others end here, without a copy
  Policy as_a = b;
  as_a.on_output = a.on_output;
  return a == as_a;
}

}  // namespace hotcell
