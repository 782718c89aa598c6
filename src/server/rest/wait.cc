#include "server/rest/wait.h"

#include "server/rest/errors.h"
#include "server/rest/result_json.h"

namespace hotcell::server {

namespace {

// Owned by what the exchange calls when its peer goes away, and owning the exchange until it is answered: a knot that
// the end of the execution or of the connection undoes. Executions itself holds it weakly, so that it can go first.
struct Waiting {
  ExchangePtr exchange;
  Subscription subscription;
};

}  // namespace

void answer_at_end(Services& services, ExchangePtr exchange, const std::string& id, WhenClosed closed, EndAnswer answer) {
  auto waiting = std::make_shared<Waiting>();
  waiting->exchange = exchange;
  std::weak_ptr<Waiting> weak = waiting;
  exchange->on_closed([&services, waiting, id, closed] {
    if (!waiting->exchange) return;
    // Later: this may be the exchange's own doing.
    services.post([gone = std::exchange(waiting->exchange, nullptr)] {});
    if (closed == WhenClosed::kKill) services.executions.kill(id).ignore("it may have ended in this moment");
  });
  auto ended = [&services, weak, answer = std::move(answer)](const ExecutionRecord& record) {
    auto still = weak.lock();
    if (!still) return;
    services.post([still] {});   // its subscription must not end inside its own callback
    if (auto to = std::exchange(still->exchange, nullptr)) to->respond(answer(record, result_text(services, record)));
  };
  auto subscription = services.executions.await(id, std::move(ended));
  if (!subscription.ok()) {
    waiting->exchange.reset();
    return exchange->respond(error_answer(subscription.error()));
  }
  if (waiting->exchange) waiting->subscription = std::move(subscription).value();
}

}  // namespace hotcell::server
