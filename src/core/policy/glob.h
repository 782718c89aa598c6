// Patterns of `filesystem.deny`. `*`, `?` and `[a-z]`, `[!x]` never cross a slash, `**` as a whole segment does.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hotcell {

// The path is absolute. A pattern without a leading slash may start at any depth: `*.key`, `secrets/**`, `**/.env`.
// A leading dot is nothing special and bytes that are no UTF-8 match `?` and `*`: a deny list must not have holes.
// Time is bounded by the product of the two lengths. A pattern that glob_problem() rejects matches nothing.
bool glob_match(std::string_view pattern, std::string_view path);

// The path itself or any folder above it matches: what is denied takes everything below along.
bool glob_covers(std::string_view pattern, std::string_view path);

// Has `*`, `?` or `[`; without one an absolute pattern is simply a path.
bool is_glob(std::string_view pattern);

// Why this pattern would mean different things to different readers (or nothing at all); empty when it is fine.
std::optional<std::string> glob_problem(std::string_view pattern);

}  // namespace hotcell
