// What a door (REST, MCP, a compatible API) asks for, in its caller's words, and what becomes of it: a policy, a request
// and where there is one a source. Every door fills a JobSpec and none builds a policy of its own.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy/patch.h"
#include "core/policy/profile.h"
#include "hotcell/policy.h"
#include "hotcell/request.h"
#include "hotcell/result.h"
#include "manager/inspect_output.h"
#include "manager/pipeline.h"
#include "net/secrets.h"

namespace hotcell {

// A waiver (`--waive`) is for whoever starts a run by hand. What a daemon serves is held in full or refused.
inline constexpr std::string_view kNoWaivers = "waive: no request waives what a policy says; only hotcell run --waive, on this host and without the daemon";

struct JobFile {
  std::string name;   // relative, below /work
  std::string bytes;
  bool executable = false;
};

struct JobSpec {
  std::string door;             // "rest", "mcp", "code-sandbox": for the history and the audit
  std::string client;           // who asks, "local" or the name of a key: queue shares are per client
  std::uint32_t max_running = 0;  // executions of this client at once, waiting ones included; 0: no limit
  std::string idempotency_key;  // the same key of the same client again means the same execution; empty: none

  std::string trace_parent;     // the caller's W3C traceparent: its trace goes on in ours; empty: none

  // A program with its arguments, or a language with code. Exactly one of the two.
  std::vector<std::string> argv;
  std::string language, code;
  std::vector<std::string> args;  // of the code

  std::vector<JobFile> files;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> secrets;  // "NAME@HOST" and the value, which is in no history
  std::string workdir;          // inside the cell; empty: /work
  std::string stdin_bytes;
  std::string profile;          // empty: the language's own under the server's default
  std::string tier;             // "", "light" or "strong"
  LimitsPatch limits;           // may tighten, not exceed the server's: more is an error that names the limit
  std::optional<Nanoseconds> timeout;  // clamped to the server's maximum, never refused (the founding behaviour)
  std::optional<bool> network;
  std::optional<NetworkMode> network_mode;  // which one; without it what the configuration gives
  std::optional<std::vector<std::string>> allow_domains;  // of the proxy; without it the profile's, or all that the configuration allows
  std::vector<std::string> block_domains;                 // beside the profile's
  std::optional<OnOutput> on_output;
  bool rich = false;
  bool verify = true;
  bool warm = true;
  bool explain_denials = false;
  InspectMode inspect = InspectMode::kOff;  // of its output; the policy may want more
  std::vector<std::string> rules_off;  // the door's own doing, never its caller's: rules that it does not have
  bool recorded_first = false;  // submit() returns when the history has it on disk: for who is told the id and goes
};

// What the server's configuration allows to everybody.
struct JobRules {
  ProfileSearch profiles;
  std::string default_profile = "default";
  std::shared_ptr<const LoadedProfile> usual;    // that profile, where it is a file: read when the daemon started
  Limits most;                                   // the ceiling of limits{}
  Nanoseconds default_timeout = std::chrono::minutes(5), max_timeout = std::chrono::minutes(5);
  bool network_enabled = false;                  // what `network` is when nobody says
  bool host_network = false;                     // whether a caller may have the host's network at all
  bool proxy = false;                            // whether there is a proxy for those that may not
  std::string no_proxy_reason;                   // why nothing would hold a program to it; empty: it does. Not of the strong tier
  // Whether a request's own lists make sense and are within what the proxy may reach.
  std::function<Result<void>(const std::vector<std::string>& allow, const std::vector<std::string>& block)> check_domains;
  bool strong = false;                           // whether the strong tier works here
  std::string strong_reason;                     // why not, or by what
  std::vector<std::pair<std::string, std::string>> inspect_rules;  // what is looked for besides our own: name, YAML
};

// What a request without a profile has.
Result<LoadedProfile> usual_profile(const JobRules& rules);

struct Job {
  JobSpec spec;
  Policy policy;
  MayRaise raise;
  Request request;
  std::optional<ProgramSource> source;
  std::vector<net::Secret> secrets;
  OutputOrder inspect;
};

// What was asked for, for the history: everything but the values of variables.
std::string job_json(const JobSpec& spec);
// What it keeps in memory while it waits, to a few hundred bytes.
std::size_t job_bytes(const JobSpec& spec);
// One line for lists: the program and its arguments, or the first line of the code that says something.
std::string job_line(const JobSpec& spec);

// Names what is wrong, by the caller's own words: kInvalid, kNotFound (profile, language), kUnsupported (tier, network).
Result<Job> make_job(JobSpec spec, const JobRules& rules);

}  // namespace hotcell
