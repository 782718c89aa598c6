#include "server/http/target.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/strings.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kMaxParameters = 64;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

enum class Where { kPath, kQuery };

Result<std::string> decode(std::string_view text, Where where) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
        return bad("The target has a percent sign without two hexadecimal digits after it.");
      c = static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
      // An encoded slash is data to one reader and a separator to the next.
      if (where == Where::kPath && (c == '/' || c == '\\')) return bad("The path has an encoded slash.");
      if (where == Where::kPath && is_control(c)) return bad("The path has a control character.");
      if (c == '\0') return bad("The query has a NUL.");
    } else if (where == Where::kQuery && c == '+') {
      c = ' ';
    } else if (where == Where::kPath && c == '\\') {
      return bad("The path has a backslash.");
    }
    out += c;
  }
  if (!is_valid_utf8(out)) return bad("The target is not valid UTF-8.");
  return out;
}

Result<std::string> decode_path(std::string_view text) {
  TRY_SET(std::string path, decode(text, Where::kPath));
  for (std::string_view part : split(path, '/'))
    if (part == "." || part == "..") return bad("The path has a '.' or '..' part.");
  return path;
}

Result<std::vector<std::pair<std::string, std::string>>> decode_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view piece = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (piece.empty()) continue;
    if (out.size() == kMaxParameters) return bad("The query has more than 64 parameters.");
    const std::size_t equal = piece.find('=');
    TRY_SET(std::string name, decode(piece.substr(0, equal), Where::kQuery));
    std::string value;
    if (equal != std::string_view::npos) {
      TRY_SET(value, decode(piece.substr(equal + 1), Where::kQuery));
    }
    out.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

bool starts_with_no_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (std::size_t i = 0; i < lower.size(); ++i)
    if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) != lower[i]) return false;
  return true;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  Target out;
  if (target == "*") {
    out.path = "*";
    return out;
  }
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_no_case(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    out.authority = target.substr(0, end);
    TRY(parse_host(out.authority));
    target.remove_prefix(end);
    if (target.empty()) target = "/";
    break;
  }
  if (!target.starts_with('/')) return bad("The target must be a path that begins with '/'.");
  if (target.find('#') != std::string_view::npos) return bad("The target has a fragment.");
  const std::size_t question = target.find('?');
  TRY_SET(out.path, decode_path(target.substr(0, question)));
  if (question != std::string_view::npos) {
    TRY_SET(out.query, decode_query(target.substr(question + 1)));
  }
  return out;
}

Result<HostPort> parse_host(std::string_view text) {
  HostPort out;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad("The Host is not a host name or address.");
    out.host = text.substr(1, end - 1);
    out.v6 = true;
    port = text.substr(end + 1);
    in6_addr parsed;
    if (inet_pton(AF_INET6, out.host.c_str(), &parsed) != 1) return bad("The Host is not a host name or address.");
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    out.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty()) {
    port.remove_prefix(port.starts_with(':') ? 1 : 0);
    const auto number = parse_u64(port);
    if (port.data() == text.data() || !number || *number > 65535 || port.size() > 5)
      return bad("The Host has a port that is not a number.");
    out.port = port;
  }
  for (char& c : out.host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    const bool name = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!name && !(out.v6 && c == ':')) return bad("The Host is not a host name or address.");
  }
  if (out.host.ends_with('.')) out.host.pop_back();
  if (out.host.empty() || out.host.size() > 253) return bad("The Host is not a host name or address.");
  return out;
}

bool is_loopback_name(const HostPort& host) {
  if (host.v6) {
    in6_addr parsed;
    return inet_pton(AF_INET6, host.host.c_str(), &parsed) == 1 && IN6_IS_ADDR_LOOPBACK(&parsed);
  }
  in_addr parsed;
  if (inet_pton(AF_INET, host.host.c_str(), &parsed) == 1) return (ntohl(parsed.s_addr) >> 24) == 127;
  return host.host == "localhost";
}

}  // namespace hotcell::server
