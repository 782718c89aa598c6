#include "server/mcp/call.h"

#include <utility>

#include "base/strings.h"
#include "server/http/door_words.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::size_t kLongestParent = 64;  // what is longer is none, and whoever reads it sees that

}  // namespace

Call::Call(const McpServices& services, Caller caller, std::string peer, Message message, ReplyPtr reply, Ended ended)
    : services_(services),
      caller_(std::move(caller)),
      peer_(std::move(peer)),
      message_(std::move(message)),
      arguments_(JsonValue::Object{}),
      reply_(std::move(reply)),
      ended_(std::move(ended)) {
  if (const JsonValue* arguments = message_.params.find("arguments"); arguments != nullptr && arguments->object() != nullptr)
    arguments_ = *arguments;
  const JsonValue* meta = message_.meta();
  if (meta != nullptr) trace_parent = meta->text("traceparent").substr(0, kLongestParent);
  const JsonValue* token = meta == nullptr ? nullptr : meta->find("progressToken");
  if (token != nullptr && (token->string() != nullptr || token->is_integer())) progress_token_ = json_text(*token);
}

void Call::progress(std::string_view message) {
  if (finished_ || !wants_progress()) return;
  notify(cat("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":",
             progress_token_, ",\"progress\":", ++progress_, ",\"message\":", json_string(message), "}}"));
}

bool Call::notify(std::string_view json) {
  if (finished_) return false;
  if (reply_->notify(json)) return true;
  cancel();  // it goes nowhere: the program need not go on for it
  return false;
}

void Call::become(JsonValue arguments, std::function<void(ToolResult&)> shape) {
  arguments_ = std::move(arguments);
  shape_ = std::move(shape);
}

void Call::finish(ToolResult result) {
  if (shape_) shape_(result);
  finish_members(result_members(result));
}

void Call::finish_members(std::string_view members) {
  end(200, result_text(message_, members, Caching::kNone, services_.version));
}

void Call::finish_error(std::string_view sentence) {
  ToolResult result;
  result.texts.push_back(door_words(sentence));
  result.is_error = true;
  finish(std::move(result));
}

void Call::fail(RpcError error) { end(http_status(error, message_.era), error_text(message_.id, error)); }

void Call::cancel() {
  if (finished_) return;
  auto stop = std::exchange(on_cancel, nullptr);
  end(202, {});  // first: what is stopped may report its end at once, and nobody wants to know
  if (stop) stop();
}

void Call::end(int status, std::string answer) {
  if (finished_) return;
  finished_ = true;
  CallPtr self = shared_from_this();
  // We may be inside a callback of this very subscription.
  services_.post([self] { self->subscription.reset(); });
  on_cancel = nullptr;
  if (auto reply = std::exchange(reply_, nullptr)) reply->answer(status, std::move(answer));
  if (auto ended = std::exchange(ended_, nullptr)) ended(self);
}

std::string result_members(const ToolResult& result) {
  std::string out = "\"content\":[";
  bool first = true;
  for (const auto& text : result.texts) {
    out += cat(std::exchange(first, false) ? "" : ",", "{\"type\":\"text\",\"text\":", json_string(text), "}");
  }
  for (const auto& image : result.images) {
    out += cat(std::exchange(first, false) ? "" : ",", "{\"type\":\"image\",\"data\":", json_string(image.base64),
               ",\"mimeType\":", json_string(image.mime_type), "}");
  }
  out += ']';
  if (!result.structured.empty()) out += cat(",\"structuredContent\":", result.structured);
  return out += result.is_error ? ",\"isError\":true" : ",\"isError\":false";
}

}  // namespace hotcell::server::mcp
