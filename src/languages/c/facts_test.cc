#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged judged(Grammar grammar, const std::string& text, VerifyLevel level) {
  static const std::vector<Rule> c = rules_of("c"), cpp = rules_of({"c", "cpp"});
  return judge_source(grammar, c_facts, grammar == Grammar::kCpp ? cpp : c, text, level);
}

// Each is an error under both levels, found by the analyser and not only by being unreadable.
const char* const kHostile[] = {
    "#include <stdlib.h>\nint main(){return system(\"ls\");}",
    "int system();\nint main(){ return system(\"ls\"); }",
    "#include <stdio.h>\n#include <stdlib.h>\nint main(){ FILE* f = fopen(getenv(\"OUT\"), \"w\"); fputs(\"x\", f); }",
    "#include <fcntl.h>\n#include <stdlib.h>\nint main(){ char* p; p = getenv(\"OUT\"); open(p, O_WRONLY | O_CREAT, 0644); }",
    "#include <stdio.h>\n#include <stdlib.h>\nint main(){ char b[9]; FILE* f = fopen(getenv(\"IN\"), \"r\"); fgets(b, 9, f); puts(b); }",
    "static int f(const char*) __attribute__((weakref(\"system\")));\nint main(){ return f(\"ls\"); }",
    "int main(){ /*\xe2\x80\xae } \xe2\x81\xa6if (1)\xe2\x81\xa9 */ return 0; }",
    "int main(){ int (*f)(const char*) = system; return f(\"ls\"); }",
    "int main(){ void *t[] = { (void*)system }; return 0; }",
    "int main(){ return (system)(\"ls\"); }",
    "int main(){ return (*&system)(\"ls\"); }",
    "#define s system\nint main(){ return s(\"ls\"); }",
    "#define RUN(x) system(x)\nint main(){ RUN(\"ls\"); }",
    "#define CAT(a,b) a##b\nint main(){ return CAT(sys,tem)(\"ls\"); }",
    "#define CAT_(a,b) a##b\n#define CAT(a,b) CAT_(a,b)\n#define A sys\nint main(){ return CAT(A,tem)(\"ls\"); }",
    "#define K(a,b) a##b\n#define J(a,b) K(a,b)\nint main(){ return J(J(sy,stem),)(\"ls\"); }",
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
    "__attribute__((constructor)) static void early(void){ system(\"id\"); }\nint main(void){ return 0; }",
    "int main(void){ asm goto(\"jmp %l0\" : : : : out); out: return 0; }",
    "int main(void){ __asm volatile (\"syscall\" : : \"a\"(60)); return 0; }",
    "register long rax asm(\"rax\"); int main(void){ return 0; }",
    "asm(\".section .data\\n.incbin \\\"/etc/shadow\\\"\\n\"); int main(void){ return 0; }",
    "#include_next \"/etc/passwd\"\nint main(void){ return 0; }",
    "#include <../../../etc/passwd>\nint main(void){ return 0; }",
    "#include \"a/../../../etc/passwd\"\nint main(void){ return 0; }",
    "#include <dlfcn.h>\nint main(void){ int (*f)(const char*) = (int(*)(const char*))dlsym(0, \"system\"); return f(\"id\"); }",
    "#define GLUE(a, b) a ## b\n#define NAME GLUE(po, pen)\nint main(void){ return NAME(\"id\", \"r\") != 0; }",
    "#define F(x) x\nint main(void){ return F(F(system))(\"id\"); }",
    "#define E(...) __VA_ARGS__\nint main(void){ E(execv)(\"/bin/sh\", 0); }",
    "#define CALL(f, ...) f(__VA_ARGS__)\nint main(void){ return CALL(system, \"id\"); }",
    "struct ops { int (*run)(const char*); } o = { .run = system };\nint main(void){ return o.run(\"id\"); }",
    "static int run(const char*) __attribute__((weakref(\"system\")));\nint main(void){ return run(\"id\"); }",
    "int main(void){ return __builtin_execve(\"/bin/sh\", 0, 0); }",
    "int (*f)(void) = __builtin_fork;\nint main(void){ return f(); }",
    "#include <unistd.h>\nint main(void){ execlp(\"sh\", \"sh\", \"-c\", \"id\", (char*)0); }",
    "#include <unistd.h>\nint main(void){ fexecve(3, 0, 0); }",
    "int main(void){ unshare(0x10000000); setns(3, 0); }",
    "#include <unistd.h>\nint main(void){ long (*s)(long, ...) = syscall; return (int)s(59, \"/bin/sh\", 0, 0); }",
    "long (*p)(int, ...) = (long(*)(int, ...))ptrace;\nint main(void){ return 0; }",
    "int main(void){ process_vm_writev(1, 0, 0, 0, 0, 0); }",
    "#define begin { system\nint main(void) begin (\"id\"); }",
    "#pragma GCC dependency \"/etc/passwd\"\nint main(void){ return 0; }",
    "#if __has_embed(\"/etc/shadow\")\n#endif\nint main(void){ return 0; }",
    "#include <stdlib.h>\nint main(void){ atexit((void(*)(void))system); return 0; }",
};

const char* const kHostileCpp[] = {
    "#include <fstream>\n#include <cstdlib>\nint main(){ std::ofstream(std::getenv(\"OUT\")) << \"x\"; }",
    "#include <fstream>\nint main(){ std::string p = getenv(\"OUT\"); std::ofstream f(p); f << 1; }",
    "#include <fstream>\nint main(){ std::ofstream f; f.open(getenv(\"OUT\")); f << 1; }",
    "#include <filesystem>\nint main(){ std::filesystem::copy_file(\"x\", std::getenv(\"OUT\")); }",
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
    "#include <functional>\nint main(){ std::function<int(const char*)> f = std::system; return f(\"id\"); }",
    "struct Early { Early(){ std::system(\"id\"); } } early;\nint main(){}",
    "namespace s = std;\nint main(){ return s::system(\"id\"); }",
    "template <int (*F)(const char*)> struct Call { int operator()(const char* c){ return F(c); } };\nint main(){ return Call<system>{}(\"id\"); }",
    "extern \"C\" { long syscall(long, ...); }\nint main(){ return syscall(59); }",
    "[[gnu::constructor]] void early(){ __asm__(\"nop\"); }\nint main(){}",
    "#include <unistd.h>\nint main(){ auto f = [](auto g){ return g(); }; return f(fork); }",
    "#include <cstdio>\n#include <memory>\nint main(){ std::unique_ptr<FILE, decltype(&pclose)> p(popen(\"id\", \"r\"), pclose); }",
    "#include <filesystem>\nint main(){ std::filesystem::copy(\"/etc/shadow\", \"/tmp/x\"); }",
};

const char* const kBenign[] = {
    "#include <stdio.h>\n#define STR(x) #x\nstruct e { int fork; };\nint main(void){ struct e e = {1}; printf(\"%s %d\", STR(a), e.fork); }",
    "#include <stdio.h>\n#include <stdlib.h>\nint main(void){ const char* h = getenv(\"HOME\"); puts(h ? h : \"-\"); }",
    "#include <stdio.h>\n#include <stdlib.h>\nvoid f(void){ const char* p = getenv(\"X\"); puts(p); }\nvoid g(const char* p){ fopen(p, \"r\"); }",
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
    "#include <stdio.h>\nint main(void){ int n; long long s = 0; if (scanf(\"%d\", &n) != 1) return 0; for (int i = 0, x; i < n; ++i) { scanf(\"%d\", &x); s += x; } printf(\"%lld\\n\", s); }",
    "#define N 100005\nstatic int head[N], nxt[2*N], to[2*N], cnt;\nstatic void link_(int a, int b){ to[++cnt] = b; nxt[cnt] = head[a]; head[a] = cnt; }\nint main(void){ link_(1, 2); return to[head[1]]; }",
    "/* fork(), execve(\"/bin/sh\"), ptrace, setuid(0), .incbin \"/etc/passwd\" */\n// #include \"/etc/shadow\"\nint main(void){ return 0; }",
    "#include <stdio.h>\nint main(void){ puts(\"fork(); execve(\\\"/bin/sh\\\"); ptrace; setuid(0); asm(\\\"syscall\\\"); popen; dlsym\"); }",
    "static const char* words[] = {\"system\", \"popen\", \"fork\", \"execve\", \"syscall\", \"ptrace\"};\nint main(void){ return words[0][0]; }",
    "struct fs { int system; int fork; };\nint sum(struct fs s){ return s.system + s.fork; }\nint main(void){ struct fs s = {.system = 1, .fork = 2}; return sum(s); }",
    "static int system_of(int x){ return x; }\nstatic int forks = 0, execs = 0;\nint main(void){ forks += system_of(execs); return forks; }",
    "__attribute__((always_inline)) static inline int clz(unsigned x){ return __builtin_clz(x); }\nint main(void){ return clz(8); }",
};

const char* const kBenignCpp[] = {
    "struct Door { void open(const char*) {} };\nint main(){ Door d; d.open(\"/etc/x\"); }",
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
    "#include <bits/stdc++.h>\nusing namespace std;\nstruct DSU { vector<int> p; int find(int x){ return p[x] == x ? x : p[x] = find(p[x]); } bool link(int a, int b){ a = find(a); b = find(b); if (a == b) return false; p[a] = b; return true; } };\nint main(){ DSU d; d.link(1, 2); cout << d.find(1); }",
    "#pragma GCC optimize(\"O3,unroll-loops\")\n#pragma GCC target(\"avx2\")\n#include <bits/stdc++.h>\nint main(){ std::priority_queue<std::pair<int,int>> q; q.push({1, 2}); auto [d, u] = q.top(); return d + u; }",
    "#include <vector>\nstruct link { int to, cost; };\nstd::vector<link> g;\ntemplate <class open> struct S { std::vector<open> v; };\nint main(){ g.push_back({1, 2}); return g[0].to; }",
    "#include <iostream>\n// std::system(\"rm -rf /\"); fork();\nint main(){ std::string s = \"std::system(\\\"id\\\"); #include \\\"/etc/passwd\\\"\"; std::cout << s; }",
    "struct Shell { int system(const char*) { return 0; } static int fork() { return 1; } };\nint main(){ Shell s; return s.system(\"id\") + Shell::fork(); }",
    "#include <regex>\nint main(){ std::regex r(\"exec|fork\"); return std::regex_match(\"fork\", r); }",
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
    EXPECT_TRUE(j.parsed) << text;
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
  ASSERT_TRUE(has_fact(j.facts, FactKind::kCommand, "ls"));
  for (const Finding& f : j.findings) EXPECT_EQ(f.line, 2);
}

TEST(CFacts, ACarriageReturnEndsALineAndSoAComment) {
  for (auto g : {Grammar::kC, Grammar::kCpp}) {
    for (const char* text : {"#include <stdlib.h>\nint main(){// x\rsystem(\"id\");\n}\n",
                             "// x\r#include <stdlib.h>\r// y\rint main(){return system(\"id\");}",
                             "int f(void){\r\n  // a \\\r\n b\r\n  // x\rsystem(\"id\");\r\n}\r\n"})
      for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
        EXPECT_TRUE(judged(g, text, level).has("unverifiable", "error")) << text;
    for (const char* text : {"int f(void) {\r\n  // x\r\n  return 1;\r\n}\r\n", "int a;\r\r\nint b;\r"})
      EXPECT_EQ(judged(g, text, VerifyLevel::kStrict).count("error"), 0) << text;
  }
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
  for (const auto& line : rows_of("attacks/verifier.jsonl")) {
    std::string lang = json_text(line, "lang");
    if (lang != "c" && lang != "cpp") continue;
    Grammar g = lang == "c" ? Grammar::kC : Grammar::kCpp;
    bool flag = json_text(line, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_EQ(judged(g, json_text(line, "code"), level).count("error") > 0, flag) << line;
  }
}

TEST(CData, WhatTheCompilerWouldReadIsFound) {
  for (const auto& line : rows_of("attacks/compile.jsonl")) {
    for (std::string file : {"a.c", "a.cpp"}) {
      std::string text = json_text(line, file);
      if (text.empty() || json_text(line, "kind") != "read") continue;
      if (std::size_t at = text.find("{S}"); at != std::string::npos) text.replace(at, 3, "/srv/secret/key");
      if (text.find("int main(){}") == 0) continue;  // the attack is in another file
      EXPECT_GT(judged(file == "a.c" ? Grammar::kC : Grammar::kCpp, text, VerifyLevel::kDefault).count("error"), 0) << text;
    }
  }
}

TEST(CData, HumanEvalIsClean) {
  int unreadable = 0, count = 0;
  for (const auto& line : rows_of("humaneval-x/cpp.jsonl")) {
    std::string text = json_text(line, "prompt") + json_text(line, "canonical_solution") + json_text(line, "test");
    auto j = judged(Grammar::kCpp, text, VerifyLevel::kDefault);
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << j.words();
    EXPECT_EQ(judged(Grammar::kCpp, text, VerifyLevel::kStrict).count("error"), 0);
    ++count;
    unreadable += !j.parsed;
  }
  std::cout << "parse errors: " << unreadable << " of " << count << "\n";
  EXPECT_LE(unreadable, 1);  // the grammar does not know typeid(int)
}

}  // namespace
