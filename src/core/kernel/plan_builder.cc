#include "core/kernel/plan_builder.h"

#include <array>
#include <cstring>

#include "base/strings.h"
#include "sys/fault.h"

namespace hotcell {
namespace {

constexpr std::array<std::string_view, kOpKinds> kNames = {
    "lsm_exec", "death_signal", "subreaper", "join_cgroup", "unshare", "identity", "hostname", "loopback_up", "private_mounts", "open_tree",
    "mount_attr", "stage", "mkdir", "mkfile", "symlink", "move_mount", "mount_tmpfs", "mount_proc", "mount_devpts", "bind",
    "mask", "hold_folder", "pivot_root", "read_only", "hold_proc", "mount_idle_proc", "own_user", "user_limits", "door", "overlay", "template_end",
    "rlimit", "drop_caps", "no_new_privs",
    "ruleset", "path_rule", "port_rule", "restrict", "fork", "session", "chdir", "room_for_files", "seccomp", "exec"};

}  // namespace

std::string_view to_string(OpKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

PlanBuilder::PlanBuilder() { strings_.push_back('\0'); }  // offset 0 means "none"

std::uint32_t PlanBuilder::store(std::string_view text) {
  auto at = static_cast<std::uint32_t>(strings_.size());
  strings_.append(text);
  strings_.push_back('\0');
  return at;
}

void PlanBuilder::add(const OpSpec& spec, std::string note) {
  Op op{};
  op.kind = static_cast<std::uint16_t>(spec.kind);
  op.layer = static_cast<std::uint8_t>(spec.layer);
  op.slot = static_cast<std::uint8_t>(spec.slot);
  op.path = spec.path.empty() ? 0 : store(spec.path);
  // Aligned, because the kernel reads struct sock_filter from it.
  if (spec.kind == OpKind::kSeccomp) strings_.resize((strings_.size() + 7) / 8 * 8);
  op.data = spec.data.empty() ? 0 : store(spec.data);
  op.data_len = static_cast<std::uint32_t>(spec.data.size());
  op.flags = spec.flags;
  op.reserved = spec.reserved;
  op.a = spec.a;
  op.b = spec.b;
  ops_.push_back(op);
  if (spec.kind == OpKind::kOpenTree && spec.b != 0) sources_.push_back({std::string(spec.path), spec.a, spec.b});
  if (note.empty()) note = std::string(spec.path);
  entries_.push_back({spec.kind, spec.layer, std::move(note)});
}

unsigned PlanBuilder::inherit(Inherited what) {
  inherited_.push_back(what);
  return static_cast<unsigned>(inherited_.size() - 1);
}

unsigned PlanBuilder::new_slot() { return --next_slot_; }

Result<std::string> PlanBuilder::bytes() const {
  if (ops_.size() > kMaxOps || inherited_.size() > next_slot_)
    return make_error(ErrorCode::kLimit, cat("the plan is too long: ", ops_.size(), " operations, at most ", kMaxOps));
  PlanHeader header{};
  header.magic = kPlanMagic;
  header.op_count = static_cast<std::uint32_t>(ops_.size());
  header.inherited = static_cast<std::uint32_t>(inherited_.size());
  header.strings = static_cast<std::uint32_t>(sizeof header + ops_.size() * sizeof(Op));
  header.size = static_cast<std::uint32_t>(header.strings + strings_.size());
  header.flat = flat_ ? 1 : 0;
  // Only trailing ones: grants are opened first, cgroups are joined last.
  for (auto it = inherited_.rbegin(); !flat_ && it != inherited_.rend() && it->kind == Inherited::Kind::kCgroupTasks; ++it) ++header.late;
  header.own_memory = own_memory_ ? 1 : 0;
  header.reuse_nets = reuse_nets_ ? 1 : 0;
  header.uid = uid_;
  header.gid = gid_;
  header.clone_flags = clone_flags_;
  header.fault_op = -1;
  std::vector<Op> ops = ops_;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].path) ops[i].path += header.strings;
    if (ops[i].data) ops[i].data += header.strings;
    bool stamped = (ops[i].flags & (kOnlyTemplate | kOnlyStamped)) != 0 && (ops[i].flags & kOnlyDirect) == 0;
    if (int e = sys::fault(cat(stamped ? "stamp_" : "op_", to_string(static_cast<OpKind>(ops[i].kind))).c_str())) {
      header.fault_op = static_cast<std::int32_t>(i);
      header.fault_errno = e;
    }
  }
  std::string out(header.size, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  if (!ops.empty()) std::memcpy(out.data() + sizeof header, ops.data(), ops.size() * sizeof(Op));
  std::memcpy(out.data() + header.strings, strings_.data(), strings_.size());
  return out;
}

}  // namespace hotcell
