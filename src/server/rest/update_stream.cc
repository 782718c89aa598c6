#include "server/rest/update_stream.h"

#include <algorithm>

#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/result_json.h"

namespace hotcell::server {

namespace {

class UpdateStream : public std::enable_shared_from_this<UpdateStream> {
 public:
  UpdateStream(Services& services, ExchangePtr exchange, std::string id, StreamFormat format, WhenClosed closed)
      : services_(services), exchange_(std::move(exchange)), id_(std::move(id)), format_(format), closed_(closed) {}

  void begin(std::uint64_t after) {
    auto self = shared_from_this();
    std::weak_ptr<UpdateStream> weak = self;
    exchange_->on_closed([self] { self->give_up(); });
    HttpResponse head = stream_head(format_);
    head.headers.emplace_back("Location", cat("/api/v1/executions/", id_));
    exchange_->start(std::move(head));
    // The exchange owns the stream, Executions knows it weakly; some updates come before watch() has returned.
    auto watch = services_.executions.watch(id_, after, [weak](const Update& update) {
      if (auto stream = weak.lock()) stream->tell(update);
    });
    if (!watch.ok()) {
      if (exchange_) exchange_->finish();
      return over();
    }
    if (!exchange_) return;
    watch_ = std::move(watch).value();
    if (format_ == StreamFormat::kLines) return;
    beat_ = services_.every(kHeartbeat, [weak] {
      auto stream = weak.lock();
      if (stream && stream->exchange_ && !stream->exchange_->write(": still here\n\n")) stream->give_up();
    });
  }

 private:
  void tell(const Update& update) {
    if (!exchange_) return;
    if (!exchange_->write(update.type == "done" ? line_of(told_end(update)) : line_of(update))) {
      services_.metrics.reader_dropped();
      return give_up();
    }
    if (update.type != "done") return;
    exchange_->finish();
    over();
  }

  // What a crash ended has no result in the history, only how it ended: the same words as its status has.
  Update told_end(const Update& update) {
    Update out = update;
    if (auto data = trim(out.data); !data.empty() && data != "{}") return out;
    if (auto record = services_.executions.find(id_); record && record->ended_already()) out.data = result_text(services_, *record);
    return out;
  }

  std::string line_of(const Update& update) const {
    if (format_ == StreamFormat::kEvents) return sse_event(std::to_string(update.seq), update.type, update.data);
    std::string_view data = trim(update.data);
    return cat("{\"seq\":", update.seq, ",\"type\":\"", update.type, "\",\"data\":", data.empty() ? "null" : data, "}\n");
  }

  void give_up() {
    if (!exchange_) return;
    over();
    if (closed_ == WhenClosed::kKill) services_.executions.kill(id_).ignore("it may have ended in this moment");
  }

  // Subscriptions end later: this may be inside the very callback that they own.
  void over() {
    auto rest = std::make_shared<std::pair<Subscription, Subscription>>(std::move(watch_), std::move(beat_));
    services_.post([rest, gone = std::exchange(exchange_, nullptr), self = shared_from_this()] {
      rest->first.reset();
      rest->second.reset();
    });
  }

  Services& services_;
  ExchangePtr exchange_;   // empty: over
  std::string id_;
  StreamFormat format_;
  WhenClosed closed_;
  Subscription watch_, beat_;
};

}  // namespace

std::optional<StreamFormat> stream_format(const HttpRequest& request) {
  auto accept = request.header("accept").value_or("");
  if (accept.find("text/event-stream") != std::string_view::npos) return StreamFormat::kEvents;
  if (accept.find("application/x-ndjson") != std::string_view::npos) return StreamFormat::kLines;
  return std::nullopt;
}

std::string sse_event(std::string_view id, std::string_view type, std::string_view data) {
  std::string out;
  if (!id.empty()) out += cat("id: ", id, "\n");
  out += cat("event: ", type, "\ndata: ");
  // One line: a line end inside would be another field, and JSON means the same without it.
  for (char c : trim(data)) out += c == '\n' || c == '\r' ? ' ' : c;
  return out + "\n\n";
}

HttpResponse stream_head(StreamFormat format) {
  HttpResponse head;
  head.content_type = format == StreamFormat::kEvents ? "text/event-stream" : "application/x-ndjson";
  head.headers.emplace_back("X-Accel-Buffering", "no");   // nginx would keep it until it has a page full
  return head;
}

void stream_updates(Services& services, ExchangePtr exchange, const std::string& id, std::uint64_t after,
                    StreamFormat format, WhenClosed closed) {
  std::make_shared<UpdateStream>(services, std::move(exchange), id, format, closed)->begin(after);
}

}  // namespace hotcell::server
