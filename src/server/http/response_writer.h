// The head of an answer, and the framing of its body.
#pragma once
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/server_core.h"

namespace hotcell::server {

enum class Framing { kLength, kChunked, kUntilClose, kUpgraded };

struct HeadOptions {
  bool http11 = true;
  bool keep_alive = true;
  Framing framing = Framing::kLength;
  std::string_view request_id;
  std::string_view allowed_origin;  // non-empty: pages of this origin may read the answer
};

void append_head(std::string& out, const HttpResponse& response, const HeadOptions& options, ServerCore& core);
void append_chunk(std::string& out, std::string_view piece);  // nothing for an empty one, which would end the body
std::string_view status_text(int status);
bool has_no_body(int status);  // 1xx, 204, 304

}  // namespace hotcell::server
