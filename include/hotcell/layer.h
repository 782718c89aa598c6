// The walls, by the names users know: `--require`, results, `audit.mode`, `explain` and `doctor` all use these.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hotcell {

enum class Layer : std::uint8_t {
  kUserNs, kPidNs, kMountNs, kNetNs, kIpcNs, kUtsNs, kCgroupNs, kRootfs, kLandlockBroad, kLandlock, kSeccomp,
  kCapabilities, kNoNewPrivs, kRlimits, kMemory, kCpu, kProcesses, kDisk, kGroups, kLsm,
};

inline constexpr std::array<std::string_view, 20> kLayerNames = {
    "user_ns", "pid_ns", "mount_ns", "net_ns", "ipc_ns", "uts_ns", "cgroup_ns", "rootfs", "landlock_broad", "landlock",
    "seccomp", "capabilities", "no_new_privs", "rlimits", "memory", "cpu", "processes", "disk", "groups", "lsm"};
inline constexpr std::size_t kLayerCount = kLayerNames.size();

constexpr std::string_view to_string(Layer layer) { return kLayerNames[static_cast<std::size_t>(layer)]; }
constexpr std::optional<Layer> layer_from(std::string_view name) {
  for (std::size_t i = 0; i < kLayerCount; ++i)
    if (kLayerNames[i] == name) return static_cast<Layer>(i);
  return std::nullopt;
}

}  // namespace hotcell
