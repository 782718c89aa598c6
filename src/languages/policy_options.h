#pragma once
#include "hotcell/policy.h"
#include "verify/rules.h"

namespace hotcell {

// What a policy says about sources, as the verifier's rules.
VerifyOptions verify_options(const Policy& policy);

}  // namespace hotcell
