// What a program needs to use secrets that it never sees: their placeholders, and trust in the authority that stands in for
// the hosts they are for (net/inserter.h).
#pragma once
#include "hotcell/policy.h"
#include "hotcell/request.h"
#include "hotcell/result.h"
#include "net/inserter.h"

namespace hotcell {

// Variables, and two files in the workspace. What the caller has set itself stays.
Result<void> place_secrets(net::TlsInserter& tls, const Policy& policy, Request& request);

}  // namespace hotcell
