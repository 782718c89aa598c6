// \u0041 is translated before anything else in Java, in comments and strings too: // \u000a ends the comment.
#pragma once
#include <string_view>

#include "languages/fact_list.h"

namespace hotcell {

bool has_unicode_escapes(std::string_view text);
MappedText decode_unicode_escapes(std::string_view text);

}  // namespace hotcell
