// The child's side of each mechanism. Between clone and exec: noexcept, no malloc, no locks, no C++ library.
// Each returns 0 or a negative errno.
#pragma once
#include "core/kernel/ops.h"

namespace hotcell {

struct ApplyContext {
  const char* base;         // the mapped plan
  int slots[kMaxSlots];     // descriptors held for later operations, -1: empty
  int proc;                 // a template's and, until its user namespace is made, a stamped cell's: the host's /proc
  uint32_t uid, gid;        // inside
  uint32_t cell_id;         // of a stamped cell: its user in the template's namespace; 0: the only one there is
  uint32_t will_wait;       // a stamped cell that is to be parked: what it need not keep of its memory is worth a call
  struct OpenPath {
    const char* path;
    int fd;
    bool folder;
  } paths[24];              // of Landlock rules: two rulesets name the same folders
  uint32_t path_count;
  const char* text(uint32_t offset) const { return offset ? base + offset : nullptr; }
};

int apply_lsm_exec(ApplyContext& ctx, const Op& op) noexcept;
// Decimal, NUL-terminated; returns the end. snprintf would be a third of init.
inline char* append_number(char* at, unsigned long n) noexcept {
  char text[20];
  int len = 0;
  do text[len++] = static_cast<char>('0' + n % 10);
  while ((n /= 10) > 0);
  while (len > 0) *at++ = text[--len];
  *at = 0;
  return at;
}

int apply_join_cgroup(ApplyContext& ctx, const Op& op) noexcept;
int apply_identity(ApplyContext& ctx, const Op& op) noexcept;
int apply_hold_proc(ApplyContext& ctx, const Op& op) noexcept;
int apply_mount_idle_proc(ApplyContext& ctx, const Op& op) noexcept;
int apply_own_user(ApplyContext& ctx, const Op& op) noexcept;
int apply_user_limits(ApplyContext& ctx, const Op& op) noexcept;
int apply_hostname(ApplyContext& ctx, const Op& op) noexcept;
int apply_loopback_up(ApplyContext& ctx, const Op& op) noexcept;
int apply_door(ApplyContext& ctx, const Op& op) noexcept;
int apply_private_mounts(ApplyContext& ctx, const Op& op) noexcept;
int apply_open_tree(ApplyContext& ctx, const Op& op) noexcept;
int apply_mount_attr(ApplyContext& ctx, const Op& op) noexcept;
int apply_stage(ApplyContext& ctx, const Op& op) noexcept;
int apply_mkdir(ApplyContext& ctx, const Op& op) noexcept;
int apply_mkfile(ApplyContext& ctx, const Op& op) noexcept;
int apply_symlink(ApplyContext& ctx, const Op& op) noexcept;
int apply_move_mount(ApplyContext& ctx, const Op& op) noexcept;
int apply_mount_tmpfs(ApplyContext& ctx, const Op& op) noexcept;
int apply_mount_proc(ApplyContext& ctx, const Op& op) noexcept;
int apply_mount_devpts(ApplyContext& ctx, const Op& op) noexcept;
int apply_overlay(ApplyContext& ctx, const Op& op) noexcept;
int apply_bind(ApplyContext& ctx, const Op& op) noexcept;
int apply_mask(ApplyContext& ctx, const Op& op) noexcept;
int apply_hold_folder(ApplyContext& ctx, const Op& op) noexcept;
int apply_pivot_root(ApplyContext& ctx, const Op& op) noexcept;
int apply_read_only(ApplyContext& ctx, const Op& op) noexcept;
int apply_rlimit(ApplyContext& ctx, const Op& op) noexcept;
int apply_drop_caps(ApplyContext& ctx, const Op& op) noexcept;
int apply_no_new_privs(ApplyContext& ctx, const Op& op) noexcept;
int apply_ruleset(ApplyContext& ctx, const Op& op) noexcept;
int apply_path_rule(ApplyContext& ctx, const Op& op) noexcept;
int apply_port_rule(ApplyContext& ctx, const Op& op) noexcept;
int apply_restrict(ApplyContext& ctx, const Op& op) noexcept;

}  // namespace hotcell
