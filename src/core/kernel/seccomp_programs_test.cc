// Real programs under the lists: an allowlist that breaks libc or a runtime would be turned off by its users.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/strings.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_testing.h"

namespace hotcell {
namespace {

using namespace testing_seccomp;

struct Program {
  const char* name;
  const char* needs;     // skipped where this is not installed, unless HOTCELL_MUST_WORK is set
  const char* script;    // for /bin/sh, in an empty folder
  const char* expected;  // somewhere in its output
  const char* denied;    // the one call it may be refused without harm; empty: none
};
void PrintTo(const Program& p, std::ostream* out) { *out << p.name; }

Outcome run_script(const std::string& base, const char* script) {
  SeccompRequest request;
  request.base = base;
  const auto code = plan_seccomp(request).value().insns;
  char dir[] = "/tmp/hotcell-programs-XXXXXX";
  if (!mkdtemp(dir)) return {};
  Outcome out = run_under(code, true, [&] {
    if (chdir(dir) != 0 || setenv("HOME", dir, 1) != 0) return 96;
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    execl("/bin/sh", "sh", "-c", script, nullptr);
    return 95;
  });
  (void)!std::system(cat("rm -rf ", dir).c_str());
  return out;
}

void expect_runs(const std::string& base, const Program& p) {
  if (access(p.needs, X_OK) != 0) {
    if (std::getenv("HOTCELL_MUST_WORK")) FAIL() << p.needs << " is not installed";
    GTEST_SKIP() << p.needs << " is not installed";
  }
  const Outcome out = run_script(base, p.script);
  EXPECT_EQ(out.exit_code(), 0) << "signal " << out.signal() << "\n" << out.output;
  EXPECT_NE(out.output.find(p.expected), std::string::npos) << out.output;
  for (const auto& [what, count] : out.denied) EXPECT_EQ(what, p.denied) << count << " times";
}

class SeccompDefaultRuns : public ::testing::TestWithParam<Program> {};
TEST_P(SeccompDefaultRuns, WithoutARefusedCall) { expect_runs("default", GetParam()); }

class SeccompStrictRuns : public ::testing::TestWithParam<Program> {};
TEST_P(SeccompStrictRuns, WithoutARefusedCall) { expect_runs("strict", GetParam()); }

std::string param_name(const ::testing::TestParamInfo<Program>& info) { return info.param.name; }

constexpr const char* kPython =
    "/usr/bin/python3 -c '\n"
    "import subprocess, threading, tempfile, socket, multiprocessing, sqlite3, ctypes, asyncio, os, shutil\n"
    "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
    "assert subprocess.run([\"echo\", \"x\"], capture_output=True).stdout == b\"x\\n\"\n"
    "a = socket.socket(); a.bind((\"127.0.0.1\", 0)); a.listen(); b = socket.create_connection(a.getsockname())\n"
    "c = sqlite3.connect(\"x.db\"); c.execute(\"create table t(a)\"); c.commit()\n"
    "asyncio.run(asyncio.sleep(0)); multiprocessing.Queue(); multiprocessing.Lock()\n"
    "open(\"f\", \"w\").close(); shutil.copy2(\"f\", \"g\"); os.sched_getaffinity(0)\n"
    "ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)(); socket.getaddrinfo(\"localhost\", 80)\n"
    "print(\"fine\")'";

INSTANTIATE_TEST_SUITE_P(
    Programs, SeccompDefaultRuns,
    ::testing::Values(
        Program{"python", "/usr/bin/python3", kPython, "fine", ""},
        Program{"pandas", "/usr/lib/python3/dist-packages/pandas",
                "/usr/bin/python3 -c 'import numpy, pandas; m = numpy.random.rand(300, 300); (m @ m).sum(); "
                "f = pandas.DataFrame({\"a\": range(1000)}); f.to_csv(\"t.csv\"); "
                "assert pandas.read_csv(\"t.csv\").a.sum() == 499500; print(\"fine\")'",
                "fine", ""},
        Program{"node", "/usr/bin/node",
                "node -e 'const "
                "fs=require(\"fs\"),w=require(\"worker_threads\");fs.writeFileSync(\"a\",\"x\");fs.copyFileSync(\"a\","
                "\"b\");"
                "require(\"child_process\").execSync(\"true\");require(\"http\").createServer().listen(0,function(){"
                "this.close();"
                "fs.promises.readFile(\"b\").then(()=>console.log(\"fine\"))})'",
                "fine", ""},
        Program{"java", "/usr/bin/java", "java -version", "VM", ""},
        Program{"javac", "/usr/bin/javac",
                "echo 'class A { public static void main(String[] a) { System.out.println(\"fine\"); } }' > A.java && "
                "javac A.java && java A",
                "fine", ""},
        Program{"gcc", "/usr/bin/gcc",
                "printf '#include <stdio.h>\\nint main(){puts(\"fine\");}' > a.c && gcc -O2 -pipe a.c -o a && ./a && "
                "g++ -x c++ a.c && ./a.out",
                "fine", ""},
        Program{"clang", "/usr/bin/clang",
                "echo 'int puts(const char*);int main(){return puts(\"fine\")<0;}' > a.c && clang a.c && ./a.out",
                "fine", ""},
        Program{
            "bash", "/usr/bin/bash",
            "bash -c 'x=$(cat <(echo fine) | tr -d \"\\n\"); trap : USR1; kill -USR1 $$; sleep 0.01 & wait; echo $x'",
            "fine", ""},
        Program{"git", "/usr/bin/git",
                "git init -q . && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && git "
                "gc -q && git log --oneline && echo fine",
                "fine", ""},
        Program{"perl", "/usr/bin/perl",
                "perl -e 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; print `echo fine`'",
                "fine", ""},
        Program{"tar", "/usr/bin/tar",
                "mkdir d && echo x > d/f && tar czf a.tgz d && rm -r d && tar xzpf a.tgz && cp -a d e && ls -laR . && "
                "mv e g && install -m 755 d/f h && "
                "find . | xargs stat > /dev/null && sync && df . && id && ps > /dev/null && echo fine",
                "fine", ""},
        Program{"go", "/usr/bin/go",
                "export GOPATH=$PWD/p GOCACHE=$PWD/c GOTOOLCHAIN=local; printf 'package main\\nimport \"fmt\"\\nfunc "
                "main(){fmt.Println(\"fine\")}' > a.go && "
                "go run a.go",
                "fine", ""},
        Program{
            "rustc", "/usr/bin/rustc",
            "echo 'fn main(){std::thread::spawn(||println!(\"fine\")).join().unwrap();}' > a.rs && rustc a.rs && ./a",
            "fine", ""}),
    param_name);

INSTANTIATE_TEST_SUITE_P(
    Programs, SeccompStrictRuns,
    ::testing::Values(Program{"python", "/usr/bin/python3",
                              "/usr/bin/python3 -c 'import json, threading, tempfile, subprocess; print(\"fine\")'",
                              "fine", ""},
                      Program{"bash", "/usr/bin/bash", "bash -c 'echo fi$(echo ne)'", "fine", ""},
                      Program{"perl", "/usr/bin/perl", "perl -e 'print \"fine\"'", "fine", ""},
                      Program{"c", "/bin/ls", "ls / > /dev/null && echo fine", "fine", ""}),
    param_name);

}  // namespace
}  // namespace hotcell
