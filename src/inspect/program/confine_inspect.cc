#include "inspect/program/confine_inspect.h"

#include <algorithm>

#include "hotcell/launcher.h"
#include "sys/compute_only.h"

namespace hotcell::inspect {

namespace {

constexpr std::uint64_t kMemory = 2ull << 30;  // of addresses: the libraries take 60 MiB, arguments of 64 MiB six times their size
constexpr std::uint64_t kCpuSeconds = 3600;    // a text of hundreds of gigabytes

}  // namespace

bool is_enough(const Enforcement& done) {
  return std::all_of(done.layers.begin(), done.layers.end(), [](const LayerReport& l) {
    return l.status == LayerStatus::kFull || (l.layer == Layer::kLandlock && l.status == LayerStatus::kPartial);
  });
}

Result<void> confine_inspect(std::uint64_t descriptors) {
  ConfineOptions options;
  options.alone = true;
  options.seccomp = false;  // the filter below is narrower
#ifndef HOTCELL_SANITIZED
  TRY_SET(Enforcement done, confine_self(options));
  if (!is_enough(done)) return make_error(ErrorCode::kUnsupported, "this kernel confines in part only");
#endif
  return sys::compute_only({.memory_bytes = kMemory, .cpu_seconds = kCpuSeconds, .descriptors = descriptors, .writes_files = true});
}

}  // namespace hotcell::inspect
