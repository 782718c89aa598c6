#include <array>

#include "cli/options.h"

namespace hotcell {

namespace {

constexpr std::uint32_t bit(Command c) { return 1U << static_cast<unsigned>(c); }
constexpr std::uint32_t kRunning = bit(Command::kRun) | bit(Command::kExplain);
constexpr std::uint32_t kRunOnly = bit(Command::kRun);
constexpr std::uint32_t kAll = (1U << 11) - 1;
constexpr std::uint32_t kListing = kRunning | bit(Command::kDoctor) | bit(Command::kProfile) | bit(Command::kBackend) |
                                   bit(Command::kLanguage) | bit(Command::kCache) | bit(Command::kVerify) |
                                   bit(Command::kVersion);

constexpr std::string_view kLimits = "Limits";
constexpr std::string_view kFiles = "Files and environment";
constexpr std::string_view kNetworking = "Network";
constexpr std::string_view kPolicy = "Policy";
constexpr std::string_view kWhat = "What to run";
constexpr std::string_view kReporting = "Reporting";

constexpr std::array kCommands = {
    CommandSpec{Command::kRun, "run",
                "[options] FILE [ARGS...]\n"
                "[options] --language LANG -c CODE [ARGS...]\n"
                "[options] -- PROGRAM [ARGS...]",
                "run a file, a piece of code or a program in a cell", "", true},
    CommandSpec{Command::kExplain, "explain", "[options of run] [FILE | -- PROGRAM [ARGS...]]",
                "print the plan: each layer, each rule, what is missing here; run nothing", "", true},
    CommandSpec{Command::kVerify, "verify",
                "[--language LANG] [--profile NAME|FILE] [--format text|json|sarif] FILE...|-",
                "read a source and say what it does, without running it", ""},
    CommandSpec{Command::kDoctor, "doctor", "[--json] [--attack]",
                "what this host can enforce, and what to do about the rest", ""},
    CommandSpec{Command::kProfile, "profile",
                "list [--json]\n"
                "show NAME|FILE [--json | --seccomp bpf|oci|text]\n"
                "check [--json] FILE...",
                "list, show and check profiles", "list|show|check"},
    CommandSpec{Command::kBackend, "backend", "list [--json]", "the ways to build a cell, each tried here", "list"},
    CommandSpec{Command::kLanguage, "language", "list [--json]",
                "the languages, with versions and what is missing here", "list"},
    CommandSpec{Command::kCache, "cache", "show|clear [--json]", "what was compiled before and need not be again",
                "show|clear"},
    CommandSpec{Command::kCompletion, "completion", "bash|zsh|fish", "print a completion script for a shell",
                "bash|zsh|fish"},
    CommandSpec{Command::kHelp, "help", "[COMMAND]", "help on a command",
                "run|explain|verify|doctor|profile|backend|language|cache|completion|version"},
    CommandSpec{Command::kVersion, "version", "[--json]", "print the version", ""},
};

constexpr std::array kOptions = {
    OptionSpec{Opt::kLanguage, kWhat, "--language", "", "LANG",
               "Language of FILE or CODE (see hotcell language list). Without it: by extension or #! line.",
               "", false, kRunning | bit(Command::kVerify)},
    OptionSpec{Opt::kCode, kWhat, "-c", "", "CODE", "Run this text; needs --language.", "", false, kRunning},
    OptionSpec{Opt::kStdin, kWhat, "--stdin", "", "FILE",
               "Feed standard input from FILE instead of hotcell's own standard input.", "", false, kRunning,
               Complete::kFile},

    OptionSpec{Opt::kProfile, kPolicy, "--profile", "", "NAME|FILE",
               "Start from this profile: a built-in name (see hotcell profile list) or a YAML file.", "", false,
               kRunning | bit(Command::kVerify), Complete::kFile},
    OptionSpec{Opt::kLevel, kPolicy, "--level", "", "LEVEL",
               "default: the native backend; enhanced: the same, and every layer must be fully in force or nothing "
               "starts. The others are not in this version.",
               "off|default|enhanced|container|maximum", false, kRunning},
    OptionSpec{Opt::kTier, kPolicy, "--tier", "", "TIER",
               "light: a cell on this kernel. strong is not in this version.", "light|strong", false, kRunning},
    OptionSpec{Opt::kBackend, kPolicy, "--backend", "", "NAME",
               "native: namespaces, Landlock, seccomp, cgroups. landlock: no namespaces, for places that forbid them.",
               "native|landlock", false, kRunning},
    OptionSpec{Opt::kRequire, kPolicy, "--require", "", "LAYER",
               "Refuse to start unless LAYER is fully in force; `all` names every layer but lsm.", "", true, kRunning},
    OptionSpec{Opt::kNoVerify, kPolicy, "--no-verify", "", "",
               "Do not read the source before it runs.", "", false,
               kRunning},
    OptionSpec{Opt::kNoWarm, kPolicy, "--no-warm", "", "", "Never use an interpreter that was started in advance.", "",
               false, kRunning},
    OptionSpec{Opt::kDaemon, kPolicy, "--daemon", "", "", "Run through a hotcell daemon. Not in this version.", "",
               false, kRunning, Complete::kNothing, false, "there is no daemon in this version"},

    OptionSpec{Opt::kMemory, kLimits, "--memory", "", "SIZE", "Memory of all its processes together (K, M, G: 1024).",
               "", false, kRunning},
    OptionSpec{Opt::kDisk, kLimits, "--disk", "", "SIZE", "Size of /work, /tmp and /dev/shm together.", "", false,
               kRunning},
    OptionSpec{Opt::kOutput, kLimits, "--output", "", "SIZE", "Bytes it may write to stdout, and as many to stderr.",
               "", false, kRunning},
    OptionSpec{Opt::kOnOutput, kLimits, "--on-output", "", "ACTION",
               "Past --output: kill the cell, or truncate: let it go on, count the rest and drop it.", "kill|truncate",
               false, kRunning},
    OptionSpec{Opt::kTimeout, kLimits, "--timeout", "", "TIME", "Wall-clock time (ms, s, m, h).", "", false, kRunning},
    OptionSpec{Opt::kCpuTime, kLimits, "--cpu-time", "", "TIME", "CPU time of all its processes together.", "", false,
               kRunning},
    OptionSpec{Opt::kCpus, kLimits, "--cpus", "", "NUMBER", "CPUs' worth of time per second, such as 0.5.", "", false,
               kRunning},
    OptionSpec{Opt::kProcesses, kLimits, "--processes", "", "COUNT", "Processes and threads at any one time.", "",
               false, kRunning},
    OptionSpec{Opt::kOpenFiles, kLimits, "--open-files", "", "COUNT", "Open descriptors of each process.", "", false,
               kRunning},

    OptionSpec{Opt::kRead, kFiles, "--read", "", "PATH", "Show this file or folder, read-only, at its own path.", "",
               true, kRunning, Complete::kPath},
    OptionSpec{Opt::kWrite, kFiles, "--write", "", "PATH", "Show this file or folder and let it be changed.", "", true,
               kRunning, Complete::kPath},
    OptionSpec{Opt::kDeny, kFiles, "--deny", "", "PATH",
               "Hide this path or glob (`**/.env`) inside what is shown; it always wins.", "", true, kRunning,
               Complete::kPath},
    OptionSpec{Opt::kFile, kFiles, "--file", "", "PATH", "Copy this file into /work.", "", true, kRunning,
               Complete::kFile},
    OptionSpec{Opt::kWorkdir, kFiles, "--workdir", "", "PATH",
               "Current directory of the program; must be visible in the cell. Without it: /work.", "", false, kRunning,
               Complete::kFolder},
    OptionSpec{Opt::kEnv, kFiles, "--env", "", "NAME=VALUE", "Set a variable; nothing is inherited.", "", true,
               kRunning},

    OptionSpec{Opt::kNetwork, kNetworking, "--network", "", "MODE",
               "none: an empty network of its own; host: the host's network, reported as partial. proxy is not in "
               "this version.",
               "none|proxy|host", false, kRunning},
    OptionSpec{Opt::kAllowDomain, kNetworking, "--allow-domain", "", "DOMAIN",
               "Let the proxy reach DOMAIN. Not in this version.", "", true, kRunning, Complete::kNothing, false,
               "there is no egress proxy in this version"},
    OptionSpec{Opt::kBlockDomain, kNetworking, "--block-domain", "", "DOMAIN",
               "Keep the proxy from reaching DOMAIN. Not in this version.", "", true, kRunning, Complete::kNothing,
               false, "there is no egress proxy in this version"},
    OptionSpec{Opt::kSecret, kNetworking, "--secret", "", "NAME@HOST",
               "Let the proxy add a secret to requests to HOST. Not in this version.", "", true, kRunning,
               Complete::kNothing, false, "there is no egress proxy in this version"},

    OptionSpec{Opt::kJson, kReporting, "--json", "", "", "Print the result as JSON; the program's output is inside it.",
               "", false, kListing},
    OptionSpec{Opt::kFormat, kReporting, "--format", "", "FORM",
               "verify: text with the source lines, JSON, or SARIF 2.1.0.", "text|json|sarif", false,
               bit(Command::kVerify)},
    OptionSpec{Opt::kStatusFd, kReporting, "--status-fd", "", "N",
               "Write events to descriptor N, one JSON object per line.", "", false, kRunOnly},
    OptionSpec{Opt::kExplainDenials, kReporting, "--explain-denials", "", "",
               "Also report the files that were refused, and the flag that would grant each. Slower: every call that "
               "names a file is looked at.",
               "", false, kRunning},
    OptionSpec{Opt::kRich, kReporting, "--rich", "", "",
               "Python: bring back figures, tables and the value of the last expression; --json holds them.", "", false,
               kRunOnly},
    OptionSpec{Opt::kVerbose, kReporting, "--verbose", "-v", "",
               "Also say which layers are not fully in force, and what was refused though the program succeeded.", "",
               false, kRunOnly},
    OptionSpec{Opt::kSeccomp, kReporting, "--seccomp", "", "FORM",
               "profile show: export the system call filter as BPF bytes, an OCI profile or text.", "bpf|oci|text",
               false, bit(Command::kProfile)},
    OptionSpec{Opt::kAttack, kReporting, "--attack", "", "", "Run the built-in attacks and print the table.", "", false,
               bit(Command::kDoctor)},
    OptionSpec{Opt::kMan, kReporting, "--man", "", "", "Print the manual page.", "", false, bit(Command::kHelp),
               Complete::kNothing, true},
    OptionSpec{Opt::kHelp, kReporting, "--help", "-h", "", "Print this help.", "", false, kAll},
};

static_assert(kCommands.size() == 11, "kAll counts the commands");

}  // namespace

std::span<const CommandSpec> commands() { return kCommands; }
std::span<const OptionSpec> options() { return kOptions; }
bool applies(const OptionSpec& option, Command command) { return (option.commands & bit(command)) != 0; }

}  // namespace hotcell
