// Commands in subscripts: each of these prints "hit" when a bash runs it, and each of the controls does not.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

TEST(BashSubscripts, EveryContextThatComputesRunsThem) {
  for (const char* context : {"((x))",
                              "echo $((x))",
                              "echo $[x]",
                              "(( \"x\" ))",
                              "(( y = x ))",
                              "echo $((1 ? x : 0))",
                              "let x",
                              "let y=x",
                              "for ((i=x;i<0;)); do :; done",
                              "declare -i y=x",
                              "declare -i y; y=x",
                              "typeset -i z; z+=x",
                              "f() { local -i y=$x; }; f",
                              "[[ x -eq 0 ]]",
                              "[[ \"$x\" -eq 0 ]]",
                              "[[ 0 -lt $x ]]",
                              "[[ -v $x ]]",
                              "test -v \"$x\"",
                              "[ -v \"$x\" ]",
                              "printf -v \"$x\" 1",
                              "printf -v\"$x\" 1",
                              "read \"$x\" <<< 1",
                              "a=(1); unset \"$x\"",
                              "b[x]=1",
                              "b[$x]=1",
                              "b=([x]=1)",
                              "b=([$x]=1)",
                              "echo ${b[x]}",
                              "b=(1); echo ${#b[x]}",
                              "v=abc; echo ${v:x}",
                              "v=abc; echo ${v:0:x}",
                              "v=abc; echo ${v:$x:1}",
                              "set -- a b; echo ${@:x}",
                              "true & wait -p \"$x\" -n $!",
                              "true & wait -n -p \"$x\"",
                              "declare \"$x=1\"",
                              "echo ${!x}",
                              "declare -n r=$x; r=1",
                              "RANDOM=$x",
                              "OPTIND=$x",
                              "case $((x)) in *) ;; esac",
                              "cat <<E\n$((x))\nE",
                              "while false; do :; done <<E\n$((x))\nE",
                              "y=x; z=y; ((z))",
                              "declare -n r=x; ((r))",
                              "c[1]=$x; ((c[1]))",
                              "declare -i d; d=(\"$x\")",
                              "declare -i y; read y <<< \"$x\""})
    for (const char* value : {"x='a['; x+='$(echo hit >&2)]'", "p='a['; q='`echo hit >&2`]'; x=$p; x+=$q"}) {
      const std::string script = std::string(value) + "; " + context;
      auto found = judged(script);
      EXPECT_TRUE(found.has("bash-subscript-injection", "error")) << script << "\n" << found.words();
    }
}

TEST(BashSubscripts, TheValueIsFollowedToWhereItIsComputed) {
  for (const char* script : {"f() { (( $1 )); }; f 'a[$(rm -rf /)]'",
                             "f() { [[ $1 -gt 0 ]]; }; f 'a[$(rm -rf /)]'",
                             "f() { let \"$1\"; }; f 'a[$(rm -rf /)]'",
                             "f() { local -i n=$1; }; f 'a[$(rm -rf /)]'",
                             "f() { echo $((n)); }; n='a['; n+='$(rm -rf /)]'; f",
                             "for x in 'a[$(rm -rf /)]'; do ((x)); done",
                             "set -- 'a[$(rm -rf /)]'; (($1))",
                             "echo $(( $(echo 'a[$(rm -rf /)]') ))",
                             "x=$(echo YVskKHJtIC1yZiAvKV0= | base64 -d); ((x))",
                             "x=YVskKHJtIC1yZiAvKV0=; x=$(base64 -d <<< $x); echo $((x+1))",
                             "read -ra arr <<< 'a[$(rm${IFS}-rf${IFS}/)]'; ((arr))",
                             "mapfile -t arr <<< 'a[$(rm -rf /)]'; (( arr[0] ))",
                             "x='a[$(rm -rf /)]' bash -c '((x))'",
                             "env x='a[$(rm -rf /)]' bash -c '((x))'",
                             "x=a; y='[$(rm -rf /)]'; (( $x$y ))",
                             "x='a[$(rm -rf /)]'; if (( x > 1 )); then :; fi",
                             "declare -A m; m[k]='a[$(rm -rf /)]'; (( m[k] ))",
                             "declare -A m=([k]='a[$(rm -rf /)]'); (( m[k] ))",
                             "x[1]='a['; x[1]+='$(rm -rf /)]'; (( x[1] ))",
                             "printf -v x 'a[%s]' '$(rm -rf /)'; (( x ))",
                             "x='b[$(rm -rf /)]'; a[0+x]=1",
                             "x='a[$(rm -rf /)]'; echo ${arr[x]:-1} \"${arr[$x]}\" ",
                             "x='a[$(rm -rf /)]'; echo \"${x:$x}\"",
                             "while (( x )); do :; done; x='a['; x+='`rm -rf /`]'; (( x ))",
                             "test \"$((x))\"; x='a['; x+='`rm -rf /`]'; [ $((x)) -eq 1 ]",
                             "x='a['; x+='`rm -rf /`]'; return $((x))",
                             "x='a['; x+='`rm -rf /`]'; echo > $((x))",
                             "x='a['; x+='`rm -rf /`]'; y=$((x))",
                             "x='a['; x+='`rm -rf /`]'; arr=($((x)))",
                             "x='a['; x+='`rm -rf /`]'; [[ a == b || $x -eq 3 ]]",
                             "x='a['; x+='`rm -rf /`]'; [[ a == b || ( x -ne 3 ) ]]",
                             "x='a['; x+='`rm -rf /`]'; for i in $((x)); do :; done",
                             "x='a['; x+='`rm -rf /`]'; select i in $((x)); do :; done",
                             "x='a['; x+='`rm -rf /`]'; echo \"${y:-$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; : \"${y:=$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; y=1; echo \"${y+$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; y=1; echo \"${y/1/$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; echo \"${unk/1/$((x))}\" \"${unk#$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; echo \"${y?$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; echo \"${y^$((x))}\"",
                             "x='a['; x+='`rm -rf /`]'; echo \"$( (( x )) )\"",
                             "x='a['; x+='`rm -rf /`]'; z=1 cmd $((x))",
                             "x='a['; x+='`rm -rf /`]'; A=$((x)) cmd",
                             "x='a['; x+='`rm -rf /`]'; case a in $((x))) ;; esac",
                             "x='a['; x+='`rm -rf /`]'; echo {1..$((x))}",
                             "x='a['; x+='`rm -rf /`]'; function g { echo $((x)); }; g",
                             "x='a['; x+='`rm -rf /`]'; echo <(echo $((x)))",
                             "x='a['; x+='`rm -rf /`]'; (( y += x++ , 3 ))",
                             "x='a['; x+='`rm -rf /`]'; (( y ? x : 1 ))",
                             "x='a['; x+='`rm -rf /`]'; unset \"b[x]\"",
                             "x='a['; x+='`rm -rf /`]'; read \"b[x]\" <<< 1",
                             "x='a['; x+='`rm -rf /`]'; [[ -v b[x] ]]",
                             "x='a['; x+='`rm -rf /`]'; [[ -v b[$x] ]]",
                             "x='a['; x+='`rm -rf /`]'; printf -v \"b[x]\" 1",
                             "x='a['; x+='`rm -rf /`]'; declare \"b[x]=1\"",
                             "x='a['; x+='`rm -rf /`]'; n='b[x]'; echo ${!n}",
                             "x='a['; x+='`rm -rf /`]'; declare -n n='b[x]'; n=1",
                             "x='a['; x+='`rm -rf /`]'; b+=([x]=1)",
                             "x='a['; x+='`rm -rf /`]'; declare -a b=([x]=1)",
                             "x='a['; x+='`rm -rf /`]'; local -a b=([$x]=1)",
                             "x='a['; x+='`rm -rf /`]'; b[x]+=1",
                             "x='a['; x+='`rm -rf /`]'; shopt -s foo; y=${b[@]:x}",
                             "x='a['; x+='`rm -rf /`]'; y=${b[@]:0:x}; z=${*:x}"}) {
    auto found = judged(script);
    EXPECT_TRUE(found.has("bash-delete-system", "error")) << script << "\n" << found.words();
  }
}

TEST(BashSubscripts, EverySpellingOfTheCommandIsFound) {
  for (const char* value : {"a[$(echo hit >&2)]", "a[`echo hit >&2`]", "a[ $(echo hit >&2)]", "a[y[$(echo hit >&2)]]",
                            "a[${z:-$(echo hit >&2)}]", "a[\"$(echo hit >&2)\"]", "a[0+$(echo hit >&2)0]",
                            "1+a[$(echo hit >&2)]", "a[$((b[$(echo hit >&2)]))]", "a[$[b[$(echo hit >&2)]]]",
                            "a[${z[$(echo hit >&2)]}]", "a[$z$(echo hit >&2)]", "1 + a[ `echo hit >&2` ]"})
    for (const char* context : {"echo $((x))", "[[ x -gt 1 ]]", "let y=x"}) {
      const std::string script = "x='" + std::string(value) + "'; " + context;
      auto found = judged(script);
      EXPECT_TRUE(found.has("bash-subscript-injection", "error")) << script << "\n" << found.words();
    }
  // What stands in it is read, too.
  EXPECT_TRUE(judged("x='a[1'; x+='+b[ `rm -rf /` ]]'; echo $((x))").has("bash-delete-system", "error"));
}

TEST(BashSubscripts, OrdinaryTextsAndArithmeticAreLeftAlone) {
  for (const char* script :
       {"a=(1 2 3); i=1; echo $((a[i] + a[$i])) ${a[i]} ${a[$((i + 1))]}",
        "declare -A m; m[x]=1; k=x; ((m[$k]++)); unset 'm[x]'",
        "declare -A m; for w in a b; do (( m[$w] += 1 )); [[ -v m[$w] ]] && echo $w; done",
        "re='^[$(]'; [[ $1 =~ $re ]]",
        "n=$(wc -l < f); for ((i = 0; i < n; i++)); do echo \"line[$(printf %d \"$i\")]\"; done",
        "echo 'a[$(date)]'; msg='use x [$(date)] here'; echo \"$msg\"", "[[ 'a[$(x)]' == \"$y\" ]]",
        "x='a[\\$(date)]'; echo \"$x\"", "v=abc; echo ${v:0:1} ${v: -1}; read -r -p 'a[$(date)]' y",
        "x=5; y=x; echo $((y * 2)); declare -i z=y; printf -v s '%s' \"${a[0]}\"; [ \"$x\" -eq 5 ]"}) {
    auto found = judged(script);
    EXPECT_FALSE(found.has("bash-subscript-injection", "error")) << script << "\n" << found.words();
    EXPECT_EQ(found.count("error"), 0) << script << "\n" << found.words();
  }
}

}  // namespace
}  // namespace hotcell::bash
