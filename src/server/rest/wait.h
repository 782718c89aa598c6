// An answer that comes when an execution has ended.
#pragma once
#include <functional>
#include <string>

#include "server/http/exchange.h"
#include "server/rest/services.h"

namespace hotcell::server {

enum class WhenClosed : std::uint8_t { kKill, kGoOn };

// `answer` makes the response from the row and the result object. When the peer goes away first, the execution is killed
// or goes on without it.
using EndAnswer = std::function<HttpResponse(const ExecutionRecord&, const std::string& result)>;
void answer_at_end(Services& services, ExchangePtr exchange, const std::string& id, WhenClosed closed, EndAnswer answer);

}  // namespace hotcell::server
