#include <algorithm>

#include "base/strings.h"
#include "core/policy/stages.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

std::string listed(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) out += cat(out.empty() ? "" : ", ", printable(item));
  return out;
}

std::string said_in(const std::string& origin) { return origin.empty() ? "" : cat("  (", printable(origin), ")"); }

void limits(const Policy& p, std::vector<std::string>& out) {
  const Limits& l = p.limits;
  out.push_back(cat("limits: memory ", exact_bytes(l.memory), ", disk ", exact_bytes(l.disk), ", CPU time ",
                    exact_duration(l.cpu_time), ", wall ", exact_duration(l.wall), ", processes ", l.processes,
                    ", open files ", l.open_files, ", stack ", exact_bytes(l.stack),
                    l.cpus > 0 ? cat(", CPUs ", format_cpus(l.cpus)) : "",
                    l.address_space ? cat(", address space ", exact_bytes(*l.address_space)) : ""));
  out.push_back(cat("output: ", exact_bytes(l.output), " per stream, then ",
                    p.on_output == OnOutput::kKill ? "the cell is killed" : "the rest is counted and dropped"));
}

void files(const Policy& p, std::vector<std::string>& out) {
  out.push_back(cat("files: /usr and a made /etc, read-only; /work and /tmp, private and ",
                    p.filesystem.writable_scratch ? cat("writable up to ", exact_bytes(p.limits.disk)) : "read-only"));
  for (const auto& grant : p.filesystem.grants)
    out.push_back(
        cat(grant.access == Access::kWrite ? "  write " : "  read ", printable(grant.path), said_in(grant.origin)));
  for (const auto& deny : p.filesystem.deny)
    out.push_back(cat("  deny ", printable(deny.pattern), said_in(deny.origin)));
}

void network(const Network& n, std::vector<std::string>& out) {
  switch (n.mode) {
    case NetworkMode::kNone:
      out.push_back("network: none but the cell's own loopback");
      return;
    case NetworkMode::kHost:
      out.push_back("network: the host's own");
      return;
    case NetworkMode::kProxy:
      out.push_back(cat("network: through the proxy, rules ", to_string(n.rules)));
      break;
  }
  if (!n.allow.empty()) out.push_back(cat("  allow ", listed(n.allow)));
  if (!n.block.empty()) out.push_back(cat("  block ", listed(n.block)));
}

void checks(const Policy& p, std::vector<std::string>& out) {
  std::vector<std::string> refusing;
  for (auto stage : kPreStages)
    if (stage_refuses(p, stage)) refusing.emplace_back(stage);
  out.push_back(cat("verification: ", refusing.empty() ? "errors are only reported"
                                      : refusing.size() == kPreStages.size()
                                          ? "errors keep a program from starting"
                                          : cat("errors of ", listed(refusing), " keep a program from starting")));
  for (const auto& [name, mode] : p.audit)
    if (name != "verification")
      out.push_back(cat("  ", printable(name), mode == AuditMode::kEnforce ? ": enforced" : ": only observed"));
  if (!p.stages_pre.empty()) out.push_back(cat("  before the run: ", listed(p.stages_pre)));
  if (!p.stages_post.empty()) out.push_back(cat("  after the run: ", listed(p.stages_post)));
  if (!p.imports_allowed.empty()) out.push_back(cat("imports: only ", listed(p.imports_allowed)));
  if (!p.blocklist.empty()) {
    std::vector<std::string> names;
    for (const auto& [module, attribute] : p.blocklist) names.push_back(cat(module, ".", attribute));
    out.push_back(cat("blocked names: ", listed(names)));
  }
  if (!p.preimport.empty()) out.push_back(cat("imported beforehand: ", listed(p.preimport)));
}

}  // namespace

std::vector<std::string> describe(const Policy& p) {
  std::vector<std::string> out;
  out.push_back(cat("profile: ", printable(p.name), p.language.empty() ? "" : cat(" (", printable(p.language), ")"),
                    p.description.empty() ? "" : cat(": ", printable(trim(p.description)))));
  limits(p, out);
  files(p, out);
  network(p.network, out);
  out.push_back(cat("system calls: the ", printable(p.syscalls.base), " allowlist",
                    p.syscalls.oci_file.empty() ? "" : cat(", narrowed by ", printable(p.syscalls.oci_file))));
  if (!p.syscalls.allow.empty()) out.push_back(cat("  also allowed: ", listed(p.syscalls.allow)));
  if (!p.syscalls.deny.empty()) out.push_back(cat("  also denied: ", listed(p.syscalls.deny)));

  // Values may be secrets, and this text ends up in logs: names only.
  std::vector<std::string> set;
  for (const auto& [name, value] : p.env.set) set.push_back(name);
  out.push_back(cat("environment: starts empty",
                    p.env.pass.empty() ? "" : cat("; of the caller's: ", listed(p.env.pass)),
                    set.empty() ? "" : cat("; set: ", listed(set))));
  out.push_back(cat("identity: uid ", p.uid, ", gid ", p.gid, " inside, no capabilities",
                    p.time_ns ? ", own clock offsets" : ""));
  if (!p.required.empty()) {
    std::vector<std::string> names;
    for (auto layer : p.required) names.emplace_back(to_string(layer));
    out.push_back(cat("required: ", listed(names)));
  }
  checks(p, out);
  out.push_back(p.warm ? "warm interpreters: may be used" : "warm interpreters: never");
  return out;
}

}  // namespace hotcell
