#include "server/rest/errors.h"

#include <algorithm>

namespace hotcell::server {

namespace {

struct Row {
  ErrorCode code;
  int status;
};
constexpr Row kTable[] = {
    {ErrorCode::kInvalid, 400},     {ErrorCode::kNotFound, 404}, {ErrorCode::kNotExecutable, 422},
    {ErrorCode::kUnsupported, 422}, {ErrorCode::kDenied, 403},   {ErrorCode::kLimit, 429},
    {ErrorCode::kCancelled, 409},   {ErrorCode::kIo, 500},       {ErrorCode::kInternal, 500},
};

constexpr const char* kRetrySeconds = "1";   // cells last about that long; who comes again sooner waits for nothing

}  // namespace

int http_status(ErrorCode code) {
  for (const auto& row : kTable) {
    if (row.code == code) return row.status;
  }
  return 500;
}

HttpResponse error_answer(const Error& error) {
  auto answer = error_response(http_status(error.code), error.message, to_string(error.code));
  if (error.code == ErrorCode::kLimit) answer.headers.emplace_back("Retry-After", kRetrySeconds);
  return answer;
}

HttpResponse submit_error(const Error& error, const ExecutionsStats& stats) {
  if (error.code != ErrorCode::kLimit || (!stats.draining && stats.launcher_up)) return error_answer(error);
  auto answer = error_response(503, error.message, stats.draining ? "draining" : "launcher_down");
  answer.headers.emplace_back("Retry-After", kRetrySeconds);
  return answer;
}

HttpResponse no_such_execution() { return error_response(404, "execution not found", "not_found"); }

bool looks_like_id(std::string_view id) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), fits);
}

bool may_see(const Caller& caller, const ExecutionRecord& record) {
  return caller.admin || record.client == caller.name;
}

std::optional<ExecutionRecord> find_visible(Services& services, const HttpRequest& request, std::string_view id) {
  if (!looks_like_id(id)) return std::nullopt;
  auto record = services.executions.find(id);
  if (record && !may_see(request.caller, *record)) return std::nullopt;
  return record;
}

HttpResponse json_answer(std::string body, int status) {
  HttpResponse answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

}  // namespace hotcell::server
