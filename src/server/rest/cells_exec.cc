// Programs in lasting cells: waited for, streamed, or left running.
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "core/policy/env.h"
#include "manager/report_json.h"
#include "server/json/base64_decode.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/execute_spec.h"
#include "server/rest/json_reader.h"
#include "server/rest/query.h"
#include "server/rest/update_stream.h"

namespace hotcell::server {
namespace {

constexpr std::array<std::string_view, 10> kFields = {"command", "args", "shell", "env", "work_dir", "stdin", "stdin_base64", "timeout_secs", "on_output", "inspect"};
constexpr std::array<std::string_view, 2> kOnOutput = {"kill", "truncate"};

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<CellRunSpec> read_spec(const HttpRequest& request) {
  TRY_SET(auto body, parse_body(request.body));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  CellRunSpec spec;
  std::string command, shell, on_output, work_dir;
  std::vector<std::string> args;
  TRY(reader.read_word("command", command));
  TRY(reader.read("args", args));
  TRY(reader.read_word("shell", shell));
  if (command.empty() == shell.empty()) return bad("give either command, with args, or shell, a line for /bin/sh");
  if (!shell.empty() && !args.empty()) return bad("args belong to command, not to shell");
  for (const auto& a : args)
    if (a.find('\0') != a.npos) return bad("args has a NUL byte");
  if (!shell.empty()) spec.argv = {"/bin/sh", "-c", std::move(shell)};
  else spec.argv.push_back(std::move(command)), spec.argv.insert(spec.argv.end(), args.begin(), args.end());
  TRY(reader.read("env", spec.env));
  for (const auto& [name, value] : spec.env)
    if (!is_env_name(name) || value.find('\0') != value.npos) return bad(cat("env: ", printable(name), " is not a variable"));
  TRY(reader.read_word("work_dir", work_dir));
  if (!work_dir.empty()) {
    TRY_SET(spec.workdir, cell_path(work_dir));
  }
  TRY(reader.read("stdin", spec.stdin_bytes));
  if (reader.find("stdin_base64") != nullptr) {
    std::string encoded;
    if (!spec.stdin_bytes.empty()) return bad("give either stdin or stdin_base64, not both");
    TRY(reader.read("stdin_base64", encoded));
    auto bytes = base64_decode(encoded);
    if (!bytes) return bad("stdin_base64 is not valid base64");
    spec.stdin_bytes = std::move(*bytes);
  }
  std::optional<double> seconds;
  TRY(reader.read("timeout_secs", seconds));
  if (seconds) {
    if (*seconds > 1e9) return bad("timeout_secs is too large");
    spec.timeout = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*seconds));
    if (*seconds == 0) spec.timeout = Nanoseconds(-1);   // without end, as far as somebody does not wait for it
  }
  TRY(reader.read_choice("on_output", kOnOutput, on_output));
  spec.truncate = on_output != "kill";
  TRY_SET(spec.inspect.mode, inspect_from_json(reader));
  spec.client = request.caller.name;
  return spec;
}

// Whole characters as far as possible; what is none goes as base64.
class StreamTexts {
 public:
  std::string line(StreamFormat format, OutStream stream, std::string_view bytes) {
    std::string& rest = stream == OutStream::kStdout ? out_ : err_;
    rest += bytes;
    std::size_t whole = 0;
    while (whole < rest.size()) {
      std::size_t n = utf8_length(std::string_view(rest).substr(whole));
      if (n == 0) break;
      whole += n;
    }
    // Three bytes may be the beginning of a character; more are none.
    const bool text = whole > 0 || rest.size() < 4;
    if (text && whole == 0) return {};
    std::string piece = rest.substr(0, text ? whole : rest.size());
    rest.erase(0, piece.size());
    return event(format, stream, piece, text);
  }
  std::string last(StreamFormat format) {
    std::string all;
    for (OutStream stream : {OutStream::kStdout, OutStream::kStderr}) {
      std::string piece = std::exchange(stream == OutStream::kStdout ? out_ : err_, {});
      if (!piece.empty()) all += event(format, stream, piece, is_valid_utf8(piece));
    }
    return all;
  }
  std::string event(StreamFormat format, std::string_view type, std::string_view data) {
    ++seq_;
    if (format == StreamFormat::kEvents) return sse_event(cat(seq_), type, data);
    return cat("{\"seq\":", seq_, ",\"type\":\"", type, "\",\"data\":", trim(data), "}\n");
  }

 private:
  std::string event(StreamFormat format, OutStream stream, const std::string& piece, bool text) {
    JsonWriter w;
    w.begin_object();
    if (text) w.field("text", std::string_view(piece));
    else w.field("base64", std::string_view(base64(piece)));
    w.end_object();
    return event(format, stream == OutStream::kStdout ? "stdout" : "stderr", w.take());
  }
  std::string out_, err_;
  std::uint64_t seq_ = 0;
};

std::string result_of(Result<Report>& report, const std::optional<OutputInspection>& found) {
  return report_json(report.ok() ? report.value() : failed_report(report.error()), JsonStyle::kOneLine, found);
}

void stream(CellDoor& door, const ExchangePtr& exchange, const CellView& cell, CellRunSpec spec, StreamFormat format) {
  auto holder = std::make_shared<RunHolder>(door.link(), exchange);
  auto texts = std::make_shared<StreamTexts>();
  std::weak_ptr<RunHolder> weak = holder;
  spec.collect = true;
  // The head goes when it is known that there is something to stream: an error before that is an answer of its own.
  auto begun = std::make_shared<bool>(false);
  auto begin = [begun, format, texts](RunHolder& h) {
    if (std::exchange(*begun, true) || h.gone()) return;
    h.exchange()->start(stream_head(format));
  };
  spec.waiting = [weak, texts, format, begin](const std::string& question, const std::string& reason) {
    auto h = weak.lock();
    if (!h || h->gone()) return;
    begin(*h);
    if (!h->gone()) h->write(texts->event(format, "waiting", cat("{\"question\":", json_string(question), ",\"reason\":", json_string(reason), "}")));
  };
  auto run = door.exec(cell, std::move(spec),
                       [weak, texts, format, begin](OutStream which, std::string_view bytes) {
                         auto h = weak.lock();
                         if (!h || h->gone()) return;
                         begin(*h);
                         std::string line = texts->line(format, which, bytes);
                         if (!line.empty()) h->write(line);
                       },
                       [weak, texts, format, begin, begun](Result<Report> report, const std::optional<OutputInspection>& found) {
                         auto h = weak.lock();
                         if (!h || h->gone()) return;
                         if (!report.ok() && !*begun) {
                           h->exchange()->respond(cell_error(report.error()));
                           return h->over();
                         }
                         begin(*h);
                         if (h->gone() || !h->write(texts->last(format) + texts->event(format, "done", result_of(report, found)))) return;
                         h->exchange()->finish();
                         h->over();
                       });
  holder->hold(std::move(run));
}

void exec(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto wait = query_bool(request, "wait", true);
  if (!wait.ok()) return exchange->respond(cell_error(wait.error()));
  auto spec = read_spec(request);
  if (!spec.ok()) return exchange->respond(cell_error(spec.error()));
  with_cell(services, exchange, [exchange, wait = wait.value(), spec = std::move(spec).value()](CellDoor& door, CellView cell) {
    if (!wait) {
      if (cell.status != "running" && cell.status != "paused")
        return exchange->respond(cell_error(cells::not_now(cat(cell.name, " is ", cell.status, "; start it first"))));
      auto id = door.keep(cell, spec);
      if (!id.ok()) return exchange->respond(cell_error(id.error()));
      auto answer = json_answer(cat("{\"id\":", json_string(id.value()), ",\"status\":\"running\"}"), 202);
      answer.headers.emplace_back("Location", cat("/api/v1/cells/", cell.id, "/executions/", id.value()));
      return exchange->respond(std::move(answer));
    }
    if (auto format = stream_format(exchange->request())) return stream(door, exchange, cell, spec, *format);
    auto holder = std::make_shared<RunHolder>(door.link(), exchange);
    std::weak_ptr<RunHolder> weak = holder;
    holder->hold(door.exec(cell, spec, {}, [weak](Result<Report> report, const std::optional<OutputInspection>& found) {
      auto h = weak.lock();
      if (!h || h->gone()) return;
      h->exchange()->respond(report.ok() ? json_answer(result_of(report, found)) : cell_error(report.error()));
      h->over();
    }));
  });
}

void write_run(std::string& out, const KeptRun& run) {
  out += cat("{\"id\":", json_string(run.id), ",\"command\":", json_string(printable(run.command)), ",\"status\":");
  if (run.result.empty()) {
    out += "\"running\",\"result\":null}";
    return;
  }
  auto result = parse_json(run.result, JsonBounds{64, 1'000'000});
  out += cat(json_string(result.ok() ? result.value().text("status") : "failed"), ",\"result\":", trim(run.result), "}");
}

void list_runs(Services& services, ExchangePtr exchange) {
  with_cell(services, exchange, [exchange](CellDoor& door, CellView cell) {
    std::string body = "{\"executions\":[";
    for (const KeptRun* run : door.kept(cell.id)) {
      if (!body.ends_with('[')) body += ',';
      write_run(body, *run);
    }
    exchange->respond(json_answer(body + "]}"));
  });
}

void show_run(Services& services, ExchangePtr exchange) {
  with_cell(services, exchange, [exchange](CellDoor& door, CellView cell) {
    const KeptRun* run = door.kept(cell.id, exchange->request().params.at(1));
    if (run == nullptr) return exchange->respond(cell_error(no_such_run()));
    std::string body;
    write_run(body, *run);
    exchange->respond(json_answer(std::move(body)));
  });
}

void kill_run(Services& services, ExchangePtr exchange) {
  with_cell(services, exchange, [exchange](CellDoor& door, CellView cell) {
    auto killed = door.kill(cell.id, exchange->request().params.at(1));
    exchange->respond(killed.ok() ? no_content() : cell_error(killed.error()));
  });
}

}  // namespace

void add_cell_exec_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, void (*handler)(Services&, ExchangePtr)) {
    routes.push_back({method, path, scope, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("POST", "/api/v1/cells/:id/exec", Scope::kRun, exec);
  add("GET", "/api/v1/cells/:id/executions", Scope::kOwn, list_runs);
  add("GET", "/api/v1/cells/:id/executions/:execution", Scope::kOwn, show_run);
  add("POST", "/api/v1/cells/:id/executions/:execution/kill", Scope::kRun, kill_run);
}

}  // namespace hotcell::server
