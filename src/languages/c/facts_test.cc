#include <gtest/gtest.h>

#include "languages/fact_testing.h"

using namespace hotcell;
using namespace hotcell::testing_facts;

namespace {

// Each is an error under both levels, found by the analyser and not only by being unreadable.
const char* const kHostile[] = {
    "#include <stdlib.h>\nint main(){return system(\"ls\");}",
    "int system();\nint main(){ return system(\"ls\"); }",
    "int main(){ int (*f)(const char*) = system; return f(\"ls\"); }",
    "int main(){ void *t[] = { (void*)system }; return 0; }",
    "int main(){ return (system)(\"ls\"); }",
    "int main(){ return (*&system)(\"ls\"); }",
    "#define s system\nint main(){ return s(\"ls\"); }",
    "#define RUN(x) system(x)\nint main(){ RUN(\"ls\"); }",
    "#define CAT(a,b) a##b\nint main(){ return CAT(sys,tem)(\"ls\"); }",
    "#define CAT_(a,b) a##b\n#define CAT(a,b) CAT_(a,b)\n#define A sys\nint main(){ return CAT(A,tem)(\"ls\"); }",
    "#define X sys##tem\nint main(){ return X(\"ls\"); }",
    "int main(){ sys\\\ntem(\"ls\"); }",
    "void f(void){ int system = 1; (void)system; }\nint main(){ return system(\"ls\"); }",
    "#if 0\nint system(const char* c){ return 0; }\n#endif\nint main(){ return system(\"ls\"); }",
    "#include <stdio.h>\nint main(){ FILE* f = popen(\"id\", \"r\"); return 0; }",
    "#include <unistd.h>\nint main(){ execl(\"/bin/sh\", \"sh\", \"-c\", \"id\", (char*)0); }",
    "#include <unistd.h>\nint main(){ char* a[]={\"x\",0}; execve(\"/bin/sh\", a, 0); }",
    "#include <unistd.h>\nint main(){ while(1) fork(); }",
    "int main(){ vfork(); }",
    "#include <spawn.h>\nint main(){ posix_spawn(0, \"/bin/sh\", 0, 0, 0, 0); }",
    "#include <sys/syscall.h>\nint main(){ return syscall(59, \"/bin/sh\", 0, 0); }",
    "#include <sys/ptrace.h>\nint main(){ ptrace(PTRACE_ATTACH, 1, 0, 0); }",
    "#include <dlfcn.h>\nint main(){ void* h = dlopen(\"./x.so\", RTLD_NOW); return 0; }",
    "int main(){ asm(\"syscall\"); }",
    "int main(){ __asm__ volatile(\"int $0x80\" : : \"a\"(11)); }",
    "__asm__(\".globl x\\nx: .incbin \\\"/etc/passwd\\\"\");\nint main(){}",
    "#define A asm(\"nop\")\nint main(){ A; }",
    "int f(const char*) __asm__(\"system\");\nint main(){ return f(\"ls\"); }",
    "#include \"/etc/passwd\"\nint main(){}",
    "#include </etc/shadow>\nint main(){}",
    "#include \"../../secret/key\"\nint main(){}",
    "#include \"/dev/random\"\nint main(){}",
    "#define F \"/etc/passwd\"\n#include F\nint main(){}",
    "#include F\nint main(){}",
    "#include __FILE__\n#include __FILE__\nint main(){}",
    "#/**/include \"/etc/passwd\"\nint main(){}",
    "#if __has_include(\"/etc/passwd\")\n#error YES\n#endif\nint main(){}",
    "const char d[] = {\n#embed \"/etc/passwd\"\n};\nint main(){}",
    "#import \"/etc/passwd\"\nint main(){}",
    "unsigned char code[] = {0x90, 0xc3};\nint main(){ ((void(*)(void))code)(); }",
    "typedef void (*fn)(void);\nchar c[] = \"\\x90\\xc3\";\nint main(){ ((fn)c)(); }",
    "const char main[] = \"\\x90\\xc3\";",
    "#include <sys/mman.h>\nint main(){ void* p = mmap(0, 4096, PROT_READ|PROT_WRITE|PROT_EXEC, 34, -1, 0); return 0; }",
    "int main(){ mprotect((void*)4096, 4096, 7); }",
    "#include <stdio.h>\nint main(){ FILE* f = fopen(\"/etc/shadow\", \"r\"); return 0; }",
    "#include <stdio.h>\n#define P \"/etc\" \"/passwd\"\nint main(){ fopen(P, \"r\"); }",
    "#include <fcntl.h>\nint main(){ const char* p = \"/proc/1/mem\"; open(p, O_RDWR); }",
    "#include <unistd.h>\nint main(){ unlink(\"/etc/passwd\"); }",
    "#include <unistd.h>\nint main(){ setuid(0); }",
    "int main(){ chroot(\"/\"); mount(\"a\", \"b\", \"c\", 0, 0); }",
    "__attribute__((section(\".init_array\"))) void (*p)(void) = 0;\nint main(){}",
    "%:include \"/etc/passwd\"\nint main()<% %>",
    "#pragma weak foo = system\nint main(){}",
    "int main(){ char p[] = {'/','e','t','c','/','s','h','a','d','o','w',0}; fopen(p, \"r\"); }",
};

const char* const kHostileCpp[] = {
    "#include <cstdlib>\nint main(){ return std::system(\"ls\"); }",
    "#include <cstdlib>\nint main(){ return ::system(\"ls\"); }",
    "#include <cstdlib>\nusing std::system;\nint main(){ return system(\"ls\"); }",
    "#include <cstdlib>\nauto f = &std::system;\nint main(){ return f(\"ls\"); }",
    "namespace a { int system(const char*){ return 0; } }\nint main(){ return ::system(\"ls\"); }",
    "struct T { void system(const char*){} };\nint main(){ return system(\"ls\"); }",
    "#include <boost/process.hpp>\nnamespace bp = boost::process;\nint main(){ bp::child c(\"ls\"); }",
    "#include <fstream>\nint main(){ std::ifstream f(\"/etc/shadow\"); }",
    "#include <fstream>\nint main(){ std::ofstream f; f.open(\"/etc/cron.d/x\"); }",
    "#include <fstream>\n#include <string>\nint main(){ std::ifstream f{std::string(\"/etc\") + \"/shadow\"}; }",
    "#include <filesystem>\nnamespace fs = std::filesystem;\nint main(){ fs::remove_all(\"/home\"); }",
    "unsigned char code[] = {0xc3};\nint main(){ reinterpret_cast<void(*)()>(code)(); }",
    "import \"/etc/passwd\";\nint main(){}",
    "auto x = R\"(a)\"; int main(){ auto f = [](const char* c){ return system(c); }; f(\"ls\"); }",
    "template <class F> void call(F f){ f(\"ls\"); }\nint main(){ call(system); }",
};

const char* const kBenign[] = {
    "#include <stdio.h>\nint main(void){ puts(\"system ok\"); return 0; }",
    "#include <stdio.h>\n/* system(\"rm\") */ // asm(\"x\")\nint main(void){ return 0; }",
    "struct node { int v; struct node *next; };\nstatic int sum(struct node *n){ int s = 0; while(n){ s += n->v; n = n->next; } return s; }",
    "union u { int i; float f; }; enum color { RED, GREEN };\nint main(void){ union u x; x.i = GREEN; return x.i; }",
    "#include <getopt.h>\n#include <unistd.h>\nint main(int c, char** v){ int o; while((o = getopt(c, v, \"ab:\")) != -1) switch(o){ case 'a': break; } return 0; }",
    "#include <stdlib.h>\nstatic int cmp(const void* a, const void* b){ return *(const int*)a - *(const int*)b; }\nint main(void){ int x[3] = {3,1,2}; qsort(x, 3, sizeof *x, cmp); return x[0]; }",
    "typedef int (*op)(int, int);\nstatic int add(int a, int b){ return a + b; }\nint main(void){ op f = add; return f(1, 2); }",
    "#define MAX(a,b) ((a) > (b) ? (a) : (b))\nint main(void){ return MAX(1, 2); }",
    "#define JOIN(a,b) a##b\nint JOIN(foo, bar) = 1;\nint main(void){ return foobar; }",
    "struct file { int (*open)(const char*); int (*kill)(int); };\nint use(struct file* f){ f->kill(1); return f->open(\"x\"); }",
    "int main(void){ int kill = 0, open = 1; kill += open; return kill; }",
    "enum state { fork = 1, link };\nint main(void){ return fork + link; }",
    "static int remove_(int x){ return x; }\nstatic int access(int a, int b){ return a + b; }\nint main(void){ return access(1, 2) + remove_(1); }",
    "#include <stdio.h>\nint main(void){ FILE* f = fopen(\"data.txt\", \"r\"); if(f) fclose(f); return 0; }",
    "#include <stdio.h>\nint main(void){ FILE* f = fopen(\"/tmp/x\", \"w\"); fclose(f); return 0; }",
    "#include \"local.h\"\n#include <sys/types.h>\nint main(void){ return 0; }",
    "#include <pthread.h>\nvoid* run(void* p){ return p; }\nint main(void){ pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); }",
    "#include <signal.h>\nstatic void on(int s){ (void)s; }\nint main(void){ signal(SIGINT, on); raise(SIGINT); }",
    "#include <string.h>\nint main(void){ char b[16]; strcpy(b, \"asm\"); return (int)strlen(b); }",
    "int main(void){ const char* s = \"#include \\\"/etc/passwd\\\"\"; return s[0]; }",
    "#include <stdio.h>\n#define LONG(x) do { \\\n  x; \\\n} while (0)\nint main(void){ LONG(puts(\"a\")); }",
    "#pragma GCC poison gets\n#pragma once\nint main(void){ return 0; }",
    "#ifdef __GNUC__\n#define LIKELY(x) __builtin_expect(!!(x), 1)\n#else\n#define LIKELY(x) (x)\n#endif\nint main(void){ return LIKELY(1); }",
    "#include <stdint.h>\nstatic const uint8_t table[] = {1, 2, 3};\nint main(void){ return table[1]; }",
    "int f(int n){ return n < 2 ? n : f(n-1) + f(n-2); }",
    "#include <stdarg.h>\nint sum(int n, ...){ va_list a; va_start(a, n); int s = 0; while(n--) s += va_arg(a, int); va_end(a); return s; }",
    "#include <time.h>\n#include <stdlib.h>\nint main(void){ srand((unsigned)time(0)); return rand() % 6; }",
    "__attribute__((noreturn)) void die(void);\n__attribute__((unused)) static int x;\nint main(void){ return 0; }",
    "struct __attribute__((packed)) p { char a; int b; };\nint main(void){ return sizeof(struct p); }",
    "#include <setjmp.h>\njmp_buf b;\nint main(void){ if(!setjmp(b)) longjmp(b, 1); }",
    "int main(void){ int a[2][2] = {{1,2},{3,4}}; return a[1][0]; }",
    "#include <stdio.h>\nint main(void){ char c; while((c = getchar()) != EOF) putchar(c); return 0; }",
    "static inline unsigned rot(unsigned x, int k){ return (x << k) | (x >> (32 - k)); }\nint main(void){ return (int)rot(1, 3); }",
    "#include <math.h>\nint main(void){ return (int)sqrt(16.0); }",
    "#include <errno.h>\n#include <stdio.h>\nint main(void){ perror(\"x\"); return errno; }",
    "_Static_assert(sizeof(int) == 4, \"int\");\nint main(void){ return 0; }",
    "#include <stdatomic.h>\n_Atomic int n;\nint main(void){ atomic_fetch_add(&n, 1); return n; }",
    "int main(void){ goto end; end: return 0; }",
    "#include <ctype.h>\nint main(int c, char** v){ (void)c; return toupper(v[0][0]); }",
    "#include <stdlib.h>\nint main(void){ int* p = calloc(4, sizeof *p); p = realloc(p, 64); free(p); return 0; }",
};

const char* const kBenignCpp[] = {
    "#include <concepts>\ntemplate <std::integral T> T twice(T x){ return x + x; }\nint main(){ return twice(2); }",
    "#include <ranges>\n#include <vector>\nint main(){ std::vector v{1,2,3}; int s = 0; for (int x : v | std::views::filter([](int i){ return i > 1; })) s += x; return s; }",
    "#include <algorithm>\n#include <vector>\nusing namespace std;\nint main(){ vector<int> v{1,2}; v.erase(remove(v.begin(), v.end(), 1), v.end()); return v.size(); }",
    "#include <functional>\nint main(){ auto f = std::bind(std::plus<int>(), 1, std::placeholders::_1); return f(2); }",
    "struct V { double x, y; V operator+(const V& o) const { return {x + o.x, y + o.y}; } };\nint main(){ V a{1,2}; return (a + a).x; }",
    "class File { public: void open(); void close(); private: int fd_ = 0; };\nvoid File::open(){ fd_ = 1; }\nvoid File::close(){ open(); }",
    "#include <memory>\nstruct B { virtual ~B() = default; virtual int f() = 0; };\nstruct D : B { int f() override { return 1; } };\nint main(){ std::unique_ptr<B> b = std::make_unique<D>(); return b->f(); }",
    "#include <map>\n#include <string>\nint main(){ std::map<std::string, int> m; m[\"system\"] = 1; for (auto& [k, v] : m) v += 1; return m.size(); }",
    "constexpr int fact(int n){ return n ? n * fact(n - 1) : 1; }\nstatic_assert(fact(4) == 24);\nint main(){}",
    "#include <fstream>\nint main(){ std::ifstream f(\"in.txt\"); std::ofstream o(\"out.txt\"); }",
    "#include <thread>\nint main(){ std::thread t([]{}); t.join(); }",
    "template <class... A> auto sum(A... a){ return (a + ...); }\nint main(){ return sum(1, 2, 3); }",
    "namespace app { enum class Op { open, kill, link }; int run(Op o){ return o == Op::kill; } }\nint main(){ return app::run(app::Op::open); }",
    "#include <iostream>\nint main(){ std::cout << R\"(system(\"ls\"))\" << '\\n'; }",
    "struct Door { bool open(int x){ return x > 0; } };\nint main(){ Door d; return d.open(1); }",
    "#include <optional>\nstd::optional<int> f(bool b){ if (b) return 1; return std::nullopt; }\nint main(){ return f(true).value_or(0); }",
    "int main(){ auto kill = [](int x){ return x; }; return kill(3); }",
    "#include <string>\nusing namespace std::string_literals;\nint main(){ auto s = \"a\"s + \"b\"; return s.size() + 1'000'000; }",
};

TEST(CFacts, HostileSnippetsAreErrorsUnderBothLevels) {
  for (const char* text : kHostile)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(Grammar::kC, text, level).count("error"), 0) << text;
  for (const char* text : kHostileCpp)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(Grammar::kCpp, text, level).count("error"), 0) << text;
}

TEST(CFacts, BenignSnippetsAreQuiet) {
  auto check = [](Grammar g, const char* text) {
    auto j = judged(g, text, VerifyLevel::kDefault);
    EXPECT_FALSE(j.parse_error) << text;
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << text << "\n" << j.words();
    auto s = judged(g, text, VerifyLevel::kStrict);
    EXPECT_EQ(s.count("error"), 0) << text << "\n" << s.words();
  };
  for (const char* text : kBenign) check(Grammar::kC, text);
  for (const char* text : kBenignCpp) check(Grammar::kCpp, text);
}

TEST(CFacts, StrictRefusesNetworkAndDeletion) {
  const char* socket = "#include <sys/socket.h>\nint main(void){ return socket(2, 1, 0); }";
  EXPECT_EQ(judged(Grammar::kC, socket, VerifyLevel::kDefault).count("error"), 0);
  EXPECT_TRUE(judged(Grammar::kC, socket, VerifyLevel::kStrict).has("c-network"));
  const char* remove = "#include <stdio.h>\nint main(void){ return remove(\"a\"); }";
  EXPECT_EQ(judged(Grammar::kC, remove, VerifyLevel::kDefault).count("error"), 0);
  EXPECT_TRUE(judged(Grammar::kC, remove, VerifyLevel::kStrict).has("c-delete"));
}

TEST(CFacts, FactsStandWhereTheTextIsThoughLinesWereJoined) {
  auto j = judged(Grammar::kC, "int main(){\n  sys\\\ntem(\"ls -l\"); }", VerifyLevel::kDefault);
  ASSERT_TRUE(j.fact(FactKind::kCommand, "ls"));
  for (const Finding& f : j.findings) EXPECT_EQ(f.line, 2);
}

TEST(CFacts, BrokenAndDeepTextIsSurvived) {
  std::string deep = "int main(){ return " + std::string(50'000, '(') + "1" + std::string(50'000, ')') + "; }";
  judged(Grammar::kC, deep, VerifyLevel::kDefault);
  std::string macros;
  for (int i = 0; i < 2000; ++i) macros += "#define A" + std::to_string(i) + " A" + std::to_string(i + 1) + "##A" + std::to_string(i + 1) + "\n";
  judged(Grammar::kC, macros + "int main(){ A0; A1; A2; }", VerifyLevel::kDefault);
  for (const char* text : {"#", "#define", "#define A(", "#include", "\"", "'", "R\"(", "/*", "system(", "asm", "#include <", "\?\?/", "%:"})
    judged(Grammar::kCpp, text, VerifyLevel::kStrict);
}

TEST(CData, VerifierRows) {
  for (const auto& line : data_lines("attacks/verifier.jsonl")) {
    std::string lang = json_string(line, "lang");
    if (lang != "c" && lang != "cpp") continue;
    Grammar g = lang == "c" ? Grammar::kC : Grammar::kCpp;
    bool flag = json_string(line, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_EQ(judged(g, json_string(line, "code"), level).count("error") > 0, flag) << line;
  }
}

TEST(CData, WhatTheCompilerWouldReadIsFound) {
  for (const auto& line : data_lines("attacks/compile.jsonl")) {
    for (std::string file : {"a.c", "a.cpp"}) {
      std::string text = json_string(line, file);
      if (text.empty() || json_string(line, "kind") != "read") continue;
      if (std::size_t at = text.find("{S}"); at != std::string::npos) text.replace(at, 3, "/srv/secret/key");
      if (text.find("int main(){}") == 0) continue;  // the attack is in another file
      EXPECT_GT(judged(file == "a.c" ? Grammar::kC : Grammar::kCpp, text, VerifyLevel::kDefault).count("error"), 0) << text;
    }
  }
}

TEST(CData, HumanEvalIsClean) {
  int unreadable = 0, count = 0;
  for (const auto& line : data_lines("humaneval-x/cpp.jsonl")) {
    std::string text = json_string(line, "prompt") + json_string(line, "canonical_solution") + json_string(line, "test");
    auto j = judged(Grammar::kCpp, text, VerifyLevel::kDefault);
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << j.words();
    EXPECT_EQ(judged(Grammar::kCpp, text, VerifyLevel::kStrict).count("error"), 0);
    ++count;
    unreadable += j.parse_error;
  }
  std::cout << "parse errors: " << unreadable << " of " << count << "\n";
  EXPECT_LE(unreadable, 1);  // the grammar does not know typeid(int)
}

}  // namespace
