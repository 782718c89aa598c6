#include "core/policy/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/profile.h"
#include "core/policy/suggest.h"

namespace hotcell {
namespace {

std::string problem(const std::function<void(Policy&)>& change) {
  Policy p = default_policy();
  change(p);
  auto result = validate(p);
  return result.ok() ? "" : result.error().message;
}

// What flags and library callers can put into a Policy without any parser in between.
TEST(Validate, ValuesNoParserLooksAt) {
  EXPECT_EQ(problem([](Policy&) {}), "");
  EXPECT_NE(problem([](Policy& p) { p.limits.memory = {}; }).find("limits.memory"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.disk.n = UINT64_MAX; }).find("limits.disk"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.wall = Nanoseconds(0); }).find("every run has a wall limit"),
            std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.wall = Nanoseconds(-1); }).find("limits.wall"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.wall = Nanoseconds::max(); }).find("limits.wall: is too long"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.cpu_time = Nanoseconds::max(); }).find("limits.cpu_time: is too long"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.limits.cpu_time = Nanoseconds(0); }).find("limits.cpu_time"), std::string::npos);
  for (double cpus : {-1.0, 0.001, 1e9, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_NE(problem([&](Policy& p) { p.limits.cpus = cpus; }).find("limits.cpus"), std::string::npos) << cpus;
  EXPECT_NE(problem([](Policy& p) { p.limits.processes = 0; }).find("limits.processes"), std::string::npos);
  for (std::uint32_t few : {0u, 3u})
    EXPECT_NE(problem([&](Policy& p) { p.limits.open_files = few; }).find("is out of range; 4 to "), std::string::npos) << few;
  EXPECT_NE(problem([](Policy& p) { p.limits.address_space = Bytes{0}; }).find("limits.address_space"),
            std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.uid = 0; }).find("user.uid"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.gid = UINT32_MAX; }).find("user.gid"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.syscalls.base = "none"; }).find("syscalls.base"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.syscalls.oci_file = "a\nb"; }).find("syscalls.file"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.env.set[""] = "x"; }).find("env.set"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.env.pass = {std::string("A\0", 2)}; }).find("env.pass"), std::string::npos);
  EXPECT_NE(problem([](Policy& p) { p.name = "a/b"; }).find("name"), std::string::npos);
}

TEST(Validate, GrantsAndDenialsNameTheirOrigins) {
  Policy p = default_policy();
  p.filesystem.grants = {{"/a", Access::kWrite, "--write"}};
  p.filesystem.deny = {{"/a", "--deny"}};
  EXPECT_EQ(validate(p).error().message,
            "--write: filesystem.write: \"/a\" is granted here and denied in --deny; it can only be one");
  p.filesystem.deny = {{"/a/b", "--deny"}, {"**/.env", ""}, {"*.key", ""}};
  EXPECT_TRUE(validate(p).ok()) << "hiding a part of what is granted is what deny is for";
  p.filesystem.grants = {{"/a\xff", Access::kRead, ""}};
  EXPECT_TRUE(validate(p).ok()) << "names on disk need not be UTF-8";
  p.filesystem.grants = {{"/" + std::string(4095, 'a'), Access::kRead, ""}};
  EXPECT_FALSE(validate(p).ok());
}

TEST(Validate, Paths) {
  for (auto path : {"/", "/a", "/a/b.c", "/a/..b", "/...", "/a b"}) EXPECT_EQ(path_problem(path), "") << path;
  for (auto path : {"", "a", "./a", "/a/", "//", "//a", "/a//b", "/./a", "/a/.", "/..", "/a/../b", "~", "/a\n"})
    EXPECT_NE(path_problem(path), "") << path;
}

TEST(Env, TheLoadersFamiliesAreDangerousAsAWhole) {
  for (auto name : {"LD_PRELOAD",
                    "LD_LIBRARY_PATH",
                    "LD_DEBUG",
                    "LD_AUDIT",
                    "LD_ANYTHING_NEW",
                    "DYLD_INSERT_LIBRARIES",
                    "DYLD_FRAMEWORK_PATH",
                    "PATH",
                    "PYTHONPATH",
                    "PYTHONHOME",
                    "NODE_OPTIONS",
                    "NODE_PATH",
                    "GOROOT",
                    "GOPATH",
                    "RUSTFLAGS",
                    "CARGO_HOME",
                    "RUBYLIB",
                    "PERL5LIB",
                    "BASH_ENV",
                    "JAVA_TOOL_OPTIONS",
                    "GLIBC_TUNABLES"})
    EXPECT_TRUE(is_dangerous_env(name)) << name;
  for (auto name : {"TERM", "LANG", "HOME", "MY_PATH", "OLD_X", "ld_preload"})
    EXPECT_FALSE(is_dangerous_env(name)) << name;
}

TEST(Env, DangerousNamesAreHonouredByExactNameAndReported) {
  Policy p = default_policy();
  EXPECT_TRUE(env_warnings(p).empty());
  p.env.pass = {"LD_PRELOAD", "TERM"};
  p.env.set = {{"PYTHONPATH", "/x"}, {"MODE", "1"}};
  EXPECT_TRUE(validate(p).ok());
  auto list = env_warnings(p);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_NE(list[0].find("LD_PRELOAD"), std::string::npos);
  EXPECT_NE(list[1].find("PYTHONPATH"), std::string::npos);
}

TEST(Warnings, TheDefaultAndStrictHaveNone) {
  EXPECT_EQ(warnings(default_policy()), std::vector<std::string>{});
  EXPECT_EQ(warnings(strict_policy()), std::vector<std::string>{});
}

TEST(Warnings, BroadGrantsAreNamedWithTheirOrigin) {
  for (auto path : {"/", "/root", "/home", "/home/alice", "/etc", "/run", "/run/user/1000", "/var/run",
                    "/var/run/docker.sock", "/x/agent.sock", "/proc", "/sys", "/dev/kvm"}) {
    Policy p = default_policy();
    p.filesystem.grants = {{path, Access::kRead, "team.yaml:3"}};
    auto list = warnings(p);
    ASSERT_EQ(list.size(), 1U) << path;
    EXPECT_TRUE(list[0].starts_with(cat("team.yaml:3: filesystem.read: ", path, " is broad"))) << list[0];
  }
  for (auto path : {"/home/alice/project", "/etc/ssl/certs", "/data", "/runner", "/srv/www"}) {
    Policy p = default_policy();
    p.filesystem.grants = {{path, Access::kRead, ""}};
    EXPECT_TRUE(warnings(p).empty()) << path;
  }
}

TEST(Warnings, RaisedLimitsAndOpenedWallsAreNamedWithTheirLine) {
  ProfileSearch search;
  search.read_files = false;
  auto loaded = parse_profile_details(R"(extends: strict
limits:
  memory: 1G
network:
  mode: host
syscalls:
  allow:
    - ptrace
    - mprotect
audit: {mode: {landlock: observe}}
env:
  pass: [LD_PRELOAD]
filesystem:
  read: [/a/.env]
  deny: ["**/.env"]
)",
                                      "t.yaml", search);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  auto text = join(warnings(loaded.value().policy, loaded.value().origins), "\n") + "\n";
  for (auto part : {"t.yaml:3: limits.memory: 1G is above the default of 256M\n", "t.yaml:5: network.mode: host",
                    "t.yaml:8: syscalls.allow.ptrace:",
                    "t.yaml:9: syscalls.allow.mprotect: allows memory that is writable and executable",
                    "t.yaml:10: audit.mode.landlock:", "t.yaml:12: env.pass.LD_PRELOAD:",
                    "t.yaml:14: filesystem.read: /a/.env has no effect"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Suggest, OnlyNearMisses) {
  std::vector<std::string_view> known = {"memory", "disk", "wall", "on_output"};
  EXPECT_EQ(did_you_mean("memroy", known), "; did you mean \"memory\"?");
  EXPECT_EQ(did_you_mean("Memory", known), "; did you mean \"memory\"?");
  EXPECT_EQ(did_you_mean("on-output", known), "; did you mean \"on_output\"?");
  EXPECT_EQ(did_you_mean("xyz", known), "");
  EXPECT_EQ(did_you_mean("", known), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), known), "");
}

}  // namespace
}  // namespace hotcell
