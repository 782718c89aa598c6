// Line ends that a compiler sees and its grammar here does not.
#pragma once
#include <string_view>

#include "languages/fact_list.h"

namespace hotcell {

// A carriage return by itself ends a line for javac and gcc, and so a // comment; for the grammars it is a blank. One
// before a line feed ends the same line for both.
inline void see_lone_return(std::string_view s, FactList& facts) {
  for (std::size_t i = s.find('\r'); i != s.npos; i = s.find('\r', i + 1)) {
    std::size_t next = s.find_first_not_of('\r', i);
    if (next == s.npos) return;
    if (s[next] != '\n') {
      facts.add(FactKind::kUnreadable, "a carriage return by itself ends a line for the compiler, and so a comment", "",
                static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
      return;
    }
    i = next;
  }
}

}  // namespace hotcell
