// What each verb reads of its command's options: `cell apply` --dry-run, `cell discard` not. The rest is refused when
// parsed, so an option that a verb comes to read is added here, and one that it does not read is in no row of its.
#include <array>

#include "base/strings.h"
#include "cli/options.h"

namespace hotcell {

namespace {

using enum Opt;

// What makes the policy of a cell that lasts. Not --on-output, --stdin and --workdir, which are said of one program.
constexpr OptSet kCellPolicy = {
    kProfile,      kLevel,         kTier,         kBackendOption, kRequire,      kMemory,             kDisk,
    kOutput,       kTimeout,       kCpuTime,      kCpus,          kProcesses,    kOpenFiles,          kRead,
    kWrite,        kDeny,          kEnv,          kNetwork,       kNetworkRules, kAllowDomain,        kBlockDomain,
    kAllowPrivate, kMapHost,       kNetworkBytes, kNetworkRate,   kNetworkTime,  kNetworkConnections, kSecret,
    kNetworkConnectionTime};
constexpr OptSet kProxyRules = {kNetworkRules, kAllowDomain, kBlockDomain, kAllowPrivate,       kMapHost,
                                kNetworkBytes, kNetworkRate, kNetworkTime, kNetworkConnections, kNetworkConnectionTime};
// Which container, and of which engine.
constexpr OptSet kContainer = {kBackend, kBackendOption, kProject};
constexpr OptSet kContainerImage = {kImage, kDockerfile, kBase, kPackage, kBuildNetwork};

// --state is every verb's of `cell`: it says where the cells are.
constexpr VerbSpec cell(std::string_view name, OptSet reads) { return {Command::kCell, name, reads | OptSet{kState}}; }

constexpr std::array kVerbs = {
    VerbSpec{Command::kProfile, "list", {kJson}},
    VerbSpec{Command::kProfile, "show", {kJson, kSeccomp}},
    VerbSpec{Command::kProfile, "check", {kJson}},

    VerbSpec{Command::kBackend, "list", {kJson, kProfile, kBackendOption, kRead, kWrite, kDeny, kNetwork}},
    VerbSpec{Command::kLanguage, "list", {kJson}},

    VerbSpec{Command::kCache, "show", {kJson}},
    VerbSpec{Command::kCache, "clear", {kJson}},

    VerbSpec{Command::kConfig, "show", {kJson, kOrigin, kConfig}},
    VerbSpec{Command::kConfig, "check", {kJson}},
    VerbSpec{Command::kConfig, "example", {}},

    VerbSpec{Command::kHistory, "list", {kJson, kState, kLimit}},
    VerbSpec{Command::kHistory, "show", {kJson, kState}},

    VerbSpec{Command::kAudit, "verify", {kJson, kState}},
    VerbSpec{Command::kAudit, "show", {kJson, kState, kLimit}},

    VerbSpec{Command::kKey, "create", {kJson, kState, kScope, kMaxRunning, kPerMinute}},
    VerbSpec{Command::kKey, "list", {kJson, kState}},
    VerbSpec{Command::kKey, "revoke", {kJson, kState}},

    VerbSpec{Command::kProxy, "check", kProxyRules | OptSet{kJson}},
    VerbSpec{Command::kProxy, "start", kProxyRules | OptSet{kJson, kState, kListen}},
    VerbSpec{Command::kProxy, "env", {kListen}},
    VerbSpec{Command::kProxy, "log", {kJson, kState, kLimit}},
    VerbSpec{Command::kProxy, "stats", {kJson, kState}},

    cell("create", kCellPolicy | OptSet{kJson, kName, kFrom, kLabel, kTtl, kIdlePause, kStopped, kPhases, kDecisions}),
    cell("list", {kJson, kLabel}),
    cell("inspect", {kJson}),  // which is JSON in any case
    cell("exec", {kJson, kEnv, kWorkdir, kStdin, kTimeout, kOutput, kOnOutput, kDetach, kInspectOutput, kRules}),
    cell("pause", {}),
    cell("resume", {}),
    cell("start", {kSecret}),
    cell("stop", {}),
    cell("rm", {}),
    cell("diff", {kJson, kPatch}),
    cell("apply", {kJson, kDryRun, kForce, kAllowProtected}),
    cell("discard", {kJson}),
    cell("snapshot", {kJson}),
    cell("snapshots rm", {}),
    cell("snapshots", {kJson}),
    cell("restore", {kJson, kName, kStopped}),
    cell("fork", {kJson, kStopped}),
    cell("cp", {kRecursive}),
    cell("ls", {kJson}),
    cell("cat", {}),
    cell("write", {}),
    cell("stat", {kJson}),
    cell("mkdir", {}),
    cell("remove", {kRecursive}),
    cell("move", {}),
    cell("watch", {kJson}),
    cell("context create", {kJson, kSession, kEnv}),
    cell("context list", {kJson}),
    cell("context run", {kJson, kTimeout}),
    cell("context interrupt", {}),
    cell("context restart", {}),
    cell("context close", {}),
    cell("usage", {kJson}),
    cell("events", {kJson}),
    cell("estimate", {kJson}),
    cell("network", {kJson, kAllowDomain, kBlockDomain}),
    cell("seal", {kJson}),
    cell("questions", {kJson}),
    cell("approve", {kJson}),
    cell("deny", {kJson}),
    cell("grant", {kTtl}),
    cell("grants", {kJson}),
    cell("revoke", {}),
    cell("clean", {kJson, kOlderThan, kKeep}),

    VerbSpec{Command::kSandbox, "start",
             kContainer | kContainerImage | OptSet{kJson, kMemory, kProcesses, kCpus, kAttachments, kCacheFolder}},
    VerbSpec{Command::kSandbox, "exec", kContainer | OptSet{kJson, kTimeout, kOutput}},
    VerbSpec{Command::kSandbox, "swap", kContainer | kContainerImage | OptSet{kJson}},  // the rest is as at its start
    VerbSpec{Command::kSandbox, "stop", kContainer | OptSet{kJson}},
    VerbSpec{Command::kSandbox, "inspect", kContainer | OptSet{kJson}},
    VerbSpec{Command::kSandbox, "build", kContainerImage | OptSet{kJson, kBackend, kBackendOption}},
    VerbSpec{Command::kSandbox, "images", {kJson, kBackend, kBackendOption}},
};

}  // namespace

std::span<const VerbSpec> verbs() { return kVerbs; }

bool applies(const OptionSpec& option, const VerbSpec& verb) {
  return applies(option, verb.command) && (option.id == Opt::kHelp || verb.reads.has(option.id));
}

const VerbSpec* find_verb(Command command, std::span<const std::string_view> words) {
  if (words.empty()) return nullptr;
  for (const auto& v : kVerbs) {
    if (v.command != command) continue;
    auto space = v.name.find(' ');
    const bool second = space == v.name.npos || (words.size() > 2 && words[2] == v.name.substr(space + 1));
    if (second && words[0] == v.name.substr(0, space)) return &v;
  }
  return nullptr;
}

}  // namespace hotcell
