// The dashboard: one document, its script, its style. Everything it shows it asks of the REST door.
#pragma once
#include "server/http/exchange.h"

namespace hotcell::server {

// "/" and "/assets/*", without a key: there is nothing in them but the program. The page asks for one when it needs it.
void add_dashboard(Router& router);

}  // namespace hotcell::server
