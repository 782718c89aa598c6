// The whole posture of a living cell, read from outside: every task, not only the program, and every field, so that a
// wall that is missing on one thread or in init shows.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

void* sleep_for_ever(void*) {
  for (;;) ::pause();
}
// A program with a child and a thread, so that there is more than one task to look at.
HOTCELL_PROGRAM(pose) {
  pthread_t thread;
  if (::fork() == 0)
    for (;;) ::pause();
  if (::pthread_create(&thread, nullptr, sleep_for_ever, nullptr) != 0) return 1;
  ::dprintf(1, "ready\n");
  char byte;
  return ::read(0, &byte, 1) == 0 ? 0 : 2;
}

struct Task {
  std::string dir;  // /proc/PID/task/TID
  bool init = false;
};

void add_tasks(const std::string& pid, bool init, std::vector<Task>& out) {
  for (const auto& dir : matches("/proc/" + pid + "/task/[0-9]*")) {
    out.push_back({dir, init});
    std::istringstream children(read_text(dir + "/children"));
    for (std::string child; children >> child;) add_tasks(child, false, out);
  }
}

std::string status_field(const std::string& text, const std::string& key) {
  auto at = text.find("\n" + key + ":");
  if (at == std::string::npos) return "(missing)";
  at += key.size() + 2;
  auto value = text.substr(at, text.find('\n', at) - at);
  value.erase(0, value.find_first_not_of(" \t"));
  return value.substr(0, value.find_last_not_of(" \t") + 1);
}

std::string link_of(const std::string& path) {
  char target[512];
  ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  return n < 0 ? "" : std::string(target, static_cast<std::size_t>(n));
}

std::map<std::string, std::string> descriptors_of(const std::string& dir) {
  std::map<std::string, std::string> out;
  for (const auto& path : matches(dir + "/fd/*")) out[path.substr(path.rfind('/') + 1)] = link_of(path);
  return out;
}

struct Mount {
  std::string at, kind;
  std::set<std::string> options;
};
std::vector<Mount> mounts_of(const std::string& dir) {
  std::vector<Mount> out;
  std::istringstream lines(read_text(dir + "/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skip, options, word;
    Mount m;
    words >> skip >> skip >> skip >> skip >> m.at >> options;
    while (words >> word && word != "-") {
    }
    words >> m.kind;
    std::istringstream each(options);
    while (std::getline(each, word, ',')) m.options.insert(word);
    out.push_back(std::move(m));
  }
  return out;
}

// A template is a child of ours too, but in our own pid namespace.
bool is_cell(const std::string& pid) { return status_field(read_text("/proc/" + pid + "/status"), "NSpid").find('\t') != std::string::npos; }

// Runs `pose` and calls `look` once, while every task of the cell is alive.
// Both ways to make a cell: in one go (false), and stamped out by a template (true).
class Posture : public SceneTest, public ::testing::WithParamInterface<bool> {
 protected:
  Policy cell_policy() const { return GetParam() ? default_policy() : scene_->policy(); }

  template <typename Look>
  Report with_cell(const Policy& policy, Look look) {
    int hold[2];
    EXPECT_EQ(::pipe2(hold, O_CLOEXEC), 0);
    Request request = GetParam() ? carried_program("pose") : program("pose");
    request.stdin_source = StdinFd{hold[0]};
    bool looked = false;
    request.on_output = [&](Stream, std::string_view) {
      looked = true;
      std::vector<Task> tasks;
      std::istringstream children(read_text("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
      auto victim = scene_->env("")["S_PID"];
      for (std::string pid; children >> pid;)
        if (pid != victim && is_cell(pid)) add_tasks(pid, true, tasks);
      // init, the program, its thread, its child
      EXPECT_EQ(tasks.size(), 4u);
      look(tasks);
      ::close(hold[1]);
    };
    Report r = GetParam() ? run_stamped(policy, std::move(request)) : run(policy, std::move(request));
    EXPECT_TRUE(looked) << describe(r);
    EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
    ::close(hold[0]);
    return r;
  }
};

TEST_P(Posture, CredentialsOfEveryTask) {
  std::set<std::string> uids;
  with_cell(cell_policy(), [&](const std::vector<Task>& tasks) {
    for (const auto& t : tasks) {
      std::string s = read_text(t.dir + "/status");
      for (const char* key : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
        EXPECT_EQ(status_field(s, key), "0000000000000000") << key << " of " << t.dir;
      EXPECT_EQ(status_field(s, "NoNewPrivs"), "1") << t.dir;
      EXPECT_EQ(status_field(s, "Seccomp"), "2") << t.dir;
      for (const char* key : {"Uid", "Gid"}) {
        std::istringstream ids(status_field(s, key));
        std::set<std::string> different;
        for (std::string id; ids >> id;) different.insert(id);
        ASSERT_EQ(different.size(), 1u) << key << " of " << t.dir;
        EXPECT_NE(*different.begin(), "0") << "root outside is root over the kernel's files";
        if (is_root()) {
          EXPECT_GT(std::stoul(*different.begin()), 100000u) << "an id of the reserved range";
        } else {
          EXPECT_EQ(*different.begin(), std::to_string(key[0] == 'U' ? ::geteuid() : ::getegid()));
        }
        uids.insert(*different.begin());
      }
      if (is_root()) {
        EXPECT_EQ(status_field(s, "Groups"), "") << t.dir;
      }
      EXPECT_EQ(status_field(s, "TracerPid"), "0");
    }
  });
  if (is_root()) {
    EXPECT_EQ(uids.size(), 1u) << "one uid, the same as the gid";
  }
}

TEST_P(Posture, TwoLivingCellsNeverShareAUid) {
  std::string first, second;
  with_cell(cell_policy(), [&](const std::vector<Task>& outer) {
    first = status_field(read_text(outer[1].dir + "/status"), "Uid");
    auto other = Launcher::create();
    ASSERT_TRUE(other.ok());
    Request request = shell("id -u >/dev/null; cat /proc/self/uid_map");
    auto r = other.value()->run(default_policy(), std::move(request));
    ASSERT_TRUE(r.ok()) << r.error().message;
    std::istringstream words(r.value().out);
    std::string inside;
    words >> inside >> second;
  });
  first = first.substr(0, first.find('\t'));
  EXPECT_NE(second, "");
  if (is_root()) {
    EXPECT_NE(first, second);
  } else {
    // An ordinary user has only one to give, and it is his own: SECURITY.md, "Known limits, by privilege".
    EXPECT_EQ(first, std::to_string(::geteuid()));
    EXPECT_EQ(second, first);
  }
}

TEST_P(Posture, NamespacesOfEveryTask) {
  with_cell(cell_policy(), [&](const std::vector<Task>& tasks) {
    for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
      std::set<std::string> theirs;
      for (const auto& t : tasks) theirs.insert(link_of(t.dir + "/ns/" + name));
      EXPECT_EQ(theirs.size(), 1u) << name << ": all tasks are in the same";
      EXPECT_NE(*theirs.begin(), "") << name;
      EXPECT_NE(*theirs.begin(), link_of(std::string("/proc/self/ns/") + name)) << name << " is the host's";
    }
  });
}

TEST_P(Posture, LimitsOfTheProgram) {
  Policy policy = cell_policy();
  with_cell(policy, [&](const std::vector<Task>& tasks) {
    for (const auto& t : tasks) {
      std::string text = read_text(t.dir + "/limits");
      auto hard = [&](const std::string& name) {
        auto at = text.find(name);
        if (at == std::string::npos) return std::string("(missing)");
        std::istringstream words(text.substr(at + name.size()));
        std::string soft, most;
        words >> soft >> most;
        return most;
      };
      EXPECT_EQ(hard("Max open files"), std::to_string(policy.limits.open_files)) << t.dir;
      // Init is one of them; where a cgroup counts too, it shall be the first to refuse, since it keeps a record.
      EXPECT_EQ(hard("Max processes"), std::to_string(policy.limits.processes + (has_cgroups() ? 2 : 1))) << t.dir;
      EXPECT_EQ(hard("Max file size"), std::to_string(policy.limits.disk.n)) << t.dir;
      EXPECT_EQ(hard("Max stack size"), std::to_string(policy.limits.stack.n)) << t.dir;
      EXPECT_LE(std::stoul(hard("Max core file size")), 1u) << t.dir;
      EXPECT_EQ(hard("Max locked memory"), "65536") << t.dir;
      EXPECT_EQ(hard("Max realtime priority"), "0") << t.dir;
      EXPECT_EQ(hard("Max nice priority"), "0") << t.dir;
      EXPECT_NE(hard("Max cpu time"), "unlimited") << t.dir;
    }
  });
}

TEST_P(Posture, EveryMountIsNosuidAndOnlyThePrivateOnesAreWritable) {
  with_cell(cell_policy(), [&](const std::vector<Task>& tasks) {
    std::set<std::string> devices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/pts"};
    // rw/sub is a mount point only so that it cannot be moved from above what is denied in it.
    // The nodes of devices are the host's own: what is written goes through them all the same.
    std::set<std::string> writable = {"/work", "/tmp", "/dev/shm", "/dev/pts", scene_->path("rw"), scene_->path("rw/sub")};
    std::set<std::string> seen;
    for (const auto& m : mounts_of(tasks[1].dir)) {
      seen.insert(m.at);
      EXPECT_TRUE(m.options.contains("nosuid")) << m.at;
      EXPECT_EQ(m.options.contains("nodev"), !devices.contains(m.at)) << m.at;
      EXPECT_EQ(m.options.contains("ro"), !writable.contains(m.at)) << m.at;
      EXPECT_FALSE(m.kind == "sysfs" || m.kind.starts_with("cgroup") || m.kind == "debugfs" || m.kind == "fuse")
          << m.at << " is " << m.kind;
    }
    std::vector<std::string> wanted = {"/", "/usr", "/proc"};
    if (!GetParam())
      for (const char* name : {"ro", "ro/.env", "rw/sub/denied", "rw/unborn"}) wanted.push_back(scene_->path(name));
    for (const std::string& at : wanted)
      EXPECT_TRUE(seen.contains(at)) << at << " is not mounted";
  });
}

TEST_P(Posture, DescriptorsOfEveryTask) {
  with_cell(cell_policy(), [&](const std::vector<Task>& tasks) {
    for (const auto& t : tasks) {
      auto fds = descriptors_of(t.dir);
      if (t.init) {
        // Its end of the control socket, and as root the lock on the cell's uid; no pipe of the program's, no folder of
        // the host's. It is not dumpable: an ordinary user cannot even look.
        EXPECT_EQ(fds.size(), is_root() ? 2u : 0u) << t.dir;
        for (const auto& [fd, target] : fds)
          EXPECT_TRUE(target.starts_with("socket:") || target.ends_with("/hotcell/ids")) << fd << " -> " << target;
        continue;
      }
      EXPECT_EQ(fds.size(), 3u) << t.dir;
      for (const auto& [fd, target] : fds) EXPECT_TRUE(target.starts_with("pipe:")) << fd << " -> " << target;
    }
  });
}

TEST_P(Posture, EveryTaskIsInTheCellsOwnCgroups) {
  std::string own = read_text("/proc/self/cgroup");
  Report r = with_cell(cell_policy(), [&](const std::vector<Task>& tasks) {
    std::set<std::string> groups;
    for (const auto& t : tasks) {
      std::string text = read_text(t.dir + "/cgroup");
      if (has_cgroups()) {
        EXPECT_NE(text.find("/hotcell/" + std::to_string(::getpid()) + "-"), std::string::npos) << t.dir << ":\n" << text;
      } else {
        EXPECT_EQ(text, own) << t.dir << ": where none may be made it stays in the caller's";
      }
      groups.insert(text);
    }
    EXPECT_EQ(groups.size(), 1u);
  });
  for (Layer layer : {Layer::kMemory, Layer::kCpu})
    EXPECT_EQ(layer_status(r, layer), has_cgroups() ? LayerStatus::kFull : LayerStatus::kPartial) << to_string(layer);
}

TEST_P(Posture, TheReportSaysWhatWasReadBack) {
  Report r = with_cell(GetParam() ? default_policy() : test_policy(), [](const auto&) {});
  ASSERT_EQ(r.enforcement.backend, "native");
  EXPECT_EQ(r.enforcement.layers.size(), kLayerCount);
  for (std::size_t i = 0; i < kLayerCount; ++i) {
    Layer layer = static_cast<Layer>(i);
    ASSERT_NE(r.enforcement.find(layer), nullptr) << to_string(layer);
    LayerStatus want = LayerStatus::kFull;
    if (layer == Layer::kLsm) want = LayerStatus::kNone;
    if (!has_cgroups() && (layer == Layer::kMemory || layer == Layer::kCpu)) want = LayerStatus::kPartial;
    EXPECT_EQ(layer_status(r, layer), want) << to_string(layer) << ": " << r.enforcement.find(layer)->detail;
    EXPECT_NE(r.enforcement.find(layer)->detail, "") << to_string(layer);
  }
}

INSTANTIATE_TEST_SUITE_P(Cell, Posture, ::testing::Bool(), [](const auto& each) { return each.param ? "Stamped" : "InOneGo"; });

}  // namespace
}  // namespace hotcell::testing
