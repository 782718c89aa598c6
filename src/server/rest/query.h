// Parameters of the query, read as strictly as the body.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "server/http/exchange.h"

namespace hotcell::server {

Result<std::uint64_t> query_number(const HttpRequest& request, std::string_view name, std::uint64_t otherwise,
                                   std::uint64_t least, std::uint64_t most);
Result<bool> query_bool(const HttpRequest& request, std::string_view name, bool otherwise);
Result<std::string> query_choice(const HttpRequest& request, std::string_view name, std::span<const std::string_view> words);
// RFC 3339, or seconds since 1970.
Result<std::optional<std::chrono::system_clock::time_point>> query_time(const HttpRequest& request, std::string_view name);
// The caller's traceparent; whatever is no such thing is seen by whoever follows it.
std::string trace_parent(const HttpRequest& request);
std::string query_text(const HttpRequest& request, std::string_view name);

}  // namespace hotcell::server
