// Who carries out a machine's processor: the host's own, by KVM, or QEMU's emulation (TCG). KVM only where a guest of ours has
// booted under it and run a program: on some hosts the device answers, and guests die or hang.
// Asked for by name (`vm.accel=kvm`) it is that or nothing; chosen for you (`auto`) it is said which, and why.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "backends/settings.h"

namespace hotcell::backends {

enum class Accel : std::uint8_t { kTcg, kKvm };

// What is known before one is chosen. Of `device` and `boot` each says why not; empty: it works.
struct AccelFacts {
  std::string asked = "auto";
  std::string device;
  std::string boot;
};
struct AccelChoice {
  Accel accel = Accel::kTcg;
  std::string reason;   // "KVM: ..." or "emulated: ..."
};
Result<AccelChoice> choose_accel(const AccelFacts& facts);  // pure

// Why this file is no KVM that we may use; empty: it answers. Proves nothing about guests.
std::string why_no_kvm(const std::string& device);

// By what was found lately (probe_cache.h), or by a guest that is booted now and ended within seconds.
enum class Believe : std::uint8_t { kLately, kNothing };
struct AccelAsk {
  Believe believe = Believe::kLately;
  std::function<bool()> cancelled = {};
};
Result<AccelChoice> accel_here(const Settings& settings, const std::string& qemu, const AccelAsk& ask = {});

// A machine has failed under KVM, though a guest had worked: whoever asks next has another booted, and no hour of errors.
void doubt_kvm();

// A guest under `-cpu host` is one of this processor and this kernel: what is kept of it fits no other.
std::string processor_identity(std::string_view cpuinfo);
std::string processor_identity();

}  // namespace hotcell::backends
