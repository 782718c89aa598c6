// Who may come in. The session asks once per request, when its headers are there and before its body is read.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/http/exchange.h"
#include "server/http/stream.h"

namespace hotcell::server {

struct Refusal {
  int status = 403;
  std::string message;  // one sentence
  std::string reason;
  std::uint32_t retry_after = 0;  // seconds, for 429
};

class Gate {
 public:
  virtual ~Gate() = default;
  // Sets request.caller. `lease` is held as long as the request is being answered.
  virtual std::optional<Refusal> admit(const Peer& peer, HttpRequest& request, Scope scope,
                                       std::shared_ptr<void>& lease) = 0;
  // Host and Origin, before anything else is looked at. `authority` is that of an absolute target, often empty.
  virtual std::optional<Refusal> check_names(const Peer& peer, const HttpRequest& request,
                                             const std::string& authority) = 0;
  // An origin that was named in the configuration, and may therefore read answers from its pages.
  virtual bool is_allowed_origin(std::string_view origin) const = 0;
};

}  // namespace hotcell::server
