#include "languages/python/facts_tree.h"

#include "base/strings.h"

namespace hotcell::python {

const KindTable<K>::Names& kind_names() {
  static const KindTable<K>::Names names = {
      {"identifier", K::kIdentifier},
      {"attribute", K::kAttribute},
      {"call", K::kCall},
      {"subscript", K::kSubscript},
      {"string", K::kString},
      {"concatenated_string", K::kConcatenated},
      {"integer", K::kInteger},
      {"float", K::kFloat},
      {"true", K::kTrue},
      {"false", K::kFalse},
      {"none", K::kNone},
      {"binary_operator", K::kBinary},
      {"unary_operator", K::kUnary},
      {"boolean_operator", K::kBoolean},
      {"conditional_expression", K::kConditional},
      {"list", K::kList},
      {"tuple", K::kTuple},
      {"set", K::kSet},
      {"dictionary", K::kDictionary},
      {"pair", K::kPair},
      {"expression_list", K::kExpressionList},
      {"parenthesized_expression", K::kParenthesized},
      {"list_comprehension", K::kListComp},
      {"set_comprehension", K::kSetComp},
      {"dictionary_comprehension", K::kDictComp},
      {"generator_expression", K::kGenerator},
      {"for_in_clause", K::kForIn},
      {"lambda", K::kLambda},
      {"named_expression", K::kNamed},
      {"await", K::kAwait},
      {"slice", K::kSlice},
      {"list_splat", K::kListSplat},
      {"dictionary_splat", K::kDictSplat},
      {"argument_list", K::kArguments},
      {"keyword_argument", K::kKeywordArgument},
      {"import_statement", K::kImport},
      {"import_from_statement", K::kImportFrom},
      {"future_import_statement", K::kFutureImport},
      {"aliased_import", K::kAliased},
      {"dotted_name", K::kDotted},
      {"relative_import", K::kRelative},
      {"wildcard_import", K::kWildcard},
      {"assignment", K::kAssignment},
      {"augmented_assignment", K::kAugmented},
      {"for_statement", K::kFor},
      {"while_statement", K::kWhile},
      {"with_item", K::kWithItem},
      {"as_pattern", K::kAsPattern},
      {"as_pattern_target", K::kAsTarget},
      {"except_clause", K::kExcept},
      {"assert_statement", K::kAssert},
      {"if_statement", K::kIf},
      {"function_definition", K::kFunction},
      {"class_definition", K::kClass},
      {"decorated_definition", K::kDecorated},
      {"decorator", K::kDecorator},
      {"parameters", K::kParameters},
      {"lambda_parameters", K::kLambdaParameters},
      {"default_parameter", K::kDefaultParameter},
      {"typed_parameter", K::kTypedParameter},
      {"typed_default_parameter", K::kTypedDefaultParameter},
      {"list_splat_pattern", K::kListSplatPattern},
      {"dictionary_splat_pattern", K::kDictSplatPattern},
      {"pattern_list", K::kPatternList},
      {"tuple_pattern", K::kTuplePattern},
      {"list_pattern", K::kListPattern},
      {"global_statement", K::kGlobal},
      {"nonlocal_statement", K::kNonlocal},
      {"return_statement", K::kReturn},
      {"yield", K::kYield},
      {"break_statement", K::kBreak},
      {"raise_statement", K::kRaise},
      {"match_statement", K::kMatch},
      {"case_clause", K::kCaseClause},
      {"case_pattern", K::kCasePattern},
      {"class_pattern", K::kClassPattern},
      {"keyword_pattern", K::kKeywordPattern},
      {"type", K::kType},
      {"comment", K::kComment},
      {"interpolation", K::kInterpolation},
      {"string_content", K::kStringContent},
      {"escape_sequence", K::kEscape},
      {"string_start", K::kStringStart},
      {"exec_statement", K::kExecStatement},
      {"print_statement", K::kPrintStatement},
      {"block", K::kBlock},
      {"expression_statement", K::kExpressionStatement},
      {"comparison_operator", K::kComparison},
      {"if_clause", K::kIfClause},
      {"try_statement", K::kTry},
      {"elif_clause", K::kClause},
      {"else_clause", K::kClause},
      {"finally_clause", K::kClause},
      {"except_group_clause", K::kClause},
  };
  return names;
}

NodeId PyTree::first_named(NodeId n) const {
  NodeId c = n == kNoNode ? kNoNode : tree_.first_child(n);
  return c == kNoNode || (tree_[c].named && kind(c) != K::kComment) ? c : next_named(c);
}

NodeId PyTree::next_named(NodeId n) const {
  do {
    n = tree_.next_sibling(n);
  } while (n != kNoNode && (!tree_[n].named || kind(n) == K::kComment));
  return n;
}

std::string PyTree::name(NodeId identifier) const { return normalise_identifier(text(identifier)); }

namespace {

std::uint32_t decode_utf8(std::string_view s, std::size_t length) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i])); };
  if (length == 2) return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
  if (length == 3) return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

// The letterlike and other compatibility forms that identifiers may contain, one by one.
char letterlike(std::uint32_t c) {
  struct Form {
    std::uint32_t code;
    char ascii;
  };
  static constexpr Form forms[] = {
      {0xaa, 'a'},   {0xba, 'o'},   {0x17f, 's'},  {0x2b0, 'h'},  {0x2b2, 'j'},  {0x2b3, 'r'},  {0x2b7, 'w'},
      {0x2b8, 'y'},  {0x2e1, 'l'},  {0x2e2, 's'},  {0x2e3, 'x'},  {0x1d2c, 'A'}, {0x1d2e, 'B'}, {0x1d30, 'D'},
      {0x1d31, 'E'}, {0x1d33, 'G'}, {0x1d34, 'H'}, {0x1d35, 'I'}, {0x1d36, 'J'}, {0x1d37, 'K'}, {0x1d38, 'L'},
      {0x1d39, 'M'}, {0x1d3a, 'N'}, {0x1d3c, 'O'}, {0x1d3e, 'P'}, {0x1d3f, 'R'}, {0x1d40, 'T'}, {0x1d41, 'U'},
      {0x1d42, 'W'}, {0x1d43, 'a'}, {0x1d47, 'b'}, {0x1d48, 'd'}, {0x1d49, 'e'}, {0x1d4d, 'g'}, {0x1d4f, 'k'},
      {0x1d50, 'm'}, {0x1d52, 'o'}, {0x1d56, 'p'}, {0x1d57, 't'}, {0x1d58, 'u'}, {0x1d5b, 'v'}, {0x1d62, 'i'},
      {0x1d63, 'r'}, {0x1d64, 'u'}, {0x1d65, 'v'}, {0x1d9c, 'c'}, {0x1da0, 'f'}, {0x1dbb, 'z'}, {0x2071, 'i'},
      {0x207f, 'n'}, {0x2090, 'a'}, {0x2091, 'e'}, {0x2092, 'o'}, {0x2093, 'x'}, {0x2095, 'h'}, {0x2096, 'k'},
      {0x2097, 'l'}, {0x2098, 'm'}, {0x2099, 'n'}, {0x209a, 'p'}, {0x209b, 's'}, {0x209c, 't'}, {0x2102, 'C'},
      {0x210a, 'g'}, {0x210b, 'H'}, {0x210c, 'H'}, {0x210d, 'H'}, {0x210e, 'h'}, {0x2110, 'I'}, {0x2111, 'I'},
      {0x2112, 'L'}, {0x2113, 'l'}, {0x2115, 'N'}, {0x2119, 'P'}, {0x211a, 'Q'}, {0x211b, 'R'}, {0x211c, 'R'},
      {0x211d, 'R'}, {0x2124, 'Z'}, {0x2128, 'Z'}, {0x212a, 'K'}, {0x212c, 'B'}, {0x212d, 'C'}, {0x212f, 'e'},
      {0x2130, 'E'}, {0x2131, 'F'}, {0x2133, 'M'}, {0x2134, 'o'}, {0x2139, 'i'}, {0x2145, 'D'}, {0x2146, 'd'},
      {0x2147, 'e'}, {0x2148, 'i'}, {0x2149, 'j'}, {0x2160, 'I'}, {0x2164, 'V'}, {0x2169, 'X'}, {0x216c, 'L'},
      {0x216d, 'C'}, {0x216e, 'D'}, {0x216f, 'M'}, {0x2170, 'i'}, {0x2174, 'v'}, {0x2179, 'x'}, {0x217c, 'l'},
      {0x217d, 'c'}, {0x217e, 'd'}, {0x217f, 'm'}, {0x2c7c, 'j'}, {0x2c7d, 'V'}, {0xfe33, '_'}, {0xfe34, '_'},
      {0xfe4d, '_'}, {0xfe4e, '_'}, {0xfe4f, '_'}, {0xff3f, '_'},
  };
  for (const Form& f : forms)
    if (f.code == c) return f.ascii;
  return 0;
}

// Forms of several letters: ligatures and Roman numerals.
std::string_view several_letters(std::uint32_t c) {
  static constexpr std::string_view ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
  static constexpr std::string_view upper[] = {"I",   "II",   "III", "IV", "V",  "VI",
                                               "VII", "VIII", "IX",  "X",  "XI", "XII"};
  static constexpr std::string_view lower[] = {"i",   "ii",   "iii", "iv", "v",  "vi",
                                               "vii", "viii", "ix",  "x",  "xi", "xii"};
  if (c >= 0xfb00 && c <= 0xfb06) return ligatures[c - 0xfb00];
  if (c >= 0x2160 && c <= 0x216b) return upper[c - 0x2160];
  if (c >= 0x2170 && c <= 0x217b) return lower[c - 0x2170];
  if (c == 0x132) return "IJ";
  if (c == 0x133) return "ij";
  if (c == 0x1c7 || c == 0x1c8) return c == 0x1c7 ? "LJ" : "Lj";
  if (c == 0x1c9) return "lj";
  if (c >= 0x1ca && c <= 0x1cc) return c == 0x1ca ? "NJ" : c == 0x1cb ? "Nj" : "nj";
  if (c >= 0x1f1 && c <= 0x1f3) return c == 0x1f1 ? "DZ" : c == 0x1f2 ? "Dz" : "dz";
  return "";
}

char ascii_form(std::uint32_t c) {
  if (c >= 0xff21 && c <= 0xff3a) return static_cast<char>('A' + (c - 0xff21));  // fullwidth
  if (c >= 0xff41 && c <= 0xff5a) return static_cast<char>('a' + (c - 0xff41));
  if (c >= 0xff10 && c <= 0xff19) return static_cast<char>('0' + (c - 0xff10));
  if (c >= 0x1d400 && c <= 0x1d6a3) {  // mathematical alphabets: thirteen runs of 52 letters
    std::uint32_t at = (c - 0x1d400) % 52;
    return static_cast<char>(at < 26 ? 'A' + at : 'a' + (at - 26));
  }
  if (c >= 0x1d7ce && c <= 0x1d7ff) return static_cast<char>('0' + (c - 0x1d7ce) % 10);
  if (c >= 0x1fbf0 && c <= 0x1fbf9) return static_cast<char>('0' + (c - 0x1fbf0));
  return letterlike(c);
}

}  // namespace

std::string normalise_identifier(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    std::size_t length = utf8_length(text);
    if (length == 0) length = 1;
    std::uint32_t c = length > 1 ? decode_utf8(text, length) : 0;
    if (char ascii = ascii_form(c))
      out += ascii;
    else if (std::string_view letters = several_letters(c); !letters.empty())
      out += letters;
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

StringPrefix string_prefix(std::string_view start) {
  StringPrefix p;
  for (char c : start) {
    if (c == 'r' || c == 'R') p.raw = true;
    if (c == 'b' || c == 'B') p.bytes = true;
    if (c == 'f' || c == 'F' || c == 't' || c == 'T') p.formatted = true;
  }
  return p;
}

std::string decode_string(std::string_view s, StringPrefix prefix) {
  if (prefix.raw || s.find('\\') == std::string_view::npos) return std::string(s);
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out += s[i];
      continue;
    }
    char c = s[++i];
    auto number = [&](std::size_t from, std::size_t most, int base) {
      std::uint32_t value = 0;
      std::size_t k = 0;
      for (; k < most && from + k < s.size(); ++k) {
        int d = hex_digit(s[from + k]);
        if (d < 0 || d >= base) break;
        value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(d);
      }
      i = from + k - 1;
      return value;
    };
    auto put = [&](std::uint32_t value) {
      if (prefix.bytes)
        out += static_cast<char>(value & 0xff);
      else
        append_utf8(out, value);
    };
    if (c == '\n') continue;
    if (c == '\r') {
      if (i + 1 < s.size() && s[i + 1] == '\n') ++i;
    } else if (c == 'x')
      put(number(i + 1, 2, 16));
    else if (c >= '0' && c <= '7')
      put(number(i, 3, 8));
    else if (c == 'u' && !prefix.bytes)
      put(number(i + 1, 4, 16));
    else if (c == 'U' && !prefix.bytes)
      put(number(i + 1, 8, 16));
    else if (c == 'n')
      out += '\n';
    else if (c == 't')
      out += '\t';
    else if (c == 'r')
      out += '\r';
    else if (c == 'a' || c == 'b' || c == 'f' || c == 'v')
      out += ' ';
    else if (c == '\\' || c == '\'' || c == '"')
      out += c;
    else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0') {
    char b = static_cast<char>(text[1] | 0x20);
    base = b == 'x' ? 16 : b == 'o' ? 8 : b == 'b' ? 2 : 10;
    if (base != 10) text.remove_prefix(2);
  }
  std::int64_t value = 0;
  for (char c : text) {
    if (c == '_') continue;
    int d = hex_digit(c);
    if (d < 0 || d >= base || value > (std::int64_t{1} << 56)) return std::nullopt;
    value = value * base + d;
  }
  return value;
}

}  // namespace hotcell::python
