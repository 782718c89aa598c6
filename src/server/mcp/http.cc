#include "server/mcp/http.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace hotcell::server::mcp {

namespace {

class HttpReply : public Reply {
 public:
  HttpReply(ExchangePtr exchange, bool streams) : exchange_(std::move(exchange)), streams_(streams) {}

  bool notify(std::string_view json) override {
    if (!exchange_) return false;
    if (!streams_) return true;  // it asked for progress and does not accept a stream: it gets the answer alone
    std::string event = cat("event: message\ndata: ", json, "\n\n");
    if (started_) return exchange_->write(event);
    started_ = true;
    HttpResponse head;
    head.content_type = "text/event-stream";
    head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    head.body = std::move(event);
    exchange_->start(std::move(head));
    return true;
  }

  void answer(int status, std::string json) override {
    auto exchange = std::exchange(exchange_, nullptr);
    if (!exchange) return;
    if (!started_) {
      HttpResponse response;
      response.status = json.empty() ? 202 : status;
      response.body = std::move(json);
      return exchange->respond(std::move(response));
    }
    if (!json.empty()) exchange->write(cat("event: message\ndata: ", json, "\n\n"));
    exchange->finish();
  }

  void on_closed(std::function<void()> closed) override {
    if (exchange_) exchange_->on_closed(std::move(closed));
  }

 private:
  ExchangePtr exchange_;
  bool streams_, started_ = false;
};

// The media type alone: "application/json" of "application/json; charset=utf-8".
std::string media_type(std::string_view value) { return ascii_lower(trim(value.substr(0, value.find(';')))); }

struct Accepts {
  bool json = false, stream = false;
};
Accepts read_accept(std::optional<std::string_view> header) {
  Accepts accepts;
  if (!header) return {true, false};
  for (auto part : split(*header, ',')) {
    auto type = media_type(part);
    bool any = type == "*/*";
    accepts.json |= any || type == "application/json" || type == "application/*";
    accepts.stream |= any || type == "text/event-stream" || type == "text/*";
  }
  return accepts;
}

void handle_post(McpServer& server, const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request();
  // A page in a browser can post other types without asking first, and must not reach this.
  if (media_type(request.header("content-type").value_or("")) != "application/json")
    return exchange->respond(error_response(415, "Content-Type must be application/json", "media_type"));
  Accepts accepts = read_accept(request.header("accept"));
  if (!accepts.json)
    return exchange->respond(error_response(406, "Accept must allow application/json", "not_acceptable"));
  std::string peer = cat(request.caller.name, "\n", request.header("user-agent").value_or(""));
  server.handle(request.body, &request.headers, request.caller, peer,
                std::make_shared<HttpReply>(exchange, accepts.stream));
}

}  // namespace

void add_mcp(Router& router, std::shared_ptr<McpServer> server) {
  router.add("POST", "/mcp", Scope::kRead, [server](ExchangePtr exchange) { handle_post(*server, exchange); });
}

}  // namespace hotcell::server::mcp
