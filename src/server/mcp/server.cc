#include "server/mcp/server.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "server/mcp/fixtures.h"
#include "server/mcp/resources.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::size_t kMostInBatch = 64;
constexpr std::string_view kInstructions =
    "Runs code and commands in sandboxes on this machine. Each run gets a fresh cell without files of the host, and without "
    "a network unless it is asked for or this server gives one; pass files in, read stdout and stderr back. A result with "
    "status failed is the program's own doing: read stderr. What was refused is in `denials`; explain_denial says which setting would allow it. Cut output "
    "(`truncated`) is read on with get_execution.";

std::string capabilities(bool fixtures) {
  return cat("\"capabilities\":{\"tools\":{},\"resources\":{}", fixtures ? fixture_capabilities() : "", "}");
}

std::string initialized(const Message& message, const McpServices& services) {
  auto known = legacy_versions();
  auto asked = message.params.text("protocolVersion");
  bool speak = std::find(known.begin(), known.end(), asked) != known.end();
  return cat("\"protocolVersion\":\"", speak ? asked : kNewestLegacyVersion, "\",",
             capabilities(services.conformance_fixtures),
             ",\"serverInfo\":{\"name\":\"hotcell\",\"title\":\"hotcell sandbox\",\"version\":",
             json_string(services.version), "},\"instructions\":", json_string(kInstructions));
}

std::string discovered(const McpServices& services) {
  return cat("\"supportedVersions\":[\"", kModernVersion, "\"],", capabilities(services.conformance_fixtures),
             ",\"instructions\":", json_string(kInstructions));
}

// Collects the answers of a batch; the last one sends them all.
class BatchReply : public Reply {
 public:
  struct Shared {
    ReplyPtr to;
    std::vector<std::string> answers;
    std::vector<std::function<void()>> closed;
    ~Shared() {
      std::string all;
      for (const auto& a : answers) all += cat(all.empty() ? "[" : ",", a);
      to->answer(all.empty() ? 202 : 200, all.empty() ? all : all + "]");
    }
  };
  explicit BatchReply(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  bool notify(std::string_view json) override { return shared_ != nullptr && shared_->to->notify(json); }
  void answer(int, std::string json) override {
    auto shared = std::exchange(shared_, nullptr);
    if (shared && !json.empty()) shared->answers.push_back(std::move(json));
  }
  void on_closed(std::function<void()> closed) override {
    if (shared_) shared_->closed.push_back(std::move(closed));
  }

 private:
  std::shared_ptr<Shared> shared_;
};

// Batches came with 2025-03-26 and went with the next revision; a client that says nothing may be of that age.
bool may_batch(const Headers* headers) {
  if (headers == nullptr) return true;
  auto version = header_value(*headers, "mcp-protocol-version");
  return !version || *version == "2025-03-26" || *version == "2024-11-05";
}

}  // namespace

McpServer::McpServer(McpServices services)
    : services_(std::move(services)), tools_(tools_json(services_.conformance_fixtures)) {}

McpServer::~McpServer() = default;

void McpServer::handle(std::string_view json, const Headers* headers, const Caller& caller, std::string_view peer,
                       ReplyPtr reply) {
  auto parsed = parse_json(json);
  if (!parsed.ok()) {
    RpcError error{kParseError, cat("this is no JSON we read: ", parsed.error().message), {}};
    return reply->answer(400, error_text("null", error));
  }
  From from{headers, caller, peer};
  JsonValue& value = parsed.value();
  if (auto* batch = std::get_if<JsonValue::Array>(&value.v)) return handle_batch(std::move(*batch), from, reply);
  handle_one(std::move(value), from, reply);
}

void McpServer::handle_batch(JsonValue::Array batch, const From& from, const ReplyPtr& reply) {
  std::string_view wrong = !may_batch(from.headers)      ? "this protocol version has no batches"
                           : batch.empty()               ? "a batch must not be empty"
                           : batch.size() > kMostInBatch ? "a batch has at most 64 messages"
                                                         : "";
  if (!wrong.empty()) return reply->answer(400, error_text("null", {kInvalidRequest, std::string(wrong), {}}));
  auto shared = std::make_shared<BatchReply::Shared>();
  shared->to = reply;
  std::weak_ptr<BatchReply::Shared> weak = shared;
  reply->on_closed([weak] {
    if (auto s = weak.lock())
      for (auto& closed : std::exchange(s->closed, {})) closed();
  });
  for (JsonValue& one : batch) {
    auto part = std::make_shared<BatchReply>(shared);
    std::string_view method = one.text("method");
    const JsonValue* version = one.find("params", "_meta", kMetaVersion);
    if (method != "initialize" && version == nullptr) {
      handle_one(std::move(one), from, part);
    } else {
      Message message;
      read_message(std::move(one), from.headers, message);
      part->answer(400, error_text(message.id, {kInvalidRequest, "this message must come alone", {}}));
    }
  }
}

void McpServer::handle_one(JsonValue json, const From& from, const ReplyPtr& reply) {
  Message message;
  auto error = read_message(std::move(json), from.headers, message);
  if (!error && message.kind != Message::Kind::kRequest) {
    if (message.kind == Message::Kind::kNotification) notified(message, from.peer);
    return reply->answer(202, {});
  }
  // Whether a modern request is one at all comes before what it asks.
  if (message.era == Era::kModern && (!error || error->code == kInvalidParams))
    if (auto modern = check_modern(message, from.headers)) error = std::move(modern);
  if (error) return reply->answer(http_status(*error, message.era), error_text(message.id, *error));
  dispatch(std::move(message), from, reply);
}

void McpServer::dispatch(Message message, const From& from, const ReplyPtr& reply) {
  const std::string& method = message.method;
  bool modern = message.era == Era::kModern, fixtures = services_.conformance_fixtures;
  auto send = [&](Members members, Caching caching) {
    if (auto* error = std::get_if<RpcError>(&members))
      return reply->answer(http_status(*error, message.era), error_text(message.id, *error));
    reply->answer(200, result_text(message, std::get<std::string>(members), caching, services_.version));
  };
  if (method == "tools/call") return start_call(std::move(message), from, reply);
  // These are one page each: whatever cursor comes, it is none of ours.
  const bool whole = method == "tools/list" || method == "resources/templates/list";
  if (const JsonValue* cursor = message.params.find("cursor"); whole && cursor != nullptr && cursor->kind() != "null")
    return send(RpcError{kInvalidParams, "params.cursor is none that this server gave", {}}, Caching::kNone);
  if (method == "tools/list") return send(cat("\"tools\":", tools_), Caching::kPublic);
  if (method == "resources/list") return send(list_resources(services_, from.caller, message), Caching::kPrivate);
  if (method == "resources/templates/list") return send(list_resource_templates(services_), Caching::kPublic);
  if (method == "resources/read") return send(read_resource(services_, from.caller, message), Caching::kPrivate);
  if (modern && method == "server/discover") return send(discovered(services_), Caching::kPublic);
  if (!modern && method == "ping") return send(std::string(), Caching::kNone);
  if (!modern && method == "initialize") {
    const JsonValue* version = message.params.find("protocolVersion");
    if (version == nullptr || version->string() == nullptr)
      return send(RpcError{kInvalidParams, "params.protocolVersion is missing or no string", {}}, Caching::kNone);
    return send(initialized(message, services_), Caching::kNone);
  }
  if (fixtures)
    if (auto answer = fixture_method(message)) return send(std::move(*answer), Caching::kPublic);
  send(RpcError{kMethodNotFound, cat("unknown method '", printable(method.substr(0, 100)), "'"), {}}, Caching::kNone);
}

void McpServer::start_call(Message message, const From& from, const ReplyPtr& reply) {
  auto call = std::make_shared<Call>(services_, from.caller, std::string(from.peer), std::move(message), reply,
                                     [this](const CallPtr& ended) { calls_.erase(ended); });
  calls_.insert(call);
  std::weak_ptr<Call> weak = call;
  reply->on_closed([weak] {
    if (auto left = weak.lock()) left->cancel();
  });
  call_tool(call, from.headers);
}

void McpServer::notified(const Message& message, std::string_view peer) {
  if (message.method != "notifications/cancelled") return;
  const JsonValue* id = message.params.find("requestId");
  if (id == nullptr) return;
  std::string wanted = json_text(*id);
  // Without sessions two clients of one caller may use the same id at once: then nobody knows which one is meant.
  CallPtr found;
  for (const auto& call : calls_) {
    if (call->peer() != peer || call->message().id != wanted) continue;
    if (found) return;
    found = call;
  }
  if (found) found->cancel();
}

void McpServer::cancel_all(std::string_view peer) {
  std::vector<CallPtr> mine;
  for (const auto& call : calls_)
    if (call->peer() == peer) mine.push_back(call);
  for (const auto& call : mine) call->cancel();
}

}  // namespace hotcell::server::mcp
