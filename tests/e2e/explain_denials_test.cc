// --explain-denials: the files that a cell hid or protected, by name, with the flag that would grant each.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

std::string given(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

int try_open(int dir, const std::string& path, int flags = O_RDONLY) {
  int fd = ::openat(dir, path.c_str(), flags, 0644);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

HOTCELL_PROGRAM(open_often) {
  int opened = 0;
  for (int i = 0; i < 10000; ++i) opened += try_open(AT_FDCWD, "/etc/passwd") == 0;
  int refused = try_open(AT_FDCWD, given("HIDDEN"));
  std::printf("%d opened, hidden: %d\n", opened, refused);
  return 0;
}

HOTCELL_PROGRAM(open_in_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) try_open(AT_FDCWD, given("HIDDEN") + std::to_string(t));
    });
  for (auto& t : threads) t.join();
  return 0;
}

HOTCELL_PROGRAM(open_by_descriptor) {
  int dir = ::open(given("SHOWN").c_str(), O_RDONLY | O_DIRECTORY);
  if (dir < 0 || ::chdir("/usr/lib") != 0) return 1;
  if (try_open(dir, "../hidden/by-descriptor") != ENOENT) return 2;
  if (::fchdir(dir) != 0) return 3;
  return try_open(AT_FDCWD, "../hidden/by-folder") == ENOENT ? 0 : 4;
}

// Nothing that its cell refuses: names that are nowhere, folders that are there already, files of its own.
HOTCELL_PROGRAM(behave) {
  struct stat st;
  ::stat("/no/such/name", &st);
  ::mkdir("/usr", 0755);
  ::mkdir("/work/new", 0755);
  try_open(AT_FDCWD, "/tmp/own", O_WRONLY | O_CREAT);
  ::unlink("/tmp/own");
  return try_open(AT_FDCWD, "/dev/null", O_WRONLY) + try_open(AT_FDCWD, "/dev/stdout", O_WRONLY);
}

HOTCELL_PROGRAM(plant) {
  int fd = ::open("/work/set-id", O_CREAT | O_WRONLY, 04755);
  std::printf("set-id %d, ", fd < 0 ? errno : 0);
  std::printf("mkdir %d, ", ::mkdir("/work/folder", 0755) < 0 ? errno : 0);
  std::printf("denied %d, ", try_open(AT_FDCWD, given("DENIED")));
  std::printf("hidden %d\n", try_open(AT_FDCWD, given("HIDDEN")));
  return 0;
}

class ExplainDenials : public E2e {
 protected:
  void SetUp() override {
    E2e::SetUp();
    for (const char* folder : {"/hidden", "/shown"}) ::mkdir((dir_.path() + folder).c_str(), 0755);
    for (const char* file :
         {"/hidden/key", "/hidden/by-descriptor", "/hidden/by-folder", "/shown/file", "/shown/denied"})
      write_text(dir_.path() + file, "text of the host");
  }
  std::string path(const std::string& name) const { return dir_.path() + "/" + name; }

  // The run's own program is the test itself, which sees what the flags show and nothing else.
  Json report(std::vector<std::string> flags, const std::string& name, std::vector<std::string> env = {}) {
    std::vector<std::string> args = {"run", "--json"};
    for (auto& f : flags) args.push_back(f);
    for (auto& e : env) args.insert(args.end(), {"--env", e});
    args.insert(args.end(), {"--", self_path(), "--program=" + name});
    auto called = hotcell(args);
    EXPECT_EQ(called.code, 0) << called.describe();
    return Json(called.out);
  }
  // "layer fix (count)" of the denial of this path; empty when there is none.
  static std::string denial(const Json& json, const std::string& path) {
    for (std::size_t i = 0; i < json.size("denials"); ++i) {
      std::string at = "denials/" + std::to_string(i);
      if (json.text(at + "/path") == path)
        return json.text(at + "/layer") + " " + json.text(at + "/fix") + " (" + json.text(at + "/count") + ")";
    }
    return {};
  }

  TempDir dir_;
};

TEST_F(ExplainDenials, AHiddenFileIsNamedAndItsFixWorks) {
  const std::string key = path("hidden/key");
  const std::vector<std::string> cat = {"--", "/bin/cat", key};
  std::vector<std::string> args = {"run", "--json", "--explain-denials"};
  args.insert(args.end(), cat.begin(), cat.end());
  auto called = hotcell(args);
  EXPECT_EQ(called.code, 1) << called.describe();
  Json json(called.out);
  EXPECT_EQ(denial(json, key), "rootfs --read " + key + " (1)") << called.out;
  EXPECT_EQ(json.text("denials_complete"), "true");

  args = {"run", "--json", "--explain-denials", "--read", key};
  args.insert(args.end(), cat.begin(), cat.end());
  called = hotcell(args);
  EXPECT_EQ(called.code, 0) << called.describe();
  Json allowed(called.out);
  EXPECT_EQ(allowed.text("stdout"), "text of the host");
  EXPECT_EQ(denial(allowed, key), "");

  args = {"run", "--explain-denials"};
  args.insert(args.end(), cat.begin(), cat.end());
  called = hotcell(args);
  EXPECT_NE(
      called.err.find("openat(" + key + "): it is on the host and not shown to the cell; to allow it: --read " + key),
      std::string::npos)
      << called.err;
}

TEST_F(ExplainDenials, WithoutTheOptionNoFileIsListed) {
  auto called = hotcell({"run", "--json", "--", "/bin/cat", path("hidden/key")});
  EXPECT_EQ(called.code, 1);
  Json json(called.out);
  EXPECT_EQ(json.size("denials"), 0u) << called.out;
  EXPECT_EQ(json.text("denials_complete"), "false");
}

TEST_F(ExplainDenials, TenThousandOpensGoOn) {
  Json json = report({"--explain-denials"}, "open_often", {"HIDDEN=" + path("hidden/key")});
  EXPECT_EQ(json.text("stdout"), "10000 opened, hidden: " + std::to_string(ENOENT) + "\n");
  EXPECT_EQ(denial(json, path("hidden/key")), "rootfs --read " + path("hidden/key") + " (1)");
}

TEST_F(ExplainDenials, ThreadsAreAllHeard) {
  for (int t = 0; t < 8; ++t) write_text(path("hidden/key") + std::to_string(t), "");
  Json json = report({"--explain-denials"}, "open_in_threads", {"HIDDEN=" + path("hidden/key")});
  for (int t = 0; t < 8; ++t) {
    std::string name = path("hidden/key") + std::to_string(t);
    EXPECT_EQ(denial(json, name), "rootfs --read " + name + " (100)");
  }
  EXPECT_EQ(json.text("denials_complete"), "true");
}

TEST_F(ExplainDenials, NamesBelowAFolderAreMadeWhole) {
  Json json = report({"--explain-denials", "--read", path("shown")}, "open_by_descriptor", {"SHOWN=" + path("shown")});
  for (const char* name : {"hidden/by-descriptor", "hidden/by-folder"})
    EXPECT_EQ(denial(json, path(name)), "rootfs --read " + path(name) + " (1)") << name;
}

TEST_F(ExplainDenials, WritingToWhatIsReadOnly) {
  const std::string script = "echo x >> " + path("shown/file") + "; echo x > " + path("shown/new") + "; echo x > " +
                             path("hidden/new") + "; exit 0";
  auto called = hotcell({"run", "--json", "--explain-denials", "--read", path("shown"), "--", "/bin/sh", "-c", script});
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(denial(json, path("shown/file")), "rootfs --write " + path("shown/file") + " (1)");
  EXPECT_EQ(denial(json, path("shown/new")), "rootfs --write " + path("shown") + " (1)");
  // Under /tmp it is the cell's own /tmp that lacks the folder; this one is told as a folder that is not shown.
  EXPECT_EQ(read_text(path("shown/file")), "text of the host");
}

TEST_F(ExplainDenials, NothingIsReportedOfAProgramThatWantsNothing) {
  Json json = report({"--explain-denials"}, "behave");
  EXPECT_EQ(json.size("denials"), 0u) << json.text("denials");
  EXPECT_EQ(json.text("denials_complete"), "true");
}

TEST_F(ExplainDenials, ADenialStaysADenial) {
  const std::string profile = path("profile.yaml");
  write_text(profile, "name: no-folders\nextends: default\nsyscalls: {deny: [mkdir, mkdirat]}\n");
  std::vector<std::string> flags = {"--explain-denials", "--profile", profile, "--read", path("shown"), "--deny",
                                    path("shown/denied")};
  std::vector<std::string> env = {"DENIED=" + path("shown/denied"), "HIDDEN=" + path("hidden/key")};
  Json json = report(flags, "plant", env);
  const std::string perm = std::to_string(EPERM);
  EXPECT_EQ(json.text("stdout"), "set-id " + perm + ", mkdir " + perm + ", denied " + std::to_string(EACCES) +
                                     ", hidden " + std::to_string(ENOENT) + "\n");
  EXPECT_EQ(denial(json, path("shown/denied")), "rootfs  (1)") << "what is denied has no fix";
  bool mkdir_recorded = false;
  for (std::size_t i = 0; i < json.size("denials"); ++i)
    mkdir_recorded |= json.text("denials/" + std::to_string(i) + "/syscall") == "mkdir";
  EXPECT_TRUE(mkdir_recorded) << json.text("denials");
}

TEST_F(ExplainDenials, WithoutNamespacesItIsLandlockThatRefuses) {
  const std::string key = path("hidden/key");
  auto called = hotcell({"run", "--json", "--backend", "landlock", "--explain-denials", "--", "/bin/cat", key});
  EXPECT_EQ(called.code, 1) << called.describe();
  Json json(called.out);
  EXPECT_EQ(denial(json, key), "landlock --read " + key + " (1)") << called.out;
}

}  // namespace
}  // namespace hotcell::testing
