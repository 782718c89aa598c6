#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/query.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"
#include "server/rest/update_stream.h"

namespace hotcell::server {

namespace {

constexpr std::uint64_t kMaxSeq = 1ULL << 62;

// Last-Event-ID is what a browser sends by itself after a lost connection.
Result<std::uint64_t> resume_point(const HttpRequest& request) {
  auto last = request.header("last-event-id");
  if (!last || last->empty()) return query_number(request, "after", 0, 0, kMaxSeq);
  auto number = parse_u64(*last);
  if (!number || *number > kMaxSeq) return make_error(ErrorCode::kInvalid, "Last-Event-ID must be a number that came as an id");
  return *number;
}

void one(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto record = find_visible(services, request, request.params.at(0));
  if (!record) return exchange->respond(no_such_execution());
  auto after = resume_point(request);
  if (!after.ok()) return exchange->respond(error_answer(after.error()));
  stream_updates(services, exchange, record->id, after.value(), stream_format(request).value_or(StreamFormat::kEvents),
                 WhenClosed::kGoOn);
}

class AllStream : public std::enable_shared_from_this<AllStream> {
 public:
  AllStream(Services& services, ExchangePtr exchange) : services_(services), exchange_(std::move(exchange)) {}

  void begin() {
    std::weak_ptr<AllStream> weak = shared_from_this();
    const Caller caller = exchange_->request().caller;
    exchange_->start(stream_head(StreamFormat::kEvents));
    tell("stats", stats_json(services_));
    watch_ = services_.executions.watch_all([weak, caller](const ExecutionRecord& record) {
      auto stream = weak.lock();
      if (stream && may_see(caller, record)) stream->tell("execution", record_json(record));
    });
    // It is its own heartbeat.
    tick_ = services_.every(std::chrono::seconds(1), [weak] {
      if (auto stream = weak.lock()) stream->tell("stats", stats_json(stream->services_));
    });
    // The exchange owns the stream until the peer has gone.
    exchange_->on_closed([self = shared_from_this()] { self->over(); });
  }

 private:
  void tell(std::string_view type, const std::string& data) {
    if (!exchange_ || exchange_->write(sse_event({}, type, data))) return;
    services_.metrics.reader_dropped();
    exchange_->finish();
    over();
  }
  void over() {
    if (!exchange_) return;
    // Later, since this may run inside a callback that one of the two owns, or that the exchange does.
    auto rest = std::make_shared<std::pair<Subscription, Subscription>>(std::move(watch_), std::move(tick_));
    services_.post([rest, exchange = std::move(exchange_), self = shared_from_this()] {
      rest->first.reset();
      rest->second.reset();
      exchange->on_closed(nullptr);
    });
    exchange_ = nullptr;
  }

  Services& services_;
  ExchangePtr exchange_;
  Subscription watch_, tick_;
};

}  // namespace

void add_event_routes(RouteList& routes, Services& services) {
  routes.push_back({"GET", "/api/v1/executions/:id/events", Scope::kOwn,
                    [&services](ExchangePtr x) { one(services, std::move(x)); }});
  routes.push_back({"GET", "/api/v1/events", Scope::kRead, [&services](ExchangePtr x) {
                      std::make_shared<AllStream>(services, std::move(x))->begin();
                    }});
}

}  // namespace hotcell::server
