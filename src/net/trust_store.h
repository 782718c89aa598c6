// The file in which a Java machine looks for what it trusts: PKCS#12 with certificates alone, marked as trusted the way its
// keytool does. Without encryption and without a checksum, which both would be made with a password that everybody knows; a
// Java machine that is given no password asks for neither.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::net {

// All certificates of a PEM text, in its order. An error: there is none, or one is cut.
Result<std::string> java_trust_store(std::string_view pem);

}  // namespace hotcell::net
