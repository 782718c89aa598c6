// Which program a command line means, where it is, and whether the cell will see it.
#pragma once
#include <span>
#include <string_view>

#include "cli/job.h"

namespace hotcell {

// Sets argv, and adds the copy or the grant that the program needs.
Result<void> place_program(std::span<const std::string_view> argv, CliJob& job);
Result<void> place_file(std::string_view file, std::string_view language, std::span<const std::string_view> args,
                        CliJob& job);
Result<void> place_code(std::string_view code, std::string_view language, std::span<const std::string_view> args,
                        CliJob& job);

// Where a bare name is found along the PATH that the program will have. kNotFound carries the line to add when the
// host has it but the cell does not.
Result<std::string> find_program(std::string_view name, const Policy& policy);

}  // namespace hotcell
