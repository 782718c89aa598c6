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
#include "core/launch/confine_filter.h"
#include "hotcell/launcher.h"
#include "sys/file.h"
#include "sys/thread.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

using namespace uapi;

Result<void> step(const char* what, int result) {
  if (result < 0) return errno_error(what, -result);
  return {};
}

Result<int> apply_landlock(const ConfineOptions& options) {
  TRY_SET(Host host, Host::look());
  LandlockAbi abi = landlock_abi(host.landlock_abi);
  if (abi.fs == 0) return make_error(ErrorCode::kUnsupported, "confine_self: this kernel has no Landlock");
  const std::uint64_t read = kFsReadFile | kFsReadDir | (options.alone ? 0 : kFsExecute);
  const std::uint64_t write = read | kFsWriteFile | kFsRemoveDir | kFsRemoveFile | kFsMakeDir | kFsMakeReg |
                              kFsMakeSock | kFsMakeFifo | kFsMakeSym | kFsRefer | kFsTruncate;
  ApplyContext ctx{};
  for (int& slot : ctx.slots) slot = -1;
  Op ruleset{};
  ruleset.a = abi.fs;
  ruleset.b = options.allow_network && !options.alone ? 0 : options.dial ? abi.net & ~kNetConnectTcp : abi.net;
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
    int applied = apply_path_rule(ctx, rule);
    // Its name is gone with `text`: nothing of it may be kept for the next.
    while (ctx.path_count > 0) ::close(ctx.paths[--ctx.path_count].fd);
    return step(cat("confine_self: ", path).c_str(), applied);
  };
  for (const auto& path : options.read_only) TRY(add(path, read));
  for (const auto& path : options.read_write) TRY(add(path, write));
  for (std::uint16_t port : options.connect_ports) {
    if (abi.net == 0) break;  // the caller is told
    Op rule{};
    rule.a = kNetConnectTcp;
    rule.b = port;
    TRY(step("confine_self: port", apply_port_rule(ctx, rule)));
  }
  TRY(step("landlock_restrict_self", apply_restrict(ctx, Op{})));
  held.release();  // apply_restrict closed it
  return host.landlock_abi;
}

}  // namespace

Result<Enforcement> confine_self(const ConfineOptions& options) {
  sys::end_sanitizer_thread();
  // Landlock binds the calling thread and what it starts; another thread would stay outside and could be used instead.
  TRY_SET(auto threads, sys::list_dir("/proc/self/task"));
  if (threads.size() != 1)
    return make_error(ErrorCode::kUnsupported, "confine_self: call it before starting threads: Landlock cannot be put on the others");
  Enforcement out;
  out.backend = "self";
  ApplyContext none{};
  if (options.alone) {
    // Root may empty its bounding set, too; others hold nothing and need not.
    TRY_SET(Host host, Host::look());
    Op drop{};
    drop.a = host.last_cap;
    if (apply_drop_caps(none, drop) < 0) {
      drop.flags = kOnlyHeld;
      TRY(step("capabilities", apply_drop_caps(none, drop)));
    }
    out.layers.push_back({Layer::kCapabilities, LayerStatus::kFull, "every set empty"});
  }
  TRY(step("no_new_privs", apply_no_new_privs(none, Op{})));
  out.layers.push_back({Layer::kNoNewPrivs, LayerStatus::kFull, "set"});
  TRY_SET(const int abi, apply_landlock(options));
  const std::string missing = landlock_missing(abi);
  out.layers.push_back({Layer::kLandlock, missing.empty() ? LayerStatus::kFull : LayerStatus::kPartial,
                        cat("ABI ", abi, missing.empty() ? "" : cat(": without ", missing))});
  if (options.seccomp) {
    SeccompRequest request;
    request.network_on = options.alone ? options.dial || !options.connect_ports.empty() : options.allow_network;
    request.isolated_network = false;
    request.own_namespaces = false;
    request.notify = false;
    TRY_SET(SeccompProgram program, options.alone ? plan_alone(request, options.dial) : plan_seccomp(request));
    TRY(step("seccomp", apply_seccomp_tsync(program.insns.data(), static_cast<unsigned>(program.insns.size()))));
    out.layers.push_back({Layer::kSeccomp, LayerStatus::kFull, program.source});
  }
  return out;
}

}  // namespace hotcell
