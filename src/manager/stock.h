// What is made before anybody asks: cells for commands under the default profile, and runtimes for code.
#pragma once
#include "manager/code_runner.h"
#include "manager/executions.h"
#include "manager/workers.h"

namespace hotcell {

// On workers: the answer comes when they are made, and requests need not wait for it. `code` must outlive these.
void keep_stock(const ExecutionsOptions& options, const JobRules& rules, Workers& workers, CodeRunner& code);

}  // namespace hotcell
