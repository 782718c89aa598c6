// One HTTP request and its answer, as handlers see it. Everything happens on the loop's thread. A handler may answer at
// once, later, or piece by piece; whoever drops the last pointer without an answer has answered 500.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotcell::server {

// Who asks. Anybody on the loopback where no keys are needed is "local" and may do everything.
struct Caller {
  std::string name = "local";
  bool run = true, read = true, admin = true;   // scopes
  std::optional<std::uint32_t> uid = {};        // by peer credentials on the Unix socket
  std::uint32_t max_running = 0;                // executions at once, waiting ones included; 0: no limit of its own
};

struct HttpRequest {
  std::string method;                           // upper case
  std::string target;                           // as it came
  std::string path;                             // without the query, percent-decoded, no "..", no NUL
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;   // names in lower case
  std::vector<std::string> params;              // what the route's ":name" parts matched, in order
  std::string body;
  std::string request_id;
  Caller caller;

  std::optional<std::string_view> header(std::string_view lower_name) const;   // the first
  std::optional<std::string_view> param(std::string_view query_name) const;    // of the query, the first
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;

  virtual void respond(HttpResponse response) = 0;

  // Of a route whose bodies come in pieces (BodyKind::kPieces): nothing is read before this is called, nor while it is
  // held, so a body of any length takes no memory. Everywhere else the one piece is the request's body.
  using Take = std::function<void(std::string_view piece, bool last)>;
  virtual void receive(Take take) { take(request().body, true); }
  virtual void hold_body(bool still) { (void)still; }

  // An answer without a known length (chunked): head once, then pieces, then finish. write() is false when the peer has
  // gone, or reads so slowly that more than 4 MiB wait for it: the caller gives up then.
  virtual void start(HttpResponse head) = 0;    // its body is the first piece
  virtual bool write(std::string_view piece) = 0;
  virtual void finish() = 0;

  // Called when the peer goes away before the answer is complete. Null: no longer.
  virtual void on_closed(std::function<void()> closed) = 0;

  // For who has more to say than a peer may leave unread: how much of it waits, and a call when nothing does any more.
  virtual std::size_t waiting() const { return 0; }
  virtual void on_drained(std::function<void()> drained) { (void)drained; }

  // Another protocol from here on (101): `head` goes out, then write() is what the peer gets, byte for byte, and `data` is
  // what comes from it. False: this connection cannot.
  virtual bool upgrade(HttpResponse head, std::function<void(std::string_view)> data) {
    (void)head, (void)data;
    return false;
  }
};
using ExchangePtr = std::shared_ptr<Exchange>;

using Handler = std::function<void(ExchangePtr)>;
// kNone: no key needed (health). kOwn: read or run, since who may start a program may ask what became of it; only for what shows a
// caller nothing but their own.
enum class Scope : std::uint8_t { kNone, kRead, kRun, kAdmin, kOwn };
enum class BodyKind : std::uint8_t { kWhole, kPieces };            // the handler is called with the body, or before it

class Router {
 public:
  // "/api/v1/executions/:id"; a trailing "/*" matches the rest.
  void add(std::string_view method, std::string_view pattern, Scope scope, Handler handler, BodyKind body = BodyKind::kWhole);

  struct Match {
    const Handler* handler = nullptr;
    Scope scope = Scope::kNone;
    BodyKind body = BodyKind::kWhole;
    std::vector<std::string> params;
    std::vector<std::string> allowed;           // methods that this path has; for 405 when handler is null
  };
  Match match(std::string_view method, std::string_view path) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> parts;
    Scope scope;
    Handler handler;
    BodyKind body;
  };
  std::vector<Route> routes_;
};

// {"message": "…"} as the founders have it, with `reason` (a word for programs) beside it when there is one.
HttpResponse error_response(int status, std::string_view message, std::string_view reason = {});

}  // namespace hotcell::server
