// Builtins that run texts: completion, the history, descriptors read as code, handlers. Each was first run in bash 5.2.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

TEST(BashBuiltins, WhatTheyRunIsRead) {
  for (const char* script : {"compgen -W '$(rm -rf /)'",
                             "compgen -W '`rm -rf /`' -- x",
                             "compgen -W'$(rm -rf /)'",
                             "compgen -aW '$(rm -rf /)'",
                             "complete -W '$(rm -rf /)' ls",
                             "f() { rm -rf /; }; compgen -F f x",
                             "compgen -C'rm -rf /' x",
                             "complete -C 'rm -rf /' ls",
                             "history -s 'rm -rf /'; fc -s",
                             "history -s rm -rf /; fc -e -",
                             "fc -e 'rm -rf /' -1",
                             "jobs -x rm -rf /",
                             "exec 3<<< 'rm -rf /'; source /dev/fd/3",
                             "exec 3<<< 'rm -rf /'; bash /dev/fd/3",
                             "exec 3<<< 'rm -rf /'; . /proc/self/fd/3",
                             "bash /proc/$$/fd/3 3<<< 'rm -rf /'",
                             "source /dev/fd/3 3<<< 'rm -rf /'",
                             "exec {fd}<<< 'rm -rf /'; source /dev/fd/$fd",
                             "exec {fd}< <(echo 'rm -rf /'); bash /dev/fd/$fd",
                             "exec 3<<< 'rm -rf /'; bash <&3",
                             "exec 3<<< 'rm -rf /'; exec 4<&3; bash <&4",
                             "exec <<< 'rm -rf /'; bash",
                             "bash /dev/fd/3 3<<X\nrm -rf /\nX",
                             "{ source /dev/fd/3; } 3<<< 'rm -rf /'",
                             "exec 3<<< 'rm -rf /'; read -u 3 c; eval \"$c\"",
                             "exec 3<<< 'rm -rf /'; read -r c <&3; $c",
                             "trap -- 'rm -rf /' EXIT",
                             "PROMPT_COMMAND=('rm -rf /')",
                             "PROMPT_COMMAND+=('rm -rf /')",
                             "declare -a PROMPT_COMMAND=('rm -rf /')",
                             "mapfile -C'rm -rf /;:' -c1 x <<< a",
                             "mapfile -tC 'rm -rf /' -c1 x <<< a",
                             "bind -x'\"\\C-a\": rm -rf /'",
                             "printf -v PS4 '%s' '$(rm -rf /)'; set -x",
                             "read PS4 <<< '$(rm -rf /)'; set -x",
                             "command_not_found_handle() { \"${@:2}\"; }; nosuch rm -rf /",
                             "command_not_found_handle() { eval \"$*\"; }; 'rm -rf /'",
                             "f() { \"${@:2:3}\"; }; f x rm -rf /",
                             "a=(x rm -rf /); \"${a[@]:1}\""}) {
    auto found = judged(script);
    EXPECT_TRUE(found.has("bash-delete-system", "error")) << script << "\n" << found.words();
  }
}

TEST(BashBuiltins, CodeThatCannotBeReadIsSaid) {
  for (const char* script :
       {"fc -s", "fc -s ls=rm", "exec 3< <(curl x); bash <&3", "bash /dev/fd/3 3< <(curl x)", ". /dev/fd/9",
        "exec 3< <(curl x); source /dev/fd/3", "trap \"$X\" EXIT", "trap \"$(curl x)\" EXIT", "enable -f./x.so x",
        "enable -nf ./x.so x", "coproc bash; echo 'rm -rf /' >&${COPROC[1]}",
        "coproc X { bash; }; echo ls >&\"${X[1]}\"", "exec 3<<< \"import os; os.system('x')\"; python3 /dev/fd/3"}) {
    auto found = judged(script);
    EXPECT_GT(found.count("error"), 0) << script << "\n" << found.words();
  }
}

TEST(BashBuiltins, ADescriptorOfItselfEnds) {
  EXPECT_GT(judged("exec 3< /dev/fd/3; source /dev/fd/3").count("error"), 0);
  EXPECT_TRUE(judged("exec 3<<< 'rm -rf /'; exec 4< /dev/fd/3; source /dev/fd/4").has("bash-delete-system", "error"));
}

TEST(BashBuiltins, EverydayUsesAreLeftAlone) {
  for (const char* script :
       {"compgen -W \"a $(ls)\"; compgen -W \"$opts\" -- \"$cur\"; complete -o default -F _f ls",
        "_c() { COMPREPLY=($(compgen -W \"start stop status\" -- \"$cur\")); }; complete -F _c svc",
        "compgen -W '$(ls | cut -d: -f1)' -- \"$cur\"; compgen -W '`make -qp | head`'", "fc -l; fc -ln -1; jobs -l; trap - EXIT; trap '' INT; trap -p; enable -n echo; enable",
        "exec 3< data.txt; while read -r l <&3; do echo \"$l\"; done; exec 3<&-",
        "exec {fd}< data.txt; cat <&$fd; exec {fd}<&-",
        "coproc cat; echo hi >&\"${COPROC[1]}\"; read -r l <&\"${COPROC[0]}\"",
        "command_not_found_handle() { echo \"no $1\" >&2; return 127; }; tool --version",
        "exec < data.txt; read -r a; read -r b; echo \"$a $b\"; [ \"$a\" = x ] && exit 1",
        "trap \"rm -f $tmp\" EXIT; trap 'kill $pid' TERM; t=$(mktemp); trap \"rm -f $t\" EXIT",
        "mapfile -t a < <(ls); mapfile -u 3 -t b 3< f; read -ru 3 line 3< f; echo \"${a[0]}$line\"",
        "diff /dev/fd/3 /dev/fd/4 3< a 4< b; exec 9> lock; flock -n 9 || exit 1", "exec 3< x.sh; source /dev/fd/3",
        "log() { echo \"${@:2}\" \"${*:1:1}\"; }; log a b c; x=(1 2 3); echo \"${x[@]:1}\" \"${x[@]: -1}\""}) {
    auto found = judged(script);
    EXPECT_EQ(found.count("error"), 0) << script << "\n" << found.words();
  }
}

}  // namespace
}  // namespace hotcell::bash
