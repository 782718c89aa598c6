// A machine whose root is an image of its own: an erofs disk below an overlay, and nothing of the host's folders.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/tools.h"
#include "backends/vm.h"
#include "base/strings.h"
#include "support/leak_check.h"
#include "sys/file.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

class VmRoot : public testing::LeakCheck {
 protected:
  void SetUp() override {
    char path[] = "/var/tmp/hotcell-vm-root.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    top_ = path;
    fs::permissions(top_, fs::perms::others_exec | fs::perms::group_exec, fs::perm_options::add);
    ASSERT_EQ(command("mkdir -p r/bin r/etc r/root r/usr/share && chmod 755 r/root && cp /usr/bin/busybox r/bin/ && for a in sh cat ls echo touch true id stat; do ln -s busybox r/bin/$a; done && "
                      "echo of the image > r/etc/motd && echo secret > r/etc/shadow && chmod 644 r/etc/shadow"), 0);
    ::setenv("XDG_CACHE_HOME", (top_ + "/cache").c_str(), 1);
    LeakCheck::SetUp();
    policy_ = default_policy();
    policy_.limits.wall = std::chrono::seconds(90);
  }
  void TearDown() override {
    LeakCheck::TearDown();
    ::unsetenv("XDG_CACHE_HOME");
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }
  int command(const std::string& words) { return std::system(cat("cd ", top_, " && ", words).c_str()); }
  Result<Report> run(const std::string& image, const std::string& script, Request request = {}) {
    TRY_SET(auto settings, backends::Settings::parse({cat("vm.image=", image)}));
    TRY_SET(auto launcher, backends::open_vm({{}, true, settings}));
    request.argv = {"/bin/sh", "-c", script};
    return launcher->run(policy_, std::move(request));
  }
  static std::vector<std::string> images() { return files(backends::machine_roots(), ""); }
  static std::vector<std::string> states() { return files(backends::machine_cache(), ".state"); }
  static std::vector<std::string> files(const std::string& folder, std::string_view suffix) {
    std::vector<std::string> out;
    if (auto names = sys::list_dir(folder.c_str()); names.ok())
      for (const auto& name : names.value())
        if (name.ends_with(suffix)) out.push_back(name);
    return out;
  }
  std::string top_;
  Policy policy_;
};

TEST_F(VmRoot, AFolderBecomesTheRootAndNothingOfTheHostIsThere) {
  Request request;
  request.files.push_back({"in", std::string("given"), 0644});
  request.outputs = {"out"};
  auto r = run(top_ + "/r", "cat /etc/motd /work/in; ls /; ls /usr/bin /usr/lib; stat -c '%u %a' /etc/motd; for d in / /etc /usr; do (echo x > $d/new) && echo wrote $d; done; echo kept > /work/out; id -u", std::move(request));
  ASSERT_TRUE(r.ok()) << r.error().message;
  const Report& report = r.value();
  EXPECT_EQ(report.verdict.exit_code, 0) << report.err;
  EXPECT_TRUE(report.out.starts_with("of the image\ngiven")) << report.out;
  EXPECT_NE(report.out.find("0 644\n"), std::string::npos) << "its files are root's, whoever made the folder: " << report.out;
  for (auto name : {"boot", "lib64", "python", "wrote", "\nsys\n", "\nimage\n", "\nover\n"}) EXPECT_EQ(report.out.find(name), std::string::npos) << name << " in " << report.out;
  EXPECT_NE(report.err.find("Read-only file system"), std::string::npos) << report.err;
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].bytes, "kept\n");
  ASSERT_NE(report.enforcement.find(Layer::kRootfs), nullptr);
  EXPECT_EQ(report.enforcement.find(Layer::kRootfs)->status, LayerStatus::kFull) << report.enforcement.find(Layer::kRootfs)->detail;
  // Seconds later, which is how finely a file's times are often looked at.
  ::sleep(2);
  // The disk itself is no file of the program's.
  auto disk = run(top_ + "/r", "ls /dev; ls /image /over; cat /dev/vda");
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  EXPECT_EQ(disk.value().out.find("vda"), std::string::npos) << disk.value().out;
  EXPECT_NE(disk.value().err.find("/dev/vda"), std::string::npos);
  EXPECT_EQ(images().size(), 1u) << "the second came from the same image";
  EXPECT_EQ(states().size(), 1u) << "and from the same snapshot";
}

TEST_F(VmRoot, AFolderThatHasChangedIsAnotherImage) {
  auto first = run(top_ + "/r", "cat /etc/motd");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first.value().out, "of the image\n");
  ASSERT_EQ(command("echo of another > r/etc/motd"), 0);
  auto second = run(top_ + "/r", "cat /etc/motd");
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second.value().out, "of another\n");
}

TEST_F(VmRoot, ATarAndAnImageOfTheUsersOwnServeAsWell) {
  ASSERT_EQ(command("tar -C r -czf root.tar.gz . && mkfs.erofs --all-root own.erofs r >/dev/null 2>&1 && chmod 644 own.erofs root.tar.gz"), 0);
  for (auto name : {"/root.tar.gz", "/own.erofs"}) {
    auto r = run(top_ + name, "cat /etc/motd; exit 3");
    ASSERT_TRUE(r.ok()) << name << ": " << r.error().message;
    EXPECT_EQ(r.value().out, "of the image\n") << name;
    EXPECT_EQ(r.value().verdict.exit_code, 3) << name;
  }
  EXPECT_EQ(images().size(), 1u) << "the user's own is used where it lies";
}

TEST_F(VmRoot, GrantsAreShownBesideIt) {
  ASSERT_EQ(command("mkdir g && echo granted > g/f && chmod 755 g"), 0);
  policy_.filesystem.grants = {{top_ + "/g", Access::kRead, "--read"}};
  auto r = run(top_ + "/r", cat("cat ", top_, "/g/f /etc/motd; echo x > ", top_, "/g/f"));
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r.value().out, "granted\nof the image\n") << r.value().err;
  EXPECT_EQ(sys::read_file((top_ + "/g/f").c_str()).value(), "granted\n");
}

TEST_F(VmRoot, OfTheHostItHasTheGrantsAndNoMore) {
  ASSERT_EQ(command("mkdir g && echo granted > g/f && echo other > g/other"), 0);
  // The folder of a file would be shown with all that is in it.
  policy_.filesystem.grants = {{top_ + "/g/f", Access::kRead, "--read"}};
  auto file = run(top_ + "/r", "true");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("only folders can be granted"), std::string::npos) << file.error().message;
  policy_.filesystem.grants = {{"/tmp", Access::kRead, "--read"}};
  auto taken = run(top_ + "/r", "true");
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.error().message.find("a folder of the guest's own"), std::string::npos) << taken.error().message;
  // What lies in /etc is one like any other, and the image's own are still there.
  policy_.filesystem.grants = {{"/etc/alternatives", Access::kRead, "--read"}};
  auto etc = run(top_ + "/r", "ls /etc; ls /etc/alternatives | head -n 1 >/dev/null && echo there; ls /usr");
  ASSERT_TRUE(etc.ok()) << etc.error().message;
  EXPECT_EQ(etc.value().out, "alternatives\nmotd\nshadow\nthere\nshare\n") << etc.value().err;
}

TEST_F(VmRoot, ALinkOfTheImagesLeadsNowhere) {
  ASSERT_EQ(command("ln -s /cg/program r/tmp"), 0);
  auto r = run(top_ + "/r", "true");
  ASSERT_FALSE(r.ok()) << "what is mounted there would lie over what is ours";
  EXPECT_NE(r.error().message.find("the image: /tmp: "), std::string::npos) << r.error().message;
}

TEST_F(VmRoot, WhatIsNoRootFileSystemIsAnErrorOfOurs) {
  std::string damaged(1 << 20, 'x');
  const unsigned char magic[] = {0xe2, 0xe1, 0xf5, 0xe0};
  damaged.replace(1024, 4, reinterpret_cast<const char*>(magic), 4);
  std::ofstream(top_ + "/damaged") << damaged;
  std::ofstream(top_ + "/text") << "no archive";
  ASSERT_EQ(command("mkdir empty"), 0);
  struct Wrong {
    std::string image, says;
  };
  for (const auto& [image, says] : {Wrong{top_ + "/damaged", "the image: "}, Wrong{top_ + "/text", "vm.image: "}, Wrong{top_ + "/nowhere", "vm.image: "}, Wrong{"relative", "from the root"},
                                    Wrong{"/", "the host's own root"}}) {
    auto r = run(image, "true");
    ASSERT_FALSE(r.ok()) << image << ": never a verdict of the program";
    EXPECT_NE(r.error().message.find(says), std::string::npos) << image << ": " << r.error().message;
  }
  // An image without a shell is one all the same: that is the program's.
  auto r = run(top_ + "/empty", "true");
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r.value().verdict.exit_code, 127);
}

}  // namespace
}  // namespace hotcell
