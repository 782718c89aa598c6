// A project's folder is as untrusted as the code in it: its profile may take rights away, never add any.
#include <algorithm>

#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/glob.h"
#include "core/policy/patch.h"
#include "core/policy/stages.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

template <typename List, typename T>
bool has(const List& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class Check {
 public:
  Check(const Policy& ceiling, const Policy& project, const Origins& origins)
      : ceiling_(ceiling), project_(project), origins_(origins) {}

  Result<void> run() const {
    TRY(limits());
    TRY(filesystem());
    TRY(network());
    TRY(syscalls());
    TRY(environment());
    TRY(identity());
    TRY(verification());
    return {};
  }

 private:
  Error wider(std::string_view field, std::string_view origin, std::string_view what) const {
    // What nobody said in so many words came along with `extends`.
    std::string where(origin.empty() ? origin_of(origins_, "extends") : origin);
    where = where.empty() ? cat("profile ", quoted(project_.name)) : printable(where);
    return make_error(ErrorCode::kInvalid, cat(where, ": ", field, ": ", what,
                                               " (a project's profile may only tighten ", quoted(ceiling_.name), ")"));
  }
  Error wider(std::string_view field, std::string_view what) const {
    return wider(field, origin_of(origins_, field), what);
  }

  template <typename T>
  Result<void> at_most(std::string_view field, const T& ours, const T& most, std::string (*text)(T)) const {
    if (ours <= most) return {};
    return wider(field, cat(text(ours), " is more than the ", text(most), " allowed"));
  }

  Result<void> limits() const {
    const Limits &c = ceiling_.limits, &p = project_.limits;
    auto number = +[](std::uint32_t n) { return cat(n); };
    TRY(at_most("limits.memory", p.memory, c.memory, exact_bytes));
    TRY(at_most("limits.disk", p.disk, c.disk, exact_bytes));
    TRY(at_most("limits.output", p.output, c.output, exact_bytes));
    TRY(at_most("limits.stack", p.stack, c.stack, exact_bytes));
    TRY(at_most("limits.cpu_time", p.cpu_time, c.cpu_time, exact_duration));
    TRY(at_most("limits.wall", p.wall, c.wall, exact_duration));
    TRY(at_most("limits.processes", p.processes, c.processes, number));
    TRY(at_most("limits.open_files", p.open_files, c.open_files, number));
    // Absence is the widest value of these two.
    if (c.cpus > 0 && !(p.cpus > 0 && p.cpus <= c.cpus))
      return wider("limits.cpus", cat("must stay at or below ", format_cpus(c.cpus)));
    if (c.address_space && !(p.address_space && *p.address_space <= *c.address_space))
      return wider("limits.address_space", cat("must stay at or below ", exact_bytes(*c.address_space)));
    if (ceiling_.on_output == OnOutput::kKill && project_.on_output == OnOutput::kTruncate)
      return wider("limits.on_output", "truncate lets a program go on that would be killed");
    return {};
  }

  bool granted(const FsGrant& grant) const {
    for (const auto& most : ceiling_.filesystem.grants)
      if (path_contains(most.path, grant.path) && (most.access == Access::kWrite || grant.access == Access::kRead))
        return true;
    return grant.access == Access::kRead && path_contains("/usr", grant.path);  // every cell sees it
  }

  Result<void> filesystem() const {
    for (const auto& grant : project_.filesystem.grants) {
      if (granted(grant)) continue;
      auto field = grant.access == Access::kWrite ? "filesystem.write" : "filesystem.read";
      return wider(field, grant.origin, cat(quoted(grant.path), " is not granted there"));
    }
    for (const auto& deny : ceiling_.filesystem.deny) {
      bool kept = false;
      for (const auto& own : project_.filesystem.deny)
        kept = kept || own == deny ||
               (!is_glob(own.pattern) && !is_glob(deny.pattern) && glob_covers(own.pattern, deny.pattern));
      if (!kept) return wider("filesystem.deny", cat(quoted(deny.pattern), " must stay denied"));
    }
    if (project_.filesystem.writable_scratch && !ceiling_.filesystem.writable_scratch)
      return wider("filesystem.tmp", "must stay read-only");
    return {};
  }

  static int width(RuleMode mode) {
    switch (mode) {
      case RuleMode::kClosed:
        return 0;
      case RuleMode::kAllowlist:
        return 1;
      case RuleMode::kBlocklist:
        return 2;
      case RuleMode::kOpen:
        return 3;
    }
    return 3;
  }
  static bool host_within(const std::string& host, const std::vector<std::string>& list) {
    for (const auto& item : list)
      if (item == host || (item.starts_with("*.") && host.size() > item.size() - 1 && host.ends_with(item.substr(1))))
        return true;
    return false;
  }

  Result<void> network() const {
    const Network &c = ceiling_.network, &p = project_.network;
    if (p.mode > c.mode) return wider("network.mode", cat(to_string(p.mode), " is wider than ", to_string(c.mode)));
    // With no network the rules bind nothing, and beside the host's own network no rule can be wider.
    if (p.mode == NetworkMode::kNone || c.mode == NetworkMode::kHost) return {};
    if (width(p.rules) > width(c.rules))
      return wider("network.rules", cat(to_string(p.rules), " is wider than ", to_string(c.rules)));
    if (width(c.rules) <= width(RuleMode::kAllowlist))
      for (const auto& host : p.allow)
        if (!host_within(host, c.allow))
          return wider("network.allow", origin_of(origins_, cat("network.allow.", host)),
                       cat(quoted(host), " is not allowed there"));
    for (const auto& host : c.block)
      if (!has(p.block, host)) return wider("network.block", cat(quoted(host), " must stay blocked"));
    return {};
  }

  Result<void> syscalls() const {
    const Syscalls &c = ceiling_.syscalls, &p = project_.syscalls;
    if (c.base == "strict" && p.base != "strict") return wider("syscalls.base", "must stay strict");
    for (const auto& name : p.allow)
      if (!has(c.allow, name))
        return wider("syscalls.allow", origin_of(origins_, cat("syscalls.allow.", name)),
                     cat(quoted(name), " is not allowed there"));
    for (const auto& name : c.deny)
      if (!has(p.deny, name)) return wider("syscalls.deny", cat(quoted(name), " must stay denied"));
    if (!c.oci_file.empty() && p.oci_file != c.oci_file)
      return wider("syscalls.file", cat("must stay ", quoted(c.oci_file)));
    return {};
  }

  Result<void> environment() const {
    for (const auto& name : project_.env.pass)
      if (!has(ceiling_.env.pass, name))
        return wider("env.pass", origin_of(origins_, cat("env.pass.", name)),
                     cat(quoted(name), " is not passed there"));
    for (const auto& [name, value] : project_.env.set) {
      auto most = ceiling_.env.set.find(name);
      auto origin = origin_of(origins_, cat("env.set.", name));
      if (most != ceiling_.env.set.end() && most->second != value)
        return wider("env.set", origin, cat(quoted(name), " has another value there"));
      if (most == ceiling_.env.set.end() && is_dangerous_env(name))
        return wider("env.set", origin, cat(quoted(name), " changes which code is loaded"));
    }
    return {};
  }

  Result<void> identity() const {
    // 65534 is nobody; any other uid could be one that the user's granted files belong to.
    if (project_.uid != ceiling_.uid && project_.uid != 65534)
      return wider("user.uid", cat("must stay ", ceiling_.uid, " or be 65534"));
    if (project_.gid != ceiling_.gid && project_.gid != 65534)
      return wider("user.gid", cat("must stay ", ceiling_.gid, " or be 65534"));
    if (ceiling_.time_ns && !project_.time_ns) return wider("time_ns", "must stay true");
    for (auto layer : ceiling_.required)
      if (!project_.required.contains(layer)) return wider("require", cat(to_string(layer), " must stay required"));
    return {};
  }

  static bool observes(const Policy& policy, const std::string& name) {
    if (has(kPreStages, name)) return !stage_refuses(policy, name);
    auto it = policy.audit.find(name);
    return it != policy.audit.end() && it->second == AuditMode::kObserve;
  }

  std::string import_origin(const std::string& name) const {
    auto origin = origin_of(origins_, cat("imports.additional.", name));
    return origin.empty() ? origin_of(origins_, cat("imports.allowed.", name)) : origin;
  }

  Result<void> kept(std::string_view field, const std::vector<std::string>& theirs,
                    const std::vector<std::string>& ours) const {
    for (const auto& item : theirs)
      if (!has(ours, item)) return wider(field, cat(quoted(item), " must stay"));
    return {};
  }

  // A project may add what is minded and never take away.
  Result<void> rules() const {
    const SourceRules &c = ceiling_.rules, &p = project_.rules;
    if (c.level == VerifyLevel::kStrict && p.level != VerifyLevel::kStrict)
      return wider("rules.level", "must stay strict");
    for (const auto& id : p.off)
      if (!has(c.off, id))
        return wider("rules.off", origin_of(origins_, cat("rules.off.", id)), cat(quoted(id), " must stay on"));
    for (const auto& path : p.allowed_paths)
      if (std::none_of(c.allowed_paths.begin(), c.allowed_paths.end(),
                       [&](const std::string& most) { return path_contains(most, path); }))
        return wider("rules.allowed_paths", origin_of(origins_, cat("rules.allowed_paths.", path)),
                     cat(quoted(path), " is not allowed there"));
    TRY(kept("rules.functions", c.functions, p.functions));
    TRY(kept("rules.modules", c.modules, p.modules));
    return kept("rules.patterns", c.patterns, p.patterns);
  }

  Result<void> verification() const {
    for (const auto& [name, mode] : project_.audit)
      if (mode == AuditMode::kObserve && !observes(ceiling_, name))
        return wider("audit.mode", origin_of(origins_, cat("audit.mode.", name)),
                     cat(quoted(name), " must stay enforced"));
    TRY(rules());
    // No list of imports means any import.
    const auto& allowed = ceiling_.imports_allowed;
    if (!allowed.empty()) {
      if (project_.imports_allowed.empty()) return wider("imports.allowed", "the list must not vanish");
      for (const auto& name : project_.imports_allowed)
        if (!has(allowed, name))
          return wider("imports", import_origin(name), cat(quoted(name), " is not allowed there"));
      for (const auto& name : project_.preimport)
        if (!has(allowed, name) && !has(ceiling_.preimport, name))
          return wider("preimport", cat(quoted(name), " is not allowed there"));
    }
    for (const auto& [module, attribute] : ceiling_.blocklist)
      if (!has(project_.blocklist, std::pair(module, attribute)))
        return wider("blocklist", cat(quoted(cat(module, ".", attribute)), " must stay blocked"));
    for (auto stage : kPreStages) {
      if (stage == kBlocklistAudit && ceiling_.blocklist.empty()) continue;  // nothing that could be missed
      if (stage_runs(ceiling_, stage) && !stage_runs(project_, stage))
        return wider("stages.pre", cat(quoted(stage), " must stay"));
      if (stage_refuses(ceiling_, stage) && !stage_refuses(project_, stage))
        return wider("audit.mode", cat(quoted(stage), " must stay enforced"));
    }
    for (const auto& stage : ceiling_.stages_post)
      if (!has(project_.stages_post, stage)) return wider("stages.post", cat(quoted(stage), " must stay"));
    // A warm interpreter has run preimports before the request; who turned that off wants a fresh one each time.
    if (project_.warm && !ceiling_.warm) return wider("warm", "must stay false");
    return {};
  }

  const Policy& ceiling_;
  const Policy& project_;
  const Origins& origins_;
};

template <typename T>
void ceiling_first(const std::vector<T>& ceiling, std::vector<T>& project) {
  std::vector<T> out = ceiling;
  for (auto& item : project)
    if (!has(ceiling, item)) out.push_back(std::move(item));
  project = std::move(out);
}

}  // namespace

Result<void> check_tightens(const Policy& ceiling, const Policy& project, const Origins& origins) {
  return Check(ceiling, project, origins).run();
}

Result<void> tighten(const Policy& ceiling, Policy& project, const Origins& origins) {
  ceiling_first(ceiling.filesystem.deny, project.filesystem.deny);
  ceiling_first(ceiling.network.block, project.network.block);
  ceiling_first(ceiling.syscalls.deny, project.syscalls.deny);
  ceiling_first(ceiling.blocklist, project.blocklist);
  ceiling_first(ceiling.rules.functions, project.rules.functions);
  ceiling_first(ceiling.rules.modules, project.rules.modules);
  ceiling_first(ceiling.rules.patterns, project.rules.patterns);
  if (!project.stages_pre.empty()) ceiling_first(ceiling.stages_pre, project.stages_pre);  // empty: all of them
  ceiling_first(ceiling.stages_post, project.stages_post);
  project.required.insert(ceiling.required.begin(), ceiling.required.end());
  return check_tightens(ceiling, project, origins);
}

}  // namespace hotcell
