// This process puts itself behind Landlock and seccomp, for good. Uses the same apply functions as a cell's init.
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/apply.h"
#include "core/kernel/host.h"
#include "core/kernel/landlock.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_apply.h"
#include "hotcell/launcher.h"
#include "sys/file.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

using namespace uapi;

Result<void> step(const char* what, int result) {
  if (result < 0) return errno_error(what, -result);
  return {};
}

Result<std::string> apply_landlock(const ConfineOptions& options) {
  TRY_SET(Host host, Host::look());
  LandlockAbi abi = landlock_abi(host.landlock_abi);
  if (abi.fs == 0) return make_error(ErrorCode::kUnsupported, "confine_self: this kernel has no Landlock");
  constexpr std::uint64_t kRead = kFsReadFile | kFsReadDir | kFsExecute;
  constexpr std::uint64_t kWrite = kRead | kFsWriteFile | kFsRemoveDir | kFsRemoveFile | kFsMakeDir | kFsMakeReg | kFsMakeSock | kFsMakeFifo |
                                   kFsMakeSym | kFsRefer | kFsTruncate;
  ApplyContext ctx{};
  for (int& slot : ctx.slots) slot = -1;
  Op ruleset{};
  ruleset.a = abi.fs;
  ruleset.b = options.allow_network ? 0 : abi.net;
  ruleset.flags = static_cast<std::uint32_t>(abi.scoped);
  ruleset.reserved = abi.attr_size;
  TRY(step("landlock_create_ruleset", apply_ruleset(ctx, ruleset)));
  sys::Fd held(ctx.slots[0]);
  auto add = [&](const std::string& path, std::uint64_t access) {
    std::string text = "\1" + path;  // offset 0 means "no path"
    ctx.base = text.c_str();
    Op rule{};
    rule.path = 1;
    rule.a = access & abi.fs;
    return step(cat("confine_self: ", path).c_str(), apply_path_rule(ctx, rule));
  };
  for (const auto& path : options.read_only) TRY(add(path, kRead));
  for (const auto& path : options.read_write) TRY(add(path, kWrite));
  TRY(step("landlock_restrict_self", apply_restrict(ctx, Op{})));
  held.release();  // apply_restrict closed it
  return cat("ABI ", host.landlock_abi);
}

}  // namespace

Result<Enforcement> confine_self(const ConfineOptions& options) {
  // Landlock binds the calling thread and what it starts; another thread would stay outside and could be used instead.
  TRY_SET(auto threads, sys::list_dir("/proc/self/task"));
  if (threads.size() != 1)
    return make_error(ErrorCode::kUnsupported, "confine_self: call it before starting threads: Landlock cannot be put on the others");
  Enforcement out;
  out.backend = "self";
  ApplyContext none{};
  TRY(step("no_new_privs", apply_no_new_privs(none, Op{})));
  out.layers.push_back({Layer::kNoNewPrivs, LayerStatus::kFull, "set"});
  TRY_SET(std::string abi, apply_landlock(options));
  out.layers.push_back({Layer::kLandlock, LayerStatus::kFull, abi});
  if (options.seccomp) {
    SeccompRequest request;
    request.network_on = options.allow_network;
    request.isolated_network = false;
    request.own_namespaces = false;
    request.notify = false;
    TRY_SET(SeccompProgram program, plan_seccomp(request));
    TRY(step("seccomp", apply_seccomp_tsync(program.insns.data(), static_cast<unsigned>(program.insns.size()))));
    out.layers.push_back({Layer::kSeccomp, LayerStatus::kFull, program.source});
  }
  return out;
}

}  // namespace hotcell
