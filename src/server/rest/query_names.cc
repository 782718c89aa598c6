#include "server/rest/query_names.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "server/rest/errors.h"

namespace hotcell::server {
namespace {

struct Row {
  std::string_view method, pattern;
  std::span<const std::string_view> names;
};

constexpr std::string_view kWait[] = {"wait"}, kPath[] = {"path"}, kPage[] = {"limit", "before"};
constexpr std::string_view kExecutions[] = {"status", "language", "client", "door", "exit_reason", "q", "since", "until", "limit", "before"};
constexpr std::string_view kOutput[] = {"stream"}, kEvents[] = {"after"}, kCheck[] = {"host"}, kLog[] = {"limit"}, kEstimate[] = {"command"};
constexpr std::string_view kCells[] = {"status", "label", "limit", "before"}, kTar[] = {"name", "profile", "label"};
constexpr std::string_view kRead[] = {"path", "format"}, kWrite[] = {"path", "mode"}, kRemove[] = {"path", "recursive"};
constexpr std::string_view kDiff[] = {"format", "patches", "path"}, kAttach[] = {"rows", "columns"}, kGrant[] = {"pattern"};

// Routes of ours that are not here have none.
constexpr Row kRows[] = {
    {"POST", "/api/v1/sandbox/execute", kWait},
    {"GET", "/api/v1/executions", kExecutions},
    {"GET", "/api/v1/executions/:id/output", kOutput},
    {"GET", "/api/v1/executions/:id/events", kEvents},
    {"GET", "/api/v1/network/check", kCheck},
    {"GET", "/api/v1/network/log", kLog},
    {"GET", "/api/v1/audit", kPage},
    {"GET", "/api/v1/estimate", kEstimate},
    {"GET", "/api/v1/cells", kCells},
    {"POST", "/api/v1/cells", kTar},
    {"POST", "/api/v1/cells/:id/exec", kWait},
    {"GET", "/api/v1/cells/:id/files", kRead},
    {"PUT", "/api/v1/cells/:id/files", kWrite},
    {"DELETE", "/api/v1/cells/:id/files", kRemove},
    {"GET", "/api/v1/cells/:id/files/list", kPath},
    {"GET", "/api/v1/cells/:id/files/stat", kPath},
    {"GET", "/api/v1/cells/:id/files/watch", kPath},
    {"GET", "/api/v1/cells/:id/diff", kDiff},
    {"GET", "/api/v1/cells/:id/shells/:shell/attach", kAttach},
    {"DELETE", "/api/v1/cells/:id/grants", kGrant},
};

// The founders' own routes but the one to which we have added a name, and what is outside of our folder.
bool takes_anything(std::string_view pattern) {
  if (!pattern.starts_with("/api/v1/")) return true;
  return pattern.starts_with("/api/v1/sandbox/") && pattern != "/api/v1/sandbox/execute";
}

// Of two values one would be taken and the other dropped, and whoever stands between us and the client may take the other one.
constexpr std::string_view kSeveralTimes = "label";

std::optional<Error> twice(const HttpRequest& request) {
  const auto& all = request.query;
  for (auto one = all.begin(); one != all.end(); ++one)
    if (one->first != kSeveralTimes && std::any_of(all.begin(), one, [&](const auto& before) { return before.first == one->first; }))
      return make_error(ErrorCode::kInvalid, cat("the query parameter ", quoted(one->first), " is there twice"));
  return std::nullopt;
}

std::optional<Error> unknown_name(const HttpRequest& request, std::span<const std::string_view> names) {
  for (const auto& [name, value] : request.query) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string_view shown = std::string_view(name).substr(0, 64);
    std::string near = did_you_mean(shown, names), all;
    for (auto known : names) all += cat(all.empty() ? "; there is " : known == names.back() ? " and " : ", ", known);
    if (near.empty()) near = names.empty() ? "; this path has none" : all;
    return make_error(ErrorCode::kInvalid, cat("unknown query parameter ", quoted(shown), near));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::span<const std::string_view>> query_names(std::string_view method, std::string_view pattern) {
  for (const auto& row : kRows)
    if (row.method == method && row.pattern == pattern) return row.names;
  if (takes_anything(pattern)) return std::nullopt;
  return std::span<const std::string_view>();
}

Handler with_known_query(std::string_view method, std::string_view pattern, Handler handler) {
  const auto names = query_names(method, pattern);
  if (!names) return handler;
  return [names = *names, handler = std::move(handler)](ExchangePtr exchange) {
    if (exchange->request().query.empty()) return handler(std::move(exchange));
    if (auto unknown = unknown_name(exchange->request(), names)) return exchange->respond(error_answer(*unknown));
    if (auto wrong = twice(exchange->request())) return exchange->respond(error_answer(*wrong));
    handler(std::move(exchange));
  };
}

}  // namespace hotcell::server
