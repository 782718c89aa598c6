// Files in and out of a cell: cp, ls, cat, write, move, remove, mkdir, stat, watch.
#include <sys/stat.h>

#include <filesystem>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

class Files : public Cells {
 protected:
  void SetUp() override {
    Cells::SetUp();
    create("work");
  }
  TempDir here_;
  std::string here(const std::string& name) const { return here_.path() + "/" + name; }
};

TEST_F(Files, AFileGoesInAndComesOut) {
  std::string bytes("bin\0ary\xff\n", 9);
  write_text(here("tool"), bytes, 0755);
  good({"cp", here("tool"), "work:tool"});
  EXPECT_EQ(sh("work", "stat -c '%a %s' tool"), "755 9\n");
  good({"cp", "work:tool", here("back")});
  EXPECT_EQ(read_text(here("back")), bytes);
  fs::create_directory(here("folder"));
  good({"cp", "work:tool", here("folder")});
  EXPECT_EQ(read_text(here("folder/tool")), bytes);
  good({"cp", here("tool"), "work:/tmp/"});
  EXPECT_EQ(sh("work", "ls /tmp"), "tool\n");
  EXPECT_FALSE(fs::exists(project() + "/tool"));
  refused({"cp", here("tool"), here("other")}, "one side is NAME:PATH");
  refused({"cp", here("folder"), "work:"}, "is a folder; cp -r copies it");
  refused({"cp", "work:none", here("none")}, "none: No such file or directory");
  EXPECT_FALSE(fs::exists(here("none")));
}

TEST_F(Files, AFolderGoesInAndComesOut) {
  fs::create_directories(here("tree/.hidden/deep"));
  write_text(here("tree/run.sh"), "#!/bin/sh\necho ran\n", 0755);
  write_text(here("tree/.hidden/deep/file"), "deep");
  fs::create_symlink("run.sh", here("tree/link"));
  good({"cp", "-r", here("tree"), "work:"});
  EXPECT_EQ(sh("work", "tree/link; cat tree/.hidden/deep/file; readlink tree/link"), "ran\ndeeprun.sh\n");
  fs::create_directory(here("out"));
  good({"cp", "-r", "work:tree", here("out")});
  EXPECT_EQ(read_text(here("out/tree/.hidden/deep/file")), "deep");
  EXPECT_EQ(fs::read_symlink(here("out/tree/link")), "run.sh");
  EXPECT_EQ(fs::status(here("out/tree/run.sh")).permissions(), fs::perms(0755));
  refused({"cp", "-r", "work:tree", here("nowhere")}, "the folder to copy into");
}

TEST_F(Files, FoldersOutOfACellCannotReachOutside) {
  fs::create_directory(here("out"));
  write_text(here("secret"), "untouched");
  // The control: a link that stays.
  sh("work", "mkdir good bad; echo x > good/f; ln -s f good/l; ln -s " + here("secret") + " bad/l");
  good({"cp", "-r", "work:good", here("out")});
  Called some = cell({"cp", "-r", "work:bad", here("out")});
  EXPECT_EQ(some.code, 1) << some.describe();
  EXPECT_EQ(some.err, "hotcell: bad/l: left out, a link that leads out of what is copied\n");
  EXPECT_FALSE(fs::exists(fs::symlink_status(here("out/bad/l"))));
  EXPECT_EQ(read_text(here("secret")), "untouched");
}

TEST_F(Files, LinksThatLeadOutAreLeftOutAndTheRestComes) {
  fs::create_directory(here("out"));
  write_text(here("out/mine"), "mine");
  // In any order the folder is read in, something comes after a link that leads out.
  sh("work", "mkdir -p tree/sub tree/other; echo x > tree/file; echo y > tree/sub/z; ln -s ../file tree/sub/up; ln -s sub tree/folder; ln -s none tree/dangling;"
             "for i in 1 2 3 4 5 6 7 8; do ln -s /etc/passwd tree/a$i; echo $i > tree/f$i; echo $i > tree/sub/f$i; done; ln -s ../mine tree/beside; ln -s ../../mine tree/sub/far");
  Called some = cell({"cp", "-r", "work:tree", here("out")});
  EXPECT_EQ(some.code, 1) << some.describe();
  EXPECT_EQ(some.out, "");
  std::size_t lines = 0;
  for (auto at = some.err.find("tree/"); at != some.err.npos; at = some.err.find("tree/", at + 1)) ++lines;
  EXPECT_EQ(lines, 5u) << some.err;
  EXPECT_NE(some.err.find("hotcell: and 5 more links that lead out of what is copied, 10 in all\n"), std::string::npos) << some.err;
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(read_text(here("out/tree/f" + std::to_string(i))), std::to_string(i) + "\n");
    EXPECT_EQ(read_text(here("out/tree/sub/f" + std::to_string(i))), std::to_string(i) + "\n");
    EXPECT_FALSE(fs::exists(fs::symlink_status(here("out/tree/a" + std::to_string(i)))));
  }
  EXPECT_EQ(fs::read_symlink(here("out/tree/sub/up")), "../file");
  EXPECT_EQ(fs::read_symlink(here("out/tree/folder")), "sub");
  EXPECT_EQ(fs::read_symlink(here("out/tree/dangling")), "none");
  EXPECT_TRUE(fs::is_directory(here("out/tree/other")));
  for (const char* name : {"beside", "sub/far"}) EXPECT_FALSE(fs::exists(fs::symlink_status(here("out/tree/") + name))) << name;
  EXPECT_EQ(read_text(here("out/mine")), "mine");
  // The whole workspace by its dot, where links between its entries stay.
  sh("work", "ln -s tree/file top");
  fs::create_directory(here("all"));
  EXPECT_EQ(cell({"cp", "-r", "work:.", here("all")}).code, 1);
  EXPECT_EQ(read_text(here("all/top")), "x\n");
}

TEST_F(Files, DevicesAndFifosAreNeitherReadNorWritten) {
  sh("work", "mkfifo pipe; ln -s /dev/zero zero; echo x > file; mkdir d");
  EXPECT_EQ(good({"cat", "work", "file"}), "x\n");
  refused({"cat", "work", "pipe"}, "is not a regular file");
  refused({"cat", "work", "zero"}, "is not a regular file");
  refused({"cat", "work", "d"}, "is a folder");
  Called write = cell({"write", "work", "zero"}, "x");
  EXPECT_EQ(write.code, 125) << write.describe();
  EXPECT_NE(write.err.find("is not a regular file"), std::string::npos);
}

TEST_F(Files, PathsAreThoseOfTheCell) {
  write_text(here("secret"), "zmxncbv");
  // Dots and links lead where they lead inside, never to the host's files.
  sh("work", "ln -s " + here("secret") + " out");
  refused({"cat", "work", "out"}, "No such file or directory");
  refused({"cat", "work", "../../../../../../.." + here("secret")}, "No such file or directory");
  refused({"cat", "work", "/etc/shadow"}, "No such file or directory");
  Called write = cell({"write", "work", "../etc/x"}, "x");
  EXPECT_EQ(write.code, 125);
  EXPECT_EQ(read_text(here("secret")), "zmxncbv");
}

TEST_F(Files, ListStatMoveRemoveAndMkdirWork) {
  put("old", "from the project");
  good({"mkdir", "work", "a/b/c"});
  EXPECT_EQ(good({"write", "work", "a/b/c/f"}, "content"), "");
  Json list = json({"ls", "work", "a/b/c"});
  ASSERT_EQ(list.size(""), 1u);
  EXPECT_EQ(list.text("0/name"), "f");
  EXPECT_EQ(list.text("0/type"), "file");
  EXPECT_EQ(list.text("0/size"), "7");
  EXPECT_EQ(list.text("0/mode"), "644");
  EXPECT_EQ(json({"stat", "work", "a"}).text("0/type"), "folder");
  good({"move", "work", "a/b/c/f", "moved"});
  EXPECT_EQ(good({"cat", "work", "moved"}), "content");
  good({"remove", "work", "moved"});
  refused({"stat", "work", "moved"}, "No such file or directory");
  refused({"remove", "work", "a"}, "Directory not empty");
  good({"remove", "work", "-r", "a"});
  good({"remove", "work", "old"});
  EXPECT_EQ(good({"ls", "work"}), "");
  EXPECT_EQ(in_project("old"), "from the project");
}

// Children go first: what cannot be removed by its name would be empty by the time that is found out.
TEST_F(Files, TheWorkspaceItselfIsNotEmptied) {
  sh("work", "mkdir -p d/e; echo kept > f; echo kept > d/e/g; ln -s /work w");
  for (const char* path : {".", "./", "./.", "..", "../work", "/", "//", "/work", "/work/", "/work/.", "d/..", "d/../", "d/../../work", "d/e/../..", "/work/../work"})
    for (bool deep : {true, false}) {
      Called called = deep ? cell({"remove", "work", path, "-r"}) : cell({"remove", "work", path});
      EXPECT_EQ(called.code, 125) << path << called.describe();
      EXPECT_EQ(called.err.find("Invalid argument"), std::string::npos) << path << called.describe();
      EXPECT_EQ(sh("work", "cat f d/e/g; readlink w"), "kept\nkept\n/work\n") << path;
    }
  good({"remove", "work", "d/../d/e", "-r"});
  good({"remove", "work", "w", "-r"});
  EXPECT_EQ(sh("work", "ls"), "d\nf\n");
}

TEST_F(Files, AWriteIsWholeOrNotThere) {
  create("small", {"--disk", "1M"});
  good({"write", "small", "f"}, "first");
  Called much = cell({"write", "small", "f"}, std::string(3 << 20, 'x'));
  EXPECT_EQ(much.code, 125) << much.describe();
  EXPECT_EQ(good({"cat", "small", "f"}), "first");
  EXPECT_EQ(good({"ls", "small"}).find("hotcell-"), std::string::npos) << "nothing half made";
}

TEST_F(Files, LargeFilesStreamThrough) {
  create("large", {"--disk", "64M"});
  std::string text;
  for (int i = 0; text.size() < (8u << 20); ++i) text += std::to_string(i) + "\n";
  good({"write", "large", "big"}, text);
  EXPECT_EQ(good({"cat", "large", "big"}), text);
}

TEST_F(Files, ChangesAreToldAsTheyHappen) {
  sh("work", "mkdir -p d/sub; echo x > d/old");
  Call watch(cell_words({"watch", "work", "d", "--json"}));
  ASSERT_TRUE(watch.wait_for_output("\"ready\""));
  sh("work", "echo 1 > d/new; mv d/new d/sub/moved; rm d/old; mkdir d/later");
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"created\",\"path\":\"/work/d/new\"}"));
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"written\",\"path\":\"/work/d/new\"}"));
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"moved-from\",\"path\":\"/work/d/new\"}"));
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"moved-to\",\"path\":\"/work/d/sub/moved\"}"));
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"removed\",\"path\":\"/work/d/old\"}"));
  EXPECT_TRUE(watch.wait_for_output("{\"change\":\"created\",\"path\":\"/work/d/later\"}"));
  sh("work", "echo 2 > d/later/inside");
  EXPECT_TRUE(watch.wait_for_output("/work/d/later/inside\"}")) << "folders made meanwhile are watched, too";
  watch.send(SIGTERM);
  watch.finish();
}

}  // namespace
}  // namespace hotcell::testing
