// A program in a lasting cell stands behind the same walls as one in a cell of its own, and what is ours inside it is no way out.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::seconds;

// What a program can say of itself: one line each. Before what it would change stands its argument, if it has one: outside nothing shall
// be changed that is not the test's own.
constexpr char kPosture[] =
    "import os, socket, ctypes, sys\n"
    "before = sys.argv[1] if len(sys.argv) > 1 else ''\n"
    "for line in open('/proc/self/status'):\n"
    "  key = line.split(':')[0]\n"
    "  if key in ('Uid','Gid','Groups','CapInh','CapPrm','CapEff','CapBnd','CapAmb','NoNewPrivs','Seccomp','Seccomp_filters'):\n"
    "    print(' '.join(line.split()))\n"
    "print('fds', sorted(int(n) for n in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def attempt(name, call):\n"
    "  try: call(); print(name, 'allowed')\n"
    "  except OSError as e: print(name, e.errno)\n"
    "def raw(number, *args):\n"
    "  if libc.syscall(number, *args) < 0: raise OSError(ctypes.get_errno(), '')\n"
    "attempt('ptrace', lambda: raw(101, 0, 0, 0, 0))\n"
    "attempt('unshare', lambda: raw(272, 0x10000000))\n"
    "attempt('mount', lambda: raw(165, 0, (before + '/work').encode(), b'tmpfs', 0, 0))\n"
    "attempt('bpf', lambda: raw(321, 0, 0, 0))\n"
    "attempt('io_uring', lambda: raw(425, 1, 0))\n"
    "attempt('keyctl', lambda: raw(250, 0, 0, 0))\n"
    "attempt('write /usr', lambda: open(before + '/usr/x', 'w'))\n"
    "attempt('write /etc', lambda: open(before + '/etc/x', 'w'))\n"
    "attempt('write /proc/sys', lambda: open('/proc/sys/kernel/hostname', 'w'))\n"
    "attempt('read /root', lambda: os.listdir('/root'))\n"
    "attempt('packet socket', lambda: socket.socket(17, 3, 0))\n"
    "attempt('chmod s', lambda: (open(before + '/tmp/s', 'w').close(), os.chmod(before + '/tmp/s', 0o4755)))\n"
    "print('root', sorted(n for n in os.listdir('/') if n != 'run'))\n"
    "print('dev', sorted(os.listdir('/dev')))\n"
    "print('net', sorted(l.split(':')[0].strip() for l in open('/proc/net/dev') if ':' in l))\n"
    "import resource\n"
    "for n in ('NOFILE','CORE','FSIZE','STACK','MEMLOCK','MSGQUEUE','RTPRIO','NICE','SIGPENDING'):\n"
    "  print(n, resource.getrlimit(getattr(resource, 'RLIMIT_' + n)))\n";

TEST_F(Cells, APostureIsThatOfAOneShotCell) {
  create("work");
  Called lasting = exec("work", {"python3", "-c", kPosture});
  Called oneshot = hotcell({"run", "--no-warm", "--", "python3", "-c", kPosture});
  ASSERT_EQ(lasting.code, 0) << lasting.describe();
  ASSERT_EQ(oneshot.code, 0) << oneshot.describe();
  EXPECT_EQ(lasting.out, oneshot.out);
  // The control: outside there are fewer walls.
  int code = 0;
  const std::string mine = project() + "/outside";
  for (const char* name : {"usr", "etc", "tmp", "work"}) std::filesystem::create_directories(mine + "/" + name);
  std::string bare = shell_output({"/usr/bin/python3", "-c", kPosture, mine}, "", &code);
  EXPECT_NE(bare, oneshot.out);
  for (const char* line : {"write /usr allowed\n", "write /etc allowed\n", "chmod s allowed\n"}) EXPECT_NE(bare.find(line), std::string::npos) << bare;
  for (const char* line : {"write /usr ", "write /etc ", "chmod s "}) EXPECT_NE(lasting.out.find(line), std::string::npos) << lasting.out;
  for (const char* line : {"write /usr allowed\n", "write /etc allowed\n", "chmod s allowed\n"}) EXPECT_EQ(lasting.out.find(line), std::string::npos) << line;
  for (const char* line : {"CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2", "Uid: 1000 1000 1000 1000", "ptrace 1\n", "mount 1\n", "fds [0, 1, 2] 4\n"})
    EXPECT_NE(lasting.out.find(line), std::string::npos) << line << "\n" << lasting.out;
  // A shell's programs, too: there a terminal is on 0, 1 and 2, and nothing else is open.
  sh("work", std::string("cat > posture.py <<'END'\n") + kPosture + "END\n");
  Called in_shell = shell("work", "python3 posture.py");
  EXPECT_EQ(in_shell.out, oneshot.out);
}

TEST_F(Cells, NamespacesAreItsOwnAndSharedByItsPrograms) {
  create("one");
  create("two");
  std::string all = "for n in user pid mnt net ipc uts cgroup; do readlink /proc/self/ns/$n; done";
  std::string first = sh("one", all), again = sh("one", all), other = sh("two", all);
  EXPECT_EQ(first, again);
  int code = 0;
  std::string bare = shell_output({"/bin/sh", "-c", all}, "", &code);
  std::istringstream a(first), b(other), c(bare);
  for (std::string x, y, z; std::getline(a, x) && std::getline(b, y) && std::getline(c, z);) {
    EXPECT_NE(x, y);
    EXPECT_NE(x, z);
  }
}

TEST_F(Cells, EnforcementIsReadBackAndComplete) {
  create("work");
  Json j = inspect("work");
  for (const char* layer : {"user_ns", "pid_ns", "mount_ns", "net_ns", "ipc_ns", "uts_ns", "rootfs", "landlock_broad", "landlock", "seccomp", "capabilities", "no_new_privs", "rlimits"})
    EXPECT_EQ(j.find_by_name("enforcement/layers", layer, "status"), "full") << layer;
  Json one_shot(hotcell({"run", "--json", "--", "true"}).out);
  // And what is asked of a lasting one alone: whether its processes outlive the keeper.
  EXPECT_EQ(j.size("enforcement/layers"), one_shot.size("enforcement/layers") + 1);
  EXPECT_EQ(j.find_by_name("enforcement/layers", "processes_kept", "status"), "none");
  for (const char* layer : {"memory", "cpu", "processes", "groups", "cgroup_ns", "lsm"})
    EXPECT_EQ(j.find_by_name("enforcement/layers", layer, "status"), one_shot.find_by_name("enforcement/layers", layer, "status")) << layer;
  // A layer that is asked for and not to be had refuses the cell, and nothing is left of it.
  Called required = cell({"create", "--name", "lsm", "--require", "lsm"});
  if (one_shot.find_by_name("enforcement/layers", "lsm", "status") != "full") {
    EXPECT_EQ(required.code, 125) << required.describe();
    EXPECT_NE(required.err.find("lsm"), std::string::npos);
    EXPECT_EQ(json({"list"}).size(""), 1u);
  } else {
    EXPECT_EQ(required.code, 0) << required.describe();
  }
}

TEST_F(Cells, TheSpawnerIsClosedToTheProgramsItStarts) {
  create("work");
  // The control: a program sees another one of its own uid. While that starts, its linker has a library open.
  EXPECT_EQ(sh("work", "sleep 20 & n=; for i in $(seq 100); do n=$(ls /proc/$!/fd | wc -l); [ $n = 3 ] && break; sleep 0.05; done; echo $n; kill $!"), "3\n");
  std::string looks =
      "for p in /proc/[0-9]*; do"
      "  pid=${p#/proc/}; [ $pid -eq $$ ] && continue;"
      "  case $(cat $p/comm 2>/dev/null) in spawner|hotcell*)"
      "    ls $p/fd >/dev/null 2>&1 && echo $pid fds open;"
      "    head -c1 $p/mem >/dev/null 2>&1 && echo $pid mem open;"
      "    cat $p/environ >/dev/null 2>&1 && [ -n \"$(cat $p/environ)\" ] && echo $pid environ open;"
      "    echo closed;;"
      "  esac; done";
  std::string seen = sh("work", looks);
  EXPECT_EQ(seen.find("open"), std::string::npos) << seen;
  EXPECT_NE(seen.find("closed"), std::string::npos) << "nothing of ours was looked at: " << seen;
}

// What is started of it for each file that is read or written could be looked into before its first instruction closes it, and its
// output written by others. That the program's file cannot be read is what keeps the kernel from opening it at all.
TEST_F(Cells, WhatRunsInsideForUsIsClosedFromItsFirstInstruction) {
  create("work");
  EXPECT_EQ(sh("work", "stat -c '%a %n' /run/hotcell/*"), "444 /run/hotcell/shell.rc\n111 /run/hotcell/spawner\n");
  Called read = exec("work", {"head", "-c", "1", "/run/hotcell/spawner"});
  EXPECT_NE(read.code, 0);
  EXPECT_NE(read.err.find("Permission denied"), std::string::npos) << read.err;
  // The control: it runs all the same.
  sh("work", "echo x > file");
  EXPECT_EQ(good({"cat", "work", "file"}), "x\n");
}

TEST_F(Cells, AProgramThatKillsTheSpawnerEndsItsOwnCellAlone) {
  create("other");
  create("work");
  sh("work", "echo kept > file");
  auto before = keeper();
  // Every signal that can be ignored is.
  EXPECT_EQ(sh("work", "for p in $(pgrep spawner); do kill -TERM $p; kill -INT $p; kill -HUP $p; kill -USR1 $p; done; echo lives"), "lives\n");
  EXPECT_EQ(sh("work", "echo still"), "still\n");
  Called killer = exec("work", {"sh", "-c", "kill -KILL -1"});
  EXPECT_NE(killer.code, 0);
  EXPECT_TRUE(status_within("work", "stopped")) << inspect("work").text("status");
  EXPECT_NE(inspect("work").text("reason").find("killed by signal 9 (a program in the cell can do that)"), std::string::npos) << inspect("work").text("reason");
  EXPECT_EQ(keeper(), before) << "the keeper is another process";
  EXPECT_EQ(sh("other", "echo untouched"), "untouched\n");
  good({"start", "work"});
  EXPECT_EQ(sh("work", "cat file"), "kept\n");
}

TEST_F(Cells, WhatIsOursInsideIsReadOnly) {
  create("work");
  EXPECT_EQ(sh("work", "ls /run /run/hotcell"), "/run:\nhotcell\n\n/run/hotcell:\nshell.rc\nspawner\n");
  // The control: the same in a folder that may be written.
  EXPECT_EQ(exec("work", {"sh", "-c", "echo x > /tmp/spawner && rm /tmp/spawner"}).code, 0);
  for (const char* attempt : {"echo x > /run/hotcell/spawner", "rm -f /run/hotcell/shell.rc", "mv /run/hotcell/spawner /tmp/x", "touch /run/hotcell/new", "chmod 777 /run/hotcell/spawner",
                              "mkdir /run/x"}) {
    Called called = exec("work", {"sh", "-c", attempt});
    EXPECT_NE(called.code, 0) << attempt;
    EXPECT_TRUE(called.err.find("Read-only file system") != std::string::npos || called.err.find("Permission denied") != std::string::npos ||
                called.err.find("Operation not permitted") != std::string::npos)
        << attempt << ": " << called.err;
  }
  EXPECT_EQ(sh("work", "sh -c 'echo fine'"), "fine\n");
}

TEST_F(Cells, AProgramThatPretendsToBeTheSpawnerIsNobody) {
  create("work");
  // Started by hand it has no socket to talk to, and ends.
  Called fake = exec("work", {"/run/hotcell/spawner"});
  EXPECT_NE(fake.code, 137) << fake.describe();
  EXPECT_EQ(sh("work", "echo alive"), "alive\n");
}

TEST_F(Cells, NoOtherPlaceOfTheHostIsShown) {
  write_text(state() + "/secret", "zmxncbv");
  create("work");
  Called looks = exec("work", {"sh", "-c", "cat " + state() + "/secret; ls " + state() + "; ls " + project()});
  EXPECT_NE(looks.code, 0);
  EXPECT_EQ(looks.out, "");
  // Links of the project that lead out lead nowhere in the cell.
  std::filesystem::create_symlink(state() + "/secret", project() + "/out");
  EXPECT_NE(exec("work", {"cat", "out"}).code, 0);
}

TEST_F(Cells, SetIdFilesOfTheProjectGiveNothing) {
  put("tool", "#!/bin/sh\nid -u\n", 0755);
  std::filesystem::copy_file("/usr/bin/id", project() + "/sid");
  ASSERT_EQ(::chmod((project() + "/sid").c_str(), 04755), 0);
  create("work");
  EXPECT_EQ(sh("work", "./sid -u; ./sid -ru"), "1000\n1000\n");
}

}  // namespace
}  // namespace hotcell::testing
