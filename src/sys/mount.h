// A file system of its own, mounted nowhere yet: whoever has the descriptor attaches it, or it goes with it.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "sys/fd.h"

namespace hotcell::sys {

struct MountOption {
  const char* name;
  std::string value;
};
// `attributes`: uapi::kAttrNoSuid … of the mount.
Result<Fd> new_mount(const char* type, std::initializer_list<MountOption> options, std::uint64_t attributes);

}  // namespace hotcell::sys
