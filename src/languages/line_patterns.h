#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "parse/syntax_tree.h"

namespace hotcell {

// The text with comments and the contents of strings blanked out, as far as the tree tells; code inside strings
// (interpolations) stays. Lines and columns are those of the text.
std::string code_only(const SyntaxTree& tree);

// The profile's own regular expressions over each line of `code`. `source` has the lines people see.
Result<std::vector<Finding>> find_patterns(const SourceText& source, std::string_view code,
                                           const std::vector<std::string>& patterns);

}  // namespace hotcell
