// Texts inside texts: encodings that a model or a shell would undo.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::inspect {

struct Layer {
  std::string name;  // "base64"
  std::string text;
  std::size_t begin = 0, end = 0;  // where it stands in the text around it
  bool hidden = true;              // nobody writes so by accident
};

std::optional<std::string> decode_base64(std::string_view s);  // both alphabets, with or without padding
std::optional<std::string> decode_base32(std::string_view s);
std::optional<std::string> decode_hex(std::string_view s);

// Runs of letters and digits that decode to text, at most `most` bytes of them.
void find_encoded_runs(std::string_view text, std::size_t most, std::vector<Layer>& to);

// Several =XX in one line: one alone is a name and its value.
bool is_quoted_printable(std::string_view line);

// Entities, percent signs, backslashes, quoted-printable and ANSI sequences undone; empty when there is nothing to undo.
std::string unescape(std::string_view line);

std::string rot(std::string_view s, int by);
std::string rot47(std::string_view s);  // all that is printed, by half of it
std::string atbash(std::string_view s);
std::string reversed(std::string_view s);
std::string reversed_words(std::string_view s);  // each for itself
std::string without_tags(std::string_view line);  // <b>, </b>, <!-- … -->; empty when there are none
std::string from_leet(std::string_view s);

}  // namespace hotcell::inspect
