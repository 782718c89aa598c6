#include "backends/settings.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kBundles = "crun runc runsc oci";

std::string_view owners_of(const SettingSpec& spec) { return spec.of.empty() ? spec.name.substr(0, spec.name.find('.')) : spec.of; }

bool is_of(const SettingSpec& spec, std::string_view backend) {
  auto owners = split(owners_of(spec), ' ');
  return std::find(owners.begin(), owners.end(), backend) != owners.end();
}

}  // namespace

const std::vector<SettingSpec>& known_settings() {
  static const std::vector<SettingSpec> list = {
      {"docker.socket", "/run/docker.sock", "where the engine listens"},
      {"docker.runtime", "", "a runtime that the engine knows, runsc for example"},
      {"docker.probe_timeout", "2000", "milliseconds within which the engine must answer when it is first asked"},
      {"podman.socket", "/run/podman/podman.sock", "where `podman system service` listens"},
      {"podman.runtime", "", "a runtime that the engine knows"},
      {"podman.probe_timeout", "2000", "as above"},
      {"oci.runtime", "", "the runtime of backend oci: a name, or a path from the root"},
      {"oci.rootfs", "", "root file system of OCI runtimes: a folder, or a tar", kBundles, true},
      {"oci.image", "", "the same from an image layout: FOLDER or FOLDER:TAG", kBundles, true},
      {"oci.apparmor", "", "AppArmor profile of the program, loaded on this host", kBundles, true},
      {"oci.selinux", "", "SELinux label of the program and of what is mounted", kBundles, true},
      {"lxc.executable", "lxc-execute", "the program that runs one command in a container"},
      {"lxc.instance", "hotcell", "what the names of containers begin with"},
      {"runsc.platform", "", "systrap or ptrace; otherwise the first of the two that works"},
      {"vm.executable", "qemu-system-x86_64", "QEMU: a name, or a path below /usr"},
      {"vm.kernel", "", "a folder with boot/ and lib/modules/ of the guest's kernel"},
      {"vm.image", "", "root file system of the machine: an erofs image, or a folder, a tar or an image layout that one is made of", {}, true},
      {"vm.memory", "", "MiB of the machine, at least what the policy's limit takes"},
      {"vm.cpus", "", "processors of the machine, at most the host's"},
      {"vm.accel", "auto", "kvm: that or nothing; tcg: emulated; auto: KVM where a guest works under it, emulated otherwise", {}, true},
      {"basic.shell", "full", "of backend basic: disabled, read_only, task_scoped or full", {}, true},
      {"basic.writes", "off", "block_file_mutation: no command that changes files", {}, true},
      {"basic.allow", "", "names of commands, with blanks between them, for task_scoped", {}, true},
      {"basic.block", "", "names of commands that are never started, with blanks between them", {}, true},
      {"codex.executable", "codex", "the program"},
      {"codex.subcommand", "sandbox", "what it is asked to do"},
      {"codex.probe_timeout", "20000", "milliseconds for a trial run"},
      {"codex.auto_download", "false", "fetch it when it is not there"},
      {"codex.download_timeout", "1200", "seconds for each source"},
      {"codex.sources", "", "URLs of the program, with blanks between them"},
      {"codex.sha256", "", "its digest, without which nothing is fetched"},
  };
  return list;
}

Result<Settings> Settings::parse(const std::vector<std::string>& words) {
  Settings out;
  for (const auto& word : words) {
    auto equals = word.find('=');
    std::string name = word.substr(0, equals);
    auto spec = std::find_if(known_settings().begin(), known_settings().end(), [&](const SettingSpec& s) { return s.name == name; });
    if (equals == word.npos || spec == known_settings().end()) {
      std::vector<std::string_view> names;
      for (const auto& s : known_settings()) names.push_back(s.name);
      return make_error(ErrorCode::kInvalid, cat("--backend-option: expected NAME=VALUE with a known name, got ", printable(word), did_you_mean(name, names)));
    }
    std::string value = word.substr(equals + 1);
    if (value.empty() || std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return make_error(ErrorCode::kInvalid, cat("--backend-option: ", name, ": empty or not printable"));
    out.values_[name] = std::move(value);
  }
  return out;
}

std::string Settings::get(std::string_view name) const {
  if (auto it = values_.find(std::string(name)); it != values_.end()) return it->second;
  for (const auto& s : known_settings())
    if (s.name == name) return std::string(s.fallback);
  return {};
}

Settings Settings::with(std::string_view name, std::string_view value) const {
  Settings out = *this;
  out.values_[std::string(name)] = std::string(value);
  return out;
}

Settings Settings::of(std::string_view backend) const {
  Settings out = *this;
  std::erase_if(out.values_, [&](const auto& said) {
    auto spec = std::find_if(known_settings().begin(), known_settings().end(), [&](const SettingSpec& s) { return s.name == said.first; });
    return spec != known_settings().end() && !is_of(*spec, backend);
  });
  return out;
}

std::string Settings::text() const {
  std::string out;
  for (const auto& [name, value] : values_) out += cat(out.empty() ? "" : " ", name, "=", value);
  return out;
}

std::string not_for(std::string_view backend, const Settings& settings, SettingsOf how) {
  for (const auto& spec : known_settings()) {
    if (!settings.said(spec.name) || (how == SettingsOf::kCandidate && !spec.binding)) continue;
    if (is_of(spec, backend)) continue;
    auto owners = split(owners_of(spec), ' ');
    std::string list;
    for (std::size_t i = 0; i < owners.size(); ++i) list += cat(i == 0 ? "" : i + 1 == owners.size() ? " and " : ", ", owners[i]);
    return cat("it cannot do what ", spec.name, " says; that is for ", list);
  }
  return {};
}

}  // namespace hotcell::backends
