#include "manager/job.h"

#include <algorithm>

#include "base/archive.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"
#include "manager/job_files.h"
#include "manager/sources.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

constexpr std::size_t kMostWords = 10'000, kMostVariables = 1000;
// The kernel's MAX_ARG_STRLEN for one string, and a bound of ours far below its ARG_MAX for all of them: past it no program would
// start, which is a mistake of the request and no failure of ours.
constexpr std::size_t kLongestWord = 128u << 10, kAllWords = 1u << 20;

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// A folder below /work or /tmp, exactly as it will be there.
std::string name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > 4096) return "is longer than 4096 bytes";
  if (name.starts_with('/')) return "is not relative";
  if (has_nul(name)) return "holds a NUL";
  for (auto part : split(name, '/')) {
    if (part.empty() || part == ".") return "has an empty part";
    if (part == "..") return "leads out of the workspace";
    if (part.size() > 255) return "has a part of more than 255 bytes";
  }
  for (char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "holds a control character";
  return {};
}

Result<void> check_words(const JobSpec& spec) {
  if (spec.argv.empty() && spec.language.empty() && spec.code.empty()) return bad("command is required");
  if (!spec.argv.empty() && !(spec.language.empty() && spec.code.empty()))
    return bad("give either command or language and code, not both");
  if (spec.argv.empty() && spec.language.empty()) return bad("code needs a language");
  if (!spec.argv.empty() && spec.argv[0].empty()) return bad("command is required");
  if (spec.argv.size() + spec.args.size() > kMostWords) return bad(cat("args: more than ", kMostWords));
  std::size_t words = 0, variables = 0;
  for (const auto* list : {&spec.argv, &spec.args})
    for (const auto& word : *list) {
      if (has_nul(word)) return bad("args: a NUL cannot be part of an argument");
      words += word.size() + 1;
      if (word.size() >= kLongestWord || words > kAllWords) return bad("args: too long; put the data into stdin or files");
    }
  if (spec.env.size() > kMostVariables) return bad(cat("env: more than ", kMostVariables, " variables"));
  for (const auto& [name, value] : spec.env) {
    if (!is_env_name(name)) return bad(cat("env: ", quoted(name), " is not the name of a variable"));
    if (has_nul(value)) return bad(cat("env: the value of ", name, " holds a NUL"));
    variables += name.size() + value.size() + 2;
    if (name.size() + value.size() + 2 >= kLongestWord || variables > kAllWords) return bad("env: too long");
  }
  return check_files(spec.files);
}

// Inside the cell: below /work or /tmp, with names that mean what they say.
Result<std::string> inside_folder(std::string_view folder) {
  if (folder.empty() || folder == "/work" || folder == "/tmp") return std::string(folder);
  bool absolute = folder.starts_with('/');
  auto rest = folder;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (absolute && !rest.starts_with("/work/") && !rest.starts_with("/tmp/"))
    return bad(cat("work_dir: ", quoted(folder), " is not below /work or /tmp, which is all a program can write to"));
  if (auto problem = name_problem(absolute ? rest.substr(1) : rest); !problem.empty())
    return bad(cat("work_dir: ", quoted(folder), " ", problem));
  return absolute ? std::string(rest) : cat("/work/", rest);
}

template <typename T, typename Format>
Result<void> limit(std::string_view name, const std::optional<T>& asked, T& field, T most, Format format) {
  if (asked && *asked > most)
    return bad(cat("limits.", name, ": ", format(*asked), " is more than this server's ", format(most)));
  if (asked) field = *asked;
  field = std::min(field, most);
  return {};
}

Result<void> set_limits(const LimitsPatch& asked, const Limits& most, Limits& out) {
  auto count = [](std::uint32_t n) { return cat(n); };
  TRY(limit("memory", asked.memory, out.memory, most.memory, exact_bytes));
  TRY(limit("disk", asked.disk, out.disk, most.disk, exact_bytes));
  TRY(limit("output", asked.output, out.output, most.output, exact_bytes));
  TRY(limit("stack", asked.stack, out.stack, most.stack, exact_bytes));
  TRY(limit("cpu_time", asked.cpu_time, out.cpu_time, most.cpu_time, exact_duration));
  TRY(limit("processes", asked.processes, out.processes, most.processes, count));
  TRY(limit("open_files", asked.open_files, out.open_files, most.open_files, count));
  if (asked.cpus) {
    if (most.cpus > 0 && (*asked.cpus > most.cpus || *asked.cpus == 0))
      return bad(cat("limits.cpus: more than this server's ", format_cpus(most.cpus)));
    out.cpus = *asked.cpus;
  }
  if (asked.address_space) out.address_space = *asked.address_space;
  return {};
}

Result<const Language*> known_language(std::string_view name) {
  if (const auto* found = find_language(name)) return found;
  std::vector<std::string_view> names;
  for (const auto* l : languages()) names.push_back(l->name);
  auto hint = did_you_mean(name, names);
  return make_error(ErrorCode::kNotFound, cat("language: ", quoted(name), " is not known", hint));
}

Result<LoadedProfile> choose_policy(const JobSpec& spec, const JobRules& rules) {
  // A file that the configuration names is for programs of every language.
  if (spec.profile.empty() && rules.usual) return *rules.usual;
  const std::string name = spec.profile.empty() ? profile_for(rules.default_profile, find_language(spec.language)) : spec.profile;
  // A path would be a file of the daemon's host.
  if (name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml"))
    return bad(cat("profile: ", quoted(name), " is not the name of a profile"));
  if (name == "default") return LoadedProfile{default_policy(), {}, {}};
  return load_profile_details(name, rules.profiles).context("profile");
}

// A request's own lists take away from what its network may reach, and add nothing.
Result<void> narrow_network(const JobSpec& spec, const JobRules& rules, Network& network) {
  if (!spec.allow_domains && spec.block_domains.empty()) return {};
  if (network.mode != NetworkMode::kProxy)
    return bad(cat("allow_domains and block_domains are for the proxy; this request has network ", to_string(network.mode)));
  const auto allow = spec.allow_domains.value_or(std::vector<std::string>{});
  for (const auto* list : {&allow, &spec.block_domains})
    for (const auto& domain : *list)
      if (domain.empty() || std::any_of(domain.begin(), domain.end(), [](char c) { return static_cast<unsigned char>(c) <= 0x20; }))
        return bad(cat("allow_domains, block_domains: ", quoted(domain), " is not a host"));
  if (rules.check_domains)
    if (auto fits = rules.check_domains(allow, spec.block_domains); !fits.ok()) return std::move(fits).error().context("allow_domains, block_domains");
  if (spec.allow_domains) {
    network.allow = allow;
    if (network.rules != RuleMode::kClosed) network.rules = RuleMode::kAllowlist;
  }
  network.block.insert(network.block.end(), spec.block_domains.begin(), spec.block_domains.end());
  return {};
}

Result<void> set_network(const JobSpec& spec, const JobRules& rules, Policy& policy) {
  Network& network = policy.network;
  const bool wanted = spec.network.value_or(rules.network_enabled);
  if (!wanted && (spec.network || (network.mode == NetworkMode::kHost && !rules.host_network))) network.mode = NetworkMode::kNone;
  const bool host = spec.network_mode ? *spec.network_mode == NetworkMode::kHost : rules.host_network;
  if (wanted && host) {
    if (!rules.host_network)
      return make_error(ErrorCode::kUnsupported, "network: this server does not give programs the host's network; its configuration "
                                                 "would have to say network.host");
    network.mode = NetworkMode::kHost;
  } else if (wanted && network.mode != NetworkMode::kProxy) {
    // What the configuration allows: sources and packages, unless it says otherwise.
    network = {NetworkMode::kProxy, RuleMode::kAllowlist, {"@development"}, {}};
  }
  if (network.mode == NetworkMode::kProxy && !rules.proxy)
    return make_error(ErrorCode::kUnsupported, "network_enabled: this server gives no network to programs: hotcell-proxy is not installed");
  if (network.mode == NetworkMode::kProxy && !rules.no_proxy_reason.empty() && spec.tier != "strong")
    return make_error(ErrorCode::kUnsupported, cat("network: not supported on this platform: ", rules.no_proxy_reason));
  return narrow_network(spec, rules, network);
}

Result<void> take_secrets(const JobRules& rules, Job& job) {
  if (job.spec.secrets.empty()) return {};
  if (job.policy.network.mode != NetworkMode::kProxy) return bad("secrets: they are put in by the proxy; ask for network proxy");
  TRY_SET(job.secrets, net::make_secrets(job.spec.secrets));
  for (const auto& s : job.secrets) {
    // Here a secret allows nothing by itself: for a host that is not allowed anyway it would never be put in.
    if (rules.check_domains)
      if (auto fits = rules.check_domains({s.where.text()}, {}); !fits.ok()) return std::move(fits).error().context("secrets");
    if (job.spec.env.contains(s.name) || job.policy.env.set.contains(s.name))
      return bad(cat("secrets: ", s.name, " is among the variables of env, which the program sees as they are"));
  }
  job.spec.secrets.clear();
  job.policy.warm = false;  // one that waits already has its environment
  return {};
}

Result<void> place_code(Job& job, const Origins& origins) {
  JobSpec& spec = job.spec;
  TRY_SET(const Language* language, known_language(spec.language));
  spec.language = std::string(language->name);
  if (spec.code.size() > kLargestSource.n) return bad(cat("code: more than ", format_bytes(kLargestSource)));
  auto name = language->code_name == nullptr ? std::string_view() : language->code_name(spec.code);
  TRY_SET(std::string file, source_name(*language, name.empty() ? language->main_file : name, spec.code));
  job.source.emplace();
  job.source->language = language;
  job.source->sources.main = file;
  job.source->sources.files.push_back({file, spec.code});
  // What is beside the program is there when it is compiled, too: headers, further sources, embedded data.
  for (const auto& f : spec.files) {
    if (f.name == file) return bad(cat("files: ", quoted(f.name), " is where the code itself goes"));
    if (language->compile != nullptr) job.source->sources.files.push_back({f.name, f.bytes});
  }
  TRY_SET(job.source->beside, files_beside(*language, job.source->sources, job.request.files));
  job.request.argv = spec.args;
  job.raise = may_raise(job.policy, origins);
  job.raise.processes = job.raise.processes && !spec.limits.processes;
  job.raise.memory = job.raise.memory && !spec.limits.memory;
  return plan_run(*job.source, job.policy, job.raise, job.request);
}

// All that was asked for, where a key may come again with something else. Values of variables and secrets do not count: they could
// be guessed from it.
std::string digest_of(const JobSpec& s) {
  archive::Packer all;
  all(s.argv, s.language, s.code, s.args, s.workdir, s.stdin_bytes, s.profile, s.tier, s.timeout, s.network, s.network_mode, s.allow_domains,
      s.block_domains, s.on_output, s.rich, s.verify, s.warm, s.explain_denials, s.inspect);
  all(s.files.size());
  for (const auto& f : s.files) all(f.name, f.bytes, f.executable);
  for (const auto* names : {&s.env, &s.secrets}) {
    all(names->size());
    for (const auto& [name, value] : *names) all(name);
  }
  const LimitsPatch& l = s.limits;
  all(l.memory, l.disk, l.output, l.stack, l.cpu_time, l.wall, l.cpus, l.processes, l.open_files, l.address_space);
  return sha256_hex(all.out);
}

}  // namespace

Result<LoadedProfile> usual_profile(const JobRules& rules) {
  if (rules.usual) return *rules.usual;
  if (rules.default_profile == "default") return LoadedProfile{default_policy(), {}, {}};
  return load_profile_details(rules.default_profile, rules.profiles).context("profile");
}

Result<Job> make_job(JobSpec spec, const JobRules& rules) {
  TRY(check_words(spec));
  Job job;
  job.spec = std::move(spec);
  const JobSpec& s = job.spec;
  if (!s.tier.empty() && s.tier != "light" && s.tier != "strong")
    return bad(cat("tier: ", quoted(s.tier), " is neither light nor strong"));
  if (s.tier == "strong" && !rules.strong)
    return make_error(ErrorCode::kUnsupported, cat("sandbox not supported on this platform: strong sandbox tier unavailable",
                                                   rules.strong_reason.empty() ? "" : ": ", rules.strong_reason));
  TRY_SET(LoadedProfile chosen, choose_policy(s, rules));
  job.policy = std::move(chosen.policy);
  TRY(set_limits(s.limits, rules.most, job.policy.limits));
  job.policy.on_output = s.on_output.value_or(OnOutput::kTruncate);
  job.policy.explain_denials = s.explain_denials;
  if (!s.warm || s.tier == "strong") job.policy.warm = false;  // only native cells wait
  job.policy.rules.off.insert(job.policy.rules.off.end(), s.rules_off.begin(), s.rules_off.end());
  TRY(set_network(s, rules, job.policy));
  TRY(take_secrets(rules, job));
  // How long a run may take is the request's, so that waiting cells serve requests of every length.
  Nanoseconds wall = s.timeout.value_or(s.limits.wall.value_or(rules.default_timeout));
  if (s.limits.wall && *s.limits.wall > rules.max_timeout)
    return bad(cat("limits.wall: ", exact_duration(*s.limits.wall), " is more than this server's ", exact_duration(rules.max_timeout)));
  // A file has said it, or a preset that is another than default's: there the server's takes its place.
  const bool says = chosen.origins.contains("limits.wall") || job.policy.limits.wall != default_policy().limits.wall;
  if (says && !s.timeout && !s.limits.wall) wall = job.policy.limits.wall;
  job.request.wall = std::min(wall, rules.max_timeout);
  job.policy.limits.wall = rules.max_timeout;
  job.request.env = s.env;
  TRY_SET(job.request.workdir, inside_folder(s.workdir));
  if (!s.stdin_bytes.empty()) job.request.stdin_source = StdinBytes{s.stdin_bytes};
  for (const auto& f : s.files) job.request.files.push_back({f.name, f.bytes, f.executable ? 0755U : 0644U});
  job.request.rich = s.rich;
  if (s.argv.empty()) {
    TRY(place_code(job, chosen.origins));
  } else {
    if (s.rich) return bad("rich: only Python code has figures and tables to show");
    job.request.argv = s.argv;
  }
  TRY(validate(job.policy, chosen.origins));
  job.inspect = output_order(s.inspect, job.policy);
  job.inspect.rules = rules.inspect_rules;
  return job;
}

std::size_t job_bytes(const JobSpec& spec) {
  std::size_t n = spec.code.size() + spec.stdin_bytes.size();
  for (const auto& f : spec.files) n += f.name.size() + f.bytes.size();
  for (const auto& a : spec.argv) n += a.size();
  for (const auto& a : spec.args) n += a.size();
  for (const auto& [name, value] : spec.env) n += name.size() + value.size();
  return n;
}

std::string job_line(const JobSpec& spec) {
  std::string line;
  if (!spec.argv.empty()) {
    for (const auto& word : spec.argv) {
      if (line.size() > 400) break;
      line += cat(line.empty() ? "" : " ", word);
    }
  } else {
    for (auto l : split(spec.code, '\n')) {
      line = std::string(trim(l.substr(0, 400)));
      if (!line.empty() && !line.starts_with('#') && !line.starts_with("//")) break;
    }
  }
  line = printable(line);
  return line.size() <= 200 ? line : line.substr(0, 200) + "…";
}

std::string job_json(const JobSpec& spec) {
  JsonWriter w;
  w.begin_object();
  auto list = [&](std::string_view name, const std::vector<std::string>& words) {
    if (words.empty()) return;
    w.key(name);
    w.begin_array();
    for (const auto& word : words) w.value(word);
    w.end_array();
  };
  list("argv", spec.argv);
  if (!spec.language.empty()) w.field("language", spec.language);
  if (!spec.code.empty()) w.field("code", spec.code);
  list("args", spec.args);
  if (!spec.files.empty()) {
    w.key("files");
    w.begin_array();
    for (const auto& f : spec.files) {
      w.begin_object();
      w.field("name", f.name);
      w.field("bytes", f.bytes.size());
      w.end_object();
    }
    w.end_array();
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : spec.env) names.push_back(name);
  list("env", names);
  if (!spec.workdir.empty()) w.field("work_dir", spec.workdir);
  if (!spec.stdin_bytes.empty()) w.field("stdin_bytes", spec.stdin_bytes.size());
  if (!spec.profile.empty()) w.field("profile", spec.profile);
  if (spec.allow_domains) list("allow_domains", *spec.allow_domains);
  list("block_domains", spec.block_domains);
  if (!spec.tier.empty()) w.field("tier", spec.tier);
  w.field("rich", spec.rich);
  if (spec.inspect != InspectMode::kOff) w.field("inspect", to_string(spec.inspect));
  if (!spec.idempotency_key.empty()) w.field("digest", digest_of(spec));
  w.end_object();
  return w.take();
}

}  // namespace hotcell
