#include "server/http/response_writer.h"

#include <sys/random.h>
#include <time.h>

#include <charconv>

#include "base/strings.h"

namespace hotcell::server {
namespace {

bool same_no_case(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != lower[i]) return false;
  return true;
}

// Whatever a handler was talked into putting there: a header is one line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  for (char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == ':' || c == 0x7f) return;
  out += name;
  out += ": ";
  for (char c : value) out += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

// Those that the session decides itself.
bool is_ours(std::string_view name) {
  for (std::string_view ours : {"content-length", "transfer-encoding", "connection", "date", "x-request-id", "trailer",
                                "content-type", "keep-alive", "upgrade"})
    if (same_no_case(name, ours)) return true;
  return false;
}

// Nothing here may be sniffed, framed, cached or fetched by other sites, unless the handler says so.
struct Default {
  std::string_view name, line;
};
constexpr Default kDefaults[] = {
    {"cache-control", "Cache-Control: no-store\r\n"},
    {"x-content-type-options", "X-Content-Type-Options: nosniff\r\n"},
    {"content-security-policy", "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"},
    {"cross-origin-resource-policy", "Cross-Origin-Resource-Policy: same-origin\r\n"},
    {"referrer-policy", "Referrer-Policy: no-referrer\r\n"},
};

}  // namespace

std::string_view status_text(int status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

void append_head(std::string& out, const HttpResponse& response, const HeadOptions& options, ServerCore& core) {
  out.reserve(out.size() + 512 + response.body.size());
  out += "HTTP/1.1 ";
  append_piece(out, response.status);
  out += ' ';
  out += status_text(response.status);
  out += "\r\nDate: ";
  out += core.date();
  out += "\r\n";
  if (!has_no_body(response.status)) {
    append_header(out, "Content-Type", response.content_type);
    if (options.framing == Framing::kLength) {
      out += "Content-Length: ";
      append_piece(out, response.body.size());
      out += "\r\n";
    } else if (options.framing == Framing::kChunked) {
      out += "Transfer-Encoding: chunked\r\n";
    }
  }
  append_header(out, "X-Request-Id", options.request_id);
  if (options.framing == Framing::kUpgraded)
    out += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  else if (!options.keep_alive)
    out += "Connection: close\r\n";
  else if (!options.http11)
    out += "Connection: keep-alive\r\n";
  for (const Default& standard : kDefaults) {
    bool given = false;
    for (const auto& [name, value] : response.headers) given = given || same_no_case(name, standard.name);
    if (!given) out += standard.line;
  }
  for (const auto& [name, value] : response.headers)
    if (!is_ours(name)) append_header(out, name, value);
  if (!options.allowed_origin.empty()) {
    append_header(out, "Access-Control-Allow-Origin", options.allowed_origin);
    out += "Access-Control-Expose-Headers: X-Request-Id, Retry-After, Location, Mcp-Session-Id\r\nVary: Origin\r\n";
  }
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view piece) {
  if (piece.empty()) return;
  char size[20];
  auto end = std::to_chars(size, size + sizeof size, piece.size(), 16).ptr;
  out.append(size, end);
  out += "\r\n";
  out += piece;
  out += "\r\n";
}

std::string ServerCore::make_request_id() {
  constexpr std::size_t kBytes = 16;
  if (random_used_ + kBytes > random_.size()) {
    random_.resize(256);  // the most that getrandom gives without interruption
    random_used_ = 0;
    if (::getrandom(random_.data(), random_.size(), 0) < 0) random_.assign(256, '\0');
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id(kBytes * 2, '0');
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto byte = static_cast<unsigned char>(random_[random_used_++]);
    id[2 * i] = kDigits[byte >> 4];
    id[2 * i + 1] = kDigits[byte & 15];
  }
  return id;
}

std::string_view ServerCore::date() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec == date_second_) return date_;
  date_second_ = now.tv_sec;
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  // Not strftime: the names are those of the protocol, not of the locale.
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  auto two = [](int n) { return cat(n < 10 ? "0" : "", n); };
  date_ = cat(kDays[parts.tm_wday], ", ", two(parts.tm_mday), " ", kMonths[parts.tm_mon], " ", parts.tm_year + 1900,
              " ", two(parts.tm_hour), ":", two(parts.tm_min), ":", two(parts.tm_sec), " GMT");
  return date_;
}

}  // namespace hotcell::server
