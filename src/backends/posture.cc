#include "backends/posture.h"

#include <map>
#include <optional>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::pair<Layer, std::string_view> kSpaces[] = {{Layer::kUserNs, "user"}, {Layer::kPidNs, "pid"}, {Layer::kMountNs, "mnt"}, {Layer::kNetNs, "net"},
                                                          {Layer::kIpcNs, "ipc"},   {Layer::kUtsNs, "uts"}, {Layer::kCgroupNs, "cgroup"}};

std::map<std::string, std::string> fields(std::string_view text) {
  std::map<std::string, std::string> out;
  for (auto line : split(text, '\n')) {
    auto colon = line.find(':');
    if (colon != line.npos) out.emplace(std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
  }
  return out;
}

// A tool may show a boot id of its own making over the host's kernel (systemd-nspawn does): it takes both to be another one.
bool other_kernel(std::map<std::string, std::string>& f) {
  auto here = [](const char* path) {
    auto text = sys::read_file(path);
    return text.ok() ? std::string(trim(text.value())) : std::string();
  };
  std::string name = here("/proc/version"), boot = here("/proc/sys/kernel/random/boot_id");
  return !name.empty() && !f["kernel"].empty() && f["kernel"] != name && (boot.empty() || f["boot"] != boot);
}

bool zero(const std::string& hex) { return !hex.empty() && hex.find_first_not_of('0') == hex.npos; }

}  // namespace

std::vector<std::string> posture_command() {
  return {"/bin/sh", "-c",
          "cat /proc/self/status; for n in user pid mnt net ipc uts cgroup; do echo \"ns_$n:$(readlink /proc/self/ns/$n)\"; done; "
          "while read -r _ at _ how _; do [ \"$at\" = / ] && root=$how; done </proc/self/mounts; echo \"root:$root\"; "
          "if ls /root >/dev/null 2>&1; then echo home:there; else echo home:hidden; fi; "
          "if head -c1 /etc/shadow >/dev/null 2>&1; then echo shadow:readable; else echo shadow:hidden; fi; "
          "echo \"files:$(ulimit -Hn)\"; echo \"fsize:$(ulimit -Hf)\"; echo \"core:$(ulimit -Hc)\"; echo \"stack:$(ulimit -Hs)\"; echo \"as:$(ulimit -Hv)\"; echo \"kernel:$(cat /proc/version)\"; echo \"boot:$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)\""};
}

std::vector<LayerReport> read_posture(std::string_view inside, const Backend& backend, bool machine) {
  auto f = fields(inside);
  std::vector<LayerReport> out;
  auto add = [&](Layer layer, LayerStatus status, std::string detail) { out.push_back({layer, status, std::move(detail)}); };
  bool guest = machine || other_kernel(f), promised = backend.guest_kernel();
  for (auto [layer, name] : kSpaces) {
    auto theirs = f[cat("ns_", name)];
    auto ours = sys::read_link(cat("/proc/self/ns/", name).c_str());
    if (guest) add(layer, LayerStatus::kFull, "a kernel of its own");
    else if (theirs.empty() || !ours.ok()) add(layer, LayerStatus::kNone, "could not be read back");
    else if (theirs != ours.value()) add(layer, LayerStatus::kFull, "its own");
    else add(layer, LayerStatus::kNone, "shared with the host");
  }
  bool own_tree = guest || out[2].status == LayerStatus::kFull;  // a mount namespace of its own
  bool hidden = own_tree && f["home"] == "hidden" && f["shadow"] == "hidden", fixed = f["root"].starts_with("ro");
  add(Layer::kRootfs, hidden && fixed ? LayerStatus::kFull : hidden ? LayerStatus::kPartial : LayerStatus::kNone,
      hidden && fixed ? "private root, read-only" : hidden ? "private root, but writable" : "the host's own tree");
  add(Layer::kLandlockBroad, LayerStatus::kNone, "not used by this backend");
  add(Layer::kLandlock, LayerStatus::kNone, "not used by this backend");
  if (guest) add(Layer::kSeccomp, LayerStatus::kFull, "the guest kernel answers every call");
  else if (promised) add(Layer::kSeccomp, LayerStatus::kNone, "the host's own kernel answers, not one of the tool's");
  else add(Layer::kSeccomp, f["Seccomp"] == "2" ? LayerStatus::kFull : LayerStatus::kNone, f["Seccomp"] == "2" ? "a filter was read back" : "no filter was read back");
  bool none = zero(f["CapPrm"]) && zero(f["CapEff"]), all_none = none && zero(f["CapBnd"]) && zero(f["CapInh"]);
  add(Layer::kCapabilities, all_none ? LayerStatus::kFull : none ? LayerStatus::kPartial : LayerStatus::kNone,
      all_none ? "every set is empty" : none ? "none held; the bounding set is not empty" : "capabilities remain");
  bool nnp = f["NoNewPrivs"] == "1";
  add(Layer::kNoNewPrivs, nnp || guest ? LayerStatus::kFull : LayerStatus::kNone, nnp ? "set" : guest ? "of the guest kernel" : "not set");
  return out;
}

LayerReport read_rlimits(std::string_view inside, const Limits& limits) {
  auto f = fields(inside);
  auto files = parse_u64(f["files"]);
  if (!files) return {Layer::kRlimits, LayerStatus::kNone, "could not be read back"};
  if (*files > limits.open_files) return {Layer::kRlimits, LayerStatus::kNone, cat(*files, " open files instead of ", limits.open_files)};
  // What a shell says of them is in blocks and kilobytes.
  struct Said {
    const char* name;
    std::uint64_t unit;
    std::optional<Bytes> most;
  };
  std::string more;
  for (const Said& said : {Said{"fsize", 512, limits.disk}, Said{"core", 512, Bytes{0}}, Said{"stack", 1024, limits.stack}, Said{"as", 1024, limits.address_space}}) {
    if (!said.most) continue;
    auto n = parse_u64(f[said.name]);
    if (!n || *n > (said.most->n + said.unit - 1) / said.unit) more += cat(more.empty() ? "" : ", ", said.name, " ", f[said.name].empty() ? "not read back" : f[said.name]);
  }
  if (!more.empty()) return {Layer::kRlimits, LayerStatus::kPartial, cat("open files held, but not all: ", more)};
  return {Layer::kRlimits, LayerStatus::kFull, "open files, size of files, core, stack: read back inside"};
}

bool has_own_kernel(std::string_view inside) {
  auto f = fields(inside);
  return other_kernel(f);
}

}  // namespace hotcell::backends
