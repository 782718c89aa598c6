// Files of lasting cells. All of it is done by the cell's own file agent, inside: a path that leads out leads nowhere.
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/query.h"
#include "server/rest/update_stream.h"

namespace hotcell::server {
namespace {

constexpr Bytes kLargest{std::uint64_t{16} << 30};   // of one download or upload, which is never in memory as a whole
constexpr Bytes kListing{64u << 20};
constexpr std::array<std::string_view, 2> kFormats = {"bytes", "tar"};

Result<std::string> path_of(const HttpRequest& request) {
  auto said = request.param("path");
  if (!said || said->empty()) return make_error(ErrorCode::kInvalid, "path is required: ?path=/work/…");
  return cell_path(*said);
}

// One run of the agent whose output is not wanted.
void run_agent(const ExchangePtr& exchange, CellDoor& door, const std::string& cell, std::vector<std::string> words, std::string in,
               std::function<HttpResponse(Report)> answer = nullptr) {
  auto holder = std::make_shared<RunHolder>(door.link(), exchange);
  std::weak_ptr<RunHolder> weak = holder;
  holder->hold(door.files(cell, std::move(words), std::move(in), {}, kListing, [weak, answer](Result<Report> report) {
    auto h = weak.lock();
    if (!h || h->gone()) return;
    if (!report.ok()) h->exchange()->respond(cell_error(report.error()));
    else h->exchange()->respond(answer ? answer(std::move(report).value()) : no_content());
    h->over();
  }));
}

void download(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto path = path_of(request);
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  auto format = query_choice(request, "format", kFormats);
  if (!format.ok()) return exchange->respond(cell_error(format.error()));
  const bool tar = format.value() == "tar";
  with_cell(services, exchange, [exchange, tar, path = std::move(path).value()](CellDoor& door, CellView cell) {
    auto holder = std::make_shared<RunHolder>(door.link(), exchange);
    std::weak_ptr<RunHolder> weak = holder;
    auto begun = std::make_shared<bool>(false);
    auto begin = [begun, tar, path](RunHolder& h) {
      if (std::exchange(*begun, true)) return;
      HttpResponse head;
      head.content_type = tar ? "application/x-tar" : "application/octet-stream";
      // Bytes of a stranger on our own origin: never a page, never a script.
      head.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
      head.headers.emplace_back("Content-Disposition", "attachment");
      h.exchange()->start(std::move(head));
    };
    holder->hold(door.files(cell.id, {tar ? "pack" : "read", path}, {},
                            [weak, begin](OutStream, std::string_view bytes) {
                              auto h = weak.lock();
                              if (!h || h->gone()) return;
                              begin(*h);
                              h->write(bytes);
                            },
                            kLargest,
                            [weak, begin, begun](Result<Report> report) {
                              auto h = weak.lock();
                              if (!h || h->gone()) return;
                              if (report.ok()) {
                                begin(*h);
                                h->exchange()->finish();
                              } else if (!*begun) {
                                h->exchange()->respond(cell_error(report.error()));
                              }   // else: cut off in the middle of a chunk, so that the peer sees that it is not all
                              h->over();
                            }));
  });
}

void upload(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto path = path_of(request);
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  const bool tar = request.header("content-type").value_or("").starts_with("application/x-tar");
  std::string mode = query_text(request, "mode");
  if (mode.empty()) mode = "644";
  if (mode.size() > 4 || mode.find_first_not_of("01234567") != mode.npos)
    return exchange->respond(cell_error(make_error(ErrorCode::kInvalid, "mode must be octal, like 644")));
  with_cell(services, exchange, [exchange, tar, mode, path = std::move(path).value()](CellDoor& door, CellView cell) {
    std::vector<std::string> words = {tar ? "unpack" : "write", path};
    if (!tar) {
      words.push_back(mode);
      words.push_back(cat(kLargest.n));
      if (auto length = exchange->request().header("content-length"); length && !exchange->request().header("transfer-encoding")) words.emplace_back(*length);
    }
    auto holder = std::make_shared<RunHolder>(door.link(), exchange);
    std::weak_ptr<RunHolder> weak = holder;
    std::weak_ptr<CellRun> into = holder->hold(door.files(cell.id, std::move(words), std::nullopt, {}, kListing, [weak](Result<Report> report) {
      auto h = weak.lock();
      if (!h || h->gone()) return;
      h->exchange()->respond(report.ok() ? no_content() : cell_error(report.error()));
      h->over();
    }));
    if (auto run = into.lock())
      run->on_fed([weak] {
        if (auto h = weak.lock(); h && !h->gone()) h->exchange()->hold_body(false);
      });
    exchange->receive([weak, into](std::string_view piece, bool last) {
      auto h = weak.lock();
      auto run = into.lock();
      if (h && !h->gone() && run && !run->feed(piece, last)) h->exchange()->hold_body(true);
    });
  });
}

void remove(Services& services, ExchangePtr exchange) {
  auto path = path_of(exchange->request());
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  auto deep = query_bool(exchange->request(), "recursive", false);
  if (!deep.ok()) return exchange->respond(cell_error(deep.error()));
  with_cell(services, exchange, [exchange, deep = deep.value(), path = std::move(path).value()](CellDoor& door, CellView cell) {
    std::vector<std::string> words = {"remove", path};
    if (deep) words.push_back("deep");
    run_agent(exchange, door, cell.id, std::move(words), {});
  });
}

void list(Services& services, ExchangePtr exchange) {
  auto path = cell_path(exchange->request().param("path").value_or(""));
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  with_cell(services, exchange, [exchange, path = std::move(path).value()](CellDoor& door, CellView cell) {
    run_agent(exchange, door, cell.id, {"list", path}, {},
              [path](Report report) { return json_answer(cat("{\"path\":", json_string(path), ",\"entries\":", entries_json(read_entries(report.out)), "}")); });
  });
}

void describe(Services& services, ExchangePtr exchange) {
  auto path = path_of(exchange->request());
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  with_cell(services, exchange, [exchange, path = std::move(path).value()](CellDoor& door, CellView cell) {
    run_agent(exchange, door, cell.id, {"stat", path}, {}, [](Report report) {
      std::string one = entries_json(read_entries(report.out));
      return json_answer(one.size() > 2 ? one.substr(1, one.size() - 2) : "null");
    });
  });
}

void move(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"from", "to"};
  auto read = [&]() -> Result<std::pair<std::string, std::string>> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    std::string from, to;
    TRY(reader.read_word("from", from));
    TRY(reader.read_word("to", to));
    if (from.empty() || to.empty()) return make_error(ErrorCode::kInvalid, "from and to are required");
    TRY_SET(from, cell_path(from));
    TRY_SET(to, cell_path(to));
    return std::pair(from, to);
  };
  auto paths = read();
  if (!paths.ok()) return exchange->respond(cell_error(paths.error()));
  with_cell(services, exchange, [exchange, paths = std::move(paths).value()](CellDoor& door, CellView cell) {
    run_agent(exchange, door, cell.id, {"move", paths.first, paths.second}, {});
  });
}

void make_folder(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 1> kFields = {"path"};
  auto read = [&]() -> Result<std::string> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    std::string path;
    TRY(reader.read_word("path", path));
    if (path.empty()) return make_error(ErrorCode::kInvalid, "path is required");
    return cell_path(path);
  };
  auto path = read();
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  with_cell(services, exchange, [exchange, path = std::move(path).value()](CellDoor& door, CellView cell) {
    run_agent(exchange, door, cell.id, {"mkdir", path, "deep"}, {});
  });
}

// Changes as they happen, until the reader goes.
void watch(Services& services, ExchangePtr exchange) {
  auto path = path_of(exchange->request());
  if (!path.ok()) return exchange->respond(cell_error(path.error()));
  const StreamFormat format = stream_format(exchange->request()).value_or(StreamFormat::kEvents);
  with_cell(services, exchange, [exchange, format, path = std::move(path).value()](CellDoor& door, CellView cell) {
    auto holder = std::make_shared<RunHolder>(door.link(), exchange);
    std::weak_ptr<RunHolder> weak = holder;
    auto rest = std::make_shared<std::string>();
    auto begun = std::make_shared<bool>(false);
    holder->hold(door.files(cell.id, {"watch", path}, {},
                            [weak, rest, begun, format](OutStream, std::string_view bytes) {
                              auto h = weak.lock();
                              if (!h || h->gone()) return;
                              if (!std::exchange(*begun, true)) h->exchange()->start(stream_head(format));
                              *rest += bytes;
                              for (auto end = rest->find('\0'); end != rest->npos; end = rest->find('\0')) {
                                std::string_view line = std::string_view(*rest).substr(0, end);
                                auto space = line.find(' ');
                                JsonWriter w;
                                w.begin_object();
                                w.field("change", line.substr(0, space));
                                w.field("path", space == line.npos ? std::string_view() : line.substr(space + 1));
                                w.end_object();
                                std::string data = w.take();
                                if (!h->write(format == StreamFormat::kEvents ? sse_event({}, "change", data) : data + "\n")) return;
                                rest->erase(0, end + 1);
                              }
                            },
                            kLargest,
                            [weak, begun](Result<Report> report) {
                              auto h = weak.lock();
                              if (!h || h->gone()) return;
                              if (!report.ok() && !*begun) h->exchange()->respond(cell_error(report.error()));
                              else if (*begun) h->exchange()->finish();
                              else h->exchange()->respond(no_content());
                              h->over();
                            }));
  });
}

}  // namespace

void add_cell_file_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, void (*handler)(Services&, ExchangePtr), BodyKind body = BodyKind::kWhole) {
    routes.push_back({method, path, scope, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }, body});
  };
  add("GET", "/api/v1/cells/:id/files", Scope::kRead, download);
  add("PUT", "/api/v1/cells/:id/files", Scope::kRun, upload, BodyKind::kPieces);
  add("DELETE", "/api/v1/cells/:id/files", Scope::kRun, remove);
  add("GET", "/api/v1/cells/:id/files/list", Scope::kRead, list);
  add("GET", "/api/v1/cells/:id/files/stat", Scope::kRead, describe);
  add("GET", "/api/v1/cells/:id/files/watch", Scope::kRead, watch);
  add("POST", "/api/v1/cells/:id/files/move", Scope::kRun, move);
  add("POST", "/api/v1/cells/:id/files/folder", Scope::kRun, make_folder);
}

}  // namespace hotcell::server
