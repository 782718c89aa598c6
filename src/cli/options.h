// One table of commands and one of options: parsing, --help, completion and the man page all read these.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

enum class Command : std::uint8_t {
  kRun, kExplain, kVerify, kInspect, kDoctor, kProfile, kBackend, kLanguage, kCache,
  kServe, kMcp, kConfig, kHistory, kAudit, kKey, kProxy, kWrap, kCell, kShell, kSandbox,
  kCompletion, kHelp, kVersion,
};

enum class Opt : std::uint8_t {
  kProfile, kLevel, kTier, kBackend, kRequire,
  kMemory, kDisk, kOutput, kOnOutput, kTimeout, kCpuTime, kCpus, kProcesses, kOpenFiles,
  kRead, kWrite, kDeny, kFile, kWorkdir, kStdin, kEnv,
  kNetwork, kNetworkRules, kAllowDomain, kBlockDomain, kAllowPrivate, kMapHost, kNetworkBytes, kNetworkRate,
  kNetworkConnections, kNetworkTime, kNetworkConnectionTime, kSecret,
  kLanguage, kCode, kNoVerify, kNoCache, kNoWarm, kDaemon,
  kJson, kStatusFd, kRich, kExplainDenials, kVerbose,
  kConfig, kListen, kUnix, kState, kRequireKey, kTlsCert, kTlsKey, kMaxRunning,
  kReadyFd, kLogFormat, kLogLevel, kOpen, kOrigin, kScope, kPerMinute, kLimit,
  kWaive,
  kInto,
  kBackendOption,
  kSuspendTo, kResume,
  kName, kFrom, kLabel, kTtl, kIdlePause, kStopped, kPhases, kOlderThan, kKeep, kDetach, kRecursive, kForce, kDryRun, kAllowProtected, kDecisions,
  kProject, kImage, kDockerfile, kBase, kPackage, kBuildNetwork, kAttachments, kCacheFolder,
  kPatch, kSession, kInput, kInterrupt, kHistory, kClose,
  kFormat, kKind, kAs, kRules, kInspectOutput, kSeccomp, kAttack, kMan, kHelp,
};

// What a shell should offer after the option.
enum class Complete : std::uint8_t { kNothing, kFile, kFolder, kPath };

struct CommandSpec {
  Command id;
  std::string_view name;
  std::string_view synopsis;     // one form per line
  std::string_view summary;      // one line, no full stop
  std::string_view words;        // the words that may follow, separated by '|', for completion
  bool program_follows = false;  // the first word that is not an option ends the options: the rest is the program's
};

struct OptionSpec {
  Opt id;
  std::string_view group;
  std::string_view name;         // with its dashes
  std::string_view short_name;   // empty: none
  std::string_view value;        // placeholder; empty: a switch
  std::string_view help;
  std::string_view choices;      // a|b|c; checked when parsed
  bool repeatable;
  std::uint32_t commands;        // bits of Command
  Complete complete = Complete::kNothing;
  bool hidden = false;
};

std::span<const CommandSpec> commands();
std::span<const OptionSpec> options();
const CommandSpec* find_command(std::string_view name);
const CommandSpec& command_spec(Command command);
bool applies(const OptionSpec& option, Command command);

class Parsed {
 public:
  bool has(Opt option) const { return last(option).has_value(); }
  std::optional<std::string_view> last(Opt option) const;  // of two, the later: a wrapper script can be overridden
  const std::vector<std::pair<Opt, std::string_view>>& values() const { return values_; }
  std::vector<std::string_view> words;  // what is not an option
  bool dashes = false;                  // `--` came before the words

 private:
  friend Result<Parsed> parse(Command, std::span<const std::string_view>);
  std::vector<std::pair<Opt, std::string_view>> values_;
};

Result<Parsed> parse(Command command, std::span<const std::string_view> args);

// True when --json is among the options, even though something else is wrong with them: whoever asked for JSON gets
// the refusal as JSON too.
bool wants_json(Command command, std::span<const std::string_view> args);

}  // namespace hotcell
