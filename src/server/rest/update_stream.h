// The updates of one execution as Server-Sent Events or as lines of JSON.
#pragma once
#include <string>

#include "server/http/exchange.h"
#include "server/rest/services.h"
#include "server/rest/wait.h"

namespace hotcell::server {

enum class StreamFormat : std::uint8_t { kEvents, kLines };

// What the Accept header asks for, if any of the two.
std::optional<StreamFormat> stream_format(const HttpRequest& request);

std::string sse_event(std::string_view id, std::string_view type, std::string_view data);
HttpResponse stream_head(StreamFormat format);

// Everything after `after`, until the execution has ended or the reader is gone or too slow.
void stream_updates(Services& services, ExchangePtr exchange, const std::string& id, std::uint64_t after,
                    StreamFormat format, WhenClosed closed);

inline constexpr std::chrono::seconds kHeartbeat(15);   // below the minute after which proxies give up

}  // namespace hotcell::server
