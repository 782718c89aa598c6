// What a door asks for becomes a policy: which profile, and which limits a language's runtime may raise.
#include "manager/job.h"

#include <gtest/gtest.h>

#include <functional>

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

// The same at every door: what could not be started is a mistake of the request, and is told before anything runs.
TEST(MakeJob, FilesArgumentsAndVariablesThatCannotBeAreRefused) {
  auto why = [](const std::function<void(JobSpec&)>& change) {
    JobSpec spec;
    spec.argv = {"true"};
    change(spec);
    auto job = make_job(std::move(spec), rules());
    if (job.ok()) return std::string();
    EXPECT_EQ(job.error().code, ErrorCode::kInvalid);
    return job.error().message;
  };
  auto files = [&](std::vector<std::string> names) {
    return why([&](JobSpec& s) {
      for (auto& name : names) s.files.push_back({std::move(name), "x", false});
    });
  };
  EXPECT_EQ(files({"a", "b/c", ".gitignore", "con"}), "");
  for (const char* name : {"../x", "/x", "a//b", ".", "", "a\nb"}) EXPECT_NE(files({name}), "") << name;
  for (const char* name : {".git/config", "a/.GIT/x", ".hotcell", ".git /x"}) EXPECT_NE(files({name}).find("is a protected name"), std::string::npos) << name;
  EXPECT_EQ(files({"a", "a"}), "files: \"a\" is there twice");
  EXPECT_EQ(files({"a", "a/b"}), "files: \"a\" cannot be a file and a folder");
  std::vector<std::string> many;
  for (int i = 0; i <= 1000; ++i) many.push_back(cat("f", i));
  EXPECT_EQ(files(many), "files has more than 1000 entries");
  EXPECT_EQ(why([](JobSpec& s) { s.argv.emplace_back(127u << 10, 'a'); }), "");
  EXPECT_EQ(why([](JobSpec& s) { s.argv.emplace_back(128u << 10, 'a'); }), "args: too long; put the data into stdin or files");
  EXPECT_EQ(why([](JobSpec& s) { s.argv.resize(12, std::string(100u << 10, 'a')); }), "args: too long; put the data into stdin or files");
  EXPECT_EQ(why([](JobSpec& s) { s.env["A"] = std::string(128u << 10, 'a'); }), "env: too long");
  EXPECT_EQ(why([](JobSpec& s) { for (int i = 0; i <= 1000; ++i) s.env[cat("V", i)] = "x"; }), "env: more than 1000 variables");
}

TEST(MakeJob, ANetworkThatNothingWouldHoldIsRefusedBeforeAnythingRuns) {
  JobRules r = rules();
  r.proxy = r.strong = true;
  auto ask = [&](const char* tier) {
    JobSpec spec;
    spec.argv = {"true"};
    spec.network = true;
    spec.tier = tier;
    return make_job(std::move(spec), r);
  };
  EXPECT_TRUE(ask("light").ok());
  r.no_proxy_reason = "no walls";
  auto job = ask("light");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(job.error().message, "network: not supported on this platform: no walls");
  EXPECT_TRUE(ask("strong").ok()) << "its walls are another tool's";
}

TEST(MakeJob, TheTimeOfAProfileHoldsWhereTheRequestHasNone) {
  using namespace std::chrono_literals;
  auto wall = [](const char* profile, std::optional<Nanoseconds> asked = {}, const char* language = "") {
    JobSpec spec;
    if (*language == '\0') spec.argv = {"true"};
    else spec.language = language, spec.code = "x";
    spec.profile = profile;
    spec.timeout = asked;
    auto job = make_job(std::move(spec), rules());
    EXPECT_TRUE(job.ok()) << job.error().message;
    return job.ok() ? job.value().request.wall : Nanoseconds(0);
  };
  EXPECT_EQ(wall(""), 5min) << "the server's";
  EXPECT_EQ(wall("default"), 5min);
  EXPECT_EQ(wall("strict"), 10s) << "a preset";
  EXPECT_EQ(wall("java-strict", {}, "java"), load_profile("java-strict", rules().profiles).value().limits.wall) << "what extends one";
  EXPECT_EQ(wall("minimal", {}, "python"), 30s) << "a file";
  EXPECT_EQ(wall("ci"), 5min) << "10m, but for the server's maximum";
  EXPECT_EQ(wall("strict", 2s), 2s);
  EXPECT_EQ(wall("strict", 20s), 20s) << "as --timeout does";
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
