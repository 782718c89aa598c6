// What hotcell says about what it refused or could not do is right: following it helps.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/kernel/host.h"
#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Advice : public E2e {};

constexpr const char* kSocket = "import socket\nsocket.socket()";

Json run_code(std::vector<std::string> flags, const std::string& code) {
  flags.insert(flags.begin(), {"run", "--json"});
  flags.insert(flags.end(), {"--language", "python", "-c", code});
  return Json(hotcell(flags).out);
}

TEST_F(Advice, ACallThatTheProfileDeniesIsToBeRemovedFromIt) {
  TempDir dir;
  write_text(dir.path() + "/p.yaml", "name: p\nextends: default\nsyscalls: {deny: [socket]}\n");
  Json json = run_code({"--profile", dir.path() + "/p.yaml"}, kSocket);
  EXPECT_EQ(json.text("denials/0/syscall"), "socket") << json.text("denials");
  EXPECT_EQ(json.text("denials/0/fix"), "remove socket from syscalls.deny");
}

TEST_F(Advice, StrictIsToBeLoosenedAndTheLandlockBackendChanged) {
  // Strict would refuse the text itself; what is looked at is the wall behind that.
  Json strict = run_code({"--profile", "strict", "--no-verify"}, kSocket);
  EXPECT_EQ(strict.text("denials/0/fix"), "syscalls: {base: default}") << strict.text("denials");
  Json flat = run_code({"--backend", "landlock"}, kSocket);
  EXPECT_EQ(flat.text("denials/0/fix"), "--backend native") << flat.text("denials");
}

class FlatWorkspace : public E2e {};

TEST_F(FlatWorkspace, CodeAndFilesAreFoundThere) {
  auto called = hotcell({"run", "--backend", "landlock", "--language", "python", "-c",
                         "import sys; print(*sys.argv[1:])", "/work/kept", "b"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "/work/kept b\n");
  TempDir dir;
  const std::string script = dir.path() + "/script";
  write_text(script, "#!/bin/sh\ncat \"$1\"; pwd\n", 0755);
  write_text(dir.path() + "/data", "data\n");
  called = hotcell(
      {"run", "--backend", "landlock", "--file", dir.path() + "/data", "--workdir", "/work", script, "/work/data"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_TRUE(called.out.starts_with("data\n/")) << called.out;
}

TEST_F(Advice, AQuotaThatCannotBeHeldIsNotPassedOverInSilence) {
  auto host = Host::look();
  ASSERT_TRUE(host.ok());
  auto called = hotcell({"run", "--cpus", "0.5", "--", "/bin/true"});
  EXPECT_EQ(called.code, 0);
  auto json = Json(hotcell({"run", "--json", "--cpus", "0.5", "--", "/bin/true"}).out);
  const std::string status = json.find_by_name("enforcement/layers", "cpu", "status");
  const std::string detail = json.find_by_name("enforcement/layers", "cpu", "detail");
  auto required = hotcell({"run", "--cpus", "0.5", "--require", "cpu", "--", "/bin/true"});
  if (host.value().cgroup.cpu) {
    EXPECT_EQ(called.err, "");
    EXPECT_EQ(status, "full") << detail;
    EXPECT_EQ(detail, "cgroup total and quota");
    EXPECT_EQ(required.code, 0) << required.describe();
  } else {
    EXPECT_EQ(status, "partial");
    EXPECT_NE(detail.find("no quota"), std::string::npos) << detail;
    EXPECT_EQ(called.err, "hotcell: the quota of --cpus was not in force: " + detail + "\n");
    EXPECT_EQ(required.code, 125) << required.describe();
  }
}

}  // namespace
}  // namespace hotcell::testing
