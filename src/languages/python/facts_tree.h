// The node kinds of Python's grammar that mean something here, and the letters of names and literals.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "languages/fact_list.h"
#include "parse/syntax_tree.h"

namespace hotcell::python {

enum class K : std::uint8_t {
  kOther,
  kIdentifier,
  kAttribute,
  kCall,
  kSubscript,
  kString,
  kConcatenated,
  kInteger,
  kFloat,
  kTrue,
  kFalse,
  kNone,
  kBinary,
  kUnary,
  kBoolean,
  kConditional,
  kList,
  kTuple,
  kSet,
  kDictionary,
  kPair,
  kExpressionList,
  kParenthesized,
  kListComp,
  kSetComp,
  kDictComp,
  kGenerator,
  kForIn,
  kLambda,
  kNamed,
  kAwait,
  kSlice,
  kListSplat,
  kDictSplat,
  kArguments,
  kKeywordArgument,
  kImport,
  kImportFrom,
  kFutureImport,
  kAliased,
  kDotted,
  kRelative,
  kWildcard,
  kAssignment,
  kAugmented,
  kFor,
  kWhile,
  kWithItem,
  kAsPattern,
  kAsTarget,
  kExcept,
  kFunction,
  kClass,
  kDecorated,
  kDecorator,
  kParameters,
  kLambdaParameters,
  kDefaultParameter,
  kTypedParameter,
  kTypedDefaultParameter,
  kListSplatPattern,
  kDictSplatPattern,
  kPatternList,
  kTuplePattern,
  kListPattern,
  kGlobal,
  kNonlocal,
  kReturn,
  kYield,
  kBreak,
  kRaise,
  kMatch,
  kCaseClause,
  kCasePattern,
  kClassPattern,
  kKeywordPattern,
  kType,
  kComment,
  kInterpolation,
  kStringContent,
  kEscape,
  kStringStart,
  kExecStatement,
  kPrintStatement,
  kBlock,
  kExpressionStatement,
  kComparison,
  kIfClause,
  kAssert,
  kIf,
  kTry,
  kClause,  // elif, else, finally, except*
};

const KindTable<K>::Names& kind_names();

// The tree with its kinds as numbers.
class PyTree {
 public:
  explicit PyTree(const SyntaxTree& tree) : tree_(tree), kinds_(kind_names()) {}
  const SyntaxTree& tree() const { return tree_; }
  K kind(NodeId n) const { return n == kNoNode ? K::kOther : kinds_(tree_, n); }
  NodeId field(NodeId n, std::string_view name) const { return tree_.child_by_field(n, name); }
  NodeId parent(NodeId n) const { return tree_.parent(n); }
  NodeId first_named(NodeId n) const;
  NodeId next_named(NodeId n) const;  // the next sibling; comments are left out
  std::string_view text(NodeId n) const { return n == kNoNode ? std::string_view() : tree_.text(n); }
  std::string name(NodeId identifier) const;  // as Python compares it: normalised

 private:
  const SyntaxTree& tree_;
  mutable KindTable<K> kinds_;
};

// NFKC of an identifier as far as the result is a letter, digit or underscore of ASCII: `ｓystem` is `system` to
// Python.
std::string normalise_identifier(std::string_view text);

struct StringPrefix {
  bool raw = false, bytes = false, formatted = false;
};
StringPrefix string_prefix(std::string_view start);  // rb" → raw, bytes

// The value of a string's content; escapes of a text beyond ASCII become UTF-8.
std::string decode_string(std::string_view content, StringPrefix prefix);

std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace hotcell::python
