// The text of a C or C++ source before its grammar: lines joined, digraphs replaced, directives listed, tokens cut. The
// grammar sees unpreprocessed text, so what the preprocessor does has to be looked at by itself.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "languages/fact_list.h"

namespace hotcell::c {

struct Directive {
  std::string name, rest;  // "include", "<stdio.h>"; comments are blanks
  std::uint32_t begin = 0, end = 0;
};

struct Scan {
  std::vector<Directive> directives;
  bool has_digraph = false;
  std::vector<std::uint32_t> trigraphs;  // ??/ and ??=: they change what is code
};

// The end of the string, character or comment that begins at `i`; `i` when none does.
std::size_t skip_inert(std::string_view text, std::size_t i);

// Backslash-newline pairs taken out. `joins_token`: one of them stood where a token may go on.
MappedText join_lines(std::string_view text, bool& joins_token);
// %: <: :> <% %> outside strings and comments become # [ ] { }.
void replace_digraphs(MappedText& text);
Scan scan_text(std::string_view text);

enum class TokenKind : std::uint8_t { kWord, kString, kChar, kNumber, kPunct };
struct Token {
  TokenKind kind = TokenKind::kPunct;
  std::string text;
  bool hidden = false;  // a macro's own name in its expansion: not expanded again
  bool spaced = false;  // blanks stand before it
};
// At most `most` tokens of the beginning.
std::vector<Token> tokens_of(std::string_view text, std::size_t most);

// The value of a string token (prefix and quotes taken off, escapes decoded; raw strings as they are).
std::string string_value(std::string_view token);

}  // namespace hotcell::c
