// A web server on the host's loopback, for cells that have a proxy. It answers by any name.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "support/cells.h"

namespace hotcell::testing {

class WebServer {
 public:
  enum class Kind : unsigned char { kPlain, kTls };  // with TLS: a certificate of its own for good.test, other.test and localhost, in folder()/cert
  explicit WebServer(Kind kind = Kind::kPlain);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // Files below it are served; /headers answers with the request's own fields; everything else is a greeting.
  void file(const std::string& path, std::string_view text) const;
  const std::string& folder() const { return folder_.path(); }
  std::string port() const { return std::to_string(port_); }
  std::string url(const std::string& host, const std::string& path = "/") const;
  std::string asked() const;  // the hosts and paths of all requests so far, a line each

 private:
  TempDir folder_;
  pid_t pid_ = -1;
  int said_ = -1;
  int port_ = 0;
  bool tls_;
};

}  // namespace hotcell::testing
