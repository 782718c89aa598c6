#include "parse/shell.h"

#include <gtest/gtest.h>

#include <chrono>

namespace hotcell {
namespace {

// The first words of all commands, in order; ? where one is not plain.
std::string commands(const std::string& text) {
  ShellScript s = parse_shell(text);
  std::string out = s.error ? "error: " + s.error->what + "; " : "";
  for (const ShellNode& n : s.nodes)
    if (n.kind == ShellNodeKind::kSimple && n.word_count > 0) out += s.plain(n.words).value_or("?") + " ";
  return out.empty() ? out : out.substr(0, out.size() - 1);
}

std::string error(const std::string& text) {
  ShellScript s = parse_shell(text);
  return s.error ? s.error->what : "";
}

std::vector<ShellNodeKind> kinds(const std::string& text) {
  std::vector<ShellNodeKind> out;
  for (const ShellNode& n : parse_shell(text).nodes)
    if (n.kind != ShellNodeKind::kProgram && n.kind != ShellNodeKind::kPipeline) out.push_back(n.kind);
  return out;
}

TEST(ShellParser, FindsCommandsInListsAndPipelines) {
  EXPECT_EQ(commands("a; b & c && d || e | f |& g\nh"), "a b c d e f g h");
  EXPECT_EQ(commands("! a; time b; time -p c"), "a b c");
  EXPECT_EQ(commands("a # b\n#c\nd"), "a d");
  EXPECT_EQ(commands("a \\\n b\nc"), "a c");
  EXPECT_EQ(commands("echo a\n\\rm -rf x"), "echo rm");
}

TEST(ShellParser, FindsCommandsInsideOtherCommands) {
  EXPECT_EQ(commands("if a; then b; elif c; then d; else e; fi"), "a b c d e");
  EXPECT_EQ(commands("while a; do b; done; until c; do d; done; for x in 1 2; do e; done; for ((;;)); do f; done"),
            "a b c d e f");
  EXPECT_EQ(commands("case x in a|b) c ;; (d) e ;& *) f ;;& g) h; esac"), "c e f h");
  EXPECT_EQ(commands("f() { a; }; function g { b; }; function h() ( c ); coproc d; coproc N { e; }"), "a b c d e");
  EXPECT_EQ(commands("{ a; }; ( b ); select x in 1; do c; done; [[ $(d) == x ]]; (( $(e) ))"), "a b c d e");
}

TEST(ShellParser, FindsCommandsInsideWords) {
  EXPECT_EQ(commands("a $(b `c`) \"$(d \"$(e)\")\" <(f) >(g) $((1 + $(h))) ${x:-$(i)} ${y/$(j)/k}"),
            "a b c d e f g h i j");
  EXPECT_EQ(commands("a `b \\`c\\``"), "a b c");
  EXPECT_EQ(commands("x=$(a) y[$(b)]=1 z=($(c) d)"), "a b c");
  EXPECT_EQ(commands("a <<X\n$(b) \"$(c)\"\nX\nd"), "a b c d");
  EXPECT_EQ(commands("a <<'X'\n$(b)\nX\nd"), "a d");
  EXPECT_EQ(commands("a <<X <<-Y | b\n$(c)\nX\n\t$(d)\n\tY\ne"), "a b c d e");
  EXPECT_EQ(commands("x=$(cat <<X\n$(b)\nX\n)\nc"), "cat b c");
  EXPECT_EQ(commands("a $( (b) ) $((c) ; (d))"), "a b c d");
}

TEST(ShellParser, TakesWordsApart) {
  ShellScript s = parse_shell("a 'b c'\"d $e\"f\\g$'\\x72\\155'*{x,y}~ ~/z ${p##*.} <(q) $((1+1))");
  ASSERT_FALSE(s.error);
  const ShellNode& n = s.nodes[2];
  ASSERT_EQ(n.word_count, 6U);
  const ShellWord& w = s.words[n.words + 1];
  std::string shape;
  for (ShellId i = w.parts; i < w.parts + w.count; ++i)
    shape += std::string(s.parts[i].text) + (s.parts[i].quoted ? "'" : "") + "|";
  EXPECT_EQ(shape, "b c'|d '|e'|f|g'|rm'|*|{|x|,|y|}|~|");
  EXPECT_EQ(s.parts[s.words[n.words + 2].parts].kind, ShellPartKind::kTilde);
  const ShellPart& p = s.parts[s.words[n.words + 3].parts];
  EXPECT_EQ(p.text, "p");
  EXPECT_EQ(p.op, "##");
  EXPECT_EQ(s.parts[s.words[n.words + 5].parts].kind, ShellPartKind::kArithmetic);
}

TEST(ShellParser, KeepsRedirections) {
  ShellScript s = parse_shell("a >b 2>>c <d &>e >&2 {f}<>g <<<h >|i 3<&4-");
  ASSERT_FALSE(s.error);
  ASSERT_EQ(s.redirects.size(), 9U);
  EXPECT_EQ(s.redirects[0].op, ShellRedirectOp::kWrite);
  EXPECT_EQ(s.redirects[1].fd, 2);
  EXPECT_EQ(s.redirects[3].op, ShellRedirectOp::kBoth);
  EXPECT_EQ(s.redirects[5].fd_name, "f");
  EXPECT_EQ(s.redirects[5].op, ShellRedirectOp::kReadWrite);
  EXPECT_EQ(s.redirects[6].op, ShellRedirectOp::kHereString);
}

TEST(ShellParser, KeepsBackgroundOperatorsAndAssignments) {
  ShellScript s = parse_shell("x=1 y+=(a b) a && b & c");
  ASSERT_FALSE(s.error);
  ASSERT_EQ(s.assignments.size(), 2U);
  EXPECT_EQ(s.assignments[1].count, 2U);
  EXPECT_TRUE(s.nodes[1].background);
  EXPECT_EQ(kinds("f() { a; }"),
            (std::vector{ShellNodeKind::kFunction, ShellNodeKind::kGroup, ShellNodeKind::kSimple}));
  EXPECT_EQ(kinds("((1)); [[ a =~ (b|c)+ ]]"), (std::vector{ShellNodeKind::kArithmetic, ShellNodeKind::kTest}));
}

TEST(ShellParser, QuotedWordsAreNotReserved) {
  EXPECT_EQ(commands("'if' a; \\for b; \"done\""), "if for done");
  EXPECT_EQ(commands("echo if then fi { }"), "echo");
}

TEST(ShellParser, ErrorsHaveTheirPlaceAndWhatCameBeforeIsKept) {
  ShellScript s = parse_shell("rm -rf /\necho 'x");
  ASSERT_TRUE(s.error);
  EXPECT_EQ(s.error->at, 14U);
  EXPECT_EQ(commands("rm -rf /\necho 'x").substr(0, 5), "error");
  EXPECT_NE(commands("rm -rf /\necho 'x").find("rm"), std::string::npos);
  for (const char* text : {"'",       "\"",       "`",          "$(",        "${x",
                           "$((1",    "(",        "{ a",        "if a",      "if a; then b",
                           "while a", "for",      "for x in a", "case x in", "case x in a) b",
                           "[[ a",    "a <<X\nb", "a >",        "a )",       "}",
                           "done",    "fi",       "a | | b",    "a &&",      "f(",
                           "f()",     "a;;",      ";",          "a=(",       "${",
                           "$'",      "<(",       "echo @(a",   "esac",      "function",
                           "a ( b )"})
    EXPECT_NE(error(text), "") << text;
  EXPECT_EQ(error(std::string("r\0m", 3)), "a NUL byte in the text");
  for (const char* text : {"",       "\n",     "#",      "a",      "$",      "a$",     "\"$\"",
                           "a=",     "a= b",   "{ :; }", "echo }", "echo {", "${#}",   "${#x}",
                           "${!x*}", "${x@Q}", "a >&-",  "$[1+1]", "[ a ]",  "a; # b", "echo ${x:1:2} ${x^^} ${a[@]}"})
    EXPECT_EQ(error(text), "") << text;
}

TEST(ShellParser, DeepNestingIsRefusedQuickly) {
  auto begin = std::chrono::steady_clock::now();
  for (const char* piece :
       {"$(",   "{ ",   "(",       "((", "$((",  "\"$(",  "`",       "${x:-",       "if ",   "case x in a) ",
        "f() ", "${a[", "coproc ", "@(", "<(",   "[[ ( ", "$[",      "function f ", "<<a ",  "cat <<a\n",
        "'",    "\"",   "a=(",     "a[", "a | ", "a && ", "\"${x:-", "`a \\`",      "while "}) {
    std::string text;
    for (int i = 0; i < 100001; ++i) text += piece;
    EXPECT_NE(error(text + (piece[0] == '"' || piece[0] == '\'' || piece[0] == '`' ? "" : " (")), "") << piece;
  }
  EXPECT_EQ(error(std::string(300, '(')), "nested too deeply");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));  // quadratic would take hours
}

}  // namespace
}  // namespace hotcell
