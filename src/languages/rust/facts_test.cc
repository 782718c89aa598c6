#include <gtest/gtest.h>

#include "languages/analysers.h"
#include "languages/verify_testing.h"

using namespace hotcell;
using namespace hotcell::testing_rules;

namespace {

Judged judged(Grammar grammar, const std::string& text, VerifyLevel level) {
  static const std::vector<Rule> rules = rules_of("rust");
  return judge_source(grammar, rust_facts, rules, text, level);
}

const char* const kHostile[] = {
    R"x(fn main(){ std::fs::write(std::env::var("OUT").unwrap(), "x").unwrap(); })x",
    R"x(use std::{env, fs::File};
fn main(){ if let Some(p) = env::var_os("OUT") { File::create(p).unwrap(); } })x",
    R"x(fn main(){ print!("{}", std::fs::read_to_string(std::env::var("IN").unwrap()).unwrap()); })x",
    R"x(use std::path::Path;
fn main(){ println!("{:?}", std::fs::read(Path::new("/etc").join("shadow"))); })x",
    "fn main(){ let a = \"x\xe2\x80\xae y\"; println!(\"{a}\"); }",
    R"x(fn main(){ std::process::Command::new("sh").spawn(); })x",
    R"x(use std::process::Command;
fn main(){ Command::new("ls").output(); })x",
    R"x(use std::process::Command as C;
fn main(){ C::new("ls"); })x",
    R"x(use std::process as p;
fn main(){ p::Command::new("ls"); })x",
    R"x(use std as s;
fn main(){ s::process::Command::new("ls"); })x",
    R"x(use std::{io, process::{self, Command as C}};
fn main(){ C::new("ls"); })x",
    R"x(use std::process::*;
fn main(){ Command::new("ls"); })x",
    R"x(use std::*;
fn main(){ process::Command::new("ls"); })x",
    R"x(mod a { pub use std::process as q; }
fn main(){ a::q::Command::new("ls"); })x",
    R"x(type P = std::process::Command;
fn main(){ P::new("ls"); })x",
    R"x(fn main(){ <std::process::Command>::new("ls"); })x",
    R"x(fn main(){ let f = std::process::Command::new::<&str>; f("ls"); })x",
    R"x(macro_rules! run { ($x:expr) => { std::process::Command::new($x).spawn() } }
fn main(){ run!("ls"); })x",
    R"x(macro_rules! m { ($a:ident) => { std::$a::Command::new("ls") } }
fn main(){ m!(process); })x",
    R"x(macro_rules! m { () => { use std::{process::Command, fs}; } }
fn main(){ m!(); })x",
    R"x(fn main(){ println!("{:?}", std::process::Command::new("id").output()); })x",
    R"x(fn main(){ std::r#process::Command::new("ls"); })x",
    R"x(fn main(){ ::std::process::Command::new("ls"); })x",
    R"x(use std::os::unix::process::CommandExt;
fn main(){})x",
    R"x(extern "C" { fn system(s: *const u8) -> i32; }
fn main(){})x",
    R"x(extern "C" { #[link_name = "system"] fn f(s: *const u8) -> i32; }
fn main(){})x",
    R"x(extern "C" { fn execve(a: *const u8); }
fn main(){})x",
    R"x(extern "C" { fn syscall(n: i64, ...) -> i64; }
fn main(){})x",
    R"x(use std::arch::asm;
fn main(){ unsafe { asm!("syscall"); } })x",
    R"x(core::arch::global_asm!("nop");
fn main(){})x",
    R"x(fn main(){ unsafe { std::arch::asm!("nop") } })x",
    R"x(macro_rules! a { () => { unsafe { core::arch::asm!("nop") } } }
fn main(){ a!(); })x",
    R"x(#[link_section = ".init_array"]
static F: fn() = f;
fn f(){}
fn main(){})x",
    R"x(#[cfg_attr(all(), link_section = ".init_array")]
static F: fn() = f;
fn f(){}
fn main(){})x",
    R"x(fn main(){ print!("{}", include_str!("/etc/passwd")); })x",
    R"x(const S: &str = include_str!(concat!("/etc/", "passwd"));
fn main(){})x",
    R"x(static B: &[u8] = include_bytes!("../../secret/key");
fn main(){})x",
    R"x(include!("/etc/x.rs");
fn main(){})x",
    R"x(#[path = "/etc/x.rs"]
mod x;
fn main(){})x",
    R"x(fn main(){ let f: fn() = unsafe { std::mem::transmute(0x1000usize) }; f(); })x",
    R"x(use std::mem::transmute as t;
fn main(){ unsafe { t::<*const u8, extern "C" fn()>(p)() } })x",
    R"x(type F = extern "C" fn();
fn main(){ let f: F = unsafe { std::mem::transmute(p) }; })x",
    R"x(use libc::system;
fn main(){ unsafe { system(p); } })x",
    R"x(fn main(){ unsafe { libc::execve(a, b, c); } })x",
    R"x(use libc::*;
fn main(){ unsafe { fork(); } })x",
    R"x(fn main(){ std::fs::read_to_string("/etc/shadow").unwrap(); })x",
    R"x(use std::fs::File;
fn main(){ let p = format!("{}/{}", "/etc", "shadow"); File::open(&p); })x",
    R"x(use std::path::Path;
fn main(){ std::fs::read(Path::new("/proc").join("1/environ")); })x",
    R"x(fn main(){ std::fs::write("/etc/cron.d/x", "y"); })x",
    R"x(fn main(){ std::fs::remove_dir_all("/home"); })x",
    R"x(fn main(){ print!("{:?}", option_env!("AWS_SECRET_ACCESS_KEY")); })x",
    R"x(use std::fs::OpenOptions;
fn main(){ OpenOptions::new().append(true).open("/root/.bashrc"); })x",
    R"x(fn main(){ let l = unsafe { libloading::Library::new("x.so") }; })x",
    R"x(use tokio::process::Command;
fn main(){})x",
    R"x(fn main(){ assert!(std::fs::read("/etc/shadow").is_err()); })x",
};

const char* const kBenign[] = {
    R"x(use std::env;
fn main(){ println!("{} {}", env::var("HOME").unwrap_or_default(), std::fs::read_to_string("a.txt").is_ok()); })x",
    R"x(fn f(p: &str) -> bool { std::fs::read(p).is_ok() }
fn main(){ let p = std::env::var("X").unwrap_or_default(); assert!(!f("a"), "{}", p); })x",
    R"x(fn main(){ println!("unsafe {{ }}"); })x",
    R"x(// std::process::Command
/* asm!("x") */
fn main(){})x",
    R"x(use std::collections::HashMap;
fn main(){ let mut m: HashMap<String, i32> = HashMap::new(); m.insert("a".into(), 1); })x",
    R"x(struct P<T> { x: T }
impl<T: std::fmt::Display> P<T> { fn show(&self) -> String { format!("{}", self.x) } }
fn main(){})x",
    R"x(fn longest<'a>(a: &'a str, b: &'a str) -> &'a str { if a.len() > b.len() { a } else { b } }
fn main(){})x",
    R"x(trait Shape { fn area(&self) -> f64; }
struct C(f64);
impl Shape for C { fn area(&self) -> f64 { std::f64::consts::PI * self.0 * self.0 } }
fn main(){})x",
    R"x(macro_rules! sq { ($x:expr) => { $x * $x } }
fn main(){ let _ = sq!(3); })x",
    R"x(macro_rules! max { ($t:ident) => { std::$t::MAX } }
fn main(){ let _ = max!(u32); })x",
    R"x(fn main(){ std::process::exit(0); })x",
    R"x(use std::process;
fn main(){ if false { process::exit(1); } })x",
    R"x(use std::process::ExitCode;
fn main() -> ExitCode { ExitCode::SUCCESS })x",
    R"x(#[derive(Debug, Clone, PartialEq)]
enum Op { Add, Sub }
fn main(){ match Op::Add { Op::Add => {}, Op::Sub => {} } })x",
    R"x(use std::io::{self, Read, Write};
fn main() -> io::Result<()> { let mut s = String::new(); io::stdin().read_to_string(&mut s)?; io::stdout().write_all(s.as_bytes()) })x",
    R"x(fn main(){ let v: Vec<i32> = (0..10).filter(|x| x % 2 == 0).map(|x| x * x).collect(); })x",
    R"x(fn main(){ let s = std::fs::read_to_string("input.txt").unwrap_or_default(); })x",
    R"x(use std::thread;
fn main(){ let h = thread::spawn(|| 1); h.join().unwrap(); })x",
    R"x(use std::sync::{Arc, Mutex};
fn main(){ let m = Arc::new(Mutex::new(0)); *m.lock().unwrap() += 1; })x",
    R"x(struct Command { name: String }
impl Command { fn new(n: &str) -> Self { Command { name: n.into() } } }
fn main(){ Command::new("ls"); })x",
    R"x(mod process { pub struct Command; }
fn main(){ let _ = process::Command; })x",
    R"x(fn system(x: i32) -> i32 { x }
fn main(){ system(1); })x",
    R"x(const T: &str = include_str!("data.txt");
fn main(){})x",
    R"x(const T: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data.txt"));
fn main(){})x",
    R"x(fn main(){ println!("{}", env!("CARGO_PKG_VERSION")); })x",
    R"x(use std::mem;
fn main(){ let mut a = 1; let b = mem::replace(&mut a, 2); mem::swap(&mut a, &mut 3); })x",
    R"x(fn f<T>(x: T) -> impl Fn(T) -> T { move |y| y }
fn main(){})x",
    R"x(use std::rc::Rc; use std::cell::RefCell;
fn main(){ let r = Rc::new(RefCell::new(1)); *r.borrow_mut() += 1; })x",
    R"x(impl Iterator for N { type Item = u32; fn next(&mut self) -> Option<u32> { None } }
struct N;
fn main(){})x",
    R"x(async fn f() -> u8 { 1 }
fn main(){})x",
    R"x(fn main(){ let x = if let Some(y) = Some(1) { y } else { 0 }; let Some(z) = Some(2) else { return; }; })x",
    R"x(use std::fmt;
struct A;
impl fmt::Display for A { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "a") } }
fn main(){})x",
    R"x(#[cfg(test)]
mod tests { use super::*;
 #[test]
 fn t(){ assert_eq!(1, 1); } }
fn main(){})x",
    R"x(fn main(){ let r = r#"std::process::Command"#; })x",
    R"x(const fn f(n: u64) -> u64 { if n == 0 { 1 } else { n * f(n - 1) } }
fn main(){})x",
    R"x(use std::ops::Add;
#[derive(Copy, Clone)]
struct V(i32);
impl Add for V { type Output = V; fn add(self, o: V) -> V { V(self.0 + o.0) } }
fn main(){})x",
    R"x(fn main(){ let a = [1, 2, 3]; match a { [x, .., y] => {}, } })x",
    R"x(fn main() -> Result<(), Box<dyn std::error::Error>> { let n: i32 = "1".parse()?; Ok(()) })x",
    R"x(use std::env;
fn main(){ let a: Vec<String> = env::args().collect(); })x",
    R"x(fn apply(f: fn(i32) -> i32, x: i32) -> i32 { f(x) }
fn main(){ apply(|x| x + 1, 2); })x",
    R"x(static N: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
fn main(){})x",
    R"x(fn main(){ let m = "fork"; let s = vec![m; 3].join(","); 'o: loop { break 'o; } })x",
};

TEST(RustFacts, HostileSnippetsAreErrorsUnderBothLevels) {
  for (const char* text : kHostile)
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(Grammar::kRust, text, level).count("error"), 0) << text;
}

TEST(RustFacts, BenignSnippetsAreQuiet) {
  for (const char* text : kBenign) {
    auto j = judged(Grammar::kRust, text, VerifyLevel::kDefault);
    EXPECT_TRUE(j.parsed) << text;
    EXPECT_EQ(j.count("error") + j.count("warning"), 0) << text << "\n" << j.words();
    auto s = judged(Grammar::kRust, text, VerifyLevel::kStrict);
    EXPECT_EQ(s.count("error"), 0) << text << "\n" << s.words();
  }
}

TEST(RustFacts, WhatAMacroPutsBehindAPathIsSeen) {
  for (const char* text : {
           "macro_rules! a{($($x:tt)+)=>{std::process::$($x)+}}\nfn main(){a!(Command::new(\"echo\")).status().ok();}",
           "macro_rules! m{($($x:tt)*)=>{use std::process::$($x)*;}}\nm!(Command as Q);\nfn main(){Q::new(\"echo\");}",
           "use std::process as p;\nmacro_rules! m{($($x:tt)*)=>{p::$($x)*}}\nfn main(){m!(Command::new(\"id\"));}",
       })
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_TRUE(judged(Grammar::kRust, text, level).has("rust-start-program", "error")) << text;
  for (const char* text : {
           "macro_rules! m{($($x:tt)*)=>{std::fs::$($x)*}}\nfn main(){m!(remove_dir_all(\"/\")).ok();}",
           "macro_rules! m{($x:ident)=>{std::fs::$x(\"/\")}}\nfn main(){m!(remove_dir_all).ok();}",
       }) {
    auto j = judged(Grammar::kRust, text, VerifyLevel::kStrict);
    EXPECT_TRUE(j.has("rust-open-path", "error")) << text << j.words();
    EXPECT_TRUE(j.has("rust-delete-tree", "error")) << text << j.words();
  }
  for (const char* text : {"macro_rules! m{($x:ident)=>{std::f64::consts::$x}}\nfn main(){println!(\"{}\",m!(PI));}",
                           "macro_rules! v{($($x:expr),*)=>{{let mut a=Vec::new();$(a.push($x);)*a}}}\nfn main(){v![1,2];}"})
    EXPECT_EQ(judged(Grammar::kRust, text, VerifyLevel::kStrict).count("error"), 0) << text;
}

TEST(RustData, VerifierRows) {
  for (const auto& line : rows_of("attacks/verifier.jsonl")) {
    if (json_text(line, "lang") != "rust") continue;
    bool flag = json_text(line, "expect") == "flag";
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_EQ(judged(Grammar::kRust, json_text(line, "code"), level).count("error") > 0, flag) << line;
  }
}

TEST(RustData, HumanEvalIsClean) {
  for (const auto& line : rows_of("humaneval-x/rust.jsonl")) {
    std::string text = json_text(line, "declaration") + json_text(line, "canonical_solution") + json_text(line, "test");
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict}) {
      auto j = judged(Grammar::kRust, text, level);
      EXPECT_TRUE(j.parsed) << text;
      EXPECT_EQ(j.count("error"), 0) << j.words();
    }
  }
}

TEST(RustFacts, UnsafeIsAWarningAndAnErrorUnderStrict) {
  const char* text = "fn main(){ let x = 1; let p = &x as *const i32; unsafe { println!(\"{}\", *p); } }";
  EXPECT_EQ(judged(Grammar::kRust, text, VerifyLevel::kDefault).count("error"), 0);
  EXPECT_TRUE(judged(Grammar::kRust, text, VerifyLevel::kDefault).has("rust-unsafe"));
  EXPECT_GT(judged(Grammar::kRust, text, VerifyLevel::kStrict).count("error"), 0);
}

TEST(RustFacts, ProcMacrosAndBuildScriptsAreNamed) {
  auto build = judged(Grammar::kRust, "fn main(){ println!(\"cargo:rustc-link-arg=-T/x\"); }", VerifyLevel::kStrict);
  EXPECT_TRUE(build.has("rust-build-script"));
  EXPECT_TRUE(judged(Grammar::kRust, "extern crate proc_macro;", VerifyLevel::kStrict).has("rust-proc-macro"));
}

}  // namespace
