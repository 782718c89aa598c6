// What a script decides and carries: errors under strict, nothing under default.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

void strict_only(const char* rule, std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) {
    EXPECT_TRUE(judged(script, VerifyLevel::kStrict).has(rule, "error"))
        << script << judged(script, VerifyLevel::kStrict).words();
    EXPECT_FALSE(judged(script).has(rule, "error")) << script;
  }
}
void never(const char* rule, std::initializer_list<const char*> scripts) {
  for (const char* script : scripts) EXPECT_FALSE(judged(script, VerifyLevel::kStrict).has(rule)) << script;
}

TEST(BashPeople, AreNotJudgedByWhatTheyAre) {
  strict_only("bash-judged-by",
              {"if [ \"$gender\" == male ]; then echo hire; fi", "[[ $candidate_race == White ]] && s=1",
               "case \"$nationality\" in A) echo y ;; esac", "f() { test \"$1\" -a \"$religion\" = x; }; f",
               "hire() { if [ $age -gt 40 ]; then echo no; fi; }; hire", "echo \"${salary[$gender]}\""});
  never("bash-judged-by",
        {"[ \"$race_time\" -gt 3 ]", "case $colour in red) : ;; esac", "[ $age -gt 40 ] && echo old", "echo $gender"});
}

TEST(BashPeople, SecretsAndPersonalData) {
  strict_only("bash-secret", {"password=hunter22", "DB_TOKEN='abc123def'", "[ \"$password\" = s3cret ] && echo in",
                              "echo $DB_PASSWORD", "read -r password; echo \"got $password\""});
  never("bash-secret", {"password=$(cat f)", "token_file=/tmp/x", "token=", "echo \"password: \""});
  strict_only("bash-personal-data",
              {"ssn=123-45-6789", "echo 'Ann,4111 1111 1111 1111'", "a='12 Elm Street, X'", "p=555-123-4567",
               "declare -A phones=([ann]=555-123-4567)", "a=('Ann 555-123-4567')"});
  never("bash-personal-data", {"date=2024-01-02", "v=1.2.3", "echo 12345", "x='the street'"});
  strict_only("bash-weak-random", {"session_token=$RANDOM", "otp=$((RANDOM % 9000))",
                                   "make_token() { echo $RANDOM; }; make_token", "secret_key=$RANDOM$RANDOM"});
  never("bash-weak-random", {"i=$RANDOM"});
}

TEST(BashPeople, WhatNamesAndMarkupSay) {
  strict_only("bash-declared-harm", {"backdoor_port=3", "steal_cookies() { :; }; steal_cookies", "echo 'malicious'"});
  never("bash-declared-harm", {"haystack=1", "echo hackathon", "shackle=2"});
  strict_only("bash-markup", {"n='<script>alert(1)</script>'", "echo \"<h1>$USER_NAME</h1>\" > i.html"});
  never("bash-markup", {"echo '<h1>x</h1>'", "[ 1 -lt 2 ]"});
  strict_only("bash-computed-input", {"read -r e; echo $(($e))", "read n; echo $((n * 2))"});
  never("bash-computed-input", {"n=3; echo $((n * 2))", "echo $(($1 + 1))"});
  strict_only("bash-shadowed-command", {"cat() { echo nothing; }"});
  never("bash-shadowed-command", {"show() { echo nothing; }"});
  strict_only("bash-tests-outside", {"if [ -f /app/data.txt ]; then echo no; fi"});
  never("bash-tests-outside", {"[ -f data.txt ]", "[ -d /tmp/x ]"});
  strict_only("bash-hidden-file", {"echo x > .hidden", "mkdir -p a/.b/c"});
  never("bash-hidden-file", {"echo x > ./a.txt", "echo x > ../b"});
}

}  // namespace
}  // namespace hotcell::bash
