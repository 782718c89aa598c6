// One `tools/call` from its arrival to its answer.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/mcp/protocol.h"
#include "server/mcp/services.h"

namespace hotcell::server::mcp {

// Where answers go. A transport makes one for each message.
class Reply {
 public:
  virtual ~Reply() = default;
  // A notification that comes before the answer. False: nobody reads any more.
  virtual bool notify(std::string_view json) = 0;
  // The answer, at most once, with the status HTTP gives it. Empty: there is nothing to answer.
  virtual void answer(int status, std::string json) = 0;
  // Called when the peer goes away before that.
  virtual void on_closed(std::function<void()> closed) = 0;
};
using ReplyPtr = std::shared_ptr<Reply>;

struct ToolImage {
  std::string mime_type, base64;
};

struct ToolResult {
  std::string structured;          // a JSON object in one line, as the tool's output schema has it; empty: none
  std::vector<std::string> texts;  // for whoever reads
  std::vector<ToolImage> images;
  bool is_error = false;
};

class Call;
using CallPtr = std::shared_ptr<Call>;

class Call : public std::enable_shared_from_this<Call> {
 public:
  using Ended = std::function<void(const CallPtr&)>;
  Call(const McpServices& services, Caller caller, std::string peer, Message message, ReplyPtr reply, Ended ended);

  const McpServices& services() const { return services_; }
  const Caller& caller() const { return caller_; }
  const std::string& peer() const { return peer_; }    // who may cancel it
  const Message& message() const { return message_; }
  const JsonValue& arguments() const { return arguments_; }  // an object, possibly empty

  // The trace that this is a part of: `_meta.traceparent`, or the header of that name.
  std::string trace_parent;

  bool wants_progress() const { return !progress_token_.empty(); }
  void progress(std::string_view message);
  bool notify(std::string_view json);

  // For a tool that is another one under a name of its own: what that one is called with, and what is made of its answer.
  void become(JsonValue arguments, std::function<void(ToolResult&)> shape);

  void finish(ToolResult result);
  void finish_error(std::string_view sentence);  // a result that tells the model what it did wrong
  void fail(RpcError error);                     // the protocol itself was not followed
  void finish_members(std::string_view members);
  bool finished() const { return finished_; }

  // What is to be stopped when the caller no longer wants an answer. Nothing is answered after that.
  std::function<void()> on_cancel;
  void cancel();

  Subscription subscription;                     // to the execution this is about

 private:
  void end(int status, std::string answer);

  const McpServices& services_;
  Caller caller_;
  std::string peer_;
  Message message_;
  JsonValue arguments_;
  std::function<void(ToolResult&)> shape_;
  std::string progress_token_;                   // as JSON
  std::uint64_t progress_ = 0;
  ReplyPtr reply_;
  Ended ended_;
  bool finished_ = false;
};

// {"content":…} without its braces.
std::string result_members(const ToolResult& result);

}  // namespace hotcell::server::mcp
