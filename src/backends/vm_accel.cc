#include "backends/vm_accel.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/probe.h"
#include "backends/probe_cache.h"
#include "backends/vm.h"
#include "base/strings.h"
#include "core/kernel/kvm_device.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kProbeName = "vm-kvm";
constexpr unsigned long kGetApiVersion = 0xae00;
constexpr int kApiVersion = 12;  // since 2.6.22, and it will not change
// A guest of ours is there in less than one under KVM. What takes longer on a busy host is tried again by the next one.
constexpr auto kTrialPatience = std::chrono::seconds(5);

// A whole start, as every later one will be: booted, kept, restored, and a program in it with its walls read back.
Result<void> try_guest(const Settings& settings, const std::function<bool()>& cancelled) {
  ToolOptions options;
  // Of what was said only what KVM can depend on: a root that somebody has put together is no part of the question.
  for (auto name : {"vm.executable", "vm.kernel"})
    if (settings.said(name)) options.settings = options.settings.with(name, settings.get(name));
  options.cancelled = cancelled;
  const Nanoseconds patience = std::min<Nanoseconds>(kTrialPatience, probe_settings().patience);
  TRY_SET(auto launcher, open_vm(std::move(options), {.accel = AccelChoice{Accel::kKvm, "KVM: tried"}, .boot_patience = patience}));
  Policy policy = default_policy();
  policy.limits.wall = patience;
  Request request;
  request.argv = {"/bin/true"};
  TRY_SET(Report report, run_while(*launcher, policy, std::move(request), cancelled));
  if (report.verdict.status() == RunStatus::kCompleted) return {};
  if (report.verdict.reason == ExitReason::kTimeoutWall) return make_error(ErrorCode::kUnsupported, cat("the smallest program had not ended after ", format_duration(patience)));
  return make_error(ErrorCode::kUnsupported, cat("the smallest program ended with ", to_string(report.verdict.reason)));
}

std::string words_of(const Error& error) {
  // In a sentence that says already whose words these are, and that it does not boot.
  std::string_view said = error.message;
  for (std::string_view known : {"backend vm: ", "the machine does not boot here: ", "exited: ", "failed:"})
    if (said.starts_with(known)) said.remove_prefix(known.size());
  return std::string(said);
}

// All that the answer leans on, besides QEMU, the host's kernel and the user, which every key has.
Result<std::string> key_of(const Settings& settings, const std::string& qemu) {
  TRY_SET(MachineImage image, machine_image(MakeImage::kNo, settings));
  // A daemon's launcher may be root with fewer capabilities than a shell's.
  std::string may;
  const std::string status = sys::read_file("/proc/self/status").value_or("");  // the lines are views of it
  for (auto line : split(status, '\n'))
    if (line.starts_with("CapEff:")) may = std::string(line);
  return probe_key(kProbeName, qemu, cat(tool_identity(kKvmDevice), "\n", may, "\n", image.key, "\n", processor_identity(), "\n", probe_settings().patience.count()));
}

}  // namespace

Result<AccelChoice> choose_accel(const AccelFacts& facts) {
  if (facts.asked != "auto" && facts.asked != "kvm" && facts.asked != "tcg")
    return make_error(ErrorCode::kInvalid, cat("--backend-option: vm.accel: ", printable(facts.asked), ": expected auto, kvm or tcg"));
  if (facts.asked == "tcg") return AccelChoice{Accel::kTcg, "emulated: vm.accel=tcg says so"};
  std::string why = !facts.device.empty() ? facts.device : !facts.boot.empty() ? cat("no guest works under KVM here: ", facts.boot) : "";
  if (why.empty()) return AccelChoice{Accel::kKvm, "KVM: a guest has booted and run under it"};
  if (facts.asked == "kvm")
    return make_error(ErrorCode::kUnsupported, cat("backend vm: vm.accel=kvm: ", why, " (vm.accel=auto or tcg would emulate the processor)"));
  return AccelChoice{Accel::kTcg, cat("emulated: ", why)};
}

std::string why_no_kvm(const std::string& device) {
  auto file = sys::open(device.c_str(), O_RDWR | O_NONBLOCK);
  if (!file.ok()) return cat(device, ": ", std::strerror(file.error().err));
  struct stat st {};
  if (::fstat(file.value().get(), &st) < 0 || !is_kvm(st)) return cat(device, " is not the device of that name");
  int version = ::ioctl(file.value().get(), kGetApiVersion, 0);
  if (version < 0) return cat(device, ": ", std::strerror(errno));
  return version == kApiVersion ? std::string() : cat(device, " speaks version ", version, ", not ", kApiVersion);
}

Result<AccelChoice> accel_here(const Settings& settings, const std::string& qemu, const AccelAsk& ask) {
  AccelFacts facts{settings.get("vm.accel"), "", ""};
  if (facts.asked != "auto" && facts.asked != "kvm") return choose_accel(facts);
  facts.device = why_no_kvm(kKvmDevice);
  if (!facts.device.empty()) return choose_accel(facts);
  TRY_SET(std::string key, key_of(settings, qemu));  // without a kernel for the guest there is no machine of either kind
  ProbeCache cache(probe_settings().cache_folder.value_or(ProbeCache::standard_folder()));
  // No shorter when it fails: what could mend it is in the key, there is something else to run, and where guests hang each trial
  // would cost its whole deadline.
  if (ask.believe == Believe::kLately)
    if (auto known = cache.get(kProbeName, key, std::chrono::system_clock::now(), ProbeCache::kGood)) {
      facts.boot = known->why;
      return choose_accel(facts);
    }
  auto tried = try_guest(settings, ask.cancelled);
  // Given up is not tried.
  if (!tried.ok() && tried.error().code == ErrorCode::kCancelled) return std::move(tried).error();
  if (!tried.ok()) facts.boot = words_of(tried.error());
  Probed found;
  found.name = std::string(kProbeName);
  found.works = tried.ok();
  found.why = facts.boot;
  cache.put(found, key, std::chrono::system_clock::now());
  return choose_accel(facts);
}

void doubt_kvm() { ProbeCache(probe_settings().cache_folder.value_or(ProbeCache::standard_folder())).forget(kProbeName); }

std::string processor_identity(std::string_view cpuinfo) {
  std::string out;
  for (auto line : split(cpuinfo.substr(0, cpuinfo.find("\n\n")), '\n'))
    for (std::string_view name : {"vendor_id", "cpu family", "model", "stepping", "microcode", "flags"})
      if (auto colon = line.find(':'); colon != line.npos && trim(line.substr(0, colon)) == name) out += cat(line, "\n");
  return out;
}

std::string processor_identity() {
  utsname kernel{};
  ::uname(&kernel);
  return cat(processor_identity(sys::read_file("/proc/cpuinfo").value_or("")), kernel.release, " ", kernel.version);
}

}  // namespace hotcell::backends
