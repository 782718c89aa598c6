// Layers of an image into a folder. Nothing is written outside of it, whatever an archive says: names are resolved as if the folder were
// the root, by the kernel; `..`, absolute names and devices are refused.
#pragma once
#include <cstdint>
#include <string>

#include "hotcell/result.h"

namespace hotcell::backends {

// What one image may take, all its layers together: what grows without end is an attack.
struct UnpackBudget {
  std::uint64_t bytes = std::uint64_t{8} << 30;
  std::uint64_t entries = 500'000;
};

// `archive`: a tar, plain or compressed by gzip or zstd, open at its beginning. Whiteouts (.wh.NAME, .wh..wh..opq) take away what
// earlier layers have brought. Owners are the caller's, set-id bits are dropped; devices, FIFOs and sockets in /dev are left out.
Result<void> unpack_layer(int archive, int root, UnpackBudget& budget);

}  // namespace hotcell::backends
