#include "languages/c/preprocess.h"

#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

std::string read_as(const std::string& source, bool cpp = false) {
  auto texts = c::preprocessed({source, {}}, cpp);
  if (!texts) return "(nothing)";
  std::string out;
  for (const MappedText& t : *texts) {
    EXPECT_EQ(t.text.size() + 1, t.origin.size());
    for (std::uint32_t from : t.origin) EXPECT_LE(from, source.size());
    out += out.empty() ? "" : "|";
    for (char c : t.text)
      if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

TEST(Preprocess, MacrosAreReplacedAsTheyStandAtThatPlace) {
  EXPECT_EQ(read_as("#define A 1\nA;\n#undef A\n#define A 2\nA;"), "1;2;");
  EXPECT_EQ(read_as("#define F(x) G(x)\n#define G(x) [x]\nF((1, 2)) F;"), "[(1,2)]F;");
  EXPECT_EQ(read_as("#define E F\n#define F(x) <x>\nE(1);"), "<1>;");
  EXPECT_EQ(read_as("#define C(a, b) a##b\nC(sys, tem)"), "system");
  EXPECT_EQ(read_as("#define K(a, b) a##b\n#define J(a, b) K(a, b)\nJ(J(sy, st), em) J(J(sy, stem), )"), "systemsystem");
  EXPECT_EQ(read_as("#define K(a, b) a##b c\n#define c sys\nK(c, c)"), "ccsys");
  EXPECT_EQ(read_as("#define E D\n#define D F\n#define F(x) sys##x\nE (tem);"), "system;");
  EXPECT_EQ(read_as("#define G() F\n#define F(x) H\n#define H(x) sys##x\nG()(1)(tem)(2)"), "system(2)");
  EXPECT_EQ(read_as("#define S(x) #x\nS(a \"b\\n\");"), "\"a\\\"b\\\\n\\\"\";");
  EXPECT_EQ(read_as("#define P(f, ...) p(f, ##__VA_ARGS__)\nP(1);P(1, 2);"), "p(1);p(1,2);");
  EXPECT_EQ(read_as("#define A x->y += a == b\nA;"), "x->y+=a==b;");
  EXPECT_EQ(read_as("#define A 1\n\"A\" 'A' /* A */ x.B"), "\"A\"'A'/*A*/x.B");
}

// As gcc -E prints them.
TEST(Preprocess, OptionalArgumentsAndPragmasAsTheCompilerReadsThem) {
  EXPECT_EQ(read_as("#define J(a, ...) a ## __VA_OPT__(tem)\nJ(sys, x);J(sys)"), "system;sys");
  EXPECT_EQ(read_as("#define J(a, ...) __VA_OPT__(a ## tem) z\nJ(sys, x);J(sys);J(sys,)"), "systemz;z;z");
  EXPECT_EQ(read_as("#define E(f, ...) f(0 __VA_OPT__(,) __VA_ARGS__)\n#define NIL\nE(g);E(g,);E(g,1,2);E(g,NIL)"),
            "g(0);g(0);g(0,1,2);g(0)");
  EXPECT_EQ(read_as("#define f printf\n#pragma push_macro(\"f\")\n#undef f\n#define f g\nf\n#pragma pop_macro(\"f\")\nf"),
            "gprintf");
  EXPECT_EQ(read_as("#pragma push_macro(\"Q\")\n#define Q 3\nQ\n#pragma pop_macro(\"Q\")\nQ"), "3Q");
  EXPECT_EQ(read_as("#define P x\n_Pragma(\"push_macro(\\\"P\\\")\")\n#undef P\nP\n_Pragma(\"pop_macro(\\\"P\\\")\")\nP"), "Px");
  EXPECT_EQ(read_as("#define DO(x) _Pragma(#x)\n#define P x\nDO(push_macro(\"P\"))\n#undef P\nP\nDO(pop_macro(\"P\"))\nP"), "Px");
  EXPECT_EQ(read_as("#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\nC(sys, __USER_LABEL_PREFIX__ tem) __CONCAT(sys, tem)"),
            "systemsystem");
}

TEST(Preprocess, EveryBranchStandsInOneOfTheTexts) {
  EXPECT_EQ(read_as("a\n#if X\nb\n#elif Y\nc\n#else\nd\n#endif\ne"), "abe|ace|ade");
  EXPECT_EQ(read_as("#if X\n1\n#else\n#if Y\n2\n#else\n3\n#endif\n4\n#endif"), "1|24|34");
  EXPECT_EQ(read_as("#if X\n#define A 1\n#else\n#define A 2\n#endif\nA"), "1|2");
  EXPECT_EQ(read_as("#if 0\nit's prose\n#else\n1\n#endif"), "1");
  EXPECT_EQ(read_as("#if X\n1"), "(nothing)");
  EXPECT_EQ(read_as("#endif"), "(nothing)");
  std::string many = "#if 1\n";
  for (int i = 0; i < 20; ++i) many += "#elif 1\n" + std::to_string(i) + "\n";
  EXPECT_EQ(read_as(many + "#endif"), "(nothing)");
}

TEST(Preprocess, WhatTheGrammarsDoNotKnowIsSaidOtherwise) {
  EXPECT_EQ(read_as("f(T x = {}, U y = {1, 2}) { int z[] = {3}; }", true), "f(Tx=0,Uy=(1,2)){intz[]={3};}");
  EXPECT_EQ(read_as("goto *p; case 1 ... 3: x"), "*p;case1+3:x");
  EXPECT_EQ(read_as("va_arg(a, struct s*)"), "(*(structs**)(a))");
}

TEST(Preprocess, BombsAreGivenUp) {
  std::string bomb = "#define A0 x x x x x x x x x x\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "#define A" + std::to_string(i);
    for (int k = 0; k < 10; ++k) bomb += " A" + std::to_string(i - 1);
    bomb += "\n";
  }
  EXPECT_EQ(read_as(bomb + "A8"), "(nothing)");
  std::string open = "#define F(a) a\n";
  for (int i = 0; i < 100'000; ++i) open += "F(";
  EXPECT_EQ(read_as(open), "(nothing)");
}

// Programs that compile and that the grammars cannot read as they are written.
const char* const kBenign[] = {
    "#if defined(__has_include) && __has_include(<stdatomic.h>)\n#include <stdatomic.h>\n#endif\nint main(void){return 0;}",
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\nint main(void){return 0;}",
    "#include <stdlib.h>\n#define NEW(T) ((T*)malloc(sizeof(T)))\nstruct s{int x;};\nint main(void){ struct s* p = NEW(struct s); return !p; }",
    "#include <stdarg.h>\nint f(int n, ...){ va_list a; va_start(a, n); char* s = va_arg(a, char*); struct q* z = va_arg(a, struct q*); va_end(a); return !s || !z; }",
    "#define COLORS(X) X(RED) X(GREEN)\n#define E(n) n,\nenum c { COLORS(E) };\n#define S(n) #n,\nstatic const char* s[] = { COLORS(S) };\nint main(void){ return s[RED] == 0; }",
    "int main(void){ int x = 1;\n#ifdef A\n if (x) {\n#else\n if (!x) {\n#endif\n x = 2; }\n return x; }",
    "#ifdef DEBUG\n#define LOG(...) fprintf(stderr, __VA_ARGS__)\n#else\n#define LOG(...) ((void)0)\n#endif\n#include <stdio.h>\n"
    "int main(int c\n#ifdef DEBUG\n, char** v\n#endif\n){ LOG(\"system\"); static void* t[] = {&&a}; goto *t[0]; a: return 0; }",
    "int x __attribute__((aligned(16))); extern int w __attribute__((__weak__));\nint main(void){ return x; }",
    "static _Thread_local int t; _Noreturn void q(void);\nint f(int c){ switch (c) { case 1 ... 3: return 1; default: return t; } }",
};
const char* const kBenignCpp[] = {
    "struct O { int a = 1; };\nint f(const O& o = {}, int n = 2) { return o.a + n; }\nint main() { return f(); }",
    "#include <bits/stdc++.h>\n#define fast ios_base::sync_with_stdio(0); cin.tie(0);\n#define int long long\n#define F first\nusing namespace std;\n"
    "signed main() { fast int t = 1; pair<int, int> p = make_pair(t, t); cout << p.F; }",
    "#include <iostream>\n#define DBG(x) std::cerr << #x << '=' << (x) << '\\n';\nint main(){ int a = 1; DBG(a) DBG(a + 1) return 0; }",
    "template<class... Ts> struct ov : Ts... { using Ts::operator()...; };\nint main() {}",
    "#define BEGIN {\n#define END }\nint main() BEGIN return 0; END",
    "#define API extern\nAPI int f(void);\nint main() { return f(); }",
};
// The same means, and something else behind them.
const char* const kHostile[] = {
    "#include <stdlib.h>\n#define BEGIN {\n#define J(a, b) a##b\n#define K(a, b) J(a, b)\n#define P sys\nint main() BEGIN return K(P, tem)(\"id\"); }",
    "#include <stdlib.h>\n#define X(n) n,\nenum { X(A) X(B) };\n#undef X\n#define X(n) sys##n(\"id\");\nint main(){ X(tem) }",
    "#include <stdlib.h>\n#ifdef A\nint main(){\n#else\n# if B\nint main(){ system(\"id\");\n# else\nint main(){\n# endif\n#endif\n}",
    "#if X\n#define S puts\n#else\n#define S system\n#endif\n#if Y\nint main(){ static void* t[] = {&&a}; goto *t[0]; a: S(\"id\"); }\n#else\nint main(){}\n#endif",
    "#define OPEN {\n#define STR(x) #x\nint main() OPEN __asm__(STR(.incbin \"/etc/passwd\")); return 0; }",
    "#define OPEN {\n#include \"/etc/passwd\"\nint main() OPEN return 0; }",
    "#define OPEN {\nint f(const char*) __attribute__((alias(\"system\")));\nint main() OPEN return f(\"id\"); }",
    "#include <stdlib.h>\n#define OPEN {\n#define W(f, ...) f(__VA_ARGS__)\nint main() OPEN W(system, \"id\"); return 0; }",
    "int main(){ _Pragma(\"GCC dependency \\\"/etc/shadow\\\"\") return 0; }",
    "#define DO(x) _Pragma(#x)\nint main(){ DO(GCC dependency \"/etc/shadow\") return 0; }",
};

#define JOIN "#define J(a, b) a##b\n#define K(a, b) J(a, b)\n"
const char* const kHidden[] = {
    JOIN "#define P sy\n#undef P\n#define P sys\nint main(){ return K(P, tem)(\"id\"); }",
    JOIN "#define P x\n#pragma push_macro(\"P\")\n#undef P\n#define P sys\nint f(void){ return K(P, tem)(\"id\"); }\n"
         "#pragma pop_macro(\"P\")\nint main(){ return f(); }",
    "#define J(a, ...) a ## __VA_OPT__(tem)\nint main(){ return J(sys, x)(\"id\"); }",
    "#define NIL()\n#define LATER(x) x NIL()\n#define ALL(...) __VA_ARGS__\n#define A(b) sys##b\n"
    "int main(){ return ALL(LATER(A)(tem))(\"id\"); }",
    "int main(){ return __CONCAT(sys, tem)(\"id\"); }",
    "#define J(a, b) a %:%: b\nint main(){ return J(sys, tem)(\"id\"); }",
    "#define J(...) K(__VA_ARGS__)\n#define K(a, b, ...) a##b\nint main(){ return J(sys, tem, 1, 2)(\"id\"); }",
    "#define f(x) x##tem\n#define g f\nint main(){ return g(sys)(\"id\"); }",
    JOIN "#if 0\n#define P x\n#elif 1\n#define P sys\n#endif\nint main(){ return K(P, tem)(\"id\"); }",
    JOIN "int main(){ return K(K(sys, __USER_LABEL_PREFIX__), tem)(\"id\"); }",
};
const char* const kPlain[] = {
    "#include <stdio.h>\n#define MAX 10\nint a[MAX];\n#undef MAX\n#define MAX 20\nint b[MAX];\n"
    "#define LOG(fmt, ...) printf(fmt __VA_OPT__(,) __VA_ARGS__)\nint main(){ LOG(\"x\"); LOG(\"%d %d\", a[0], b[0]); return 0; }",
    "#include <stdio.h>\n#define SHOW(x) printf(#x \" = %d\\n\", x)\n#define FIELD(n) field_##n\n"
    "int main(){ int FIELD(a) = 1, system_load = 2; SHOW(field_a); SHOW(system_load); return 0; }",
    "#pragma push_macro(\"MAX\")\n#undef MAX\n#define MAX(a,b) ((a)>(b)?(a):(b))\nint f(int a){ return MAX(a, 2); }\n"
    "#pragma pop_macro(\"MAX\")\nint main(){ return f(1); }",
};

TEST(Preprocess, OrdinaryProgramsAreReadAndHostileOnesFound) {
  auto facts = [](Grammar grammar, const char* source) {
    auto tree = parse_source(grammar, source);
    EXPECT_TRUE(tree.ok() && tree.value().has_error()) << "nothing is tried by:\n" << source;
    return c_facts_preprocessed(tree.value());
  };
  auto errors = [&](Grammar grammar, const char* source) {
    static const std::vector<Rule> rules = rules_of({"c", "cpp"});
    auto found = facts(grammar, source);
    if (!found) return std::string("unreadable");
    std::string out;
    for (const Finding& f : judge(SourceText(source), "f", *found, rules, {}))
      if (f.severity == "error") out += f.rule + " ";
    return out;
  };
  // Read by the grammars as they stand, and something else once the macros are replaced.
  auto whole = [&](const char* source, VerifyLevel level) {
    static const std::vector<Rule> rules = rules_of({"c", "cpp"});
    return judge_source(Grammar::kC, c_facts, rules, source, level);
  };
  for (const char* source : kHidden)
    for (VerifyLevel level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto found = whole(source, level);
      EXPECT_TRUE(found.parsed) << source;
      EXPECT_TRUE(found.has("c-start-program", "error")) << source << "\n" << found.words();
    }
  // A call that a macro begins and the text ends, and more branches than are looked at.
  EXPECT_EQ(errors(Grammar::kC, "#define J(a, b) a##b\n#define T J(sys\nint main(){ return T,tem)(\"id\"); }"), "unreadable");
  std::string many = "#define J(a, b) a##b\n#if A\n";
  for (int i = 0; i < 80; ++i) many += "#elif B\n";
  EXPECT_TRUE(whole((many + "#endif\nint main(){ return 0; }").c_str(), VerifyLevel::kStrict).has("c-macros-not-followed", "error"));
  for (const char* source : kPlain) EXPECT_EQ(whole(source, VerifyLevel::kStrict).words(), "  nothing found\n") << source;
  for (const char* source : kBenign) EXPECT_EQ(errors(Grammar::kC, source), "") << source;
  for (const char* source : kBenignCpp) EXPECT_EQ(errors(Grammar::kCpp, source), "") << source;
  for (const char* source : kHostile) {
    EXPECT_NE(errors(Grammar::kC, source), "") << source;
    EXPECT_NE(errors(Grammar::kC, source), "unreadable") << source;
  }
}

}  // namespace
