// What the routes of lasting cells share.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "server/cells/cell_door.h"
#include "server/rest/routes.h"

namespace hotcell::server {

// 400, 403, 404, 409 (exists, or not in a state for it), 413 (does not fit), 422, 429, 503 (the keeper went).
HttpResponse cell_error(const Error& error);
HttpResponse no_content();

// The cell that the first part of the path names, when the caller may have it; everything else is answered.
void with_cell(Services& services, const ExchangePtr& exchange, std::function<void(CellDoor&, CellView)> then);
// One question about it; what comes back is the answer: `body` of 200, or 204 when that is null. Withdrawn when the peer goes.
using CellAnswer = std::function<HttpResponse(cells::Told)>;
void ask_cell(Services& services, const ExchangePtr& exchange, std::string verb, cells::Fields fields, std::vector<std::string> words = {}, CellAnswer answer = nullptr);

// For what was asked otherwise: withdrawn when the peer goes before it is answered.
void withdraw_with(const ExchangePtr& exchange, CellDoor& door, std::uint64_t asked);

void note_cell(Services& services, const HttpRequest& request, std::string action, std::string message, std::string cell);

// A run that lives as long as its exchange: dropped, and with it killed, when the peer goes.
class RunHolder : public std::enable_shared_from_this<RunHolder> {
 public:
  RunHolder(KeeperLink& link, ExchangePtr exchange) : link_(link), exchange_(std::move(exchange)) {}
  std::shared_ptr<CellRun> hold(std::shared_ptr<CellRun> run);
  void over();                                   // answered
  const ExchangePtr& exchange() const { return exchange_; }
  // A piece of a stream; false: nobody reads any more, and all is dropped. Reading stops while too much of it waits.
  bool write(std::string_view piece);
  bool gone() const { return exchange_ == nullptr; }

 private:
  KeeperLink& link_;
  ExchangePtr exchange_;
  std::shared_ptr<CellRun> run_;
};

void add_cell_routes(RouteList& routes, Services& services);
void add_cell_clean_routes(RouteList& routes, Services& services);
void add_cell_exec_routes(RouteList& routes, Services& services);
void add_cell_file_routes(RouteList& routes, Services& services);
void add_cell_change_routes(RouteList& routes, Services& services);
void add_cell_context_routes(RouteList& routes, Services& services);
void add_cell_question_routes(RouteList& routes, Services& services);
void add_cell_monitor_routes(RouteList& routes, Services& services);
void add_cell_shell_routes(RouteList& routes, Services& services);
void add_cell_terminal_routes(RouteList& routes, Services& services);

}  // namespace hotcell::server
