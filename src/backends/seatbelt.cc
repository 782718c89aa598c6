#include "backends/seatbelt.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::backends {
namespace {

// What a program needs before its first line: the loader, its cache, the libraries, time zones. Not the users' folders.
constexpr std::string_view kSystemRead[] = {"/System", "/usr/lib", "/usr/bin", "/bin", "/usr/share", "/Library/Apple", "/private/var/db/dyld", "/private/var/db/timezone",
                                            "/private/etc/localtime"};
constexpr std::string_view kDevices[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};

// Rules are compared with the path a file really has. On every macOS these are links, and a rule for one of them fits nothing: a denial
// that is written so would deny nothing.
std::string real_place(std::string_view path) {
  for (std::string_view link : {"/tmp", "/var", "/etc"})
    if (path == link || (path.starts_with(link) && path[link.size()] == '/')) return cat("/private", path);
  return std::string(path);
}

// No last slash, no empty part, no step back: as the kernel says it.
Result<std::string> plain_path(std::string_view path) {
  std::string out;
  for (auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return make_error(ErrorCode::kInvalid, cat(printable(path), ": a path of a profile has no .. in it"));
    out += cat("/", part);
  }
  return real_place(out.empty() ? "/" : out);
}

Result<std::string> rule(std::string_view verb, std::string_view what, const std::vector<std::string>& paths) {
  std::string out;
  for (const auto& path : paths) {
    TRY(seatbelt_quoted(path));
    TRY_SET(std::string place, plain_path(path));
    TRY_SET(std::string text, seatbelt_quoted(place));
    out += cat("(", verb, " ", what, " (subpath ", text, "))\n");
  }
  return out;
}

// A pattern of a policy as a regular expression of the profile: `*` and `?` never cross a slash, `**` does.
Result<std::string> pattern_rule(std::string_view said) {
  TRY(seatbelt_quoted(said));
  TRY_SET(std::string pattern, plain_path(said));
  if (pattern.find_first_of("*?[") == pattern.npos) {
    TRY_SET(std::string text, seatbelt_quoted(pattern));
    return cat("(subpath ", text, ")");
  }
  // #"…" is taken as it is: there is no way to write a quote in one.
  if (pattern.find('"') != pattern.npos) return make_error(ErrorCode::kInvalid, cat(printable(pattern), ": a pattern with a quote cannot be said in a Seatbelt profile"));
  if (pattern.find('[') != pattern.npos) return make_error(ErrorCode::kInvalid, cat(printable(pattern), ": brackets in a pattern cannot be said in a Seatbelt profile"));
  std::string out = "(regex #\"^";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '*' && i + 1 < pattern.size() && pattern[i + 1] == '*') {
      // `/**/x` is also `/x`.
      bool whole = i > 0 && pattern[i - 1] == '/' && i + 2 < pattern.size() && pattern[i + 2] == '/';
      out += whole ? "(.*/)?" : ".*";
      i += whole ? 2 : 1;
    } else if (c == '*') {
      out += "[^/]*";
    } else if (c == '?') {
      out += "[^/]";
    } else {
      if (std::string_view(".+()|{}^$\\]").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return cat(out, "(/|$)\")");
}

}  // namespace

Result<std::string> seatbelt_quoted(std::string_view path) {
  if (!path.starts_with('/')) return make_error(ErrorCode::kInvalid, cat(printable(path), ": a path of a profile must be absolute"));
  std::string out = "\"";
  for (char c : path) {
    // The profile's reader has no escape for these that all its versions know; a path that has them cannot be said.
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return make_error(ErrorCode::kInvalid, cat(printable(path), ": a path with control characters cannot be said in a Seatbelt profile"));
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::vector<Held> seatbelt_judge(const Policy& p) {
  bool rules = p.network.mode == NetworkMode::kProxy;
  return {{"files", LayerStatus::kPartial, "contents; names and sizes can be looked up"},
          {"deny", LayerStatus::kFull, "the last rule that fits decides"},
          {"network", rules ? LayerStatus::kNone : LayerStatus::kFull, rules ? "Seatbelt knows addresses, and no proxy of ours" : "none, localhost included, or all of it"},
          {"syscalls", LayerStatus::kPartial, "Seatbelt's own operations, not system calls"},
          {"processes", LayerStatus::kPartial, "none besides the program, or as many as the user may have"},
          {"memory", LayerStatus::kPartial, "RLIMIT_AS and samples"},
          {"cpu", LayerStatus::kPartial, "RLIMIT_CPU of each process and samples"},
          {"disk", LayerStatus::kPartial, "each file by RLIMIT_FSIZE, the workspace by samples"},
          {"identity", LayerStatus::kPartial, "the caller's own user"}};
}

Result<SeatbeltRules> seatbelt_rules(const Policy& policy, std::string_view workspace, const std::vector<std::string>& waived) {
  TRY(check_waivers(waived));
  for (const auto& h : seatbelt_judge(policy))
    if (h.status == LayerStatus::kNone && std::find(waived.begin(), waived.end(), h.statement) == waived.end())
      return make_error(ErrorCode::kUnsupported, cat("seatbelt cannot hold this policy: ", h.statement, ": ", h.detail, " (--waive ", h.statement, " does without)"));
  SeatbeltRules out;
  out.network = policy.network.mode == NetworkMode::kHost;
  out.read.emplace_back(workspace);
  if (policy.filesystem.writable_scratch) out.write.emplace_back(workspace);
  for (const auto& g : policy.filesystem.grants) {
    out.read.push_back(g.path);
    if (g.access == Access::kWrite) out.write.push_back(g.path);
  }
  for (const auto& d : policy.filesystem.deny) out.deny.push_back(d.pattern);
  out.processes = policy.limits.processes > 1;
  return out;
}

Result<std::string> seatbelt_profile(const SeatbeltRules& rules) {
  std::string out = "(version 1)\n(deny default)\n";
  out += "(allow process-exec)\n";
  if (rules.processes) out += "(allow process-fork)\n";
  out += "(allow signal (target self))\n";
  if (rules.sysctl_read) out += "(allow sysctl-read)\n";
  // Names and sizes of the folders on the way, so that paths can be resolved; their contents are not in it.
  out += "(allow file-read-metadata)\n";
  std::vector<std::string> system(std::begin(kSystemRead), std::end(kSystemRead));
  TRY_SET(std::string part, rule("allow", "file-read*", system));
  out += part;
  for (auto device : kDevices) out += cat("(allow file-read* file-write-data (literal \"", device, "\"))\n");
  TRY_SET(part, rule("allow", "file-read*", rules.read));
  out += part;
  TRY_SET(part, rule("allow", "file-write*", rules.write));
  out += part;
  // The last rule that fits decides: denials come after what they take away from.
  for (const auto& pattern : rules.deny) {
    TRY_SET(part, pattern_rule(pattern));
    out += cat("(deny file-read* file-write* ", part, ")\n");
  }
  if (rules.network) {
    out += "(allow network*)\n(allow system-socket)\n(allow mach-lookup (global-name \"com.apple.dnssd.service\"))\n";
  } else {
    // `deny default` has said so already. Once more and last, so that no rule above can ever mean localhost.
    out += "(deny network*)\n(deny network-outbound (remote ip \"localhost:*\"))\n(deny network-inbound (local ip \"localhost:*\"))\n(deny system-socket)\n";
  }
  return out;
}

Result<std::vector<std::string>> seatbelt_command(const SeatbeltRules& rules, const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  TRY_SET(std::string profile, seatbelt_profile(rules));
  std::vector<std::string> out = {"/usr/bin/sandbox-exec", "-p", std::move(profile), "--"};
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

Result<MacChoice> select_on_mac(std::string_view wanted, const MacFacts& facts) {
  auto no_hypervisor = [&] { return cat("hypervisor: ", facts.why_no_hypervisor); };
  if (wanted == "hypervisor") {
    if (facts.hypervisor) return MacChoice{"hypervisor", "asked for, and works here"};
    return make_error(ErrorCode::kUnsupported, cat(no_hypervisor(), "; it was asked for, and nothing weaker is run instead"));
  }
  if (wanted == "sandbox-exec") {
    if (facts.sandbox_exec) return MacChoice{"sandbox-exec", "asked for, and works here"};
    return make_error(ErrorCode::kUnsupported, "sandbox-exec: not there; it was asked for, and nothing else is run instead");
  }
  if (wanted != "auto") return make_error(ErrorCode::kInvalid, cat("unknown: ", printable(wanted), " (auto, hypervisor, sandbox-exec)"));
  if (facts.hypervisor) return MacChoice{"hypervisor", "the strongest, and works here"};
  if (facts.sandbox_exec) return MacChoice{"sandbox-exec", cat("works here; before it: ", no_hypervisor())};
  return make_error(ErrorCode::kUnsupported, cat("nothing works here (", no_hypervisor(), "; sandbox-exec: not there)"));
}

}  // namespace hotcell::backends
