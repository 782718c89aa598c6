// What a profile may change: allow, deny, syscalls.file; and the exports.
#include <gtest/gtest.h>

#include <random>

#include "base/strings.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_export.h"
#include "core/kernel/seccomp_testing.h"

namespace hotcell {
namespace {

using namespace testing_seccomp;

constexpr std::uint32_t kOk = SECCOMP_RET_ALLOW, kNotified = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t fails(int err) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err); }

std::uint32_t ask(const std::vector<std::uint64_t>& code, std::string_view name, std::vector<std::uint64_t> args = {}) {
  seccomp_data d{};
  d.nr = static_cast<int>(syscall_number(name, kNativeArch).value()), d.arch = audit_arch(kNativeArch);
  for (std::size_t i = 0; i < args.size(); ++i) d.args[i] = args[i];
  return run_bpf(code, d);
}

SeccompRequest from_file(std::string json, std::string base = "default") {
  SeccompRequest r;
  r.oci_json = std::move(json), r.base = std::move(base);
  return r;
}
std::vector<std::uint64_t> code_of(const SeccompRequest& r) {
  auto result = plan_seccomp(r);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? result.value().insns : std::vector<std::uint64_t>{};
}
std::string error_of(const SeccompRequest& r) {
  auto result = plan_seccomp(r);
  EXPECT_FALSE(result.ok());
  if (result.ok()) return {};
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  return result.error().message;
}

// Equal on every number and on arguments that matter to either.
void expect_same(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, bool allowed_only = false) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> words = {0,   1,      2,      6,     10,    16,   17,         31,   40,
                                      262, 0x5412, 0x541c, 04755, 02755, 0101, 0x10000011, 1024, ~0ULL};
  for (std::uint64_t i = 0; i < 80; ++i) words.push_back(i);
  for (std::uint64_t code : a) words.push_back(code >> 32);
  for (std::uint32_t nr = 0; nr < 600; ++nr)
    for (int n = 0; n < 400; ++n) {
      seccomp_data d{};
      d.nr = static_cast<int>(nr), d.arch = audit_arch(kNativeArch);
      for (auto& x : d.args) x = words[random() % words.size()] | (random() % 4 == 0 ? random() << 32 : 0);
      const std::uint32_t x = run_bpf(a, d), y = run_bpf(b, d);
      if (allowed_only ? (x == kOk) == (y == kOk) : x == y) continue;
      FAIL() << x << " and " << y << " for " << nr << " " << d.args[0] << " " << d.args[1] << " " << d.args[2] << " "
             << d.args[3];
    }
}

TEST(SeccompProfile, AllowAndDenyByName) {
  SeccompRequest r;
  r.allow = {"ptrace", "kcmp"}, r.deny = {"kcmp", "inotify_add_watch"};
  const auto code = code_of(r);
  EXPECT_EQ(ask(code, "ptrace"), kOk);
  EXPECT_EQ(ask(code, "kcmp"), kNotified) << "deny wins";
  EXPECT_EQ(ask(code, "inotify_add_watch"), kNotified);
  EXPECT_EQ(ask(code, "process_vm_readv"), kNotified);
  EXPECT_EQ(plan_seccomp(r).value().source, "compiled from default, 2 allowed, 2 denied");
}

TEST(SeccompProfile, AllowDoesNotLiftArgumentRules) {
  SeccompRequest r;
  r.allow = {"socket", "clone", "ioctl", "prctl", "personality", "chmod", "openat", "mknodat", "seccomp"};
  expect_same(code_of(r), code_of({}));
}

TEST(SeccompProfile, NonsenseIsRefusedByName) {
  SeccompRequest r;
  r.allow = {"ptracee"};
  EXPECT_EQ(error_of(r), "syscalls.allow: there is no system call named 'ptracee'");
  r.allow = {"a\nb"};
  EXPECT_EQ(error_of(r), "syscalls.allow: there is no system call named 'a\\nb'");
  r.allow = {}, r.deny = {"opn"};
  EXPECT_EQ(error_of(r), "syscalls.deny: there is no system call named 'opn'");
  r.deny = {"execve"};
  EXPECT_NE(error_of(r).find("no program could start"), std::string::npos);
  r.deny = {}, r.base = "lax";
  EXPECT_NE(error_of(r).find("'lax' is not a list"), std::string::npos);
  for (const char* name :
       {"mount", "bpf", "io_uring_setup", "setns", "unshare", "clone3", "openat2", "open_by_handle_at", "kexec_load",
        "keyctl", "perf_event_open", "userfaultfd", "finit_module", "reboot", "swapon"}) {
    SeccompRequest never;
    never.allow = {name};
    EXPECT_NE(error_of(never).find(cat(name, " cannot be allowed")), std::string::npos);
  }
}

TEST(SeccompProfile, ObservedCallsAreReportedOnlyWhereTheyMayGoOn) {
  SeccompRequest r;
  r.observe_files = true;
  const auto code = code_of(r);
  EXPECT_EQ(ask(code, "openat", {0, 0, 0, 0}), kNotified);
  EXPECT_EQ(ask(code, "openat", {0, 0, 0101, 04755}), fails(EPERM)) << "continuing it would let the bit through";
  EXPECT_EQ(ask(code, "mkdirat", {0, 0, 02755}), fails(EPERM));
  EXPECT_EQ(ask(code, "execve"), kNotified);
  EXPECT_EQ(ask(code, "ptrace"), kNotified);
  EXPECT_EQ(ask(code, "read"), kOk);
  auto observes = [](const SeccompRequest& request, std::string_view name) {
    const auto observed = plan_seccomp(request).value().observed;
    return std::find(observed.begin(), observed.end(), *syscall_number(name, kNativeArch)) != observed.end();
  };
  EXPECT_TRUE(observes(r, "openat"));
  EXPECT_TRUE(observes(r, "mknodat")) << "allowed for some arguments";
  EXPECT_FALSE(observes(r, "ptrace"));
  EXPECT_EQ(ask(code, "mknodat", {0, 0, 0100644}), kNotified);
  EXPECT_EQ(ask(code, "mknodat", {0, 0, 0060644}), fails(EPERM)) << "a device";
  SeccompRequest denied = r;
  denied.deny = {"unlinkat"};
  EXPECT_EQ(ask(code_of(denied), "unlinkat"), kNotified) << "still recorded as a denial";
  EXPECT_FALSE(observes(denied, "unlinkat")) << "it would go on";
  SeccompRequest plain;
  EXPECT_TRUE(plan_seccomp(plain).value().observed.empty());
  SeccompRequest alone = r;
  alone.notify = false;
  EXPECT_TRUE(plan_seccomp(alone).value().observed.empty());
  EXPECT_EQ(ask(code_of(alone), "openat"), kOk) << "with nobody listening a report would be a refusal";
}

TEST(SeccompFile, AProfileThatAllowsEverythingChangesNothing) {
  for (const char* base : {"default", "strict"}) {
    SeccompRequest plain;
    plain.base = base;
    expect_same(code_of(from_file(R"({"defaultAction": "SCMP_ACT_ALLOW"})", base)), code_of(plain));
  }
}

TEST(SeccompFile, WhatItLacksIsTaken) {
  const auto code = code_of(from_file(R"({"defaultAction": "SCMP_ACT_ALLOW",
      "syscalls": [{"names": ["openat", "no_such_call"], "action": "SCMP_ACT_ERRNO"}, {"name": "getcwd",
          "action": "SCMP_ACT_KILL"},
                   {"names": ["uname"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}, {"names": ["ptrace", "mount"],
          "action": "SCMP_ACT_ALLOW"}]})"));
  EXPECT_EQ(ask(code, "openat"), kNotified);
  EXPECT_EQ(ask(code, "getcwd"), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(ask(code, "uname"), fails(ENOSYS));
  EXPECT_EQ(ask(code, "ptrace"), kNotified) << "it cannot widen";
  EXPECT_EQ(ask(code, "mount"), kNotified);
  EXPECT_EQ(ask(code, "read"), kOk);
}

TEST(SeccompFile, AnAllowlistKeepsOnlyWhatBothAllow) {
  const auto code = code_of(from_file(R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
      {"names": ["execve","exit_group","rt_sigreturn","sendmsg","recvmsg","sendto","close","close_range","mmap",
          "read","bpf","clone3"], "action": "SCMP_ACT_ALLOW"},
      {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]},
      {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 2114060288, "valueTwo": 0,
          "op": "SCMP_CMP_MASKED_EQ"}]},
      {"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 3, "op": "SCMP_CMP_GE"},
          {"index": 1, "value": 9, "op": "SCMP_CMP_LT"}]},
      {"names": ["fsync"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 3, "op": "SCMP_CMP_EQ"},
          {"index": 0, "value": 5, "op": "SCMP_CMP_EQ"}]},
      {"names": ["chdir"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
      {"names": ["fchdir"], "action": "SCMP_ACT_ALLOW", "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
      {"names": ["flock"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["s390x"]}},
      {"names": ["pipe2"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["amd64", "arm64"]}}]})"));
  EXPECT_EQ(ask(code, "read"), kOk);
  EXPECT_EQ(ask(code, "write"), kNotified);
  EXPECT_EQ(ask(code, "bpf"), kNotified);
  EXPECT_EQ(ask(code, "clone3"), fails(ENOSYS));
  EXPECT_EQ(ask(code, "socket", {2, 1, 0}), kOk);
  EXPECT_EQ(ask(code, "socket", {40, 1, 0}), kNotified);
  EXPECT_EQ(ask(code, "socket", {1ULL << 32 | 40, 1, 0}), kNotified) << "passes their rule, not ours";
  EXPECT_EQ(ask(code, "clone", {17}), kOk);
  EXPECT_EQ(ask(code, "clone", {0x10000011}), kNotified);
  EXPECT_EQ(ask(code, "dup", {3, 8}), kOk);
  EXPECT_EQ(ask(code, "dup", {2, 8}), kNotified);
  EXPECT_EQ(ask(code, "dup", {3, 9}), kNotified);
  EXPECT_EQ(ask(code, "fsync", {5}), kOk);
  EXPECT_EQ(ask(code, "fsync", {4}), kNotified);
  EXPECT_EQ(ask(code, "chdir"), kNotified);
  EXPECT_EQ(ask(code, "fchdir"), kOk);
  EXPECT_EQ(ask(code, "flock"), kNotified);
  EXPECT_EQ(ask(code, "pipe2"), kOk);
}

// Whatever a file says, what it leaves is a part of what the base allows.
TEST(SeccompFile, NeverWidens) {
  std::mt19937_64 random(11);
  const char* actions[] = {"SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_ERRNO", "SCMP_ACT_TRAP", "SCMP_ACT_NOTIFY"};
  const char* ops[] = {"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",       "SCMP_CMP_EQ",
                       "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
  const char* names[] = {"ptrace", "socket", "clone",  "ioctl",   "mount",  "personality",
                         "openat", "prctl",  "getpid", "mknodat", "seccomp"};
  const auto base = code_of({});
  for (int round = 0; round < 60; ++round) {
    std::string json = cat("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [");
    for (int i = 0; i < 14; ++i)
      json += cat(i ? "," : "", "{\"names\": [\"", names[random() % 11], "\"], \"action\": \"", actions[random() % 5],
                  "\", \"args\": [{\"index\": ", random() % 3, ", \"value\": ", random() % 50,
                  ", \"valueTwo\": ", random() % 50, ", \"op\": \"", ops[random() % 7], "\"}]}");
    const auto code = code_of(from_file(json + "]}"));
    for (const char* name : names)
      for (int n = 0; n < 300; ++n) {
        std::vector<std::uint64_t> args;
        for (int i = 0; i < 4; ++i) args.push_back(random() % 60 | (random() % 3 == 0 ? random() << 32 : 0));
        if (ask(code, name, args) != kOk) continue;
        ASSERT_EQ(ask(base, name, args), kOk) << name << "\n" << json;
      }
  }
}

TEST(SeccompFile, BadFilesAreRefused) {
  for (
      const char* json :
      {"", " ", "{", "[]", "3", "{}", R"({"defaultAction": 3})", R"({"defaultAction": "SCMP_ACT_FLY"})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": 3})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [3]})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": [], "action": "SCMP_ACT_KILL"}]})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"]}]})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_KILL",
          "args": [{"index": 6, "op": "SCMP_CMP_EQ"}]}]})",
       R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_KILL",
          "args": [{"index": 0, "value": -1, "op": "SCMP_CMP_EQ"}]}]})",
       R"({"defaultAction": "SCMP_ACT_ERRNO"})"}) {
    if (*json == '\0') continue;  // no file at all
    EXPECT_EQ(error_of(from_file(json)).rfind("syscalls.file: ", 0), 0u) << json;
  }
  EXPECT_EQ(
      error_of(from_file(
          R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["execve"], "action": "SCMP_ACT_ERRNO"}]})")),
      "syscalls.file: it denies execve, without which no program could start in the cell");
  EXPECT_FALSE(plan_seccomp(from_file(std::string(100000, '['))).ok());
}

TEST(SeccompExport, BpfIsThePlannedProgram) {
  const std::string bytes = export_seccomp({}, "bpf").value();
  const auto code = code_of({});
  ASSERT_EQ(bytes.size(), code.size() * 8);
  EXPECT_EQ(std::memcmp(bytes.data(), code.data(), bytes.size()), 0);
  EXPECT_FALSE(export_seccomp({}, "elf").ok());
}

// Read back as a syscalls.file over the same base it must change nothing; over everything else, allow nothing more.
TEST(SeccompExport, OciAllowsExactlyWhatTheFilterAllows) {
  for (const char* base : {"default", "strict"})
    for (bool real : {false, true}) {
      SeccompRequest plain;
      plain.base = base, plain.network_on = real;
      SeccompRequest again = plain;
      again.oci_json = export_seccomp(plain, "oci").value();
      expect_same(code_of(again), code_of(plain), true);
      // Strict, read over default: what is left is strict.
      SeccompRequest wider = again;
      wider.base = "default";
      if (std::string_view(base) == "strict") expect_same(code_of(wider), code_of(plain), true);
    }
}

TEST(SeccompExport, TextHasOneLinePerRuleWithItsReason) {
  SeccompRequest r;
  r.deny = {"inotify_init1"};
  const std::string text = export_seccomp(r, "text").value();
  for (std::string_view line : split(trim(text), '\n')) EXPECT_NE(line.find("  # "), std::string_view::npos) << line;
  EXPECT_NE(text.find("deny+record: clone if (arg0 & 0x7e020000) != 0  # new namespaces"), std::string::npos);
  EXPECT_NE(text.find("deny+record: inotify_init1  # denied by the profile"), std::string::npos);
  EXPECT_NE(text.find("answer ENOSYS: everything else"), std::string::npos);
}

}  // namespace
}  // namespace hotcell
