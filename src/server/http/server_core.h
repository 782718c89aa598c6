// What all sessions of one server share.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/gate.h"
#include "server/http/request_parser.h"

namespace hotcell::server {

struct ServerLimits {
  ParseLimits parse;
  std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);  // from a request's first byte to its last header
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);    // between requests; for a write that is stuck
  std::chrono::nanoseconds linger = std::chrono::seconds(2);  // after a refusal: time to read it before the reset
  std::uint64_t slowest = 8 << 10;       // bytes per second that a body must come, and an answer go, with
  std::size_t waiting_bytes = 4 << 20;   // of a stream, for a slow reader
  std::uint64_t all_bodies = 256 << 20;  // of all requests that are being read or answered, together
  std::uint32_t max_connections = 4096;
};

struct AccessRecord {
  std::string_view method, path;  // of the client: not to be printed unescaped. Without the query: it may hold secrets
  std::string_view request_id, caller, peer;
  int status = 0;
  std::uint64_t bytes = 0;   // of the answer, with its head
  std::uint64_t micros = 0;  // from the complete request to the end of the answer
};

struct ServerStats {
  std::uint64_t accepted = 0, refused = 0, evicted = 0, timed_out = 0;  // connections
  std::uint64_t requests = 0, malformed = 0, slow_readers = 0;
  std::uint64_t answers[6] = {};  // by hundreds: [2] is 2xx
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint32_t open = 0;
};

class Session;

struct ServerCore {
  using Clock = std::chrono::steady_clock;

  ServerCore(ServerLimits l, const Router& r, Gate& g) : limits(l), router(r), gate(g) {}

  ServerLimits limits;
  const Router& router;
  Gate& gate;
  std::function<void(const AccessRecord&)> access_log;
  std::function<void(Session&, bool idle)> idle_changed = [](Session&, bool) {};
  std::function<void(Session&)> ended = [](Session&) {};
  bool draining = false;
  std::uint64_t body_bytes_held = 0;
  ServerStats stats;

  std::string make_request_id();  // 128 bits of chance
  std::string_view date();        // for the Date header; made once a second

 private:
  std::string random_;
  std::size_t random_used_ = 0;
  std::string date_;
  std::int64_t date_second_ = -1;
};

}  // namespace hotcell::server
