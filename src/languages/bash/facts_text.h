// What small text tools print for constant input: pure functions over strings, each bounded by its input.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::bash {

inline constexpr std::size_t kTextCap = 64 * 1024;  // longer values are unknown

std::optional<std::string> decode_base64(std::string_view s, bool base32 = false);
std::optional<std::string> decode_hex(std::string_view s);
std::string decode_escapes(std::string_view s);                                  // as echo -e and printf %b do
std::optional<std::string> format_printf(const std::vector<std::string>& args);  // args[0]: the format
std::string reverse_lines(std::string_view s);
std::string translate(std::string_view s, std::string_view from, std::string_view to, bool remove);
std::optional<std::string> sed_replace(std::string_view s,
                                       std::string_view program);  // s/text/text/[g] without patterns
std::optional<std::string> cut_characters(std::string_view s, std::string_view range);
// Shell patterns with * ? and [ ]; cost is the product of both lengths.
bool pattern_matches(std::string_view pattern, std::string_view s);
std::optional<long> evaluate_arithmetic(std::string_view s);  // + - * / % and brackets over numbers

// `//`, `/./` and `..` resolved by letters alone, below `folder` when it is relative; "~" stays in front.
std::string normalise_path(std::string_view path, std::string_view folder);

}  // namespace hotcell::bash
