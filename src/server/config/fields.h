// One table of everything that can be set: files, variables, `config show`, the example and the manual all read it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotcell/result.h"
#include "server/config.h"

namespace hotcell::server {

// How many runtimes of a language wait for programs; stands in Config::park_runtimes under its name.
struct Parked {
  std::string_view language;
};
using Member = std::variant<bool Config::*, std::string Config::*, std::uint32_t Config::*, Bytes Config::*,
                            Nanoseconds Config::*, std::vector<std::string> Config::*, Parked>;

struct Field {
  std::string_view key;  // as in the file, with dots: limits.timeout
  Member member;
  std::string_view help;                         // one or two sentences, for the example and the manual
  std::uint64_t least = 0, most = UINT64_MAX;    // of numbers: themselves, bytes or nanoseconds
  Result<void> (*check)(const std::string& text) = nullptr;  // of each text
  std::string_view choices = {};                 // a|b|c
};

std::span<const Field> fields();
const Field* find_field(std::string_view key);
std::string variable_of(const Field& field);  // limits.timeout → HOTCELL_LIMITS_TIMEOUT

bool is_list(const Field& field);
bool is_truth(const Field& field);

// Parses, checks and sets; the error says what is accepted, but not where it was written.
Result<void> set_field(Config& config, const Field& field, std::span<const std::string> values);
// As a file would say it; a field that is no list has exactly one.
std::vector<std::string> field_values(const Config& config, const Field& field);

}  // namespace hotcell::server
