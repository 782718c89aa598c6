#include "server/http/request_parser.h"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "server/http/target.h"

namespace hotcell::server {
namespace http = boost::beast::http;
using boost::system::error_code;

// As Beast's string_body, without its room for the announced length: that is a number somebody wrote.
struct Body {
  using value_type = std::string;
  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(http::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>& length, error_code& ec) {
      if (length) body_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*length, 64 << 10)));
      ec = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& ec) {
      ec = {};
      std::size_t size = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers); it != boost::asio::buffer_sequence_end(buffers); ++it) {
        const boost::asio::const_buffer b(*it);
        body_.append(static_cast<const char*>(b.data()), b.size());
        size += b.size();
      }
      return size;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

struct RequestParser::Impl {
  std::optional<http::request_parser<Body>> parser;
  std::size_t scanned = 0;  // of the head: what was looked at and is still there
  bool head_done = false;
  bool body_begun = false;
};

namespace {

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool is_method(std::string_view text) {
  if (text.empty() || text.size() > 24) return false;
  for (char c : text)
    if (!(c >= 'A' && c <= 'Z') && c != '-') return false;
  return true;
}

// Where the head ends, in bytes; 0: not there yet. Beast reads piece by piece and would neither notice a folded line
// nor, before the very end, a bare LF; so the head is looked over as a whole first.
struct Scan {
  std::size_t end = 0;
  const char* wrong = nullptr;
};
Scan scan_head(std::string_view bytes, std::size_t from) {
  for (std::size_t i = from; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c >= 0x20 && c != 0x7f) [[likely]]
      continue;
    if (c == '\n') {
      if (i == 0 || bytes[i - 1] != '\r') return {0, "The request has a line that does not end in CR LF."};
      if (i >= 3 && bytes[i - 2] == '\n') return {i + 1, nullptr};
      if (i + 1 < bytes.size() && (bytes[i + 1] == ' ' || bytes[i + 1] == '\t'))
        return {0, "The request has a folded header line."};
    } else if (c == '\r') {
      if (i + 1 < bytes.size() && bytes[i + 1] != '\n') return {0, "The request has a CR without LF."};
    } else if (c != '\t') {
      return {0, "The request has a control character in its head."};
    }
  }
  return {};
}

constexpr const char* kBadChunk = "The request has a malformed chunk.";

bool has_bare_lf(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1))
    if (at == 0 || bytes[at - 1] != '\r') return true;
  return false;
}

// The line that says how long a chunk is; from the second chunk on it comes behind the CR LF of the one before.
std::string_view head_of_chunk(std::string_view bytes) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  return bytes.substr(0, bytes.find("\r\n"));
}

const char* sentence(http::error error) {
  switch (error) {
    case http::error::bad_method:
      return "The request has a method that is not a word.";
    case http::error::bad_target:
      return "The request has no valid target.";
    case http::error::bad_field:
      return "The request has a header with an invalid name.";
    case http::error::bad_value:
      return "The request has a header with an invalid value.";
    case http::error::bad_content_length:
      return "The Content-Length is not a number, or stands beside Transfer-Encoding.";
    case http::error::multiple_content_length:
      return "The request has several Content-Length headers.";
    case http::error::bad_transfer_encoding:
      return "The Transfer-Encoding is not understood, or stands beside Content-Length.";
    case http::error::bad_chunk:
    case http::error::bad_chunk_extension:
      return kBadChunk;
    default:
      return "The request is not valid HTTP.";
  }
}

}  // namespace

RequestParser::RequestParser(ParseLimits limits) : limits_(limits), impl_(std::make_unique<Impl>()) { reset(); }
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  impl_->parser.emplace();
  impl_->parser->eager(false);
  impl_->parser->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  // How much it may be is known when the route is.
  impl_->parser->body_limit(std::max(limits_.body_bytes, limits_.piecewise_bytes));
  impl_->scanned = 0;
  impl_->head_done = false;
  impl_->body_begun = false;
  expects_continue_ = has_body_ = in_pieces_ = false;
  taken_ = 0;
  authority_.clear();
}

RequestParser::State RequestParser::fail(int status, std::string message, std::string reason) {
  failure_.status = status;
  failure_.message = std::move(message);
  failure_.reason = std::move(reason);
  return State::kFailed;
}

RequestParser::State RequestParser::fail_by(int beast_error, std::string_view bytes) {
  const auto error = static_cast<http::error>(beast_error);
  if (error == http::error::body_limit || error == http::error::buffer_overflow)
    return fail(413, cat("The body is larger than ", most(), " bytes."), "too_large");
  if (error == http::error::bad_version) {
    // Beast says so of everything behind the target, including a blank too many.
    const bool other = bytes.substr(0, bytes.find('\r')).find(" HTTP/") != std::string_view::npos;
    return other ? fail(505, "This server speaks HTTP/1.1 and HTTP/1.0.", "version")
                 : fail(400, "The request line is not method, target and version.");
  }
  return fail(400, sentence(error));
}

RequestParser::State RequestParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  auto& parser = *impl_->parser;
  error_code ec;
  if (!impl_->head_done) {
    // Empty lines before a request: some clients send one after a body.
    while (impl_->scanned == 0 && bytes.substr(consumed).starts_with("\r\n")) consumed += 2;
    bytes.remove_prefix(consumed);
    const Scan scan = scan_head(bytes.substr(0, limits_.header_bytes), impl_->scanned);
    if (scan.wrong != nullptr) return fail(400, scan.wrong);
    if (scan.end == 0) {
      if (bytes.size() < limits_.header_bytes) {
        // The last three bytes may be the beginning of the end, or of something wrong.
        impl_->scanned = bytes.size() < 3 ? 0 : bytes.size() - 3;
        return State::kMore;
      }
      if (bytes.find('\n') >= limits_.header_bytes) return fail(414, "The request line is too long.", "too_long");
      return fail(431, cat("The headers are larger than ", limits_.header_bytes, " bytes."), "too_long");
    }
    const std::string_view raw = bytes.substr(0, scan.end);
    const std::size_t used = parser.put({raw.data(), raw.size()}, ec);
    if (ec) return fail_by(ec.value(), raw);
    if (used != raw.size() || !parser.is_header_done()) return fail(400, "The request is not valid HTTP.");
    consumed += used;
    impl_->head_done = true;
    return check_head();
  }
  if (parser.is_done()) return State::kDone;
  if (announced_too_much()) return State::kFailed;
  // A chunk says how long it will be before it comes.
  if (!std::exchange(impl_->body_begun, true)) parser.body_limit(most());
  parser.eager(true);
  // The end alone, "0 CR LF CR LF", has five bytes. Beast takes for granted that it never looks at the end with fewer,
  // which is not so when they come one by one.
  if (parser.chunked() && bytes.size() < 5) return State::kMore;
  while (!bytes.empty() && !parser.is_done()) {
    // A chunk's head and the trailer may be as long as headers may, however they come: Beast sees no more at a time.
    const std::string_view piece = parser.chunked() ? bytes.substr(0, limits_.header_bytes) : bytes;
    std::size_t used = 0;
    try {
      used = parser.put({piece.data(), piece.size()}, ec);
    } catch (const std::bad_alloc&) {
      return fail(503, "There is no memory for this request.", "busy");
    }
    consumed += used;
    bytes.remove_prefix(used);
    if (ec == http::error::need_more) {
      if (used > 0 && piece.size() < bytes.size() + used) continue;
      // What is left is no content: a chunk's head or the trailer, whose lines end in CR LF.
      if (bytes.size() >= limits_.header_bytes || (parser.chunked() && has_bare_lf(bytes))) return fail(400, kBadChunk);
      return State::kMore;
    }
    // Had it come byte by byte, its bare LF would have been met before what it announces.
    if (ec && parser.chunked() && has_bare_lf(head_of_chunk(bytes))) return fail(400, kBadChunk);
    if (ec) return fail_by(ec.value(), {});
    if (taken_ + parser.get().body().size() > most()) return fail_by(static_cast<int>(http::error::body_limit), {});
    if (used == 0) break;
  }
  return parser.is_done() ? State::kDone : State::kMore;
}

RequestParser::State RequestParser::check_head() {
  const auto& message = impl_->parser->get();
  http11_ = message.version() == 11;
  keep_alive_ = impl_->parser->keep_alive();
  has_body_ = !impl_->parser->is_done();
  head_ = {};
  head_.method = view(message.method_string());
  head_.target = view(message.target());
  if (!is_method(head_.method)) return fail(400, "The method must be a word in upper case.");

  std::size_t hosts = 0, lengths = 0, codings = 0;
  std::string coding, expect;
  for (const auto& field : message) {
    if (head_.headers.size() == limits_.header_count)
      return fail(431, cat("The request has more than ", limits_.header_count, " headers."), "too_long");
    auto& [name, value] =
        head_.headers.emplace_back(ascii_lower(view(field.name_string())), std::string(trim(view(field.value()))));
    if (name == "host") {
      ++hosts;
    } else if (name == "content-length") {
      ++lengths;
      if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos)
        return fail(400, "The Content-Length is not a number.");
    } else if (name == "transfer-encoding") {
      ++codings;
      coding = ascii_lower(value);
    } else if (name == "expect") {
      expect = ascii_lower(value);
    }
  }
  if (hosts > 1) return fail(400, "The request has several Host headers.");
  if (hosts == 0 && http11_) return fail(400, "The request has no Host header.");
  if (lengths > 1) return fail(400, "The request has several Content-Length headers.");
  if (codings > 0 && lengths > 0) return fail(400, "The request has both Content-Length and Transfer-Encoding.");
  if (codings > 1 || (codings == 1 && (coding != "chunked" || !http11_)))
    return fail(400, "The only Transfer-Encoding understood is chunked, once, in HTTP/1.1.");
  if (!expect.empty() && http11_) {
    if (expect != "100-continue") return fail(417, "The only expectation understood is 100-continue.", "expectation");
    expects_continue_ = has_body_;
  }
  auto target = parse_target(head_.target);
  if (!target.ok()) return fail(400, target.error().message);
  if (target.value().path == "*" && head_.method != "OPTIONS") return fail(400, "The target '*' is for OPTIONS only.");
  authority_ = std::move(target.value().authority);
  head_.path = std::move(target.value().path);
  head_.query = std::move(target.value().query);
  return State::kHead;
}

bool RequestParser::announced_too_much() {
  const auto announced = impl_->parser->content_length();
  if (!announced || *announced <= most()) return false;
  fail_by(static_cast<int>(http::error::body_limit), {});
  return true;
}

HttpRequest RequestParser::take_head() { return std::move(head_); }

std::string RequestParser::take_body() {
  std::string body = std::exchange(impl_->parser->get().body(), {});
  taken_ += body.size();
  return body;
}

}  // namespace hotcell::server
