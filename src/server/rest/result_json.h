// The result of an execution, and the figures of all.
#pragma once
#include <string>

#include "manager/record_json.h"
#include "server/rest/services.h"
#include "store/history.h"

namespace hotcell::server {

// The result object of an ended execution; of one that has not ended, or whose daemon stopped under it, the same shape
// with what is known.
std::string result_text(Services& services, const ExecutionRecord& record);

std::string stats_json(Services& services);

}  // namespace hotcell::server
