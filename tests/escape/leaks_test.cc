// LK: what a cell learns of the host, of other cells, and what it leaves in granted folders.
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>

#include "escape/escape.h"

extern char** environ;

namespace hotcell::testing {
namespace {

HOTCELL_PROGRAM(print_environment) {
  for (char** e = environ; *e != nullptr; ++e) ::dprintf(1, "%s\n", *e);
  return 0;
}
// errno for each way into pid 1; what can be read is printed.
HOTCELL_PROGRAM(look_into_init) {
  for (const char* entry :
       {"mem", "environ", "maps", "exe", "root", "cwd", "fd", "cmdline", "auxv", "stack", "io", "map_files"}) {
    std::string path = std::string("/proc/1/") + entry;
    int fd = ::open(path.c_str(), O_RDONLY);
    std::string text;
    if (fd >= 0) {
      char buffer[4096];
      ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n > 0) text.assign(buffer, static_cast<std::size_t>(n));
      if (n < 0) text = "unreadable";
      ::close(fd);
    } else {
      text = errno == EACCES || errno == EPERM ? "refused" : errno == ENOENT ? "absent" : ::strerror(errno);
    }
    ::dprintf(1, "%s=%s\n", entry, text.c_str());
  }
  return 0;
}
HOTCELL_PROGRAM(try_proc_entries) {
  std::istringstream names(::getenv("NAMES"));
  for (std::string name; names >> name;) {
    int fd = ::open(("/proc/" + name).c_str(), O_RDONLY);
    if (fd >= 0 || errno != EACCES) ::dprintf(1, "%s: %s\n", name.c_str(), fd >= 0 ? "open" : ::strerror(errno));
  }
  return 0;
}
HOTCELL_PROGRAM(who_am_i) {
  utsname names{};
  ::uname(&names);
  char cwd[256] = {};
  (void)!::getcwd(cwd, sizeof cwd);
  passwd* me = ::getpwuid(::getuid());
  ::dprintf(1, "%d %d %s %s %s %s\n", ::getuid(), ::getgid(), me ? me->pw_name : "?", names.nodename, cwd,
            ::getenv("HOME"));
  return 0;
}
HOTCELL_PROGRAM(print_identity_files) {
  for (const char* path : {"/etc/passwd", "/etc/group", "/etc/hosts", "/proc/self/cgroup", "/etc/machine-id",
                           "/proc/sys/kernel/random/boot_id"})
    ::dprintf(1, "%s", read_text(path).c_str());
  return 0;
}
HOTCELL_PROGRAM(leave_files) {
  for (const char* path : {"/work/mark", "/tmp/mark", "/dev/shm/mark"}) {
    if (::access(path, F_OK) == 0) return 2;
    if (::open(path, O_WRONLY | O_CREAT, 0666) < 0) return 3;
  }
  ::dprintf(1, "made\n");
  char byte;
  return ::read(0, &byte, 1) == 0 ? 0 : 4;
}
HOTCELL_PROGRAM(write_in_grant) {
  int fd = ::open(scene_path("rw/made").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  return fd >= 0 && ::write(fd, "by the cell\n", 12) == 12 && ::mkdir(scene_path("rw/folder").c_str(), 0755) == 0 ? 0
                                                                                                                  : 1;
}
HOTCELL_PROGRAM(list_top) {
  DIR* dir = ::opendir("/");
  std::set<std::string> names;
  while (dirent* e = ::readdir(dir)) names.insert(e->d_name);
  for (const auto& n : names) ::dprintf(1, "%s ", n.c_str());
  return 0;
}

class Leaks : public SceneTest {
 protected:
  std::string refused(const Policy& policy) {
    auto r = launcher().run(policy, program("who_am_i"));
    return r.ok() ? "it ran" : r.error().message;
  }
};

TEST_F(Leaks, TheEnvironmentIsMadeNotInherited) {
  ::setenv("SECRET_TOKEN", "hunter2", 1);
  ::setenv("LD_PRELOAD_X", "hunter2", 1);
  Request request = program("print_environment", {{"MINE", "yes"}});
  Report r = run(std::move(request));
  ::unsetenv("SECRET_TOKEN");
  ::unsetenv("LD_PRELOAD_X");
  EXPECT_EQ(r.out.find("hunter2"), std::string::npos);
  std::set<std::string> names;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.find('=')));
  EXPECT_EQ(names, (std::set<std::string>{"PATH", "HOME", "TMPDIR", "LANG", "USER", "HOTCELL_ID", "MINE"})) << r.out;
  EXPECT_NE(r.out.find("HOTCELL_ID=" + r.id + "\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("LANG=C.UTF-8\n"), std::string::npos);
}

TEST_F(Leaks, NothingOfTheLauncherIsBehindPidOne) {
  ::setenv("SECRET_TOKEN", "hunter2", 1);
  Report r = run(program("look_into_init"));
  ::unsetenv("SECRET_TOKEN");
  EXPECT_EQ(r.out.find("hunter2"), std::string::npos) << r.out;
  for (const char* entry : {"mem", "environ", "maps", "exe", "root", "cwd", "fd", "auxv", "map_files"})
    EXPECT_NE(r.out.find(std::string(entry) + "=refused\n"), std::string::npos) << entry << " in:\n" << r.out;
  // The command line is for everybody to read: it holds nothing but an empty name.
  std::string empty = "cmdline=";
  auto at = r.out.find(empty);
  ASSERT_NE(at, std::string::npos) << r.out;
  EXPECT_TRUE(r.out[at + empty.size()] == '\n' || r.out[at + empty.size()] == '\0') << r.out;
  EXPECT_EQ(r.out.find(self_path()), std::string::npos) << "the launcher's path shows";
}

TEST_F(Leaks, EveryTellingProcEntryOfThisKernelIsMasked) {
  std::string names;
  for (const char* name : {"kcore",       "keys",          "key-users",
                           "kmsg",        "kallsyms",      "timer_list",
                           "config.gz",   "cmdline",       "locks",
                           "modules",     "iomem",         "interrupts",
                           "sched_debug", "latency_stats", "sys/kernel/random/boot_id",
                           "acpi",        "bus",           "driver",
                           "fs",          "irq",           "scsi",
                           "pressure"})
    if (::access((std::string("/proc/") + name).c_str(), F_OK) == 0) names += std::string(name) + " ";
  EXPECT_NE(names.find("kallsyms"), std::string::npos) << "is this a Linux?";
  Report r = run(program("try_proc_entries", {{"NAMES", names}}));
  EXPECT_EQ(r.out, "") << "of " << names;
  EXPECT_EQ(r.verdict.exit_code, 0);
}

TEST_F(Leaks, TheProgramIsTheUserCell) {
  Report r = run(program("who_am_i"));
  EXPECT_EQ(r.out, "1000 1000 cell cell /work /work\n") << describe(r);
}

TEST_F(Leaks, AccountsNamesAndGroupsOfTheHostDoNotShow) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  Report r = run(program("print_identity_files"));
  EXPECT_EQ(r.verdict.exit_code, 0);
  for (const std::string& telling :
       {std::string("hotcell-test"), std::string("daemon"), std::string("/hotcell/"), std::string(host),
        first_line("/etc/machine-id"), first_line("/proc/sys/kernel/random/boot_id")}) {
    if (telling.empty() || telling == "localhost") continue;
    EXPECT_EQ(r.out.find(telling), std::string::npos) << telling << " shows in:\n" << r.out;
  }
}

TEST_F(Leaks, TheRootShowsOnlyWhatWasPromised) {
  Report r = run(default_policy(), [] {
    Request request;
    request.argv = {"/bin/ls", "-A", "/"};
    return request;
  }());
  std::istringstream words(r.out);
  std::set<std::string> allowed = {"bin",  "dev", "etc",  "lib", "lib32", "lib64", "libx32",
                                   "proc", "run", "sbin", "tmp", "usr",   "var",   "work"};
  for (std::string name; words >> name;) EXPECT_TRUE(allowed.contains(name)) << name;
  EXPECT_NE(r.out.find("work"), std::string::npos) << describe(r);
}

TEST_F(Leaks, CellsAtTheSameTimeAndAfterEachOtherShareNoFiles) {
  int hold[2];
  ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
  int ended = 0, made = 0;
  for (int i = 0; i < 2; ++i) {
    Request request = program("leave_files");
    request.stdin_source = StdinFd{hold[0]};
    request.on_output = [&](Stream, std::string_view) { ++made; };
    auto started = launcher().start(test_policy(), std::move(request), [&](RunId, Result<Report> r) {
      ++ended;
      ASSERT_TRUE(r.ok());
      EXPECT_EQ(r.value().verdict.exit_code, 0) << describe(r.value());
    });
    ASSERT_TRUE(started.ok());
  }
  for (int i = 0; i < 1000 && made < 2 && ended == 0; ++i)
    ASSERT_TRUE(launcher().step(std::chrono::milliseconds(10)).ok());
  EXPECT_EQ(made, 2);
  ::close(hold[1]);
  while (ended < 2) ASSERT_TRUE(launcher().step(std::chrono::milliseconds(100)).ok());
  ::close(hold[0]);
  EXPECT_EQ(run(program("leave_files")).verdict.exit_code, 0) << "a later cell finds what an earlier one left";
}

TEST_F(Leaks, WhatIsWrittenInAGrantBelongsToTheCaller) {
  Report r = run(scene_->policy(), program("write_in_grant", scene_->env("/work")));
  ASSERT_EQ(r.verdict.exit_code, 0) << describe(r);
  for (const char* name : {"rw/made", "rw/folder"}) {
    struct stat st {};
    ASSERT_EQ(::lstat(scene_->path(name).c_str(), &st), 0) << name;
    EXPECT_EQ(st.st_uid, ::geteuid()) << name;
    EXPECT_EQ(st.st_gid, ::getegid()) << name;
    EXPECT_EQ(st.st_mode & 07000, 0u) << name;
  }
}

TEST_F(Leaks, ADeniedNameThatDidNotExistDoesNotExistAfterwards) {
  Report r = run(scene_->policy(), program("who_am_i"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_NE(::access(scene_->path("rw/unborn").c_str(), F_OK), 0);
}

TEST_F(Leaks, GlobsMaskEveryMatchInAReadOnlyGrant) {
  Policy policy = test_policy();
  ::mkdir(scene_->path("ro/sub").c_str(), 0755);
  write_text(scene_->path("ro/sub/.env"), "TOKEN=hunter2");
  policy.filesystem.grants.push_back({scene_->path("ro"), Access::kRead, ""});
  policy.filesystem.deny.push_back({"**/.env", ""});
  Request request =
      shell("cat " + scene_->path("ro/.env") + " " + scene_->path("ro/sub/.env") + "; cat " + scene_->path("ro/file"));
  Report r = run(policy, std::move(request));
  EXPECT_EQ(r.out, "host secret\n") << describe(r);
  EXPECT_NE(r.err.find("Permission denied"), std::string::npos);
}

TEST_F(Leaks, APolicyThatCannotBeEnforcedIsRefusedByName) {
  Policy policy = test_policy();
  policy.filesystem.grants.push_back({scene_->path("rw"), Access::kWrite, "--write"});
  policy.filesystem.deny.push_back({"**/.env", "--deny"});
  EXPECT_NE(refused(policy).find("**/.env"), std::string::npos) << refused(policy);

  ASSERT_EQ(::symlink("/etc/shadow", scene_->path("rw/link").c_str()), 0);
  policy.filesystem.deny = {{scene_->path("rw/link"), "--deny"}};
  EXPECT_NE(refused(policy).find("symlink"), std::string::npos) << refused(policy);

  policy = test_policy();
  policy.filesystem.grants.push_back({scene_->path("missing"), Access::kRead, "--read"});
  EXPECT_NE(refused(policy).find(scene_->path("missing")), std::string::npos) << refused(policy);
  policy.filesystem.grants.back().path = scene_->path("sock");
  EXPECT_NE(refused(policy).find("socket"), std::string::npos) << refused(policy);
  for (const char* path : {"/", "/proc", "/dev", "/proc/self"}) {
    policy.filesystem.grants.back().path = path;
    EXPECT_NE(refused(policy).find("cannot be granted"), std::string::npos) << refused(policy);
  }
}

TEST_F(Leaks, AGrantIsShownWhereverItLies) {
  for (const char* base : {"/tmp", "/var/tmp"}) {
    std::string path = std::string(base) + "/hc-grant-" + std::to_string(::getpid());
    ::mkdir(path.c_str(), 0755);
    write_text(path + "/file", "shown\n");
    Policy policy = test_policy();
    policy.filesystem.grants.push_back({path, Access::kRead, ""});
    Report r = run(policy, shell("cat " + path + "/file"));
    EXPECT_EQ(r.out, "shown\n") << base << ": " << describe(r);
    ::unlink((path + "/file").c_str());
    ::rmdir(path.c_str());
  }
}

// Called outside, in a tree whose mounts are shared with everybody, as systemd makes it. What it prints: whether the mounts
// there are the same while a cell runs, and after it.
HOTCELL_PROGRAM(cell_in_a_shared_tree) {
  std::string uid = std::to_string(::getuid()), gid = std::to_string(::getgid());
  if (::unshare(is_root() ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return 2;
  if (!is_root()) {
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", uid + " " + uid + " 1");
    write_text("/proc/self/gid_map", gid + " " + gid + " 1");
  }
  // Private first: what is shared here is not to reach the host's own tree.
  for (unsigned long how : {MS_PRIVATE, MS_SHARED})
    if (::mount(nullptr, "/", nullptr, MS_REC | how, nullptr) != 0) return 3;
  // The control: what is mounted in a copy of this tree is seen here, unless that copy was made private.
  std::string before = read_text("/proc/self/mountinfo"), with_copy, during;
  pid_t copy = ::fork();
  if (copy == 0) ::_exit(::unshare(CLONE_NEWNS) == 0 && ::mount("x", "/var/tmp", "tmpfs", 0, nullptr) == 0 ? 0 : 1);
  int status = -1;
  if (::waitpid(copy, &status, 0) != copy || status != 0) return 4;
  with_copy = read_text("/proc/self/mountinfo");
  auto made = Launcher::create();
  if (!made.ok()) return 5;
  Request request = shell("echo inside");
  request.on_output = [&](Stream, std::string_view) { during = read_text("/proc/self/mountinfo"); };
  auto r = made.value()->run(default_policy(), std::move(request));
  made.value().reset();
  ::printf("%s%s%s", with_copy != before ? "shared " : "not shared ", r.ok() && during == with_copy ? "untouched " : "touched ",
           read_text("/proc/self/mountinfo") == with_copy ? "afterwards" : "left behind");
  ::fflush(stdout);
  return 0;
}

TEST_F(Leaks, NoMountOfACellIsSeenOutsideWhereMountsAreShared) {
  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out[1], 1);
    ::execl(self_path().c_str(), self_path().c_str(), "--program=cell_in_a_shared_tree", nullptr);
    ::_exit(99);
  }
  ::close(out[1]);
  char said[200] = {};
  ssize_t size = 0;
  for (ssize_t n; (n = ::read(out[0], said + size, sizeof said - 1 - static_cast<std::size_t>(size))) > 0;) size += n;
  ::close(out[0]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  EXPECT_STREQ(said, "shared untouched afterwards");
}

// Their nodes are read-only; what goes through them is not.
TEST_F(Leaks, TheFiveDevicesWork) {
  Report r = run(shell("echo lost > /dev/null; echo lost >> /dev/zero; cat /dev/null; head -c 3 /dev/zero | wc -c;"
                       "head -c 5 /dev/random | wc -c; head -c 7 /dev/urandom | wc -c; echo x > /dev/full || echo full"));
  EXPECT_EQ(r.out, "3\n5\n7\nfull\n") << describe(r);
}

TEST_F(Leaks, ARequiredLayerThatIsMissingStopsTheRun) {
  Policy policy = test_policy();
  policy.required = {Layer::kLsm};
  EXPECT_NE(refused(policy).find("lsm"), std::string::npos) << refused(policy);
  policy.required = {Layer::kSeccomp, Layer::kLandlock, Layer::kUserNs, Layer::kRootfs};
  EXPECT_EQ(refused(policy), "it ran");
  policy.audit["seccomp"] = AuditMode::kObserve;
  EXPECT_NE(refused(policy).find("seccomp"), std::string::npos) << refused(policy);
}

}  // namespace
}  // namespace hotcell::testing
