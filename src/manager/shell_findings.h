// What shellcheck says of a script, as findings. It reads hostile text, so it runs in a cell. Its findings inform and
// never refuse.
#pragma once
#include <string_view>
#include <vector>

#include "hotcell/launcher.h"
#include "hotcell/report.h"

namespace hotcell {

// Its errors as warnings, its warnings as infos, rule `shellcheck-SCnnnn`. Nothing when shellcheck is not there, does not
// answer within its limits, or the script is longer than anybody writes.
std::vector<Finding> shellcheck_findings(Launcher& launcher, std::string_view source, std::string_view file,
                                         const Policy& policy);

// From its report in gcc's format, read as bytes from outside.
std::vector<Finding> read_shellcheck(std::string_view report, std::string_view source, std::string_view file);

bool shellcheck_is_there();

}  // namespace hotcell
