// One table of commands and one of options: parsing, --help, completion and the man page all read these.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
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
  std::uint32_t commands;        // bits of Command; which of its verbs: verb_table.cc
  Complete complete = Complete::kNothing;
  bool hidden = false;
};

class OptSet {
 public:
  constexpr OptSet(std::initializer_list<Opt> options) {
    for (Opt o : options) bits_[index(o) / 64] |= std::uint64_t{1} << index(o) % 64;
  }
  constexpr bool has(Opt o) const { return (bits_[index(o) / 64] >> index(o) % 64 & 1) != 0; }
  friend constexpr OptSet operator|(OptSet a, const OptSet& b) {
    for (std::size_t i = 0; i < a.bits_.size(); ++i) a.bits_[i] |= b.bits_[i];
    return a;
  }

 private:
  static constexpr std::size_t index(Opt o) { return static_cast<std::size_t>(o); }
  static_assert(static_cast<std::size_t>(Opt::kHelp) < 128, "two words of bits, and the last option is --help");
  std::array<std::uint64_t, 2> bits_{};
};

// A verb of a command, and what it reads of the command's options. One that it does not read is refused: whoever gives
// it wants it to do something, and `cell rm --dry-run` would remove.
struct VerbSpec {
  Command command;
  std::string_view name;  // "context run": the second word is the one behind the cell's name
  OptSet reads;           // and --help
};

std::span<const CommandSpec> commands();
std::span<const OptionSpec> options();
const CommandSpec* find_command(std::string_view name);
const CommandSpec& command_spec(Command command);
bool applies(const OptionSpec& option, Command command);
std::span<const VerbSpec> verbs();
// None: words without a verb, which the command refuses.
const VerbSpec* find_verb(Command command, std::span<const std::string_view> words);
bool applies(const OptionSpec& option, const VerbSpec& verb);

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
