// What the rules say of whole programs: hostile ones, ordinary ones, and the shared data.
#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged look(const std::string& source, VerifyLevel level = VerifyLevel::kDefault) {
  static const std::vector<Rule> rules = rules_of("go");
  return judge_source(Grammar::kGo, go_facts, rules, source, level);
}

// "os;fmt b \"bufio\"| body": imports, then what main does.
std::string program(std::string_view imports, std::string_view body) {
  std::string out = "package main\nimport (\n";
  while (!imports.empty()) {
    std::size_t end = std::min(imports.find(';'), imports.size());
    std::string_view one = imports.substr(0, end);
    imports.remove_prefix(std::min(end + 1, imports.size()));
    if (one.find('"') == one.npos) out += "\"" + std::string(one) + "\"\n";
    else out += std::string(one) + "\n";
  }
  return out + ")\nfunc main() {\n" + std::string(body) + "\n}\n";
}

struct Case {
  const char *imports, *body;
};

const Case kHostile[] = {
    {"os/exec", "exec.Command(\"sh\", \"-c\", \"id\").Run()"},
    {"x \"os/exec\"", "x.Command(\"sh\").Run()"},
    {". \"os/exec\"", "Command(\"sh\").Run()"},
    {"os/exec;context", "exec.CommandContext(context.Background(), \"sh\").Run()"},
    {"os", "os.StartProcess(\"/bin/sh\", nil, &os.ProcAttr{})"},
    {"os", "f := os.StartProcess; f(\"/bin/sh\", nil, nil)"},
    {"syscall", "syscall.Exec(\"/bin/sh\", nil, nil)"},
    {"syscall;os", "syscall.ForkExec(\"/bin/sh\", []string{\"sh\"}, &syscall.ProcAttr{Env: os.Environ()})"},
    {"syscall", "syscall.Syscall(59, 0, 0, 0)"},
    {"s \"syscall\"", "s.RawSyscall(1, 2, 3, 4)"},
    {"golang.org/x/sys/unix", "unix.Mount(\"a\", \"b\", \"c\", 0, \"\")"},
    {"unsafe", "var x int; p := unsafe.Pointer(&x); _ = p"},
    {"plugin", "p, _ := plugin.Open(\"x.so\"); _ = p"},
    {"reflect", "reflect.NewAt(t, p)"},
    {"reflect", "v := reflect.ValueOf(x); v.UnsafeAddr()"},
    {"os", "os.ReadFile(\"/etc/passwd\")"},
    {"os", "b, _ := os.ReadFile(\"/etc\" + \"/shadow\"); println(string(b))"},
    {"os", "f, _ := os.Open(\"/proc/self/environ\"); _ = f"},
    {"os;path/filepath", "h, _ := os.UserHomeDir(); os.ReadFile(filepath.Join(h, \".ssh/id_rsa\"))"},
    {"os", "os.ReadFile(os.Getenv(\"HOME\") + \"/.aws/credentials\")"},
    {"os", "os.WriteFile(\"/etc/cron.d/x\", nil, 0644)"},
    {"os", "os.WriteFile(os.Getenv(\"PROBE_OUT\"), []byte(\"x\"), 0644)"},
    {"os", "b, _ := os.ReadFile(os.Getenv(\"PROBE_SECRET\")); println(string(b))"},
    {"os", "f, _ := os.OpenFile(\"/dev/sda\", os.O_WRONLY, 0); f.Write(nil)"},
    {"os", "os.RemoveAll(\"/\")"},
    {"os", "os.RemoveAll(\"/home\")"},
    {"os", "os.Remove(\"/usr/bin/go\")"},
    {"os", "os.Chmod(\"/bin/sh\", 04755)"},
    {"os", "os.Symlink(\"/etc/shadow\", \"/srv/x\")"},
    {"os", "os.Rename(\"/etc/hosts\", \"/etc/h\")"},
    {"os", "p, _ := os.FindProcess(1); p.Kill()"},
    {"os", "os.Setenv(\"LD_PRELOAD\", \"/tmp/x.so\")"},
    {"os", "os.Setenv(\"PATH\", \"/tmp\")"},
    {"io/ioutil", "ioutil.ReadFile(\"/etc/shadow\")"},
    {"o \"os\"", "o.WriteFile(\"/root/x\", nil, 0)"},
    {"net/http", "http.Get(\"http://169.254.169.254/latest/meta-data\")"},
    {"os/exec", "c := exec.Cmd{Path: \"/bin/sh\"}; c.Start()"},
    {"os/exec", "run := map[string]func(string, ...string) *exec.Cmd{\"a\": exec.Command}; run[\"a\"](\"sh\")"},
    {"os/exec", "go exec.Command(\"sh\").Run()"},
    {"os/exec", "defer func() { exec.Command(\"sh\").Run() }()"},
    {"os;strings", "os.ReadFile(strings.Join([]string{\"\", \"etc\", \"shadow\"}, \"/\"))"},
    {"os;fmt", "os.ReadFile(fmt.Sprintf(\"/%s/%s\", \"etc\", \"shadow\"))"},
    {"os;encoding/base64", "b, _ := base64.StdEncoding.DecodeString(\"L2V0Yy9zaGFkb3c=\"); os.ReadFile(string(b))"},
    {"os", "const p = \"/etc/shadow\"; os.ReadFile(p)"},
    {"os", "os.Mkdir(\"/opt/x\", 0755)"},
    {"os", "os.Truncate(\"/var/log/auth.log\", 0)"},
    {"path/filepath", "filepath.Walk(\"/home\", nil)"},
    {"github.com/ebitengine/purego", "purego.Dlopen(\"libc.so.6\", 1)"},
    {"mvdan.cc/sh/v3/interp", "interp.New()"},
};

const char* const kHostileFiles[] = {
    "package main\n// #include <stdlib.h>\n// static void f() { system(\"id\"); }\nimport \"C\"\nfunc main() { C.f() "
    "}\n",
    "package main\n/*\n#cgo LDFLAGS: -Wl,-rpath,/tmp\n*/\nimport \"C\"\nfunc main() {}\n",
    "package main\nimport _ \"unsafe\"\n//go:linkname run os/exec.run\nfunc run()\nfunc main() { run() }\n",
    "package main\nfunc add(a, b int) int\nfunc main() { add(1, 2) }\n",
    "package main\nimport _ \"embed\"\n//go:embed ../../etc/passwd\nvar s string\nfunc main() { print(s) }\n",
    "package main\nimport \"os/exec\"\nfunc init() { exec.Command(\"sh\").Run() }\nfunc main() {}\n",
    "package main\nimport \"os/exec\"\nvar _ = exec.Command(\"sh\").Run()\nfunc main() {}\n",
    "package main\nvar access = \"user\u202e \u2066// check\u2069 \u2066\"\nfunc main() {}\n",
};

TEST(GoRules, HostileProgramsAreErrorsAtEveryLevel) {
  std::vector<std::string> sources(std::begin(kHostileFiles), std::end(kHostileFiles));
  for (const Case& c : kHostile) sources.push_back(program(c.imports, c.body));
  for (const std::string& source : sources)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = look(source, level);
      EXPECT_TRUE(j.parsed) << source;
      EXPECT_GT(j.count("error"), 0) << source << "\n" << j.words();
    }
}

const Case kBenign[] = {
    {"fmt", "fmt.Println(\"os/exec is only text\")"},
    {"fmt", "// exec.Command(\"sh\")\nfmt.Println(`import \"unsafe\"`)"},
    {"fmt;os", "if len(os.Args) > 1 { fmt.Println(os.Args[1]) }"},
    {"fmt;sync",
     "var wg sync.WaitGroup\nfor i := 0; i < 3; i++ { wg.Add(1); go func(n int) { defer wg.Done(); fmt.Println(n) }(i) "
     "}\nwg.Wait()"},
    {"fmt",
     "ch := make(chan int)\ngo func() { for i := 0; i < 3; i++ { ch <- i }; close(ch) }()\nfor v := range ch { "
     "fmt.Println(v) }"},
    {"fmt;time", "select { case <-time.After(time.Second): fmt.Println(\"late\"); default: }"},
    {"bufio;fmt;os",
     "in := bufio.NewReader(os.Stdin)\nvar n int\nfmt.Fscan(in, &n)\nw := bufio.NewWriter(os.Stdout)\ndefer "
     "w.Flush()\nfmt.Fprintln(w, n)"},
    {"bufio;os;strings", "s := bufio.NewScanner(os.Stdin)\nfor s.Scan() { _ = strings.Fields(s.Text()) }"},
    {"sort;fmt", "xs := []int{3, 1, 2}\nsort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })\nfmt.Println(xs)"},
    {"encoding/json;fmt",
     "type T struct { A int `json:\"a\"` }\nb, err := json.Marshal(T{1})\nif err != nil { panic(err) "
     "}\nfmt.Println(string(b))"},
    {"errors;fmt", "err := fmt.Errorf(\"x: %w\", errors.New(\"y\"))\nif errors.Is(err, nil) { return }"},
    {"os", "os.WriteFile(\"out.txt\", []byte(\"x\"), 0644)\nb, _ := os.ReadFile(\"out.txt\")\n_ = b"},
    {"os", "f, err := os.Create(\"data/x.csv\")\nif err != nil { return }\ndefer f.Close()\nf.WriteString(\"a,b\")"},
    {"os;path/filepath", "os.MkdirAll(filepath.Join(\"build\", \"out\"), 0755)\nos.RemoveAll(\"build\")"},
    {"os", "d, _ := os.MkdirTemp(\"\", \"x\")\ndefer println(d)"},
    {"os;fmt", "port := os.Getenv(\"PORT\")\nif port == \"\" { port = \"8080\" }\nfmt.Println(port)"},
    {"math;fmt", "fmt.Println(math.Sqrt(2), math.MaxInt64)"},
    {"strings;fmt",
     "var b strings.Builder\nfor i := 0; i < 3; i++ { b.WriteString(\"x\") "
     "}\nfmt.Println(strings.ToUpper(b.String()))"},
    {"strconv;fmt", "n, err := strconv.Atoi(\"12\")\nfmt.Println(n, err)"},
    {"regexp;fmt", "re := regexp.MustCompile(`exec\\((.*)\\)`)\nfmt.Println(re.FindString(\"exec(1)\"))"},
    {"context;time",
     "ctx, cancel := context.WithTimeout(context.Background(), time.Second)\ndefer cancel()\n<-ctx.Done()"},
    {"container/heap;fmt", "h := &H{2, 1}\nheap.Init(h)\nfmt.Println(heap.Pop(h))"},
    {"crypto/sha256;fmt", "fmt.Printf(\"%x\", sha256.Sum256([]byte(\"x\")))"},
    {"math/rand;time", "r := rand.New(rand.NewSource(time.Now().UnixNano()))\n_ = r.Intn(5)"},
    {"log", "log.SetFlags(0)\nlog.Println(\"x\")\nlog.Fatal(\"end\")"},
    {"flag;fmt", "n := flag.Int(\"n\", 1, \"count\")\nflag.Parse()\nfmt.Println(*n)"},
    {"text/template;os", "template.Must(template.New(\"x\").Parse(\"{{.}}\")).Execute(os.Stdout, 1)"},
    {"encoding/csv;os", "w := csv.NewWriter(os.Stdout)\nw.Write([]string{\"a\"})\nw.Flush()"},
    {"io;strings", "io.ReadAll(strings.NewReader(\"x\"))"},
    {"reflect;fmt", "fmt.Println(reflect.TypeOf(1).Kind(), reflect.DeepEqual(1, 2))"},
    {"net/url;fmt", "u, _ := url.Parse(\"https://a.example/x?y=1\")\nfmt.Println(u.Host)"},
    {"net/http;net/http/httptest",
     "rec := httptest.NewRecorder()\nhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { "
     "w.WriteHeader(200) }).ServeHTTP(rec, nil)"},
    {"os;os/signal;syscall", "c := make(chan os.Signal, 1)\nsignal.Notify(c, os.Interrupt, syscall.SIGTERM)"},
    {"sync/atomic", "var n int64\natomic.AddInt64(&n, 1)"},
    {"runtime;fmt", "fmt.Println(runtime.NumGoroutine(), runtime.GOOS)\nruntime.GC()"},
    {"time;fmt", "t := time.NewTicker(time.Second)\ndefer t.Stop()\nfmt.Println(time.Now().Format(time.RFC3339))"},
    {"unicode;fmt", "for _, r := range \"日本\" { fmt.Println(unicode.IsLetter(r)) }"},
    {"bytes;fmt", "var b bytes.Buffer\nb.WriteByte('x')\nfmt.Println(b.Len())"},
    {"fmt", "exec := func(cmd string) { fmt.Println(cmd) }\nexec(\"rm -rf /\")"},
    {"fmt", "defer func() { if r := recover(); r != nil { fmt.Println(r) } }()\npanic(\"x\")"},
    {"fmt", "m := map[string][]int{}\nm[\"a\"] = append(m[\"a\"], 1)\ndelete(m, \"a\")\nfmt.Println(len(m))"},
    {"fmt", "switch x := any(1).(type) { case int: fmt.Println(x); case string: fmt.Println(\"s\") }"},
    {"os", "f, _ := os.Create(os.Getenv(\"OUTPUT_PATH\"))\ndefer f.Close()"},
    {"os", "f, _ := os.Open(\"/dev/stdin\")\ndefer f.Close()"},
};

const char* const kBenignFiles[] = {
    "package main\ntype Number interface { ~int | ~float64 }\nfunc Sum[T Number](xs ...T) (s T) { for _, x := range xs "
    "{ s += x }; return }\nfunc main() { println(Sum(1, 2)) }\n",
    "package main\ntype Animal interface { Sound() string }\ntype Base struct{ Name string }\nfunc (b Base) Hello() "
    "string { return b.Name }\ntype Dog struct { Base; age int }\nfunc (d *Dog) Sound() string { return \"w\" }\nfunc "
    "main() { var a Animal = &Dog{Base{\"x\"}, 1}; println(a.Sound()) }\n",
    "package main\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Run(\"a\", func(t *testing.T) { if 1 != 1 { "
    "t.Fatal(\"x\") } }) }\nfunc BenchmarkX(b *testing.B) { for i := 0; i < b.N; i++ { } }\n",
    "package main\nconst ( A = iota; B; C )\nvar names = [...]string{A: \"a\", B: \"b\"}\nfunc main() { "
    "println(names[A], C) }\n",
    "package main\nimport _ \"embed\"\n//go:embed data.txt\nvar data string\nfunc main() { print(data) }\n",
    "//go:build linux\n\npackage main\nfunc main() {}\n",
    "package main\ntype Tree[T any] struct { Left, Right *Tree[T]; Val T }\nfunc (t *Tree[T]) Walk(f func(T)) { if t "
    "== nil { return }; t.Left.Walk(f); f(t.Val); t.Right.Walk(f) }\nfunc main() {}\n",
    "package main\nimport (\"fmt\"; \"strings\")\ntype Visitor func(depth int) error\nfunc walk(v Visitor) error { "
    "return v(0) }\nfunc main() { if err := walk(func(d int) error { fmt.Println(strings.Repeat(\" \", d)); return nil "
    "}); err != nil { panic(err) } }\n",
};

TEST(GoRules, OrdinaryProgramsAreQuiet) {
  std::vector<std::string> sources(std::begin(kBenignFiles), std::end(kBenignFiles));
  for (const Case& c : kBenign) sources.push_back(program(c.imports, c.body));
  for (const std::string& source : sources) {
    auto j = look(source);
    EXPECT_TRUE(j.parsed) << source;
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << source << "\n" << j.words();
  }
}

TEST(GoRules, TheNetworkIsAWarningAndUnderStrictAnError) {
  for (const Case& c :
       {Case{"net/http", "http.Get(\"https://a.example\")"}, Case{"net/http", "http.ListenAndServe(\":8080\", nil)"},
        Case{"net", "net.Dial(\"tcp\", \"a.example:80\")"}, Case{"net", "net.LookupHost(\"a.example\")"},
        Case{"net/http", "s := &http.Server{Addr: \":1\"}\ns.ListenAndServe()"}, Case{"os", "os.ReadFile(\"../x\")"},
        Case{"os;fmt", "fmt.Println(os.Environ())"}}) {
    std::string source = program(c.imports, c.body);
    EXPECT_EQ(look(source).count("error"), 0) << source << look(source).words();
    EXPECT_GT(look(source).count("warning"), 0) << source << look(source).words();
    EXPECT_GT(look(source, VerifyLevel::kStrict).count("error"), 0) << source;
  }
}

// SEEDS 2.1: what the founding verifier finds in Go, and what it misses.
TEST(GoRules, WhatTheFoundingVerifierFindsAndMisses) {
  EXPECT_TRUE(look(program("unsafe", "")).has("go-unsafe", "error"));
  EXPECT_TRUE(look(program("syscall", "")).has("go-syscall", "error"));
  EXPECT_TRUE(look(program("os/exec", "exec.Command(\"ls\")")).has("go-start-program", "error"));
  auto exit = look(program("os", "os.Exit(1)"));
  EXPECT_TRUE(exit.has("go-exit", "warning"));
  EXPECT_EQ(exit.count("error"), 0);
  EXPECT_EQ(look(program("os", "os.Exit(1)"), VerifyLevel::kStrict).count("error"), 0);
  EXPECT_FALSE(look("package main\nfunc main( {").parsed);
  EXPECT_EQ(look(program("fmt", "fmt.Println(1)")).findings.size(), 0u);
  EXPECT_TRUE(look(program("run \"os/exec\"", "run.Command(\"ls\")")).has("go-start-program", "error"));
  EXPECT_TRUE(
      look(program("os/exec;context", "exec.CommandContext(context.Background(), \"ls\")")).has("go-start-program", "error"));
  EXPECT_TRUE(look(program("os", "os.StartProcess(\"ls\", nil, nil)")).has("go-start-program", "error"));
}

TEST(GoData, TheVerifierRowsAreJudgedAsExpected) {
  for_each_row("attacks/verifier.jsonl", [](const std::string& row) {
    if (json_text(row, "lang") != "go") return;
    bool flag = json_text(row, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = look(json_text(row, "code"), level);
      EXPECT_EQ(j.count("error") > 0, flag) << json_text(row, "id") << "\n" << j.words();
    }
  });
}

TEST(GoData, SolvedProblemsAreClean) {
  for_each_row("humaneval-x/go.jsonl", [](const std::string& row) {
    std::string source = json_text(row, "test_setup") + json_text(row, "import") + json_text(row, "docstring") +
                         json_text(row, "declaration") + json_text(row, "canonical_solution") + json_text(row, "test");
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = look(source, level);
      EXPECT_TRUE(j.parsed) << json_text(row, "task_id");
      EXPECT_EQ(j.count("error"), 0) << json_text(row, "task_id") << "\n" << j.words();
    }
  });
}

}  // namespace
