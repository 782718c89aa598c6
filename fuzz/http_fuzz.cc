// Whatever the bytes, and however they are cut: the session neither crashes nor answers more often than it was asked;
// what it sends is a row of whole answers; and the same bytes in one piece get the same answers as byte by byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "server/http/session.h"

namespace {

using namespace hotcell::server;

struct Wire {
  std::string out;
  char* into = nullptr;
  std::size_t room = 0;
  std::shared_ptr<StreamUser> reader;
  bool closed = false;
};

class MemoryStream final : public Stream {
 public:
  explicit MemoryStream(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  void open(std::shared_ptr<StreamUser> user) override { user->on_open(true); }
  void read(char* into, std::size_t size, std::shared_ptr<StreamUser> user) override {
    wire_->into = into;
    wire_->room = size;
    wire_->reader = std::move(user);
  }
  Write write(std::string_view bytes, std::size_t& written, const std::shared_ptr<StreamUser>&) override {
    wire_->out += bytes;
    written = bytes.size();
    return Write::kDone;
  }
  void shutdown_write(const std::shared_ptr<StreamUser>&) override {}
  void close() override { wire_->closed = true; }

 private:
  std::shared_ptr<Wire> wire_;
};

class AnyGate final : public Gate {
 public:
  std::optional<Refusal> admit(const Peer&, HttpRequest&, Scope, std::shared_ptr<void>&) override {
    return std::nullopt;
  }
  std::optional<Refusal> check_names(const Peer&, const HttpRequest&, const std::string&) override {
    return std::nullopt;
  }
  bool is_allowed_origin(std::string_view) const override { return false; }
};

void require(bool truth) {
  if (!truth) std::abort();
}

struct Outcome {
  int asked = 0, answers = 0;
  std::string statuses;
};

void check_request(const HttpRequest& request) {
  require(request.path.starts_with('/'));
  require(request.path.find('\0') == std::string::npos);
  require(("/" + request.path + "/").find("/../") == std::string::npos);
  require(request.body.size() <= 4096);
  for (const auto& [name, value] : request.headers)
    require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
}

// Reads the row of answers: each has a head, and a body as long as it says.
void read_answers(std::string_view out, Outcome& outcome) {
  while (!out.empty()) {
    require(out.starts_with("HTTP/1.1 "));
    const std::size_t head = out.find("\r\n\r\n");
    require(head != std::string_view::npos);
    const std::string_view fields = out.substr(0, head);
    std::size_t length = 0;
    if (const std::size_t at = fields.find("\r\nContent-Length: "); at != std::string_view::npos)
      length = std::strtoul(std::string(fields.substr(at + 18)).c_str(), nullptr, 10);
    const std::string_view status = out.substr(9, 3);
    out.remove_prefix(head + 4);
    if (status == "100") continue;
    // An answer to HEAD announces a body and brings none; here that is always an error, and errors are JSON.
    if (status != "200" && !out.starts_with('{')) length = 0;
    require(out.size() >= length);
    out.remove_prefix(length);
    ++outcome.answers;
    outcome.statuses += status;
    outcome.statuses += ' ';
  }
}

Outcome serve(std::string_view bytes, std::size_t piece) {
  Outcome outcome;
  AnyGate gate;
  Router router;
  // Not GET, which would answer HEAD as well.
  // PUT is answered later, while the next bytes have come already.
  ExchangePtr held;
  auto answer = [](ExchangePtr x) {
    HttpResponse response;
    response.body = x->request().body;
    x->respond(std::move(response));
  };
  for (const char* method : {"POST", "PUT", "DELETE"})
    router.add(method, "/*", Scope::kNone, [&, method](ExchangePtr x) {
      ++outcome.asked;
      check_request(x->request());
      if (std::string_view(method) == "PUT") held = std::move(x);
      else answer(std::move(x));
    });
  ServerLimits limits;
  limits.parse.header_bytes = 1024;
  limits.parse.header_count = 20;
  limits.parse.body_bytes = 4096;
  auto core = std::make_shared<ServerCore>(limits, router, gate);
  auto wire = std::make_shared<Wire>();
  auto session = std::make_shared<Session>(core, std::make_unique<MemoryStream>(wire), Peer());
  session->open();
  while (!bytes.empty() && !wire->closed && wire->reader) {
    const std::size_t n = std::min({piece, wire->room, bytes.size()});
    std::copy_n(bytes.data(), n, wire->into);
    bytes.remove_prefix(n);
    auto reader = std::exchange(wire->reader, nullptr);
    auto due = std::exchange(held, nullptr);
    reader->on_read(n, false);
    if (due) answer(std::move(due));
    // Nothing is read any more before that: as much as may wait is there.
    if (!wire->reader && held) answer(std::exchange(held, nullptr));
  }
  while (held) answer(std::exchange(held, nullptr));
  if (auto reader = std::exchange(wire->reader, nullptr)) reader->on_read(0, false);
  session->close();
  wire->reader = nullptr;
  session.reset();
  require(core->body_bytes_held == 0);
  read_answers(wire->out, outcome);
  require(outcome.asked <= outcome.answers);
  require(static_cast<std::uint64_t>(outcome.answers) <= core->stats.requests);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 64 << 10) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = serve(bytes, bytes.size() + 1);
  const Outcome pieces = serve(bytes, 1);
  // Fewer than five bytes of a chunk are not judged before more come; a peer that goes instead gets no answer.
  const bool cut_short = whole.statuses == pieces.statuses + "400 ";
  require((whole.statuses == pieces.statuses || cut_short) && whole.asked == pieces.asked);
  return 0;
}
