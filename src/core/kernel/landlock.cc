#include "core/kernel/landlock.h"

#include <sys/stat.h>

#include "base/strings.h"
#include "core/kernel/etc_settings.h"
#include "core/kernel/kvm_device.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

using namespace uapi;

constexpr std::uint64_t kReadFiles = kFsReadFile | kFsReadDir;
constexpr std::uint64_t kReadExecute = kReadFiles | kFsExecute;
// No MAKE_CHAR and MAKE_BLOCK: nobody inside makes devices.
constexpr std::uint64_t kWriteAll = kReadExecute | kFsWriteFile | kFsRemoveDir | kFsRemoveFile | kFsMakeDir | kFsMakeReg | kFsMakeSock |
                                    kFsMakeFifo | kFsMakeSym | kFsRefer | kFsTruncate;
// A folder that others outside see, too: a socket made there would be a way in for them, and a way out for data and descriptors,
// past the network's walls. Connecting to one that is there already is not Landlock's to forbid.
constexpr std::uint64_t kWriteShared = kWriteAll & ~static_cast<std::uint64_t>(kFsMakeSock);

using Rule = LandlockRule;

class LandlockPlanner {
 public:
  LandlockPlanner(const LandlockAbi& abi, PlanBuilder& plan) : abi_(abi), plan_(plan) {}

  unsigned ruleset(Layer layer, std::uint64_t net, std::uint64_t scoped, const std::vector<Rule>& rules) {
    unsigned slot = plan_.new_slot();
    plan_.add({.kind = OpKind::kRuleset, .layer = layer, .slot = slot, .flags = static_cast<std::uint32_t>(scoped & abi_.scoped),
               .reserved = abi_.attr_size, .a = abi_.fs, .b = net & abi_.net},
              cat("denies everything not listed", (net & abi_.net) ? ", all TCP" : "",
                  (scoped & abi_.scoped) ? ", signals and abstract sockets beyond the cell" : ""));
    for (const auto& r : rules)
      plan_.add({.kind = OpKind::kPathRule, .layer = layer, .slot = slot, .path = r.path, .flags = kOptional, .a = r.access & abi_.fs},
                cat(r.path, (r.access & kFsWriteFile) ? " read, write" : " read", (r.access & kFsExecute) ? ", execute" : ""));
    return slot;
  }

 private:
  const LandlockAbi& abi_;
  PlanBuilder& plan_;
};

std::vector<Rule> device_rules() {
  // ioctl on these five is harmless; on anything else it stays denied (ABI 5).
  constexpr std::uint64_t kUse = kFsReadFile | kFsWriteFile | kFsIoctlDev;
  return {{"/dev/null", kUse | kFsTruncate}, {"/dev/zero", kUse}, {"/dev/full", kUse}, {"/dev/random", kUse}, {"/dev/urandom", kUse}};
}

void add_grants(const Grants& grants, std::vector<Rule>& rules) {
  for (const auto& g : grants.grants) rules.push_back({g.shown, g.access == Access::kWrite ? kWriteShared : kReadExecute});
}

// A folder of the cell's own. What Landlock allows there it allows below, too, so one that has a shared folder in it is like that.
std::uint64_t scratch_rights(const Policy& policy, const Grants& grants, std::string_view folder) {
  if (!policy.filesystem.writable_scratch) return kReadExecute;
  for (const auto& g : grants.grants)
    if (g.access == Access::kWrite && is_inside(g.shown, folder)) return kWriteShared;
  return kWriteAll;
}

// Where they are links they lead into /usr, and a rule of their own would only cost time.
void add_system_folders(std::vector<Rule>& rules) {
  for (const char* folder : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat st;
    if (::lstat(folder, &st) == 0 && S_ISDIR(st.st_mode)) rules.push_back({folder, kReadExecute});
  }
}

}  // namespace

LandlockAbi landlock_abi(int version) {
  LandlockAbi out;
  if (version < 1) return out;
  out.fs = (1u << 13) - 1;  // EXECUTE … MAKE_SYM
  out.attr_size = 8;
  if (version >= 2) out.fs |= kFsRefer;
  if (version >= 3) out.fs |= kFsTruncate;
  if (version >= 4) {
    out.net = kNetBindTcp | kNetConnectTcp;
    out.attr_size = 16;
  }
  if (version >= 5) out.fs |= kFsIoctlDev;
  if (version >= 6) {
    out.scoped = kScopeAbstractUnix | kScopeSignal;
    out.attr_size = 24;
  }
  return out;
}

std::string landlock_missing(int version) {
  if (version >= 6) return {};
  return cat(version < 2 ? "refer, " : "", version < 3 ? "truncate, " : "", version < 4 ? "TCP, " : "", version < 5 ? "device ioctls, " : "",
             "signal and abstract socket scopes");
}

LandlockSlots plan_landlock(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan) {
  LandlockSlots slots;
  LandlockAbi abi = landlock_abi(host.landlock_abi);
  if (abi.fs == 0) return slots;
  LandlockPlanner planner(abi, plan);
  auto scratch = [&](std::string_view folder) { return scratch_rights(policy, grants, folder); };

  // Broad: what the profile shows at all. On the cell's own empty network TCP between its own processes is wanted.
  std::vector<Rule> broad = {{"/usr", kReadExecute}, {"/etc", kReadExecute}, {"/", kFsReadDir}, {"/proc", kReadFiles},
                             {"/dev", kReadFiles | kFsWriteFile | kFsIoctlDev | kFsTruncate},
                             {"/dev/shm", scratch("/dev/shm")}, {"/work", scratch("/work")}, {"/tmp", scratch("/tmp")}};
  add_system_folders(broad);
  if (policy.lasting || policy.network.mode == NetworkMode::kProxy) broad.push_back({"/run/hotcell", kReadExecute});
  add_grants(grants, broad);
  slots.broad = planner.ruleset(Layer::kLandlockBroad, 0, kScopeAbstractUnix | kScopeSignal, broad);

  // Tight: the same folders, each device by name, the top folder listable but nothing more.
  std::vector<Rule> tight = {{"/usr", kReadExecute}, {"/etc", kReadFiles}, {"/proc", kReadFiles}, {"/", kFsReadDir}, {"/dev/pts", kFsReadFile | kFsWriteFile | kFsReadDir | kFsIoctlDev},
                             {"/dev/shm", scratch("/dev/shm")}, {"/work", scratch("/work")}, {"/tmp", scratch("/tmp")}};
  add_system_folders(tight);
  if (policy.lasting || policy.network.mode == NetworkMode::kProxy) tight.push_back({"/run/hotcell", kReadExecute});
  for (auto& r : device_rules()) tight.push_back(std::move(r));
  // It is nothing but ioctls.
  if (host.kvm_device) tight.push_back({kKvmDevice, kFsReadFile | kFsWriteFile | kFsIoctlDev});
  add_grants(grants, tight);
  // Strict has no use for TCP; on the host's network a rule for each wanted port would be needed, so none means none.
  std::uint64_t net = policy.syscalls.base == "strict" ? kNetBindTcp | kNetConnectTcp : 0;
  if (policy.network.mode == NetworkMode::kHost) net = kNetBindTcp;
  if (policy.network.mode == NetworkMode::kProxy) net &= ~kNetConnectTcp;  // its network has nothing but the door
  slots.tight = planner.ruleset(Layer::kLandlock, net, kScopeAbstractUnix | kScopeSignal, tight);
  slots.rules = std::move(tight);
  return slots;
}

Result<LandlockSlots> plan_landlock_flat(const Policy& policy, const Host& host, const Grants& grants, const std::string& workspace,
                                         PlanBuilder& plan) {
  LandlockAbi abi = landlock_abi(host.landlock_abi);
  if (abi.fs == 0) return make_error(ErrorCode::kUnsupported, "this kernel has no Landlock, and without namespaces nothing else would hold files");
  // Landlock adds rights up the tree and cannot take them away below.
  for (const auto& g : grants.grants)
    for (const auto& outer : grants.grants)
      if (g.access == Access::kRead && outer.access == Access::kWrite && g.shown != outer.shown && is_inside(g.canonical, outer.canonical))
        return make_error(ErrorCode::kUnsupported, cat(printable(g.shown), " is read-only inside ", printable(outer.shown),
                                                       ", which is writable: the landlock backend cannot enforce that"));
  if (!grants.masks.empty())
    return make_error(ErrorCode::kUnsupported, cat("deny ", printable(grants.masks[0].shown), ": the landlock backend cannot hide a path inside a granted folder"));
  LandlockPlanner planner(abi, plan);
  std::vector<Rule> rules = {{"/usr", kReadExecute}, {"/bin", kReadExecute}, {"/sbin", kReadExecute}, {"/lib", kReadExecute},
                             {"/lib32", kReadExecute}, {"/lib64", kReadExecute}, {"/libx32", kReadExecute},
                             {"/etc/passwd", kReadFiles}, {"/etc/group", kReadFiles}, {"/etc/nsswitch.conf", kReadFiles}};
  // The same as in a root of its own. What a link leads to is below /usr.
  for (const auto& setting : etc_settings())
    if (setting.leads_to.empty()) rules.push_back({setting.path, kReadFiles});
  for (auto& r : device_rules()) rules.push_back(std::move(r));
  rules.push_back({workspace, policy.filesystem.writable_scratch ? kWriteAll : kReadExecute});
  for (const auto& g : grants.grants) rules.push_back({g.canonical, g.access == Access::kWrite ? kWriteShared : kReadExecute});
  LandlockSlots slots;
  std::uint64_t net = policy.network.mode == NetworkMode::kHost ? kNetBindTcp : kNetBindTcp | kNetConnectTcp;
  slots.broad = planner.ruleset(Layer::kLandlockBroad, net, kScopeAbstractUnix, rules);
  // Signals: only the program's own layer, since init must be able to kill what it started.
  slots.tight = planner.ruleset(Layer::kLandlock, net, kScopeAbstractUnix | kScopeSignal, rules);
  slots.rules = std::move(rules);
  return slots;
}

}  // namespace hotcell
