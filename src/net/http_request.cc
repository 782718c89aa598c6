#include "net/http_request.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::net {
namespace {

Error bad(std::string_view why) { return make_error(ErrorCode::kInvalid, cat("bad request: ", why)); }

bool is_token(std::string_view s) {
  auto ok = [](unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !s.empty() && std::all_of(s.begin(), s.end(), ok);
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

bool same(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

struct Lines {
  std::string first;
  std::vector<std::pair<std::string, std::string>> headers;
};

Result<Lines> read_lines(std::string_view head) {
  if (!head.ends_with("\r\n\r\n")) return bad("the head is not complete");
  head.remove_suffix(2);
  Lines out;
  bool first = true;
  while (!head.empty()) {
    auto end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    for (unsigned char c : line)
      if ((c < 0x20 && c != '\t') || c == 0x7f) return bad("a control character, or a line that ends in a bare newline");
    if (std::exchange(first, false)) {
      out.first = std::string(line);
      continue;
    }
    auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return bad("a line that is no header field");
    out.headers.emplace_back(std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
  }
  return out;
}

// Meant for one connection alone: these, and whatever Connection names.
class HopByHop {
 public:
  explicit HopByHop(const std::vector<std::pair<std::string, std::string>>& headers) {
    for (const auto& [name, value] : headers)
      if (same(name, "connection") || same(name, "proxy-connection"))
        for (auto word : split(value, ',')) named_.push_back(lower(trim(word)));
  }
  bool operator()(std::string_view name) const {
    std::string n = lower(name);
    for (std::string_view known : {"connection", "keep-alive", "te", "trailer", "upgrade", "http2-settings"})
      if (n == known) return true;
    if (n.starts_with("proxy-")) return true;
    // A sender may not have us remove what frames or addresses the message.
    if (n == "host" || n == "content-length" || n == "transfer-encoding") return false;
    return std::find(named_.begin(), named_.end(), n) != named_.end();
  }

 private:
  std::vector<std::string> named_;
};

Result<void> read_absolute(std::string_view target, ProxyRequest& out) {
  if (target.starts_with("/") || target == "*") return bad("this is a proxy: ask it for a whole http:// address");
  if (!same(target.substr(0, 7), "http://")) return bad("only http:// addresses are fetched; https goes through CONNECT");
  if (target.find('#') != std::string_view::npos) return bad("an address is asked for without its fragment");
  if (target.find('\\') != std::string_view::npos) return bad("a backslash in an address");
  std::string_view rest = target.substr(7);
  auto end = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, end);
  if (authority.find('@') != std::string_view::npos) return bad("a user name in an address is not taken");
  TRY_SET(out.target, parse_authority(authority, 80));
  std::string_view path = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  out.path = path.empty() || path.front() == '?' ? cat("/", path) : std::string(path);
  return {};
}

Result<void> read_framing(ProxyRequest& out) {
  bool coded = false;
  for (const auto& [name, value] : out.headers) {
    if (same(name, "content-length")) {
      auto length = parse_u64(value);
      if (!length || value.size() > 18) return bad("Content-Length is not a number");
      if (out.content_length) return bad("more than one Content-Length");
      out.content_length = length;
    } else if (same(name, "transfer-encoding")) {
      if (std::exchange(coded, true) || !same(value, "chunked")) return bad("a transfer coding other than chunked");
      out.chunked = true;
    } else if (same(name, "expect")) {
      out.expects_continue = same(value, "100-continue");
    }
  }
  if (out.chunked && out.content_length) return bad("Transfer-Encoding and Content-Length together");
  if (out.chunked && out.http_1_0) return bad("Transfer-Encoding in HTTP/1.0");
  if (out.connect && (out.chunked || out.content_length.value_or(0) > 0)) return bad("CONNECT has no body");
  return {};
}

Result<void> check_host(const ProxyRequest& out) {
  int hosts = 0;
  for (const auto& [name, value] : out.headers) {
    if (!same(name, "host")) continue;
    if (++hosts > 1) return bad("more than one Host");
    // For CONNECT some clients leave the port out.
    auto named = parse_authority(value, out.connect ? out.target.port : std::uint16_t{80});
    if (!named) return bad("Host is not a host");
    if (named.value() != out.target) return bad("Host names another host than the address does");
  }
  if (hosts == 0 && !out.http_1_0 && !out.connect) return bad("Host is missing");
  return {};
}

}  // namespace

Result<std::size_t> head_size(std::string_view bytes) {
  auto end = bytes.substr(0, kMostHead).find("\r\n\r\n");
  if (end != std::string_view::npos) return end + 4;
  if (bytes.size() >= kMostHead) return make_error(ErrorCode::kLimit, "bad request: the head is larger than 64 KiB");
  // A newline without its return will not become a head; a NUL neither.
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1))
    if (at == 0 || bytes[at - 1] != '\r') return bad("a line that ends in a bare newline");
  if (bytes.find('\0') != std::string_view::npos) return bad("a NUL byte");
  return std::size_t{0};
}

Result<ProxyRequest> parse_request(std::string_view head) {
  TRY_SET(Lines lines, read_lines(head));
  std::string_view line = lines.first;
  auto first = line.find(' '), second = line.rfind(' ');
  if (first == std::string_view::npos || second == first) return bad("the first line is not a request");
  ProxyRequest out;
  out.method = std::string(line.substr(0, first));
  std::string_view target = line.substr(first + 1, second - first - 1), version = line.substr(second + 1);
  if (!is_token(out.method)) return bad("the method is not a word");
  if (target.empty() || target.find_first_of(" \t") != std::string_view::npos) return bad("a space in the address");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad("neither HTTP/1.1 nor HTTP/1.0");
  out.http_1_0 = version == "HTTP/1.0";
  out.connect = out.method == "CONNECT";
  out.headers = std::move(lines.headers);
  if (out.connect) {
    TRY_SET(out.target, parse_authority(target, 0).context("bad request"));
  } else {
    TRY(read_absolute(target, out));
  }
  TRY(check_host(out));
  TRY(read_framing(out));
  return out;
}

std::string forwarded_head(const ProxyRequest& r) {
  std::string host = r.target.port == 80 ? r.target.host.bracketed() : r.target.text();
  // Who asks in 1.0 cannot read the chunks that an answer to 1.1 may come in.
  std::string out = cat(r.method, " ", r.path, r.http_1_0 ? " HTTP/1.0" : " HTTP/1.1", "\r\nHost: ", host, "\r\n");
  HopByHop hop(r.headers);
  for (const auto& [name, value] : r.headers)
    if (!same(name, "host") && !hop(name)) out += cat(name, ": ", value, "\r\n");
  return out += "Connection: close\r\n\r\n";
}

Result<ResponseHead> rewritten_response(std::string_view head) {
  TRY_SET(Lines lines, read_lines(head));
  std::string_view line = lines.first;
  bool http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ';
  auto status = http ? parse_u64(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100) return make_error(ErrorCode::kInvalid, "the server does not speak HTTP/1");
  ResponseHead out;
  out.status = static_cast<int>(*status);
  out.text = cat(line, "\r\n");
  HopByHop hop(lines.headers);
  for (const auto& [name, value] : lines.headers) {
    if (!hop(name)) out.text += cat(name, ": ", value, "\r\n");
    if (same(name, "transfer-encoding")) out.coding += cat(out.coding.empty() ? "" : ", ", lower(value));
  }
  out.text += out.status < 200 ? "\r\n" : "Connection: close\r\n\r\n";
  return out;
}

BodyReader::BodyReader(const ProxyRequest& request) {
  if (request.chunked) state_ = State::kSize;
  else if ((left_ = request.content_length.value_or(0)) > 0) state_ = State::kSized;
}

Result<std::size_t> BodyReader::take(std::string_view bytes, std::string* data) {
  std::size_t i = 0;
  constexpr unsigned kMostTrailer = 8 << 10;
  while (i < bytes.size() && state_ != State::kDone) {
    char c = bytes[i];
    auto expect = [&](char wanted, State next) {
      if (c != wanted) return false;
      state_ = next;
      ++i;
      return true;
    };
    switch (state_) {
      case State::kSized:
      case State::kData: {
        auto n = std::min<std::uint64_t>(left_, bytes.size() - i);
        left_ -= n;
        if (data != nullptr) data->append(bytes, i, static_cast<std::size_t>(n));
        i += static_cast<std::size_t>(n);
        if (left_ == 0) state_ = state_ == State::kSized ? State::kDone : State::kDataCr;
        break;
      }
      case State::kSize: {
        unsigned digit;
        if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') digit = static_cast<unsigned>((c | 0x20) - 'a') + 10;
        else if (digits_ > 0 && c == '\r') { state_ = State::kSizeLf; ++i; break; }
        else if (digits_ > 0 && c == ';') { state_ = State::kExtension; trailer_ = 0; ++i; break; }
        else return bad("a chunk without a size");
        if (++digits_ > 15) return bad("a chunk that is too large");
        left_ = left_ << 4 | digit;
        ++i;
        break;
      }
      case State::kExtension:
        if (++trailer_ > kMostTrailer || c == '\n') return bad("a chunk extension that does not end");
        if (c == '\r') state_ = State::kSizeLf;
        ++i;
        break;
      case State::kSizeLf:
        if (!expect('\n', left_ == 0 ? State::kTrailer : State::kData)) return bad("a chunk size without its newline");
        digits_ = trailer_ = 0;
        line_empty_ = true;
        break;
      case State::kDataCr:
        if (!expect('\r', State::kDataLf)) return bad("a chunk that is longer than its size");
        break;
      case State::kDataLf:
        if (!expect('\n', State::kSize)) return bad("a chunk that is longer than its size");
        left_ = 0;
        break;
      case State::kTrailer:
        if (++trailer_ > kMostTrailer || c == '\n') return bad("trailers that do not end");
        if (c == '\r') state_ = line_empty_ ? State::kEndLf : State::kTrailerLf;
        else line_empty_ = false;
        ++i;
        break;
      case State::kTrailerLf:
        if (!expect('\n', State::kTrailer)) return bad("a trailer without its newline");
        line_empty_ = true;
        break;
      case State::kEndLf:
        if (!expect('\n', State::kDone)) return bad("trailers without their end");
        break;
      case State::kDone: break;
    }
  }
  return i;
}

}  // namespace hotcell::net
