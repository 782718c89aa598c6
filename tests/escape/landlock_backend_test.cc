// The `landlock` backend: no namespaces, so Landlock, seccomp and rlimits stand alone, and say so.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

int tried(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags, 0644);
  int err = errno;
  if (fd >= 0) ::close(fd);
  return fd >= 0 ? 0 : err;
}

HOTCELL_PROGRAM(flat_attacks) {
  auto say = [](const char* what, int err) { ::dprintf(1, "%s %d\n", what, err); };
  say("read", tried(scene_path("secret"), O_RDONLY));
  say("write", tried(scene_path("ro/file"), O_WRONLY));
  say("make", tried(scene_path("private/x"), O_WRONLY | O_CREAT));
  say("granted", tried(scene_path("rw/file"), O_RDWR));
  say("work", tried("own", O_WRONLY | O_CREAT));
  say("truncate", result_of(::truncate(scene_path("ro/file").c_str(), 0)));
  say("signal", result_of(::kill(scene_number("S_PID"), 0)));
  say("inet", result_of(::socket(AF_INET, SOCK_STREAM, 0)));
  say("userns", result_of(::unshare(CLONE_NEWUSER)));
  say("suid", result_of(::chmod("own", 04755)));
  return 0;
}
HOTCELL_PROGRAM(flat_daemon) {
  for (int i = 0; i < 3; ++i)
    if (::fork() == 0) {
      ::setsid();
      if (::fork() != 0) ::_exit(0);
      for (;;) ::pause();
    }
  ::usleep(50000);
  return 0;
}

class LandlockBackend : public SceneTest {
 protected:
  void SetUp() override {
    SceneTest::SetUp();
    LauncherOptions options;
    options.backend = "landlock";
    auto made = Launcher::create(options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
    policy_ = scene_->policy();
    policy_.filesystem.deny.clear();  // Landlock cannot take away below what it grants; see below
    // As root the program has an id of its own and no mount maps the caller's files to it.
    ::chmod(scene_->path("rw/file").c_str(), 0666);
    policy_.limits.processes = 200;  // here they are counted with everything else of this user
  }
  void TearDown() override {
    launcher_.reset();
    SceneTest::TearDown();
  }
  Report flat(const std::string& name) {
    auto r = launcher_->run(policy_, program(name, scene_->env("")));
    if (r.ok()) return std::move(r).value();
    ADD_FAILURE() << r.error().message;
    return {};
  }
  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_F(LandlockBackend, FilesSignalsAndSocketsAreRefused) {
  Report r = flat("flat_attacks");
  EXPECT_EQ(r.out, "read 13\nwrite 13\nmake 13\ngranted 0\nwork 0\ntruncate 13\nsignal 1\ninet 1\nuserns 1\nsuid 1\n")
      << describe(r);
  EXPECT_EQ(read_text(scene_->path("ro/file")), "host secret\n");
}

TEST_F(LandlockBackend, WhatIsMissingIsSaid) {
  Report r = flat("flat_attacks");
  EXPECT_EQ(r.enforcement.backend, "landlock");
  for (Layer layer : {Layer::kUserNs, Layer::kPidNs, Layer::kMountNs, Layer::kRootfs})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::kNone) << to_string(layer);
  for (Layer layer : {Layer::kLandlock, Layer::kSeccomp, Layer::kNoNewPrivs, Layer::kRlimits})
    EXPECT_EQ(layer_status(r, layer), LayerStatus::kFull) << to_string(layer);
  EXPECT_EQ(layer_status(r, Layer::kNetNs), LayerStatus::kPartial);
}

TEST_F(LandlockBackend, DaemonsDieWithTheProgramWithoutAPidNamespace) {
  Report r = flat("flat_daemon");
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  std::size_t alive = 0;
  for (const auto& path : matches("/proc/[0-9]*/cmdline"))
    alive += read_text(path).find("--program=flat_daemon") != std::string::npos;
  EXPECT_EQ(alive, 0u);
}

TEST_F(LandlockBackend, WhatItCannotEnforceIsRefused) {
  policy_.filesystem.deny.push_back({scene_->path("rw/sub/denied"), "--deny"});
  auto denied = launcher_->run(policy_, program("flat_attacks"));
  ASSERT_FALSE(denied.ok());
  EXPECT_NE(denied.error().message.find("rw/sub/denied"), std::string::npos) << denied.error().message;
  policy_.filesystem.deny.clear();
  policy_.filesystem.grants.push_back({scene_->path("rw/sub"), Access::kRead, "--read"});
  auto inside = launcher_->run(policy_, program("flat_attacks"));
  ASSERT_FALSE(inside.ok());
  EXPECT_NE(inside.error().message.find("rw/sub"), std::string::npos) << inside.error().message;
}

}  // namespace
}  // namespace hotcell::testing
