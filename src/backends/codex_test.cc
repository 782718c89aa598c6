#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/codex_binary.h"
#include "backends/tool_launcher.h"
#include "backends/tools.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kProgram = "#!/bin/sh\necho a program\n";

class CodexBinary : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/hotcell-codex-test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
    std::ofstream(folder_ + "/program", std::ios::binary) << kProgram;
    ::setenv("XDG_CACHE_HOME", (folder_ + "/cache").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  static Settings settings(std::vector<std::string> more) { return Settings::parse(more).value(); }
  std::string cached() const { return codex_cache(sha256_hex(kProgram)); }
  std::size_t files_in_cache() const {
    std::error_code ignored;
    std::size_t n = 0;
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder_ + "/cache", ignored)) n += e.is_regular_file() ? 1 : 0;
    return n;
  }
  std::string folder_;
};

// Fetching is for when it is nowhere: a setting that names a program means that one and no other, so these name none that is there.
std::vector<std::string> absent(std::vector<std::string> more) {
  more.push_back("codex.executable=hotcell-no-such-codex");
  return more;
}

TEST_F(CodexBinary, NothingIsFetchedUnlessAsked) {
  auto digest = cat("codex.sha256=", sha256_hex(kProgram)), source = cat("codex.sources=file://", folder_, "/program");
  auto refused = ensure_codex(settings(absent({digest, source})));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is not installed"), std::string::npos) << refused.error().message;
  EXPECT_EQ(files_in_cache(), 0u);
  auto no_digest = ensure_codex(settings(absent({"codex.auto_download=true", source})));
  ASSERT_FALSE(no_digest.ok());
  EXPECT_NE(no_digest.error().message.find("codex.sha256"), std::string::npos) << no_digest.error().message;
  EXPECT_FALSE(ensure_codex(settings(absent({"codex.auto_download=yes", digest, source}))).ok());
  EXPECT_FALSE(ensure_codex(settings(absent({"codex.auto_download=true", digest}))).ok()) << "from nowhere";
  EXPECT_EQ(files_in_cache(), 0u);
}

TEST_F(CodexBinary, OnlyTheRightDigestIsKept) {
  std::ofstream(folder_ + "/other") << "#!/bin/sh\nrm -rf /\n";
  auto digest = cat("codex.sha256=", sha256_hex(kProgram));
  auto wrong = ensure_codex(settings(absent({"codex.auto_download=true", digest, cat("codex.sources=file://", folder_, "/other file://", folder_, "/nothing")})));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("its digest is"), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("curl ended with"), std::string::npos) << wrong.error().message;
  EXPECT_EQ(files_in_cache(), 0u) << "nothing of it stays";
  auto right = ensure_codex(settings(absent({"codex.auto_download=true", digest, cat("codex.sources=file://", folder_, "/other file://", folder_, "/program")})));
  ASSERT_TRUE(right.ok()) << right.error().message;
  EXPECT_EQ(right.value(), cached());
  EXPECT_EQ(::access(cached().c_str(), X_OK), 0);
  EXPECT_EQ(files_in_cache(), 1u);
}

TEST_F(CodexBinary, ComesOverHttpAndHasATimeLimit) {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  socklen_t size = sizeof at;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  // The first is told nothing for ever, the second gets it.
  std::thread server([&] {
    int silent = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), served = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    char buffer[4096];
    EXPECT_GT(::read(served, buffer, sizeof buffer), 0);
    std::string answer = cat("HTTP/1.1 200 OK\r\nContent-Length: ", kProgram.size(), "\r\nConnection: close\r\n\r\n", kProgram);
    EXPECT_EQ(::write(served, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    ::close(served);
    ::close(silent);
  });
  auto url = cat("http://127.0.0.1:", ntohs(at.sin_port), "/codex");
  auto got = ensure_codex(settings(absent({"codex.auto_download=true", cat("codex.sha256=", sha256_hex(kProgram)), "codex.download_timeout=1", cat("codex.sources=", url, " ", url)})));
  server.join();
  ::close(listener);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value(), cached());
}

TEST_F(CodexBinary, ANamedProgramIsThatOneOrNone) {
  EXPECT_EQ(find_codex(settings({"codex.executable=/nowhere/codex"})), "");
  EXPECT_EQ(find_codex(settings({"codex.executable=relative/codex"})), "");
  EXPECT_EQ(find_codex(settings({"codex.executable=/bin/true"})), "/bin/true");
  EXPECT_EQ(find_codex(settings({"codex.executable=hotcell-no-such-codex"})), "");
}

TEST(Codex, TheNetworkOnIsRefused) {
  for (auto mode : {NetworkMode::kProxy, NetworkMode::kHost}) {
    Policy policy = default_policy();
    policy.network.mode = mode;
    auto held = codex()->judge(policy);
    auto it = std::find_if(held.begin(), held.end(), [](const Held& h) { return h.statement == "network"; });
    ASSERT_NE(it, held.end());
    EXPECT_EQ(it->status, LayerStatus::kNone);
  }
}

TEST(Codex, TheProfileShowsNothingElse) {
  Policy policy = default_policy();
  policy.filesystem.grants.push_back({"/usr/share", Access::kRead, "--read"});
  Request request;
  request.argv = {"/bin/ls", "/work/x"};
  auto plan = plan_tool(*codex(), policy, request, "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto it = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "codex/config.toml"; });
  ASSERT_NE(it, plan.value().pieces.end());
  EXPECT_NE(it->bytes.find("\"/s/work\" = \"write\"\n"), std::string::npos) << it->bytes;
  EXPECT_NE(it->bytes.find("\"/usr/share\" = \"read\"\n"), std::string::npos);
  EXPECT_NE(it->bytes.find("[permissions.hotcell.network]\nenabled = false\n"), std::string::npos);
  EXPECT_EQ(it->bytes.find("\"write\""), it->bytes.rfind("\"write\"")) << "the workspace alone";
  EXPECT_EQ(plan.value().argv.back(), "/s/work/x");
}

// It starts itself inside, and must be seen there. What lies beside it must not.
TEST(Codex, NothingBesideTheProgramIsShown) {
  char folder[] = "/tmp/hotcell-codex-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::string program = cat(folder, "/program"), name = cat(folder, "/codex");
  std::ofstream(program) << "#!/bin/sh\n";
  ::chmod(program.c_str(), 0755);
  ASSERT_EQ(::symlink("program", name.c_str()), 0);
  auto settings = Settings::parse({cat("codex.executable=", name)}).value();
  Request request;
  request.argv = {"/bin/true"};
  auto plan = plan_tool(*codex(), default_policy(), request, "/s", 7, settings);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto it = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "codex/config.toml"; });
  ASSERT_NE(it, plan.value().pieces.end());
  EXPECT_NE(it->bytes.find(cat("\"", program, "\" = \"read\"\n")), std::string::npos) << it->bytes;
  EXPECT_EQ(it->bytes.find(cat("\"", folder, "\"")), std::string::npos) << it->bytes;
}

}  // namespace
}  // namespace hotcell::backends
