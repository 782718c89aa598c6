// The Model Context Protocol, whatever carries it: takes one message, answers through a Reply.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "server/mcp/call.h"

namespace hotcell::server::mcp {

class McpServer {
 public:
  explicit McpServer(McpServices services);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // One message, or one batch of the revision that had them. `headers` is null where the transport has none.
  // `peer` tells clients apart for cancellation: one of them cannot cancel what another asked for.
  void handle(std::string_view json, const Headers* headers, const Caller& caller, std::string_view peer,
              ReplyPtr reply);

  // Whoever asked has gone: everything it waits for is killed.
  void cancel_all(std::string_view peer);
  std::size_t under_way() const { return calls_.size(); }

 private:
  struct From {
    const Headers* headers;
    const Caller& caller;
    std::string_view peer;
  };
  void handle_one(JsonValue json, const From& from, const ReplyPtr& reply);
  void handle_batch(JsonValue::Array batch, const From& from, const ReplyPtr& reply);
  void dispatch(Message message, const From& from, const ReplyPtr& reply);
  void notified(const Message& message, std::string_view peer);
  void start_call(Message message, const From& from, const ReplyPtr& reply);

  McpServices services_;
  std::string tools_;                         // the array of tools/list
  std::unordered_set<CallPtr> calls_;         // under way
};

}  // namespace hotcell::server::mcp
