// Which controllers there are, where, and whether we may make groups of our own under ours.
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/probe.h"

namespace hotcell::sys {
namespace {

std::string slurp(const char* path) {
  std::string out;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return out;
  char buf[4096];
  for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;) out.append(buf, static_cast<std::size_t>(n));
  close(fd);
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  for (const auto& s : list)
    if (s == word) return true;
  return false;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 3 < s.size()) {
      out += static_cast<char>((s[i + 1] - '0') * 64 + (s[i + 2] - '0') * 8 + (s[i + 3] - '0'));
      i += 3;
    } else {
      out += s[i];
    }
  }
  return out;
}

// Our group's folder as seen through this mount, whose root may itself be a group (a container's view).
std::string own_folder(const std::string& point, std::string_view root, std::string_view path) {
  if (root != "/" && path.substr(0, root.size()) == root) path.remove_prefix(root.size());
  if (path.empty() || path == "/" || path.substr(0, 3) == "/..") return point;
  return cat(point, path);
}

// Makes a group, reports what is in it, and removes it again whatever happened to the child that tried.
struct Room {
  Trial made;
  bool kill = false, peak = false, freeze = false, clone_into = false;
};
Room try_room(const CgroupMount& m) {
  Room room;
  const std::string dir = cat(m.own, "/hotcell-probe-", getpid());
  enum : std::int64_t { kKill = 1, kPeak = 2, kFreeze = 4, kInto = 8 };
  room.made = try_in_child([&](Trial& t) {
    if (mkdir(dir.c_str(), 0755) != 0) {
      t.fail("make a group", errno);
      return;
    }
    if (access(cat(dir, "/cgroup.kill").c_str(), W_OK) == 0) t.value |= kKill;
    if (access(cat(dir, "/memory.peak").c_str(), R_OK) == 0) t.value |= kPeak;
    if (access(cat(dir, "/cgroup.freeze").c_str(), W_OK) == 0) t.value |= kFreeze;
    if (m.version == 2) {
      int fd = open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      clone_args args{};
      args.flags = CLONE_INTO_CGROUP;
      args.exit_signal = SIGCHLD;
      args.cgroup = static_cast<std::uint64_t>(fd);
      long pid = syscall(SYS_clone3, &args, sizeof args);
      if (pid == 0) _exit(0);
      if (pid > 0) {
        waitpid(static_cast<pid_t>(pid), nullptr, 0);
        t.value |= kInto;
      }
    }
  });
  for (int i = 0; i < 50 && rmdir(dir.c_str()) != 0 && errno == EBUSY; ++i) usleep(2000);
  room.kill = (room.made.value & kKill) != 0;
  room.peak = (room.made.value & kPeak) != 0;
  room.freeze = (room.made.value & kFreeze) != 0;
  room.clone_into = (room.made.value & kInto) != 0;
  return room;
}

struct Wanted {
  std::string_view name, v1, without;
};
constexpr Wanted kWanted[] = {
    {"cgroup_memory", "memory", "memory is then limited by rlimits and sampling (partial)"},
    {"cgroup_pids", "pids", "processes are then limited by RLIMIT_NPROC of the user namespace"},
    {"cgroup_cpu", "cpu", "no --cpus quota then; CPU time is still limited"},
    {"cgroup_freezer", "freezer", "no pause then"},
    {"cgroup_io", "blkio", "no disk bandwidth figures then"},
};

void push_v2(const CgroupMount& m, std::vector<Fact>& out) {
  const Room room = try_room(m);
  const std::string controllers = read_line(cat(m.own, "/cgroup.controllers").c_str());
  Fact f{"cgroups", "cgroup_v2", Have::kYes, cat(m.own, ": ", controllers.empty() ? "no controllers" : controllers),
         "",        ""};
  if (!room.made.ok()) {
    f.have = Have::kNo;
    f.reason = cat("not delegated: ", room.made.why());
    f.advice = "systemd-run --user --scope -p Delegate=yes hotcell …, or run as root";
  } else {
    std::vector<std::string> missing;
    if (controllers.empty()) missing.emplace_back("controllers");
    if (!room.kill) missing.emplace_back("cgroup.kill");
    if (!room.clone_into) missing.emplace_back("clone into a group");
    if (!room.freeze) missing.emplace_back("cgroup.freeze");
    if (!missing.empty()) {
      f.have = Have::kPartial;
      f.reason = cat("missing: ", join(missing, ", "));
    }
  }
  out.push_back(std::move(f));
  // The file exists only where the memory controller is on for the children, so its absence alone proves little.
  const bool has_memory = controllers.find("memory") != std::string::npos;
  out.push_back({"cgroups", "cgroup_kill", room.kill ? Have::kYes : Have::kNo, room.kill ? "one write ends a cell" : "",
                 room.kill ? "" : "killed by pid namespace and signals instead", ""});
  out.push_back({"cgroups", "memory_peak",
                 room.peak    ? Have::kYes
                 : has_memory ? Have::kPartial
                              : Have::kNo,
                 "",
                 room.peak    ? ""
                 : has_memory ? "shows once the controller is on for child groups (kernel 5.19)"
                              : "no memory controller on v2 here",
                 ""});
}

}  // namespace

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo, std::string_view self_cgroup) {
  std::vector<CgroupMount> out;
  for (std::string_view line : split(mountinfo, '\n')) {
    auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto left = split(line.substr(0, dash), ' ');
    auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 6 || right.size() < 3) continue;
    CgroupMount m;
    m.version = right[0] == "cgroup2" ? 2 : right[0] == "cgroup" ? 1 : 0;
    if (m.version == 0) continue;
    m.point = unescape(left[4]);
    if (m.version == 1)
      for (std::string_view option : split(right[2], ','))
        if (option != "rw" && option != "ro" && option.substr(0, 5) != "name=" && option != "xattr")
          m.controllers.emplace_back(option);
    if (m.version == 1 && m.controllers.empty()) continue;  // name=systemd and the like: bookkeeping, no control
    m.own = m.point;
    for (std::string_view entry : split(self_cgroup, '\n')) {
      auto first = entry.find(':');
      auto second = first == std::string_view::npos ? first : entry.find(':', first + 1);
      if (second == std::string_view::npos) continue;
      std::string_view names = entry.substr(first + 1, second - first - 1);
      bool mine = m.version == 2 && names.empty();
      if (m.version == 1)
        for (std::string_view n : split(names, ',')) mine = mine || contains(m.controllers, n);
      if (mine) m.own = own_folder(m.point, unescape(left[3]), entry.substr(second + 1));
    }
    out.push_back(std::move(m));
  }
  return out;
}

void probe_cgroups(std::vector<Fact>& out) {
  const auto mounts = parse_cgroup_mounts(slurp("/proc/self/mountinfo"), slurp("/proc/self/cgroup"));
  const CgroupMount* v2 = nullptr;
  for (const auto& m : mounts)
    if (m.version == 2) v2 = &m;
  if (v2 != nullptr) push_v2(*v2, out);
  else out.push_back({"cgroups", "cgroup_v2", Have::kNo, "", "not mounted", ""});
  const std::string v2_controllers =
      v2 != nullptr ? cat(" ", read_line(cat(v2->own, "/cgroup.controllers").c_str()), " ") : "";
  const Fact* v2_fact = nullptr;
  for (const auto& f : out)
    if (f.name == "cgroup_v2") v2_fact = &f;
  const bool v2_ours = v2_fact != nullptr && v2_fact->have != Have::kNo;

  for (const Wanted& w : kWanted) {
    Fact f{"cgroups", std::string(w.name), Have::kNo, "", "", ""};
    const std::string_view on_v2 = w.v1 == "blkio" ? "io" : w.v1;
    // v2 freezes every group, with no controller of that name.
    const bool there =
        v2 != nullptr && (w.v1 == "freezer" ? v2_ours : v2_controllers.find(cat(" ", on_v2, " ")) != std::string::npos);
    const CgroupMount* v1 = nullptr;
    for (const auto& m : mounts)
      if (m.version == 1 && contains(m.controllers, w.v1)) v1 = &m;
    if (there && v2_ours) {
      f.have = Have::kYes;
      f.value = cat("v2 ", v2->own);
    } else if (v1 != nullptr) {
      Trial t = try_room(*v1).made;
      f.have = t.ok() ? Have::kYes : Have::kNo;
      f.value = cat("v1 ", v1->own);
      f.reason = t.why();
    } else {
      f.reason = there ? "on v2, but not delegated to us" : "no such controller here";
    }
    if (f.have == Have::kNo) {
      f.reason += cat("; ", w.without);
      f.advice = v1 != nullptr ? "run as root: v1 controllers are not delegated"
                               : "run as root, or delegated: systemd-run --user --scope -p Delegate=yes hotcell …";
    }
    out.push_back(std::move(f));
  }
}

}  // namespace hotcell::sys
