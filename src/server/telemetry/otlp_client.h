// Posts traces to a collector over plain HTTP, on the front's loop. One connection per batch: batches are seconds apart.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "hotcell/result.h"

namespace boost::asio {
class io_context;
}

namespace hotcell::server {

struct OtlpTarget {
  std::string host, port, path;
};
// OTEL_EXPORTER_OTLP_ENDPOINT: http://host[:4318][/prefix]. https is refused: there is a collector beside every daemon.
Result<OtlpTarget> parse_otlp_endpoint(const std::string& url);

class OtlpClient {
 public:
  // Looks the name up now, while the process may still read the resolver's files.
  static Result<std::unique_ptr<OtlpClient>> create(boost::asio::io_context& loop, const OtlpTarget& target);
  ~OtlpClient();

  void post(std::string body);   // at most four under way; more are dropped
  std::uint64_t delivered() const;
  std::uint64_t dropped() const;

 private:
  struct Impl;
  explicit OtlpClient(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace hotcell::server
