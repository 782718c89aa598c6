// WASI modules: what they can do, and what they try in vain. The inner wall by itself (the translated module outside of any
// cell), and both together.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "backends/probe.h"
#include "base/strings.h"
#include "manager/pipeline.h"
#include "manager/wasm_backend.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

constexpr std::string_view kAttacks = R"c(
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <dirent.h>
#include <fcntl.h>
#include <wasi/api.h>
static int raw_open(const char* path, int follow) {
  __wasi_fd_t fd;
  int e = __wasi_path_open(3, follow, path, 0, __WASI_RIGHTS_FD_READ, 0, 0, &fd);
  if (e == 0) __wasi_fd_close(fd);
  return e;
}
static char* volatile keep;  // or the compiler sees that nobody wants the memory
static int deep(int n) { volatile char pad[512]; pad[0] = (char)n; return n == 0 ? pad[0] : deep(n + 1) + pad[0]; }
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "hello")) { puts("hello"); return 7; }
  if (!strcmp(what, "args")) { printf("%d|%s|%s\n", argc, argv[2], getenv("GREETING") ? getenv("GREETING") : ""); return 0; }
  if (!strcmp(what, "stdin")) { char b[64]; int n = read(0, b, 64); fwrite(b, 1, n, stdout); return 0; }
  if (!strcmp(what, "files")) {
    char b[64] = ""; FILE* f = fopen("in.txt", "r"); if (!f) return 1; fgets(b, 64, f); fclose(f);
    if (mkdir("d", 0755)) return 2;
    f = fopen("/work/d/out.txt", "w"); if (!f) return 3; fprintf(f, "%smore", b); fclose(f);
    if (rename("d/out.txt", "out.txt")) return 4;
    struct stat s; if (stat("out.txt", &s) || s.st_size != 9) return 5;
    int n = 0; DIR* d = opendir("."); struct dirent* e; while ((e = readdir(d))) n += !strcmp(e->d_name, "out.txt"); closedir(d);
    if (n != 1) return 6;
    if (rmdir("d") || unlink("in.txt") || !access("in.txt", F_OK)) return 7;
    return 0;
  }
  if (!strcmp(what, "open")) { printf("%d\n", raw_open(argv[2], 1)); return 0; }
  if (!strcmp(what, "links")) {
    int e1 = __wasi_path_symlink("/etc/passwd", 3, "absolute");
    int e2 = __wasi_path_symlink("../../../../etc/passwd", 3, "up");
    int e3 = raw_open("up", 1);
    int e4 = __wasi_path_symlink("..", 3, "parent");
    int e5 = raw_open("parent/etc/passwd", 1);
    int e6 = __wasi_path_symlink("in.txt", 3, "inside");
    int e7 = raw_open("inside", 1);
    int e8 = __wasi_path_symlink("round", 3, "round");
    int e9 = raw_open("round", 1);
    printf("%d %d %d %d %d %d %d %d %d\n", e1, e2, e3, e4, e5, e6, e7, e8, e9); return 0;
  }
  if (!strcmp(what, "others")) {
    __wasi_filestat_t st;
    printf("%d", __wasi_path_filestat_get(3, 0, "../x", &st));
    printf(" %d", __wasi_path_create_directory(3, "../x"));
    printf(" %d", __wasi_path_unlink_file(3, "../../x"));
    printf(" %d", __wasi_path_rename(3, "in.txt", 3, "../in.txt"));
    printf(" %d", __wasi_path_link(3, 0, "in.txt", 3, "../in.txt"));
    printf(" %d", __wasi_path_remove_directory(3, "/tmp"));
    printf("\n"); return 0;
  }
  if (!strcmp(what, "fds")) { char b[8]; __wasi_iovec_t v = {(unsigned char*)b, 8}; __wasi_size_t n; int bad = 0;
    for (unsigned i = 5; i < 4000; ++i) bad |= __wasi_fd_read(i, &v, 1, &n) != 8;
    printf("%d %d\n", bad, __wasi_fd_read(4294967295u, &v, 1, &n)); return 0; }
  if (!strcmp(what, "rights")) { printf("%d %d\n", __wasi_fd_fdstat_set_rights(0, ~0ull, ~0ull), __wasi_fd_fdstat_set_rights(0, 0, 0)); return 0; }
  if (!strcmp(what, "pointer")) { __wasi_ciovec_t v = {(const unsigned char*)0xfffffff0u, 64}; __wasi_size_t n; printf("%d\n", __wasi_fd_write(1, &v, 1, &n)); return 0; }
  if (!strcmp(what, "network")) { __wasi_size_t n; __wasi_ciovec_t v = {(const unsigned char*)"x", 1}; printf("%d\n", __wasi_sock_send(3, &v, 1, 0, &n)); return 0; }
  if (!strcmp(what, "bounds")) { volatile char* p = (volatile char*)(strtoul(argv[2], 0, 0)); *p = 1; printf("%d\n", *p); return 0; }
  if (!strcmp(what, "stack")) return deep(1);
  if (!strcmp(what, "call")) { void (*f)(void) = (void (*)(void))(strtoul(argv[2], 0, 0)); f(); return 0; }
  if (!strcmp(what, "loop")) { volatile unsigned n = 0; for (;;) ++n; }
  if (!strcmp(what, "grow")) { unsigned mib = 0; while (mib < 2000) { char* p = malloc(1 << 20); if (!p) break; memset(p, 1, 1 << 20); keep = p; ++mib; } printf("%u\n", mib); return 0; }
  return 99;
}
)c";

ProgramSource c_source(std::string_view text) { return {as_wasm(*find_language("c")), {{{"attacks.c", std::string(text)}}, "attacks.c"}}; }

class Wasm : public testing::LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    auto opened = Launcher::create({});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    launcher_ = std::move(opened).value();
    policy_ = default_policy();
    policy_.limits.wall = std::chrono::seconds(60);
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }
  Result<Report> start(const ProgramSource& source, std::vector<std::string> args, Request request = {}) {
    request.argv = std::move(args);
    Policy policy = policy_;
    TRY(plan_run(source, policy, {}, request));
    PipelineOptions options;
    options.verify = false;
    Pipeline pipeline(*launcher_, options);
    TRY_SET(Prepared prepared, pipeline.prepare(source, policy, request));
    if (prepared.stopped) {
      Report report = *std::move(prepared.stopped);
      pipeline.complete(std::move(prepared), report);
      return report;
    }
    TRY_SET(Report report, launcher_->run(policy, std::move(request)));
    pipeline.complete(std::move(prepared), report);
    return report;
  }
  Report attack(std::vector<std::string> args, Request request = {}) {
    request.files.push_back({"in.txt", std::string("given"), 0644});
    auto report = start(c_source(kAttacks), std::move(args), std::move(request));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }
  // The same program outside of any cell: what it prints there, or the signal that ended it.
  std::string alone(std::vector<std::string> args) {
    PipelineOptions options;
    options.verify = false;
    Pipeline pipeline(*launcher_, options);
    ProgramSource c = c_source(kAttacks);
    auto module = pipeline.compiled(c, policy_);
    if (!module.ok() || module.value().size() != 1) return "no module";
    auto made = pipeline.compiled({find_language("wasm"), {{{module.value()[0].name, module.value()[0].bytes}}, module.value()[0].name}}, policy_);
    if (!made.ok() || made.value().size() != 1) return "no program";
    char folder[] = "/tmp/hotcell-wasm-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return "no folder";
    std::string program = cat(folder, "/attacks"), out = cat(folder, "/said");
    std::ofstream(program, std::ios::binary) << made.value()[0].bytes;
    std::ofstream(cat(folder, "/in.txt")) << "given";
    ::chmod(program.c_str(), 0755);
    args.insert(args.begin(), {program, "memory=67108864"});
    pid_t pid = ::fork();
    if (pid == 0) {
      std::vector<char*> argv;
      for (auto& a : args) argv.push_back(a.data());
      argv.push_back(nullptr);
      int fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      ::dup2(fd, 1);
      ::dup2(fd, 2);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    std::ifstream in(out);
    std::string said((std::istreambuf_iterator<char>(in)), {});
    if (WIFSIGNALED(status)) said += cat("signal ", WTERMSIG(status));
    for (auto name : {"attacks", "said", "in.txt", "up", "parent", "inside", "round"}) ::unlink(cat(folder, "/", name).c_str());
    EXPECT_EQ(::rmdir(folder), 0) << "it made something of its own in there";
    return said;
  }

  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_F(Wasm, ProgramsRunAsAnywhereElse) {
  auto hello = attack({"hello"});
  EXPECT_EQ(hello.out, "hello\n") << hello.err;
  EXPECT_EQ(hello.verdict.exit_code, 7);
  EXPECT_EQ(hello.enforcement.backend, "wasm");
  Request with;
  with.env["GREETING"] = "a b";
  EXPECT_EQ(attack({"args", "x y"}, std::move(with)).out, "3|x y|a b\n");
  Request input;
  input.stdin_source = StdinBytes{"from stdin"};
  EXPECT_EQ(attack({"stdin"}, std::move(input)).out, "from stdin");
  Request files;
  files.outputs = {"out.txt"};
  auto made = attack({"files"}, std::move(files));
  EXPECT_EQ(made.verdict.exit_code, 0) << made.err;
  ASSERT_EQ(made.files.size(), 1u);
  EXPECT_EQ(made.files[0].bytes, "givenmore");
}

TEST_F(Wasm, TheSecondRunIsNotCompiled) {
  attack({"hello"});
  auto again = attack({"hello"});
  ASSERT_TRUE(again.compile);
  EXPECT_TRUE(again.compile->cached);
}

// 76: not capable. The control is in.txt; that the file is there to be reached is shown by this process.
TEST_F(Wasm, NoNameLeavesTheWorkspace) {
  ASSERT_EQ(::access("/tmp/../etc/passwd", R_OK), 0);
  EXPECT_EQ(attack({"open", "in.txt"}).out, "0\n");
  EXPECT_EQ(attack({"open", "./x/../in.txt"}).out, "44\n") << "x is not there";
  for (std::string path : {"../etc/passwd", "../../etc/passwd", "./.././../etc/passwd", "/etc/passwd", "//etc/passwd", "..", "../", "/"}) {
    EXPECT_EQ(attack({"open", path}).out, "76\n") << path;
    EXPECT_EQ(alone({"open", path}), "76\n") << path << ", the inner wall alone";
  }
  EXPECT_EQ(alone({"open", "in.txt"}), "0\n");
  EXPECT_EQ(attack({"others"}).out, "76 76 76 76 76 76\n");
  EXPECT_EQ(alone({"others"}), "76 76 76 76 76 76\n");
}

TEST_F(Wasm, NoLinkLeadsOut) {
  // absolute refused; made, not followed out; made, not followed out; made, followed inside; round in circles
  EXPECT_EQ(attack({"links"}).out, "76 0 76 0 76 0 0 0 32\n");
  EXPECT_EQ(alone({"links"}), "76 0 76 0 76 0 0 0 32\n");
}

TEST_F(Wasm, DescriptorsOfTheHostHaveNoNumbersThere) {
  EXPECT_EQ(attack({"fds"}).out, "0 8\n");
  EXPECT_EQ(alone({"fds"}), "0 8\n");
  EXPECT_EQ(attack({"rights"}).out, "76 0\n") << "rights can be given away and not taken";
}

TEST_F(Wasm, ThereIsNoNetwork) { EXPECT_EQ(attack({"network"}).out, "57\n"); }

TEST_F(Wasm, MemoryOutsideItsOwnIsNotReached) {
  EXPECT_EQ(attack({"bounds", "1024"}).out, "1\n") << "the control";
  for (std::string address : {"0xfffffff0", "0x7fffffff", "0x40000000"}) {
    auto r = attack({"bounds", address});
    EXPECT_EQ(r.verdict.signal, SIGABRT) << address;
    EXPECT_NE(r.err.find("Out-of-bounds access"), std::string::npos) << r.err;
    EXPECT_NE(alone({"bounds", address}).find("signal 6"), std::string::npos) << address;
  }
  EXPECT_EQ(attack({"pointer"}).out, "21\n") << "nor by a call that is given a pointer";
  auto call = attack({"call", "0x400000"});
  EXPECT_NE(call.err.find("Invalid call_indirect"), std::string::npos) << call.err;
  auto stack = attack({"stack"});
  EXPECT_NE(stack.err.find("was stopped"), std::string::npos) << stack.err;
}

TEST_F(Wasm, AnEndlessLoopEndsByItsCpuLimit) {
  policy_.limits.cpu_time = std::chrono::seconds(1);
  EXPECT_EQ(attack({"loop"}).verdict.reason, ExitReason::kTimeoutCpu);
}

TEST_F(Wasm, ItsMemoryGrowsAsFarAsTheLimit) {
  policy_.limits.memory = 64_MiB;
  auto r = attack({"grow"});
  EXPECT_EQ(r.verdict.exit_code, 0) << to_string(r.verdict.reason) << r.err;
  int mib = std::atoi(r.out.c_str());
  EXPECT_GE(mib, 40);
  EXPECT_LE(mib, 56) << "malloc said no before the cell had to";
  mib = std::atoi(alone({"grow"}).c_str());
  EXPECT_GE(mib, 40);
  EXPECT_LE(mib, 64);
}

// Modules by hand: what no C compiler makes.
std::string wat(const std::string& text) {
  char folder[] = "/tmp/hotcell-wat-XXXXXX";
  EXPECT_NE(::mkdtemp(folder), nullptr);
  std::string in = cat(folder, "/m.wat"), out = cat(folder, "/m.wasm");
  std::ofstream(in) << text;
  pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/usr/bin/wat2wasm", "wat2wasm", in.c_str(), "-o", out.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << text;
  std::ifstream file(out, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  ::unlink(in.c_str());
  ::unlink(out.c_str());
  ::rmdir(folder);
  return bytes;
}
ProgramSource module_source(const std::string& text) { return {find_language("wasm"), {{{"m.wasm", wat(text)}}, "m.wasm"}}; }

TEST_F(Wasm, NamesThatWouldBeCodeAreRefusedBeforeTheTranslatorSeesThem) {
  auto refused = start(module_source(R"((module (func (export "_start")) (func (export "a*/ int evil(void) { return 1; } /*"))))"), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("name of an export"), std::string::npos) << refused.error().message;
  // From C as well: the attribute sets the name.
  auto c = start(c_source("__attribute__((export_name(\"a*/ b\"))) void f(void) {}\nint main(void) { return 0; }\n"), {});
  ASSERT_FALSE(c.ok());
  EXPECT_NE(c.error().message.find("name of an export"), std::string::npos) << c.error().message;
}

TEST_F(Wasm, AnImportOfAnotherTypeDoesNotCompile) {
  auto r = start(module_source(R"((module (import "wasi_snapshot_preview1" "fd_close" (func (param i64 i64) (result i64)))
    (memory (export "memory") 1) (func (export "_start") (drop (call 0 (i64.const 1) (i64.const 2))))))"), {});
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r.value().verdict.reason, ExitReason::kCompileError);
  ASSERT_TRUE(r.value().compile);
  EXPECT_NE(r.value().compile->err.find("conflicting types"), std::string::npos) << r.value().compile->err;
}

TEST_F(Wasm, TablesAndMemoriesThatAreTooLargeDoNotStart) {
  auto control = start(module_source(R"((module (memory (export "memory") 16) (table 1000 funcref) (func (export "_start") (drop (table.size 0)))))"), {});
  ASSERT_TRUE(control.ok()) << control.error().message;
  EXPECT_EQ(control.value().verdict.exit_code, 0) << control.value().err;
  // Without a ceiling the table would begin at address 0 and entry N be whatever lies at N * 24.
  auto table = start(module_source(R"((module (memory (export "memory") 1) (table 4294967295 funcref)
    (type $t (func)) (func (export "_start") (call_indirect (type $t) (i32.const 174763)))))"), {});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().verdict.exit_code, 126);
  EXPECT_NE(table.value().err.find("wants a table"), std::string::npos) << table.value().err;
  auto memory = start(module_source(R"((module (memory (export "memory") 65536) (func (export "_start") (i32.store8 (i32.const 0) (i32.const 1)))))"), {});
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  EXPECT_EQ(memory.value().verdict.exit_code, 126);
  EXPECT_NE(memory.value().err.find("wants a memory"), std::string::npos) << memory.value().err;
}

TEST_F(Wasm, AGrantItCannotBeShownIsRefused) {
  policy_.filesystem.grants.push_back({"/usr/share", Access::kRead, "--read"});
  auto refused = start(c_source(kAttacks), {"hello"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/usr/share"), std::string::npos);
}

TEST_F(Wasm, CppBecomesAModuleToo) {
  ProgramSource source{as_wasm(*find_language("cpp")), {{{"m.cpp", "#include <vector>\n#include <cstdio>\n#include <numeric>\nint main() { std::vector<int> v(100, 2); std::printf(\"%d\\n\", "
                       "std::accumulate(v.begin(), v.end(), 0)); }\n"}}, "m.cpp"}};
  auto r = start(source, {});
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r.value().out, "200\n") << r.value().err << (r.value().compile ? r.value().compile->err : "");
}

TEST_F(Wasm, IsAmongTheBackends) {
  register_wasm_backend();
  auto p = backends::probe("wasm");
  EXPECT_TRUE(p.works) << p.why;
  EXPECT_GT(p.start.count(), 0);
  auto chosen = backends::select_here(backends::Level::kWasm);
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value().backend, "wasm");
}

}  // namespace
}  // namespace hotcell
