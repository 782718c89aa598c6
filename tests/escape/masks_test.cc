// Denied names while other things happen to them: a second cell that denies the same, a process of the host.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

// Waits for a byte on stdin, then tries to take the name that did not exist.
HOTCELL_PROGRAM(take_unborn) {
  ::dprintf(1, "up\n");
  char byte;
  if (::read(0, &byte, 1) != 0) return 2;
  int fd = ::open(scene_path("rw/unborn").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  ::dprintf(1, "answer %d\n", fd >= 0 ? 0 : errno);
  return 0;
}
HOTCELL_PROGRAM(read_env_file) {
  ::dprintf(1, "up\n");
  char byte;
  if (::read(0, &byte, 1) != 0) return 2;
  int fd = ::open(scene_path("ro/.env").c_str(), O_RDONLY);
  ::dprintf(1, "answer %d\n", fd >= 0 ? 0 : errno);
  return 0;
}

class Masks : public SceneTest {
 protected:
  // Starts `name` and returns when it is up; it goes on when `go` is closed.
  struct Held {
    int go[2] = {-1, -1};
    bool up = false;
    std::optional<Report> report;
  };
  void hold(const char* name, Held& held) {
    ASSERT_EQ(::pipe2(held.go, O_CLOEXEC), 0);
    Request request = program(name, scene_->env("/work"));
    request.stdin_source = StdinFd{held.go[0]};
    request.on_output = [&](Stream, std::string_view) { held.up = true; };
    auto started = launcher().start(scene_->policy(), std::move(request), [&](RunId, Result<Report> r) {
      ASSERT_TRUE(r.ok()) << r.error().message;
      held.report = std::move(r).value();
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    for (int i = 0; i < 1000 && !held.up; ++i) ASSERT_TRUE(launcher().step(std::chrono::milliseconds(10)).ok());
    ASSERT_TRUE(held.up);
  }
  void finish(Held& held) {
    ::close(held.go[1]);
    for (int i = 0; i < 1000 && !held.report; ++i) ASSERT_TRUE(launcher().step(std::chrono::milliseconds(10)).ok());
    ::close(held.go[0]);
    ASSERT_TRUE(held.report.has_value());
  }
};

TEST_F(Masks, ACellThatEndsDoesNotTakeAnothersPlaceholderAlong) {
  Held first, second;
  hold("take_unborn", first);
  hold("take_unborn", second);
  finish(first);
  EXPECT_NE(first.report->out.find("answer 17"), std::string::npos) << describe(*first.report);
  EXPECT_EQ(::access(scene_->path("rw/unborn").c_str(), F_OK), 0) << "the second cell still needs it";
  finish(second);
  EXPECT_NE(second.report->out.find("answer 17"), std::string::npos) << describe(*second.report);
  EXPECT_EQ(layer_status(*second.report, Layer::kRootfs), LayerStatus::kFull);
  for (int i = 0; i < 200 && ::access(scene_->path("rw/unborn").c_str(), F_OK) == 0; ++i)
    ASSERT_TRUE(launcher().step(std::chrono::milliseconds(10)).ok());
  EXPECT_NE(::access(scene_->path("rw/unborn").c_str(), F_OK), 0) << "and nobody after it";
}

// A mask sits on a file, not on a name. What a process of the host does to the file cannot be undone, but it is told.
TEST_F(Masks, AMaskThatTheHostTookAwayIsReported) {
  Held kept;
  hold("read_env_file", kept);
  finish(kept);
  EXPECT_NE(kept.report->out.find("answer 13"), std::string::npos) << describe(*kept.report);
  EXPECT_EQ(layer_status(*kept.report, Layer::kRootfs), LayerStatus::kFull);
  Held lost;
  hold("read_env_file", lost);
  write_text(scene_->path("new"), "the host's editor saves by rename\n");
  std::filesystem::rename(scene_->path("new"), scene_->path("ro/.env"));
  finish(lost);
  const LayerReport* rootfs = lost.report->enforcement.find(Layer::kRootfs);
  ASSERT_NE(rootfs, nullptr);
  EXPECT_EQ(rootfs->status, LayerStatus::kPartial) << describe(*lost.report);
  EXPECT_NE(rootfs->detail.find("ro/.env"), std::string::npos) << rootfs->detail;
}

}  // namespace
}  // namespace hotcell::testing
