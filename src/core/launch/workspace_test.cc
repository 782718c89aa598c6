#include "core/launch/workspace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace hotcell {
namespace {

class Workspace : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/hotcell-workspace-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    dir_ = name;
    ::chmod(name, 0755);
  }
  void TearDown() override { remove_flat_workspace(dir_); }
  static unsigned mode_of(const std::string& path) {
    struct stat st {};
    EXPECT_EQ(::stat(path.c_str(), &st), 0) << path;
    return st.st_mode & 07777;
  }
  std::string make(const std::string& name, unsigned mode) {
    std::string path = dir_ + "/" + name;
    ::close(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::string dir_;
};

TEST_F(Workspace, LinksInItAreRemovedAndNotFollowed) {
  std::string target = make("host-file", 0640);
  std::string work = dir_ + "/work";
  ASSERT_EQ(::mkdir(work.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((work + "/sub").c_str(), 0700), 0);
  ASSERT_EQ(::symlink(target.c_str(), (work + "/sub/link").c_str()), 0);
  ASSERT_EQ(::symlink(dir_.c_str(), (work + "/folder-link").c_str()), 0);
  ::chmod((work + "/sub").c_str(), 0);
  remove_flat_workspace(work);
  EXPECT_NE(::access(work.c_str(), F_OK), 0);
  EXPECT_EQ(mode_of(target), 0640u);
}

// Where a link cannot be unlinked (another user's, in a sticky folder), its target must not be touched instead.
TEST_F(Workspace, ALinkThatCannotBeRemovedDoesNotLeadToItsTarget) {
  if (::geteuid() != 0) return;  // it takes a second user to make such a link
  constexpr unsigned kSomebody = 65534;
  std::string target = make("host-file", 0640);
  ASSERT_EQ(::chown(target.c_str(), kSomebody, kSomebody), 0);
  std::string work = dir_ + "/work";
  ASSERT_EQ(::mkdir(work.c_str(), 0700), 0);
  for (const auto& own : {dir_, work}) ASSERT_EQ(::chown(own.c_str(), kSomebody, kSomebody), 0);
  ASSERT_EQ(::mkdir((work + "/sticky").c_str(), 0700), 0);
  ::chmod((work + "/sticky").c_str(), 01777);
  ASSERT_EQ(::symlink(target.c_str(), (work + "/sticky/link").c_str()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(kSomebody, kSomebody, kSomebody) != 0 || ::setresuid(kSomebody, kSomebody, kSomebody) != 0) ::_exit(1);
    remove_flat_workspace(work);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(mode_of(target), 0640u);
}

TEST_F(Workspace, FoldersDeeperThanThereAreDescriptorsGoToo) {
  std::string work = dir_ + "/work";
  ASSERT_EQ(::mkdir(work.c_str(), 0700), 0);
  int at = ::open(work.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(::mkdirat(at, "d", 0700), 0) << i;
    int next = ::openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = next;
  }
  ::close(at);
  pid_t child = ::fork();
  if (child == 0) {
    rlimit few{200, 200};
    ::setrlimit(RLIMIT_NOFILE, &few);
    remove_flat_workspace(work);
    ::_exit(::access(work.c_str(), F_OK) == 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the folder is still there";
}

}  // namespace
}  // namespace hotcell
