// Runtimes by name and root file systems that are not the host's, with real runtimes and images made here.
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/oci_root.h"
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

int shell(const std::string& command) { return std::system(command.c_str()); }

class OciImages : public testing::LeakCheck {
 protected:
  void SetUp() override {
    char path[] = "/tmp/hotcell-images.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    top_ = path;
    fs::permissions(top_, fs::perms::others_exec | fs::perms::group_exec, fs::perm_options::add);
    ASSERT_EQ(shell(cat("cd ", top_, " && mkdir -p r/bin r/etc r/usr/share && cp /usr/bin/busybox r/bin/ && for a in sh cat ls echo head readlink touch true; do ln -s busybox r/bin/$a; done && "
                        "echo ", top_, " > r/etc/motd && tar -C r -cf plain.tar . && gzip -k plain.tar && zstd -q plain.tar")), 0);
    ::setenv("XDG_CACHE_HOME", (top_ + "/cache").c_str(), 1);
    LeakCheck::SetUp();
  }
  void TearDown() override {
    LeakCheck::TearDown();
    std::error_code ignored;
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(top_, ignored);
  }
  backends::Settings with(std::vector<std::string> words) {
    auto settings = backends::Settings::parse(words);
    EXPECT_TRUE(settings.ok());
    return settings.value();
  }
  Result<Report> run(const std::string& backend, const backends::Settings& settings, std::vector<std::string> argv) {
    TRY_SET(auto launcher, backends::open_backend(backend, {}, {{}, true, settings}));
    Request request;
    request.argv = std::move(argv);
    Policy policy = default_policy();
    policy.limits.wall = std::chrono::seconds(60);
    return launcher->run(policy, std::move(request));
  }
  std::string top_;
};

TEST_F(OciImages, AreTheRootOfEveryRuntime) {
  if (::geteuid() != 0) {
    auto refused = run("runc", with({cat("oci.rootfs=", top_, "/r")}), {"/bin/true"});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("needs root"), std::string::npos) << refused.error().message;
    return;
  }
  auto control = run("runc", {}, {"/bin/cat", "/etc/motd"});
  ASSERT_TRUE(control.ok()) << control.error().message;
  EXPECT_EQ(control.value().out, "") << "the control: the host's folders have no such file";
  for (std::string backend : {"runc", "crun", "runsc"})
    for (std::string source : {"/r", "/plain.tar", "/plain.tar.gz", "/plain.tar.zst"}) {
      if (backend == "runsc" && source != "/r") continue;  // the slowest; what it is shown is the same
      auto r = run(backend, with({cat("oci.rootfs=", top_, source)}),
                   {"/bin/sh", "-c", "cat /etc/motd; ls /usr; touch /bin/x /usr/x /etc/x /x 2>/dev/null; touch /work/y /tmp/y && echo mine"});
      ASSERT_TRUE(r.ok()) << backend << source << ": " << r.error().message;
      EXPECT_EQ(r.value().out, cat(top_, "\nshare\nmine\n")) << backend << source << r.value().err;
    }
  // Nothing was made in the folder, not even to mount on.
  EXPECT_FALSE(fs::exists(top_ + "/r/work") || fs::exists(top_ + "/r/proc") || fs::exists(top_ + "/r/bin/x") || fs::exists(top_ + "/r/etc/passwd"));
}

TEST_F(OciImages, AnImageLayoutIsUnpackedOnceAndVerified) {
  // What umoci and skopeo write: blobs by their digests.
  auto put = [&](const std::string& bytes) {
    fs::create_directories(top_ + "/layout/blobs/sha256");
    std::string digest = sha256_hex(bytes);
    std::ofstream(cat(top_, "/layout/blobs/sha256/", digest)) << bytes;
    return digest;
  };
  auto content = [&](const std::string& name) {
    std::ifstream in(top_ + "/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  ASSERT_EQ(shell(cat("cd ", top_, " && mkdir -p second/etc && echo second > second/etc/second && touch second/etc/.wh.motd && tar -C second -cf second.tar etc")), 0);
  std::string first = put(content("plain.tar.gz")), second = put(content("second.tar"));
  std::string manifest = put(cat(R"({"schemaVersion":2,"layers":[{"digest":"sha256:)", first, R"("},{"digest":"sha256:)", second, R"("}]})"));
  std::ofstream(top_ + "/layout/index.json") << R"({"manifests":[{"digest":"sha256:)" << manifest << R"(","annotations":{"org.opencontainers.image.ref.name":"latest"}}]})";
  auto settings = with({cat("oci.image=", top_, "/layout:latest")});
  auto root = backends::oci_root(settings);
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root.value(), cat(backends::oci_cache(), "/", manifest, "/root"));
  if (::geteuid() == 0) {
    auto r = run("crun", settings, {"/bin/sh", "-c", "cat /etc/second; ls /etc/motd 2>&1"});
    ASSERT_TRUE(r.ok()) << r.error().message;
    EXPECT_TRUE(r.value().out.starts_with("second\n") && r.value().out.find("No such file") != std::string::npos) << r.value().out << r.value().err;
  }
  // Unpacked by content: without its layers it is still there; an image with a changed layer never is.
  fs::remove(cat(top_, "/layout/blobs/sha256/", first));
  EXPECT_TRUE(backends::oci_root(settings).ok());
  fs::remove_all(fs::path(root.value()).parent_path());
  std::ofstream(cat(top_, "/layout/blobs/sha256/", first)) << "another";
  auto changed = backends::oci_root(settings);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().message.find("its digest is not its name"), std::string::npos) << changed.error().message;
  EXPECT_FALSE(fs::exists(root.value()));
}

TEST_F(OciImages, WhatIsNoImageIsRefusedBeforeAnythingRuns) {
  auto message = [&](std::vector<std::string> words) {
    auto root = backends::oci_root(backends::Settings::parse(words).value());
    return root.ok() ? "taken as " + root.value() : root.error().message;
  };
  EXPECT_NE(message({"oci.rootfs=/nowhere/image.tar"}).find("/nowhere/image.tar"), std::string::npos);
  EXPECT_NE(message({"oci.rootfs=/etc/passwd"}).find("broken"), std::string::npos) << message({"oci.rootfs=/etc/passwd"});
  EXPECT_NE(message({cat("oci.image=", top_, "/r")}).find("no image layout"), std::string::npos);
  EXPECT_NE(message({"oci.rootfs=/"}).find("no image"), std::string::npos);
  EXPECT_NE(message({"oci.rootfs=/tmp", "oci.image=/tmp"}).find("not two"), std::string::npos);
}

TEST(OciRuntime, IsTheOneThatIsNamed) {
  auto unnamed = backends::probe("oci");
  EXPECT_FALSE(unnamed.works);
  EXPECT_NE(unnamed.why.find("oci.runtime"), std::string::npos) << unnamed.why;
  auto why = [](std::string runtime) { return backends::probe("oci", backends::Settings::parse({cat("oci.runtime=", runtime)}).value()); };
  EXPECT_NE(why("/nowhere/youki").why.find("/nowhere/youki is not there"), std::string::npos);
  EXPECT_NE(why("runsc").why.find("--backend runsc"), std::string::npos);
  EXPECT_FALSE(why("bin/crun").works) << "relative to what?";
  for (std::string runtime : {"/usr/bin/crun", "runc"}) {
    auto named = why(runtime);
    if (::geteuid() != 0) {
      EXPECT_NE(named.why.find("needs root"), std::string::npos) << named.why;
      continue;
    }
    EXPECT_TRUE(named.works) << named.why;
  }
  if (::geteuid() != 0) return;
  auto launcher = backends::open_backend("oci", {}, {{}, true, backends::Settings::parse({"oci.runtime=/usr/bin/crun"}).value()});
  ASSERT_TRUE(launcher.ok());
  Request request;
  request.argv = {"/bin/echo", "by name"};
  auto report = launcher.value()->run(default_policy(), std::move(request));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().out, "by name\n");
  EXPECT_EQ(report.value().enforcement.backend, "oci");
}

// gVisor's table of open files need not grow once it has threads: it is large from the start, and in what forks from it.
TEST_F(OciImages, AToolOfManyThreadsHasRoomForItsFiles) {
  LauncherOptions options;
  options.backend = "outer";
  auto launcher = Launcher::create(options);
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  for (bool many : {true, false}) {
    auto place = std::make_shared<OuterPlace>();
    place->workspace = top_;
    place->own_rlimits = true;
    place->many_threads = many;
    Request request;
    request.argv = {"/bin/sh", "-c", "for i in 1 2; do grep FDSize /proc/self/status; done; ls -l /proc/self/fd"};
    request.outer = std::move(place);
    auto report = launcher.value()->run(default_policy(), std::move(request));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().out.starts_with("FDSize:\t512\nFDSize:\t512\n"), many) << report.value().out;
    EXPECT_EQ(report.value().out.find("511 -> anon_inode:[eventfd]") != std::string::npos, many) << "nothing comes out of it\n" << report.value().out;
  }
}

}  // namespace
}  // namespace hotcell
