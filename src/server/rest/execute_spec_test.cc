#include "server/rest/execute_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace hotcell::server {
namespace {

Result<JobSpec> spec(std::string_view text) {
  auto body = parse_body(text);
  if (!body.ok()) return body.error();
  return job_spec_from_json(body.value());
}
std::string why(std::string_view text) {
  auto read = spec(text);
  return read.ok() ? "" : read.error().message;
}
std::string with(std::string_view more) { return cat(R"({"command":"id",)", more, "}"); }

TEST(ExecuteSpec, AProgramWithItsArguments) {
  auto read = spec(R"({"command":"ls","args":["-l"],"env":{"A":"1"},"stdin":"in","timeout_secs":1.5,"memory_mb":64})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().argv, (std::vector<std::string>{"ls", "-l"}));
  EXPECT_EQ(read.value().env.at("A"), "1");
  EXPECT_EQ(read.value().stdin_bytes, "in");
  EXPECT_EQ(read.value().timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(read.value().limits.memory, 64_MiB);
  EXPECT_EQ(read.value().on_output, OnOutput::kTruncate);
}

TEST(ExecuteSpec, CodeOfALanguageWithFilesAndLimits) {
  auto read = spec(R"j({"language":"python","code":"print(1)","args":["x"],"tier":"strong","profile":"strict","rich":true,
    "files":[{"name":"a/b.bin","content":"/wA=","encoding":"base64","executable":true},{"name":"c","content":"text"}],
    "limits":{"memory":"64M","disk":1048576,"cpu_time":"500ms","wall":2,"cpus":0.5,"processes":4},"on_output":"kill"})j");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value().argv.empty());
  EXPECT_EQ(read.value().args, std::vector<std::string>{"x"});
  ASSERT_EQ(read.value().files.size(), 2U);
  EXPECT_EQ(read.value().files[0].bytes, std::string("\xff\0", 2));
  EXPECT_TRUE(read.value().files[0].executable);
  EXPECT_EQ(read.value().limits.memory, 64_MiB);
  EXPECT_EQ(read.value().limits.disk, 1_MiB);
  EXPECT_EQ(read.value().limits.cpu_time, std::chrono::milliseconds(500));
  EXPECT_EQ(read.value().limits.wall, std::chrono::seconds(2));
  EXPECT_EQ(read.value().limits.cpus, 0.5);
  EXPECT_EQ(read.value().on_output, OnOutput::kKill);
}

TEST(ExecuteSpec, TheFoundersSentences) {
  EXPECT_EQ(why("{}"), "command is required");
  EXPECT_EQ(why(R"({"command":""})"), "command is required");
  EXPECT_TRUE(why("{bad").starts_with("invalid request body"));
  EXPECT_TRUE(why(R"({"command":5})").starts_with("invalid request body"));
}

TEST(ExecuteSpec, EitherAProgramOrCode) {
  EXPECT_EQ(why(R"({"command":"id","language":"python","code":"1"})"), "give either command or language and code, not both");
  EXPECT_EQ(why(R"({"code":"1"})"), "language is required with code");
  EXPECT_EQ(why(R"({"language":"python"})"), "code is required with language");
  EXPECT_EQ(why(R"({"language":"python","code":""})"), "");
}

TEST(ExecuteSpec, AWorkDirStaysInsideTheCell) {
  for (const char* bad : {"../../etc", "work/../../..", "/proc/self/fd/3", "~root", "a\\u0000/etc", "/work/../etc", "/sys", "/dev/fd"})
    EXPECT_NE(why(with(cat("\"work_dir\":\"", bad, "\""))), "") << bad;
  EXPECT_EQ(spec(with(R"("work_dir":"")")).value().workdir, "");
  EXPECT_EQ(spec(with(R"("work_dir":"sub/folder/")")).value().workdir, "/work/sub/folder");
  EXPECT_EQ(spec(with(R"("work_dir":"/tmp//x/.")")).value().workdir, "/tmp/x");
}

TEST(ExecuteSpec, FileNamesStayInsideTheWorkspace) {
  const std::string long_name(300, 'x');
  for (const std::string& bad : std::vector<std::string>{"../x", "a/../../x", ".git/hooks/pre-commit", long_name, "a\\nb", "./",
                                                         "/abs", "", "a//b", "a/", ".", "a\\u0000b", "sub/.git/config",
                                                         ".GIT/config", ".g\u200cit/config", ".git /config", ".git./config", ".g\u0131t/hooks/x",
                                                         "GIT~1/config", ".HotCell/x"})
    EXPECT_NE(why(with(cat("\"files\":{\"", bad, "\":\"x\"}"))), "") << bad;
  for (const char* good : {"con", "a b", "...", "-x", "ünï", ".gitignore", ".github", "GIT", "digit"})
    EXPECT_EQ(why(with(cat("\"files\":{\"", good, "\":\"x\"}"))), "") << good;
  EXPECT_NE(why(with(R"("files":[{"name":"a","content":""},{"name":"a","content":""}])")).find("twice"), std::string::npos);
  EXPECT_NE(why(with(R"("files":[{"name":"a","content":"?","encoding":"base64"}])")).find("base64"), std::string::npos);
}

TEST(ExecuteSpec, ZeroSecondsMeansTheDefaultAndLongIsKept) {
  EXPECT_FALSE(spec(with(R"("timeout_secs":0)")).value().timeout.has_value());
  EXPECT_EQ(spec(with(R"("timeout_secs":9223372036854775808)")).value().timeout, std::chrono::seconds(1'000'000'000));
}

TEST(ExecuteSpec, NumbersThatAreNoneAreRefused) {
  for (const char* bad : {"NaN", "1e999", "1e300", "1180591620717411303424", "\"5\"", "[]", "true", "-1", "{}"})
    EXPECT_NE(why(with(cat("\"timeout_secs\":", bad))), "") << bad;
  for (const char* bad : {"1e400", "1180591620717411303424", "2.5", "-5", "\"64\"", "4611686018427387904"})
    EXPECT_NE(why(with(cat("\"memory_mb\":", bad))), "") << bad;
  for (const char* bad : {"0", "-1", "\"64X\"", "\"0\"", "\"-1M\"", "true", "[]", "1.5"})
    EXPECT_NE(why(with(cat("\"limits\":{\"memory\":", bad, "}"))), "") << bad;
  for (const char* bad : {"0", "-1", "\"soon\"", "1e30"})
    EXPECT_NE(why(with(cat("\"limits\":{\"wall\":", bad, "}"))), "") << bad;
  EXPECT_NE(why(with(R"("limits":{"cpus":0})")), "");
  EXPECT_NE(why(with(R"("limits":{"memry":1})")).find("did you mean \"memory\""), std::string::npos);
}

TEST(ExecuteSpec, ATierIsLightOrStrong) {
  EXPECT_NE(why(with(R"("tier":"none")")).find("light or strong"), std::string::npos);
  EXPECT_EQ(why(with(R"("tier":"light")")), "");
}

TEST(ExecuteSpec, AProfileIsANameAndNeverAPath) {
  for (const char* bad : {"/etc/x.yaml", "../x", "x.yaml", "x.yml", ".hidden", "a b"})
    EXPECT_NE(why(with(cat("\"profile\":\"", bad, "\""))), "") << bad;
  EXPECT_EQ(why(with(R"("profile":"data-science")")), "");
}

TEST(ExecuteSpec, AWaiverIsRefusedWithAReason) {
  EXPECT_NE(why(with(R"("waive":["network"])")).find("no request waives"), std::string::npos) << why(with(R"("waive":["network"])"));
}

TEST(ExecuteSpec, UnknownFieldsAreRefused) {
  EXPECT_NE(why(with(R"("preload":"import os")")).find("unknown field \"preload\""), std::string::npos);
  EXPECT_NE(why(with(R"("callback_url":"http://169.254.169.254/")")).find("unknown field"), std::string::npos);
  EXPECT_NE(why(with(R"("comand":"x")")).find("did you mean \"command\""), std::string::npos);
}

TEST(ExecuteSpec, ArgumentsAndVariablesAreBounded) {
  std::string env = "\"env\":{";
  for (int i = 0; i < 2000; ++i) env += cat(i == 0 ? "" : ",", "\"V", i, "\":\"x\"");
  EXPECT_NE(why(with(env + "}")).find("variables"), std::string::npos);
  EXPECT_NE(why(with(cat("\"args\":[\"", std::string(200'000, 'x'), "\"]"))).find("too long"), std::string::npos);
  EXPECT_NE(why(with(R"("env":{"A=B":"x"})")), "");
  EXPECT_NE(why(with(R"("env":{"":"x"})")), "");
  EXPECT_NE(why(with(R"("args":["a\u0000b"])")).find("NUL"), std::string::npos);
  EXPECT_EQ(why(with(R"("env":{"LD_PRELOAD":"/w/x.so","PATH":"."})")), "");
  EXPECT_EQ(spec(R"({"command":"--ro-bind"})").value().argv, std::vector<std::string>{"--ro-bind"});
}

TEST(ExecuteSpec, OutputIsInspectedWhenThatIsSaid) {
  EXPECT_EQ(spec(with(R"("verify":true)")).value().inspect, InspectMode::kOff);
  EXPECT_EQ(spec(with(R"("inspect":"mark")")).value().inspect, InspectMode::kMark);
  EXPECT_EQ(spec(with(R"("inspect":"block")")).value().inspect, InspectMode::kBlock);
  EXPECT_NE(why(with(R"("inspect":"off")")), "") << "a profile may want it: that cannot be turned off";
  EXPECT_NE(why(with(R"("inspect":true)")), "");
}

TEST(ExecuteSpec, StdinMayBeBytes) {
  EXPECT_EQ(spec(with(R"("stdin_base64":"/wA=")")).value().stdin_bytes, std::string("\xff\0", 2));
  EXPECT_NE(why(with(R"("stdin_base64":"?")")), "");
  EXPECT_NE(why(with(R"("stdin_base64":"","stdin":"")")), "");
}

}  // namespace
}  // namespace hotcell::server
