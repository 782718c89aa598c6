// A terminal of a lasting cell over WebSocket (protocol `hotcell-terminal`). Binary messages are what is typed and what is shown,
// byte for byte; text messages are orders: {"resize": [ROWS, COLUMNS]}. The shell outlives the connection.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "server/http/websocket.h"
#include "server/rest/cells.h"
#include "server/rest/query.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kMostMessage = 64 << 10;      // from the browser
constexpr std::size_t kMostTyped = 256 << 10;       // that the shell has not read
constexpr std::size_t kMostBehind = 256 << 10;      // that the browser has not read, before the shell's side waits
constexpr std::size_t kMostTerminals = 128;
constexpr std::chrono::seconds kBeat(25);           // below the half minute after which proxies give up
constexpr int kMissedBeats = 2;

class Terminal : public std::enable_shared_from_this<Terminal> {
 public:
  Terminal(CellDoor& door, ExchangePtr exchange, std::string cell, std::string shell, sys::Fd line)
      : door_(door), exchange_(std::move(exchange)), cell_(std::move(cell)), shell_(std::move(shell)), line_(std::move(line)), reader_(kMostMessage) {
    ++door_.terminals;
  }
  ~Terminal() { --door_.terminals; }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void begin(HttpResponse head) {
    auto self = shared_from_this();
    std::weak_ptr<Terminal> weak = self;
    // The exchange owns the terminal until one of the two ends.
    exchange_->on_closed([self] { self->over(); });
    if (!exchange_->upgrade(std::move(head), [weak](std::string_view bytes) {
          if (auto t = weak.lock()) t->heard(bytes);
        })) {
      exchange_->respond(error_response(426, "This connection cannot be upgraded.", "upgrade"));
      return over();
    }
    if (!exchange_) return;
    watch();
    beat_ = door_.link().loop().every(kBeat, [weak] {
      if (auto t = weak.lock()) t->beat();
    });
  }

 private:
  void watch() {
    if (readable_ || !line_.valid()) return;
    readable_ = door_.link().loop().when_readable(line_.get(), [weak = weak_from_this()] {
      if (auto t = weak.lock()) t->shown();
    });
  }
  void unwatch() {
    auto old = std::make_shared<Loop::Handle>(std::move(readable_));
    readable_ = {};
    door_.link().loop().post([old] { old->reset(); });
  }

  // From the shell.
  void shown() {
    char bytes[16 << 10];
    for (int rounds = 0; rounds < 8 && exchange_ && line_.valid(); ++rounds) {
      ssize_t n = ::read(line_.get(), bytes, sizeof bytes);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) return close(kWsNormal, "the shell has ended, or the reader was too slow");
      if (!send(websocket_frame(WebSocketKind::kBinary, {bytes, static_cast<std::size_t>(n)}))) return;
      if (exchange_->waiting() <= kMostBehind) continue;
      unwatch();
      exchange_->on_drained([weak = weak_from_this()] {
        auto t = weak.lock();
        if (!t || !t->exchange_) return;
        t->exchange_->on_drained(nullptr);
        t->watch();
      });
      return;
    }
  }

  // From the browser.
  void heard(std::string_view bytes) {
    missed_ = 0;
    const bool fine = reader_.feed(bytes, [this](WebSocketMessage m) {
      switch (m.kind) {
        case WebSocketKind::kPing: send(websocket_frame(WebSocketKind::kPong, m.bytes)); break;
        case WebSocketKind::kPong: break;
        case WebSocketKind::kClose: close(m.code == kWsNoCode ? kWsNormal : m.code, ""); break;
        case WebSocketKind::kBinary: type(m.bytes); break;
        case WebSocketKind::kText: obey(m.bytes); break;
      }
      return exchange_ != nullptr;
    });
    if (!fine) close(reader_.failure(), "the protocol was not followed");
  }

  void type(std::string_view bytes) {
    typed_ += bytes;
    if (typed_.size() > kMostTyped) return close(kWsPolicy, "the shell does not read what is typed");
    push();
  }
  void push() {
    while (!typed_.empty() && line_.valid()) {
      ssize_t n = ::send(line_.get(), typed_.data(), typed_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        writable_ = door_.link().loop().when_writable(line_.get(), [weak = weak_from_this()] {
          if (auto t = weak.lock()) t->push();
        });
        return;
      }
      if (n <= 0) return close(kWsNormal, "the shell has ended");
      typed_.erase(0, static_cast<std::size_t>(n));
    }
  }

  void obey(const std::string& text) {
    auto order = parse_json(text, JsonBounds{4, 16});
    const JsonValue::Array* size = order.ok() && order.value().find("resize") != nullptr ? order.value().find("resize")->array() : nullptr;
    if (size == nullptr || size->size() != 2) return close(kWsPolicy, "not an order: {\"resize\": [ROWS, COLUMNS]}");
    auto rows = (*size)[0].integer(), columns = (*size)[1].integer();
    if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > 1000 || *columns > 1000) return close(kWsPolicy, "rows and columns are from 1 to 1000");
    door_.ask(cell_, "shell.resize", {{"session", shell_}, {"rows", cat(*rows)}, {"columns", cat(*columns)}}, {}, [](Result<cells::Told>) {});
  }

  void beat() {
    if (++missed_ > kMissedBeats) return over();   // nobody is there
    send(websocket_frame(WebSocketKind::kPing, "hotcell"));
  }

  bool send(std::string frame) {
    if (!exchange_) return false;
    if (exchange_->write(frame)) return true;
    over();
    return false;
  }
  void close(std::uint16_t code, std::string_view reason) {
    if (!exchange_) return;
    if (exchange_->write(websocket_close(code, reason))) exchange_->finish();
    over();
  }
  // Later, since this may be inside a callback that one of them owns. Our end of the line closes: the shell goes on.
  void over() {
    struct Rest {
      Loop::Handle readable, writable, beat;
      ExchangePtr exchange;
      sys::Fd line;
    };
    if (!exchange_) return;
    auto rest = std::make_shared<Rest>(Rest{std::move(readable_), std::move(writable_), std::move(beat_), std::exchange(exchange_, nullptr), std::move(line_)});
    readable_ = writable_ = beat_ = {};
    line_ = {};
    door_.link().loop().post([rest, self = shared_from_this()]() mutable {
      rest->exchange->on_drained(nullptr);
      rest->readable.reset();
      rest->writable.reset();
      rest->beat.reset();
      rest->line.reset();
      rest->exchange.reset();
    });
  }

  CellDoor& door_;
  ExchangePtr exchange_;             // empty: over
  std::string cell_, shell_, typed_;
  sys::Fd line_;
  WebSocketReader reader_;
  Loop::Handle readable_, writable_, beat_;
  int missed_ = 0;
};

void attach(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto handshake = websocket_handshake(request, "hotcell-terminal");
  if (handshake.refusal) return exchange->respond(std::move(*handshake.refusal));
  auto rows = query_number(request, "rows", 24, 1, 1000);
  auto columns = query_number(request, "columns", 80, 1, 1000);
  if (!rows.ok() || !columns.ok()) return exchange->respond(cell_error(rows.ok() ? columns.error() : rows.error()));
  with_cell(services, exchange, [exchange, head = handshake.head, rows = rows.value(), columns = columns.value()](CellDoor& door, CellView cell) {
    if (door.terminals >= kMostTerminals) return exchange->respond(cell_error(make_error(ErrorCode::kLimit, "too many terminals are open; close one")));
    const std::string shell = exchange->request().params.at(1);
    // A shell that is not there is opened, as `hotcell shell` does.
    cells::Fields open = {{"session", shell}, {"kind", "terminal"}, {"reuse", "1"}, {"rows", cat(rows)}, {"columns", cat(columns)}};
    const std::uint64_t opening = door.ask(cell.id, "shell.open", std::move(open), {}, [&door, exchange, head, shell, rows, columns, id = cell.id](Result<cells::Told> opened) {
      exchange->on_closed(nullptr);
      if (!opened.ok()) return exchange->respond(cell_error(opened.error()));
      cells::Ask ask;
      ask.verb = "shell.attach";
      ask.cell = id;
      ask.fields["session"] = shell;
      const std::uint64_t attaching = door.link().ask(std::move(ask), [&door, exchange, head, shell, rows, columns, id](Result<KeeperLink::Answer> attached) {
        exchange->on_closed(nullptr);
        if (!attached.ok()) return exchange->respond(cell_error(attached.error()));
        if (attached.value().fds.empty()) return exchange->respond(cell_error(make_error(ErrorCode::kInternal, "the keeper gave no connection to the shell")));
        door.ask(id, "shell.resize", {{"session", shell}, {"rows", cat(rows)}, {"columns", cat(columns)}}, {}, [](Result<cells::Told>) {});
        std::make_shared<Terminal>(door, exchange, id, shell, std::move(attached.value().fds[0]))->begin(head);
      });
      withdraw_with(exchange, door, attaching);
    });
    withdraw_with(exchange, door, opening);
  });
}

}  // namespace

void add_cell_terminal_routes(RouteList& routes, Services& services) {
  routes.push_back({"GET", "/api/v1/cells/:id/shells/:shell/attach", Scope::kRun, [&services](ExchangePtr x) { attach(services, std::move(x)); }});
}

}  // namespace hotcell::server
