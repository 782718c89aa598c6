// Scripts as people write them: nothing here is an error under the default level.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

const char* const kScripts[] = {
    "rm -rf /tmp/x",
    "find /tmp -name 'build-*' -mtime +1 -delete",
    "mount | grep work\ndmesg | tail -5\nsysctl -n kernel.ostype\nswapon -s\nfdisk -l",
    "systemctl status nginx\nsystemctl is-active nginx && echo up\nservice ssh status",
    "crontab -l | grep backup\niptables -L -n\nnft list ruleset\nlxc list",
    "docker ps -a --format '{{.Names}}'\ndocker logs web | tail\nkubectl get pods -n web\ndocker --version\nchroot --help",
    "rm -rf build",
    "echo mkfs",
    "echo \"rm -rf /\"",
    "# rm -rf /\necho ok",
    "cat <<'X'\nrm -rf /\ncurl x | sh\nX",
    "evaluate=1; echo $evaluate",
    "find . -name '*.o' -delete",
    "printf '%s\\n' 'sudo reboot'",
    "# curl http://example.com | sh\necho ok",
    "grep -r 'eval(' src | wc -l",
    "x='> /dev/sda'; echo \"$x\"",
    "set -euo pipefail\ncd \"$(dirname \"$0\")\"\nmkdir -p build\ncmake -S . -B build\ncmake --build build "
    "-j\"$(nproc)\"\n",
    "tmp=$(mktemp -d)\ntrap 'rm -rf \"$tmp\"' EXIT\ncp input.txt \"$tmp/\"\nsort \"$tmp/input.txt\" > sorted.txt\n",
    "while getopts 'ab:c' o; do\n case $o in\n a) all=1 ;;\n b) name=$OPTARG ;;\n *) echo usage >&2; exit 1 ;;\n "
    "esac\ndone\nshift $((OPTIND - 1))\necho \"${name:-none} ${all:-0} $*\"\n",
    "files=(*.txt)\nfor f in \"${files[@]}\"; do\n  echo \"${f%.txt}\"\ndone\necho \"${#files[@]} files\"\n",
    "declare -A count\nwhile read -r w; do\n  ((count[$w]++))\ndone < words.txt\nfor w in \"${!count[@]}\"; do echo "
    "\"$w ${count[$w]}\"; done\n",
    "awk -F, '{ s += $2 } END { print s / NR }' data.csv",
    "awk '$3 > 10 { print $1, $2 }' table.txt | sort -k2 -n | head -5",
    "sed -e 's/foo/bar/g' -e '/^#/d' in.txt > out.txt",
    "sed -i 's/1.0/1.1/' version.txt",
    "tar czf dist.tar.gz --exclude=.git src README.md",
    "tar -xzf a.tar.gz -C build",
    "git status --short\ngit diff --stat\ngit log --oneline | head -3",
    "git add -A && git commit -m 'Update docs'",
    "log() { printf '[%s] %s\\n' \"$(date +%T)\" \"$*\" >&2; }\nlog start\nsleep 1\nlog done\n",
    "fact() { local n=$1; if (( n <= 1 )); then echo 1; else echo $(( n * $(fact $((n - 1))) )); fi; }\nfact 5\n",
    "fib() { local a=0 b=1 i; for ((i = 0; i < $1; i++)); do echo -n \"$a \"; local t=$((a + b)); a=$b; b=$t; done; "
    "echo; }\nfib 10\n",
    "case \"$(uname -s)\" in\n Linux*) os=linux ;;\n Darwin*) os=mac ;;\n *) os=other ;;\nesac\necho $os\n",
    "cat > config.ini <<EOF\n[main]\nuser=$USER\ndate=$(date)\nEOF\n",
    "if command -v python3 >/dev/null 2>&1; then python3 script.py; else echo missing; fi",
    "for i in {1..5}; do echo \"line $i\"; done | tee lines.txt | wc -l",
    "seq 1 10 | paste -sd+ | bc",
    "diff <(sort a.txt) <(sort b.txt) || true",
    "IFS=: read -r a b c <<< \"x:y:z\"; echo \"$b\"",
    "x=5; until [ $x -eq 0 ]; do x=$((x - 1)); done; echo $x",
    "find . -type f -name '*.sh' -exec chmod +x {} \\;",
    "find src -name '*.cc' -print0 | xargs -0 wc -l | tail -1",
    "ls -la | awk '{print $5}' | sort -n | tail -1",
    "make clean && make -j4 all && make test",
    "npm_config_loglevel=error node build.js --prod",
    "export CFLAGS='-O2 -g'\n./configure --prefix=\"$PWD/out\"\nmake install\n",
    "python3 -m venv venv\n. venv/bin/activate\npython -m pytest -q\n",
    "gcc -Wall -o hello hello.c && ./hello",
    "echo \"Enter:\"; read -r name; echo \"Hello $name\"",
    "mapfile -t lines < input.txt; echo \"${lines[0]}\"",
    "max=0; for n in 3 9 2; do [ \"$n\" -gt \"$max\" ] && max=$n; done; echo $max",
    "str='hello world'; echo \"${str^^} ${str:0:5} ${str// /_} ${#str}\"",
    "run() { echo \"+ $*\"; \"$@\"; }\nrun ls -l\nrun echo done\n",
    "retry() { local n=0; until \"$@\"; do n=$((n+1)); [ $n -ge 3 ] && return 1; sleep 1; done; }\nretry true\n",
    "exec 3> out.log; echo hi >&3; exec 3>&-",
    "{ echo a; echo b; } > both.txt 2>&1",
    "(cd sub && make) || exit 1",
    "jq -r '.items[] | .name' data.json",
    "cut -d: -f1 < list.txt | uniq -c",
    "wait_for() { while ! [ -f \"$1\" ]; do sleep 0.1; done; }\ntouch ready; wait_for ready\n",
    "sleep 1 & pid=$!; kill $pid; wait $pid 2>/dev/null",
    "arr=(5 3 8); IFS=$'\\n' sorted=($(sort -n <<<\"${arr[*]}\")); echo \"${sorted[0]}\"",
    "#!/bin/sh\nset -e\nfor t in tests/*.sh; do\n  sh \"$t\" && echo \"ok $t\"\ndone\n",
    "[[ $1 =~ ^[0-9]+$ ]] && echo number || echo text",
    "printf '%05d\\n' 42; printf '%x\\n' 255",
    "trap 'echo interrupted; exit 130' INT TERM",
    "python3 -c 'print(1 + 1)'",
    "echo '{\"a\": 1}' | python3 -m json.tool",
    "base64 -d < data.b64 > data.bin",
    "echo hello | base64 | tr -d '\\n'",
    "PATH=\"$PATH:$PWD/bin\"; tool --version",
    "test -d out || mkdir out; cp -r assets out/",
    "date +%s > .stamp; [ .stamp -nt other ] && echo newer",
    "select x in a b; do echo $x; break; done < /dev/null",
    "OUT=${1:-out.txt}; echo hi > \"$OUT\"",
    "out=$(mktemp); echo x > \"$out\"; rm -f \"$out\"",
    "dir=$1; mkdir -p \"$dir\" && echo x > \"$dir/file\"",
    "while true; do read -r l || break; echo \"$l\"; done < f",
    "dd if=/dev/zero of=blob bs=1k count=4 2>/dev/null",
    "head -c 16 /dev/urandom | od -An -tx1",
    "echo {a,b}{1,2}; echo ${x:-{}}",
    "ulimit -n 256; umask 022",
    "function usage() { cat <<-EOF\n\tusage: x\n\tEOF\n}\nusage\n",
};

TEST(BashBenign, NoErrorUnderDefault) {
  int warned = 0;
  for (const char* script : kScripts) {
    auto found = judged(script);
    EXPECT_EQ(found.count("error"), 0) << script << "\n" << found.words();
    warned += found.count("warning") > 0 ? 1 : 0;
  }
  EXPECT_GE(std::size(kScripts), 50U);
  EXPECT_LE(warned, 8);
}

TEST(BashBenign, TextIsNotCode) {
  for (const char* script : {"echo mkfs", "echo \"rm -rf /\"", "# sudo rm -rf /", "evaluate=1",
                             "cat <<'X'\nsudo reboot\nX", "rm -rf /tmp/x", "rm -rf build", "printf 'curl x | sh'"}) {
    auto found = judged(script);
    EXPECT_TRUE(found.count("error") == 0 && found.count("warning") == 0) << script << "\n" << found.words();
  }
}

}  // namespace
}  // namespace hotcell::bash
