#pragma once
#include <functional>
#include <string>

#include "manager/executions.h"
#include "server/rest/services.h"

namespace hotcell::server {

// Asks, checks that the answer is what an inspector would say, and tells the audit of every finding.
void inspect_and_note(Executions& executions, const AuditDoor& audit, InspectQuestion question, std::string client,
                      std::function<void(Result<std::string>)> done);

}  // namespace hotcell::server
