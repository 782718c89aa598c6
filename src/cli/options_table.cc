#include <array>

#include "cli/options.h"

namespace hotcell {

namespace {

constexpr std::uint32_t bit(Command c) { return 1U << static_cast<unsigned>(c); }
constexpr std::uint32_t kRunning = bit(Command::kRun) | bit(Command::kExplain) | bit(Command::kWrap);
constexpr std::uint32_t kRunOnly = bit(Command::kRun);
constexpr std::uint32_t kAll = UINT32_MAX;
constexpr std::uint32_t kDaemons = bit(Command::kServe) | bit(Command::kMcp);
constexpr std::uint32_t kStore = bit(Command::kHistory) | bit(Command::kAudit) | bit(Command::kKey);
constexpr std::uint32_t kListing = kRunning | bit(Command::kInspect) | bit(Command::kDoctor) | bit(Command::kProfile) |
                                   bit(Command::kBackend) | bit(Command::kLanguage) | bit(Command::kCache) | bit(Command::kVerify) |
                                   bit(Command::kConfig) | bit(Command::kVersion) | bit(Command::kProxy) |
                                   bit(Command::kCell) | bit(Command::kShell) | bit(Command::kSandbox) | kStore;
// What makes the policy of a run, and of a cell that lasts.
constexpr std::uint32_t kCelled = kRunning | bit(Command::kCell);
constexpr std::uint32_t kLasting = bit(Command::kCell);
constexpr std::uint32_t kEngine = bit(Command::kSandbox);
constexpr std::uint32_t kProxied = kRunning | bit(Command::kProxy);

constexpr std::string_view kLimits = "Limits";
constexpr std::string_view kFiles = "Files and environment";
constexpr std::string_view kNetworking = "Network";
constexpr std::string_view kPolicy = "Policy";
constexpr std::string_view kWhat = "What to run";
constexpr std::string_view kServing = "Daemon";
constexpr std::string_view kCells = "Lasting cells";
constexpr std::string_view kContainers = "Containers that last";
constexpr std::string_view kReporting = "Reporting";

constexpr std::array kCommands = {
    CommandSpec{Command::kRun, "run",
                "[options] FILE [ARGS...]\n"
                "[options] --language LANG -c CODE [ARGS...]\n"
                "[options] -- PROGRAM [ARGS...]\n"
                "--resume FOLDER",
                "run a file, a piece of code or a program in a cell", "", true},
    CommandSpec{Command::kExplain, "explain", "[options of run] [FILE | -- PROGRAM [ARGS...]]",
                "print the plan: each layer, each rule, what is missing here; run nothing", "", true},
    CommandSpec{Command::kVerify, "verify",
                "[--language LANG] [--profile NAME|FILE] [--format text|json|sarif] FILE...|-",
                "read a source and say what it does, without running it", ""},
    CommandSpec{Command::kInspect, "inspect",
                "[--kind KIND]... [--as FORM] [--rules FILE] [--json] FILE...|-",
                "look for prompt injection, exfiltration and secrets in a text, a command or tool arguments", ""},
    CommandSpec{Command::kDoctor, "doctor", "[--json] [--attack]",
                "what this host can enforce, and what to do about the rest", ""},
    CommandSpec{Command::kProfile, "profile",
                "list [--json]\n"
                "show NAME|FILE [--json | --seccomp bpf|oci|text]\n"
                "check [--json] FILE...",
                "list, show and check profiles", "list|show|check"},
    CommandSpec{Command::kBackend, "backend", "list [NAME...] [--json]", "the ways to build a cell, each tried here", "list"},
    CommandSpec{Command::kLanguage, "language", "list [--json]",
                "the languages, with versions and what is missing here", "list"},
    CommandSpec{Command::kCache, "cache", "show|clear [--json]", "what was compiled before and need not be again",
                "show|clear"},
    CommandSpec{Command::kServe, "serve", "[options]", "the daemon: run code by HTTP and MCP, and watch it", ""},
    CommandSpec{Command::kMcp, "mcp", "[--config FILE] [--state DIR] [--profile NAME|FILE]",
                "speak the Model Context Protocol on standard input and output", ""},
    CommandSpec{Command::kConfig, "config",
                "show [--origin] [--json] [--config FILE]\n"
                "check [--json] FILE...\n"
                "example",
                "show, check and explain the configuration of the daemon", "show|check|example"},
    CommandSpec{Command::kHistory, "history",
                "list [--limit N] [--state DIR] [--json]\n"
                "show ID [--state DIR] [--json]",
                "what the daemon has run", "list|show"},
    CommandSpec{Command::kAudit, "audit",
                "verify [--state DIR] [--json]\n"
                "show [--limit N] [--state DIR] [--json]",
                "what the daemon has refused, and whether that record is whole", "verify|show"},
    CommandSpec{Command::kKey, "key",
                "create NAME --scope run,read[,admin] [--max-running N] [--per-minute N] [--json]\n"
                "list [--state DIR] [--json]\n"
                "revoke NAME [--state DIR] [--json]",
                "API keys of the daemon", "create|list|revoke"},
    CommandSpec{Command::kProxy, "proxy",
                "check [--allow-domain D]... [--block-domain D]... [--json] HOST[:PORT]...\n"
                "start [--listen ADDRESS] [--allow-domain D]... [--state DIR]\n"
                "env [--listen ADDRESS]\n"
                "log [--limit N] [--state DIR] [--json]\n"
                "stats [--state DIR] [--json]",
                "the egress proxy: what its rules say, serving by itself, what was asked of it", "check|start|env|log|stats"},
    CommandSpec{Command::kWrap, "wrap", "[options of run] [--into FOLDER] [--json] -- PROGRAM [ARGS...]",
                "print the command line that would run PROGRAM under the chosen backend, for other tools", ""},
    CommandSpec{Command::kCell, "cell",
                "create [--name NAME] [--from DIR] [--label K=V]... [--ttl TIME] [options of run]\n"
                "list | inspect NAME [--json]\n"
                "exec NAME [--env K=V]... [--timeout TIME] [--detach] -- PROGRAM [ARGS...]\n"
                "pause | resume | start | stop | rm NAME...\n"
                "diff NAME [PATH...] [--patch] [--json] | discard NAME [PATH...]\n"
                "apply NAME [PATH...] [--dry-run] [--force] [--allow-protected] [--json]\n"
                "snapshot NAME [LABEL] | snapshots NAME [rm LABEL...]\n"
                "restore NAME LABEL|FILE [--name NEW] | fork NAME NEW\n"
                "cp [-r] FROM TO, one of them NAME:PATH\n"
                "ls | cat | stat | mkdir | remove | watch | write NAME PATH, move NAME PATH PATH\n"
                "context NAME create LANG [--session CONTEXT] | list\n"
                "context NAME run CONTEXT [CODE] [--timeout TIME]\n"
                "context NAME interrupt | restart | close CONTEXT\n"
                "questions [NAME] [--json] | approve ID... | deny ID...\n"
                "grant NAME command|read|write PATTERN [--ttl TIME]\n"
                "grants NAME [--json] | revoke NAME PATTERN\n"
                "usage NAME [--json] | events NAME [--json] | estimate [--json] -- COMMAND...\n"
                "network NAME [--allow-domain D]... [--block-domain D]... [--json] | seal NAME\n"
                "clean [--older-than TIME] [--keep N]",
                "cells that last: a workspace over a project, pause, snapshot, fork, diff and apply",
                "create|list|inspect|exec|pause|resume|start|stop|rm|diff|apply|discard|snapshot|snapshots|restore|fork|cp|ls|cat|write|stat|mkdir|"
                "remove|move|watch|context|usage|events|estimate|network|seal|questions|approve|deny|grant|grants|revoke|clean"},
    CommandSpec{Command::kShell, "shell",
                "NAME [--session NAME]\n"
                "NAME [--session NAME] [--timeout TIME] [--json] -- COMMAND\n"
                "NAME [--session NAME] --input TEXT | --interrupt | --history | --close",
                "a terminal in a lasting cell (Ctrl-] leaves it), or one command in a shell that is kept", ""},
    CommandSpec{Command::kSandbox, "sandbox",
                "start [--project DIR] --image TAG | --dockerfile FILE [--memory SIZE]\n"
                "exec [--project DIR] [--timeout TIME] [--json] -- PROGRAM [ARGS...]\n"
                "swap [--project DIR] --image TAG | --dockerfile FILE [--json]\n"
                "stop | inspect [--project DIR] [--json]\n"
                "build --dockerfile FILE | --base IMAGE --package NAME... [--build-network]\n"
                "images [--json]",
                "a container of docker or podman that lasts: a project's folder on an image that can be swapped",
                "start|exec|swap|stop|inspect|build|images"},
    CommandSpec{Command::kCompletion, "completion", "bash|zsh|fish", "print a completion script for a shell",
                "bash|zsh|fish"},
    CommandSpec{Command::kHelp, "help", "[COMMAND [VERB]]", "help on a command", ""},
    CommandSpec{Command::kVersion, "version", "[--json]", "print the version", ""},
};

constexpr std::array kOptions = {
    OptionSpec{Opt::kLanguage, kWhat, "--language", "", "LANG",
               "Language of FILE or CODE (see hotcell language list). Without it: by extension or #! line.",
               "", false, kRunning | bit(Command::kVerify)},
    OptionSpec{Opt::kCode, kWhat, "-c", "", "CODE", "Run this text; needs --language.", "", false, kRunning},
    OptionSpec{Opt::kStdin, kWhat, "--stdin", "", "FILE",
               "Feed standard input from FILE instead of hotcell's own standard input.", "", false, kCelled,
               Complete::kFile},
    OptionSpec{Opt::kSuspendTo, kWhat, "--suspend-to", "", "FOLDER",
               "Ctrl-Z (SIGTSTP) keeps the program with its processes, memory and files in FOLDER, which is made, and ends its run; with "
               "--backend runsc.",
               "", false, bit(Command::kRun), Complete::kFolder},
    OptionSpec{Opt::kResume, kWhat, "--resume", "", "FOLDER",
               "Go on with what --suspend-to has kept in FOLDER, under the policy it was kept under.", "", false, bit(Command::kRun), Complete::kFolder},

    OptionSpec{Opt::kProfile, kPolicy, "--profile", "", "NAME|FILE",
               "Start from this profile: a built-in name (see hotcell profile list) or a YAML file.", "", false,
               kCelled | bit(Command::kVerify) | bit(Command::kBackend) | kDaemons, Complete::kFile},
    OptionSpec{Opt::kLevel, kPolicy, "--level", "", "LEVEL",
               "default: the native backend, or the first of landlock, nsjail, bwrap, firejail, docker where it does not work, which is said; "
               "enhanced: native, and every layer must be fully in force or nothing starts; container: the first container runtime that works here; maximum: a virtual machine or gVisor; "
               "vm: a virtual machine and nothing else; wasm: a WASI module in a native cell; off: no wall. Others by names that other tools have "
               "for them.",
               "off|default|enhanced|container|maximum|none|process|auto|vm|wasm|namespace|chroot|docker|seatbelt", false, kCelled},
    OptionSpec{Opt::kTier, kPolicy, "--tier", "", "TIER",
               "light: a cell on this kernel. strong: the strongest backend that works here, refused when there is none.", "light|strong", false, kCelled},
    OptionSpec{Opt::kBackend, kPolicy, "--backend", "", "NAME",
               "native: namespaces, Landlock, seccomp, cgroups. landlock: no namespaces, for places that forbid them. "
               "wasm: a WASI module, or C and C++ made into one, in a native cell. The others are tools of this host (hotcell backend "
               "list); basic and none are no walls.",
               "native|landlock|bwrap|nsjail|firejail|nspawn|crun|runc|runsc|oci|docker|podman|lxc|codex|vm|wasm|basic|none", false, kRunning | kEngine},
    OptionSpec{Opt::kWaive, kPolicy, "--waive", "", "STATEMENT",
               "Run although the backend cannot hold this part of the policy; it is in the result and in the audit log.",
               "files|deny|network|syscalls|processes|memory|cpu|disk|identity", true, kRunning},
    OptionSpec{Opt::kBackendOption, kPolicy, "--backend-option", "", "NAME=VALUE",
               "Of the tool behind a backend, not of the policy: where it is, how it is called (docs/guide/backends.md).",
               "", true, kCelled | bit(Command::kBackend) | kEngine},
    OptionSpec{Opt::kRequire, kPolicy, "--require", "", "LAYER",
               "Refuse to start unless LAYER is fully in force; `all` names every layer but lsm.", "", true, kCelled},
    OptionSpec{Opt::kNoVerify, kPolicy, "--no-verify", "", "",
               "Do not read the source before it runs.", "", false,
               kRunning},
    OptionSpec{Opt::kNoCache, kPolicy, "--no-cache", "", "",
               "Verify and compile anew, and keep nothing of it.", "", false, kRunning},
    OptionSpec{Opt::kNoWarm, kPolicy, "--no-warm", "", "", "Never use an interpreter that was started in advance.", "",
               false, kRunning},
    OptionSpec{Opt::kDaemon, kPolicy, "--daemon", "", "",
               "Run in a cell of this host's daemon (hotcell serve); $HOTCELL_KEY is the key where it wants one.", "", false,
               kRunOnly},

    OptionSpec{Opt::kMemory, kLimits, "--memory", "", "SIZE", "Memory of all its processes together (K, M, G: 1024).",
               "", false, kCelled | kEngine},
    OptionSpec{Opt::kDisk, kLimits, "--disk", "", "SIZE", "Size of /work, /tmp and /dev/shm together. Of a lasting cell: of what it changes in /work, as root by a file system of its own; "
               "and of /tmp and /dev/shm.", "", false,
               kCelled},
    OptionSpec{Opt::kOutput, kLimits, "--output", "", "SIZE", "Bytes it may write to stdout, and as many to stderr.",
               "", false, kCelled | kEngine},
    OptionSpec{Opt::kOnOutput, kLimits, "--on-output", "", "ACTION",
               "Past --output: kill the cell, or truncate: let it go on, count the rest and drop it.", "kill|truncate",
               false, kCelled},
    OptionSpec{Opt::kTimeout, kLimits, "--timeout", "", "TIME", "Wall-clock time (ms, s, m, h).", "", false, kCelled | bit(Command::kShell) | kEngine},
    OptionSpec{Opt::kCpuTime, kLimits, "--cpu-time", "", "TIME", "CPU time of all its processes together.", "", false,
               kCelled},
    OptionSpec{Opt::kCpus, kLimits, "--cpus", "", "NUMBER", "CPUs' worth of time per second, such as 0.5.", "", false,
               kCelled | kEngine},
    OptionSpec{Opt::kProcesses, kLimits, "--processes", "", "COUNT", "Processes and threads at any one time.", "",
               false, kCelled | kEngine},
    OptionSpec{Opt::kOpenFiles, kLimits, "--open-files", "", "COUNT", "Open descriptors of each process.", "", false,
               kCelled},

    OptionSpec{Opt::kRead, kFiles, "--read", "", "PATH", "Show this file or folder, read-only, at its own path.", "",
               true, kCelled | bit(Command::kBackend), Complete::kPath},
    OptionSpec{Opt::kWrite, kFiles, "--write", "", "PATH", "Show this file or folder and let it be changed.", "", true,
               kCelled | bit(Command::kBackend), Complete::kPath},
    OptionSpec{Opt::kDeny, kFiles, "--deny", "", "PATH",
               "Hide this path or glob (`**/.env`) inside what is shown; it always wins.", "", true, kCelled | bit(Command::kBackend),
               Complete::kPath},
    OptionSpec{Opt::kFile, kFiles, "--file", "", "PATH", "Copy this file into /work.", "", true, kRunning,
               Complete::kFile},
    OptionSpec{Opt::kInto, kFiles, "--into", "", "FOLDER", "Make this folder, with the files that the command line needs.", "", false,
               bit(Command::kWrap), Complete::kFolder},
    OptionSpec{Opt::kWorkdir, kFiles, "--workdir", "", "PATH",
               "Current directory of the program; must be visible in the cell. Without it: /work.", "", false, kCelled,
               Complete::kFolder},
    OptionSpec{Opt::kEnv, kFiles, "--env", "", "NAME=VALUE", "Set a variable; nothing is inherited.", "", true,
               kCelled},

    OptionSpec{Opt::kNetwork, kNetworking, "--network", "", "MODE",
               "none: an empty network of its own; proxy: the same with one door, which reaches what the rules allow; "
               "host: the host's network, reported as partial.",
               "none|proxy|host", false, kCelled | bit(Command::kBackend)},
    OptionSpec{Opt::kNetworkRules, kNetworking, "--network-rules", "", "MODE",
               "What the proxy does about the rest: allowlist refuses what is not allowed, blocklist and open allow "
               "what is not blocked, closed refuses everything.",
               "allowlist|blocklist|open|closed", false, kProxied | kLasting},
    OptionSpec{Opt::kAllowDomain, kNetworking, "--allow-domain", "", "DOMAIN",
               "Let the proxy reach DOMAIN: a host, *.d for d and all below, .d for all below, a network such as "
               "203.0.113.0/24; with :PORT for that port alone. @registries: where this host's package tools fetch "
               "from, read from their configuration; @development: these, and where sources are fetched from. "
               "inspect: data may go to DOMAIN, a host or *.d.",
               "", true, kProxied | kLasting | bit(Command::kInspect)},
    OptionSpec{Opt::kBlockDomain, kNetworking, "--block-domain", "", "DOMAIN",
               "Keep the proxy from reaching DOMAIN, whatever else allows it.", "", true, kProxied | kLasting},
    OptionSpec{Opt::kAllowPrivate, kNetworking, "--allow-private", "", "HOST",
               "Let HOST, or a network, be inside: loopback, private and link-local addresses are out of reach "
               "otherwise.", "", true, bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kMapHost, kNetworking, "--map-host", "", "NAME=ADDRESS",
               "Take ADDRESS for NAME instead of asking a name server; several make several addresses.", "", true,
               bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kNetworkBytes, kNetworking, "--network-bytes", "", "SIZE",
               "What may go through the proxy in all, both ways together.", "", false, bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kNetworkRate, kNetworking, "--network-rate", "", "SIZE",
               "What may go through it in a second.", "", false, bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kNetworkConnections, kNetworking, "--network-connections", "", "N",
               "How many connections it holds at once; 4096 without it.", "", false, bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kNetworkTime, kNetworking, "--network-time", "", "TIME",
               "How long the proxy serves, from the start of the cell; then what is open is ended.", "", false,
               bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kNetworkConnectionTime, kNetworking, "--network-connection-time", "", "TIME",
               "How long one connection may last.", "", false, bit(Command::kRun) | bit(Command::kProxy) | kLasting},
    OptionSpec{Opt::kSecret, kNetworking, "--secret", "", "NAME@HOST",
               "Let the program use the secret in your variable NAME at HOST and never see it: it has a placeholder, which "
               "the proxy replaces in header fields and addresses of requests to HOST. cell: create, and start when they must be "
               "given again.", "", true, bit(Command::kRun) | kLasting},

    OptionSpec{Opt::kConfig, kServing, "--config", "", "FILE",
               "Read this file instead of /etc/hotcell/config.yaml and your own.", "", false,
               kDaemons | bit(Command::kConfig), Complete::kFile},
    OptionSpec{Opt::kListen, kServing, "--listen", "", "ADDRESS",
               "Listen there instead, such as 127.0.0.1:7070 or [::1]:0; port 0: any.", "", true,
               bit(Command::kServe) | bit(Command::kProxy)},
    OptionSpec{Opt::kUnix, kServing, "--unix", "", "PATH", "Also listen on this Unix socket.", "", false,
               bit(Command::kServe), Complete::kPath},
    OptionSpec{Opt::kState, kServing, "--state", "", "DIR", "Where history, audit log, keys, the proxy's log and lasting cells are kept. Without it: "
               "state_dir of the configuration (daemon, history, audit, key), $STATE_DIRECTORY, /var/lib/hotcell for root, $XDG_STATE_HOME/hotcell or ~/.local/state/hotcell.", "",
               false, kDaemons | kStore | bit(Command::kRun) | bit(Command::kProxy) | bit(Command::kInspect) | kLasting | bit(Command::kShell), Complete::kFolder},
    OptionSpec{Opt::kRequireKey, kServing, "--require-key", "", "", "Ask for a key on the loopback, too.", "", false,
               bit(Command::kServe)},
    OptionSpec{Opt::kTlsCert, kServing, "--tls-cert", "", "FILE", "Serve HTTPS with this certificate chain (PEM).", "",
               false, bit(Command::kServe), Complete::kFile},
    OptionSpec{Opt::kTlsKey, kServing, "--tls-key", "", "FILE", "The private key of the certificate (PEM).", "", false,
               bit(Command::kServe), Complete::kFile},
    OptionSpec{Opt::kMaxRunning, kServing, "--max-running", "", "COUNT", "Cells at the same time; 0: by processors. key create: executions of this key at one time.",
               "", false, bit(Command::kServe) | bit(Command::kKey)},
    OptionSpec{Opt::kReadyFd, kServing, "--ready-fd", "", "N",
               "Write the addresses, one a line, to descriptor N when requests are taken, and close it.", "",
               false, bit(Command::kServe)},
    OptionSpec{Opt::kLogFormat, kServing, "--log-format", "", "FORM", "How log lines look.", "text|json", false,
               bit(Command::kServe)},
    OptionSpec{Opt::kLogLevel, kServing, "--log-level", "", "LEVEL", "The least that is logged.",
               "debug|info|warning|error", false, bit(Command::kServe)},
    OptionSpec{Opt::kOpen, kServing, "--open", "", "", "Open the dashboard in a browser once it is there.", "", false,
               bit(Command::kServe)},
    OptionSpec{Opt::kOrigin, kServing, "--origin", "", "",
               "config show: where each value comes from: file and line, variable, option or default.", "", false,
               bit(Command::kConfig)},

    OptionSpec{Opt::kName, kCells, "--name", "", "NAME", "create: what the cell is called. Without it: a name is made. restore: into a new cell of that name.", "", false, kLasting},
    OptionSpec{Opt::kFrom, kCells, "--from", "", "DIR",
               "create: /work shows this folder; what is changed there is kept apart until it is applied.", "", false, kLasting,
               Complete::kFolder},
    OptionSpec{Opt::kLabel, kCells, "--label", "", "KEY=VALUE", "create: a word of your own on the cell. list: only cells with this one.", "", true, kLasting},
    OptionSpec{Opt::kTtl, kCells, "--ttl", "", "TIME", "create: after so long the cell is ended for good; its files stay until it is removed. grant: it holds for so long.", "",
               false, kLasting},
    OptionSpec{Opt::kIdlePause, kCells, "--idle-pause", "", "TIME",
               "create: pause it when nothing was run for so long; the next use wakes it.", "", false, kLasting},
    OptionSpec{Opt::kStopped, kCells, "--stopped", "", "", "create, fork, restore --name: do not start it.", "", false, kLasting},
    OptionSpec{Opt::kPhases, kCells, "--phases", "", "",
               "create: with --network proxy; the network is for setting up, and `cell seal` ends it for good.", "", false, kLasting},
    OptionSpec{Opt::kDetach, kCells, "--detach", "-d", "", "exec: do not wait; what it writes is dropped.", "", false, kLasting},
    OptionSpec{Opt::kOlderThan, kCells, "--older-than", "", "TIME", "clean: what was made so long ago and does not run.", "", false, kLasting},
    OptionSpec{Opt::kKeep, kCells, "--keep", "", "N", "clean: all but the N newest; those that run count, and stay.", "", false, kLasting},
    OptionSpec{Opt::kRecursive, kCells, "--recursive", "-r", "", "cp, remove: folders with all that is in them.", "", false, kLasting},
    OptionSpec{Opt::kForce, kCells, "--force", "", "", "apply: overwrite what was changed in the project meanwhile.", "", false,
               kLasting},
    OptionSpec{Opt::kDryRun, kCells, "--dry-run", "", "", "apply: say what would be done.", "", false, kLasting},
    OptionSpec{Opt::kAllowProtected, kCells, "--allow-protected", "", "", "apply: protected paths (.git, .env, ...) and links that lead out of the project, too.", "", false, kLasting},
    OptionSpec{Opt::kDecisions, kCells, "--decisions", "", "FILE",
               "create: what is allowed, denied and asked about in this cell, by command and path; a YAML file, or standard.", "", false, kLasting, Complete::kFile},
    OptionSpec{Opt::kPatch, kCells, "--patch", "", "", "diff: as one patch for patch -p1 and git apply.", "", false, kLasting},
    OptionSpec{Opt::kSession, kCells, "--session", "", "NAME", "Which shell of the cell. Without it: main for a terminal, agent for commands. cell context create: its name.", "", false,
               bit(Command::kShell) | kLasting},
    OptionSpec{Opt::kInput, kCells, "--input", "", "TEXT", "Type this line for the command that waits for it, and wait for its end.", "", false,
               bit(Command::kShell)},
    OptionSpec{Opt::kInterrupt, kCells, "--interrupt", "", "", "Interrupt the command that runs in the session; the shell goes on.", "", false,
               bit(Command::kShell)},
    OptionSpec{Opt::kHistory, kCells, "--history", "", "", "What was run in the session, as JSON.", "", false, bit(Command::kShell)},
    OptionSpec{Opt::kClose, kCells, "--close", "", "", "End the session and all that runs in it.", "", false, bit(Command::kShell)},
    OptionSpec{Opt::kProject, kContainers, "--project", "", "DIR", "The folder that is shown in the container, where it is on the host. Without it: the current one.", "", false,
               kEngine, Complete::kFolder},
    OptionSpec{Opt::kImage, kContainers, "--image", "", "TAG", "start, swap: the image, which the engine must have.", "", false, kEngine},
    OptionSpec{Opt::kDockerfile, kContainers, "--dockerfile", "", "FILE",
               "start, swap, build: an image by this recipe's content, built when the engine has none.", "", false, kEngine, Complete::kFile},
    OptionSpec{Opt::kBase, kContainers, "--base", "", "IMAGE", "build: a recipe is made, on this image, with --package and a user that is not root.", "", false, kEngine},
    OptionSpec{Opt::kPackage, kContainers, "--package", "", "NAME", "build: a package of the base's own distribution (Debian's).", "", true, kEngine},
    OptionSpec{Opt::kBuildNetwork, kContainers, "--build-network", "", "", "The steps of a build may use the network; without it they have none.", "", false, kEngine},
    OptionSpec{Opt::kAttachments, kContainers, "--attachments", "", "DIR", "start: shown as /attachments, read-only.", "", false, kEngine, Complete::kFolder},
    OptionSpec{Opt::kCacheFolder, kContainers, "--cache", "", "DIR", "start: shown as /cache, for writing.", "", false, kEngine, Complete::kFolder},
    OptionSpec{Opt::kJson, kReporting, "--json", "", "", "Print the result as JSON; the program's output is inside it.",
               "", false, kListing},
    OptionSpec{Opt::kFormat, kReporting, "--format", "", "FORM",
               "verify: text with the source lines, JSON, or SARIF 2.1.0.", "text|json|sarif", false,
               bit(Command::kVerify)},
    OptionSpec{Opt::kKind, kReporting, "--kind", "", "KIND",
               "Look for this. Without it: injection, egress and secrets; in arguments all.",
               "injection|egress|secrets|sql|traversal|c2|all", true, bit(Command::kInspect)},
    OptionSpec{Opt::kAs, kReporting, "--as", "", "FORM",
               "What the files hold: text, a command that is to be run, or the JSON arguments of a tool call.",
               "text|command|arguments", false, bit(Command::kInspect)},
    OptionSpec{Opt::kRules, kReporting, "--rules", "", "FILE", "Also look for what the rules in this YAML file describe; of a program's output with --inspect.", "",
               false, bit(Command::kInspect) | kRunOnly | kLasting, Complete::kFile},
    OptionSpec{Opt::kInspectOutput, kReporting, "--inspect", "", "MODE",
               "Look for prompt injection, exfiltration and secrets in the output. report: output as it is, findings are told; mark: "
               "lines with findings stand between marks; block: output with findings is withheld, exit code 123. With mark and block "
               "nothing is shown before the program has ended.",
               "report|mark|block", false, kRunOnly | kLasting},
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
    OptionSpec{Opt::kLimit, kReporting, "--limit", "", "N", "So many at most, the newest. Without it: 20.", "", false,
               bit(Command::kHistory) | bit(Command::kAudit) | bit(Command::kProxy)},
    OptionSpec{Opt::kScope, kServing, "--scope", "", "LIST",
               "key create: run (start and stop executions), read (look at them), admin (keys, configuration, audit); "
               "separated by commas.",
               "", false, bit(Command::kKey)},
    OptionSpec{Opt::kPerMinute, kServing, "--per-minute", "", "N", "key create: requests of this key per minute.", "",
               false, bit(Command::kKey)},
    OptionSpec{Opt::kMan, kReporting, "--man", "", "", "Print the manual page.", "", false, bit(Command::kHelp),
               Complete::kNothing, true},
    OptionSpec{Opt::kHelp, kReporting, "--help", "-h", "", "Print this help.", "", false, kAll},
};

static_assert(kCommands.size() <= 32, "one bit for each command");

}  // namespace

std::span<const CommandSpec> commands() { return kCommands; }
std::span<const OptionSpec> options() { return kOptions; }
bool applies(const OptionSpec& option, Command command) { return (option.commands & bit(command)) != 0; }

}  // namespace hotcell
