// What a lasting cell uses, what happens in it, and what its network may still reach.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/update_stream.h"

namespace hotcell::server {
namespace {

HttpResponse json_of(cells::Told told) { return json_answer(std::string(trim(told.text))); }

// Until the reader goes, or the keeper does.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(Services& services, CellDoor& door, ExchangePtr exchange, StreamFormat format)
      : services_(services), door_(door), exchange_(std::move(exchange)), format_(format) {}

  void begin(const std::string& cell) {
    exchange_->on_closed([self = shared_from_this()] { self->over(); });
    std::weak_ptr<EventStream> weak = weak_from_this();
    listening_ = door_.listen(cell, {.ready = [weak] { if (auto s = weak.lock()) s->start(); },
                                     .event = [weak](const std::string& line) { if (auto s = weak.lock()) s->tell(line); },
                                     .ended = [weak](const Error& error) { if (auto s = weak.lock()) s->end(error); }});
    beat_ = services_.every(kHeartbeat, [weak] {
      auto s = weak.lock();
      if (s && s->begun_ && s->exchange_ && s->format_ == StreamFormat::kEvents && !s->exchange_->write(": still here\n\n")) s->over();
    });
  }

 private:
  void start() {
    if (!exchange_ || std::exchange(begun_, true)) return;
    HttpResponse head = stream_head(format_);
    if (format_ == StreamFormat::kEvents) head.body = ": listening\n\n";
    exchange_->start(std::move(head));
  }
  void tell(const std::string& line) {
    start();
    if (!exchange_) return;
    auto event = parse_json(line);
    const std::string type = event.ok() ? std::string(event.value().text("type")) : "event";
    if (!exchange_->write(format_ == StreamFormat::kEvents ? sse_event({}, type, line) : cat(trim(line), "\n"))) over();
  }
  void end(const Error& error) {
    if (!exchange_) return;
    if (begun_) exchange_->finish();
    else exchange_->respond(cell_error(error));
    over();
  }
  // Later, since this may be inside a callback that one of them owns.
  void over() {
    if (!exchange_) return;
    auto beat = std::make_shared<Subscription>(std::move(beat_));
    services_.post([beat, exchange = std::exchange(exchange_, nullptr), listening = std::exchange(listening_, nullptr), self = shared_from_this()]() mutable {
      beat->reset();
      listening.reset();
      exchange.reset();
    });
  }

  Services& services_;
  CellDoor& door_;
  ExchangePtr exchange_;   // empty: over
  StreamFormat format_;
  std::shared_ptr<void> listening_;
  Subscription beat_;
  bool begun_ = false;
};

void events(Services& services, ExchangePtr exchange) {
  const StreamFormat format = stream_format(exchange->request()).value_or(StreamFormat::kEvents);
  with_cell(services, exchange, [&services, exchange, format](CellDoor& door, CellView cell) {
    std::make_shared<EventStream>(services, door, exchange, format)->begin(cell.id);
  });
}

void set_network(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"allow", "block"};
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    cells::Fields fields;
    for (std::string_view name : kFields) {
      if (reader.find(name) == nullptr) continue;
      std::vector<std::string> hosts;
      TRY(reader.read(name, hosts));
      for (const auto& host : hosts)
        if (host.find_first_of("\n\r\0", 0, 3) != host.npos) return make_error(ErrorCode::kInvalid, cat(name, ": not a host"));
      fields[std::string(name)] = join(hosts, "\n");
    }
    if (fields.empty()) return make_error(ErrorCode::kInvalid, "allow or block is required");
    // Whoever means "allow nothing" by an empty list must not be told that it was done.
    if (std::all_of(fields.begin(), fields.end(), [](const auto& f) { return f.second.empty(); }))
      return make_error(ErrorCode::kInvalid, "allow or block must name a host: both are added to the rules, and an empty list changes nothing (\"block\":[\"*\"] refuses everything)");
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  ask_cell(services, exchange, "network", std::move(fields).value(), {}, json_of);
}

}  // namespace

void add_cell_monitor_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, std::function<void(Services&, ExchangePtr)> handler) {
    routes.push_back({method, path, scope, [&services, handler = std::move(handler)](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("GET", "/api/v1/cells/:id/usage", Scope::kRead, [](Services& s, ExchangePtr x) { ask_cell(s, x, "usage", {}, {}, json_of); });
  add("GET", "/api/v1/cells/:id/events", Scope::kRead, events);
  add("GET", "/api/v1/cells/:id/network", Scope::kRead, [](Services& s, ExchangePtr x) { ask_cell(s, x, "network", {}, {}, json_of); });
  add("PATCH", "/api/v1/cells/:id/network", Scope::kRun, set_network);
  add("POST", "/api/v1/cells/:id/seal", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "seal", {}, {}, json_of); });
}

}  // namespace hotcell::server
