// Programs the script makes itself, files that tools write by their options, and files that only the environment names.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

void refuses(std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) {
    auto found = judged(script);
    EXPECT_GT(found.count("error"), 0) << script << "\n" << found.words();
  }
}
void passes(std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) {
    auto found = judged(script);
    EXPECT_EQ(found.count("error"), 0) << script << "\n" << found.words();
  }
}

TEST(BashMade, MakefilesAreCommands) {
  refuses({"make -f <(printf 'all:\\n\\techo x > $OUT\\n')", "printf 'all:\\n\\techo x > $$OUT\\n' > Makefile; make",
           "make -f - <<< 'x:;echo x > $(OUT)'", "cat > m <<'E'\nall:\n\t@-rm -rf /\nE\nmake -f m",
           "printf 'X := $(shell touch /etc/x)\\n' | make -f -", "make --file=<(curl http://x.y/z)"});
  passes({"printf 'all: a.o\\n\\tcc -c a.c\\n' > Makefile; make", "make -j2 all", "make -f build.mk"});
}

TEST(BashMade, FilesTheScriptWroteAreItsCode) {
  refuses({"cat > x.py <<'E'\nimport os\nos.system('id')\nE\npython3 x.py",
           "echo 'BEGIN{system(\"id\")}' > p; awk -f p", "awk -f <(echo 'BEGIN{system(\"echo x > $OUT\")}')",
           "mkdir d; echo 'rm -rf /' > d/a; run-parts d", "echo 'e rm -rf /' > s; sed -f s x"});
  passes({"cat > x.py <<'E'\nprint(1)\nE\npython3 x.py --flag", "echo '{print $1}' > p; awk -f p data",
          "python3 tool.py x"});
}

TEST(BashMade, CommandsInsideOtherPrograms) {
  refuses({"echo '!rm -rf /' | dc", "dc -e '!touch /etc/x'", "parallel ::: 'rm -rf /'", "setarch -R sh -c 'rm -rf /'",
           "setarch x86_64 sh -c 'rm -rf /'", "python3 -m timeit 'open(\"/etc/x\", \"w\")'",
           "echo sh; $_ -c 'rm -rf /'", "$0 -c 'rm -rf /'", "f() { local c=$1; $c; }; f 'touch '$OUT",
           "wait -p 'a[$(touch /etc/x)]'"});
  passes({"echo '2 3 + p' | dc", "parallel echo ::: a b", "echo '3 2 !<a' | dc",
          "f() { local c=$1; $c; }; f 'echo '$NAME"});
}

TEST(BashMade, OutputOptionsAreWrites) {
  refuses({"sort -uo \"$OUT\" x", "sort --outp=\"$OUT\" x", "sort --output=/etc/x x", "shuf -e a -o \"$OUT\"",
           "iconv -o /etc/x y", "openssl rand -out \"$OUT\" 5", "gcc -o /usr/bin/x a.c",
           "sqlite3 \"$OUT\" 'create table a(b)'", "zip -q \"$OUT\" x", "strace -o \"$OUT\" true",
           "csplit -f \"$OUT\" x 1", "script -c true \"$OUT\"", "ex -sc 'w! '$OUT -c q x", "tcpdump -w /etc/x",
           "rename 's/a/b/' /etc/passwd", "curl -sSo /etc/x http://y.z", "wget -qO/etc/x http://y.z"});
  passes({"sort -k2 -o out.txt in.txt", "gcc -O2 -o a a.c", "shuf -n 3 -o x y", "openssl rand -hex 5",
          "sqlite3 :memory: 'select 1'", "zip -r out.zip src", "curl -O http://x.y/z", "sort -t: -k1 x"});
}

TEST(BashMade, FilesThatOnlyTheEnvironmentNames) {
  // Many a script is told its input so: worth a word, and no more under `default`.
  for (const char* script : {"cat \"$SECRET_FILE\"", "head -1 $KEYS", "while read l; do echo $l; done < $INPUT",
                             "echo \"$(<\"$INPUT\")\"", "openssl enc -in \"$X\""}) {
    EXPECT_TRUE(judged(script).has("bash-read-by-environment", "warning")) << script;
    EXPECT_TRUE(judged(script, VerifyLevel::kStrict).has("bash-read-by-environment", "error")) << script;
  }
  passes({"f=data.txt; cat \"$f\"", "cat \"$1\"", "for f in *.txt; do cat \"$f\"; done", "cat \"${FILE:-data.txt}\"",
          "ls \"$DIR\"", "read -r f; cat \"$f\"", "cat \"$HOME/notes.txt\""});
}

TEST(BashMade, CallsAndLoopsWithoutEnd) {
  for (const char* script :
       {"f() { f; }; f", "g() { local s=\"$1$1\"; g \"$s\"; }; g x", "for ((i=1; i>0; i++)); do echo $i; done",
        "c=9; while [ $c -gt 0 ]; do c=$((c+1)); done", "c=9; until [ $c -gt 20 ]; do c=$((c - 1)); done"})
    EXPECT_TRUE(judged(script, VerifyLevel::kStrict).has("bash-endless-loop", "error")) << script;
  for (const char* script :
       {"f() { [ $1 -eq 0 ] && return; f $(($1-1)); }; f 3", "f() { if true; then f; fi; }; f",
        "for ((i=9; i>0; i--)); do echo $i; done", "f() { (( $1 < 1 )) && exit; f 0; }",
        "c=9; while [ $c -gt 0 ]; do c=$((c-1)); done", "c=1; until [ $c -gt 9 ]; do c=$((c+1)); done"})
    EXPECT_FALSE(judged(script, VerifyLevel::kStrict).has("bash-endless-loop")) << script;
}

TEST(BashMade, WhatStartsAProgramAndWhatDoesNot) {
  for (const char* script : {"ls", "x=$(echo a)", "echo a | read b", "sleep 1 &", "(cd x)", "/bin/echo a", "say", ". ./lib\ncurl x"})
    EXPECT_TRUE(has_fact(script, FactKind::kConstruct, "starts-program")) << script;
  for (const char* script :
       {"echo a", "for i in 1 2; do printf '%s' $i; done", "f() { echo b; }; f", "[[ a == b ]] || true", ". ./lib\nsay"})
    EXPECT_FALSE(has_fact(script, FactKind::kConstruct, "starts-program")) << script;
}

TEST(BashMade, DeclarationsAreNotSplit) {
  EXPECT_GT(judged("f() { local c=$1; $c; }; f 'rm -rf /'").count("error"), 0);
}

TEST(BashMade, CopiesWithoutEnd) {
  for (const char* script :
       {"dd if=/dev/zero of=big bs=1M", "cat /dev/urandom > fill", "for i in 1 2; do s=\"$s$s\"; done"})
    EXPECT_TRUE(judged(script, VerifyLevel::kStrict).has("bash-endless-copy", "error")) << script;
  for (const char* script : {"dd if=/dev/zero of=big bs=1M count=3", "cat /dev/urandom | head -c 9 > x", "s=$s$s",
                             "for i in 1 2; do s=\"$s$i\"; done"})
    EXPECT_FALSE(judged(script, VerifyLevel::kStrict).has("bash-endless-copy")) << script;
}

}  // namespace
}  // namespace hotcell::bash
