// Listeners and their sessions. Lives on the loop's thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hotcell/result.h"
#include "server/http/gate.h"
#include "server/http/loop.h"
#include "server/http/net.h"
#include "server/http/server_core.h"
#include "sys/fd.h"

namespace hotcell::server {

class HttpServer {
 public:
  // `router` and `gate` outlive the server.
  HttpServer(Loop& loop, ServerLimits limits, const Router& router, Gate& gate);
  ~HttpServer();

  void set_access_log(std::function<void(const AccessRecord&)> log);

  // A bound and listening socket, TCP or Unix. Whether one may listen there at all is check_listen's to say (auth.h).
  Result<void> add_listener(sys::Fd fd, std::shared_ptr<TlsContext> tls = nullptr);

  // For a graceful end: whoever comes is told so (503), what is idle is closed, every answer under way may be finished. The
  // sockets are not closed: others hold them as well, and who connects would wait for an answer that never comes.
  void drain();
  bool drained() const;  // nobody is connected any more
  void close_idle();
  void close_all();  // cuts everything off

  ServerStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotcell::server
