// One finding as JSON, the same in every answer that has findings.
#pragma once
#include "base/json_write.h"
#include "hotcell/report.h"

namespace hotcell {

void write_finding(JsonWriter& w, const Finding& finding);

}  // namespace hotcell
