#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged judged(Grammar grammar, const std::string& text, VerifyLevel level) {
  static const std::vector<Rule> rules = rules_of("java");
  return judge_source(grammar, java_facts, rules, text, level);
}

const char* const kHostile[] = {
    R"x(import java.nio.file.*;
class M { void m() throws Throwable { Files.writeString(Path.of(System.getenv("OUT")), "x"); } })x",
    R"x(import java.io.*;
class M { void m() throws Throwable { String p = System.getenv().get("OUT"); new FileWriter(p).write("x"); } })x",
    R"x(import java.util.*; import java.io.*;
class M { void m() throws Throwable { new Scanner(new File(System.getenv("IN"))).next(); } })x",
    R"x(class M { void m() throws Throwable { new java.beans.XMLDecoder(System.in).readObject(); } })x",
    "class M { String s = \"x\xe2\x80\xae y\"; }",
    R"x(class M { void m() throws Throwable { Runtime.getRuntime().exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { Runtime r = Runtime.getRuntime(); r.exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { var r = Runtime.getRuntime(); r.exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { java.lang.Runtime.getRuntime().exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { Object o = Runtime.getRuntime(); ((Runtime) o).exec("ls"); } })x",
    R"x(import static java.lang.Runtime.getRuntime;
class M { void m() throws Throwable { getRuntime().exec("ls"); } })x",
    R"x(import static java.lang.Runtime.*;
class M { void m() throws Throwable { getRuntime().exec("ls"); } })x",
    R"x(class M { void f(Runtime x) throws Exception { x.exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { java.util.function.Supplier<Runtime> s = Runtime::getRuntime; s.get().exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { new ProcessBuilder("ls").start(); } })x",
    R"x(class M { void m() throws Throwable { new java.lang.ProcessBuilder("ls").start(); } })x",
    R"x(class M { void m() throws Throwable { java.util.function.Function<String[], ProcessBuilder> f = ProcessBuilder::new; } })x",
    R"x(class M { void m() throws Throwable { Class.forName("java.lang.Runtime"); } })x",
    R"x(class M { void m() throws Throwable { Class.forName("java.lang." + "Run" + "time"); } })x",
    R"x(class M { static final String A = "java.lang.Runtime"; void m() throws Exception { Class.forName(A); } })x",
    R"x(class M { void m() throws Throwable { StringBuilder b = new StringBuilder(); b.append("java.lang."); b.append("Runtime"); Class.forName(b.toString()); } })x",
    R"x(class M { void m() throws Throwable { Class.forName(new String(new char[]{106,97,118,97,46,108,97,110,103,46,82,117,110,116,105,109,101})); } })x",
    R"x(class M { void m() throws Throwable { Class.forName(new StringBuilder("emitnuR.gnal.avaj").reverse().toString()); } })x",
    R"x(class M { void m() throws Throwable { Class.forName(new String(java.util.Base64.getDecoder().decode("amF2YS5sYW5nLlJ1bnRpbWU="))); } })x",
    R"x(class M { void m() throws Throwable { Class.forName(System.getenv("X")); } })x",
    R"x(class M { void m() throws Throwable { String n = System.getProperty("c"); Class.forName(n).newInstance(); } })x",
    R"x(class M { void m() throws Throwable { Object o = this; o.getClass().getMethod("exec").invoke(o); } })x",
    R"x(class M { void m() throws Throwable { Thread.currentThread().getContextClassLoader().loadClass(toString()); } })x",
    R"x(class M { void m() throws Throwable { java.lang.reflect.Field f = Object.class.getDeclaredField("theUnsafe"); f.setAccessible(true); } })x",
    R"x(import sun.misc.Unsafe;
class M { void m() throws Throwable { Unsafe u = null; } })x",
    R"x(import sun.misc.*;
class M { void m() throws Throwable { Unsafe u = null; } })x",
    R"x(class M { void m() throws Throwable { System.loadLibrary("x"); } })x",
    R"x(class M { void m() throws Throwable { System.load("/tmp/x.so"); } })x",
    R"x(class M { native int run(String s); })x",
    R"x(import javax.script.*;
class M { void m() throws Throwable { new ScriptEngineManager().getEngineByName("js").eval("1"); } })x",
    R"x(class M extends ClassLoader { Class<?> d(byte[] b){ return defineClass(null, b, 0, b.length); } })x",
    R"x(import java.net.*;
class M { void m() throws Throwable { new URLClassLoader(null); } })x",
    R"x(import javax.annotation.processing.AbstractProcessor;
abstract class P extends AbstractProcessor {})x",
    R"x(import com.sun.tools.attach.VirtualMachine;
class M {})x",
    R"x(import java.lang.instrument.*;
class M { static void premain(String a, Instrumentation i){} })x",
    R"x(class M { void m() throws Throwable { System.setSecurityManager(null); } })x",
    R"x(import java.io.File;
class M { void m() throws Throwable { new File("/etc/shadow").length(); } })x",
    R"x(import java.nio.file.*;
class M { void m() throws Throwable { Files.readString(Path.of("/etc", "shadow")); } })x",
    R"x(import java.nio.file.*;
class M { void m() throws Throwable { Files.delete(Paths.get("/etc/passwd")); } })x",
    R"x(class M { void m() throws Throwable { new java.io.FileWriter("/etc/cron.d/x"); } })x",
    R"x(import java.lang.invoke.*;
class M { void m() throws Throwable { MethodHandles.lookup().findVirtual(Runtime.class, "exec", null); } })x",
    R"x(class M { void m() throws Throwable { javax.tools.ToolProvider.getSystemJavaCompiler(); } })x",
    R"x(class M { void m() throws Throwable { ProcessHandle.allProcesses(); } })x",
    R"x(class M { void m() throws Throwable { \u0052untime.getRuntime().exec("ls"); } })x",
    R"x(class M { void m() throws Throwable { // \u000a Runtime.getRuntime().exec("ls");
 } })x",
    R"x(class M { void m() throws Throwable { String p = "/proc/self/"; new java.io.FileReader(p + "environ"); } })x",
};

const char* const kBenign[] = {
    R"x(class M { void m() throws Throwable { String h = System.getenv("HOME"); System.out.println(h + System.getProperty("user.home")); } })x",
    R"x(import java.io.*;
class M { void a() { String p = System.getenv("X"); } void b(String p) throws Throwable { new FileReader(p); } })x",
    R"x(class M { void m() throws Throwable { System.out.println("Runtime.getRuntime().exec"); } })x",
    R"x(class M { void m() throws Throwable { // Runtime.getRuntime().exec("x")
 int a = 1; /* ProcessBuilder */ } })x",
    R"x(import java.util.*;
class M { List<Integer> f(){ return new ArrayList<>(List.of(1,2)); } })x",
    R"x(record P(int x, int y) { P { if (x < 0) throw new IllegalArgumentException("x"); } double len(){ return Math.sqrt(x*x+y*y); } })x",
    R"x(sealed interface S permits A, B {}
record A(int v) implements S {}
record B(String s) implements S {}
class M { int f(S s){ return switch (s) { case A a -> a.v(); case B b -> b.s().length(); }; } })x",
    R"x(import java.util.stream.*;
class M { int f(){ return IntStream.range(0, 9).filter(i -> i % 2 == 0).map(i -> i * i).sum(); } })x",
    R"x(class M { class I { int v; } static class N<T extends Comparable<T>> { T t; } })x",
    R"x(class M { void m() throws Throwable { Runnable r = () -> System.out.println("x"); new Thread(r).start(); } })x",
    R"x(class M { void m() throws Throwable { long m = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory(); int c = Runtime.getRuntime().availableProcessors(); } })x",
    R"x(class M { void m() throws Throwable { String s = getClass().getSimpleName() + M.class.getName(); } })x",
    R"x(import java.util.Scanner;
class M { void m() throws Throwable { Scanner s = new Scanner(System.in); int n = s.nextInt(); } })x",
    R"x(import java.io.*;
class M { String f() throws IOException { try (BufferedReader r = new BufferedReader(new FileReader("in.txt"))) { return r.readLine(); } } })x",
    R"x(enum Op { EXEC, LOAD { int f(){ return 1; } }; int f(){ return 0; } })x",
    R"x(class Runtime { static Runtime getRuntime(){ return new Runtime(); } void exec(String s){} }
class M { void m(){ Runtime.getRuntime().exec("x"); } })x",
    R"x(class Db { void exec(String q){} }
class M { void m(){ new Db().exec("select"); Db d = new Db(); d.exec("x"); } })x",
    R"x(interface Shape { double area(); default String n(){ return "s"; } }
class C implements Shape { public double area(){ return 1; } })x",
    R"x(class M { void m() throws Throwable { int[] a = {3,1,2}; java.util.Arrays.sort(a); for (int x : a) { if (x > 1) continue; } } })x",
    R"x(class M { void m() throws Throwable { Object o = 1; if (o instanceof Integer i && i > 0) { int j = i; } } })x",
    R"x(class M { void m() throws Throwable { String t = """
  hello
  """; } })x",
    R"x(import java.util.function.*;
class M { <T, R> R ap(Function<? super T, ? extends R> f, T t){ return f.apply(t); } })x",
    R"x(import java.util.concurrent.*;
class M { void m() throws Exception { ExecutorService e = Executors.newFixedThreadPool(2); e.submit(() -> 1).get(); e.shutdown(); } })x",
    R"x(@FunctionalInterface interface F { int f(int x); }
class M { @Override public String toString(){ return "m"; } })x",
    R"x(class M { static int fib(int n){ return n < 2 ? n : fib(n-1) + fib(n-2); } })x",
    R"x(class E extends RuntimeException { E(String m){ super(m); } })x",
    R"x(class M { void m() throws Throwable { StringBuilder b = new StringBuilder(); for (int i = 0; i < 3; i++) b.append(i); String s = b.reverse().toString(); } })x",
    R"x(class M { void m() throws Throwable { java.util.Map<String,Integer> m = new java.util.HashMap<>(); m.merge("a", 1, Integer::sum); } })x",
    R"x(class M { void m() throws Throwable { var l = java.util.List.of("a","b"); l.forEach(System.out::println); } })x",
    R"x(import java.time.*;
class M { long f(){ return Duration.between(Instant.MIN, Instant.MAX).toDays(); } })x",
    R"x(class M { void m() throws Throwable { synchronized (this) { wait(1); notifyAll(); } } })x",
    R"x(class M<T> { private T[] a; int n; void push(T t){ a[n++] = t; } })x",
    R"x(class M { void m() throws Throwable { outer: for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) if (j == 1) continue outer; } })x",
    R"x(class M { void m() throws Throwable { try { int x = 1 / 0; } catch (ArithmeticException | NullPointerException e) { } finally { } } })x",
    R"x(class M { void m() throws Throwable { int x = switch (3) { case 1, 2 -> 1; default -> { yield 2; } }; } })x",
    R"x(import java.math.BigInteger;
class M { BigInteger f(){ return BigInteger.TWO.pow(64); } })x",
    R"x(import static java.lang.Math.*;
class M { double f(){ return sqrt(abs(-4)); } })x",
    R"x(class M { void m() throws Throwable { assert 1 > 0 : "x"; char c = 'a'; c += 1; long l = 1_000L << 3; } })x",
    R"x(abstract class A { abstract int f(); static { int x = 1; } { int y = 2; } }
class B extends A { int f(){ return super.hashCode(); } })x",
    R"x(class M { void m() throws Throwable { Object o = new Object() { @Override public int hashCode(){ return 1; } }; } })x",
    R"x(import java.util.*;
class M { Optional<String> f(){ return Optional.of("x").map(String::toUpperCase).filter(s -> !s.isEmpty()); } })x",
    R"x(import java.util.regex.*;
class M { boolean f(String s){ return Pattern.compile("[a-z]+").matcher(s).matches(); } })x",
    R"x(class M { void m() throws Throwable { new java.io.File("out/x.txt").exists(); int exec = 1, start = exec; } })x",
};

TEST(JavaFacts, HostileSnippetsAreErrorsUnderBothLevels) {
  for (const char* text : kHostile)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(Grammar::kJava, text, level).count("error"), 0) << text;
}

TEST(JavaFacts, BenignSnippetsAreQuiet) {
  for (const char* text : kBenign) {
    auto j = judged(Grammar::kJava, text, VerifyLevel::kDefault);
    EXPECT_TRUE(j.parsed) << text;
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << text << "\n" << j.words();
    auto s = judged(Grammar::kJava, text, VerifyLevel::kStrict);
    EXPECT_EQ(s.count("error"), 0) << text << "\n" << s.words();
  }
}

TEST(JavaFacts, ACarriageReturnEndsALineAndSoAComment) {
  for (const char* end : {"\r", "\\u000d", "\\u000D", "\\uuuu000d", "\r\r", "\\u000a", "\\uu000A"}) {
    std::string text = std::string("class M { void m() throws Exception { // ") + end + " Runtime.getRuntime().exec(\"id\");\n} }\n";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(Grammar::kJava, text, level).count("error"), 0) << text;
  }
  for (const char* text : {"class M {\r\n  // x\r\n  int a;\r\n}\r\n", "class M { // x\r\r\n}\r",
                           "class M {\r\n  String s = \"\\u0041\"; // x\r\n}\r\n"})
    EXPECT_EQ(judged(Grammar::kJava, text, VerifyLevel::kStrict).count("error"), 0) << text;
}

TEST(JavaData, VerifierRows) {
  for (const auto& line : rows_of("attacks/verifier.jsonl")) {
    if (json_text(line, "lang") != "java") continue;
    bool flag = json_text(line, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_EQ(judged(Grammar::kJava, json_text(line, "code"), level).count("error") > 0, flag) << line;
  }
}

TEST(JavaData, HumanEvalIsClean) {
  for (const auto& line : rows_of("humaneval-x/java.jsonl")) {
    std::string text = json_text(line, "declaration") + json_text(line, "canonical_solution") + json_text(line, "test");
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = judged(Grammar::kJava, text, level);
      EXPECT_TRUE(j.parsed) << text;
      EXPECT_EQ(j.count("error"), 0) << j.words();
    }
  }
}

TEST(JavaFacts, ExitIsAWarning) {
  const char* text = "class M { void m(){ System.exit(1); } }";
  for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
    auto j = judged(Grammar::kJava, text, level);
    EXPECT_EQ(j.count("error"), 0) << j.words();
    EXPECT_TRUE(j.has("java-exit"));
  }
}

}  // namespace
