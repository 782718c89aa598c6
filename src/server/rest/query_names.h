// Which names each route reads from its query, in one table. A name that nobody reads is a slip of the pen, and is said as one of a
// field in the body is: whoever writes `?wiat=false` would wait.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "server/http/exchange.h"

namespace hotcell::server {

// Null: whatever comes is taken, since it comes from clients that were written for somebody else, or from whatever looks whether we
// are well (probes, scrapers, browsers).
std::optional<std::span<const std::string_view>> query_names(std::string_view method, std::string_view pattern);

// `handler`, behind a look at the names: 400 with the one that is not known.
Handler with_known_query(std::string_view method, std::string_view pattern, Handler handler);

}  // namespace hotcell::server
