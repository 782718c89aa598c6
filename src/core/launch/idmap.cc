#include "core/launch/idmap.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/kvm_device.h"
#include "core/launch/child.h"
#include "core/launch/ids.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/socket.h"
#include "sys/uapi/mount.h"

namespace hotcell {
namespace {

Result<void> write_maps(int pid, const std::string& uid_line, const std::string& gid_line, bool deny_setgroups) {
  TRY_SET(sys::Fd dir, sys::open(cat("/proc/", pid).c_str(), O_PATH | O_DIRECTORY));
  TRY(sys::write_file_at(dir.get(), "uid_map", uid_line));
  // Without privileges the kernel wants setgroups given up first: a group can also be what denies access.
  if (deny_setgroups) TRY(sys::write_file_at(dir.get(), "setgroups", "deny"));
  return sys::write_file_at(dir.get(), "gid_map", gid_line);
}

// A user namespace whose map says: what the caller owns on disk is the cell's. Held open by descriptor only.
Result<sys::Fd> mapping_namespace(const Plan& plan, uid_t uid, gid_t gid, int init_fd, unsigned cell_id) {
  TRY_SET(sys::SocketPair ctl, sys::seqpacket_pair());
  Plan holder;
  TRY_SET(holder.bytes, sys::duplicate(plan.bytes.get()));
  ChildFds fds;
  fds.ctl = ctl.theirs.get();
  fds.prog = ctl.theirs.get();
  TRY_SET(sys::Child child, start_init(holder, CLONE_NEWUSER, init_fd, -1, fds));
  auto mapped = write_maps(child.pid, cat(uid, " ", cell_id, " 1"), cat(gid, " ", cell_id, " 1"), false);
  auto ns = sys::open(cat("/proc/", child.pid, "/ns/user").c_str(), O_RDONLY);
  sys::signal_pidfd(child.pidfd.get(), SIGKILL).ignore("it also ends when the socket closes");
  sys::reap(child.pid, true).ignore("nothing is learnt from its status");
  TRY(std::move(mapped));
  return ns;
}

}  // namespace

Result<void> write_id_maps(int pid, const Policy& policy, const Host& host, unsigned cell_id) {
  if (host.privileged) return write_maps(pid, cat(policy.uid, " ", cell_id, " 1"), cat(policy.gid, " ", cell_id, " 1"), false).context("id map");
  return write_maps(pid, cat(policy.uid, " ", host.uid, " 1"), cat(policy.gid, " ", host.gid, " 1"), true).context("id map");
}

Result<void> write_template_maps(int pid, const Policy& policy, const Host& host) {
  // Not from 0 on: mapping an id onto its parent's 0 takes a capability that nobody here should have.
  if (host.privileged) {
    static_assert(kForeignId > kFirstId + kIdCount, "the last one of these is the templates' own");
    std::string all = cat("1 ", kFirstId, " ", kIdCount + 1);
    return write_maps(pid, all, all, false).context("id map of the template");
  }
  return write_maps(pid, cat(policy.uid, " ", host.uid, " 1"), cat(policy.gid, " ", host.gid, " 1"), true).context("id map of the template");
}

Result<std::vector<sys::Fd>> open_grants(const Plan& plan, const Host& host, int init_fd, unsigned cell_id) {
  std::vector<sys::Fd> out;
  if (!host.privileged || plan.grants.grants.empty()) return out;
  TRY_SET(sys::Fd mapping, mapping_namespace(plan, host.uid, host.gid, init_fd, cell_id).context("id map for grants"));
  for (const auto& g : plan.grants.grants) {
    if (int e = sys::fault("open_tree")) return errno_error(cat("open_tree ", g.shown), e);
    long fd = ::syscall(SYS_open_tree, g.fd.get(), "", uapi::kOpenTreeClone | uapi::kOpenTreeCloexec | uapi::kAtEmptyPath | uapi::kAtRecursive);
    if (fd < 0) return errno_error(cat("open_tree ", g.shown), errno);
    sys::Fd tree(static_cast<int>(fd));
    uapi::MountAttr attr{};
    attr.attr_set = uapi::kAttrNoSuid | uapi::kAttrNoDev | uapi::kAttrIdmap | (g.access == Access::kRead ? uapi::kAttrReadOnly : 0);
    attr.userns_fd = static_cast<std::uint64_t>(mapping.get());
    long r = ::syscall(SYS_mount_setattr, tree.get(), "", uapi::kAtEmptyPath | uapi::kAtRecursive, &attr, sizeof attr);
    if (r < 0 && (errno == EINVAL || errno == EPERM)) {
      // A file system that cannot be id-mapped (or already is): seen as it is, with the rights of a stranger.
      attr.attr_set &= ~uapi::kAttrIdmap;
      attr.userns_fd = 0;
      r = ::syscall(SYS_mount_setattr, tree.get(), "", uapi::kAtEmptyPath | uapi::kAtRecursive, &attr, sizeof attr);
    }
    if (r < 0) return errno_error(cat("mount_setattr ", g.shown), errno);
    out.push_back(std::move(tree));
  }
  return out;
}

Result<std::vector<sys::Fd>> open_layers(const Plan& plan, const Host& host, int init_fd, unsigned cell_id) {
  std::vector<sys::Fd> out;
  if (!host.privileged || !plan.policy.lasting) return out;
  const auto& l = *plan.policy.lasting;
  std::string paths[] = {l.project.empty() ? cat(l.folder, "/empty") : l.project, l.folder};
  sys::Fd mapping;
  TRY_SET(sys::Fd top, sys::open("/", O_PATH | O_DIRECTORY));
  for (int i = 0; i < 2; ++i) {
    // Real paths when the cell was made: a link that has come into the project's since leads to what is somebody else's.
    const bool project = i == 0 && !l.project.empty();
    TRY_SET(sys::Fd at, (project ? sys::open_beneath(top.get(), paths[i].size() > 1 ? paths[i].c_str() + 1 : ".", O_PATH | O_DIRECTORY, 0, false)
                                 : sys::open(paths[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW)).context("workspace"));
    if (i == 0) {
      TRY_SET(struct stat st, sys::stat_fd(at.get(), paths[i]));
      TRY_SET(mapping, mapping_namespace(plan, st.st_uid, st.st_gid, init_fd, cell_id).context("id map for the workspace"));
    }
    sys::Fd tree;
    if (i == 1 && l.mount >= 0) {
      TRY_SET(tree, sys::duplicate(l.mount));  // it is attached nowhere: as good as a copy
    } else {
      tree = sys::Fd(static_cast<int>(::syscall(SYS_open_tree, at.get(), "", uapi::kOpenTreeClone | uapi::kOpenTreeCloexec | uapi::kAtEmptyPath)));
      if (!tree.valid()) return errno_error(cat("open_tree ", paths[i]), errno);
    }
    uapi::MountAttr attr{};
    attr.attr_set = uapi::kAttrNoSuid | uapi::kAttrNoDev | uapi::kAttrIdmap | (i == 0 ? uapi::kAttrReadOnly : 0);
    attr.userns_fd = static_cast<std::uint64_t>(mapping.get());
    // Without the map nothing in there would be the cell's: no guess, an error.
    if (::syscall(SYS_mount_setattr, tree.get(), "", uapi::kAtEmptyPath, &attr, sizeof attr) < 0)
      return errno_error(cat("workspace: ", paths[i], " cannot be id-mapped"), errno);
    out.push_back(std::move(tree));
  }
  return out;
}

Result<sys::Fd> make_kvm_node(unsigned cell_id) {
  if (int e = sys::fault("kvm_node")) return errno_error("a node of /dev/kvm", e);
  struct stat st {};
  if (::stat(kKvmDevice, &st) < 0) return errno_error(kKvmDevice, errno);
  if (!is_kvm(st)) return make_error(ErrorCode::kUnsupported, cat(kKvmDevice, " is not the device of that name"));
  TRY_SET(sys::Fd tree, sys::new_mount("tmpfs", {{"size", "64k"}, {"nr_inodes", "8"}, {"mode", "0755"}}, uapi::kAttrNoSuid | uapi::kAttrNoExec));
  if (::mknodat(tree.get(), "kvm", S_IFCHR | 0600, st.st_rdev) < 0 || ::fchownat(tree.get(), "kvm", cell_id, cell_id, AT_SYMLINK_NOFOLLOW) < 0)
    return errno_error("a node of /dev/kvm", errno);
  return tree;
}

}  // namespace hotcell
