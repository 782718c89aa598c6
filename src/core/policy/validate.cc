#include "core/policy/validate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/pattern.h"
#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/glob.h"
#include "core/policy/stages.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

constexpr std::size_t kMaxPath = 4095;         // PATH_MAX without its NUL
constexpr std::size_t kMaxEnvString = 131071;  // MAX_ARG_STRLEN without its NUL: execve refuses longer ones
constexpr std::uint32_t kMaxTasks = 4194304;   // PID_MAX_LIMIT: pids.max takes no more
constexpr Nanoseconds kMaxTime = std::chrono::hours(1'000'000);
constexpr std::uint32_t kMaxFiles = 1048576;   // the kernel's default fs.nr_open: setrlimit takes no more
constexpr std::uint64_t kMaxBytes = INT64_MAX;

bool is_word(std::string_view text, std::string_view extra) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           extra.find(c) != extra.npos;
  });
}
bool is_syscall_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}
bool is_host_pattern(std::string_view text) {
  if (text == "@registries" || text == "@development") return true;  // known when it is run
  // A slash only as in 203.0.113.0/24 or 2001:db8::/32.
  if (auto slash = text.find('/'); slash != text.npos && text.find_first_of(".:") < slash) {
    auto is_bit = [](char c) { return c >= '0' && c <= '9'; };
    auto bits = text.substr(slash + 1);
    auto end = bits.find(':');
    if (bits.empty() || !std::all_of(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(std::min(end, bits.size())), is_bit)) return false;
    text = text.substr(0, slash);
  }
  return !text.empty() && text.size() <= 260 && std::all_of(text.begin(), text.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7F && c != '/' && c != '\\' && c != '"' && c != '@';
  });
}

class Validator {
 public:
  Validator(const Policy& policy, const Origins& origins) : p_(policy), origins_(origins) {}

  Result<void> run() const {
    if (!is_word(p_.name, ".-"))
      return wrong("name", cat(quoted(p_.name), " is no name (letters, digits, dot, dash and underscore)"));
    if (!p_.language.empty() && !is_word(p_.language, "+#-"))
      return wrong("language", cat(quoted(p_.language), " is no language"));
    if (p_.description.find('\0') != p_.description.npos) return wrong("description", "has a NUL byte");
    TRY(limits());
    TRY(filesystem());
    TRY(lists());
    TRY(rules());
    TRY(environment());
    TRY(audit());
    if (!is_id(p_.uid)) return wrong("user.uid", "the program is never root inside; 1 to 4294967294");
    if (!is_id(p_.gid)) return wrong("user.gid", "the program's group is never root's inside; 1 to 4294967294");
    return {};
  }

 private:
  static bool is_id(std::uint32_t id) { return id != 0 && id != UINT32_MAX; }

  Error at(std::string_view origin, std::string_view field, std::string_view message) const {
    return make_error(ErrorCode::kInvalid,
                      origin.empty() ? cat(field, ": ", message) : cat(printable(origin), ": ", field, ": ", message));
  }
  Error wrong(std::string_view field, std::string_view message) const {
    return at(origin_of(origins_, field), field, message);
  }
  Error wrong_item(std::string_view field, std::string_view item, std::string_view message) const {
    auto origin = origin_of(origins_, cat(field, ".", item));
    if (origin.empty() && field == "imports.allowed") origin = origin_of(origins_, cat("imports.additional.", item));
    return at(origin.empty() ? origin_of(origins_, field) : origin, field, cat(quoted(item), " ", message));
  }

  Result<void> size(std::string_view field, Bytes bytes) const {
    if (bytes.n == 0) return wrong(field, "must be more than 0");
    if (bytes.n > kMaxBytes) return wrong(field, "is too large");
    return {};
  }
  Result<void> count(std::string_view field, std::uint32_t n, std::uint32_t least, std::uint32_t most) const {
    if (n < least || n > most) return wrong(field, cat(n, " is out of range; ", least, " to ", most));
    return {};
  }

  Result<void> limits() const {
    const Limits& l = p_.limits;
    TRY(size("limits.memory", l.memory));
    TRY(size("limits.disk", l.disk));
    TRY(size("limits.output", l.output));
    TRY(size("limits.stack", l.stack));
    if (l.address_space) TRY(size("limits.address_space", *l.address_space));
    if (l.cpu_time.count() <= 0) return wrong("limits.cpu_time", "must be more than 0");
    if (l.wall.count() <= 0) return wrong("limits.wall", "must be more than 0; every run has a wall limit");
    // A deadline is now and this: the clock ends at some 2.5 million hours.
    if (l.cpu_time > kMaxTime) return wrong("limits.cpu_time", "is too long; at most 1000000h");
    if (l.wall > kMaxTime) return wrong("limits.wall", "is too long; at most 1000000h");
    // Written so that NaN, which compares false with everything, is refused.
    if (!(l.cpus == 0 || (l.cpus >= kMinCpus && l.cpus <= kMaxCpus)))
      return wrong("limits.cpus", "must be from 0.01 to 8192");
    TRY(count("limits.processes", l.processes, 1, kMaxTasks));
    // Its three streams, and one to load the program by.
    TRY(count("limits.open_files", l.open_files, 4, kMaxFiles));
    return {};
  }

  Result<void> filesystem() const {
    for (const auto& grant : p_.filesystem.grants) {
      auto field = grant.access == Access::kWrite ? "filesystem.write" : "filesystem.read";
      if (auto problem = path_problem(grant.path); !problem.empty())
        return at(grant.origin, field, cat(quoted(grant.path), " ", problem));
      for (const auto& deny : p_.filesystem.deny)
        if (deny.pattern == grant.path)
          return at(grant.origin, field,
                    cat(quoted(grant.path), " is granted here and denied", deny.origin.empty() ? "" : " in ",
                        printable(deny.origin), "; it can only be one"));
    }
    for (const auto& deny : p_.filesystem.deny) {
      if (deny.pattern.size() > kMaxPath)
        return at(deny.origin, "filesystem.deny", cat(quoted(deny.pattern), " is longer than any path"));
      if (auto problem = glob_problem(deny.pattern))
        return at(deny.origin, "filesystem.deny", cat(quoted(deny.pattern), " ", *problem));
    }
    return {};
  }

  template <typename Test>
  Result<void> every(std::string_view field, const std::vector<std::string>& items, Test&& good,
                     std::string_view message) const {
    for (const auto& item : items)
      if (!good(item)) return wrong_item(field, item, message);
    return {};
  }

  Result<void> lists() const {
    const auto& s = p_.syscalls;
    if (s.base != "default" && s.base != "strict")
      return wrong("syscalls.base", cat(quoted(s.base), " is neither default nor strict"));
    TRY(every("syscalls.allow", s.allow, is_syscall_name, "is no name of a system call"));
    TRY(every("syscalls.deny", s.deny, is_syscall_name, "is no name of a system call"));
    if (s.oci_file.find('\0') != s.oci_file.npos || s.oci_file.find('\n') != s.oci_file.npos)
      return wrong("syscalls.file", cat(quoted(s.oci_file), " has a NUL byte or a line break"));
    TRY(every("network.allow", p_.network.allow, is_host_pattern, "is no host or pattern of hosts"));
    TRY(every("network.block", p_.network.block, is_host_pattern, "is no host or pattern of hosts"));
    // std::fs, encoding/json, @scope/name, sys/mman.h, bits/stdc++.h
    auto module = [](const std::string& m) { return is_word(m, ".-:/@+"); };
    TRY(every("imports.allowed", p_.imports_allowed, module, "is no name of a module"));
    auto dotted = [](const std::string& m) { return is_word(m, ".-"); };
    TRY(every("preimport", p_.preimport, dotted, "is no name of a module"));
    for (const auto& [name, attribute] : p_.blocklist)
      if (!module(name) || !is_word(attribute, ".:"))
        return wrong("blocklist", cat("[", quoted(name), ", ", quoted(attribute), "] is no module and attribute"));
    return stages();
  }

  Result<void> stages() const {
    auto unknown = [&](std::string_view field, std::string_view kind, const std::string& name, std::string_view more) {
      auto origin = origin_of(origins_, cat(field, ".", name));
      return at(origin.empty() ? origin_of(origins_, field) : origin, field,
                cat("Unknown ", kind, "-execution stage: ", printable(name), more));
    };
    for (const auto& name : p_.stages_pre)
      if (std::find(kPreStages.begin(), kPreStages.end(), name) == kPreStages.end())
        return unknown("stages.pre", "pre", name, did_you_mean(name, kPreStages));
    for (const auto& name : p_.stages_post) {
      if (std::find(kPostStages.begin(), kPostStages.end(), name) != kPostStages.end()) continue;
      bool pre = std::find(kPreStages.begin(), kPreStages.end(), name) != kPreStages.end();
      return unknown("stages.post", "post", name, pre ? std::string("; it belongs into stages.pre") : cat("; there is ", kInspectStage));
    }
    return {};
  }

  Result<void> rules() const {
    const SourceRules& r = p_.rules;
    auto id = [](const std::string& s) { return is_word(s, "-*?"); };
    auto name = [](const std::string& s) { return is_word(s, ".-+/:*?"); };
    TRY(every("rules.off", r.off, id, "is no id of a rule"));
    TRY(every("rules.functions", r.functions, name, "is no name of a function"));
    TRY(every("rules.modules", r.modules, name, "is no name of a module"));
    for (const auto& path : r.allowed_paths)
      if (auto problem = path_problem(path); !problem.empty()) return wrong_item("rules.allowed_paths", path, problem);
    for (const auto& text : r.patterns)
      if (auto pattern = Pattern::compile(text); !pattern.ok())
        return wrong_item("rules.patterns", text, cat("is no regular expression: ", pattern.error().message));
    return {};
  }

  Result<void> environment() const {
    // By exact name only: a pattern such as LC_* or * would let through what nobody thought of.
    TRY(every("env.pass", p_.env.pass, is_env_name, "is no name of a variable (each is passed by its exact name)"));
    for (const auto& [name, value] : p_.env.set) {
      if (!is_env_name(name)) return wrong_item("env.set", name, "is no name of a variable");
      if (value.find('\0') != value.npos) return wrong_item("env.set", name, "has a NUL byte in its value");
      if (name.size() + 1 + value.size() > kMaxEnvString)
        return wrong_item("env.set", name, "is longer than the kernel's 128 KiB");
    }
    return {};
  }

  Result<void> audit() const {
    std::vector<std::string_view> known(kLayerNames.begin(), kLayerNames.end());
    known.insert(known.end(), {"verification", "imports"});
    known.insert(known.end(), kPreStages.begin(), kPreStages.end());
    known.insert(known.end(), kPostStages.begin(), kPostStages.end());
    for (const auto& [name, mode] : p_.audit)
      if (std::find(known.begin(), known.end(), name) == known.end())
        return wrong_item("audit.mode", name, cat("is neither a layer nor a stage", did_you_mean(name, known)));
    return {};
  }

  const Policy& p_;
  const Origins& origins_;
};

}  // namespace

std::string path_problem(std::string_view path) {
  if (path.empty()) return "is empty";
  if (path.find('\0') != path.npos) return "has a NUL byte";
  if (path.find('\n') != path.npos) return "has a line break";
  if (path[0] == '~') return "starts with ~, which is not expanded; write the absolute path";
  if (path[0] != '/') return "is not absolute";
  if (path.size() > kMaxPath) return "is longer than any path";
  if (path == "/") return "";
  for (auto segment : split(path.substr(1), '/')) {
    // `..` behind a symbolic link is not where it seems to be, so it is refused rather than folded away.
    if (segment == "..") return "has .. in it; write where it leads";
    if (segment.empty() || segment == ".")
      return "has an empty or . segment (a double or trailing slash); write it plainly";
  }
  return "";
}

Result<void> validate(const Policy& policy, const Origins& origins) { return Validator(policy, origins).run(); }

}  // namespace hotcell
