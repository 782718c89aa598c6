// First looks at all bytes of a text, many at a time: most of them need no second one.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hotcell::inspect {

// The first byte from there on that may be read otherwise than it stands: escape, backspace, & \ % = < and all that is not
// ASCII. The size of the text when there is none.
std::size_t next_special(std::string_view text, std::size_t from);

// A place in a run of letters, digits, + / - _ of at least ten; every run of twenty is met.
std::size_t next_run(std::string_view text, std::size_t from);

// Where the word around `at` begins and ends: at spaces, controls and the ends of the text.
std::size_t word_begin(std::string_view text, std::size_t at);
std::size_t word_end(std::string_view text, std::size_t at);

// The letters alone, small; `out` has room for the text and kLettersRoom bytes more. Returns how many there are.
inline constexpr std::size_t kLettersRoom = 16;
std::size_t letters_of(std::string_view text, char* out);

// Sixteen bytes that no ordinary sentence has, from `from` on: without a letter behind f other than u and x, or without a
// space; the sixteen before them are the same. Each run of digits, dots or of one word that has 63 bytes is met.
struct Block {
  std::size_t at = 0;  // the size of the text when there is none
  bool numbers = false, unbroken = false;
};
Block next_block(std::string_view text, std::size_t from);

}  // namespace hotcell::inspect
