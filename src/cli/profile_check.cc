#include "cli/profile_check.h"

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/host.h"
#include "core/kernel/seccomp_model.h"
#include "core/launch/plan.h"
#include "hotcell/language.h"

namespace hotcell {

namespace {

std::string place_of(const Origins& origins, std::string_view field) {
  auto it = origins.find(field);
  return it == origins.end() || it->second.empty() ? std::string() : cat(it->second, ": ");
}

}  // namespace

std::string unknown_language(const Policy& policy, const Origins& origins) {
  if (policy.language.empty() || find_language(policy.language) != nullptr) return {};
  std::string known;
  for (const Language* l : languages()) known += cat(known.empty() ? "" : ", ", l->name);
  return cat(place_of(origins, "language"), "language: ", "\"", printable(policy.language), "\" is none that can be read here (", known, ")");
}

Result<void> check_syscalls(const Policy& policy, const Origins& origins) {
  const auto& calls = policy.syscalls;
  if (calls.allow.empty() && calls.deny.empty()) return {};
  FilterModel model = build_model(calls.base == "strict" ? kStrictBase : kDefaultBase, kOwnInet, kNativeArch);
  auto located = [&](Result<void> result, std::string_view list, const std::string& name) -> Result<void> {
    if (result.ok()) return {};
    Error error = std::move(result).error();
    error.message = place_of(origins, cat("syscalls.", list, ".", name)) + error.message;
    return error;
  };
  for (const auto& name : calls.allow) TRY(located(allow_call(model, name), "allow", name));
  for (const auto& name : calls.deny) TRY(located(deny_call(model, name), "deny", name));
  return {};
}

Result<std::string> check_plan(const Policy& policy, const Origins& origins) {
  TRY(check_syscalls(policy, origins));
  TRY_SET(Host host, Host::look());
  auto plan = make_plan(policy, host, BackendKind::kNative, PlanPurpose::kExplain);
  if (plan.ok()) return std::string();
  Error error = std::move(plan).error();
  if (error.message.starts_with("syscalls.file")) error.message = place_of(origins, "syscalls.file") + error.message;
  // A profile may be written for another machine, or for another user.
  if (error.err == ENOENT || error.err == ENOTDIR || error.err == EACCES) return cat(error.message, " (on this host; there no cell starts with it)");
  return error;
}

}  // namespace hotcell
