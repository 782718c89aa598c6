// One analyser for each language: what a source does, as facts (verify/facts.h). Pure; the tree is the parser's, the
// shell's own parser is parse/shell.h.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "parse/syntax_tree.h"
#include "verify/facts.h"

namespace hotcell {

std::vector<Fact> python_facts(const SyntaxTree& tree);
std::vector<Fact> javascript_facts(const SyntaxTree& tree);  // TypeScript too: the grammars share their names
std::vector<Fact> go_facts(const SyntaxTree& tree);
std::vector<Fact> rust_facts(const SyntaxTree& tree);
std::vector<Fact> java_facts(const SyntaxTree& tree);
std::vector<Fact> c_facts(const SyntaxTree& tree);           // C++ too
// Of a C or C++ source that the grammar cannot read before the preprocessor was there. nullopt: nor afterwards.
std::optional<std::vector<Fact>> c_facts_preprocessed(const SyntaxTree& tree);
std::vector<Fact> bash_facts(std::string_view text);

}  // namespace hotcell
