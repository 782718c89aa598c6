// The one table from errors of ours to HTTP.
#pragma once
#include <string_view>

#include "hotcell/result.h"
#include "server/http/exchange.h"
#include "server/rest/services.h"

namespace hotcell::server {

int http_status(ErrorCode code);
HttpResponse error_answer(const Error& error);

// Of submit(): a full queue is 429, a daemon that is going or has no launcher 503, both with Retry-After.
HttpResponse submit_error(const Error& error, const ExecutionsStats& stats);

// The founders' sentence for an id that is unknown, malformed or somebody else's.
HttpResponse no_such_execution();
bool looks_like_id(std::string_view id);
// Whoever is no admin sees executions of their own alone; others do not exist for them.
std::optional<ExecutionRecord> find_visible(Services& services, const HttpRequest& request, std::string_view id);
bool may_see(const Caller& caller, const ExecutionRecord& record);

HttpResponse json_answer(std::string body, int status = 200);

}  // namespace hotcell::server
