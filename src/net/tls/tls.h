// A certificate authority of one cell, and TLS on both sides of a connection.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "net/exchange.h"
#include "sys/fd.h"

namespace hotcell::net {

class CellTls {
 public:
  // The authority may speak for these hosts alone: `names` are constraints, as in "example.org".
  static Result<std::unique_ptr<CellTls>> create(const std::vector<std::string>& names, const std::string& authorities);
  virtual ~CellTls() = default;
  virtual std::string certificate() const = 0;

  // Both block, and give nothing when the other side will not have it. From any thread.
  virtual Result<std::unique_ptr<ByteStream>> accept(sys::Fd client, const Host& as) = 0;
  virtual Result<std::unique_ptr<ByteStream>> connect(sys::Fd server, const Host& to) = 0;
};

std::unique_ptr<ByteStream> plain_stream(sys::Fd fd);

// Reads OpenSSL's own configuration, and says where this host keeps its authorities: before files can no longer be opened.
std::vector<std::string> prepare_tls();

}  // namespace hotcell::net
