// The one device that a cell may have besides the harmless ones, and only the cell around a machine (Host::kvm_device).
#pragma once
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace hotcell {

inline constexpr char kKvmDevice[] = "/dev/kvm";
// The kernel gives it a fixed number (MISC_MAJOR, KVM_MINOR): another file under this name is another device, or none.
inline constexpr unsigned kKvmMajor = 10, kKvmMinor = 232;

inline bool is_kvm(const struct stat& st) { return S_ISCHR(st.st_mode) && st.st_rdev == makedev(kKvmMajor, kKvmMinor); }

}  // namespace hotcell
