// Whether a phrase is said to the reader, or told of somebody, denied, quoted, discussed.
#pragma once
#include <cstddef>
#include <string_view>

namespace hotcell::inspect {

enum class Said { kToTheReader, kOfSomebody, kQuoted, kDenied };

// Of the phrase text[begin, end). Looks a few hundred bytes around it, whatever the size of the text.
Said how_it_is_said(std::string_view text, std::size_t begin, std::size_t end);

// Within quotation marks, and in one sentence with words that say what the quotation is: somebody writes about the phrase.
bool is_reported(std::string_view text, std::size_t begin, std::size_t end);
// A quotation that begins with the phrase, ends in the same line, is not all there is of it, and is no value of JSON.
bool begins_quotation(std::string_view text, std::size_t begin, std::size_t end);

}  // namespace hotcell::inspect
