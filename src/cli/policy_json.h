#pragma once
#include "base/json_write.h"
#include "hotcell/policy.h"

namespace hotcell {

void write_policy(JsonWriter& w, const Policy& policy);  // the keys of a profile; sizes in bytes, times in nanoseconds

}  // namespace hotcell
