// A server with one route, for wrk: `taskset -c 0 bench_http_server 7171 & taskset -c 1 wrk -c 32
// http://127.0.0.1:7171/health`.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "server/auth.h"
#include "server/http/server.h"

int main(int argc, char** argv) {
  using namespace hotcell::server;
  Loop loop;
  Router router;
  router.add("GET", "/health", Scope::kNone, [](ExchangePtr x) {
    HttpResponse response;
    response.body = R"({"status":"ok"})";
    x->respond(std::move(response));
  });
  Authenticator gate{AuthOptions()};
  HttpServer server(loop, {}, router, gate);
  auto address = parse_listen(std::string("127.0.0.1:") + (argc > 1 ? argv[1] : "7171"));
  if (!address.ok()) return 2;
  auto fd = listen_tcp(address.value());
  if (!fd.ok() || !server.add_listener(std::move(fd.value())).ok()) {
    std::fprintf(stderr, "cannot listen on %s\n", address.value().text.c_str());
    return 1;
  }
  loop.run();
  return 0;
}
