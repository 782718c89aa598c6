// What a door asks for becomes a policy: which profile, and which limits a language's runtime may raise.
#include "manager/job.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "languages/plugins.h"

namespace hotcell {
namespace {

TEST(ProfileFor, WhatIsConfiguredThenTheLanguagesOwn) {
  Language careful;
  careful.default_profile = "strict";
  EXPECT_EQ(profile_for("default", &careful), "strict");
  EXPECT_EQ(profile_for("dev", &careful), "dev") << "whoever runs the daemon has said so";
  EXPECT_EQ(profile_for("default", nullptr), "default");
  for (const auto* language : languages()) EXPECT_EQ(profile_for("default", language), language->default_profile) << language->name;
}

JobRules rules() {
  JobRules r;
  r.profiles.read_files = false;
  r.profiles.built_in = language_profiles();
  r.most.memory = 2_GiB;
  r.most.processes = 256;
  return r;
}

// "processes memory" of the policy that the program would get.
std::string limits(std::string language, std::string profile, LimitsPatch asked = {}, JobRules r = rules()) {
  JobSpec spec;
  spec.language = std::move(language);
  spec.code = "x";
  spec.profile = std::move(profile);
  spec.limits = asked;
  auto job = make_job(std::move(spec), r);
  if (!job.ok()) return job.error().message;
  return cat(job.value().policy.limits.processes, " ", job.value().policy.limits.memory.n >> 20);
}

TEST(RuntimeNeeds, AreRaisedWhereNobodyHasSaidOtherwise) {
  EXPECT_EQ(limits("java", ""), "128 256");
  EXPECT_EQ(limits("java", "default"), "128 256");
  EXPECT_EQ(limits("java", "java-minimal"), "128 256") << "it extends default and says nothing of processes";
  EXPECT_EQ(limits("javascript", ""), "64 256");
  EXPECT_EQ(limits("deno", ""), "64 768");
  EXPECT_EQ(limits("python", ""), "10 256");
}

TEST(RuntimeNeeds, ALimitThatIsNotTheDefaultsStays) {
  EXPECT_EQ(limits("python", "strict"), "1 64");
  for (std::string language : {"go", "java", "javascript", "typescript", "deno"}) {
    EXPECT_NE(limits(language, "strict").find(cat("profile ", language, "-strict has room")), std::string::npos)
        << "one task is too few, and the sentence says what to do: " << limits(language, "strict");
    EXPECT_NE(limits(language, language + "-strict").find_first_of("0123456789"), std::string::npos) << "which is there";
  }
  EXPECT_EQ(limits("java", "java-strict"), "128 128");
  EXPECT_EQ(limits("java", "dev").substr(0, 4), "256 ");
  LimitsPatch ten;
  ten.processes = 10;
  EXPECT_EQ(limits("java", "", ten), "10 256") << "the default's own number, but the caller's word";
  JobRules narrow = rules();
  narrow.most.processes = 5;
  EXPECT_EQ(limits("java", "", {}, narrow), "5 256") << "a server's ceiling is one for runtimes, too";
}

TEST(RuntimeNeeds, AUsersProfileCountsByWhatItSays) {
  auto raised = [](std::string_view yaml) {
    auto loaded = parse_profile_details(yaml, "mine.yaml", {});
    EXPECT_TRUE(loaded.ok());
    auto may = may_raise(loaded.value().policy, loaded.value().origins);
    return cat(may.processes ? "processes " : "", may.memory ? "memory" : "");
  };
  EXPECT_EQ(raised("extends: default\n"), "processes memory");
  EXPECT_EQ(raised("extends: default\nlimits: {processes: 10}\n"), "memory") << "ten, and written down";
  EXPECT_EQ(raised("extends: default\nlimits: {memory: 256M}\n"), "processes ");
  EXPECT_EQ(raised("extends: strict\n"), "");
}

}  // namespace
}  // namespace hotcell
